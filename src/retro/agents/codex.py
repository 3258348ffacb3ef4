"""Codex: append-only JSONL rollouts, one per thread; beside them a database of threads, names and typed prompts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

import zstandard

from retro.agents import codex_state
from retro.agents.codex_kinds import BOOKKEEPING_TYPES as BOOKKEEPING_TYPES
from retro.agents.codex_kinds import HOST as HOST
from retro.agents.codex_kinds import UNCOUNTED as UNCOUNTED
from retro.agents.codex_shapes import Line, Meta, decode, is_object
from retro.agents.homes import existing_roots, homes, own_folder
from retro.agents.interface import (
    ROWS,
    SIDECAR,
    TRANSCRIPT,
    Facts,
    HookFile,
    InstructionFile,
    Kind,
    Known,
    Root,
    Source,
    mark_of_rows,
)
from retro.agents.records import mend

if TYPE_CHECKING:
    from retro.agents.codex_records import CodexReader

__all__ = [
    "BOOKKEEPING_TYPES",
    "HOST",
    "META_NAME",
    "MOVED_BY",
    "NORMALISER",
    "UNCOUNTED",
    "claims",
    "discover",
    "folder_of",
    "hooks",
    "reader",
    "retention",
    "roots",
]

NORMALISER: Final = 2
META_NAME: Final = "thread.json"
MOVED_BY: Final = ("CODEX_HOME", "CODEX_SQLITE_HOME")

MAIN: Final = "main"
HISTORY: Final = "history"
THREAD: Final = "sidecars/state.json"
SESSIONS: Final = ("sessions", "archived_sessions")
DEPTH: Final = 6
"""How deep a folder is searched for rollouts: `sessions/` has year, month and day."""

_HEAD: Final = 1024 * 1024
_FIRST: Final = 5
"""Records that are looked at to see whose a file is."""
_ENVELOPES: Final = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_NAME: Final = re.compile(r"rollout-.*?-([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})")
_SUFFIXES: Final = (".jsonl", ".jsonl.zst")

Layout: TypeAlias = Literal["database", "sessions", "bag"]


class _Head(NamedTuple):
    """What the first records of a file tell."""

    session_id: str | None
    cwd: str | None = None
    stream: bool = False
    """It is what `codex exec --json` printed."""


# --- where -----------------------------------------------------------------------------------------------------------


def roots(env: Mapping[str, str], extra: Sequence[str]) -> list[Root]:
    """CODEX_HOME or else `~/.codex`, CODEX_SQLITE_HOME, and what the settings add."""
    wanted = [(entry, "CODEX_HOME") for entry in env.get("CODEX_HOME", "").split(",") if entry.strip()]
    wanted = wanted or [(os.path.join(home, ".codex"), "default") for home in homes(env)]
    wanted += [(env.get("CODEX_SQLITE_HOME", ""), "CODEX_SQLITE_HOME")]
    wanted += [(entry, "settings") for entry in extra]
    return existing_roots(HOST, wanted, lambda folder: layout(folder) is not None)


def layout(folder: str) -> Layout | None:
    """What kind of home a folder is: with a database, with folders of sessions, or just with JSON lines in it."""
    if codex_state.is_home(folder):
        return "database"
    if any(os.path.isdir(os.path.join(folder, name)) for name in SESSIONS):
        return "sessions"
    return "bag" if any(True for _ in _files(folder, DEPTH)) else None


def hooks(env: Mapping[str, str]) -> HookFile:
    """`hooks.json` of the first entry of CODEX_HOME, or of the default folder."""
    folder = own_folder(env, "CODEX_HOME", ".codex")
    events = {"stop": "Stop", "session-end": "SessionEnd"}
    note = "Codex runs hooks only when they are trusted: start codex once and confirm them"
    return HookFile(os.path.join(folder, "hooks.json"), events, _hook_entry, "UserPromptSubmit", note)


def instructions(env: Mapping[str, str], folder: str) -> InstructionFile:
    """`AGENTS.md` for all projects."""
    return InstructionFile(os.path.join(own_folder(env, "CODEX_HOME", ".codex"), "AGENTS.md"))


def _hook_entry(command: str) -> dict[str, object]:
    return {"hooks": [{"type": "command", "command": command, "timeout": 10}]}


def retention(root: Root) -> int | None:
    """This host deletes nothing by itself."""
    return None


# --- what ------------------------------------------------------------------------------------------------------------


def discover(root: Root, known: Known) -> Iterator[Source]:
    """Every rollout that lies below a home or that its database names, and what else the home knows of their threads.

    Archived sessions are among them, marked as such. A database that cannot be read is an OSError at the very end,
    when everything else has been given.
    """
    threads, problems = codex_state.threads(root.path)
    given: set[str] = set()
    files: set[tuple[int, int]] = set()
    for path, archived in _rollouts(root.path, threads.values()):
        source = _source(path, archived, known)
        if source is not None and (source.device, source.inode) not in files:
            files.add((source.device, source.inode))
            given.add(source.session_id)
            yield source
    captured = {session_id for session_id, _ in known.values()}
    for thread, lines in codex_state.history(root.path).items():
        if thread not in given and (thread not in captured or (thread, HISTORY) in known.values()):
            given.add(thread)
            yield _rows(thread, HISTORY, TRANSCRIPT, f"{root.path}#history/{thread}", "history.jsonl", lines)
    for thread, row in threads.items():
        if thread in given or thread in captured:
            yield _rows(thread, THREAD, SIDECAR, f"{root.path}#threads/{thread}", "state.json", row.content)
    if problems:
        raise OSError("; ".join(problems))


def _rollouts(folder: str, threads: Iterable[codex_state.Thread]) -> Iterator[tuple[str, bool]]:
    """Paths of rollouts, on the disk and in the database, and whether the host counts them as archived."""
    listed: set[str] = set()
    below = [name for name in SESSIONS if os.path.isdir(os.path.join(folder, name))]
    for name in below:
        for path in _files(os.path.join(folder, name), DEPTH):
            listed.add(path)
            yield path, name == "archived_sessions"
    if not below:
        for path in _files(folder, DEPTH):
            yield path, False
    for thread in threads:
        named = thread.thread.get("rollout_path")
        if isinstance(named, str) and named not in listed and os.path.isabs(named):
            present = next((path for path in (named, f"{named}.zst") if os.path.isfile(path)), None)
            if present is not None:
                yield present, bool(thread.thread.get("archived"))


def _source(path: str, archived: bool, known: Known) -> Source | None:
    """A file as a source; None if it is not this host's."""
    try:
        stat = os.stat(path)
        found = known.get(path)
        if found is not None:
            head: _Head | None = _Head(found[0], stream=_is_stream(path))
        else:
            head = _head(path)
    except OSError:
        return None
    if head is None:
        return None
    session_id = _text(head.session_id or _named(path))
    name = "exec.jsonl" if head.stream else "rollout.jsonl"
    stamp = (stat.st_size, stat.st_mtime_ns, stat.st_ino, stat.st_dev)
    return Source(HOST, session_id, MAIN, TRANSCRIPT, path, name, *stamp, archived=archived)


