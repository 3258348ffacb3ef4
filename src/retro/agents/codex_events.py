"""`event_msg`: what the host's window shows. Much of it repeats items; of code mode's calls it is all there is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from retro.agents.codex_calls import Described, changed, command_text, generic, searched, tool_name
from retro.agents.codex_session import EVENT, Call, Session
from retro.agents.codex_shapes import Happening, decode_any, encode, mapping
from retro.agents.codex_texts import (
    answers,
    duration_of,
    flatten,
    image,
    is_image,
    parts_of,
    review_text,
    snippets,
    tool_result,
)
from retro.agents.emitter import one_line
from retro.agents.fields import words
from retro.event import Actor, EventType, Origin

Read = Callable[[Session, Happening, int], None]
"""Reads one thing that happened, told on one channel."""

_FAILED: Final = ("failed", "declined")


# --- what people and models say --------------------------------------------------------------------------------------


def _prompted(session: Session, told: Happening, channel: int) -> None:
    if told.activity in ("environment_context", "user_instructions"):  # 0.3x said so of what it put there itself
        return
    if channel == EVENT:
        images: list[object] = [image(part) for raw in told.images or () for part in parts_of(_picture(raw))]
        session.prompt(channel, _words(told.message), images)
        return
    parts = parts_of(told.content)
    texts = [part.text for part in parts if part.text is not None]
    session.prompt(channel, "\n".join(texts), [image(part) for part in parts if is_image(part)])


def _picture(raw: msgspec.Raw) -> msgspec.Raw:
    return msgspec.Raw(b'{"type":"image","image_url":' + bytes(raw) + b"}")


def _answered(session: Session, told: Happening, channel: int) -> None:
    texts = [_words(told.message)] if channel == EVENT else [part.text or "" for part in parts_of(told.content)]
    for whole in texts:
        for text, plan in answers(whole):
            session.answer(channel, text, plan=plan)


def _planned(session: Session, told: Happening, channel: int) -> None:
    session.answer(channel, (told.text or "").strip(), plan=True)


def _thought(session: Session, told: Happening, channel: int) -> None:
    texts = [told.text] if channel == EVENT else [*(told.summary_text or ()), *(told.raw_content or ())]
    for text in texts:
        session.think(channel, text or "")


# --- calls that are told apart from what the model wrote -------------------------------------------------------------


def _executed(session: Session, told: Happening, channel: int) -> None:
    command = command_text(told.command or "")
    output = told.aggregated_output
    if output is None:
        output = "\n".join(text for text in (told.stdout, told.stderr) if text)
    if told.source == "user_shell":
        session.run(channel, command, output, told.exit_code, duration_of(told.duration))
        return
    call = session.call(told.key)
    if call is not None and call.done and not call.running:
        return
    awaited = call is not None and not call.done
    if call is None:
        described = Described(EventType.COMMAND, one_line(f"$ {command}"), command=command)
        call = _emit(session, told.key, "exec_command", described)
    call.exit_code, call.duration_ms = told.exit_code, duration_of(told.duration)
    call.failed = _status(told) in _FAILED
    if not awaited:
        session.out.go_to_second()
        session.result(told.key, output, exit_code=told.exit_code, rejected=_status(told) == "declined")


def _patched(session: Session, told: Happening, channel: int) -> None:
    failed = told.success is False or _status(told) in _FAILED
    call = session.call(told.key, "apply_patch")
    if call is not None:
        call.failed = call.failed or (failed and not call.done)
        return
    _emit(session, told.key, "apply_patch", changed(told.changes))
    output = "\n".join(text for text in (told.stdout, told.stderr) if text)
    session.result(told.key, output, is_error=failed, rejected=_status(told) == "declined")


def _served(session: Session, told: Happening, channel: int) -> None:
    """A call of a tool server, or of a tool that a client brought with it."""
    given = told.invocation
    server, tool, arguments = (
        (given.server, given.tool, given.arguments) if given else (told.server, told.tool, told.arguments)
    )
    call = session.call(told.key)
    if call is not None:
        call.duration_ms = call.duration_ms if call.done else duration_of(told.duration)
        return
    name = tool_name(tool, f"mcp__{server}" if server else told.namespace)
    call = _emit(session, told.key, name, generic(name, encode(decode_any(arguments)).decode()))
    call.duration_ms = duration_of(told.duration)
    text, images, is_error = tool_result(told.result, told.error)
    session.result(told.key, text, images=images, is_error=is_error)


def _asked_client(session: Session, told: Happening, channel: int) -> None:
    if session.call(told.key) is None:
        name = tool_name(told.tool, told.namespace)
        _emit(session, told.key, name, generic(name, encode(decode_any(told.arguments)).decode()))


def _client_answered(session: Session, told: Happening, channel: int) -> None:
    call = session.call(told.key)
    if call is None or not call.done:
        text, images = flatten(told.content_items)
        session.result(told.key, text or _words(told.error), images=images, is_error=told.success is False)


def _searched(session: Session, told: Happening, channel: int) -> None:
    described = searched(told.action, told.query)
    if session.once(channel, "search", described.text or ""):
        _emit(session, told.key, "web_search", described)
    if text := snippets(told.results):
        session.result(told.key, text)


def _viewed(session: Session, told: Happening, channel: int) -> None:
    if session.call(told.key) is None and told.path:
        described = Described(EventType.FILE_READ, one_line(f"read {told.path}"), paths=[told.path])
        _emit(session, told.key, "view_image", described)


def _drew(session: Session, told: Happening, channel: int) -> None:
    if session.call(told.key) is None:
        _emit(session, told.key, "image_generation", generic("image_generation", told.revised_prompt or ""))


def _collaborated(session: Session, told: Happening, channel: int) -> None:
    """A call that has to do with sub-agents."""
    threads = [*(told.receiver_thread_ids or ()), *([told.new_thread_id] if told.new_thread_id else ())]
    starts = told.tool in ("spawn_agent", "spawnAgent") or told.new_thread_id is not None
    if session.call(told.key) is None:
        task = told.prompt or ""
        name = told.tool or "spawn_agent"
        described = generic(name, task)
        if starts:
            payload: dict[str, object] | None = {"agent_id": threads[0]} if threads else None
            described = Described(EventType.SUBAGENT_START, one_line(task or "sub-agent"), task, payload=payload)
        _emit(session, told.key, name, described)
    if starts:
        for thread in threads:
            session.link(thread, told.key, told.new_agent_nickname)


def _of_subagent(session: Session, told: Happening, channel: int) -> None:
    if told.agent_path and told.agent_thread_id:
        session.state.paths[told.agent_path] = told.agent_thread_id
    if told.activity == "started":
        session.link(told.agent_thread_id, told.key, told.agent_path)


def _emit(session: Session, call_id: str | None, tool: str, described: Described) -> Call:
    """A call that the model's own items do not show."""
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
    return session.begin_call(call_id, tool)


