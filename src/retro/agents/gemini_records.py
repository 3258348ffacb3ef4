"""What Gemini CLI's messages mean: in the object it rewrote with every turn, in its journal, in saved chats."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from hashlib import sha256
from typing import ClassVar, Final

from retro.agents.calls import Described, describe
from retro.agents.emitter import ALL, content_id, one_line
from retro.agents.fields import Fields, as_text, count, first, items, kept, mapping, parted, string, text_in, words
from retro.agents.gemini_kinds import BOOKKEEPING_TYPES, HOST, PROMPTS, UNCOUNTED
from retro.agents.interface import Agent, Batch, Facts, Verdict
from retro.agents.plain import PlainReader, image_in, time_of
from retro.agents.toolnames import tool_kind
from retro.event import Actor, EventType, Origin

_HOOK: Final = ("<hook_context>", "</hook_context>")
_WORKSPACE: Final = re.compile(r"\*\*Workspace Directories:\*\*\s*\n\s*- ([^\n]+)")
_CONTEXT: Final = "<session_context>"
_SNAPSHOT: Final = "<state_snapshot>"
_OWN_WORDS: Final = "System: "
_CANCELLED: Final = "Request cancelled."
_THANKS: Final = "Got it. Thanks for the additional context!"
"""What the host puts into the model's mouth behind a summary."""

_SHELL: Final = "run_shell_command"
_EXIT: Final = re.compile(r"^Exit Code: (-?\d+)\s*$", re.MULTILINE)
_NO_EXIT: Final = re.compile(
    r"^(?:Exit Code: |Signal: [^0\n]|Error: [^(\n]|Command (?:moved|is running))", re.MULTILINE
)
_PARTS: Final = frozenset({"text", "inlineData", "functionCall", "functionResponse"})
"""What the parts of a message are known by."""
_AGENT_TOOL: Final = "invoke_agent"


_KINDS: Final = frozenset({"user", "gemini", "model", "info", "warning", "error"})
"""Messages that are understood."""


