"""`retro forget`: deletes sessions from everywhere in the archive, for good, after showing what goes."""

from __future__ import annotations

import os
import sys
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import msgspec

from retro.archive.traces import traces
from retro.cli import moments, output, sessions
from retro.cli.output import Column
from retro.failure import WRONG_USAGE, Failure
from retro.lock import Lock
from retro.upkeep import forget
from retro.upkeep.sessions import Chosen, chosen

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context, Parser

SHOWN = 30
"""At most so many sessions are printed; `--json` gives all."""

COLUMNS = (
    Column("host"),
    Column("session"),
    Column("title", shrink=True),
    Column("last active"),
    Column("files", right=True),
    Column("size", right=True),
)


class Going(msgspec.Struct):
    """A session that is to be forgotten, and what there is of it."""

    host: str
    session_id: str
    title: str | None
    project: str | None
    ended: str | None
    files: int
    bytes: int


def add_arguments(parser: Parser) -> None:
    """Declare which sessions, and how sure the person is."""
    parser.usage = (
        "retro forget [HOST] ID [--yes | --dry-run] [options]\n"
        "       retro forget [HOST] [--project NAME] [--before WHEN] [--yes | --dry-run] [options]\n"
        "       retro forget --undo HOST ID"
    )
    parser.add_argument("words", metavar="[HOST] [ID]", nargs="*", help="a session, by the beginning of its id")
    parser.add_argument("--project", metavar="NAME", help="every session of this project")
    parser.add_argument("--before", metavar="WHEN", help="every session last active before: 2026-11-01, 30d, 12w")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--yes", action="store_true", help="do not ask")
    how.add_argument("--dry-run", action="store_true", help="only show what would go")
    how.add_argument("--undo", action="store_true", help="let a forgotten session be captured again (whole id)")


def run(args: argparse.Namespace, context: Context) -> int:
    """Show them, ask, and forget them."""
    host, word = sessions.host_and_id(args.words, "retro forget [HOST] ID")
    if args.undo:
        return _undo(args, context, host, word)
    going = _going(args, context, host, word)
    if not going:
        return _report(context, [], done=False)
    if not context.json:
        _show(going)
    if args.dry_run:
        return _report(context, going, done=False)
    if not args.yes:
        _ask(going, context)
    with Lock(context.places.lock, context.settings.lock_wait_seconds):
        clean = forget.forget(context.places, [(one.host, one.session_id) for one in going])
    if not clean:
        output.warn("another program reads the index: what it still holds of them goes with the next sweep")
    return _report(context, going, done=True)


# --- which -----------------------------------------------------------------------------------------------------------


def _going(args: argparse.Namespace, context: Context, host: str | None, word: str | None) -> list[Going]:
    many = args.project is not None or args.before is not None
    if many == (word is not None):
        message = "a session's id does not go with --project or --before" if many else "which sessions?"
        raise Failure("usage", message, "retro forget --help", WRONG_USAGE)
    before = None
    if args.before is not None:
        before = moments.stamp(moments.parse_since(args.before, datetime.now(timezone.utc)))
    with sessions.reading(context) as index:
        if word is not None:
            found = sessions.find(index, host, word, context).session
            wanted = chosen(index, host=found.host, session_id=found.session_id) if index else []
        elif index is None:
            wanted = []
        else:
            wanted = chosen(index, host=host, project=args.project, before=before)
    return [_measured(one, context) for one in wanted]


def _measured(session: Chosen, context: Context) -> Going:
    """What lies in the archive of a session."""
    files, size = 0, 0
    for path in traces(context.places, *session.key):
        below = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
        for file in below if os.path.isdir(path) else [path]:
            files, size = files + 1, size + os.lstat(file).st_size
    return Going(session.host, session.session_id, session.title, session.project, session.ended, files, size)


# --- asking ----------------------------------------------------------------------------------------------------------


def _show(going: list[Going]) -> None:
    rows = [
        (
            one.host,
            one.session_id,
            one.title or "(untitled)",
            moments.local(one.ended),
            output.count(one.files),
            output.size(one.bytes),
        )
        for one in going[:SHOWN]
    ]
    output.table(rows, COLUMNS)
    if len(going) > SHOWN:
        output.say(f"and {output.count(len(going) - SHOWN)} more")


def _ask(going: list[Going], context: Context) -> None:
    """Ask on a terminal; nothing is deleted without an answer."""
    if context.json or not (sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
        raise Failure("not_confirmed", "nothing was deleted", "add --yes, or --dry-run to see what goes", WRONG_USAGE)
    print(f'{_sum(going)} will be deleted for good. Type "yes" to go on: ', end="", flush=True)
    if sys.stdin.readline().strip() != "yes":
        raise Failure("not_confirmed", "nothing was deleted")


def _sum(going: list[Going]) -> str:
    number = f"{output.count(len(going))} session" + ("" if len(going) == 1 else "s")
    files = output.count(sum(one.files for one in going))
    return f"{number} ({files} files, {output.size(sum(one.bytes for one in going))})"


def _report(context: Context, going: list[Going], *, done: bool) -> int:
    if context.json:
        output.print_json({"root": context.places.root, "done": done, "sessions": going})
    elif not going:
        output.say("No session fits: there is nothing to forget.")
    elif done:
        output.say(f"{_sum(going)} forgotten. The agents' own files were not touched; they are not captured again.")
    else:
        output.say(f"{_sum(going)} would be deleted; nothing was.")
    return 0


def _undo(args: argparse.Namespace, context: Context, host: str | None, word: str | None) -> int:
    if host is None or word is None or args.project is not None or args.before is not None:
        raise Failure("usage", "which session?", "retro forget --undo HOST ID, with the whole id", WRONG_USAGE)
    with Lock(context.places.lock, context.settings.lock_wait_seconds):
        lifted = forget.welcome(context.places, host, word)
    if not lifted:
        raise Failure("not_found", f'no session "{word}" of {host} was forgotten', "the whole id is needed")
    if context.json:
        output.print_json({"host": host, "session_id": word, "forgotten": False})
    else:
        output.say("It may be captured again: retro sweep does so if the agent still has it.")
    return 0
