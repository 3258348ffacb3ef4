"""Sources compared with their archived copies byte for byte, a few at a time: an edit in the middle changes no edge."""

from __future__ import annotations

import os
from collections.abc import Mapping, Set
from typing import Final

import apsw

from retro.archive.frames import Damaged, read_frames
from retro.archive.origin import open_origin
from retro.index import due
from retro.places import Places

BUDGET: Final = 32 * 1024 * 1024
"""Bytes that one sweep compares at most."""


def edited(
    connection: apsw.Connection,
    places: Places,
    present: Mapping[str, Set[bytes]],
    now: str,
    budget: int | None = None,
) -> set[bytes]:
    """Paths of sources that no longer hold what was captured of them, of those not compared for some days.

    `present` names, for each host that was looked at, the files that were found. What is gone needs no comparison, and
    what is damaged in the archive is left to `retro verify`. An edited source stays due until it is captured again.
    """
    left = BUDGET if budget is None else budget
    changed, compared = set(), []
    for number, host, session_id, path, file, offset, committed in due.unaudited(connection):
        if host not in present:
            continue
        if left <= 0:
            break
        if path in present[host]:
            left -= offset
            archived = os.path.join(places.raw(host, session_id), *file.split("/"))
            if not _holds(path, archived, committed):
                changed.add(path)
                continue
        compared.append((now, number))
    with connection:
        connection.executemany("UPDATE source SET audited = ? WHERE id = ?", compared)
    return changed


def _holds(path: bytes, archived: str, committed: int) -> bool:
    """Whether a file begins with its archived copy; yes where either cannot be read."""
    try:
        origin = open_origin(path)
    except (OSError, ValueError):
        return True
    try:
        return all(origin.read(len(content)) == content for _, content in read_frames(archived, committed))
    except (OSError, Damaged):
        return True
    finally:
        origin.close()
