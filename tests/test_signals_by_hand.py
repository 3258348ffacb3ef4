"""Readings counted again by hand, from a session's events and in the plainest way, for real sessions of every host."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from itertools import groupby, pairwise
from math import log2
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

import retro
from agent_support import CORPUS
from retro.config import Settings
from retro.event import Actor, Event, EventType, Reading
from retro.index.database import open_reader
from retro.index.readings import readings_of
from retro.places import Places
from retro.signals.running import known
from retro.sweep import sweep
from retro.track import actions
from retro.track.columns import CATEGORIES, Flag
from retro.turns import is_prompt
from test_conformance import SAMPLES, make_home

LIVE: Final = CORPUS / "live"
LIVE_HOSTS: Final = ("claude", "codex", "copilot", "gemini", "grok", "opencode")
LEAST: Final = {"gemini": 1, "opencode": 2}
"""Sessions that a client left, where it was fewer than three."""

IDLE: Final = 300
LOOKS, CHANGES, CHECKS = "xls", "fc", "tr"
CALLS: Final = {
    *(EventType.COMMAND, EventType.FILE_READ, EventType.FILE_EDIT, EventType.WEB_SEARCH),
    *(EventType.TOOL_CALL, EventType.SUBAGENT_START),
}
NOTES: Final = {EventType.ERROR: "!", EventType.PERMISSION: "p"}


class Session(NamedTuple):
    """A session's events in order, and what the signals say of it."""

    host: str
    session_id: str
    events: list[Event]
    readings: dict[str, Reading]


def sessions(root: Path) -> Iterator[Session]:
    """Every session of an archive."""
    connection = open_reader(Places(str(root)))
    assert connection is not None
    numbers = {
        (host, name): number for number, host, name in connection.execute("SELECT id, host, session_id FROM session")
    }
    with retro.open(str(root)) as archive:
        for info in archive.sessions():
            number = numbers[info.host, info.session_id]
            read = {one.signal: one for one in readings_of(connection, number)}
            yield Session(info.host, info.session_id, archive.session(info.session_id, host=info.host).events(), read)
    connection.close()


class Step(NamedTuple):
    """What an event does, and how it ended: True, False, or None where nothing tells."""

    event: Event
    letter: str
    flags: int
    went_well: bool | None
    refused: bool


def steps(events: list[Event]) -> list[Step]:
    """The agent's calls, texts, errors and permissions, and what the person typed in a shell."""
    results: dict[tuple[str | None, str], list[Event]] = {}
    for event in events:
        if event.event_type is EventType.TOOL_RESULT and event.call_id:
            results.setdefault((event.agent_id, event.call_id), []).append(event)
    found = []
    for event in events:
        if event.event_type in CALLS:
            letter, flags = meaning(event)
            ends = results.get((event.agent_id, event.call_id or ""), [])
            told = ends[-1] if ends else event
            found.append(Step(event, letter, flags, verdict(told), bool((told.payload or {}).get("rejected"))))
        elif event.event_type in NOTES:
            found.append(Step(event, NOTES[event.event_type], 0, None, False))
        elif is_said(event):
            found.append(Step(event, "e", 0, None, False))
    return found


def is_said(event: Event) -> bool:
    """Whether it is a text of the agent or a sub-agent."""
    is_text = event.event_type is EventType.MESSAGE and bool((event.text or "").strip())
    return is_text and event.actor in (Actor.ASSISTANT, Actor.SUBAGENT)


def meaning(event: Event) -> tuple[str, int]:
    """What a call is for."""
    if event.event_type is EventType.COMMAND:
        done = actions.of_command(event.command or event.text or "")
        return done.kind, done.flags
    if event.event_type is EventType.TOOL_CALL:
        return actions.of_tool(event.tool), 0
    return actions.OF_TYPE[event.event_type]


