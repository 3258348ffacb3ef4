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
    return [span for span, _ in cut(moments, hours)]


def cut(moments: Iterable[tuple[str, int, int]], hours: int = HOURS) -> list[tuple[Span, list[int]]]:
    """The same, each with the places of its hours among those that were given."""
    length = hours * HOUR
    running: dict[str, tuple[Span, list[int]]] = {}
    found = []
    for place, (host, first, last) in enumerate(moments):
        block = running.get(host)
        if block is not None:
            (_, start, end, begin, latest), places = block
            if first < end and first - latest <= length:
                places.append(place)
                if last > latest:
                    running[host] = (host, start, end, begin, last), places
                continue
            found.append(block)
        start = first // HOUR * HOUR
        running[host] = (host, start, start + length, first, last), [place]
    found += running.values()
    found.sort(key=lambda block: (block[0][1], block[0][0]))
    return found


def is_active(span: Span, now: int) -> bool:
    """Whether a request made now would lie in a block."""
    return now < span[2] and now - span[4] < span[2] - span[1]
