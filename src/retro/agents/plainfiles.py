"""Hosts that keep each session in files of its own: where they lie, and which of them a path stands for."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

import msgspec
import zstandard

from retro.agents.fields import Fields, decode, mapping
from retro.agents.homes import existing_roots, files, head, scan, source
from retro.agents.interface import LINES, SIDECAR, TRANSCRIPT, Form, Known, Root, Source

MAIN: Final = "main"
BESIDE: Final = "sidecars/"
"""Begins the keys of files that are kept whole and give no events."""

_HEAD: Final = 64 * 1024
RECORDS: Final = 20
"""First records that are looked at to see whose a file is."""

_CWD: Final = re.compile(rb'"cwd"\s*:\s*"((?:[^"\\]|\\.){1,4096})"')


class Part(NamedTuple):
    """What a file is: the session it belongs to, and its key in there."""

    session_id: str
    key: str = MAIN


class FileHost(msgspec.Struct, frozen=True):
    """A host that is known by the places of its files and by what their first records look like."""

    host: str
    patterns: tuple[str, ...]
    """Below a root, with `*` for one name: `projects/*/chats/*.jsonl`."""
    look: Callable[[str], Part | None]
    """What a file is, by its path and its first records; None if it is not this host's."""
    cwd: re.Pattern[bytes] = _CWD
    form: Form = LINES
    """How its transcripts change."""

    def roots(self, wanted: Iterable[tuple[str, str]]) -> list[Root]:
        """Those of the wanted folders in which there is something."""
        return existing_roots(self.host, wanted, self._holds)

    def _holds(self, folder: str) -> bool:
        return any(True for pattern in self.patterns for _ in matching(folder, pattern))

    def discover(self, root: Root, known: Known) -> Iterator[Source]:
        """Every source below a root."""
        seen: set[str] = set()
        for pattern in self.patterns:
            for path, stat in matching(root.path, pattern):
                if path not in seen:
                    seen.add(path)
                    found = self._source(path, stat, known)
                    if found is not None:
                        yield found

    def _source(self, path: str, stat: os.stat_result, known: Known) -> Source | None:
        before = known.get(path)
        part = Part(before[0], before[1].partition("~")[0]) if before else self.look(path)
        if part is None:
            return None
        beside = part.key.startswith(BESIDE)
        name = os.path.basename(path) if beside else "transcript.jsonl" if self.form == LINES else "transcript.json"
        found = source(self.host, part.session_id, part.key, SIDECAR if beside else TRANSCRIPT, path, name, stat)
        return found if beside or self.form == LINES else msgspec.structs.replace(found, form=self.form)

    def claims(self, path: str) -> list[Source]:
        """What a path given by the user stands for: a file, or a folder with some."""
        path = os.path.abspath(path)
        if os.path.isdir(path):
            if self._holds(path):
                return list(self.discover(Root(self.host, path, "given"), {}))
            ends = tuple({pattern.rpartition("*")[2] for pattern in self.patterns})
            found = (self._source(file, stat, {}) for file, stat in files(path) if file.endswith(ends))
            return [one for one in found if one is not None]
        found_one = self._source(path, os.stat(path), {}) if os.path.isfile(path) else None
        return [found_one] if found_one is not None else []

    def folder_of(self, source: Source) -> str | None:
        """The folder that the first records of a transcript name."""
        found = self.cwd.search(_opening(source.path)) if source.kind == TRANSCRIPT else None
        if found is None:
            return None
        try:
            return str(json.loads(b'"' + found[1] + b'"'))
        except ValueError:
            return None


def matching(folder: str, pattern: str) -> Iterator[tuple[str, os.stat_result]]:
    """The files below a folder whose path is of this form."""
    name, _, rest = pattern.partition("/")
    if not rest:
        for entry in scan(folder):
            if fnmatchcase(entry.name, name) and entry.is_file():
                yield entry.path, entry.stat()
    elif "*" not in name:
        yield from matching(os.path.join(folder, name), rest)
    else:
        for entry in scan(folder):
            if fnmatchcase(entry.name, name) and entry.is_dir():
                yield from matching(entry.path, rest)


def first_records(path: str) -> list[Fields]:
    """The first objects of a file of JSON lines; none where it is not one."""
    found = []
    for line in _opening(path).lstrip(b"\xef\xbb\xbf").split(b"\n")[:RECORDS]:
        try:
            found.append(mapping(decode(line)))
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            if not found:  # glued to the next one, or torn
                found += _beginning(line)
    return [record for record in found if record]


def _opening(path: str) -> bytes:
    """The first bytes of a file, or of what is compressed in it."""
    if not path.endswith((".zst", ".zstd")):
        return head(path)
    try:
        with open(path, "rb") as file:
            return zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read(_HEAD)
    except (OSError, zstandard.ZstdError):
        return b""


def _beginning(line: bytes) -> list[Fields]:
    try:
        value, _ = json.JSONDecoder().raw_decode(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return []
    return [mapping(value)]


def stem(path: str) -> str:
    """A file's name without what follows its first dot."""
    return os.path.basename(path).partition(".")[0]


def is_below(path: str, *names: str) -> bool:
    """Whether a path goes through folders of these names, one below the other."""
    parts = path.replace(os.sep, "/").split("/")[:-1]
    wanted = list(names)
    return any(parts[at : at + len(wanted)] == wanted for at in range(len(parts)))
