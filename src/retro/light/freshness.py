"""Whether the index is behind: a look at the files that the newest sessions of a repository came from, nothing read."""

from __future__ import annotations

import os

from retro.light.words import seconds_of

TYPE_CHECKING = False  # as in places
if TYPE_CHECKING:
    import apsw

    from retro.light.scope import Scope

NEWEST = 100
"""So many sessions are looked at; older ones are seldom gone on with."""

ROWS = b"rows:"  # as in agents.interface, which is too heavy here
_SIGNED = 1 << 63

FOLDERS = 8
"""So many of the folders that these files lie in are looked at for new ones."""


class Freshness:
    """How many sources have changed or are new, and when something of them was captured last."""

    __slots__ = ("as_of", "changed")

    def __init__(self, changed: int, as_of: str | None) -> None:
        self.changed = changed
        self.as_of = as_of
        """None where nothing has changed."""


def look(connection: apsw.Connection, scope: Scope) -> Freshness:
    """Compare the files with what was captured of them. One that is gone has not changed: all of it is kept."""
    # Only columns that stand before the large ones in their row: what lies behind those costs a read of them all.
    query = (
        "SELECT path, size, mtime_ns, inode, device FROM"
        " (SELECT id FROM session WHERE clone = ? ORDER BY ended DESC LIMIT ?) AS newest"
        " JOIN source ON source.session = newest.id WHERE current = 1"
    )
    changed = 0
    folders: dict[bytes, set[bytes]] = {}
    clones = scope.clones if not scope.wide else []
    for clone in clones:
        for path, size, mtime_ns, inode, device in connection.execute(query, (clone, NEWEST)):
            if path.startswith(ROWS):
                continue
            folder, name = os.path.split(path)
            folders.setdefault(folder, set()).add(name)
            try:
                found = os.stat(path)
            except (OSError, ValueError):
                continue
            inode = inode + 2 * _SIGNED if inode < 0 else inode
            stamp = (found.st_size, found.st_mtime_ns, found.st_ino, found.st_dev)
            changed += stamp != (size, mtime_ns, inode, device)
    as_of = _captured(connection, clones)
    changed += _new(folders, seconds_of(as_of or "") or 0)
    return Freshness(changed, as_of if changed else None)


def _new(folders: dict[bytes, set[bytes]], since: int) -> int:
    """Files beside those that are known, and of the same kind, which were written since something was captured."""
    found = 0
    for folder, known in list(folders.items())[:FOLDERS]:
        kinds = {os.path.splitext(name)[1] for name in known}
        try:
            if os.stat(folder).st_mtime <= since:  # nothing came or went
                continue
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name not in known and os.path.splitext(entry.name)[1] in kinds:
                        found += entry.stat().st_mtime > since + 1
        except (OSError, ValueError):
            continue
    return found


def _captured(connection: apsw.Connection, clones: list[int]) -> str | None:
    """When something of the newest sessions was captured last."""
    query = "SELECT max(captured) FROM (SELECT captured FROM session WHERE clone = ? ORDER BY ended DESC LIMIT ?)"
    captured = [row[0] for clone in clones for row in connection.execute(query, (clone, NEWEST))]
    return max(filter(None, captured), default=None)
