"""A session's files given back, byte for byte, to where the host finds them again or to a folder."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping

import msgspec

from retro.agents.interface import ROWS
from retro.archive.committed import SessionState, SourceState
from retro.archive.frames import Damaged, check, read_frames
from retro.archive.origin import open_origin, plain_path
from retro.failure import Failure
from retro.places import Places, make_private_dir
from retro.retention import near_since

_ROWS: bytes = ROWS.encode()


class Restored(msgspec.Struct):
    """A file that was written, or was there already with the same content."""

    source: str
    revision: int
    path: str
    bytes: int
    written: bool


def restore(
    places: Places,
    state: SessionState,
    to: str | None = None,
    revision: int | None = None,
    periods: Mapping[str, int] | None = None,
) -> list[Restored]:
    """Write a session's files, the newest revisions or those of a time before.

    Nothing is overwritten, and nothing written at all if one file is in the way or one archived copy is damaged.
    A file gets its old time back, unless its host, which keeps what lies below a folder for so many days (`periods`),
    would soon delete it again: then it counts as used now.
    """
    wanted = _of_revision(state, revision)
    if any(source.base for source in wanted):
        raise Failure(
            "evicted",
            "this session's raw bytes were given up to stay within the space budget",
            "retro show tells what is left of it; retro pin keeps a session from being given up",
        )
    plan, now = _targets(wanted, to), time.time()
    there = {target: _in_the_way(places, state, source, target) for target, source in plan.items()}
    done = []
    for target, source in plan.items():
        if not there[target]:
            written = None if _is_old(target, source, periods or {}, now) else source.mtime_ns
            _write(_archived(places, state, source), source, target, to, written)
        done.append(Restored(source.key, source.revision, target, source.offset, not there[target]))
    return done


def left_out(state: SessionState) -> list[str]:
    """Sources that are no files of their own: rows of a database, which only the host can write."""
    return sorted({source.key for source in state.sources if source.path.startswith(_ROWS)})


# --- what and where to -----------------------------------------------------------------------------------------------


def _of_revision(state: SessionState, revision: int | None) -> list[SourceState]:
    """The newest revision of every file, or the newest up to a number."""
    latest: dict[str, SourceState] = {}
    for source in sorted(state.sources, key=lambda one: one.revision):
        if not source.path.startswith(_ROWS) and (revision is None or source.revision <= revision):
            latest[source.key] = source
    if revision is not None and all(source.revision != revision for source in state.sources):
        there = ", ".join(str(number) for number in sorted({source.revision for source in state.sources}))
        raise Failure("not_found", f"this session has no revision {revision}", f"there are {there}")
    if not latest:
        raise Failure("not_found", "nothing of this session was a file", "retro raw ID --list shows what it was")
    return list(latest.values())


def _targets(sources: list[SourceState], to: str | None) -> dict[str, SourceState]:
    """Where each file goes. In a folder of the user's, files lie to each other as they did at the host."""
    paths = {source.key: os.fsdecode(plain_path(source.path)) for source in sources}
    for path in paths.values():
        if not os.path.isabs(path) or os.path.normpath(path) != path:
            raise Failure("bad_path", f"{path} is no place that a file can be written to", "restore it with --to DIR")
    if to is not None:
        paths = {key: os.path.join(to, path) for key, path in _relative(paths).items()}
    targets: dict[str, SourceState] = {}
    for source in sorted(sources, key=lambda one: one.captured):
        targets[paths[source.key]] = source  # a file that took the place of another is the later capture
    return targets


def _relative(paths: dict[str, str]) -> dict[str, str]:
    """Paths from the deepest folder that they share on."""
    try:
        base = os.path.commonpath([os.path.dirname(path) for path in paths.values()])
    except ValueError:  # on several drives of Windows
        return {key: os.path.join(f"{at}", os.path.basename(path)) for at, (key, path) in enumerate(paths.items())}
    return {key: os.path.relpath(path, base) for key, path in paths.items()}


def _is_old(target: str, source: SourceState, periods: Mapping[str, int], now: float) -> bool:
    """Whether the host would soon delete a file with its old time."""
    return any(
        target.startswith(folder + os.sep) and source.mtime_ns < near_since(days, now) * 1e9
        for folder, days in periods.items()
    )


# --- writing ---------------------------------------------------------------------------------------------------------


def _in_the_way(places: Places, state: SessionState, source: SourceState, target: str) -> bool:
    """Whether the file is there already; refuses another one in its place, and an archived copy that is damaged."""
    path = _archived(places, state, source)
    if check(path, source.raw_bytes)[:2] != (source.offset, source.chain):
        raise Damaged(path, 0, "frames were changed, moved, lost or added")
    twin = f"{target}.zst" if target.endswith(".jsonl") else ""  # one that the host compressed since
    found = next((one for one in (target, twin) if one and os.path.lexists(one)), None)
    if found is not None and not _same(path, source, found):
        raise Failure(
            "exists",
            f"{found} exists and holds something else",
            "move it away, or restore into another folder with --to DIR",
        )
    return found is not None


def _same(path: str, source: SourceState, found: str) -> bool:
    """Whether a file begins with all that was captured; what the host wrote behind it since does no harm."""
    try:
        origin = open_origin(os.fsencode(found))
    except OSError:
        return False
    try:
        return all(_read(origin.read, len(content)) == content for content in _content(path, source))
    except OSError:
        return False
    finally:
        origin.close()


def _read(read: object, size: int) -> bytes:
    """As many bytes as asked for, or all up to the end."""
    blocks = []
    while size > 0 and callable(read) and (block := read(size)):
        blocks.append(block)
        size -= len(block)
    return b"".join(blocks)


def _write(archived: str, source: SourceState, target: str, to: str | None, mtime_ns: int | None) -> None:
    folder = os.path.dirname(target)
    if to is not None and not Places(to).contains(folder):
        raise Failure("outside", f"{folder} leads out of {to}", "a link in there leads elsewhere: choose another one")
    make_private_dir(folder)
    temporary = os.path.join(folder, f".retro-{os.urandom(6).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(temporary, flags, 0o600)
    try:
        with open(descriptor, "wb") as file:
            for content in _content(archived, source):
                file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if mtime_ns is not None:
            os.utime(temporary, ns=(mtime_ns, mtime_ns))
        _put(temporary, target)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def _put(temporary: str, target: str) -> None:
    """Give a file its name, unless something has taken it meanwhile."""
    try:
        os.link(temporary, target)  # unlike a rename, this never replaces anything
    except FileExistsError:
        raise Failure("exists", f"{target} has come to be there just now", "try again") from None
    except OSError:  # a file system without hard links
        if os.path.lexists(target):
            raise
        os.rename(temporary, target)


def _archived(places: Places, state: SessionState, source: SourceState) -> str:
    return places.checked(os.path.join(places.raw(state.host, state.session_id), *source.file.split("/")))


def _content(path: str, source: SourceState) -> Iterator[bytes]:
    return (content for _, content in read_frames(path, source.raw_bytes))
