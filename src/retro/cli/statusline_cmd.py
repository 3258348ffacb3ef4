"""`retro statusline --help`. The command itself is `retro.light.statusline`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.light import statusline

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context, Parser


def add_arguments(parser: Parser) -> None:
    """Declare what it is told."""
    parser.description = (
        "Prints one line: what this session, today and the running five-hour block cost, and how much of the context"
        " is left. An agent calls it where its settings hold"
        ' {"statusLine": {"type": "command", "command": "retro statusline"}}, and says the rest as JSON on stdin.'
    )
    parser.add_argument("--host", metavar="HOST", help="the agent that calls (that of the session, or of its model)")


def run(args: argparse.Namespace, context: Context) -> int:
    """Do what the light command does."""
    options = {"host": args.host, "root": context.root_option, "config": context.config_option}
    return statusline.run([], {name: value for name, value in options.items() if value})
