"""`retro render`: a session as one markdown file, kept in the archive or written where you say."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from retro.archive import account
from retro.cli import output, sessions
from retro.places import Places, make_private_dir, write_private
from retro.surfaces import markdown

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context, Parser
    from retro.index.queries import Detail


def add_arguments(parser: Parser) -> None:
    """Declare which session, and where to."""
    sessions.add_session(parser)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--stdout", action="store_true", help="print the markdown")
    where.add_argument("-o", "--output", metavar="FILE", help="write it to this file")


def run(args: argparse.Namespace, context: Context) -> int:
    """Render it, and print its path or the markdown itself."""
    found = sessions.detail(args, context)
    who = {"host": found.session.host, "session_id": found.session.session_id}
    if args.stdout:
        text = markdown_of(found, context.places)
        if context.json:
            output.print_json({**who, "markdown": text})
        elif sys.stdout.isatty():
            output.say(text.removesuffix("\n"))
        else:
            output.write_bytes(text.encode())
        return 0
    if args.output is not None:
        path = os.path.abspath(os.path.expanduser(args.output))
        with open(path, "wb") as file:
            file.write(markdown_of(found, context.places).encode())
    else:
        path = render(found, context.places)
    if context.json:
        output.print_json({**who, "file": path})
    else:
        output.say(path)
    return 0


def render(found: Detail, places: Places) -> str:
    """Write a session's markdown into the archive, all at once; gives its path."""
    path = places.checked(places.rendered(found.session.host, found.session.session_id))
    text = markdown_of(found, places)
    make_private_dir(os.path.dirname(path))
    write_private(path, text.encode())
    return path


def markdown_of(found: Detail, places: Places) -> str:
    """A session as markdown."""
    events = sessions.events(found, places)
    return "".join(markdown.render(found.session, events, accounting_line=accounting_line(found)))


def accounting_line(found: Detail) -> str:
    """The capture accounting in one line: what was written, and every gap."""
    total = account.bytes_of(found.current)
    gaps = [(total.unknown, "of unknown records"), (total.malformed, "malformed"), (total.torn_tail, "not finished")]
    said = [f"{size:,} {what}" for size, what in gaps if size]
    if not total.exact:
        said.append("the sum does not match")
    return f"{total.size:,} bytes captured, {', '.join(said) if said else 'all of them accounted for'}"
