"""What the entries of a pi session mean, with ids and without."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from retro.agents.calls import describe, emit_call, emit_giant
from retro.agents.emitter import Emitter, Progress, content_id, one_line, utc, verdict
from retro.agents.fields import (
    Fields,
    as_text,
    blocks,
    count,
    decode,
    first,
    kept,
    mapping,
    string,
    text_in,
    whole,
    words,
)
from retro.agents.homes import scanned
from retro.agents.interface import BOOKKEEPING, MAPPED, UNKNOWN, Batch, Facts, Verdict
from retro.agents.pi_kinds import BOOKKEEPING_TYPES, HOST, UNCOUNTED, id_in_name
from retro.event import Actor, EventType, Origin, Usage

TOOLS: Final = {
    "bash": EventType.COMMAND,
    "read": EventType.FILE_READ,
    "edit": EventType.FILE_EDIT,
    "write": EventType.FILE_EDIT,
    "web_search": EventType.WEB_SEARCH,
    "web_fetch": EventType.WEB_SEARCH,
}

CALLS: Final = 1000
_EXIT: Final = re.compile(r"Command exited with code (\d{1,4})\s*\Z")


class State(msgspec.Struct):
    """What a source's events depend on, kept between sweeps."""

    progress: Progress = msgspec.field(default_factory=Progress)
    calls: dict[str, str] = {}
    """Tools of the calls that were seen."""
    cwd: str | None = None


