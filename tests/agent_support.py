"""Reads sources with an agent's module, for the tests of what its records mean."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from retro.agents.interface import AgentModule, Batch, Facts
from retro.agents.records import Accounting, Parser, Position, chunks
from retro.event import Actor, Event, EventType, Usage
from retro.turns import is_prompt

CORPUS: Final = Path(__file__).resolve().parents[2] / "shared" / "corpus"


class Read(NamedTuple):
    """What came of a source."""

    written: list[Event]
    usage: list[Usage]
    accounting: Accounting
    facts: Facts
    offset: int

    @property
    def events(self) -> list[Event]:
        """Each event once, in its latest version."""
        return sorted({event.event_id: event for event in self.written}.values(), key=lambda event: event.sequence)

    def of_type(self, event_type: EventType) -> list[Event]:
        """The events of a type."""
        return [event for event in self.events if event.event_type is event_type]

    def texts(self, event_type: EventType, actor: Actor | None = None) -> list[str]:
        """Texts of the events of a type."""
        return [event.text or "" for event in self.of_type(event_type) if actor is None or event.actor is actor]

    @property
    def prompts(self) -> list[str]:
        """What a person typed."""
        return [event.text or "" for event in self.events if is_prompt(event)]

    @property
    def commands(self) -> list[str]:
        """What was run."""
        return [event.command or "" for event in self.of_type(EventType.COMMAND)]

    def only(self, event_type: EventType) -> Event:
        """The one event of a type."""
        (found,) = self.of_type(event_type)
        return found

    def unjoined(self) -> list[str | None]:
        """Calls of results that no call was seen of."""
        calls = {event.call_id for event in self.events if event.event_type is not EventType.TOOL_RESULT}
        return [event.call_id for event in self.of_type(EventType.TOOL_RESULT) if event.call_id not in calls]


def read(agent: AgentModule, data: bytes, session: str, *, key: str = "main", cuts: Iterable[int] = ()) -> Read:
    """Read a source, in several goes if it is cut, each from the state that the one before saved."""
    batch, accounting, state = Batch([], []), Accounting(), b""
    facts = Facts(models=[], versions=[], titles={}, agents={})
    position = Position(0, 1)
    for end in [*cuts, len(data)]:
        reader = agent.reader(session, key, key, state, facts)
        parser = Parser(reader, position, accounting)
        for chunk in chunks(io.BytesIO(data[position.offset : end])):
            parser.feed(chunk, batch)
        state, facts, position = reader.save(), reader.facts, parser.position
    return Read(batch.events, batch.usage, accounting, facts, position.offset)


def lines(*records: Mapping[str, object]) -> bytes:
    """Records as JSON lines."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)
