"""What is looked up by repository: which one a session worked in, the files that it edited there, its checkpoints."""

from __future__ import annotations

import posixpath
from typing import Final, NamedTuple

import apsw

from retro import repository
from retro.archive.committed import Part
from retro.index.database import rows

PATH: Final = 1000
"""Characters of the longest path that is kept."""


class Where(NamedTuple):
    """Where a session worked."""

    cwd: str | None
    root: str | None
    remote: str | None
    checkout: str | None


def write(connection: apsw.Connection, number: int, part: Part, where: Where) -> None:
    """Note the landmarks of a part, and the repository of its session. The files of others are not its landmarks."""
    found = part.landmarks
    told = repository.normalised(found.remote) if found.remote else None
    query = "SELECT clone, told_remote FROM session WHERE id = ?"
    before, told_before = next(rows(connection, query, (number,)))
    told = told or told_before
    clone = _clone(connection, where, told) or before  # its folder may be gone by now
    if (clone, told) != (before, told_before):
        connection.execute("UPDATE session SET clone = ?, told_remote = ? WHERE id = ?", (clone, told, number))
    if part.replaces_usage:
        connection.execute("DELETE FROM touched WHERE session = ?", (number,))
        connection.execute("DELETE FROM checkpoint WHERE session = ?", (number,))
    elif before != clone:
        _move(connection, number, clone)
    connection.executemany(
        "INSERT OR REPLACE INTO checkpoint (session, event_id, clone, at, turn, text) VALUES (?, ?, ?, ?, ?, ?)",
        [(number, event_id, clone, one.at, one.turn, one.text) for event_id, one in found.checkpoints.items()],
    )
    if clone is None:
        return
    tops = [_slashed(top).rstrip("/") for top in (where.checkout, where.root) if top] or [_slashed(where.cwd or "")]
    paths = ((path_within(path, tops), touch) for path, touch in found.files.items())
    connection.executemany(
        "INSERT INTO touched (session, path, clone, at, turn) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE"
        " SET at = excluded.at, turn = excluded.turn WHERE excluded.at >= at",
        [(number, path, clone, touch.at, touch.turn) for path, touch in paths if path],
    )


def _clone(connection: apsw.Connection, where: Where, told: str | None) -> int | None:
    """The row of a repository. What lies in the folder counts; what the host wrote down, where that is gone."""
    root, remote = where.root or "", (where.remote or ("" if where.root else told) or "").lower()
    if not root and not remote:
        return None
    for (found,) in rows(connection, "SELECT id FROM clone WHERE root = ? AND remote = ?", (root, remote)):
        return int(found)
    query = "INSERT INTO clone (root, remote) VALUES (?, ?) RETURNING id"
    return int(next(rows(connection, query, (root, remote)))[0])


def _move(connection: apsw.Connection, number: int, clone: int | None) -> None:
    """The repository of a session has got a remote."""
    connection.execute("UPDATE touched SET clone = ? WHERE session = ?", (clone, number))
    connection.execute("UPDATE checkpoint SET clone = ? WHERE session = ?", (clone, number))


def path_within(path: str, tops: list[str]) -> str | None:
    """A path as it is called within the first of some folders that it lies in; None where it lies in none."""
    name = _slashed(path)
    if "/." in name or "//" in name:
        name = posixpath.normpath(name)
    for top in tops:
        if top and name.startswith(top) and name[len(top) : len(top) + 1] == "/" and len(name) <= PATH:
            return name[len(top) + 1 :] or None
    return None


def _slashed(path: str) -> str:
    return path.replace("\\", "/") if path[1:2] == ":" or path.startswith("\\\\") else path
