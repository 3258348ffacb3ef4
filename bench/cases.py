"""What is measured: each case prepares what it needs, runs the tools in turn, and gives rows for the table."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Final

import msgspec

from bench import archives, inside, ledgers
from bench.figures import transcripts
from bench.generate import generate, one_session
from bench.processes import Failed, checked, run
from bench.tools import Peer, Place, RetroAi, Sync, install_ccusage, retro, retro_environment, tree_size

MEMORY_AIM: Final = 300
MEGA: Final = 1_000_000
CORPUS: Final = os.path.join("shared", "corpus", "claude-code", "real", "home")


class Row(msgspec.Struct):
    """One figure of retro's, beside that of a peer."""

    case: str
    what: str
    unit: str
    retro: float
    peer: str = ""
    theirs: float | None = None
    ratio: float | None = None
    """How many times better retro is."""
    aim: str = ""
    reached: bool | None = None


class Bench(msgspec.Struct):
    """How it is to be measured."""

    rounds: int
    size: int
    """Bytes of the generated home."""
    home: str | None
    """A real home."""
    peers: list[Peer]
    note: Callable[[str], None]
    until: float
    """When, on the monotonic clock, patience is over."""
    sessions: int = 1000
    large: int = 200 * MEGA
    archive: int = 20_000
    requests: int = 1_000_000


def faster(case: str, what: str, own: float, peer: str, theirs: float | None, aim: float | None = None) -> Row:
    """A row of seconds."""
    ratio = theirs / own if theirs is not None else None
    reached = ratio >= aim if aim is not None and ratio is not None else None
    return Row(case, what, "s", own, peer, theirs, ratio, f"≥ {aim:g}x" if aim else "", reached)


def within(
    case: str, what: str, unit: str, own: float, most: float, peer: str = "", theirs: float | None = None
) -> Row:
    """A row of something of which there is to be little."""
    return Row(
        case, what, unit, own, peer, theirs, theirs / own if theirs and own else None, f"≤ {most:g}", own <= most
    )


@contextmanager
def scratch(where: str | None = None) -> Iterator[str]:
    """A folder for one case."""
    folder = tempfile.mkdtemp(prefix="bench-", dir=where)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def place_for(home: str, peer: Peer | None = None) -> Iterator[Place]:
    """A place for one run; nothing that was started there goes on."""
    place = Place(home)
    try:
        yield place
    finally:
        if peer is not None:
            peer.stop(place)
        place.remove()


# --- cold ------------------------------------------------------------------------------------------------------------


def real(bench: Bench) -> list[Row]:
    """A first sweep of a real home."""
    if bench.home is None:
        raise Failed(f"no real sessions: {CORPUS} is not beside the project, and --home names none")
    return _cold(bench, "real", bench.home, 1.7, bench.peers) + _sizes("real", bench.home)


def generated(bench: Bench) -> list[Row]:
    """A first sweep of a generated home. retro-ai is left out: it would take most of an hour's patience."""
    with scratch() as folder:
        made = generate(os.path.join(folder, "home"), bench.size)
        peers = [peer for peer in bench.peers if not isinstance(peer, RetroAi)]
        return _cold(bench, "generated", made.home, 2.5, peers) + _sizes("generated", made.home)


def _cold(bench: Bench, case: str, home: str, aim: float, peers: Sequence[Peer]) -> list[Row]:
    size = sum(map(os.path.getsize, transcripts(home)))
    own: list[Sync] = []
    theirs: dict[str, list[Sync]] = {peer.name: [] for peer in peers}
    for number in range(bench.rounds):
        if number and time.monotonic() > bench.until:
            break
        bench.note(f"{case}: round {number + 1} of {bench.rounds}")
        with place_for(home) as place:
            own.append(retro(place))
        for peer in peers:
            if isinstance(peer, RetroAi) and number:
                continue  # once is enough to see it
            with place_for(home, peer) as place:
                theirs[peer.name].append(peer.sync(place))
    seconds = median(sync.cost.seconds for sync in own)
    speed = size / MEGA / seconds
    rows = [Row(case, "cold sweep, MB/s", "MB/s", speed, aim="≥ 60", reached=speed >= 60)]
    for name, runs in theirs.items():
        wanted = aim if name == "agentsview" else None
        rows += _compared(case, name, own, runs, wanted)
    bench.note(f"{case}: memory")
    return rows + _memory(case, home, [peer for peer in peers if not isinstance(peer, RetroAi)])


