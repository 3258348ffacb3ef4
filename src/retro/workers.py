"""Captures on several cores: worker processes of our own interpreter, jobs out, parts back."""

from __future__ import annotations

import errno
import gc
import os
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias

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


HELD: Final = 16 * 1024 * 1024
"""Bytes of parts that wait to be written to the index, above which no more are taken in."""


class Aborted(msgspec.Struct, tag=True):
    """A job that ended in an error of ours or of the machine."""

    host: str
    session_id: str
    reason: str
    fatal: int = 0
    """The error number where no other job could do better: no space left, or an archive that cannot be written."""


_FATAL: Final = frozenset({errno.ENOSPC, errno.EROFS, getattr(errno, "EDQUOT", errno.ENOSPC)})


@contextmanager
def at_work(places: Places, jobs: list[Job], workers: int) -> Iterator[Iterator[Part | Aborted]]:
    """Do jobs, the largest first; their parts come as they are made, those of one session in order.

    Where processes are started, they are at work from the beginning of the `with` on.
    """
    queue = sorted(jobs, key=lambda job: job.size, reverse=True)
    count = process_count(queue, workers)
    if not count:
        yield (part for job in queue for part in attempt(places, job))
        return
    pool = _Pool(places, count, queue)
    try:
        pool.start()
        yield pool.said()
    finally:
        pool.stop()


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
    """A few processes, each with a pipe and a thread that serves it; one that dies takes only its job with it.

    A worker gets its next job as soon as it is done with the last, whatever is made of its parts meanwhile.
    """

    def __init__(self, places: Places, count: int, queue: list[Job]) -> None:
        import multiprocessing

        # Forking a process that has no threads is safe and takes 2 ms; elsewhere a fresh interpreter is the safe way.
        method = "fork" if sys.platform == "linux" else "spawn"
        self._context: Any = multiprocessing.get_context(method)  # Any: typeshed's base class lacks Process
        self._replacement: Any = multiprocessing.get_context("spawn")  # by then there are threads
        self._places = places
        self._count = count
        self._queue = queue[::-1]
        self._said = _Inbox()
        if method == "fork":  # what workers need is loaded once for all
            _ = secrets.suspects, secrets.mark_suspects
            for host in {job.state.host for job in queue}:
                agents.named(host).reader("", MAIN, MAIN, b"", Facts())
        self._alive: dict[Connection, BaseProcess] = {}
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Start the workers."""
        workers = [self._start(self._context) for _ in range(self._count)]
        self._threads = [threading.Thread(target=self._serve, args=(worker,), daemon=True) for worker in workers]
        for thread in self._threads:
            thread.start()

    def said(self) -> Iterator[Part | Aborted]:
        """What the workers say, as it comes."""
        at_work = self._count
        while at_work:
            message = self._said.take()
            if message is None:
                at_work -= 1
            elif isinstance(message, BaseException):
                raise message
            else:
                yield message

    def _start(self, context: Any) -> Connection:
        """Start a process; gives our end of its pipe."""
        ours: Connection
        ours, theirs = context.Pipe()
        forked = context.get_start_method() == "fork"
        others = [pipe.fileno() for pipe in (*self._alive, ours)] if forked else []
        process = context.Process(target=_work, args=(theirs, self._places.root, others), daemon=True)
        process.start()
        theirs.close()
        self._alive[ours] = process
        return ours

    def _serve(self, pipe: Connection) -> None:
        """A thread's life: give a worker jobs while there are any, and pass on what it says."""
        try:
            while job := self._next():
                if not self._do(pipe, job):
                    code = self._let_go(pipe)
                    reason = f"its worker process ended unexpectedly (exit code {code})"
                    self._said.put(Aborted(job.state.host, job.state.session_id, reason))
                    if self._queue:
                        pipe = self._start(self._replacement)
            if pipe in self._alive:
                self._let_go(pipe)
        except BaseException as error:
            self._said.put(error)
        finally:
            self._said.put(None)

    def _next(self) -> Job | None:
        try:
            return self._queue.pop()
        except IndexError:
            return None

    def _do(self, pipe: Connection, job: Job) -> bool:
        """Have a worker do a job; False where it died of it."""
        try:
            pipe.send_bytes(msgspec.msgpack.encode(job))
            while True:
                data = pipe.recv_bytes()
                message = _decode(data)
                self._said.put(message, len(data))
                if isinstance(message, Aborted) or message.done:
                    return True
        except (EOFError, ConnectionError):
            return False

    def _let_go(self, pipe: Connection) -> int | None:
        """Close a worker's pipe, upon which it ends, if it has not yet; gives its exit code."""
        process = self._alive.pop(pipe)
        pipe.close()
        process.join()
        return process.exitcode

    def stop(self) -> None:
        """End what is still at work, because nobody takes its parts any more."""
        self._queue.clear()
        self._said.close()
        for process in list(self._alive.values()):
            process.terminate()
        for thread in self._threads:
            thread.join()
        for pipe in list(self._alive):
            self._let_go(pipe)


_decode: Final = msgspec.msgpack.Decoder(Part | Aborted).decode
_Message: TypeAlias = Part | Aborted | BaseException | None


class _Inbox:
    """What workers say, until it is taken. Who says more than is taken waits, so that memory stays within bounds."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[tuple[_Message, int]] = deque()
        self._size = 0
        self._closed = False

    def put(self, message: _Message, size: int = 0) -> None:
        """Add a message of so many bytes, as soon as there is room."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._size < HELD)
            self._waiting.append((message, size))
            self._size += size
            self._changed.notify_all()

    def take(self) -> _Message:
        """The next message; waits for one."""
        with self._changed:
            while not self._changed.wait_for(lambda: self._waiting, timeout=1.0):
                pass  # on Windows Ctrl-C is seen only between two waits
            message, size = self._waiting.popleft()
            self._size -= size
            self._changed.notify_all()
            return message

    def close(self) -> None:
        """Nobody takes anything any more: let those that wait go on."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


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
