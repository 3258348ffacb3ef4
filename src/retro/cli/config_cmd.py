"""`retro config`: the settings in force, where each comes from, and which file holds them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from retro import config
from retro.cli import output

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context, Parser


def add_arguments(parser: Parser) -> None:
    """Declare the verbs."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    verbs.add_parser("show", help="every setting, its value and where it comes from")
    verbs.add_parser("path", help="the settings file, whether it exists or not")


def run(args: argparse.Namespace, context: Context) -> int:
    """Show the settings or their file."""
    if args.verb == "path":
        return _path(context)
    return _show(context)


def _path(context: Context) -> int:
    """Needs no settings, so that it also answers for a broken file."""
    file = config.config_path(context.config_option, context.env)
    if context.json:
        output.print_json({"file": file, "exists": os.path.isfile(file)})
    else:
        output.say(file)
    return 0


def _show(context: Context) -> int:
    settings, root = context.settings, context.root
    if context.json:
        found = [{"key": key, "value": value, "origin": origin} for key, value, origin in settings.explain()]
        output.print_json(
            {
                "file": settings.file,
                "root": {"path": root.path, "origin": root.reason},
                "settings": found,
                "warnings": settings.warnings,
            }
        )
        return 0
    output.say(f"archive   {root.path} ({root.reason})")
    output.say(f"settings  {settings.file}{'' if os.path.isfile(settings.file) else ' (does not exist)'}")
    output.say()
    columns = (output.Column("setting"), output.Column("value", shrink=True), output.Column("origin"))
    output.table(((key, _shown(value), origin) for key, value, origin in settings.explain()), columns)
    return 0


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    return "none" if value is None else str(value)
