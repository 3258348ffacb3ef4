"""Kilo Code before it was built anew: an extension of editors and a command line, a folder of documents per task."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from retro.agents import editors, tasks
from retro.agents.homes import homes
from retro.agents.interface import Facts, Root, Source
from retro.agents.task_kinds import BOOKKEEPING_TYPES as BOOKKEEPING_TYPES
from retro.agents.task_kinds import UNCOUNTED as UNCOUNTED

if TYPE_CHECKING:
    from retro.agents.task_records import TaskReader

__all__ = ["BOOKKEEPING_TYPES", "HOST", "META_NAME", "MOVED_BY", "NORMALISER", "UNCOUNTED", "discover", "folder_of"]

HOST: Final = "kilo"
NORMALISER: Final = 1
META_NAME: Final = "meta.json"
MOVED_BY: Final = editors.MOVED_BY

EXTENSION: Final = "kilocode.kilo-code"
"""Where an editor keeps what the extension wrote."""


def roots(env: Mapping[str, str], extra: Sequence[str]) -> list[Root]:
    """The extension's folder in every editor, that of the command line, and what the settings add."""
    wanted = [
        (os.path.join(user, "globalStorage", EXTENSION), reason)
        for user, reason in editors.user_folders(env, editors.FORKS)
    ]
    wanted += [(os.path.join(home, ".kilocode", "cli", "global"), "default") for home in homes(env)]
    return _FILES.roots([*wanted, *((entry, "settings") for entry in extra)])


def retention(root: Root) -> int | None:
    """This host deletes nothing by itself."""
    return None


_FILES: Final = tasks.tasks_of(HOST)
discover, folder_of = _FILES.discover, _FILES.folder_of
sidecar_facts = tasks.facts_beside


def claims(path: str) -> list[Source]:
    """What a path given by the user stands for, below a folder of the host."""
    return tasks.claims_of(_FILES, (EXTENSION, ".kilocode"), path)


def reader(session_id: str, key: str, source_key: str, saved: bytes, facts: Facts) -> TaskReader:
    """The reader of a task, or of what its window showed."""
    from retro.agents.task_records import reader_of  # a sweep that finds nothing new loads no reader

    return reader_of(HOST)(session_id, key.partition("~")[0], source_key, saved, facts)
