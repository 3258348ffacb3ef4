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

ROUNDING = 1e-5


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
        members = groups.get(key)
        if members is None:
            groups[key] = [row]
        else:
            members.append(row)
    for key in unwanted:
        groups.pop(key, None)
    told = _told_of_sessions(groups) if by_session else _told_of_turns(groups, context, most)
    told.sort(key=lambda one: one[1], reverse=True)
    told.sort(key=lambda one: -one[0])
    return [_hit(*one, groups[one[2]], by_session) for one in told[:most]]


_Told = list[tuple[float, str, tuple[int, int], dict[int, float]]]
"""Score, time, session and turn, and what each word is worth there."""


def _told_of_sessions(groups: dict[tuple[int, int], list[Row]]) -> _Told:
    told = []
    for key, members in groups.items():
        members.sort(key=_order)
        score = sum(row.score * NEXT**place for place, row in enumerate(members))
        told.append((round(score, 6), _newest(members), key, best_of(members)))
    return told


def _told_of_turns(groups: dict[tuple[int, int], list[Row]], context: float, most: int | None) -> _Told:
    lent = _lend_titles(groups)
    told = []
    for key in _within_reach(groups, context, most):
        members = groups[key]
        if len(members) > 1:
            members.sort(key=_order)
        score = members[0].score
        here = lent.get(key) or best_of(members)
        if here is not members[0].worth:  # it was lent something, or has several passages
            score += TOGETHER * (sum(here.values()) - score)
        if context and key[1]:
            before, after = groups.get((key[0], key[1] - 1)), groups.get((key[0], key[1] + 1))
            if before or after:
                score += context * _more(here, [best_of(around) for around in (before, after) if around])
        told.append((round(score, 6), _newest(members), key, here))
    return told


def _within_reach(
    groups: dict[tuple[int, int], list[Row]], context: float, most: int | None
) -> Iterable[tuple[int, int]]:
    """Those that can be among so many, whatever their other passages, titles and neighbours add to their best one."""
    if most is None or len(groups) <= 2 * most:
        return groups
    scores = {
        key: members[0].score if len(members) == 1 else max(row.score for row in members)
        for key, members in groups.items()
    }
    ceiling: dict[int, float] = {}
    for members in groups.values():
        for row in members:
            for place, value in row.worth.items():
                if value > ceiling.get(place, 0.0):
                    ceiling[place] = value
    share = TOGETHER + context  # of what is missing to the most that all words can be worth
    least = (sorted(scores.values())[-most] - share * sum(ceiling.values())) / (1 - share) - ROUNDING
    return [key for key, score in scores.items() if score >= least]


def _order(row: Row) -> tuple[float, int]:
    return -row.score, row.id


def _newest(members: list[Row]) -> str:
    if len(members) == 1:
        return members[0].started or ""
    return max((row.started for row in members if row.started), default="")


def _hit(
    score: float, started: str, key: tuple[int, int], worth: dict[int, float], members: list[Row], by_session: bool
) -> Hit:
    turn = None if by_session or not key[1] else key[1]
    hit = Hit(key[0], turn, score, len(worth), [row.id for row in members])
    hit.started = started or None
    return hit


def _lend_titles(groups: dict[tuple[int, int], list[Row]]) -> dict[tuple[int, int], dict[int, float]]:
    """What a session's title says counts for its best turn; where no turn was found, the session itself is."""
    titled = {session for session, turn in groups if not turn}
    first: dict[int, tuple[float, tuple[int, int]]] = {}
    for key in groups if titled else ():
        if key[1] and key[0] in titled:
            worth = sum(best_of(groups[key]).values())
            if key[0] not in first or worth > first[key[0]][0]:
                first[key[0]] = worth, key
    lent = {}
    for session, (_, key) in first.items():
        mine, told = best_of(groups[key]), best_of(groups.pop((session, 0)))
        lent[key] = {place: max(mine.get(place, 0.0), told.get(place, 0.0)) for place in {**mine, **told}}
    return lent


def best_of(members: list[Row]) -> dict[int, float]:
    """What each word is worth where it is worth most."""
    if len(members) == 1:
        return members[0].worth
    best: dict[int, float] = {}
    for row in members:
        for place, value in row.worth.items():
            if value > best.get(place, 0.0):
                best[place] = value
    return best


def _more(here: dict[int, float], around: list[dict[int, float]]) -> float:
    """What the turns before and after say of the words, as far as it is more than this one says."""
    more: dict[int, float] = {}
    for worth in around:
        for place, value in worth.items():
            rest = value - here.get(place, 0.0)
            if rest > more.get(place, 0.0):
                more[place] = rest
    return sum(more.values())
