"""How Codex writes its records: their fields, which types give no event and why, and decoding that does not give up."""

from __future__ import annotations

from typing import Annotated, Final, TypeVar

import msgspec

from retro.agents.fields import whole_in, words
from retro.agents.interface import Facts
from retro.event import MOST

Number = Annotated[int, msgspec.Meta(ge=-MOST, le=MOST)]

_NONE: Final = msgspec.Raw(b"null")
_TEXTS: Final = frozenset(
    {
        *("text", "message", "instructions", "prompt", "query", "reason", "thread_name", "revised_prompt"),
        *("command", "aggregated_output", "stdout", "stderr", "input", "patch"),
    }
)
"""Fields in which somebody's words stand: of these none is left out, whatever it is."""


class Marks(msgspec.Struct):
    """What a line says of its payload."""

    compaction_output: bool = False


class Line(msgspec.Struct):
    """A line of a rollout, of an `exec --json` stream, or (2025-08) an item without an envelope."""

    timestamp: str | None = None
    kind: str = msgspec.field(default="", name="type")
    ordinal: Number | None = None
    payload: msgspec.Raw = msgspec.Raw()
    metadata: Marks | None = None
    id: str | None = None
    record_type: str | None = None
    role: str | None = None
    thread_id: str | None = None
    item: msgspec.Raw = _NONE
    usage: msgspec.Raw = _NONE
    error: msgspec.Raw = _NONE
    message: msgspec.Raw = _NONE
    session_id: str | None = None
    ts: float | None = None
    text: str | None = None


class Git(msgspec.Struct):
    """Where a session began."""

    commit_hash: str | None = None
    branch: str | None = None
    repository_url: str | None = None


class Spawn(msgspec.Struct):
    """Who started a sub-agent."""

    parent_thread_id: str | None = None
    agent_path: str | None = None
    agent_nickname: str | None = None
    agent_role: str | None = None


class Spawned(msgspec.Struct):
    """What comes back of starting a sub-agent."""

    agent_id: str | None = None
    nickname: str | None = None


class Base(msgspec.Struct):
    """The history that a fork goes on from without copying it."""

    thread_id: str | None = None


class Meta(msgspec.Struct):
    """`session_meta`, or the first line of 2025-08."""

    id: str | None = None
    session_id: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    originator: str | None = None
    cli_version: str | None = None
    instructions: str | None = None
    title: str | None = None
    source: msgspec.Raw = _NONE
    git: Git | None = None
    forked_from_id: str | None = None
    parent_thread_id: str | None = None
    history_base: Base | None = None
    copied_until: Number | None = msgspec.field(default=None, name="subagent_history_start_ordinal")
    agent_path: str | None = None
    agent_nickname: str | None = None
    thread_source: str | None = None

    @property
    def spawn(self) -> Spawn | None:
        """Who started it, if it is a sub-agent; the parent may be unknown."""
        if not is_object(self.source):
            return Spawn(self.parent_thread_id) if self.thread_source == "subagent" else None
        subagent = mapping(decode_any(self.source)).get("subagent")
        try:
            return msgspec.convert(mapping(mapping(subagent).get("thread_spawn")), Spawn)
        except msgspec.ValidationError:
            return Spawn(self.parent_thread_id)

    @property
    def parent(self) -> str | None:
        """The session that this one was forked from or started by."""
        spawn, base = self.spawn, self.history_base
        candidates = (
            spawn.parent_thread_id if spawn else None,
            base.thread_id if base else None,
            self.forked_from_id,
            self.parent_thread_id,
        )
        return next((found for found in candidates if found and found != self.id), None)


class Settings(msgspec.Struct):
    """`turn_context` and `thread_settings`: what holds from here on."""

    model: str | None = None
    cwd: str | None = None
    service_tier: str | None = None


class Passthrough(msgspec.Struct):
    """What today's host knows of the parts of a message."""

    content_item_kinds: list[str | None] | None = None


class Item(msgspec.Struct):
    """A `response_item`: what was sent to the model or came from it."""

    kind: str = msgspec.field(default="", name="type")
    id: str | None = None
    role: str | None = None
    content: msgspec.Raw = _NONE
    summary: msgspec.Raw = _NONE
    name: str | None = None
    namespace: str | None = None
    call_id: str | None = None
    arguments: msgspec.Raw = _NONE
    input: msgspec.Raw = _NONE
    output: msgspec.Raw = _NONE
    action: msgspec.Raw = _NONE
    tools: msgspec.Raw = _NONE
    status: str | None = None
    revised_prompt: str | None = None
    author: str | None = None
    recipient: str | None = None
    passthrough: Passthrough | None = msgspec.field(default=None, name="internal_chat_message_metadata_passthrough")


