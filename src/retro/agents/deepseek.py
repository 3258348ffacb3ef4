"""DeepSeek's harness (dsh): numbered events in append-only JSONL, compressed by newer versions."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final

from retro.agents.blocks import CALLS, answered
from retro.agents.calls import difference
from retro.agents.fields import Fields, as_text, blocks, first, first_words, items, mapping, string, text_in, words
from retro.agents.homes import homes
from retro.agents.interface import Facts, Root
from retro.agents.plain import PlainReader, spoken, time_of
from retro.agents.plainfiles import MAIN, FileHost, Part, first_records

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

HOST: Final = "deepseek"
NORMALISER: Final = 1
META_NAME: Final = "meta.json"
MOVED_BY: Final = ("DSH_HOME",)

BOOKKEEPING_TYPES: Final = {
    "line_ends": "the bytes between records",
    "bom": "a byte order mark at the beginning of a file",
    "permission/preset": "a setting",
    "request/context": "provider and model of a request",
    "session/title": "the title of the session",
    "turn/start": "a turn began",
    "turn/end": "a turn ended",
    "step/start": "a request to the model began",
    "step/end": "a request to the model ended",
    "assistant/chunk": "a part of a message whose whole follows",
    "assistant/finish": "a message ended",
    "text-chunks": "parts of a message whose whole follows",
    "reasoning-chunks": "parts of a thought whose whole follows",
}
"""Record types that give no event, each with the reason."""

UNCOUNTED: Final = {"assistant/message": "one without text, thought or call gives no event"}
"""Record types of which some give an event and some do not."""


def roots(env: Mapping[str, str], extra: Sequence[str]) -> list[Root]:
    """DSH_HOME, `~/.dsh`, and what the settings add."""
    moved = env.get("DSH_HOME", "").strip()
    wanted = [(moved, "DSH_HOME"), (os.path.join(moved, "data", "dsh"), "DSH_HOME")] if moved else []
    wanted += [(os.path.join(home, ".dsh"), "default") for home in homes(env)]
    return _FILES.roots([*wanted, *((entry, "settings") for entry in extra)])


def retention(root: Root) -> int | None:
    """This host deletes nothing by itself."""
    return None


def _look(path: str) -> Part | None:
    """The first record names the session, and what it was delegated by."""
    for record in first_records(path)[:1]:
        if record.get("type") == "session" and ("delegationDepth" in record or "createdAt" in record):
            return Part(string(record.get("id")) or os.path.basename(os.path.dirname(path)), MAIN)
    return None


_FILES: Final = FileHost(
    HOST, ("sessions/*/*/session*.jsonl", "sessions/*/*/session*.jsonl.zst", "sessions/*/*/session*.jsonl.zstd"), _look
)
discover, claims, folder_of = _FILES.discover, _FILES.claims, _FILES.folder_of


def reader(session_id: str, key: str, source_key: str, saved: bytes, facts: Facts) -> DeepseekReader:
    """The reader of one session's file."""
    return DeepseekReader(session_id, source_key, saved, facts)


def sidecar_facts(key: str, content: bytes) -> Facts | None:
    """This host keeps nothing beside its sessions."""
    return None


