"""What is committed of a session: the archive's side of every source, and the parts in which a sweep adds to it."""

from __future__ import annotations

import os
from typing import Final

import msgspec

from retro.agents.interface import LINES, Facts, Source
from retro.agents.records import Accounting
from retro.archive.work import Work
from retro.event import Reading, Usage
from retro.landmarks import Landmarks
from retro.notes import Notes
from retro.passages import Passage
from retro.track.columns import Track
from retro.turns import FoldState, Tally, TurnRow

MAIN: Final = "main"
"""Key of a session's main source."""


class SourceState(msgspec.Struct):
    """One source in one revision: where it was, how far it is captured, and how to go on."""

    key: str
    revision: int
    kind: str
    path: bytes
    """As the file system has it; not always UTF-8."""
    archive_name: str
    file: str
    """Within the session's raw folder."""
    device: int = 0
    inode: int = 0
    size: int = -1
    mtime_ns: int = 0
    offset: int = 0
    line: int = 1
    base: int = 0
    """Bytes from the beginning whose archived copy was given up; the raw file holds what follows."""
    raw_bytes: int = 0
    frames: int = 0
    chain: bytes = b""
    head: bytes = b""
    tail: bytes = b""
    captured: str = ""
    accounting: Accounting = msgspec.field(default_factory=Accounting)
    facts: Facts = msgspec.field(default_factory=Facts)
    reader: bytes = b""
    fold: FoldState = msgspec.field(default_factory=FoldState)
    track: Track = msgspec.field(default_factory=Track)
    form: str = LINES
    """How it changes; what is not just lines is archived as a journal."""
    table: bytes = b""
    """Of a journal: what its last state consists of."""
    notes: Notes = msgspec.field(default_factory=Notes)
    """What its events give for the digest."""

    @property
    def source_key(self) -> str:
        """The key as events carry it: `@n` names a revision."""
        return f"{self.key}@{self.revision}" if self.revision else self.key

    def unchanged(self, source: Source) -> bool:
        """Whether the file looks as it did when it was captured."""
        return (
            self.size == source.size
            and self.mtime_ns == source.mtime_ns
            and self.inode == source.inode
            and self.device == source.device
        )


class SessionState(msgspec.Struct):
    """What is committed of a session as a whole, with all its sources."""

    host: str
    session_id: str
    normalized_bytes: int = 0
    normalized_chain: bytes = b""
    normalized_frames: int = 0
    events_evicted: bool = False
    """Older events were given up; the normalised file holds what came after."""
    sources: list[SourceState] = []
    last_turn: TurnRow | None = None
    passages: dict[str, Passage] = {}
    """The last passage of each source, which the next event may belong to."""
    notes: Notes | None = None
    """Those of the whole session, where the notes of its sources do not simply add up."""

    @property
    def evicted(self) -> bool:
        """Whether something of the session was given up, so that it cannot be derived anew as a whole."""
        return self.events_evicted or any(source.base for source in self.sources)


class Failed(msgspec.Struct):
    """A source that could not be captured, and why."""

    path: bytes
    reason: str


class Part(msgspec.Struct, tag=True):
    """What one step of a capture wrote, to be synced and then committed; the last of a job is `done`."""

    host: str
    session_id: str
    sources: list[SourceState]
    turns: list[TurnRow]
    usage: list[Usage]
    passages: list[Passage]
    """New ones, and those that were open and have grown; all there are, where `replaces_turns`."""
    normalized_bytes: int
    normalized_chain: bytes
    normalized_frames: int
    read: int = 0
    appended: bool = False
    """Something of the session was captured before."""
    replaces_turns: bool = False
    """`turns` are all there are, not only those that changed."""
    replaces_usage: bool = False
    """`usage` is all that the session holds."""
    tally: Tally | None = None
    """Counts of the whole session, where those of its sources do not simply add up."""
    track: Track | None = None
    """The same for what it did."""
    readings: list[Reading] = []
    """What its signals say, but for those that ask the ledger."""
    notes: Notes | None = None
    """Notes of the whole session in the same case."""
    files: list[str] = []
    """Were written to, and are to be synced before this is committed."""
    folders: list[str] = []
    """The same for those in which files were made; the folders of the host too, if there are any."""
    failed: list[Failed] = []
    kept: bool = False
    """The events could not be derived anew, because a raw copy is damaged; the older ones stay."""
    events_evicted: bool = False
    evicted: bool = False
    """Parts of the session were given up, so that only what is new of it can be counted."""
    landmarks: Landmarks = msgspec.field(default_factory=Landmarks)
    """Of the events that were added; of all that there are, where `replaces_usage` says so."""
    done: bool = False


class Job(msgspec.Struct):
    """A session with work to do, and what is committed of it."""

    state: SessionState
    work: list[Work]
    rederive: bool = False
    damaged: list[str] = []
    """Raw copies of which only a part can be read, but which are to be read all the same."""

    @property
    def size(self) -> int:
        """Bytes to read, about."""
        if self.rederive:
            return sum(source.offset for source in self.state.sources)
        known = {source.path: source.offset for source in self.state.sources}
        return sum(max(work.size - known.get(work.source_path, 0), 0) for work in self.work)


def path_text(path: bytes) -> str:
    """A path as text."""
    return os.fsdecode(path)
