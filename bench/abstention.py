"""`python -m bench.abstention`: whether memory speaks when it has something to say, and is silent when it has not.

The labelled sessions of each repository are cut in halves. One half is learned from, questions come from the other:
errors that it met, the ways of its repository, files that it changed. Silence is asked for by prompts about something
else, and by the tasks of the other repository. `--fit` fits the weights of relevance on one half's questions
and reports on the other's, both ways.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from math import exp
from typing import Final, NamedTuple

import apsw
import msgspec

from bench.cases import scratch
from retro.config import Settings
from retro.index.database import open_reader, open_writer
from retro.memory import learning, retrieval
from retro.memory.retrieval import INJECT, NONE, Answer, Weights
from retro.mining import tracing
from retro.mining.base import Options
from retro.mining.edits import lasting_edits
from retro.mining.episodes import label
from retro.mining.trace import Trace
from retro.mining.wording import base
from retro.places import Places
from retro.problems import family
from retro.sweep import sweep

CORPUS: Final = os.path.join("shared", "corpus", "labelled")
SILENT: Final = 0.90
FOUND: Final = 0.70
FIRST: Final = 3
"""A memory counts as given if it is among the first so many: what a weave would hold."""

QUIET: Final = 0.94
SURE: Final = 0.98
"""Shares of the prompts that should meet silence about which nothing is asked, and into which nothing is woven."""

PARTS: Final = ("strength", "coverage", "names", "purpose")

WAYS: Final = {
    "test": (
        "how do I run the tests here?",
        "run the test suite",
        "which command runs the unit tests in this project?",
        "please run all tests and tell me what fails",
        "how are tests run?",
        "I want to run a single test file",
        "what is the test command?",
        "pytest does not work, how do I run tests?",
    ),
    "build": ("how is this built?", "build the docs", "which command builds the documentation?", "run a build"),
    "install": ("how do I install the packages?", "install the dependencies", "which command installs this package?"),
    "check": ("run the linter", "how is the code checked here?"),
}
CHANGES: Final = (
    "there is a bug in {path}",
    "please change {path} so that it handles empty input",
    "what do I have to know before I edit {name}?",
    "look at {path} and fix the failing case",
)


class Question(NamedTuple):
    """Something to ask, where, and which memories speak to it; none of them where silence is right."""

    text: str
    cwd: str
    what: str
    right: frozenset[str]


class Half(NamedTuple):
    """An archive that has learned from one half, and what the other half asks it."""

    places: Places
    questions: list[Question]


class Score(msgspec.Struct):
    """How one kind of question was answered."""

    what: str
    asked: int
    right: int
    woven: int = 0
    """Into how many something would be woven."""


def main() -> int:
    """Ask, count, and where it is wanted fit."""
    parser = argparse.ArgumentParser(prog="python -m bench.abstention", description=__doc__)
    parser.add_argument("--corpus", default=_corpus(), help="a folder as CLAUDE_CONFIG_DIR names it")
    parser.add_argument("--fit", action="store_true", help="fit the weights of relevance, and print them")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--wrong", action="store_true", help="show the questions that are answered wrongly")
    parser.add_argument(
        "--meaning", action="store_true", help="also by meaning, with the semantic extra; takes minutes"
    )
    args = parser.parse_args()
    if not os.path.isdir(os.path.join(args.corpus, "projects")):
        print(f"there are no sessions in {args.corpus}", file=sys.stderr)
        return 1
    with scratch(tempfile.gettempdir()) as folder:
        halves = prepared(args.corpus, folder)
        weights = retrieval.weights()
        if args.fit:
            crossed: list[Score] = []
            for number, (fitted_on, told) in enumerate(zip(halves, halves[::-1], strict=True), 1):
                found = scores([told], _by_words(fitted([fitted_on], weights)), wrong=args.wrong)
                _print(f"fitted on half {number}, asked of the other", found)
                crossed += found
            _print("both together: cross-validated", _summed(crossed))
            weights = fitted(halves, weights)
            shown = {name: round(value, 3) for name, value in weights.relevance.items()}
            print(json.dumps({"inject": round(weights.inject, 3), "ask": round(weights.ask, 3), "relevance": shown}))
        find = _by_meaning(halves) if args.meaning else _by_words(weights)
        found = scores(halves, find, wrong=args.wrong)
        if args.json:
            print(json.dumps({"scores": [msgspec.to_builtins(score) for score in found]}))
        else:
            _print("the weights in force, both halves" if not args.fit else "fitted on both halves", found)
    return 0


def _corpus() -> str:
    above = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return os.path.join(above, CORPUS)


# --- what is asked ---------------------------------------------------------------------------------------------------


def prepared(corpus: str, folder: str) -> list[Half]:
    """Two archives, each of one half, with the questions of the other half."""
    names: list[str] = []
    for at, _, files in os.walk(os.path.join(corpus, "projects")):
        names += [os.path.join(at, name) for name in sorted(files) if name.endswith(".jsonl")]
    archives: list[tuple[Places, list[Trace]]] = []
    for half in (0, 1):
        home = os.path.join(folder, f"home{half}")
        for path in names:
            if blake2b(os.path.basename(path).encode(), digest_size=1).digest()[0] % 2 == half:
                target = os.path.join(home, os.path.relpath(path, corpus))
                os.makedirs(os.path.dirname(target), exist_ok=True)
                os.link(path, target) if os.stat(path).st_dev == os.stat(home).st_dev else _copy(path, target)
        archives.append(_learned(Places(os.path.join(folder, f"archive{half}")), home))
    (one, one_traces), (other, other_traces) = archives
    return [Half(one, _questions(one, other_traces)), Half(other, _questions(other, one_traces))]


def _copy(path: str, target: str) -> None:
    import shutil

    shutil.copyfile(path, target)


def _learned(places: Places, home: str) -> tuple[Places, list[Trace]]:
    sweep(places, Settings(""), {"HOME": home, "CLAUDE_CONFIG_DIR": home})
    connection = open_writer(places.index)
    try:
        learning.learn(connection, places, Options())
        return places, list(tracing.all_traces(connection))
    finally:
        connection.close()


def _questions(places: Places, traces: Sequence[Trace]) -> list[Question]:
    connection = open_reader(places)
    assert connection is not None
    try:
        known = [
            (name, scope, kind, json.loads(body)["item"]["structured"])
            for name, scope, kind, body in connection.execute("SELECT id, scope, kind, body FROM memory")
        ]
    finally:
        connection.close()
    cwds = sorted({trace.scope for trace in traces})
    found = [*_of_errors(traces, known), *_of_ways(cwds, known), *_of_files(traces, known)]
    found = [question for question in found if question.right]
    for cwd in cwds:
        found += [Question(text, cwd, "about something else", frozenset()) for text in unrelated()]
    for trace in traces:
        task = trace.prompts[0].text[:1000] if trace.prompts else ""
        found += [
            Question(_task(task), cwd, "task of another repository", frozenset()) for cwd in cwds if cwd != trace.scope
        ]
    return list(dict.fromkeys(found))


def unrelated() -> list[str]:
    """Prompts that no repository's memories speak to."""
    with open(os.path.join(os.path.dirname(__file__), "unrelated.txt"), encoding="utf-8") as file:
        return [line.strip() for line in file if line.strip()]


