"""`retro grep`: every byte of the archive, looked through for a pattern. Finds what the search index does not hold."""

from __future__ import annotations

import os
import re
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Final

from retro.cli import moments, output, sessions
from retro.cli.output import paint
from retro.failure import WRONG_USAGE, Failure
from retro.index import queries
from retro.places import Places
from retro.scanning import RAW, File, Looked, Match, Wanted, look_through
from retro.workers import worker_count

if TYPE_CHECKING:
    import argparse

    import apsw

    from retro.cli.interface import Context, Parser

LIMIT: Final = 200


def add_arguments(parser: Parser) -> None:
    """Declare the pattern and filters."""
    parser.add_argument("pattern", metavar="REGEX", help="as Python's re has it")
    parser.add_argument("-i", "--ignore-case", action="store_true", help="large and small letters are the same")
    parser.add_argument("-C", "--context", metavar="N", type=moments.whole, default=0, help="lines around a match")
    parser.add_argument(
        "--raw", action="store_true", help="what the hosts wrote, byte for byte (secrets included), instead of events"
    )
    moments.add_filters(parser, limit=LIMIT)


def run(args: argparse.Namespace, context: Context) -> int:
    """Look through the archive, and say what was looked through."""
    chosen = moments.filters(args)
    wanted = Wanted(args.pattern, args.ignore_case, args.context, args.raw)
    try:
        wanted.compiled()
    except re.error as error:
        raise Failure("usage", f"this is no regular expression: {error}", "see Python's re", WRONG_USAGE) from None
    of = queries.Wanted(
        moments.stamp(chosen.since) if chosen.since else None,
        moments.stamp(chosen.until) if chosen.until else None,
        chosen.project,
        chosen.host,
    )
    with sessions.reading(context) as index:
        files, given_up = ([], 0) if index is None else _files(index, context.places, of, args.raw)
        short = {} if index is None else queries.short_ids(index, {file.session_id for file in files})
    told = _Told(context.json, args.limit, short)
    with closing(look_through(files, wanted, worker_count(context.settings.sweep_workers))) as all_looked:
        for looked in all_looked:
            told.add(looked)
    told.finish(files, given_up, args.raw)
    return 0


def _files(index: apsw.Connection, places: Places, wanted: queries.Wanted, raw: bool) -> tuple[list[File], int]:
    """What there is to look through, the newest session first, and how many sessions have nothing left of it."""
    files, given_up = [], 0
    for host, session_id in queries.session_keys(index, wanted):
        of_session = queries.archived(index, host, session_id)
        found = []
        for source, name, committed in of_session.raw if raw else [("events", "", of_session.normalized_bytes)]:
            path = (
                os.path.join(places.raw(host, session_id), *name.split("/"))
                if raw
                else places.normalized(host, session_id)
            )
            if committed:
                found.append(File(host, session_id, source, path, committed))
        given_up += not found and of_session.given_up
        files += found
    return files, given_up


class _Told:
    """What is shown while it is found, or collected to be one object."""

    def __init__(self, as_json: bool, limit: int, short: dict[str, str]) -> None:
        self._as_json = as_json
        self._left = limit
        self._short = short
        self._objects: list[dict[str, object]] = []
        self.count = self.bytes = self.sessions = 0
        self.damage: list[str] = []

    def add(self, looked: Looked) -> None:
        self.count += looked.count
        self.bytes += looked.bytes
        self.sessions += bool(looked.count)
        self.damage += looked.damage
        for match in looked.matches[: self._left]:
            if self._as_json:
                self._objects.append(_object(looked.file, match))
            else:
                self._say(looked.file, match)
        self._left -= min(self._left, len(looked.matches))

    def _say(self, file: File, match: Match) -> None:
        place = f"{match.field}:{match.line}" if match.field else f"{file.source}:{match.line}"
        head = f"{paint(output.harmless(self._short[file.session_id]), 'cyan', sys.stdout)} {output.harmless(place)}"
        for line in match.before:
            output.say(f"  {line}", "dim")
        print(f"{head}: {output.highlighted(match.text, match.marks)}")
        for line in match.after:
            output.say(f"  {line}", "dim")

    def finish(self, files: list[File], given_up: int, raw: bool) -> None:
        """Say what was looked through, and what could not be."""
        for one in self.damage:
            output.warn(f"could not be read: {one}")
        scanned = {"files": len(files), "bytes": self.bytes, "kind": RAW if raw else "events", "given_up": given_up}
        if self._as_json:
            body = {"matches": self._objects, "total": self.count, "scanned": scanned, "damage": self.damage}
            output.print_json(body)
            return
        what = "what the hosts wrote" if raw else "events"
        shown = len(files)
        said = (
            f"{output.count(self.count)} matching lines in {output.count(self.sessions)} of {output.count(shown)} files"
        )
        output.notice(f"{said}; looked through {output.size(self.bytes)} of {what}")
        if self.count and not self._left:
            output.notice("not all are shown; --limit shows more")
        if given_up:
            output.warn(f"{output.count(given_up)} sessions were given up for space and could not be looked through")


def _object(file: File, match: Match) -> dict[str, object]:
    found: dict[str, object] = {"host": file.host, "session_id": file.session_id, "source": file.source}
    for name in ("event_id", "timestamp", "field"):
        if getattr(match, name) is not None:
            found[name] = getattr(match, name)
    return {
        **found,
        "line": match.line,
        "text": match.text,
        "marks": match.marks,
        "before": match.before,
        "after": match.after,
    }
