"""`chat_history.jsonl` of Grok: the messages as the model gets them, in the form of today and in the one before."""

from __future__ import annotations

import re
from typing import Final

from retro.agents.calls import describe, emit_call
from retro.agents.emitter import one_line
from retro.agents.fields import Fields, as_text, first, items, mapping, string, words
from retro.agents.grok_session import Session, arguments, flat
from retro.event import Actor, EventType, Origin

CONTINUED: Final = "This session is being continued from a previous conversation"
_QUERY: Final = re.compile(r"\s*<user_query>\s*(.*?)\s*</user_query>\s*", re.DOTALL)
_OWN: Final = ("<user_info>", "<system-reminder>", "<system_reminder>", "<environment_context>")


def kind_of(message: Fields) -> str:
    """The type of a message; before there was one, its role."""
    return first(message, "type", "role") or "(none)"


def read(session: Session, kind: str, message: Fields, beside: bool) -> None:
    """Add what a message gives; beside a log of updates only what that one lacks."""
    if kind == "user":
        _user(session, message, beside)
    elif beside:
        return
    elif kind == "assistant":
        _answer(session, message)
    elif kind == "reasoning":
        texts = [words(mapping(one).get("text")) for one in items(message.get("summary"))]
        text = "\n".join(filter(None, texts)) or flat(message.get("content"))[0]
        if text:
            session.think(text)
    elif kind in ("tool_result", "tool"):
        session.result(string(message.get("tool_call_id")), flat(message.get("content"))[0])
    elif kind == "backend_tool_call":
        _by_provider(session, mapping(message.get("kind")))


def _user(session: Session, message: Fields, beside: bool) -> None:
    text, images = flat(message.get("content"))
    reason = string(message.get("synthetic_reason"))
    if text.startswith(CONTINUED):
        payload: dict[str, object] = {"kind": "compact_summary"}
        session.out.emit(Actor.SYSTEM, EventType.MESSAGE, one_line(text), text, origin=Origin.MACHINE, payload=payload)
    elif (reason and reason != "interjection") or (message.get("prompt_index") is None and text.startswith(_OWN)):
        session.inject(text, reason)
    elif not beside:
        found = _QUERY.fullmatch(text)
        session.prompt(found[1] if found else text, images)


def _answer(session: Session, message: Fields) -> None:
    model = string(message.get("model_id"))
    if model is not None:
        session.state.model = model
        if model not in session.facts.models:
            session.facts.models.append(model)
    thought = words(message.get("reasoning_content"))
    if thought:
        session.think(thought)
    text = flat(message.get("content"))[0]
    if text:
        session.answer(text)
    for one in items(message.get("tool_calls")):
        call = mapping(one)
        called = mapping(call.get("function")) or call
        session.call(string(call.get("id")), string(called.get("name")) or "", called.get("arguments"))


def _by_provider(session: Session, call: Fields) -> None:
    """A tool that the provider ran itself."""
    name = string(call.get("tool_type")) or "backend_tool"
    given = call.get("action")
    event_type = EventType.WEB_SEARCH if name.startswith("web") else EventType.TOOL_CALL
    found = describe(event_type, name, arguments(given) if isinstance(given, str) else given)
    if found.event_type is EventType.TOOL_CALL:
        found = found._replace(text=as_text(given))
    emit_call(session.out, found, string(call.get("id")), name, model=session.state.model)