class GeminiReader(PlainReader):
    """Reads one chat: a session's, a sub-agent's, or what the project's log has of a session."""

    HOST: ClassVar[str] = HOST
    BOOKKEEPING_TYPES = BOOKKEEPING_TYPES
    UNCOUNTED = UNCOUNTED
    REMEMBERED = ALL

    def __init__(self, session_id: str, key: str, source: str, saved: bytes, facts: Facts) -> None:
        agent_id = key.removeprefix("agent-") if key.startswith("agent-") else None
        super().__init__(session_id, source, saved, facts, agent_id)
        self._chat_is_there = key == PROMPTS

    def feed(self, record: bytes, line: int, offset: int, batch: Batch) -> Verdict:
        """Add what one record gives; each of its parts has an identity of its own."""
        self._before = len(batch.events)
        return super().feed(record, line, offset, batch)

    def locate(self, fields: Fields) -> str | None:
        """A message has an id, and is written again under it; so has one in a member of the session."""
        message = mapping(fields.get("value")) if "item" in fields else fields
        self.out.timestamp = time_of(message.get("timestamp"))
        return string(message.get("id")) if "$set" not in fields else None

    def tell(self, fields: Fields) -> str:
        """Add what a record says."""
        kind = self._tell(fields)
        self.out.emitted = len(self.out.batch.events) - self._before
        return kind

    def _tell(self, fields: Fields) -> str:
        if "table" in fields:
            return self._log(mapping(fields.get("row")))
        if "item" in fields:
            name, value = string(fields.get("name")), fields.get("value")
            return self._message(mapping(value)) if fields["item"] else self._member(name or "(none)", value)
        if (changes := fields.get("$set")) is not None:
            for name, value in mapping(changes).items():
                self._member(name, value)
            return "$set"
        if "$rewindTo" in fields:
            self.notice("the session was taken back to an earlier message", "rewind")
            return "$rewindTo"
        if "sessionId" in fields and "type" not in fields:
            for name, value in fields.items():
                self._member(name, value)
            return "header"
        return self._message(fields)

    def _named(self, name: str) -> None:
        """What follows is known by this name, whatever stood before it in the record."""
        self.out.identify(name.replace(".", "_"))
        self.out.emitted = 0

    # The session.

    def _member(self, name: str, value: object) -> str:
        if name == "startTime" and (began := time_of(value)):
            self.out.timestamp = began
            self._named(f"{self.session_id}:{self.out.agent_id or ''}:{began}")
            resumed = self.state.notes.get("began", began) != began
            self.state.notes.setdefault("began", began)
            self.start("session resumed" if resumed else "session started")
        elif name == "projectHash":
            self.state.notes["project"] = string(value) or ""
        elif name == "summary":
            self.facts.host_title = string(value) or self.facts.host_title
        elif name == "directories":
            self.work_in(next(iter(items(value)), None))
        elif name in ("messages", "history"):
            for message in map(mapping, items(value)):
                self._listed(message)
        return name

    def _listed(self, message: Fields) -> None:
        """A message in a list of a member, unless it was told before."""
        if self._is_told(message):
            return
        whole = as_text(message).encode("utf-8", "replace")
        self.out.timestamp = time_of(message.get("timestamp"))
        self._named(string(message.get("id")) or content_id(whole))
        kind = self._message(message)
        if message and kind not in _KINDS:
            self.unknown(kind, whole)

    def _is_told(self, message: Fields) -> bool:
        """Whether a message that is listed again was told before, with all its calls.

        A list holds what the model still gets: of results that are long there stands a note only.
        """
        told = self.state.notes.get(f"told:{string(message.get('id'))}")
        return told is not None and int(told) >= len(items(message.get("toolCalls")))

    def _log(self, row: Fields) -> str:
        text = string(row.get("message"))
        self.out.timestamp = time_of(row.get("timestamp"))
        if text is None or row.get("type") != "user":
            return "log"
        self._named(f"{self.session_id}:{row.get('messageId')}:{row.get('timestamp')}")
        if not self._chat_is_there:
            self.prompt(text, slash_command=_slash(text))
        elif command := _slash(text):
            self.out.emit(
                Actor.USER, EventType.ATTACHMENT, text, text, origin=Origin.HUMAN, payload={"slash_command": command}
            )
        return "log"

    def _found(self, path: str) -> None:
        """The session's folder is that one above a path whose hash is the project's."""
        wanted = self.state.notes.get("project")
        if not wanted or self.facts.cwd or not os.path.isabs(path):
            return
        folder = path.rstrip("/\\")
        while folder and folder != os.path.dirname(folder):
            if sha256(folder.encode("utf-8", "replace")).hexdigest() == wanted:
                self.work_in(folder)
                return
            folder = os.path.dirname(folder)

    # Messages.

    def _message(self, message: Fields) -> str:
        kind = first(message, "type", "role") or "(none)"
        self.out.timestamp = self.out.timestamp or time_of(message.get("ts"))
        name = self.out.identity
        content = message.get("content", message.get("parts"))
        if kind == "user":
            self._user(message, content)
        elif kind in ("gemini", "model"):
            self._answer(message, content)
        elif kind in ("info", "warning"):
            self._notice(text_in(content), kind)
        elif kind == "error":
            text = text_in(content)
            if text:
                self.fail(text, kind)
        self.state.notes[f"told:{name}"] = str(len(items(message.get("toolCalls"))))
        return kind

    def _notice(self, text: str, kind: str) -> None:
        if text == _CANCELLED:
            summary = "the person stopped the agent"
            payload: Fields = {"interrupt": True}
            self.out.emit(Actor.USER, EventType.MESSAGE, summary, origin=Origin.MACHINE, payload=payload)
        elif text:
            self.notice(text, kind)

    def _user(self, message: Fields, content: object) -> None:
        """What was typed, what hooks and files added to it, and results of calls."""
        name, shown = self.out.identity, message.get("displayContent")
        sent, images = _texts(content)
        typed = _texts(shown)[0] if shown is not None else sent
        hooks = [hook for text in (*sent, *typed) for hook in parted(text, *_HOOK)[0]]
        text = _without_hooks(typed)
        added = [part for part in map(_plain, sent) if part and part not in text] if shown is not None else []
        if text.startswith(_CONTEXT):
            found = _WORKSPACE.search(text)
            self.work_in(found[1].strip() if found else None)
            self.inject(text, "session_context")
        elif _SNAPSHOT in text:
            self.compacted(text)
        elif text.startswith(_OWN_WORDS):
            self.notice(text, "continue")
        elif text or images:
            self.prompt(text, images=images, slash_command=_slash(text))
        for part in added:
            own = not text or part.startswith(_OWN_WORDS)
            self.inject(part, "context", Origin.MACHINE if own else Origin.INJECTED)
        for hook in dict.fromkeys(hooks):
            self.inject(hook, "hook")
        for odd in _parts(content):
            self._odd(odd)
        for response in _responses(content):
            call_id = string(response.get("id"))
            if call_id is None or call_id not in self.state.calls:
                self._named(f"{name}:{call_id}:result")
                self._result(call_id, string(response.get("name")), [{"functionResponse": response}], {})

    def _odd(self, part: Fields) -> None:
        """A part that we do not know, kept whole."""
        if part and _PARTS.isdisjoint(part):
            text = as_text(part)
            kind = f"part:{next(iter(part))}"
            self.out.emit(Actor.SYSTEM, EventType.UNKNOWN, one_line(text), text, payload={"kind": kind})

    def _answer(self, message: Fields, content: object) -> None:
        name = self.out.identity
        self.use(message.get("model"))
        for thought in map(mapping, items(message.get("thoughts"))):
            subject, about = words(thought.get("subject")), words(thought.get("description"))
            self.think(f"**{subject}** {about}".strip() if subject else about)
        listed = [mapping(call) for call in items(message.get("toolCalls"))]
        for part in _parts(content):
            text, asked = words(part.get("text")), mapping(part.get("functionCall"))
            if asked and not listed:
                self.call(string(asked.get("id")), string(asked.get("name")) or "tool", asked.get("args"))
            elif text and part.get("thought") is True:
                self.think(text)
            elif text == _THANKS and not message.get("model"):
                self.notice(text, "continue")
            elif text:
                self.answer(text)
            else:
                self._odd(part)
        self._tokens(name, mapping(message.get("tokens")))
        for number, call in enumerate(listed):
            self._call(f"{name}:{string(call.get('id')) or number}", call)

    def _call(self, name: str, call: Fields) -> None:
        """A call and its result, which the host writes as one."""
        at = self.out.timestamp
        call_id, tool = string(call.get("id")) or name, string(call.get("name")) or "tool"
        given = mapping(call.get("args"))
        self._named(name)
        self.call(call_id, tool, given, self._described(tool, given, call))
        for path in filter(None, (string(value) for value in given.values())):
            self._found(path)
        if call.get("result") is not None or call.get("resultDisplay"):
            self.out.timestamp = time_of(call.get("timestamp")) or at
            self._named(f"{name}:result")
            self._result(call_id, tool, items(call.get("result")), call)
            self.out.timestamp = at

    def _described(self, tool: str, given: Fields, call: Fields) -> Described:
        agent = string(call.get("agentId"))
        if tool == _AGENT_TOOL or agent:
            kind = string(given.get("agent_name")) or (tool if tool != _AGENT_TOOL else None)
            task = first(given, "prompt", "objective", "task", "query", "question") or as_text(given)
            if agent:
                self.facts.agents[agent] = Agent(string(call.get("id")), kind)
            return Described(EventType.SUBAGENT_START, one_line(task), task, payload=kept(agent_type=kind))
        return describe(tool_kind(tool), tool, given)

    def _result(self, call_id: str | None, tool: str | None, parts: list[object], call: Fields) -> None:
        texts, hooks, failed = [], [], False
        for part in map(mapping, parts):
            response = mapping(mapping(part.get("functionResponse")).get("response"))
            error = string(response.get("error"))
            failed = failed or error is not None
            text = error or (text_in(response) if response else words(part.get("text")))
            hooks += parted(text, *_HOOK)[0]
            texts.append(_plain(text))
        text = "\n".join(filter(None, texts)) or text_in(call.get("resultDisplay"))
        status = string(call.get("status"))
        code = _exit_code(text, status) if tool == _SHELL else None
        self.result(
            call_id,
            text,
            tool=tool,
            is_error=True if failed or status == "error" else (code != 0 if code is not None else None),
            exit_code=code,
            rejected=status == "cancelled",
        )
        for hook in hooks:
            self.inject(hook, "hook")

    def _tokens(self, name: str, used: Fields) -> None:
        """What is cached is part of the input; thoughts come beside the output, but for servers that count them in."""
        asked, cached, tool = (count(used.get(part)) for part in ("input", "cached", "tool"))
        made, thoughts = count(used.get("output")), count(used.get("thoughts"))
        if count(used.get("total")) != asked + tool + made:
            made += thoughts
        fresh = max(asked - cached, 0) + tool
        self.spend(name, fresh=fresh, read=cached, output=made, reasoning=thoughts)


