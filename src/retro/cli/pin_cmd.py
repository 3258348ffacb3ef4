"""`retro pin`: sessions that are never given up, whatever the budget for space."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.cli import output, sessions
from retro.lock import Lock
from retro.upkeep import budget

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context, Parser


def add_arguments(parser: Parser) -> None:
    """Declare which session, and whether it is to be kept."""
    sessions.add_session(parser)
    parser.add_argument("--undo", action="store_true", help="let it be given up like any other")


def run(args: argparse.Namespace, context: Context) -> int:
    """Pin it, or take the pin away. Doing it again changes nothing."""
    found = sessions.detail(args, context).session
    with Lock(context.places.lock, context.settings.lock_wait_seconds):
        changed = budget.pin(context.places, found.host, found.session_id, keep=not args.undo)
    if context.json:
        state = {"host": found.host, "session_id": found.session_id, "pinned": not args.undo, "changed": changed}
        output.print_json(state)
        return 0
    words = {
        (False, True): "pinned: it is never given up",
        (False, False): "pinned already",
        (True, True): "no longer pinned",
        (True, False): "not pinned",
    }
    output.say(f"{found.session_id} {words[args.undo, changed]}")
    return 0
