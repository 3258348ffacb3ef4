"""Reading the index: what the commands ask it, as typed results."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import apsw
import msgspec

from retro.event import Session, Turn
from retro.index.database import rows
from retro.index.listed import SESSION_COLUMNS, session_of, unsigned

if TYPE_CHECKING:
    from retro.archive.committed import SourceState

SHORT: Final = 8
"""Fewest characters of a shortened id."""

_SESSION_WIDTH: Final = len(SESSION_COLUMNS.split(","))

_REPLACING: Final = -1


class Wanted(NamedTuple):
    """Which sessions to list. Times as events have them; a session counts that was active between them."""

    since: str | None = None
    until: str | None = None
    project: str | None = None
    host: str | None = None


class Choice(msgspec.Struct, frozen=True):
    """A session among several that were meant."""

    host: str
    session_id: str
    title: str | None


class HostTotal(msgspec.Struct):
    """What is kept of one host."""

    host: str
    sessions: int
    source_bytes: int
    archive_bytes: int
    captured: str | None
    """When something was captured last."""


class Captured(NamedTuple):
    """The files that are captured, by path: how each looked (size, time, inode, device), and whose it is, by host."""

    stamps: dict[str, tuple[int, int, int, int]]
    owners: dict[str, dict[str, tuple[str, str]]]


class Detail(msgspec.Struct):
    """All that the index knows of one session, but its turns."""

    number: int
    session: Session
    domain: str | None
    agents: dict[str, str | None]
    """Sub-agents, each with the call that started it."""
    captured: str
    normaliser: int
    rules: int
    normalized_bytes: int
    events_evicted: bool
    pinned: bool
    sources: list[SourceState]
    """Every revision of every source; the main source first, revisions in order."""

    @property
    def replacing(self) -> bool:
        """Whether the normalised file is being replaced, so that the committed length says nothing."""
        return self.normaliser == _REPLACING

    @property
    def current(self) -> list[SourceState]:
        """The newest revision of each source."""
        return list({source.key: source for source in self.sources}.values())


# --- many sessions ---------------------------------------------------------------------------------------------------

OF_PROJECT: Final = (
    "lower(:project) IN (lower(project), lower(repository))"
    " OR substr(lower(repository), -length(:project) - 1) = '/' || lower(:project)"
)
"""Whether a session is of a project, by its name or that of its repository."""

_CONDITIONS: Final = {
    "since": "ended >= :since",
    "until": "started < :until",
    "host": "host = :host",
    "project": OF_PROJECT,
}


def sessions(connection: apsw.Connection, wanted: Wanted, limit: int | None = None) -> list[Session]:
    """Sessions, newest first; those without any time at the end."""
    where, values = _where(wanted)
    query = f"SELECT {SESSION_COLUMNS} FROM session{where} ORDER BY ended DESC, host, session_id LIMIT :limit"  # noqa: S608
    return [session_of(row) for row in rows(connection, query, {**values, "limit": -1 if limit is None else limit})]


def count(connection: apsw.Connection, wanted: Wanted) -> int:
    """How many sessions there are."""
    where, values = _where(wanted)
    return int(next(rows(connection, f"SELECT count(*) FROM session{where}", values))[0])  # noqa: S608


def projects(connection: apsw.Connection) -> list[str]:
    """The names of all projects."""
    query = "SELECT DISTINCT project FROM session WHERE project IS NOT NULL ORDER BY project"
    return [name for (name,) in rows(connection, query)]


def totals(connection: apsw.Connection) -> list[HostTotal]:
    """What is kept, host by host."""
    query = (
        "SELECT host, count(*), sum(source_bytes), sum(raw_bytes + normalized_bytes), max(captured)"
        " FROM session GROUP BY host ORDER BY host"
    )
    return [HostTotal(*row) for row in rows(connection, query)]


def captured(connection: apsw.Connection) -> Captured:
    """What is captured, as far as it takes to see what is not."""
    found = Captured({}, {})
    query = (
        "SELECT host, session_id, key, path, size, mtime_ns, inode, device"
        " FROM source JOIN session ON session.id = source.session WHERE current = 1"
    )
    for host, session_id, key, path, size, mtime_ns, inode, device in rows(connection, query):
        name = os.fsdecode(path)
        found.stamps[name] = (size, mtime_ns, unsigned(inode), device)
        found.owners.setdefault(host, {})[name] = (session_id, key)
    return found


def short_ids(connection: apsw.Connection, wanted: Iterable[str]) -> dict[str, str]:
    """For each id its shortest beginning that no other session's id has, with at least eight characters."""
    known = sorted({session_id for (session_id,) in rows(connection, "SELECT session_id FROM session")})
    short = {}
    for session_id in wanted:
        at = bisect_left(known, session_id)
        beside = [*known[max(0, at - 1) : at], *known[at + 1 : at + 2]]
        shared = max((_shared(session_id, other) for other in beside), default=0)
        short[session_id] = session_id[: max(SHORT, shared + 1)]
    return short


