"""`retro cost`: what it cost, by day, week, month, session, project, model and five-hour block, and why."""

from __future__ import annotations

import argparse
import gc
import time
from typing import TYPE_CHECKING, Any

from retro.cli import moments, opening, output
from retro.cli.cost_shown import cells, nothing, print_fitting, say_doubts, show
from retro.cli.output import Column, Styled
from retro.failure import WRONG_USAGE, Failure
from retro.ledger import calendar, entries, reports, written
from retro.ledger.calendar import Zone
from retro.ledger.entries import Asked
from retro.ledger.reports import Wanted
from retro.ledger.written_sessions import sessions

if TYPE_CHECKING:
    import apsw

    from retro.cli.interface import Context, Parser

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

CENTURY = 36_525
"""Days: no log is older."""
LIMIT = 30
"""So many sessions or blocks are shown in a table that asks for no other number."""
REPORTS = {
    "daily": "by day",
    "weekly": "by week",
    "monthly": "by month",
    "session": "by session",
    "project": "by project",
    "model": "by model",
    "blocks": "by five-hour block, with its pace and where it will end",
}


OTHERS = {
    "why": "the receipt of a session: each request, its price, its line, and what does not count",
    "reprice": "price every request anew, by the tables in force now",
}


def add_arguments(parser: Parser) -> None:
    """Declare the reports, each with the same options."""
    # Told the program's name, argparse need not load what formats usage to find it out.
    verbs = parser.add_subparsers(dest="report", metavar="REPORT", prog=parser.prog)
    # To declare all of them takes longer than most reports.
    named = [name for name in (*REPORTS, *OTHERS) if name in parser.given] or [*REPORTS, *OTHERS]
    for name in named:
        line = REPORTS.get(name) or OTHERS[name]
        about = f"What it cost, {line}." if name in REPORTS else f"{line[0].upper()}{line[1:]}."
        verb = verbs.add_parser(name, help=line, description=about)
        if name == "why":
            _add_why(verb)
        elif name == "reprice":
            verb.add_argument("--dry-run", action="store_true", help="show the change, change nothing")
        else:
            _add_report(verb, name)
    _add_report(parser, "")


