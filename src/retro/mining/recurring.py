"""Failures of one kind put together, over sessions, each as exactly as it recurs, with what worked after them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from retro.mining.episodes import Attempt, Episode, Way, label
from retro.mining.statistics import lift_low, wilson
from retro.problems import family, kind

EVERYWHERE: Final = ""
"""The scope of a cluster whose failures come from several repositories."""


class Key(NamedTuple):
    """What the failures of a cluster share."""

    scope: str
    program: str
    signature: str


class Rate(NamedTuple):
    """In how many sessions something worked, of those in which it was tried."""

    worked: int
    tried: int

    @property
    def share(self) -> float:
        """How often it worked."""
        return self.worked / self.tried if self.tried else 0.0


class Cluster(NamedTuple):
    """Failures that share a key, in order of their sessions."""

    key: Key
    episodes: tuple[Episode, ...]

    @property
    def sessions(self) -> list[str]:
        """Each session once."""
        return list(dict.fromkeys(episode.trace.name for episode in self.episodes))

    def ways(self) -> dict[Way, Rate]:
        """What was tried, and in how many sessions it worked; most successful sessions first."""
        worked: dict[Way, set[str]] = {}
        tried: dict[Way, set[str]] = {}
        for episode in self.episodes:
            for attempt in episode.attempts:
                tried.setdefault(attempt.way, set()).add(episode.trace.name)
                if attempt.worked:
                    worked.setdefault(attempt.way, set()).add(episode.trace.name)
        rates = {way: Rate(len(worked.get(way, ())), len(names)) for way, names in tried.items()}
        return dict(sorted(rates.items(), key=lambda item: (-item[1].worked, item[1].tried, item[0])))

    def attempts(self, way: Way) -> list[tuple[Episode, Attempt]]:
        """Every attempt of a way, with its failure."""
        return [(episode, attempt) for episode in self.episodes for attempt in episode.attempts if attempt.way == way]


LEVELS: Final[tuple[Callable[[Episode], Key], ...]] = (
    lambda one: Key(one.trace.scope, label(one.failure), one.failure.signature),
    lambda one: Key(one.trace.scope, label(one.failure), family(one.failure.signature)),
    lambda one: Key(EVERYWHERE, label(one.failure), one.failure.signature),
    lambda one: Key(EVERYWHERE, label(one.failure), family(one.failure.signature)),
    lambda one: Key(one.trace.scope, label(one.failure), kind(one.failure.signature)),
    lambda one: Key(EVERYWHERE, label(one.failure), kind(one.failure.signature)),
)
"""From the most to the least exact. A failure belongs to the first of its keys that recurs."""


def clusters(found: Iterable[Episode], least: int) -> list[Cluster]:
    """The kinds of failure that at least so many sessions met, the most frequent first."""
    rest = list(found)
    done: list[Cluster] = []
    for level in LEVELS:
        groups: dict[Key, list[Episode]] = {}
        for episode in rest:
            groups.setdefault(level(episode), []).append(episode)
        recurring = {key for key, group in groups.items() if len({one.trace.name for one in group}) >= least}
        done += [Cluster(key, tuple(groups[key])) for key in recurring]
        rest = [episode for episode in rest if level(episode) not in recurring]
    return sorted(done, key=lambda cluster: (-len(cluster.sessions), cluster.key))


class Resolution(NamedTuple):
    """What works best after a failure, and how much better than other attempts do."""

    way: Way
    rate: Rate
    others: Rate
    """Every other attempt at failures of this kind; where there were too few, at any failure."""
    low: float
    """A lower bound of its rate."""
    lift_low: float
    """A lower bound of how many times more often it works than the others."""


FEW: Final = 5


def resolution(cluster: Cluster, any_attempt: Rate, least: int = 2) -> Resolution | None:
    """The way whose success is surest; None where nothing worked in so many sessions."""
    ways = cluster.ways()
    best: Resolution | None = None
    for way, rate in ways.items():
        if rate.worked < least:
            continue
        others = Rate(
            sum(other.worked for name, other in ways.items() if name != way),
            sum(other.tried for name, other in ways.items() if name != way),
        )
        others = others if others.tried >= FEW else any_attempt
        low = wilson(*rate)[0]
        if best is None or low > best.low:
            best = Resolution(way, rate, others, low, lift_low(*rate, *others))
    return best


def base_rate(found: Sequence[Episode]) -> Rate:
    """How often an attempt after a failure works at all, counted once a session and kind of attempt."""
    tried = {(one.trace.name, one.failure.signature, attempt.way) for one in found for attempt in one.attempts}
    worked = {
        (one.trace.name, one.failure.signature, attempt.way)
        for one in found
        for attempt in one.attempts
        if attempt.worked
    }
    return Rate(len(worked), len(tried))
