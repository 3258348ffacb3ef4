"""Sweeps timed within a warm process; started as one of its own, so that nothing else is in it.

python -m bench.inside append HOME ROOT TIMES
python -m bench.inside small FOLDER TIMES
python -m bench.inside ledger HOME ROOT
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from statistics import median
from typing import Final

SESSIONS: Final = 64
LINES: Final = 13
SIZE: Final = 2002

_LINE: Final = (
    '{{"type":"{kind}","uuid":"{session:02}-{line:03}","timestamp":"2026-02-01T03:50:{second:02}.000Z",'
    '"message":{{"role":"{kind}","content":"{text}"}}}}\n'
)


def main() -> int:
    """Time what was asked for; print seconds as JSON."""
    if len(sys.argv) == 5 and sys.argv[1] == "append":
        found = append(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    elif len(sys.argv) == 4 and sys.argv[1] == "ledger":
        found = ledger(sys.argv[2], sys.argv[3])
    elif len(sys.argv) == 4 and sys.argv[1] == "small":
        found = small(sys.argv[2], int(sys.argv[3]))
    else:
        print(__doc__, file=sys.stderr)
        return 2
    print(json.dumps(found))
    return 0


def append(home: str, root: str, times: int) -> dict[str, float]:
    """A line more in the only session of a home, then a sweep; the first one only warms up."""
    path = only_transcript(home)
    seconds, read = [], 0
    for number in range(times + 1):
        add_line(path, number)
        taken, read = _sweep(home, root)
        seconds.append(taken)
    return {"append": median(seconds[1:]), "bytes_read": read}


def ledger(home: str, root: str) -> dict[str, float]:
    """The processor time of a cold sweep, and how much of it the ledger takes: what it is given, what it makes of it.

    Not the time that passes: the workers want the same cores, and the ledger would be charged for waiting.
    """
    from retro.ledger.writing import Ledger

    taken = 0.0

    def timed(name: str) -> None:
        method = getattr(Ledger, name)

        def call(*arguments: object, **named: object) -> object:
            nonlocal taken
            began = time.thread_time()
            try:
                return method(*arguments, **named)
            finally:
                taken += time.thread_time() - began

        setattr(Ledger, name, call)

    for name in ("add", "settle", "heal"):
        timed(name)
    before = _processor_time()
    _sweep(home, root)
    return {"sweep": _processor_time() - before, "ledger": taken}


def _processor_time() -> float:
    """What this process and those that it started have used."""
    return sum(os.times()[:4])


def only_transcript(home: str) -> str:
    """The one transcript of a home that has one."""
    from bench.figures import transcripts

    (path,) = transcripts(home)
    return path


def add_line(path: str, number: int) -> None:
    """A prompt at the end of a transcript."""
    with open(path, "ab") as file:
        text = _LINE.format(kind="user", session=0, line=number, second=number % 60, text="and one thing more")
        file.write(text.encode())


def small(folder: str, times: int) -> dict[str, float]:
    """A first import of 64 small sessions, and the update of one among them."""
    first, update = [], []
    for number in range(times + 1):
        home, root = os.path.join(folder, f"home{number}"), os.path.join(folder, f"root{number}")
        paths = small_home(home)
        first.append(_sweep(home, root)[0])
        for line in range(3):
            add_line(paths[SESSIONS // 2], 100 + line)
            update.append(_sweep(home, root)[0])
        shutil.rmtree(home)
        shutil.rmtree(root)
    return {"import": median(first[1:]), "update": median(update[3:])}


def small_home(home: str) -> list[str]:
    """Sessions of 13 lines and 2,002 bytes each, in Claude Code's shape."""
    project = os.path.join(home, "projects", "-home-dev-small")
    os.makedirs(project)
    paths = []
    for session in range(SESSIONS):
        lines = []
        for line in range(LINES):
            kind = "assistant" if line % 2 else "user"
            bare = _LINE.format(kind=kind, session=session, line=line, second=line, text="")
            room = SIZE * (line + 1) // LINES - SIZE * line // LINES - len(bare)
            text = (f"look at file {session} once more and run its tests, then say which lines it was " * 3)[:room]
            lines.append(bare[:-4] + text + bare[-4:])
        path = os.path.join(project, f"00000000-0000-4000-8000-{session:012}.jsonl")
        with open(path, "w", encoding="ascii", newline="\n") as file:
            file.write("".join(lines))
        paths.append(path)
    return paths


def _sweep(home: str, root: str) -> tuple[float, int]:
    """Seconds and bytes of one sweep of Claude's sessions."""
    from retro import config
    from retro.places import Places
    from retro.sweep import sweep

    env = {
        "HOME": os.path.join(root, "nobody"),
        "CLAUDE_CONFIG_DIR": home,
        "RETRO_CONFIG": os.path.join(root, "no.toml"),
    }
    settings = config.load(None, env)
    began = time.perf_counter()
    report = sweep(Places(root), settings, env, hosts=("claude",))
    return time.perf_counter() - began, sum(host.bytes_read for host in report.hosts)


if __name__ == "__main__":
    sys.exit(main())
