"""`retro hook --help`. The command itself is `retro.light.hook`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.light import hook

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context, Parser


def add_arguments(parser: Parser) -> None:
    """Declare what it is told."""
    parser.description = (
        "Notes that a session has ended, for the next sweep. Agents call it; it reads what they say as JSON on stdin,"
        " prints nothing, and always ends with exit code 0."
    )
    parser.add_argument("event", metavar="EVENT", choices=hook.EVENTS, help=" or ".join(hook.EVENTS))
    parser.add_argument("--host", metavar="HOST", help="the agent that calls")


def run(args: argparse.Namespace, context: Context) -> int:
    """Do what the light command does."""
    options = {"host": args.host, "root": context.root_option, "config": context.config_option}
    return hook.run([args.event], {name: value for name, value in options.items() if value})
