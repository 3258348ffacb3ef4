"""Opening the archive to read it, and finding the session that a person means by the beginning of its id."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import apsw

from retro import agents
from retro.archive.frames import Damaged
from retro.cli import output
from retro.cli.opening import reading as reading
from retro.cli.opening import warn_without_index as warn_without_index
from retro.failure import BUSY, WRONG_USAGE, Failure
from retro.index import queries
from retro.index.database import open_reader

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from retro.archive.committed import SourceState
    from retro.cli.interface import Context, Parser
    from retro.event import Event
    from retro.places import Places

Read = TypeVar("Read")

LATEST = "latest"
WHAT_IS_LEFT = "retro show tells what is left of it; retro pin keeps a session from being given up"
CHOICES = 10
"""At most so many sessions are named where an id could mean several."""


def add_session(parser: Parser) -> None:
    """Declare `[HOST] ID`."""
    parser.add_argument("host", metavar="HOST", nargs="?", help="the agent, where an id alone is not enough")
    parser.add_argument("session", metavar="ID", help=f'the beginning of a session\'s id, or "{LATEST}"')


def host_and_id(words: list[str], usage: str) -> tuple[str | None, str | None]:
    """What `[HOST] [ID]` says where both may be left out: the agent, and the beginning of a session's id."""
    if len(words) > 2:
        raise Failure("usage", f'"{words[2]}" is one word too many', usage, WRONG_USAGE)
    if len(words) == 1 and words[0] not in agents.MODULES:
        return None, words[0]
    if words and words[0] not in agents.MODULES:
        raise Failure("usage", f'there is no host "{words[0]}"', f"one of {', '.join(agents.MODULES)}", WRONG_USAGE)
    return (words[0] if words else None), (words[1] if len(words) == 2 else None)


def detail(args: argparse.Namespace, context: Context) -> queries.Detail:
    """The session that the command line names. Raises a `Failure` where there is none, or several."""
    with reading(context) as index:
        return find(index, args.host, args.session, context)


def find(index: apsw.Connection | None, host: str | None, word: str, context: Context) -> queries.Detail:
    """The session whose id begins with a word."""
    if host is not None and host not in agents.MODULES:
        raise Failure("usage", f'there is no host "{host}"', f"one of {', '.join(agents.MODULES)}", WRONG_USAGE)
    if index is None:
        raise Failure(
            "not_found",
            f'there is no session "{word}": nothing is captured in {context.places.root}',
            "retro sweep captures every session on this machine",
        )
    found = queries.matching(index, word, host) if word else []
    if not found and word == LATEST:
        found = queries.latest(index, host)
    if not found:
        raise _not_found(index, host, word)
    if len(found) > 1:
        raise _ambiguous(index, found, word)
    return queries.detail(index, found[0].host, found[0].session_id)


def _not_found(index: apsw.Connection, host: str | None, word: str) -> Failure:
    of_host = f" of {host}" if host else ""
    if host is None and word in agents.MODULES:
        return Failure("usage", f"which session of {word}?", f"retro list --host {word} shows them", WRONG_USAGE)
    near = queries.near(index, word, host) if word else []
    hint = "retro list shows the ids"
    if near:
        hint = "\n  ".join(["did you mean one of these?" if len(near) > 1 else "did you mean this one?", *_lines(near)])
    return Failure("not_found", f'there is no session "{word}"{of_host}', hint)


def _ambiguous(index: apsw.Connection, found: list[queries.Choice], word: str) -> Failure:
    lines = _lines(found[:CHOICES], queries.short_ids(index, [choice.session_id for choice in found[:CHOICES]]))
    if len(found) > CHOICES:
        lines.append(f"and {output.count(len(found) - CHOICES)} more")
    message = f'"{word}" is the beginning of {output.count(len(found))} ids'
    if len({choice.session_id for choice in found}) == 1:
        message = f'"{word}" is a session of several hosts; name the host before the id'
    return Failure("ambiguous", message, "\n  ".join(lines), WRONG_USAGE)


def _lines(choices: list[queries.Choice], short: dict[str, str] | None = None) -> list[str]:
    width = max(len(choice.host) for choice in choices)
    ids = [(short or {}).get(choice.session_id, choice.session_id) for choice in choices]
    if len(set(ids)) < len(ids):
        ids = [choice.session_id for choice in choices]
    return [
        f"{choice.host:{width}}  {name}  {output.cut(choice.title or '', 60)}".rstrip()
        for choice, name in zip(choices, ids, strict=True)
    ]


# --- what lies in the archive ----------------------------------------------------------------------------------------

MEND = "retro verify --repair mends what can be mended"


def events(found: queries.Detail, places: Places) -> list[Event]:
    """A session's events in reading order; what is left of them, where older ones were given up."""
    from retro.archive.reading import session_events

    if found.events_evicted and not found.normalized_bytes:
        raise Failure("evicted", "this session's events were given up to stay within the space budget", WHAT_IS_LEFT)
    if found.events_evicted:
        output.warn("this session's older events were given up to stay within the space budget")
    return readable(
        found, places, lambda path, committed, damage: session_events(path, found.agents, committed, damage)
    )


def readable(found: queries.Detail, places: Places, read: Callable[[str, int, list[Damaged]], Read]) -> Read:
    """What can be read of a session's events; what cannot is said, and the rest given."""
    path, damage = normalized_file(found, places), list[Damaged]()
    with undamaged(MEND):
        result = read(path, found.normalized_bytes, damage)
        for committed in _newer_lengths(found, places) if damage else ():
            again = list[Damaged]()
            other = read(path, committed, again)
            if not again:
                return other
    if damage:
        what = "a frame" if len(damage) == 1 else f"{len(damage)} frames"
        where = f"at byte {damage[0].position} of {path}: {damage[0].reason}"
        output.warn(f"{what} of this session's events cannot be read, and is left out ({where}); {MEND}")
    return result


def _newer_lengths(found: queries.Detail, places: Places) -> list[int]:
    """The lengths that the file may have got since the index was read: its frames may have been coalesced."""
    connection = open_reader(places)
    if connection is None:
        return []
    try:
        return queries.normalized_lengths(connection, found.number)
    finally:
        connection.close()


def normalized_file(found: queries.Detail, places: Places) -> str:
    """The file of a session's events, which must be whole."""
    if found.replacing:
        raise Failure("busy", "this session's events are being made anew", "run retro sweep, then try again", BUSY)
    return places.checked(places.normalized(found.session.host, found.session.session_id))


def raw_file(found: queries.Detail, source: SourceState, places: Places) -> str:
    """The archived copy of a source."""
    folder = places.raw(found.session.host, found.session.session_id)
    return places.checked(os.path.join(folder, *source.file.split("/")))


@contextmanager
def undamaged(hint: str) -> Iterator[None]:
    """Say what to do where a file of the archive is missing or cannot be read."""
    try:
        yield
    except Damaged as error:
        raise Failure("damaged", f"the archive is damaged: {error}", hint) from None
    except FileNotFoundError as error:
        raise Failure("damaged", f"the archive is damaged: {error.filename} is missing", hint) from None
