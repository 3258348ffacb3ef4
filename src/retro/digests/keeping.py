"""Digests written where they are due, side by side with captures; they count once they are known to last."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from typing import Final

import apsw

from retro.archive.syncing import Syncing
from retro.digests import digest as files
from retro.digests.digest import Digest
from retro.digests.making import make
from retro.index import digested
from retro.index.database import rows
from retro.places import Places, make_private_dir, sync_dir, write_private

FATAL: Final = frozenset({errno.ENOSPC, errno.EROFS, getattr(errno, "EDQUOT", errno.ENOSPC)})
"""With which no other digest could be written either."""


class Keeper:
    """Writes the digests that are due; `confirm` makes them count, once all that was written is on the disk."""

    def __init__(self, connection: apsw.Connection, places: Places, syncing: Syncing) -> None:
        self._connection, self._places, self._syncing = connection, places, syncing
        self._folders: set[str] = set()
        self._written = False
        self.failed: dict[tuple[str, str], str] = {}
        """Sessions whose digest could not be written, and why; the next sweep tries again."""
        with connection:
            begin(connection)

    def write(self, sessions: Iterable[tuple[str, str]] | None = None) -> None:
        """Write the digests of sessions, or all that are due; they are synced beside."""
        numbers = digested.due(self._connection) if sessions is None else self._numbers(sessions)
        done, paths = [], []
        for number in numbers:
            found = self._made(number)
            try:
                paths.append(self._put(found))
                done.append(number)
            except OSError as error:
                if error.errno in FATAL:
                    raise
                self.failed[found.host, found.session_id] = f"its digest cannot be written: {error.strerror or error}"
        if done:
            with self._connection:
                digested.written(self._connection, done)
            self._written = True
            self._syncing.add(paths, [])

    def _made(self, number: int) -> Digest:
        """The digest of a session. Where nothing else is left of it, what the one on the disk says stays."""
        found = make(self._connection, number)
        if any(rows(self._connection, "SELECT 1 FROM source WHERE session = ? LIMIT 1", (number,))):
            return found
        try:
            before = files.read(self._places.checked(self._places.digest(found.host, found.session_id)))
        except (OSError, ValueError):
            return found
        return files.brought_up_to_date(before, found)

    def _put(self, digest: Digest) -> str:
        """Write a digest, unless the file says just that already."""
        path = self._places.checked_session(self._places.digest(digest.host, digest.session_id))
        content = files.encoded(digest)
        if not _holds(path, content):
            folder = os.path.dirname(path)
            if folder not in self._folders:
                make_private_dir(folder)
                self._folders.add(folder)
            write_private(path, content, sync=False)
        return path

    def _numbers(self, sessions: Iterable[tuple[str, str]]) -> list[int]:
        query = "SELECT id FROM session WHERE host = ? AND session_id = ?"
        return [number for session in sessions for (number,) in rows(self._connection, query, session)]

    def confirm(self) -> None:
        """What was written counts: the caller has waited until everything is synced."""
        if not self._written:
            return
        for folder in {*self._folders, *map(os.path.dirname, self._folders)}:
            sync_dir(folder)
        with self._connection:
            digested.confirm(self._connection)
        self._folders.clear()
        self._written = False


def begin(connection: apsw.Connection) -> None:
    """What another version has written, or an earlier run without confirming it, is to be written again."""
    digested.restart(connection)
    if not digested.current(connection):
        digested.undo_all(connection)
        query = "INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)"
        connection.execute(query, (digested.SETTING, digested.VERSION))


def catch_up(connection: apsw.Connection, places: Places) -> None:
    """Write all digests that are due, and wait until they are on the disk. The caller holds the archive's lock."""
    syncing = Syncing()
    try:
        keeper = Keeper(connection, places, syncing)
        keeper.write()
        syncing.wait()
        keeper.confirm()
    finally:
        syncing.close()


def flaw(places: Places, host: str, session_id: str, events: int) -> str:
    """What is wrong with the digest on the disk of a session that has so many events; empty where nothing is."""
    try:
        found = files.read(places.checked(places.digest(host, session_id)))
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return error.strerror or str(error)
    except ValueError as error:
        return str(error)
    if (found.host, found.session_id) != (host, session_id):
        return f"is that of another session: {found.host} {found.session_id}"
    return "" if found.counts.events == events else f"covers {found.counts.events} of {events} events"


def ensure(connection: apsw.Connection, places: Places, sessions: Iterable[tuple[str, str]]) -> None:
    """Look at the digests of sessions on the disk, and write those again that are not as they should be."""
    lost = [
        (host, session_id)
        for host, session_id in sessions
        for (events,) in rows(
            connection, "SELECT events FROM session WHERE host = ? AND session_id = ?", (host, session_id)
        )
        if flaw(places, host, session_id, events)
    ]
    if lost:
        with connection:
            for name in lost:
                digested.undo(connection, *name)
        catch_up(connection, places)


def _holds(path: str, content: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(content) + 1) == content
    except OSError:
        return False
