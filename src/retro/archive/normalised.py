"""The normalised file of a session: events masked, encoded, framed and appended, and folded on the way."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from typing import Final

import msgspec

from retro import secrets
from retro.agents.emitter import content_id, one_line
from retro.archive.frames import FrameWriter
from retro.event import Event, EventType

FRAME: Final = 1024 * 1024
"""Most content of one frame; a longer event has one of its own."""

WRITTEN: Final = b'"summary":'
"""Where in an encoded event that begins what the host wrote; no quote stands bare in the strings before it."""

_encode = msgspec.json.Encoder().encode


class EventWriter:
    """Collects events and appends them frame by frame; nothing is written or counted before it is masked."""

    def __init__(self, frames: FrameWriter, count: Callable[[list[Event]], None]) -> None:
        self._frames = frames
        self._count = count
        self._events: list[Event] = []
        self._lines: list[bytes] = []
        self._written: list[bytes] = []
        self._size = 0
        self.count = 0

    def add(self, events: list[Event]) -> None:
        """Take events, in order."""
        for event in events:
            line = _encode(event)
            if self._size + len(line) >= FRAME and self._lines:
                self.flush()
            self._events.append(event)
            self._lines.append(line)
            self._written.append(line[line.index(WRITTEN) :])
            self._size += len(line) + 1

    def flush(self) -> None:
        """Write what was collected as one frame."""
        if not self._lines:
            return
        self._screen()
        self._lines.append(b"")
        self._frames.write(b"\n".join(self._lines))
        self._count(self._events)
        self.count += len(self._events)
        self.drop()

    def drop(self) -> None:
        """Forget what was collected and not yet written."""
        self._events, self._lines, self._written, self._size = [], [], [], 0

    def _screen(self) -> None:
        """Mask the events on whose lines something is seen, and note injection marks."""
        self._screen_names()
        batch = b"\n".join(self._written)
        lowered = batch.lower()
        suspects, marked = secrets.suspects(batch, lowered), secrets.mark_suspects(batch, lowered)
        if not suspects and not marked:
            return
        starts = list(accumulate((len(written) + 1 for written in self._written[:-1]), initial=0))
        for place in sorted({bisect_right(starts, offset) - 1 for offset in suspects}):
            if mask_event(self._events[place]):
                self._lines[place] = _encode(self._events[place])
        for place in sorted({bisect_right(starts, offset) - 1 for offset in marked}):
            if mark_event(self._events[place]):
                self._lines[place] = _encode(self._events[place])

    def _screen_names(self) -> None:
        """The same for what names events, calls and requests: hosts write it too, and it may be anything."""
        names = {name for event in self._events for name in _names(event) if name and not _is_uuid(name)}
        if not secrets.suspects("\n".join(["", *names]).encode("utf-8", "replace")):
            return
        for place, event in enumerate(self._events):
            if hide_names(event):
                self._lines[place] = _encode(event)


def _names(event: Event) -> tuple[str | None, ...]:
    return event.event_id, event.parent_event_id, event.call_id, event.usage_id, event.agent_id


def _is_uuid(name: str) -> bool:
    """Whether a name has the marks of most names, in which no secret is to be looked for."""
    return len(name) < 42 and name[8:9] == name[13:14] == name[18:19] == name[23:24] == "-"


def hide_names(event: Event) -> bool:
    """Take the secrets out of an event's names, in place; whether there were any. Equal names stay equal."""
    if not any(name and secrets.mask(name).found for name in _names(event)):
        return False
    event.event_id = _hidden(event.event_id)
    event.parent_event_id = _hidden(event.parent_event_id) if event.parent_event_id else None
    if event.usage_id and secrets.mask(event.usage_id).found:
        event.usage_id = hashed(event.usage_id)
    event.call_id = secrets.mask(event.call_id).text if event.call_id else None
    event.agent_id = secrets.mask(event.agent_id).text if event.agent_id else None
    return True


def _hidden(event_id: str) -> str:
    """An event's id without secrets: a hash, and the event's number within its record."""
    if not secrets.mask(event_id).found:
        return event_id
    name, dot, number = event_id.rpartition(".")
    return f"{hashed(name)}.{number}" if dot and number.isdigit() else hashed(event_id)


def hashed(name: str) -> str:
    """What stands for a name that holds a secret, that it stays apart from others."""
    return content_id(name.encode("utf-8", "replace"))


def mask_event(event: Event) -> bool:
    """Mask the secrets in every text of an event, in place; whether there were any."""
    fields = msgspec.structs.asdict(event)
    found: dict[str, int] = {}
    for name in ("summary", "text", "command", "cwd", "branch", "tool", "model", "paths", "payload"):
        value = fields[name]
        if value is not None:
            masked, hits = secrets.mask_value(value)
            if hits:
                setattr(event, name, masked)
                for rule, count in hits.items():
                    found[rule] = max(found.get(rule, 0), count)
    if found:
        event.payload = {**(event.payload or {}), "secrets": found}
        if event.event_type is not EventType.FILE_EDIT:
            # Made anew: the old one may end in half a secret, which no rule would know.
            event.summary = one_line(f"$ {event.command}" if event.command else event.text or event.summary)
    return bool(found)


def mark_event(event: Event) -> bool:
    """Note injection marks and invisible characters in an event's text, in place; whether there were any."""
    found = secrets.marks("\n".join(part for part in (event.text, event.command) if part))
    if found:
        event.payload = {**(event.payload or {}), "marks": found}
    return bool(found)
