"""Writing the search index: passages in, passages out, with the words that they are found by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
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
GROWING: Final = {"hashsize": HASH_BYTES, "automerge": 8, "usermerge": 8, "crisismerge": 400}
"""Eight segments of a level are merged, page by page while words come in, and by `keep_up`. A crisis merges all of a
level at once, however large it is: with the default of 16, a few hundred appends after a load, the whole index."""

STEP: Final = 128
"""Pages of words that a sweep merges at most when it has ended: some milliseconds. With fewer, segments pile up behind
a long merge, and a search looks into each."""

PROMPTS: Final = 10
PROMPT: Final = 300

AT_ONCE: Final = 4 * 1024 * 1024
"""Characters whose words go in together at the latest."""

_PUT: Final = (
    "INSERT INTO passage (id, session, source, number, turn, open, errors, started, model, branch, tools, files)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_PUT_BODY: Final = "INSERT INTO passage_body (id, body) VALUES (?, ?)"
_PUT_TEXT: Final = f"INSERT INTO passage_text (rowid, {', '.join(terms.COLUMNS)}) VALUES ({', '.join('?' * 9)})"  # noqa: S608


class Scope(NamedTuple):
    """What of a session its passages can be narrowed by."""

    host: str
    project: str | None
    repository: str | None
    clone: int | None


class Intake:
    """Puts passages in: rows at once, words together at `settle`.

    Many a statement has SQLite write out the words that it holds in memory, as a segment that is to be merged later.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self._next = 0
        self._words: list[tuple[object, ...]] = []
        self._size = 0

    def put(self, number: int, passage: Passage, scope: Scope, title: str = "") -> None:
        """Put one in, into the transaction that is open."""
        if not self._next:
            self._next = next(rows(self.connection, "SELECT coalesce(max(id), 0) + 1 FROM passage"))[0]
        row_id, self._next = self._next, self._next + 1
        self.connection.execute(_PUT, (row_id, number, passage.source, passage.number, *_values(passage)))
        self.connection.execute(_PUT_BODY, (row_id, passage.body))
        self._words.append((row_id, title, *passage.columns, " ".join(_marks(passage, scope))))
        self._size += sum(map(len, passage.columns))
        if self._size >= AT_ONCE:
            self._put_words()

    def take_out(self, query: str, values: Sequence[tuple[object, ...]]) -> None:
        """Delete passages, with words and all."""
        self._put_words()  # those of the ones that go must be there
        self.connection.executemany(query, values)

    def settle(self) -> None:
        """Put in what words are left: before the transaction ends, and before anybody searches."""
        self._put_words()
        self._next = 0

    def _put_words(self) -> None:
        if self._words:
            self.connection.executemany(_PUT_TEXT, self._words)
            self._words, self._size = [], 0


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
    """Set the index up for what is to come; whether it is a first load, after which it is to be settled.

    One that died before it was settled goes on.
    """
    empty = not next(rows(connection, "SELECT EXISTS (SELECT 1 FROM passage)"))[0]
    first = empty or _configured(connection).get("automerge") == BULK["automerge"]
    _configure(connection, BULK if first else GROWING)
    return first


def gather(connection: apsw.Connection) -> None:
    """During a first load: make one segment of many, out of the way of what appends merge."""
    connection.execute("INSERT INTO passage_text (passage_text) VALUES ('optimize')")


def settle(connection: apsw.Connection) -> None:
    """After a first load, of which all or nearly all was gathered: set the index up for growing."""
    _configure(connection, GROWING)
    give_back(connection)


def keep_up(connection: apsw.Connection) -> None:
    """After a sweep: merge some of the segments that are too many, so that no later one has much to merge."""
    connection.execute("INSERT INTO passage_text (passage_text, rank) VALUES ('merge', ?)", (STEP,))


def purge(connection: apsw.Connection) -> None:
    """Write the index anew without the words of what was deleted; until then they still stand in its pages."""
    connection.execute("INSERT INTO passage_text (passage_text) VALUES ('optimize')")
    give_back(connection)


def _configure(connection: apsw.Connection, wanted: dict[str, int]) -> None:
    known = _configured(connection)
    for name, value in wanted.items():
        if known.get(name) != value:
            connection.execute("INSERT INTO passage_text (passage_text, rank) VALUES (?, ?)", (name, value))


def _configured(connection: apsw.Connection) -> dict[str, int]:
    return dict(rows(connection, "SELECT k, v FROM passage_text_config"))


def write(intake: Intake, number: int, part: Part, before: Scope | None) -> None:
    """Put the passages of a part in; those that were there and are the same stay as they are."""
    query = "SELECT host, project, repository, clone FROM session WHERE id = ?"
    scope = Scope(*next(rows(intake.connection, query, (number,))))
    if before is not None and before != scope:
        _mark_again(intake, number, scope)
    given = part.passages
    if part.replaces_turns:
        given = _changed(intake, number, given)
    elif before is not None and given:
        query = "DELETE FROM passage WHERE session = ? AND source = ? AND number = ?"
        intake.take_out(query, [(number, passage.source, passage.number) for passage in given])
    for passage in given:
        intake.put(number, passage, scope)


