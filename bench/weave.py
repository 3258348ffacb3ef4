"""`python -m bench.weave`: `retro memory weave` cold, over 10,000 memories of one repository, beside bare Python.

The memories are accepted ones, each about a command, an error and a file of its own, with words that all have.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import time
from statistics import median
from typing import Final

from bench.cases import scratch
from bench.processes import run
from retro.index.database import open_writer
from retro.memory import folding, learning, store
from retro.memory.item import Item
from retro.mining.base import Scope
from retro.places import Places, init_root

MEMORIES: Final = 10_000
ROUNDS: Final = 25
AIM_MS: Final = 40
TOOLS: Final = (
    "pytest",
    "go test",
    "npm run build",
    "cargo check",
    "make lint",
    "mise run test",
    "bin/test",
    "tox -e py312",
)
ERRORS: Final = (
    "ModuleNotFoundError: No module named",
    "undefined:",
    "cannot find symbol",
    "KeyError:",
    "TypeError: no",
)
QUERIES: Final = {
    "speaks": "{tool} fails with {error} '{name}' in src/{name}.py",
    "is silent": "write a haiku about spring",
    "long": "please fix the failing test and run the build again, the error is in the code of the module " * 40,
}


def main() -> int:
    """Make the memories, and weave cold."""
    parser = argparse.ArgumentParser(prog="python -m bench.weave", description=__doc__)
    parser.add_argument("--memories", type=int, default=MEMORIES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    args = parser.parse_args()
    with scratch("") as folder:
        code = os.path.join(folder, "code")
        os.makedirs(code)
        places = Places(os.path.join(folder, "archive"))
        began = time.perf_counter()
        _remember(places, code, args.memories)
        print(f"{args.memories:,} memories of one repository, folded in {time.perf_counter() - began:.1f} s")
        _measure(places, code, args.rounds)
    return 0


def _remember(places: Places, scope: str, count: int) -> None:
    init_root(places.root)
    items = [_item(number, scope, number) for number in range(count)]
    store.add(places, items)
    connection = open_writer(places.index)
    try:
        folding.fold(connection, places)
        learning.note_folded(connection, places)
    finally:
        connection.close()


def _item(number: int, scope: str, seed: int) -> Item:
    words = random.Random(seed)
    tool, error = words.choice(TOOLS), words.choice(ERRORS)
    name = f"{words.choice(('harbour', 'tide', 'moon', 'pier', 'buoy', 'keel'))}_{number}"
    return Item(
        id=f"m_{number:016x}",
        version=1,
        kind="error_fix",
        text=f"When `{tool}` fails with `{error} '{name}'`, change `src/{name}.py` and run it again.",
        when_to_use=f"`{tool}` has failed with `{error} '{name}'`",
        do_not_use_when="the error is another one",
        scope=Scope("repository", scope),
        origin="authored",
        confidence=0.8,
        priority=3,
        path=f"{name}.md",
    )


def _measure(places: Places, code: str, rounds: int) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": places.root, "RETRO_ROOT": places.root}
    script = os.path.join(os.path.dirname(sys.executable), "retro")
    retro = [script] if os.path.exists(script) else [sys.executable, "-m", "retro"]
    commands = {"python -c pass": [sys.executable, "-c", "pass"]}
    known = re.search(r"`(?P<tool>[^`]+)` fails with `(?P<error>.+) '(?P<name>\w+)'`", _item(4711, code, 4711).text)
    assert known is not None
    for what, text in QUERIES.items():
        query = text.format(**known.groupdict())
        commands[f"weave that {what}"] = [*retro, "memory", "weave", "--cwd", code, "--query", query]
    taken: dict[str, list[float]] = {what: [] for what in commands}
    said: dict[str, str] = {}
    for number in range(rounds + 1):
        for what, command in commands.items():
            done = run(command, env, code)
            said[what] = done.output
            if number:
                taken[what].append(done.seconds * 1000)
    bare = median(taken["python -c pass"])
    for what, times in taken.items():
        ordered = sorted(times)
        aim = "" if what.startswith("python") else f"   aim ≤ {AIM_MS} ms; {median(times) / bare:.1f}x bare Python"
        print(
            f"{what:22} {median(times):6.1f} ms  p95 {ordered[int(len(times) * 0.95)]:6.1f}"
            f"  {len(said[what].encode()) / 3.5:4.0f} tokens{aim}"
        )


if __name__ == "__main__":
    sys.exit(main())