def verdict(event: Event) -> bool | None:
    """How a call went."""
    payload = event.payload or {}
    if payload.get("rejected") or payload.get("background"):
        return None
    if event.exit_code is not None:
        return event.exit_code == 0
    return None if event.is_error is None else not event.is_error


def by_hand(events: list[Event]) -> dict[str, Any]:
    """What the signals should say."""
    done = steps(events)
    own = [
        step for step in done if step.event.event_type is not EventType.COMMAND or step.event.actor is not Actor.USER
    ]
    commands = [step for step in done if step.event.event_type is EventType.COMMAND]
    ended = [step for step in commands if step.went_well is not None]
    edits = [
        step
        for step in own
        if step.flags & Flag.EDIT
        and not step.refused
        and (step.event.event_type is EventType.COMMAND or step.went_well is not False)
    ]
    said: dict[str, Any] = {
        "command_count": len(commands),
        "web_search_count": sum(step.event.event_type is EventType.WEB_SEARCH for step in done),
        "file_edit_count": len(edits),
        "tests_run_count": sum(bool(step.flags & Flag.RUNS_TESTS) and not step.refused for step in commands),
        "user_message_count": sum(map(is_prompt, events)),
        "assistant_message_count": sum(step.letter == "e" and step.event.agent_id is None for step in done),
        "compaction_count": sum(event.event_type is EventType.COMPACTION for event in events),
        "unknown_event_count": sum(event.event_type is EventType.UNKNOWN for event in events),
        "events_without_timestamps": sum(event.timestamp is None for event in events),
        "secret_exposure_count": sum("secrets" in (event.payload or {}) for event in events),
        "injection_marker_count": sum("marks" in (event.payload or {}) for event in events),
        "step_count": len(own),
    }
    if commands and ended:
        failed = sum(not step.went_well for step in ended)
        said |= {"failed_command_count": failed, "failed_command_ratio": round(failed / len(ended), 6)}
    return {**said, **times(events), **way(own)}


def times(events: list[Event]) -> dict[str, Any]:
    """How long it took, as a whole and without the silences."""
    moments = sorted(datetime.fromisoformat(event.timestamp[:-1]) for event in events if event.timestamp)
    if not moments or moments[0] == moments[-1]:
        return {"session_duration_seconds": None, "active_seconds": None}
    gaps = [(after - before).total_seconds() for before, after in pairwise(moments)]
    active = sum(gap for gap in gaps if gap <= IDLE)
    return {"session_duration_seconds": round(sum(gaps), 3), "active_seconds": round(active, 3)}


def way(own: list[Step]) -> dict[str, Any]:
    """What the sequence of the agent's steps is like."""
    letters = [step.letter for step in own]
    acted = [actions.identity(step.event) for step in own if step.event.event_type in CALLS]
    said: dict[str, Any] = {}
    for category, letter in CATEGORIES.items():
        said[f"action_count_{category}"] = letters.count(letter) if letters else None
        said[f"action_ratio_{category}"] = round(letters.count(letter) / len(letters), 6) if letters else None
    work = [letter for letter in letters if letter in LOOKS + CHANGES + CHECKS]
    said["exploration_ratio"] = round(sum(letter in LOOKS for letter in work) / len(work), 6) if work else None
    said["exploitation_ratio"] = round(sum(letter not in LOOKS for letter in work) / len(work), 6) if work else None
    said["phase_count"] = len(list(groupby(map(_phase, work)))) if work else None
    said["transition_count"] = sum(one != other for one, other in pairwise(letters)) if len(letters) > 1 else None
    shares = [count / len(letters) for count in Counter(letters).values()]
    said["sequence_entropy"] = round(abs(sum(share * log2(share) for share in shares)), 6) if letters else None
    same = [one == other for one, other in pairwise(acted)]
    said["repetition_consecutive"] = sum(same) if len(acted) > 1 else None
    runs = [len(list(group)) for _, group in groupby(acted)]
    said["repetition_runs"] = sum(length >= 3 for length in runs) if len(acted) > 2 else None
    grams = [tuple(acted[at : at + 4]) for at in range(len(acted) - 3)]
    said["repetition_4gram"] = round(1 - len(set(grams)) / len(grams), 6) if len(acted) > 4 else None
    return said


