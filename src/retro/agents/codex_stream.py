"""What `codex exec --json` prints: no times, no folder, no model, no prompt, and item ids that begin anew each run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from retro.agents.codex_calls import Described, changed, command_text, generic, searched, tool_name
from retro.agents.codex_session import EVENT, ITEM, Session
from retro.agents.codex_shapes import Happening, Line, decode, decode_any, encode, mapping
from retro.agents.codex_texts import tool_result
from retro.agents.emitter import one_line
from retro.event import Actor, EventType

_FAILED: Final = ("failed", "declined")


def read(session: Session, line: Line) -> None:
    """One line of a stream."""
    if line.kind == "thread.started":
        session.state.runs += 1
        session.state.calls.clear()
        session.out.emit(Actor.SYSTEM, EventType.SESSION_START, "session started", payload={"kind": "exec"})
    elif line.kind in ("turn.failed", "error"):
        _failed(session, line)
    elif line.kind.startswith("item."):
        _item(session, line.kind, decode(line.item, Happening))


def _failed(session: Session, line: Line) -> None:
    value = decode_any(line.message) or mapping(decode_any(line.error)).get("message")
    text = value if isinstance(value, str) else encode(value).decode()
    # A failed turn repeats the error that was told before it: two channels of one thing.
    session.fail(ITEM if line.kind == "error" else EVENT, text, line.kind)


def _item(session: Session, phase: str, item: Happening) -> None:
    if said := _SAID.get(item.kind):
        if phase == "item.completed":
            said(session, item)
        return
    call_id = f"{item.id}#{session.state.runs}" if session.state.runs > 1 else str(item.id)
    described = _describe(item)
    if described is None or (phase != "item.completed" and item.kind == "web_search"):
        return
    if item.kind == "todo_list":
        _listed(session, call_id, described[1])
        return
    call = session.call(call_id)
    if call is None:
        session.begin_call(call_id, described[0])
        _emit(session, call_id, *described)
    if phase == "item.completed":
        _end(session, call_id, item)


def _listed(session: Session, call_id: str, described: Described) -> None:
    """A list of things to do: each state of it takes the place of the one before."""
    call = session.call(call_id)
    if call is None:
        call = session.begin_call(call_id, "update_plan")
        call.identity = session.out.identity
    session.out.identify(call.identity)
    _emit(session, call_id, "update_plan", described)


def _end(session: Session, call_id: str, item: Happening) -> None:
    status = decode_any(item.status)
    failed = status in _FAILED
    if item.kind == "mcp_tool_call":
        text, images, is_error = tool_result(item.result, item.error)
        session.result(call_id, text, images=images, is_error=is_error or failed)
        return
    output = item.aggregated_output if item.kind == "command_execution" else str(status or "")
    session.result(
        call_id,
        output or "",
        exit_code=item.exit_code,
        is_error=failed if item.exit_code is None else None,
        rejected=status == "declined",
    )
    for thread in (item.receiver_thread_ids or ()) if item.tool == "spawn_agent" else ():
        session.link(thread, call_id)


def _describe(item: Happening) -> tuple[str, Described] | None:
    if item.kind == "command_execution":
        command = command_text(item.command or "")
        return "exec_command", Described(EventType.COMMAND, one_line(f"$ {command}"), command=command)
    if item.kind == "file_change":
        return "apply_patch", changed(item.changes)
    if item.kind == "mcp_tool_call":
        name = tool_name(item.tool, f"mcp__{item.server}")
        return name, generic(name, encode(decode_any(item.arguments)).decode())
    if item.kind == "collab_tool_call":
        if item.tool == "spawn_agent":
            task = item.prompt or ""
            return item.tool, Described(EventType.SUBAGENT_START, one_line(task or "sub-agent"), task)
        return item.tool, generic(item.tool, item.prompt or "")
    if item.kind == "web_search":
        return "web_search", searched(item.action, item.query)
    if item.kind == "todo_list":
        return "update_plan", generic("update_plan", encode(decode_any(item.items)).decode())
    return None


def _emit(session: Session, call_id: str, tool: str, described: Described) -> None:
    session.out.emit(
        Actor.ASSISTANT,
        described.event_type,
        described.summary,
        described.text,
        call_id=call_id,
        tool=tool,
        command=described.command,
        paths=described.paths,
        payload=described.payload,
    )


def _told(session: Session, item: Happening) -> None:
    value = decode_any(item.message)
    session.fail(ITEM, value if isinstance(value, str) else encode(value).decode(), "item:error")


_SAID: Final[dict[str, Callable[[Session, Happening], None]]] = {
    "agent_message": lambda session, item: session.answer(ITEM, item.text or ""),
    "reasoning": lambda session, item: session.think(ITEM, item.text or ""),
    "error": _told,
}

STREAM: Final = frozenset(
    {
        "thread.started",
        "turn.started",
        "turn.completed",
        "turn.failed",
        "item.started",
        "item.updated",
        "item.completed",
        "error",
    }
)
"""The types of a stream's lines."""
