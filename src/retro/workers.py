"""Captures on several cores: worker processes of our own interpreter, jobs out, parts back."""

from __future__ import annotations

import errno
import gc
import os
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec

from retro import agents, secrets
from retro.agents.interface import Facts
from retro.archive.committed import MAIN, Job, Part
from retro.archive.frames import Damaged
from retro.capture import capture
from retro.failure import Failure, internal
from retro.places import Places

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

MOST: Final = 4
WORTH_IT: Final = 8 * 1024 * 1024
"""Bytes to read from which on starting processes pays."""

EACH: Final = 48 * 1024
"""To begin and end a session takes as long as to read so many bytes of it."""


class Aborted(msgspec.Struct, tag=True):
    """A job that ended in an error of ours or of the machine."""

    host: str
    session_id: str
    reason: str
    fatal: int = 0
    """The error number where no other job could do better: no space left, or an archive that cannot be written."""


_FATAL: Final = frozenset({errno.ENOSPC, errno.EROFS, getattr(errno, "EDQUOT", errno.ENOSPC)})


def run(places: Places, jobs: list[Job], workers: int) -> Iterator[Part | Aborted]:
    """Do jobs, the largest first; give their parts as they come, those of one session in order."""
    queue = sorted(jobs, key=lambda job: job.size, reverse=True)
    count = process_count(queue, workers)
    if count:
        yield from _Pool(places, count, queue).run(queue)
    else:
        for job in queue:
            yield from attempt(places, job)


def process_count(jobs: list[Job], workers: int) -> int:
    """How many processes are started to do jobs; none where this one is as fast."""
    count = min(worker_count(workers), len(jobs))
    return 0 if count < 2 or sum(job.size for job in jobs) + EACH * len(jobs) < WORTH_IT else count


def worker_count(wanted: int) -> int:
    """How many processes to use: as many as cores, at most four, or as the settings say."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(wanted or cores, MOST)


def attempt(places: Places, job: Job) -> Iterator[Part | Aborted]:
    """A job's parts; an error ends it, and is given instead of raised."""
    try:
        yield from capture(places, job)
    except OSError as error:
        reason = f"{error.strerror or error}: {error.filename}" if error.filename else error.strerror or str(error)
        yield Aborted(job.state.host, job.state.session_id, reason, error.errno or 0 if error.errno in _FATAL else 0)
    except Failure as failure:
        yield Aborted(job.state.host, job.state.session_id, failure.message)
    except Damaged as error:
        yield Aborted(job.state.host, job.state.session_id, str(error))
    except Exception as error:
        yield Aborted(job.state.host, job.state.session_id, internal(error))


class _Pool:
    """A few processes, each with a pipe of its own; one that dies takes only its job with it."""

    def __init__(self, places: Places, count: int, queue: list[Job]) -> None:
        import multiprocessing

        # Forking a process that has no threads is safe and takes 2 ms; elsewhere a fresh interpreter is the safe way.
        method = "fork" if sys.platform == "linux" else "spawn"
        self._context: Any = multiprocessing.get_context(method)  # Any: typeshed's base class lacks Process
        self._replacement: Any = multiprocessing.get_context("spawn")  # by then there may be threads that sync
        self._places = places
        self._count = count
        if method == "fork":  # what workers need is loaded once for all
            _ = secrets.suspects, secrets.mark_suspects
            for host in {job.state.host for job in queue}:
                agents.named(host).reader("", MAIN, MAIN, b"", Facts())
        self._busy: dict[Connection, tuple[BaseProcess, Job]] = {}

    def run(self, queue: list[Job]) -> Iterator[Part | Aborted]:
        from multiprocessing.connection import wait

        decode = msgspec.msgpack.Decoder(Part | Aborted).decode
        queue = queue[::-1]
        try:
            for _ in range(self._count):
                self._start(queue)
            while self._busy:
                for pipe in wait(list(self._busy)):
                    process, job = self._busy[pipe]  # type: ignore[index]
                    try:
                        message = decode(pipe.recv_bytes())  # type: ignore[union-attr]
                    except (EOFError, ConnectionError):
                        del self._busy[pipe]  # type: ignore[arg-type]
                        process.join()
                        reason = f"its worker process ended unexpectedly (exit code {process.exitcode})"
                        yield Aborted(job.state.host, job.state.session_id, reason)
                        self._context = self._replacement
                        self._start(queue)
                        continue
                    yield message
                    if isinstance(message, Aborted) or message.done:
                        self._next(pipe, process, queue)  # type: ignore[arg-type]
        finally:
            self._stop()

    def _start(self, queue: list[Job]) -> None:
        if not queue:
            return
        ours, theirs = self._context.Pipe()
        forked = self._context.get_start_method() == "fork"
        others = [pipe.fileno() for pipe in (*self._busy, ours)] if forked else []
        process = self._context.Process(target=_work, args=(theirs, self._places.root, others), daemon=True)
        process.start()
        theirs.close()
        self._next(ours, process, queue)

    def _next(self, pipe: Connection, process: BaseProcess, queue: list[Job]) -> None:
        if not queue:
            self._busy.pop(pipe, None)
            pipe.close()
            process.join()
            return
        job = queue.pop()
        self._busy[pipe] = process, job
        try:
            pipe.send_bytes(msgspec.msgpack.encode(job))
        except (BrokenPipeError, ConnectionError):
            pass  # it died; reading will tell

    def _stop(self) -> None:
        for pipe, (process, _) in self._busy.items():
            pipe.close()
            process.terminate()
            process.join()
        self._busy.clear()


def _work(pipe: Connection, root: str, others: list[int]) -> None:
    """A worker's life: jobs until the pipe closes."""
    import signal

    for descriptor in others:  # the parent's ends, inherited: held open here, nobody would see the parent die
        os.close(descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    gc.freeze()  # what was inherited is not garbage, and what is made here is freed by counting
    gc.set_threshold(50_000, 20, 100)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    decode = msgspec.msgpack.Decoder(Job).decode
    encode = msgspec.msgpack.Encoder().encode
    places = Places(root)
    while True:
        try:
            job = decode(pipe.recv_bytes())
        except (EOFError, OSError):
            return
        for message in attempt(places, job):
            pipe.send_bytes(encode(message))


def _die_with_parent() -> None:
    """End at once when the parent is gone: nobody would commit what is written."""
    from multiprocessing import parent_process
    from multiprocessing.connection import wait

    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