def _task(text: str) -> str:
    """A task without the frame that all tasks of this corpus have."""
    return text.partition("Consider the following PR description:")[2].strip() or text


Known = Sequence[tuple[str, str, str, dict[str, object]]]


def _of_errors(traces: Sequence[Trace], known: Known) -> Iterator[Question]:
    for trace in traces:
        for step in trace.steps:
            if not step.failed or not step.problem:
                continue
            right = {
                name
                for name, scope, _, said in known
                if scope == trace.scope
                and (
                    (
                        said.get("program") == label(step)
                        and said.get("signature") in (step.signature, family(step.signature))
                    )
                    or label(step) in _list(said.get("absent"))
                    or (said.get("signature") == step.signature and "file" in said)
                )
            }
            command = step.command.splitlines()[0][:200] if step.command else ""
            yield Question(f"{command}\n{step.problem}", trace.scope, "an error that was met", frozenset(right))


def _of_ways(cwds: Sequence[str], known: Known) -> Iterator[Question]:
    for cwd in cwds:
        for kind, texts in WAYS.items():
            right = frozenset(
                name
                for name, scope, is_, said in known
                if scope == cwd and is_ == "command" and said.get("kind") == kind
            )
            yield from (Question(text, cwd, "how things are done here", right) for text in texts)


def _of_files(traces: Sequence[Trace], known: Known) -> Iterator[Question]:
    for trace in traces:
        for number, path in enumerate(lasting_edits(trace)):
            right = frozenset(
                name
                for name, scope, _, said in known
                if scope == trace.scope
                and any(
                    base(told) == base(path)
                    for told in (said.get("file"), *_list(said.get("files")))
                    if isinstance(told, str)
                )
            )
            text = CHANGES[number % len(CHANGES)].format(path=path, name=base(path))
            yield Question(text, trace.scope, "a file that was changed", right)


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


# --- how it is answered ----------------------------------------------------------------------------------------------


Find = Callable[[apsw.Connection, Question], Answer]


def _by_words(weights: Weights) -> Find:
    return lambda connection, question: retrieval.retrieve(connection, question.text, [question.cwd], of=weights)


def _by_meaning(halves: Sequence[Half]) -> Find:
    """By words and meaning, with a vector for every memory."""
    from functools import lru_cache

    from retro.memory import meaning
    from retro.semantic.model import INSTALL, choose, load

    choice = choose()
    if choice is None:
        sys.exit(f"the semantic extra is not installed: {INSTALL}")
    model = lru_cache(maxsize=1)(lambda: load(choice))
    for half in halves:
        connection = open_writer(half.places.index)
        meaning.fill(connection, choice, model)
        connection.close()
    return lambda connection, question: meaning.retrieve(
        connection, question.text, [question.cwd], False, choice, model
    )


