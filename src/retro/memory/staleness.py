"""Whether a memory still holds: the files that it speaks of, as they were when it was accepted and as they are now."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Final

import apsw
import msgspec

from retro.index.database import rows
from retro.memory.item import Item

LARGEST: Final = 4 * 1024 * 1024
"""Bytes of a file that its hash is of."""

_decode: Final = msgspec.json.Decoder(dict[str, str]).decode


def roots(connection: apsw.Connection) -> dict[str, str]:
    """Where repositories lie on this machine, by what memories are kept under: their remote, or the folder itself."""
    found: dict[str, str] = {}
    for root, remote in rows(connection, "SELECT root, remote FROM clone WHERE root <> '' ORDER BY id"):
        if os.path.isdir(root):
            found[root] = root
            if remote:
                found[remote] = root
    return found


def files_of(item: Item, known: Mapping[str, str]) -> dict[str, str]:
    """The files that a memory speaks of, with the hashes that they had when it was accepted; '' where it was not."""
    return item.files or dict.fromkeys(_paths(item, known), "")


def hashes_of(item: Item, known: Mapping[str, str]) -> dict[str, str]:
    """The files that a memory speaks of, as they are now; what is not there is left out."""
    found = {path: hash_of(path) for path in _paths(item, known)}
    return {path: digest for path, digest in found.items() if digest}


def _paths(item: Item, known: Mapping[str, str]) -> Iterator[str]:
    """Where its files would be; nothing where its repository does not lie on this machine."""
    key = item.scope.key or ""
    root = known.get(key) or (key if os.path.isabs(key) and os.path.isdir(key) else None)
    if root is None:
        return
    more = item.structured.get("files")
    for name in (item.structured.get("file"), item.structured.get("with"), *(more if isinstance(more, list) else [])):
        if isinstance(name, str) and name and (not os.path.isabs(name) or name.startswith(root + os.sep)):
            yield os.path.join(root, name)


def hash_of(path: str) -> str:
    """The hash of a file; '' where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return blake2b(file.read(LARGEST), digest_size=8).hexdigest()
    except OSError:
        return ""


def stale(files: Mapping[str, str]) -> str | None:
    """Why a memory may no longer hold: files that it speaks of are gone, or are others now."""
    gone = next((path for path in files if not os.path.exists(path)), None)
    if gone is not None:
        return f"{os.path.basename(gone)} is gone"
    changed = next((path for path, before in files.items() if before and hash_of(path) != before), None)
    return f"{os.path.basename(changed)} has changed since" if changed is not None else None


def note(connection: apsw.Connection) -> None:
    """Note in the index which memories speak of files that have moved."""
    for number, _, before, why in _looked_at(connection):
        if why != before:
            connection.execute("UPDATE memory SET stale = ? WHERE number = ?", (why, number))


def all_stale(connection: apsw.Connection) -> dict[str, str]:
    """The memories that speak of files that have moved, by their ids, with what has."""
    return {name: why for _, name, _, why in _looked_at(connection) if why is not None}


def _looked_at(connection: apsw.Connection) -> list[tuple[int, str, str | None, str | None]]:
    """Each memory that speaks of files: number, id, what was noted, and how it is now."""
    query = "SELECT number, id, stale, files FROM memory WHERE files <> '{}'"
    return [
        (number, name, before, stale(_decode(files))) for number, name, before, files in list(rows(connection, query))
    ]