# --- what the host says ----------------------------------------------------------------------------------------------


def _failed(session: Session, told: Happening, channel: int) -> None:
    text = _words(told.message) or _words(told.error)
    if text:
        session.fail(channel, text, told.kind)


def _warned(session: Session, told: Happening, channel: int) -> None:
    session.tell(_words(told.message) or told.kind, told.kind)


def _rolled_back(session: Session, told: Happening, channel: int) -> None:
    session.tell("the last turns were taken back", told.kind)


def _aborted(session: Session, told: Happening, channel: int) -> None:
    reason = told.reason or "interrupted"
    payload: dict[str, object] = {"interrupt": True} if reason == "interrupted" else {"kind": told.kind}
    text = f"the turn was aborted: {reason}"
    session.out.emit(Actor.USER, EventType.MESSAGE, text, text, origin=Origin.MACHINE, payload=payload)


def _named(session: Session, told: Happening, channel: int) -> None:
    if told.thread_name:
        session.facts.title = told.thread_name
    title = told.thread_name or ""
    payload: dict[str, object] = {"kind": told.kind}
    session.out.emit(Actor.USER, EventType.ATTACHMENT, one_line(f"title: {title}"), title, payload=payload)


# --- what is read from the whole record ------------------------------------------------------------------------------


def _review_asked(session: Session, fields: dict[str, object], kind: str) -> None:
    """A review that a person asked for, with what is to be reviewed."""
    target = mapping(fields.get("target"))
    about = [fields.get("prompt"), target.get("instructions"), target.get("branch"), target.get("title")]
    said = [fields.get("user_facing_hint"), *about]
    text = " ".join(dict.fromkeys(str(part) for part in ("/review", *said) if part))
    session.out.begin_turn()
    session.out.emit(
        Actor.USER,
        EventType.MESSAGE,
        one_line(text),
        text,
        origin=Origin.HUMAN,
        payload={"slash_command": "/review"},
    )


