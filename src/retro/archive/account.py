"""What became of a session's bytes and events, counted: the figures behind `retro show`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

import msgspec

from retro.agents.interface import DOCUMENT, LINES, ROWS
from retro.archive.committed import SourceState
from retro.archive.frames import Damaged, contents

CLASSES: Final = ("mapped", "bookkeeping", "unknown", "malformed")
"""What a byte of a source can be, beside the torn tail."""


class Bytes(msgspec.Struct):
    """The bytes of one or several sources by what became of them."""

    mapped: int = 0
    bookkeeping: int = 0
    unknown: int = 0
    malformed: int = 0
    torn_tail: int = 0
    """An unfinished last line: left for the next sweep."""
    size: int = 0
    """What the host wrote, as it was when it was read."""

    @property
    def exact(self) -> bool:
        """Whether every byte is accounted for, and none twice."""
        return self.mapped + self.bookkeeping + self.unknown + self.malformed + self.torn_tail == self.size


def bytes_of(sources: Iterable[SourceState]) -> Bytes:
    """The bytes of sources together."""
    total = Bytes()
    for source in sources:
        for name in CLASSES:
            table: dict[str, list[int]] = getattr(source.accounting, name)
            setattr(total, name, getattr(total, name) + sum(size for _, size in table.values()))
        if source.form != LINES:  # what is accounted for is the last state, not the journal that holds them all
            total.size += max(source.accounting.total(), source.size if source.form == DOCUMENT else 0)
            continue
        # A file that grew while it was read may hold more than its size said when it was opened.
        total.torn_tail += max(source.size - source.offset, 0)
        total.size += max(source.size, source.offset)
    return total


def types_of(sources: Iterable[SourceState]) -> dict[str, dict[str, list[int]]]:
    """For each class the host's record types, each with how many records and bytes."""
    merged: dict[str, dict[str, list[int]]] = {name: {} for name in CLASSES}
    for source in sources:
        for name, kinds in merged.items():
            table: dict[str, list[int]] = getattr(source.accounting, name)
            for kind, (records, size) in table.items():
                cell = kinds.setdefault(kind, [0, 0])
                cell[0] += records
                cell[1] += size
    return merged


class Counts(msgspec.Struct):
    """Events by type; secrets that were masked, by rule; events that bear a mark, by mark."""

    types: dict[str, int]
    secrets: dict[str, int]
    marks: dict[str, int]


class _Payload(msgspec.Struct):
    secrets: dict[str, int] = {}
    marks: list[str] = []


class _Glance(msgspec.Struct):
    """What counting needs of an event, so that its text is not even decoded."""

    event_id: str
    event_type: str
    payload: _Payload | None = None


_decode: Final = msgspec.json.Decoder(_Glance).decode


def count_events(path: str, committed: int | None = None, damage: list[Damaged] | None = None) -> Counts:
    """Count the events of a normalised file, each once and in its latest version; see `contents` for `damage`."""
    types: dict[str, str] = {}
    payloads: dict[str, _Payload] = {}
    for content in contents(path, committed, damage):
        for line in content.split(b"\n"):
            if line:
                event = _decode(line)
                types[event.event_id] = event.event_type
                if event.payload and (event.payload.secrets or event.payload.marks):
                    payloads[event.event_id] = event.payload
                else:
                    payloads.pop(event.event_id, None)
    counts = Counts({}, {}, {})
    for kind in types.values():
        counts.types[kind] = counts.types.get(kind, 0) + 1
    for payload in payloads.values():
        for rule, number in payload.secrets.items():
            counts.secrets[rule] = counts.secrets.get(rule, 0) + number
        for mark in payload.marks:
            counts.marks[mark] = counts.marks.get(mark, 0) + 1
    return counts


def fate(source: SourceState) -> str:
    """What has become of the host's own file since: `unchanged`, `changed`, `gone`; `rows` are of a database."""
    if source.path.startswith(ROWS.encode()):
        return "rows"
    try:
        found = os.stat(source.path)
    except (OSError, ValueError):
        return "gone"
    same = (found.st_size, found.st_mtime_ns) == (source.size, source.mtime_ns)
    return "unchanged" if same else "changed"