class DeepseekReader(PlainReader):
    """Reads one session's file."""

    HOST: ClassVar[str] = HOST
    BOOKKEEPING_TYPES = BOOKKEEPING_TYPES
    UNCOUNTED = UNCOUNTED

    def locate(self, fields: Fields) -> str | None:
        """Events are numbered within their session."""
        self.out.timestamp = time_of(fields.get("time") or fields.get("createdAt"))
        number = fields.get("seq")
        return f"{self.session_id}:{number}" if isinstance(number, int) else None

    def tell(self, fields: Fields) -> str:
        """Add what an event says."""
        kind = string(fields.get("type")) or "(none)"
        read = TELLS.get(kind)
        if read is not None:
            read(self, fields, mapping(fields.get("data")))
        return kind

    def begin(self, fields: Fields, data: Fields) -> None:
        """`session`."""
        self.work_in(fields.get("cwd"))
        self.facts.parent = first(fields, "parentId", "parentSessionId") or self.facts.parent
        self.start("session started", version=fields.get("version"), kind=string(fields.get("agentPreset")))

    def choose(self, fields: Fields, data: Fields) -> None:
        """`request/context`."""
        self.use(data.get("model"))

    def title(self, fields: Fields, data: Fields) -> None:
        """`session/title`."""
        title, by = string(data.get("title")), mapping(data.get("source")).get("kind")
        if by == "user":
            self.facts.title = title
        else:
            self.facts.host_title = title

    def user(self, fields: Fields, data: Fields) -> None:
        """`user/message`."""
        message = _message(data)
        text, images = spoken(message.get("content"))
        source = mapping(message.get("source"))
        if source.get("kind") in (None, "user"):
            self.prompt(text, images=images)
        else:
            self.inject(text, first(source, "plugin", "kind"))

    def assistant(self, fields: Fields, data: Fields) -> None:
        """`assistant/message`: its calls are events of their own."""
        message = _message(data)
        self.use(mapping(message.get("source")).get("model"))
        told = [block for block in blocks(message.get("content")) if string(block.get("type")) not in CALLS]
        answered(self, told)
        self._tokens(data, mapping(data.get("usage")))

    def chunk(self, fields: Fields, data: Fields) -> None:
        """`assistant/chunk`: a piece of an answer, the last one with tokens."""
        self._tokens(data, mapping(mapping(data.get("chunk")).get("usage")))

    def _tokens(self, data: Fields, used: Fields) -> None:
        """Tokens of a step: told when it ends, and again with its message."""
        self.spend(
            f"{self.session_id}:{data.get('turn')}:{data.get('step')}",
            fresh=used.get("inputTokens"),
            read=used.get("cacheReadTokens"),
            written=used.get("cacheWriteTokens"),
            output=used.get("outputTokens"),
            reasoning=used.get("reasoningTokens"),
        )

    def called(self, fields: Fields, data: Fields) -> None:
        """`tool/call`. Results may name the number of their call's event instead of the call."""
        call_id = string(data.get("callId"))
        if call_id:
            self.state.notes[f"call {fields.get('seq')}"] = call_id
        self.call(call_id, string(data.get("name")) or "tool", data.get("arguments"))

    def returned(self, fields: Fields, data: Fields) -> None:
        """`tool/result`."""
        message, notes = _message(data), self.state.notes
        named = string(mapping(message.get("source")).get("callId"))
        pointed = [notes.pop(f"call {number}", None) for number in items(fields.get("sourceEventSeqs"))]
        call_id = named or next(filter(None, pointed), None)
        given = list(blocks(message.get("content")))
        text = "\n".join(filter(None, (text_in(block.get("content", block)) for block in given)))
        about, error = mapping(data.get("meta")), mapping(data.get("error"))
        for change in items(about.get("diffs")):
            edit = mapping(change)
            text += difference(words(edit.get("oldText")), words(edit.get("newText")))
        lines = [words(mapping(line).get("text")) for line in items(about.get("lines"))]
        failed = [block["isError"] for block in given if isinstance(block.get("isError"), bool)]
        self.result(
            call_id,
            text
            or "\n".join(lines)
            or first_words(error, "message", "code", "name")
            or (as_text(about) if about else ""),
            is_error=True if error else any(failed) if failed else None,
        )

    def failed(self, fields: Fields, data: Fields) -> None:
        """`request/error` and `turn/error`."""
        self.fail(text_in(data.get("error") or data), str(fields["type"]))

    def shortened(self, fields: Fields, data: Fields) -> None:
        """`context/compaction`."""
        self.compacted(first_words(data, "summary"), kind=str(fields["type"]))


def _message(data: Fields) -> Fields:
    return mapping(data.get("message")) or data


TELLS: Final[dict[str, Callable[[DeepseekReader, Fields, Fields], None]]] = {
    "session": DeepseekReader.begin,
    "session/title": DeepseekReader.title,
    "request/context": DeepseekReader.choose,
    "request/error": DeepseekReader.failed,
    "turn/error": DeepseekReader.failed,
    "user/message": DeepseekReader.user,
    "assistant/message": DeepseekReader.assistant,
    "assistant/chunk": DeepseekReader.chunk,
    "tool/call": DeepseekReader.called,
    "tool/result": DeepseekReader.returned,
    "context/compaction": DeepseekReader.shortened,
}
"""What each type of event says."""
