"""The traces of sessions in the index: which are missing or outdated, and those of one repository."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import apsw

from retro.index.database import rows

# A session's repository as people name it: by its remote, else by where it lies; without one, by the session's folder.
SCOPE: Final = (
    "coalesce((SELECT coalesce(nullif(remote, ''), root) FROM clone WHERE clone.id = session.clone),"
    " repository, cwd, '')"
)
_STAMP: Final = "hex(normalized_chain) || ':' || rules || ':' || normaliser"


class Outdated(NamedTuple):
    """A session whose trace is missing, or made of other events."""

    number: int
    host: str
    session_id: str
    scope: str
    stamp: str
    started: str | None
    title: str | None
    committed: int
    agents: str
    repository: str | None
    cwd: str | None


class Stored(NamedTuple):
    """A trace as it is stored."""

    host: str
    session_id: str
    stamp: str
    body: bytes


def outdated(connection: apsw.Connection, version: str) -> list[Outdated]:
    """Sessions to be traced, oldest first. One whose events were given up keeps the trace that it has."""
    query = (
        f"SELECT id, host, session_id, {SCOPE}, {_STAMP} || :version, started, title, normalized_bytes, agents,"  # noqa: S608
        " repository, cwd FROM session LEFT JOIN trace ON trace.session = id"
        f" WHERE normaliser >= 0 AND normalized_bytes > 0 AND (trace.session IS NULL OR NOT events_evicted)"
        f" AND (trace.stamp IS NOT {_STAMP} || :version OR trace.scope IS NOT {SCOPE})"
        " ORDER BY started, host, session_id"
    )
    return [Outdated(*row) for row in rows(connection, query, {"version": version})]


def store(connection: apsw.Connection, traced: Iterable[tuple[Outdated, bytes]]) -> None:
    """Keep traces, in the caller's transaction."""
    connection.executemany(
        "INSERT OR REPLACE INTO trace (session, stamp, scope, body) VALUES (?, ?, ?, ?)",
        [(of.number, of.stamp, of.scope, body) for of, body in traced],
    )


def stamps(connection: apsw.Connection) -> dict[str, list[tuple[str, str, str]]]:
    """For each scope its traces in a fixed order, as host, session and stamp."""
    query = (
        "SELECT trace.scope, host, session_id, stamp FROM trace JOIN session ON session.id = session"
        " ORDER BY trace.scope, started, host, session_id"
    )
    found: dict[str, list[tuple[str, str, str]]] = {}
    for scope, *of in rows(connection, query):
        found.setdefault(scope, []).append((of[0], of[1], of[2]))
    return found


def of_scope(connection: apsw.Connection, scope: str, most: int) -> Iterator[Stored]:
    """The newest traces of a repository, oldest first."""
    query = (
        "SELECT * FROM (SELECT host, session_id, stamp, body FROM trace JOIN session ON session.id = session"
        " WHERE trace.scope = ? ORDER BY started DESC, host DESC, session_id DESC LIMIT ?)"
    )
    yield from reversed([Stored(*row) for row in rows(connection, query, (scope, most))])


def newest(connection: apsw.Connection) -> Iterator[Stored]:
    """Every trace, the newest session first."""
    query = (
        "SELECT host, session_id, stamp, body FROM trace JOIN session ON session.id = session"
        " ORDER BY started DESC, host DESC, session_id DESC"
    )
    yield from (Stored(*row) for row in rows(connection, query))


class Over(NamedTuple):
    """A traced session that has come to rest, with what leads to its events and what is said of its outcome."""

    host: str
    session_id: str
    committed: int
    agents: str
    repository: str | None
    cwd: str | None
    body: bytes
    probability: float | None


def ended(connection: apsw.Connection, since: str, before: str) -> dict[str, list[str]]:
    """The ids of the traced sessions that ended within this time, each with the hosts that have it."""
    query = (
        "SELECT session_id, host FROM session JOIN trace ON trace.session = session.id WHERE ended >= ? AND ended < ?"
    )
    found: dict[str, list[str]] = {}
    for session_id, host in rows(connection, query, (since, before)):
        found.setdefault(session_id, []).append(host)
    return found


def over(connection: apsw.Connection, host: str, session_id: str, since: str) -> Over | None:
    """A session, if it went on after that moment."""
    query = (
        "SELECT host, session_id, normalized_bytes, agents, repository, cwd, body,"
        " (SELECT value FROM reading WHERE session = session.id AND signal = 'outcome_probability')"
        " FROM session JOIN trace ON trace.session = session.id WHERE host = ? AND session_id = ? AND ended >= ?"
    )
    found = next(rows(connection, query, (host, session_id, since)), None)
    return Over(*found) if found is not None else None


def mined_stamp(connection: apsw.Connection, scope: str) -> str | None:
    """In which state a scope was mined last."""
    found = next(rows(connection, "SELECT stamp FROM mined WHERE scope = ?", (scope,)), None)
    return str(found[0]) if found else None


def note_mined(connection: apsw.Connection, scope: str, stamp: str) -> None:
    """A scope has been mined in this state."""
    with connection:
        connection.execute("INSERT OR REPLACE INTO mined (scope, stamp) VALUES (?, ?)", (scope, stamp))
