"""`retro sweep`: captures everything that is new, from every agent, and says what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro import agents, sweep
from retro.cli import moments, output
from retro.cli.output import Column
from retro.cli.semantic_cmd import fill_quietly
from retro.failure import BUSY, FAILED, Failure
from retro.ledger import prices
from retro.lock import Lock
from retro.memory.used import is_used
from retro.places import init_root

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from retro.cli.interface import Context, Parser
    from retro.outcomes import Problem
    from retro.sweep import Report

PROBLEMS = 10
"""At most so many reasons are printed; `--json` gives all."""

FEW = 3
"""Up to so many hosts are named where nothing was found."""

BACKGROUND_WAIT_SECONDS = 1800.0

COUNTS = ("discovered", "ingested", "appended", "skipped_unchanged", "analyzed", "failed")


def add_arguments(parser: Parser) -> None:
    """Declare which hosts, and whether for real."""
    parser.add_argument("--host", metavar="HOST", action="append", help="only this agent; may be given again")
    parser.add_argument("--dry-run", action="store_true", help="say what would be captured, write nothing")
    parser.add_argument(
        "--background",
        action="store_true",
        help="for schedulers and hooks: say nothing unless something failed, wait for a sweep that is running, and do"
        " nothing where another one waits already",
    )


def run(args: argparse.Namespace, context: Context) -> int:
    """Sweep, then a line per host. The exit code is 1 if something could not be captured."""
    hosts = dict.fromkeys(map(moments.known_host, args.host)) if args.host else None
    if args.background:
        return _in_background(context, hosts, args.dry_run)
    with output.Progress("sweeping") as progress:
        watch = sweep.Watch(progress.expect, progress.advance)
        report = sweep.sweep(
            context.places, context.settings, context.env, hosts=hosts, dry_run=args.dry_run, watch=watch
        )
    for problem in prices.problems(context.settings.folder):
        output.warn(problem)
    if not args.dry_run and any(host.ingested or host.appended for host in report.hosts):
        learn(context, only_where_used=True)
    if context.json:
        print_report(report)
    else:
        say_report(report)
        if not any(host.discovered for host in report.hosts):
            _say_where(context, hosts or agents.MODULES)
    return FAILED if report.failed or report.left_out else 0


def _in_background(context: Context, hosts: Iterable[str] | None, dry_run: bool) -> int:
    """Sweep when nobody else does. One that waits already will see all that this one would see."""
    places = context.places
    init_root(places.root)
    turn = Lock(f"{places.lock}.next", 0)
    try:
        turn.__enter__()
    except Failure:
        return 0
    waiting = [turn]

    def begin() -> None:
        while waiting:
            waiting.pop().__exit__(None, None, None)

    try:
        report = sweep.sweep(
            places,
            context.settings,
            context.env,
            hosts=hosts,
            dry_run=dry_run,
            wait_seconds=BACKGROUND_WAIT_SECONDS,
            watch=sweep.Watch(locked=begin),
        )
    finally:
        begin()
    if not dry_run:
        learn(context)
        fill_quietly(context)
    if context.json:
        print_report(report)
    else:
        say_problems(problem for host in report.hosts for problem in host.problems)
    return FAILED if report.failed or report.left_out else 0


def learn(context: Context, *, only_where_used: bool = False) -> None:
    """Have memories know what was swept; where somebody else writes by now, that is for the next time."""
    if only_where_used and not is_used(context.places):
        return
    from retro.cli.remembering import learned

    try:
        learned(context)
    except Failure as failure:
        if failure.exit_code != BUSY:
            raise


def print_report(report: Report) -> None:
    """The report as JSON."""
    output.print_json(
        {
            "root": report.root,
            "dry_run": report.dry_run,
            "seconds": report.seconds,
            "failed": report.failed,
            "hosts": report.hosts,
            **_space(report),
        }
    )


def say_report(report: Report) -> None:
    """A line per host, what was read, and the reasons for what failed."""
    if report.hosts:
        ignored = any(host.ignored for host in report.hosts)
        names = (*COUNTS, *(["ignored"] if ignored else []))
        rows = [[host.host, *(output.count(getattr(host, name)) for name in names)] for host in report.hosts]
        output.table(rows, [Column("host"), *(Column(name, right=True) for name in names)])
    read = sum(host.bytes_read for host in report.hosts)
    if report.dry_run:
        output.say("Nothing was written: this is what a sweep would do.")
    elif read:
        output.say(f"{output.size(read)} in {output.duration(report.seconds)}, into {report.root}")
    _say_space(report)
    say_problems(problem for host in report.hosts for problem in host.problems)


def _space(report: Report) -> dict[str, object]:
    """What the budget for space made of it."""
    if not report.space:
        return {}
    evictions = [one for each in report.space for one in each.evictions]
    return {
        "freed": sum(each.freed for each in report.space),
        "final_usage": report.space[-1].final_usage,
        "evictions": evictions,
        "data_loss": [one for one in evictions if not one.digested],
        "over_hard_cap": report.space[-1].over_hard_cap,
        "distilled_over_cap": report.space[-1].distilled,
        "left_out": report.left_out,
    }


def _say_space(report: Report) -> None:
    if not report.space:
        return
    evictions = [one for each in report.space for one in each.evictions]
    freed, left = sum(each.freed for each in report.space), report.space[-1].final_usage
    if evictions:
        sessions = f"{output.count(len(evictions))} session{'s' if len(evictions) > 1 else ''}"
        output.say(f"gave up {output.size(freed)} of {sessions} to stay within the budget; {output.size(left)} left")
    for one in evictions:
        if not one.digested:
            lost = f"data loss: {one.host} {one.session_id} was given up before anything was distilled from it"
            output.error_lines(lost)
    if report.space[-1].distilled is not None:
        output.warn(f"digests and the like take {output.size(report.space[-1].distilled)}, more than their cap")
    if report.left_out:
        sessions = f"{output.count(report.left_out)} session{'s were' if report.left_out > 1 else ' was'}"
        output.error_lines(f"failed: the hard cap is reached, and {sessions} not captured; retro space tells more")


def say_problems(problems: Iterable[Problem]) -> None:
    """What could not be captured, and why, on stderr; not more than a person reads."""
    found = list(problems)
    for problem in found[:PROBLEMS]:
        what = problem.path or problem.session_id or problem.host
        session = f" (session {problem.session_id})" if problem.session_id and problem.path else ""
        output.error_lines(f"failed: {what}{session}: {problem.reason}")
    if len(found) > PROBLEMS:
        output.error_lines(f"and {output.count(len(found) - PROBLEMS)} more; --json names them all")


def _say_where(context: Context, hosts: Iterable[str]) -> None:
    """Where nothing was found, say where retro looked."""
    off = [host for host in hosts if not context.settings.host(host).enabled]
    if off:
        output.say(f"{', '.join(off)}: turned off in {context.settings.file}")
    looked = [host for host in hosts if host not in off]
    if looked:
        whose = ", ".join(looked) if len(looked) <= FEW else f"the {len(looked)} agents that retro reads"
        output.say(f"No sessions of {whose} were found in the usual folders.")
        output.say(f"If they lie elsewhere, name the folder: [hosts.{looked[0]}] sources in {context.settings.file}")
