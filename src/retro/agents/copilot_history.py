"""Sessions as GitHub Copilot CLI kept them before 0.0.342: one JSON document each, written anew with every message."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from typing import ClassVar, Final

import msgspec

from retro.agents.blocks import answered, asked
from retro.agents.copilot_kinds import BOOKKEEPING_TYPES, HOST, UNCOUNTED
from retro.agents.emitter import ALL
from retro.agents.fields import Fields, first_words, items, mapping, string, text_in
from retro.agents.homes import head, scan, source
from retro.agents.interface import DOCUMENT, SIDECAR, TRANSCRIPT, Facts, Source
from retro.agents.plain import PlainReader, time_of

BESIDE: Final = "sidecars/history-session-state.json"
SHOWN: Final = "history"
"""Key of a document with a timeline: what its window showed."""
SPOKEN: Final = "history-messages"
"""Key of one without: what the model was given and gave."""

_SESSION: Final = re.compile(rb'"sessionId"\s*:\s*"([\w.-]{1,200})"')
_BODY: Final = re.compile(rb'"(?:timeline|chatMessages)"\s*:\s*\[')
_TIMELINE: Final = re.compile(rb'"timeline"\s*:\s*\[\s*\{')
_LONGEST: Final = 64 * 1024 * 1024


def discover(folder: str, present: Collection[str]) -> Iterator[Source]:
    """Every document; one whose session goes on in a folder of its own is kept beside that."""
    for entry in scan(folder):
        if entry.name.endswith(".json") and entry.is_file():
            yield from claims(entry.path, present)


def claims(path: str, present: Collection[str] = ()) -> Iterator[Source]:
    """What a file stands for; nothing if it is no such document."""
    data = head(path, _LONGEST)
    session = _SESSION.search(data) if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" else None
    if session is None or not _BODY.search(data):
        return
    name, stat = session[1].decode(), os.stat(path)
    if name in present:
        yield source(HOST, name, BESIDE, SIDECAR, path, os.path.basename(path), stat)
        return
    key = SHOWN if _TIMELINE.search(data) else SPOKEN
    found = source(HOST, name, key, TRANSCRIPT, path, "history.json", stat)
    yield msgspec.structs.replace(found, form=DOCUMENT)


class HistoryReader(PlainReader):
    """Reads one document: its timeline, or its messages where it has none."""

    HOST: ClassVar[str] = HOST
    BOOKKEEPING_TYPES = BOOKKEEPING_TYPES
    UNCOUNTED = UNCOUNTED
    REMEMBERED: ClassVar[int] = ALL

    def __init__(self, session_id: str, key: str, source: str, saved: bytes, facts: Facts) -> None:
        super().__init__(session_id, source, saved, facts)
        self._spoken = key == SPOKEN

    def locate(self, fields: Fields) -> str | None:
        """Entries of a timeline have an id and a time."""
        entry = mapping(fields.get("value")) if fields.get("item") else {}
        self.out.timestamp = time_of(entry.get("timestamp"))
        name = string(entry.get("id"))
        return f"{self.session_id}:{name}:{entry.get('type')}" if name else None

    def tell(self, fields: Fields) -> str:
        """Add what a member says, or an entry of a list."""
        name, value = string(fields.get("name")) or "(none)", fields.get("value")
        if name == "timeline" and fields.get("item"):
            return self._entry(mapping(value))
        if name == "chatMessages" and fields.get("item") and self._spoken:
            self._message(mapping(value))
        elif name == "startTime":
            self.out.timestamp = self.facts.native_start = time_of(value)
            self.start("session started")
        elif name == "selectedModel":
            self.use(value)
        return f"history.{name}"

    def _entry(self, entry: Fields) -> str:
        """What the window showed."""
        kind, text = string(entry.get("type")) or "(none)", first_words(entry, "text", "expandedText")
        call_id = string(entry.get("callId"))
        if kind == "user" and text:
            self.prompt(text, images=items(entry.get("imageAttachments")))
        elif kind == "copilot" and text:
            self.answer(text)
        elif kind == "tool_call_requested":
            self.call(call_id, string(entry.get("name")) or "tool", entry.get("arguments"))
        elif kind == "tool_call_completed":
            self._completed(entry, call_id)
        elif text:
            self.notice(text, kind)
        return f"timeline.{kind}"

    def _completed(self, entry: Fields, call_id: str | None) -> None:
        """A result; a call that was not announced is told by it."""
        tool, result = string(entry.get("name")) or "tool", mapping(entry.get("result"))
        if call_id not in self.state.calls:
            self.call(call_id, tool, entry.get("arguments"))
        text = first_words(result, "log", "message") or text_in(entry.get("result"))
        status = string(result.get("type"))
        self.result(call_id, text, tool=tool, is_error=status != "success" if status else None)

    def _message(self, message: Fields) -> None:
        """What was said, where no timeline tells it."""
        role, content = string(message.get("role")), message.get("content")
        if role == "user":
            asked(self, content)
        elif role == "tool":
            self.result(string(message.get("tool_call_id")), text_in(content))
        elif role == "assistant":
            answered(self, content)
            for call in map(mapping, items(message.get("tool_calls"))):
                named = mapping(call.get("function"))
                self.call(string(call.get("id")), string(named.get("name")) or "tool", named.get("arguments"))
        elif text := text_in(content):
            self.inject(text, role)
