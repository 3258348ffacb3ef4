"""Memories found by what is meant together with words: where the extra is installed, and never on the light path.

Each memory has one vector, of what it is for and what it says. They are kept in the index by what they were made of, so
that folding memories anew costs none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple

import apsw
import numpy as np

from retro.index.database import rows
from retro.memory import retrieval
from retro.memory.item import SERVED
from retro.memory.retrieval import ASK, NONE, Answer, Hit
from retro.memory.words import words
from retro.semantic.matrix import Matrix, reduced
from retro.semantic.meaning import DAMPING, LEAST

if TYPE_CHECKING:
    from retro.semantic.model import Choice, Model

MODEL: Final = "memory_model"
"""The setting that names the model that the vectors are of."""

MEANT: Final = 0.46
"""How alike a memory that shares no telling word must be to a question to be worth a look.

Of what is asked of the labelled sessions no task of another repository is so alike, and what is about something else is
at most 0.31.
"""

LONGEST: Final = 600
"""Characters of a question, and of a memory, that are looked at."""

AT_ONCE: Final = 8


class Row(NamedTuple):
    """A memory of the index, as far as it is compared."""

    number: int
    text: str

    @property
    def key(self) -> bytes:
        """What its vector is kept by."""
        return blake2b(self.text.encode("utf-8", "replace"), digest_size=16).digest()


def pending(connection: apsw.Connection, identity: str) -> int:
    """How many memories are still without a vector of this model."""
    known = _known(connection) if _made_by(connection) == identity else set()
    return sum(row.key not in known for row in _served(connection))


def fill(connection: apsw.Connection, choice: Choice, model: Callable[[], Model], until: float | None = None) -> int:
    """Give vectors to memories that have none, up to a time of the monotonic clock; how many got theirs.

    `model` is asked for only if there are any. Vectors of another model, and of what is no longer remembered, go.
    """
    served = list(_served(connection))
    with connection:
        if _made_by(connection) != choice.identity:
            connection.execute("DELETE FROM memory_vector")
            query = "INSERT INTO setting (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
            connection.execute(query, (MODEL, choice.identity))
        known = _known(connection)
        gone = known - {row.key for row in served}
        connection.executemany("DELETE FROM memory_vector WHERE text = ?", [(key,) for key in gone])
    waiting = list({row.key: row for row in served if row.key not in known}.values())
    done = 0
    while done < len(waiting) and (until is None or time.monotonic() < until):
        step = waiting[done : done + AT_ONCE]
        small, scales = reduced(model().encode([row.text for row in step]))
        with connection:
            connection.executemany(
                "INSERT OR REPLACE INTO memory_vector (text, scale, vector) VALUES (?, ?, ?)",
                [(row.key, float(scales[at]), small[at].tobytes()) for at, row in enumerate(step)],
            )
        done += len(step)
    return done


def retrieve(
    connection: apsw.Connection,
    query: str,
    where: Sequence[str],
    accepted_only: bool,
    choice: Choice,
    model: Callable[[], Model],
) -> Answer:
    """Answer a question by words and by meaning. By meaning alone something is worth a look, and never more."""
    answer = retrieval.retrieve(connection, query, where, accepted_only)
    if not words(query) or _made_by(connection) != choice.identity:
        return answer
    alike = _alike(connection, query, where, accepted_only, model)
    if not alike:
        return answer
    own = retrieval.weights()
    hits = {hit.number: hit for hit in answer.hits}
    meant = [number for number, score in alike.items() if score >= MEANT and number not in hits]
    for row in _rows(connection, meant):
        hits[row[0]] = Hit(row, own.ask, {})
    for number, hit in hits.items():
        hit.parts["meaning"] = alike.get(number, 0.0)
    if not hits:
        return answer
    found = _fused(list(hits.values()), answer.hits)
    if answer.decision != NONE:
        return Answer(answer.decision, answer.reason, found)
    return Answer(ASK, "no word of it, but what is meant is like what is remembered", found)


def _fused(hits: list[Hit], by_words: Sequence[Hit]) -> list[Hit]:
    """Both lists as one: the further up a memory stands in each, the more it is worth. What is stale stands behind."""
    alike = sorted(hits, key=lambda hit: (bool(hit.stale), -hit.parts["meaning"], hit.id))
    worth: dict[int, float] = {}
    for list_ in (by_words, [hit for hit in alike if hit.parts["meaning"] >= LEAST]):
        for place, hit in enumerate(list_, 1):
            worth[hit.number] = worth.get(hit.number, 0.0) + 1 / (DAMPING + place)
    return sorted(hits, key=lambda hit: (-worth.get(hit.number, 0.0), hit.id))


def _alike(
    connection: apsw.Connection, query: str, where: Sequence[str], accepted_only: bool, model: Callable[[], Model]
) -> dict[int, float]:
    """How alike each memory of the place is to the question, of those that have vectors."""
    places = [*where, ""]
    statuses = ("accepted",) if accepted_only else SERVED
    known = {key: (scale, vector) for key, scale, vector in rows(connection, "SELECT * FROM memory_vector")}
    served = [row for row in _served(connection, places, statuses) if row.key in known]
    if not served:
        return {}
    asked = model().encode([query[:LONGEST]])[0]
    scales = np.array([known[row.key][0] for row in served], np.float32)
    vectors = np.frombuffer(b"".join(known[row.key][1] for row in served), np.int8).reshape(len(served), -1)
    return {row.number: float(score) for row, score in zip(served, Matrix(vectors, scales).scores(asked), strict=True)}


def _served(
    connection: apsw.Connection, places: Sequence[str] | None = None, statuses: Sequence[str] = SERVED
) -> list[Row]:
    """Memories that may be handed out: of some places, or of all."""
    marks = ", ".join("?" for _ in statuses)
    query = (
        "SELECT number, coalesce(body ->> '$.item.title', '') || ' ' || (body ->> '$.item.when_to_use') || '. ' || text"  # noqa: S608
        f" FROM memory WHERE status IN ({marks})"
    )
    values = [*statuses]
    if places is not None:
        query += f" AND scope IN ({', '.join('?' for _ in places)})"
        values += places
    return [
        Row(number, text.strip()[:LONGEST]) for number, text in rows(connection, f"{query} ORDER BY number", values)
    ]


def _rows(connection: apsw.Connection, numbers: Sequence[int]) -> list[tuple[object, ...]]:
    marks = ", ".join("?" for _ in numbers)
    query = f"SELECT number, id, status, kind, text, steps, source, stale FROM memory WHERE number IN ({marks})"  # noqa: S608
    return list(rows(connection, query, numbers))


def _known(connection: apsw.Connection) -> set[bytes]:
    return {key for (key,) in rows(connection, "SELECT text FROM memory_vector")}


def _made_by(connection: apsw.Connection) -> object:
    found = next(rows(connection, "SELECT value FROM setting WHERE name = ?", (MODEL,)), None)
    return found[0] if found else None
