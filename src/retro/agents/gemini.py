"""Gemini CLI: a chat per session, since 2026 an append-only journal, before that one JSON object that is rewritten."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from retro.agents import databases
from retro.agents.fields import Fields, decode, items, mapping, string
from retro.agents.gemini_kinds import BOOKKEEPING_TYPES as BOOKKEEPING_TYPES
from retro.agents.gemini_kinds import HOST as HOST
from retro.agents.gemini_kinds import PROMPTS
from retro.agents.gemini_kinds import UNCOUNTED as UNCOUNTED
from retro.agents.homes import existing_roots, files, folders, head, homes, plain, scan, source
from retro.agents.interface import (
    DOCUMENT,
    RECORDS,
    ROWS,
    SIDECAR,
    TRANSCRIPT,
    Facts,
    HookFile,
    InstructionFile,
    Known,
    Root,
    Row,
    Source,
    Unreadable,
    mark_of_rows,
)

if TYPE_CHECKING:
    from retro.agents.gemini_records import GeminiReader

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
]

NORMALISER: Final = 1
META_NAME: Final = "meta.json"
MOVED_BY: Final = ("GEMINI_CLI_HOME",)
MAIN: Final = "main"
AGENT: Final = "agent-"
CHATS: Final = "chats"
LOG: Final = "logs.json"
MARK: Final = ".project_root"
"""Says which folder a project's short name stands for."""

SUFFIXES: Final = (".jsonl", ".json")
RETENTION_DAYS: Final = 30
_DAYS: Final = {"h": 1 / 24, "d": 1, "w": 7, "m": 30}
_ID: Final = re.compile(rb'"sessionId"\s*:\s*"([^"\\]{1,200})"')
_SUBAGENT: Final = re.compile(rb'"kind"\s*:\s*"subagent"')
_DIRECTORY: Final = re.compile(rb'"directories"\s*:\s*\[\s*"((?:[^"\\]|\\.){1,4096})"')
_WORKSPACE: Final = re.compile(rb"Workspace Directories:\*\*\s*\\n\s*- ((?:[^\"\\]|\\[^n]){1,4096})\\n")
_PATH: Final = re.compile(rb'"((?:/|[A-Za-z]:\\\\)(?:[^"\\]|\\\\){1,1000})"')
_HASH: Final = re.compile(rb'"projectHash"\s*:\s*"([0-9a-f]{64})"')
_LARGEST: Final = 64 * 1024 * 1024


# --- where -----------------------------------------------------------------------------------------------------------


def roots(env: Mapping[str, str], extra: Sequence[str]) -> list[Root]:
    """`.gemini` below GEMINI_CLI_HOME or else the home folder, and what the settings add."""
    moved = env.get("GEMINI_CLI_HOME", "").strip()
    wanted = [(os.path.join(moved, ".gemini"), "GEMINI_CLI_HOME")] if moved else []
    wanted += [(os.path.join(home, ".gemini"), "default") for home in homes(env) if not moved]
    wanted += [(entry, "settings") for entry in extra]
    return existing_roots(HOST, wanted, _holds)


def hooks(env: Mapping[str, str]) -> HookFile:
    """`settings.json` for all projects."""
    events = {"stop": "AfterAgent", "session-end": "SessionEnd"}
    return HookFile(os.path.join(_own_folder(env), "settings.json"), events, _hook_entry, "BeforeAgent")


def _hook_entry(command: str) -> dict[str, object]:
    ten_seconds = 10_000  # this host counts milliseconds
    hook = {"name": "retro", "type": "command", "command": command, "timeout": ten_seconds}
    return {"matcher": "*", "hooks": [hook]}


def instructions(env: Mapping[str, str], folder: str) -> InstructionFile:
    """`GEMINI.md` for all projects."""
    return InstructionFile(os.path.join(_own_folder(env), "GEMINI.md"))


def _own_folder(env: Mapping[str, str]) -> str:
    return os.path.join(env.get("GEMINI_CLI_HOME", "").strip() or homes(env)[0], ".gemini")


def _holds(folder: str) -> bool:
    return os.path.isdir(os.path.join(folder, "tmp"))


