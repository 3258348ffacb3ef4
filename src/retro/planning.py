"""What a sweep is to do: of all that was found, what is new, what has changed, and what is left out."""

from __future__ import annotations

import os
from hashlib import blake2b

import msgspec

from retro import agents
from retro.agents.interface import Captured, Source
from retro.archive.state_log import name_hash
from retro.archive.work import Work
from retro.config import Settings
from retro.finding import Found, Known, SessionKey, salt_of
from retro.index.database import open_writer
from retro.outcomes import Outcome, Problem
from retro.places import Places


class HostReport(msgspec.Struct):
    """What a sweep did for one host, in sessions."""

    host: str
    discovered: int = 0
    ingested: int = 0
    appended: int = 0
    skipped_unchanged: int = 0
    analyzed: int = 0
    failed: int = 0
    ignored: int = 0
    bytes_read: int = 0
    problems: list[Problem] = []


class Plan(msgspec.Struct):
    """What is to be done."""

    work: dict[SessionKey, list[Work]] = {}
    new: set[SessionKey] = set()
    rederive: list[SessionKey] = []
    reports: dict[str, HostReport] = {}
    forgotten: frozenset[str] = frozenset()

    def report(self, host: str) -> HostReport:
        """The report of a host."""
        return self.reports.setdefault(host, HostReport(host, problems=[]))


def plan_of(settings: Settings, found: Found, force: bool, known: Known, edited: set[bytes]) -> Plan:
    """What there is to do; `edited` are paths that are to be read again, however unchanged they look."""
    for path in edited:
        known.stamps.pop(os.fsdecode(path), None)
    plan = Plan({}, set(), known.outdated, {}, known.forgotten)
    for root in found.roots:
        plan.report(root.host)
    for problem in found.problems:
        report = plan.report(problem.host)
        report.failed += 1
        report.problems.append(problem)
    for session, sources in found.sessions.items():
        _plan_session(plan, known, settings, session, sources, force, edited)
    return plan


def _plan_session(
    plan: Plan,
    known: Known,
    settings: Settings,
    session: SessionKey,
    sources: list[Source],
    force: bool,
    edited: set[bytes],
) -> None:
    report = plan.report(session[0])
    report.discovered += 1
    if not force and all(known.stamps.get(source.path) == stamp_of(source) for source in sources):
        report.skipped_unchanged += 1
        return
    if not any((*session, source.key) in known.keys for source in sources):
        if (plan.forgotten and name_hash(*session) in plan.forgotten) or (
            settings.ignored_projects and left_out(settings, sources)
        ):
            report.ignored += 1
            return
        plan.new.add(session)
    present = {os.fsencode(source.path) for source in sources}
    work = []
    for source in sources:
        path = os.fsencode(source.path)
        stamp = stamp_of(source)
        if force or known.stamps.get(source.path) != stamp:
            key = _own_key(known, session, source, path, present)
            again = force or path in edited
            of = (source.archive_name, source.size, again, source.content, source.form, source.copy, stamp)
            work.append(Work(path, key, source.kind, *of))
    plan.work[session] = work


def stamp_of(source: Source) -> tuple[int, int, int, int]:
    """What a source looks like: while that is as it was, nothing in it is new."""
    return source.size, source.mtime_ns, source.inode, source.device


def _own_key(known: Known, session: SessionKey, source: Source, path: bytes, present: set[bytes]) -> str:
    """The key of a source; a second copy of the same part of a session, elsewhere, gets one of its own."""
    captured = known.owners.get(session[0], Captured()).get(source.path)
    if captured is not None and captured[0] == session[1] and captured[1].partition("~")[0] == source.key:
        return captured[1]  # which it keeps, even if the first copy is gone
    owner = known.keys.setdefault((*session, source.key), path)
    if owner == path or owner not in present:
        return source.key  # the first one, or the same one after it was moved
    return f"{source.key}~{blake2b(path, digest_size=4).hexdigest()}"


def left_out(settings: Settings, sources: list[Source]) -> bool:
    """Whether a session belongs to a project that the settings leave out."""
    from retro.placing import located

    for source in sources:
        cwd = agents.named(source.host).folder_of(source)
        if cwd is not None:
            found = located(cwd)
            return settings.ignored(cwd, found.remote if found else None)
    return False


def count(plan: Plan, session: SessionKey, outcome: Outcome) -> None:
    """Count what became of a session, or would."""
    report = plan.report(session[0])
    report.bytes_read += outcome.read
    if outcome.problems:
        report.failed += 1
        report.problems += outcome.problems
    if outcome.captured and session in plan.work and not outcome.changed:
        report.skipped_unchanged += 1  # moved, touched or given back, and still the same
    elif outcome.captured:
        report.analyzed += 1
        if session in plan.new:
            report.ingested += 1
        elif session in plan.work:
            report.appended += 1


def note_stores(places: Places, settings: Settings, found: Found, plan: Plan, known: Known) -> None:
    """Remember what fully captured stores looked like: the next sweep need not look into those that did not change."""
    failed = {problem.path for report in plan.reports.values() for problem in report.problems}
    troubled = {problem.session_id for report in plan.reports.values() for problem in report.problems}
    stores: dict[str, int] = {}
    incomplete = set()
    for (_, session_id), sources in found.sessions.items():
        for source in sources:
            if source.store is not None:
                stores[source.store] = source.store_mark
                if session_id in troubled or source.path in failed:
                    incomplete.add(source.store)
    salt = salt_of(settings, known)
    marks = {path: mark ^ salt for path, mark in stores.items() if path not in incomplete}
    changed = {path: mark for path, mark in marks.items() if known.stores.get(path) != mark}
    if not changed:
        return
    connection = open_writer(places.index)
    try:
        with connection:
            connection.executemany(
                "INSERT OR REPLACE INTO store (path, mark) VALUES (?, ?)",
                [(os.fsencode(path), mark) for path, mark in changed.items()],
            )
    finally:
        connection.close()
