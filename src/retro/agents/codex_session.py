"""A Codex session while it is read: what is known so far, and how its events are said once."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

import msgspec

from retro.agents.codex_kinds import BOOKKEEPING_TYPES, HOST, UNCOUNTED
from retro.agents.codex_shapes import Line
from retro.agents.codex_texts import bare, typed
from retro.agents.codex_usage import Running
from retro.agents.emitter import Emitter, Progress, content_id, one_line, verdict
from retro.agents.interface import BOOKKEEPING, MAPPED, UNKNOWN, Agent, Facts, Verdict
from retro.event import Actor, EventType, Origin

EVENT: Final = 1
ITEM: Final = 2
RESPONSE: Final = 4
"""The channels on which the host says the same thing: `event_msg`, the items in it, `response_item`."""

CHANNELS: Final = {EVENT: "event", ITEM: "item", RESPONSE: "response"}
"""What events say of where they were told first: in a file that was cut, only the other telling may be left."""

TOLD: Final = 64
"""How many of the last texts are remembered, to know them when they come on another channel."""

CALLS: Final = 1000


class Call(msgspec.Struct):
    """A call that was seen, and what is known of how it went."""

    tool: str
    done: bool = False
    running: bool = False
    """Its result said that it goes on in the background."""
    failed: bool = False
    exit_code: int | None = None
    duration_ms: int | None = None
    identity: str = ""


class State(msgspec.Struct):
    """What a source's events depend on, kept between sweeps."""

    progress: Progress = msgspec.field(default_factory=Progress)
    running: Running = msgspec.field(default_factory=Running)
    model: str | None = None
    cwd: str | None = None
    branch: str | None = None
    service_tier: str | None = None
    began: bool = False
    lineage: str = ""
    """The session in which the running total began."""
    copied_until: int | None = None
    subagent: bool = False
    path: str | None = None
    """A sub-agent's name among its kind."""
    ordinal: int = -1
    runs: int = 0
    compaction: str = ""
    """Identity of a summary whose own record is to come."""
    calls: dict[str, Call] = {}
    told: list[tuple[int, int]] = []
    repeats: dict[str, int] = {}
    """How often records that have neither number nor time came before."""
    paths: dict[str, str] = {}
    """Sessions of sub-agents, by their names."""


