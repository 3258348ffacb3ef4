"""Antigravity's command line: numbered steps in append-only JSONL; results stand in steps of their own."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from retro.agents.calls import Described, describe
from retro.agents.emitter import one_line
from retro.agents.fields import Fields, between, first, items, mapping, string, words
from retro.agents.homes import homes
from retro.agents.interface import Facts, Root, Source
from retro.agents.plain import PlainReader, parsed, time_of
from retro.agents.plainfiles import MAIN, FileHost, Part, first_records, is_below, stem
from retro.agents.toolnames import tool_kind
from retro.event import EventType

__all__ = [
    "BOOKKEEPING_TYPES",
    "HOST",
    "META_NAME",
    "MOVED_BY",
    "NORMALISER",
    "UNCOUNTED",
    "claims",
    "discover",
    "folder_of",
]

HOST: Final = "antigravity"
NORMALISER: Final = 1
META_NAME: Final = "meta.json"
MOVED_BY: Final = ()

BOOKKEEPING_TYPES: Final = {
    "line_ends": "the bytes between records",
    "bom": "a byte order mark at the beginning of a file",
    "EPHEMERAL_MESSAGE": "the host's own reminders to the model",
}
"""Record types that give no event, each with the reason."""

UNCOUNTED: Final = {
    "CONVERSATION_HISTORY": "only one with a text gives an event",
    "PLANNER_RESPONSE": "one without text, thought or call gives no event",
    "USER_INPUT": "one without text gives no event",
}
"""Record types of which some give an event and some do not."""

_REQUEST: Final = ("<USER_REQUEST>", "</USER_REQUEST>")
_MODEL: Final = re.compile(r"`Model Selection` from .*? to (.+?)\.?\s*$", re.MULTILINE)
_FIELDS: Final = {
    "DirectoryPath": "path",
    "TargetFile": "path",
    "AbsolutePath": "path",
    "SearchPath": "path",
    "CommandLine": "command",
    "CodeContent": "content",
    "CodeEdit": "content",
    "Query": "query",
    "Url": "url",
}
"""The host's names of arguments, and what other hosts call them."""


def roots(env: Mapping[str, str], extra: Sequence[str]) -> list[Root]:
    """`~/.gemini/antigravity-cli`, `~/.gemini/antigravity`, and what the settings add."""
    below = ("antigravity-cli", "antigravity")
    wanted = [(os.path.join(home, ".gemini", name), "default") for home in homes(env) for name in below]
    return _FILES.roots([*wanted, *((entry, "settings") for entry in extra)])


def retention(root: Root) -> int | None:
    """This host deletes nothing by itself."""
    return None


def _look(path: str) -> Part | None:
    """A record of this host is a numbered step with a type in capitals."""
    for record in first_records(path)[:3]:
        kind = string(record.get("type"))
        if "step_index" in record and kind and kind == kind.upper() and "source" in record:
            if is_below(path, ".system_generated"):
                parts = path.replace(os.sep, "/").split("/")
                return Part(parts[parts.index(".system_generated") - 1], MAIN)
            return Part(stem(path), MAIN)
    return None


_BELOW: Final = "brain/*/.system_generated"
_FILES: Final = FileHost(HOST, (f"{_BELOW}/logs/transcript.jsonl", f"{_BELOW}/*.jsonl"), _look)
discover, claims = _FILES.discover, _FILES.claims


def folder_of(source: Source) -> str | None:
    """The steps do not tell the folder in which the agent works."""
    return None


def reader(session_id: str, key: str, source_key: str, saved: bytes, facts: Facts) -> AntigravityReader:
    """The reader of one conversation's steps."""
    return AntigravityReader(session_id, source_key, saved, facts)


def sidecar_facts(key: str, content: bytes) -> Facts | None:
    """Nothing beside the steps is captured."""
    return None


class AntigravityReader(PlainReader):
    """Reads one conversation's steps. Their numbers restart, so that a step is known by its place."""

    HOST: ClassVar[str] = HOST
    BOOKKEEPING_TYPES = BOOKKEEPING_TYPES
    UNCOUNTED = UNCOUNTED

    def locate(self, fields: Fields) -> str | None:
        """Steps have times, the session neither a folder nor a version."""
        self.out.timestamp = time_of(fields.get("created_at"))
        return f"{self.session_id}:{self.state.count}"

    def tell(self, fields: Fields) -> str:
        """Add what a step says."""
        kind, text = string(fields.get("type")) or "(none)", words(fields.get("content"))
        if kind == "USER_INPUT":
            self._user(text)
        elif kind == "PLANNER_RESPONSE":
            self.think(words(fields.get("thinking")))
            self.answer(text)
            self.state.notes.pop("open", None)  # calls whose results did not come
            for number, call in enumerate(items(fields.get("tool_calls"))):
                self._call(number, mapping(call))
        elif kind == "CHECKPOINT":
            self.compacted(text, kind=kind)
        elif kind == "ERROR_MESSAGE":
            self.fail(text, kind)
        elif kind in ("SYSTEM_MESSAGE", "CONVERSATION_HISTORY"):
            if text:
                self.notice(text, kind)
        elif fields.get("source") == "MODEL" and kind != "EPHEMERAL_MESSAGE":
            self._result(kind, text, string(fields.get("status")))
        for event in self.out.batch.events[-1:]:
            if fields.get("truncated_fields") and event.text:
                event.truncated = True  # by the host, for this file
        return kind

    def _user(self, text: str) -> None:
        asked = between(text, *_REQUEST)
        mark, end = _REQUEST
        around = text.replace(f"{mark}{asked}{end}", "", 1).strip() if asked is not None else ""
        chosen = _MODEL.search(around)
        if chosen:
            self.use(chosen[1].strip())
        if around:
            self.inject(around, "USER_SETTINGS_CHANGE" if chosen else "context")
        if asked is not None or text:
            self.prompt(text if asked is None else asked.strip())

    def _call(self, number: int, call: Fields) -> None:
        """A call; its arguments are texts of JSON."""
        given = mapping(call.get("args"))
        plain = {_FIELDS.get(name, name): _unquoted(value) for name, value in given.items()}
        name = string(call.get("name")) or "tool"
        call_id = string(call.get("id")) or f"{self.out.identity}:{number}"
        kind = tool_kind(name)
        described = describe(kind, name, plain)
        if described.event_type is EventType.TOOL_CALL:
            about = first(given, "toolSummary", "toolAction")
            summary = one_line(f"{name} {_unquoted(about)}") if about else described.summary
            described = Described(EventType.TOOL_CALL, summary, described.text, paths=described.paths)
        self.state.notes["open"] = f"{self.state.notes.get('open', '')}\n{call_id}".strip()
        self.call(call_id, name, None, described)

    def _result(self, kind: str, text: str, status: str | None) -> None:
        """What came of a call: that of the first one that is still open, since the host names none."""
        waiting = [name for name in self.state.notes.get("open", "").split("\n") if name]
        call_id = waiting.pop(0) if waiting else None
        self.state.notes["open"] = "\n".join(waiting)
        self.result(call_id, text, is_error=True if status in ("ERROR", "FAILED") else None, kind=kind)


def _unquoted(value: object) -> object:
    if isinstance(value, str) and value[:1] == '"' and value[-1:] == '"':
        found = parsed('{"value":' + value + "}")
        return mapping(found).get("value", value)
    return value
