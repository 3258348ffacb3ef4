"""Cursor: transcripts of its agent in append-only JSONL, sub-agents in files of their own; they tell no times."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from retro.agents.blocks import CALLS, RESULTS, answered, called, is_result_only, other, returned
from retro.agents.fields import Fields, blocks, mapping, string
from retro.agents.homes import homes
from retro.agents.interface import Facts, InstructionFile, Root
from retro.agents.plain import PlainReader, spoken
from retro.agents.plainfiles import MAIN, FileHost, Part, first_records, is_below, stem

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

HOST: Final = "cursor"
NORMALISER: Final = 1
META_NAME: Final = "meta.json"
MOVED_BY: Final = ("CURSOR_CONFIG_DIR", "CURSOR_DATA_DIR")

BOOKKEEPING_TYPES: Final = {
    "line_ends": "the bytes between records",
    "bom": "a byte order mark at the beginning of a file",
}
"""Record types that give no event, each with the reason."""

UNCOUNTED: Final = {
    "user": "one without text gives no event",
    "assistant": "one without text, thought or call gives no event",
    "turn_ended": "only one that did not end well gives an event",
}
"""Record types of which some give an event and some do not."""

_QUERY: Final = re.compile(r"<user_query>\s*(.*?)\s*</user_query>", re.DOTALL)


def roots(env: Mapping[str, str], extra: Sequence[str]) -> list[Root]:
    """CURSOR_CONFIG_DIR, CURSOR_DATA_DIR, `~/.cursor`, and what the settings add."""
    wanted = [(env.get(name, ""), name) for name in ("CURSOR_CONFIG_DIR", "CURSOR_DATA_DIR")]
    wanted += [(os.path.join(home, ".cursor"), "default") for home in homes(env)]
    return _FILES.roots([*wanted, *((entry, "settings") for entry in extra)])


def instructions(env: Mapping[str, str], folder: str) -> InstructionFile:
    """A rule of the project's: those for all projects stand in no file."""
    opening = "---\ndescription: Ask what was done here before\nalwaysApply: true\n---\n"
    return InstructionFile(os.path.join(folder, ".cursor", "rules", "retro.mdc"), opening)


def retention(root: Root) -> int | None:
    """This host deletes nothing by itself."""
    return None


def _look(path: str) -> Part | None:
    """A record of this host has a role and a message, and no envelope around them."""
    if not path.endswith(".jsonl"):
        return None
    for record in first_records(path)[:1]:
        bare = not {"type", "uuid", "id", "timestamp"} & record.keys()
        if (
            not bare
            or record.get("role") not in ("user", "assistant")
            or "content" not in mapping(record.get("message"))
        ):
            return None
        if is_below(path, "subagents"):
            parent = os.path.basename(os.path.dirname(os.path.dirname(path)))
            return Part(parent, f"agent-{stem(path)}")
        return Part(stem(path), MAIN)
    return None


_BELOW: Final = "projects/*/agent-transcripts"
_FILES: Final = FileHost(HOST, (f"{_BELOW}/*.jsonl", f"{_BELOW}/*/*.jsonl", f"{_BELOW}/*/subagents/*.jsonl"), _look)
discover, claims = _FILES.discover, _FILES.claims


def folder_of(source: object) -> str | None:
    """The folder's name in the path cannot be turned back into a folder, and the records do not tell."""
    return None


def reader(session_id: str, key: str, source_key: str, saved: bytes, facts: Facts) -> CursorReader:
    """The reader of one transcript."""
    agent = key.partition("~")[0]
    agent_id = agent.removeprefix("agent-") if agent.startswith("agent-") else None
    return CursorReader(session_id, source_key, saved, facts, agent_id)


def sidecar_facts(key: str, content: bytes) -> Facts | None:
    """Nothing is kept beside the transcripts."""
    return None


class CursorReader(PlainReader):
    """Reads one transcript. Records have no ids: they are known by their place."""

    HOST: ClassVar[str] = HOST
    BOOKKEEPING_TYPES = BOOKKEEPING_TYPES
    UNCOUNTED = UNCOUNTED

    def locate(self, fields: Fields) -> str | None:
        """Neither times nor folders are told; a model only by some versions."""
        self.use(fields.get("model"))
        name = f"{self.session_id}:{self.out.agent_id}" if self.out.agent_id else self.session_id
        return f"{name}:{self.state.count}"

    def tell(self, fields: Fields) -> str:
        """Add what a record says."""
        kind = string(fields.get("type")) or string(fields.get("role")) or "(none)"
        content = mapping(fields.get("message")).get("content")
        if kind == "turn_ended":
            status = string(fields.get("status"))
            if status not in (None, "success"):
                self.fail(string(fields.get("error")) or f"the turn ended: {status}", "turn_ended")
        elif kind == "user":
            self._user(content)
        elif kind == "assistant":
            for number, block in enumerate(blocks(content)):
                self._block(number, block)
        return kind

    def _user(self, content: object) -> None:
        if is_result_only(content):
            for block in blocks(content):
                returned(self, self._joined(block))
            return
        self.state.notes.pop("open", None)  # calls whose results the host did not write
        text, images = spoken(content)
        asked = _QUERY.search(text)
        if asked is None:
            self.prompt(text, images=images)
            return
        around = (text[: asked.start()] + text[asked.end() :]).strip()
        if around:
            self.inject(around, "context")
        self.prompt(asked[1], images=images)

    def _block(self, number: int, block: Fields) -> None:
        kind = string(block.get("type")) or "text"
        if kind in RESULTS:
            returned(self, self._joined(block))
        elif kind in CALLS:
            name = string(block.get("id")) or f"{self.out.identity}:{number}"  # the host seldom writes one
            self.state.notes["open"] = f"{self.state.notes.get('open', '')}\n{name}".strip()
            called(self, {**block, "id": name})
        elif kind in ("text", "thinking"):
            answered(self, [block])
        else:
            other(self, block, kind)

    def _joined(self, block: Fields) -> Fields:
        """A result with the id of its call; where the call had none, of the first one that is still open."""
        waiting = [name for name in self.state.notes.get("open", "").split("\n") if name]
        named = string(block.get("tool_use_id"))
        call = named if named in waiting else (waiting[0] if waiting else named)
        self.state.notes["open"] = "\n".join(name for name in waiting if name != call)
        return {**block, "tool_use_id": call}
