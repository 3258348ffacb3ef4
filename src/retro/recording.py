"""A session on its way into the archive: its normalised file, and what was added to it since the last part."""

from __future__ import annotations

import os
from typing import Final

import msgspec

from retro import agents, secrets
from retro.agents.interface import LINES, TRANSCRIPT, Facts
from retro.archive.committed import MAIN, Failed, Part, SessionState, SourceState
from retro.archive.frames import FrameWriter, Mark
from retro.archive.meta import write_meta
from retro.archive.normalised import EventWriter, hashed
from retro.archive.reading import session_events
from retro.event import Event, Reading, Usage
from retro.landmarks import Landmarks
from retro.ledger.copies import largest
from retro.notes import Notes, note, noted
from retro.passages import Passage, Passages, cut_whole
from retro.places import Places, make_private_dir
from retro.signals.context import context_of, repository_commits
from retro.signals.running import evaluate, in_sweep
from retro.track.columns import Track
from retro.track.tracker import Tracker, track_of
from retro.turns import Fold, Tally, TurnRow, fold


class Recording:
    """A session being captured: its normalised file, and what has been added since the last part."""

    def __init__(self, places: Places, state: SessionState) -> None:
        self.state = state
        self.agent = agents.named(state.host)
        self.folder = places.checked_session(places.raw(state.host, state.session_id))
        self.path = places.checked_session(places.normalized(state.host, state.session_id))
        self.failed: list[Failed] = []
        self._appended = any(source.kind == TRANSCRIPT for source in state.sources)
        self._frames: FrameWriter | None = None
        self._events: EventWriter | None = None
        self._target = self.path
        self._fold: Fold | None = None
        self._cutting: Passages | None = None
        self._passages: list[Passage] = []
        self._tracker: Tracker | None = None
        self._notes = Notes()
        self._last_turn = state.last_turn
        self._touched: dict[tuple[str, int], SourceState] = {}
        self._turns: dict[int, TurnRow] = {}
        self._usage: list[Usage] = []
        self._new_usage: list[Usage] = []
        self._usage_mark = 0
        self._landmarks = Landmarks()
        self._read = 0
        self._committed = self._mark()
        self._files: set[str] = set()
        self._dirs: set[str] = set()
        self._kept = self._mixed = False
        self.gaps = any(source.base for source in state.sources)
        """Raw bytes were given up, so that not all events can be derived from what is archived."""

    # Parts.

    def part(self, *, done: bool, all_turns: bool = False, all_usage: bool = False) -> Part:
        """What was added since the last part, described."""
        self._flush()
        tally = whole = None
        notes = self.state.notes if self.state.evicted else None
        if self._touched and not self.state.evicted and (self._mixed or self._overlaps()):
            events = self._in_order()
            (rows, tally), whole, notes = fold(events), track_of(events), noted(events)
            self._turns, all_turns = {row.turn.turn: row for row in rows}, True
            self._passages = cut_whole(events)
        if self._touched:
            self._write_meta()
        if self._frames is not None and self._committed != self._mark():
            self._files.add(self.path)
        self._committed = self._mark()
        part = Part(
            host=self.state.host,
            session_id=self.state.session_id,
            sources=[state if done else copy_of(state) for state in self._touched.values()],  # reading goes on in them
            turns=list(self._turns.values()),
            passages=self._passages,
            usage=largest(self._new_usage),
            normalized_bytes=self.state.normalized_bytes,
            normalized_chain=self.state.normalized_chain,
            normalized_frames=self.state.normalized_frames,
            read=self._read,
            appended=self._appended,
            replaces_turns=all_turns,
            replaces_usage=all_usage,
            tally=tally,
            track=whole,
            readings=self._readings(whole, tally) if self._touched else [],
            notes=notes,
            files=sorted(self._files),
            folders=sorted(self._dirs),
            failed=self.failed,
            kept=self._kept,
            events_evicted=self.state.events_evicted,
            evicted=self.state.evicted,
            landmarks=self._landmarks,
            done=done,
        )
        self._landmarks = Landmarks()
        if not done:
            for state in self._touched.values():
                state.track.stored = len(state.track.blocks)
        self._touched, self._turns, self._new_usage, self._read, self.failed = {}, {}, [], 0, []
        self._files, self._dirs, self._usage_mark, self._passages = set(), set(), 0, []
        return part

    def _write_meta(self) -> None:
        make_private_dir(self.folder)
        meta = os.path.join(self.folder, self.agent.META_NAME)
        write_meta(meta, self.state, self.agent.NORMALISER, secrets.RULES_VERSION)
        if self._dirs:  # else the old one does as well after a crash
            self._files.add(meta)
            self._dirs.add(self.folder)

    def _overlaps(self) -> bool:
        """Whether the same event may have come from several sources, so that counts do not simply add up."""
        transcripts = [source for source in self.state.sources if source.kind == TRANSCRIPT]
        own = {source.key.rpartition("/")[2] for source in transcripts}
        return (
            len(own) < len(transcripts)
            or any(
                agent.embedded and f"agent-{agent_id}" in own
                for source in transcripts
                for agent_id, agent in source.facts.agents.items()
            )
            or sum(source.key.partition("~")[0] == MAIN for source in transcripts) > 1
            or sum(source.fold.tally.turns > 0 for source in transcripts) > 1
            or any(source.form != LINES and source.fold.replaced for source in transcripts)
        )

    def _readings(self, whole: Track | None, tally: Tally | None) -> list[Reading]:
        """What the signals say that need no more than this session."""
        state = self.state
        context = context_of(state.host, state.session_id, state.sources, whole, tally)
        context.commits = repository_commits(context.facts.cwd, context.periods)
        return evaluate(context, in_sweep(ledger=False))

    def _in_order(self) -> list[Event]:
        """All events that there are of the session, in reading order."""
        if not self.state.normalized_bytes:
            return []
        calls = {
            agent_id: agent.call_id for source in self.state.sources for agent_id, agent in source.facts.agents.items()
        }
        return session_events(self.path, calls, self.state.normalized_bytes)

    def _touch(self, state: SourceState) -> None:
        self._touched[state.key, state.revision] = state
        others = [
            source for source in self.state.sources if (source.key, source.revision) != (state.key, state.revision)
        ]
        self.state.sources = [*others, state]

    # Files.

    def _open_raw(self, state: SourceState) -> FrameWriter:
        path = os.path.join(self.folder, state.file)
        if not state.raw_bytes:
            self._make_folder(os.path.dirname(path))
        return FrameWriter(path, state.raw_bytes, state.chain, state.frames)

    def _make_folder(self, folder: str) -> None:
        """Make a folder for a new file; its name must last as long as what is committed of it."""
        make_private_dir(folder)
        self._dirs.add(folder)

    def _event_writer(self) -> EventWriter:
        if self._events is None:
            if not self.state.normalized_bytes:
                make_private_dir(os.path.dirname(self.path))
            self._frames = FrameWriter(self._target, *self._mark())
            self._events = EventWriter(self._frames, self._count)
        return self._events

    def _count(self, events: list[Event]) -> None:
        for event in events:
            self._landmarks.add(event)
        if self._fold is not None:
            whole = self.state.notes if self.state.evicted else None
            for event in filter(self._fold.add, events):
                note(self._notes, event)
                if whole is not None:  # it cannot be read again
                    note(whole, event)
        if self._cutting is not None:
            for event in events:
                self._cutting.add(event)
        if self._tracker is not None:
            for event in events:
                self._tracker.add(event)

    def _flush(self) -> None:
        if self._events is not None and self._frames is not None:
            self._events.flush()
            self._note_events(self._frames.mark())
        if self._usage and self._fold is not None:
            for usage in self._usage:
                self._fold.add_usage(usage)
            self._new_usage += self._usage
            self._usage = []

    def _mark(self) -> Mark:
        return Mark(self.state.normalized_bytes, self.state.normalized_chain, self.state.normalized_frames)

    def _note_events(self, mark: Mark) -> None:
        state = self.state
        state.normalized_bytes, state.normalized_chain, state.normalized_frames = mark

    def mark(self) -> Mark:
        """A point to which the normalised file can go back."""
        self._flush()
        self._usage_mark = len(self._new_usage)
        return self._mark()

    def go_back(self, mark: Mark) -> None:
        """Forget what a source that failed has added since its last part."""
        self._usage = []
        del self._new_usage[self._usage_mark :]
        if self._events is None or self._frames is None:
            return
        self._events.drop()
        if self._committed.length > mark.length:
            mark = self._committed
        if self._frames.length > mark.length:
            self._frames.cut(mark)
            self._note_events(mark)

    def _close_events(self) -> None:
        if self._frames is not None:
            self._frames.close()
        self._frames = self._events = None

    def close(self) -> None:
        """Let go of the files."""
        self._close_events()


