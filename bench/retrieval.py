"""`python -m bench.retrieval`: how well sessions are found, beside plain full-text search, on the labelled sessions.

A query is the text of an issue; right are the other sessions whose patch touched the same file of the product.
Printed are recall and nDCG at ten: of the archive as it is searched, of the same texts through `retro bench-
retrieval`, of SQLite's FTS5 with its own ranking, and of all with search by meaning where that is installed. `--fit`
chooses by cross-validation over five parts of the queries how much the lists by meaning count, and reports on the
parts that were not chosen by.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import log2
from statistics import mean, median
from typing import Final, NamedTuple

import apsw

from retro.config import Settings
from retro.foreign import Document, Library
from retro.index.database import open_reader, open_writer
from retro.index.hits import Filters
from retro.index.search import search
from retro.places import Places
from retro.semantic.model import Choice, choose, load
from retro.sweep import sweep
from retro.terms import ANSWER, PROMPT

CORPUS: Final = os.path.join("shared", "corpus", "labelled")
FIRST: Final = 10
PARTS: Final = 5
WEIGHTS: Final = (0.0, 0.3, 0.5, 0.7, 1.0)

Find = Callable[[str], list[str]]


class Labelled(NamedTuple):
    """Texts of sessions, what is asked, and what is right for it."""

    texts: dict[str, str]
    issues: dict[str, str]
    right: dict[str, set[str]]


class Score(NamedTuple):
    """Recall and nDCG at ten of one query."""

    recall: float
    gain: float


def main() -> int:
    """Ask every way, print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.retrieval", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", default=_corpus(), help="a folder with labels.tsv and projects/")
    parser.add_argument("--fit", action="store_true", help="choose the weights of meaning by cross-validation")
    parser.add_argument("--keywords", action="store_true", help="leave search by meaning out, also where it is there")
    args = parser.parse_args()
    labelled = read(args.corpus)
    print(f"{len(labelled.texts)} sessions, {len(labelled.issues)} queries")
    print(f"{'':44} recall@10  nDCG@10  median ms")
    choice = None if args.keywords else choose()
    with tempfile.TemporaryDirectory(prefix="bench-retrieval-") as folder:
        for name, find in ways(labelled, args.corpus, folder, choice):
            scores, spent = asked(find, labelled)
            recall, gain = (mean(score[at] for score in scores.values()) for at in (0, 1))
            print(f"{name:44} {recall:9.3f} {gain:8.3f} {spent:10.1f}", flush=True)
        if args.fit and choice is not None:
            _fit(labelled, folder, choice)
    if choice is None:
        print("search by meaning was left out: it is not installed, or not wanted")
    return 0


def read(corpus: str) -> Labelled:
    """The labelled sessions."""
    with open(os.path.join(corpus, "labels.tsv"), encoding="utf-8") as file:
        files = {row["session"]: _sources(row["files"]) for row in csv.DictReader(file, delimiter="\t")}
    right = {one: {other for other in files if other != one and files[other] & files[one]} for one in files}
    texts, issues = {}, {}
    for folder, _, names in os.walk(os.path.join(corpus, "projects")):
        for name in sorted(names):
            session = name.removesuffix(".jsonl")
            told = list(_told(os.path.join(folder, name)))
            texts[session] = "\n".join(told)
            found = re.search(r"<pr_description>(.*?)</pr_description>", told[0], re.DOTALL)
            if found and right.get(session):
                issues[session] = found[1].replace("Consider the following PR description:", "").strip()
    return Labelled(texts, issues, right)


def _sources(names: str) -> set[str]:
    """The files of the product: every patch touches `tox.ini` or `setup.py`, which would make all of them alike."""
    return {name for name in names.split() if name.startswith(("sphinx/", "sympy/")) and "/tests/" not in name}


