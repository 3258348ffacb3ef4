"""Signals of the group outcome: what failed, what was tested, and whether the work was checked before it ended."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import chain, pairwise
from typing import Final

from retro.signals.activity import NO_EVENTS
from retro.signals.base import Reading, SessionContext, missing, reading, register
from retro.signals.trajectory import actions
from retro.track.columns import Flag

SOON: Final = 3
"""Actions after a failure in which a reaction to it is looked for."""

_REACTING: Final = frozenset("xlsrftc")
_MENDING: Final = frozenset("lsfc")
_NO_COMMANDS: Final = "no command was run"
_NO_FAILURE: Final = "nothing failed"
_NO_TESTS: Final = "no tests were run"
_NO_EDITS: Final = "nothing was edited"


def failures(session: SessionContext) -> list[int]:
    """The places of actions that failed."""
    return session.steps.where(Flag.FAILED, without=Flag.BY_PERSON, all_of=Flag.ACTION)


# --- commands and tests ----------------------------------------------------------------------------------------------


@register(
    "failed_command_count",
    group="outcome",
    kind="numeric",
    method="heuristic",
    description="shell commands whose exit code is not 0, or that the host calls failed where it tells no code",
    unit="commands",
)
def failed_command_count(session: SessionContext) -> Reading:
    """Failed commands."""
    commands, known, failed = _commands(session)
    if not commands:
        return missing(_NO_COMMANDS)
    if not known:
        return missing("the host does not tell how its commands ended")
    return reading(len(failed), evidence=session.steps.events(failed), confidence=known / commands)


@register(
    "failed_command_ratio",
    group="outcome",
    kind="numeric",
    method="heuristic",
    description="share of failed commands among those of which it is known how they ended",
    unit="ratio",
)
def failed_command_ratio(session: SessionContext) -> Reading:
    """How many of them failed."""
    commands, known, failed = _commands(session)
    if not commands:
        return missing(_NO_COMMANDS)
    if not known:
        return missing("the host does not tell how its commands ended")
    return reading(len(failed) / known, evidence=session.steps.events(failed), confidence=known / commands)


def _commands(session: SessionContext) -> tuple[int, int, list[int]]:
    """How many commands there are, of how many the end is known, and which failed."""
    steps = session.steps
    failed = steps.where(Flag.COMMAND, all_of=Flag.FAILED)
    succeeded = steps.where(Flag.COMMAND, all_of=Flag.SUCCEEDED)
    return len(steps.where(Flag.COMMAND)), len(failed) + len(succeeded), failed


@register(
    "tests_run_count",
    group="outcome",
    kind="numeric",
    method="heuristic",
    description="commands that run tests, by what they are: the test runners of all common languages",
    unit="commands",
)
def tests_run_count(session: SessionContext) -> Reading:
    """Test runs."""
    if not session.count("events"):
        return missing(NO_EVENTS)
    places = session.steps.where(Flag.RUNS_TESTS, without=Flag.REJECTED)
    return reading(len(places), evidence=session.steps.events(places))


@register(
    "last_test_outcome",
    group="outcome",
    kind="categorical",
    method="regex",
    description="how the last run of tests went of which it is known: passed or failed",
)
def last_test_outcome(session: SessionContext) -> Reading:
    """Whether the tests pass now, as far as the session knows."""
    steps = session.steps
    runs = steps.where(Flag.RUNS_TESTS, without=Flag.REJECTED)
    if not runs:
        return missing(_NO_TESTS)
    told = [at for at in runs if steps.flags[at] & (Flag.TESTS_PASSED | Flag.TESTS_FAILED)]
    if not told:
        return missing("no run of the tests tells how it went")
    value = "failed" if steps.flags[told[-1]] & Flag.TESTS_FAILED else "passed"
    return reading(value, evidence=steps.events(told[-1:]), confidence=0.95 if told[-1] == runs[-1] else 0.6)


@register(
    "git_commits_made_during",
    group="outcome",
    kind="numeric",
    method="regex",
    description="commits made while the session lasted: by the repository's own log, else by the session's commands",
    unit="commits",
)
def git_commits_made_during(session: SessionContext) -> Reading:
    """Commits."""
    if not session.count("events"):
        return missing(NO_EVENTS)
    evidence = session.notes.get("commits", ())
    own = session.count("commits")
    if session.commits is not None and len(session.commits) >= own:
        said = "by the repository's log, which may hold commits of others"
        return reading(len(session.commits), evidence=evidence, confidence=0.9, reason=said)
    if not session.steps.where(Flag.COMMAND):
        return missing("no command was run, and the repository is not there to be asked")
    return reading(own, evidence=evidence, confidence=0.8)


# --- what the person thinks ------------------------------------------------------------------------------------------


@register(
    "user_satisfaction_lexical",
    group="outcome",
    kind="numeric",
    method="regex",
    description="words of praise against words of complaint in the person's messages, from -1 to 1",
    unit="balance",
)
def user_satisfaction_lexical(session: SessionContext) -> Reading:
    """What the person's words sound like."""
    praise, complaint = session.count("praise"), session.count("complaint")
    if not praise + complaint:
        return missing("the person wrote no word of praise or complaint")
    evidence = [*session.notes.get("praise", ()), *session.notes.get("complaint", ())]
    sure = min(0.3 + 0.1 * (praise + complaint), 0.8)
    return reading((praise - complaint) / (praise + complaint), evidence=dict.fromkeys(evidence), confidence=sure)