def scores(halves: Sequence[Half], find: Find, *, wrong: bool = False) -> list[Score]:
    """How each kind of question is answered: with a memory that speaks to it, or with silence where that is right."""
    found: dict[str, Score] = {}
    for half in halves:
        connection = open_reader(half.places)
        assert connection is not None
        for question in half.questions:
            answer = find(connection, question)
            is_right = _is_right(question, answer)
            score = found.setdefault(question.what, Score(question.what, 0, 0))
            score.asked += 1
            score.right += is_right
            score.woven += answer.decision == INJECT
            if wrong and not is_right:
                print(f"  {question.what}: {question.text[:100]!r} -> {answer.decision}: {answer.reason}")
        connection.close()
    return list(found.values())


def _is_right(question: Question, answer: Answer) -> bool:
    if not question.right:
        return answer.decision == NONE
    return answer.decision != NONE and bool(question.right & {hit.id for hit in answer.hits[:FIRST]})


def _summed(found: Sequence[Score]) -> list[Score]:
    kinds = dict.fromkeys(score.what for score in found)
    return [
        Score(
            what,
            sum(one.asked for one in found if one.what == what),
            sum(one.right for one in found if one.what == what),
            sum(one.woven for one in found if one.what == what),
        )
        for what in kinds
    ]


def _print(title: str, found: Sequence[Score]) -> None:
    print(title)
    for score in found:
        share, woven = score.right / score.asked, score.woven / score.asked
        print(f"  {score.what:30} {score.right:5} of {score.asked:5}  {share:6.1%}   woven into {woven:.1%}")
    silent = [score for score in found if score.what in ("about something else", "task of another repository")]
    speaking = [score for score in found if score not in silent]
    for what, group, aim in (
        ("silent where it should be", silent, SILENT),
        ("given where there is one", speaking, FOUND),
    ):
        right, asked = sum(score.right for score in group), sum(score.asked for score in group)
        print(f"  {what:30} {right:5} of {asked:5}  {right / asked:.1%} (aim: {aim:.0%})")
    print()


# --- fitting ---------------------------------------------------------------------------------------------------------


def fitted(halves: Sequence[Half], start: Weights) -> Weights:
    """Weights of relevance by logistic regression over (question, memory) pairs; a memory speaks to it or does not.

    From where on to ask and to inject is chosen by the prompts that should meet silence, of each kind.
    """
    rows: list[tuple[list[float], int, float]] = []
    asked = _without_limits(halves, start)
    counts = Counter(question.what for question, _ in asked)
    for question, answer in asked:
        for hit in answer.hits[:5]:
            if "strength" in hit.parts:
                parts = [hit.parts[name] for name in PARTS]
                rows.append((parts, int(hit.id in question.right), 1.0 / counts[question.what]))
    bias, slopes = _logistic(rows)
    relevance = {"bias": bias, **dict(zip(PARTS, slopes, strict=True))}
    own = Weights({"inject": 99.0, "ask": -99.0, "relevance": relevance, "value": start.value})
    heights: dict[str, list[float]] = {}
    for question, answer in _without_limits(halves, own):
        if not question.right:
            best = max((hit.relevance for hit in answer.hits), default=bias - 1)
            heights.setdefault(question.what, []).append(best)
    ask = max(_quantile(found, QUIET) for found in heights.values()) + 1e-6
    inject = max(ask, *(_quantile(found, SURE) for found in heights.values())) + 1e-6
    own.ask, own.inject = 0.0, inject - ask  # so that what is above 0 speaks to the question
    own.relevance["bias"] -= ask
    return own


def _without_limits(halves: Sequence[Half], weights: Weights) -> list[tuple[Question, Answer]]:
    everything = Weights({"inject": 99.0, "ask": -99.0, "relevance": weights.relevance, "value": weights.value})
    found: list[tuple[Question, Answer]] = []
    for half in halves:
        connection = open_reader(half.places)
        assert connection is not None
        answers = (retrieval.retrieve(connection, one.text, [one.cwd], of=everything) for one in half.questions)
        found += zip(half.questions, answers, strict=True)
        connection.close()
    return found


def _quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _logistic(rows: Sequence[tuple[list[float], int, float]], steps: int = 1500) -> tuple[float, list[float]]:
    """Gradient descent on the weighted log loss, with a little ridge; slopes are never negative."""
    width = len(rows[0][0])
    bias, slopes = 0.0, [0.0] * width
    whole = sum(weight for _, _, weight in rows)
    rate = 1.0
    for _ in range(steps):
        by_bias, by_slope = 0.0, [0.002 * slope for slope in slopes]
        for parts, is_right, weight in rows:
            found = bias + sum(slope * part for slope, part in zip(slopes, parts, strict=True))
            error = (1 / (1 + exp(-max(-30.0, min(30.0, found)))) - is_right) * weight / whole
            by_bias += error
            for at, part in enumerate(parts):
                by_slope[at] += error * part
        bias -= rate * by_bias
        slopes = [max(0.0, slope - rate * by) for slope, by in zip(slopes, by_slope, strict=True)]
    return bias, slopes


if __name__ == "__main__":
    sys.exit(main())
