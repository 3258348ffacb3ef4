"""What the folder that a session worked in tells: its repository, and by it project and domain."""

from __future__ import annotations

import os
from functools import cache
from typing import NamedTuple

from retro import repository
from retro.config import Settings


class Place(NamedTuple):
    """What the folder of a session tells: its project, and the repository and domain it belongs to."""

    project: str | None
    repository: str | None
    domain: str | None
    root: str | None = None
    """The repository's main folder, under its own name."""
    checkout: str | None = None
    """The folder in which the session's checkout of it begins."""


@cache
def located(cwd: str) -> repository.Repository | None:
    """The repository of a folder, looked for once a run."""
    return repository.locate(cwd)


def place(cwd: str | None, settings: Settings) -> Place:
    """What a session's folder tells about it."""
    found = located(cwd) if cwd else None
    remote = found.remote if found else None
    project = repository.project_name(cwd, found)
    if found is None:
        return Place(project, remote, settings.domain(remote))
    return Place(project, remote, settings.domain(remote), _real(found.root), found.folder)


@cache
def _real(folder: str) -> str:
    """A folder under its own name, whatever links lead to it."""
    try:
        return os.path.realpath(folder)
    except (OSError, ValueError):
        return folder
