"""What the records of a Claude Code transcript mean, from 1.0 to 2.1.3xx: the conversation itself."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from retro.agents import claude_host
from retro.agents.claude_kinds import BOOKKEEPING_TYPES, HOST
from retro.agents.claude_shapes import (
    NOTHING,
    Block,
    Inner,
    Message,
    Record,
    decode_any,
    decode_record,
    encode,
    lenient,
    mapping,
)
from retro.agents.claude_texts import (
    CONTINUED,
    INTERRUPTED,
    TAGGED,
    describe,
    exit_code_of,
    flatten,
    image,
    later_tag,
    result_of,
    result_payload,
    slash_command,
    tag_content,
    tag_of,
)
from retro.agents.emitter import Emitter, Progress, content_id, one_line, utc, verdict
from retro.agents.interface import BOOKKEEPING, MAPPED, UNKNOWN, Agent, Batch, Facts, Verdict
from retro.event import Actor, EventType, Origin, Quality, Usage


class State(msgspec.Struct):
    """What a transcript's events depend on, kept between sweeps."""

    progress: Progress = msgspec.field(default_factory=Progress)
    calls: dict[str, str] = {}
    """Tools of the calls whose result is awaited."""
    answered: dict[str, str] = {}
    """The same of those that were answered last."""
    skipped: dict[str, str | None] = {}
    """Records without an event, by what they hang below."""
    usage: str = ""
    """The last usage snapshot, so that it is not written again for every block of its message."""
    marks_prompts: bool = False
    """This version says of every prompt where it came from."""


CALLS: Final = 1000
ANSWERED: Final = 32
SKIPPED: Final = 32


