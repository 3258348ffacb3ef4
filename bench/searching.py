"""`python -m bench.searching`: search in this process over 100,000 turns, and an index that grows while it is asked.

Turns are made of words drawn as often as words are (Zipf). Asked is for words drawn in the same way, from the rarest
to the most common, alone and two together. Turns come in batches, and words are gathered when most are there, as in a
first sweep. Then 20,000 more are put in, each as by a small sweep of its own (but the index stays open), and the
longest of these is told, in CPU time.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from itertools import accumulate
from typing import Final

import apsw

from retro.index import passages
from retro.index.database import open_reader, open_writer
from retro.index.search import search
from retro.passages import Passage, Piece, columns, packed
from retro.places import Places
from retro.terms import ANSWER, OUTPUT, PROMPT

TURNS: Final = 100_000
APPENDS: Final = 20_000
BATCH: Final = 5_000
GATHERED: Final = 0.75
"""Of the turns, when words are made one segment: a batch ends once it is three times what is still to come."""
WORDS: Final = 60_000
OF_SESSION: Final = 20
QUERIES: Final = 600
LENGTHS: Final = ((PROMPT, 25), (ANSWER, 60), (OUTPUT, 70))
SCOPE: Final = passages.Scope("claude", "project", None, None)


class Text:
    """Words by how often words are."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        letters = "abcdefghijklmnopqrstuvwxyz"
        self.words = ["".join(self._random.choices(letters, k=3 + at % 7)) + letters[at % 26] for at in range(WORDS)]
        self._weights = list(accumulate(1 / (at + 3) for at in range(WORDS)))

    def some(self, count: int) -> str:
        """So many of them."""
        return " ".join(self._random.choices(self.words, cum_weights=self._weights, k=count))


def main() -> int:
    """Fill, ask, grow."""
    parser = argparse.ArgumentParser(prog="python -m bench.searching", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--appends", type=int, default=APPENDS)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-searching-") as folder:
        places = Places(folder)
        text, began = Text(5), time.perf_counter()
        _load(places, text, args.turns)
        print(
            f"{args.turns:,} turns in {time.perf_counter() - began:.0f} s, {os.path.getsize(places.index) / 1e6:.0f} MB"
        )
        _ask(places, text)
        _grow(places, text, args.turns, args.appends)
        _ask(places, text)
    return 0


def _load(places: Places, text: Text, turns: int) -> None:
    """As a first sweep does it."""
    writer = open_writer(places.index)
    passages.begin(writer)
    intake, gathered = passages.Intake(writer), False
    for first in range(0, turns, BATCH):
        with writer:
            for number in range(first, min(first + BATCH, turns)):
                _put(intake, text, number)
            intake.settle()
        if not gathered and first + BATCH >= turns * GATHERED:
            passages.gather(writer)
            gathered = True
    passages.settle(writer)
    writer.close()


def _put(intake: passages.Intake, text: Text, number: int) -> None:
    session, turn = number // OF_SESSION + 1, number % OF_SESSION + 1
    if turn == 1:
        query = "INSERT INTO session (id, host, session_id, captured) VALUES (?, 'claude', ?, '')"
        intake.connection.execute(query, (session, f"s{session}"))
    pieces = [Piece(f"e{number}", column, text.some(count)) for column, count in LENGTHS]
    told = columns(pieces, [])
    passage = Passage("x", turn, turn, packed(pieces), told, f"2026-01-01T00:00:{number % 60:02}Z")
    intake.put(session, passage, SCOPE)


def _ask(places: Places, text: Text) -> None:
    index = open_reader(places)
    assert index is not None
    by_place = [text.words[min(int(WORDS ** (at / QUERIES)), WORDS - 1)] for at in range(QUERIES)]
    kinds = {
        "a word, by frequency": [text.some(1) for _ in range(QUERIES)],
        "a word, rare to most common": by_place,
        "two words, by frequency": [text.some(2) for _ in range(QUERIES)],
        "a question of eight": [f"{text.some(8)}?" for _ in range(QUERIES // 4)],
    }
    for what, queries in kinds.items():
        spent = []
        for query in queries:
            began = time.perf_counter()
            search(index, query)
            spent.append((time.perf_counter() - began) * 1000)
        spent.sort()
        p95, aim = spent[int(len(spent) * 0.95)], "   p95 ≤ 20 ms" if what.startswith("a word") else ""
        print(f"{what:32} median {spent[len(spent) // 2]:6.1f} ms   p95 {p95:6.1f}   longest {spent[-1]:6.1f}{aim}")
    index.close()


def _grow(places: Places, text: Text, turns: int, appends: int) -> None:
    writer, spent = open_writer(places.index), []
    for number in range(turns, turns + appends):
        began = time.process_time()
        _append(writer, text, number)
        spent.append(((time.process_time() - began) * 1000, number - turns + 1))
    spent.sort()
    longest = ", ".join(f"{took:.1f} (the {number:,}.)" for took, number in spent[:-4:-1])
    print(f"{appends:,} appends: median {spent[appends // 2][0]:.2f} ms of CPU time, longest {longest}   ≤ 50 ms")
    writer.close()


def _append(writer: apsw.Connection, text: Text, number: int) -> None:
    """As a small sweep does it."""
    passages.begin(writer)
    intake = passages.Intake(writer)
    with writer:
        _put(intake, text, number)
        intake.settle()
    passages.keep_up(writer)


if __name__ == "__main__":
    raise SystemExit(main())
