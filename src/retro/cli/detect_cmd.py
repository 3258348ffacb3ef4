"""`retro detect`: what recurs over all sessions, and across agents."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

import msgspec

from retro.cli import moments, output, sessions
from retro.failure import WRONG_USAGE, Failure, did_you_mean
from retro.lock import Lock
from retro.mining import tracing
from retro.patterns import detect, store
from retro.patterns.pattern import STATES, Pattern, Resolution, State

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    import apsw

    from retro.cli.interface import Context, Parser
    from retro.mining.trace import Trace

LEAST = 3
LIMIT = 30


HOW = {
    "again": "running it again",
    "changed_it": "changing the file that it names",
    "changed_code": "changing other code",
    "changed": "changing the code",
    "other_arguments": "other arguments",
    "uses": "using",
    "reads": "reading the file",
    "lists": "listing less",
    "wider": "searching wider",
    "other_words": "searching for other words",
    "elsewhere": "looking elsewhere",
    "sent_again": "sending it again, in the form that was asked for",
}
"""What resolved a problem, in words."""


def add_arguments(parser: Parser) -> None:
    """Declare what is looked at, and what a person may decide of a pattern."""
    parser.add_argument(
        "--min-frequency", metavar="N", type=moments.positive, default=LEAST, help=f"in at least N sessions ({LEAST})"
    )
    parser.add_argument("--since", metavar="WHEN", help="sessions begun from then on: 2026-11-01, 20261101, 7d")
    parser.add_argument("--limit", metavar="N", type=moments.positive, help=f"the first N ({LIMIT} on a terminal)")
    parser.add_argument("--all", action="store_true", help="also those that you set to ignored")
    group = parser.add_argument_group("what you make of one")
    group.add_argument("--mark", metavar="ID", help="set the state of the pattern whose id begins so")
    group.add_argument("--state", metavar="STATE", help=f"with --mark: {', '.join(STATES)}")
    group.add_argument("--note", metavar="TEXT", help="with --mark: why")


def run(args: argparse.Namespace, context: Context) -> int:
    """Find the patterns and keep them; or note what was decided of one."""
    if args.mark is not None or args.state is not None:
        return _mark(args, context)
    patterns = _found(args, context)
    shown = [one for one in patterns if args.all or one.state != "ignored"]
    if context.json:
        rows = shown if args.limit is None else shown[: args.limit]
        output.print_json({"patterns": [{**msgspec.to_builtins(one), "cross_host": one.cross_host} for one in rows]})
        return 0
    limit = args.limit or LIMIT
    for one in shown[:limit]:
        _show(one)
    if not shown:
        output.say(f"Nothing was seen in {args.min_frequency} sessions or more.")
    if len(shown) > limit:
        output.notice(f"{limit} of {len(shown)}; --limit shows more")
    return 0


def _found(args: argparse.Namespace, context: Context) -> list[Pattern]:
    from retro.index.database import open_reader, open_writer

    existing = open_reader(context.places)
    if existing is None:
        sessions.warn_without_index(context.places)
        return []
    existing.close()
    since = moments.stamp(moments.parse_since(args.since, datetime.now(timezone.utc))) if args.since else None
    with Lock(context.places.lock, context.settings.lock_wait_seconds), output.Progress("reading") as progress:
        connection = open_writer(context.places.index)
        try:
            _, problems = tracing.bring_up_to_date(
                connection, context.places, lambda n, size: progress.advance(n, size)
            )
            found = detect.gather(_traces(connection, since))
        finally:
            connection.close()
        for problem in problems:
            output.warn(problem)
        patterns = store.curated(context.places, detect.detect(found, args.min_frequency))
        if since is None:
            store.save(context.places, patterns)
        return patterns


def _traces(connection: apsw.Connection, since: str | None) -> Iterator[Trace]:
    for trace in tracing.all_traces(connection):
        if since is None or (trace.started or "") >= since:
            yield trace


def _mark(args: argparse.Namespace, context: Context) -> int:
    if args.mark is None or args.state is None:
        raise Failure("usage", "--mark and --state go together", "retro detect --mark ID --state ignored", WRONG_USAGE)
    state = next((one for one in STATES if one == args.state), None)
    if state is None:
        hint = did_you_mean(args.state, STATES) or f"one of {', '.join(STATES)}"
        raise Failure("usage", f'there is no state "{args.state}"', hint, WRONG_USAGE)
    found = [one for one in store.saved(context.places) if one.id.startswith(args.mark)]
    if len(found) != 1:
        what = "no pattern" if not found else f"{len(found)} patterns"
        raise Failure("not_found", f'{what} with an id that begins with "{args.mark}"', "retro detect shows the ids")
    return _decided(context, found[0], state, args.note)


def _decided(context: Context, one: Pattern, state: State, note: str | None) -> int:
    with Lock(context.places.lock, context.settings.lock_wait_seconds):
        store.decide(context.places, one.id, state, note)
    if context.json:
        output.print_json({"id": one.id, "state": state, "note": note})
    else:
        output.say(f"{one.id} {state}")
    return 0


def _show(one: Pattern) -> None:
    where = "[CROSS-HOST] " if one.cross_host else ""
    told = ", ".join([one.program] if one.program else one.programs)
    what = f"{told} {one.signature}" if one.kind == "success" else f"{told}: {one.signature}" if told else one.signature
    output.say(f"{where}{one.sessions} sessions  {what}", "bold" if one.kind == "problem" else None)
    if one.resolution:
        output.say(f"    resolved by {_resolved(one.resolution)}")
    hosts, places = ", ".join(one.hosts), ", ".join(one.repositories[:3])
    more = f" and {len(one.repositories) - 3} more" if len(one.repositories) > 3 else ""
    state = f"  {one.state}" if one.state != "new" else ""
    output.say(f"    {one.id}  {one.kind}{state}  {hosts}  {places}{more}", "dim")


def _resolved(by: Resolution) -> str:
    uses = by.program if by.how == "uses" else ""
    said = " ".join(filter(None, [HOW.get(by.how, by.how), uses, *by.flags]))
    if by.others_of_any:
        rest = f"tries at any problem: {by.others_worked} of {by.others_tried}"
    else:
        rest = f"other tries: {by.others_worked} of {by.others_tried}"
    return f"{said}, in {by.worked} of {by.tried} sessions that tried it ({rest})"
