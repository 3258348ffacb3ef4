"""Oh My Pi (omp): append-only JSONL, one file per session, in a folder for each project."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from retro.agents.entries import BOOKKEEPING, SOME, EntryReader
from retro.agents.fields import string
from retro.agents.homes import homes
from retro.agents.interface import Facts, Root
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

HOST: Final = "omp"
NORMALISER: Final = 1
META_NAME: Final = "meta.json"
MOVED_BY: Final = ()
BOOKKEEPING_TYPES: Final = BOOKKEEPING
"""Record types that give no event, each with the reason."""

UNCOUNTED: Final = SOME
"""Record types of which some give an event and some do not."""


def roots(env: Mapping[str, str], extra: Sequence[str]) -> list[Root]:
    """`~/.omp/agent`, and what the settings add."""
    wanted = [(os.path.join(home, ".omp", "agent"), "default") for home in homes(env)]
    return _FILES.roots([*wanted, *((entry, "settings") for entry in extra)])


def retention(root: Root) -> int | None:
    """This host deletes nothing by itself."""
    return None


def _look(path: str) -> Part | None:
    """A session begins like pi's, with its title; those without one are known by where they lie."""
    for record in first_records(path)[:1]:
        if record.get("type") == "session" and "version" in record and ("title" in record or is_below(path, ".omp")):
            return Part(string(record.get("id")) or stem(path), MAIN)
    return None


_FILES: Final = FileHost(HOST, ("sessions/*/*.jsonl", "sessions/*.jsonl"), _look)
discover, claims, folder_of = _FILES.discover, _FILES.claims, _FILES.folder_of


class OmpReader(EntryReader):
    """Reads one session's file."""

    HOST: ClassVar[str] = HOST


def reader(session_id: str, key: str, source_key: str, saved: bytes, facts: Facts) -> OmpReader:
    """The reader of one session's file."""
    return OmpReader(session_id, source_key, saved, facts)


def sidecar_facts(key: str, content: bytes) -> Facts | None:
    """This host keeps nothing beside its sessions."""
    return None
