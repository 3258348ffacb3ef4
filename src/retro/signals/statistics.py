"""What readings of many sessions add up to: for each signal how many, how much, and how they are spread."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

import msgspec

from retro.event import Value

RATIOS: Final = tuple(step / 10 for step in range(11))
EDGES: Final = (0.0, *(digit * 10.0**power for power in range(13) for digit in (1, 2, 5)))
"""Lower edges of a histogram's bins: 1, 2, 5, 10, 20, …; the first one holds what is below 1."""

BALANCE: Final = tuple(step / 5 for step in range(-5, 6))
MILLIONTH: Final = 1_000_000

Number = int | float


class Spread(msgspec.Struct, omit_defaults=True):
    """The readings of one signal over all sessions."""

    signal: str
    group: str
    kind: str
    method: str
    unit: str = ""
    readings: int = 0
    """Sessions with a value."""
    missing: int = 0
    """Sessions without one."""
    mean: Number | None = None
    median: Number | None = None
    p90: Number | None = None
    min: Number | None = None
    max: Number | None = None
    sum: Number | None = None
    ratio: Number | None = None
    """Of a yes or no: the share of yes."""
    histogram: list[tuple[Number, int]] = []
    """Lower edge of a bin, and how many values are in it."""
    values: dict[str, int] = {}
    """Of a category: how often each."""
    shares: dict[str, Number] = {}
    """And which share of the values that is."""


def bin_of(unit: str, value: Value) -> float | str:
    """The bin that a value is in: its lower edge; of a category the value itself."""
    if isinstance(value, str):
        return value
    edges = RATIOS if unit == "ratio" else BALANCE if unit == "balance" else EDGES
    place = bisect_right(edges, float(value)) - 1
    last = len(edges) - 2 if edges is not EDGES else len(edges) - 1
    return edges[min(max(place, 0), last)]


def parts_of(value: Value) -> tuple[int, int]:
    """A number as whole ones and millionths, which add up without error."""
    if isinstance(value, str):
        return 0, 0
    if isinstance(value, int):
        return int(value), 0
    whole, rest = divmod(round(value * MILLIONTH), MILLIONTH)
    return whole, rest


def number(value: float) -> Number:
    """A result with as many digits as readings have."""
    rounded = round(value, 6)
    return int(rounded) if rounded.is_integer() else rounded
