"""The pages beside the first screen: signals and what is usual, patterns, five-hour blocks, what is remembered."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from math import ceil
from typing import Any, Final, NamedTuple

import apsw
import msgspec

from retro.dashboard.memories import memories
from retro.dashboard.overview import Choice
from retro.index.database import rows
from retro.ledger import blocks, calendar
from retro.ledger.reports import Wanted
from retro.measure import comparing, log
from retro.measure.comparing import Result
from retro.measure.endpoints import ENDPOINTS
from retro.patterns import store
from retro.places import Places
from retro.signals.base import Signal
from retro.signals.running import known

BINS: Final = 12
OUTLIERS: Final = 5
"""Sessions that stand out of each signal."""
FENCE: Final = 3.0
"""Times the distance between the quartiles, beyond which a value stands out."""
ENOUGH: Final = 5
"""Sessions of a project from which on something is usual."""
NEWEST: Final = 1000
"""Sessions that are looked at one by one."""
BLOCKS: Final = 60
WEEK: Final = 7 * 86400


class Outlier(msgspec.Struct):
    """A session whose value stands out."""

    host: str
    id: str
    title: str | None
    value: float


class SignalPage(msgspec.Struct):
    """A signal over all sessions."""

    name: str
    group: str
    kind: str
    description: str
    unit: str
    sessions: int
    missing: int
    reasons: dict[str, int]
    """Why it is missing, and how often."""
    quartiles: tuple[float, float, float] | None
    mean: float | None
    least: float | None
    most: float | None
    bins: list[tuple[float, float, int]]
    """Of numbers: from, to, how many sessions."""
    shares: dict[str, int]
    """Of anything else: value and how many sessions."""
    trend: list[tuple[int, float]]
    """The median of each week (days since 1970), of the share of yes."""
    outliers: list[Outlier]


class Signals(msgspec.Struct):
    """All signals, and what is usual in each project."""

    of: int
    """Sessions that were looked at: all that were chosen, as far as nothing else is said."""
    newest: int
    """Sessions of which trends, reasons and what is usual come: the newest; where only some were chosen, all of it."""
    signals: list[SignalPage]
    usual: dict[str, dict[str, tuple[float, float, float]]]
    """By project and signal: lower quartile, median, upper quartile."""


class SeenIn(msgspec.Struct):
    """Where a pattern was seen."""

    host: str
    id: str
    title: str | None
    events: list[str]


class PatternPage(msgspec.Struct):
    """A pattern."""

    id: str
    kind: str
    program: str
    signature: str
    example: str
    sessions: int
    occurrences: int
    hosts: list[str]
    repositories: list[str]
    first_seen: str | None
    last_seen: str | None
    resolution: str
    worked: int
    tried: int
    state: str
    note: str | None
    seen: list[SeenIn]


class Patterns(msgspec.Struct):
    """What recurs."""

    patterns: list[PatternPage]


class Measured(msgspec.Struct):
    """The last experiment, as `retro measure --json` gives it."""

    result: Result
    endpoints: dict[str, tuple[str, bool]]
    """What each reads, and whether its differences are shares."""
    earlier: list[tuple[str, str, str, str | None]]
    """Experiments before it: id, endpoint, when they began and ended."""


class BlockPage(msgspec.Struct):
    """Five hours from the hour of a first request, as providers count them."""

    host: str
    start: int
    """Seconds since 1970."""
    end: int
    active: bool
    requests: int
    tokens: int
    cost: int
    cost_per_hour: float | None
    projected: int | None
    """Microdollars at its end, if it goes on as it did."""


class Blocks(msgspec.Struct):
    """The newest blocks, the newest first."""

    blocks: list[BlockPage]


def sections(connection: apsw.Connection, places: Places, choice: Choice) -> dict[str, msgspec.Struct]:
    """All that there is something to say about, by name."""
    makers: dict[str, Callable[[], msgspec.Struct | None]] = {
        "signals": lambda: signals(connection, choice),
        "patterns": lambda: None if choice.strict else patterns(connection, places),
        "blocks": lambda: five_hours(connection, choice),
        "memory": lambda: None if choice.strict else memories(connection, places, choice),
        "measure": lambda: experiment(connection, places, choice),
    }
    made = {name: make() for name, make in makers.items()}
    return {name: content for name, content in made.items() if content is not None}


# --- signals ---------------------------------------------------------------------------------------------------------


class _Found:
    """The readings of one signal in the sessions that are looked at."""

    __slots__ = ("reasons", "values")

    def __init__(self) -> None:
        self.values: list[tuple[Any, int]] = []
        """With the number of the session."""
        self.reasons: dict[str, int] = {}

    def grouped(self, names: Mapping[int, Any]) -> dict[Any, list[float]]:
        """Numbers by what belongs to their sessions."""
        found: dict[Any, list[float]] = {}
        for value, session in self.values:
            found.setdefault(names[session], []).append(value)
        return found


def signals(connection: apsw.Connection, choice: Choice) -> Signals | None:
    """Every signal over the newest sessions, and what is usual in each project."""
    newest = list(_newest(connection, choice))
    projects = {number: project for number, project, _ in newest}
    weeks = {number: week for number, _, week in newest}
    found: dict[str, _Found] = {}
    numbers = ",".join(map(str, projects))
    query = f"SELECT signal, value, reason, session FROM reading WHERE session IN ({numbers})"  # noqa: S608 - whole numbers
    for name, value, reason, session in rows(connection, query):
        one = found.get(name)
        if one is None:
            one = found[name] = _Found()
        if value is not None:
            one.values.append((value, session))
        else:
            one.reasons[reason or ""] = one.reasons.get(reason or "", 0) + 1
    if not found:
        return None
    registered = known()
    order = {name: place for place, name in enumerate(registered)}
    ordered = sorted(found, key=lambda name: (order.get(name, len(order)), name))
    usual: dict[str, dict[str, tuple[float, float, float]]] = {}
    kinds = {name: signal.kind for name, signal in registered.items()}
    for name in () if choice.strict else ordered:
        if kinds.get(name) != "numeric":
            continue
        for project, values in found[name].grouped(projects).items():
            if len(values) >= ENOUGH:
                usual.setdefault(project, {})[name] = quartiles(sorted(values))
    every = choice.project is None and choice.since is None
    looked = _of_all if every else _of_some
    pages = [
        _signal(
            connection, name, registered.get(name), looked(connection, name, found[name]), found[name], weeks, choice
        )
        for name in ordered
    ]
    of = next(rows(connection, "SELECT count(*) FROM session"))[0] if every else len(newest)
    return Signals(of, len(newest), pages, usual)


def _newest(connection: apsw.Connection, choice: Choice) -> Iterator[tuple[int, str, int]]:
    """The newest sessions: number, project, and the week in which each was last active."""
    conditions = ["lower(project) = lower(:project)"] if choice.project else []
    given: dict[str, object] = {"project": choice.project} if choice.project else {}
    if choice.since is not None:
        conditions.append("ended >= :since")
        given["since"] = calendar.day_name(choice.since)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    query = (
        f"SELECT id, coalesce(project, ''), coalesce(strftime('%s', ended), 0) / {WEEK} FROM session{where}"  # noqa: S608
        f" ORDER BY ended DESC LIMIT {NEWEST}"
    )
    return rows(connection, query, given)


class _Spread(NamedTuple):
    """How the readings of a signal are spread."""

    values: Mapping[Any, int]
    """Each with how many sessions have it, in their order."""
    missing: int


def _of_all(connection: apsw.Connection, name: str, _: _Found) -> _Spread:
    """Over all sessions, from the index of values alone."""
    query = "SELECT value, count(*) FROM reading WHERE signal = ? AND value IS NOT NULL GROUP BY value ORDER BY value"
    missing = rows(connection, "SELECT missing FROM aggregate WHERE signal = ?", (name,))
    return _Spread(dict(rows(connection, query, (name,))), next(missing, (0,))[0])


def _of_some(_: apsw.Connection, __: str, found: _Found) -> _Spread:
    """Over the sessions that are looked at."""
    counted = Counter(value for value, _ in found.values)
    return _Spread(dict(sorted(counted.items())), sum(found.reasons.values()))


def _signal(
    connection: apsw.Connection,
    name: str,
    signal: Signal | None,
    spread: _Spread,
    found: _Found,
    weeks: Mapping[int, int],
    choice: Choice,
) -> SignalPage:
    kind = signal.kind if signal else "categorical"
    told = [value for value in spread.values if isinstance(value, (int, float))]
    numbers = [value for value in told for _ in range(spread.values[value])]
    numeric = kind == "numeric" and bool(numbers)
    return SignalPage(
        name=name,
        group=signal.group if signal else "",
        kind=kind,
        description=signal.description if signal else "",
        unit=signal.unit if signal else "",
        sessions=sum(spread.values.values()) + spread.missing,
        missing=spread.missing,
        reasons={} if choice.strict else found.reasons,
        quartiles=quartiles(numbers) if numeric else None,
        mean=round(sum(numbers) / len(numbers), 6) if numbers else None,
        least=numbers[0] if numeric else None,
        most=numbers[-1] if numeric else None,
        bins=histogram(numbers) if numeric else [],
        shares={} if numeric or (choice.strict and kind == "categorical") else _shares(spread.values, kind),
        trend=[] if kind == "categorical" else _trend(found.grouped(weeks)),
        outliers=[] if choice.strict or not numeric else _outliers(connection, name, numbers, weeks, choice),
    )


def quartiles(numbers: Sequence[float]) -> tuple[float, float, float]:
    """Lower quartile, median and upper quartile of sorted numbers."""
    low, middle, high = (_quantile(numbers, share) for share in (0.25, 0.5, 0.75))
    return low, middle, high


def _quantile(numbers: Sequence[float], share: float) -> float:
    place = (len(numbers) - 1) * share
    below = int(place)
    above = min(below + 1, len(numbers) - 1)
    return round(numbers[below] + (numbers[above] - numbers[below]) * (place - below), 6)


def histogram(numbers: Sequence[float]) -> list[tuple[float, float, int]]:
    """Sorted numbers in bins of equal width; what lies far above the most is in the last one."""
    low, high = numbers[0], min(numbers[-1], _quantile(numbers, 0.98))
    if high - low < 1e-6:  # as finely as edges are told
        return [(low, numbers[-1], len(numbers))]
    whole = high - low < BINS and all(float(number).is_integer() for number in set(numbers))
    if whole:
        high = min(ceil(high), low + BINS - 1)
    width = 1.0 if whole else (high - low) / BINS
    count = int(high - low) + 1 if whole else BINS
    # Where a bin begins, as exactly as numbers are told.
    places = [bisect_left(numbers, place, key=lambda number: int((number - low) / width)) for place in range(count)]
    counts = [after - before for before, after in pairwise([*places, len(numbers)])]
    edges = [round(low + width * place, 6) for place in range(count)]
    return [(edge, round(edge + width, 6), number) for edge, number in zip(edges, counts, strict=True)]


def _trend(by_week: Mapping[int, list[float]]) -> list[tuple[int, float]]:
    return [(week * 7, _quantile(sorted(values), 0.5)) for week, values in sorted(by_week.items()) if week > 0]


def _shares(values: Mapping[Any, int], kind: str) -> dict[str, int]:
    shares: dict[str, int] = {}
    for value, count in values.items():
        said = ("yes" if value else "no") if kind == "boolean" else str(value)
        shares[said] = shares.get(said, 0) + count
    return dict(sorted(shares.items(), key=lambda item: (-item[1], item[0])))


def _outliers(
    connection: apsw.Connection, name: str, numbers: Sequence[float], chosen: Mapping[int, int], choice: Choice
) -> list[Outlier]:
    """The sessions that stand out most; where only some are chosen, of those."""
    low, _, high = quartiles(numbers)
    fence = high + FENCE * (high - low)
    if high == low or numbers[-1] <= fence:
        return []
    query = (
        "SELECT host, session_id, title, value, session FROM reading JOIN session ON session.id = session"
        " WHERE signal = ? AND value > ? ORDER BY value DESC, session DESC"
    )
    every = choice.project is None and choice.since is None
    far = (row for row in rows(connection, query, (name, fence)) if every or row[4] in chosen)
    return [Outlier(*row[:4]) for row in islice(far, OUTLIERS)]


# --- the rest --------------------------------------------------------------------------------------------------------


def patterns(connection: apsw.Connection, places: Places) -> Patterns | None:
    """What `retro detect` found last, with what was decided of it."""
    found = store.curated(places, store.saved(places))
    if not found:
        return None
    named = rows(connection, "SELECT host, session_id, substr(title, 1, 80) FROM session WHERE title IS NOT NULL")
    titles = {(host, session_id): title for host, session_id, title in named}
    shown = []
    for one in found:
        seen: dict[tuple[str, str], list[str]] = {}
        for evidence in one.evidence:
            seen.setdefault((evidence.host, evidence.session_id), []).append(evidence.event_id)
        best = one.resolution
        shown.append(
            PatternPage(
                id=one.id,
                kind=one.kind,
                program=one.program,
                signature=one.signature,
                example=one.example,
                sessions=one.sessions,
                occurrences=one.occurrences,
                hosts=one.hosts,
                repositories=one.repositories,
                first_seen=one.first_seen,
                last_seen=one.last_seen,
                resolution=" ".join([best.how.replace("_", " "), best.program, *best.flags]).strip() if best else "",
                worked=best.worked if best else 0,
                tried=best.tried if best else 0,
                state=one.state,
                note=one.note,
                seen=[SeenIn(*name, titles.get(name), events) for name, events in seen.items()],
            )
        )
    return Patterns(shown)


def experiment(connection: apsw.Connection, places: Places, choice: Choice) -> Measured | None:
    """The last experiment as it stands; None where there was none."""
    found = log.experiments(places)
    if not found:
        return None
    told = comparing.result(connection, found[-1])
    if choice.strict:
        told = msgspec.structs.replace(told, repositories=[])
    earlier = [(one.plan.id, one.plan.endpoint, one.started, one.stopped) for one in reversed(found[:-1])]
    says = {name: (one.says, one.ratio) for name, one in ENDPOINTS.items()}
    return Measured(told, says, earlier)


def five_hours(connection: apsw.Connection, choice: Choice) -> Blocks | None:
    """The newest five-hour blocks."""
    wanted = Wanted(project=choice.project, mode=choice.mode)
    moment = int(time.time() * 1000)
    found = blocks.blocks(connection, wanted, moment)[-BLOCKS:]
    if not found:
        return None
    shown = []
    for one in reversed(found):
        rate, end = one.rate, one.projection(moment)
        shown.append(
            BlockPage(
                host=one.host,
                start=one.start // 1000,
                end=one.end // 1000,
                active=one.active,
                requests=one.amount.requests,
                tokens=one.amount.tokens,
                cost=one.amount.cost,
                cost_per_hour=rate.microdollars_per_hour if rate else None,
                projected=end.microdollars if end else None,
            )
        )
    return Blocks(shown)
