"""OpenClaw: append-only JSONL, one file per session, below the agent that it belongs to."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from retro.agents.entries import BOOKKEEPING, SOME, EntryReader
from retro.agents.fields import string
from retro.agents.homes import homes
from retro.agents.interface import Facts, Root
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

HOST: Final = "openclaw"
NORMALISER: Final = 1
META_NAME: Final = "meta.json"
MOVED_BY: Final = ("OPENCLAW_STATE_DIR",)
BOOKKEEPING_TYPES: Final = BOOKKEEPING
"""Record types that give no event, each with the reason."""

UNCOUNTED: Final = SOME
"""Record types of which some give an event and some do not."""

CHECKPOINT: Final = ".checkpoint."
"""In the names of copies that the host makes of a session before it compacts it."""


def roots(env: Mapping[str, str], extra: Sequence[str]) -> list[Root]:
    """OPENCLAW_STATE_DIR, `~/.openclaw`, its older names (`~/.clawdbot`, `~/.moltbot`), and what the settings add."""
    wanted = [(env.get("OPENCLAW_STATE_DIR", ""), "OPENCLAW_STATE_DIR")]
    names = (".openclaw", ".clawdbot", ".moltbot")
    wanted += [(os.path.join(home, name), "default") for home in homes(env) for name in names]
    return _FILES.roots([*wanted, *((entry, "settings") for entry in extra)])


def retention(root: Root) -> int | None:
    """This host deletes nothing by itself."""
    return None


def _look(path: str) -> Part | None:
    """A session begins like pi's; what tells it apart is where it lies, `agents/<agent>/sessions/`, or who wrote it."""
    if CHECKPOINT in os.path.basename(path):
        return None
    parts = path.replace(os.sep, "/").split("/")
    placed = len(parts) > 3 and parts[-4] == "agents" and parts[-2] == "sessions"
    records = first_records(path)
    if not records or records[0].get("type") != "session":
        return None
    named = any("openclaw" in str(record.get("customType", record.get("provider", ""))) for record in records)
    return Part(string(records[0].get("id")) or stem(path), MAIN) if placed or named else None


_FILES: Final = FileHost(HOST, ("agents/*/sessions/*.jsonl",), _look)
discover, claims, folder_of = _FILES.discover, _FILES.claims, _FILES.folder_of


class OpenclawReader(EntryReader):
    """Reads one session's file."""

    HOST: ClassVar[str] = HOST


def reader(session_id: str, key: str, source_key: str, saved: bytes, facts: Facts) -> OpenclawReader:
    """The reader of one session's file."""
    return OpenclawReader(session_id, source_key, saved, facts)


def sidecar_facts(key: str, content: bytes) -> Facts | None:
    """This host keeps nothing beside its sessions."""
    return None