@register(
    "interrupted_signal",
    group="outcome",
    kind="boolean",
    method="heuristic",
    description="whether the person stopped the agent or refused one of its calls",
)
def interrupted_signal(session: SessionContext) -> Reading:
    """Interrupted, or refused."""
    steps = session.steps
    if not steps.trajectory:
        return missing("the agent did nothing that could be interrupted")
    refused = list(steps.events(steps.where(Flag.REJECTED)))
    stopped = session.notes.get("interrupt", [])
    return reading(bool(session.count("interrupt") or refused), evidence=[*stopped, *refused])


# --- changes and what checks them ------------------------------------------------------------------------------------


def _validations(session: SessionContext) -> list[int]:
    """The places of what tells whether a change works: tests, linters, builds, and runs of the program."""
    return session.steps.where(Flag.VALIDATES, without=Flag.REJECTED | Flag.BY_PERSON)


def _next(places: list[int], after: int) -> int | None:
    """The first of some places at or behind one."""
    at = bisect_left(places, after)
    return places[at] if at < len(places) else None


@register(
    "fix_without_validation_count",
    group="outcome",
    kind="numeric",
    method="heuristic",
    description="turns whose last edit nothing checks before the next message of the person",
    unit="turns",
)
def fix_without_validation_count(session: SessionContext) -> Reading:
    """Turns that leave a change unchecked."""
    made = session.steps.edits
    if not made:
        return missing(_NO_EDITS)
    checks, unchecked = _validations(session), []
    for start, end in session.steps.turns:
        at = bisect_left(made, end)
        if at and made[at - 1] >= start:
            check = _next(checks, made[at - 1])
            if check is None or check >= end:
                unchecked.append(made[at - 1])
    return reading(len(unchecked), evidence=session.steps.events(unchecked))


@register(
    "fix_validation_latency_steps",
    group="outcome",
    kind="numeric",
    method="heuristic",
    description="steps from an edit to what first checks it, on average over the checks that follow an edit",
    unit="steps",
)
def fix_validation_latency_steps(session: SessionContext) -> Reading:
    """How long changes stay unchecked: counted from the first edit since the check before."""
    made = session.steps.edits
    if not made:
        return missing(_NO_EDITS)
    starts, ends = _rounds(made, _validations(session))
    if not starts:
        return missing("nothing checks the edits")
    waits = session.steps.agents_between(starts, ends)
    shown = chain.from_iterable(zip(starts, ends, strict=True))
    return reading(waits / len(starts), evidence=session.steps.events(shown))


def _rounds(made: list[int], checks: list[int]) -> tuple[list[int], list[int]]:
    """Each first edit since the check before, and the check that follows it."""
    starts, ends, at = list[int](), list[int](), 0
    for check in checks:
        if at == len(made):
            break
        if made[at] <= check:
            starts.append(made[at])
            ends.append(check)
            at = bisect_right(made, check, at)
    return starts, ends


