"""Factory's Droid: append-only JSONL sessions with messages of typed blocks, and what `droid exec` prints."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final

from retro.agents.blocks import answered, asked, spoke
from retro.agents.fields import Fields, first, first_words, mapping, string, text_in, words
from retro.agents.homes import homes
from retro.agents.interface import Facts, Root
from retro.agents.plain import PlainReader, exit_in, time_of
from retro.agents.plainfiles import BESIDE, MAIN, FileHost, Part, first_records, stem

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

HOST: Final = "droid"
NORMALISER: Final = 1
META_NAME: Final = "meta.json"
MOVED_BY: Final = ("FACTORY_HOME_OVERRIDE",)
SETTINGS: Final = ".settings.json"

BOOKKEEPING_TYPES: Final = {
    "line_ends": "the bytes between records",
    "bom": "a byte order mark at the beginning of a file",
    "session_end": "the program ended",
}
"""Record types that give no event, each with the reason."""

UNCOUNTED: Final = {
    "message": "one without text, call or result gives no event",
    "completion": "a final text that repeats the last answer gives no event",
}
"""Record types of which some give an event and some do not."""

_STREAM: Final = frozenset({"tool_call", "tool_result", "completion"})


def roots(env: Mapping[str, str], extra: Sequence[str]) -> list[Root]:
    """`~/.factory`, below FACTORY_HOME_OVERRIDE if that is set, and what the settings add."""
    moved = env.get("FACTORY_HOME_OVERRIDE", "").strip()
    wanted = [(os.path.join(moved, ".factory"), "FACTORY_HOME_OVERRIDE")] if moved else []
    wanted += [(os.path.join(home, ".factory"), "default") for home in homes(env)]
    return _FILES.roots([*wanted, *((entry, "settings") for entry in extra)])


def retention(root: Root) -> int | None:
    """This host deletes nothing by itself."""
    return None


def _look(path: str) -> Part | None:
    """A session begins with `session_start`; a stream has records that name their session."""
    if path.endswith(SETTINGS):
        beside = os.path.isfile(path[: -len(SETTINGS)] + ".jsonl")
        return Part(stem(path), f"{BESIDE}settings.json") if beside else None
    for record in first_records(path):
        kind = string(record.get("type"))
        if kind == "session_start" and string(record.get("id")):
            return Part(stem(path), MAIN)
        named = first(record, "session_id", "sessionId")
        ours = kind in _STREAM or (kind == "message" and "role" in record) or (kind == "system" and "cwd" in record)
        if named and ours and "uuid" not in record:
            return Part(named, MAIN)
    return None


_FILES: Final = FileHost(
    HOST, ("sessions/*/*.jsonl", "sessions/*.jsonl", "sessions/*/*.settings.json", "projects/*/*.jsonl"), _look
)
discover, claims, folder_of = _FILES.discover, _FILES.claims, _FILES.folder_of


def reader(session_id: str, key: str, source_key: str, saved: bytes, facts: Facts) -> DroidReader:
    """The reader of one session's file."""
    return DroidReader(session_id, source_key, saved, facts)


def sidecar_facts(key: str, content: bytes) -> Facts | None:
    """The settings beside a session tell nothing that its records do not."""
    return None


class DroidReader(PlainReader):
    """Reads one session's file, or one stream."""

    HOST: ClassVar[str] = HOST
    BOOKKEEPING_TYPES = BOOKKEEPING_TYPES
    UNCOUNTED = UNCOUNTED

    def locate(self, fields: Fields) -> str | None:
        """Ids are those of messages, or of calls: a call and its result have the same one in a stream."""
        self.out.timestamp = time_of(fields.get("timestamp"))
        self.work_in(fields.get("cwd"))
        self.use(fields.get("model"))
        name, kind = string(fields.get("id")), string(fields.get("type"))
        return f"{self.session_id}:{kind}:{name}" if name else None

    def tell(self, fields: Fields) -> str:
        """Add what a record says."""
        kind = string(fields.get("type")) or "(none)"
        read = TELLS.get(kind)
        if read is not None:
            read(self, fields)
        return kind

    def begin(self, fields: Fields) -> None:
        """`session_start` of a session's file."""
        self.facts.host_title = first(fields, "sessionTitle", "title")
        version = fields.get("version")
        self.written_by(version)
        self.start("session started", version=version, owner=fields.get("owner"))

    def stream(self, fields: Fields) -> None:
        """`system`, with which a stream begins."""
        self.start("session started", effort=fields.get("reasoning_effort"))

    def message(self, fields: Fields) -> None:
        """`message`: of a session's file it holds one, of a stream it is one."""
        self._message(mapping(fields.get("message")) or fields)

    def _message(self, message: Fields) -> None:
        role, content = message.get("role"), message.get("content", message.get("text"))
        if role == "assistant":
            self.use(message.get("model"))
            answered(self, content)
            if isinstance(content, str):
                self.state.notes["said"] = content.strip()
        elif role == "user" and isinstance(content, str):
            spoke(self, content)
        elif role == "user":
            asked(self, content)
        else:
            self.notice(text_in(content), string(role))

    def called(self, fields: Fields) -> None:
        """`tool_call`."""
        name = first(fields, "toolName", "toolId") or "tool"
        self.call(first(fields, "toolCallId", "id"), name, fields.get("parameters"))

    def returned(self, fields: Fields) -> None:
        """`tool_result`."""
        value = fields.get("value", fields.get("error"))
        about = mapping(value)
        streams = [words(about.get("stdout")), words(about.get("stderr"))]
        failed = fields.get("isError")
        self.result(
            first(fields, "toolCallId", "id"),
            "\n".join(filter(None, streams)) or text_in(value),
            is_error=failed if isinstance(failed, bool) else None,
            exit_code=exit_in(value),
        )

    def completed(self, fields: Fields) -> None:
        """`completion`: the last answer of a stream, which may have been told before, and all its tokens."""
        text = words(fields.get("finalText"))
        if text.strip() != self.state.notes.get("said"):
            self.answer(text)
        used = mapping(fields.get("usage"))
        self.spend(
            self.out.identity,
            fresh=used.get("input_tokens"),
            read=used.get("cache_read_input_tokens"),
            written=used.get("cache_creation_input_tokens"),
            output=used.get("output_tokens"),
        )

    def failed(self, fields: Fields) -> None:
        """`error`."""
        self.fail(first_words(fields, "message") or "error", string(fields.get("source")) or "error")

    def shortened(self, fields: Fields) -> None:
        """`compaction_state`."""
        self.compacted(first_words(fields, "summaryText", "summary"), kind="compaction_state")

    def plan(self, fields: Fields) -> None:
        """`todo_state`."""
        self.attach(text_in(fields.get("todos")), "todo_state")


TELLS: Final[dict[str, Callable[[DroidReader, Fields], None]]] = {
    "session_start": DroidReader.begin,
    "system": DroidReader.stream,
    "message": DroidReader.message,
    "tool_call": DroidReader.called,
    "tool_result": DroidReader.returned,
    "completion": DroidReader.completed,
    "error": DroidReader.failed,
    "compaction_state": DroidReader.shortened,
    "todo_state": DroidReader.plan,
}
"""What each type of record says."""