def _reviewed(session: Session, fields: dict[str, object], kind: str) -> None:
    text = review_text(msgspec.Raw(encode(fields.get("review_output"))))
    session.answer(EVENT, text or "the review ended")


def _goal(session: Session, fields: dict[str, object], kind: str) -> None:
    goal = mapping(fields.get("goal"))
    text = str(goal.get("objective") or "")
    payload: dict[str, object] = {"kind": kind, "status": str(goal.get("status") or "")}
    session.out.emit(Actor.USER, EventType.ATTACHMENT, one_line(f"goal: {text}"), text, payload=payload)


def _permission(session: Session, fields: dict[str, object], kind: str) -> None:
    """Something that was asked for, allowed or refused; by a person, or by a model that guards."""
    said = [fields.get(key) for key in ("status", "risk_level", "rationale", "reason", "message")]
    text = "\n".join(str(part) for part in said if part)
    asked = fields.get("action") or fields.get("command") or fields.get("changes")
    text = f"{text}\n{encode(asked).decode()}" if asked else text
    payload: dict[str, object] = {"kind": kind}
    call_id = fields.get("target_item_id") or fields.get("call_id")
    session.out.emit(
        Actor.SYSTEM,
        EventType.PERMISSION,
        one_line(text),
        text,
        call_id=call_id if isinstance(call_id, str) else None,
        payload=payload,
    )


def _words(raw: msgspec.Raw) -> str:
    """A text, or the message of an error."""
    value = decode_any(raw)
    return words(mapping(value).get("message")) or words(value)


def read_whole(session: Session, kind: str, payload: msgspec.Raw) -> bool:
    """Read an event whose fields are its own; False if it is none of these."""
    read = _WHOLE.get(kind)
    if read is not None:
        read(session, mapping(decode_any(payload)), kind)
    return read is not None


_WHOLE: Final[dict[str, Callable[[Session, dict[str, object], str], None]]] = {
    "entered_review_mode": _review_asked,
    "exited_review_mode": _reviewed,
    "thread_goal_updated": _goal,
    "guardian_assessment": _permission,
    "exec_approval_request": _permission,
    "apply_patch_approval_request": _permission,
    "elicitation_request": _permission,
    "request_permissions": _permission,
}

EVENTS: Final[dict[str, Read]] = {
    "user_message": _prompted,
    "agent_message": _answered,
    "agent_reasoning": _thought,
    "agent_reasoning_raw_content": _thought,
    "exec_command_end": _executed,
    "patch_apply_end": _patched,
    "mcp_tool_call_end": _served,
    "dynamic_tool_call_request": _asked_client,
    "dynamic_tool_call_response": _client_answered,
    "web_search_end": _searched,
    "view_image_tool_call": _viewed,
    "image_generation_end": _drew,
    "collab_agent_spawn_end": _collaborated,
    "collab_agent_interaction_end": _collaborated,
    "collab_waiting_end": _collaborated,
    "collab_close_end": _collaborated,
    "collab_resume_end": _collaborated,
    "sub_agent_activity": _of_subagent,
    "error": _failed,
    "stream_error": _failed,
    "task_complete": _failed,
    "warning": _warned,
    "background_event": _warned,
    "deprecation_notice": _warned,
    "undo_completed": _warned,
    "thread_rolled_back": _rolled_back,
    "turn_aborted": _aborted,
    "thread_name_updated": _named,
}
"""What each type of event means."""

ITEMS: Final[dict[str, Read]] = {
    "UserMessage": _prompted,
    "AgentMessage": _answered,
    "Plan": _planned,
    "Reasoning": _thought,
    "CommandExecution": _executed,
    "FileChange": _patched,
    "McpToolCall": _served,
    "CollabAgentToolCall": _collaborated,
    "SubAgentActivity": _of_subagent,
    "WebSearch": _searched,
    "Extension": _searched,
    "ImageView": _viewed,
    "ImageGeneration": _drew,
}
"""What each type of completed item means."""


def _status(told: Happening) -> str:
    value = decode_any(told.status)
    return value if isinstance(value, str) else ""
