"""What recall reads from the index, each a lookup: files, sessions, turns, checkpoints, repositories."""

from __future__ import annotations

import heapq

from retro.failure import WRONG_USAGE, Failure
from retro.light.words import clean

TYPE_CHECKING = False  # as in places
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import apsw

    from retro.light.scope import Scope

SHORT = 8
"""Fewest characters of a shortened id."""

FAR = 20_000
"""Edits that are looked through at most to find different files."""

CHOICES = 5


class File:
    """A file, when it was edited last, and by which session."""

    __slots__ = ("at", "path", "session")

    def __init__(self, path: str, at: str, session: str) -> None:
        self.path, self.at, self.session = path, at, session


class Session:
    """A session; `short` is what of its id is enough to show it."""

    __slots__ = ("branch", "ended", "errors", "host", "id", "number", "short", "title", "turns")

    def __init__(self, row: tuple[Any, ...], short: str) -> None:
        self.number, self.host, self.id, self.title, self.ended, self.branch, self.turns, self.errors = row
        self.title = clean(self.title or "")
        self.short = short


class Turn:
    """A prompt and its answer."""

    __slots__ = ("answer", "at", "files", "number", "prompt")

    def __init__(self, row: tuple[Any, ...]) -> None:
        self.number, self.prompt, self.answer, self.at, self.files = row


class Checkpoint:
    """A summary that a host wrote down."""

    __slots__ = ("at", "session", "text")

    def __init__(self, at: str, session: str, text: str) -> None:
        self.at, self.session, self.text = at, session, text


class Known:
    """A repository, or a folder of one without a remote."""

    __slots__ = ("ended", "name", "sessions")

    def __init__(self, name: str, sessions: int, ended: str) -> None:
        self.name, self.sessions, self.ended = name, sessions, ended


_SESSION = "id, host, session_id, title, ended, branch, turns, errors"


# --- tier 1 ----------------------------------------------------------------------------------------------------------


def files(connection: apsw.Connection, scope: Scope, limit: int) -> list[File]:
    """The files edited last, each once, newest first."""
    newest: dict[str, tuple[str, int]] = {}
    query = "SELECT path, at, session FROM touched WHERE clone = ? ORDER BY at DESC LIMIT ?"
    for clone in scope.clones:
        seen: set[str] = set()
        for path, at, session in connection.execute(query, (clone, FAR)):
            seen.add(path)
            if path not in newest or at > newest[path][0]:
                newest[path] = (at, session)
            if len(seen) >= limit:
                break
    chosen = heapq.nlargest(limit, newest.items(), key=lambda item: (item[1][0], item[0]))
    of = {number: _session(connection, number) for number in {session for _, (_, session) in chosen}}
    return [File(clean(path), at, of[session].short) for path, (at, session) in chosen]


def sessions(connection: apsw.Connection, scope: Scope, limit: int) -> list[Session]:
    """The last sessions, newest first."""
    order = "ORDER BY ended DESC LIMIT ?"
    if scope.wide:
        found = list(connection.execute(f"SELECT {_SESSION} FROM session {order}", (limit,)))  # noqa: S608 - our columns
    else:
        query = f"SELECT {_SESSION} FROM session WHERE clone = ? {order}"  # noqa: S608
        rows = (row for clone in scope.clones for row in connection.execute(query, (clone, limit)))
        found = heapq.nlargest(limit, rows, key=lambda row: (row[4] or "", row[2]))
    return [Session(row, short(connection, row[1], row[2])) for row in found]


# --- tier 3 ----------------------------------------------------------------------------------------------------------


def find(connection: apsw.Connection, scope: Scope, word: str) -> Session:
    """The session whose id begins so. Raises a `Failure` where there is none, or several."""
    if word == "latest":
        for session in sessions(connection, scope, 1):
            return session
    found = beginning(connection, scope, word)
    if not found:
        place = "" if scope.wide else " here"
        hint = "retro recall list shows them" + ("" if scope.wide else ", --all looks everywhere")
        raise Failure("not_found", f'there is no session "{clean(word)[:80]}"{place}', hint)
    if len(found) > 1:
        some = "\n  ".join(f"{row[1]} {clean(row[2])}" for row in found[:CHOICES])
        raise Failure("ambiguous", f'"{clean(word)}" is the beginning of {len(found)} ids', some, WRONG_USAGE)
    return Session(found[0], short(connection, found[0][1], found[0][2]))


