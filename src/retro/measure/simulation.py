"""The experiment tried out on made-up worlds: whether it finds what is there, and nothing where there is nothing."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, sqrt
from random import Random
from typing import Final

import msgspec

from retro.measure import estimate
from retro.measure.endpoints import ENDPOINTS, Endpoint
from retro.measure.lot import is_withheld

WORLDS: Final = 5_000
SESSIONS: Final = 200
REPOSITORIES: Final = 8
COVERAGE: Final = 1 - estimate.ALPHA
OFF: Final = 0.01
"""How far the coverage may be off; in fewer worlds three standard errors, which chance alone gives."""

POWER_OFF: Final = 0.025
"""The same of the power: four standard errors of 5,000 worlds."""


Draw = Callable[[Random, float, float], float]
"""Makes the endpoint of one session, of its repository's level and the effect."""


class Simulated(msgspec.Struct, frozen=True):
    """What was seen in worlds of one kind."""

    worlds: int
    sessions: int
    """In each world."""
    effect: float
    """That was put into it, on the scale of the analysis."""
    coverage: float
    """Share of worlds whose interval holds it."""
    found: float
    """Share of worlds whose interval says that there is a difference."""
    power: float
    """That share, by the formula."""

    @property
    def holds(self) -> bool:
        """Whether interval and formula are as they should be."""
        chance = 3 / sqrt(max(1, self.worlds))
        covers = abs(self.coverage - COVERAGE) <= max(OFF, chance * sqrt(COVERAGE * (1 - COVERAGE)))
        return covers and abs(self.found - self.power) <= max(POWER_OFF, chance / 2)


def simulate(endpoint: str, worlds: int = WORLDS, sessions: int = SESSIONS, share: float = 0.5) -> list[Simulated]:
    """Worlds without an effect, and worlds with one that so many sessions show in four of five experiments."""
    of = ENDPOINTS[endpoint]
    draw, deviation = _MADE[endpoint]
    error = deviation * sqrt(1 / (sessions * share) + 1 / (sessions * (1 - share)))
    effect = (estimate.Z_ALPHA + estimate.Z_POWER) * error
    effect = effect if of.more_is_better else -effect
    return [_simulated(of, draw, 0.0, worlds, sessions, share), _simulated(of, draw, effect, worlds, sessions, share)]


def _simulated(endpoint: Endpoint, draw: Draw, effect: float, worlds: int, sessions: int, share: float) -> Simulated:
    """The same lot and the same interval as in an experiment, on sessions that are drawn."""
    held = shown = counted = 0
    power = 0.0
    for number in range(worlds):
        seed = f"{endpoint.name} {effect:.6f} {number}"
        one, other, truth = _world(Random(seed), seed, draw, effect, sessions, share)  # noqa: S311 - no secret
        between = estimate.interval(one, other)
        if between is None:
            continue
        counted += 1
        held += between.low <= truth <= between.high
        shown += not between.low <= 0 <= between.high
        power += estimate.power(truth, *estimate.standard_error(one, other)) if effect else estimate.ALPHA
    whole = max(1, counted)
    return Simulated(counted, sessions, effect, held / whole, shown / whole, power / whole)


def _world(
    random: Random, seed: str, draw: Draw, effect: float, sessions: int, share: float
) -> tuple[estimate.Spread, estimate.Spread, float]:
    """One world: repositories that differ, sessions by lot, and what was put into those that received a weave."""
    levels = [random.gauss(0, 1) for _ in range(REPOSITORIES)]
    woven: list[float] = []
    withheld: list[float] = []
    for number in range(sessions):
        level = levels[int(random.random() * REPOSITORIES)]
        if is_withheld(seed, f"s{number}", share):
            withheld.append(draw(random, level, 0.0))
        else:
            woven.append(draw(random, level, effect))
    return estimate.spread(woven), estimate.spread(withheld), effect


def _went_well(random: Random, level: float, effect: float) -> float:
    """Nothing but well or badly, which differs more than any probability does."""
    return float(random.random() < min(max(0.5 + 0.07 * level, 0.25), 0.75) + effect)


def _logarithm(random: Random, level: float, effect: float) -> float:
    return random.gauss(effect + 0.4 * level, 1.0)


def _count(random: Random, level: float, effect: float) -> float:
    """A count after Poisson whose mean differs by repository."""
    limit, product, count = exp(-max(0.05, 1.5 + 0.2 * level + effect)), random.random(), 0
    while product > limit:
        product *= random.random()
        count += 1
    return float(count)


_MADE: Final[dict[str, tuple[Draw, float]]] = {
    "outcome": (_went_well, 0.5),
    "cost": (_logarithm, sqrt(1.16)),
    "corrections": (_count, sqrt(1.54)),
    "first_edit": (_logarithm, sqrt(1.16)),
    "turns": (_logarithm, sqrt(1.16)),
}
