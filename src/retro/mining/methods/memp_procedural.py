"""After Memp: the script of a task that was done, linked to the steps it came from, with what to watch for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from retro.commands import Kind
from retro.mining.base import MemoryCandidate, Options, Scope, Trace, candidate, cite, register_method
from retro.mining.edits import lasting_edits, own_words, words_of
from retro.mining.episodes import episodes, label
from retro.mining.milestones import ABSENT, passing_check
from retro.mining.trace import CHECKING, LOOKING, OK, Step
from retro.mining.wording import base, can_be_quoted, code, first_line, sessions, tidy
from retro.problems import kind, says_nothing

NAME: Final = "memp_procedural"
STEPS: Final = 5
FILES: Final = 4
GOAL: Final = 120
LEAST_WORDS: Final = 3
WARNINGS: Final = 2

_TOLD: Final = frozenset({Kind.TEST, Kind.BUILD, Kind.CHECK, Kind.FORMAT, Kind.RUN, Kind.INSTALL, Kind.COMMIT})
_CODE: Final = re.compile(r"\s-(?:c|e|-eval)\s")


@register_method(
    NAME,
    version=2,
    description="scripts of tasks that were done, linked to their steps (after Memp)",
    reach="repository",
)
def memp_procedural(traces: Sequence[Trace], options: Options) -> Iterable[MemoryCandidate]:
    """One procedure for each goal: of a session that ended with a passing check.

    With `adjust`, a failure since makes a new version with the failing session attached; with `add`, sessions count
    whose outcome is not known.
    """
    versions: dict[str, list[Trace]] = {}
    for trace in traces:
        goal = goal_of(trace)
        if goal:
            versions.setdefault(goal.lower(), []).append(trace)
    for group in versions.values():
        wanted = ("success", None) if options.update == "add" else ("success",)
        done = [trace for trace in group if trace.outcome in wanted]
        if done:
            since = group[group.index(done[-1]) + 1 :] if options.update == "adjust" else []
            failed = [trace for trace in since if trace.outcome == "failure"]
            found = _procedure(done[-1], len(done), failed)
            if found is not None:
                yield found


# A question, a part of a talk, or something that was pasted names no task.
_NO_TASK: Final = re.compile(
    r"\?$|^\W*(?:can|could|would|should|shall|why|what|how|is|are|do|does|did|where|which|who|when|if|in theory"
    r"|on which|i(?:'m| am| just| don'?t| think| see| have| was)?|it|this|that|these|there|you|we were|ok|okay|yes"
    r"|no|now|hmm|so|alright|and|but|thanks|hi|hello|continue|go on|next|review|explain|show"
    r"|let'?s (?:see|review|talk|discuss|look|respond)|tell|read|look|check (?:if|whether|out)|run"
    r"|commit|push|merge|rebase|update from|branch off|caveat"
    r"|implement the following|(?:we need to )?(?:fix|resolve) (?:the )?merge conflicts?)\b"
    r"|^[^\w`\"']|^[\w./~-]+[$#%>❯] |https?://\S+$|^\S+@\S+",
    re.IGNORECASE,
)


def goal_of(trace: Trace) -> str | None:
    """The task of a session: the first line of its first prompt that is a sentence, as it stands there."""
    if not trace.prompts:
        return None
    lines = [line.strip() for line in trace.prompts[0].text.splitlines()]
    told = [
        line for line in lines if len(line.split()) >= LEAST_WORDS and line[-1] not in ":>" and line[0] not in "<#-*|"
    ]
    goal = first_line(told[0], GOAL) if told else ""
    if len(told[0]) > len(goal) if told else False:
        goal = goal.rpartition(" ")[0]
    return goal if can_be_quoted(goal) and not _NO_TASK.search(goal) else None


def script(trace: Trace) -> list[Step]:
    """The commands that lead to the goal: each once, in order, without looking around and without what failed."""
    found: dict[str, Step] = {}
    own = own_words(trace)
    for step in trace.steps:
        told = step.command and step.whole and can_be_quoted(step.command) and not own & set(words_of(step.command))
        if step.outcome == OK and told and step.kind in _TOLD and not _CODE.search(step.command):
            found.setdefault(" ".join(tidy(step.command, trace.scope).split()), step)
    return list(found.values())[:STEPS]


def _can_be_done_again(check: Step, own: set[str]) -> bool:
    """Whether a check can be quoted, and is none that only a scratch file of the session itself proves."""
    return check.kind in CHECKING and can_be_quoted(check.command) and not own & set(words_of(check.command))


_SLIPS: Final = frozenset({"SyntaxError", "IndentationError", "TabError", "NameError"})


def _warnings(trace: Trace, own: set[str]) -> Iterator[Step]:
    """What went wrong on the way, but for the session's own slips and scratch files."""
    told: set[str] = set()
    for one in episodes(trace):
        failure = one.failure
        if failure.kind not in CHECKING or not failure.problem or says_nothing(failure.problem):
            continue
        slip = kind(failure.signature) in _SLIPS or bool(own & set(words_of(failure.problem)))
        slip = slip or bool(ABSENT.search(failure.problem))  # of the machine, and not of the task
        if not slip and failure.signature not in told and len(told) < WARNINGS:
            told.add(failure.signature)
            yield failure


