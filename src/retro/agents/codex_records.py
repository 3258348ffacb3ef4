"""What the records of a Codex rollout mean, from the bare items of 2025-08 to the numbered ones of 0.169."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import Final

import msgspec

from retro.agents import codex_events, codex_items, codex_stream
from retro.agents.codex_kinds import BOOKKEEPING_TYPES
from retro.agents.codex_session import EVENT, ITEM, Session
from retro.agents.codex_shapes import (
    Compacted,
    Happening,
    Item,
    Line,
    Meta,
    Settings,
    decode,
    decode_any,
    is_object,
    note_meta,
)
from retro.agents.codex_usage import ASSUMED, Tokens, counted, counted_turn, limits, recorded, usage
from retro.agents.emitter import one_line, utc, verdict
from retro.agents.interface import BOOKKEEPING, MAPPED, UNKNOWN, Batch, Facts, Verdict
from retro.event import Actor, EventType, Origin, Quality

COPIED: Final = "copied"


class CodexReader:
    """Reads one rollout, or one `exec --json` stream, or the prompts that history.jsonl has of a thread."""

    def __init__(self, session_id: str, source: str, saved: bytes, facts: Facts) -> None:
        self.session = Session(session_id, source, saved, facts)
        self.facts = facts

    def save(self) -> bytes:
        """The state to go on from."""
        return msgspec.msgpack.encode(self.session.state)

    def feed(self, record: bytes, line: int, offset: int, batch: Batch) -> Verdict:
        """Add what one record gives."""
        session, out = self.session, self.session.out
        out.begin(batch, line, offset, len(record))
        parsed = decode(record, Line)
        out.timestamp = utc(parsed.timestamp)
        session.identify(parsed, record)
        if self._copied(parsed):
            return verdict(BOOKKEEPING, COPIED)
        out.shared = out.where(session.state.cwd, session.state.branch)
        return self._read(parsed, record)

    def _copied(self, line: Line) -> bool:
        """Whether a record is the parent's, copied in front of a sub-agent's own ones."""
        until = self.session.state.copied_until
        return until is not None and line.ordinal is not None and line.ordinal < until

    def _read(self, line: Line, record: bytes) -> Verdict:
        kind, payload = line.kind, line.payload
        if not is_object(payload):
            return self._read_bare(line, record)
        if kind == "response_item":
            return self._item(payload, line, record)
        if kind == "event_msg":
            return self._event(payload, line, record)
        if kind == "session_meta":
            return self._meta(payload, record)
        if kind == "turn_context":
            self._set(decode(payload, Settings))
        elif kind == "compacted":
            return self._compacted(payload)
        elif kind == "token_usage_record":
            found = recorded(self.session.state.running, self.session.session_id, line.ordinal, bytes(payload))
            if found is not None:
                self._count(*found)
        return self.session.account(kind or "(none)", record)

    def _read_bare(self, line: Line, record: bytes) -> Verdict:
        """A line without an envelope: an item of 2025-08, a line of a stream, a prompt of history.jsonl."""
        if line.kind in codex_stream.STREAM:
            codex_stream.read(self.session, line)
            if line.kind == "turn.completed":
                found = counted_turn(self.session.state.running, self.session.session_id, line.usage)
                if found is not None:
                    self._count(*found)
            return self.session.account(line.kind, record)
        if line.kind in codex_items.READERS or (not line.kind and line.role):
            return self._item(msgspec.Raw(record), line, record)
        if line.record_type is not None:
            return self.session.account(line.record_type, record)
        if line.ts is not None and line.text is not None:
            self._history(line.ts, line.text)
            return self.session.account("history", record)
        if line.id is not None and line.timestamp is not None and not line.kind:
            return self._meta(msgspec.Raw(record), record)
        return self.session.account(line.kind or "(none)", record)

    # What a session is.

    def _meta(self, payload: msgspec.Raw, record: bytes) -> Verdict:
        session, state, facts = self.session, self.session.state, self.facts
        meta = decode(payload, Meta)
        name = meta.id or meta.session_id
        if state.began:  # it was resumed, or its history was copied: then the running total began over there
            state.lineage = name or state.lineage
            if name == session.session_id:
                note_meta(facts, meta)
            return verdict(BOOKKEEPING, "session_meta")
        state.began, spawn = True, meta.spawn
        note_meta(facts, meta)
        state.copied_until = meta.copied_until
        if meta.forked_from_id is not None and meta.history_base is None:
            state.lineage = meta.forked_from_id  # its history was copied, if need be without the first record
        state.cwd, state.branch = meta.cwd, meta.git.branch if meta.git else None
        if spawn is not None:
            state.subagent = facts.subagent = True
            state.path = meta.agent_path or spawn.agent_path
            facts.host_title = facts.host_title or state.path
        session.out.shared = session.out.where(state.cwd, state.branch)
        source = decode_any(meta.source)
        about = {
            "kind": source if isinstance(source, str) else "subagent" if spawn else None,
            "originator": meta.originator,
            "version": meta.cli_version,
            "commit": meta.git.commit_hash if meta.git else None,
            "remote": meta.git.repository_url if meta.git else None,
        }
        session.out.emit(
            Actor.SYSTEM,
            EventType.SESSION_START,
            one_line(f"session started {meta.originator or ''} {meta.cli_version or ''}"),
            meta.instructions or None,
            payload={name: value for name, value in about.items() if value} or None,
        )
        return session.account("session_meta", record)

    def _set(self, settings: Settings) -> None:
        state = self.session.state
        state.cwd = settings.cwd or state.cwd
        state.service_tier = settings.service_tier or state.service_tier
        if settings.model:
            state.model = settings.model
            if settings.model not in self.facts.models:
                self.facts.models.append(settings.model)
        self.facts.cwd = self.facts.cwd or settings.cwd

    # What happened.

    def _item(self, payload: msgspec.Raw, line: Line, record: bytes) -> Verdict:
        item = decode(payload, Item)
        kind = item.kind or ("message" if item.role else "(none)")
        read = codex_items.READERS.get(kind)
        if read is not None:
            read(self.session, item, line)
        return self.session.account(f"response:{kind}", record)

    def _event(self, payload: msgspec.Raw, line: Line, record: bytes) -> Verdict:
        session = self.session
        told = decode(payload, Happening)
        if told.kind == "item_completed" and is_object(told.item):
            item = decode(told.item, Happening)
            read = codex_events.ITEMS.get(item.kind)
            if read is not None:
                read(session, item, ITEM)
            return session.account(f"item:{item.kind}", record)
        if told.kind == "token_count":
            found = counted(session.state.running, session.state.lineage, told.info, session.out.timestamp)
            if found is not None:
                self._count(*found, assumed=ASSUMED)
            self.facts.limits = limits(told.rate_limits, session.out.timestamp) or self.facts.limits
        elif told.kind == "thread_settings_applied" and told.thread_settings is not None:
            session.state.service_tier = told.thread_settings.service_tier or session.state.service_tier
        elif (read := codex_events.EVENTS.get(told.kind)) is not None:
            read(session, told, EVENT)
        else:
            codex_events.read_whole(session, told.kind, payload)
        return session.account(f"event:{told.kind or '(none)'}", record)

    def _compacted(self, payload: msgspec.Raw) -> Verdict:
        """The summary takes the place of the message in which the model gave it."""
        session, state = self.session, self.session.state
        if state.compaction:
            session.out.identify(state.compaction)
            state.compaction = ""
        codex_items.compacted(session, decode(payload, Compacted).message or "")
        return verdict(MAPPED, "compacted")

    def _history(self, moment: float, text: str) -> None:
        session = self.session
        session.out.timestamp = utc(_time(moment))
        session.out.begin_turn()
        session.out.emit(Actor.USER, EventType.MESSAGE, one_line(text), text, origin=Origin.HUMAN)

    def _count(self, usage_id: str, tokens: Tokens, model: str | None = None, assumed: str | None = None) -> None:
        session, out = self.session, self.session.out
        found = usage(
            usage_id,
            tokens,
            session_id=session.session_id,
            source=session.source,
            line=out.reference.line,
            timestamp=out.timestamp,
            model=model or session.state.model,
            turn=out.progress.turn or None,
            service_tier=session.state.service_tier,
            native=usage_id.startswith(f"{session.session_id}:"),
        )
        if found.model is None and assumed is not None:
            found.model, found.quality = assumed, Quality.FALLBACK_MODEL
        out.batch.usage.append(found)

    # Records that are too long.

    def feed_giant(self, head: bytes, tail: bytes, line: int, offset: int, length: int, batch: Batch) -> Verdict:
        """A record over 16 MiB, known by its ends: its type and number, no text."""
        session, out = self.session, self.session.out
        out.begin(batch, line, offset, length)
        out.timestamp = utc(_scan(rb'"timestamp"\s*:\s*"([^"]{10,40})"', head))
        ordinal = _scan(rb'"ordinal"\s*:\s*(\d{1,15})[,}]', head)
        parsed = Line(out.timestamp, ordinal=int(ordinal) if ordinal else None)
        session.identify(parsed, head + tail + str(length).encode())
        if self._copied(parsed):
            return verdict(BOOKKEEPING, COPIED)
        kind = _scan(rb'"type"\s*:\s*"([\w:-]{1,60})"', head) or "(none)"
        if kind in ("response_item", "event_msg"):
            kinds = re.findall(rb'"type"\s*:\s*"([\w:-]{1,60})"', head)[1:2]
            kind = f"{'response' if kind == 'response_item' else 'event'}:{(kinds or [b'(none)'])[0].decode()}"
        if kind in BOOKKEEPING_TYPES:
            return verdict(BOOKKEEPING, kind)
        call_id = _scan(rb'"call_id"\s*:\s*"([^"]{1,200})"', head)
        result = kind.endswith("_output") and call_id is not None
        call = session.call(call_id) if result else None
        out.emit(
            Actor.TOOL if result else Actor.SYSTEM,
            EventType.TOOL_RESULT if result else EventType.COMPACTION if kind == "compacted" else EventType.UNKNOWN,
            f"a record of {length:,} bytes, too long to be read",
            call_id=call_id,
            tool=call.tool if call else None,
            payload={"kind": kind, "bytes": length},
            truncated=True,
        )
        return verdict(MAPPED if result or kind == "compacted" else UNKNOWN, kind)


def _time(moment: float) -> str | None:
    try:
        return datetime.fromtimestamp(moment, timezone.utc).isoformat()
    except (OverflowError, OSError, ValueError):
        return None


def _scan(pattern: bytes, data: bytes) -> str | None:
    found = re.search(pattern, data)
    return found[1].decode("utf-8", "replace") if found else None
