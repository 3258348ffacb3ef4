"""What Claude Code itself writes between the messages: compaction, errors, hooks, attachments, titles, progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from retro.agents.claude_kinds import BOOKKEEPING_TYPES
from retro.agents.claude_shapes import Inner, PromptOrigin, Record, decode_any, decode_progress, encode, mapping
from retro.agents.claude_texts import TAGGED, attached_text, flatten, strings, tag_content, tag_of, text_of
from retro.agents.emitter import one_line, utc, verdict
from retro.agents.interface import BOOKKEEPING, MAPPED, Verdict
from retro.event import Actor, EventType, Origin

if TYPE_CHECKING:
    from retro.agents.claude_records import ClaudeReader


def system(reader: ClaudeReader, parsed: Record, record: bytes) -> Verdict:
    """A record of type `system`."""
    kind = f"system:{parsed.subtype or '(none)'}"
    if kind in BOOKKEEPING_TYPES:
        return verdict(BOOKKEEPING, kind)
    if parsed.subtype in ("compact_boundary", "microcompact_boundary"):
        _compacted(reader, parsed.subtype, record)
    elif parsed.subtype in ("api_error", "error", "api_refusal", "model_refusal_fallback"):
        _failed(reader, parsed.subtype, record)
    elif parsed.subtype == "stop_hook_summary":
        return _stop_hooks(reader, kind, record)
    elif parsed.subtype == "session_start":
        text = text_of(parsed.content)
        reader.out.emit(Actor.SYSTEM, EventType.SESSION_START, one_line(text or "session started"), text or None)
    elif text := text_of(parsed.content):
        _host_text(reader, parsed, text)
    elif parsed.message is not None and isinstance(parsed.message.content, str):
        _host_text(reader, parsed, parsed.message.content)
    else:
        return reader.unknown(kind, record)
    return verdict(MAPPED, kind)


def _host_text(reader: ClaudeReader, parsed: Record, text: str) -> None:
    """A text that the host shows: a typed local command and its output among them."""
    tag = tag_of(text)
    if tag in ("command-name", "command-message"):
        reader.said(Inner(), text, [])
        return
    if tag in TAGGED:
        text = tag_content(text)
    payload: dict[str, object] = {"kind": parsed.subtype or "system"}
    reader.out.emit(Actor.SYSTEM, EventType.MESSAGE, one_line(text), text, origin=Origin.MACHINE, payload=payload)


def _compacted(reader: ClaudeReader, kind: str, record: bytes) -> None:
    fields = mapping(decode_any(record))
    about = mapping(fields.get("compactMetadata") or fields.get("microcompactMetadata"))
    payload: dict[str, object] = {"kind": kind}
    for name, key in (("trigger", "trigger"), ("pre_tokens", "preTokens"), ("post_tokens", "postTokens")):
        if about.get(key) is not None:
            payload[name] = about[key]
    summary = f"the context was compacted ({about.get('trigger') or 'trigger unknown'})"
    reader.out.emit(Actor.SYSTEM, EventType.COMPACTION, summary, payload=payload)


def _failed(reader: ClaudeReader, kind: str, record: bytes) -> None:
    fields = mapping(decode_any(record))
    error = fields.get("error")
    about = mapping(error)
    nested = mapping(mapping(about.get("error")).get("error"))
    text = str(about.get("formatted") or about.get("message") or nested.get("message") or fields.get("content") or "")
    for key in ("apiRefusalExplanation", "cause"):
        if fields.get(key):
            text += f"\n{fields[key] if isinstance(fields[key], str) else encode(fields[key]).decode()}"
    if not text:
        text = encode(error).decode() if error else kind
    payload: dict[str, object] = {"kind": kind}
    if isinstance(about.get("status"), int):
        payload["status"] = about["status"]
    if isinstance(fields.get("retryAttempt"), int):
        payload["attempt"] = fields["retryAttempt"]
    reader.out.emit(Actor.SYSTEM, EventType.ERROR, one_line(text), text, is_error=True, payload=payload)


def _stop_hooks(reader: ClaudeReader, kind: str, record: bytes) -> Verdict:
    fields = mapping(decode_any(record))
    said = [*strings(fields.get("hookErrors")), *strings(fields.get("hookAdditionalContext"))]
    if fields.get("stopReason"):
        said.append(str(fields["stopReason"]))
    if not said:
        return verdict(BOOKKEEPING, kind)
    text = "\n".join(said)
    reader.out.emit(
        Actor.HOOK,
        EventType.ATTACHMENT,
        one_line(text),
        text,
        origin=Origin.INJECTED,
        is_error=bool(fields.get("hookErrors")) or None,
        payload={"kind": "stop_hook_summary"},
    )
    return verdict(MAPPED, kind)


def progress(reader: ClaudeReader, parsed: Record, record: bytes) -> Verdict:
    """A record of type `progress`: a sub-agent's message, or a sign of life."""
    try:
        data = decode_progress(parsed.data)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return reader.unknown("progress", record)
    kind = f"progress:{data.kind}"
    if data.kind == "query_update" and data.query:  # a model's words: not always the query that was asked for
        about: dict[str, object] = {"kind": "query_update"}
        reader.out.emit(Actor.SYSTEM, EventType.ATTACHMENT, one_line(f"query: {data.query}"), data.query, payload=about)
        return verdict(MAPPED, kind)
    if data.kind not in ("agent_progress", "skill_progress"):
        return verdict(BOOKKEEPING, kind) if kind in BOOKKEEPING_TYPES else reader.unknown(kind, record)
    reader.out.agent_id = data.agent_id or "sidechain"
    reader.link_agent(reader.out.agent_id, parsed.parent_tool)
    reader.facts.agents[reader.out.agent_id].embedded = True
    for inner in [*(data.normalized or ()), *([data.message] if data.message else ())]:
        _embedded(reader, inner)
    if not reader.out.emitted:
        return reader.unknown(kind, record)
    return verdict(MAPPED, kind)


