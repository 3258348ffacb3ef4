"""`retro bench-retrieval`: documents of your own, ranked by the very same search, so that it can be measured."""

from __future__ import annotations

import os
import sys
import time
from statistics import median
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from retro.cli import moments, output
from retro.failure import WRONG_USAGE, Failure
from retro.foreign import Document, Library
from retro.semantic.model import wished

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from retro.cli.interface import Context, Parser

K: Final = 10
_Line = TypeVar("_Line", bound=msgspec.Struct)


class Question(msgspec.Struct):
    """What is looked for."""

    qid: str
    text: str


class Answer(msgspec.Struct):
    """What was found for it, best first, and how long that took."""

    qid: str
    ids: list[str]
    ms: float


def add_arguments(parser: Parser) -> None:
    """Declare the files."""
    parser.description = f"{parser.description}" + (
        " Nothing of the archive is read or written. Documents are lines of JSON, {id, text, ts?}, best in the"
        " order in which they were said; queries {qid, text}; answers {qid, ids: [best first], ms}."
    )
    parser.add_argument("--corpus", metavar="FILE", required=True, help="the documents")
    parser.add_argument("--queries", metavar="FILE", required=True, help="what to look for")
    parser.add_argument("--out", metavar="FILE", required=True, help="where the answers go; - for stdout")
    parser.add_argument("--keywords", action="store_true", help="by words alone, also where search by meaning is there")
    parser.add_argument("--k", metavar="N", type=moments.whole, default=K, help=f"ids an answer has at most ({K})")


def run(args: argparse.Namespace, context: Context) -> int:
    """Index the documents in memory, answer each query, write the answers."""
    if context.json and args.out == "-":
        raise Failure("usage", "--json and the answers cannot both go to stdout", "--out FILE", WRONG_USAGE)
    began = time.perf_counter()
    choice = None if args.keywords else wished(context.settings)
    with output.Progress("vectors") as progress:

        def say(waiting: int, done: int) -> None:
            progress.items = waiting
            progress.advance(done)

        library = Library(_documents(args.corpus), choice, say)
    indexed = time.perf_counter() - began
    answers = [_answer(library, question, args.k) for question in _lines(args.queries, Question)]
    _write(args.out, answers)
    spent = sorted(answer.ms for answer in answers)
    told = {
        "documents": len(library),
        "queries": len(answers),
        "semantic": choice is not None,
        "index_seconds": round(indexed, 3),
        "median_ms": round(median(spent), 3) if spent else None,
        "p95_ms": round(spent[int(0.95 * (len(spent) - 1))], 3) if spent else None,
    }
    if context.json:
        output.print_json(told)
    elif args.out != "-":
        took = f"; half of them within {told['median_ms']} ms, 95 % within {told['p95_ms']} ms" if spent else ""
        print(f"{len(library):,} documents, {len(answers):,} queries{took}")
    return 0


def _answer(library: Library, question: Question, limit: int) -> Answer:
    began = time.perf_counter()
    ids = library.find(question.text, limit)
    return Answer(question.qid, ids, round((time.perf_counter() - began) * 1000, 3))


def _documents(path: str) -> Iterator[Document]:
    seen: set[str] = set()
    for document in _lines(path, Document):
        if document.id in seen:
            raise Failure("input", f"{path}: two documents have the id {document.id[:80]!r}", "ids tell them apart")
        seen.add(document.id)
        yield document


def _lines(path: str, of: type[_Line]) -> Iterator[_Line]:
    decode = msgspec.json.Decoder(of, strict=False).decode
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    try:
                        yield decode(line)
                    except (msgspec.DecodeError, UnicodeDecodeError) as error:
                        fields = ", ".join(of.__struct_fields__)
                        hint = f"each line is a JSON object with {fields}"
                        raise Failure("input", f"{path}, line {number}: {error}", hint) from None
    except OSError as error:
        raise Failure("input", f"{path} cannot be read: {error.strerror}", "retro bench-retrieval --help") from None


def _write(path: str, answers: list[Answer]) -> None:
    data = b"".join(msgspec.json.encode(answer) + b"\n" for answer in answers)
    if path == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        return
    try:
        with open(path, "wb") as file:
            file.write(data)
    except OSError as error:
        hint = f"is {os.path.dirname(os.path.abspath(path))} a folder that can be written to?"
        raise Failure("output", f"{path} cannot be written: {error.strerror}", hint) from None
