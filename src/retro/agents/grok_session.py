"""A Grok session while it is read: what is known so far, and how its events are said."""

from __future__ import annotations

from typing import Final

import msgspec

from retro.agents.calls import describe, emit_call
from retro.agents.emitter import RECENT, Emitter, Progress, content_id, one_line, verdict
from retro.agents.fields import as_text, blocks, decode, kept, mapping, string, text_in
from retro.agents.grok_kinds import BOOKKEEPING_TYPES, HOST, TOOLS, UNCOUNTED
from retro.agents.interface import BOOKKEEPING, MAPPED, UNKNOWN, Agent, Facts, Verdict
from retro.event import Actor, EventType, Origin

CALLS: Final = 1000
JOINED: Final = 64 * 1024
"""Characters of a message that came in pieces, after which a piece is an event of its own."""


class Piece(msgspec.Struct):
    """A message that may go on in the next record."""

    stream: str
    identity: str
    text: str


class State(msgspec.Struct):
    """What a source's events depend on, kept between sweeps."""

    progress: Progress = msgspec.field(default_factory=Progress)
    calls: dict[str, str] = {}
    """Tools of the calls that were seen."""
    tasks: list[tuple[str, str]] = []
    """Calls for sub-agents that no sub-agent belongs to yet, and their descriptions."""
    model: str | None = None
    open: Piece | None = None
    repeats: dict[str, int] = {}
    """How often messages that have neither id nor time came before."""


