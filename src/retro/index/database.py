"""Opening the index: for the one writer, for readers that never wait, and for a look that leaves no trace."""

from __future__ import annotations

import os

import apsw

from retro.failure import BUSY, Failure
from retro.places import Places, open_private

TYPE_CHECKING = False  # as in places: this is on the light path
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

SCHEMA_VERSION = 1
APPLICATION_ID = 0x7265_7472  # "retr"
BUSY_MS = 5000
READER_MS = 3000
"""A reader waits only where somebody holds the whole index, as no retro does for long."""

READER_CACHE_KIB = 16_000
"""At most: of pages that were read, and of what is sorted before it goes to a file."""

STATEMENTS = 512
"""Prepared statements are kept as long as so few others were run since: what is run once a session is not made anew
for each."""

_NO_SPACE = 64 * 1024


class OtherSchema(Failure):
    """The index was made by another version of retro."""


def open_writer(path: str, *, wait_ms: int = BUSY_MS) -> apsw.Connection:
    """Open the index to be written, making it where there is none."""
    os.close(open_private(path, os.O_RDWR | os.O_CREAT))
    try:
        connection = apsw.Connection(path, statementcachesize=STATEMENTS)
        _prepare(connection, wait_ms)
        connection.pragma("auto_vacuum", "incremental")  # counts for a new one only: pages can be given back
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "normal")
        connection.pragma("foreign_keys", True)
        connection.pragma("secure_delete", True)
        _check_schema(connection, path, create=True)
    except apsw.Error as error:
        raise explained(error, path) from None
    return connection


def open_reader(places: Places, *, wait_ms: int = READER_MS) -> apsw.Connection | None:
    """Open the index to be read; None where there is none yet."""
    if not os.path.exists(places.index):
        return None
    try:
        return _open_read_only(places.index, wait_ms)
    except apsw.CantOpenError as error:  # a folder that cannot be written to, where SQLite wants a file of its own
        if os.path.exists(f"{places.index}-wal") or not os.access(places.index, os.R_OK):
            raise explained(error, places.index) from None
        return _explained_open(places.index, wait_ms, immutable=True)
    except apsw.Error as error:
        raise explained(error, places.index) from None


def open_untouched(places: Places) -> apsw.Connection | None:
    """Open the index so that not even a helper file beside it is made or changed."""
    if not os.path.exists(places.index):
        return None
    busy = os.path.exists(f"{places.index}-wal")
    return _explained_open(places.index, BUSY_MS, immutable=not busy)


def _explained_open(path: str, wait_ms: int, *, immutable: bool) -> apsw.Connection | None:
    try:
        return _open_read_only(path, wait_ms, immutable=immutable)
    except apsw.Error as error:
        raise explained(error, path) from None


def _open_read_only(path: str, wait_ms: int, *, immutable: bool = False) -> apsw.Connection | None:
    name, flags = path, apsw.SQLITE_OPEN_READONLY
    if immutable:
        escaped = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
        name, flags = f"file:{escaped}?immutable=1", flags | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(name, flags=flags)
    try:
        _prepare(connection, wait_ms)
        if _is_empty(connection):  # its maker died before the first transaction
            connection.close()
            return None
        _check_schema(connection, path, create=False)
        connection.pragma("cache_size", -READER_CACHE_KIB)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: apsw.Connection, wait_ms: int) -> None:
    connection.set_busy_timeout(wait_ms)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)


def _is_empty(connection: apsw.Connection) -> bool:
    return connection.pragma("user_version") == 0 and not connection.execute("SELECT count(*) FROM sqlite_schema").get


def _check_schema(connection: apsw.Connection, path: str, *, create: bool) -> None:
    version = connection.pragma("user_version")
    if create and _is_empty(connection):
        with connection:
            connection.execute(schema())
            connection.pragma("application_id", APPLICATION_ID)
            connection.pragma("user_version", SCHEMA_VERSION)
    elif version != SCHEMA_VERSION or connection.pragma("application_id") != APPLICATION_ID:
        raise OtherSchema(
            "index_schema",
            f"{path} is not an index of this version of retro",
            "retro reindex rebuilds it from the archive",
        )


def schema() -> str:
    """The statements that make an empty index."""
    with open(os.path.join(os.path.dirname(__file__), "schema.sql"), encoding="utf-8") as file:
        return file.read()


def give_back(connection: apsw.Connection) -> None:
    """Give pages that nothing uses back to the file system."""
    for _ in connection.execute("PRAGMA incremental_vacuum"):
        pass


def empty_log(connection: apsw.Connection) -> bool:
    """Move what was written into the index's own pages, and cut its log to nothing; False while somebody reads.

    What was deleted still stands in the log until then.
    """
    try:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except (apsw.BusyError, apsw.LockedError):
        return False
    return True


def log_is_left(places: Places) -> bool:
    """Whether the last writer could not empty its log, because somebody was reading."""
    try:
        return os.path.getsize(f"{places.index}-wal") > 0
    except OSError:
        return False


def rows(connection: apsw.Connection, query: str, values: Sequence[Any] | dict[str, Any] = ()) -> Iterator[Any]:
    """The rows that a query gives, as tuples of what the schema promises."""
    return iter(connection.execute(query, values))


def explained(error: apsw.Error, path: str) -> Failure:
    """What SQLite says, in words, with what to do about it."""
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return Failure("busy", f"{path} is locked by another program", "try again in a moment", BUSY)
    if isinstance(error, apsw.FullError):
        return Failure("disk_full", f"no space left on the disk to write {path}", "free some space, then try again")
    if isinstance(error, (apsw.CorruptError, apsw.NotADBError)):
        return Failure("index_damaged", f"{path} is damaged", "retro reindex rebuilds it from the archive")
    if isinstance(error, (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError)):
        return Failure("not_writable", f"{path} cannot be opened: {error}", "check the folder's permissions")
    if isinstance(error, apsw.IOError):
        from shutil import disk_usage

        if disk_usage(os.path.dirname(path)).free < _NO_SPACE:  # what SQLite cannot map, it does not call full
            return explained(apsw.FullError(), path)
        return Failure("io", f"{path}: {error}", "check the disk, then try again")
    return Failure("index", f"{path}: {error}", "retro reindex rebuilds it from the archive")
