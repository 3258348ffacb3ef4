"""Signals of the group activity that look at the way: which kinds of steps, in which order, how often again."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import compress, islice
from math import log2
from typing import Final

from retro.signals.base import Reading, SessionContext, missing, reading, register
from retro.track.columns import CATEGORIES, REFACTOR, Flag

NO_STEPS: Final = "the agent took no step"
NO_ACTIONS: Final = "the agent called no tool"

PHASES: Final = {
    **dict.fromkeys("xls", "x"),
    **dict.fromkeys("fc", "f"),
    **dict.fromkeys("tr", "t"),
    **dict.fromkeys("ep!o", ""),
}
"""Looking, changing, checking; what is none of them goes on with the phase before it."""

_TO_PHASE: Final = str.maketrans(PHASES)
_RUN = re.compile(rb"\x01{2,}")
_AGAIN = re.compile(rb"\x01{4,}")


def actions(session: SessionContext) -> list[int]:
    """The places of the agent's calls, without words, errors and permissions."""
    return session.steps.calls


def _changes(letters: str) -> int:
    """How often a letter is another one than that before it: those are no zeros in the difference of the letters and
    the letters moved by one, which is one operation on two large numbers."""
    size = len(letters) - 1
    if size < 1:
        return 0
    data = letters.encode("ascii")
    difference = int.from_bytes(data[:-1], "big") ^ int.from_bytes(data[1:], "big")
    return size - difference.to_bytes(size, "big").count(0)


@register(
    "step_count",
    group="activity",
    kind="numeric",
    method="heuristic",
    description="calls, texts, errors and permissions of the agent and its sub-agents",
    unit="steps",
)
def step_count(session: SessionContext) -> Reading:
    """Steps."""
    if not session.count("events"):
        return missing("no event of this session was captured")
    return reading(len(session.steps.trajectory), evidence=session.steps.events(session.steps.own))


@register(
    "phase_count",
    group="activity",
    kind="numeric",
    method="heuristic",
    description="stretches of looking (explore, locate, search), of changing (fix, refactor) and of checking (test,"
    " reproduce)",
    unit="phases",
)
def phase_count(session: SessionContext) -> Reading:
    """Phases."""
    phases = session.steps.trajectory.translate(_TO_PHASE)
    if not phases:
        return missing("no step looks, changes or checks anything")
    return reading(_changes(phases) + 1)


@register(
    "transition_count",
    group="activity",
    kind="numeric",
    method="heuristic",
    description="steps of another category than the step before",
    unit="transitions",
)
def transition_count(session: SessionContext) -> Reading:
    """Changes of category."""
    trajectory = session.steps.trajectory
    if len(trajectory) < 2:
        return missing("there are fewer than two steps")
    return reading(_changes(trajectory))


def _action_count(letter: str, session: SessionContext) -> Reading:
    """Steps of one category."""
    steps = session.steps
    if not steps.trajectory:
        return missing(NO_STEPS)
    return reading(steps.trajectory.count(letter), evidence=steps.events(steps.of(letter)))


def _action_ratio(letter: str, session: SessionContext) -> Reading:
    """Their share of all steps."""
    trajectory = session.steps.trajectory
    if not trajectory:
        return missing(NO_STEPS)
    return reading(trajectory.count(letter) / len(trajectory))


for _category, _letter in CATEGORIES.items():
    register(
        f"action_count_{_category}",
        group="activity",
        kind="numeric",
        method="heuristic",
        description=f"steps of the category {_category}",
        unit="steps",
    )(partial(_action_count, _letter))
for _category, _letter in CATEGORIES.items():
    register(
        f"action_ratio_{_category}",
        group="activity",
        kind="numeric",
        method="heuristic",
        description=f"share of the category {_category} among all steps",
        unit="ratio",
    )(partial(_action_ratio, _letter))


def _share_of(letters: str, session: SessionContext) -> Reading:
    trajectory = session.steps.trajectory
    total = sum(trajectory.count(letter) for letter in "xlsrftc")
    if not total:
        return missing("no step looks, changes or checks anything")
    return reading(sum(trajectory.count(letter) for letter in letters) / total)