class PiReader:
    """Reads one session's file."""

    def __init__(self, session_id: str, source: str, saved: bytes, facts: Facts) -> None:
        self.state = msgspec.msgpack.decode(saved, type=State) if saved else State()
        self.facts = facts
        self.session_id, self.source = session_id, source
        self.out = Emitter(HOST, session_id, source, self.state.progress)

    def save(self) -> bytes:
        """The state to go on from."""
        return msgspec.msgpack.encode(self.state)

    def feed(self, record: bytes, line: int, offset: int, batch: Batch) -> Verdict:
        """Add what one entry gives."""
        out = self.out
        entry = mapping(decode(record))
        out.begin(batch, line, offset, len(record))
        out.timestamp = utc(string(entry.get("timestamp")))
        out.parent = None
        self._identify(entry, record)
        kind = string(entry.get("type")) or "(none)"
        out.shared = out.where(self.state.cwd, None)
        if kind == "message":
            self._message(mapping(entry.get("message")))
        elif kind == "session":
            self._begin(entry)
        elif kind in ("compaction", "branch_summary"):
            self._summary(kind, entry)
        elif kind == "custom_message":
            self._injected(entry)
        elif kind in ("label", "session_info"):
            self._named(kind, first(entry, "label", "name"))
        return self._account(kind, entry, record)

    def _identify(self, entry: Fields, record: bytes) -> None:
        """Name an entry: by its id, which a copy keeps, and its time, since eight digits are soon used up."""
        name = string(entry.get("id"))
        if name is None or entry.get("type") == "session":
            self.out.identify(content_id(record))
            return
        stamp = re.sub(r"\D", "", string(entry.get("timestamp")) or "")
        self.out.identify(f"{name.replace('.', '_')}@{stamp}")

    def _account(self, kind: str, entry: Fields, record: bytes) -> Verdict:
        if self.out.emitted:
            return verdict(MAPPED, kind)
        if kind in BOOKKEEPING_TYPES or kind in UNCOUNTED:
            return verdict(BOOKKEEPING, kind)
        text = record.decode("utf-8", "replace")
        self.out.emit(Actor.SYSTEM, EventType.UNKNOWN, one_line(f"{kind}: {text}"), text, payload={"kind": kind})
        return verdict(UNKNOWN, kind)

    # What a session is.

    def _begin(self, entry: Fields) -> None:
        facts = self.facts
        self.state.cwd = string(entry.get("cwd"))
        facts.cwd = facts.cwd or self.state.cwd
        facts.native_start = facts.native_start or self.out.timestamp
        parent = first(entry, "parentSession", "branchedFrom")
        if parent is not None:
            facts.parent = id_in_name(parent)
        self.out.shared = self.out.where(self.state.cwd, None)
        payload = kept(version=entry.get("version"), provider=entry.get("provider"), model=entry.get("modelId"))
        self.out.emit(Actor.SYSTEM, EventType.SESSION_START, "session started", payload=payload)

    def _named(self, kind: str, name: str | None) -> None:
        if kind == "session_info":
            self.facts.title = name
        if name is not None:
            payload: dict[str, object] = {"kind": kind}
            self.out.emit(Actor.USER, EventType.ATTACHMENT, one_line(f"{kind}: {name}"), name, payload=payload)

    def _summary(self, kind: str, entry: Fields) -> None:
        text = words(entry.get("summary")) or None
        if kind == "compaction":
            payload = kept(pre_tokens=whole(entry.get("tokensBefore")))
            self.out.emit(Actor.SYSTEM, EventType.COMPACTION, "the context was compacted", text, payload=payload)
        else:
            self._told(text or "", kind)

    def _told(self, text: str, kind: str) -> None:
        payload: dict[str, object] = {"kind": kind}
        self.out.emit(Actor.SYSTEM, EventType.MESSAGE, one_line(text), text, origin=Origin.MACHINE, payload=payload)

    def _injected(self, fields: Fields) -> None:
        """What an extension puts into the conversation."""
        text, images = _flat(fields.get("content"))
        payload = kept(kind=first(fields, "customType") or "custom", images=images)
        self.out.emit(Actor.HOOK, EventType.ATTACHMENT, one_line(text), text, origin=Origin.INJECTED, payload=payload)

    # Messages.

    def _message(self, message: Fields) -> None:
        role = string(message.get("role"))
        if role == "user":
            text, images = _flat(message.get("content"))
            self.out.begin_turn()
            self.out.emit(
                Actor.USER,
                EventType.MESSAGE,
                one_line(text),
                text,
                origin=Origin.HUMAN,
                payload=kept(images=images),
            )
        elif role == "assistant":
            self._answer(message)
        elif role == "toolResult":
            self._result(message)
        elif role == "bashExecution":
            self._typed_command(message)
        elif role in ("custom", "hookMessage"):
            self._injected(message)
        elif role in ("branchSummary", "compactionSummary"):
            self._told(words(message.get("summary")), role)
        else:
            text = as_text(message)
            self.out.emit(Actor.SYSTEM, EventType.UNKNOWN, one_line(text), text, payload={"kind": f"message:{role}"})

    def _answer(self, message: Fields) -> None:
        model = string(message.get("model"))
        if model and model not in self.facts.models:
            self.facts.models.append(model)
        usage_id = self._count(message, model)
        for block in blocks(message.get("content")):
            self._block(block, model, usage_id)
        failed, reason = words(message.get("errorMessage")), string(message.get("stopReason"))
        if reason == "aborted":
            text, stopped = failed or "Request was aborted", {"kind": "aborted", "interrupt": True}
            self.out.emit(
                Actor.SYSTEM, EventType.MESSAGE, one_line(text), text, origin=Origin.MACHINE, payload=dict(stopped)
            )
        elif failed or reason == "error":
            text = failed or "the request failed"
            self.out.emit(
                Actor.SYSTEM, EventType.ERROR, one_line(text), text, is_error=True, payload={"kind": "api_error"}
            )

    def _block(self, block: Fields, model: str | None, usage_id: str | None) -> None:
        kind = string(block.get("type"))
        if kind in ("text", "thinking"):
            text = words(block.get(kind))
            if text:
                event_type = EventType.MESSAGE if kind == "text" else EventType.REASONING
                self.out.emit(Actor.ASSISTANT, event_type, one_line(text), text, model=model, usage_id=usage_id)
        elif kind == "toolCall":
            name, call_id = string(block.get("name")) or "", string(block.get("id"))
            if call_id:
                calls = self.state.calls
                if len(calls) >= CALLS:
                    del calls[next(iter(calls))]
                calls[call_id] = name
            described = describe(TOOLS.get(name, EventType.TOOL_CALL), name, block.get("arguments"))
            emit_call(self.out, described, call_id, name, model=model, usage_id=usage_id)
        else:
            text = as_text(block)
            self.out.emit(Actor.SYSTEM, EventType.UNKNOWN, one_line(text), text, payload={"kind": f"block:{kind}"})

    def _result(self, message: Fields) -> None:
        text, images = _flat(message.get("content"))
        call_id = string(message.get("toolCallId"))
        tool = string(message.get("toolName")) or self.state.calls.get(call_id or "")
        failed = bool(message.get("isError"))
        found = _EXIT.search(text) if tool == "bash" else None
        exit_code = int(found[1]) if found else 0 if tool == "bash" and not failed else None
        details = mapping(message.get("details"))
        self.out.emit(
            Actor.TOOL,
            EventType.TOOL_RESULT,
            one_line(text),
            text,
            call_id=call_id,
            tool=tool,
            exit_code=exit_code,
            is_error=failed,
            payload=kept(images=images, full_output=string(details.get("fullOutputPath"))),
        )

    def _typed_command(self, message: Fields) -> None:
        """A command that a person ran in the host, with `!`."""
        command, output = words(message.get("command")), words(message.get("output"))
        hidden = bool(message.get("excludeFromContext"))
        self.out.emit(
            Actor.USER,
            EventType.COMMAND,
            one_line(f"$ {command}"),
            origin=Origin.HUMAN,
            command=command,
            payload=kept(hidden_from_model=hidden),
        )
        self.out.emit(
            Actor.TOOL,
            EventType.TOOL_RESULT,
            one_line(output),
            output,
            origin=Origin.MACHINE,
            exit_code=whole(message.get("exitCode")),
            payload=kept(interrupt=bool(message.get("cancelled")), full_output=string(message.get("fullOutputPath"))),
        )

    def _count(self, message: Fields, model: str | None) -> str | None:
        """Note the tokens of a request."""
        used = mapping(message.get("usage"))
        tokens = [count(used.get(name)) for name in ("input", "cacheWrite", "cacheRead", "output")]
        if not any(tokens):
            return None
        usage_id = string(message.get("responseId")) or self.out.identity
        cost = mapping(used.get("cost")).get("total")
        self.out.batch.usage.append(
            Usage(
                usage_id=usage_id,
                session_id=self.session_id,
                host=HOST,
                source=self.source,
                line=self.out.reference.line,
                timestamp=self.out.timestamp,
                model=model,
                turn=self.state.progress.turn or None,
                input_tokens=tokens[0],
                cache_write_5m_tokens=tokens[1],
                cache_read_tokens=tokens[2],
                output_tokens=tokens[3],
                embedded_cost_usd=float(cost) if isinstance(cost, (int, float)) and cost > 0 else None,
            )
        )
        return usage_id

    # Records that are too long.

    def feed_giant(self, head: bytes, tail: bytes, line: int, offset: int, length: int, batch: Batch) -> Verdict:
        """A record over 16 MiB, known by its ends: its type and identity, no text."""
        out = self.out
        out.begin(batch, line, offset, length)
        out.timestamp = utc(scanned(rb'"timestamp"\s*:\s*"([^"]{10,40})"', head))
        kind = scanned(rb'"type"\s*:\s*"([\w-]{1,60})"', head) or "(none)"
        name = scanned(rb'^\{"type":"[\w-]{1,60}","id":"([^"]{1,64})"', head)
        entry: Fields = {"id": name, "timestamp": out.timestamp}
        self._identify(entry, head + tail + str(length).encode())
        if kind in BOOKKEEPING_TYPES:
            return verdict(BOOKKEEPING, kind)
        call_id = scanned(rb'"toolCallId"\s*:\s*"([^"]{1,200})"', head)
        emit_giant(out, kind, length, call_id, self.state.calls.get(call_id or ""))
        return verdict(MAPPED if call_id else UNKNOWN, kind)


def _flat(content: object) -> tuple[str, list[object]]:
    """The text of a message's content, and what images are in it, without their pixels."""
    texts: list[str] = []
    images: list[object] = []
    for block in blocks(content):
        if block.get("type") == "text" and "text" in block:
            texts.append(text_in(block["text"]))
        elif block.get("type") == "image":
            data = string(block.get("data")) or ""
            images.append({"media_type": string(block.get("mimeType")) or "image", "bytes": len(data) * 3 // 4})
        elif block:
            texts.append(text_in(block))
    return "\n".join(texts), images
