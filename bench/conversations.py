"""`python -m bench.conversations`: how well what friends told each other is found again by short questions.

The conversations in `bench/conversations` were written for this: two persons who talk now and then over months. A
question has the turns that answer it. Looked for are turns, each a document, and whole talks, each a document; printed
is how much of what is right is among the first three, five and ten, and how far up the first of it stands, beside plain
full-text search. `--fit` tries weights on a coarse grid: the questions of each conversation are asked with those that
are best on the questions of the four others.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from statistics import mean
from typing import Final, NamedTuple

import apsw

from retro.conversation import WEIGHTS, Weights
from retro.foreign import Document, Library
from retro.semantic.model import Choice, choose

FOLDER: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "conversations")
FIRST: Final = (3, 5, 10)
GRID: Final = ((0.0, 0.3, 0.6, 0.9), (0.0, 0.3, 0.6), (0.0, 1.0, 3.0, 6.0), (0.0, 1.0, 2.0), (0.0, 0.4))
"""For each of the weights, in their order, what is tried."""

Find = Callable[[str], list[str]]


class Talk(NamedTuple):
    """Documents, and for each question the ids of those that answer it."""

    documents: list[Document]
    questions: dict[str, set[str]]


def main() -> int:
    """Ask every way, print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.conversations", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--keywords", action="store_true", help="leave search by meaning out, also where it is there")
    parser.add_argument("--only", metavar="NAME", help="one of the conversations")
    parser.add_argument("--fit", action="store_true", help="choose weights on the other conversations")
    args = parser.parse_args()
    if args.fit:
        _fit()
        return 0
    choice = None if args.keywords else choose()
    for by_session, what in ((False, "turns"), (True, "talks")):
        talk = read(by_session=by_session, only=args.only)
        print(f"{len(talk.documents)} {what}, {len(talk.questions)} questions")
        print(f"{'':36}" + "".join(f"  recall@{first:<3}" for first in FIRST) + "  reciprocal rank")
        for name, find in ways(talk.documents, choice):
            figures = scores(find, talk.questions)
            print(f"{name:36}" + "".join(f"{figure:11.3f}" for figure in figures), flush=True)
    return 0


def read(*, by_session: bool = False, only: str | None = None) -> Talk:
    """All conversations as one collection."""
    talk = Talk([], {})
    for name in sorted(os.listdir(FOLDER)):
        if only is None or name.startswith(only):
            with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
                _read(name.partition(".")[0], file.read(), talk, by_session=by_session)
    return talk


def _read(name: str, text: str, talk: Talk, *, by_session: bool) -> None:
    """A talk begins with `## when`; a question is `?? question | talk:turn …`."""
    number, when, said = 0, "", [""]
    for line in filter(None, text.split("\n")):
        if line.startswith("?? "):
            question, _, places = line[3:].partition(" | ")
            right = {place.partition(":")[0] if by_session else place for place in places.split()}
            talk.questions[question] = {f"{name} D{place}" for place in right}
        elif line.startswith("## "):
            number, when, said = number + 1, line[3:], []
        else:
            said.append(line)
            if not by_session:
                talk.documents.append(Document(f"{name} D{number}:{len(said)}", line, when))
            elif len(said) == 1:
                talk.documents.append(Document(f"{name} D{number}", line, when))
            else:
                talk.documents[-1].text += f"\n{line}"


def ways(documents: list[Document], choice: Choice | None) -> Iterator[tuple[str, Find]]:
    """Each way to find documents, with its name."""
    yield "FTS5, porter, any of the words", _plain(documents)
    library = Library(documents)
    yield "retro bench-retrieval, by words", lambda text: library.find(text, FIRST[-1])
    if choice is not None:
        both = Library(documents, choice)
        yield "retro bench-retrieval, by meaning too", lambda text: both.find(text, FIRST[-1])


