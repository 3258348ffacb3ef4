"""Columns of numbers as the data files have them: short, and quick to make."""

from __future__ import annotations

from collections.abc import Sequence
from operator import sub

from retro.dashboard.data import Column


def packed(values: Sequence[int]) -> Column:
    """The values; where they are all the same, that value alone, and 0 for no row at all."""
    if not values:
        return 0
    first = values[0]
    return first if values.count(first) == len(values) else list(values)


def steps(values: Sequence[int]) -> list[int]:
    """Each value as the difference to the one before, the first one as it is."""
    return [values[0], *map(sub, values[1:], values)] if values else []
