"""Passages joined by turn or session, best first.

On the light path: nothing is imported but what the house itself needs.
"""

from __future__ import annotations

from retro.index.hits import Hit

TYPE_CHECKING = False  # as in places: this is on the light path
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from retro.index.grading import Row

TOGETHER = 0.2
"""How much of what the other passages of a turn add to its best one counts."""

NEXT = 0.6
"""How much of what it says each next passage of a session counts, the best one first."""

CONTEXT = 0.1
"""How much of what its neighbours say of a word counts for a turn."""


def joined(
    rows: list[Row],
    by_session: bool,
    unwanted: Collection[tuple[int, int]] = (),
    context: float = CONTEXT,
    most: int | None = None,
) -> list[Hit]:
    """Passages joined by turn or session, best first, at most so many; of equals the newest."""
    groups: dict[tuple[int, int], list[Row]] = {}
    for row in rows:
        key = (row.session, 0 if by_session else row.turn)
        if key not in unwanted:
            groups.setdefault(key, []).append(row)
    best = {key: _best(members) for key, members in groups.items()}
    if not by_session:
        _lend_titles(groups, best)
    told = _told_of_sessions(groups) if by_session else _told_of_turns(groups, best, context)
    told.sort(key=lambda one: one[1], reverse=True)
    told.sort(key=lambda one: -one[0])
    return [_hit(score, started, key, groups[key], best[key], by_session) for score, started, key in told[:most]]


_Told = list[tuple[float, str, tuple[int, int]]]
"""Score, time, session and turn."""


def _told_of_sessions(groups: dict[tuple[int, int], list[Row]]) -> _Told:
    told = []
    for key, members in groups.items():
        members.sort(key=_order)
        score = sum(row.score * NEXT**place for place, row in enumerate(members))
        told.append((round(score, 6), _newest(members), key))
    return told


def _told_of_turns(
    groups: dict[tuple[int, int], list[Row]], best: dict[tuple[int, int], dict[int, float]], context: float
) -> _Told:
    told = []
    for key, members in groups.items():
        if len(members) > 1:
            members.sort(key=_order)
        score = members[0].score
        here = best[key]
        if here is not members[0].worth:  # it was lent something, or has several passages
            score += TOGETHER * (sum(here.values()) - score)
        if context and key[1]:
            around = best.get((key[0], key[1] - 1)), best.get((key[0], key[1] + 1))
            score += context * _more(here, around) if around != (None, None) else 0.0
        told.append((round(score, 6), _newest(members), key))
    return told


def _order(row: Row) -> tuple[float, int]:
    return -row.score, row.id


def _newest(members: list[Row]) -> str:
    if len(members) == 1:
        return members[0].started or ""
    return max((row.started for row in members if row.started), default="")


def _hit(
    score: float, started: str, key: tuple[int, int], members: list[Row], worth: dict[int, float], by_session: bool
) -> Hit:
    turn = None if by_session or not key[1] else key[1]
    hit = Hit(key[0], turn, score, len(worth), [row.id for row in members])
    hit.started = started or None
    return hit


def _lend_titles(groups: dict[tuple[int, int], list[Row]], best: dict[tuple[int, int], dict[int, float]]) -> None:
    """What a session's title says counts for its best turn; where no turn was found, the session itself is."""
    first: dict[int, tuple[int, int]] = {}
    for key, worth in best.items():
        if key[1] and (key[0] not in first or sum(worth.values()) > sum(best[first[key[0]]].values())):
            first[key[0]] = key
    for session, key in first.items():
        told = best.pop((session, 0), None)
        if told is not None:
            groups.pop((session, 0))
            mine = best[key]
            best[key] = {place: max(mine.get(place, 0.0), told.get(place, 0.0)) for place in {**mine, **told}}


def _best(members: list[Row]) -> dict[int, float]:
    """What each word is worth where it is worth most."""
    if len(members) == 1:
        return members[0].worth
    best: dict[int, float] = {}
    for row in members:
        for place, value in row.worth.items():
            if value > best.get(place, 0.0):
                best[place] = value
    return best


def _more(here: dict[int, float], around: Iterable[dict[int, float] | None]) -> float:
    """What the turns before and after say of the words, as far as it is more than this one says."""
    more: dict[int, float] = {}
    for worth in around:
        for place, value in (worth or {}).items():
            rest = value - here.get(place, 0.0)
            if rest > more.get(place, 0.0):
                more[place] = rest
    return sum(more.values())
