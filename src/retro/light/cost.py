"""`retro cost … --json` and no more than that: without a parser for every option a report starts in half the time.

What is not read here, `retro.cli.cost_cmd` reads, and says what is wrong with it.
"""

from __future__ import annotations

import gc
import os
import sys
import time

TYPE_CHECKING = False  # as in places
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Final

    import apsw

    from retro.ledger.entries import Asked

VERSION: Final = 1
"""Of the JSON objects, as those of all commands."""

REPORTS: Final = frozenset({"daily", "weekly", "monthly", "session", "project", "model", "blocks"})
# "report": it changes nothing that is printed, and only reports have it.
FLAGS: Final = {
    "--json": "json",
    "-j": "json",
    "--own-only": "own_only",
    "--instances": "instances",
    "--breakdown": "report",
    "-b": "report",
    "--compact": "report",
    "--offline": "",
    "-O": "",
    "--no-color": "",
}
TEXTS: Final = {
    "--root": "root",
    "--config": "config",
    "--timezone": "zone",
    "-z": "zone",
    "--project": "project",
    "-p": "project",
    "--host": "host",
    "--mode": "mode",
    "-m": "mode",
    "--order": "order",
    "-o": "order",
}


class _Given:
    """The words of a call, read."""

    def __init__(self, options: Mapping[str, str | bool]) -> None:
        self.report = ""
        self.flags = {name for name, value in options.items() if value is True}
        self.texts = {name: value for name, value in options.items() if isinstance(value, str)}


def run(arguments: Sequence[str], options: Mapping[str, str | bool]) -> int | None:
    """Print a report and give the exit code; None, and nothing printed, where more is asked for than is read here."""
    given = _read(arguments, options)
    if given is None or sys.stdout.isatty():  # a terminal is shown harmless characters only
        return None
    from retro import agents, config
    from retro.index.database import open_reader
    from retro.places import Places, find_root

    root, host = given.texts.get("root"), given.texts.get("host")
    settings = config.load(given.texts.get("config"), os.environ, root=root, hosts=agents.MODULES)
    places = Places(find_root(root, os.environ, settings).path)
    if settings.warnings or (host is not None and host not in agents.MODULES):
        return None
    asked = _asked(given)
    connection = open_reader(places)
    if connection is None:
        return None
    try:
        _put(_answer(connection, asked, places.index))
    finally:
        connection.close()
    return 0


def _read(arguments: Sequence[str], options: Mapping[str, str | bool]) -> _Given | None:
    """The words, where all of them are such as stand in the tables."""
    found = _Given(options)
    rest = list(arguments)
    if rest and rest[0] in REPORTS:
        found.report = rest.pop(0)
    while rest:
        word = rest.pop(0)
        name, has_value, value = word.partition("=")
        if word in FLAGS:
            found.flags.add(FLAGS[word])
        elif name in TEXTS and (has_value == "" or name.startswith("--")):
            if not has_value:
                value = rest.pop(0) if rest else ""
            if not value or value.startswith("-"):
                return None
            found.texts[TEXTS[name]] = value
        else:
            return None
    order = found.texts.get("order", "asc")
    of_reports = "report" not in found.flags and "order" not in found.texts
    of_periods = "instances" not in found.flags
    fits = (of_reports or found.report) and (of_periods or found.report in ("daily", "weekly", "monthly"))
    return found if "json" in found.flags and fits and order in ("asc", "desc") else None


def _asked(given: _Given) -> Asked:
    from retro.ledger import calendar, reports
    from retro.ledger.entries import Asked

    texts, flags = given.texts, given.flags
    wanted = reports.Wanted(
        project=texts.get("project"),
        host=texts.get("host"),
        own_only="own_only" in flags,
        mode=reports.mode_of(texts.get("mode"), os.environ),
    )
    asked = Asked(given.report, wanted, calendar.zone(texts.get("zone")))
    asked.instances = "instances" in flags
    asked.newest_first = texts.get("order") == "desc"
    return asked


def _answer(connection: apsw.Connection, asked: Asked, path: str) -> Iterator[str]:
    """The answer, in pieces; what reads the index is done with before the first one."""
    import apsw

    from retro.index.database import explained
    from retro.ledger import entries, written

    gc.disable()  # a report is short, and makes much that is needed to its end
    try:
        connection.execute("BEGIN")  # every query sees the same state
        if asked.report == "blocks":
            from retro.ledger import blocks

            now = int(time.time() * 1000)
            found = blocks.blocks(connection, asked.wanted, now)
            return written.blocks(found, blocks.gaps(found), asked, now, None)
        if not asked.report:
            return iter((written.glance(entries.glance(connection, asked.wanted, asked.zone)),))
        if asked.report == "session":
            from retro.ledger.written_sessions import sessions

            return sessions(connection, asked)
        return written.report(entries.table(connection, asked))
    except apsw.Error as error:
        raise explained(error, path) from None
    finally:
        gc.enable()


def _put(pieces: Iterator[str]) -> None:
    """Print an object of JSON, in UTF-8 whatever the locale."""
    out = sys.stdout.buffer
    sys.stdout.flush()
    out.write(b'{"version":%d,' % VERSION)
    out.write(next(pieces)[1:].encode())
    for piece in pieces:
        out.write(piece.encode())
    out.write(b"\n")
    out.flush()
