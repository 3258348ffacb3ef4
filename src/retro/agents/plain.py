"""A reader for hosts whose records stand for themselves: JSON objects, read one by one with little between them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar, Final

import msgspec

from retro.agents.calls import Described, describe, emit_call, emit_giant
from retro.agents.emitter import RECENT, Emitter, Progress, content_id, one_line, utc, verdict
from retro.agents.fields import Fields, as_text, blocks, count, decode, kept, mapping, moment, string, text_in, whole
from retro.agents.interface import BOOKKEEPING, MAPPED, UNKNOWN, Batch, Facts, Verdict
from retro.agents.toolnames import tool_kind
from retro.event import Actor, EventType, Origin, Quality, Usage

CALLS: Final = 256
"""How many of the last calls are remembered, to name the tool of a result."""

MILLISECONDS: Final = 1e11
"""A number of seconds larger than this (the year 5138) is one of milliseconds."""

MEDIA: Final = frozenset({"image", "audio", "video", "file", "document"})
"""What is put into a message that is no text."""

_ZONE: Final = re.compile(r"(?:[Zz]|[+-]\d{2}:?\d{2})$")
_TYPE: Final = re.compile(rb'"(?:type|role)"\s*:\s*"([\w./:-]{1,60})"')


class State(msgspec.Struct):
    """What a source's events depend on, kept between sweeps."""

    progress: Progress = msgspec.field(default_factory=Progress)
    model: str | None = None
    cwd: str | None = None
    branch: str | None = None
    count: int = 0
    """Records so far."""
    calls: dict[str, str] = {}
    """Tools of the last calls, by the calls' ids."""
    notes: dict[str, str] = {}
    """What else a host's records depend on."""
    turns: dict[str, int] = {}
    """Turns of prompts by their identities, where any record may come again."""


