"""The pipeline from end to end: discover what the hosts keep, capture what is new, commit it, say what was done.

Nearly every sweep finds nothing new. What captures and mends is loaded where there is something to capture or mend.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from retro import agents, inbox
from retro.agents import databases
from retro.archive.state_log import name_hash
from retro.config import Settings
from retro.finding import Found, Known, add_pushed, discover, known_sources
from retro.index.database import log_is_left
from retro.lock import Lock
from retro.outcomes import Outcome
from retro.places import Places, init_root
from retro.planning import HostReport, Plan, count, note_stores, plan_of
from retro.upkeep.caps import limits_of

if TYPE_CHECKING:
    from retro.pipeline import Advance
    from retro.upkeep.budget import Pass

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
    space: list[Pass] = []
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
) -> tuple[Plan, list[Pass], int]:
    space: list[Pass] = []
    left_out = 0
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
            known = _settled(places, settings)
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


def _settled(places: Places, settings: Settings) -> Known:
    """What the index knows of sources, after what a crash has left unfinished is done."""
    known = known_sources(places)
    if not known.indexed and _holds_files(places):
        from retro import reindex

        if reindex.is_archive(places):
            reindex.rebuild(places, settings)
            known = known_sources(places)
    forgotten_still = [
        session for session in (known.sessions if known.forgotten else ()) if name_hash(*session) in known.forgotten
    ]
    if known.interrupted or forgotten_still or known.undigested or log_is_left(places):
        from retro import settling

        settling.settle(places, forgotten_still, interrupted=known.interrupted)
        known = known_sources(places)
    return known


def _holds_files(places: Places) -> bool:
    """Whether something of sessions may lie there. Where nothing does, what rebuilds an index need not be loaded."""
    return any(os.path.isdir(os.path.join(places.root, folder)) for folder in ("raw", "digests"))


def _upkeep(places: Places, found: Found) -> set[bytes]:
    from retro.upkeep import due

    present: dict[str, set[bytes]] = {host: set() for host in found.hosts}
    for (host, _), sources in found.sessions.items():
        present[host].update(os.fsencode(source.path) for source in sources)
    return due.do(places, present)


# --- doing -----------------------------------------------------------------------------------------------------------


def _carry_out(places: Places, settings: Settings, plan: Plan, rederive: bool, watch: Watch) -> tuple[list[Pass], int]:
    """Do what is planned, within the budget for space; gives what was given up for it, and how much was not done."""
    limits = limits_of(settings)
    outdated = set(plan.rederive) if rederive else set(plan.rederive) & set(plan.work)
    if not (plan.work or outdated or (limits.any and os.path.exists(places.index))):
        return [], 0
    from retro import carrying

    def done(outcome: Outcome) -> None:
        count(plan, (outcome.host, outcome.session_id), outcome)

    with carrying.index(places) as index:
        jobs = carrying.jobs(index, plan.work, outdated)
        if watch.begin and jobs:
            watch.begin(len(jobs), sum(job.size for job in jobs))
        return carrying.carry_out(places, settings, jobs, limits, index, watch.advance, done)
