"""Whose sessions recall speaks of: those of the repository that the current folder lies in, whatever checkout."""

from __future__ import annotations

import os

from retro import repository

TYPE_CHECKING = False  # as in places
if TYPE_CHECKING:
    import apsw


class Scope:
    """The rows of the table `clone` that an answer may come from; all sessions where it is wide."""

    __slots__ = ("clones", "name", "wide")

    def __init__(self, name: str, clones: list[int], *, wide: bool = False) -> None:
        self.name = name
        self.clones = clones
        self.wide = wide


def here(connection: apsw.Connection) -> Scope | None:
    """The repository of the current folder; None where that lies in none."""
    try:
        found = repository.locate(os.getcwd())
    except OSError:  # the folder is gone
        return None
    if found is None:
        return None
    root, remote = os.path.realpath(found.root), (found.remote or "").lower()
    query = (
        "SELECT id FROM clone WHERE root = :root AND (remote = :remote OR remote = '' OR :remote = '')"
        " UNION SELECT id FROM clone WHERE remote = :remote AND :remote <> ''"
    )
    clones = [number for (number,) in connection.execute(query, {"root": root, "remote": remote})]
    return Scope(found.remote or os.path.basename(root) or root, clones)


def everything(connection: apsw.Connection) -> Scope:
    """All repositories, and what belongs to none."""
    return Scope("", [number for (number,) in connection.execute("SELECT id FROM clone")], wide=True)
