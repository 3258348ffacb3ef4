"""`retro health`: whether all is well, in one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.cli import moments, output
from retro.cli.output import Column, Styled
from retro.failure import CHECK_NOT_PASSED
from retro.health.interface import RED, Dimension
from retro.health.report import Health, health

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context, Parser


def add_arguments(parser: Parser) -> None:
    """Declare what to look at."""
    parser.add_argument("--host", metavar="HOST", help="only what concerns this agent")
    parser.add_argument("--strict", action="store_true", help="exit with 4 if something is red")


def run(args: argparse.Namespace, context: Context) -> int:
    """Look, and say it."""
    host = moments.known_host(args.host) if args.host is not None else None
    found = health(context.places, context.settings, context.env, host)
    if context.json:
        output.print_json(found)
    else:
        _say(found)
    return CHECK_NOT_PASSED if args.strict and found.zone == RED else 0


def _say(found: Health) -> None:
    columns = [Column(""), Column("score", right=True), Column("dimension"), Column("what was found", shrink=True)]
    output.table(map(_row, found.dimensions), columns)
    for one in found.dimensions:
        for detail in one.details:
            output.say(f"{one.name}: {detail}")
    for one in found.dimensions:
        if one.hint:
            output.say(f"{one.name}: {one.hint}", "yellow")
    output.say(f"{found.zone}, {found.score} of 100", "bold")


def _row(one: Dimension) -> list[str | Styled]:
    colours = {"green": "green", "amber": "yellow", "red": "red"}
    return [Styled(one.zone, colours[one.zone]), str(one.score), one.name, one.says]