register(
    "exploration_ratio",
    group="activity",
    kind="numeric",
    method="heuristic",
    description="share of looking (explore, locate, search) among the steps that look, change or check",
    unit="ratio",
)(partial(_share_of, "xls"))
register(
    "exploitation_ratio",
    group="activity",
    kind="numeric",
    method="heuristic",
    description="share of changing and checking (fix, refactor, test, reproduce) among them",
    unit="ratio",
)(partial(_share_of, "rftc"))


@register(
    "sequence_entropy",
    group="activity",
    kind="numeric",
    method="heuristic",
    description="entropy of the categories of all steps: 0 where all are alike, 3.46 where all eleven are as frequent",
    unit="bits",
)
def sequence_entropy(session: SessionContext) -> Reading:
    """How mixed the work was."""
    trajectory = session.steps.trajectory
    if not trajectory:
        return missing(NO_STEPS)
    counts = map(trajectory.count, CATEGORIES.values())
    shares = [count / len(trajectory) for count in counts if count]
    return reading(abs(sum(share * log2(share) for share in shares)))


@register(
    "repetition_consecutive",
    group="activity",
    kind="numeric",
    method="heuristic",
    description="actions that are the same, arguments included, as the action before them",
    unit="actions",
)
def repetition_consecutive(session: SessionContext) -> Reading:
    """The same again at once."""
    steps = session.steps
    if len(steps.calls) < 2:
        return missing("there are fewer than two actions")
    again = compress(islice(steps.calls, 1, None), steps.same)
    return reading(steps.same.count(1), evidence=steps.events(again))


@register(
    "repetition_runs",
    group="activity",
    kind="numeric",
    method="heuristic",
    description="stretches of three or more actions of which all are the same",
    unit="runs",
)
def repetition_runs(session: SessionContext) -> Reading:
    """The same again and again."""
    steps = session.steps
    if len(steps.calls) < 3:
        return missing("there are fewer than three actions")
    runs = [steps.calls[found.start() + 2] for found in _RUN.finditer(steps.same)]
    return reading(len(runs), evidence=steps.events(runs))


@register(
    "repetition_4gram",
    group="activity",
    kind="numeric",
    method="heuristic",
    description="share of sequences of four actions that occurred before in the session, arguments included",
    unit="ratio",
)
def repetition_4gram(session: SessionContext) -> Reading:
    """Loops."""
    called = session.steps.called
    if len(called) < 5:
        return missing("there are fewer than two sequences of four actions")
    keys, often = array("Q", called), Counter(called)
    written, size = keys.tobytes(), keys.itemsize
    repeats, seen = 0, set[bytes]()
    # A sequence can only come again where each of its actions does.
    for run in _AGAIN.finditer(bytes(map((1).__lt__, map(often.__getitem__, called)))):
        grams = [written[at : at + 4 * size] for at in range(run.start() * size, (run.end() - 3) * size, size)]
        known = len(seen)
        seen.update(grams)
        repeats += len(grams) - (len(seen) - known)
    return reading(repeats / (len(keys) - 3))


@register(
    "repeated_action_without_progress",
    group="activity",
    kind="numeric",
    method="heuristic",
    description="actions that were done before, arguments included, and no file was changed since",
    unit="actions",
)
def repeated_action_without_progress(session: SessionContext) -> Reading:
    """The same again although nothing changed."""
    steps, keys = session.steps, session.steps.called
    if len(keys) < 2:
        return missing("there are fewer than two actions")
    changing = {*steps.where(Flag.EDIT), *steps.of(REFACTOR)}
    changes = list(compress(range(len(keys)), map(changing.__contains__, steps.calls)))
    count, stretches = 0, []
    for first, last in zip((0, *changes), (*changes, len(keys) - 1), strict=True):
        if first < last and (again := last + 1 - first - len(set(keys[first : last + 1]))):
            count += again
            stretches.append((first, last + 1))
    return reading(count, evidence=steps.events(_again(steps.calls, keys, stretches)))


def _again(places: list[int], keys: list[int], stretches: list[tuple[int, int]]) -> Iterator[int]:
    """The places in each stretch whose key stood in it before."""
    for start, end in stretches:
        seen = set[int]()
        for at in range(start, end):
            if keys[at] in seen:
                yield places[at]
            seen.add(keys[at])
