"""What became of the sessions of a sweep, and what could not be captured."""

from __future__ import annotations

import msgspec


class Problem(msgspec.Struct):
    """Something that could not be captured, and why."""

    host: str
    session_id: str | None
    path: str | None
    reason: str


class Outcome(msgspec.Struct):
    """What became of a job."""

    host: str
    session_id: str
    read: int = 0
    captured: bool = False
    """Something was read or derived and is committed."""
    changed: bool = False
    """There was something new among it."""
    appended: bool = False
    problems: list[Problem] = []
