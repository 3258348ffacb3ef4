"""The calls of recall: the last 500, in the archive and nowhere else. They say how it is used, never what was asked."""

from __future__ import annotations

import time

from retro import inbox

TYPE_CHECKING = False  # as in places
if TYPE_CHECKING:
    from retro.places import Places

FULL = 512 * 1024
"""Bytes; where no sweep ever shortens the log, it grows no further."""


def note(
    places: Places, verb: str, tier: int, milliseconds: float, rows: int, answer: int, *, json: bool, exit_code: int = 0
) -> None:
    """Add a call; its exit code only where it failed. If that is not possible, nothing happens: never in the way."""
    failed = f',"exit":{exit_code}' if exit_code else ""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    line = (
        f'{{"at":"{now}","verb":"{verb}","tier":{tier},"ms":{milliseconds:.1f},"rows":{rows},"bytes":{answer},'
        f'"json":{"true" if json else "false"}{failed}}}\n'
    )
    try:
        inbox.append_line(places, inbox.CALLS, line.encode("ascii"), limit=FULL)
    except Exception:  # noqa: S110 - a read-only disk, a link in the way: the answer was given
        pass
