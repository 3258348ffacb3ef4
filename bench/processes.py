"""Commands, and what they cost: wall time, CPU time, and the memory of all their processes together."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

SAMPLE_SECONDS: Final = 0.02
_SUBREAPER: Final = 36


class Run(NamedTuple):
    """What a command cost."""

    seconds: float
    cpu: float
    """Of every process that ended within it."""
    peak: int
    """Most memory at once, in bytes: the proportional set sizes of all processes; 0 where it was not sampled."""
    code: int
    output: str


class Failed(Exception):
    """A command that did not do what it was started for."""


def adopt_orphans() -> None:
    """Have daemons that commands leave behind become our children, so that they are seen and can be ended."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0)


def run(
    command: Sequence[str], env: Mapping[str, str], folder: str, *, sample: bool = False, timeout: float = 600
) -> Run:
    """Run a command to its end; with `sample` its memory is watched, which costs some of its speed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    process = subprocess.Popen(
        command,
        env=dict(env),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    sampler = _Sampler() if sample else None
    try:
        output = process.communicate(timeout=timeout)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise Failed(f"{os.path.basename(command[0])} took more than {timeout:.0f} s") from None
    finally:
        peak = sampler.stop() if sampler else 0
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Run(seconds, cpu, peak, process.returncode, output.decode("utf-8", "replace"))


def checked(result: Run, what: str) -> Run:
    """The same run, or `Failed` with what it said last."""
    if result.code:
        lines = result.output.strip().splitlines()
        raise Failed(f"{what} ended with {result.code}: {lines[-1][:200] if lines else 'without a word'}")
    return result


def end(process: int) -> None:
    """End one process that is still there, and wait for it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.kill(process, number)
        except ProcessLookupError:
            pass
        for _ in range(100):
            try:
                if os.waitpid(process, os.WNOHANG)[0]:
                    return
            except ChildProcessError:
                return
            time.sleep(0.02)


def cpu_left_behind() -> float:
    """CPU time so far of what commands have left running."""
    return sum(map(_cpu_seconds, _descendants(os.getpid())))


def _cpu_seconds(process: int) -> float:
    try:
        with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    # Its own, and that of its children that have ended: syncs are often done by a child of the daemon.
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


class _Sampler:
    """Watches the memory of all our descendants."""

    def __init__(self) -> None:
        self._peak = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> int:
        """The most that was seen."""
        self._over.set()
        self._thread.join()
        return self._peak

    def _watch(self) -> None:
        while not self._over.wait(SAMPLE_SECONDS):
            self._peak = max(self._peak, sum(map(_memory, _descendants(os.getpid()))))


def _descendants(process: int) -> Iterator[int]:
    try:
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/children", encoding="ascii") as file:
                for child in map(int, file.read().split()):
                    yield child
                    yield from _descendants(child)
    except OSError:  # it has ended, or this system has no such file
        return


def _memory(process: int) -> int:
    try:
        with open(f"/proc/{process}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0