def _phase(letter: str) -> str:
    return next(phase for phase in (LOOKS, CHANGES, CHECKS) if letter in phase)


def wrong(session: Session) -> dict[str, tuple[object, object]]:
    """Readings that are not what was counted by hand."""
    counted = by_hand(session.events)
    said = {name: session.readings[name].value for name in counted}
    return {name: (said[name], value) for name, value in counted.items() if said[name] != value}


def unfounded(session: Session) -> list[str]:
    """Readings whose evidence is no event of the session, or not as much as they count."""
    there = {event.event_id for event in session.events}
    counts = ("commands", "edits", "searches", "messages", "compactions", "steps", "events", "runs", "loops", "turns")
    found = []
    for one in session.readings.values():
        if not set(one.evidence) <= there:
            found.append(one.signal)
        counted = one.value if one.unit in counts and one.signal.endswith("_count") else None
        if isinstance(counted, int) and len(set(one.evidence)) != (counted if counted <= 10 else 3):
            found.append(f"{one.signal}: {one.value} by {len(one.evidence)} events")
    return found


def check(root: Path, least: int) -> None:
    """All sessions of an archive."""
    found = list(sessions(root))
    assert len([one for one in found if one.events]) >= least
    for one in found:
        assert set(one.readings) == {name for name, signal in known().items() if signal.needs != "process"}
        assert (one.session_id, wrong(one)) == (one.session_id, {})
        assert (one.session_id, unfounded(one)) == (one.session_id, [])


@pytest.mark.corpus
@pytest.mark.parametrize("host", LIVE_HOSTS)
def test_what_todays_clients_did_is_what_the_readings_say(host: str, tmp_path: Path) -> None:
    env = {"HOME": str(LIVE / host / "home")}
    sweep(Places(str(tmp_path / "root")), Settings("", {("sweep", "workers"): 1}), env, hosts=[host])
    check(tmp_path / "root", least=LEAST.get(host, 3))


@pytest.mark.parametrize("host", sorted(path.stem for path in SAMPLES.glob("*.json")))
def test_what_the_samples_hold_is_what_the_readings_say(host: str, tmp_path: Path) -> None:
    home = make_home(host, tmp_path / "home")
    sweep(Places(str(tmp_path / "root")), Settings("", {("sweep", "workers"): 1}), {"HOME": str(home)}, hosts=[host])
    check(tmp_path / "root", least=1)


@pytest.mark.corpus
def test_failed_commands_of_real_runs_are_counted_exactly(tmp_path: Path) -> None:
    files = sorted((CORPUS / "labelled" / "projects").rglob("*.jsonl"))[::5]
    for file in files:
        place = tmp_path / "home" / ".claude" / "projects" / file.parent.name / file.name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.read_bytes())
    env = {"HOME": str(tmp_path / "home")}
    sweep(Places(str(tmp_path / "root")), Settings("", {("sweep", "workers"): 1}), env, hosts=["claude"])
    said = {
        one.session_id: tuple(one.readings[name].value for name in ("command_count", "failed_command_count"))
        for one in sessions(tmp_path / "root")
    }
    assert said == {file.stem: raw_counts(file) for file in files}


def raw_counts(file: Path) -> tuple[int, int]:
    """Commands, and those that failed, as the transcript's own lines have them."""
    commands, failed = set(), set()
    for line in file.read_text("utf-8").splitlines():
        content = json.loads(line).get("message", {}).get("content")
        for block in content if isinstance(content, list) else ():
            if block["type"] == "tool_use" and block["name"] == "Bash":
                commands.add(block["id"])
            if block["type"] == "tool_result" and block.get("is_error"):
                failed.add(block["tool_use_id"])
    return len(commands), len(failed & commands)