@register(
    "premature_finish_without_validation",
    group="outcome",
    kind="boolean",
    method="heuristic",
    description="whether the session ends with an edit that nothing checks",
)
def premature_finish_without_validation(session: SessionContext) -> Reading:
    """Ended unchecked."""
    made = session.steps.edits
    if not made:
        return missing(_NO_EDITS)
    checked = _next(_validations(session), made[-1])
    return reading(
        checked is None, evidence=session.steps.events(made[-1:] if checked is None else [made[-1], checked])
    )


@register(
    "test_fix_loop_count",
    group="outcome",
    kind="numeric",
    method="heuristic",
    description="runs of tests after an edit that followed failed tests",
    unit="loops",
)
def test_fix_loop_count(session: SessionContext) -> Reading:
    """Rounds of failing, mending and testing again."""
    steps = session.steps
    runs = steps.where(Flag.RUNS_TESTS, without=Flag.REJECTED | Flag.BY_PERSON)
    if not runs:
        return missing(_NO_TESTS)
    made, loops = session.steps.edits, []
    for before, after in pairwise(runs):
        if steps.flags[before] & Flag.TESTS_FAILED:
            edit = _next(made, before + 1)
            if edit is not None and edit <= after:
                loops.append(after)
    return reading(len(loops), evidence=steps.events(loops))


# --- failures and what follows them ----------------------------------------------------------------------------------


@register(
    "failed_result_recovery_steps",
    group="outcome",
    kind="numeric",
    method="heuristic",
    description="steps from a failed action to the next one of its category that succeeds, on average",
    unit="steps",
)
def failed_result_recovery_steps(session: SessionContext) -> Reading:
    """How long it takes to get over a failure."""
    steps, failed = session.steps, failures(session)
    if not failed:
        return missing(_NO_FAILURE)
    good: dict[str, list[int]] = {}
    for place in steps.where(Flag.SUCCEEDED, without=Flag.BY_PERSON):
        good.setdefault(steps.kinds[place], []).append(place)
    waits, shown = [], []
    for place in failed:
        recovered = _next(good.get(steps.kinds[place], []), place)
        if recovered is not None:
            waits.append(steps.rank(recovered) - steps.rank(place))
            shown += [place, recovered]
    if not waits:
        return missing("no failure was recovered from")
    return reading(sum(waits) / len(waits), evidence=steps.events(dict.fromkeys(shown)))


@register(
    "failure_ignored_count",
    group="outcome",
    kind="numeric",
    method="heuristic",
    description="failed actions after which the turn ends, or none of the next three actions looks, changes or checks",
    unit="actions",
)
def failure_ignored_count(session: SessionContext) -> Reading:
    """Failures without a reaction."""
    failed = failures(session)
    if not failed:
        return missing(_NO_FAILURE)
    steps, ignored = session.steps, []
    for place, following in _following(session, failed):
        if not any(steps.kinds[after] in _REACTING for after in following[:SOON]):
            ignored.append(place)
    return reading(len(ignored), evidence=steps.events(ignored))


@register(
    "error_to_search_or_edit_ratio",
    group="outcome",
    kind="numeric",
    method="heuristic",
    description="share of failed actions whose next action in the turn searches (locate, search) or changes (fix,"
    " refactor) something",
    unit="ratio",
)
def error_to_search_or_edit_ratio(session: SessionContext) -> Reading:
    """Failures that are looked into at once."""
    failed = failures(session)
    if not failed:
        return missing(_NO_FAILURE)
    steps = session.steps
    mended = [at for at, after in _following(session, failed) if after and steps.kinds[after[0]] in _MENDING]
    return reading(len(mended) / len(failed), evidence=steps.events(mended))


def _following(session: SessionContext, places: list[int]) -> list[tuple[int, list[int]]]:
    """For each place the actions behind it in its turn, at most SOON."""
    calls = actions(session)
    ends = [end for _, end in session.steps.turns]
    found = []
    for place in places:
        end = ends[bisect_left(ends, place + 1)]
        at = bisect_left(calls, place + 1)
        found.append((place, [after for after in calls[at : at + SOON] if after < end]))
    return found
