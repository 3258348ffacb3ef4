"""Commits of a git repository, read from its object files: what they are, and whether a branch still leads to them.

No process is started. What cannot be told, as in a shallow clone or with other hashes, is None; nothing is raised.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable, Iterator
from hashlib import sha1
from heapq import heappop, heappush
from typing import BinaryIO, Final, NamedTuple

LARGEST: Final = 4 * 1024 * 1024
"""Bytes of an object that is read."""

CHUNK: Final = 8 * 1024

DEEPEST: Final = 64
"""Differences that an object may be made of, and folders that a path may have."""

MOST: Final = 5_000
"""Commits that are walked through."""

SLACK_SECONDS: Final = 7 * 86_400
"""How wrong clocks may be: a commit's parents are looked at until they are so much older than what is looked for."""

_KINDS: Final = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
_OFFSET, _REFERENCE = 6, 7
_ID: Final = re.compile(rb"[0-9a-f]{40}")
_COMMITTED: Final = re.compile(rb"^committer .* (\d+) [+-]\d{4}$", re.MULTILINE)
_BROKEN: Final = (OSError, ValueError, IndexError, KeyError, zlib.error, RecursionError, OverflowError)


class Commit(NamedTuple):
    """A commit: its id, its tree, its parents, and when it was made."""

    id: str
    tree: str
    parents: tuple[str, ...]
    time: int


class History:
    """The commits below a git folder."""

    def __init__(self, git: str) -> None:
        self._git = git
        self._objects = [os.path.join(git, "objects")]
        alternates = _text(os.path.join(git, "objects", "info", "alternates"))
        self._objects += [os.path.join(self._objects[0], line) for line in alternates.splitlines()[:8] if line]
        self._packs: list[_Pack] | None = None

    def find(self, prefix: str) -> str | None:
        """The id of the one object that begins so; None for none, or several."""
        try:
            found = {name for folder in self._objects for name in _loose(folder, prefix)}
            found.update(name for pack in self._opened() for name in pack.beginning(prefix))
        except _BROKEN:
            return None
        return found.pop() if len(found) == 1 else None

    def commit(self, name: str) -> Commit | None:
        """A commit by its whole id; a tag leads to what it names. None if it is none, or not there."""
        try:
            for _ in range(4):
                kind, data = self._read(name)
                if kind != "tag":
                    return _commit(name, data) if kind == "commit" else None
                name = data[7:47].decode("ascii")
        except _BROKEN:
            pass
        return None

    def leads_to(self, wanted: Commit) -> bool | None:
        """Whether a branch, a tag or HEAD leads to a commit; None where that cannot be told."""
        seen: set[str] = set()
        queue: list[tuple[int, str, Commit]] = []

        def look(names: Iterable[str]) -> bool:
            whole = True
            for name in names:
                if name not in seen:
                    seen.add(name)
                    one = self.commit(name)
                    whole = whole and one is not None
                    if one is not None:
                        heappush(queue, (-one.time, one.id, one))
            return whole

        whole = look(self._references())
        if not queue:
            return None
        while queue and len(seen) < MOST:
            when, _, one = heappop(queue)
            if one.id == wanted.id:
                return True
            if -when < wanted.time - SLACK_SECONDS:
                return False if whole else None
            whole = look(one.parents) and whole
        return False if whole and not queue else None

    def blob_at(self, commit: Commit, path: str) -> str | None:
        """The id of a file's content in a commit; None where it is not in it."""
        name, parts = commit.tree, path.replace("\\", "/").split("/")
        try:
            for part in parts[:DEEPEST]:
                kind, data = self._read(name)
                if kind != "tree":
                    return None
                name = dict(_entries(data))[part.encode()]
        except _BROKEN:
            return None
        return name

    def _references(self) -> Iterator[str]:
        names = ["HEAD"]
        for at, _, files in os.walk(os.path.join(self._git, "refs")):
            names += [os.path.relpath(os.path.join(at, name), self._git) for name in files]
        for name in names[:MOST]:
            told = _text(os.path.join(self._git, name)).strip()
            if len(told) == 40:
                yield told
        for line in _text(os.path.join(self._git, "packed-refs")).splitlines()[:MOST]:
            if line[:1] not in ("#", "^") and len(line) > 41:
                yield line[:40]

    def _opened(self) -> list[_Pack]:
        if self._packs is None:
            folders = [os.path.join(folder, "pack") for folder in self._objects]
            self._packs = [
                _Pack(os.path.join(folder, name[:-4]))
                for folder in folders
                if os.path.isdir(folder)
                for name in sorted(os.listdir(folder))
                if name.endswith(".idx")
            ]
        return self._packs

    def _read(self, name: str, depth: int = 0) -> tuple[str, bytes]:
        """The kind and the content of an object. Raises what is broken."""
        if not _ID.fullmatch(name.encode()) or depth > DEEPEST:
            raise ValueError(name)
        for folder in self._objects:
            path = os.path.join(folder, name[:2], name[2:])
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    head, _, data = _inflated(file.read(LARGEST)).partition(b"\0")
                return head.split()[0].decode("ascii"), data
        for pack in self._opened():
            at = pack.place(name)
            if at is not None:
                return self._packed(pack, at, depth)
        raise KeyError(name)

    def _packed(self, pack: _Pack, at: int, depth: int) -> tuple[str, bytes]:
        if depth > DEEPEST:
            raise ValueError(at)
        with open(pack.path + ".pack", "rb") as file:
            file.seek(at)
            raw = file.read(CHUNK)
            return self._unpacked(pack, at, depth, raw, file)

    def _unpacked(self, pack: _Pack, at: int, depth: int, raw: bytes, file: BinaryIO) -> tuple[str, bytes]:
        kind, place = (raw[0] >> 4) & 7, 1
        while raw[place - 1] & 0x80:
            place += 1
        if kind in _KINDS:
            return _KINDS[kind], _inflated(raw[place:], file)
        if kind == _OFFSET:
            back, place = _backwards(raw, place)
            of, base = self._packed(pack, at - back, depth + 1)
        elif kind == _REFERENCE:
            of, base = self._read(raw[place : place + 20].hex(), depth + 1)
            place += 20
        else:
            raise ValueError(kind)
        return of, _patched(base, _inflated(raw[place:], file))


