"""What other distributions bring along, by entry points: usually nothing, which is found out without loading much."""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def installed(group: str) -> list[EntryPoint]:
    """The entry points of a group, by name."""
    if not _may_be_there(group):
        return []
    from importlib.metadata import entry_points  # which takes 20 ms

    return sorted(entry_points(group=group), key=lambda point: point.name)


def _may_be_there(group: str) -> bool:
    """Whether a distribution may name something under a group. Where only loading it would tell, it may."""
    others = (finder for finder in sys.meta_path if finder is not PathFinder)
    if any(hasattr(finder, "find_distributions") for finder in others):
        return True
    head = f"[{group}]".encode()
    return any(_may_name(folder, head) for folder in sys.path)


def _may_name(folder: str, head: bytes) -> bool:
    try:
        names = os.listdir(folder or ".")
    except NotADirectoryError:  # an archive
        return True
    except OSError:
        return False
    if any(name.endswith(".egg") for name in names):
        return True
    infos = [name for name in names if name.endswith((".dist-info", ".egg-info"))]
    return any(_names(os.path.join(folder, info, "entry_points.txt"), head) for info in infos)


def _names(path: str, head: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return head in file.read().replace(b" ", b"")
    except OSError:
        return False
