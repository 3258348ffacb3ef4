"""One writer at a time: a lock that the system lets go of when its holder dies, whatever way."""

from __future__ import annotations

import os
import time
from types import TracebackType

from retro.failure import BUSY, Failure
from retro.places import open_private

PAUSE = 0.05


class Lock:
    """The archive's lock, held for the length of a `with`. Forked workers share it until the last of them ends."""

    def __init__(self, path: str, wait_seconds: float) -> None:
        self._path = path
        self._wait = wait_seconds
        self._descriptor = -1

    def __enter__(self) -> Lock:
        self._descriptor = open_private(self._path, os.O_RDWR | os.O_CREAT)
        deadline = time.monotonic() + self._wait
        while not _try_lock(self._descriptor):
            if time.monotonic() >= deadline:
                os.close(self._descriptor)
                raise Failure(
                    "busy",
                    f"another retro is writing to this archive (waited {self._wait:g} s)",
                    "let it finish and try again; readers such as `retro list` work meanwhile",
                    BUSY,
                )
            time.sleep(PAUSE)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)


if os.name == "nt":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            os.lseek(descriptor, 0, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return False
        return True
