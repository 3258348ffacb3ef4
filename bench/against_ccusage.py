"""retro's ledger beside ccusage's, bucket by bucket: `python -m bench.against_ccusage --ccusage COMMAND HOME [HOME …]`.

A home is a folder as CLAUDE_CONFIG_DIR or CODEX_HOME names it. Folders that merely hold transcripts, in whatever
order, are laid out as one first (`--lay-out`). Each line that is printed is a bucket in which the two differ.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, Final, NamedTuple

import apsw

CLAUDE: Final = "claude"
CODEX: Final = "codex"
VARIABLES: Final = {CLAUDE: "CLAUDE_CONFIG_DIR", CODEX: "CODEX_HOME"}


class Tokens(NamedTuple):
    """Input, cache writes, cache reads, output."""

    input: int = 0
    written: int = 0
    read: int = 0
    output: int = 0


class Count(NamedTuple):
    """What one tool counts in a home: by day and model, and by session."""

    days: dict[tuple[str, str], Tokens]
    sessions: dict[str, Tokens]
    microdollars: int
    whole: dict[str, Tokens]
    """Sessions with all that their sub-agents did, where a tool tells that apart."""


class Difference(NamedTuple):
    """A bucket in which the two do not agree."""

    bucket: str
    retro: Tokens
    ccusage: Tokens


def tokens(entry: dict[str, Any]) -> Tokens:
    """The tokens of an entry of either tool's report."""
    names = ("inputTokens", "cacheCreationTokens", "cacheReadTokens", "outputTokens")
    return Tokens(*(entry[name] for name in names))


# --- the two tools ---------------------------------------------------------------------------------------------------


def by_ccusage(command: str, host: str, home: str, scratch: str) -> Count:
    """What ccusage counts."""
    env = {"PATH": os.environ.get("PATH", ""), "HOME": scratch, "TZ": "UTC", VARIABLES[host]: home}

    def report(name: str) -> dict[str, Any]:
        words = [*command.split(), host, name, "--json", "--offline", "--timezone", "UTC"]
        printed = _printed(words, env)
        found: dict[str, Any] = json.loads(printed) if printed.startswith("{") else {}
        return found

    days: dict[tuple[str, str], Tokens] = {}
    cost = 0.0
    for day in report("daily").get("daily", []):
        cost += day["totalCost"] if host == CLAUDE else day["costUSD"]
        if host == CLAUDE:
            shares = {share["modelName"]: tokens(share) for share in day["modelBreakdowns"]}
        else:
            shares = {model: tokens(share) for model, share in day["models"].items()}
        for model, share in shares.items():
            days[day["date"], model] = share
    sessions: dict[str, Tokens] = {}
    for session in report("session").get("sessions", []):
        name = session["sessionId"].rpartition("/")[2]
        sessions[name] = Tokens(*map(sum, zip(sessions.get(name, Tokens()), tokens(session), strict=True)))
    return Count(_some(days), _some(sessions), round(cost * 1_000_000), {})


def by_retro(host: str, home: str, scratch: str) -> Count:
    """What retro counts."""
    env = {
        "PATH": os.environ.get("PATH", ""),
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "HOME": scratch,
        "RETRO_ROOT": os.path.join(scratch, "archive"),
        "RETRO_CONFIG": os.path.join(scratch, "config.toml"),
        VARIABLES[host]: home,
    }
    program = [sys.executable, "-m", "retro"]
    _printed([*program, "sweep", "--json"], env)

    def report(name: str, *more: str) -> dict[str, Any]:
        words = [*program, "cost", name, "--json", "--timezone", "UTC", "--host", host, *more]
        found: dict[str, Any] = json.loads(_printed(words, env))
        return found

    daily = report("daily")
    days = {
        (day["date"] or "", share["modelName"]): tokens(share)
        for day in daily["daily"]
        for share in day["modelBreakdowns"]
    }
    if host == CODEX:
        sessions = _rollout_tokens(os.path.join(scratch, "archive", "index.sqlite"))
    else:
        sessions = {one["sessionId"]: tokens(one) for one in report("session", "--own-only")["sessions"]}
    whole = {one["sessionId"]: tokens(one) for one in report("session")["sessions"]} if host == CLAUDE else {}
    return Count(_some(days), _some(sessions), daily["totals"]["totalMicrodollars"], whole)


def _rollout_tokens(index: str) -> dict[str, Tokens]:
    """What each rollout took, without its sub-agents, which ccusage lists for themselves."""
    query = (
        "SELECT session_id, sum(input_tokens), sum(cache_write_5m_tokens + cache_write_1h_tokens),"
        " sum(cache_read_tokens), sum(output_tokens) FROM session_spent JOIN owner ON owner.id = owner GROUP BY 1"
    )
    connection = apsw.Connection(index, flags=apsw.SQLITE_OPEN_READONLY)
    rows: Iterator[Any] = iter(connection.execute(query))
    return {name: Tokens(*counts) for name, *counts in rows}


