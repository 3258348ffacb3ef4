"""Vectors that a program of the user's gave turns, in spaces, each with what was told of it: a database of its own."""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Iterable, Mapping
from typing import Final

import apsw

from retro.failure import WRONG_USAGE, Failure
from retro.index.database import BUSY_MS, explained, rows
from retro.places import Places, open_private

VERSION: Final = 1
_SCHEMA: Final = """
CREATE TABLE space (name TEXT PRIMARY KEY, width INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE vector (
    id         INTEGER PRIMARY KEY,
    space      TEXT NOT NULL,
    host       TEXT NOT NULL,
    session_id TEXT NOT NULL,
    turn       INTEGER NOT NULL,
    meta       TEXT NOT NULL,
    body       BLOB NOT NULL,
    UNIQUE (space, host, session_id, turn)
) STRICT;
"""

Given = tuple[str, str, int, Iterable[float], Mapping[str, str]]
"""Host, session, turn, vector, and what is told of it."""


def _open(places: Places) -> apsw.Connection:
    os.makedirs(places.root, mode=0o700, exist_ok=True)
    os.close(open_private(places.vectors, os.O_RDWR | os.O_CREAT))
    connection = apsw.Connection(places.vectors)
    connection.set_busy_timeout(BUSY_MS)
    connection.pragma("secure_delete", True)
    if connection.pragma("user_version") == 0:
        with connection:
            connection.execute(_SCHEMA)
            connection.pragma("user_version", VERSION)
    return connection


def put(places: Places, space: str, given: Iterable[Given]) -> int:
    """Keep vectors; those of turns that have one in this space already take its place. How many there were."""
    count = 0
    try:
        connection = _open(places)
        try:
            with connection:
                for host, session_id, turn, vector, meta in given:
                    body = array("f", vector)
                    _check_width(connection, space, len(body))
                    connection.execute(
                        "INSERT OR REPLACE INTO vector (space, host, session_id, turn, meta, body)"
                        " VALUES (?, ?, ?, ?, ?, ?)",
                        (space, host, session_id, turn, json.dumps(dict(meta)), body.tobytes()),
                    )
                    count += 1
        finally:
            connection.close()
    except apsw.Error as error:
        raise explained(error, places.vectors) from None
    return count


def _check_width(connection: apsw.Connection, space: str, width: int) -> None:
    known = next(rows(connection, "SELECT width FROM space WHERE name = ?", (space,)), None)
    if known is None and width:
        connection.execute("INSERT INTO space VALUES (?, ?)", (space, width))
    elif known != (width,):
        raise Failure(
            "usage",
            f'vectors of the space "{space}" have {known[0] if known else "some"} numbers, not {width}',
            "another model's vectors belong into a space of their own",
            WRONG_USAGE,
        )


def read(places: Places, space: str) -> list[tuple[str, str, int, dict[str, str], bytes]]:
    """All vectors of a space: host, session, turn, what is told of it, and its numbers as 32-bit floats."""
    if not os.path.exists(places.vectors):
        return []
    try:
        connection = _open(places)
        try:
            query = "SELECT host, session_id, turn, meta, body FROM vector WHERE space = ? ORDER BY id"
            return [(*row[:3], json.loads(row[3]), row[4]) for row in rows(connection, query, (space,))]
        finally:
            connection.close()
    except apsw.Error as error:
        raise explained(error, places.vectors) from None


def drop(places: Places, space: str) -> None:
    """Delete a space with all its vectors."""
    _delete(places, [("DELETE FROM vector WHERE space = ?", (space,)), ("DELETE FROM space WHERE name = ?", (space,))])


def forget(places: Places, sessions: Iterable[tuple[str, str]]) -> None:
    """Delete what belongs to sessions."""
    _delete(places, [("DELETE FROM vector WHERE host = ? AND session_id = ?", session) for session in sessions])


def _delete(places: Places, statements: list[tuple[str, tuple[str, ...]]]) -> None:
    if not os.path.exists(places.vectors):
        return
    try:
        connection = _open(places)
        try:
            with connection:
                for statement, values in statements:
                    connection.execute(statement, values)
        finally:
            connection.close()
    except apsw.Error as error:
        raise explained(error, places.vectors) from None
