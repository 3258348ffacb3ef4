"""What an experiment shows: woven against withheld sessions, each counted as what it was drawn to be."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import sqrt
from statistics import stdev
from typing import Final, Literal

import apsw
import msgspec

from retro.archive.state_log import name_hash
from retro.index.database import rows
from retro.index.traces import SCOPE
from retro.measure import estimate
from retro.measure.endpoints import ENDPOINTS, Endpoint
from retro.measure.log import Experiment

REST_SECONDS: Final = 3600
"""A session that has not gone on for so long is over."""

ENOUGH: Final = 30
"""Sessions from which the deviation of an endpoint is taken."""

Verdict = Literal["helps", "hurts", "no_difference_shown", "not_enough"]


class Session(msgspec.Struct, frozen=True):
    """A session of an experiment, as the archive knows it."""

    withheld: bool
    repository: str
    kinds: tuple[str, ...]
    over: bool
    values: dict[str, float]
    """By endpoint, on the scale of the analysis; what is not known is not there."""


class Group(msgspec.Struct, frozen=True):
    """One of the two kinds of sessions."""

    sessions: int
    known: int
    """Of how many of them the endpoint is known."""
    mean: float | None


class Comparison(msgspec.Struct, frozen=True):
    """An endpoint in both. Differences are woven less withheld; of ratio endpoints as a share of withheld."""

    endpoint: str
    woven: Group
    withheld: Group
    difference: float | None
    low: float | None
    high: float | None
    needed: int
    """Sessions with which the effect that is looked for would be found, by what single ones differ here."""


class Part(msgspec.Struct, frozen=True):
    """One repository, or one kind of memory."""

    name: str
    comparisons: list[Comparison]


class Result(msgspec.Struct, frozen=True):
    """All that an experiment shows."""

    experiment: Experiment
    assigned: int
    going_on: int
    """Sessions that may go on; they do not count yet."""
    continued: int
    """Sessions that continue another one, whose text they bring along; they never count."""
    lost: int
    """Sessions that the archive does not have."""
    counted: int
    """Sessions of which the primary endpoint is known."""
    needed: int
    verdict: Verdict
    primary: Comparison
    """Of the first sessions that suffice, once they do: looking again later does not change it."""
    comparisons: list[Comparison]
    repositories: list[Part]
    kinds: list[Part]


def result(connection: apsw.Connection, experiment: Experiment, now: float | None = None) -> Result:
    """Compare the sessions of an experiment."""
    plan = experiment.plan
    known = _sessions(connection, time.time() if now is None else now)
    found: list[Session] = []
    continued = lost = 0
    for one in sorted(experiment.sessions.values(), key=lambda assigned: assigned.at):
        row = known.get(one.session)
        if row is None:
            lost += 1
        elif row.continues:
            continued += 1
        else:
            found.append(Session(one.withheld, row.repository, one.kinds, row.over, row.values))
    over = [one for one in found if one.over]
    first, waits = _first(found, plan.endpoint, plan.needed)
    counted = sum(plan.endpoint in one.values for one in over)
    primary = compared(ENDPOINTS[plan.endpoint], first if counted >= plan.needed else over, plan.effect)
    is_enough = counted >= plan.needed and not waits
    return Result(
        experiment=msgspec.structs.replace(experiment, sessions={}),
        assigned=len(experiment.sessions),
        going_on=len(found) - len(over),
        continued=continued,
        lost=lost,
        counted=counted,
        needed=plan.needed,
        verdict=verdict(primary) if is_enough else "not_enough",
        primary=primary,
        comparisons=_all(over, plan.endpoint, plan.effect),
        repositories=_parts(over, lambda one: [one.repository], plan.endpoint, plan.effect),
        kinds=_parts(over, lambda one: one.kinds, plan.endpoint, plan.effect),
    )


def _first(found: Sequence[Session], endpoint: str, count: int) -> tuple[list[Session], bool]:
    """The sessions that came first, as many as suffice; and whether one of them still goes on."""
    enough: list[Session] = []
    waits, known = False, 0
    for one in found:
        if known >= count:
            break
        waits = waits or not one.over
        if one.over:
            enough.append(one)
            known += endpoint in one.values
    return enough, waits


def verdict(one: Comparison) -> Verdict:
    """What the interval of an endpoint says, once there are enough sessions."""
    if one.low is None or one.high is None or one.low <= 0 <= one.high:
        return "no_difference_shown"
    return "helps" if (one.low > 0) == ENDPOINTS[one.endpoint].more_is_better else "hurts"


def compared(endpoint: Endpoint, found: Sequence[Session], effect: float) -> Comparison:
    """One endpoint in these sessions."""
    woven, one = _group(endpoint, [session for session in found if not session.withheld])
    withheld, other = _group(endpoint, [session for session in found if session.withheld])
    between = estimate.interval(one, other)
    share = withheld.sessions / len(found) if woven.sessions and withheld.sessions else 0.5
    freedom = one.n + other.n - 2
    spread = (
        sqrt(((one.n - 1) * one.variance + (other.n - 1) * other.variance) / freedom)
        if between is not None
        else endpoint.deviation
    )
    return Comparison(
        endpoint.name,
        woven,
        withheld,
        None if between is None else endpoint.shown(between.difference),
        None if between is None else endpoint.shown(between.low),
        None if between is None else endpoint.shown(between.high),
        estimate.needed(spread, endpoint.shift(effect), share),
    )


def _group(endpoint: Endpoint, found: Sequence[Session]) -> tuple[Group, estimate.Spread]:
    spread = estimate.spread([one.values[endpoint.name] for one in found if endpoint.name in one.values])
    return Group(len(found), spread.n, endpoint.middle(spread.mean) if spread.n else None), spread


def _all(found: Sequence[Session], primary: str, effect: float) -> list[Comparison]:
    """Every endpoint, the primary one first; the others by the effect that is looked for without a word."""
    order = sorted(ENDPOINTS.values(), key=lambda one: one.name != primary)
    return [compared(one, found, effect if one.name == primary else one.effect) for one in order]


def _parts(
    found: Sequence[Session], names: Callable[[Session], Iterable[str]], primary: str, effect: float
) -> list[Part]:
    parts: dict[str, list[Session]] = {}
    for one in found:
        for name in dict.fromkeys(names(one)):
            parts.setdefault(name, []).append(one)
    ordered = sorted(parts.items(), key=lambda part: (-len(part[1]), part[0]))
    return [Part(name, _all(group, primary, effect)) for name, group in ordered]


# --- what the archive knows ------------------------------------------------------------------------------------------


class _Row(msgspec.Struct, frozen=True):
    repository: str
    over: bool
    continues: bool
    values: dict[str, float]


def _sessions(connection: apsw.Connection, now: float) -> dict[str, _Row]:
    """Every session by the hashes that the log may have of it: the light command is not always told the host."""
    values = _readings(connection)
    limit = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now - REST_SECONDS))
    found: dict[str, _Row] = {}
    query = f"SELECT id, host, session_id, {SCOPE}, ended, parent FROM session"  # noqa: S608 - our own columns
    for number, host, session_id, repository, ended, parent in rows(connection, query):
        row = _Row(repository, ended is None or ended < limit, bool(parent), values.get(number, {}))
        for name in (name_hash("", session_id), name_hash(host, session_id)):
            found[name] = row
    return found


def _readings(connection: apsw.Connection) -> dict[int, dict[str, float]]:
    """What the endpoints' signals say of sessions. Where one says nothing, for whatever reason, it is not there."""
    found: dict[int, dict[str, float]] = {}
    for endpoint in ENDPOINTS.values():
        for number, value in _values(connection, endpoint.signal):
            found.setdefault(number, {})[endpoint.name] = endpoint.scaled(value)
    return found


def _values(connection: apsw.Connection, signal: str) -> Iterator[tuple[int, float]]:
    query = "SELECT session, value FROM reading WHERE signal = ? AND value IS NOT NULL"
    for number, value in rows(connection, query, (signal,)):
        if isinstance(value, (int, float)):
            yield number, float(value)


def deviation(connection: apsw.Connection, endpoint: Endpoint) -> tuple[float, int]:
    """How much single sessions of this archive differ in an endpoint, and how many it was taken from."""
    values = [endpoint.scaled(value) for _, value in _values(connection, endpoint.signal)]
    found = stdev(values) if len(values) >= ENOUGH else 0.0
    return (found, len(values)) if found else (endpoint.deviation, 0)