class ClaudeReader:
    """Reads one transcript: a session's main file, or that of one of its sub-agents."""

    def __init__(self, session_id: str, source: str, agent_id: str | None, saved: bytes, facts: Facts) -> None:
        self.state = msgspec.msgpack.decode(saved, type=State) if saved else State()
        self.facts = facts
        self.session_id, self.source, self.agent_id = session_id, source, agent_id
        self.out = Emitter(HOST, session_id, source, self.state.progress)
        self.native = True

    def save(self) -> bytes:
        """The state to go on from."""
        return msgspec.msgpack.encode(self.state)

    def feed(self, record: bytes, line: int, offset: int, batch: Batch) -> Verdict:
        """Add what one record gives."""
        out = self.out
        out.begin(batch, line, offset, len(record))
        try:
            parsed = decode_record(record)
        except msgspec.ValidationError:
            parsed = lenient(record)
        out.timestamp = utc(parsed.timestamp)
        usage = self.state.usage
        try:
            self._envelope(parsed, record)
            found = self._read(parsed, record)
        except (ValueError, RecursionError):  # it will come again, mended
            self.state.usage = usage
            out.take_back()
            raise
        if not out.emitted and parsed.uuid:
            self._skip(parsed.uuid)
        return found

    def _read(self, parsed: Record, record: bytes) -> Verdict:
        if parsed.kind == "assistant":
            return self.assistant(parsed, record)
        if parsed.kind == "user":
            return self.user(parsed, record)
        of_host = claude_host.READERS.get(parsed.kind)
        if of_host is not None:
            return of_host(self, parsed, record)
        if parsed.kind in BOOKKEEPING_TYPES:
            return verdict(BOOKKEEPING, parsed.kind)
        if not parsed.kind and parsed.message is not None:
            # Logs of the first 1.0 versions had no type: a message with usage is the assistant's.
            return self.assistant(parsed, record) if parsed.message.usage else self.user(parsed, record)
        return self.unknown(parsed.kind or "(none)", record)

    def feed_giant(self, head: bytes, tail: bytes, line: int, offset: int, length: int, batch: Batch) -> Verdict:
        """A record over 16 MiB, known by its ends: its type and identity, no text."""
        out = self.out
        out.begin(batch, line, offset, length)
        kind = scan(rb'"type":"([\w:-]{1,60})"[,}]', tail, last=True) or scan(rb'"type":"([\w:-]{1,60})"', head)
        top = {"user", "assistant", "system", "progress", "attachment"}
        kinds = [k for k in scan_all(rb'"type":"([\w:-]{1,60})"', head + tail) if k in top or k in BOOKKEEPING_TYPES]
        kind = kinds[0] if kinds else kind or "(none)"
        out.timestamp = utc(scan(rb'"timestamp":"([^"]{10,40})"', tail, last=True))
        uuid = scan(rb'"uuid":"([0-9a-f-]{36})"', tail, last=True) or scan(rb'"uuid":"([0-9a-f-]{36})"', head)
        out.identify(uuid or content_id(head + tail + str(length).encode()))
        out.parent = scan(rb'"parentUuid":"([0-9a-f-]{36})"', head)
        out.agent_id = self.agent_id
        if kind in BOOKKEEPING_TYPES:
            return verdict(BOOKKEEPING, kind)
        call = scan(rb'"tool_use_id":"([^"]{1,100})"', head)
        event_type = EventType.TOOL_RESULT if call else EventType.UNKNOWN
        out.emit(
            Actor.TOOL if call else Actor.SYSTEM,
            event_type,
            f"a record of {length:,} bytes, too long to be read",
            call_id=call,
            tool=self._answered(call) if call else None,
            payload={"kind": kind, "bytes": length},
            truncated=True,
        )
        return verdict(MAPPED if call else UNKNOWN, kind)

    # What every record has.

    def _envelope(self, parsed: Record, record: bytes) -> None:
        out, facts = self.out, self.facts
        forked = parsed.forked_from is not NOTHING and bytes(parsed.forked_from) != b"null"
        self.native = not forked and (parsed.session is None or parsed.session == self.session_id)
        out.agent_id = parsed.agent_id or self.agent_id
        if out.agent_id is None and parsed.is_sidechain:
            out.agent_id = "sidechain"
        out.parent = self._above(parsed.parent)
        if parsed.uuid:
            out.identify(parsed.uuid)
        else:
            out.identify(content_id(record))
            if facts.native_start is None and out.timestamp:
                facts.native_start = out.timestamp
        out.shared = out.where(parsed.cwd, parsed.branch)
        if parsed.version and parsed.version not in facts.versions:
            facts.versions.append(parsed.version)
        if out.shared and self.agent_id is None:
            facts.cwd = facts.cwd or parsed.cwd
            facts.branch = parsed.branch or facts.branch

    def _above(self, parent: str | None) -> str | None:
        """The nearest record above that gave an event."""
        skipped = self.state.skipped
        return skipped.get(parent, parent) if parent else None

    def _skip(self, uuid: str) -> None:
        skipped = self.state.skipped
        if len(skipped) >= SKIPPED:
            del skipped[next(iter(skipped))]
        skipped[uuid] = self.out.parent

    def unknown(self, kind: str, record: bytes) -> Verdict:
        """A record of a type that we do not know, kept whole."""
        text = record.decode("utf-8", "replace")
        self.out.emit(Actor.SYSTEM, EventType.UNKNOWN, one_line(f"{kind}: {text}"), text, payload={"kind": kind})
        return verdict(UNKNOWN, kind)

    # Messages.

    def assistant(self, parsed: Record | Inner, record: bytes) -> Verdict:
        """What the model said, thought and called."""
        message = parsed.message
        if message is None:
            return self.unknown("assistant", record)
        usage_id = self._count(parsed, message)
        model = message.model if message.model != "<synthetic>" else None
        if model and model not in self.facts.models:
            self.facts.models.append(model)
        blocks = message.content
        if isinstance(blocks, str):
            blocks = [Block(kind="text", text=blocks)]
        for place, block in enumerate(blocks or ()):
            self._assistant_block(parsed, block, model, usage_id, place, record)
        if not self.out.emitted:
            self._speak("", model, usage_id)
        return verdict(MAPPED, "assistant")

    def _assistant_block(
        self, parsed: Inner, block: Block, model: str | None, usage_id: str | None, place: int, record: bytes
    ) -> None:
        actor = Actor.SUBAGENT if self.out.agent_id else Actor.ASSISTANT
        if block.kind == "text":
            if parsed.is_api_error:
                self._api_error(block.text or "", parsed.status)
            else:
                self._speak(block.text or "", model, usage_id)
        elif block.kind in ("thinking", "redacted_thinking"):
            text = block.thinking or ""
            self.out.emit(actor, EventType.REASONING, one_line(text), text or None, model=model, usage_id=usage_id)
        elif block.kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
            self._call(block, actor, model, usage_id)
        elif block.kind.endswith("tool_result"):
            self._tool_result(block, msgspec.Raw(b"null"))
        else:
            self._odd(block, place, record)

    def _odd(self, block: Block, place: int, record: bytes) -> None:
        """A block that we do not know, kept whole: with the fields that we do not know."""
        whole: object = block
        if record:
            content = mapping(mapping(decode_any(record)).get("message")).get("content")
            whole = content[place] if isinstance(content, list) else content
        text = encode(whole).decode()
        payload: dict[str, object] = {"kind": f"block:{block.kind}"}
        self.out.emit(Actor.SYSTEM, EventType.UNKNOWN, one_line(text), text, payload=payload)

    def _speak(self, text: str, model: str | None, usage_id: str | None) -> None:
        actor = Actor.SUBAGENT if self.out.agent_id else Actor.ASSISTANT
        self.out.emit(actor, EventType.MESSAGE, one_line(text), text, model=model, usage_id=usage_id)

    def _api_error(self, text: str, status: int | None) -> None:
        payload: dict[str, object] = {"kind": "api_error"}
        if status is not None:
            payload["status"] = status
        self.out.emit(Actor.SYSTEM, EventType.ERROR, one_line(text), text, is_error=True, payload=payload)

    def _count(self, parsed: Inner, message: Message) -> str | None:
        """Note the tokens of a message's request, once for each state in which they are written."""
        used = message.usage
        if used is None or message.model == "<synthetic>":
            return None
        usage_id = message.id or parsed.request_id or parsed.uuid
        if not usage_id:
            return None
        short, hour = used.written
        counts = f"{used.input_tokens} {short + hour} {used.cache_read_input_tokens} {used.output_tokens}"
        snapshot = f"{usage_id} {parsed.request_id} {counts} {message.stop_reason is None}"
        if snapshot == self.state.usage:
            return usage_id
        self.state.usage = snapshot
        usage = Usage(
            usage_id=usage_id,
            session_id=self.session_id,
            host=HOST,
            source=self.source,
            line=self.out.reference.line,
            timestamp=self.out.timestamp,
            turn=self.state.progress.turn or None,
            model=message.model,
            agent_id=self.out.agent_id,
            input_tokens=used.input_tokens or 0,
            cache_write_5m_tokens=short,
            cache_write_1h_tokens=hour,
            cache_read_tokens=used.cache_read_input_tokens or 0,
            output_tokens=used.output_tokens or 0,
            reasoning_tokens=(used.output_tokens_details.thinking_tokens or 0) if used.output_tokens_details else 0,
            web_searches=(used.server_tool_use.web_search_requests or 0) if used.server_tool_use else 0,
            service_tier=used.tier,
            speed=used.speed,
            embedded_cost_usd=parsed.cost,
            quality=Quality.LOWER_BOUND if message.stop_reason is None else Quality.EXACT,
            request_id=parsed.request_id if message.id else None,
            native=self.native,
        )
        self.out.batch.usage.append(usage)
        return usage_id

    # Calls and results.

    def _call(self, block: Block, actor: Actor, model: str | None, usage_id: str | None) -> None:
        name, call_id = block.name or "", block.id
        if call_id:
            calls = self.state.calls
            if len(calls) >= CALLS:
                del calls[next(iter(calls))]
            calls[call_id] = name
        described = describe(name, block.input)
        self.out.emit(
            actor,
            described.event_type,
            described.summary,
            described.text,
            call_id=call_id,
            tool=name,
            model=model,
            usage_id=usage_id,
            command=described.command,
            paths=described.paths,
            payload=described.payload,
        )

    def _tool_result(self, block: Block, raw: msgspec.Raw) -> None:
        text, images = flatten(block.content)
        call_id = block.tool_use_id
        tool = self._answered(call_id) if call_id else None
        result = result_of(raw)
        payload = result_payload(result, text, images)
        if result.agent_id:
            payload["agent_id"] = result.agent_id
            self.link_agent(result.agent_id, call_id)
        is_error = block.is_error
        if is_error is None and result.ran:
            is_error = False
        duration = int(result.duration) if result.duration is not None else None
        exit_code = exit_code_of(text, is_error, result, tool)
        if payload.get("patch"):
            text = f"{text}\n{payload.pop('patch')}"
        self.out.emit(
            Actor.TOOL,
            EventType.TOOL_RESULT,
            one_line(text),
            text,
            call_id=call_id,
            tool=tool,
            exit_code=exit_code,
            is_error=is_error,
            duration_ms=duration,
            payload=payload or None,
        )

    def _answered(self, call_id: str) -> str | None:
        """The tool of a call whose result is here; remembered for a while, for results that are written again."""
        answered = self.state.answered
        tool = self.state.calls.pop(call_id, None) or answered.pop(call_id, None)
        if tool:
            if len(answered) >= ANSWERED:
                del answered[next(iter(answered))]
            answered[call_id] = tool
        return tool

    def link_agent(self, agent_id: str, call_id: str | None) -> None:
        """Note which call started a sub-agent."""
        known = self.facts.agents.get(agent_id)
        if known is None:
            self.facts.agents[agent_id] = Agent(call_id)
        else:
            known.call_id = known.call_id or call_id

    # What a person, or something in a person's place, said.

    def user(self, parsed: Record | Inner, record: bytes) -> Verdict:
        """A prompt, the results of calls, or what else the host tells the model in the user\'s name."""
        message = parsed.message
        if message is None or message.content is None:
            return self.unknown("user", record)
        self._count(parsed, message)  # no version was seen to write usage here; where it stands it was billed
        self.state.marks_prompts = self.state.marks_prompts or parsed.prompt_source is not None
        if isinstance(message.content, str):
            self.said(parsed, message.content, [])
            return verdict(MAPPED, "user")
        spoken: list[str] = []
        images: list[object] = []
        for place, block in enumerate(message.content):
            if block.kind == "text":
                text = block.text or ""
                if tag_of(text) in TAGGED or text.startswith(INTERRUPTED):
                    self.said(parsed, text, [])
                else:
                    spoken.append(text)
            elif block.kind == "tool_result":
                self._tool_result(block, parsed.result)
            elif block.kind in ("image", "document"):
                images.append(image(block.source))
            else:
                self._odd(block, place, record)
        if spoken or images or not self.out.emitted:
            self.said(parsed, "\n".join(spoken), images)
        return verdict(MAPPED, "user")

    def said(self, parsed: Inner, text: str, images: list[object]) -> None:
        """One text in a user's record, told apart by who is behind it."""
        tag = tag_of(text)
        if tag == "bash-input" and self.out.agent_id is None:
            command = tag_content(text)
            self.out.emit(Actor.USER, EventType.COMMAND, one_line(f"$ {command}"), origin=Origin.HUMAN, command=command)
            return
        if tag in ("bash-stdout", "bash-stderr"):
            output = "\n".join(part for part in (tag_content(text), later_tag(text, "bash-stderr")) if part)
            self.out.emit(Actor.TOOL, EventType.TOOL_RESULT, one_line(output), output, origin=Origin.MACHINE)
            return
        origin, payload = self._whose(parsed, text, tag)
        prompt = origin is Origin.HUMAN and self.out.agent_id is None and tag != "user-memory-input"
        if tag in ("command-name", "command-message") and origin is Origin.HUMAN:
            name, text = slash_command(text)
            payload["slash_command"] = name
        elif tag in ("user-memory-input", "local-command-stdout", "local-command-stderr"):
            text = tag_content(text)
            if tag == "user-memory-input":
                payload["memory"] = True
        if images:
            payload["images"] = images
        if prompt:
            self.out.begin_turn()
        actor = Actor.SYSTEM if "kind" in payload else Actor.USER
        self.out.emit(actor, EventType.MESSAGE, one_line(text), text, origin=origin, payload=payload or None)

    def _whose(self, parsed: Inner, text: str, tag: str) -> tuple[Origin, dict[str, object]]:
        """Origin of a text in a user's record, and what to note about it."""
        if text.startswith(INTERRUPTED):
            return Origin.MACHINE, {"interrupt": True}
        if parsed.is_compact_summary or text.startswith(CONTINUED):
            return Origin.MACHINE, {"kind": "compact_summary"}
        if parsed.is_meta or parsed.source_tool:
            return TAGGED.get(tag, Origin.INJECTED) if tag != "command-name" else Origin.INJECTED, {}
        if self.out.agent_id is not None:
            return (Origin.INJECTED if TAGGED.get(tag) is Origin.INJECTED else Origin.AGENT), {}
        if tag in TAGGED:
            return TAGGED[tag], {}
        if parsed.prompt_source is not None:
            return (Origin.MACHINE if parsed.prompt_source == "system" else Origin.HUMAN), {}
        kind = parsed.origin.kind if parsed.origin else None
        if kind and kind != "human":
            return (Origin.MACHINE if "notification" in kind else Origin.AGENT), {}
        if self.state.marks_prompts and not kind:
            return Origin.MACHINE, {}
        return Origin.HUMAN, {"plan": True} if parsed.plan else {}


def scan(pattern: bytes, data: bytes, *, last: bool = False) -> str | None:
    """The first or last match of a pattern in the ends of a giant record."""
    found = scan_all(pattern, data)
    return found[-1 if last else 0] if found else None


def scan_all(pattern: bytes, data: bytes) -> list[str]:
    """All matches of a pattern, as text."""
    return [found.decode("ascii", "replace") for found in re.findall(pattern, data)]
