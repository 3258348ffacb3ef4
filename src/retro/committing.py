"""What workers say, made to count: rows, files on the disk and digests, in batches."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import apsw

from retro.archive.committed import Part
from retro.archive.syncing import Syncing
from retro.config import Settings
from retro.digests.keeping import Keeper
from retro.index.database import open_writer
from retro.index.readings import Readings
from retro.index.writing import Writer
from retro.ledger import prices
from retro.ledger.writing import Ledger
from retro.outcomes import Outcome, Problem
from retro.places import Places, sync_dir
from retro.placing import place
from retro.versions import versions
from retro.workers import Aborted

if TYPE_CHECKING:
    from retro.pipeline import Advance

BATCH_PARTS: Final = 256
BATCH_BYTES: Final = 64 * 1024 * 1024
LAST_BYTES: Final = 8 * 1024 * 1024
"""From here on a batch ends once it is `LAST_SHARE` times what is still to come: most of what a commit takes is done
while the rest is captured, and little is left for when the workers have ended."""
LAST_SHARE: Final = 3


class Committer:
    """Collects parts and commits them together, so that many small sessions cost one transaction."""

    def __init__(
        self,
        places: Places,
        index: str,
        settings: Settings,
        advance: Advance | None,
        digests: bool,
        connection: apsw.Connection | None,
    ) -> None:
        self._places, self._digests = places, digests
        self.outcomes: dict[tuple[str, str], Outcome] = {}
        self._index, self._settings, self._advance = index, settings, advance
        self._connection = connection
        self._writer: Writer | None = None
        self._ledger: Ledger | None = None
        self._keeper: Keeper | None = None
        self._parts = self._bytes = 0
        self.left = 0
        """Bytes still to come, about."""
        self._ended: dict[tuple[str, str], None] = {}
        self._new_folders: set[str] = set()
        self._syncing = Syncing()

    def take(self, message: Part | Aborted) -> None:
        """Note what a worker says."""
        key = (message.host, message.session_id)
        outcome = self.outcomes.setdefault(key, Outcome(*key, problems=[]))
        if isinstance(message, Aborted):
            outcome.problems.append(Problem(*key, None, message.reason))
            if message.fatal:
                self._commit()
                raise OSError(message.fatal, message.reason)
            self._tell(1, 0)
            return
        outcome.read += message.read
        outcome.captured = outcome.captured or bool(message.sources)
        outcome.changed = outcome.changed or message.read > 0 or bool(message.folders)
        outcome.appended = outcome.appended or message.appended
        for failed in message.failed:
            outcome.problems.append(Problem(*key, failed.path.decode("utf-8", "replace"), failed.reason))
        self._syncing.add(message.files, message.folders)
        if message.sources or message.kept:
            self._write(message)
        self.left -= message.read
        if self._bytes >= LAST_BYTES and self._bytes >= LAST_SHARE * self.left:
            self._commit()
            if self._writer is not None:
                self._writer.gather()
        elif self._parts >= BATCH_PARTS or self._bytes >= BATCH_BYTES:
            self._commit()
        self._tell(int(message.done), message.read)

    def _write(self, part: Part) -> None:
        """Write a part's rows while others are still being captured; they count when the batch is committed."""
        self._open().add(part)
        self._parts += 1
        self._bytes += part.read
        if part.done:
            self._ended[part.host, part.session_id] = None
        if part.folders:
            self._new_folders.add(part.host)

    def finish(self) -> None:
        """Commit what is left."""
        self._commit()
        if self._writer is not None:
            self._writer.finish()
        if self._keeper is not None:
            self._keeper.write()
            self._syncing.wait()
            self._keeper.confirm()
            for key, reason in self._keeper.failed.items():
                outcome = self.outcomes.setdefault(key, Outcome(*key, problems=[]))
                outcome.problems.append(Problem(*key, self._places.digest(*key), reason))

    def close(self) -> None:
        """Let go of the index and the ledger."""
        self._syncing.close()
        if self._ledger is not None:
            self._ledger.close()
        if self._connection is not None:
            self._connection.close()

    def _commit(self) -> None:
        """Make what was written count, once all that it speaks of is on the disk."""
        if self._writer is None or not self._parts:
            return
        self._writer.settle()
        self._syncing.wait()
        if self._keeper is not None:
            self._keeper.confirm()  # those of the batch before, which were synced while this one was captured
        for host in self._new_folders:
            for folder in (self._places.raw(host, ""), self._places.normalized(host, "")):
                if os.path.isdir(os.path.dirname(folder)):  # a session without events has no normalised file
                    sync_dir(os.path.dirname(folder))
        self._writer.commit()
        if self._keeper is not None:
            self._keeper.write(self._ended)
        self._parts = self._bytes = 0
        self._ended.clear()
        self._new_folders.clear()

    def _open(self) -> Writer:
        """Who writes to the index. Opened only now: workers are forked before, and SQLite must not be carried along."""
        if self._writer is None:
            connection = self._connection = self._connection or open_writer(self._index)
            self._ledger = Ledger(connection, self._places.ledger, lambda: prices.load(self._settings.folder)[0])
            folder = self._places.signals if self._index == self._places.index else None
            readings = Readings(connection, folder)
            self._writer = Writer(connection, lambda cwd: place(cwd, self._settings), versions, self._ledger, readings)
            self._keeper = Keeper(connection, self._places, self._syncing) if self._digests else None
        return self._writer

    def _tell(self, sessions: int, size: int) -> None:
        if self._advance:
            self._advance(sessions, size)