class _Pack:
    """A pack's index, of version 2: where in the pack each object lies."""

    def __init__(self, path: str) -> None:
        self.path = path
        with open(path + ".idx", "rb") as file:
            self._data = file.read()
        if self._data[:8] != b"\xfftOc\0\0\0\2":
            raise ValueError(path)
        self._count = self._fan(255)

    def _fan(self, byte: int) -> int:
        return int.from_bytes(self._data[8 + 4 * byte : 12 + 4 * byte], "big") if byte >= 0 else 0

    def _name(self, number: int) -> str:
        start = 1032 + 20 * number
        return self._data[start : start + 20].hex()

    def beginning(self, prefix: str) -> list[str]:
        """The objects that begin so; two are as good as many."""
        low, high = self._fan(int(prefix[:2], 16) - 1), self._fan(int(prefix[:2], 16))
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._name(middle) < prefix else (low, middle)
        return [name for at in (low, low + 1) if at < self._count and (name := self._name(at)).startswith(prefix)]

    def place(self, name: str) -> int | None:
        """Where an object lies."""
        low, high = self._fan(int(name[:2], 16) - 1), self._fan(int(name[:2], 16))
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._name(middle) < name else (low, middle)
        if low >= self._count or self._name(low) != name:
            return None
        start = 1032 + 24 * self._count + 4 * low
        at = int.from_bytes(self._data[start : start + 4], "big")
        if at & 0x80000000:
            start = 1032 + 28 * self._count + 8 * (at & 0x7FFFFFFF)
            at = int.from_bytes(self._data[start : start + 8], "big")
        return at


def _loose(folder: str, prefix: str) -> list[str]:
    inner = os.path.join(folder, prefix[:2])
    if not os.path.isdir(inner):
        return []
    return [prefix[:2] + name for name in os.listdir(inner) if (prefix[:2] + name).startswith(prefix)]


def _inflated(data: bytes, more: BinaryIO | None = None) -> bytes:
    """What compressed bytes hold; `more` is where they go on."""
    unpacking = zlib.decompressobj()
    found = unpacking.decompress(data, LARGEST)
    while more is not None and not unpacking.eof and len(found) < LARGEST and (data := more.read(CHUNK)):
        found += unpacking.decompress(data, LARGEST)
    return found


def _backwards(raw: bytes, place: int) -> tuple[int, int]:
    byte = raw[place]
    back = byte & 0x7F
    while byte & 0x80:
        place += 1
        byte = raw[place]
        back = ((back + 1) << 7) | (byte & 0x7F)
    return back, place + 1


def _patched(base: bytes, delta: bytes) -> bytes:
    """What a difference makes of an object."""
    place = 0
    for _ in range(2):  # the two sizes
        while delta[place] & 0x80:
            place += 1
        place += 1
    made = bytearray()
    while place < len(delta) and len(made) <= LARGEST:
        code = delta[place]
        place += 1
        if not code & 0x80:
            made += delta[place : place + code]
            place += code
            continue
        numbers = [0, 0]
        for bit in range(7):
            if code >> bit & 1:
                numbers[bit >= 4] |= delta[place] << 8 * (bit % 4)
                place += 1
        start, size = numbers[0], numbers[1] or 0x10000
        made += base[start : start + size]
    return bytes(made)


def _commit(name: str, data: bytes) -> Commit:
    head = data.partition(b"\n\n")[0]
    lines = head.split(b"\n")
    parents = tuple(line[7:47].decode("ascii") for line in lines if line.startswith(b"parent "))
    made = _COMMITTED.search(head)
    return Commit(name, lines[0][5:45].decode("ascii"), parents, int(made[1]) if made else 0)


def _entries(data: bytes) -> Iterator[tuple[bytes, str]]:
    place = 0
    while place < len(data):
        end = data.index(b"\0", place)
        yield data[place:end].partition(b" ")[2], data[end + 1 : end + 21].hex()
        place = end + 21


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(LARGEST)
    except OSError:
        return ""


def blob_of(data: bytes) -> str:
    """The id that git gives a file's content."""
    return sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
