"""`python -m bench.profile HOME`: where the time of a sweep in one process goes, by stage."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any, Final

import msgspec

STAGES: Final = (
    "discover and plan",
    "read",
    "decode and normalise",
    "encode",
    "screen: secrets",
    "screen: marks",
    "mask and mark what was seen",
    "compress and hash raw",
    "compress and hash normalised",
    "turns",
    "wait for the disk",
    "index",
    "the rest",
)


class Spent(msgspec.Struct):
    """What a stage took, without the stages within it."""

    cpu: float = 0.0
    wall: float = 0.0
    calls: int = 0


class Clock:
    """Puts every moment down to the innermost stage that is at work."""

    def __init__(self) -> None:
        self.spent = {stage: Spent() for stage in STAGES}
        self._stack = ["the rest"]
        self._thread = threading.get_ident()
        self._cpu, self._wall = time.thread_time(), time.perf_counter()

    def turn(self) -> None:
        """What passed since the last turn belongs to the stage at work."""
        cpu, wall = time.thread_time(), time.perf_counter()
        spent = self.spent[self._stack[-1]]
        spent.cpu += cpu - self._cpu
        spent.wall += wall - self._wall
        self._cpu, self._wall = cpu, wall

    def watch(self, owner: Any, name: str, stage: str | Callable[..., str]) -> None:
        """Have a function's time put down to a stage. Any: owners are modules and classes."""
        called = getattr(owner, name)

        def timed(*args: Any, **named: Any) -> Any:
            if threading.get_ident() != self._thread:
                return called(*args, **named)
            self.turn()
            at = stage if isinstance(stage, str) else stage(*args)
            self.spent[at].calls += 1
            self._stack.append(at)
            try:
                return called(*args, **named)
            finally:
                self.turn()
                self._stack.pop()

        setattr(owner, name, timed)


def profile(home: str) -> Clock:
    """Sweep a home in one process, and watch."""
    from retro import capture, committing, config, secrets, sweep
    from retro.agents import claude, records
    from retro.archive import frames, normalised, origin, syncing
    from retro.places import Places

    claude.roots({}, ())  # loaded before the clock starts
    folder = tempfile.mkdtemp(prefix="bench-")
    settings_file = os.path.join(folder, "config.toml")
    with open(settings_file, "w", encoding="utf-8") as file:
        file.write("[sweep]\nworkers = 1\n")
    env = {"HOME": os.path.join(folder, "nobody"), "CLAUDE_CONFIG_DIR": home, "RETRO_CONFIG": settings_file}
    settings = config.load(None, env)
    clock = Clock()
    clock.watch(sweep, "discover", "discover and plan")
    clock.watch(sweep, "plan_of", "discover and plan")
    clock.watch(origin.SourceFile, "read", "read")
    clock.watch(records.Parser, "feed", "decode and normalise")
    clock.watch(normalised.EventWriter, "add", "encode")
    clock.watch(secrets, "suspects", "screen: secrets")
    clock.watch(secrets, "mark_suspects", "screen: marks")
    clock.watch(normalised.EventWriter, "_screen", "mask and mark what was seen")
    raw = os.sep + "raw" + os.sep
    kinds = {True: "compress and hash raw", False: "compress and hash normalised"}
    clock.watch(frames.FrameWriter, "write", lambda writer, _: kinds[raw in writer.path])
    clock.watch(capture.Recorder, "_count", "turns")
    clock.watch(syncing.Syncing, "wait", "wait for the disk")
    clock.watch(committing.Committer, "_write", "index")
    clock.watch(committing.Committer, "_commit", "index")
    clock.watch(committing.Committer, "finish", "index")
    try:
        clock.turn()
        sweep.sweep(Places(os.path.join(folder, "archive")), settings, env, hosts=("claude",))
        clock.turn()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return clock


def main() -> int:
    """Print the shares."""
    parser = argparse.ArgumentParser(prog="python -m bench.profile", description=__doc__)
    parser.add_argument("home", help="a folder as CLAUDE_CONFIG_DIR names it")
    args = parser.parse_args()
    if not os.path.isdir(os.path.join(args.home, "projects")):
        parser.error(f"{args.home} has no folder projects")
    spent = profile(os.path.abspath(args.home)).spent
    cpu, wall = sum(one.cpu for one in spent.values()), sum(one.wall for one in spent.values())
    print(f"{'stage':30}{'CPU':>8}{'share':>7}{'wall':>9}{'calls':>9}")
    for stage, one in spent.items():
        print(f"{stage:30}{one.cpu:7.2f}s{one.cpu / cpu:7.1%}{one.wall:8.2f}s{one.calls:9,}")
    print(f"{'all':30}{cpu:7.2f}s{1:7.0%}{wall:8.2f}s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