def _is_stream(path: str) -> bool:
    """Whether a file that was seen before is a stream; a rollout's name tells that it is none."""
    if os.path.basename(path).startswith("rollout-"):
        return False
    head = _head(path)
    return head is not None and head.stream


def _rows(session_id: str, key: str, kind: Kind, path: str, name: str, data: bytes) -> Source:
    """Rows that the host keeps among those of other sessions, as a source of its own."""
    mark = mark_of_rows(data)
    return Source(HOST, _text(session_id), key, kind, f"{ROWS}{path}", name, len(data), 0, mark, 0, content=data)


def claims(path: str) -> list[Source]:
    """What a path given by the user stands for: a rollout, a stream, or a folder with some."""
    path = os.path.abspath(path)
    if os.path.isdir(path):
        return list(_readable(Root(HOST, path, "given"))) if layout(path) is not None else []
    source = _source(path, "archived_sessions" in path.split(os.sep), {}) if path.endswith(_SUFFIXES) else None
    return [source] if source is not None else []


def _readable(root: Root) -> Iterator[Source]:
    try:
        yield from discover(root, {})
    except OSError:  # a database: the rollouts are here all the same
        return


def folder_of(source: Source) -> str | None:
    """The folder that a rollout's first record names; of rows, that of their thread."""
    if source.content is not None:
        facts = codex_state.facts_of(source.content) if source.kind == SIDECAR else None
        return facts.cwd if facts else None
    try:
        head = _head(source.path)
    except OSError:
        return None
    return head.cwd if head else None


def reader(session_id: str, key: str, source_key: str, saved: bytes, facts: Facts) -> CodexReader:
    """The reader of one rollout or stream."""
    from retro.agents.codex_records import CodexReader  # a sweep that finds nothing new loads no reader

    return CodexReader(session_id, source_key, saved, facts)


def sidecar_facts(key: str, content: bytes) -> Facts | None:
    """What the home knows of a thread beside its rollout."""
    return codex_state.facts_of(content) if key == THREAD else None


# --- files -----------------------------------------------------------------------------------------------------------


def _files(folder: str, depth: int) -> Iterator[str]:
    """Files of JSON lines, in order; of a file and its compressed twin (there for a moment) only the file."""
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    names = {entry.name for entry in found}
    for entry in found:
        if entry.name.endswith(_SUFFIXES):
            if entry.is_file() and not (entry.name.endswith(".zst") and entry.name[:-4] in names):
                yield entry.path
        elif depth > 1 and entry.is_dir(follow_symlinks=False):
            yield from _files(entry.path, depth - 1)


def _named(path: str) -> str:
    """The id in a file's name, or the name."""
    name = os.path.basename(path).removesuffix(".zst").removesuffix(".jsonl")
    found = _NAME.fullmatch(name)
    return found[1] if found else name


def _head(path: str) -> _Head | None:
    """What the first records say; None if they are none that this host writes."""
    for line in _first_lines(path):
        for mended in (False, True):
            try:
                found = _told(mend(line) if mended else line.lstrip(b"\xef\xbb\xbf"))
            except (ValueError, RecursionError, TypeError):
                continue
            if found is not None:
                return found
            break
    return None


def _told(line: bytes) -> _Head | None:
    """What one of the first records says of the session; None if it is not its host's, or says nothing of it."""
    record = decode(line, Line)
    if record.kind == "thread.started" and record.thread_id:
        return _Head(record.thread_id, stream=True)
    if is_object(record.payload) and record.kind in _ENVELOPES:
        if record.kind != "session_meta":
            return _Head(None)
        meta = decode(record.payload, Meta)
        return _Head(meta.id or meta.session_id, meta.cwd)
    if record.id and record.timestamp and not record.kind and b'"instructions"' in line:
        return _Head(record.id)
    return None


def _first_lines(path: str) -> list[bytes]:
    with open(path, "rb") as file:
        if not path.endswith(".zst"):
            data = file.read(_HEAD)
        else:
            try:
                data = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read(_HEAD)
            except zstandard.ZstdError:
                return []
    return data.split(b"\n")[:_FIRST]


def _text(name: str) -> str:
    """An id as text that any encoder takes."""
    return name if name.isascii() else name.encode("utf-8", "backslashreplace").decode()
