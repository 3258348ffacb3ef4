"""Candidates for a query, the newest first, and what each of its words is worth in each of them.

On the light path: only small modules of the standard library, and apsw.
"""

from __future__ import annotations

from math import log

from retro import terms
from retro.index.narrowing import conditions, marks
from retro.index.query import tokenizer

TYPE_CHECKING = False  # as in places: this is on the light path
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    import apsw

    from retro.index.hits import Filters, Found
    from retro.index.query import Term

    _Grade = Callable[[apsw.FTS5ExtensionApi], None]

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


class Row:
    """A candidate: a passage, and what each word of the query is worth in it."""

    __slots__ = ("id", "score", "session", "source", "started", "turn", "worth")

    def __init__(self, values: tuple[Any, ...], worth: dict[int, float]) -> None:
        self.id, self.session, self.turn, self.started, self.source, _ = values
        self.worth = worth
        self.score: float = sum(worth.values())
        """All of it together."""


def _grader(phrases: list[int], weights: Sequence[float], found: dict[int, dict[int, float]]) -> _Grade:
    """What SQLite calls for each candidate, with what it weighs; written so that a call takes little."""
    looked_at = [(at, place, weights[place] * (SATURATION + 1)) for at, place in enumerate(phrases) if place >= 0]
    shortest, per_word = SATURATION * (1 - LENGTH), 0.0
    in_title, in_prompt, in_answer, in_command, in_error, in_output, in_names, _ = WEIGHTS.values()

    def grade(api: apsw.FTS5ExtensionApi) -> None:
        nonlocal per_word
        if not per_word:
            per_word = SATURATION * LENGTH / max(api.column_total_size() / max(api.row_count, 1), 1.0)
        norm = shortest + per_word * api.column_size()
        worth: dict[int, float] = {}
        for at, place, weight in looked_at:
            title, prompt, answer, command, error, output, names, _ = api.phrase_locations(at)
            count = in_output * len(output) if output else 0.0
            if title:
                count += in_title * len(title)
            if prompt:
                count += in_prompt * len(prompt)
            if answer:
                count += in_answer * len(answer)
            if command:
                count += in_command * len(command)
            if error:
                count += in_error * len(error)
            if names:
                count += in_names * len(names)
            if count:
                value = weight * count / (count + norm)
                if value > worth.get(place, 0.0):
                    worth[place] = value
        found[api.rowid] = worth

    return grade


_grading: dict[int, _Grade] = {}


def _grade(api: apsw.FTS5ExtensionApi, *values: Any) -> None:
    _grading[values[0]](api)


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
    weights: Sequence[float],
    filters: Filters,
    found: Found,
    *,
    some: bool = False,
) -> list[Row]:
    """The newest passages with all (or some) of the chosen terms, graded by these and by the terms beside them.

    What a term is worth is told by its weight, by how often it stands there, for the passage's length, and where.
    """
    expression, phrases = _expression(chosen, beside, filters, connection, some=some)
    given, values = conditions(filters)
    sql = _SELECT.format("".join(f" AND ({condition})" for condition in given))
    worth: dict[int, dict[int, float]] = {}
    _grading[id(worth)] = _grader(phrases, weights, worth)
    try:
        values = {**values, "expression": expression, "most": MOST_CANDIDATES + 1, "grader": id(worth)}
        rows = _run(connection, sql, values)
    finally:
        del _grading[id(worth)]
    if len(rows) > MOST_CANDIDATES:
        found.newest_only = True
        rows.pop()
    return [Row(row, of) for row in rows if (of := worth[row[0]])]


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


def weights(known: Sequence[tuple[Term, int]], total: int, sessions: int) -> list[float]:
    """What each term is worth: as much as it is rare among so many passages, and as often as it was asked for.

    Where sessions are looked for, rarity is that among these, which only candidates tell: see `weigh_by_session`.
    """
    return [1.0 if sessions else weight(term, count, total) for term, count in known]


def weigh_by_session(rows: list[Row], known: Sequence[tuple[Term, int]], sessions: int) -> None:
    """Make each word worth as much as it is rare among so many sessions.

    A word that fills one session and stands in no other tells it from all others.
    """
    counts = _by_session(rows, [count for _, count in known], sessions)
    factors = [weight(term, count, sessions) for (term, _), count in zip(known, counts, strict=True)]
    for row in rows:
        row.worth = worth = {place: value * factors[place] for place, value in row.worth.items()}
        row.score = sum(worth.values())


def weight(term: Term, count: int, total: int) -> float:
    """What a term tells that stands in so many of all."""
    return rarity(count, total) * (1 + log(term.times))


def rarity(count: int, total: int) -> float:
    """What is told by what stands in so many of all."""
    return log(1 + (total - count + 0.5) / (count + 0.5))


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
