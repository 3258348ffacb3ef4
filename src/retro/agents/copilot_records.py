"""What the records of a Copilot CLI session mean, from 1.0.34 to 1.0.102."""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import blake2b
from typing import Final

from retro.agents.calls import Described, describe, emit_call, emit_giant, patched_paths
from retro.agents.copilot_kinds import BOOKKEEPING_TYPES, TOOLS, UNCOUNTED
from retro.agents.copilot_session import CopilotSession
from retro.agents.copilot_usage import said
from retro.agents.emitter import content_id, one_line, utc, verdict
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
    whole,
    words,
)
from retro.agents.homes import scanned
from retro.agents.interface import BOOKKEEPING, MAPPED, UNKNOWN, Batch, Verdict
from retro.event import Actor, EventType, Origin, Quality

CALLS: Final = 1000
_EXIT: Final = re.compile(r"<(?:shellId: \S+ completed with exit code|exited with exit code) (\d{1,4})>")
_DATE: Final = re.compile(r"<current_datetime>[^<]*</current_datetime>")
_REMINDER: Final = re.compile(r"</?system_reminder>")


class CopilotReader(CopilotSession):
    """Reads one session's `events.jsonl`."""

    def feed(self, record: bytes, line: int, offset: int, batch: Batch) -> Verdict:
        """Add what one record gives."""
        out, state = self.out, self.state
        fields = mapping(decode(record))
        out.begin(batch, line, offset, len(record))
        data = mapping(fields.get("data"))
        kind = string(fields.get("type")) or "(none)"
        out.timestamp = utc(string(fields.get("timestamp")))
        name = string(fields.get("id"))
        out.identify(name.replace(".", "_") if name else content_id(record))
        out.parent = None
        out.agent_id = string(fields.get("agentId")) or self._older_agent(data)
        out.shared = out.where(state.cwd, state.branch)
        read = READERS.get(kind)
        if read is not None:
            read(self, data)
        return self._account(kind, record)

    def _older_agent(self, data: Fields) -> str | None:
        """Before records named the sub-agent they came from, they named the call that had started it."""
        call_id = string(data.get("parentToolCallId"))
        if call_id is not None:
            self.link(call_id, call_id, {})
        return call_id

    def _account(self, kind: str, record: bytes) -> Verdict:
        if self.out.emitted:
            return verdict(MAPPED, kind)
        if kind in BOOKKEEPING_TYPES or kind in UNCOUNTED:
            return verdict(BOOKKEEPING, kind)
        text = record.decode("utf-8", "replace")
        self.out.emit(Actor.SYSTEM, EventType.UNKNOWN, one_line(f"{kind}: {text}"), text, payload={"kind": kind})
        return verdict(UNKNOWN, kind)

    def feed_giant(self, head: bytes, tail: bytes, line: int, offset: int, length: int, batch: Batch) -> Verdict:
        """A record over 16 MiB, known by its ends: its type and identity, no text."""
        out = self.out
        out.begin(batch, line, offset, length)
        kind = scanned(rb'^\{"type":"([\w.]{1,60})"', head) or "(none)"
        out.timestamp = utc(scanned(rb'"timestamp":"([^"]{10,40})"[^{}]*\}\s*$', tail))
        name = scanned(rb'"id":"([0-9a-f-]{36})","timestamp":"[^"]{10,40}"[^{}]*\}\s*$', tail)
        out.identify(name or content_id(head + tail + str(length).encode()))
        out.agent_id = scanned(rb'"agentId":"([^"]{1,100})","id":"[0-9a-f-]{36}","timestamp"', tail)
        if kind in BOOKKEEPING_TYPES:
            return verdict(BOOKKEEPING, kind)
        result = kind == "tool.execution_complete"
        call_id = scanned(rb'"toolCallId":"([^"]{1,200})"', head) if result else None
        emit_giant(out, kind, length, call_id, self.state.calls.get(call_id or ""))
        return verdict(MAPPED if call_id else UNKNOWN, kind)

    # What people say, and what is said in their place.

    def prompt(self, data: Fields) -> None:
        """`user.message`."""
        text, source = text_in(data.get("content")), string(data.get("source")) or ""
        around = (words(data.get("transformedContent"))).replace(text, "", 1)
        around = _REMINDER.sub("", _DATE.sub("", around)).strip()
        attached = [kept(**_attachment(mapping(one))) for one in items(data.get("attachments"))]
        if not text and not attached:  # the host drives itself on
            self.tell({"message": around, "kind": {"type": "continuation"}})
            return
        origin = self._whose(data, source)
        if origin is Origin.HUMAN:
            self.out.begin_turn()
        payload = kept(attachments=[one for one in attached if one], kind=source or None)
        self.out.emit(Actor.USER, EventType.MESSAGE, one_line(text), text, origin=origin, payload=payload)
        if around and _mark(around) != self.state.hooked:
            self._inject(around, "transformed")

    def _whose(self, data: Fields, source: str) -> Origin:
        if self.out.agent_id is not None or source.startswith("agent-"):
            return Origin.AGENT
        if data.get("isAutopilotContinuation") is True or source.startswith(("autopilot", "system", "schedule")):
            return Origin.MACHINE
        return Origin.INJECTED if source.startswith(("skill", "hook")) else Origin.HUMAN

    def _inject(self, text: str, kind: str | None) -> None:
        self.out.emit(
            Actor.HOOK,
            EventType.ATTACHMENT,
            one_line(text),
            text,
            origin=Origin.INJECTED,
            payload=kept(kind=kind),
        )

    def hook(self, data: Fields) -> None:
        """`hook.end`: what a hook gave the model to read."""
        output = mapping(data.get("output"))
        text = first_words(output, "additionalContext", "modifiedPrompt", "reason", "stopReason")
        error = data.get("error")
        kind = string(data.get("hookType"))
        if text is not None:
            self.state.hooked = _mark(text)
            self._inject(text, kind)
        if error:
            about = words(mapping(error).get("message")) or as_text(error)
            self.out.emit(Actor.HOOK, EventType.ERROR, one_line(about), about, is_error=True, payload=kept(kind=kind))

    def skill(self, data: Fields) -> None:
        """`skill.invoked`: the instructions of a skill."""
        self._inject(first_words(data, "content", "name") or "", "skill")

    # What the model says.

    def answer(self, data: Fields) -> None:
        """`assistant.message`: thoughts, words and calls of one request."""
        model = self._model(data)
        request = first(data, "apiCallId", "requestId", "messageId")
        found = said(self.state.spent, model, data) if not data.get("chunkIndex") else None
        if found is not None and request:
            self.note(request, model, found, Quality.LOWER_BOUND)
        actor = Actor.SUBAGENT if self.out.agent_id else Actor.ASSISTANT
        self._think(words(data.get("reasoningText")), model, request)
        text = text_in(data.get("content"))
        if text:
            self.out.emit(actor, EventType.MESSAGE, one_line(text), text, model=model, usage_id=request)
        for one in items(data.get("toolRequests")):
            call = mapping(one)
            self._call(
                string(call.get("toolCallId")), string(call.get("name")) or "", call.get("arguments"), model, request
            )

    def _model(self, data: Fields) -> str | None:
        """The model of an answer: the one that it names, else the one that was chosen."""
        model = string(data.get("model")) or self.state.model
        if model and model not in self.facts.models:
            self.facts.models.append(model)
        return model

    def thought(self, data: Fields) -> None:
        """`assistant.reasoning`, where it is a record of its own."""
        self._think(words(data.get("content")), string(data.get("model")) or self.state.model, None)

    def _think(self, text: str, model: str | None, request: str | None) -> None:
        if not text or _mark(text) == self.state.thought:
            return
        self.state.thought = _mark(text)
        actor = Actor.SUBAGENT if self.out.agent_id else Actor.ASSISTANT
        self.out.emit(actor, EventType.REASONING, one_line(text), text, model=model, usage_id=request)

    # Calls.

    def _call(self, call_id: str | None, name: str, given: object, model: str | None, request: str | None) -> None:
        self._remember(call_id, name)
        emit_call(self.out, called(name, given), call_id, name, model=model, usage_id=request)

    def _remember(self, call_id: str | None, name: str) -> None:
        calls = self.state.calls
        if call_id:
            if len(calls) >= CALLS:
                del calls[next(iter(calls))]
            calls[call_id] = name

    def start(self, data: Fields) -> None:
        """`tool.execution_start`: news only where no answer asked for the call."""
        call_id, name = string(data.get("toolCallId")), string(data.get("toolName")) or ""
        if call_id is None or call_id not in self.state.calls:
            self._call(call_id, name, data.get("arguments"), string(data.get("model")), None)

    def typed(self, data: Fields) -> None:
        """`tool.user_requested`: a person called a tool, as with `!`."""
        call_id, name = string(data.get("toolCallId")), string(data.get("toolName")) or ""
        self._remember(call_id, name)
        found = called(name, data.get("arguments"))
        self.out.emit(
            Actor.USER,
            found.event_type,
            found.summary,
            found.text,
            origin=Origin.HUMAN,
            call_id=call_id,
            tool=name,
            command=found.command,
            paths=found.paths,
            payload=found.payload,
        )

    def result(self, data: Fields) -> None:
        """`tool.execution_complete`."""
        call_id, given = string(data.get("toolCallId")), mapping(data.get("result"))
        error = mapping(data.get("error"))
        text = first_words(given, "content", "detailedContent") or words(error.get("message"))
        text = text or as_text(data.get("result")) or words(data.get("error"))
        told = _EXIT.search(text)
        exit_code = whole(mapping(data.get("shellExecution")).get("exitCode"))
        if exit_code is None and told:
            exit_code = int(told[1])
        failed = data.get("success") is False
        self.out.emit(
            Actor.TOOL,
            EventType.TOOL_RESULT,
            one_line(text),
            text,
            call_id=call_id,
            tool=self.state.calls.get(call_id or ""),
            exit_code=exit_code,
            is_error=failed,
            payload=kept(code=string(error.get("code")), rejected=string(error.get("code")) in ("rejected", "denied")),
        )

    def permission(self, data: Fields) -> None:
        """`permission.completed`: what a person, or a rule, said to a question."""
        result = mapping(data.get("result"))
        kind = string(result.get("kind")) or as_text(data.get("result"))
        feedback = first_words(result, "feedback", "message", "reason")
        self.out.emit(
            Actor.USER if "user" in kind or feedback else Actor.SYSTEM,
            EventType.PERMISSION,
            one_line(f"{kind} {feedback or ''}"),
            feedback,
            call_id=string(data.get("toolCallId")),
            payload=kept(kind=kind),
        )

    # Sub-agents.

    def agent_began(self, data: Fields) -> None:
        """`subagent.started`: news only where no call asked for it."""
        call_id = string(data.get("toolCallId"))
        agent_id = self.out.agent_id or call_id
        if agent_id is not None:
            self.link(agent_id, call_id, data)
        if call_id is None or call_id not in self.state.calls:
            text = first_words(data, "agentDescription", "agentDisplayName", "agentName") or ""
            self.out.agent_id = None
            self.out.emit(Actor.SYSTEM, EventType.SUBAGENT_START, one_line(text), text, call_id=call_id)

    def agent_ended(self, data: Fields) -> None:
        """`subagent.completed` and `subagent.failed`."""
        error = words(data.get("error")) or None
        name = first(data, "agentDisplayName", "agentName") or ""
        self.out.agent_id = self.out.agent_id or string(data.get("toolCallId"))
        self.out.emit(
            Actor.SUBAGENT,
            EventType.SUBAGENT_END,
            one_line(f"{name} {error or 'ended'}"),
            error,
            call_id=string(data.get("toolCallId")),
            is_error=True if error else None,
            duration_ms=whole(data.get("durationMs")),
            payload=kept(tokens=whole(data.get("totalTokens")), calls=whole(data.get("totalToolCalls"))),
        )