def masked_facts(facts: Facts) -> Facts:
    """Facts with the secrets in their texts masked."""
    if not secrets.suspects(msgspec.json.encode(facts)):
        return facts
    masked, found = secrets.mask_value(msgspec.to_builtins(facts))
    return msgspec.convert(masked, Facts) if found else facts


def masked_state(saved: bytes) -> bytes:
    """A reader's state with the secrets in it masked: calls' ids, names, what it noted of the last records."""
    held = msgspec.msgpack.decode(saved) if saved else None
    if held is None or not secrets.suspects(msgspec.json.encode(held)):
        return saved
    masked, found = secrets.mask_value(held)
    return msgspec.msgpack.encode(masked) if found else saved


def masked_usage(records: list[Usage]) -> list[Usage]:
    """Usage records with the secrets in their texts masked: the name of a model may be anything."""
    texts = "\n".join(text for record in records for text in _texts(record))
    if not secrets.suspects(texts.encode("utf-8", "replace")):
        return records
    return [
        _masked_record(record) if any(secrets.mask(text).found for text in _texts(record)) else record
        for record in records
    ]


def _texts(record: Usage) -> list[str]:
    return [text for name in (*_IDENTITIES, *_WORDS) if (text := getattr(record, name))]


def _masked_record(record: Usage) -> Usage:
    """What identifies a request becomes a hash, that it stays apart from others."""
    changed = {name: secrets.mask(text).text for name in _WORDS if (text := getattr(record, name))}
    for name in _IDENTITIES:
        text = getattr(record, name)
        if text and secrets.mask(text).found:
            changed[name] = hashed(text)
    return msgspec.structs.replace(record, **changed)


_IDENTITIES: Final = ("usage_id", "request_id")
_WORDS: Final = ("model", "agent_id", "service_tier", "speed")


def copy_of(state: SourceState) -> SourceState:
    """A state of its own to work on: if the source fails, the committed one still stands."""
    return msgspec.msgpack.decode(msgspec.msgpack.encode(state), type=SourceState)


def remove(path: str) -> None:
    """Take a file away, if it is there."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
