"""After ReMe: what worked, what triggered failure, what a tool teaches, what is risky, and what made the difference."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from retro.mining.base import Evidence, MemoryCandidate, Options, Scope, Trace, candidate, cite, register_method
from retro.mining.edits import lasting_edits, own_words, words_of
from retro.mining.episodes import label
from retro.mining.milestones import Turnaround, turnarounds
from retro.mining.trace import FAILED, LOOKING, NO_REASON, Step
from retro.mining.tries import pairs
from retro.mining.wording import base, can_be_quoted, code, sessions, tidy
from retro.problems import kind, says_nothing

NAME: Final = "reme_refine_poc"
OFTEN: Final = 3
"""Times that a tool must fail in one session in the same way before it teaches something."""

# What a person refuses once may have been the wrong moment; of these, once is enough.
_GRAVE: Final = re.compile(
    r"\b(?:push|publish|deploy|release|reset --hard|checkout (?:--|\.)|clean -|drop|truncate|sudo|kill|rm)\b|--force\b"
)


@register_method(
    NAME,
    version=2,
    description="what worked, what triggered failure, what a tool teaches, what is risky (after ReMe)",
    reach="repository",
)
def reme_refine_poc(traces: Sequence[Trace], options: Options) -> Iterable[MemoryCandidate]:
    """Lessons of single sessions, added only from success, and of pairs that differ in their outcome."""
    solved = _solved(traces)
    for trace in traces:
        if trace.outcome == "success":
            yield from _patterns(trace, solved)
            yield from _tool_lessons(trace)
    yield from _risks(traces)
    yield from _comparisons(traces)


# --- success patterns ------------------------------------------------------------------------------------------------

Key = tuple[str, str]
Solved = dict[Key, list[tuple[Trace, Turnaround]]]


def _solved(traces: Sequence[Trace]) -> Solved:
    """Failures that a change of one file resolved, by that file and the error that went away.

    What is left out teaches nothing: an error in a file that the session had edited before (its own slip), one that
    names the file itself, a test that was changed until it passed, a check of the session's own making.
    """
    found: Solved = {}
    for trace in traces:
        turns = turnarounds(trace.steps)
        lasting, own = (lasting_edits(trace), own_words(trace)) if turns else ({}, set())
        for turn in turns:
            files = list(dict.fromkeys(path for change in turn.changes for path in change.edits))
            if len(files) != 1 or not _specific(turn.failure.signature) or says_nothing(turn.failure.problem):
                continue
            path, check = files[0], turn.failure.command
            told = base(path) in (*words_of(turn.failure.problem), *words_of(check))
            if path in lasting and path not in turn.touched and not told and not own & set(words_of(check)):
                found.setdefault((path, turn.failure.signature), []).append((trace, turn))
    return found


_SLIPS: Final = frozenset({"SyntaxError", "IndentationError", "TabError"})


def _specific(error: str) -> bool:
    """Whether an error says something: not a slip of the pen, nor only that something is not as it should be."""
    return kind(error) not in _SLIPS and len(error.split()) > 1 and error != NO_REASON


def _patterns(trace: Trace, solved: Solved) -> Iterator[MemoryCandidate]:
    """A change that made a failing check pass; surer where another session confirms it."""
    for (path, error), group in solved.items():
        if group[-1][0] is not trace:  # told by the last session that saw it
            continue
        turn = group[-1][1]
        names = {of.name for of, _ in group}
        if not can_be_quoted(turn.success.command):
            continue
        check = tidy(turn.success.command, trace.scope)
        evidence: list[Evidence] = []
        for of, one in group[-3:]:
            evidence += [
                cite(of, one.failure.result_id or one.failure.event_id, one.failure.problem),
                cite(of, next(step.event_id for step in one.changes if path in step.edits), path),
                cite(of, one.success.event_id, one.success.command),
            ]
        yield candidate(
            NAME,
            "success_pattern",
            Scope("repository", trace.scope),
            f"A change of {code(path)} made {code(check)} pass, which had failed with {code(turn.failure.problem)}.",
            {"file": path, "signature": error, "support": {"sessions": len(names), "check": check}},
            evidence,
            when=f"{code(turn.failure.problem)} is met again, or {code(base(path))} is changed",
            unless="the error comes from another file",
            confidence=min(0.4 + 0.2 * (len(names) - 1), 0.9),
            priority=3 if len(names) > 1 else 2,
            reason=f"the same check failed before the change and passed after it, in {sessions(len(names))}",
        )


# --- tools and risks -------------------------------------------------------------------------------------------------


def _tool_lessons(trace: Trace) -> Iterator[MemoryCandidate]:
    """A tool that failed again and again in one way, until another one did it."""
    failures: dict[tuple[str, str], list[int]] = {}
    for at, step in enumerate(trace.steps):
        telling = step.problem and not says_nothing(step.problem)
        if step.outcome == FAILED and telling and step.kind not in LOOKING and step.program:
            failures.setdefault((label(step), step.signature), []).append(at)
    for (tool, error), places in failures.items():
        if len(places) < OFTEN or error == NO_REASON:
            continue
        first, last = trace.steps[places[0]], trace.steps[places[-1]]
        instead = _instead(trace.steps[places[-1] + 1 :], last, tool)
        if instead is None:
            continue
        yield candidate(
            NAME,
            "tool_lesson",
            Scope("repository", trace.scope),
            f"{code(tool)} failed {len(places)} times with {code(first.problem)}; {code(instead.command)} did it.",
            {"tool": tool, "signature": error, "instead": label(instead), "support": {"times": len(places)}},
            [
                cite(trace, first.result_id or first.event_id, first.problem),
                cite(trace, last.result_id or last.event_id, last.problem),
                cite(trace, instead.event_id, instead.command),
            ],
            when=f"{code(tool)} fails with {code(first.problem)}",
            unless="it fails for another reason",
            confidence=0.45,
            priority=3,
            reason=f"the first of {len(places)} equal failures in one session, and what ended them",
        )


def _instead(steps: Sequence[Step], failed: Step, tool: str) -> Step | None:
    for step in steps[:10]:
        if step.kind is failed.kind and not step.failed and label(step) != tool and can_be_quoted(step.command):
            return step
    return None


def _risks(traces: Sequence[Trace]) -> Iterator[MemoryCandidate]:
    """What a person refused: in several sessions, or once where it would have been hard to undo."""
    found: dict[str, list[tuple[Trace, Step]]] = {}
    for trace in traces:
        refused = set(trace.rejected)
        for step in trace.steps:
            if step.result_id in refused and can_be_quoted(step.command) and step.whole:
                found.setdefault(tidy(step.command, trace.scope), []).append((trace, step))
    for command, group in found.items():
        names = {trace.name for trace, _ in group}
        if len(names) < 2 and not _GRAVE.search(command):
            continue
        trace, step = group[-1]
        yield candidate(
            NAME,
            "risk_rule",
            Scope("repository", trace.scope),
            f"The user refused {code(command)}{f' in {len(names)} sessions' if len(names) > 1 else ''}.",
            {"refused": command, "support": {"sessions": len(names)}},
            [ref for of, one in group[-4:] for ref in (cite(of, one.event_id, command), cite(of, one.result_id))],
            when=f"{code(step.program)} is about to be called in such a way",
            unless="the user asks for it",
            confidence=min(0.9, 0.5 + 0.1 * len(names)),
            priority=4,
            reason=f"a person refused this call in {sessions(len(names))}",
        )


# --- comparisons -----------------------------------------------------------------------------------------------------


def _comparisons(traces: Sequence[Trace]) -> Iterator[MemoryCandidate]:
    """Two tries at one task that went differently: the earliest change that only the one that went wrong made."""
    told: set[tuple[str, str]] = set()
    for task, good, bad in pairs(traces):
        better, worse = lasting_edits(good), lasting_edits(bad)
        only = next((path for path in worse if path not in better), None)
        right = next((path for path in better if path not in worse), next(iter(better), None))
        if only is None or right is None or (only, right) in told:
            continue
        told.add((only, right))
        yield candidate(
            NAME,
            "failure_trigger",
            Scope("repository", good.scope),
            f"Of two tries at {code(task)}, the one that changed {code(right)} ended with a passing check; "
            f"the other went off by changing {code(only)} first.",
            {"task": task, "worked": right, "diverged": only},
            [cite(bad, worse[only].event_id, only), cite(good, better[right].event_id, right)],
            when=f"it is about {code(task)} or {code(base(right))}",
            unless="the task is another one",
            confidence=0.4,
            priority=3,
            reason="two sessions with one task and different outcomes, told apart by their earliest different change",
        )