def _compared(case: str, name: str, own: list[Sync], theirs: list[Sync], aim: float | None) -> list[Row]:
    seconds, cpu = median(sync.cost.seconds for sync in own), median(sync.cost.cpu for sync in own)
    rows = [faster(case, "cold, the whole command", seconds, name, median(run.cost.seconds for run in theirs), aim)]
    said = [run.said for run in theirs if run.said is not None]
    if said:
        what = "its own figure" if name == "agentsview" else "its import alone"
        rows.append(faster(case, f"cold, {what}", seconds, name, median(said)))
    return [*rows, faster(case, "cold, CPU time", cpu, name, median(run.cost.cpu for run in theirs))]


def _memory(case: str, home: str, peers: Sequence[Peer]) -> list[Row]:
    with place_for(home) as place:
        own = retro(place, sample=True).cost.peak / MEGA
    rows = []
    for peer in peers:
        with place_for(home, peer) as place:
            theirs = peer.sync(place, sample=True).cost.peak / MEGA
        rows.append(within(case, "most memory (PSS)", "MB", own, MEMORY_AIM, peer.name, theirs))
    return rows or [within(case, "most memory (PSS)", "MB", own, MEMORY_AIM)]


def _sizes(case: str, home: str) -> list[Row]:
    size = sum(map(os.path.getsize, transcripts(home)))
    with place_for(home) as place:
        retro(place)
        parts = {name: tree_size(os.path.join(place.data, name)) / size for name in ("raw", "normalized")}
        whole = place.size() / size
    index = whole - sum(parts.values())
    return [
        within(case, "archive over source", "x", whole, 0.40),
        *(Row(case, f"  {name}", "x", share) for name, share in {**parts, "index": index}.items()),
    ]


# --- nothing new, and little new -------------------------------------------------------------------------------------


def unchanged(bench: Bench) -> list[Row]:
    """A second sweep, when nothing has changed."""
    with scratch() as folder:
        home = generate(os.path.join(folder, "home"), bench.sessions * 60_000, sessions=bench.sessions).home
        case, what = "unchanged", f"{bench.sessions:,} sessions, the whole command"
        peers = [peer for peer in bench.peers if not isinstance(peer, RetroAi)]
        with place_for(home) as place:
            retro(place)
            own = median(retro(place).cost.seconds for _ in range(bench.rounds))
        rows = [within(case, what, "s", own, 0.15)]
        for peer in peers:
            with place_for(home, peer) as place:
                peer.sync(place)
                rows.append(
                    faster(
                        case, what, own, peer.name, median(peer.sync(place).cost.seconds for _ in range(bench.rounds))
                    )
                )
        return rows


def append(bench: Bench) -> list[Row]:
    """A line more in one large session."""
    case, large = "append", f"{bench.large // MEGA} MB session"
    with scratch() as folder:
        home = os.path.join(folder, "home")
        os.makedirs(os.path.join(home, "projects", "-home-dev-large"))
        path = os.path.join(home, "projects", "-home-dev-large", "11111111-2222-4333-8444-555555555555.jsonl")
        one_session(path, bench.large)
        with place_for(home) as place:
            retro(place)
            found = _inside(place, "append", home, place.data, str(bench.rounds))
            own = _appended(path, bench.rounds, lambda: retro(place).cost.seconds)
        rows = [
            within(case, f"{large}, in process", "ms", found["append"] * 1000, 30),
            within(case, f"{large}, bytes read", "B", found["bytes_read"], 1000),
        ]
        for peer in bench.peers:
            if not isinstance(peer, RetroAi):
                with place_for(home, peer) as place:
                    peer.sync(place)
                    theirs = _appended(path, bench.rounds, lambda at=place, by=peer: by.sync(at).cost.seconds)  # type: ignore[misc]
                rows.append(faster(case, f"{large}, the whole command", own, peer.name, theirs))
        return rows if len(rows) > 2 else [*rows, Row(case, f"{large}, the whole command", "s", own)]


def _appended(path: str, rounds: int, sync: Callable[[], float]) -> float:
    seconds = []
    for number in range(rounds):
        inside.add_line(path, 500 + number)
        seconds.append(sync())
    return median(seconds)


def small(bench: Bench) -> list[Row]:
    """The shape of ConvMemory's bench: 64 sessions of 13 lines, in memory, in a process that is warm."""
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with scratch(memory) as folder, place_for(folder) as place:
        found = _inside(place, "small", folder, str(max(bench.rounds, 5)))
    what = f"{inside.SESSIONS} sessions of {inside.SIZE:,} bytes"
    return [
        within("small", f"{what}: first import", "ms", found["import"] * 1000, 15),
        within("small", f"{what}: update of one", "ms", found["update"] * 1000, 3),
    ]