def _add_why(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("host", metavar="HOST", nargs="?", help="the agent, where an id alone is not enough")
    parser.add_argument("session", metavar="ID", help='the beginning of a session\'s id, or "latest"')
    parser.add_argument("--request", metavar="ID", help="only this one, and how its cost comes about")


def _add_report(parser: argparse.ArgumentParser, name: str) -> None:
    none: Any = None
    group = parser.add_argument_group("which requests")
    group.add_argument("--since", "-s", metavar="WHEN", help="from then on: 2026-11-01, 20261101, 7d, 12h, 2w")
    group.add_argument("--until", "-u", metavar="WHEN", help="up to then; a day is included")
    if name in entries.PERIODS:
        group.add_argument(
            "--last", metavar="N", type=moments.positive, help="of the last N, the present one among them"
        )
    if name == "session":
        group.add_argument("--id", "-i", metavar="ID", help="of the sessions whose id begins so")
    group.add_argument("--project", "-p", metavar="NAME", help="of this project")
    group.add_argument("--host", metavar="HOST", help="of this agent")
    group.add_argument("--own-only", action="store_true", help="without what sub-agents did")
    group = parser.add_argument_group("how they are counted")
    group.add_argument("--mode", "-m", choices=reports.MODES, default=none, help=f"whose cost: {_MODES}")
    group.add_argument("--timezone", "-z", metavar="ZONE", help="of days, such as Europe/Berlin (this machine's)")
    if name == "weekly":
        group.add_argument("--start-of-week", "-w", choices=WEEKDAYS, default="monday", help="(monday)")
    group = parser.add_argument_group("how they are shown")
    if name in entries.PERIODS:
        group.add_argument("--instances", "-i", action="store_true", help="by project as well")
    if name == "blocks":
        _add_block_options(group)
    if name:
        group.add_argument("--breakdown", "-b", action="store_true", help="by model as well")
        group.add_argument(
            "--order", "-o", choices=("asc", "desc"), default="asc", help="the newest last (asc) or first"
        )
        group.add_argument("--limit", metavar="N", type=moments.positive, help="the newest N")
        group.add_argument("--compact", action="store_true", help="fewer columns")
        group.add_argument("--csv", action="store_true", help="print comma-separated values")
    group.add_argument("-j", dest="json", action="store_true", default=argparse.SUPPRESS, help="as --json")
    # What other tools' users may have in their scripts: nothing is ever fetched here.
    group.add_argument("--offline", "-O", action="store_true", help=argparse.SUPPRESS)


def _add_block_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--active", "-a", action="store_true", help="only the one that is running")
    group.add_argument("--recent", "-r", action="store_true", help="only those of the last three days")
    group.add_argument("--session-length", "-n", metavar="HOURS", type=moments.positive, default=5, help="(5)")
    group.add_argument(
        "--token-limit", "-t", metavar="N", type=_limit, help='what one may use, or "max": as in the largest so far'
    )


def _limit(text: str) -> int:
    return 0 if text == "max" else moments.positive(text)


_MODES = "the host's, else by price (auto), by price (calculate), only the host's (display)"


def run(args: argparse.Namespace, context: Context) -> int:
    """Show the report that was asked for."""
    if args.report == "reprice":
        from retro.cli import cost_reprice

        return cost_reprice.run(args, context)
    if args.report == "why":
        from retro.cli import cost_why

        with opening.reading(context) as index:
            return cost_why.run(index, args, context)
    zone = calendar.zone(args.timezone)
    wanted = wanted_of(args, context, zone)
    gc.disable()  # a report is short, and makes much that is needed to its end
    try:
        with opening.reading(context) as index:
            if not args.report:
                return _glance(index, wanted, zone, context)
            asked = asked_of(args, wanted, zone, context)
            if args.report == "blocks":
                from retro.cli import cost_blocks

                return cost_blocks.run(index, asked, args, context)
            if args.report == "session" and context.json and index is not None:
                output.print_written(sessions(index, asked))
                return 0
            return show(index, entries.table(index, asked), args, context)
    finally:
        gc.enable()


def wanted_of(args: argparse.Namespace, context: Context, zone: Zone) -> Wanted:
    """What the options ask for."""
    now = time.time()
    since = _quarter(args.since, zone, now, 0) if args.since is not None else None
    if getattr(args, "last", None) is not None:
        if since is not None:
            raise Failure("usage", "--last and --since say both where to begin", "name one of them", WRONG_USAGE)
        since = calendar.begin_of(_first_of_last(args, calendar.today(zone, now)), zone)
    return Wanted(
        since=since,
        until=_quarter(args.until, zone, now, 1) if args.until is not None else None,
        project=args.project,
        host=moments.known_host(args.host) if args.host is not None else None,
        own_only=args.own_only,
        mode=reports.mode_of(args.mode, context.env),
    )


def asked_of(args: argparse.Namespace, wanted: Wanted, zone: Zone, context: Context) -> Asked:
    """The report that the options ask for."""
    asked = Asked(args.report, wanted, zone)
    asked.instances = getattr(args, "instances", False)
    asked.start_of_week = WEEKDAYS.index(getattr(args, "start_of_week", "monday"))
    asked.id = getattr(args, "id", None)
    is_long = args.report in ("session", "blocks") and not (context.json or args.csv)
    asked.limit = LIMIT if args.limit is None and is_long else args.limit
    asked.newest_first = args.order == "desc"
    return asked


def _first_of_last(args: argparse.Namespace, today: int) -> int:
    """The first day of the last days, weeks or months that are asked for."""
    before: int = args.last - 1
    if args.report == "daily":
        return today - min(before, CENTURY)
    if args.report == "weekly":
        return calendar.week_of(today, WEEKDAYS.index(args.start_of_week)) - min(7 * before, CENTURY)
    first = calendar.month_of(today)
    for _ in range(min(before, CENTURY // 30)):
        first = calendar.month_of(first - 1)
    return first


def _quarter(text: str, zone: Zone, now: float, days: int) -> int:
    """The quarter-hour that a moment lies in; a date is a day of the report's time zone."""
    from datetime import datetime, timezone

    day = moments.date_of(text)
    if day is not None:
        return calendar.begin_of(calendar.day_number(day) + days, zone)
    parse = moments.parse_until if days else moments.parse_since
    return int(parse(text, datetime.fromtimestamp(now, timezone.utc)).timestamp()) // 900


# --- reports ---------------------------------------------------------------------------------------------------------


def _glance(index: apsw.Connection | None, wanted: Wanted, zone: Zone, context: Context) -> int:
    """Today, this week, this month."""
    amounts = entries.glance(index, wanted, zone)
    if context.json:
        output.print_written([written.glance(amounts)])
        return 0
    if index is None:
        output.say(nothing(context))
        return 0

    def rows(compact: bool) -> list[list[str | Styled]]:
        titles = {"today": "today", "week": "this week", "month": "this month"}
        return [[titles[name], *cells(amount, compact)] for name, amount in amounts.items()]

    print_fitting(rows, [Column("")], False)
    say_doubts(amounts["month"])
    return 0