def retention(root: Root) -> int | None:
    """`general.sessionRetention` of the root's settings: on, with 30 days, where nothing is set."""
    kept = mapping(mapping(_read_json(os.path.join(root.path, "settings.json"))).get("general")).get("sessionRetention")
    settings = mapping(kept)
    if settings.get("enabled") is False:
        return None
    found = re.fullmatch(r"(\d{1,6})([hdwm])", string(settings.get("maxAge")) or f"{RETENTION_DAYS}d")
    return max(int(int(found[1]) * _DAYS[found[2]]), 1) if found else RETENTION_DAYS


# --- what ------------------------------------------------------------------------------------------------------------


def discover(root: Root, known: Known) -> Iterator[Source]:
    """Every chat of every project, with its sub-agents', and what lies beside it."""
    projects, problems = folders(os.path.join(root.path, "tmp")), []
    paths = _project_folders(root.path, projects)
    for project in projects:
        yield from _in_project(project, paths.get(os.path.basename(project)), known)
    for project in projects:
        try:
            yield from _typed(project, paths.get(os.path.basename(project)), known)
        except Unreadable as error:
            problems.append(f"{os.path.join(project, LOG)}: {error}")
    if problems:
        raise Unreadable("; ".join(problems))


def _project_folders(root: str, projects: Sequence[str]) -> dict[str, str]:
    """The folders that projects' names stand for: short ones by the host's list, hashes by any folder it names."""
    listed = mapping(_read_json(os.path.join(root, "projects.json"))).get("projects")
    named = {name: path for path, name in _strings(listed)}
    for folder in (*projects, *folders(os.path.join(root, "history"))):
        path = head(os.path.join(folder, MARK)).decode("utf-8", "replace").strip()
        if path:
            named[os.path.basename(folder)] = path
    trusted = [path for path, _ in _strings(_read_json(os.path.join(root, "trustedFolders.json")))]
    for path in (*named.values(), *trusted):
        named.setdefault(sha256(path.encode("utf-8", "replace")).hexdigest(), path)
    return named


def _strings(value: object) -> list[tuple[str, str]]:
    return [(name, found) for name, found in mapping(value).items() if isinstance(found, str)]


def _in_project(project: str, folder: str | None, known: Known) -> Iterator[Source]:
    chats = list(_chats(os.path.join(project, CHATS), known))
    yield from chats
    sessions = {chat.session_id for chat in chats}
    for session_id in sorted(sessions):
        yield from _marked(project, folder, session_id)
        for below in (os.path.join("tool-outputs", f"session-{_safe(session_id)}"), _safe(session_id)):
            yield from _beside(os.path.join(project, below), project, session_id)
    yield from _checkpoints(project, chats, known)


def _marked(project: str, folder: str | None, session_id: str) -> Iterator[Source]:
    """The folder that a project is about."""
    if folder:
        about = folder.encode("utf-8", "replace")
        name = f"{ROWS}{os.path.join(project, MARK)}#{session_id}"
        stamp = (len(about), 0, mark_of_rows(about), 0)
        yield Source(HOST, session_id, f"sidecars/{MARK}", SIDECAR, name, MARK, *stamp, content=about)


