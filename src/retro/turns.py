"""What events add up to: the turns of a session and its tallies, folded one event at a time."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

import msgspec

from retro.event import Actor, Event, EventType, Origin, Turn, Usage

TEXT: Final = 4000
"""Characters of a prompt or answer that a turn keeps."""

FILES: Final = 50
"""Edited paths that a turn keeps."""

REQUESTS: Final = 16
"""Last model requests whose snapshots are told apart from new ones."""

ACTIONS: Final = frozenset(
    {
        EventType.COMMAND,
        EventType.FILE_READ,
        EventType.FILE_EDIT,
        EventType.WEB_SEARCH,
        EventType.TOOL_CALL,
        EventType.SUBAGENT_START,
    }
)


def is_prompt(event: Event) -> bool:
    """Whether an event opens a turn: a person's words to the agent itself."""
    return (
        event.origin is Origin.HUMAN
        and event.event_type is EventType.MESSAGE
        and event.actor is Actor.USER
        and event.agent_id is None
        and "memory" not in (event.payload or ())
    )


def is_failure(event: Event) -> bool:
    """Whether something went wrong: a failed request, a result that is an error, a command that did not end well."""
    return bool(event.is_error) or bool(event.exit_code) or event.event_type is EventType.ERROR


def record_key(event_id: str) -> bytes:
    """Eight bytes for the record that an event came from, the same for all events of the record."""
    return blake2b(event_id.partition(".")[0].encode("utf-8", "replace"), digest_size=8).digest()


class Tally(msgspec.Struct):
    """Counts over the events of one source."""

    events: int = 0
    turns: int = 0
    commands: int = 0
    edits: int = 0
    errors: int = 0
    started: str | None = None
    ended: str | None = None
    secrets: int = 0
    marks: int = 0


class FoldState(msgspec.Struct):
    """What folding goes on from; holds no words of anybody."""

    tally: Tally = msgspec.field(default_factory=Tally)
    next_sequence: int = 0
    requests: dict[str, tuple[int, int, int, int]] = {}
    replaced: bool = False
    """An event took the place of an earlier one, which was counted as it was."""
    model: str | None = None
    branch: str | None = None
    """What events told last, be it one of which no passage holds anything."""


class TurnRow(msgspec.Struct):
    """A turn, with the keys of the records in it."""

    turn: Turn
    records: bytes = b""


class Fold:
    """Folds the events of one source, in order, into turns and a tally."""

    def __init__(self, state: FoldState, last: TurnRow | None) -> None:
        self.state = state
        self.last = last
        self._earlier = last
        self.changed: dict[int, TurnRow] = {}
        self._opened: dict[int, int] = {}

    def take(self) -> dict[int, TurnRow]:
        """The turns that changed since they were taken last."""
        changed, self.changed = self.changed, {}
        self._earlier = self.last
        return changed

    def add(self, event: Event) -> bool:
        """Count an event; one that takes the place of an earlier one is not counted again, and False."""
        state = self.state
        if event.sequence < state.next_sequence:
            state.replaced = True
            return False
        state.next_sequence = event.sequence + 1
        tally = state.tally
        tally.events += 1
        event_type = event.event_type
        failed = is_failure(event)
        tally.commands += event_type is EventType.COMMAND
        tally.edits += event_type is EventType.FILE_EDIT
        tally.errors += failed
        if event.payload:
            tally.secrets += "secrets" in event.payload
            tally.marks += "marks" in event.payload
        when = event.timestamp
        if when is not None:
            if tally.started is None or when < tally.started:
                tally.started = when
            if tally.ended is None or when > tally.ended:
                tally.ended = when
        if event.turn is not None:
            self._add_to_turn(event, failed)
        return True

    def _add_to_turn(self, event: Event, failed: bool) -> None:
        row = self.last
        if row is None or row.turn.turn != event.turn:
            row = self._open(event)
        turn = row.turn
        turn.events += 1
        turn.last_sequence = event.sequence
        event_type = event.event_type
        if event_type in ACTIONS:
            turn.actions += 1
            turn.commands += event_type is EventType.COMMAND
            if event_type is EventType.FILE_EDIT:
                turn.edits += 1
                for path in event.paths or ():
                    if path not in turn.files and len(turn.files) < FILES:
                        turn.files.append(path)
        elif event_type is EventType.MESSAGE and event.actor is Actor.ASSISTANT and event.text:
            turn.answer = event.text[:TEXT]
        turn.errors += failed
        when = event.timestamp
        if when is not None:
            turn.started = turn.started or when
            if turn.ended is None or when > turn.ended:
                turn.ended = when
        key = record_key(event.event_id)
        if row.records[-8:] != key:
            row.records += key
        self.changed[turn.turn] = row

    def _open(self, event: Event) -> TurnRow:
        turn = Turn(
            session_id=event.session_id,
            host=event.host,
            turn=event.turn or 0,
            event_id=event.event_id,
            prompt=(event.text or event.summary)[:TEXT],
            first_sequence=event.sequence,
            last_sequence=event.sequence,
            files=[],
        )
        self._opened[turn.turn] = event.raw_ref.line
        self.state.tally.turns += 1
        self.last = row = TurnRow(turn)
        return row

    def add_usage(self, usage: Usage) -> None:
        """Count the tokens of a request in its turn, whose events came before; of its snapshots the largest counts."""
        rows = (self.changed.get(usage.turn or 0), self.last, self._earlier)  # it may come with the next turn's events
        row = next((row for row in rows if row is not None and row.turn.turn == usage.turn), None)
        if row is None or self._opened.get(row.turn.turn, 0) > usage.line:
            return
        counts = (
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_tokens,
            usage.cache_write_5m_tokens + usage.cache_write_1h_tokens,
        )
        requests = self.state.requests
        before = requests.get(usage.usage_id, (0, 0, 0, 0))
        after = tuple(map(max, before, counts))
        if usage.usage_id not in requests and len(requests) >= REQUESTS:
            del requests[next(iter(requests))]
        requests[usage.usage_id] = (after[0], after[1], after[2], after[3])
        turn = row.turn
        turn.input_tokens += after[0] - before[0]
        turn.output_tokens += after[1] - before[1]
        turn.cache_read_tokens += after[2] - before[2]
        turn.cache_write_tokens += after[3] - before[3]
        self.changed[turn.turn] = row


def fold(events: Iterable[Event]) -> tuple[list[TurnRow], Tally]:
    """Turns and tally of a whole session in reading order, whose sequences come from several sources."""
    folder = Fold(FoldState(), None)
    for place, event in enumerate(events):
        folder.add(msgspec.structs.replace(event, sequence=place))
    return list(folder.take().values()), folder.state.tally
