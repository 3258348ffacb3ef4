"""What an agent module provides, and what the rest of the house may rely on.

An agent module answers four questions and keeps every quirk of its host to itself:

* ``roots``     where does this host keep sessions on this machine?
* ``discover``  which sources lie under a root, and to which session does each belong?
* ``claims``    does this file look like mine?
* ``reader``    what do the records of a source mean?

All that hosts with JSON lines share (offsets, torn tails, glued records, damaged lines) lives in ``records``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from retro.event import Event, Usage

TRANSCRIPT: Final = "transcript"
SIDECAR: Final = "sidecar"
Kind: TypeAlias = Literal["transcript", "sidecar"]

ROWS: Final = "rows:"
"""Begins the path of a source that is no file of its own: rows of a database, lines among those of other sessions."""

LINES: Final = "lines"
"""JSON lines that the host appends to; if it rewrites them, that is a revision."""
DOCUMENT: Final = "document"
"""A file that the host rewrites: one JSON object or list, or JSON lines that are replaced."""
RECORDS: Final = "records"
"""Rows of a database or files of a folder, each with a key; they come, change and go one by one."""
Form: TypeAlias = Literal["lines", "document", "records"]

FILE: Final = "file"
"""Table of those records that are files of a folder; their key is the path within it."""

MAPPED: Final = "mapped"
BOOKKEEPING: Final = "bookkeeping"
UNKNOWN: Final = "unknown"
MALFORMED: Final = "malformed"


Known: TypeAlias = "Mapping[str, tuple[str, str]]"
"""Session and key of the sources that were captured before, by their path."""


class Unreadable(Exception):
    """A source that cannot be read, and why."""


class Root(msgspec.Struct, frozen=True):
    """A folder in which a host keeps sessions, and why we look there."""

    host: str
    path: str
    reason: str


class Source(msgspec.Struct, frozen=True):
    """A file in which a host keeps one session or a part of it, as `stat` saw it; or rows that the agent exported."""

    host: str
    session_id: str
    key: str
    """Unique and stable within the session: `main`, `agent-<id>`, `sidecars/<name>`."""
    kind: Kind
    path: str
    archive_name: str
    """File name in the archive, without `.zst`."""
    size: int
    mtime_ns: int
    inode: int
    """Of rows, a hash of their content: that is how a change of them is seen."""
    device: int
    content: bytes | None = None
    """Of rows: what they say, as JSON lines that are the same for the same rows."""
    archived: bool = False
    """The person put this session away in the host."""
    form: Form = LINES
    """How it changes; see docs/add-an-agent.md."""
    store: str | None = None
    """Of records: the database or folder that they are in, and with others share."""
    store_mark: int = 0
    """What that looked like: see `databases.mark_of`."""
    copy: str | None = None
    """Of records: where `records` reads them, a copy of the store that was made for this sweep."""


class Row(NamedTuple):
    """A record with a key: a row of a database, or a file of a folder."""

    table: str
    key: str
    value: bytes | None
    """One JSON object, the same bytes for the same row; None where it is known to be as it was."""


class Captured(dict[str, tuple[str, str]]):
    """What is `Known` of sources, and what the stores of records looked like when they were captured."""

    def __init__(self) -> None:
        super().__init__()
        self.stores: dict[str, int] = {}
        self.of_store: dict[str, list[Source]] = {}


def mark_of_rows(content: bytes) -> int:
    """What takes the place of an inode where a source is no file."""
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "big") >> 1


class Verdict(msgspec.Struct, frozen=True):
    """How one record was accounted for: which class, and the host's name for its type."""

    account: str
    kind: str


class Agent(msgspec.Struct):
    """A sub-agent of a session: the call that started it, and what the host says of it."""

    call_id: str | None = None
    agent_type: str | None = None
    description: str | None = None
    embedded: bool = False
    """Its messages were seen within another source; they may be in one of its own as well."""


class Limit(msgspec.Struct):
    """How much of what its provider allows in a time was used up, when a host last said so."""

    minutes: int
    """How long the time is."""
    used_percent: float
    resets: int | None
    """When it begins anew, in seconds since 1970."""
    seen: str
    """When the host said so."""


