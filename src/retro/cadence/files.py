"""Files of the user's and of agents that we change: read as they are, replaced as a whole, what was there kept."""

from __future__ import annotations

import os
import stat
from typing import Final

from retro.places import make_private_dir, write_private

BACKUP: Final = ".before-retro"
"""Ends the name of the file with what was there before."""


def read(path: str, encoding: str = "utf-8") -> str | None:
    """The text of a file with its line ends; None where there is none."""
    try:
        with open(path, encoding=encoding, newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None


def replace(path: str, before: str | None, after: str | None, *, keep: bool) -> str | None:
    """Put a text in a file's place, or take the file away; with `keep` gives the file that holds what was there."""
    target = os.path.realpath(path)  # a link into somebody's dotfiles stays a link
    if after is None:
        os.unlink(target)
        return None
    make_private_dir(os.path.dirname(target))
    backup = None
    if keep and before is not None:
        backup = path + BACKUP
        write_private(backup, before.encode("utf-8"))
    mode = stat.S_IMODE(os.stat(target).st_mode) if before is not None else 0o600
    write_private(target, after.encode("utf-8"))
    if os.name == "posix":
        os.chmod(target, mode)
    return backup
