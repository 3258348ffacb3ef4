"""How sure a share is: the few formulas that mining and measuring need."""

from __future__ import annotations

from math import sqrt
from typing import Final

Z95: Final = 1.96
Z90: Final = 1.645


def wilson(hits: int, of: int, z: float = Z95) -> tuple[float, float]:
    """Wilson's interval of a share; (0, 1) where nothing was seen."""
    if of == 0:
        return 0.0, 1.0
    share = hits / of
    below = 1 + z * z / of
    middle = share + z * z / (2 * of)
    spread = z * sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    low = 0.0 if hits == 0 else (middle - spread) / below  # exact, where rounding would not be
    return low, 1.0 if hits == of else (middle + spread) / below


def lift_low(hits: int, of: int, base_hits: int, base_of: int, z: float = Z90) -> float:
    """A lower bound of how many times more often it happens than elsewhere (Zou and Donner, on Wilson's intervals).

    The two sides' doubts are combined, not added up: the bound of the difference of the logarithms.
    """
    if of == 0 or base_of == 0 or hits == 0:
        return 0.0
    share, low = hits / of, wilson(hits, of, z)[0]
    base, high = base_hits / base_of, wilson(base_hits, base_of, z)[1]
    if base == 0:
        return low / high
    from math import exp, log

    middle = log(share) - log(base)
    return exp(middle - sqrt((log(share) - log(low)) ** 2 + (log(high) - log(base)) ** 2))
