"""`python -m bench.recall`: `retro recall` cold, beside bare Python and auto-memory, over a million events."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from statistics import median
from typing import Final, NamedTuple

from bench import many
from bench.processes import Failed, run

PACKAGE: Final = "auto-memory==0.5.1"
ROUNDS: Final = 25
SEARCHES: Final = (many.COMMON, "error test", "error the test", "qxz")
PROMISES: Final = {"recall": 50, "recall files": 50, "recall list": 50, "recall search": 200, "recall show": 500}


class Figure(NamedTuple):
    """What one command took: the median and the 95th percentile in milliseconds, and its answer in tokens."""

    what: str
    median: float
    p95: float
    tokens: float
    aim: str = ""


def main() -> int:
    """Make what is needed, measure each command in turn, print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.recall", description=__doc__)
    parser.add_argument("--sessions", type=int, default=many.SESSIONS)
    parser.add_argument("--events", type=int, default=many.EVENTS, help="of each session, about")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--folder", help="where the sessions and the archive are, or will be; else a temporary one")
    parser.add_argument("--auto-memory", metavar="DIR", help="where its commands are; else it is installed")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-recall-") as scratch:
        folder = args.folder or scratch
        repositories = prepare(folder, args.sessions, args.events)
        programs = args.auto_memory or _installed(os.path.join(scratch, "peer"))
        for figure in measure(folder, repositories[0], programs, args.rounds):
            aim = f"   {figure.aim}" if figure.aim else ""
            print(f"{figure.what:44} {figure.median:7.1f} ms  p95 {figure.p95:7.1f}  {figure.tokens:6.0f} tokens{aim}")
    return 0


def prepare(folder: str, sessions: int, events: int) -> list[str]:
    """The sessions and the archive made of them, where they are not there yet; gives the repositories."""
    code = os.path.join(folder, "code")
    if not os.path.isdir(code):
        _note(f"generating {sessions:,} sessions")
        many.generate(os.path.join(folder, "home", ".claude"), code, sessions, events)
    env = environment(folder)
    if not os.path.exists(os.path.join(folder, "archive", "index.sqlite")):
        _note("sweeping them")
        began = time.perf_counter()
        done = run([sys.executable, "-m", "retro", "sweep"], env, folder, timeout=7200)
        if done.code:
            raise Failed(done.output)
        _note(f"swept in {time.perf_counter() - began:.0f} s")
    return sorted(os.path.join(code, name) for name in os.listdir(code))


def environment(folder: str) -> dict[str, str]:
    """Where every tool finds the sessions and keeps its data."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "SYSTEMROOT") if name in os.environ}
    return {
        **kept,
        "HOME": os.path.join(folder, "home"),
        "RETRO_ROOT": os.path.join(folder, "archive"),
        "RETRO_CONFIG": os.path.join(folder, "config.toml"),
    }


def measure(folder: str, repository: str, programs: str | None, rounds: int) -> list[Figure]:
    """Each command cold, in turn: what is measured stands side by side, whatever else the machine does."""
    env = environment(folder)
    retro = _retro()
    commands: dict[str, Sequence[str]] = {"python -c pass": [sys.executable, "-c", "pass"]}
    for words in ("recall", "recall files", "recall list", "recall list --json"):
        commands[f"retro {words}"] = [*retro, *words.split()]
    newest = run([*retro, "recall", "list", "--limit", "1"], env, repository).output.split("\n")[1].split()[0]
    commands["retro recall show ID"] = [*retro, "recall", "show", newest]
    for words in SEARCHES:
        commands[f"retro recall search {words!r}"] = [*retro, "recall", "search", words]
    if programs is not None:
        peer = os.path.join(programs, "session-recall-cc")
        days = ["--days", "100000"]
        commands["auto-memory list"] = [peer, "list", *days]
        commands["auto-memory files"] = [peer, "files", *days]
        commands[f"auto-memory search {many.COMMON!r}"] = [peer, "search", many.COMMON, *days]
        commands["auto-memory search 'error test'"] = [peer, "search", "error test", *days]
    taken: dict[str, list[float]] = {what: [] for what in commands}
    sizes: dict[str, int] = {}
    for number in range(rounds + 1):
        for what, command in commands.items():
            done = run(command, env, repository, timeout=3600)
            if number:  # the first time fills the caches, and builds what a peer builds when it is first asked
                taken[what].append(done.seconds * 1000)
            sizes[what] = len(done.output.encode())
    bare = median(taken["python -c pass"])
    return [_figure(what, sorted(times), sizes[what], bare) for what, times in taken.items()]


def _figure(what: str, times: list[float], size: int, bare: float) -> Figure:
    taken = median(times)
    aim = ""
    if what.startswith("retro"):
        most = 35 if "search" in what else 25
        promise = (
            250
            if "--json" in what
            else next((tokens for verb, tokens in reversed(PROMISES.items()) if what.startswith(f"retro {verb}")), 50)
        )
        aim = f"aim ≤ {most} ms, ≤ {promise} tokens; {taken / bare:.1f}x bare Python"
    return Figure(what, taken, times[int(len(times) * 0.95)], size / 3.5, aim)


def _retro() -> list[str]:
    script = os.path.join(os.path.dirname(sys.executable), "retro")
    return [script] if os.path.exists(script) else [sys.executable, "-m", "retro"]


def _installed(folder: str) -> str | None:
    """Where the peer's commands are; None where it cannot be installed."""
    try:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, capture_output=True, timeout=120)
        programs = os.path.join(folder, "Scripts" if os.name == "nt" else "bin")
        command = [os.path.join(programs, "python"), "-m", "pip", "install", "--quiet", PACKAGE]
        subprocess.run(command, check=True, capture_output=True, timeout=240)
    except (subprocess.SubprocessError, OSError) as error:
        _note(f"auto-memory is left out: {error}")
        return None
    return programs


def _note(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
