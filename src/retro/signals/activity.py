"""Signals of the group activity: what was done, by how many calls, in how much time."""

from __future__ import annotations

from functools import partial
from typing import Final

from retro.signals.base import Reading, SessionContext, missing, reading, register
from retro.track.columns import Flag

NO_EVENTS: Final = "no event of this session was captured"
NO_TIMES: Final = "fewer than two events tell their time"


def _flagged(flag: int, without: int, session: SessionContext) -> Reading:
    """How many steps have a flag."""
    if not session.count("events"):
        return missing(NO_EVENTS)
    places = session.steps.where(flag, without)
    return reading(len(places), evidence=session.steps.events(places))


def _counted(what: str, session: SessionContext) -> Reading:
    """How often something was counted."""
    if not session.count("events"):
        return missing(NO_EVENTS)
    return reading(session.count(what), evidence=session.notes.get(what, ()))


for _name, _flag, _without, _unit, _description in (
    ("command_count", Flag.COMMAND, 0, "commands", "shell commands, those that the person typed included"),
    ("web_search_count", Flag.WEB, 0, "searches", "searches of the web and pages fetched"),
):
    register(_name, group="activity", kind="numeric", method="heuristic", description=_description, unit=_unit)(
        partial(_flagged, _flag, _without)
    )

for _name, _what, _unit, _description in (
    ("user_message_count", "prompt", "messages", "messages that a person wrote to the agent"),
    ("assistant_message_count", "assistant_message", "messages", "texts that the agent wrote, sub-agents' apart"),
    ("compaction_count", "compaction", "compactions", "times that the context was compacted"),
):
    register(_name, group="activity", kind="numeric", method="heuristic", description=_description, unit=_unit)(
        partial(_counted, _what)
    )


@register(
    "file_edit_count",
    group="activity",
    kind="numeric",
    method="heuristic",
    description="edits that were made: calls of edit tools that were not refused and did not fail, and commands that"
    " write files",
    unit="edits",
)
def file_edit_count(session: SessionContext) -> Reading:
    """Edits."""
    if not session.count("events"):
        return missing(NO_EVENTS)
    places = session.steps.edits
    return reading(len(places), evidence=session.steps.events(places))


@register(
    "unique_files_edited",
    group="activity",
    kind="numeric",
    method="heuristic",
    description="different files that those edits name",
    unit="files",
)
def unique_files_edited(session: SessionContext) -> Reading:
    """Files changed."""
    if not session.count("events"):
        return missing(NO_EVENTS)
    return _files(session, session.steps.edits, changed=True)


@register(
    "unique_files_read",
    group="activity",
    kind="numeric",
    method="heuristic",
    description="different files that were read, by a tool or by a command that prints them",
    unit="files",
)
def unique_files_read(session: SessionContext) -> Reading:
    """Files read."""
    if not session.count("events"):
        return missing(NO_EVENTS)
    return _files(session, session.steps.reads, changed=False)


def _files(session: SessionContext, places: list[int], *, changed: bool) -> Reading:
    """How many files steps touch; less sure where some of them do not say which."""
    steps = session.steps
    found, naming = steps.files(places, changed=changed)
    sure = 1.0 if naming == len(places) else 0.8
    return reading(len(found), evidence=steps.events(sorted(set(found.values()))), confidence=sure)


@register(
    "subagent_count",
    group="activity",
    kind="numeric",
    method="heuristic",
    description="sub-agents that were started",
    unit="sub-agents",
)
def subagent_count(session: SessionContext) -> Reading:
    """Calls that start one, and those that are known by what they did alone."""
    if not session.count("events"):
        return missing(NO_EVENTS)
    places = session.steps.where(Flag.AGENT, without=Flag.REJECTED)
    others = session.unlinked_agents
    return reading(len(places) + others, evidence=session.steps.events(places))


@register(
    "session_duration_seconds",
    group="activity",
    kind="numeric",
    method="heuristic",
    description="from the first event to the last",
    unit="seconds",
)
def session_duration_seconds(session: SessionContext) -> Reading:
    """Time between the ends."""
    if session.started is None or session.ended is None or session.ended == session.started:
        return missing(NO_TIMES)
    return reading((session.ended - session.started) / 1000)


@register(
    "active_seconds",
    group="activity",
    kind="numeric",
    method="heuristic",
    description="the same without silences longer than five minutes",
    unit="seconds",
)
def active_seconds(session: SessionContext) -> Reading:
    """Time without idle gaps."""
    if session.started is None or session.ended == session.started:
        return missing(NO_TIMES)
    return reading(sum(last - first for first, last in session.periods) / 1000)


@register(
    "time_to_first_edit_seconds",
    group="activity",
    kind="numeric",
    method="heuristic",
    description="from the person's first message to the first edit that was made",
    unit="seconds",
)
def time_to_first_edit_seconds(session: SessionContext) -> Reading:
    """How long it took until something changed."""
    made, steps = session.steps.edits, session.steps
    if not made:
        return missing("nothing was edited")
    begun = steps.kinds.find("u")
    if begun < 0 or steps.times[begun] < 0 or steps.times[made[0]] < 0:
        return missing("the first message or the first edit tells no time")
    shown = steps.events((begun, made[0]))
    return reading(max(steps.times[made[0]] - steps.times[begun], 0) / 1000, evidence=shown)


@register(
    "user_correction_count",
    group="activity",
    kind="numeric",
    method="regex",
    description="messages after the first one in which the person says that something is wrong",
    unit="messages",
)
def user_correction_count(session: SessionContext) -> Reading:
    """Prompts that correct what was done."""
    if session.count("prompt") < 2:
        return missing("there is no second message in which the person could have corrected something")
    places = session.steps.where(Flag.CORRECTION)
    return reading(len(places), evidence=session.steps.events(places), confidence=0.7)