def _parts(content: object) -> Iterator[Fields]:
    for part in items(content) if isinstance(content, list) else [content]:
        yield {"text": part} if isinstance(part, str) else mapping(part)


def _texts(content: object) -> tuple[list[str], list[object]]:
    """The texts of a content, and what is told of its images."""
    found, images = [], []
    for part in _parts(content):
        if text := words(part.get("text")):
            found.append(text)
        elif "inlineData" in part:
            images.append(image_in(part))
    return found, list[object](images)


def _responses(content: object) -> Iterator[Fields]:
    for part in _parts(content):
        if "functionResponse" in part:
            yield mapping(part["functionResponse"])


def _plain(text: str) -> str:
    """A text without what hooks added."""
    _, pieces = parted(text, *_HOOK)
    return "\n".join(piece.strip() for piece in pieces).strip() if len(pieces) > 1 else text


def _without_hooks(texts: list[str]) -> str:
    return "\n".join(filter(None, map(_plain, texts))).rstrip("\n")


def _slash(text: str) -> str | None:
    found = re.match(r"/[a-z][\w:-]*(?=\s|$)", text)
    return found[0] if found else None


def _exit_code(text: str, status: str | None) -> int | None:
    """A command's exit code, which is told where it is not 0."""
    found = _EXIT.search(text)
    if found is not None:
        return int(found[1])
    return 0 if status == "success" and not _NO_EXIT.search(text) else None
