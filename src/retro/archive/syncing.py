"""Makes durable what captures wrote: several files at a time, while the captures go on."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

from retro.places import sync_dir, sync_file

THREADS: Final = 4
"""A journalling file system commits what is synced at the same time at once."""

FEW: Final = 8
"""Not worth a thread."""

BATCH: Final = 32
"""So many are handed to the threads at once: to wake them for each would take longer than what they do."""

QUICK_SECONDS: Final = 100e-6
"""A file system that syncs a file in less time keeps it in memory, or in a cache that outlasts a power failure."""

_Task = tuple[Callable[[str], None], str]


class Syncing:
    """Files and folders on their way to the disk. What is added is on it when `wait` returns."""

    def __init__(self) -> None:
        lock = threading.Lock()
        self._work, self._done = threading.Condition(lock), threading.Condition(lock)
        self._gathered: list[_Task] = []
        self._tasks: deque[_Task] = deque()
        self._at_work = self._threads = 0
        self._error: OSError | None = None
        self._quick: bool | None = None
        self._over = False

    def add(self, files: Iterable[str], folders: Iterable[str]) -> None:
        """Begin to sync what was written into files, and the names in folders."""
        self._gathered += [(sync_file, path) for path in files]
        self._gathered += [(sync_dir, path) for path in folders]
        if len(self._gathered) >= BATCH and not self._is_quick():
            self._hand_over()

    def wait(self) -> None:
        """Return when everything is on the disk; raises the first OSError that there was."""
        if len(self._gathered) > FEW and not self._is_quick():
            self._hand_over()
        for task in self._gathered:
            self._carry_out(task)
        self._gathered = []
        if self._threads:
            self._help(until_over=False)
            with self._done:
                self._done.wait_for(lambda: not self._at_work)
        error, self._error = self._error, None
        if error is not None:
            raise error

    def close(self) -> None:
        """Let the threads go."""
        if self._threads:
            with self._work:
                self._over = True
                self._work.notify_all()

    def _is_quick(self) -> bool:
        """Whether the disk takes no longer than a thread that waits for it; the first file to be synced tells."""
        if self._quick is None:
            began = time.perf_counter()
            self._carry_out(self._gathered.pop())
            self._quick = time.perf_counter() - began < QUICK_SECONDS
        return self._quick

    def _hand_over(self) -> None:
        with self._work:
            self._tasks += self._gathered
            self._work.notify_all()
        self._gathered = []
        while self._threads < THREADS:
            self._threads += 1
            threading.Thread(target=self._help, daemon=True).start()

    def _carry_out(self, task: _Task) -> None:
        sync, path = task
        try:
            sync(path)
        except OSError as raised:
            self._error = self._error or raised

    def _help(self, *, until_over: bool = True) -> None:
        """Do what was handed over; with `until_over` wait for more, else return once nothing is left."""
        while True:
            with self._work:
                if until_over:
                    self._work.wait_for(lambda: self._tasks or self._over)
                if self._over or not self._tasks:
                    return
                self._at_work += 1
                task = self._tasks.popleft()
            self._carry_out(task)
            with self._work:
                self._at_work -= 1
                if not (self._at_work or self._tasks):
                    self._done.notify_all()
