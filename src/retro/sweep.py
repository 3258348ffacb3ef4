"""The pipeline from end to end: discover what the hosts keep, capture what is new, commit it, say what was done."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import apsw
import msgspec

from retro import agents, inbox
from retro.agents import databases
from retro.archive.committed import Job
from retro.archive.state_log import name_hash
from retro.config import Settings
from retro.digests import keeping
from retro.finding import Found, Known, add_pushed, discover, known_sources
from retro.index.database import empty_log, explained, log_is_left, open_writer
from retro.index.readings import Readings
from retro.index.writing import finish_interrupted, mark_rederiving, session_state
from retro.lock import Lock
from retro.pipeline import Advance, Outcome, carry_out
from retro.places import Places, init_root
from retro.planning import HostReport, Plan, count, note_stores, plan_of
from retro.reindex import needs_rebuild, rebuild
from retro.upkeep import budget, coalesce, due, evict

GROUP_BYTES: Final = 64 * 1024 * 1024
"""So much is read at least before a sweep that has a hard cap looks what has to go."""

CALLS_BYTES: Final = 128 * 1024
LIMITS_BYTES: Final = 16 * 1024
"""The log of recall's calls is shortened above it."""

Begin = Callable[[int, int], None]
"""Told how many sessions and bytes there are to do."""


class Report(msgspec.Struct):
    """What a sweep did, or would do."""

    root: str
    dry_run: bool
    seconds: float = 0.0
    hosts: list[HostReport] = []
    space: list[budget.Pass] = []
    """What was given up to stay within the budget, pass by pass; empty where there is no budget."""
    left_out: int = 0
    """Sessions that were not captured, because the hard cap leaves no room for them."""

    @property
    def failed(self) -> int:
        """Sessions of which something could not be captured."""
        return sum(host.failed for host in self.hosts)


class Watch(msgspec.Struct):
    """Who is told how it goes."""

    begin: Begin | None = None
    advance: Advance | None = None
    locked: Callable[[], None] | None = None
    """Told when nobody else writes to the archive any more."""


class _Order(NamedTuple):
    """How a capture is to be done."""

    dry_run: bool
    force: bool
    rederive: bool
    wait_seconds: float


def sweep(
    places: Places,
    settings: Settings,
    env: Mapping[str, str],
    *,
    hosts: Iterable[str] | None = None,
    dry_run: bool = False,
    wait_seconds: float | None = None,
    watch: Watch | None = None,
) -> Report:
    """One pass over every host, or over the wanted ones, and over what hooks told of since the last one."""
    wanted = tuple(hosts) if hosts is not None else tuple(agents.MODULES)

    def find(known: Known) -> Found:
        found = discover(settings, env, wanted, known)
        found.whole = True
        if not dry_run:
            add_pushed(places, settings, found)
        return found

    report = capture_found(
        places, settings, find, dry_run=dry_run, rederive=True, wait_seconds=wait_seconds, watch=watch
    )
    if not dry_run:
        inbox.taken(places, inbox.ENDED)
    return report


def capture_found(
    places: Places,
    settings: Settings,
    find: Callable[[Known], Found],
    *,
    dry_run: bool = False,
    force: bool = False,
    rederive: bool = False,
    wait_seconds: float | None = None,
    watch: Watch | None = None,
) -> Report:
    """Capture all that is new of what `find` finds; with `force` even what is not."""
    began = time.monotonic()
    watch = watch or Watch()
    try:
        wait = settings.lock_wait_seconds if wait_seconds is None else wait_seconds
        plan, space, left_out = _do(places, settings, find, _Order(dry_run, force, rederive, wait), watch)
    finally:
        databases.release()
    seconds = round(time.monotonic() - began, 3)
    hosts = [plan.reports[host] for host in sorted(plan.reports)]
    return Report(places.root, dry_run, seconds, hosts, space, left_out)


