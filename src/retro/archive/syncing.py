"""Makes durable what captures wrote: several files at a time, while the captures go on."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

from retro.places import sync_dir, sync_file

THREADS: Final = 4
"""A journalling file system commits what is synced at the same time at once."""

FEW: Final = 8
"""Not worth a thread."""

_Task = tuple[Callable[[str], None], str]


class Syncing:
    """Files and folders on their way to the disk. What is added is on it when `wait` returns."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._tasks: deque[_Task] = deque()
        self._at_work = self._threads = 0
        self._error: OSError | None = None
        self._over = False

    def add(self, files: Iterable[str], folders: Iterable[str]) -> None:
        """Begin to sync what was written into files, and the names in folders."""
        with self._changed:
            self._tasks += [(sync_file, path) for path in files]
            self._tasks += [(sync_dir, path) for path in folders]
            while len(self._tasks) > FEW and self._threads < THREADS:
                self._threads += 1
                threading.Thread(target=self._help, daemon=True).start()
            self._changed.notify_all()

    def wait(self) -> None:
        """Return when everything is on the disk; raises the first OSError that there was."""
        while task := self._next():
            self._carry_out(task)
        with self._changed:
            self._changed.wait_for(lambda: not self._at_work)
            error, self._error = self._error, None
        if error is not None:
            raise error

    def close(self) -> None:
        """Let the threads go."""
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def _next(self) -> _Task | None:
        with self._changed:
            if not self._tasks:
                return None
            self._at_work += 1
            return self._tasks.popleft()

    def _carry_out(self, task: _Task) -> None:
        sync, path = task
        error = None
        try:
            sync(path)
        except OSError as raised:
            error = raised
        with self._changed:
            self._at_work -= 1
            self._error = self._error or error
            self._changed.notify_all()

    def _help(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._tasks or self._over)
                if self._over:
                    return
            if task := self._next():
                self._carry_out(task)
