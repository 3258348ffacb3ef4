"""How candidates say things: short pieces of what stands in a session, always as they stand there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Final

from retro.mining.trace import Step

CODE: Final = 160
"""Characters of a command or an error that a text quotes."""


def first_line(text: str, most: int = CODE) -> str:
    """The first line that says something, cut; a piece of the text as it stands there."""
    for line in text.splitlines():
        if line.strip():
            return line.strip()[:most].rstrip()
    return ""


def code(text: str) -> str:
    """A quote within a sentence. What would end it early is left out with all behind it."""
    return f"`{first_line(text).partition('`')[0].rstrip()}`"


_PLUMBING: Final = re.compile(r"(?:\s*2>&1)?(?:\s*\|\s*(?:head|tail|cat|less|more)(?:\s+-\w*\s*\d*|\s+-n\s*\d+)*)*\s*$")
_FOLDER: Final = re.compile(r"^\s*cd\s+(?:'([^']+)'|\"([^\"]+)\"|(\S+))\s*&&\s*")


def tidy(command: str, scope: str = "") -> str:
    """A command without what only shortens its output, and without going to where one is: a piece of it."""
    folder = _FOLDER.match(command)
    if folder and scope and next(filter(None, folder.groups()), "").rstrip("/") == scope.rstrip("/"):
        command = command[folder.end() :]
    short = _PLUMBING.sub("", command)
    return short if short.count('"') % 2 == 0 and short.count("'") % 2 == 0 else command


def can_be_quoted(text: str) -> bool:
    """Whether a command can be quoted whole, on one line."""
    return 0 < len(text) <= CODE and "\n" not in text and "`" not in text and text.isprintable()


def example(steps: Iterable[Step]) -> str:
    """Of the commands of steps the one that is best to be quoted: whole, on one line, the shortest; '' for none."""
    fit = [tidy(step.command) for step in steps if step.whole and can_be_quoted(step.command)]
    return min(fit, key=lambda command: (len(command), command), default="")


def times(count: int, of: int, what: str = "session") -> str:
    """`in 3 of 4 sessions`."""
    return f"in {count} of {of} {what}{'' if of == 1 else 's'}"


def sessions(count: int) -> str:
    """`3 sessions`."""
    return f"{count} session{'' if count == 1 else 's'}"


def base(path: str) -> str:
    """The name of a file without its folders."""
    return os.path.basename(path.replace("\\", "/").rstrip("/"))