class Facts(msgspec.Struct):
    """What a source says about its session beyond its events; merged over sources in order of their keys."""

    title: str | None = None
    """Given by the person."""
    host_title: str | None = None
    """Made by the host."""
    parent: str | None = None
    cwd: str | None = None
    branch: str | None = None
    models: list[str] = []
    versions: list[str] = []
    native_start: str | None = None
    """When this very file began, where copied history would say otherwise."""
    subagent: bool = False
    """This session is that of a sub-agent of its parent: what it took is the parent's as well."""
    titles: dict[str, str] = {}
    """Titles for other sessions, by a record id that stands in them."""
    agents: dict[str, Agent] = {}
    limits: list[Limit] = []
    """The last word of this source on what its provider allows."""


class Batch(msgspec.Struct):
    """What a reader made of the records fed to it."""

    events: list[Event]
    usage: list[Usage]


class Reader(Protocol):
    """The meaning of one source's records, fed in file order; its state survives between sweeps."""

    @property
    def facts(self) -> Facts:
        """What is known so far; kept apart from the state that `save` gives."""
        ...

    def feed(self, record: bytes, line: int, offset: int, batch: Batch) -> Verdict:
        """Add what one JSON object gives to `batch`. A `msgspec` error says that it could not be decoded."""
        ...

    def feed_giant(self, head: bytes, tail: bytes, line: int, offset: int, length: int, batch: Batch) -> Verdict:
        """The same for a record too long to be held in memory, known by its two ends only."""
        ...

    def save(self) -> bytes:
        """The state to go on from."""
        ...


class HookFile(msgspec.Struct, frozen=True):
    """Where a host looks for hooks of the user's, and how one that runs a command is written there."""

    path: str
    """A JSON file whose key `hooks` holds a list for each event."""
    events: dict[str, str]
    """The host's names of ours: `stop` (a turn is over), `session-end`."""
    entry: Callable[[str], dict[str, object]]
    """What stands in an event's list for a command."""
    prompt: str
    """The host's name of the event at which a command may add to a prompt."""
    note: str | None = None
    """What the person has to do beside."""


class InstructionFile(msgspec.Struct, frozen=True):
    """The file with instructions that a host reads before every session."""

    path: str
    opening: str = ""
    """What a new file has to begin with."""
    note: str | None = None
    """What the person has to know or do beside."""


class Instructed(Protocol):
    """What a module provides beside, if its host reads instructions of the user's."""

    def instructions(self, env: Mapping[str, str], folder: str) -> InstructionFile:
        """Where they stand: for all projects, or else for the project in `folder`."""
        ...


class Hooked(Protocol):
    """What a module provides beside, if its host runs hooks of the user's."""

    def hooks(self, env: Mapping[str, str]) -> HookFile:
        """Where and how hooks are set."""
        ...


class AgentModule(Protocol):
    """One file under `agents/`."""

    HOST: str
    NORMALISER: int
    """Raised when the same bytes would give other events."""
    META_NAME: str
    BOOKKEEPING_TYPES: Mapping[str, str]
    """Every record type that gives no event, with the reason."""
    UNCOUNTED: Mapping[str, str]
    """Record types of which some records give an event, and which do not."""
    MOVED_BY: Sequence[str]
    """Variables of the environment that say where this host writes, beside those that belong to the system."""

    def roots(self, env: Mapping[str, str], extra: Sequence[str]) -> list[Root]:
        """The folders that exist on this machine, each once; `extra` are those that the settings add."""
        ...

    def discover(self, root: Root, known: Known) -> Iterator[Source]:
        """Every source below a root; `known` saves opening files only to learn whose they are."""
        ...

    def claims(self, path: str) -> list[Source]:
        """The sources that a file or folder named by the user stands for; empty if it is not this host's."""
        ...

    def folder_of(self, source: Source) -> str | None:
        """The folder in which a source's session worked, from its first records; None where they do not say."""
        ...

    def reader(self, session_id: str, key: str, source_key: str, saved: bytes, facts: Facts) -> Reader:
        """The reader of a source, new or with the state that an earlier one saved.

        `source_key` is what its events carry; it differs from the key in revisions.
        """
        ...

    def sidecar_facts(self, key: str, content: bytes) -> Facts | None:
        """What a sidecar tells about its session, if anything."""
        ...

    def retention(self, root: Root) -> int | None:
        """After how many days this host deletes a session that was not used; None if it does not."""
        ...


class RecordsModule(AgentModule, Protocol):
    """An agent some of whose sources are records."""

    def records(self, path: str, copy: str, since: int) -> Iterator[Row]:
        """Every record of a source as it is now: what is not given any more is gone.

        `path` and `copy` are those of the source. A row that surely did not change since the time `since`, the
        `mtime_ns` of the source when it was captured last (0: never), may be given without its value.
        """
        ...