def _safe(session_id: str) -> str:
    """A session's id as the host makes names of files of it."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", session_id)


def _chats(folder: str, known: Known) -> Iterator[Source]:
    """`session-<minute>-<id>`, and in a folder named after a session the chats of its sub-agents."""
    for entry in scan(folder):
        if entry.is_dir():
            for agent in scan(entry.path):
                if agent.name.endswith(SUFFIXES) and agent.is_file():
                    key = AGENT + os.path.splitext(agent.name)[0]
                    yield _chat(agent.path, entry.name, key, agent.stat())
        elif entry.name.endswith(SUFFIXES) and entry.is_file():
            before = known.get(entry.path)
            whose = (before[0], before[1].partition("~")[0]) if before else _whose(entry.path)
            if whose is not None:
                yield _chat(entry.path, *whose, entry.stat())


def _chat(path: str, session_id: str, key: str, stat: os.stat_result, *, rewritten: bool | None = None) -> Source:
    if rewritten is None:
        rewritten = path.endswith(".json")
    name = "transcript.json" if rewritten else "transcript.jsonl"
    found = source(HOST, session_id, key, TRANSCRIPT, path, name, stat)
    return replace(found, form=DOCUMENT) if rewritten else found


def _whose(path: str) -> tuple[str, str] | None:
    """The session that a chat belongs to, and its key there."""
    start = head(path)
    found = _ID.search(start)
    session_id = found[1].decode("utf-8", "replace") if found else string(mapping(_read_json(path)).get("sessionId"))
    if session_id is None:
        return None
    return session_id, AGENT + os.path.splitext(os.path.basename(path))[0] if _SUBAGENT.search(start) else MAIN


def _beside(folder: str, project: str, session_id: str) -> Iterator[Source]:
    """Long results that the host put into files, plans and lists of tasks."""
    for path, stat in files(folder):
        name = os.path.relpath(path, project).replace(os.sep, "/")
        yield source(HOST, session_id, f"sidecars/{name}", SIDECAR, path, os.path.basename(path), stat)


def _checkpoints(project: str, chats: Sequence[Source], known: Known) -> Iterator[Source]:
    """Saved states of a chat. They do not tell whose they are: kept with the chat that was written to next."""
    saved = [entry for entry in scan(project) if entry.name.startswith("checkpoint-") and entry.is_file()]
    saved += [entry for entry in scan(os.path.join(project, "checkpoints")) if entry.is_file()]
    for entry in saved:
        stat, before = entry.stat(), known.get(entry.path)
        later = [chat for chat in chats if chat.mtime_ns >= stat.st_mtime_ns]
        near = min(later, key=_age, default=None) or max(chats, key=_age, default=None)
        session_id = before[0] if before else near.session_id if near else None
        if session_id is not None:
            name = os.path.relpath(entry.path, project).replace(os.sep, "/")
            yield source(HOST, session_id, f"sidecars/{name}", SIDECAR, entry.path, entry.name, stat)


def _age(chat: Source) -> tuple[int, str]:
    return chat.mtime_ns, chat.path


def _typed(project: str, folder: str | None, known: Known) -> Iterator[Source]:
    """What was typed, by the project's log: of sessions without a chat that is all there is."""
    path = os.path.join(project, LOG)
    if not os.path.isfile(path):
        return
    mark = databases.mark_of(path)
    found = databases.known_sources(known, path, mark)
    if found is not None:
        yield from found
        return
    own = f"{ROWS}{path}#"
    recorded = {session_id for name, (session_id, _) in known.items() if not name.startswith(own)}
    chats = [os.path.splitext(entry.name)[0] for entry in scan(os.path.join(project, CHATS))]
    for session_id, entries in _entries(path).items():
        content = b"".join(value for _, value in entries)
        recorded_here = any(name.endswith(f"-{_safe(session_id)[:8]}") for name in chats)
        key = PROMPTS if recorded_here or session_id in recorded else MAIN
        stamp = (len(content), 0, mark_of_rows(content), 0)
        yield Source(
            HOST, plain(session_id), key, TRANSCRIPT, f"{own}{session_id}", "typed.rows", *stamp,
            form=RECORDS, store=path, store_mark=mark, copy=path,
        )  # fmt: skip
        if key == MAIN:
            yield from _marked(project, folder, plain(session_id))


def _entries(path: str) -> dict[str, list[tuple[str, bytes]]]:
    """The entries of a log by session, each with its key."""
    entries: dict[str, list[tuple[str, bytes]]] = {}
    try:
        listed = decode(head(path, _LARGEST))
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"it is no log, or it is being written: {error}") from None
    for entry in map(mapping, items(listed)):
        session_id = string(entry.get("sessionId"))
        if session_id:
            key = f"{entry.get('messageId')}:{entry.get('timestamp')}"
            entries.setdefault(session_id, []).append((key, databases.canonical(entry)))
    return entries


def records(path: str, copy: str, since: int) -> Iterator[Row]:
    """The entries that a project's log has of a session."""
    store, _, session_id = path.removeprefix(ROWS).rpartition("#")
    for key, value in _entries(store).get(session_id, []):
        yield Row("log", key, value)


# --- what a person names ---------------------------------------------------------------------------------------------


def claims(path: str) -> list[Source]:
    """What a path given by the user stands for: a chat, a log, a project's folder, a data root, a folder of chats."""
    path = os.path.abspath(path)
    if os.path.basename(path) == LOG and os.path.isdir(os.path.join(os.path.dirname(path), CHATS)):
        return list(_readable(_typed(os.path.dirname(path), None, {})))
    if not os.path.isdir(path):
        found = _claimed(path) if path.endswith(SUFFIXES) and os.path.isfile(path) else None
        return [found] if found is not None else []
    if _holds(path) and any(os.path.isdir(os.path.join(one, CHATS)) for one in folders(os.path.join(path, "tmp"))):
        return list(_readable(discover(Root(HOST, path, "given"), {})))
    if os.path.isdir(os.path.join(path, CHATS)):
        return [*_in_project(path, None, {}), *_readable(_typed(path, None, {}))]
    below = (_claimed(file) for file, _ in files(path) if file.endswith(SUFFIXES))
    return [one for one in below if one is not None]


