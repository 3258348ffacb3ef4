"""Failures of one kind put together, over sessions, each as exactly as it recurs, with what worked after them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from retro.mining.episodes import (
    AGAIN,
    CHANGED,
    CHANGED_CODE,
    CHANGED_IT,
    OTHER_ARGUMENTS,
    Attempt,
    Episode,
    Way,
    label,
)
from retro.mining.statistics import lift_low, wilson
from retro.problems import family, kind

EVERYWHERE: Final = ""
"""The scope of a cluster whose failures come from several repositories."""

ANY_PROGRAM: Final = ""
"""The program of a cluster whose failures are of several."""


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


CHANGES: Final = frozenset({CHANGED_IT, CHANGED_CODE})
SAME_PROGRAM: Final = frozenset({AGAIN, CHANGED, CHANGED_IT, CHANGED_CODE, OTHER_ARGUMENTS})
"""Ways of running what failed once more."""


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
                way = self.told(attempt.way)
                tried.setdefault(way, set()).add(episode.trace.name)
                if attempt.worked:
                    worked.setdefault(way, set()).add(episode.trace.name)
        rates = {way: Rate(len(worked.get(way, ())), len(names)) for way, names in tried.items()}
        return dict(sorted(rates.items(), key=lambda item: (-item[1].worked, item[1].tried, item[0])))

    def told(self, way: Way) -> Way:
        """A way as this cluster tells it: where several programs failed, running it again names none of them."""
        return Way(way.how) if self.key.program == ANY_PROGRAM and way.how in SAME_PROGRAM else way

    def attempts(self, way: Way) -> list[tuple[Episode, Attempt]]:
        """Every attempt of a way, with its failure."""
        return [
            (episode, attempt)
            for episode in self.episodes
            for attempt in episode.attempts
            if self.is_taken(way, attempt)
        ]

    def is_taken(self, way: Way, attempt: Attempt) -> bool:
        """Whether an attempt goes a way."""
        told = self.told(attempt.way)
        return told == way or (told.how in CHANGES and told._replace(how=CHANGED) == way)


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
    of_any: bool
    """Whether these are attempts at any failure."""
    low: float
    """A lower bound of its rate."""
    lift_low: float
    """A lower bound of how many times more often it works than the others."""


FEW: Final = 5


def resolution(cluster: Cluster, any_attempt: Rate, least: int = 2) -> Resolution | None:
    """The way whose success is surest; None where nothing worked in so many sessions, and as often as other tries.

    Changing the file that was run and changing another count as one, where that is surer than either.
    """
    ways = cluster.ways()
    either = _surest(ways, any_attempt, least), _surest(_changing(cluster), any_attempt, least)
    return max(filter(None, either), key=lambda one: one.low, default=None)


def _changing(cluster: Cluster) -> dict[Way, Rate]:
    """The ways, where any change is one."""

    def told(attempt: Attempt) -> Attempt:
        return attempt._replace(way=attempt.way._replace(how=CHANGED)) if attempt.way.how in CHANGES else attempt

    return cluster._replace(
        episodes=tuple(one._replace(attempts=tuple(map(told, one.attempts))) for one in cluster.episodes)
    ).ways()


def _surest(ways: dict[Way, Rate], any_attempt: Rate, least: int) -> Resolution | None:
    best: Resolution | None = None
    for way, rate in ways.items():
        if rate.worked < least:
            continue
        others = Rate(
            sum(other.worked for name, other in ways.items() if name != way),
            sum(other.tried for name, other in ways.items() if name != way),
        )
        few = others.tried < FEW
        others = any_attempt if few else others
        low = wilson(*rate)[0]
        if rate.share >= others.share and (best is None or low > best.low):
            best = Resolution(way, rate, others, few, low, lift_low(*rate, *others))
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
