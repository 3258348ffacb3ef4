"""`retro dashboard`: everything on one page of your own disk, or live on this machine's loopback."""

from __future__ import annotations

import os
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from retro.archive.traces import DASHBOARD
from retro.cli import moments, output, sessions
from retro.dashboard import site
from retro.dashboard.overview import Choice
from retro.failure import Failure
from retro.ledger import calendar, reports

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context, Parser


def add_arguments(parser: Parser) -> None:
    """Declare the verbs."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    build = verbs.add_parser("build", help="write the pages", description="Write the pages, or bring them up to date.")
    _add_choice(build)
    build.add_argument("--out", metavar="DIR", help="where to (dashboard/ in the archive)")
    build.add_argument(
        "--transcripts",
        choices=site.TRANSCRIPTS,
        default=site.RECENT,
        help=f"of which sessions the whole transcript is written: the newest {site.RECENT_SESSIONS}, all, none",
    )
    build.add_argument("--open", action="store_true", help="open it in the browser")
    about = "Show the pages live, on this machine only: new sessions appear as they are written."
    serve = verbs.add_parser("serve", help="show the pages live, on this machine only", description=about)
    _add_choice(serve)
    serve.add_argument("--port", type=_port, default=8765, help="(8765; 0 for any that is free)")
    serve.add_argument("--no-sweep", action="store_true", help="show what is captured, and capture nothing")
    serve.add_argument("--open", action="store_true", help="open it in the browser")


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 65535:
        raise ValueError
    return number


def _add_choice(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mode", choices=reports.MODES, help="whose cost: see retro cost --help")
    parser.add_argument("--since", metavar="WHEN", help="sessions that were active since then: 2026-11-01, 30d")
    parser.add_argument("--project", metavar="NAME", help="of this project")
    parser.add_argument("--timezone", metavar="ZONE", help="of days, such as Europe/Berlin (this machine's)")
    parser.add_argument(
        "--redact", choices=("strict",), help="strict: figures only, no word and no name that stands in a session"
    )


def choice_of(args: argparse.Namespace, context: Context) -> Choice:
    """What the options ask for."""
    zone = calendar.zone(args.timezone)
    since = None
    if args.since is not None:
        moment = moments.parse_since(args.since, datetime.now(timezone.utc))
        seconds = int(moment.timestamp())
        since = (seconds + zone.offset(seconds)) // 86400
    return Choice(zone, reports.mode_of(args.mode, context.env), since, args.project, args.redact == "strict")


def run(args: argparse.Namespace, context: Context) -> int:
    """Build it."""
    choice = choice_of(args, context)
    if args.verb == "serve":
        return _serve(args, context, choice)
    out = os.path.abspath(os.path.expanduser(args.out)) if args.out else _own_folder(context)
    with sessions.reading(context) as connection:
        if connection is None:
            hint = "retro sweep captures every session on this machine"
            raise Failure("not_found", f"nothing is captured in {context.places.root}", hint)
        order = site.Order(out, choice, args.transcripts)
        built = site.build(connection, context.places, context.settings, context.env, order)
    if context.json:
        output.print_json(built)
    else:
        what = f"{output.count(built.sessions)} session" + ("" if built.sessions == 1 else "s")
        output.say(f"{what}, {output.count(built.written)} written anew, {output.size(built.bytes)}")
        output.say(built.page)
    if args.open:
        _open(Path(built.page).as_uri())
    return 0


def _serve(args: argparse.Namespace, context: Context, choice: Choice) -> int:
    try:
        from retro.dashboard.serve import serve
    except ImportError:
        hint = "pip install 'retro-agent-memory[serve]'; or retro dashboard build, which needs nothing"
        raise Failure("missing_extra", 'the live dashboard needs the extra "serve"', hint) from None
    with sessions.reading(context):  # says so where there is nothing, or an index of another version
        pass
    server = serve(context.places, context.settings, context.env, choice, args.port, not args.no_sweep)
    if context.json:
        output.print_json({"url": server.address})
    else:
        output.say(server.address)
        output.say("Ctrl-C ends it.")
    sys.stdout.flush()
    if args.open:
        _open(server.address)
    try:
        server.run()
    except KeyboardInterrupt:
        pass
    return 0


def _own_folder(context: Context) -> str:
    places = context.places
    return places.checked(os.path.join(places.root, DASHBOARD))


def _open(address: str) -> None:
    """Show it in the person's browser, which they asked for."""
    import webbrowser

    if not webbrowser.open(address):
        output.warn(f"no browser was found to open {address}")
