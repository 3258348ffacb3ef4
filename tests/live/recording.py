"""What a play leaves behind for the tests to look at."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from live.model import Served
from live.script import Deed
from retro.event import Actor, Event, EventType, Origin


class Ran(msgspec.Struct):
    """A command line that was given, and how it went."""

    line: list[str]
    session: str
    """The play's name for the session."""
    exit_code: int
    printed: str
    complained: str


class Recording(msgspec.Struct):
    """All of it. Beside it lie `home`, `project`, `archive` and the `copies` that were made on the way."""

    ended: bool
    """It came to its end."""
    runs: list[Ran] = []
    sweeps: list[Ran] = []
    """Those beside the client, those between its runs, and the one after them."""
    served: list[Served] = []
    elsewhere: list[str] = []
    sessions: dict[str, str] = {}
    """The client's ids by the play's names."""
    events: dict[str, dict[str, list[Event]]] = {}
    """What `retro events` gave, by moment and session."""

    def printed(self, session: str) -> list[str]:
        """What the client printed for a session, command line by command line."""
        return [run.printed for run in self.runs if run.session == session]

    def served_under(self, lane: str) -> list[Served]:
        """The requests that were answered out of a lane."""
        return [one for one in self.served if one.lane == lane]


FILE = "recording.json"


def save(folder: Path, recording: Recording) -> None:
    """Write it down, whole or not at all."""
    temporary = folder / f"{FILE}.part"
    temporary.write_bytes(msgspec.json.format(msgspec.json.encode(recording)))
    temporary.rename(folder / FILE)


def load(folder: Path) -> Recording:
    """Read it."""
    return msgspec.json.decode((folder / FILE).read_bytes(), type=Recording)


SHOWN = frozenset(
    {
        EventType.COMMAND,
        EventType.FILE_EDIT,
        EventType.FILE_READ,
        EventType.REASONING,
        EventType.SUBAGENT_START,
    }
)


def story(events: list[Event], agent: str | None = None) -> list[Deed]:
    """What a person typed and saw, out of a session's events; what a sub-agent did, if it is named."""
    told: list[Deed] = []
    folder = ""
    for event in events:
        if event.agent_id == agent:
            folder = event.cwd or folder
            told += _deeds(event, folder)
    return told


def _deeds(event: Event, folder: str) -> list[Deed]:
    if event.event_type in SHOWN:
        files = sorted(os.path.join(folder, path) for path in event.paths or ())  # one edit of many files has no order
        return [Deed(event.event_type.value, what) for what in files or [event.command or event.text or ""]]
    if event.event_type is EventType.MESSAGE and event.actor is Actor.USER and event.origin is Origin.HUMAN:
        return [Deed("prompt", event.text or "")]
    if event.event_type is EventType.MESSAGE and event.actor in (Actor.ASSISTANT, Actor.SUBAGENT):
        return [Deed("answer", event.text or "")]
    return []


def results(events: list[Event], agent: str | None = None) -> list[tuple[str, int | None, str]]:
    """Each command with its exit code and what came back of it."""
    own = [event for event in events if event.agent_id == agent]
    back = {event.call_id: event for event in own if event.event_type is EventType.TOOL_RESULT}
    commands = [event for event in own if event.event_type is EventType.COMMAND]
    found = [(command.command or "", back[command.call_id]) for command in commands if command.call_id in back]
    return [(command, result.exit_code, result.text or "") for command, result in found]
