"""Databases of hosts: copied with their logs, so that the host's own are never opened, and read from the copy."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import apsw
import msgspec

from retro.agents.interface import Captured, Known, Row, Source, Unreadable

if TYPE_CHECKING:  # loading it takes a while, and not everybody has such a host
    import tempfile

TRIES: Final = 5
"""How often a database that changes while it is copied is copied again."""

PAUSE: Final = 0.05
LOGS: Final = ("-wal", "-journal")

_copies: dict[str, tuple[int, tempfile.TemporaryDirectory[str], str]] = {}


def mark_of(path: str) -> int:
    """A number that changes with the file and its logs, as `stat` sees them."""
    return int.from_bytes(blake2b(repr(_stamps(path)).encode(), digest_size=8).digest(), "big") >> 1


def known_sources(known: Known, path: str, mark: int) -> list[Source] | None:
    """The sources that a store gave when it was swept last, if it has not changed since; None if it has."""
    if not isinstance(known, Captured) or known.stores.get(path) != mark:
        return None
    return known.of_store.get(path, [])


def snapshot(path: str) -> str:
    """A copy of a database as it is now; the same one until the database changes, or `release` is called."""
    mark = mark_of(path)
    made = _copies.get(path)
    if made is not None and made[0] == mark and os.path.exists(made[2]):
        return made[2]
    from tempfile import TemporaryDirectory

    folder = TemporaryDirectory(prefix="retro-", ignore_cleanup_errors=True)
    copy = os.path.join(folder.name, "copy.sqlite")
    try:
        _copy(path, copy)
    except BaseException:
        folder.cleanup()
        raise
    if made is not None:
        made[1].cleanup()
    _copies[path] = (mark, folder, copy)
    return copy


def release() -> None:
    """Remove all copies."""
    for _, folder, _ in _copies.values():
        folder.cleanup()
    _copies.clear()


@contextmanager
def opened(copy: str) -> Iterator[apsw.Connection]:
    """A connection to a copy. What is wrong with it is `Unreadable`."""
    try:
        connection = apsw.Connection(copy)
        try:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # the copy is thrown away
            connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            connection.pragma("query_only", 1)
            yield connection
        finally:
            connection.close()
    except apsw.Error as error:
        raise Unreadable(str(error)) from None


def columns(connection: apsw.Connection, table: str) -> list[str]:
    """The columns that a table has; none if there is no such table."""
    return [str(row[1]) for row in connection.execute(f"PRAGMA table_info({_quoted(table)})")]


def select(
    connection: apsw.Connection, table: str, key: str, where: str = "", values: tuple[object, ...] = ()
) -> Iterator[Row]:
    """Rows of a table in canonical JSON, with every column that this version of the host has."""
    names = columns(connection, table)
    if key not in names:
        return
    listed = ", ".join(_quoted(name) for name in names)
    condition = f"WHERE {where}" if where else ""
    query = f"SELECT {listed} FROM {_quoted(table)} {condition} ORDER BY {_quoted(key)}"  # noqa: S608 - names of columns
    place = names.index(key)
    for row in connection.execute(query, values):
        yield Row(table, str(row[place]), canonical(dict(zip(names, row, strict=True))))


def canonical(row: Mapping[str, object]) -> bytes:
    """A row as JSON: the same row gives the same bytes. NULLs are left out, bytes are given in base64."""
    present = {name: value for name, value in row.items() if value is not None}
    try:
        return msgspec.json.encode(present, order="sorted")
    except UnicodeEncodeError:
        clean = {name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
                 for name, value in present.items()}  # fmt: skip
        return msgspec.json.encode(clean, order="sorted")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _copy(path: str, copy: str) -> None:
    """Copy a database with its logs, first the logs: pages that move over meanwhile are then in both, never in none."""
    from shutil import copyfile

    try:
        for attempt in range(TRIES):
            if attempt:
                time.sleep(PAUSE * attempt)
            before = _stamps(path)
            for log in LOGS:
                if os.path.exists(path + log):
                    copyfile(path + log, copy + log)
                elif os.path.exists(copy + log):
                    os.unlink(copy + log)
            copyfile(path, copy)
            if _stamps(path) == before:
                return
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from None
    raise Unreadable("it changes faster than it can be copied; the next sweep tries again")


def _stamps(path: str) -> list[tuple[str, int, int, int]]:
    stamps = []
    for name in ("", *LOGS):
        try:
            found = os.stat(path + name)
        except OSError:
            continue
        stamps.append((name, found.st_size, found.st_mtime_ns, found.st_ino))
    return stamps
