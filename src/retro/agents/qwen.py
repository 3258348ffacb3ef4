"""Qwen Code: append-only JSONL, one file per session; an envelope much like Claude's around messages like Gemini's."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final

from retro.agents.emitter import one_line
from retro.agents.fields import Fields, as_text, count, first, items, mapping, string, text_in, words
from retro.agents.homes import homes
from retro.agents.interface import Facts, Root
from retro.agents.plain import PlainReader, time_of
from retro.agents.plainfiles import FileHost, Part, first_records, stem
from retro.event import Actor, EventType

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

HOST: Final = "qwen"
NORMALISER: Final = 1
META_NAME: Final = "meta.json"
MOVED_BY: Final = ("QWEN_RUNTIME_DIR", "QWEN_HOME")

BOOKKEEPING_TYPES: Final = {
    "line_ends": "the bytes between records",
    "bom": "a byte order mark at the beginning of a file",
    "system:custom_title": "the title of the session",
    "system:file_history_snapshot": "which backups of edited files exist",
}
"""Record types that give no event, each with the reason."""

UNCOUNTED: Final = {
    "system:ui_telemetry": "only failed requests give an event; calls and tokens are records of their own",
    "system:slash_command": "what a command printed gives an event only where it printed a text",
    "system:session_artifact_snapshot": "only those with a summary give an event",
    "user": "a record without text gives no event",
    "assistant": "a record without text, thought or call gives no event",
    "tool_result": "a record without a response gives no event",
}
"""Record types of which some give an event and some do not."""

_MACHINE: Final = frozenset({"notification", "cron"})
_INJECTED: Final = "<qwen:"


def roots(env: Mapping[str, str], extra: Sequence[str]) -> list[Root]:
    """QWEN_RUNTIME_DIR, QWEN_HOME, `~/.qwen`, and what the settings add."""
    wanted = [(env.get(name, ""), name) for name in ("QWEN_RUNTIME_DIR", "QWEN_HOME")]
    wanted += [(os.path.join(home, ".qwen"), "default") for home in homes(env)]
    return _FILES.roots([*wanted, *((entry, "settings") for entry in extra)])


def retention(root: Root) -> int | None:
    """This host deletes nothing by itself."""
    return None


def _look(path: str) -> Part | None:
    """A record of this host has an envelope with ids, and a message that is made of parts or a system's payload."""
    for record in first_records(path):
        ours = "parts" in mapping(record.get("message")) or "systemPayload" in record
        if ours and string(record.get("uuid")) and string(record.get("sessionId")):
            return Part(stem(path))
    return None


_FILES: Final = FileHost(HOST, ("projects/*/chats/*.jsonl", "tmp/*/chats/*.jsonl"), _look)
discover, claims, folder_of = _FILES.discover, _FILES.claims, _FILES.folder_of


def reader(session_id: str, key: str, source_key: str, saved: bytes, facts: Facts) -> QwenReader:
    """The reader of one session's file."""
    return QwenReader(session_id, source_key, saved, facts)


def sidecar_facts(key: str, content: bytes) -> Facts | None:
    """This host keeps nothing beside its sessions."""
    return None