def _embedded(reader: ClaudeReader, inner: Inner) -> None:
    """A sub-agent's message inside a progress record; the same one may be in its own file, or come again."""
    out = reader.out
    emitted, out.emitted = out.emitted, 0
    if inner.uuid:
        out.identify(inner.uuid, embedded=True)
    out.timestamp = utc(inner.timestamp) or out.timestamp
    if inner.kind == "assistant":
        reader.assistant(inner, b"")
    elif inner.kind == "user" and inner.message is not None:
        reader.user(inner, b"")
    out.emitted += emitted


def attachment(reader: ClaudeReader, parsed: Record, record: bytes) -> Verdict:
    """Something put beside the conversation."""
    try:
        fields = mapping(decode_any(parsed.attachment))
    except msgspec.DecodeError:
        fields = {}
    kind = str(fields.get("type") or "(none)")
    name = f"attachment:{kind}"
    if name in BOOKKEEPING_TYPES:
        return verdict(BOOKKEEPING, name)
    if kind == "queued_command":
        _queued(reader, parsed, fields)
        return verdict(MAPPED, name)
    text = attached_text(kind, fields)
    if kind == "hook_success" and not text:
        return verdict(BOOKKEEPING, name)
    hook = kind.startswith("hook_")
    paths = [str(fields[key]) for key in ("filename", "path", "planFilePath") if isinstance(fields.get(key), str)]
    exit_code = fields.get("exitCode")
    reader.out.emit(
        Actor.HOOK if hook else Actor.SYSTEM,
        EventType.ATTACHMENT,
        one_line(f"{fields.get('hookName') or kind}: {text}"),
        text,
        origin=Origin.INJECTED,
        paths=paths or None,
        exit_code=exit_code if isinstance(exit_code, int) else None,
        is_error=True if kind.endswith("_error") else None,
        payload={"kind": kind},
    )
    return verdict(MAPPED, name)


def _queued(reader: ClaudeReader, parsed: Record, fields: dict[str, object]) -> None:
    """A text that was typed, or came in, while the model worked."""
    given = fields.get("prompt")
    text, images = flatten(msgspec.Raw(encode(given))) if not isinstance(given, str) else (given, [])
    kind = mapping(fields.get("origin")).get("kind")
    if fields.get("commandMode") not in (None, "prompt", "bash") and not kind:
        kind = str(fields.get("commandMode"))
    said = Inner(
        origin=PromptOrigin(str(kind)) if kind else PromptOrigin("human"), is_meta=fields.get("isMeta") is True
    )
    reader.said(said, text, images)


def queue(reader: ClaudeReader, parsed: Record, record: bytes) -> Verdict:
    """A text that waited for its turn."""
    text = text_of(parsed.content)
    if not text:
        return verdict(BOOKKEEPING, "queue-operation")
    payload: dict[str, object] = {"kind": "queue-operation"}
    reader.out.emit(Actor.USER, EventType.ATTACHMENT, one_line(f"queued: {text}"), text, payload=payload)
    return verdict(MAPPED, "queue-operation")


def titled(reader: ClaudeReader, parsed: Record, record: bytes) -> Verdict:
    """A title: given by a person, or made by the host, for this session or another."""
    fields = mapping(decode_any(record))
    key = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}[parsed.kind]
    title = fields.get(key)
    if not isinstance(title, str):
        return reader.unknown(parsed.kind, record)
    if parsed.kind == "custom-title":
        reader.facts.title = title
    elif parsed.kind == "ai-title":
        reader.facts.host_title = title
    elif isinstance(leaf := fields.get("leafUuid"), str):
        reader.facts.titles[leaf] = title
    actor = Actor.USER if parsed.kind == "custom-title" else Actor.SYSTEM
    payload: dict[str, object] = {"kind": parsed.kind}
    reader.out.emit(actor, EventType.ATTACHMENT, one_line(f"title: {title}"), title, payload=payload)
    return verdict(MAPPED, parsed.kind)


def link(reader: ClaudeReader, parsed: Record, record: bytes) -> Verdict:
    """A pull request or a page that the session made."""
    fields = mapping(decode_any(record))
    text = str(fields.get("prUrl") or fields.get("frameUrl") or "")
    title = fields.get("title") or fields.get("prRepository") or ""
    payload: dict[str, object] = {"kind": parsed.kind}
    reader.out.emit(
        Actor.SYSTEM,
        EventType.ATTACHMENT,
        one_line(f"{parsed.kind}: {text}"),
        f"{text} {title}".strip(),
        payload=payload,
    )
    return verdict(MAPPED, parsed.kind)


def journal_result(reader: ClaudeReader, parsed: Record, record: bytes) -> Verdict:
    """The result of a workflow's step, in the workflow's journal."""
    result = mapping(decode_any(record)).get("result")
    text = result if isinstance(result, str) else encode(result).decode()
    reader.out.emit(Actor.SUBAGENT, EventType.SUBAGENT_END, one_line(text), text, payload={"kind": "workflow"})
    return verdict(MAPPED, parsed.kind)


READERS: Final[Mapping[str, Callable[[ClaudeReader, Record, bytes], Verdict]]] = {
    "system": system,
    "progress": progress,
    "attachment": attachment,
    "summary": titled,
    "custom-title": titled,
    "ai-title": titled,
    "queue-operation": queue,
    "pr-link": link,
    "frame-link": link,
    "result": journal_result,
}
"""What reads the records of a type."""