def _told(path: str) -> Iterator[str]:
    """All texts of a session: what was asked, answered, run and printed."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            content = (json.loads(line).get("message") or {}).get("content", "")
            for part in [{"text": content}] if isinstance(content, str) else content:
                text = part.get("text") or part.get("content") or json.dumps(part.get("input", ""))
                yield text if isinstance(text, str) else "\n".join(piece.get("text", "") for piece in text)


# --- ways to ask -----------------------------------------------------------------------------------------------------


def ways(labelled: Labelled, corpus: str, folder: str, choice: Choice | None) -> Iterator[tuple[str, Find]]:
    """Each way to find sessions, with its name."""
    yield "FTS5, unicode61, any of the words", _plain(labelled.texts)
    places = Places(os.path.join(folder, "archive"))
    sweep(places, Settings("", {}), {"CLAUDE_CONFIG_DIR": corpus, "HOME": folder}, hosts=["claude"])
    index = open_reader(places)
    assert index is not None
    yield (
        "retro search --sessions",
        lambda text: [hit.session_id for hit in search(index, text, None, FIRST + 1, by_session=True).hits],
    )
    documents = [Document(name, text) for name, text in labelled.texts.items()]
    yield "retro bench-retrieval, same texts", _library(Library(documents))
    if choice is None:
        return
    from retro.semantic import keeping
    from retro.semantic.meaning import Meaning, find

    writer = open_writer(places.index)
    keeping.fill(writer, choice, load(choice), most=4)
    writer.close()
    meaning = Meaning(choice)
    yield (
        "retro search --sessions, by meaning too",
        lambda text: [hit.session_id for hit in find(index, text, Filters(), FIRST + 1, meaning, by_session=True).hits],
    )
    yield "retro bench-retrieval, by meaning too", _library(Library(documents, choice))


def _library(library: Library) -> Find:
    return lambda text: library.find(text, FIRST + 1)


def _plain(texts: dict[str, str]) -> Find:
    """What SQLite finds by itself."""
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5 (id UNINDEXED, text, tokenize = 'unicode61')")
    connection.executemany("INSERT INTO t VALUES (?, ?)", texts.items())
    query = "SELECT id FROM t WHERE text MATCH ? ORDER BY rank LIMIT ?"

    def find(text: str) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in sorted(set(re.findall(r"\w+", text))))
        return [name for (name,) in connection.execute(query, (words, FIRST + 1))]

    return find


# --- how good --------------------------------------------------------------------------------------------------------


def asked(find: Find, labelled: Labelled) -> tuple[dict[str, Score], float]:
    """The scores of all queries, and the median of the milliseconds that one took."""
    scores, spent = {}, []
    for name, issue in labelled.issues.items():
        began = time.perf_counter()
        found = find(issue)
        spent.append((time.perf_counter() - began) * 1000)
        scores[name] = score([other for other in found if other != name][:FIRST], labelled.right[name])
    return scores, median(spent)


def score(found: Sequence[str], right: set[str]) -> Score:
    """Of what is right how much was found, and how far up."""
    gains = [1 / log2(place + 2) for place in range(FIRST)]
    reached = sum(gain for gain, name in zip(gains, found, strict=False) if name in right)
    return Score(len(right.intersection(found)) / len(right), reached / sum(gains[: len(right)]))


def _fit(labelled: Labelled, folder: str, choice: Choice) -> None:
    """Choose weights on four fifths of the queries, report on the last, five times."""
    from retro.semantic import meaning

    index = open_reader(Places(os.path.join(folder, "archive")))
    assert index is not None
    known = meaning.Meaning(choice)
    tried: dict[tuple[float, float], dict[str, Score]] = {}
    for weights in product(WEIGHTS, WEIGHTS):
        meaning.BY_KIND.update(zip((PROMPT, ANSWER), weights, strict=True))
        tried[weights], _ = asked(
            lambda text: [
                hit.session_id for hit in meaning.find(index, text, Filters(), FIRST + 1, known, by_session=True).hits
            ],
            labelled,
        )
    names = sorted(labelled.issues)
    held: list[Score] = []
    for part in range(PARTS):
        inside = [name for at, name in enumerate(names) if at % PARTS != part]
        best = max(tried, key=lambda weights: mean(sum(tried[weights][name]) for name in inside))
        print(f"part {part + 1}: prompts {best[0]}, answers {best[1]}")
        held += [tried[best][name] for at, name in enumerate(names) if at % PARTS == part]
    print(f"{'held out':44} {mean(one.recall for one in held):9.3f} {mean(one.gain for one in held):8.3f}")


def _corpus() -> str:
    above = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return os.path.join(above, CORPUS)


if __name__ == "__main__":
    raise SystemExit(main())
