"""`retro init`: makes an archive in a folder, and registers it in the user's settings so that retro uses it there."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from retro import config, places
from retro.cli import output

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context, Parser


def add_arguments(parser: Parser) -> None:
    """Declare where."""
    parser.add_argument(
        "folder",
        metavar="DIR",
        nargs="?",
        help=f"the archive's own folder (default: {places.ARCHIVE_NAME} in the current one)",
    )


def run(args: argparse.Namespace, context: Context) -> int:
    """Make it, register it, and say how it is used. Doing it again changes nothing."""
    folder = args.folder or context.root_option or places.ARCHIVE_NAME
    named = os.path.abspath(os.path.expanduser(folder))
    root = os.path.join(os.path.realpath(os.path.dirname(named)), os.path.basename(named))
    was_empty = not os.path.isdir(root) or not os.listdir(root)
    created = places.init_root(root)
    settings_file = config.config_path(context.config_option, context.env)
    registered = config.register_root(root, settings_file)
    if registered and not was_empty:
        output.warn(f"{root} held an archive already; from now on it is read as yours")
    if context.json:
        output.print_json({"root": root, "created": created, "registered": registered, "settings": settings_file})
        return 0
    output.say(f"{'made' if created else 'already there:'} {root}")
    output.say(_use(root))
    return 0


def _use(root: str) -> str:
    parent, name = os.path.split(root)
    if name == places.ARCHIVE_NAME:
        return f"retro uses it whenever it runs in {parent}"
    return "retro uses it when --root, RETRO_ROOT or [archive] root in the settings names it"
