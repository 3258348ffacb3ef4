"""Finding turns and sessions by what is meant, and by that together with words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import apsw
import numpy as np

from retro.index.database import rows
from retro.index.grading import TURN
from retro.index.hits import Filters, Found, Hit
from retro.index.narrowing import conditions
from retro.index.query import Query, parse, stems, tokenizer
from retro.index.search import ranked, show
from retro.index.snippets import WIDTH, Snippet
from retro.passages import unpacked
from retro.semantic import keeping
from retro.semantic.matrix import highest
from retro.semantic.model import Choice, Model, load
from retro.semantic.windows import cut
from retro.terms import ANSWER, PROMPT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Key = tuple[int, int | None]

NEAREST: Final = 300
"""Windows that are looked at of each kind."""

DEEP: Final = 200
"""Hits of a list that count."""

DAMPING: Final = 60
"""How slowly what a place in a list is worth falls, as it is usual for such sums of ranks."""

WORDS: Final = 1.0
BY_KIND: Final = {PROMPT: 0.3, ANSWER: 0.7}
"""What a list counts: that of the words, and by meaning those of what was asked and what was answered.

`python -m bench.retrieval --fit` chooses and holds out.
"""

LEAST: Final = 0.2
"""Less alike than that is not alike."""


class Meaning:
    """The model and all vectors of an index, kept in memory until there are others."""

    def __init__(self, choice: Choice) -> None:
        self.choice = choice
        self._model: Model | None = None
        self._kept: keeping.Kept | None = None
        self._seen: object = None

    @property
    def model(self) -> Model:
        """The model, loaded when it is first asked for."""
        if self._model is None:
            self._model = load(self.choice)
        return self._model

    def kept(self, connection: apsw.Connection) -> keeping.Kept | None:
        """The vectors of an index; None where it has none of this model."""
        try:
            if not keeping.made_with(connection, self.choice.identity):
                return None
            query = "SELECT count(*), max(passage), sum(passage) FROM passage_vector"
            state = (id(connection), next(rows(connection, query)))
            if state != self._seen:
                self._kept, self._seen = keeping.Kept(connection, self.model.width), state
        except apsw.SQLError:  # an index of before
            return None
        return self._kept if self._kept is not None and len(self._kept.matrix) else None


def find(
    connection: apsw.Connection,
    text: str,
    filters: Filters,
    limit: int,
    meaning: Meaning,
    *,
    by_session: bool = False,
) -> Found:
    """The turns (or sessions) that fit best by words and by meaning; without vectors the same as by words."""
    found = Found()
    query = parse(text, tokenizer(connection), stems(connection))
    by_words = ranked(connection, query, filters, max(limit, DEEP), found, by_session=by_session)
    found.hits = fused(connection, query, by_words, filters, meaning, by_session=by_session)[:limit]
    show(connection, found, query)
    for hit in found.hits:
        if not hit.snippets:
            _quote(connection, hit)
    return found


def fused(
    connection: apsw.Connection,
    query: Query,
    by_words: list[Hit],
    filters: Filters,
    meaning: Meaning,
    *,
    by_session: bool,
) -> list[Hit]:
    """What was found by words, with what is found by meaning, each worth more the further up it stands in its lists."""
    kept = meaning.kept(connection)
    if kept is None or not query.text.strip():
        return by_words
    scores = kept.matrix.scores(meaning.model.encode([query.text])[0])
    allowed = _allowed(connection, kept, filters)
    lists = [(WORDS, by_words)]
    for kind, weight in BY_KIND.items():
        of_kind = allowed & (kept.kinds == kind)
        lists.append((weight, _nearest(connection, kept, np.where(of_kind, scores, -1), by_session=by_session)))
    return merged(lists)


def merged(lists: Iterable[tuple[float, list[Hit]]]) -> list[Hit]:
    """Lists of hits as one, best first: each counts as far up as it stands in each list, and as the list does."""
    hits: dict[Key, Hit] = {}
    worth: dict[Key, float] = {}
    for weight, list_ in lists:
        for place, hit in enumerate(list_, 1):
            key = (hit.number, hit.turn)
            hits.setdefault(key, hit)
            if place <= DEEP:
                worth[key] = worth.get(key, 0.0) + weight / (DAMPING + place)
    for key, hit in hits.items():
        hit.score = worth.get(key, 0.0)
    return sorted(hits.values(), key=lambda hit: -hit.score)


def alike(connection: apsw.Connection, text: str, meaning: Meaning) -> dict[tuple[int, int], float]:
    """How near in meaning each turn is to a text: as near as its nearest window."""
    kept = meaning.kept(connection)
    if kept is None or not text.strip():
        return {}
    scores = kept.matrix.scores(meaning.model.encode([text])[0])
    turns = {
        number: (session, turn) for number, session, turn in rows(connection, "SELECT id, session, turn FROM passage")
    }
    found: dict[tuple[int, int], float] = {}
    for passage, score in zip(kept.passages.tolist(), scores.tolist(), strict=True):
        if score >= LEAST and score > found.get(turns[passage], 0.0):
            found[turns[passage]] = score
    return found


def _nearest(
    connection: apsw.Connection, kept: keeping.Kept, scores: NDArray[np.float32], *, by_session: bool
) -> list[Hit]:
    """The turns or sessions of the windows that are most alike, each once, most alike first."""
    places = [int(at) for at in highest(scores, NEAREST) if scores[at] >= LEAST]
    of = _whose(connection, [int(kept.passages[at]) for at in places])
    found: dict[Key, Hit] = {}
    for at in places:
        passage = int(kept.passages[at])
        if passage not in of:
            continue
        session, turn, started = of[passage]
        key = (session, None if by_session or not turn else turn)
        if key not in found:
            found[key] = Hit(*key, float(scores[at]), 0, [passage])
            found[key].started = started
            found[key].window = int(kept.places[at])
    return list(found.values())


def _whose(connection: apsw.Connection, passages: Sequence[int]) -> dict[int, tuple[int, int, str | None]]:
    numbers = f"[{','.join(map(str, set(passages)))}]"
    query = (
        f"SELECT passage.id, session, {TURN}, passage.started FROM passage"  # noqa: S608 - our own words
        " WHERE passage.id IN (SELECT value FROM json_each(?))"
    )
    return {number: (session, turn, started) for number, session, turn, started in rows(connection, query, (numbers,))}


def _allowed(connection: apsw.Connection, kept: keeping.Kept, filters: Filters) -> NDArray[np.bool_]:
    """Which rows the filters let through, before anything is compared."""
    given, values = conditions(filters)
    if not given:
        return np.ones(len(kept.passages), np.bool_)
    where = " AND ".join(f"({condition})" for condition in given)
    query = f"SELECT passage.id FROM passage_vector JOIN passage ON passage.id = passage WHERE {where}"  # noqa: S608
    through = np.array([number for (number,) in rows(connection, query, values)], np.int64)
    return np.isin(kept.passages, through)


def _quote(connection: apsw.Connection, hit: Hit) -> None:
    """Show what was meant where no word stands: the beginning of the window that is most alike."""
    if not hit.passages or hit.window is None:
        return
    for (body,) in rows(connection, "SELECT body FROM passage_body WHERE id = ?", (hit.passages[0],)):
        windows = cut(unpacked(body))
        if hit.window < len(windows):
            window = windows[hit.window]
            hit.snippets = [Snippet(window.event_id, window.column, window.text[:WIDTH], [])]
            hit.events = [window.event_id] if window.event_id else []
