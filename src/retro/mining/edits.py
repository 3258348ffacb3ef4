"""Which files of the project a session changed, and which it only made for itself."""

from __future__ import annotations

import re
from typing import Final

from retro.commands import Kind
from retro.mining.trace import Step, Trace
from retro.mining.wording import base


def lasting_edits(trace: Trace) -> dict[str, Step]:
    """The files of the project that a session edited, each with its first edit; not what it made for itself."""
    found, own = _edits(trace)
    return {path: step for path, step in found.items() if path not in own}


def own_files(trace: Trace) -> set[str]:
    """The names of the files that a session made for itself, such as a script that shows an error."""
    return {base(path) for path in _edits(trace)[1]}


_MADE: Final = re.compile(r"\bmkdir\s+(?:-\w+\s+)*([^;&|\n]+)")
_WORD: Final = re.compile(r"[\w.-]+")


def own_words(trace: Trace) -> set[str]:
    """The names of the files and folders that a session made for itself: a command that has one runs nowhere else."""
    found = own_files(trace)
    for step in trace.steps:
        for folders in _MADE.findall(step.command) if "mkdir" in step.command else ():
            found.update(part for folder in folders.split() if folder[0] not in "-/~$" for part in folder.split("/"))
    return found - {"", ".", "tests", "test", "src", "build", "docs"}


def words_of(command: str) -> list[str]:
    """The names in a command, without the folders before them."""
    return _WORD.findall(command)


def _edits(trace: Trace) -> tuple[dict[str, Step], set[str]]:
    """Each edited path with its first edit; and those of them that were written anew or removed again."""
    found: dict[str, Step] = {}
    own: set[str] = set()
    gone: set[str] = set()
    for step in trace.steps:
        if not step.edits and step.kind is not Kind.REMOVE:
            continue
        if step.kind is Kind.REMOVE:
            gone.update(base(word) for word in step.command.split())
        for path in step.edits:
            if path not in found and not step.failed:
                found[path] = step
                if _makes(step, path):
                    own.add(path)
    return found, own | {path for path in found if base(path) in gone}


def _makes(step: Step, path: str) -> bool:
    """Whether a shell command wrote the file anew, instead of changing it."""
    before = step.command[: max(step.command.find(path), 0)].rpartition(" ")  # a folder may stand before it
    mark = (before[2] if ">" in before[2] else before[0]).rstrip(" '\"")
    mark = mark[: mark.rfind(">") + 1] if ">" in before[2] else mark
    return mark.endswith(">") and not mark.endswith(">>")
