"""Documents from elsewhere, found by the very same search as turns and sessions: `retro bench-retrieval` asks it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timezone
from importlib import resources
from statistics import median
from typing import TYPE_CHECKING, Final

import apsw
import msgspec

from retro.event import SCHEMA, Actor, Event, EventType, RawRef
from retro.index import passages
from retro.index.hits import Filters, Found, Hit
from retro.index.query import Query, parse, stems, tokenizer
from retro.index.search import ranked
from retro.passages import cut_whole
from retro.terms import NAMES, PROMPT, spread

if TYPE_CHECKING:
    from retro.semantic.meaning import Meaning
    from retro.semantic.model import Choice

HOST: Final = "document"
SCOPE: Final = passages.Scope(HOST, None, None, None)
WINDOWS: Final = 16
"""Of a document about so many windows get a vector, where there is a model: it is to be found, not known by heart."""

VECTORED: Final = 8
"""From so many of its passages, from its beginning to its end."""

MOST_PASSAGES: Final = 1 << 32
"""Of one document."""

LONG: Final = 1000
"""Characters: where half of the documents are longer, each is looked for as a session is, else as a turn of one."""

_speaker = re.compile(r"\s*([A-Z][\w.'-]{0,30}(?: [A-Z][\w.'-]{0,30})?): ").match
_last_number = re.compile(r"\d+\D*$")


class Document(msgspec.Struct):
    """Something that can be found."""

    id: str
    text: str
    ts: str | float | None = None
    """When it was written: in ISO 8601 or in words, or seconds since 1970."""


class Library:
    """Documents in an index of their own, in memory, in the order that they were given.

    Long ones are sessions; short ones are turns, those side by side whose ids begin alike of one session.
    """

    def __init__(self, documents: Iterable[Document], choice: Choice | None = None) -> None:
        """With a model, they are found by meaning too."""
        self._connection = apsw.Connection(":memory:")
        self._connection.execute(resources.files("retro.index").joinpath("schema.sql").read_text("utf-8"))
        self._ids: dict[tuple[int, int | None], str] = {}
        given = list(documents)
        self.by_session = bool(given) and median(len(document.text) for document in given) > LONG
        """Whether each stands for a session, and not for a turn of one."""
        with self._connection:
            passages.begin(self._connection)
            intake = passages.Intake(self._connection)
            self._fill(given, intake)
            intake.settle()
            passages.settle(self._connection)
        self._meaning: Meaning | None = None
        if choice is not None:
            from retro.semantic import keeping
            from retro.semantic.meaning import Meaning

            self._meaning = Meaning(choice)
            keeping.begin(self._connection, choice.identity)
            each = self._leave_out() / max(len(given), 1)
            most = max(1, round(WINDOWS / max(each, 1)))
            keeping.fill(self._connection, choice, self._meaning.model, most=most)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._ids)

    def close(self) -> None:
        """Let go of it."""
        self._connection.close()

    def find(self, text: str, limit: int) -> list[str]:
        """Ids of the documents that fit best, best first: those with all words first, then those with some."""
        hits = self._ranked(text, limit)
        if len(hits) < limit:
            known = {(hit.number, hit.turn) for hit in hits}
            hits += [hit for hit in self._ranked(text, limit, some=True) if (hit.number, hit.turn) not in known]
        if self._meaning is not None:
            from retro.semantic.meaning import fused

            hits = fused(
                self._connection, self._query(text), hits, Filters(), self._meaning, by_session=self.by_session
            )
        return [self._ids[hit.number, hit.turn] for hit in hits[:limit]]

    def _ranked(self, text: str, limit: int, *, some: bool = False) -> list[Hit]:
        query = self._query(text)
        query.described = query.described or some
        return ranked(self._connection, query, Filters(), limit, Found(), by_session=self.by_session)

    def _query(self, text: str) -> Query:
        return parse(text, tokenizer(self._connection), stems(self._connection))

    # Filling it.

    def _leave_out(self) -> int:
        """Of a very long document only some passages get vectors; how many do."""
        passages_of: dict[tuple[int, int], list[int]] = {}
        for number, session, turn in self._connection.execute("SELECT id, session, turn FROM passage ORDER BY id"):
            passages_of.setdefault((session, turn), []).append(number)
        left = 0
        for numbers in passages_of.values():
            kept = {numbers[at * (len(numbers) - 1) // (VECTORED - 1)] for at in range(VECTORED)}
            self._connection.executemany(
                "INSERT INTO passage_vector (passage, kinds, scales, vectors) VALUES (?, x'', x'', x'')",
                [(number,) for number in numbers if number not in kept],
            )
            left += len(kept)
        return left

    def _fill(self, documents: list[Document], intake: passages.Intake) -> None:
        session, turn, before = 0, 0, None
        for document in documents:
            conversation = _last_number.sub("", document.id)
            if self.by_session or conversation != before:
                session, turn, before = session + 1, 0, conversation
                self._connection.execute(
                    "INSERT INTO session (id, host, session_id, captured) VALUES (?, ?, ?, '')",
                    (session, HOST, str(session)),
                )
            turn += 1
            self._ids[session, None if self.by_session else turn] = document.id
            _put(intake, session, turn, document)


def _put(intake: passages.Intake, session: int, turn: int, document: Document) -> None:
    """Index one, cut into passages as a session's events are; who speaks stands where a title does."""
    moment = _moment(document.ts)
    event = _event(document.text, turn, moment.isoformat() if moment else None)
    said = _speaker(document.text)
    when = f"{moment:%A} {moment.day} {moment:%B %Y}" if moment else str(document.ts or "")
    for passage in cut_whole([event]):
        passage.number += turn * MOST_PASSAGES
        passage.columns[NAMES - PROMPT] += f" {when}"
        intake.put(session, passage, SCOPE, spread(said[1]) if said else "")


def _event(text: str, turn: int, timestamp: str | None) -> Event:
    return Event(
        schema=SCHEMA,
        event_id="",
        session_id="",
        host=HOST,
        source="",
        sequence=0,
        timestamp=timestamp,
        actor=Actor.ASSISTANT,
        event_type=EventType.MESSAGE,
        raw_ref=RawRef("", 0, 0, 0),
        summary="",
        text=text,
        turn=turn,
    )


def _moment(ts: str | float | None) -> datetime | None:
    """When that was, where it is told in a way that is understood."""
    try:
        if isinstance(ts, str):
            return datetime.fromisoformat(ts.replace("Z", "+00:00"))
        return datetime.fromtimestamp(ts, timezone.utc) if ts is not None else None
    except (ValueError, OverflowError, OSError):
        return None
