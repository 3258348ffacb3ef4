"""Where hosts keep their folders on Linux, macOS, Windows and WSL, and what lies in a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from retro.agents.interface import Kind, Root, Source

WINDOWS_USERS: Final = "/mnt/c/Users"
"""Where WSL shows the homes of Windows: an agent may run on either side."""

_SHARED: Final = frozenset({"All Users", "Default", "Default User", "Public"})


def homes(env: Mapping[str, str]) -> list[str]:
    """The person's home folder; within WSL also those on the Windows side."""
    found = [env.get("HOME") or env.get("USERPROFILE") or os.path.expanduser("~")]
    if env.get("WSL_DISTRO_NAME"):
        found += [folder for folder in folders(WINDOWS_USERS) if os.path.basename(folder) not in _SHARED]
    return found


def own_folder(env: Mapping[str, str], variable: str, name: str) -> str:
    """The folder in which a host keeps what the person set up: the first that a variable names, or `~/name`."""
    named = next(filter(None, map(str.strip, env.get(variable, "").split(","))), None)
    return os.path.abspath(os.path.expanduser(named or os.path.join(homes(env)[0], name)))


def existing_roots(
    host: str, wanted: Iterable[tuple[str, str]], holds: Callable[[str], bool] = os.path.isdir
) -> list[Root]:
    """Those of the wanted folders, each with the reason for it, that are there and hold sessions; each once."""
    found: dict[str, Root] = {}
    for path, reason in wanted:
        if not path.strip():
            continue
        folder = os.path.abspath(os.path.expanduser(path.strip()))
        if holds(folder):
            found.setdefault(os.path.realpath(folder), Root(host, folder, reason))
    return list(found.values())


def scan(folder: str) -> list[os.DirEntry[str]]:
    """What lies in a folder and can be looked at, by name; nothing where it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sorted(filter(_is_there, entries), key=lambda entry: entry.name)
    except OSError:
        return []


def _is_there(entry: os.DirEntry[str]) -> bool:
    """Whether it can be looked at: it may be gone by now, or a link in a circle. The entry keeps what `stat` says."""
    try:
        entry.stat()
    except OSError:
        return False
    return True


def folders(folder: str) -> list[str]:
    """The folders in a folder."""
    return [entry.path for entry in scan(folder) if entry.is_dir()]


def files(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """Every file below a folder; links to folders are not followed."""
    for entry in scan(folder):
        if entry.is_dir(follow_symlinks=False):
            yield from files(entry.path)
        elif entry.is_file():
            yield entry.path, entry.stat()


def source(host: str, session_id: str, key: str, kind: Kind, path: str, name: str, stat: os.stat_result) -> Source:
    """A file as a source, whatever characters its name has."""
    ids = [plain(part) for part in (session_id, key, name)]
    return Source(host, ids[0], ids[1], kind, path, ids[2], stat.st_size, stat.st_mtime_ns, stat.st_ino, stat.st_dev)


def head(path: str, size: int = 64 * 1024) -> bytes:
    """The first bytes of a file; none where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(size)
    except OSError:
        return b""


def plain(name: str) -> str:
    """A file's name as text that any encoder takes."""
    return name if name.isascii() else name.encode("utf-8", "backslashreplace").decode()


def scanned(pattern: bytes, data: bytes) -> str | None:
    """The first match of a pattern in bytes, as text."""
    found = re.search(pattern, data)
    return found[1].decode("utf-8", "replace") if found else None
