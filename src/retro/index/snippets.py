"""The lines around a hit, with the hit marked."""

from __future__ import annotations

import zlib

from retro import terms
from retro.index.query import stemmer, tokenizer

TYPE_CHECKING = False  # as in places: this is on the light path
if TYPE_CHECKING:
    from collections.abc import Callable

    import apsw

    from retro.index.hits import Hit
    from retro.index.query import Query, Term

    _Cut = Callable[[bytes], list[tuple[int, int, str]]]

WIDTH = 240
"""Characters of a snippet, about."""

BEFORE = 60
SHOWN = 3
"""Passages of a hit that are looked at."""

MOST_MARKS = 12
END, UNIT = "\x1e", "\x1f"  # as passages are packed


class Snippet:
    """Text from one event, and where in it the words stand."""

    __slots__ = ("column", "event_id", "marks", "text")

    def __init__(self, event_id: str, column: int, text: str, marks: list[tuple[int, int]]) -> None:
        self.event_id = event_id
        self.column = column
        self.text = text
        self.marks = marks


def marked(connection: apsw.Connection, hits: list[Hit], wanted: list[Term]) -> None:
    """Give each hit the events that its words stand in, and a snippet of the best of them."""
    if not hits:
        return
    cut = stemmer(connection)
    words = [word for term in wanted for variant in term.variants for word in variant]
    stems = {stem for word in words for _, _, stem in cut(word.encode())}
    prefixes = tuple(term.variants[0][-1] for term in wanted if term.prefix and term.variants)
    unspaced = [term.given for term in wanted if not term.given.isascii() and terms.spread(term.given) != term.given]
    for hit in hits:
        for passage in hit.passages[:SHOWN]:
            row = next(connection.execute("SELECT body FROM passage_body WHERE id = ?", (passage,)), None)
            if row is not None:
                _look(hit, zlib.decompress(row[0]).decode(), cut, stems, prefixes, unspaced)
        hit.snippets.sort(key=lambda snippet: -len(snippet.marks))
        hit.snippets = hit.snippets[:1]


def literal(connection: apsw.Connection, hits: list[Hit], query: Query, limit: int) -> list[Hit]:
    """The first hits of which a passage has every word as it was typed, not only its stem."""
    words = tokenizer(connection)
    kept = []
    for hit in hits:
        for passage in hit.passages:
            (body,) = next(connection.execute("SELECT body FROM passage_body WHERE id = ?", (passage,)))
            text = terms.spread(zlib.decompress(body).decode().replace(END, f" {UNIT} ").replace(UNIT, " "))
            told = f" {' '.join(words(text))} "
            if all(any(_stands(variant, term.prefix, told) for variant in term.variants) for term in query.wanted):
                hit.passages = [passage]
                kept.append(hit)
                break
        if len(kept) >= limit:
            break
    return kept


def _stands(variant: tuple[str, ...], prefix: bool, told: str) -> bool:
    return f" {' '.join(variant)}{'' if prefix else ' '}" in told


def _look(hit: Hit, body: str, cut: _Cut, stems: set[str], prefixes: tuple[str, ...], unspaced: list[str]) -> None:
    for line in body.split(END):
        event_id, column, text = line.split(UNIT, 2)
        data = text.encode()
        places = [
            (start, end) for start, end, word in cut(data) if word in stems or (prefixes and word.startswith(prefixes))
        ]
        if not text.isascii():
            places = [(len(data[:start].decode()), len(data[:end].decode())) for start, end in places[:MOST_MARKS]]
            places += [(at, at + len(given)) for given in unspaced if (at := text.find(given)) >= 0]
            places.sort()
        if not places:
            continue
        if event_id and event_id not in hit.events:
            hit.events.append(event_id)
        hit.snippets.append(_snippet(event_id, int(column), text, places))


def _snippet(event_id: str, column: int, text: str, places: list[tuple[int, int]]) -> Snippet:
    """The window with the most marks, cut at words."""
    best, most = 0, 0
    for at, (start, _) in enumerate(places[:200]):
        inside = sum(1 for begin, end in places[at : at + MOST_MARKS] if end <= start + WIDTH - BEFORE)
        if inside > most:
            best, most = at, inside
    begin = max(places[best][0] - BEFORE, 0)
    if begin:
        space = text.find(" ", begin, places[best][0])
        begin = space + 1 if space >= 0 else begin
    end = min(begin + WIDTH, len(text))
    if end < len(text):
        space = text.rfind(" ", places[best][1], end)
        end = space if space > 0 else end
    marks = [(start - begin, stop - begin) for start, stop in places if start >= begin and stop <= end]
    return Snippet(event_id, column, text[begin:end], marks)
