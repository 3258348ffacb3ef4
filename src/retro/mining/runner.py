"""Mining a whole archive or a part of it: traces brought up to date, methods run where something changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Final

import apsw
import msgspec

from retro.index import traces
from retro.mining import output, tracing
from retro.mining.base import MemoryCandidate, Method, Options
from retro.mining.filters import FILTERS, Dropped
from retro.mining.trace import Trace
from retro.places import Places, safe_host, safe_name

VERSION: Final = 1
"""Of the files in `mined/`."""


DEFAULTS: Final = Options()


class Report(msgspec.Struct):
    """What a run of mining did."""

    traced: int = 0
    """Sessions whose events were read."""
    scopes: int = 0
    """Repositories that were mined."""
    unchanged: int = 0
    """Repositories in which nothing had changed."""
    written: int = 0
    """Files that are new or different."""
    candidates: list[MemoryCandidate] = []
    dropped: list[Dropped] = []
    problems: list[str] = []


def mine(
    connection: apsw.Connection,
    places: Places,
    methods: Sequence[Method],
    chosen: str = "risk_aware",
    wanted: Callable[[str, str], bool] | None = None,
    force: bool = False,
    options: Options = DEFAULTS,
    advance: tracing.Advance | None = None,
) -> Report:
    """Mine the repositories of the sessions that are wanted. The caller holds the archive's lock."""
    report = Report(candidates=[], dropped=[], problems=[])
    report.traced, report.problems = tracing.bring_up_to_date(connection, places, advance)
    for scope, members in traces.stamps(connection).items():
        names = {(host, session_id) for host, session_id, _ in members}
        if wanted is not None and not any(wanted(*name) for name in names):
            continue
        stamp = _stamp(members, methods, chosen, options)
        if not force and traces.mined_stamp(connection, scope) == stamp:
            report.unchanged += 1
            report.candidates += _written(places, methods, names, wanted)
            continue
        of_scope = tracing.of_scope(connection, scope)
        found = _mined(of_scope, methods, options, report)
        kept = FILTERS[chosen](found, report.dropped)
        report.written += _write(places, methods, names, kept)
        report.candidates += [one for one in kept if _concerns(one, wanted)]
        report.scopes += 1
        traces.note_mined(connection, scope, stamp)
    report.candidates.sort(key=lambda one: (one.scope.key or "", one.method, one.id))
    return report


def _stamp(members: Sequence[tuple[str, str, str]], methods: Sequence[Method], chosen: str, options: Options) -> str:
    parts = [
        chosen,
        options.update,
        *(f"{one.name}:{one.version}" for one in methods),
        *("\0".join(member) for member in members),
    ]
    return blake2b("\1".join(parts).encode("utf-8", "replace"), digest_size=16).hexdigest()


def _mined(of_scope: list[Trace], methods: Sequence[Method], options: Options, report: Report) -> list[MemoryCandidate]:
    """What the methods propose; one of another distribution that fails takes only its own candidates with it."""
    found: list[MemoryCandidate] = []
    for method in methods:
        try:
            if method.reach == "repository":
                found += method.mine(of_scope, options)
            else:
                for trace in of_scope:
                    found += method.mine([trace], options)
        except Exception as error:
            if method.origin == "retro":
                raise
            report.problems.append(f"{method.name}: {error!r}")
    return found


def _concerns(one: MemoryCandidate, wanted: Callable[[str, str], bool] | None) -> bool:
    if wanted is None:
        return True
    return any(wanted(*name.split("/", 1)) for name in one.source_sessions if "/" in name)


# --- files -----------------------------------------------------------------------------------------------------------


def _write(
    places: Places, methods: Sequence[Method], names: set[tuple[str, str]], kept: Sequence[MemoryCandidate]
) -> int:
    """Write each candidate beside the last of its sessions, and take away what no longer holds."""
    groups: dict[tuple[str, str, str], list[MemoryCandidate]] = {}
    for one in kept:
        host, _, session_id = one.source_sessions[-1].partition("/")
        groups.setdefault((one.method, host, session_id), []).append(one)
    changed = 0
    for method in methods:
        present = _present(places, method.name, {host for host, _ in names})
        for host, session_id in sorted(names):
            key = (method.name, host, session_id)
            if key in groups or (host, safe_name(session_id)) in present:
                changed += output.write(places, output.Mined(VERSION, *key, groups.get(key, [])))
    return changed


def _present(places: Places, method: str, hosts: set[str]) -> set[tuple[str, str]]:
    """The files of a method: host and name of the session."""
    found = set()
    for host in hosts:
        folder = os.path.join(places.root, "mined", safe_name(method), safe_host(host))
        if os.path.isdir(folder):
            found |= {(host, name.removesuffix(".json")) for name in os.listdir(folder) if name.endswith(".json")}
    return found


def _written(
    places: Places,
    methods: Sequence[Method],
    names: set[tuple[str, str]],
    wanted: Callable[[str, str], bool] | None,
) -> list[MemoryCandidate]:
    """What earlier runs wrote about these sessions."""
    found: list[MemoryCandidate] = []
    for method in methods:
        present = _present(places, method.name, {host for host, _ in names})
        for host, session_id in sorted(names):
            if (host, safe_name(session_id)) in present:
                mined = output.read(output.paths(places, method.name, host, session_id)[0])
                found += [one for one in mined.candidates if _concerns(one, wanted)] if mined else []
    return found
