"""Documents from elsewhere, found by the very same search as turns and sessions: `retro bench-retrieval` asks it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from functools import partial
from importlib import resources
from statistics import median
from typing import TYPE_CHECKING, Final

import apsw
import msgspec

from retro import conversation
from retro.event import SCHEMA, Actor, Event, EventType, RawRef
from retro.index import passages
from retro.index.grading import rarity
from retro.index.hits import Filters, Found, Hit
from retro.index.joining import best_of
from retro.index.query import Query, parse, stems, tokenizer
from retro.index.search import ranked, weighed
from retro.passages import cut_whole
from retro.terms import NAMES, PROMPT
from retro.threads import threads

if TYPE_CHECKING:
    from retro.index.grading import Row
    from retro.semantic.meaning import Meaning
    from retro.semantic.model import Choice

HOST: Final = "document"
SCOPE: Final = passages.Scope(HOST, None, None, None)
WINDOWS: Final = 16
"""Of a document about so many windows get a vector, where there is a model: it is to be found, not known by heart."""

VECTORED: Final = 8
"""From so many of its passages, from its beginning to its end."""

AT_ONCE: Final = 256
"""Passages that get their vectors together: of many, those of like length are, and little is filled up."""

MOST_PASSAGES: Final = 1 << 32
"""Of one document."""

DEEP: Final = 200
"""Sessions that are ranked at least: lists that are fused are looked at so far."""

LONG: Final = 1000
"""Characters: where half of the documents are longer, each is looked for as a session is, else as a turn of one."""

Say = Callable[[int, int], None]
"""Told how many passages there are in all, and how many more of them are done."""


class Document(msgspec.Struct):
    """Something that can be found."""

    id: str
    text: str
    ts: str | float | None = None
    """When it was written: in ISO 8601 or in words, or seconds since 1970."""


class Library:
    """Documents in an index of their own, in memory, in the order that they were given.

    Long ones are sessions; short ones are turns of sessions, if people talk in them, else each stands for itself.
    """

    def __init__(
        self, documents: Iterable[Document], choice: Choice | None = None, say: Say = lambda waiting, done: None
    ) -> None:
        """With a model, they are found by meaning too. Making the vectors takes time; `say` is told how far it is."""
        self._connection = apsw.Connection(":memory:")
        self._connection.execute(resources.files("retro.index").joinpath("schema.sql").read_text("utf-8"))
        self._ids: dict[tuple[int, int | None], str] = {}
        self._turns: dict[conversation.Key, conversation.Turn] = {}
        self._speakers: dict[str, list[conversation.Key]] = {}
        self.weights = conversation.WEIGHTS
        """What counts how much where people talk."""
        given = list(documents)
        self.by_session = bool(given) and median(len(document.text) for document in given) > LONG
        """Whether each stands for a session, and not for a turn of one."""
        turns = [conversation.turns_of(document.text) if self.by_session else [document.text] for document in given]
        self._talking = not self.by_session or sum(len(of) > 1 for of in turns) * 2 > len(turns)
        """Whether people talk in them, and not an agent with one."""
        with self._connection:
            passages.begin(self._connection)
            intake = passages.Intake(self._connection)
            self._fill(given, turns, intake)
            intake.settle()
            passages.gather(self._connection)
            passages.settle(self._connection)
        self._meaning: Meaning | None = None
        if choice is not None:
            from retro.semantic import keeping
            from retro.semantic.meaning import Meaning

            self._meaning = Meaning(choice)
            keeping.begin(self._connection, choice.identity)
            each = self._leave_out() / max(len(given), 1)
            most = max(1, round(WINDOWS / max(each, 1)))
            waiting = keeping.pending(self._connection, choice.identity)
            keeping.fill(
                *(self._connection, choice, self._meaning.model), most=most, at_once=AT_ONCE, say=partial(say, waiting)
            )

    def __len__(self) -> int:
        """How many there are."""
        return len(self._ids)

    def close(self) -> None:
        """Let go of it."""
        self._connection.close()

    def find(self, text: str, limit: int) -> list[str]:
        """Ids of the documents that fit best, best first: of sessions of agents those with all words first."""
        most = limit if self._meaning is None else None
        hits = self._of_talk(text, most) if self._talking else self._of_sessions(text, max(limit, DEEP))
        if self._meaning is not None:
            hits = self._with_meaning(self._meaning, text, hits)
        return [self._ids[hit.number, hit.turn] for hit in hits[:limit]]

    def _of_sessions(self, text: str, limit: int) -> list[Hit]:
        hits = self._ranked(text, limit)
        if len(hits) < limit:
            known = {hit.number for hit in hits}
            hits += [hit for hit in self._ranked(text, limit, some=True) if hit.number not in known]
        return hits

    def _ranked(self, text: str, limit: int, *, some: bool = False) -> list[Hit]:
        query = self._query(text)
        query.described = query.described or some
        return ranked(self._connection, query, Filters(), limit, Found(), by_session=True)

    def _of_talk(self, text: str, most: int | None) -> list[Hit]:
        query = self._query(text)
        of: dict[conversation.Key, list[Row]] = {}
        for row in weighed(self._connection, query, Filters(), Found()):
            of.setdefault((row.session, row.turn), []).append(row)
        wanted = conversation.wish(text)
        scores = conversation.lent({key: best_of(rows) for key, rows in of.items()}, self._turns, wanted, self.weights)
        named = {}
        for name, keys in self._speaking(query).items():
            named[name] = rarity(len(keys), len(self._turns))
            scores.update((key, 0.0) for key in keys if key not in scores)
        return self._ordered(conversation.fitting(scores, self._turns, wanted, named, self.weights), most)

    def _speaking(self, query: Query) -> dict[str, list[conversation.Key]]:
        """The speakers that a question names, each with the turns in which they speak."""
        words = {word for term in query.wanted for variant in term.variants for word in variant}
        return {word: self._speakers[word] for word in words & self._speakers.keys()}

    def _with_meaning(self, meaning: Meaning, text: str, hits: list[Hit]) -> list[Hit]:
        from retro.semantic.meaning import alike, fused, merged

        if not self._talking:
            return fused(self._connection, self._query(text), hits, Filters(), meaning, by_session=True)
        wanted = conversation.wish(text)
        near = conversation.followed(alike(self._connection, text, meaning), self._turns, wanted)
        return merged([(1.0, hits), (conversation.MEANING, self._ordered(near))])

    def _ordered(self, scores: dict[conversation.Key, float], most: int | None = None) -> list[Hit]:
        """Turns, or the talks that they belong to, best first; of equals the one that came first."""
        of: dict[tuple[int, int | None], float] = {}
        if self.by_session:
            of.update(((talk, None), score) for talk, score in conversation.of_talks(scores).items())
        else:
            of.update(((talk, turn), score) for (talk, turn), score in scores.items())
        keys = sorted(of, key=lambda key: (-of[key], key[0], key[1] or 0))
        return [Hit(session, turn, of[session, turn], 0, []) for session, turn in keys[:most]]

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

    def _fill(self, documents: list[Document], turns: list[list[str]], intake: passages.Intake) -> None:
        for session, places in enumerate(self._order(documents), 1):
            turn = 0
            self._connection.execute(
                "INSERT INTO session (id, host, session_id, captured) VALUES (?, ?, ?, '')",
                (session, HOST, str(session)),
            )
            for place in places:
                document = documents[place]
                for text in turns[place] if self._talking else [document.text]:
                    turn += 1
                    self._put(intake, session, turn, text, document.ts)
                self._ids[session, None if self.by_session else turn] = document.id

    def _order(self, documents: list[Document]) -> list[list[int]]:
        """Which documents make a session together."""
        if self.by_session:
            return [[place] for place in range(len(documents))]
        return threads(
            [document.id for document in documents],
            [document.text for document in documents],
            [_seconds(_moment(document.ts)) for document in documents],
        )

    def _put(self, intake: passages.Intake, session: int, turn: int, text: str, ts: str | float | None) -> None:
        """Index a turn, cut into passages as a session's events are."""
        moment = _moment(ts)
        if self._talking:
            self._turns[session, turn] = heard = conversation.heard(text)
            for name in heard.speaker:
                self._speakers.setdefault(name, []).append((session, turn))
        event = _event(text, turn, moment.isoformat() if moment else None)
        when = f"{moment:%A} {moment.day} {moment:%B %Y}" if moment else str(ts or "")
        for passage in cut_whole([event]):
            passage.number += turn * MOST_PASSAGES
            passage.columns[NAMES - PROMPT] += f" {when}"
            intake.put(session, passage, SCOPE)


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


def _seconds(moment: datetime | None) -> float | None:
    if moment is None:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()
