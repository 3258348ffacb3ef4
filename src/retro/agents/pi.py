"""pi: append-only JSONL, one file per session; its entries form a tree, in which a session may branch."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from retro.agents.fields import decode, mapping, string
from retro.agents.homes import existing_roots, files, head, homes, source
from retro.agents.interface import TRANSCRIPT, Facts, Known, Root, Source
from retro.agents.pi_kinds import BOOKKEEPING_TYPES as BOOKKEEPING_TYPES
from retro.agents.pi_kinds import HOST as HOST
from retro.agents.pi_kinds import UNCOUNTED as UNCOUNTED
from retro.agents.pi_kinds import id_in_name

if TYPE_CHECKING:
    from retro.agents.pi_records import PiReader

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
    "reader",
    "retention",
    "roots",
]

NORMALISER: Final = 1
META_NAME: Final = "meta.json"
MOVED_BY: Final = ("PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR")

MAIN: Final = "main"
SESSIONS: Final = "sessions"
CHECKPOINT: Final = ".checkpoint."
"""In the names of copies that hosts built on this one make of a session before they compact it."""


def roots(env: Mapping[str, str], extra: Sequence[str]) -> list[Root]:
    """PI_CODING_AGENT_SESSION_DIR, PI_CODING_AGENT_DIR or else `~/.pi/agent`, and what the settings add.

    A folder is that of the agent, with `sessions/` in it or a setting `sessionDir`, or one of sessions itself.
    """
    moved = env.get("PI_CODING_AGENT_DIR", "")
    agents = [(moved, "PI_CODING_AGENT_DIR")] if moved.strip() else []
    agents += [(os.path.join(home, ".pi", "agent"), "default") for home in homes(env) if not moved.strip()]
    wanted = [(env.get("PI_CODING_AGENT_SESSION_DIR", ""), "PI_CODING_AGENT_SESSION_DIR"), *agents]
    wanted += [(_session_folder(path), "sessionDir") for path, _ in agents]
    wanted += [(entry, "settings") for entry in extra]
    return existing_roots(HOST, wanted, _holds)


def _session_folder(agent: str) -> str:
    """The folder that the agent's settings move sessions to; none if they do not."""
    try:
        settings = mapping(decode(head(os.path.join(os.path.expanduser(agent), "settings.json"), 1024 * 1024)))
    except ValueError:
        return ""
    return string(settings.get("sessionDir")) or ""


def _holds(folder: str) -> bool:
    if os.path.isdir(os.path.join(folder, SESSIONS)):
        return True
    return os.path.isdir(folder) and any(path.endswith(".jsonl") for path, _ in files(folder))


def retention(root: Root) -> int | None:
    """This host deletes nothing by itself."""
    return None


def discover(root: Root, known: Known) -> Iterator[Source]:
    """Every file below the folder of sessions that begins as one of this host's does."""
    below = os.path.join(root.path, SESSIONS)
    for path, stat in files(below if os.path.isdir(below) else root.path):
        if path.endswith(".jsonl"):
            found = _source(path, stat, known)
            if found is not None:
                yield found


def _source(path: str, stat: os.stat_result, known: Known) -> Source | None:
    if CHECKPOINT in os.path.basename(path):
        return None
    before = known.get(path)
    session_id = before[0] if before else _session_of(path)
    if session_id is None:
        return None
    return source(HOST, session_id, MAIN, TRANSCRIPT, path, "transcript.jsonl", stat)


def _header(path: str) -> dict[str, object]:
    """The first record of a file, if it is a session's."""
    line = head(path).lstrip(b"\xef\xbb\xbf").partition(b"\n")[0]
    try:
        fields = mapping(decode(line))
    except (ValueError, RecursionError):
        return {}
    ours = fields.get("type") == "session" and {"cwd", "timestamp"} <= fields.keys() and "title" not in fields
    return fields if ours else {}


def _session_of(path: str) -> str | None:
    fields = _header(path)
    return (string(fields.get("id")) or id_in_name(path)) if fields else None


def claims(path: str) -> list[Source]:
    """What a path given by the user stands for: a session's file, or a folder with some."""
    path = os.path.abspath(path)
    if os.path.isdir(path):
        return list(discover(Root(HOST, path, "given"), {}))
    if not path.endswith(".jsonl") or not os.path.isfile(path):
        return []
    found = _source(path, os.stat(path), {})
    return [found] if found is not None else []


def folder_of(source: Source) -> str | None:
    """The `cwd` of a session's first record."""
    return string(_header(source.path).get("cwd"))


def reader(session_id: str, key: str, source_key: str, saved: bytes, facts: Facts) -> PiReader:
    """The reader of one session's file."""
    from retro.agents.pi_records import PiReader  # a sweep that finds nothing new loads no reader

    return PiReader(session_id, source_key, saved, facts)


def sidecar_facts(key: str, content: bytes) -> Facts | None:
    """This host keeps nothing beside its sessions."""
    return None