class QwenReader(PlainReader):
    """Reads one session's file."""

    HOST: ClassVar[str] = HOST
    BOOKKEEPING_TYPES = BOOKKEEPING_TYPES
    UNCOUNTED = UNCOUNTED

    def locate(self, fields: Fields) -> str | None:
        """Fragments of one message come one behind the other with the same id: each is a record of its own."""
        self.out.timestamp = time_of(fields.get("timestamp"))
        self.work_in(fields.get("cwd"), fields.get("gitBranch"))
        self.written_by(fields.get("version"))
        name, notes = string(fields.get("uuid")), self.state.notes
        if name is None:
            return None
        number = int(notes.get("fragment", "0")) + 1 if notes.get("uuid") == name else 0
        notes["uuid"], notes["fragment"] = name, str(number)
        return f"{name}:{number}" if number else name

    def tell(self, fields: Fields) -> str:
        """Add what a record says."""
        kind = string(fields.get("type")) or "(none)"
        if kind == "system":
            kind = f"system:{string(fields.get('subtype')) or '(none)'}"
            self._system(kind, mapping(fields.get("systemPayload")))
        elif kind == "user":
            self._user(fields)
        elif kind == "assistant":
            self._assistant(fields)
        elif kind == "tool_result":
            self._results(fields)
        return kind

    def _parts(self, fields: Fields) -> list[Fields]:
        return [mapping(part) for part in items(mapping(fields.get("message")).get("parts"))]

    def _user(self, fields: Fields) -> None:
        """What a person typed, and what hooks put behind it."""
        typed = words(mapping(fields.get("systemPayload")).get("displayText"))
        texts = [text for text in (words(part.get("text")) for part in self._parts(fields)) if text]
        injected = [text for text in texts if text.startswith(_INJECTED)]
        said = [text for text in texts if text not in injected]
        subtype = string(fields.get("subtype"))
        if subtype in _MACHINE:
            self.notice(typed or "\n".join(said), subtype)
        elif said or typed:
            self.prompt("\n".join(said) or typed or "", kind=subtype)
        for text in injected:
            self.inject(text, "hook")

    def _assistant(self, fields: Fields) -> None:
        self.use(fields.get("model"))
        for part in self._parts(fields):
            text, call = words(part.get("text")), mapping(part.get("functionCall"))
            if call:
                self.call(string(call.get("id")), string(call.get("name")) or "tool", call.get("args"))
            elif text and part.get("thought") is True:
                self.think(text)
            elif text:
                self.answer(text)
            elif part and "text" not in part:
                raw = as_text(part)
                payload: Fields = {"kind": f"part:{next(iter(part))}"}
                self.out.emit(Actor.SYSTEM, EventType.UNKNOWN, one_line(raw), raw, payload=payload)
        used = mapping(fields.get("usageMetadata"))
        asked, cached = count(used.get("promptTokenCount")), count(used.get("cachedContentTokenCount"))
        made, thoughts = count(used.get("candidatesTokenCount")), count(used.get("thoughtsTokenCount"))
        if thoughts and count(used.get("totalTokenCount")) != asked + made:
            made += thoughts  # some providers count thoughts among the candidates, some beside them
        usage_id = string(fields.get("uuid")) or self.out.identity
        self.spend(usage_id, fresh=max(asked - cached, 0), read=cached, output=made, reasoning=thoughts)

    def _results(self, fields: Fields) -> None:
        about = mapping(fields.get("toolCallResult"))
        status = string(about.get("status"))
        for part in self._parts(fields):
            answer = mapping(part.get("functionResponse"))
            if answer:
                response = mapping(answer.get("response"))
                error = words(response.get("error"))
                self.result(
                    string(answer.get("id")) or string(about.get("callId")),
                    error or text_in(response) or text_in(about.get("resultDisplay")),
                    tool=string(answer.get("name")),
                    is_error=bool(error) or status == "error" if status or error else None,
                    rejected=status == "cancelled",
                )

    def _system(self, kind: str, payload: Fields) -> None:
        read = self._systems.get(kind)
        if read is not None:
            read(self, payload)

    def _title(self, payload: Fields) -> None:
        title = string(payload.get("customTitle"))
        if payload.get("titleSource") == "auto":
            self.facts.title, self.facts.host_title = None, title
        else:
            self.facts.title = title

    def _telemetry(self, payload: Fields) -> None:
        event = mapping(payload.get("uiEvent"))
        if text := words(event.get("error_message")):
            self.fail(text, string(event.get("error_type")) or "request", status=event.get("status_code"))

    def _compress(self, payload: Fields) -> None:
        info = mapping(payload.get("info"))
        before, after = info.get("originalTokenCount"), info.get("newTokenCount")
        kind = "system:chat_compression"
        self.compacted(words(payload.get("summary")), kind=kind, pre_tokens=before, post_tokens=after)

    def _rewind(self, payload: Fields) -> None:
        place = first(payload, "targetUuid") or "an earlier record"
        self.notice(f"the session was taken back to {place}", "rewind")

    def _artifact(self, payload: Fields) -> None:
        if text := words(payload.get("summary")):
            self.attach(text, "session_artifact_snapshot")

    def _files(self, payload: Fields) -> None:
        paths = [path for path in map(string, items(payload.get("filesRead"))) if path]
        self.attach(as_text(payload), "at_command", paths=paths or None)

    def _command(self, payload: Fields) -> None:
        """A slash command: typed, and later what it printed."""
        typed = words(payload.get("rawCommand"))
        printed = [mapping(item) for item in items(payload.get("outputHistoryItems"))]
        if payload.get("phase") == "result" or printed:
            text = "\n".join(filter(None, (words(item.get("text")) for item in printed)))
            if text:
                self.notice(text, "slash_command")
        elif typed:
            self.prompt(typed, slash_command=typed.split()[0])

    _systems: ClassVar[dict[str, Callable[[QwenReader, Fields], None]]] = {
        "system:custom_title": _title,
        "system:ui_telemetry": _telemetry,
        "system:slash_command": _command,
        "system:chat_compression": _compress,
        "system:rewind": _rewind,
        "system:session_artifact_snapshot": _artifact,
        "system:at_command": _files,
    }
