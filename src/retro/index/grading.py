"""Candidates for a query, the newest first, and what each of its words is worth in each of them.

On the light path: only small modules of the standard library, and apsw.
"""

from __future__ import annotations

from math import log
from operator import mul

from retro import terms
from retro.index.narrowing import conditions, marks
from retro.index.query import tokenizer

TYPE_CHECKING = False  # as in places: this is on the light path
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

    from retro.index.hits import Filters, Found
    from retro.index.query import Term

MOST_CANDIDATES = 2000
"""Passages that are graded for one query."""

SATURATION, LENGTH = 1.2, 0.5
"""BM25's k1 and b."""

WEIGHTS = {
    terms.TITLE: 3.0,
    terms.PROMPT: 2.0,
    terms.ANSWER: 1.5,
    terms.COMMAND: 1.0,
    terms.ERROR: 1.2,
    terms.OUTPUT: 0.8,
    terms.NAMES: 1.0,
    terms.SCOPE: 0.0,
}

_COLUMNS = tuple(WEIGHTS[column] for column in range(len(terms.COLUMNS)))


class Row:
    """A candidate: a passage, and what each word of the query is worth in it."""

    __slots__ = ("id", "score", "session", "source", "started", "turn", "worth")

    def __init__(self, values: tuple[Any, ...], worth: dict[int, float]) -> None:
        self.id, self.session, self.turn, self.started, self.source = values
        self.worth = worth
        self.score = 0.0
        """All of it together."""


class _Grader:
    """Called by SQLite for each candidate."""

    def __init__(self, phrases: list[int]) -> None:
        self._phrases = [(at, place) for at, place in enumerate(phrases) if place >= 0]
        self._average = 0.0
        self.worth: dict[int, dict[int, float]] = {}

    def grade(self, api: apsw.FTS5ExtensionApi) -> None:
        if not self._average:
            self._average = max(api.column_total_size() / max(api.row_count, 1), 1.0)
        norm = SATURATION * (1 - LENGTH + LENGTH * api.column_size() / self._average)
        worth: dict[int, float] = {}
        locations = api.phrase_locations
        for at, place in self._phrases:
            of_columns = locations(at)
            if any(of_columns):
                frequency = sum(map(mul, _COLUMNS, map(len, of_columns)))
                value = frequency * (SATURATION + 1) / (frequency + norm)
                if value > worth.get(place, 0.0):
                    worth[place] = value
        self.worth[api.rowid] = worth


_grading: dict[int, _Grader] = {}


def _grade(api: apsw.FTS5ExtensionApi, *values: Any) -> None:
    _grading[values[0]].grade(api)


TURN = (
    "CASE WHEN passage.turn = 0 AND source <> 'session' THEN coalesce("
    "(SELECT turn.turn FROM turn WHERE turn.session = passage.session AND turn.started <= passage.started"
    " ORDER BY turn.turn DESC LIMIT 1), 0) ELSE passage.turn END"
)
"""The turn of a passage: a sub-agent's stands in the one in which it ran."""

_SELECT = (
    "SELECT passage.id, session,"  # noqa: S608 - our own words
    f" {TURN},"
    " passage.started, source, retro_grade(passage_text, :grader)"
    " FROM passage_text JOIN passage ON passage.id = passage_text.rowid WHERE passage_text MATCH :expression{}"
    " ORDER BY passage_text.rowid DESC LIMIT :most"
)


def graded(
    connection: apsw.Connection,
    chosen: list[Term],
    beside: list[Term],
    filters: Filters,
    found: Found,
    *,
    some: bool = False,
) -> list[Row]:
    """The newest passages with all (or some) of the chosen terms, graded by these and by the terms beside them.

    What a term is worth is told by how often it stands there, for the passage's length, and where: not yet by rarity.
    """
    expression, phrases = _expression(chosen, beside, filters, connection, some=some)
    given, values = conditions(filters)
    sql = _SELECT.format("".join(f" AND ({condition})" for condition in given))
    grader = _Grader(phrases)
    _grading[id(grader)] = grader
    try:
        values = {**values, "expression": expression, "most": MOST_CANDIDATES + 1, "grader": id(grader)}
        rows = _run(connection, sql, values)
    finally:
        del _grading[id(grader)]
    if len(rows) > MOST_CANDIDATES:
        found.newest_only = True
        rows.pop()
    return [Row(row[:5], grader.worth[row[0]]) for row in rows if grader.worth[row[0]]]


def _run(connection: apsw.Connection, sql: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    import apsw

    try:
        return list(connection.execute(sql, values))
    except apsw.SQLError as error:
        if "retro_grade" not in str(error):
            raise
    connection.register_fts5_function("retro_grade", _grade)
    return list(connection.execute(sql, values))


def _expression(
    chosen: list[Term],
    beside: list[Term],
    filters: Filters,
    connection: apsw.Connection,
    *,
    some: bool,
) -> tuple[str, list[int]]:
    """What SQLite is asked, and for each phrase in it the place of its term."""
    phrases: list[int] = []
    parts: list[str] = []
    narrow = list(marks(filters))
    if filters.file:
        words = tokenizer(connection)(terms.spread(filters.file))
        if words:
            narrow.append(f'names : "{" ".join(words)}"')
    for one in narrow:
        parts.append(f"({one})")
        phrases += [-1] * (one.count('"') // 2)
    joiner = " OR " if some else " AND "
    parts.append(f"({joiner.join(f'({term.expression()})' for term in chosen)})")
    phrases += [place for place, term in enumerate(chosen) for _ in range(term.count)]
    if beside:
        # Which passages are looked at, the chosen terms alone say; these are only counted where they stand, too.
        both = [*chosen[:1], *beside]
        places = [0, *range(len(chosen), len(chosen) + len(beside))]
        parts.append(f"({' OR '.join(f'({term.expression()})' for term in [*both, *chosen[1:]])})")
        phrases += [place for place, term in zip(places, both, strict=True) for _ in range(term.count)]
        phrases += [-1] * sum(term.count for term in chosen[1:])
    return " AND ".join(parts), phrases


# --- rarity ----------------------------------------------------------------------------------------------------------


def weigh(rows: list[Row], known: Sequence[tuple[Term, int]], total: int, sessions: int) -> None:
    """Make each word worth as much as it is rare, and as often as it was asked for.

    `known` are the terms with the passages that they stand in, of `total` ones. With `sessions`, so many there are,
    rarity is that among sessions: a word that fills one session and stands in no other tells it from all others.
    """
    counts = [count for _, count in known]
    if sessions:
        counts, total = _by_session(rows, counts, sessions), sessions
    weights = [weight(term, count, total) for (term, _), count in zip(known, counts, strict=True)]
    for row in rows:
        row.worth = worth = {place: value * weights[place] for place, value in row.worth.items()}
        row.score = sum(worth.values())


def weight(term: Term, count: int, total: int) -> float:
    """What a term tells that stands in so many of all."""
    return log(1 + (total - count + 0.5) / (count + 0.5)) * (1 + log(term.times))


def _by_session(rows: list[Row], counts: list[int], sessions: int) -> list[int]:
    """In how many sessions each term stands; estimated where not all of its passages are candidates."""
    passages = [0] * len(counts)
    of: list[set[int]] = [set() for _ in counts]
    for row in rows:
        for place in row.worth:
            passages[place] += 1
            of[place].add(row.session)
    return [
        min(sessions, max(len(found), count * len(found) // (seen or 1)) if count > seen else len(found))
        for count, seen, found in zip(counts, passages, of, strict=True)
    ]
