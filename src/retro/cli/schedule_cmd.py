"""`retro schedule`: has the system's own scheduler sweep, every hour or so."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from retro.cadence import schedule
from retro.cli import output
from retro.failure import WRONG_USAGE, Failure, did_you_mean

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context, Parser

VERBS = ("install", "status", "uninstall")


def add_arguments(parser: Parser) -> None:
    """Declare what to do."""
    parser.usage = "retro schedule [install | status | uninstall] [--every 1h] [--dry-run] [options]"
    parser.add_argument("verb", metavar="VERB", nargs="?", default="status", help=", ".join(VERBS))
    parser.add_argument("--every", metavar="TIME", default="1h", help="how often: 15m, 1h, 1d (default: 1h)")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")


def run(args: argparse.Namespace, context: Context) -> int:
    """Do it, saying each step."""
    if args.verb not in VERBS:
        hint = did_you_mean(args.verb, VERBS) or f"one of {', '.join(VERBS)}"
        raise Failure("usage", f'there is no "retro schedule {args.verb}"', hint, WRONG_USAGE)
    minutes = schedule.parse_every(args.every)
    scheduler = schedule.scheduler(context.env)
    there = scheduler.installed()
    steps = []
    if args.verb == "install":
        steps = scheduler.install(_command(context), minutes)
    elif args.verb == "uninstall" and there:
        steps = scheduler.uninstall()
    if not args.dry_run:
        schedule.carry_out(steps)
        there = {"install": True, "uninstall": False}.get(args.verb, there)
    if context.json:
        said = {"scheduler": scheduler.name, "installed": there, "dry_run": args.dry_run}
        output.print_json({**said, "steps": [step.said for step in steps]})
        return 0
    for step in steps:
        output.say(f"{'would ' if args.dry_run else ''}{step.said}")
    output.say(_state(scheduler.name, there))
    return 0


def _state(name: str, there: bool) -> str:
    if there:
        return f"{name} runs retro sweep; retro schedule uninstall ends that"
    return f"{name} does not run retro sweep; retro schedule install has it do so"


def _command(context: Context) -> list[str]:
    """The sweep, with the archive and the settings that are in use here."""
    command = [sys.executable, "-m", "retro", "--root", context.places.root]
    if os.path.exists(context.settings.file):
        command += ["--config", context.settings.file]
    return [*command, "sweep", "--background"]
