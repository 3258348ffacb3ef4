"""What the records of a Grok session mean: its log of updates, its log of phases, and its messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from retro.agents import grok_messages
from retro.agents.calls import difference, emit_giant
from retro.agents.emitter import ALL, RECENT, content_id, one_line, utc, verdict
from retro.agents.fields import (
    Fields,
    as_text,
    count,
    decode,
    first,
    first_words,
    items,
    kept,
    mapping,
    moment,
    string,
    whole,
    words,
)
from retro.agents.grok_kinds import BOOKKEEPING_TYPES, HOST
from retro.agents.grok_session import Session, flat
from retro.agents.homes import scanned
from retro.agents.interface import BOOKKEEPING, MAPPED, UNKNOWN, Batch, Facts, Verdict
from retro.event import Actor, EventType, Usage

_CHUNKS: Final = frozenset({"user_message_chunk", "agent_message_chunk", "agent_thought_chunk"})


class GrokReader:
    """Reads one of the files of a session, or of a sub-agent; each record tells which it is from."""

    def __init__(
        self, session_id: str, source: str, agent_id: str | None, beside: bool, saved: bytes, facts: Facts
    ) -> None:
        self.session = Session(session_id, source, agent_id, saved, facts, ALL if beside else RECENT)
        self.beside = beside
        """There is a log of updates, which tells what the messages tell as well."""
        self.facts = facts

    def save(self) -> bytes:
        """The state to go on from."""
        return msgspec.msgpack.encode(self.session.state)

    def feed(self, record: bytes, line: int, offset: int, batch: Batch) -> Verdict:
        """Add what one record gives."""
        session, out = self.session, self.session.out
        fields = mapping(decode(record))
        out.begin(batch, line, offset, len(record))
        out.agent_id = session.agent_id
        params = fields.get("params")
        if isinstance(params, dict):
            return self._update(fields, params, record)
        if "ts" in fields:
            return self._log(fields, record)
        out.timestamp = None
        session.identify_by_content(record, once=self.beside)
        if "file_snapshots" in fields:
            return session.account("rewind", record)
        kind = grok_messages.kind_of(fields)
        grok_messages.read(session, kind, fields, self.beside)
        return session.account(f"chat:{kind}", record)

    def _update(self, fields: Fields, params: Fields, record: bytes) -> Verdict:
        session, update, meta = self.session, mapping(params.get("update")), mapping(params.get("_meta"))
        kind = string(update.get("sessionUpdate")) or "(none)"
        milliseconds = whole(meta.get("agentTimestampMs"))
        seconds = milliseconds / 1000 if milliseconds is not None else whole(fields.get("timestamp"))
        session.out.timestamp = moment(seconds)
        name = string(meta.get("eventId"))
        # A program that goes on with a session numbers from the beginning again.
        identity = f"{name.replace('.', '_')}:{milliseconds}" if name else content_id(record)
        session.out.identify(identity)
        if kind in _CHUNKS:
            self._chunk(kind, identity, update, meta)
        else:
            session.close()
            read = UPDATES.get(kind)
            if read is not None:
                read(self, update)
        return session.account(kind, record)

    def _log(self, fields: Fields, record: bytes) -> Verdict:
        """`events.jsonl`: phases of the program, and what was decided about calls."""
        session, kind = self.session, string(fields.get("type")) or "(none)"
        session.out.timestamp = utc(string(fields.get("ts")))
        session.out.identify(content_id(record))
        if kind == "permission_resolved" and fields.get("decision") != "allow":
            decision, tool = as_text(fields.get("decision")), string(fields.get("tool_name")) or ""
            session.out.emit(
                Actor.USER,
                EventType.PERMISSION,
                one_line(f"{decision} {tool}"),
                first(fields, "feedback", "reason"),
                tool=tool or None,
                duration_ms=whole(fields.get("wait_ms")),
            )
        return session.account(f"log:{kind}", record)

    # What people and models say.

    def _chunk(self, kind: str, identity: str, update: Fields, meta: Fields) -> None:
        session, about = self.session, mapping(update.get("_meta"))
        text, images = flat(update.get("content"))
        if not text and not images:
            return
        prompt = as_text(meta.get("promptId")) or as_text(about.get("promptIndex"))
        before = session.state.open
        text = session.piece(f"{kind} {prompt} {as_text(meta.get('streamStartMs'))}", identity, text)
        if kind == "user_message_chunk":
            self._choose(string(about.get("modelId")))
            session.prompt(text, images, again=before is not None and session.state.open is not None
                           and before.identity == session.state.open.identity)  # fmt: skip
        elif kind == "agent_message_chunk":
            session.answer(text)
        else:
            session.think(text)

    def _choose(self, model: str | None) -> None:
        if model is not None:
            self.session.state.model = model
            if model not in self.facts.models:
                self.facts.models.append(model)

    # Calls.

    def call(self, update: Fields) -> None:
        """`tool_call`."""
        tool = mapping(mapping(update.get("_meta")).get("x.ai/tool"))
        name = string(tool.get("name")) or string(update.get("title")) or ""
        self.session.call(string(update.get("toolCallId")), name, update.get("rawInput"))

    def went_on(self, update: Fields) -> None:
        """`tool_call_update`: only its end tells something new."""
        status, raw = string(update.get("status")), mapping(update.get("rawOutput"))
        if status not in ("completed", "failed"):
            return
        call_id = string(update.get("toolCallId"))
        agent_id = string(raw.get("subagent_id"))
        if agent_id is not None:
            self.session.returned(agent_id, call_id)
        exit_code = whole(raw.get("exit_code"))
        failed = True if status == "failed" else None if exit_code is not None else False
        self.session.result(call_id, _result_text(update, raw), exit_code=exit_code, is_error=failed)

    # Sub-agents.

    def spawned(self, update: Fields) -> None:
        """`subagent_spawned`."""
        agent_id = first(update, "child_session_id", "subagent_id")
        if agent_id is not None:
            self.session.spawned(agent_id, string(update.get("subagent_type")), string(update.get("description")))

    def finished(self, update: Fields) -> None:
        """`subagent_finished`; what it said is the result of its call."""
        status, error = string(update.get("status")), first_words(update, "error", "message")
        agent_id = first(update, "child_session_id", "subagent_id")
        agent = self.facts.agents.get(agent_id or "")
        self.session.out.emit(
            Actor.SYSTEM,
            EventType.SUBAGENT_END,
            one_line(f"{agent.description if agent and agent.description else 'sub-agent'} {status or 'ended'}"),
            error,
            call_id=agent.call_id if agent else None,
            is_error=True if error or status == "failed" else None,
            duration_ms=whole(update.get("duration_ms")),
            payload=kept(agent_id=agent_id, calls=whole(update.get("tool_calls"))),
        )

    # What the host does.

    def hooked(self, update: Fields) -> None:
        """`hook_execution`: the hooks that failed."""
        for one in items(update.get("runs")):
            run = mapping(one)
            status = mapping(run.get("status"))
            if string(status.get("status")) not in (None, "success"):
                about = first(status, "message", "error", "stderr", "reason") or as_text(status)
                name = string(run.get("name")) or "hook"
                self.session.fail(f"{name}: {about}", string(update.get("event_name")) or "hook", Actor.HOOK)

    def retried(self, update: Fields) -> None:
        """`retry_state`: a request that failed, for good or until it is tried again."""
        text = first_words(update, "message", "error")
        if text is not None:
            self.session.fail(text, string(update.get("error_type")) or "api_error")

    def compacted(self, update: Fields) -> None:
        """`auto_compact_completed`; the summary is in the session's messages."""
        payload = kept(pre_tokens=whole(update.get("tokens_before")), post_tokens=whole(update.get("tokens_after")))
        preview = words(update.get("summary_preview")) or None
        self.session.out.emit(Actor.SYSTEM, EventType.COMPACTION, "the context was compacted", preview, payload=payload)

    def ended(self, update: Fields) -> None:
        """`turn_completed`: the tokens of all requests of a turn, its sub-agents' among them, by model."""
        session, used = self.session, mapping(update.get("usage"))
        reason = string(update.get("stop_reason"))
        if reason in ("cancelled", "canceled", "interrupted"):
            session.stop(string(update.get("agent_result")) or reason)
        if session.agent_id is not None:  # the turn that started it has them
            return
        prompt = string(update.get("prompt_id")) or session.out.identity
        models = mapping(used.get("modelUsage")) or ({"": used} if used else {})
        for model, figures in models.items():
            self._choose(model or None)
            self._note(f"{prompt}:{model}" if model else prompt, model or session.state.model, mapping(figures))

    def _note(self, usage_id: str, model: str | None, used: Fields) -> None:
        session, out = self.session, self.session.out
        cached, written = count(used.get("cachedReadTokens")), count(used.get("cacheCreationTokens"))
        fresh, output = count(used.get("inputTokens")) - cached - written, count(used.get("outputTokens"))
        if not (fresh > 0 or cached or written or output):
            return
        out.batch.usage.append(
            Usage(
                usage_id=usage_id,
                session_id=session.session_id,
                host=HOST,
                source=session.source,
                line=out.reference.line,
                timestamp=out.timestamp,
                model=model,
                turn=out.progress.turn or None,
                input_tokens=max(fresh, 0),
                cache_write_5m_tokens=written,
                cache_read_tokens=cached,
                output_tokens=output,
                reasoning_tokens=count(used.get("reasoningTokens")),
            )
        )

    # Records that are too long.

    def feed_giant(self, head: bytes, tail: bytes, line: int, offset: int, length: int, batch: Batch) -> Verdict:
        """A record over 16 MiB, known by its ends: its type and identity, no text."""
        session, out = self.session, self.session.out
        out.begin(batch, line, offset, length)
        out.agent_id = session.agent_id
        session.close()
        kind = scanned(rb'"sessionUpdate"\s*:\s*"(\w{1,60})"', head)
        if kind is None:
            found = scanned(rb'^\{"(?:type|role)"\s*:\s*"(\w{1,60})"', head)
            kind = f"chat:{found}" if found else "(none)"
        stamp = scanned(rb'"agentTimestampMs"\s*:\s*(\d{10,15})[,}]', tail)
        out.timestamp = moment(int(stamp) / 1000) if stamp else None
        name = scanned(rb'"eventId"\s*:\s*"([^"]{1,100})"', tail)
        out.identify(f"{name.replace('.', '_')}:{stamp}" if name else content_id(head + tail + str(length).encode()))
        if kind in BOOKKEEPING_TYPES:
            return verdict(BOOKKEEPING, kind)
        call_id = scanned(rb'"(?:toolCallId|tool_call_id)"\s*:\s*"([^"]{1,200})"', head)
        result = call_id if kind in ("tool_call_update", "chat:tool_result", "chat:tool") else None
        emit_giant(out, kind, length, result, session.state.calls.get(result or ""))
        return verdict(MAPPED if result else UNKNOWN, kind)


def _result_text(update: Fields, raw: Fields) -> str:
    """What a call gave: as it is shown, else as the model gets it, else as it is."""
    texts = []
    for one in items(update.get("content")):
        block = mapping(one)
        if block.get("type") == "diff":
            texts.append(difference(words(block.get("oldText")), words(block.get("newText"))))
        else:
            texts.append(flat([block])[0])
    if any(texts):
        return "\n".join(texts)
    output = raw.get("output")
    if isinstance(output, dict) and len(output) == 1:
        output = next(iter(output.values()))
    shown = first_words(raw, "output_for_prompt", "text", "content", "message", "error")
    return shown or (output if isinstance(output, str) else as_text(raw) if raw else "")


UPDATES: Final[dict[str, Callable[[GrokReader, Fields], None]]] = {
    "tool_call": GrokReader.call,
    "tool_call_update": GrokReader.went_on,
    "hook_execution": GrokReader.hooked,
    "turn_completed": GrokReader.ended,
    "subagent_spawned": GrokReader.spawned,
    "subagent_finished": GrokReader.finished,
    "auto_compact_completed": GrokReader.compacted,
    "retry_state": GrokReader.retried,
}