def _inside(place: Place, *arguments: str) -> dict[str, float]:
    """What `bench.inside` measured in a process of its own."""
    above = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    env = retro_environment(place)
    env["PYTHONPATH"] = os.pathsep.join(part for part in (above, env["PYTHONPATH"]) if part)
    done = checked(run([sys.executable, "-m", "bench.inside", *arguments], env, place.folder), "bench.inside")
    found: dict[str, float] = json.loads(done.output.strip().splitlines()[-1])
    return found


# --- a large archive -------------------------------------------------------------------------------------------------


def large(bench: Bench) -> list[Row]:
    """An archive of very many sessions, simulated: its tables and its files are there, their content is not."""
    with scratch() as folder:
        home = os.path.join(folder, "home")
        with place_for(home) as place:
            template = archives.first_session(home)
            retro(place)
            archives.multiply(place.data, home, template, bench.archive)
            report = json.loads(retro(place, "sweep", "--json").cost.output)
            skipped = sum(host["skipped_unchanged"] for host in report["hosts"])
            if skipped != bench.archive:
                raise Failed(
                    f"the simulated archive does not hold: {skipped} of {bench.archive} sessions were unchanged"
                )
            sweep = median(retro(place).cost.seconds for _ in range(bench.rounds))
            listing = median(retro(place, "list").cost.seconds for _ in range(bench.rounds))
    what = f"{bench.archive:,} sessions"
    return [
        within("large", f"{what}: sweep, nothing changed", "s", sweep, 1),
        within("large", f"{what}: list", "s", listing, 1),
    ]


# --- what it cost ----------------------------------------------------------------------------------------------------


REPORTS: Final = ("daily", "weekly", "monthly", "project", "model", "session", "blocks")
STATUS: Final = "retro statusline"


def cost(bench: Bench) -> list[Row]:
    """Reports over very many requests; and over a generated home, beside ccusage, which reads it anew each time."""
    rows = _reports(bench)
    with scratch() as folder:
        home = generate(os.path.join(folder, "home"), bench.size).home
        with place_for(home) as place:
            shares = [_inside(place, "ledger", home, os.path.join(place.folder, f"root{n}")) for n in range(3)]
            share = median(one["ledger"] / one["sweep"] for one in shares)
            rows.append(within("cost", "share of the ledger in a cold sweep (CPU)", "x", share, 0.10))
            retro(place)
            own = median(retro(place, "cost", "daily", "--json").cost.seconds for _ in range(bench.rounds))
            try:
                command = install_ccusage(folder)
            except Failed as error:
                bench.note(str(error))
                return [*rows, Row("cost", "daily --json, generated home", "s", own)]
            env = {**place.environment(), "CLAUDE_CONFIG_DIR": home}
            words = [command, "claude", "daily", "--json", "--offline"]
            theirs = median(checked(run(words, env, folder), "ccusage").seconds for _ in range(bench.rounds))
            rows.append(faster("cost", "daily --json, generated home", own, "ccusage", theirs))
    return rows


def _reports(bench: Bench) -> list[Row]:
    """Each report from process start, over a ledger that a generator filled."""
    with place_for(bench.home or "") as place:
        bench.note(f"cost: filling a ledger with {bench.requests:,} requests")
        ledgers.fill(place.data, bench.requests)
        env, rows = retro_environment(place), []
        for name in REPORTS:
            words = [sys.executable, "-m", "retro", "cost", name, "--json"]
            seconds = median(checked(run(words, env, place.folder), name).seconds for _ in range(bench.rounds))
            rows.append(within("cost", f"{name} --json, {bench.requests:,} requests", "ms", seconds * 1000, 60))
        words = [sys.executable, "-m", "retro", "statusline"]
        seconds = median(checked(run(words, env, place.folder), STATUS).seconds for _ in range(bench.rounds))
        rows.append(within("cost", f"statusline, {bench.requests:,} requests", "ms", seconds * 1000, 25))
        bare = median(run([sys.executable, "-c", "pass"], env, place.folder).seconds for _ in range(bench.rounds))
        return [*rows, Row("cost", "Python's own start", "ms", bare * 1000)]


Case = Callable[[Bench], list[Row]]
CASES: Final[dict[str, Case]] = {
    "real": real,
    "generated": generated,
    "unchanged": unchanged,
    "append": append,
    "small": small,
    "large": large,
    "cost": cost,
}