class Invocation(msgspec.Struct):
    """Which tool of which server a call went to."""

    server: str = ""
    tool: str = ""
    arguments: msgspec.Raw = _NONE


class Happening(msgspec.Struct):
    """An `event_msg`, or the item that one says is complete: what the host's own window shows."""

    kind: str = msgspec.field(default="", name="type")
    item: msgspec.Raw = _NONE
    id: str | None = None
    call_id: str | None = None
    callId: str | None = None  # noqa: N815 - one of the events is spelt so
    message: msgspec.Raw = _NONE
    text: str | None = None
    images: list[msgspec.Raw] | None = None
    content: msgspec.Raw = _NONE
    summary_text: list[str] | None = None
    raw_content: list[str] | None = None
    info: msgspec.Raw = _NONE
    rate_limits: msgspec.Raw = _NONE
    error: msgspec.Raw = _NONE
    reason: str | None = None
    command: str | list[str] | None = None
    source: str | None = None
    aggregated_output: str | None = None
    exit_code: Number | None = None
    duration: msgspec.Raw = _NONE
    status: msgspec.Raw = _NONE
    changes: msgspec.Raw = _NONE
    success: bool | None = None
    stdout: str | None = None
    stderr: str | None = None
    server: str = ""
    tool: str = ""
    namespace: str | None = None
    arguments: msgspec.Raw = _NONE
    invocation: Invocation | None = None
    result: msgspec.Raw = _NONE
    content_items: msgspec.Raw = _NONE
    prompt: str | None = None
    activity: str | None = msgspec.field(default=None, name="kind")
    agent_thread_id: str | None = None
    agent_path: str | None = None
    new_thread_id: str | None = None
    new_agent_nickname: str | None = None
    receiver_thread_ids: list[str] | None = None
    query: str | None = None
    action: msgspec.Raw = _NONE
    results: msgspec.Raw = _NONE
    path: str | None = None
    revised_prompt: str | None = None
    thread_name: str | None = None
    thread_settings: Settings | None = None
    items: msgspec.Raw = _NONE

    @property
    def key(self) -> str | None:
        """The call that it belongs to."""
        return self.call_id or self.callId or self.id


class Compacted(msgspec.Struct):
    """A summary that replaced the context."""

    message: str | None = None


_T = TypeVar("_T", bound=msgspec.Struct)

decode_any = msgspec.json.Decoder().decode
encode = msgspec.json.Encoder().encode
_DECODERS: Final[dict[type, msgspec.json.Decoder[object]]] = {}


def decode(raw: bytes | msgspec.Raw, kind: type[_T]) -> _T:
    """A record as a struct. Fields whose types no version was seen to write are left out."""
    decoder = _DECODERS.get(kind)
    if decoder is None:
        decoder = _DECODERS[kind] = msgspec.json.Decoder(kind)
    try:
        found = decoder.decode(raw)
    except msgspec.ValidationError:
        return _lenient(raw, kind)
    assert isinstance(found, kind)  # noqa: S101 - the decoder was made for it
    return found


def _lenient(raw: bytes | msgspec.Raw, kind: type[_T]) -> _T:
    fields = mapping(decode_any(raw))
    parsed = kind()
    for field in msgspec.structs.fields(kind):
        if field.encode_name in fields:
            value = fields[field.encode_name]
            if isinstance(field.default, int):
                value = whole_in(value)
            try:
                setattr(parsed, field.name, msgspec.json.decode(encode(value), type=field.type))
            except msgspec.ValidationError:
                if field.name in _TEXTS:
                    setattr(parsed, field.name, words(value) or None)
                elif field.name in ("summary_text", "raw_content"):
                    setattr(parsed, field.name, [words(value)])
    return parsed


def is_object(raw: msgspec.Raw) -> bool:
    """Whether a raw value is there and is an object. (msgspec has no optional raw values.)"""
    return bytes(memoryview(raw)[:1]) == b"{"


def mapping(value: object) -> dict[str, object]:
    """A JSON object, or an empty one."""
    return value if isinstance(value, dict) else {}


def note_meta(facts: Facts, meta: Meta) -> None:
    """What a session's own first record tells about it."""
    facts.parent = facts.parent or meta.parent
    facts.cwd = facts.cwd or meta.cwd
    facts.native_start = facts.native_start or meta.timestamp
    facts.host_title = facts.host_title or meta.title
    if meta.git and meta.git.branch:
        facts.branch = meta.git.branch
    if meta.cli_version and meta.cli_version not in facts.versions:
        facts.versions.append(meta.cli_version)
