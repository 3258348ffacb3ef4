"""What lies on this machine, and what of it the archive knows already."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Final

import apsw
import msgspec

from retro import agents, inbox
from retro.agents.interface import RECORDS, ROWS, Captured, Root, Source, Unreadable
from retro.archive.state_log import forgotten
from retro.config import Settings
from retro.failure import internal
from retro.index import due
from retro.index.database import explained, open_untouched, rows
from retro.outcomes import Problem
from retro.places import Places
from retro.versions import versions

UNSIGNED: Final = (1 << 64) - 1
"""SQLite's integers are signed; some file systems number with 64 bits."""

SessionKey = tuple[str, str]


class Known(msgspec.Struct):
    """What the index knows of sources: enough to see that nothing changed."""

    stamps: dict[str, tuple[int, int, int, int]] = {}
    owners: dict[str, Captured] = {}
    keys: dict[tuple[str, str, str], bytes] = {}
    sessions: list[SessionKey] = []
    outdated: list[SessionKey] = []
    interrupted: bool = False
    """A crash came between a file's rename and its commit, or before what follows from a commit was said."""
    due: bool = False
    """There is upkeep to do."""
    undigested: bool = False
    """Digests are to be written of what was captured before."""
    stores: dict[str, int] = {}
    """What stores of records looked like when all that is in them was captured."""
    forgotten: frozenset[str] = frozenset()
    indexed: bool = False
    """There is an index."""


class Found(msgspec.Struct):
    """What lies on this machine: roots, and sources by session."""

    roots: list[Root] = []
    sessions: dict[SessionKey, list[Source]] = {}
    problems: list[Problem] = []
    hosts: list[str] = []
    """Where it was looked for."""
    whole: bool = False
    """Everything that lies there is among it."""


def discover(settings: Settings, env: Mapping[str, str], hosts: Iterable[str], known: Known) -> Found:
    """Every source of the wanted hosts on this machine. One host's trouble is not another's."""
    found = Found([], {}, [], [])
    salt = salt_of(settings, known)
    for host in hosts:
        found.hosts.append(host)
        if not settings.host(host).enabled:
            continue
        agent, paths = agents.named(host), set[str]()
        captured = _captured(known, host, salt)
        for root in agent.roots(env, settings.host(host).sources):
            found.roots.append(root)
            try:
                for source in agent.discover(root, captured):
                    if source.path not in paths:  # one root may name what lies below another
                        paths.add(source.path)
                        found.sessions.setdefault((host, source.session_id), []).append(source)
            except Exception as error:
                found.problems.append(Problem(host, None, root.path, _reason(error)))
    return found


def _reason(error: Exception) -> str:
    """Why a root could not be looked through."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) if isinstance(error, (OSError, Unreadable)) else internal(error)


def _claimed(host: str, path: str) -> list[Source]:
    try:
        return agents.named(host).claims(path)
    except Exception:
        return []  # only told of by a hook: nothing that was found by itself


def _captured(known: Known, host: str, salt: int) -> Captured:
    captured = known.owners.get(host, Captured())
    captured.stores = {path: mark ^ salt for path, mark in known.stores.items()}
    return captured


def salt_of(settings: Settings, known: Known) -> int:
    """What else than a store decides which of its sessions are captured."""
    chosen = repr((sorted(settings.ignored_projects), sorted(known.forgotten)))
    return int.from_bytes(blake2b(chosen.encode(), digest_size=8).digest(), "big") >> 1


def add_pushed(places: Places, settings: Settings, found: Found) -> None:
    """Add the files that hooks told of and that lie below no root, for instance that of another environment."""
    if not inbox.waits(places, inbox.ENDED):
        return
    there = {source.path for sources in found.sessions.values() for source in sources}
    for record in inbox.take(places, inbox.ENDED):
        path, named = record.get("path"), record.get("host")
        if not isinstance(path, str) or path in there or not os.path.isabs(path):
            continue
        for host in found.hosts if named not in found.hosts else [str(named)]:
            if not settings.host(host).enabled:
                continue
            for source in _claimed(host, path):
                if source.path not in there:
                    there.add(source.path)
                    found.sessions.setdefault((host, source.session_id), []).append(source)


def known_sources(places: Places) -> Known:
    """What the index knows of sources; nothing where there is no index. Leaves no trace."""
    known = Known({}, {}, {}, [], [], forgotten=forgotten(places))
    connection = open_untouched(places)
    if connection is None:
        return known
    known.indexed = True
    try:
        _read_known(connection, known)
    except apsw.Error as error:
        raise explained(error, places.index) from None
    finally:
        connection.close()
    return known


def _read_known(connection: apsw.Connection, known: Known) -> None:
    query = (
        "SELECT session.host, session.session_id, source.key, source.path, source.size, source.mtime_ns, source.inode,"
        " source.device, source.form, source.kind, source.archive_name"
        " FROM source JOIN session ON session.id = source.session WHERE source.current = 1"
    )
    stamps, owners, keys = known.stamps, known.owners, known.keys
    for host, session_id, key, path, size, mtime_ns, inode, device, form, kind, name in rows(connection, query):
        text = os.fsdecode(path)
        stamp = stamps[text] = (size, mtime_ns, inode & UNSIGNED, device)
        captured = owners.get(host)
        if captured is None:
            captured = owners[host] = Captured()
        captured[text] = (session_id, key)
        keys[host, session_id, key] = path
        if form == RECORDS:
            store = text.removeprefix(ROWS).rpartition("#")[0]
            plain = key.partition("~")[0]
            source = Source(host, session_id, plain, kind, text, name, *stamp, form=RECORDS)
            captured.of_store.setdefault(store, []).append(source)
    known.stores.update((os.fsdecode(path), mark) for path, mark in rows(connection, "SELECT path, mark FROM store"))
    now: dict[str, tuple[int, int]] = {}
    gaps = "SELECT EXISTS (SELECT 1 FROM source WHERE session = ? AND base > 0)"
    query = "SELECT id, host, session_id, normaliser, rules FROM session"
    for number, host, session_id, normaliser, rules in rows(connection, query):
        known.sessions.append((host, session_id))
        if host not in now and host in agents.MODULES:
            now[host] = versions(host)
        outdated = host in now and (normaliser, rules) != now[host]
        if outdated and not next(rows(connection, gaps, (number,)))[0]:
            known.outdated.append((host, session_id))
    known.interrupted = due.interrupted(connection)
    known.due = due.upkeep(connection)
    known.undigested = due.undigested(connection)
