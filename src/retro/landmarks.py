"""What of a session is looked for later by name: the files that it edited, its checkpoints, its repository's remote."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from retro.event import Event, EventType

TEXT: Final = 8000
"""Characters of a checkpoint that are kept."""


class Touch(NamedTuple):
    """When a file was edited last, and in which turn."""

    at: str
    turn: int | None


class Checkpoint(NamedTuple):
    """What a host wrote down to go on from."""

    at: str
    turn: int | None
    text: str


class Landmarks(msgspec.Struct):
    """What events leave of it; may be told of the same event twice."""

    files: dict[str, Touch] = {}
    checkpoints: dict[str, Checkpoint] = {}
    """By event id."""
    remote: str | None = None
    """As the host wrote it."""

    def add(self, event: Event) -> None:
        """Note what an event tells."""
        event_type = event.event_type
        if event_type is EventType.FILE_EDIT:
            touch = Touch(event.timestamp or "", event.turn)
            for path in event.paths or ():
                name = _absolute(path, event.cwd)
                if name not in self.files or touch.at >= self.files[name].at:
                    self.files[name] = touch
        elif event_type is EventType.COMPACTION:
            if event.text and event.text.strip():
                self.checkpoints[event.event_id] = Checkpoint(event.timestamp or "", event.turn, event.text[:TEXT])
        elif event_type is EventType.SESSION_START and event.payload:
            remote = event.payload.get("remote")
            if isinstance(remote, str) and remote:
                self.remote = remote


def _absolute(path: str, cwd: str | None) -> str:
    """A path with the folder that it counts from, where that is known."""
    if not cwd or path.startswith(("/", "\\", "~")) or path[1:2] == ":":
        return path
    return f"{cwd.rstrip('/')}/{path}"
