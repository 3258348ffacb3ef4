"""`retro methods`: what mining knows how to look for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.cli import output
from retro.cli.output import Column
from retro.mining import base

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context, Parser


def add_arguments(parser: Parser) -> None:
    """There is nothing to choose."""


def run(args: argparse.Namespace, context: Context) -> int:
    """List them; those that start a program, and so are never part of `all`, are marked."""
    problems: list[str] = []
    found = base.methods(problems).values()
    for problem in problems:
        output.warn(problem)
    if context.json:
        rows = [
            {
                "name": method.name,
                "description": method.description,
                "version": method.version,
                "reach": method.reach,
                "opt_in": method.opt_in,
                "origin": method.origin,
            }
            for method in found
        ]
        output.print_json({"methods": rows})
        return 0
    output.table(
        [
            [method.name, method.reach, "only when named" if method.opt_in else "", method.description]
            for method in found
        ],
        [Column("method"), Column("looks at one"), Column(""), Column("for", shrink=True)],
    )
    return 0
