"""Which sessions' digests say all that the index knows, and which are to be written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import apsw

from retro.index.database import rows

SETTING: Final = "digests"
VERSION: Final = 2
"""Raised when the same index would give other digests: the next sweep writes all of them again."""

DUE: Final = "digest_events IS NOT events"
"""Sessions whose digest is not known to be on the disk."""

_WRITTEN: Final = "digest_events = -1 - events"


def due(connection: apsw.Connection) -> list[int]:
    """Numbers of the sessions whose digest is to be written."""
    query = f"SELECT id FROM session WHERE {DUE} AND NOT coalesce({_WRITTEN}, 0) ORDER BY id"  # noqa: S608 - ours
    return [number for (number,) in rows(connection, query)]


def any_due(connection: apsw.Connection) -> bool:
    """Whether a digest is to be written, or a sweep died before it was known to be on the disk."""
    return bool(next(rows(connection, f"SELECT EXISTS (SELECT 1 FROM session WHERE {DUE})"))[0])  # noqa: S608 - ours


def current(connection: apsw.Connection) -> bool:
    """Whether the digests are of this version."""
    query = "SELECT EXISTS (SELECT 1 FROM setting WHERE name = ? AND value = ?)"
    return bool(next(rows(connection, query, (SETTING, VERSION)))[0])


def undo(connection: apsw.Connection, host: str, session_id: str) -> None:
    """The digest of a session no longer says all: something that stands in it has changed, or the file is lost."""
    query = "UPDATE session SET digest_events = NULL WHERE host = ? AND session_id = ?"
    connection.execute(query, (host, session_id))


def undo_all(connection: apsw.Connection) -> None:
    """The same for every session."""
    connection.execute("UPDATE session SET digest_events = NULL WHERE digest_events IS NOT NULL")


def written(connection: apsw.Connection, numbers: Iterable[int]) -> None:
    """Note that digests were written, but not yet that they are there to stay."""
    query = "UPDATE session SET digest_events = -1 - events WHERE id = ?"
    connection.executemany(query, [(number,) for number in numbers])


def confirm(connection: apsw.Connection) -> None:
    """What was written is on the disk now."""
    connection.execute(f"UPDATE session SET digest_events = events WHERE {DUE} AND {_WRITTEN}")  # noqa: S608 - ours


def restart(connection: apsw.Connection) -> None:
    """What an earlier run has written and not confirmed is to be written again."""
    connection.execute(f"UPDATE session SET digest_events = NULL WHERE {DUE} AND digest_events IS NOT NULL")  # noqa: S608