def _shared(one: str, other: str) -> int:
    """How many characters two ids have in common at their beginning."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _where(wanted: Wanted) -> tuple[str, dict[str, str]]:
    values = {name: value for name, value in wanted._asdict().items() if value is not None}
    conditions = [_CONDITIONS[name] for name in values]
    return (f" WHERE ({') AND ('.join(conditions)})" if conditions else ""), values


class Archived(NamedTuple):
    """What lies in the archive of a session: its events, and its sources, each with file and committed length."""

    normalized_bytes: int
    raw: list[tuple[str, str, int]]
    given_up: bool


def session_keys(connection: apsw.Connection, wanted: Wanted) -> list[tuple[str, str]]:
    """Host and id of sessions, newest first."""
    where, values = _where(wanted)
    query = f"SELECT host, session_id FROM session{where} ORDER BY ended DESC, host, session_id"  # noqa: S608
    return [(host, session_id) for host, session_id in rows(connection, query, values)]


def archived(connection: apsw.Connection, host: str, session_id: str) -> Archived:
    """What lies in the archive of a session."""
    query = "SELECT id, normalized_bytes, events_evicted FROM session WHERE host = ? AND session_id = ?"
    number, length, evicted = next(rows(connection, query, (host, session_id)))
    query = "SELECT key, revision, file, raw_bytes, base FROM source WHERE session = ? ORDER BY key <> 'main', key, 2"
    raw, gone = [], bool(evicted)
    for key, revision, file, raw_bytes, base in rows(connection, query, (number,)):
        raw.append((f"{key}@{revision}" if revision else key, file, raw_bytes))
        gone = gone or base > 0
    return Archived(length, raw, gone)


# --- one session -----------------------------------------------------------------------------------------------------


def matching(connection: apsw.Connection, prefix: str, host: str | None) -> list[Choice]:
    """The sessions whose id begins so, newest first; only those whose id it is, if there are any."""
    query = (
        "SELECT host, session_id, title FROM session WHERE substr(session_id, 1, length(:prefix)) = :prefix"
        " AND (:host IS NULL OR host = :host) ORDER BY ended DESC, host, session_id"
    )
    found = [Choice(*row) for row in rows(connection, query, {"prefix": prefix, "host": host})]
    return [choice for choice in found if choice.session_id == prefix] or found


def latest(connection: apsw.Connection, host: str | None) -> list[Choice]:
    """The newest session, if there is one."""
    query = (
        "SELECT host, session_id, title FROM session WHERE :host IS NULL OR host = :host"
        " ORDER BY ended DESC, host, session_id LIMIT 1"
    )
    return [Choice(*row) for row in rows(connection, query, {"host": host})]


def near(connection: apsw.Connection, word: str, host: str | None) -> list[Choice]:
    """Up to three sessions whose ids begin almost so."""
    import difflib

    query = "SELECT host, session_id, title FROM session WHERE :host IS NULL OR host = :host ORDER BY ended DESC"
    by_beginning: dict[str, Choice] = {}
    for row in rows(connection, query, {"host": host}):
        choice = Choice(*row)
        by_beginning.setdefault(choice.session_id[: len(word)], choice)
    return [by_beginning[found] for found in difflib.get_close_matches(word[:100], by_beginning, n=3)]


def detail(connection: apsw.Connection, host: str, session_id: str) -> Detail:
    """All about one session; KeyError where there is no such session."""
    from retro.index.rows import SOURCE_COLUMNS, source_state  # what knows sources knows all that is captured

    query = (
        f"SELECT {SESSION_COLUMNS}, id, domain, agents, captured, normaliser, rules, normalized_bytes,"  # noqa: S608
        " events_evicted, pinned"
        " FROM session WHERE host = ? AND session_id = ?"
    )
    row: tuple[Any, ...] | None = next(rows(connection, query, (host, session_id)), None)
    if row is None:
        raise KeyError(session_id)
    number, domain, agents, captured, normaliser, rules, normalized_bytes, evicted, pinned = row[_SESSION_WIDTH:]
    query = f"SELECT {SOURCE_COLUMNS} FROM source WHERE session = ? ORDER BY key <> 'main', kind DESC, key, revision"  # noqa: S608
    return Detail(
        number=number,
        session=session_of(row),
        domain=domain,
        agents=msgspec.json.decode(agents, type=dict[str, str | None]),
        captured=captured,
        normaliser=normaliser,
        rules=rules,
        normalized_bytes=normalized_bytes,
        events_evicted=bool(evicted),
        pinned=bool(pinned),
        sources=[source_state(found) for found in rows(connection, query, (number,))],
    )


def normalized_lengths(connection: apsw.Connection, number: int) -> list[int]:
    """The committed length of a session's normalised file, and that of one about to take its place."""
    query = (
        "SELECT normalized_bytes FROM session WHERE id = :id"
        " UNION ALL SELECT bytes FROM replacing WHERE session = :id AND source = 0"
    )
    return [length for (length,) in rows(connection, query, {"id": number})]


def turns(connection: apsw.Connection, found: Detail) -> list[Turn]:
    """The turns of a session."""
    from retro.index.rows import TURN_COLUMNS, turn_of

    query = f"SELECT {TURN_COLUMNS} FROM turn WHERE session = ? ORDER BY turn"  # noqa: S608 - our own columns
    host, session_id = found.session.host, found.session.session_id
    return [turn_of(host, session_id, row).turn for row in rows(connection, query, (found.number,))]