def _do(
    places: Places,
    settings: Settings,
    find: Callable[[Known], Found],
    order: _Order,
    watch: Watch,
) -> tuple[Plan, list[budget.Pass], int]:
    space, left_out = list[budget.Pass](), 0
    if order.dry_run:
        known = known_sources(places)
        plan = plan_of(settings, find(known), order.force, known, set())
        for session in plan.work:
            count(plan, session, Outcome(*session, captured=True, changed=True, appended=session not in plan.new))
    else:
        init_root(places.root)
        with Lock(places.lock, order.wait_seconds):
            inbox.shorten(places, inbox.CALLS, inbox.CALLS_KEPT, CALLS_BYTES)
            inbox.shorten(places, inbox.LIMITS, inbox.LIMITS_KEPT, LIMITS_BYTES)
            if watch.locked:
                watch.locked()
            if needs_rebuild(places):
                rebuild(places, settings)
            known = _settled(places)
            if order.force:  # what is in unchanged stores is to be read again
                known.stores = {}
            found = find(known)
            edited = _upkeep(places, found) if order.rederive and known.due else set()
            plan = plan_of(settings, found, order.force, known, edited)
            space, left_out = _carry_out(places, settings, plan, order.rederive, watch)
            if found.whole and not left_out:
                note_stores(places, settings, found, plan, known)
    return plan, space, left_out


# --- upkeep ----------------------------------------------------------------------------------------------------------


def _settled(places: Places) -> Known:
    """What the index knows of sources, after what a crash has left unfinished is done."""
    if log_is_left(places):  # what was forgotten may still stand in it
        _empty_log(places)
    known = known_sources(places)
    forgotten_still = [session for session in known.sessions if name_hash(*session) in known.forgotten]
    if not known.interrupted and not forgotten_still and not known.undigested:
        return known
    if forgotten_still:  # a deletion was interrupted
        from retro.upkeep import forget

        forget.erase(places, forgotten_still)
    connection = open_writer(places.index)
    try:
        coalesce.finish_interrupted(connection, places)
        evict.finish_interrupted(connection, places)
        if known.interrupted:
            finish_interrupted(connection, Readings(connection, places.signals))
        keeping.catch_up(connection, places)
    except apsw.Error as error:
        raise explained(error, places.index) from None
    finally:
        connection.close()
    return known_sources(places)


def _empty_log(places: Places) -> None:
    connection = open_writer(places.index, wait_ms=0)
    try:
        empty_log(connection)
    except apsw.Error as error:
        raise explained(error, places.index) from None
    finally:
        connection.close()


def _upkeep(places: Places, found: Found) -> set[bytes]:
    present: dict[str, set[bytes]] = {host: set() for host in found.hosts}
    for (host, _), sources in found.sessions.items():
        present[host].update(os.fsencode(source.path) for source in sources)
    return due.do(places, present)


# --- doing -----------------------------------------------------------------------------------------------------------


def _carry_out(
    places: Places, settings: Settings, plan: Plan, rederive: bool, watch: Watch
) -> tuple[list[budget.Pass], int]:
    """Do what is planned, within the budget for space; gives what was given up for it, and how much was not done."""
    limits = budget.limits(settings)
    jobs = _jobs(places, plan, rederive)
    if watch.begin and jobs:
        watch.begin(len(jobs), sum(job.size for job in jobs))
    passes = []
    if limits.any and os.path.exists(places.index):
        passes.append(budget.keep_within(places, limits))
    for group in _groups(jobs, limits.hard):
        if passes and limits.hard is not None and passes[-1].final_usage >= limits.hard:
            break
        for outcome in carry_out(places, settings, group, watch.advance):
            count(plan, (outcome.host, outcome.session_id), outcome)
        del jobs[: len(group)]
        if limits.any:
            passes.append(budget.keep_within(places, limits))
    return passes, len(jobs)


def _groups(jobs: list[Job], hard_cap: int | None) -> Iterator[list[Job]]:
    """Jobs in their order, as many at once as may be read before it is time to see what has to go."""
    if hard_cap is None:
        if jobs:
            yield list(jobs)
        return
    group, size = list[Job](), 0
    for job in list(jobs):
        if group and size + job.size > max(GROUP_BYTES, hard_cap // 2):
            yield group
            group, size = [], 0
        group.append(job)
        size += job.size
    if group:
        yield group


def _jobs(places: Places, plan: Plan, rederive: bool) -> list[Job]:
    outdated = set(plan.rederive) if rederive else set(plan.rederive) & set(plan.work)
    wanted = {session: plan.work.get(session, []) for session in [*plan.work, *sorted(outdated - set(plan.work))]}
    if not wanted:
        return []
    connection = open_writer(places.index)
    try:
        if outdated:
            mark_rederiving(connection, outdated)
        return [Job(session_state(connection, *key), work, key in outdated) for key, work in wanted.items()]
    except apsw.Error as error:
        raise explained(error, places.index) from None
    finally:
        connection.close()
