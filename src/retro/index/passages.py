"""Writing the search index: passages in, passages out, with the words that they are found by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import apsw

from retro import terms
from retro.archive.committed import Part
from retro.index.database import give_back, rows
from retro.passages import Passage, Piece, columns, packed, unpacked

SESSION: Final = "session"
"""Source of the passage that tells what a session is about; it stays when the session's events are given up."""

HASH_BYTES: Final = 64 * 1024 * 1024
"""Words kept in memory until a transaction ends; fewer, larger segments."""

BULK: Final = {"hashsize": HASH_BYTES, "automerge": 0, "crisismerge": 400}
"""Segments are merged at the end; where there are many small ones, before SQLite, which counts to 2,000, runs out."""
GROWING: Final = {"hashsize": HASH_BYTES, "automerge": 8, "crisismerge": 16}
"""With 8 no append waits longer than some milliseconds for segments to be merged; with 4 some wait ten times that."""

PROMPTS: Final = 10
PROMPT: Final = 300

_PUT: Final = (
    "INSERT INTO passage (session, source, number, turn, open, errors, started, model, branch, tools, files)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id"
)
_PUT_TEXT: Final = f"INSERT INTO passage_text (rowid, {', '.join(terms.COLUMNS)}) VALUES ({', '.join('?' * 9)})"  # noqa: S608


class Scope(NamedTuple):
    """What of a session its passages can be narrowed by."""

    host: str
    project: str | None
    repository: str | None
    clone: int | None


def last_passages(connection: apsw.Connection, number: int) -> dict[str, Passage]:
    """The last passage of each of a session's sources."""
    query = (
        "SELECT source, number, turn, CASE WHEN open THEN body ELSE x'' END, started, errors, tools, files, model,"
        " branch, open FROM (SELECT source AS of, max(number) AS last FROM passage WHERE session = ?1"
        " AND source <> 'session' GROUP BY source) CROSS JOIN passage ON session = ?1 AND source = of AND number = last"
        " JOIN passage_body USING (id)"
    )
    found = {}
    for source, count, turn, body, started, errors, tools, files, model, branch, is_open in rows(
        connection, query, (number,)
    ):
        found[source] = Passage(
            *(source, count, turn, body, [], started, bool(errors)),
            *(_lines(tools), _lines(files), model, branch, bool(is_open)),
        )
    return found


def begin(connection: apsw.Connection) -> bool:
    """Set the index up for what is to come; whether it is a first load, after which it is to be settled."""
    first = not next(rows(connection, "SELECT EXISTS (SELECT 1 FROM passage)"))[0]
    _configure(connection, BULK if first else GROWING)
    return first


def settle(connection: apsw.Connection) -> None:
    """After a first load: make one segment of many, and set the index up for growing."""
    connection.execute("INSERT INTO passage_text (passage_text) VALUES ('optimize')")
    _configure(connection, GROWING)
    give_back(connection)


def purge(connection: apsw.Connection) -> None:
    """Write the index anew without the words of what was deleted; until then they still stand in its pages."""
    connection.execute("INSERT INTO passage_text (passage_text) VALUES ('optimize')")
    give_back(connection)


def _configure(connection: apsw.Connection, wanted: dict[str, int]) -> None:
    known = dict(rows(connection, "SELECT k, v FROM passage_text_config"))
    for name, value in wanted.items():
        if known.get(name) != value:
            connection.execute("INSERT INTO passage_text (passage_text, rank) VALUES (?, ?)", (name, value))


def write(connection: apsw.Connection, number: int, part: Part, before: Scope | None) -> None:
    """Put the passages of a part in; those that were there and are the same stay as they are."""
    query = "SELECT host, project, repository, clone FROM session WHERE id = ?"
    scope = Scope(*next(rows(connection, query, (number,))))
    if before is not None and before != scope:
        _mark_again(connection, number, scope)
    given = part.passages
    if part.replaces_turns:
        given = _changed(connection, number, given)
    for passage in given:
        if not part.replaces_turns and before is not None:  # each such statement has SQLite write out a segment
            connection.execute(
                "DELETE FROM passage WHERE session = ? AND source = ? AND number = ?",
                (number, passage.source, passage.number),
            )
        put(connection, number, passage, scope)


def _changed(connection: apsw.Connection, number: int, given: list[Passage]) -> list[Passage]:
    """Of all passages of a session those that are not in the index; what else is in it goes."""
    wanted = {(passage.source, passage.number): passage for passage in given}
    query = (
        "SELECT id, source, number, body, turn, open, errors, started, model, branch, tools, files"
        " FROM passage JOIN passage_body USING (id) WHERE session = ? AND source <> 'session'"
    )
    gone = []
    for row_id, source, count, body, *values in rows(connection, query, (number,)):
        passage = wanted.get((source, count))
        if passage is not None and passage.body == body and _values(passage) == tuple(values):
            del wanted[source, count]
        else:
            gone.append((row_id,))
    connection.executemany("DELETE FROM passage WHERE id = ?", gone)
    return list(wanted.values())


