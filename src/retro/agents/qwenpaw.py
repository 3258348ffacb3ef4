"""QwenPaw, and CoPaw before it: one JSON document per session, whose messages stand deep within it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from retro.agents import chatfiles
from retro.agents.blocks import answered, asked, returned
from retro.agents.databases import canonical
from retro.agents.emitter import ALL
from retro.agents.fields import Fields, blocks, items, mapping, string, text_in
from retro.agents.homes import existing_roots, files, head, homes, plain
from retro.agents.interface import ROWS, Facts, Known, Root, Row, Source, Unreadable
from retro.agents.plain import PlainReader, zoned
from retro.agents.plainfiles import MAIN, matching

__all__ = ["BOOKKEEPING_TYPES", "HOST", "META_NAME", "MOVED_BY", "NORMALISER", "UNCOUNTED", "claims", "discover"]

HOST: Final = "qwenpaw"
NORMALISER: Final = 1
META_NAME: Final = "meta.json"
MOVED_BY: Final = ("QWENPAW_WORKING_DIR", "COPAW_WORKING_DIR")

PATTERNS: Final = ("workspaces/*/sessions/*.json", "workspaces/*/sessions/*/*.json")
STATE: Final = "agent"
MESSAGE: Final = "message"

BOOKKEEPING_TYPES: Final[dict[str, str]] = {}
"""Rows that give no event, each with the reason."""

UNCOUNTED: Final = {
    "agent": "its name, its tools and the host's instructions give no event, what is left of a shortened context does",
    "message": "one without text, thought, call or result gives no event",
}
"""Rows of which some give an event and some do not."""

_MEMORY: Final = re.compile(rb'\{\s*"agent"\s*:\s*\{.{0,65536}?"memory"\s*:\s*\{', re.DOTALL)


def roots(env: Mapping[str, str], extra: Sequence[str]) -> list[Root]:
    """Where variables move it, `~/.qwenpaw`, `~/.copaw`, and what the settings add."""
    wanted = [(env.get(name, ""), name) for name in MOVED_BY]
    wanted += [(os.path.join(home, name), "default") for home in homes(env) for name in (".qwenpaw", ".copaw")]
    return existing_roots(HOST, [*wanted, *((entry, "settings") for entry in extra)], _holds)


def _holds(folder: str) -> bool:
    return any(True for pattern in PATTERNS for _ in matching(folder, pattern))


def retention(root: Root) -> int | None:
    """This host deletes nothing by itself."""
    return None


def discover(root: Root, known: Known) -> Iterator[Source]:
    """Every session of every workspace."""
    for pattern in PATTERNS:
        for path, stat in matching(root.path, pattern):
            if f"{ROWS}{path}#{_session(path)}" in known or _is_ours(path):
                yield chatfiles.source(HOST, _session(path), MAIN, path, stat)


def _is_ours(path: str) -> bool:
    return _MEMORY.match(head(path).lstrip(b"\xef\xbb\xbf \t\r\n")) is not None


def _session(path: str) -> str:
    """Files have the same names in every workspace, and in every folder for a channel."""
    parts = os.path.abspath(path).removesuffix(".json").replace(os.sep, "/").split("/")
    at = max((place for place, part in enumerate(parts) if part == "sessions"), default=len(parts) - 1)
    return plain("-".join([*parts[max(at - 1, 0) : at], *parts[at + 1 :]]) or parts[-1])


def claims(path: str) -> list[Source]:
    """What a path given by the user stands for: a session, or a folder with some."""
    path = os.path.abspath(path)
    if os.path.isdir(path):
        if _holds(path):
            return list(discover(Root(HOST, path, "given"), {}))
        return [found for file, _ in files(path) if file.endswith(".json") for found in claims(file)]
    if not path.endswith(".json") or not os.path.isfile(path) or not _is_ours(path):
        return []
    return [chatfiles.source(HOST, _session(path), MAIN, path, os.stat(path))]


def folder_of(source: Source) -> str | None:
    """Sessions do not tell where they worked."""
    return None


def records(path: str, copy: str, since: int) -> Iterator[Row]:
    """What the agent is, and each message with what was noted beside it."""
    found = mapping(chatfiles.loaded(copy))
    agent = mapping(found.get("agent"))
    memory = mapping(agent.get("memory"))
    if not agent:
        raise Unreadable("it is no session, or it is being written")
    around = {name: value for name, value in memory.items() if name != "content"}
    yield Row(STATE, STATE, canonical(found | {"agent": agent | {"memory": around}}))
    yield from chatfiles.messages(MESSAGE, items(memory.get("content")), _id)


def _id(entry: object) -> str | None:
    return string(_message(entry).get("id"))


def _message(entry: object) -> Fields:
    """A message stands in a list, with its marks."""
    return mapping(next(iter(items(entry)), entry))


def sidecar_facts(key: str, content: bytes) -> Facts | None:
    """Nothing is kept beside sessions."""
    return None


def reader(session_id: str, key: str, source_key: str, saved: bytes, facts: Facts) -> QwenPawReader:
    """The reader of one session."""
    return QwenPawReader(session_id, source_key, saved, facts)


class QwenPawReader(PlainReader):
    """Reads the rows of one session."""

    HOST: ClassVar[str] = HOST
    BOOKKEEPING_TYPES = BOOKKEEPING_TYPES
    UNCOUNTED = UNCOUNTED
    REMEMBERED: ClassVar[int] = ALL

    def locate(self, fields: Fields) -> str | None:
        """A row is known by its key. Times are local ones without their zone."""
        message = _message(mapping(fields.get("row")).get("value"))
        self.out.timestamp = zoned(message.get("timestamp"))
        return f"{self.session_id}:{fields.get('table')}:{fields.get('key')}"

    def tell(self, fields: Fields) -> str:
        """Add what a row says."""
        table = string(fields.get("table")) or "(none)"
        if table == MESSAGE:
            row = mapping(fields.get("row"))
            self._message(_message(row.get("value")) or row)
        elif table == STATE:
            memory = mapping(mapping(mapping(fields.get("row")).get("agent")).get("memory"))
            if summary := string(memory.get("_compressed_summary")):
                self.compacted(summary)
        return table

    def _message(self, message: Fields) -> None:
        """Results come as messages of the system."""
        role, content = string(message.get("role")), message.get("content")
        if role == "assistant":
            answered(self, content)
        elif role == "user":
            asked(self, content)
        else:
            for block in blocks(content):
                if block.get("type") == "tool_result":
                    returned(self, block)
                elif text := text_in(block):
                    self.inject(text, role)
