"""The one schema: Event, Usage, Turn, Session and Reading. Ground floor; `docs/events.md` explains every field."""

from __future__ import annotations

from enum import Enum
from operator import attrgetter
from typing import Final

import msgspec

SCHEMA: Final = 1
"""Version of the event schema, written into every event."""

TEXT_LIMIT: Final = 256 * 1024
"""Bytes of `text` that an event keeps; `raw_ref` still reaches the rest."""

MOST: Final = 2**53
"""No count of anything is larger: beyond it numbers of JSON are not exact."""


class Actor(str, Enum):
    """Who did it."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"
    SUBAGENT = "subagent"
    HOOK = "hook"


class EventType(str, Enum):
    """What happened. A call has the specific type; what came back of it is `tool_result`."""

    MESSAGE = "message"
    REASONING = "reasoning"
    COMMAND = "command"
    FILE_READ = "file_read"
    FILE_EDIT = "file_edit"
    WEB_SEARCH = "web_search"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    ERROR = "error"
    SESSION_START = "session_start"
    SESSION_END = "session_end"
    SUBAGENT_START = "subagent_start"
    SUBAGENT_END = "subagent_end"
    COMPACTION = "compaction"
    PERMISSION = "permission"
    ATTACHMENT = "attachment"
    UNKNOWN = "unknown"


class Origin(str, Enum):
    """Where the text of a user's message comes from."""

    HUMAN = "human"
    AGENT = "agent"
    INJECTED = "injected"
    MACHINE = "machine"


class Quality(str, Enum):
    """How far a usage record can be trusted."""

    EXACT = "exact"
    LOWER_BOUND = "lower_bound"
    FALLBACK_MODEL = "fallback_model"


class RawRef(msgspec.Struct, frozen=True, gc=False):
    """Where the bytes of an event stand: a source's key, its line (from 1), byte offset and length."""

    source: str
    line: int
    offset: int
    length: int


class Event(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """One normalised thing that happened; one JSON object a line in `normalized/`.

    From `summary` on stands what the host wrote, where secrets may be; before it what names and counts.
    """

    schema: int
    event_id: str
    session_id: str
    host: str
    source: str
    sequence: int
    timestamp: str | None
    actor: Actor
    event_type: EventType
    raw_ref: RawRef
    origin: Origin | None = None
    turn: int | None = None
    call_id: str | None = None
    parent_event_id: str | None = None
    agent_id: str | None = None
    usage_id: str | None = None
    exit_code: int | None = None
    is_error: bool | None = None
    duration_ms: int | None = None
    truncated: bool = False
    summary: str
    text: str | None = None
    model: str | None = None
    cwd: str | None = None
    branch: str | None = None
    tool: str | None = None
    command: str | None = None
    paths: list[str] | None = None
    payload: dict[str, object] | None = None


class Usage(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """The tokens of one model request. Snapshots of one request share `usage_id`; the largest, then latest, counts."""

    usage_id: str
    session_id: str
    host: str
    source: str
    line: int
    timestamp: str | None
    model: str | None
    turn: int | None = None
    agent_id: str | None = None
    input_tokens: int = 0
    cache_write_5m_tokens: int = 0
    cache_write_1h_tokens: int = 0
    cache_read_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    web_searches: int = 0
    service_tier: str | None = None
    speed: str | None = None
    embedded_cost_usd: float | None = None
    quality: Quality = Quality.EXACT
    request_id: str | None = None
    native: bool = True

    def __post_init__(self) -> None:
        """What cannot be a number of tokens, or of dollars, says nothing: less than none, or beyond all bounds."""
        counts = _counts(self)
        if min(counts) < 0 or max(counts) > MOST:
            for name in _COUNTS:
                if not 0 <= getattr(self, name) <= MOST:
                    setattr(self, name, 0)
        if self.embedded_cost_usd is not None and not 0 <= self.embedded_cost_usd <= MOST:
            self.embedded_cost_usd = None


_COUNTS: Final = tuple(name for name in Usage.__struct_fields__ if name.endswith("_tokens"))
_counts = attrgetter(*_COUNTS)


class Turn(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A human prompt and everything up to the next one: the unit of results."""

    session_id: str
    host: str
    turn: int
    event_id: str
    prompt: str
    answer: str | None = None
    started: str | None = None
    ended: str | None = None
    first_sequence: int
    last_sequence: int
    events: int = 0
    actions: int = 0
    commands: int = 0
    edits: int = 0
    errors: int = 0
    files: list[str] = []
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


class Session(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One conversation, as `retro list` and the Python API give it."""

    host: str
    session_id: str
    parent: str | None = None
    title: str | None = None
    project: str | None = None
    cwd: str | None = None
    repository: str | None = None
    branch: str | None = None
    started: str | None = None
    ended: str | None = None
    models: list[str] = []
    host_versions: list[str] = []
    turns: int = 0
    events: int = 0
    agents: int = 0
    commands: int = 0
    edits: int = 0
    errors: int = 0
    source_bytes: int = 0
    archive_bytes: int = 0
    outcome: str | None = None
    """`success`, `failure` or `unknown`; None where nothing was done that could be judged."""
    outcome_probability: float | None = None


Value = bool | int | float | str


class Reading(msgspec.Struct, omit_defaults=True):
    """What one signal says of one session."""

    signal: str
    value: Value | None
    unit: str = ""
    confidence: float = 1.0
    """From 0 to 1."""
    method: str = ""
    evidence: list[str] = []
    """Ids of the events that show it: all of them where they are few, else the first ones."""
    reason: str | None = None
    """Why there is no value, or what is to be known about it."""
