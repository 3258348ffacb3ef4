"""Kimi Code: what goes over its wire, in append-only JSONL; each of a session's agents in a file of its own."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import ClassVar, Final

import msgspec

from retro.agents.blocks import answered
from retro.agents.emitter import one_line
from retro.agents.fields import (
    Fields,
    as_text,
    decode,
    first,
    first_words,
    items,
    kept,
    mapping,
    string,
    text_in,
    words,
)
from retro.agents.homes import homes
from retro.agents.interface import Agent, Facts, Root
from retro.agents.plain import PlainReader, exit_in, spoken, time_of
from retro.agents.plainfiles import BESIDE, MAIN, FileHost, Part, first_records, is_below, stem
from retro.event import Actor, EventType, Origin

__all__ = [
    "BOOKKEEPING_TYPES",
    "HOST",
    "META_NAME",
    "MOVED_BY",
    "NORMALISER",
    "UNCOUNTED",
    "claims",
    "discover",
    "folder_of",
]

HOST: Final = "kimi"
NORMALISER: Final = 1
META_NAME: Final = "meta.json"
MOVED_BY: Final = ("KIMI_CODE_HOME",)
STATE: Final = "state.json"
PROMPTS: Final = 16
"""How many of the last prompts are remembered, to know them when they are put into the context."""

BOOKKEEPING_TYPES: Final = {
    "line_ends": "the bytes between records",
    "bom": "a byte order mark at the beginning of a file",
    "config.update": "model, folder and the host's own instructions",
    "profile.bind": "model and the host's own instructions",
    "tools.set_active_tools": "names of tools",
    "llm.tools_snapshot": "descriptions of tools",
    "llm.request": "parameters of a model request, without text",
    "loop:llm.request": "parameters of a model request, without text",
    "loop:step.begin": "a request to the model began",
    "loop:step.end": "a request to the model ended; its tokens are a record of their own",
    "usage.record": "tokens of a request, read by the ledger",
    "token_counting.measured": "the size of the context",
    "token_counting.turn_recorded": "the size of the context",
    "turn.ended": "a turn ended",
    "plan_mode.enter": "a switch of the user interface",
    "plan_mode.exit": "a switch of the user interface",
    "permission.set_mode": "a switch of the user interface",
    "full_compaction.begin": "the context is being compacted; the summary is a record",
    "full_compaction.complete": "the context was compacted; the summary is a record",
    "runtime.set_binding": "an id of the workspace",
}
"""Record types that give no event, each with the reason."""

UNCOUNTED: Final = {
    "turn.prompt": "one without text gives no event; its text comes in a message",
    "context.append_message": "a prompt that was told when it was typed gives no event",
    "loop:content.part": "a part without text gives no event",
    "plugin.session_start": "only one with content gives an event",
}
"""Record types of which some give an event and some do not."""

_SETTINGS: Final = re.compile(rb'"(?:workDir|cwd)"\s*:\s*"((?:[^"\\]|\\.){1,4096})"')
_MARKS: Final = frozenset({"metadata", "config.update", "turn.prompt", "context.append_message", "usage.record"})


def roots(env: Mapping[str, str], extra: Sequence[str]) -> list[Root]:
    """KIMI_CODE_HOME, `~/.kimi-code`, `~/.kimi`, and what the settings add."""
    wanted = [(env.get("KIMI_CODE_HOME", ""), "KIMI_CODE_HOME")]
    wanted += [(os.path.join(home, name), "default") for home in homes(env) for name in (".kimi-code", ".kimi")]
    return _FILES.roots([*wanted, *((entry, "settings") for entry in extra)])


def retention(root: Root) -> int | None:
    """This host deletes nothing by itself."""
    return None


def _look(path: str) -> Part | None:
    """`<session>/agents/<agent>/wire.jsonl`, `<session>/state.json`, or a file alone that begins like the first."""
    folder = os.path.dirname(path)
    if os.path.basename(path) == STATE:
        return Part(os.path.basename(folder), BESIDE + STATE) if os.path.isdir(os.path.join(folder, "agents")) else None
    records = first_records(path)
    kinds = {string(record.get("type")) for record in records}
    if not kinds & _MARKS or not any("time" in record or "protocol_version" in record for record in records):
        return None
    if is_below(path, "agents") and os.path.basename(path) == "wire.jsonl":
        agent = os.path.basename(folder)
        session = os.path.basename(os.path.dirname(os.path.dirname(folder)))
        return Part(session, MAIN if agent == "main" else agent)
    return Part(os.path.basename(folder) if os.path.basename(path) == "wire.jsonl" else stem(path), MAIN)


_FILES: Final = FileHost(
    HOST,
    ("sessions/*/*/agents/*/wire.jsonl", "sessions/*/*/wire.jsonl", "sessions/*/*/state.json"),
    _look,
    _SETTINGS,
)
discover, claims, folder_of = _FILES.discover, _FILES.claims, _FILES.folder_of


def reader(session_id: str, key: str, source_key: str, saved: bytes, facts: Facts) -> KimiReader:
    """The reader of what one agent wrote."""
    agent = key.partition("~")[0]
    return KimiReader(session_id, source_key, saved, facts, None if agent == MAIN else agent)


def sidecar_facts(key: str, content: bytes) -> Facts | None:
    """`state.json` tells title, folder and which agents there are."""
    try:
        state = mapping(decode(content))
    except msgspec.DecodeError:
        return None
    title = string(state.get("title"))
    given = bool(state.get("isCustomTitle"))
    return Facts(
        title=title if given else None,
        host_title=None if given else title,
        cwd=string(state.get("workDir")),
        agents={name: Agent() for name in mapping(state.get("agents")) if name != "main"},
    )


class KimiReader(PlainReader):
    """Reads what one agent wrote."""

    HOST: ClassVar[str] = HOST
    BOOKKEEPING_TYPES = BOOKKEEPING_TYPES
    UNCOUNTED = UNCOUNTED

    def locate(self, fields: Fields) -> str | None:
        """Records of a loop have ids, the others are known by their content, which has the time in it."""
        self.out.timestamp = time_of(fields.get("time") or fields.get("created_at"))
        event = mapping(fields.get("event"))
        name, kind = string(event.get("uuid")), string(event.get("type"))
        return f"{self.session_id}:{self.out.agent_id or MAIN}:{kind}:{name}:{fields.get('time')}" if name else None

    def tell(self, fields: Fields) -> str:
        """Add what a record says."""
        kind = string(fields.get("type")) or "(none)"
        if kind == "context.append_loop_event":
            event = mapping(fields.get("event"))
            return self._loop(f"loop:{string(event.get('type')) or '(none)'}", event)
        if kind == "metadata":
            self.start("session started", version=fields.get("protocol_version"))
        elif kind in ("config.update", "profile.bind"):
            self.use(fields.get("modelAlias"))
            disclosed = mapping(fields.get("environmentDisclosure"))
            self.work_in(fields.get("cwd") or disclosed.get("cwd"))
        elif kind in ("turn.prompt", "turn.steer"):
            self._typed(fields.get("input"), fields.get("origin"), remember=True)
        elif kind == "context.append_message":
            self._put(mapping(fields.get("message")))
        elif kind == "usage.record":
            self._used(fields)
        else:
            self._host(kind, fields)
        return kind

    # What people say.

    def _typed(self, content: object, origin: object, *, remember: bool) -> None:
        text, images = spoken(content)
        if not text and not images:
            return
        known = self.state.notes.get("typed", "").split()
        name = blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
        if not remember and name in known:
            known.remove(name)
            self.state.notes["typed"] = " ".join(known)
            return
        if remember:
            self.state.notes["typed"] = " ".join([*known, name][-PROMPTS:])
        by = string(mapping(origin).get("kind"))
        if by in (None, "user"):
            self.prompt(text, images=images)
        elif self.out.agent_id is not None:
            self.prompt(text, images=images, kind=by)
        else:
            self.inject(text, string(mapping(origin).get("name")) or by)

    def _put(self, message: Fields) -> None:
        role = message.get("role")
        if role == "user":
            self._typed(message.get("content"), message.get("origin"), remember=False)
        elif role == "assistant":
            answered(self, message.get("content"))
        else:
            self.inject(spoken(message.get("content"))[0] or as_text(message), string(role))

    # What the agent does.

    def _loop(self, kind: str, event: Fields) -> str:
        if kind == "loop:content.part":
            part = mapping(event.get("part"))
            text = first_words(part, "think", "thinking", "text") or ""
            if part.get("type") == "think":
                self.think(text)
            elif text or part.get("type") == "text":
                self.answer(text)
            else:
                self.attach(as_text(part), "content.part")
        elif kind == "loop:tool.call":
            call_id, name = first(event, "toolCallId", "uuid"), string(event.get("name")) or "tool"
            self.call(call_id, name, event.get("args"))
        elif kind == "loop:tool.result":
            result = mapping(event.get("result"))
            failed = result.get("isError", result.get("is_error"))
            self.result(
                first(event, "toolCallId", "parentUuid"),
                text_in(result.get("output", result.get("message", event.get("result")))),
                is_error=failed if isinstance(failed, bool) else None,
                exit_code=exit_in(result),
            )
        return kind

    def _used(self, fields: Fields) -> None:
        self.use(fields.get("model"))
        used = mapping(fields.get("usage"))
        self.spend(
            f"{self.session_id}:{self.out.identity}",
            fresh=used.get("inputOther"),
            read=used.get("inputCacheRead"),
            written=used.get("inputCacheCreation"),
            output=used.get("output"),
        )

    def _host(self, kind: str, fields: Fields) -> None:
        if kind == "permission.record_approval_result":
            result = mapping(fields.get("result"))
            decision = string(result.get("decision")) or "answered"
            text = f"{decision}: {string(fields.get('action')) or fields.get('toolName')}"
            payload = kept(kind=decision, scope=result.get("scope"), rule=fields.get("sessionApprovalRule"))
            feedback = words(result.get("feedback")) or None
            self.out.emit(
                Actor.USER,
                EventType.PERMISSION,
                one_line(text),
                feedback,
                call_id=string(fields.get("toolCallId")),
                tool=string(fields.get("toolName")),
                payload=payload,
            )
        elif kind == "turn.cancel":
            summary = "the person stopped the agent"
            self.out.emit(Actor.USER, EventType.MESSAGE, summary, origin=Origin.MACHINE, payload={"interrupt": True})
        elif kind == "context.apply_compaction":
            self.compacted(first_words(fields, "summary", "contextSummary"), pre_tokens=fields.get("tokensBefore"))
        elif kind == "plugin.session_start" and fields.get("content"):
            self.inject(text_in(fields["content"]), kind)
        elif kind == "turn.ended" and string(fields.get("reason")) in ("error", "failed"):
            self.fail(first_words(fields, "error", "message") or "the turn failed", kind)
        elif kind == "todo.update":
            self.attach(as_text(items(fields.get("todos"))), kind)
