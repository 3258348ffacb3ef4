"""What a sweep asks of a capture: a source that is new, or has changed."""

from __future__ import annotations

import msgspec

from retro.agents.interface import LINES


class Work(msgspec.Struct):
    """A source to capture, as it was found."""

    source_path: bytes
    key: str
    kind: str
    archive_name: str
    size: int
    force: bool = False
    content: bytes | None = None
    """What there is to capture, where it is no file."""
    form: str = LINES
    copy: str | None = None
    """Where records are read."""
    stamp: tuple[int, int, int, int] = (-1, 0, 0, 0)
    """Of records: size, time, mark and device, as they were found."""
