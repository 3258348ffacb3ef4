"""What a session did, step by step, in as little as later methods need: the trace that mining keeps of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from retro.commands import Kind, meanings
from retro.event import Actor, Event, EventType
from retro.problems import problem, signature, too_much
from retro.turns import is_prompt

VERSION: Final = 3
"""Changes whenever a trace of the same events would be another."""

STEPS: Final = 2_000
"""Steps that a trace keeps: the first ones and, of a longer session, as many of the last."""

COMMAND: Final = 600
PROMPT: Final = 1_200

OK: Final = "ok"
FAILED: Final = "failed"
EMPTY: Final = "empty"
"""A search or a look that found nothing."""
UNKNOWN: Final = "unknown"

NOTHING_FOUND: Final = "(nothing found)"
NO_REASON: Final = "(no reason given)"

LOOKING: Final = frozenset({Kind.FIND, Kind.READ, Kind.LIST, Kind.INSPECT})
CHECKING: Final = frozenset({Kind.TEST, Kind.BUILD, Kind.CHECK})
_ACTS: Final = (Kind.TEST, Kind.BUILD, Kind.CHECK, Kind.RUN, Kind.INSTALL, Kind.COMMIT)
_KINDS: Final = {
    EventType.FILE_EDIT: Kind.EDIT,
    EventType.FILE_READ: Kind.READ,
    EventType.WEB_SEARCH: Kind.NETWORK,
    EventType.TOOL_CALL: Kind.OTHER,
}


class Step(msgspec.Struct, omit_defaults=True):
    """One action with what came of it."""

    event_id: str
    kind: Kind
    program: str
    """What ran, without its arguments: `git commit`, `pytest`; for an action that is no command, the tool."""
    outcome: str
    turn: int = 0
    command: str = ""
    """As it stands in the event; the beginning of a long one."""
    whole: bool = True
    """Whether the command stands here to its end."""
    result_id: str = ""
    problem: str = ""
    """The line of the result that says what went wrong, as it stands there."""
    signature: str = ""
    edits: list[str] = []
    reads: list[str] = []
    subject: str = ""
    about: list[str] = []
    """Names of files and words that tell what it was after."""
    refused: bool = False
    """Whether a harness did not run it; never kept, see `refusals`."""

    @property
    def failed(self) -> bool:
        """Whether it did not do what it was for."""
        return self.outcome in (FAILED, EMPTY)


class Prompt(msgspec.Struct, omit_defaults=True):
    """What a person said, and how many steps there were before it."""

    event_id: str
    text: str
    place: int
    answer_id: str = ""
    """The assistant's last words before it."""


class Trace(msgspec.Struct, omit_defaults=True):
    """A session's steps and prompts, in order."""

    host: str
    session_id: str
    scope: str
    """The repository: its remote, else its folder."""
    started: str | None
    steps: list[Step]
    prompts: list[Prompt]
    title: str | None = None
    rejected: list[str] = []
    """Results by which a person refused a call."""
    outcome: str | None = None
    """`success` or `failure`, where something says so."""

    @property
    def name(self) -> str:
        """`host/id`."""
        return f"{self.host}/{self.session_id}"


def trace_of(
    host: str,
    session_id: str,
    scope: str,
    started: str | None,
    title: str | None,
    events: Sequence[Event],
    roots: Sequence[str] = (),
) -> Trace:
    """The trace of a session's events, which come in reading order. Files below a root are named from there on."""
    results = {event.call_id: event for event in events if event.event_type is EventType.TOOL_RESULT and event.call_id}
    steps: list[Step] = []
    prompts: list[Prompt] = []
    rejected: list[str] = []
    said = ""
    for event in events:
        if event.event_type is EventType.COMMAND or event.event_type in _KINDS:
            step = _step(event, results.get(event.call_id) if event.call_id else None)
            step.edits, step.reads = inside(step.edits, roots), inside(step.reads, roots)
            steps.append(step)
        elif event.event_type is EventType.MESSAGE:
            if is_prompt(event):
                prompts.append(Prompt(event.event_id, (event.text or "")[:PROMPT], len(steps), said))
            elif event.actor is Actor.ASSISTANT and event.text:
                said = event.event_id
        elif event.event_type is EventType.TOOL_RESULT and (event.payload or {}).get("rejected"):
            rejected.append(event.event_id)
    if len(steps) > STEPS:
        gone = len(steps) - STEPS
        steps = steps[: STEPS // 2] + steps[-STEPS // 2 :]
        for one in prompts:
            one.place = one.place if one.place <= STEPS // 2 else max(STEPS // 2, one.place - gone)
    return Trace(host, session_id, scope, started, steps, prompts, title, rejected, outcome_of(steps))


# Where checkouts of a repository stand within it.
_CHECKOUT: Final = re.compile(r"\.?(?:claude/)?worktrees/[^/]+/")


def inside(paths: Sequence[str], roots: Sequence[str]) -> list[str]:
    """Paths as they stand below the first root that holds them, whatever checkout it is: pieces of what they were."""
    found = []
    for path in paths:
        for root in roots:
            if path.startswith(root) and path[len(root) : len(root) + 1] in ("/", "\\"):
                path = path[len(root) + 1 :]
                checkout = _CHECKOUT.match(path)
                path = path[checkout.end() :] if checkout and checkout.end() < len(path) else path
                break
        found.append(path)
    return _distinct(found)


# --- one step --------------------------------------------------------------------------------------------------------

_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,}")
_COMMON: Final = frozenset({"grep", "find", "head", "tail", "class", "self", "return", "import", "from", "print"})
_WORDS_OF: Final = 12