class Session:
    """The state of one source, and the ways in which records add events to it."""

    def __init__(self, session_id: str, source: str, saved: bytes, facts: Facts) -> None:
        self.state = msgspec.msgpack.decode(saved, type=State) if saved else State(lineage=session_id)
        self.facts = facts
        self.session_id, self.source = session_id, source
        self.out = Emitter(HOST, session_id, source, self.state.progress)

    # Identity, and saying things once.

    def identify(self, line: Line, record: bytes) -> None:
        """Name a record: its number in its thread; where it has none, its content and how often that came."""
        state = self.state
        if line.ordinal is not None and line.ordinal > state.ordinal:
            state.ordinal = line.ordinal
            self.out.identify(f"{self.session_id.replace('.', '_')}:{line.ordinal}")
            return
        name = content_id(record)
        if line.timestamp is None:
            count = state.repeats[name] = state.repeats.get(name, 0) + 1
            name = f"{name}:{count}" if count > 1 else name
        self.out.identify(name)

    def once(self, channel: int, kind: str, text: str) -> bool:
        """Whether a text is new; the same from another channel is not. Legitimate repeats on one channel are."""
        told = self.state.told
        key = int.from_bytes(blake2b(f"{kind} {bare(text)}".encode("utf-8", "replace"), digest_size=8).digest(), "big")
        for place, (known, channels) in enumerate(told):
            if known == key and not channels & channel:
                told[place] = (key, channels | channel)
                return False
        told.append((key, channel))
        del told[:-TOLD]
        return True

    # What people and models say.

    def prompt(self, channel: int, text: str, images: list[object]) -> None:
        """What a person typed; in a sub-agent's session, its task."""
        if not self.once(channel, "prompt", text):
            return
        around, text = typed(text)
        if around:
            self.inject(around, Origin.INJECTED, "ide_context", "user")
        if self.state.subagent:
            self.facts.host_title = self.facts.host_title or one_line(text)
        else:
            self.out.begin_turn()
        payload: dict[str, object] = {"images": images} if images else {}
        payload["channel"] = CHANNELS[channel]
        origin = Origin.AGENT if self.state.subagent else Origin.HUMAN
        self.out.emit(Actor.USER, EventType.MESSAGE, one_line(text), text, origin=origin, payload=payload)

    def answer(self, channel: int, text: str, *, plan: bool = False) -> None:
        """What the model says."""
        if text.strip() and self.once(channel, "plan" if plan else "answer", text):
            payload: dict[str, object] = {"plan": True} if plan else {}
            payload["channel"] = CHANNELS[channel]
            self.out.emit(
                Actor.ASSISTANT, EventType.MESSAGE, one_line(text), text, model=self.state.model, payload=payload
            )

    def think(self, channel: int, text: str) -> None:
        """What the model thinks."""
        if text.strip() and self.once(channel, "thought", text):
            payload: dict[str, object] = {"channel": CHANNELS[channel]}
            self.out.emit(
                Actor.ASSISTANT, EventType.REASONING, one_line(text), text, model=self.state.model, payload=payload
            )

    def inject(self, text: str, origin: Origin, kind: str | None, role: str) -> None:
        """What the host, a hook or a file put into the conversation."""
        payload: dict[str, object] | None = {"kind": kind} if kind else None
        hook = kind is not None and kind.startswith("hooks.")
        actor = Actor.HOOK if hook else Actor.USER if role == "user" else Actor.SYSTEM
        event_type = EventType.ATTACHMENT if hook else EventType.MESSAGE
        self.out.emit(actor, event_type, one_line(text), text, origin=origin, payload=payload)

    def fail(self, channel: int, text: str, kind: str) -> None:
        """A request or a turn that failed."""
        if self.once(channel, "error", text):
            payload: dict[str, object] = {"kind": kind, "channel": CHANNELS[channel]}
            self.out.emit(Actor.SYSTEM, EventType.ERROR, one_line(text), text, is_error=True, payload=payload)

    def tell(self, text: str, kind: str) -> None:
        """What the host shows."""
        payload: dict[str, object] = {"kind": kind}
        self.out.emit(Actor.SYSTEM, EventType.MESSAGE, one_line(text), text, origin=Origin.MACHINE, payload=payload)

    def run(self, channel: int, command: str, output: str, exit_code: int | None, duration_ms: int | None) -> None:
        """A command that a person ran in the host."""
        if not self.once(channel, "shell", command):
            return
        self.out.emit(Actor.USER, EventType.COMMAND, one_line(f"$ {command}"), origin=Origin.HUMAN, command=command)
        self.out.emit(
            Actor.TOOL,
            EventType.TOOL_RESULT,
            one_line(output),
            output,
            origin=Origin.MACHINE,
            exit_code=exit_code,
            duration_ms=duration_ms,
        )

    # Calls.

    def call(self, call_id: str | None, tool: str | None = None) -> Call | None:
        """A call that was seen; where the host leaves its id out, the last one of this tool without a result."""
        calls = self.state.calls
        if call_id is not None or tool is None:
            return calls.get(call_id or "")
        return next((call for call in reversed(calls.values()) if call.tool == tool and not call.done), None)

    def begin_call(self, call_id: str | None, tool: str) -> Call:
        """Remember a call, for its result."""
        call, calls = Call(tool), self.state.calls
        if call_id:
            if len(calls) >= CALLS:
                del calls[next(iter(calls))]
            calls[call_id] = call
        return call

    def result(
        self,
        call_id: str | None,
        text: str,
        *,
        images: list[object] | None = None,
        exit_code: int | None = None,
        is_error: bool | None = None,
        duration_ms: int | None = None,
        running: bool = False,
        rejected: bool = False,
    ) -> None:
        """What came back of a call; what its own item told before fills in what the text does not."""
        call = self.call(call_id) or Call("")
        call.done, call.running = True, running
        if exit_code is None and not running:
            exit_code = call.exit_code
        if is_error is None and (call.failed or exit_code is not None):
            is_error = call.failed or exit_code != 0
        started = next(
            (name for name, agent in self.facts.agents.items() if call_id and agent.call_id == call_id), None
        )
        flags: dict[str, object] = {
            "images": images,
            "background": running,
            "rejected": rejected,
            "agent_id": started,
        }
        self.out.emit(
            Actor.TOOL,
            EventType.TOOL_RESULT,
            one_line(text),
            text,
            call_id=call_id,
            tool=call.tool or None,
            exit_code=exit_code,
            is_error=is_error,
            duration_ms=call.duration_ms if call.duration_ms is not None else duration_ms,
            payload={name: flag for name, flag in flags.items() if flag} or None,
        )

    def link(self, thread: str | None, call_id: str | None, name: str | None = None) -> None:
        """Note which sub-agent a call started."""
        if not thread:
            return
        agent = self.facts.agents.setdefault(thread, Agent())
        agent.call_id = agent.call_id or call_id
        agent.description = agent.description or name

    # Accounting.

    def account(self, kind: str, record: bytes) -> Verdict:
        """How a record counts, by what it gave; one that gives nothing without being known for it is unknown."""
        if self.out.emitted:
            return verdict(MAPPED, kind)
        if kind in BOOKKEEPING_TYPES or kind in UNCOUNTED:
            return verdict(BOOKKEEPING, kind)
        return self.unknown(kind, record)

    def unknown(self, kind: str, record: bytes) -> Verdict:
        """A record that we do not know, kept whole."""
        text = record.decode("utf-8", "replace")
        self.out.emit(Actor.SYSTEM, EventType.UNKNOWN, one_line(f"{kind}: {text}"), text, payload={"kind": kind})
        return verdict(UNKNOWN, kind)