def put(connection: apsw.Connection, number: int, passage: Passage, scope: Scope, title: str = "") -> None:
    """Put one in."""
    ((row_id,),) = connection.execute(_PUT, (number, passage.source, passage.number, *_values(passage)))
    connection.execute("INSERT INTO passage_body (id, body) VALUES (?, ?)", (row_id, passage.body))
    connection.execute(_PUT_TEXT, (row_id, title, *passage.columns, " ".join(_marks(passage, scope))))


def _values(passage: Passage) -> tuple[object, ...]:
    """What a row says of a passage, from its turn on."""
    return (
        *(passage.turn, int(passage.open), int(passage.errors), passage.started, passage.model, passage.branch),
        *("\n".join(passage.tools), "\n".join(passage.files)),
    )


def _marks(passage: Passage, scope: Scope) -> Iterator[str]:
    yield terms.mark(terms.HOST, scope.host)
    if scope.project:
        yield terms.mark(terms.PROJECT, scope.project)
    if scope.repository:
        yield terms.mark(terms.PROJECT, scope.repository.rpartition("/")[2])
        yield terms.mark(terms.PROJECT, scope.repository)
    if scope.clone is not None:
        yield terms.mark(terms.CLONE, str(scope.clone))
    if passage.branch:
        yield terms.mark(terms.BRANCH, passage.branch)
    for tool in passage.tools:
        yield terms.mark(terms.TOOL, tool)
    if passage.errors:
        yield terms.mark(terms.FAILED, "")


def _mark_again(connection: apsw.Connection, number: int, scope: Scope) -> None:
    """A session turned out to belong elsewhere: its passages are found there from now on."""
    query = (
        "SELECT id, source, number, turn, body, started, errors, tools, files, model, branch, open"
        " FROM passage JOIN passage_body USING (id) WHERE session = ? AND source <> 'session'"
    )
    for row_id, source, count, turn, body, started, errors, tools, files, *rest in list(
        rows(connection, query, (number,))
    ):
        named = _lines(files)
        found = (source, count, turn, body, columns(unpacked(body), named), started, bool(errors), _lines(tools), named)
        connection.execute("DELETE FROM passage WHERE id = ?", (row_id,))
        put(connection, number, Passage(*found, rest[0], rest[1], bool(rest[2])), scope)
    connection.execute("INSERT OR IGNORE INTO retitled (session) VALUES (?)", (number,))


# --- what tells a whole session --------------------------------------------------------------------------------------


def write_titles(connection: apsw.Connection) -> None:
    """Index the titles that are new or have changed."""
    changed = [number for (number,) in rows(connection, "SELECT session FROM retitled")]
    for number in changed:
        tell_session(connection, number)
    if changed:
        connection.execute("DELETE FROM retitled")


def tell_session(connection: apsw.Connection, number: int) -> None:
    """Index what a session is about: its title, and, where its events were given up, how its prompts begin."""
    query = "SELECT title, events_evicted, host, project, repository, clone FROM session WHERE id = ?"
    title, evicted, *scope = next(rows(connection, query, (number,)))
    connection.execute("DELETE FROM passage WHERE session = ? AND source = ?", (number, SESSION))
    texts = [Piece("", terms.PROMPT, title)] if title else []
    if evicted:
        query = "SELECT event_id, substr(prompt, 1, ?) FROM turn WHERE session = ? ORDER BY turn LIMIT ?"
        found = rows(connection, query, (PROMPT, number, PROMPTS))
        texts += [Piece(event_id, terms.PROMPT, prompt) for event_id, prompt in found]
    if not texts:
        return
    told = columns(texts[1:] if title else texts, [])
    shown = terms.spread(title) if title else ""
    passage = Passage(SESSION, 0, 0, packed(texts), told)
    put(connection, number, passage, Scope(*scope), shown)


def give_up(connection: apsw.Connection, host: str, session_id: str) -> None:
    """Take a session's passages out, because its events were given up; what tells the whole session stays."""
    query = "SELECT id FROM session WHERE host = ? AND session_id = ?"
    for (number,) in list(rows(connection, query, (host, session_id))):
        connection.execute("DELETE FROM passage WHERE session = ? AND source <> ?", (number, SESSION))
        tell_session(connection, number)


def _lines(text: str) -> list[str]:
    return text.split("\n") if text else []


def check(connection: apsw.Connection) -> Iterable[str]:
    """What is wrong with the search index, if anything."""
    try:
        connection.execute("INSERT INTO passage_text (passage_text) VALUES ('integrity-check')")
    except apsw.Error as error:
        yield f"its words cannot be read: {error}"
    query = "SELECT count(*) FROM passage WHERE id NOT IN (SELECT id FROM passage_body)"
    (bare,) = next(rows(connection, query))
    if bare:
        yield f"{bare} passages have lost their text"