def _readable(found: Iterator[Source]) -> Iterator[Source]:
    try:
        yield from found
    except Unreadable:  # a log: the chats are here all the same
        return


def _claimed(path: str) -> Source | None:
    """A chat, wherever it lies and whatever its name ends in."""
    start = head(path).lstrip(b"\xef\xbb\xbf \r\n\t")
    header = _object(start.partition(b"\n")[0])
    is_journal = "sessionId" in header and ("startTime" in header or "projectHash" in header)
    chat = header if is_journal else _chat_in(path, start)
    if chat is None or "type" in chat:
        return None
    session_id = string(chat.get("sessionId")) or os.path.basename(path).partition(".")[0]
    parent = os.path.basename(os.path.dirname(path))
    if chat.get("kind") == "subagent":
        nested = os.path.basename(os.path.dirname(os.path.dirname(path))) == CHATS
        key = AGENT + os.path.splitext(os.path.basename(path))[0]
        return _chat(path, parent if nested else session_id, key, os.stat(path), rewritten=not is_journal)
    return _chat(path, session_id, MAIN, os.stat(path), rewritten=not is_journal)


def _object(data: bytes) -> Fields:
    try:
        return mapping(decode(data))
    except (ValueError, RecursionError):
        return {}


def _chat_in(path: str, start: bytes) -> Fields | None:
    """A file that is one object, if it is a chat: a session with messages, or a saved history."""
    if not any(mark in start for mark in (b'"sessionId"', b'"messages"', b'"history"')):
        return None
    chat = mapping(_read_json(path))
    listed = mapping(next(iter(items(chat.get("messages")) + items(chat.get("history"))), None))
    told = listed.get("type") in ("user", "gemini", "info", "warning", "error") and "startTime" in chat
    saved = "parts" in listed and listed.get("role") in ("user", "model", "gemini")
    return chat if told or saved else None


def _read_json(path: str) -> object:
    try:
        return decode(head(path, _LARGEST).lstrip(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None


def folder_of(source: Source) -> str | None:
    """The folder that a chat's beginning names, or whose hash it names; for a short name the host's mark beside it."""
    if source.content is not None:
        return source.content.decode("utf-8", "replace")
    path = source.path.removeprefix(ROWS).rpartition("#")[0] or source.path
    project = os.path.dirname(path) if source.form == RECORDS else os.path.dirname(os.path.dirname(path))
    marked = head(os.path.join(project, MARK)).decode("utf-8", "replace").strip()
    if marked or source.form == RECORDS or source.kind != TRANSCRIPT:
        return marked or None
    start = head(path, 1024 * 1024)
    for pattern in (_DIRECTORY, _WORKSPACE):
        if found := pattern.search(start):
            return str(_unquoted(found[1]))
    wanted = _HASH.search(start)
    for found in _PATH.finditer(start) if wanted else ():
        folder = _unquoted(found[1]).rstrip("/\\")
        while folder and folder != os.path.dirname(folder):
            if wanted and sha256(folder.encode("utf-8", "replace")).hexdigest().encode() == wanted[1]:
                return folder
            folder = os.path.dirname(folder)
    return None


def _unquoted(text: bytes) -> str:
    try:
        return str(json.loads(b'"' + text + b'"'))
    except ValueError:
        return text.decode("utf-8", "replace")


# --- reading ---------------------------------------------------------------------------------------------------------


def reader(session_id: str, key: str, source_key: str, saved: bytes, facts: Facts) -> GeminiReader:
    """The reader of a chat, or of what a project's log has of a session."""
    from retro.agents.gemini_records import GeminiReader  # a sweep that finds nothing new loads no reader

    return GeminiReader(session_id, key.partition("~")[0], source_key, saved, facts)


def sidecar_facts(key: str, content: bytes) -> Facts | None:
    """The mark of a project names the folder."""
    return Facts(cwd=content.decode("utf-8", "replace").strip() or None) if key == f"sidecars/{MARK}" else None