def called(name: str, given: object) -> Described:
    """What a call does; a patch is an edit of the files that it names."""
    if name == "apply_patch":
        patch = given if isinstance(given, str) else first(mapping(given), "input", "patch") or as_text(given)
        paths = patched_paths(patch)
        return Described(EventType.FILE_EDIT, one_line(f"patch {' '.join(paths)}"), patch, paths=paths or None)
    return describe(TOOLS.get(name, EventType.TOOL_CALL), name, given)


def _attachment(one: Fields) -> Fields:
    """What was attached, without its bytes."""
    return {name: one.get(name) for name in ("type", "path", "displayName", "mimeType", "url", "title")}


def _mark(text: str) -> str:
    return blake2b(text.strip().encode("utf-8", "replace"), digest_size=8).hexdigest()


READERS: Final[dict[str, Callable[[CopilotReader, Fields], None]]] = {
    "session.start": CopilotReader.begin,
    "session.resume": CopilotReader.look,
    "session.context_changed": CopilotReader.look,
    "session.model_change": CopilotReader.choose,
    "session.auto_mode_resolved": CopilotReader.choose,
    "session.shutdown": CopilotReader.end,
    "session.title_changed": CopilotReader.title,
    "session.usage_record": CopilotReader.spend,
    "session.error": CopilotReader.failed,
    "session.info": CopilotReader.tell,
    "session.warning": CopilotReader.tell,
    "session.handoff": CopilotReader.tell,
    "session.task_complete": CopilotReader.tell,
    "session.schedule_created": CopilotReader.tell,
    "session.compaction_complete": CopilotReader.compacted,
    "session.truncation": CopilotReader.dropped,
    "session.context_cleared": CopilotReader.dropped,
    "system.notification": CopilotReader.tell,
    "user.message": CopilotReader.prompt,
    "assistant.message": CopilotReader.answer,
    "assistant.reasoning": CopilotReader.thought,
    "tool.execution_start": CopilotReader.start,
    "tool.user_requested": CopilotReader.typed,
    "tool.execution_complete": CopilotReader.result,
    "permission.completed": CopilotReader.permission,
    "hook.end": CopilotReader.hook,
    "skill.invoked": CopilotReader.skill,
    "subagent.started": CopilotReader.agent_began,
    "subagent.completed": CopilotReader.agent_ended,
    "subagent.failed": CopilotReader.agent_ended,
    "abort": CopilotReader.stopped,
}
