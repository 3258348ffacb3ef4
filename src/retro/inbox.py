"""`inbox/`: what the light commands have to say, a line each; the next sweep takes it in.

A light command never writes the index. It appends one line, which takes no lock: the system keeps lines apart.
"""

from __future__ import annotations

import os

from retro.places import Places, make_private_dir, open_private, write_private

TYPE_CHECKING = False  # as in places: this is on the light path
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

LINE_LIMIT = 64 * 1024
"""Bytes; a longer line is not written: nothing that a light command has to say is so long."""

SHORT = 1024
"""Bytes at the end of a log in which its last line is looked for."""

ENDED = "ended"
"""Sessions that a hook says have come to rest."""

CALLS = "calls"
"""Calls of recall."""

CALLS_KEPT = 500
"""So many of them are kept."""

LIMITS = "limits"
"""What providers say of how much of their limits is used."""

LIMITS_KEPT = 50
"""So many of these are kept."""

_TAKEN = ".taken"
_KEPT = ".kept"


def append(places: Places, name: str, record: Mapping[str, object]) -> bool:
    """Add a line to a log of the inbox; whether it was written. An archive that does not exist is not made for it."""
    import json

    line = json.dumps(record, separators=(",", ":"), ensure_ascii=True).encode("ascii") + b"\n"
    return len(line) <= LINE_LIMIT and append_line(places, name, line)


def append_line(places: Places, name: str, line: bytes, *, limit: int | None = None) -> bool:
    """Add a line that ends as lines do; with `limit`, only as long as the log has fewer bytes."""
    if not os.path.isdir(places.root):
        return False
    make_private_dir(places.inbox)
    descriptor = open_private(_path(places, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        if limit is not None and os.fstat(descriptor).st_size > limit:
            return False
        return os.write(descriptor, line) == len(line)
    finally:
        os.close(descriptor)


def tail(places: Places, name: str) -> str:
    """The end of a log, with its last line whole if that is a short one; empty where there is none."""
    try:
        with open(_path(places, name), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - SHORT))
            return file.read().decode("utf-8", "replace").rstrip().rpartition("\n")[2]
    except OSError:
        return ""


def take(places: Places, name: str) -> Iterator[dict[str, object]]:
    """The lines of a log, which no longer count from when `taken` is called. The caller holds the archive's lock.

    A line that is torn or no object is passed over.
    """
    import json

    path = _path(places, name)
    if not os.path.exists(path + _TAKEN):  # else a sweep died before it was done with it
        try:
            os.rename(path, path + _TAKEN)
        except FileNotFoundError:
            return
    with open(path + _TAKEN, "rb") as file:
        for line in file:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                yield record


def waits(places: Places, name: str) -> bool:
    """Whether a log has lines that nobody has taken in."""
    path = _path(places, name)
    return os.path.exists(path) or os.path.exists(path + _TAKEN)


def taken(places: Places, name: str) -> None:
    """What was given by `take` is done with."""
    try:
        os.unlink(_path(places, name) + _TAKEN)
    except FileNotFoundError:
        pass


def last(places: Places, name: str, count: int) -> list[dict[str, object]]:
    """The newest lines of a log that is kept as a ring, the oldest first."""
    import json

    found = []
    for line in _last_lines(places, name, count):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            found.append(record)
    return found


def shorten(places: Places, name: str, count: int, size: int) -> None:
    """Keep the newest lines of a log once it has more than `size` bytes. The caller holds the archive's lock."""
    path = _path(places, name)
    try:
        if os.path.getsize(path) <= size and not os.path.exists(path + _TAKEN):
            return
        if not os.path.exists(path + _TAKEN):
            os.rename(path, path + _TAKEN)
    except FileNotFoundError:
        return
    write_private(path + _KEPT, b"".join(_last_lines(places, name, count, (_KEPT, _TAKEN))), sync=False)
    taken(places, name)


def flaws(places: Places) -> list[tuple[str, int]]:
    """The logs that hold a line that is none, and where the first one begins."""
    found = []
    for path in _files(places):
        at = 0
        for line in _lines(path):
            if not _is_object(line):
                found.append((path, at))
                break
            at += len(line)
    return found


def mend(path: str) -> None:
    """Take damaged lines out of a log; what is written to it meanwhile stays. The caller holds the archive's lock."""
    _sift(path, _is_object)


def forget(places: Places, session_ids: Iterable[str]) -> None:
    """Take out every line that names one of these sessions. The caller holds the archive's lock."""
    import json

    names = [json.dumps(session_id)[1:-1].encode("ascii") for session_id in session_ids]
    for path in _files(places):
        if any(name in line for line in _lines(path) for name in names):
            _sift(path, lambda line: not any(name in line for name in names))


def _sift(path: str, keeps: Callable[[bytes], bool]) -> None:
    aside = f"{path}.sifted"
    os.rename(path, aside)
    left = b"".join(line for line in _lines(aside) if keeps(line))
    if left:
        descriptor = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            os.write(descriptor, left)
        finally:
            os.close(descriptor)
    os.unlink(aside)


def _files(places: Places) -> list[str]:
    try:
        names = sorted(os.listdir(places.inbox))
    except OSError:
        return []
    ends = tuple(f".jsonl{part}" for part in ("", _TAKEN, _KEPT))
    return [os.path.join(places.inbox, name) for name in names if name.endswith(ends)]


def _lines(path: str) -> list[bytes]:
    try:
        with open(path, "rb") as file:
            return file.read().splitlines(keepends=True)
    except OSError:
        return []


def _is_object(line: bytes) -> bool:
    import json

    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _last_lines(places: Places, name: str, count: int, parts: tuple[str, ...] = (_KEPT, _TAKEN, "")) -> list[bytes]:
    lines: list[bytes] = []
    for part in parts:
        try:
            with open(_path(places, name) + part, "rb") as file:
                lines += file.read().splitlines(keepends=True)
        except FileNotFoundError:
            continue
    return lines[-count:]


def _path(places: Places, name: str) -> str:
    return places.checked_session(os.path.join(places.inbox, f"{name}.jsonl"))