def _some(found: dict[Any, Tokens]) -> dict[Any, Tokens]:
    return {name: share for name, share in found.items() if any(share)}


def _printed(words: list[str], env: dict[str, str]) -> str:
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise SystemExit(f"{' '.join(words[:4])} failed: {done.stderr.strip()[:300]}")
    return done.stdout


def differences(host: str, own: Count, theirs: Count) -> Iterator[Difference]:
    """Every bucket in which two counts differ."""
    for kind, ours, others in (("day", own.days, theirs.days), ("session", own.sessions, theirs.sessions)):
        for name in sorted({*ours, *others}, key=str):
            if host == CODEX and kind == "session":
                continue
            one, other = ours.get(name, Tokens()), others.get(name, Tokens())
            # ccusage's report by session has sub-agents with a file of their own, and leaves those without one out.
            if one != other and (kind == "day" or other != own.whole.get(name, Tokens())):
                yield Difference(f"{kind} {' '.join(name) if isinstance(name, tuple) else name}", one, other)
    if host == CODEX:
        yield from _rollouts(own.sessions, theirs.sessions)


def _rollouts(own: dict[str, Tokens], theirs: dict[str, Tokens]) -> Iterator[Difference]:
    """ccusage names a session of Codex by its file, whose name ends in the thread's id."""
    rest = dict(own)
    for name, other in sorted(theirs.items()):
        thread = next((thread for thread in own if name.endswith(thread)), name)
        one = rest.pop(thread, Tokens())
        if one != other:
            yield Difference(f"session {name}", one, other)
    for name, one in sorted(rest.items()):
        yield Difference(f"session {name}", one, Tokens())


# --- homes -----------------------------------------------------------------------------------------------------------


def lay_out(folder: str, home: str) -> str:
    """Lay the transcripts below a folder out as an agent would; says whose they are."""
    files = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names if name.endswith(".jsonl")]
    host = CODEX if any("/codex" in path for path in files) else CLAUDE
    for path in sorted(files):
        relative = os.path.relpath(path, folder)
        target = _claude_place(relative) if host == CLAUDE else _codex_place(relative, path)
        if target is None:
            continue
        os.makedirs(os.path.dirname(os.path.join(home, target)), exist_ok=True)
        shutil.copyfile(path, os.path.join(home, target))
    return host


def _claude_place(relative: str) -> str:
    parts = relative.split(os.sep)
    deep = 3 if "subagents" in parts else 1
    return os.path.join("projects", re.sub(r"\W", "-", os.sep.join(parts[:-deep])) or "-", *parts[-deep:])


def _codex_place(relative: str, path: str) -> str | None:
    name = os.path.basename(relative)
    if name == "history.jsonl":
        return None
    if not re.fullmatch(r"rollout-[\dT-]+-[\da-f-]{36}\.jsonl", name):
        with open(path, encoding="utf-8") as file:
            named = re.search(r'"id":\s*"([\da-f]{8}-[\da-f-]{27})"', file.readline())
        digest = sha256(relative.encode()).hexdigest()
        thread = named[1] if named else f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"
        name = f"rollout-2026-01-01T00-00-00-{thread}.jsonl"
    return os.path.join("sessions", "2026", "01", "01", name)


def compare(command: str, host: str, home: str) -> tuple[list[Difference], Count, Count]:
    """Where the two differ over a home."""
    with tempfile.TemporaryDirectory(prefix="against-ccusage-") as scratch:
        theirs = by_ccusage(command, host, home, scratch)
        own = by_retro(host, home, scratch)
    return list(differences(host, own, theirs)), own, theirs


def main() -> int:
    """Compare, and print every difference."""
    parser = argparse.ArgumentParser(prog="python -m bench.against_ccusage", description=__doc__)
    parser.add_argument("--ccusage", metavar="COMMAND", required=True, help='such as "npx ccusage@20.0.24"')
    parser.add_argument("--lay-out", action="store_true", help="the folders only hold transcripts")
    parser.add_argument("homes", nargs="+", metavar="HOME")
    args = parser.parse_args()
    found = 0
    for folder in args.homes:
        with tempfile.TemporaryDirectory(prefix="against-ccusage-") as laid:
            home = os.path.abspath(folder)
            host = lay_out(home, laid) if args.lay_out else CLAUDE if os.path.isdir(f"{home}/projects") else CODEX
            home = laid if args.lay_out else home
            others, own, theirs = compare(args.ccusage, host, home)
        found += len(others)
        total = sum(map(sum, own.days.values()))
        money = f"${own.microdollars / 1e6:.6f} and ${theirs.microdollars / 1e6:.6f}"
        print(f"{folder} ({host}): {total:,} tokens, {money}, {len(others)} differences")
        for difference in others:
            print(f"  {difference.bucket}\n    retro   {difference.retro}\n    ccusage {difference.ccusage}")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