def _plain(documents: list[Document]) -> Find:
    """What SQLite finds by itself."""
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5 (id UNINDEXED, text, tokenize = 'porter unicode61')")
    connection.executemany("INSERT INTO t VALUES (?, ?)", [(one.id, f"{one.text} {one.ts}") for one in documents])
    query = "SELECT id FROM t WHERE text MATCH ? ORDER BY rank LIMIT ?"

    def find(text: str) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in sorted(set(re.findall(r"\w+", text))))
        return [name for (name,) in connection.execute(query, (words, FIRST[-1]))]

    return find


def scores(find: Find, questions: dict[str, set[str]]) -> list[float]:
    """Recall among so many first ones, and the mean of one over the place of the first that is right."""
    found = {question: find(question) for question in questions}
    recalls = [
        mean(len(right.intersection(found[question][:first])) / len(right) for question, right in questions.items())
        for first in FIRST
    ]
    return [*recalls, mean(_reciprocal(found[question], right) for question, right in questions.items())]


def _reciprocal(found: Sequence[str], right: set[str]) -> float:
    return next((1 / place for place, name in enumerate(found, 1) if name in right), 0.0)


# --- weights ---------------------------------------------------------------------------------------------------------


def _fit() -> None:
    """Print what comes out for questions of which none had a say in the weights, beside the weights as they are."""
    print(f"{'recall@10':28}{'turns':>8}{'talks':>8}   {', '.join(Weights._fields)}")
    tried = {weights: _asked(weights) for weights in {WEIGHTS, *(Weights(*each) for each in product(*GRID))}}
    held: list[tuple[float, float]] = []
    names = sorted(name.partition(".")[0] for name in os.listdir(FOLDER))
    for name in names:
        best = _best(tried, [other for other in names if other != name])
        _print(f"{name}, by the others", tried[best][name], best)
        held += tried[best][name]
    _print("held out, all", held, None)
    of_all = _best(tried, names)
    _print("best on all, asked of all", (one for name in names for one in tried[of_all][name]), of_all)
    kept = {"as it is": WEIGHTS, **{f"  without {what}": WEIGHTS._replace(**{what: 0.0}) for what in Weights._fields}}
    for what, weights in {**kept, "nothing but words": Weights(0.0, 0.0, 0.0, 0.0, 0.0)}.items():
        _print(what, (one for name in names for one in tried[weights][name]), weights)


_Asked = dict[str, list[tuple[float, float]]]
"""By conversation, for each of its questions the recall of turns and of talks."""

_asking: dict[bool, tuple[Talk, Library]] = {}


def _asked(weights: Weights) -> _Asked:
    asked: _Asked = {}
    both = [_recalls(weights, by_session=by_session) for by_session in (False, True)]
    for (name, of_turns), (_, of_talks) in zip(*both, strict=True):
        asked.setdefault(name, []).append((of_turns, of_talks))
    return asked


def _recalls(weights: Weights, *, by_session: bool) -> Iterator[tuple[str, float]]:
    if by_session not in _asking:
        talk = read(by_session=by_session)
        _asking[by_session] = talk, Library(talk.documents)
    talk, library = _asking[by_session]
    library.weights = weights
    for question, right in talk.questions.items():
        found = library.find(question, FIRST[-1])
        yield min(right).partition(" ")[0], len(right.intersection(found)) / len(right)


def _best(tried: dict[Weights, _Asked], names: Sequence[str]) -> Weights:
    """The weights with the highest recall of turns and talks together; of equals the smallest."""

    def order(weights: Weights) -> tuple[float, Weights]:
        return -round(sum(sum(one) for name in names for one in tried[weights][name]), 6), weights

    return min(tried, key=order)


def _print(name: str, figures: Iterable[tuple[float, float]], weights: Weights | None) -> None:
    turns, talks = (mean(column) for column in zip(*figures, strict=True))
    print(f"{name:28}{turns:8.3f}{talks:8.3f}   {', '.join(map(str, weights or ()))}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
