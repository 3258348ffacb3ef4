"""The dashboard of very many sessions: how fast it is built, loaded, scrolled; beside retro-ai on a generated home.

`--folder` keeps the sessions and the archive, laid out as `python -m bench.recall` has them. What needs a browser is
left out, with a word about it, where Chromium or selenium is not installed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from statistics import median
from typing import Final, NamedTuple

from bench import many
from bench.in_browser import Missing, in_browser
from bench.processes import Failed, Run, checked, run
from bench.recall import environment, prepare
from bench.tools import Place, retro_environment, tree_size

ROUNDS: Final = 3
PEER_SESSIONS: Final = 660
PEER_EVENTS: Final = 1000
"""Together about 413 MB, of `bench.many`: the peer's dashboard ends in an error where a prompt is empty."""


class Figure(NamedTuple):
    """What was measured, and what it should be."""

    what: str
    value: float
    unit: str
    aim: str = ""


def main() -> int:
    """Make what is needed, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.dashboard", description=__doc__)
    parser.add_argument("--sessions", type=int, default=many.SESSIONS)
    parser.add_argument("--events", type=int, default=many.EVENTS, help="of each session, about")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--folder", help="where the sessions and the archive are, or will be; else a temporary one")
    parser.add_argument("--retro-ai", metavar="DIR", help="where its command is; without it nothing is compared")
    parser.add_argument(
        "--peer-sessions", type=int, default=PEER_SESSIONS, help=f"of the comparison; each has {PEER_EVENTS} events"
    )
    parser.add_argument("--only", choices=("archive", "peer"), help="one half alone")
    args = parser.parse_args()
    if args.only != "peer":
        with tempfile.TemporaryDirectory(prefix="bench-dashboard-") as scratch:
            folder = args.folder or scratch
            prepare(folder, args.sessions, args.events)
            _print(archive(folder, args.rounds))
    if args.retro_ai and args.only != "archive":
        _print(beside(args.retro_ai, args.peer_sessions, args.rounds))
    return 0


def _print(figures: list[Figure]) -> None:
    for one in figures:
        value = f"{one.value:,.0f}" if one.value >= 100 else f"{one.value:.2f}"
        print(f"{one.what:52} {value:>10} {one.unit:4} {one.aim}", flush=True)


# --- one archive -----------------------------------------------------------------------------------------------------


def archive(folder: str, rounds: int) -> list[Figure]:
    """Builds of a large archive, and its pages in the browser."""
    env = environment(folder)
    out = os.path.join(folder, "pages")
    command = [sys.executable, "-m", "retro", "dashboard", "build", "--timezone", "UTC", "--out", out]
    cold = [_fresh(command, env, folder, out) for _ in range(rounds)]
    peak = _fresh(command, env, folder, out, sample=True).peak
    same = [checked(run(command, env, folder), "build") for _ in range(rounds)]
    changed = [_after_a_change(command, env, folder, number) for number in range(rounds)]
    first = _first_load(out)
    figures = [
        Figure("build, cold", median(one.seconds for one in cold), "s", "<= 10"),
        Figure("  processor time of it", median(one.cpu for one in cold), "s"),
        Figure("  most memory at once", peak / 1e6, "MB", "<= 300"),
        Figure("build, one session changed", median(one.seconds for one in changed), "s", "<= 1"),
        Figure("build, nothing changed", median(one.seconds for one in same), "s"),
        Figure("all files", tree_size(out) / 1e6, "MB"),
        Figure("first load", first / 1e6, "MB", "<= 1.5"),
    ]
    try:
        seen = in_browser(os.path.join(out, "index.html"), rounds)
    except Missing as missing:
        print(f"the browser was left out: {missing}", file=sys.stderr)
        return figures
    return [
        *figures,
        Figure("interactive", seen.interactive, "ms", "<= 1500"),
        Figure("longest task while scrolling", seen.longest_task, "ms", "<= 50"),
        Figure("processor time of a frame of it", seen.frame, "ms"),
        Figure("rows in the document", seen.rows, ""),
    ]


def _fresh(command: list[str], env: dict[str, str], folder: str, out: str, *, sample: bool = False) -> Run:
    shutil.rmtree(out, ignore_errors=True)
    return checked(run(command, env, folder, sample=sample), "build")


def _after_a_change(command: list[str], env: dict[str, str], folder: str, number: int) -> Run:
    """Let a session grow by a prompt, sweep, and build."""
    projects = os.path.join(folder, "home", ".claude", "projects")
    project = os.path.join(projects, sorted(os.listdir(projects))[0])
    path = os.path.join(project, sorted(os.listdir(project))[number])
    with open(path, encoding="utf-8") as file:
        last = json.loads(file.readlines()[-1])
    name = f"{number:08x}-aaaa-4bbb-8ccc-{os.urandom(6).hex()}"
    grown = {**last, "type": "user", "uuid": name, "parentUuid": last["uuid"]}
    grown["message"] = {"role": "user", "content": "and one more thing"}
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(grown) + "\n")
    checked(run([sys.executable, "-m", "retro", "sweep"], env, folder), "sweep")
    return checked(run(command, env, folder), "build")


def _first_load(out: str) -> int:
    """Bytes of what the first screen loads."""
    with open(os.path.join(out, "index.html"), encoding="utf-8") as file:
        page = file.read()
    named = [part.split('"')[0] for mark in ('src="', 'href="') for part in page.split(mark)[1:]]
    files = ["index.html", "data/overview.js", *(name for name in named if not name.startswith("#"))]
    return sum(os.path.getsize(os.path.join(out, *name.split("/"))) for name in files)


# --- beside retro-ai -------------------------------------------------------------------------------------------------


def beside(programs: str, sessions: int, rounds: int) -> list[Figure]:
    """Both dashboards of one generated home, each from its own archive; only the building is timed."""
    with tempfile.TemporaryDirectory(prefix="bench-home-") as folder:
        home = os.path.join(folder, "home")
        many.generate(home, os.path.join(folder, "code"), sessions, PEER_EVENTS)
        ours, theirs = Place(home), Place(home)
        try:
            return _side_by_side(ours, theirs, os.path.join(programs, "retro"), rounds)
        finally:
            ours.remove()
            theirs.remove()


def _side_by_side(ours: Place, theirs: Place, program: str, rounds: int) -> list[Figure]:
    env = retro_environment(ours)
    checked(run([sys.executable, "-m", "retro", "sweep"], env, ours.folder, timeout=3600), "sweep")
    os.symlink(theirs.home, os.path.join(theirs.user, ".claude"))
    for words in (["import", "claude", "--all", "--no-render"], ["signal", "run"]):
        done = run([program, *words, "--root", theirs.data], theirs.environment(), theirs.folder, timeout=7200)
        checked(done, f"retro-ai {words[0]}")
    mine, other = os.path.join(ours.folder, "pages"), os.path.join(theirs.folder, "pages")
    built = [sys.executable, "-m", "retro", "dashboard", "build", "--out", mine]
    its = [program, "dashboard", "build", "--root", theirs.data, "--out", other]
    taken: list[tuple[Run, Run]] = []
    for _ in range(rounds):
        shutil.rmtree(other, ignore_errors=True)
        shutil.rmtree(mine, ignore_errors=True)
        theirs_run = run(its, theirs.environment(), theirs.folder, timeout=7200, sample=True)
        taken.append((checked(run(built, env, ours.folder, sample=True), "build"), checked(theirs_run, "retro-ai")))
    retro, peer = (median(pair[at].seconds for pair in taken) for at in (0, 1))
    said, whole = (tree_size(os.path.join(mine, "data", name)) for name in ("talk", "transcript"))
    size, its_size = tree_size(mine), tree_size(other)
    # The peer's pages hold no word of a session but its title: what ours hold beside that is told apart.
    return [
        Figure("retro", retro, "s"),
        Figure("retro-ai", peer, "s"),
        Figure("times as fast", peer / retro, "x", ">= 10"),
        Figure(
            "  by processor time", median(pair[1].cpu for pair in taken) / median(pair[0].cpu for pair in taken), "x"
        ),
        Figure("retro, most memory", max(pair[0].peak for pair in taken) / 1e6, "MB"),
        Figure("retro-ai, most memory", max(pair[1].peak for pair in taken) / 1e6, "MB"),
        Figure("retro-ai, size", its_size / 1e6, "MB"),
        Figure("retro, size of what retro-ai's pages hold too", (size - said - whole) / 1e6, "MB"),
        Figure("  share of its size", 100 * (size - said - whole) / max(its_size, 1), "%", "<= 10"),
        Figure("  with prompts and answers", 100 * (size - whole) / max(its_size, 1), "%"),
        Figure("  with transcripts of the newest as well", 100 * size / max(its_size, 1), "%"),
    ]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as error:
        sys.exit(str(error))
