"""What was tried after something failed, until it worked: the raw material of every lesson about errors."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from retro.commands import Kind
from retro.mining.trace import CHECKING, LOOKING, OK, UNKNOWN, Step, Trace

REACH: Final = 30
"""Steps after a failure in which a further attempt at the same thing is looked for."""

AGAIN: Final = "again"
CHANGED_IT: Final = "changed_it"
CHANGED_CODE: Final = "changed_code"
CHANGED: Final = "changed"
"""Either of the two before it."""
OTHER_ARGUMENTS: Final = "other_arguments"
USES: Final = "uses"
READS: Final = "reads"
LISTS: Final = "lists"
WIDER: Final = "wider"
OTHER_WORDS: Final = "other_words"
ELSEWHERE: Final = "elsewhere"
SENT_AGAIN: Final = "sent_again"


class Way(NamedTuple):
    """How an attempt differs from what failed: `uses` another program, or the same one again, after some change."""

    how: str
    program: str = ""
    flags: tuple[str, ...] = ()


class Attempt(NamedTuple):
    """A further try at what had failed."""

    way: Way
    worked: bool
    step: Step
    between: tuple[Step, ...]
    """The changes that were made since the failure."""


class Episode(NamedTuple):
    """A failure, and every further try up to the first that worked."""

    trace: Trace
    place: int
    failure: Step
    attempts: tuple[Attempt, ...]

    @property
    def resolved(self) -> Attempt | None:
        """The attempt that worked."""
        return self.attempts[-1] if self.attempts and self.attempts[-1].worked else None


def episodes(trace: Trace) -> Iterator[Episode]:
    """Every failure of a session, with what was tried then. An error met again on the way is an episode of its own."""
    steps = trace.steps
    for at, failure in enumerate(steps):
        if failure.failed and failure.program:
            yield Episode(trace, at, failure, tuple(_attempts(steps, at)))


def _attempts(steps: Sequence[Step], at: int) -> Iterator[Attempt]:
    failure = steps[at]
    for place in range(at + 1, min(at + 1 + REACH, len(steps))):
        step = steps[place]
        if step.outcome == UNKNOWN or not same_aim(failure, step):
            continue
        changes = tuple(one for one in steps[at + 1 : place] if one.edits and one.outcome == OK)
        worked = step.outcome == OK
        yield Attempt(way(failure, step, changes), worked, step, changes)
        if worked:
            return


# What can stand in for a look that failed.
_SERVES: Final = {
    Kind.FIND: LOOKING,
    Kind.READ: frozenset({Kind.READ, Kind.FIND}),
    Kind.LIST: frozenset({Kind.LIST, Kind.FIND}),
    Kind.INSPECT: frozenset({Kind.INSPECT}),
}


def same_aim(failure: Step, step: Step) -> bool:
    """Whether a later step is after the same thing as the one that failed."""
    if failure.refused and set(failure.edits) & set(step.edits):
        return True
    if failure.kind in LOOKING:
        everywhere = failure.kind is Kind.LIST and not failure.about  # `ls -R`: any narrower look is a part of it
        return step.kind in _SERVES[failure.kind] and (everywhere or bool(_shared(failure, step)))
    if failure.kind is not step.kind:
        return False
    return failure.kind in CHECKING or bool(_shared(failure, step)) or not (failure.about or step.about)


def _shared(one: Step, other: Step) -> set[str]:
    return set(one.about) & set(other.about)


def way(failure: Step, step: Step, changes: Sequence[Step]) -> Way:
    """How a step differs from the one that failed."""
    if failure.refused:
        return Way(SENT_AGAIN)
    if step.command and step.command.split() == failure.command.split():
        if not changes:
            return Way(AGAIN, label(failure))
        own = {os.path.basename(path) for change in changes for path in change.edits} & set(failure.about)
        return Way(CHANGED_IT if own else CHANGED_CODE, label(failure))
    if failure.kind in LOOKING:
        return _look(failure, step)
    if label(step) != label(failure):
        return Way(USES, label(step))
    if changes:
        return Way(CHANGED_CODE, label(failure))
    added = _flags(step.command) - _flags(failure.command)
    return Way(OTHER_ARGUMENTS, label(failure), tuple(sorted(added))[:3])


def _look(failure: Step, step: Step) -> Way:
    """How a further look differs from one that found nothing: by reading, by listing, wider, or with other words."""
    if failure.kind is not Kind.FIND and label(step) != label(failure):
        return Way(USES, label(step))
    if step.kind is Kind.READ:
        return Way(READS, "")
    if step.kind is not Kind.FIND:
        return Way(LISTS, "") if step.kind is Kind.LIST else Way(USES, label(step))
    if _recursive(step) and not _recursive(failure):
        return Way(WIDER, label(step))
    if set(step.reads) & set(failure.reads) or _place(step) == _place(failure):
        return Way(OTHER_WORDS, label(step))
    return Way(ELSEWHERE, label(step))


_RECURSIVE: Final = re.compile(r"\s-(?:[A-Za-z]*[rR][A-Za-z]*)(?=\s|$)|--recursive")
_BY_NAME: Final = frozenset({"find", "fd", "which", "locate", "Glob"})
_BY_DEFAULT: Final = frozenset({"rg", "ag", "Grep"})


def _recursive(step: Step) -> bool:
    return step.program in _BY_DEFAULT or bool(_RECURSIVE.search(step.command.partition("<<")[0]))


def _place(step: Step) -> str:
    """The last word of a search: where it looks."""
    return step.command.partition("|")[0].split()[-1] if step.command.partition("|")[0].split() else ""


_FLAG: Final = re.compile(r"(?<=\s)--?[A-Za-z][\w-]*")
_MODULE: Final = re.compile(r"\bpython[\d.]*\s+(?:-\w\s+)*-m\s+([\w.]+)")
_RUNNER: Final = re.compile(r"(?:^|[\s;&|])((?:\./|[\w.-]+/)*bin/[\w-]+)(?=\s|$)")


def label(step: Step) -> str:
    """What ran, as one would say it to somebody who is to run it: `python -m pytest`, `bin/test`, `a script`."""
    if step.kind in CHECKING or step.kind is Kind.RUN:
        module = _MODULE.search(step.command)
        if module:
            return f"python -m {module[1]}"
        runner = _RUNNER.search(step.command)
        if runner and not runner[1].startswith(("/usr/", "usr/")):
            return runner[1].removeprefix("./")
    if step.kind is Kind.RUN and step.subject and step.program != step.subject:
        interpreter, _, rest = step.program.partition(" ")
        return f"{interpreter} FILE" if rest and not rest.startswith("-") else step.program
    if step.kind is Kind.FIND and step.program not in _BY_NAME:
        return f"{step.program} -r" if _recursive(step) else f"{step.program} FILE"
    return step.program


def _flags(command: str) -> set[str]:
    return set(_FLAG.findall(command.partition("<<")[0]))