class PlainReader:
    """Reads one source; a host says in `locate` and `tell` what its records mean."""

    HOST: ClassVar[str]
    BOOKKEEPING_TYPES: ClassVar[Mapping[str, str]]
    UNCOUNTED: ClassVar[Mapping[str, str]] = {}
    REMEMBERED: ClassVar[int] = RECENT
    """How many identities are remembered: all, where any record may come again."""

    def __init__(self, session_id: str, source: str, saved: bytes, facts: Facts, agent_id: str | None = None) -> None:
        self.state = msgspec.msgpack.decode(saved, type=State) if saved else State()
        self.facts, self.session_id, self.source = facts, session_id, source
        self.out = Emitter(self.HOST, session_id, source, self.state.progress, self.REMEMBERED)
        self.out.agent_id = agent_id

    def save(self) -> bytes:
        """The state to go on from."""
        return msgspec.msgpack.encode(self.state)

    # What a host fills in.

    def locate(self, fields: Fields) -> str | None:
        """Note when, where and by which model a record was made; gives the host's own id of it."""
        raise NotImplementedError

    def tell(self, fields: Fields) -> str:
        """Add what a record says; gives the host's name for its type."""
        raise NotImplementedError

    # Reading.

    def feed(self, record: bytes, line: int, offset: int, batch: Batch) -> Verdict:
        """Add what one record gives."""
        out, state = self.out, self.state
        out.begin(batch, line, offset, len(record))
        fields = decode(record)
        if not isinstance(fields, dict):
            raise msgspec.DecodeError("not an object")
        out.timestamp = out.parent = None
        out.identify(_name(self.locate(fields) or content_id(record)))
        state.count += 1
        out.shared = out.where(state.cwd, state.branch)
        kind = self.tell(fields)
        if out.emitted:
            return verdict(MAPPED, kind)
        if kind in self.BOOKKEEPING_TYPES or kind in self.UNCOUNTED:
            return verdict(BOOKKEEPING, kind)
        return self.unknown(kind, record)

    def feed_giant(self, head: bytes, tail: bytes, line: int, offset: int, length: int, batch: Batch) -> Verdict:
        """A record over 16 MiB, known by its ends: its type, no text."""
        self.out.begin(batch, line, offset, length)
        self.out.timestamp = self.out.parent = None
        self.out.identify(content_id(head + tail + str(length).encode()))
        self.state.count += 1
        found = _TYPE.search(head)
        kind = found[1].decode() if found else "(none)"
        if kind in self.BOOKKEEPING_TYPES:
            return verdict(BOOKKEEPING, kind)
        emit_giant(self.out, kind, length)
        return verdict(UNKNOWN, kind)

    def unknown(self, kind: str, record: bytes) -> Verdict:
        """A record that we do not know, kept whole."""
        text = record.decode("utf-8", "replace")
        self.out.emit(Actor.SYSTEM, EventType.UNKNOWN, one_line(f"{kind}: {text}"), text, payload={"kind": kind})
        return verdict(UNKNOWN, kind)

    # What people, models and hosts say.

    def start(self, text: str, **about: object) -> None:
        """The session begins."""
        self.out.emit(Actor.SYSTEM, EventType.SESSION_START, one_line(text), payload=kept(**about))

    def prompt(self, text: str, *, images: list[object] | None = None, **about: object) -> None:
        """What a person typed; in a sub-agent's source, its task. One that comes again is of its old turn."""
        task, progress = self.out.agent_id is not None, self.out.progress
        now, before = progress.turn, self.state.turns.get(self.out.identity)
        if before is not None:
            progress.turn = before
        elif not task:
            self.out.begin_turn()
            if self.REMEMBERED > RECENT:
                self.state.turns[self.out.identity] = progress.turn
        origin = Origin.AGENT if task else Origin.HUMAN
        payload = kept(images=images, **about)
        self.out.emit(Actor.USER, EventType.MESSAGE, one_line(text), text, origin=origin, payload=payload)
        if before is not None:
            progress.turn = now

    def inject(self, text: str, kind: str | None, origin: Origin = Origin.INJECTED) -> None:
        """What the host, a hook or an editor put into the conversation."""
        self.out.emit(Actor.SYSTEM, EventType.MESSAGE, one_line(text), text, origin=origin, payload=kept(kind=kind))

    def notice(self, text: str, kind: str | None) -> None:
        """What the host shows."""
        self.inject(text, kind, Origin.MACHINE)

    def answer(self, text: str, **about: object) -> None:
        """What the model says."""
        if text.strip():
            self._speak(EventType.MESSAGE, text, kept(**about))

    def think(self, text: str, **about: object) -> None:
        """What the model thinks."""
        if text.strip():
            self._speak(EventType.REASONING, text, kept(**about))

    def _speak(self, event_type: EventType, text: str, payload: Fields | None) -> None:
        actor = Actor.SUBAGENT if self.out.agent_id else Actor.ASSISTANT
        self.out.emit(actor, event_type, one_line(text), text, model=self.state.model, payload=payload)

    def fail(self, text: str, kind: str, **about: object) -> None:
        """A request or a turn that failed."""
        payload = kept(kind=kind, **about)
        self.out.emit(Actor.SYSTEM, EventType.ERROR, one_line(text), text, is_error=True, payload=payload)

    def compacted(self, text: str | None, **about: object) -> None:
        """The context was compacted."""
        summary = one_line(text) if text else "the context was compacted"
        self.out.emit(Actor.SYSTEM, EventType.COMPACTION, summary, text or None, payload=kept(**about))

    def attach(self, text: str, kind: str, *, paths: list[str] | None = None, **about: object) -> None:
        """What was put beside the conversation."""
        payload = kept(kind=kind, **about)
        self.out.emit(
            Actor.USER, EventType.ATTACHMENT, one_line(text), text, origin=Origin.INJECTED, paths=paths, payload=payload
        )

    # Calls.

    def call(self, call_id: str | None, tool: str, given: object, described: Described | None = None) -> None:
        """A call of a tool; what it does is told from the tool's name and what it was given."""
        if call_id:
            calls = self.state.calls
            if len(calls) >= CALLS:
                del calls[next(iter(calls))]
            calls[call_id] = tool
        if described is None:
            given = parsed(given)
            described = describe(tool_kind(tool), tool, given)
        emit_call(self.out, described, call_id, tool, model=self.state.model)

    def result(
        self,
        call_id: str | None,
        text: str,
        *,
        tool: str | None = None,
        is_error: bool | None = None,
        exit_code: int | None = None,
        duration_ms: int | None = None,
        **about: object,
    ) -> None:
        """What came back of a call."""
        if is_error is None and exit_code is not None:
            is_error = exit_code != 0
        self.out.emit(
            Actor.TOOL,
            EventType.TOOL_RESULT,
            one_line(text),
            text,
            call_id=call_id,
            tool=tool or self.state.calls.get(call_id or ""),
            is_error=is_error,
            exit_code=exit_code,
            duration_ms=duration_ms,
            payload=kept(**about),
        )

    # Tokens.

    def spend(
        self,
        usage_id: str,
        model: str | None = None,
        quality: Quality = Quality.EXACT,
        *,
        fresh: object = None,
        read: object = None,
        written: object = None,
        output: object = None,
        reasoning: object = None,
        cost: float | None = None,
    ) -> None:
        """The tokens of one request: fresh, read from a cache, written to one, put out; nothing where none is told."""
        if not any(count(tokens) for tokens in (fresh, read, written, output, reasoning)):
            return
        self.out.batch.usage.append(
            Usage(
                usage_id=usage_id,
                session_id=self.session_id,
                host=self.HOST,
                source=self.source,
                line=self.out.reference.line,
                timestamp=self.out.timestamp,
                model=model or self.state.model,
                turn=self.state.progress.turn or None,
                agent_id=self.out.agent_id,
                quality=quality,
                input_tokens=count(fresh),
                cache_read_tokens=count(read),
                cache_write_5m_tokens=count(written),
                output_tokens=count(output),
                reasoning_tokens=count(reasoning),
                embedded_cost_usd=cost,
            )
        )

    # What is noted.

    def use(self, model: object) -> None:
        """The model that speaks from now on."""
        name = string(model)
        if name:
            self.state.model = name
            if name not in self.facts.models:
                self.facts.models.append(name)

    def work_in(self, cwd: object, branch: object = None) -> None:
        """The folder and branch in which it happens."""
        self.state.cwd = string(cwd) or self.state.cwd
        self.state.branch = string(branch) or self.state.branch
        self.facts.cwd = self.facts.cwd or string(cwd)
        self.facts.branch = string(branch) or self.facts.branch

    def written_by(self, version: object) -> None:
        """The version of the host."""
        name = string(version)
        if name and name not in self.facts.versions:
            self.facts.versions.append(name)


