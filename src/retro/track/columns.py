"""The track of one source: a row of columns for its steps, in blocks, with what is counted beside them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

import msgspec

BLOCK: Final = 512
"""Steps of one block; only blocks that changed are written again."""

NOTED: Final = 11
"""Events that are named of one kind of note: one more than a reading shows."""

NO_EXIT: Final = -(1 << 31)
NO_TIME: Final = -1

EXPLORE: Final = "x"
LOCATE: Final = "l"
SEARCH: Final = "s"
REPRODUCE: Final = "r"
FIX: Final = "f"
TEST: Final = "t"
REFACTOR: Final = "c"
EXPLAIN: Final = "e"
PERMISSION: Final = "p"
ERROR: Final = "!"
OTHER: Final = "o"
PROMPT: Final = "u"
"""A person's words: no step of the agent's, but the border between two turns."""

CATEGORIES: Final[dict[str, str]] = {
    "explore": EXPLORE,
    "locate": LOCATE,
    "search": SEARCH,
    "reproduce": REPRODUCE,
    "fix": FIX,
    "test": TEST,
    "refactor": REFACTOR,
    "explain": EXPLAIN,
    "permission": PERMISSION,
    "error": ERROR,
    "other": OTHER,
}
"""What a step is for, and its letter in the column of kinds."""


class Flag:
    """What else is known of a step: plain numbers, for they are asked for of every event."""

    COMMAND: Final = 1
    """A shell command."""
    BY_PERSON: Final = 2
    """Typed by the person in the host's shell mode: counted, but no step of the agent's."""
    EDIT: Final = 4
    """Changes files."""
    READ: Final = 8
    """Reads files."""
    RUNS_TESTS: Final = 16
    VALIDATES: Final = 32
    """Runs tests, linters, builds or the program: what tells whether a change works."""
    COMMITS: Final = 64
    AGENT: Final = 128
    """Starts a sub-agent."""
    WEB: Final = 256
    ACTION: Final = 512
    """A call of a tool, as opposed to words, errors and permissions."""
    MESSAGE: Final = 1024
    ANSWERED: Final = 2048
    """Its result came."""
    FAILED: Final = 4096
    SUCCEEDED: Final = 8192
    REJECTED: Final = 16384
    """The person refused it."""
    TESTS_PASSED: Final = 32768
    TESTS_FAILED: Final = 65536
    DECIDES: Final = 131072
    """Its exit code is that of the tests: nothing follows them in the command."""
    CORRECTION: Final = 262144
    """Of a prompt: it says that something was wrong."""
    BACKGROUND: Final = 524288


OUTCOME: Final = Flag.FAILED | Flag.SUCCEEDED


def key_of(text: str) -> int:
    """A text as a number that tells it from others, and does not tell what it says."""
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big")


class Block(msgspec.Struct, array_like=True, gc=False):
    """Some consecutive steps, packed."""

    kinds: str = ""
    flags: bytes = b""
    exits: bytes = b""
    times: bytes = b""
    actions: bytes = b""
    agents: bytes = b""
    touching: bytes = b""
    """For each file that a step touches: its place, doubled, and one more where it is changed."""
    files: bytes = b""
    ids: list[str] = []


class Track(msgspec.Struct):
    """What a source did; grows by steps, and holds no text."""

    blocks: list[bytes] = []
    length: int = 0
    stored: int = 0
    """So many blocks lie in the index as they are here."""
    counts: dict[str, int] = {}
    notes: dict[str, list[str]] = {}
    """Events that what is counted can be found by, at most NOTED of each kind."""
    periods: list[tuple[int, int]] = []
    """When something happened, in milliseconds: spans without long gaps, in order."""
    next_sequence: int = 0
    folder: str = ""
    pending: dict[int, tuple[int, int]] = {}
    """Calls without a result, by a hash of their ids: their place, and the commits that they try."""
    answered: dict[int, tuple[int, int]] = {}
    """The last calls with one: a host may write it again."""
    starts: dict[int, int] = {}
    """The places of calls that start sub-agents."""
    agents: list[str] = []

    def count(self, what: str, event_id: str | None = None, by: int = 1) -> None:
        """Count something that is no step, and name the event."""
        self.counts[what] = self.counts.get(what, 0) + by
        if event_id is not None:
            noted = self.notes.setdefault(what, [])
            if len(noted) < NOTED:
                noted.append(event_id)

    def copy(self) -> Track:
        """The same track, to be gone on with apart from this one."""
        return msgspec.msgpack.decode(msgspec.msgpack.encode(self), type=Track)


class Columns:
    """Steps as columns, to be added to, changed and looked through."""

    __slots__ = ("actions", "agents", "exits", "files", "flags", "ids", "kinds", "times", "touching")

    def __init__(self) -> None:
        self.kinds: list[str] = []
        self.flags, self.exits = array("I"), array("i")
        self.times, self.actions = array("q"), array("Q")
        self.agents = array("H")
        self.touching, self.files = array("I"), array("Q")
        self.ids: list[str] = []

    def __len__(self) -> int:
        return len(self.flags)

    def append(
        self,
        kind: str,
        flags: int,
        when: int,
        action: int,
        agent: int,
        event_id: str,
        files: Iterable[tuple[int, bool]] = (),
    ) -> None:
        """Add a step."""
        place = len(self.flags)
        self.kinds.append(kind)
        self.flags.append(flags)
        self.exits.append(NO_EXIT)
        self.times.append(when)
        self.actions.append(action)
        self.agents.append(agent)
        self.ids.append(event_id)
        for file, changed in files:
            self.touching.append(place * 2 + changed)
            self.files.append(file)

    def extend(self, other: Columns) -> None:
        """Add all steps of another."""
        base = len(self.flags) * 2
        self.kinds += other.kinds
        for name in ("flags", "exits", "times", "actions", "agents", "files"):
            getattr(self, name).extend(getattr(other, name))
        self.touching.extend([place + base for place in other.touching] if base else other.touching)
        self.ids += other.ids

    def packed(self) -> bytes:
        """As bytes, to be stored."""
        arrays: dict[str, bytes] = {name: getattr(self, name).tobytes() for name in _ARRAYS}
        return _encode(Block("".join(self.kinds), ids=self.ids, **arrays))


_ARRAYS: Final = ("flags", "exits", "times", "actions", "agents", "touching", "files")
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Block).decode


def unpacked(data: bytes) -> Columns:
    """The steps of a block."""
    block, columns = _decode(data), Columns()
    columns.kinds = list(block.kinds)
    for name in _ARRAYS:
        getattr(columns, name).frombytes(getattr(block, name))
    columns.ids = block.ids
    return columns


def columns_of(track: Track) -> Columns:
    """All steps of a track."""
    whole, blocks = Columns(), [_decode(block) for block in track.blocks]
    whole.kinds = list("".join([block.kinds for block in blocks]))
    whole.ids = [event_id for block in blocks for event_id in block.ids]
    for name in _ARRAYS:
        if name != "touching":
            getattr(whole, name).frombytes(b"".join([getattr(block, name) for block in blocks]))
    base = 0
    for block in blocks:
        touching = array("I", block.touching)
        whole.touching.extend([place + base for place in touching] if base else touching)
        base += 2 * len(block.kinds)
    return whole
