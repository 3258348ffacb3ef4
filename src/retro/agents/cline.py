"""Cline: one JSON document per session, rewritten with every message; before 4.0 one per task of the extension."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from retro.agents import editors, tasks
from retro.agents.fields import Fields, decode, first, mapping, string
from retro.agents.homes import head, homes
from retro.agents.interface import DOCUMENT, TRANSCRIPT, Facts, Root, Source
from retro.agents.plainfiles import BESIDE, MAIN, FileHost, Part
from retro.agents.task_kinds import BOOKKEEPING_TYPES as BOOKKEEPING_TYPES
from retro.agents.task_kinds import UNCOUNTED as UNCOUNTED

if TYPE_CHECKING:
    from retro.agents.task_records import TaskReader

__all__ = ["BOOKKEEPING_TYPES", "HOST", "META_NAME", "MOVED_BY", "NORMALISER", "UNCOUNTED", "claims", "discover"]

HOST: Final = "cline"
NORMALISER: Final = 1
META_NAME: Final = "meta.json"
MOVED_BY: Final = ("CLINE_SESSION_DATA_DIR", "CLINE_DATA_DIR", "CLINE_DIR", *editors.MOVED_BY)

EXTENSION: Final = ("globalStorage", "saoudrizwan.claude-dev")
"""Where VS Code keeps what the extension wrote."""

MESSAGES: Final = ".messages.json"
COMPACTION: Final = ".compaction.json"
MANIFEST: Final = f"{BESIDE}session.json"

_SPOKEN: Final = re.compile(rb'"messages"\s*:\s*\[')


def roots(env: Mapping[str, str], extra: Sequence[str]) -> list[Root]:
    """Cline's folder for data, where variables move it, that of the extension in VS Code; what the settings add."""
    wanted = [(env.get("CLINE_SESSION_DATA_DIR", ""), "CLINE_SESSION_DATA_DIR")]
    wanted += [(env.get("CLINE_DATA_DIR", ""), "CLINE_DATA_DIR")]
    moved = env.get("CLINE_DIR", "").strip()
    wanted += [(os.path.join(moved, "data"), "CLINE_DIR")] if moved else []
    wanted += [(os.path.join(home, ".cline", "data"), "default") for home in homes(env)]
    wanted += [(os.path.join(user, *EXTENSION), reason) for user, reason in editors.user_folders(env, editors.FORKS)]
    return _FILES.roots([*wanted, *((entry, "settings") for entry in extra)])


def retention(root: Root) -> int | None:
    """This host deletes nothing by itself."""
    return None


def _look(path: str) -> Part | None:
    """A file by its name and place, and of transcripts by how they begin."""
    folder, name = os.path.split(path)
    session = os.path.basename(folder)
    if name.endswith(MESSAGES):
        own = name.removesuffix(MESSAGES)
        beside = os.path.isfile(os.path.join(folder, f"{session}{MESSAGES}"))
        main = own == session or not beside
        return Part(own if main else session, MAIN if main else f"agent-{own}") if _is_transcript(path) else None
    return _beside(folder, name, session) or tasks.look(path)


def _is_transcript(path: str) -> bool:
    data = head(path)
    return data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" and _SPOKEN.search(data) is not None


def _beside(folder: str, name: str, session: str) -> Part | None:
    """What is kept whole: a session's manifest, what is left of its context, what a task was about."""
    own = name.removesuffix(".json")
    if os.path.isfile(os.path.join(folder, own + MESSAGES)):
        return Part(session, MANIFEST if own == session else f"{BESIDE}{name}")
    if name.endswith(COMPACTION) and os.path.isfile(os.path.join(folder, session + MESSAGES)):
        return Part(session, f"{BESIDE}{name}")
    return None


_FILES: Final = FileHost(
    HOST,
    ("sessions/*/*.json", "tasks/*/*.json", "*/*.json"),
    _look,
    tasks.FOLDER,
    DOCUMENT,
)
discover, claims = _FILES.discover, _FILES.claims


def folder_of(source: Source) -> str | None:
    """The folder that the manifest beside a session names; of a task the one that its first prompt came with."""
    if source.kind != TRANSCRIPT or not source.path.endswith(MESSAGES):
        return _FILES.folder_of(source)
    folder = os.path.dirname(source.path)
    found = _manifest(head(os.path.join(folder, f"{os.path.basename(folder)}.json"), 1024 * 1024))
    return first(found, "cwd", "workspace_root")


def reader(session_id: str, key: str, source_key: str, saved: bytes, facts: Facts) -> TaskReader:
    """The reader of one session, one of its sub-agents, or of what a task's window showed."""
    from retro.agents.task_records import reader_of  # a sweep that finds nothing new loads no reader

    return reader_of(HOST)(session_id, key.partition("~")[0], source_key, saved, facts)


def sidecar_facts(key: str, content: bytes) -> Facts | None:
    """The manifest tells title, folder, branch and model."""
    if key != MANIFEST:
        return None
    found = _manifest(content)
    about = mapping(found.get("metadata"))
    model = string(found.get("model"))
    return Facts(
        host_title=string(about.get("title")),
        cwd=first(found, "cwd", "workspace_root"),
        branch=string(mapping(about.get("git")).get("branch")),
        models=[model] if model else [],
        native_start=first(found, "started_at", "created_at"),
    )


def _manifest(content: bytes) -> Fields:
    try:
        return mapping(decode(content))
    except (msgspec.DecodeError, ValueError, RecursionError):
        return {}
