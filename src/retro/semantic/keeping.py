"""Vectors of passages, made when there is time, in steps of which each is kept: what was begun goes on later."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

import apsw
import numpy as np

from retro.index.database import rows
from retro.passages import unpacked
from retro.semantic.matrix import Bytes, Floats, Matrix, reduced
from retro.semantic.model import Choice, Model
from retro.semantic.windows import Window, cut

MODEL: Final = "semantic_model"
AT_ONCE: Final = 32
"""Passages of a step."""

_WITHOUT: Final = "NOT EXISTS (SELECT 1 FROM passage_vector WHERE passage_vector.passage = passage.id)"


def pending(connection: apsw.Connection, identity: str) -> int:
    """How many passages are still without vectors of this model."""
    other = "" if _made_by(connection) == identity else "1 OR "
    (count,) = next(rows(connection, f"SELECT count(*) FROM passage WHERE {other}{_WITHOUT}"))  # noqa: S608
    return int(count)


def made_with(connection: apsw.Connection, identity: str) -> bool:
    """Whether the vectors that are there are this model's."""
    return _made_by(connection) == identity


def begin(connection: apsw.Connection, identity: str) -> None:
    """Vectors of another model go; from now on they are this one's."""
    if _made_by(connection) != identity:
        with connection:
            connection.execute("DELETE FROM passage_vector")
            query = "INSERT INTO setting (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
            connection.execute(query, (MODEL, identity))


def fill(
    connection: apsw.Connection,
    choice: Choice,
    model: Model,
    *,
    most: int | None = None,
    until: float | None = None,
    at_once: int | None = None,
    say: Callable[[int], None] = lambda passages: None,
) -> int:
    """Give vectors to passages that have none, the newest first; how many got theirs.

    Each step, of so many passages at once, is a transaction. It ends when all have theirs, or at a time of the
    monotonic clock; `most` windows of a passage get one.
    """
    begin(connection, choice.identity)
    done = 0
    for step in _steps(connection, at_once or AT_ONCE):
        windows = [(number, window) for number, body in step for window in _few(cut(unpacked(body)), most)]
        small, scales = _encoded(model, [window.text for _, window in windows], choice.batch)
        of: dict[int, list[int]] = {number: [] for number, _ in step}
        for at, (number, _) in enumerate(windows):
            of[number].append(at)
        with connection:
            connection.executemany(
                "INSERT OR REPLACE INTO passage_vector (passage, kinds, scales, vectors)"
                " SELECT id, ?, ?, ? FROM passage WHERE id = ?",  # it may be gone by now
                [
                    (
                        bytes(windows[at][1].column for at in places),
                        scales[places].tobytes(),
                        small[places].tobytes(),
                        n,
                    )
                    for n, places in of.items()
                ],
            )
        done += len(step)
        say(len(step))
        if until is not None and time.monotonic() >= until:
            break
    return done


def _steps(connection: apsw.Connection, at_once: int) -> Iterator[list[tuple[int, bytes]]]:
    query = (
        "SELECT id, body FROM passage JOIN passage_body USING (id)"  # noqa: S608 - our own words
        f" WHERE id < ? AND {_WITHOUT} ORDER BY id DESC LIMIT ?"
    )
    last = 1 << 62
    while True:
        step = list(rows(connection, query, (last, at_once)))
        if not step:
            return
        yield step
        last = step[-1][0]


def _few(windows: list[Window], most: int | None) -> list[Window]:
    if most is None or len(windows) <= most:
        return windows
    return [windows[at * (len(windows) - 1) // max(most - 1, 1)] for at in range(most)]


def _encoded(model: Model, texts: list[str], batch: int) -> tuple[Bytes, Floats]:
    """Their vectors; those of like length are made together, since the shorter ones of a batch are filled up."""
    order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
    made = np.zeros((len(texts), model.width), np.float32)
    for start in range(0, len(order), batch):
        places = order[start : start + batch]
        made[places] = model.encode([texts[at] for at in places])
    return reduced(made)


def _made_by(connection: apsw.Connection) -> object:
    found = next(rows(connection, "SELECT value FROM setting WHERE name = ?", (MODEL,)), None)
    return found[0] if found else None


class Kept:
    """All vectors of an index, in memory: of each row the passage, which of its windows, and the column it is from."""

    def __init__(self, connection: apsw.Connection, width: int) -> None:
        query = "SELECT passage, kinds, scales, vectors FROM passage_vector WHERE kinds <> x'' ORDER BY passage"
        found = list(rows(connection, query))
        counts = [len(kinds) for _, kinds, *_ in found]
        self.passages = np.repeat(np.array([row[0] for row in found], np.int64), counts)
        self.places = np.concatenate([np.arange(count) for count in counts]) if counts else np.zeros(0, np.int64)
        self.kinds = np.frombuffer(b"".join(row[1] for row in found), np.uint8)
        scales = np.frombuffer(b"".join(row[2] for row in found), np.float32)
        vectors = np.frombuffer(b"".join(row[3] for row in found), np.int8)
        self.matrix = Matrix(vectors.reshape(-1, width), scales)
