"""Where five-hour blocks begin and end. On the light path: nothing is loaded for it."""

from __future__ import annotations

TYPE_CHECKING = False  # as in places
if TYPE_CHECKING:
    from collections.abc import Iterable

    Span = tuple[str, int, int, int, int]

HOURS = 5
HOUR = 60 * 60 * 1000
"""Milliseconds."""


def spans(moments: Iterable[tuple[str, int, int]], hours: int = HOURS) -> list[Span]:
    """Blocks (host, start, end, first, last) from the hours of hosts in order, each with its first and last.

    A block begins with the full hour of its first request and ends after its length; one begins anew as well where
    there was no request for so long. An hour never lies in two blocks: both ends are full hours.
    """
    length = hours * HOUR
    running: dict[str, Span] = {}
    found: list[Span] = []
    for host, first, last in moments:
        block = running.get(host)
        if block is not None and first < block[2] and first - block[4] <= length:
            running[host] = (*block[:4], max(block[4], last))
            continue
        if block is not None:
            found.append(block)
        start = first // HOUR * HOUR
        running[host] = (host, start, start + length, first, last)
    found += running.values()
    return sorted(found, key=lambda span: (span[1], span[0]))


def is_active(span: Span, now: int) -> bool:
    """Whether a request made now would lie in a block."""
    return now < span[2] and now - span[4] < span[2] - span[1]
