"""Tasks as Cline's extension kept them, and those that grew out of it do: a folder each, with documents."""

from __future__ import annotations

import os
import re
from typing import Final

from retro.agents.fields import Fields, decode, mapping, string
from retro.agents.homes import head
from retro.agents.interface import DOCUMENT, Facts, Source
from retro.agents.plainfiles import BESIDE, MAIN, FileHost, Part
from retro.agents.task_kinds import CHILD, USAGE

HISTORY: Final = "api_conversation_history.json"
SHOWN: Final = "ui_messages.json"
ITEM: Final = "history_item.json"
BESIDES: Final = (ITEM, "task_metadata.json")
"""What is kept whole beside a task: what its list of tasks says of it, and which files it was about."""

FOLDER: Final = re.compile(rb"Current (?:Working|Workspace) Directory \\?\(((?:[^\"\\)]|\\.){1,4096})\)")
"""Where the first prompt of a task tells its folder."""

_LIST: Final = re.compile(rb'(?:\xef\xbb\xbf)?\s*\[\s*(?:\]|\{\s*"(?:role|ts|content|type)")')
_ENVELOPE: Final = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"version"\s*:\s*\d+\s*,\s*"messages"\s*:\s*\[')


def look(path: str) -> Part | None:
    """A file of a task, by its name and how it begins."""
    folder, name = os.path.split(path)
    session = os.path.basename(folder)
    if name == HISTORY:
        opening = head(path)
        if not _LIST.match(opening) and not _ENVELOPE.match(opening):
            return None
        given = string(_object(head(os.path.join(folder, ITEM), 1024 * 1024)).get("parentTaskId"))
        return Part(session, CHILD if given else MAIN)
    if name == SHOWN:
        return Part(session, USAGE) if _LIST.match(head(path)) else None
    beside = name in BESIDES and os.path.isfile(os.path.join(folder, HISTORY))
    return Part(session, BESIDE + name) if beside else None


def tasks_of(host: str) -> FileHost:
    """The tasks of a host that keeps nothing else."""
    return FileHost(host, ("tasks/*/*.json", "*/*.json"), look, FOLDER, DOCUMENT)


def claims_of(tasks: FileHost, places: tuple[str, ...], path: str) -> list[Source]:
    """What a path given by a person stands for, if it lies in one of these folders: tasks look alike."""
    parts = os.path.abspath(path).replace(os.sep, "/").split("/")
    return tasks.claims(path) if any(place in parts for place in places) else []


def facts_beside(key: str, content: bytes) -> Facts | None:
    """What the list of tasks says of one: its folder, and which task gave it."""
    if key != BESIDE + ITEM:
        return None
    found = _object(content)
    parent = string(found.get("parentTaskId"))
    return Facts(
        title=string(found.get("title")), cwd=string(found.get("workspace")), parent=parent, subagent=bool(parent)
    )


def _object(content: bytes) -> Fields:
    try:
        return mapping(decode(content))
    except (ValueError, RecursionError):
        return {}