def _procedure(trace: Trace, times: int, failed: Sequence[Trace]) -> MemoryCandidate | None:
    goal, check = goal_of(trace), passing_check(trace)
    own = own_words(trace)
    files = [path for path in lasting_edits(trace) if not path.startswith(("/", "~"))][:FILES]
    if goal is None or not files or (check is not None and not _can_be_done_again(check, own)):
        return None
    passes = tidy(check.command, trace.scope) if check is not None else None
    steps = [step for step in script(trace) if tidy(step.command, trace.scope) != passes]
    done = "; ".join(code(tidy(step.command, trace.scope)) for step in steps if step.kind is not Kind.COMMIT)
    text = f"How {code(goal)} was done: change {', '.join(code(path) for path in files)}"
    text += f"; run {done}" if done else ""
    text += f"; it is done when {code(passes)} passes." if passes else "; nothing checked it."
    warnings = list(_warnings(trace, own))
    for one in warnings:
        text += f" Watch for {code(one.problem)}."
    edits = lasting_edits(trace)
    evidence = [cite(trace, trace.prompts[0].event_id, goal)]
    evidence += [cite(trace, edits[path].event_id, path) for path in files]
    evidence += [cite(trace, step.event_id, step.command) for step in (*steps, *([check] if check else []))]
    evidence += [cite(trace, one.result_id or one.event_id, one.problem) for one in warnings]
    evidence += [cite(other, other.steps[-1].event_id) for other in failed if other.steps]
    return candidate(
        NAME,
        "procedure",
        Scope("repository", trace.scope),
        text,
        {
            "goal": goal,
            "files": files,
            "steps": [*(tidy(step.command, trace.scope) for step in steps), *([passes] if passes else [])],
            "check": passes,
            "warnings": [one.problem for one in warnings],
            "version": 1 + len(failed),
            "failed_since": [other.name for other in failed],
            "support": {
                "sessions": times,
                "trajectory": [step.event_id for step in trace.steps if step.kind not in LOOKING][:60],
            },
        },
        evidence,
        when=f"the task is like {code(goal)}, or {code(base(files[0]))} is changed",
        unless=f"{code(label(check))} does not concern the change" if check else "the task is another one",
        confidence=max(0.35, (0.5 if check else 0.35) + 0.1 * (times - 1) - 0.2 * len(failed)),
        priority=2 if times == 1 else 3,
        reason=(
            f"ended with a passing check in {sessions(times)}" if check else "done so, with nothing that checked it"
        )
        + (f", and failed since in {len(failed)}" if failed else ""),
    )