class Session:
    """The state of one source, and the ways in which records add events to it."""

    def __init__(
        self, session_id: str, source: str, agent_id: str | None, saved: bytes, facts: Facts, remembered: int = RECENT
    ) -> None:
        self.state = msgspec.msgpack.decode(saved, type=State) if saved else State()
        self.facts = facts
        self.session_id, self.source, self.agent_id = session_id, source, agent_id
        self.out = Emitter(HOST, session_id, source, self.state.progress, remembered)

    @property
    def actor(self) -> Actor:
        """Who answers here."""
        return Actor.SUBAGENT if self.agent_id else Actor.ASSISTANT

    def identify_by_content(self, record: bytes, *, once: bool) -> None:
        """Name a record that has neither id nor time: by its content, and how often that came before.

        What is told beside a log of updates counts once: it goes and comes again as the messages are replaced.
        """
        name, repeats = content_id(record), self.state.repeats
        if once:
            self.out.identify(name)
            return
        count = repeats[name] = repeats.get(name, 0) + 1
        self.out.identify(f"{name}:{count}" if count > 1 else name)

    # What people and models say.

    def piece(self, stream: str, identity: str, text: str) -> str:
        """The text of a message so far; one that goes on is the same event again, with more text."""
        before = self.state.open
        if before is not None and before.stream == stream and len(before.text) < JOINED:
            identity, text = before.identity, before.text + text
        self.out.identify(identity)
        self.state.open = Piece(stream, identity, text)
        return text

    def close(self) -> None:
        """What comes next is another message."""
        self.state.open = None

    def prompt(self, text: str, images: list[object], *, again: bool = False) -> None:
        """What a person typed; in a sub-agent's source, its task."""
        if self.agent_id is None and not again:
            self.out.begin_turn()
        command = text.split(maxsplit=1)[0] if text.startswith("/") and self.agent_id is None else None
        self.out.emit(
            Actor.USER,
            EventType.MESSAGE,
            one_line(text),
            text,
            origin=Origin.AGENT if self.agent_id else Origin.HUMAN,
            payload=kept(images=images, slash_command=command if command and "/" not in command[1:] else None),
        )

    def answer(self, text: str) -> None:
        """What the model says."""
        self.out.emit(self.actor, EventType.MESSAGE, one_line(text), text, model=self.state.model)

    def think(self, text: str) -> None:
        """What the model thinks."""
        self.out.emit(self.actor, EventType.REASONING, one_line(text), text, model=self.state.model)

    def inject(self, text: str, kind: str | None) -> None:
        """What the host or a hook put into the conversation."""
        hook = " hook '" in text[:200]
        self.out.emit(
            Actor.HOOK if hook else Actor.SYSTEM,
            EventType.ATTACHMENT,
            one_line(text),
            text,
            origin=Origin.INJECTED,
            payload=kept(kind=kind),
        )

    def fail(self, text: str, kind: str, actor: Actor = Actor.SYSTEM) -> None:
        """A request or a hook that failed."""
        self.out.emit(actor, EventType.ERROR, one_line(text), text, is_error=True, payload={"kind": kind})

    def stop(self, text: str) -> None:
        """A person stopped the agent."""
        payload: dict[str, object] = {"kind": "cancelled", "interrupt": True}
        self.out.emit(Actor.SYSTEM, EventType.MESSAGE, one_line(text), text, origin=Origin.MACHINE, payload=payload)

    # Calls.

    def call(self, call_id: str | None, name: str, given: object) -> None:
        """The model calls a tool."""
        if isinstance(given, str):
            given = arguments(given)
        if call_id:
            calls = self.state.calls
            if len(calls) >= CALLS:
                del calls[next(iter(calls))]
            calls[call_id] = name
        found = describe(TOOLS.get(name, EventType.TOOL_CALL), name, given)
        if found.event_type is EventType.SUBAGENT_START and call_id:
            self.state.tasks.append((call_id, string(mapping(given).get("description")) or ""))
            del self.state.tasks[:-CALLS]
        emit_call(self.out, found, call_id, name, model=self.state.model)

    def result(
        self, call_id: str | None, text: str, *, exit_code: int | None = None, is_error: bool | None = None
    ) -> None:
        """What came back of a call."""
        self.out.emit(
            Actor.TOOL,
            EventType.TOOL_RESULT,
            one_line(text),
            text,
            call_id=call_id,
            tool=self.state.calls.get(call_id or ""),
            exit_code=exit_code,
            is_error=is_error if is_error is not None else exit_code != 0 if exit_code is not None else None,
        )

    def spawned(self, agent_id: str, kind: str | None, description: str | None) -> None:
        """Note a sub-agent, and which of the calls before it was for it."""
        agent = self.facts.agents.setdefault(agent_id, Agent())
        agent.agent_type, agent.description = agent.agent_type or kind, agent.description or description
        waiting = self.state.tasks
        chosen = next((task for task in waiting if task[1] == description), waiting[0] if waiting else None)
        if agent.call_id is None and chosen is not None:
            agent.call_id = chosen[0]
            waiting.remove(chosen)

    def returned(self, agent_id: str, call_id: str | None) -> None:
        """A call's result names its sub-agent."""
        agent = self.facts.agents.setdefault(agent_id, Agent())
        agent.call_id = call_id or agent.call_id

    # Accounting.

    def account(self, kind: str, record: bytes) -> Verdict:
        """How a record counts, by what it gave; one that gives nothing without being known for it is unknown."""
        if self.out.emitted:
            return verdict(MAPPED, kind)
        if kind in BOOKKEEPING_TYPES or kind in UNCOUNTED:
            return verdict(BOOKKEEPING, kind)
        text = record.decode("utf-8", "replace")
        self.out.emit(Actor.SYSTEM, EventType.UNKNOWN, one_line(f"{kind}: {text}"), text, payload={"kind": kind})
        return verdict(UNKNOWN, kind)


def arguments(text: str) -> object:
    """Arguments that are JSON within a text."""
    try:
        return decode(text.encode())
    except (ValueError, RecursionError):
        return text


def flat(content: object) -> tuple[str, list[object]]:
    """The text of a message's content, and what images are in it, without their pixels."""
    texts: list[str] = []
    images: list[object] = []
    whole = [content] if isinstance(content, dict) else content
    for block in blocks(whole):
        kind = string(block.get("type"))
        if kind == "text":
            texts.append(text_in(block.get("text")))
        elif kind == "image":
            data = string(block.get("data")) or string(block.get("url")) or ""
            images.append({"media_type": string(block.get("mimeType")) or "image", "bytes": len(data) * 3 // 4})
        elif kind == "content":
            inner, more = flat(block.get("content"))
            texts.append(inner)
            images += more
        elif block:
            texts.append(text_in(block.get("text")) or as_text(block))
    return "\n".join(texts), images
