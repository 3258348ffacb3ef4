"""Whether a memory still holds: the files and commits that it speaks of, as they were when it was accepted and now."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Final

import apsw
import msgspec

from retro import repository
from retro.commits import History, blob_of
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


COMMIT: Final = "commit "
"""How what is noted of a commit begins, among what is noted of files."""

_CITED: Final = re.compile(r"(?<![\w/.#-])(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{7,40}(?![\w/.-])")


_QUOTED: Final = re.compile(r"`([^`\s\0]{1,200}\.[A-Za-z0-9]{1,8})`")


def commits_of(item: Item, known: Mapping[str, str]) -> dict[str, str]:
    """The commits that a memory cites, for `stale`: with what it was when it was accepted, and where its files are.

    What looks like a commit and was never known to be one counts only if it is found.
    """
    root = _root(item, known)
    files = [os.path.relpath(path, root) for path in _paths(item, known)] if root else []
    files = list(dict.fromkeys([*files, *_quoted(item)]))
    return {
        f"{COMMIT}{cited}": "\0".join([root, item.commits.get(cited, ""), *files]) for cited in _cited(item) if root
    }


def commits_now(item: Item, known: Mapping[str, str]) -> dict[str, str]:
    """The commits that a memory cites and that a branch leads to, with their whole ids."""
    root = _root(item, known)
    cited = _cited(item) if root else []
    history = _history(root) if root and cited else None
    found = {}
    for one in cited if history else ():
        commit = history.commit(history.find(one) or "") if history else None
        if commit is not None and history is not None and history.leads_to(commit):
            found[one] = commit.id
    return found


def _quoted(item: Item) -> list[str]:
    """What may be files among what a memory quotes; only those that a commit has are looked at."""
    said = "\n".join([item.text, *item.steps])
    return [one for one in _QUOTED.findall(said) if not os.path.isabs(one)][:10]


def _cited(item: Item) -> list[str]:
    said = "\n".join([item.title or "", item.text, item.when_to_use, *item.steps])
    return list(dict.fromkeys(_CITED.findall(said)))[:8]


def _history(root: str) -> History | None:
    found = repository.locate(root)
    git = os.path.join(found.root, ".git") if found is not None else ""
    return History(git) if os.path.isdir(git) else None


def _moved(cited: str, told: str) -> str | None:
    """Why a commit that is cited no longer holds."""
    root, noted, *files = told.split("\0")
    history = _history(root)
    if history is None:
        return None
    name = noted or history.find(cited)
    commit = history.commit(name) if name else None
    if commit is None:
        return f"commit {cited} is gone" if noted else None
    if history.leads_to(commit) is False:
        return f"commit {cited} is on no branch any more"
    for path in files:
        before = history.blob_at(commit, path)
        if before is not None and before not in _blobs(os.path.join(root, path)):
            return f"{os.path.basename(path)} has changed since commit {cited}"
    return None


def _blobs(path: str) -> tuple[str, ...]:
    """What git would call a file as it is now, with its line ends as they are and as git may keep them."""
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST)
    except OSError:
        return ()
    return blob_of(data), blob_of(data.replace(b"\r\n", b"\n"))


def _root(item: Item, known: Mapping[str, str]) -> str | None:
    """Where the memory's repository lies on this machine."""
    key = item.scope.key or ""
    return known.get(key) or (key if os.path.isabs(key) and os.path.isdir(key) else None)


def _paths(item: Item, known: Mapping[str, str]) -> Iterator[str]:
    """Where its files would be; nothing where its repository does not lie on this machine."""
    root = _root(item, known)
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
    """Why a memory may no longer hold: files or commits that it speaks of are gone, or are others now."""
    commits = {name: told for name, told in files.items() if name.startswith(COMMIT)}
    files = {path: before for path, before in files.items() if path not in commits}
    gone = next((path for path in files if not os.path.exists(path)), None)
    if gone is not None:
        return f"{os.path.basename(gone)} is gone"
    changed = next((path for path, before in files.items() if before and hash_of(path) != before), None)
    if changed is not None:
        return f"{os.path.basename(changed)} has changed since"
    reasons = (_moved(name.removeprefix(COMMIT), told) for name, told in commits.items())
    return next(filter(None, reasons), None)


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
