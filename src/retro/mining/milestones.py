"""A session as the few steps that made it: what was changed, run and checked, without the looking around."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from retro.commands import Kind
from retro.mining.episodes import label
from retro.mining.trace import CHECKING, OK, UNKNOWN, Step, Trace
from retro.mining.wording import tidy

_MILESTONES: Final = frozenset(
    {Kind.TEST, Kind.BUILD, Kind.CHECK, Kind.FORMAT, Kind.RUN, Kind.INSTALL, Kind.EDIT, Kind.COMMIT, Kind.CHANGE}
)

EDIT: Final = "edit FILE"

# A program that is not there, told from one that ran and found something.
ABSENT: Final = re.compile(
    r"command not found|No module named|not recognized as an internal|Missing script|No rule to make target"
    r"|unknown command|no such (?:command|subcommand)|is not installed|Permission denied$|executable file not found"
)


class Milestone(NamedTuple):
    """A step that counts, with what it is called when its literals are left out."""

    name: str
    step: Step


def milestones(trace: Trace) -> list[Milestone]:
    """The steps of a session that count, one for each row of the same."""
    found: list[Milestone] = []
    for step in trace.steps:
        if step.kind not in _MILESTONES or step.outcome == UNKNOWN:
            continue
        name = EDIT if step.kind is Kind.EDIT else f"{label(step)}{' (fails)' if step.failed else ''}"
        if not found or found[-1].name != name:
            found.append(Milestone(name, step))
    return found


class Turnaround(NamedTuple):
    """A check that failed, the changes after it, and the same check passing."""

    failure: Step
    changes: tuple[Step, ...]
    success: Step
    touched: frozenset[str] = frozenset()
    """Files that had been edited before it failed: what failed may be what was done to them."""


def turnarounds(steps: Sequence[Step]) -> list[Turnaround]:
    """Every check of a session that a change made pass; each failure once, at its earliest."""
    if not any(step.failed and step.kind in (*CHECKING, Kind.RUN) for step in steps):
        return []
    failing: dict[str, tuple[int, Step]] = {}
    found: list[Turnaround] = []
    edited: list[set[str]] = [set()]
    for step in steps:
        edited.append(edited[-1] | set(step.edits) if step.edits else edited[-1])
    for at, step in enumerate(steps):
        if step.kind not in (*CHECKING, Kind.RUN) or not step.command or step.outcome == UNKNOWN:
            continue
        command = " ".join(tidy(step.command).split())
        if step.failed:
            failing.setdefault(command, (at, step))
        elif command in failing:
            began, failure = failing.pop(command)
            changes = tuple(
                one for one in steps[began + 1 : at] if one.kind is Kind.EDIT and one.edits and one.outcome == OK
            )
            if changes:
                found.append(Turnaround(failure, changes, step, frozenset(edited[began])))
    return found


def unresolved(steps: Sequence[Step]) -> dict[str, Step]:
    """The checks that failed and never passed again, by their command; each at its last failure."""
    failing: dict[str, Step] = {}
    for step in steps:
        if step.kind in (*CHECKING, Kind.RUN) and step.command and step.outcome != UNKNOWN:
            command = " ".join(tidy(step.command).split())
            failing.pop(command, None)
            if step.failed:
                failing[command] = step
    return failing


def passing_check(trace: Trace) -> Step | None:
    """The last check, where it came after the last change and passed."""
    last = max((at for at, step in enumerate(trace.steps) if step.kind is Kind.EDIT and not step.failed), default=-1)
    checks = [
        step for step in trace.steps[last + 1 :] if step.kind in (*CHECKING, Kind.RUN) and step.outcome != UNKNOWN
    ]
    return checks[-1] if last >= 0 and checks and not checks[-1].failed else None
