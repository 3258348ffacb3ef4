"""Commands that work in a repository, and those that do not run there at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from retro.commands import Kind
from retro.mining.base import MemoryCandidate, Options, Scope, Trace, candidate, cite, register_method
from retro.mining.edits import own_words, words_of
from retro.mining.episodes import label
from retro.mining.milestones import ABSENT
from retro.mining.statistics import wilson
from retro.mining.trace import FAILED, UNKNOWN, Step
from retro.mining.wording import code, example, sessions, times

LEAST: Final = 2
SHOWN: Final = 4

KINDS: Final = {
    Kind.TEST: "Tests are run",
    Kind.BUILD: "It is built",
    Kind.CHECK: "It is checked",
    Kind.INSTALL: "Packages are installed",
}
WHEN: Final = {
    Kind.TEST: "tests, a test suite or a single test are to be run here",
    Kind.BUILD: "this or its documentation, docs, is to be built here",
    Kind.CHECK: "code is to be checked, linted or typed here",
    Kind.INSTALL: "packages or dependencies are to be installed here",
}
Tries = dict[str, list[tuple[Trace, Step]]]


@register_method(
    "commands",
    version=3,
    description="commands that work in a repository, and those that do not run there",
    reach="repository",
)
def commands(traces: Sequence[Trace], options: Options) -> Iterable[MemoryCandidate]:
    """For each kind of command the one that runs here, with those that do not."""
    for kind in KINDS:
        ran: Tries = {}
        absent: Tries = {}
        for trace in traces:
            for step in trace.steps:
                if step.kind is kind and step.command and step.outcome != UNKNOWN:
                    group = absent if step.outcome == FAILED and ABSENT.search(step.problem) else ran
                    group.setdefault(label(step), []).append((trace, step))
        yield from _of_kind(kind, ran, absent)


def _of_kind(kind: Kind, ran: Tries, absent: Tries) -> Iterator[MemoryCandidate]:
    counts = {name: len(_names(tries)) for name, tries in ran.items()}
    best = max(counts, key=lambda name: (counts[name], name), default=None)
    if best is None or counts[best] < LEAST:
        return
    missing = {
        name: tries
        for name, tries in absent.items()
        if name != best and len(_names(tries)) >= max(LEAST, 4 * len(_names(ran.get(name, ()))))
    }
    of = len(_names(ran[best]) | {name for tries in missing.values() for name in _names(tries)})
    if not missing and len({name for name in counts if counts[name] >= LEAST}) == 1 and counts[best] < 3:
        return
    passed = [(trace, step) for trace, step in ran[best] if not step.failed]
    shown = _shown(passed)
    if kind is Kind.INSTALL and not missing and (not shown or _USUAL.fullmatch(shown)):
        return
    text = f"{KINDS[kind]} here with {code(best)}"
    text += f", as in {code(shown)}" if shown and shown != best else ""
    text += f": it ran in {sessions(counts[best])}."
    for name, tries in sorted(missing.items(), key=lambda item: -len(_names(item[1]))):
        text += f" {code(name)} does not run here ({code(tries[-1][1].problem)}, {sessions(len(_names(tries)))})."
    scope = ran[best][0][0].scope
    last = {trace.name: (trace, step) for trace, step in passed or ran[best]}
    evidence = [cite(trace, step.event_id, step.command) for trace, step in list(last.values())[-SHOWN:]]
    for tries in missing.values():
        trace, step = tries[-1]
        evidence.insert(0, cite(trace, step.result_id or step.event_id, step.problem))
    yield candidate(
        "commands",
        "command",
        Scope("repository", scope),
        text,
        {
            "kind": kind.value,
            "program": best,
            "absent": sorted(missing),
            "support": {"sessions": counts[best], "of": of, "example": shown or None},
        },
        evidence,
        when=WHEN[kind],
        unless="the task is to change how this is done",
        confidence=wilson(counts[best], max(of, counts[best]))[0],
        priority=5 if missing else 3,
        reason=f"it ran {times(counts[best], of)} that ran one of these",
    )


# What everybody would try first.
_USUAL: Final = re.compile(
    r"(?:\S*python[\d.]* -m )?pip3? install (?:-\w+ )*(?:\.|[\w-]+)|npm (?:install|i|ci)|yarn(?: install)?"
)


def _shown(passed: Sequence[tuple[Trace, Step]]) -> str:
    """The command to be quoted: of those that name nothing that a session made for itself, what most sessions ran."""
    groups: dict[str, set[str]] = {}
    own = {trace.name: own_words(trace) for trace in {trace.name: trace for trace, _ in passed}.values()}
    for trace, step in passed:
        if not own[trace.name] & set(words_of(step.command)):
            command = example([step])
            groups.setdefault(command, set()).add(trace.name)
    groups.pop("", None)
    return min(groups, key=lambda command: (-len(groups[command]), len(command), command), default="")


def _names(tries: Sequence[tuple[Trace, Step]]) -> set[str]:
    return {trace.name for trace, _ in tries}
