"""Which texts are turns of one conversation, and in which order they were said: nobody tells.

Ids may count turns, a file may have them in order, or the times that they have; each is tried, and that order is taken
in which turns have most to do with those before: two who speak take turns, and say again what is rare elsewhere. Where
none is better than chance, or where nobody is spoken to, each text stands alone.
"""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from retro.conversation import speaker, without_speaker

ENOUGH: Final = 200
"""Of fewer texts chance tells nothing: ids are believed."""

BETTER: Final = 1.3
"""So many times what chance gives must be found."""

PERSONAL: Final = 0.5
"""The share of turns in which one says I, you or we; of other texts it is about a fifth."""

PAUSE: Final = 6 * 3600.0
"""Seconds after which another conversation begins."""

_PERSONS: Final = frozenset(("i", "you", "me", "my", "your", "we", "us", "our", "mine", "yours", "myself", "yourself"))
_SHORTEST_WORD: Final = 4
_last_number = re.compile(r"(\d+)\D*$").search
_words = re.compile(r"[^\W\d_]+").findall

Order = list[list[int]]
"""Conversations, each the places of its turns in what was given."""


def threads(ids: Sequence[str], texts: Sequence[str], times: Sequence[float | None]) -> Order:
    """The conversations that texts belong to; each alone where they are no turns of any."""
    alone = [[place] for place in range(len(ids))]
    if not spoken(texts):
        return alone
    evidence = _Evidence(texts)
    best, found = alone, 0.0
    for order in _orders(ids, times):
        told = evidence.of(order)
        if best is alone or told > BETTER * found + 1:
            best, found = order, told
    if len(ids) < ENOUGH:
        return best
    by_chance = list(range(len(ids)))
    random.Random(0).shuffle(by_chance)  # noqa: S311 - no secret
    return best if found > BETTER * evidence.of([by_chance]) else alone


def spoken(texts: Sequence[str]) -> bool:
    """Whether texts are what people say to each other: a few begin most of them, or say I and you."""
    names = Counter(filter(None, map(speaker, texts)))
    named = sum(count for count in names.values() if count > 1)
    personal = sum(not _PERSONS.isdisjoint(_words(without_speaker(text).lower())) for text in texts)
    return bool(texts) and (named > len(texts) / 2 or personal >= PERSONAL * len(texts))


def _orders(ids: Sequence[str], times: Sequence[float | None]) -> Iterator[Order]:
    """Each order that may be right, the likeliest first; none twice, and none in which nothing has a neighbour."""
    families: dict[str, list[int]] = {}
    runs: Order = []
    numbers, before = [], None
    for place, name in enumerate(ids):
        found = _last_number(name)
        family = name[: found.start()] if found else name
        numbers.append(int(found[1]) if found else 0)
        families.setdefault(family, []).append(place)
        if family == before:
            runs[-1].append(place)
        else:
            runs.append([place])
        before = family
    together = list(families.values())
    whole = [list(range(len(ids)))]
    tried: list[Order] = [[sorted(of, key=numbers.__getitem__) for of in together], together, runs]
    known = [time for time in times if time is not None]
    if len(known) == len(ids) and len(set(known)) > len(ids) / 2:  # else it is when a whole conversation was
        tried += [_by_time(together, known), _by_time(whole, known)]
    tried.append(whole)
    for at, order in enumerate(tried):
        if order not in tried[:at] and len(order) * 2 <= len(ids):
            yield order


def _by_time(together: Order, times: Sequence[float]) -> Order:
    order: Order = []
    for of in together:
        before = float("-inf")
        for place in sorted(of, key=times.__getitem__):
            if times[place] - before > PAUSE:
                order.append([])
            order[-1].append(place)
            before = times[place]
    return order


class _Evidence:
    """What tells that texts follow each other."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._speakers = [speaker(text) for text in texts]
        said = [{w for w in _words(without_speaker(text).lower()) if len(w) >= _SHORTEST_WORD} for text in texts]
        often = Counter(word for words in said for word in words)
        rare = max(3, len(texts) // 100)
        self._rare = [{word for word in words if often[word] <= rare} for words in said]

    def of(self, order: Order) -> float:
        """How often one speaks again after another, and how often a turn has a rare word of the one before."""
        told = 0
        for places in order:
            who = [self._speakers[place] for place in places]
            told += sum(
                first != "" and first == third != second
                for first, second, third in zip(who, who[1:], who[2:], strict=False)
            )
            told += sum(not self._rare[one].isdisjoint(self._rare[other]) for one, other in itertools.pairwise(places))
        return float(told)
