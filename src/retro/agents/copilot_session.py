"""What a Copilot CLI session is, and what the host itself does and says in it: errors, compactions, tokens."""

from __future__ import annotations

import msgspec

from retro.agents.copilot_kinds import HOST, remote
from retro.agents.copilot_usage import Spent, Tokens, compacted, recorded, remaining
from retro.agents.emitter import Emitter, Progress, one_line, utc
from retro.agents.fields import Fields, as_text, first, first_words, kept, mapping, string, whole, words
from retro.agents.interface import Agent, Facts
from retro.event import Actor, EventType, Origin, Quality, Usage


class State(msgspec.Struct):
    """What a source's events depend on, kept between sweeps."""

    progress: Progress = msgspec.field(default_factory=Progress)
    cwd: str | None = None
    branch: str | None = None
    calls: dict[str, str] = {}
    """Tools of the calls that were seen."""
    hooked: str = ""
    """Hash of what hooks said last, to know it where it stands in the prompt again."""
    thought: str = ""
    """Hash of the last reasoning, which older versions tell twice."""
    model: str | None = None
    """The one that was chosen last; before 1.0.7x answers do not name theirs."""
    spent: Spent = msgspec.field(default_factory=Spent)


class CopilotSession:
    """Keeps what is known of one session, and reads the records of the host."""

    def __init__(self, session_id: str, source: str, saved: bytes, facts: Facts) -> None:
        self.state = msgspec.msgpack.decode(saved, type=State) if saved else State()
        self.facts = facts
        self.session_id, self.source = session_id, source
        self.out = Emitter(HOST, session_id, source, self.state.progress)

    def save(self) -> bytes:
        """The state to go on from."""
        return msgspec.msgpack.encode(self.state)

    # What a session is.

    def begin(self, data: Fields) -> None:
        """`session.start`."""
        facts = self.facts
        self.look(data)
        self.choose(data)
        facts.native_start = facts.native_start or utc(string(data.get("startTime"))) or self.out.timestamp
        facts.parent = facts.parent or string(data.get("detachedFromSpawningParentSessionId"))
        version = string(data.get("copilotVersion"))
        if version and version not in facts.versions:
            facts.versions.append(version)
        context = mapping(data.get("context"))
        payload = kept(
            version=version,
            producer=string(data.get("producer")),
            commit=string(context.get("headCommit")),
            remote=remote(context, context.get("repository")),
        )
        self.out.shared = self.out.where(self.state.cwd, self.state.branch)
        self.out.emit(
            Actor.SYSTEM, EventType.SESSION_START, one_line(f"session started {version or ''}"), payload=payload
        )

    def look(self, data: Fields) -> None:
        """Where a session works: told when it begins, goes on and moves."""
        context = mapping(data.get("context")) or data
        state, facts = self.state, self.facts
        state.cwd = string(context.get("cwd")) or state.cwd
        state.branch = string(context.get("branch")) or state.branch
        facts.cwd = facts.cwd or state.cwd
        facts.branch = state.branch or facts.branch

    def end(self, data: Fields) -> None:
        """`session.shutdown`; its totals hold what no record of a request told."""
        reason = string(data.get("errorReason"))
        kind = string(data.get("shutdownType"))
        self.out.emit(
            Actor.SYSTEM,
            EventType.SESSION_END,
            one_line(f"session ended {kind or ''}"),
            reason,
            is_error=True if reason else None,
            payload=kept(kind=kind),
        )
        for model, tokens in remaining(self.state.spent, mapping(data.get("modelMetrics"))):
            self.note(f"{self.out.identity}:{model}", model, tokens)

    def title(self, data: Fields) -> None:
        """`session.title_changed`."""
        title = string(data.get("title"))
        if title is not None:
            self.facts.host_title = title
            self.out.emit(Actor.SYSTEM, EventType.ATTACHMENT, one_line(f"title: {title}"), title)

    def choose(self, data: Fields) -> None:
        """`session.model_change` and `session.auto_mode_resolved`; a sub-agent's choice is its own."""
        if self.out.agent_id is None:
            self.state.model = first(data, "newModel", "chosenModel", "selectedModel") or self.state.model

    def link(self, agent_id: str, call_id: str | None, data: Fields) -> None:
        """Note what is told of a sub-agent."""
        agent = self.facts.agents.setdefault(agent_id, Agent())
        agent.call_id = agent.call_id or call_id
        agent.agent_type = agent.agent_type or first(data, "agentType", "agentName")
        agent.description = agent.description or first(data, "agentDescription", "agentDisplayName")

    # What the host does and says.

    def failed(self, data: Fields) -> None:
        """`session.error`."""
        text = words(data.get("message")) or as_text(data)
        payload = kept(kind=string(data.get("errorType")), status=whole(data.get("statusCode")))
        self.out.emit(Actor.SYSTEM, EventType.ERROR, one_line(text), text, is_error=True, payload=payload)

    def tell(self, data: Fields) -> None:
        """A text that the host shows."""
        text = first_words(data, "message", "content", "summary", "prompt")
        if text is not None:
            about = first(data, "infoType", "warningType", "sourceType") or first(mapping(data.get("kind")), "type")
            self.out.emit(
                Actor.SYSTEM,
                EventType.MESSAGE,
                one_line(text),
                text,
                origin=Origin.MACHINE,
                payload=kept(kind=about or "notice"),
            )

    def stopped(self, data: Fields) -> None:
        """`abort`: a person stopped the agent."""
        text = words(data.get("reason")) or "aborted"
        payload: dict[str, object] = {"kind": "abort", "interrupt": True}
        self.out.emit(Actor.SYSTEM, EventType.MESSAGE, one_line(text), text, origin=Origin.MACHINE, payload=payload)

    def compacted(self, data: Fields) -> None:
        """`session.compaction_complete`, with the tokens that it took."""
        text, error = words(data.get("summaryContent")) or None, words(data.get("error"))
        if string(data.get("outcome")) == "cancelled":  # the turn was over before it was done
            self.tell({"message": error or "the compaction was cancelled", "infoType": "compaction"})
        elif data.get("success") is False:
            about = error or "the compaction failed"
            self.out.emit(
                Actor.SYSTEM, EventType.ERROR, one_line(about), about, is_error=True, payload={"kind": "compaction"}
            )
        else:
            trigger = string(data.get("trigger"))
            summary = f"the context was compacted ({trigger or 'trigger unknown'})"
            payload = kept(
                trigger=trigger,
                pre_tokens=whole(data.get("preCompactionTokens")),
                post_tokens=whole(data.get("postCompactionTokens")),
            )
            self.out.emit(Actor.SYSTEM, EventType.COMPACTION, summary, text, payload=payload)
        used = mapping(data.get("compactionTokensUsed"))
        found = compacted(used)
        if found is not None:
            name = first(data, "compactionAttemptId", "requestId") or self.out.identity
            self.note(name, string(used.get("model")), found)

    def dropped(self, data: Fields) -> None:
        """`session.truncation` and `session.context_cleared`: what was said before is no longer sent."""
        payload = kept(
            kind="cleared" if "messagesCleared" in data else "truncation",
            pre_tokens=whole(data.get("preTruncationTokensInMessages")),
            post_tokens=whole(data.get("postTruncationTokensInMessages")),
        )
        self.out.emit(
            Actor.SYSTEM,
            EventType.COMPACTION,
            "earlier messages were left out of the context",
            words(data.get("initialMessage")) or None,
            payload=payload,
        )

    # Tokens.

    def spend(self, data: Fields) -> None:
        """`session.usage_record`: one request."""
        used = mapping(data.get("usage"))
        model = string(used.get("model"))
        found = recorded(self.state.spent, model, used)
        accounting = mapping(used.get("accounting"))
        name = string(accounting.get("usageId")) or string(used.get("apiCallId")) or self.out.identity
        self.note(name, model, found)

    def note(self, usage_id: str, model: str | None, tokens: Tokens, quality: Quality = Quality.EXACT) -> None:
        """Note the tokens of a request."""
        self.out.batch.usage.append(
            Usage(
                usage_id=usage_id,
                session_id=self.session_id,
                host=HOST,
                source=self.source,
                line=self.out.reference.line,
                timestamp=self.out.timestamp,
                model=model,
                turn=self.state.progress.turn or None,
                agent_id=self.out.agent_id,
                input_tokens=tokens.fresh,
                cache_write_5m_tokens=tokens.written,
                cache_read_tokens=tokens.cached,
                output_tokens=tokens.output,
                reasoning_tokens=tokens.reasoning,
                quality=quality,
            )
        )
