"""Mining by methods that start a program: one session after the other, of those that were named, and no others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from retro.failure import Failure
from retro.mining import output
from retro.mining.base import Headless, MemoryCandidate, Method, Options, Trace
from retro.mining.filters import FILTERS
from retro.mining.headless import asking
from retro.mining.headless.clients import METHODS
from retro.mining.runner import VERSION, Report
from retro.places import Places


class Turn(NamedTuple):
    """A method and a session that it is to be run on."""

    method: Method
    trace: Trace


def turns(
    methods: Sequence[Method], traces: Iterable[Trace], headless: Headless, places: Places, report: Report, force: bool
) -> Iterator[Turn]:
    """What there is to do. What was answered before, about the very same summary, is reported as it was."""
    for trace in traces:
        for method in methods:
            of_client = not force and method.name in METHODS
            if of_client and asking.is_answered(method.name, trace, headless):
                report.unchanged += 1
                mined = output.read(output.paths(places, method.name, trace.host, trace.session_id)[0])
                report.candidates += mined.candidates if mined is not None else []
            else:
                yield Turn(method, trace)


def questions(todo: Iterable[Turn], headless: Headless) -> Iterator[asking.Question]:
    """What would be asked, where nothing is to be asked yet."""
    for turn in todo:
        if turn.method.name in METHODS:
            found = asking.question(turn.method.name, turn.trace, headless)
            if found is not None:
                yield found


def ask(
    todo: Iterable[Turn], places: Places, chosen: str, headless: Headless, report: Report, each: Callable[[], None]
) -> None:
    """Run them, and write what they find at once: an answer that was paid for is not lost when the next one fails.

    No lock is held: a client may take minutes, and writes no file that anybody else does.
    """
    options = Options(headless=headless)
    for turn in todo:
        try:
            found = list(turn.method.mine([turn.trace], options))
        except Failure as failure:
            report.problems.append(f"{turn.method.name}, {turn.trace.name}: {failure.message}")
            if failure.kind == "not_found":
                raise
            continue
        except Exception as error:
            if turn.method.origin == "retro":
                raise
            report.problems.append(f"{turn.method.name}, {turn.trace.name}: {error!r}")
            continue
        kept = FILTERS[chosen](found, report.dropped)
        report.candidates += kept
        report.written += _write(places, turn, kept)
        each()


def _write(places: Places, turn: Turn, kept: list[MemoryCandidate]) -> bool:
    name = (turn.method.name, turn.trace.host, turn.trace.session_id)
    return output.write(places, output.Mined(VERSION, *name, kept))


def first(todo: Iterator[Turn], limit: int) -> tuple[list[Turn], bool]:
    """At most so many, and whether there are more."""
    found = list(islice(todo, limit + 1))
    return found[:limit], len(found) > limit
