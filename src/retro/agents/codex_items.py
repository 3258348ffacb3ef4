"""`response_item`: what was sent to the model and what came from it, the same in all versions but the first names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from retro.agents.codex_calls import describe
from retro.agents.codex_session import RESPONSE, Session
from retro.agents.codex_shapes import Item, Line, Spawned, decode, decode_any, encode, is_object, mapping
from retro.agents.codex_texts import (
    answers,
    flatten,
    image,
    is_image,
    is_image_tag,
    outcome,
    parts_of,
    shell_command,
    tool_result,
    whose,
)
from retro.agents.emitter import one_line
from retro.event import Actor, EventType, Origin


def _message(session: Session, item: Item, line: Line) -> None:
    if item.role == "assistant":
        _said(session, item, line)
        return
    role = item.role or "system"
    kinds = (item.passthrough.content_item_kinds if item.passthrough else None) or []
    spoken: list[str] = []
    images: list[object] = []
    for place, part in enumerate(parts_of(item.content)):
        if is_image(part):
            images.append(image(part))
            continue
        text = part.text or ""
        if not text.strip() or is_image_tag(text):
            continue
        if ran := shell_command(text):
            found = outcome(ran[1])
            session.run(RESPONSE, ran[0], found.text, found.exit_code, found.duration_ms)
            continue
        origin, kind = whose(text, kinds[place] if place < len(kinds) else None, role)
        if origin is Origin.HUMAN:
            spoken.append(text)
        elif origin is not None:
            session.inject(text, origin, kind, role)
    if spoken or images:
        session.prompt(RESPONSE, "\n".join(spoken), images)


def _said(session: Session, item: Item, line: Line) -> None:
    for part in parts_of(item.content):
        if not part.text:
            continue
        if line.metadata is not None and line.metadata.compaction_output:
            session.state.compaction = session.out.identity
            compacted(session, part.text)
            continue
        for text, plan in answers(part.text):
            session.answer(RESPONSE, text, plan=plan)


def compacted(session: Session, text: str) -> None:
    """A summary that takes the place of the context."""
    session.out.emit(Actor.SYSTEM, EventType.COMPACTION, one_line(f"the context was compacted: {text}"), text or None)


def _reasoned(session: Session, item: Item, line: Line) -> None:
    for part in (*parts_of(item.summary), *parts_of(item.content)):
        session.think(RESPONSE, part.text or "")


def _called(session: Session, item: Item, line: Line) -> None:
    tool, described = describe(item)
    if described.event_type is EventType.WEB_SEARCH and not session.once(RESPONSE, "search", described.text or ""):
        return
    call_id = item.call_id or item.id
    session.begin_call(call_id, tool)
    session.out.emit(
        Actor.ASSISTANT,
        described.event_type,
        described.summary,
        described.text,
        call_id=call_id,
        tool=tool,
        model=session.state.model,
        command=described.command,
        paths=described.paths,
        payload=described.payload,
    )


def _returned(session: Session, item: Item, line: Line) -> None:
    raw = item.tools if item.kind == "tool_search_output" else item.output
    text, images, is_error = _output(item, raw)
    found = outcome(text)
    call = session.call(item.call_id)
    if call is not None and call.tool == "spawn_agent" and text.startswith("{"):
        _note_spawned(session, item.call_id, text)
    session.result(
        item.call_id,
        found.text,
        images=images,
        exit_code=found.exit_code,
        is_error=is_error if is_error is not None else found.is_error,
        duration_ms=found.duration_ms,
        running=found.running,
        rejected=found.rejected,
    )


def _note_spawned(session: Session, call_id: str | None, text: str) -> None:
    try:
        about = decode(text.encode("utf-8", "replace"), Spawned)
    except msgspec.DecodeError:
        return
    session.link(about.agent_id, call_id, about.nickname)


def _output(item: Item, raw: msgspec.Raw) -> tuple[str, list[object], bool | None]:
    """Text, images and error of an output: a string, parts, or an object with either in it."""
    if item.kind == "tool_search_output":
        return encode(decode_any(raw)).decode(), [], None
    if is_object(raw):
        fields = mapping(decode_any(raw))
        content, success = fields.get("content"), fields.get("success")
        if isinstance(content, str):
            return content, [], None if success is None else not success
        if content is not None:
            return tool_result(raw, msgspec.Raw(b"null"))
    return (*flatten(raw), None)


def _between_agents(session: Session, item: Item, line: Line) -> None:
    """A message from one agent to another; the last word of a sub-agent among them."""
    text, _ = flatten(item.content)
    thread = session.state.paths.get(item.author or "")
    names = {"author": item.author, "recipient": item.recipient, "agent_id": thread}
    payload: dict[str, object] = {name: value for name, value in names.items() if value}
    if text.startswith("Message Type: FINAL_ANSWER") and item.author != session.state.path:
        session.out.emit(Actor.SUBAGENT, EventType.SUBAGENT_END, one_line(text), text, payload=payload)
    else:
        session.out.emit(
            Actor.USER, EventType.MESSAGE, one_line(text), text, origin=Origin.AGENT, payload=payload or None
        )


READERS: Final[dict[str, Callable[[Session, Item, Line], None]]] = {
    "message": _message,
    "reasoning": _reasoned,
    "function_call": _called,
    "custom_tool_call": _called,
    "local_shell_call": _called,
    "tool_search_call": _called,
    "web_search_call": _called,
    "image_generation_call": _called,
    "function_call_output": _returned,
    "custom_tool_call_output": _returned,
    "local_shell_call_output": _returned,
    "mcp_tool_call_output": _returned,
    "tool_search_output": _returned,
    "agent_message": _between_agents,
}
"""What each type of item means."""
