"""Posit Assistant: a folder per conversation with an append-only log of messages, and a tree of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from retro.agents.blocks import answered, asked, returned, spoke
from retro.agents.fields import Fields, blocks, decode, first, mapping, string, text_in, whole
from retro.agents.homes import head, homes
from retro.agents.interface import ROWS, SIDECAR, TRANSCRIPT, Facts, Known, Root, Source, mark_of_rows
from retro.agents.plain import PlainReader, time_of
from retro.agents.plainfiles import BESIDE, MAIN, FileHost, Part, first_records

__all__ = ["BOOKKEEPING_TYPES", "HOST", "META_NAME", "MOVED_BY", "NORMALISER", "UNCOUNTED", "claims", "discover"]

HOST: Final = "posit"
NORMALISER: Final = 1
META_NAME: Final = "meta.json"
MOVED_BY: Final = ()

MESSAGES: Final = "lm-messages.jsonl"
TREE: Final = "conversation.json"
WORKSPACE: Final = "workspace.json"
SUBAGENTS: Final = "subagents"
AGENT: Final = "agent-"

BOOKKEEPING_TYPES: Final = {
    "line_ends": "the bytes between records",
    "bom": "a byte order mark at the beginning of a file",
}
"""Record types that give no event, each with the reason."""

UNCOUNTED: Final = {
    "user": "one without text or result gives no event",
    "assistant": "one without text, thought or call gives no event",
}
"""Record types of which some give an event and some do not."""


def roots(env: Mapping[str, str], extra: Sequence[str]) -> list[Root]:
    """`~/.posit/assistant`, and what the settings add."""
    wanted = [(os.path.join(home, ".posit", "assistant"), "default") for home in homes(env)]
    return _FILES.roots([*wanted, *((entry, "settings") for entry in extra)])


def retention(root: Root) -> int | None:
    """This host deletes nothing by itself."""
    return None


def _look(path: str) -> Part | None:
    """A log of messages, or what lies beside one."""
    folder, name = os.path.split(path)
    above, own = os.path.split(folder)
    within = os.path.basename(above) == SUBAGENTS
    session = os.path.basename(os.path.dirname(above)) if within else own
    if name == MESSAGES:
        spoken = [mapping(record.get("message")) for record in first_records(path)]
        told = any(string(message.get("role")) for message in spoken)
        return Part(session, AGENT + own if within else MAIN) if told else None
    if not os.path.isfile(os.path.join(folder, MESSAGES)):
        return None
    return Part(session, f"{BESIDE}{SUBAGENTS}/{own}/{name}" if within else BESIDE + name)


_FILES: Final = FileHost(
    HOST,
    tuple(f"workspaces/*/*/{below}{name}" for below in ("", f"{SUBAGENTS}/*/") for name in (MESSAGES, TREE, "*.jsonl")),
    _look,
)


def discover(root: Root, known: Known) -> Iterator[Source]:
    """Every conversation, and which folder its workspace is."""
    for found in _FILES.discover(root, known):
        yield from _with_workspace(found)


def claims(path: str) -> list[Source]:
    """What a path given by the user stands for: a file, or a folder with some."""
    return [one for found in _FILES.claims(path) for one in _with_workspace(found)]


def _with_workspace(found: Source) -> Iterator[Source]:
    yield found
    if found.key == MAIN:
        path = _workspace(found.path)
        about = head(path)
        if about:
            name, stamp = f"{ROWS}{path}#{found.session_id}", (len(about), 0, mark_of_rows(about), 0)
            ids = (found.session_id, BESIDE + WORKSPACE)
            yield Source(HOST, *ids, SIDECAR, name, WORKSPACE, *stamp, content=about)


def _workspace(path: str) -> str:
    """What tells the folder of a conversation's workspace."""
    return os.path.join(os.path.dirname(os.path.dirname(path)), WORKSPACE)


def folder_of(source: Source) -> str | None:
    """The folder of the workspace."""
    if source.kind != TRANSCRIPT or source.key != MAIN:
        return None
    return string(_object(head(_workspace(source.path))).get("path"))


def sidecar_facts(key: str, content: bytes) -> Facts | None:
    """The workspace tells the folder, the tree the title and the branch."""
    if key == BESIDE + WORKSPACE:
        return Facts(cwd=string(_object(content).get("path")))
    if key != BESIDE + TREE:
        return None
    about = mapping(_object(content).get("root"))
    return Facts(
        host_title=first(about, "title", "summary"), branch=string(mapping(about.get("metadata")).get("gitBranch"))
    )


def _object(content: bytes) -> Fields:
    try:
        return mapping(decode(content))
    except (ValueError, RecursionError):
        return {}


def reader(session_id: str, key: str, source_key: str, saved: bytes, facts: Facts) -> PositReader:
    """The reader of one conversation, or of one of its sub-agents."""
    plain = key.partition("~")[0]
    agent = plain.removeprefix(AGENT) if plain.startswith(AGENT) else None
    return PositReader(session_id, source_key, saved, facts, agent)


class PositReader(PlainReader):
    """Reads one log of messages."""

    HOST: ClassVar[str] = HOST
    BOOKKEEPING_TYPES = BOOKKEEPING_TYPES
    UNCOUNTED = UNCOUNTED

    def locate(self, fields: Fields) -> str | None:
        """Messages are numbered within their log; some tell when they were written, and by which model."""
        self.out.timestamp = time_of(_about(fields).get("timestamp"))
        number = whole(fields.get("id"))
        return None if number is None else f"{self.out.agent_id or self.session_id}:{number}"

    def tell(self, fields: Fields) -> str:
        """Add what a message says."""
        message = mapping(fields.get("message"))
        role, content = string(message.get("role")) or "(none)", message.get("content")
        if role == "assistant":
            self.use(_about(fields).get("modelId"))
            answered(self, content)
            self._tokens(mapping(_about(fields).get("usage")))
        elif role == "user" and isinstance(content, str):
            spoke(self, content)
        elif role == "user":
            asked(self, content)
        elif role == "tool":
            for block in blocks(content):
                returned(self, block)
        elif text := text_in(content):
            self.inject(text, role)
        return role

    def _tokens(self, used: Fields) -> None:
        self.spend(
            f"{self.session_id}:{self.out.identity}",
            fresh=used.get("inputTokens"),
            read=used.get("cacheReadTokens"),
            written=used.get("cacheWriteTokens"),
            output=used.get("outputTokens"),
            reasoning=used.get("reasoningTokens"),
        )


def _about(fields: Fields) -> Fields:
    """What the host noted of a message beside what the model is given."""
    options = mapping(mapping(fields.get("message")).get("providerOptions"))
    return mapping(mapping(options.get("providerMetadata")).get("positai"))
