"""`retro agents`: which agents there are here, and whether they can be read; `check` tries files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from retro import agents
from retro.agents.records import BOM, LINE_ENDS
from retro.archive.journal import LAYOUT
from retro.cli import moments, opening, output
from retro.cli.output import Column, Styled
from retro.failure import CHECK_NOT_PASSED, Failure
from retro.finding import known_sources
from retro.presence import Presence, presence
from retro.trial import Trial, read, transcripts

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context, Parser

UNKNOWN_SHARE = 0.005
"""More than this of a file's bytes unknown, and it does not read well."""

STYLES = {"fine": "green", "broken": "red", "unreadable": "red", "empty": "dim", "off": "yellow"}
TYPES = 40
"""At most so many record types are printed; `--json` gives all."""


class Checked(msgspec.Struct):
    """A path, and how well what it stands for can be read."""

    path: str
    host: str | None
    """The one that has it."""
    claimed_by: list[str]
    """All that would take it."""
    passed: bool
    problems: list[str]
    sources: list[Trial]
    beside: bool = False
    """It has no records: it stands beside a session, and is kept with it."""


def add_arguments(parser: Parser) -> None:
    """Declare the verb and its files."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")
    line = "which agent wrote a file, and how well it can be read"
    check = verbs.add_parser("check", help=line, description=f"Say {line}. The exit code is 4 if it cannot.")
    check.add_argument("files", metavar="FILE", nargs="+", help="files, or folders with some")


def run(args: argparse.Namespace, context: Context) -> int:
    """Show the hosts, or check files."""
    if args.verb == "check":
        return _check(args.files, context)
    known = known_sources(context.places)
    with opening.reading(context) as index:
        found = presence(context.settings, context.env, known, index)
    if context.json:
        output.print_json({"root": context.places.root, "agents": found})
    else:
        _say(found)
    return 0


# --- hosts -----------------------------------------------------------------------------------------------------------


def _say(found: list[Presence]) -> None:
    shown = [one for one in found if one.state != "absent" or one.captured]
    columns = [Column("host"), Column("state"), Column("sessions", right=True), Column("sources", right=True)]
    columns += [Column("captured", right=True), Column("turns", right=True), Column("turns/session", right=True)]
    columns += [Column("last wrote"), Column("where", shrink=True)]
    if shown:
        output.table(map(_row, shown), columns)
    for one in shown:
        for problem in one.problems:
            output.say(f"{one.host}: {problem}", "red" if one.state in ("broken", "unreadable") else None)
    absent = [one.host for one in found if one.state == "absent" and not one.captured]
    if absent:
        output.say(f"not on this machine: {', '.join(absent)}", "dim")


def _row(one: Presence) -> list[str | Styled]:
    tried = "*" if one.tried else ""
    return [
        one.host,
        Styled(one.state, STYLES.get(one.state, "")),
        output.count(one.sessions),
        output.count(one.sources),
        output.count(one.captured),
        output.count(one.turns),
        f"{one.parse_yield:.1f}{tried}" if one.parse_yield is not None else "",
        moments.ago(one.last_written),
        ", ".join(_place(place.path, place.reason) for place in one.roots),
    ]


def _place(path: str, reason: str) -> str:
    return path if reason == "default" else f"{path} ({reason})"


# --- files -----------------------------------------------------------------------------------------------------------


def _check(paths: list[str], context: Context) -> int:
    from retro.agents import databases

    try:
        found = [_checked(path) for path in paths]
    finally:
        databases.release()
    passed = all(one.passed for one in found)
    if context.json:
        output.print_json({"passed": passed, "files": found})
    else:
        for one in found:
            _say_checked(one)
    return 0 if passed else CHECK_NOT_PASSED


def _checked(path: str) -> Checked:
    full = os.path.expanduser(path)
    if not os.path.exists(full):
        raise Failure("not_found", f"there is no file {path}", "retro agents shows where agents keep their sessions")
    sources = list(agents.claimed(path))
    trials = [read(source) for source in transcripts(sources)]
    claiming = agents.claiming(full)
    hosts = list(dict.fromkeys(source.host for source in sources))
    beside = bool(sources) and not trials
    problems = [] if beside else _problems(trials)
    host = hosts[0] if len(hosts) == 1 else None
    return Checked(path, host, claiming, not problems, problems, trials, beside)


def _problems(trials: list[Trial]) -> list[str]:
    """What is wrong, in words."""
    if not trials:
        return ["no agent that retro knows writes such files"]
    found = [f"{trial.key} of {trial.session_id} cannot be read: {trial.problem}" for trial in trials if trial.problem]
    own = [trial for trial in trials if not trial.key.startswith("agent-")]  # a sub-agent has no turns
    if own and not any(trial.turns for trial in own):
        found.append("no turn was found")
    size = sum(trial.bytes.size for trial in trials)
    unknown = sum(trial.bytes.unknown for trial in trials)
    if unknown > size * UNKNOWN_SHARE:
        found.append(f"{unknown / size:.1%} of its bytes are records of types that retro does not know")
    malformed = sum(trial.bytes.malformed for trial in trials)
    if malformed:
        found.append(f"{output.size(malformed)} are damaged or no records at all")
    return found


def _say_checked(one: Checked) -> None:
    others = [host for host in one.claimed_by if host != one.host]
    beside = f" ({', '.join(others)} would take it as well)" if one.host and others else ""
    what = one.host or (", ".join(one.claimed_by) if one.sources or one.beside else "nobody's")
    output.say(f"{one.path}: {what}{beside}", "bold")
    if one.sources:
        columns = [Column("session"), Column("source"), *(Column(name, right=True) for name in FIGURES)]
        output.table(([trial.session_id, trial.key, *_figures(trial)] for trial in one.sources), columns)
        _say_types(one.sources)
    for problem in one.problems:
        output.say(problem, "red")
    if one.beside:
        output.say("it stands beside a session, and is kept with it")
    elif one.passed:
        output.say("it reads well", "green")
    output.say()


FIGURES = ("size", "records", "events", "turns", "requests", "unknown", "malformed", "torn")


def _figures(trial: Trial) -> list[str]:
    kinds = [(kind, number) for kinds in trial.types.values() for kind, (number, _) in kinds.items()]
    records = sum(number for kind, number in kinds if kind not in (LINE_ENDS, BOM, LAYOUT))
    counts = (records, sum(trial.events.values()), trial.turns, trial.requests)
    sizes = (trial.bytes.unknown, trial.bytes.malformed, trial.bytes.torn_tail)
    return [output.size(trial.bytes.size), *map(output.count, counts), *map(output.size, sizes)]


def _say_types(trials: list[Trial]) -> None:
    """The record types of all sources together, the largest first."""
    total: dict[tuple[str, str], list[int]] = {}
    for trial in trials:
        for name, kinds in trial.types.items():
            for kind, (number, size) in kinds.items():
                cell = total.setdefault((name, kind), [0, 0])
                cell[0] += number
                cell[1] += size
    order = sorted(total.items(), key=lambda entry: -entry[1][1])
    output.say()
    columns = [Column("record type"), Column("account"), Column("records", right=True), Column("size", right=True)]
    output.table(
        ([kind, account, output.count(number), output.size(size)] for (account, kind), (number, size) in order[:TYPES]),
        columns,
    )
    if len(order) > TYPES:
        output.say(f"and {output.count(len(order) - TYPES)} more types; --json names them all")
