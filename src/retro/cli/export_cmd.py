"""`retro export`: one session as one file to share, with what was masked in it named."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import msgspec

from retro.cli import output, sessions
from retro.cli.render_cmd import accounting_line
from retro.places import write_private
from retro.surfaces import markdown
from retro.surfaces.redaction import Redaction

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context, Parser
    from retro.event import Event, Session
    from retro.index.queries import Detail

FORMATS = ("html", "md", "jsonl", "json")


class Exported(msgspec.Struct):
    """What `retro export --json` prints."""

    host: str
    session_id: str
    format: str
    file: str | None
    bytes: int
    masked: dict[str, int]
    """What was taken out, and how often."""


def add_arguments(parser: Parser) -> None:
    """Declare which session, as what, and where to."""
    sessions.add_session(parser)
    parser.add_argument("--format", "-f", choices=FORMATS, default="html", help="(html)")
    parser.add_argument(
        "--output", "-o", metavar="FILE", help="write it to this file (ID.FORMAT in this folder; - prints it)"
    )


def run(args: argparse.Namespace, context: Context) -> int:
    """Export it, and say what was masked."""
    found = sessions.detail(args, context)
    redaction = Redaction()
    events = [redaction.event(event) for event in sessions.events(found, context.places)]
    session = _redacted(found.session, redaction)
    content = _content(args.format, found, session, events, redaction)
    masked = dict(sorted(redaction.counts.items()))
    taken = ", ".join(f"{name} {output.count(number)}" for name, number in masked.items())
    said = f"masked: {taken}" if taken else "nothing in it had to be masked"
    if args.output == "-":
        output.write_bytes(content)
        output.notice(output.harmless(said))
        return 0
    name = args.output or f"{found.session.session_id[:8]}.{args.format}"
    path = os.path.abspath(os.path.expanduser(name))
    write_private(path, content)
    if context.json:
        output.print_json(Exported(session.host, found.session.session_id, args.format, path, len(content), masked))
        return 0
    output.say(path)
    print(output.harmless(said), file=sys.stderr)
    return 0


def _redacted(session: Session, redaction: Redaction) -> Session:
    names = ("title", "cwd", "branch", "project")
    return msgspec.structs.replace(session, **{name: redaction.optional(getattr(session, name)) for name in names})


def _content(kind: str, found: Detail, session: Session, events: list[Event], redaction: Redaction) -> bytes:
    if kind == "html":
        from retro.surfaces import page

        return page.page(session, events, redaction.counts)
    if kind == "md":
        text = "".join(markdown.render(session, events, accounting_line=accounting_line(found)))
        taken = ", ".join(f"{name} {number:,}" for name, number in sorted(redaction.counts.items()))
        said = f"Masked: {taken}." if taken else "Nothing in it had to be masked."
        return f"{text.rstrip()}\n\n---\n\n{said}\n".encode()
    if kind == "jsonl":
        return b"".join(msgspec.json.encode(event) + b"\n" for event in events)
    masked = dict(redaction.counts)
    return msgspec.json.encode({"version": 1, "session": session, "masked": masked, "events": events}) + b"\n"
