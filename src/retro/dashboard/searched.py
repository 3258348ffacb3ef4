"""What a search finds, for the page that is served: by the real index, as `retro search` does."""

from __future__ import annotations

from typing import Final

import apsw
import msgspec

from retro.dashboard.overview import Choice
from retro.index import search
from retro.index.hits import Filters, Found, Hit
from retro.ledger import calendar

HITS: Final = 40
WORDS: Final = 300
"""Characters of a question that are looked at."""
PROMPT: Final = 300


class Piece(msgspec.Struct):
    """Where a word stands."""

    event: str
    text: str
    marks: list[tuple[int, int]]
    """From and behind which character it is marked."""


class TurnFound(msgspec.Struct):
    """A turn that fits."""

    host: str
    id: str
    title: str | None
    project: str | None
    turn: int
    started: str | None
    prompt: str
    event: str
    pieces: list[Piece]


class Searched(msgspec.Struct):
    """What a search finds."""

    query: str
    hits: list[TurnFound]
    missing: list[str]
    """Words that stand nowhere."""
    all_words: bool


def found(connection: apsw.Connection, text: str, choice: Choice) -> Searched | None:
    """The turns that fit some words best; None where words of sessions may not be shown."""
    if choice.strict:
        return None
    since = calendar.timestamp(calendar.begin_of(choice.since, choice.zone) * 900_000) if choice.since else None
    filters = Filters(project=choice.project, since=since)
    words = text[:WORDS].strip()
    told = search.search(connection, words, filters, HITS) if words else Found()
    hits = [_hit(hit) for hit in told.hits]
    return Searched(text[:WORDS], hits, list(told.missing), told.all_words)


def _hit(hit: Hit) -> TurnFound:
    pieces = [Piece(one.event_id, one.text, one.marks) for one in hit.snippets]
    return TurnFound(
        host=hit.host,
        id=hit.session_id,
        title=hit.title,
        project=hit.project,
        turn=hit.turn or 0,
        started=hit.started,
        prompt=(hit.prompt or "")[:PROMPT],
        event=next((one.event for one in pieces if one.event), next(iter(hit.events), "")),
        pieces=pieces,
    )