def time_of(value: object) -> str | None:
    """A time as hosts write it: text, or a number of seconds or milliseconds since 1970."""
    if isinstance(value, str):
        return utc(value)
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    if not number or number < 0:
        return None
    return moment(number / 1000 if number > MILLISECONDS else number)


def zoned(value: object) -> str | None:
    """A time that says its zone; one without is that of a place which we do not know."""
    return utc(value) if isinstance(value, str) and _ZONE.search(value) else None


def parsed(given: object) -> object:
    """Arguments as an object, where they were written as JSON in a text."""
    if isinstance(given, str) and given.lstrip()[:1] == "{":
        try:
            return decode(given.encode("utf-8", "replace"))
        except (msgspec.DecodeError, RecursionError):
            return given
    return given


def image_in(block: Fields) -> Fields:
    """What is told of an image: its type and size; pixels stay in the raw archive."""
    source = mapping(block.get("source")) or mapping(block.get("inlineData")) or block
    data = string(source.get("data")) or ""
    media = string(source.get("media_type")) or string(source.get("mimeType")) or "image"
    return {"media_type": media, "bytes": len(data) * 3 // 4}


def spoken(content: object) -> tuple[str, list[object]]:
    """The text of a message's blocks, and its images."""
    texts, images = [], []
    for block in blocks(content):
        kind = string(block.get("type")) or ""
        if text := text_in(block.get("text")):
            texts.append(text)
        elif kind.partition("_")[0] in MEDIA or kind == "input_image":
            images.append(image_in(block))
        elif block and "text" not in block:
            texts.append(as_text(block))
    return "\n".join(texts), list[object](images)


def exit_in(value: object) -> int | None:
    """The exit code that a result tells."""
    fields = mapping(value)
    return next(
        (found for name in ("exitCode", "exit_code", "code") if (found := whole(fields.get(name))) is not None), None
    )


def _name(identity: str) -> str:
    """An identity without the mark that separates it from the number of its event."""
    return identity.replace(".", "_")
