"""Which sessions a word of upkeep is about, and their state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import apsw
import msgspec

from retro.archive.committed import SessionState
from retro.index.database import rows
from retro.index.queries import OF_PROJECT
from retro.index.states import session_state


class Chosen(msgspec.Struct):
    """A session by its name, with the little that a person needs to recognise it."""

    host: str
    session_id: str
    title: str | None
    project: str | None
    ended: str | None
    archive_bytes: int

    @property
    def key(self) -> tuple[str, str]:
        """Its name: host and id."""
        return self.host, self.session_id


def chosen(
    connection: apsw.Connection,
    *,
    host: str | None = None,
    session_id: str | None = None,
    project: str | None = None,
    before: str | None = None,
) -> list[Chosen]:
    """The sessions that fit everything that is given, oldest first. `before` is a moment as events have it."""
    conditions = {
        "host = :host": host,
        "session_id = :session_id": session_id,
        f"({OF_PROJECT})": project,
        "coalesce(ended, captured) < :before": before,
    }
    where = " AND ".join(text for text, value in conditions.items() if value is not None) or "1"
    query = (
        "SELECT host, session_id, title, project, ended, raw_bytes + normalized_bytes FROM session"  # noqa: S608 - our own conditions
        f" WHERE {where} ORDER BY coalesce(ended, captured), host, session_id"
    )
    values = {"host": host, "session_id": session_id, "project": project, "before": before}
    given = {name: value for name, value in values.items() if value is not None}
    return [Chosen(*row) for row in rows(connection, query, given)]


def states(connection: apsw.Connection, sessions: Iterable[tuple[str, str]]) -> Iterator[SessionState]:
    """What is committed of each session."""
    for session in sessions:
        yield session_state(connection, *session)
