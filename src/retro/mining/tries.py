"""Tries at the same task: sessions that name one issue, or that met one error in one file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from retro.mining.milestones import turnarounds, unresolved
from retro.mining.trace import NO_REASON, Trace
from retro.problems import says_nothing

_ISSUE: Final = re.compile(r"(?:issues?|pull|bugs?)[/ #]{1,3}(\d{2,6})\b|#(\d{2,6})\b|\b([A-Z]{2,8}-\d{1,6})\b")


class Pair(NamedTuple):
    """Two tries at one task, of which one ended with a passing check and the other did not."""

    task: str
    good: Trace
    bad: Trace


def pairs(traces: Sequence[Trace]) -> Iterator[Pair]:
    """For each task the last try that went well and the last that did not."""
    by_task: dict[str, tuple[str, list[Trace], list[Trace]]] = {}
    for trace in traces:
        for key, says in _tasks(trace).items() if trace.outcome else ():
            _, good, bad = by_task.setdefault(key, (says, [], []))
            (good if trace.outcome == "success" else bad).append(trace)
    for says, good, bad in by_task.values():
        if good and bad:
            yield Pair(says, good[-1], bad[-1])


def _tasks(trace: Trace) -> dict[str, str]:
    """What tells that two sessions were at the same task, each with the words for it."""
    found = {}
    issue = _ISSUE.search(trace.prompts[0].text) if trace.prompts else None
    if issue:
        says = next(filter(None, issue.groups()))
        found[f"issue {says}"] = says
    good = trace.outcome == "success"
    failures = [turn.failure for turn in turnarounds(trace.steps)] if good else unresolved(trace.steps).values()
    for failure in failures:
        if failure.signature == NO_REASON or says_nothing(failure.problem) or len(failure.signature.split()) < 2:
            continue
        file = next((name for name in failure.about if "." in name), "")
        if file:
            found[f"error {file} {failure.signature}"] = failure.problem
    return found