def _changed(intake: Intake, number: int, given: list[Passage]) -> list[Passage]:
    """Of all passages of a session those that are not in the index; what else is in it goes."""
    wanted = {(passage.source, passage.number): passage for passage in given}
    query = (
        "SELECT id, source, number, body, turn, open, errors, started, model, branch, tools, files"
        " FROM passage JOIN passage_body USING (id) WHERE session = ? AND source <> 'session'"
    )
    gone = []
    for row_id, source, count, body, *values in rows(intake.connection, query, (number,)):
        passage = wanted.get((source, count))
        if passage is not None and passage.body == body and _values(passage) == tuple(values):
            del wanted[source, count]
        else:
            gone.append((row_id,))
    if gone:
        intake.take_out("DELETE FROM passage WHERE id = ?", gone)
    return list(wanted.values())


def _values(passage: Passage) -> tuple[object, ...]:
    """What a row says of a passage, from its turn on."""
    return (
        *(passage.turn, int(passage.open), int(passage.errors), passage.started, passage.model, passage.branch),
        *("\n".join(passage.tools), "\n".join(passage.files)),
    )


def _marks(passage: Passage, scope: Scope) -> Iterator[str]:
    yield _marks_of(scope)
    if passage.branch:
        yield _mark(terms.BRANCH, passage.branch)
    for tool in passage.tools:
        yield _mark(terms.TOOL, tool)
    if passage.errors:
        yield _mark(terms.FAILED, "")


_mark = lru_cache(4096)(terms.mark)


@lru_cache(64)
def _marks_of(scope: Scope) -> str:
    """The marks that all passages of a session share."""
    marks = [_mark(terms.HOST, scope.host)]
    if scope.project:
        marks.append(_mark(terms.PROJECT, scope.project))
    if scope.repository:
        marks.append(_mark(terms.PROJECT, scope.repository.rpartition("/")[2]))
        marks.append(_mark(terms.PROJECT, scope.repository))
    if scope.clone is not None:
        marks.append(_mark(terms.CLONE, str(scope.clone)))
    return " ".join(marks)


def _mark_again(intake: Intake, number: int, scope: Scope) -> None:
    """A session turned out to belong elsewhere: its passages are found there from now on."""
    query = (
        "SELECT id, source, number, turn, body, started, errors, tools, files, model, branch, open"
        " FROM passage JOIN passage_body USING (id) WHERE session = ? AND source <> 'session'"
    )
    found = list(rows(intake.connection, query, (number,)))
    intake.take_out("DELETE FROM passage WHERE id = ?", [(row_id,) for row_id, *_ in found])
    for _, source, count, turn, body, started, errors, tools, files, *rest in found:
        named = _lines(files)
        told = columns(unpacked(body), named)
        values = (source, count, turn, body, told, started, bool(errors), _lines(tools), named)
        intake.put(number, Passage(*values, rest[0], rest[1], bool(rest[2])), scope)
    intake.connection.execute("INSERT OR IGNORE INTO retitled (session) VALUES (?)", (number,))


# --- what tells a whole session --------------------------------------------------------------------------------------


def write_titles(intake: Intake) -> None:
    """Index the titles that are new or have changed."""
    changed = [number for (number,) in rows(intake.connection, "SELECT session FROM retitled")]
    tell_sessions(intake, changed)
    if changed:
        intake.connection.execute("DELETE FROM retitled")


def tell_sessions(intake: Intake, numbers: list[int]) -> None:
    """Index what sessions are about: their titles, and, where events were given up, how the prompts begin."""
    query = "SELECT id FROM passage WHERE session = ? AND source = ?"
    told = [row for number in numbers for row in rows(intake.connection, query, (number, SESSION))]
    if told:
        intake.take_out("DELETE FROM passage WHERE id = ?", told)
    for number in numbers:
        _tell(intake, number)


def _tell(intake: Intake, number: int) -> None:
    query = "SELECT title, events_evicted, host, project, repository, clone FROM session WHERE id = ?"
    title, evicted, *scope = next(rows(intake.connection, query, (number,)))
    texts = [Piece("", terms.PROMPT, title)] if title else []
    if evicted:
        query = "SELECT event_id, substr(prompt, 1, ?) FROM turn WHERE session = ? ORDER BY turn LIMIT ?"
        found = rows(intake.connection, query, (PROMPT, number, PROMPTS))
        texts += [Piece(event_id, terms.PROMPT, prompt) for event_id, prompt in found]
    if not texts:
        return
    told = columns(texts[1:] if title else texts, [])
    shown = terms.spread(title) if title else ""
    intake.put(number, Passage(SESSION, 0, 0, packed(texts), told), Scope(*scope), shown)


def give_up(connection: apsw.Connection, host: str, session_id: str) -> None:
    """Take a session's passages out, because its events were given up; what tells the whole session stays."""
    query = "SELECT id FROM session WHERE host = ? AND session_id = ?"
    intake = Intake(connection)
    for (number,) in list(rows(connection, query, (host, session_id))):
        intake.take_out("DELETE FROM passage WHERE session = ? AND source <> ?", [(number, SESSION)])
        tell_sessions(intake, [number])
    intake.settle()


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
