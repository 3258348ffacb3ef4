"""The statistics of an experiment: a difference with its interval, the sessions it needs, what it would find."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, exp, expm1, inf, pi, sqrt
from statistics import NormalDist
from typing import Final, NamedTuple

ALPHA: Final = 0.05
POWER: Final = 0.8

_normal: Final = NormalDist()
Z_ALPHA: Final = _normal.inv_cdf(1 - ALPHA / 2)
Z_POWER: Final = _normal.inv_cdf(POWER)

FEWEST: Final = 5
"""Sessions of each kind below which there is no interval: its error would be anybody's guess."""


class Spread(NamedTuple):
    """How many values there are, their mean and their variance."""

    n: int
    mean: float
    variance: float


class Interval(NamedTuple):
    """A difference, and where it lies with a confidence of 95 %."""

    difference: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """What values come to; the variance is that of a sample."""
    n = len(values)
    mean = sum(values) / n if n else 0.0
    return Spread(n, mean, sum((value - mean) ** 2 for value in values) / (n - 1) if n > 1 else 0.0)


def interval(one: Spread, other: Spread) -> Interval | None:
    """The difference of two means after Welch; None where there are too few values to say how sure it is."""
    if min(one.n, other.n) < FEWEST:
        return None
    difference = one.mean - other.mean
    error, freedom = standard_error(one, other)
    reach = t_quantile(1 - ALPHA / 2, freedom) * error if error else 0.0
    return Interval(difference, difference - reach, difference + reach)


def standard_error(one: Spread, other: Spread) -> tuple[float, float]:
    """Of the difference of two means, with its degrees of freedom (Welch and Satterthwaite)."""
    first, second = one.variance / one.n, other.variance / other.n
    whole = first + second
    if not whole:
        return 0.0, float(one.n + other.n - 2)
    return sqrt(whole), 1 / ((first / whole) ** 2 / (one.n - 1) + (second / whole) ** 2 / (other.n - 1))


def needed(deviation: float, effect: float, share: float) -> int:
    """Sessions of both kinds together with which an effect is found in four of five experiments."""
    if not effect:
        raise ValueError("no number of sessions shows that there is no difference at all")
    own = (Z_ALPHA + Z_POWER) ** 2 * deviation**2 / effect**2 * (1 / share + 1 / (1 - share))
    # The last term is what the t distribution asks for beyond the normal one, on either side.
    return max(ceil(2 * FEWEST / min(share, 1 - share)), ceil(own + Z_ALPHA**2 / 2))


def power(effect: float, error: float, freedom: float) -> float:
    """How often an experiment with this standard error shows an effect of this size."""
    if not error:
        return 1.0 if effect else 0.0
    limit, shift = t_quantile(1 - ALPHA / 2, freedom), effect / error
    # The noncentral t, by the normal one with the variance that the estimated error adds.
    wide = sqrt(1 + limit**2 / (2 * freedom))
    return _normal.cdf((shift - limit * (1 - 1 / (4 * freedom))) / wide) + _normal.cdf(
        (-shift - limit * (1 - 1 / (4 * freedom))) / wide
    )


def t_quantile(share: float, freedom: float) -> float:
    """The quantile of Student's t (Hill's algorithm 396, good to five digits), for shares above one half."""
    n, tail = freedom, 2 * (1 - share)
    if n == inf:
        return _normal.inv_cdf(share)
    if n <= 2:  # exact there, and never asked for by an interval
        return sqrt(2 / (tail * (2 - tail)) - 2)
    a = 1 / (n - 0.5)
    b = 48 / a**2
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * sqrt(a * pi / 2) * n
    x = d * tail
    y = x ** (2 / n)
    if y <= 0.05 + a:
        y = ((1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1) * (n + 1)
        return sqrt(n * (y / (n + 2) + 1 / x ** (2 / n)))
    x = _normal.inv_cdf(tail / 2)
    y = x**2
    c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c + (0.3 * (n - 4.5) * (x + 0.6) if n < 5 else 0.0)
    y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x
    return sqrt(n * expm1(a * y**2))


def as_share(log_difference: float) -> float:
    """A difference of logarithms as a change: -0.2 for one fifth less."""
    return exp(log_difference) - 1
