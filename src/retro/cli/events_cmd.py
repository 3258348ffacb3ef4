"""`retro events`: a session's events as JSON lines, in reading order."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from retro.cli import output, sessions
from retro.cli.moments import positive
from retro.event import EventType
from retro.failure import WRONG_USAGE, Failure, did_you_mean

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from retro.cli.interface import Context, Parser
    from retro.event import Event

TYPES = tuple(kind.value for kind in EventType)


def add_arguments(parser: Parser) -> None:
    """Declare which session, and which of its events."""
    sessions.add_session(parser)
    group = parser.add_argument_group("which events")
    group.add_argument("--type", metavar="TYPE", action="append", help="of this type; may be given again")
    group.add_argument("--turn", metavar="N", type=positive, help="of this turn")
    group.add_argument("--agent", metavar="AGENT", help="of the sub-agent whose id begins so")
    group.add_argument("--limit", metavar="N", type=positive, help="at most so many, from the beginning")


def run(args: argparse.Namespace, context: Context) -> int:
    """Print them: one JSON object a line, with `--json` one object in all."""
    for kind in args.type or ():
        if kind not in TYPES:
            hint = did_you_mean(kind, TYPES) or f"one of {', '.join(TYPES)}"
            raise Failure("usage", f'there is no event type "{kind}"', hint, WRONG_USAGE)
    found = sessions.detail(args, context)
    events = islice(_chosen(sessions.events(found, context.places), args), args.limit)
    if context.json:
        session = found.session
        output.print_json({"host": session.host, "session_id": session.session_id, "events": list(events)})
    else:
        output.print_lines(events)
    return 0


def _chosen(events: list[Event], args: argparse.Namespace) -> Iterator[Event]:
    types = frozenset(args.type or TYPES)
    for event in events:
        if (
            event.event_type.value in types
            and args.turn in (None, event.turn)
            and (args.agent is None or (event.agent_id or "").startswith(args.agent))
        ):
            yield event