def beginning(connection: apsw.Connection, scope: Scope, word: str) -> list[tuple[Any, ...]]:
    """The sessions whose id begins so; only those whose id it is, if there are any."""
    query = f"SELECT {_SESSION}, clone FROM session WHERE substr(session_id, 1, length(?)) = ? AND ? <> ''"  # noqa: S608
    rows = connection.execute(query, (word, word, word))
    found = [row[:-1] for row in rows if scope.wide or row[-1] in scope.clones]
    return [row for row in found if row[2] == word] or found


def turns(connection: apsw.Connection, number: int, last: int | None, around: int | None = None) -> list[Turn]:
    """Turns of a session, in order: the last ones, or those up to one that is wanted."""
    query = (
        "SELECT turn, prompt, answer, started, files FROM turn WHERE session = ? AND turn <= ?"
        " ORDER BY turn DESC LIMIT ?"
    )
    values = (number, (1 << 62) if around is None else around, -1 if last is None else last)
    return [Turn(row) for row in connection.execute(query, values)][::-1]


def edited(connection: apsw.Connection, number: int, limit: int) -> list[str]:
    """The files that a session edited, newest first."""
    query = "SELECT path FROM touched WHERE session = ? ORDER BY at DESC, path LIMIT ?"
    return [clean(path) for (path,) in connection.execute(query, (number, limit))]


# --- beside ----------------------------------------------------------------------------------------------------------


def checkpoints(connection: apsw.Connection, scope: Scope, limit: int) -> list[Checkpoint]:
    """The newest checkpoints."""
    order = "ORDER BY at DESC LIMIT ?"
    select = "SELECT at, session, text FROM checkpoint"
    if scope.wide:
        found = list(connection.execute(f"{select} {order}", (limit,)))
    else:
        rows = (
            row for c in scope.clones for row in connection.execute(f"{select} WHERE clone = ? {order}", (c, limit))
        )
        found = heapq.nlargest(limit, rows)
    of = {number: _session(connection, number).short for number in {row[1] for row in found}}
    return [Checkpoint(at, of[session], text) for at, session, text in found]


def repositories(connection: apsw.Connection, limit: int, *, local: bool) -> list[Known]:
    """The repositories that sessions worked in, newest first; with `local`, those without a remote by their folder."""
    query = (
        "SELECT CASE WHEN remote <> '' THEN remote ELSE root END, count(*), coalesce(max(ended), '')"
        " FROM clone JOIN session ON session.clone = clone.id WHERE remote <> '' OR :local"
        " GROUP BY 1 ORDER BY 3 DESC, 1 LIMIT :limit"
    )
    rows = connection.execute(query, {"local": local, "limit": limit})
    return [Known(clean(name), count, ended) for name, count, ended in rows]


def _session(connection: apsw.Connection, number: int) -> Session:
    row = next(iter(connection.execute(f"SELECT {_SESSION} FROM session WHERE id = ?", (number,))))  # noqa: S608
    return Session(row, short(connection, row[1], row[2]))


def short(connection: apsw.Connection, host: str, session_id: str) -> str:
    """The shortest beginning of an id that no other session's id of its host has."""
    shared = max((_shared(session_id, other) for other in _beside(connection, host, session_id)), default=0)
    return clean(session_id[: max(SHORT, shared + 1)])


def _beside(connection: apsw.Connection, host: str, session_id: str) -> Iterator[str]:
    for sign, order in (("<", "DESC"), (">", "ASC")):
        query = (
            f"SELECT session_id FROM session WHERE host = ? AND session_id {sign} ?"  # noqa: S608 - our own signs
            f" ORDER BY session_id {order} LIMIT 1"
        )
        for (other,) in connection.execute(query, (host, session_id)):
            yield other


def _shared(one: str, other: str) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))  # noqa: B905