def _step(event: Event, result: Event | None) -> Step:
    command = event.command if event.event_type is EventType.COMMAND else None
    if command is None:
        kind = _KINDS.get(event.event_type, Kind.OTHER)
        step = Step(event.event_id, kind, event.tool or event.event_type.value, UNKNOWN, event.turn or 0)
        paths = list(event.paths or ())
        step.edits, step.reads = (paths, []) if kind is Kind.EDIT else ([], paths)
        step.about = _about(step, "")
    else:
        step = _of_command(event, command)
    if result is not None:
        _judge(step, result)
    return step


def _of_command(event: Event, command: str) -> Step:
    parts = meanings(command)
    acts = [part for kind in _ACTS for part in parts if part.kind is kind]
    first = acts[0] if acts else parts[0] if parts else None
    kind, program = (first.kind, first.program) if first else (Kind.OTHER, "")
    if not acts and any(part.kind is Kind.EDIT for part in parts):
        kind = Kind.EDIT
    step = Step(event.event_id, kind, program, UNKNOWN, event.turn or 0)
    step.command, step.whole = command[:COMMAND], len(command) <= COMMAND
    step.edits = _distinct(path for part in parts for path in part.writes)
    step.reads = _distinct(path for part in parts for path in part.reads)
    step.subject = first.subject if first else ""
    step.about = _about(step, command.partition("<<")[0][:COMMAND])
    return step


def _distinct(paths: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(paths))[:20]


def _about(step: Step, words: str) -> list[str]:
    names = [*step.edits, *step.reads, *step.subject.split()]
    found = [os.path.basename(name.replace("\\", "/").rstrip("/")).partition("::")[0] for name in names]
    if step.kind in LOOKING:
        found += [word for word in _WORD.findall(words) if word not in _COMMON]
    return [name for name in dict.fromkeys(found) if name][:_WORDS_OF]


def _judge(step: Step, result: Event) -> None:
    """What came of a step, and the line that says why it failed."""
    step.result_id = result.event_id
    text = result.text or ""
    says = _says_something(text)
    if (result.payload or {}).get("rejected"):
        return  # a person's decision, not an outcome
    crashed = "Traceback (most recent call last)" in text and step.kind in (*CHECKING, Kind.RUN)
    failed = bool(result.exit_code) or (bool(result.is_error) and result.exit_code is None)
    if step.kind is Kind.FIND and not says:
        step.outcome, step.signature = EMPTY, NOTHING_FOUND
    elif failed or crashed:
        step.outcome = FAILED
        step.problem = (problem(text) or "") if says else ""
        step.signature = signature(step.problem) if step.problem else NO_REASON
    elif says and (cut := too_much(text)):
        step.outcome, step.problem, step.signature = FAILED, cut, signature(cut)
    elif result.exit_code == 0 or result.is_error is False or says:
        step.outcome = OK


_SAYS_NOTHING: Final = re.compile(
    r"\s*(?:Exit code \d+|Process exited with code \d+|\(?no (?:output|matches found|files found)\)?\.?"
    r"|\(Bash completed with no output\))?\s*",
    re.IGNORECASE,
)


def _says_something(text: str) -> bool:
    return not _SAYS_NOTHING.fullmatch(text[:200]) if len(text) < 200 else True


def outcome_of(steps: Sequence[Step]) -> str | None:
    """What the last check after the last change says: `success`, `failure`, or nothing where there was none."""
    last_edit = max((at for at, step in enumerate(steps) if step.kind is Kind.EDIT and not step.failed), default=-1)
    checks = [step for step in steps[last_edit + 1 :] if step.kind in (*CHECKING, Kind.RUN) and step.outcome != UNKNOWN]
    if last_edit < 0 or not checks:
        return None
    return "success" if not checks[-1].failed else "failure"
