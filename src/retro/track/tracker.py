"""Events in, track out: what matters of each for signals, added as it passes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import Final

import msgspec

from retro.event import Actor, Event, EventType
from retro.track import actions, verdicts, words
from retro.track.columns import (
    BLOCK,
    ERROR,
    EXPLAIN,
    NO_TIME,
    OUTCOME,
    PERMISSION,
    PROMPT,
    Columns,
    Flag,
    Track,
    key_of,
    unpacked,
)
from retro.turns import is_prompt

IDLE_MS: Final = 5 * 60 * 1000
"""A longer silence is idle time."""

PENDING: Final = 256
ANSWERED: Final = 16

_RESULT: Final = OUTCOME | Flag.REJECTED | Flag.TESTS_PASSED | Flag.TESTS_FAILED
_EPOCH: Final = datetime(1970, 1, 1)
_COMMITTED = re.compile(r"^\[[^\]\n]{1,200} (?:\([^)\n]*\) )?[0-9a-f]{7,40}\] ", re.MULTILINE)
_NOTHING = re.compile(r"nothing (?:added )?to commit|no changes added to commit|nothing to commit|Aborting commit")


def milliseconds(timestamp: str | None) -> int:
    """A time of ours (`2026-02-01T03:50:40.902Z`) as milliseconds since 1970; NO_TIME for none."""
    if timestamp is None:
        return NO_TIME
    try:
        moment = datetime.fromisoformat(timestamp[:-1]) - _EPOCH
    except (ValueError, TypeError):
        return NO_TIME
    return (moment.days * 86400 + moment.seconds) * 1000 + moment.microseconds // 1000


class Tracker:
    """Adds the events of one source, in order, to its track."""

    def __init__(self, track: Track) -> None:
        self.track = track
        self._open: Columns | None = None
        self._changed = False

    def add(self, event: Event) -> None:
        """Take an event; of one that takes the place of an earlier one only what came of a call is taken again."""
        track, event_type = self.track, event.event_type
        if event.sequence < track.next_sequence:
            if event_type is EventType.TOOL_RESULT:
                self._answer(event, track.answered)
            return
        track.next_sequence = event.sequence + 1
        when = milliseconds(event.timestamp)
        if when >= 0:
            self._note_time(when)
        else:
            track.count("no_timestamp", event.event_id)
        track.counts["events"] = track.counts.get("events", 0) + 1
        if event.cwd and event.agent_id is None:
            track.folder = event.cwd
        payload = event.payload
        if payload:
            self._note_payload(event, payload)
        if event_type is EventType.TOOL_RESULT:
            self._answer(event, track.pending)
        elif event_type is EventType.MESSAGE:
            self._say(event, when)
        elif event_type in _CALLS:
            self._call(event, when)
        elif event_type in _NOTED:
            self._note(event, event_type, when)

    def settle(self) -> None:
        """Pack the steps that were added."""
        columns, track = self._open, self.track
        if columns is None or not self._changed:
            return
        place = (track.length - 1) // BLOCK
        del track.blocks[place:]
        track.blocks.append(columns.packed())
        track.stored = min(track.stored, place)
        self._changed = False

    # Steps.

    def _append(
        self, kind: str, flags: int, when: int, action: int, event: Event, files: list[tuple[int, bool]] | None = None
    ) -> int:
        """Add a step to the open block; gives its place."""
        track, columns = self.track, self._open
        if columns is None:
            begun = track.length % BLOCK
            columns = self._open = unpacked(track.blocks[-1]) if begun else Columns()
        elif len(columns) >= BLOCK:
            self.settle()
            columns = self._open = Columns()
        agent = 0
        if event.agent_id is not None:
            if event.agent_id not in track.agents:
                track.agents.append(event.agent_id)
            agent = min(track.agents.index(event.agent_id) + 1, 0xFFFF)
        columns.append(kind, flags, when, action, agent, event.event_id, files or ())
        track.length += 1
        self._changed = True
        return track.length - 1

    def _call(self, event: Event, when: int) -> None:
        event_type, commits = event.event_type, 0
        files: list[tuple[int, bool]] = []
        if event_type is EventType.COMMAND:
            done = actions.of_command(event.command or event.text or "")
            kind, commits = done.kind, done.commits
            folder = actions.joined(self.track.folder, actions.folder_of(event), done.folder)
            flags = done.flags | Flag.COMMAND | Flag.ACTION
            files = [(actions.file_key(path, folder), True) for path in done.writes if path]
            files += [(actions.file_key(path, folder), False) for path in done.reads if path]
            if event.payload and "background" in event.payload:
                flags |= Flag.BACKGROUND
            if event.actor is Actor.USER:
                flags |= Flag.BY_PERSON
        elif event_type is EventType.TOOL_CALL:
            kind, flags = actions.of_tool(event.tool), Flag.ACTION
        else:
            kind, flags = actions.OF_TYPE[event_type]
            folder, changed = self.track.folder, bool(flags & Flag.EDIT)
            files = [(actions.file_key(path, folder), changed) for path in event.paths or () if path]
        place = self._append(kind, flags, when, actions.identity(event), event, files)
        if event.call_id is not None:
            self._expect(event, _call_key(event.call_id), place, commits)
        if event.exit_code is not None or event.is_error is not None:  # a host that writes call and result as one
            self._answered(event, place, commits)

    def _expect(self, event: Event, key: int, place: int, commits: int) -> None:
        pending = self.track.pending
        if len(pending) >= PENDING:
            del pending[next(iter(pending))]
        pending[key] = (place, commits)
        if event.event_type is EventType.SUBAGENT_START:
            self.track.starts[key] = place

    def _answer(self, event: Event, waiting: dict[int, tuple[int, int]]) -> None:
        """Note on a call what came of it."""
        if event.call_id is None:
            return
        key, track = _call_key(event.call_id), self.track
        known = waiting.get(key) or track.answered.get(key)
        if known is None:
            return
        if track.pending.pop(key, None) is not None:
            if len(track.answered) >= ANSWERED:
                del track.answered[next(iter(track.answered))]
            track.answered[key] = known
        self._answered(event, *known)

    def _answered(self, event: Event, place: int, commits: int) -> None:
        columns, at = self._block_of(place)
        before = columns.flags[at]
        flags = before & ~_RESULT | Flag.ANSWERED
        payload = event.payload or {}
        if payload.get("rejected"):
            flags |= Flag.REJECTED
        elif payload.get("background"):
            flags |= Flag.BACKGROUND
        elif event.exit_code is not None:
            flags |= Flag.FAILED if event.exit_code else Flag.SUCCEEDED
            columns.exits[at] = max(min(event.exit_code, 0x7FFFFFFF), -0x7FFFFFFF)
        elif event.is_error is not None:
            flags |= Flag.FAILED if event.is_error else Flag.SUCCEEDED
        if flags & Flag.RUNS_TESTS and not flags & (Flag.REJECTED | Flag.BACKGROUND):
            flags |= verdicts.verdict(event.text, flags, event.exit_code, event.is_error)
        columns.flags[at] = flags
        if commits and not before & Flag.ANSWERED:
            self._note_commits(event, flags, commits, columns.ids[at])
        if columns is self._open:
            self._changed = True
        else:
            self.track.blocks[place // BLOCK] = columns.packed()
            self.track.stored = min(self.track.stored, place // BLOCK)

    def _block_of(self, place: int) -> tuple[Columns, int]:
        """The block that a step is in, and where in it."""
        track = self.track
        block, at = divmod(place, BLOCK)
        if block != (track.length - 1) // BLOCK:
            return unpacked(track.blocks[block]), at
        if self._open is None:
            self._open = unpacked(track.blocks[block])
        return self._open, at

    def _note_commits(self, event: Event, flags: int, commits: int, call: str) -> None:
        text = event.text or ""
        made = len(_COMMITTED.findall(text))
        if not made and flags & Flag.SUCCEEDED and not _NOTHING.search(text):
            made = commits
        if made:
            self.track.count("commits", call, made)

    # Words, and what is only counted.

    def _say(self, event: Event, when: int) -> None:
        track = self.track
        if event.actor in (Actor.ASSISTANT, Actor.SUBAGENT):
            if event.text and event.text.strip():
                if event.agent_id is None:
                    track.count("assistant_message", event.event_id)
                    self._note_sureness(event, event.text)
                self._append(EXPLAIN, Flag.MESSAGE, when, key_of(event.text), event)
        elif is_prompt(event):
            text = event.text or event.summary
            flags = Flag.MESSAGE
            if track.counts.get("prompt") and words.corrects(text):
                flags |= Flag.CORRECTION
            praise, complaint = words.opinion(text)
            if praise:
                track.count("praise", event.event_id, praise)
            if complaint:
                track.count("complaint", event.event_id, complaint)
            track.count("prompt", event.event_id)
            self._append(PROMPT, flags, when, 0, event)

    def _note_sureness(self, event: Event, text: str) -> None:
        confirmations, doubts = words.sureness(text)
        if confirmations:
            self.track.count("confirmation", event.event_id, confirmations)
        if doubts:
            self.track.count("doubt", event.event_id, doubts)

    def _note(self, event: Event, event_type: EventType, when: int) -> None:
        if event_type is EventType.UNKNOWN:
            self.track.count("unknown", event.event_id)
        elif event_type is EventType.COMPACTION:
            self.track.count("compaction", event.event_id)
        else:
            kind = ERROR if event_type is EventType.ERROR else PERMISSION
            self._append(kind, Flag.FAILED if kind == ERROR else 0, when, 0, event)

    def _note_payload(self, event: Event, payload: dict[str, object]) -> None:
        if "secrets" in payload:
            self.track.count("secrets", event.event_id)
        if "marks" in payload:
            self.track.count("marks", event.event_id)
        if payload.get("interrupt") is True:
            self.track.count("interrupt", event.event_id)

    def _note_time(self, when: int) -> None:
        """Add a moment to the spans in which something happened."""
        periods = self.track.periods
        if periods:
            first, last = periods[-1]
            if last <= when <= last + IDLE_MS:
                periods[-1] = (first, when)
                return
            if first <= when <= last:
                return
        self.track.periods = joined([*periods, (when, when)])


_call_key = lru_cache(maxsize=PENDING)(key_of)
"""Of a call's id, which comes once more with its result."""


def track_of(events: Iterable[Event]) -> Track:
    """The track of a whole session in reading order, whose sequences come from several sources."""
    tracker = Tracker(Track())
    for place, event in enumerate(events):
        tracker.add(msgspec.structs.replace(event, sequence=place))
    tracker.settle()
    return tracker.track


def joined(periods: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order, those that no long silence parts made one."""
    whole: list[tuple[int, int]] = []
    for first, last in sorted(periods):
        if whole and first <= whole[-1][1] + IDLE_MS:
            whole[-1] = (whole[-1][0], max(whole[-1][1], last))
        else:
            whole.append((first, last))
    return whole


_CALLS: Final = frozenset(
    {
        EventType.COMMAND,
        EventType.FILE_READ,
        EventType.FILE_EDIT,
        EventType.WEB_SEARCH,
        EventType.TOOL_CALL,
        EventType.SUBAGENT_START,
    }
)
_NOTED: Final = frozenset({EventType.UNKNOWN, EventType.COMPACTION, EventType.ERROR, EventType.PERMISSION})
