"""iFlow: append-only JSONL, one file per session; an envelope like Claude's, results like Gemini's."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from retro.agents.blocks import RESULTS, answered, spoke
from retro.agents.fields import Fields, blocks, mapping, string, text_in
from retro.agents.homes import homes
from retro.agents.interface import Facts, Root
from retro.agents.plain import PlainReader, spoken, time_of
from retro.agents.plainfiles import MAIN, FileHost, Part, first_records, stem

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

HOST: Final = "iflow"
NORMALISER: Final = 1
META_NAME: Final = "meta.json"
MOVED_BY: Final = ()

BOOKKEEPING_TYPES: Final = {
    "line_ends": "the bytes between records",
    "bom": "a byte order mark at the beginning of a file",
}
"""Record types that give no event, each with the reason."""

UNCOUNTED: Final = {
    "assistant": "a call that another record told already gives no event",
    "user": "one without text or result gives no event",
}
"""Record types of which some give an event and some do not."""


def roots(env: Mapping[str, str], extra: Sequence[str]) -> list[Root]:
    """`~/.iflow`, and what the settings add."""
    wanted = [(os.path.join(home, ".iflow"), "default") for home in homes(env)]
    return _FILES.roots([*wanted, *((entry, "settings") for entry in extra)])


def retention(root: Root) -> int | None:
    """This host deletes nothing by itself."""
    return None


def _look(path: str) -> Part | None:
    """A record of this host has Claude's envelope, and a session whose id begins with a word."""
    for record in first_records(path):
        named = string(record.get("sessionId")) or ""
        if named.startswith("session-") and string(record.get("uuid")) and "message" in record:
            return Part(stem(path), MAIN)
    return None


_FILES: Final = FileHost(HOST, ("projects/*/session-*.jsonl",), _look)
discover, claims, folder_of = _FILES.discover, _FILES.claims, _FILES.folder_of


def reader(session_id: str, key: str, source_key: str, saved: bytes, facts: Facts) -> IflowReader:
    """The reader of one session's file."""
    return IflowReader(session_id, source_key, saved, facts)


def sidecar_facts(key: str, content: bytes) -> Facts | None:
    """This host keeps nothing beside its sessions."""
    return None


class IflowReader(PlainReader):
    """Reads one session's file."""

    HOST: ClassVar[str] = HOST
    BOOKKEEPING_TYPES = BOOKKEEPING_TYPES
    UNCOUNTED = UNCOUNTED

    def locate(self, fields: Fields) -> str | None:
        """Every record says when, where and by which version it was made."""
        self.out.timestamp = time_of(fields.get("timestamp"))
        self.work_in(fields.get("cwd"), fields.get("gitBranch"))
        self.written_by(fields.get("version"))
        return string(fields.get("uuid"))

    def tell(self, fields: Fields) -> str:
        """Add what a record says."""
        kind, message = string(fields.get("type")) or "(none)", mapping(fields.get("message"))
        content = message.get("content")
        if kind == "user":
            self._user(content)
        elif kind == "assistant":
            self._assistant(message, content)
        elif kind == "system" and content:
            self.notice(text_in(content), string(fields.get("subtype")))
        return kind

    def _user(self, content: object) -> None:
        spoke(self, *spoken([block for block in blocks(content) if string(block.get("type")) not in RESULTS]))
        for block in blocks(content):
            if string(block.get("type")) in RESULTS:
                self._result(block)

    def _result(self, block: Fields) -> None:
        content = mapping(block.get("content"))
        answer = mapping(mapping(content.get("responseParts")).get("functionResponse"))
        response = mapping(answer.get("response"))
        failed = block.get("is_error")
        self.result(
            string(block.get("tool_use_id")),
            string(response.get("error")) or text_in(response or block.get("content")),
            tool=string(answer.get("name")),
            is_error=bool(failed) or "error" in response if isinstance(failed, bool) or "error" in response else None,
        )

    def _assistant(self, message: Fields, content: object) -> None:
        """Calls are told again in every record until their results come; each is said once."""
        self.use(message.get("model"))
        fresh = []
        for block in blocks(content):
            name = string(block.get("id"))
            if block.get("type") != "tool_use" or name is None or name not in self.state.calls:
                fresh.append(block)
        answered(self, list[object](fresh))
        used = mapping(message.get("usage"))
        self.spend(
            string(message.get("id")) or self.out.identity,
            fresh=used.get("input_tokens"),
            read=used.get("cache_read_input_tokens"),
            written=used.get("cache_creation_input_tokens"),
            output=used.get("output_tokens"),
        )
