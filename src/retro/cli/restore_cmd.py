"""`retro restore`: gives a session's files back, byte for byte, to where the agent finds them again or to a folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from retro import retention
from retro.archive.committed import SessionState
from retro.cli import output, sessions
from retro.cli.moments import whole
from retro.upkeep import restore

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context, Parser


def add_arguments(parser: Parser) -> None:
    """Declare which session, and where to."""
    sessions.add_session(parser)
    parser.add_argument("--to", metavar="DIR", help="into this folder, instead of where the agent kept it")
    parser.add_argument("--revision", metavar="N", type=whole, help="as it was then (default: the newest)")


def run(args: argparse.Namespace, context: Context) -> int:
    """Write the files that are missing, and say which."""
    to = os.path.abspath(os.path.expanduser(args.to)) if args.to is not None else None
    with sessions.reading(context) as index:
        found = sessions.find(index, args.host, args.session, context)
    state = SessionState(found.session.host, found.session.session_id, sources=found.sources)
    with sessions.undamaged(sessions.MEND):
        kept = retention.periods(context.settings, context.env, state.host) if to is None else {}
        done = restore.restore(context.places, state, to, args.revision, kept)
    omitted = restore.left_out(state)
    if context.json:
        who = {"host": found.session.host, "session_id": found.session.session_id}
        output.print_json({**who, "files": done, "left_out": omitted})
        return 0
    for file in done:
        output.say(file.path + ("" if file.written else "  (is there already)"), None if file.written else "dim")
    if omitted:
        output.say(f"{', '.join(omitted)}: rows of the agent's database, which only the agent can write")
    return 0
