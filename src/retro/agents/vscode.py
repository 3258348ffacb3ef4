"""VS Code's chats (Copilot Chat): one JSON object that is rewritten, or since 2026 a log of changes to that object."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from retro.agents import editors
from retro.agents.databases import known_sources, mark_of, opened, snapshot
from retro.agents.fields import Fields, decode, items, mapping, string
from retro.agents.homes import existing_roots, files, folders, head, plain, scan
from retro.agents.interface import (
    RECORDS,
    ROWS,
    SIDECAR,
    TRANSCRIPT,
    Facts,
    Known,
    Root,
    Row,
    Source,
    Unreadable,
    mark_of_rows,
)
from retro.agents.vscode_kinds import BOOKKEEPING_TYPES as BOOKKEEPING_TYPES
from retro.agents.vscode_kinds import HOST as HOST
from retro.agents.vscode_kinds import UNCOUNTED as UNCOUNTED
from retro.agents.vscode_rows import key_of, rows, state_of, uri_path

if TYPE_CHECKING:
    from retro.agents.vscode_records import VsCodeReader

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
MOVED_BY: Final = editors.MOVED_BY

MAIN: Final = "main"
TITLE: Final = "title"
WORKSPACE: Final = "sidecars/workspace.json"
SUFFIXES: Final = (".jsonl", ".json")
"""What a chat may end in; where both are there, the log is the newer one."""

STORES: Final = ("workspaceStorage", "globalStorage")
WITHOUT_FOLDER: Final = ("emptyWindowChatSessions", "transferredChatSessions")
INDEX: Final = "chat.ChatSessionStore.index"
DATABASE: Final = "state.vscdb"
_TOLD: Final = frozenset({"title", "isImported", "isExternal"})
_LONGEST: Final = 1024 * 1024 * 1024


# --- where -----------------------------------------------------------------------------------------------------------


def roots(env: Mapping[str, str], extra: Sequence[str]) -> list[Root]:
    """The `User` folder of every edition, and what the settings add."""
    wanted = [*editors.user_folders(env), *((entry, "settings") for entry in extra)]
    wanted += [(os.path.join(entry, "User"), "settings") for entry in extra]
    return existing_roots(HOST, wanted, _holds)


def _holds(folder: str) -> bool:
    return any(os.path.isdir(os.path.join(folder, name)) for name in STORES)


def retention(root: Root) -> int | None:
    """This host deletes nothing by itself."""
    return None


# --- what ------------------------------------------------------------------------------------------------------------


def discover(root: Root, known: Known) -> Iterator[Source]:
    """Every chat of every workspace, and those of windows without a folder; for each the workspace, and its title."""
    problems = []
    for workspace in folders(os.path.join(root.path, "workspaceStorage")):
        try:
            yield from _in_workspace(workspace, known)
        except Unreadable as error:
            problems.append(f"{os.path.join(workspace, DATABASE)}: {error}; titles are missing")
    profiles = folders(os.path.join(root.path, "profiles"))
    for folder in (root.path, *profiles):
        for name in WITHOUT_FOLDER:
            yield from _chats(os.path.join(folder, "globalStorage", name))
    if problems:
        raise Unreadable("; ".join(problems))


def _in_workspace(workspace: str, known: Known) -> Iterator[Source]:
    found = list(_chats(os.path.join(workspace, "chatSessions")))
    if not found:
        return
    yield from found
    about = head(os.path.join(workspace, "workspace.json"))
    if about:
        for chat in found:
            name = f"{ROWS}{os.path.join(workspace, 'workspace.json')}#{chat.session_id}"
            stamp = (len(about), 0, mark_of_rows(about), 0)
            yield Source(HOST, chat.session_id, WORKSPACE, SIDECAR, name, "workspace.json", *stamp, content=about)
    yield from _titles(os.path.join(workspace, DATABASE), {chat.session_id for chat in found}, known)


def _chats(folder: str) -> Iterator[Source]:
    """The chats in a folder, each once."""
    seen: set[str] = set()
    entries = {entry.name: entry for entry in scan(folder)}
    for suffix in SUFFIXES:
        for name, entry in entries.items():
            chat = name.removesuffix(suffix)
            if name.endswith(suffix) and chat not in seen and entry.is_file():
                seen.add(chat)
                yield _chat(entry.path, chat, entry.stat())


def _chat(path: str, chat: str, stat: os.stat_result) -> Source:
    """A chat as the records of its state: the same, whether the host keeps it as an object or as a log."""
    name = f"{ROWS}{os.path.join(os.path.dirname(path), chat)}#{chat}"
    stamp = (stat.st_size, stat.st_mtime_ns, stat.st_ino, stat.st_dev)
    return Source(HOST, plain(chat), MAIN, TRANSCRIPT, name, "chat.rows", *stamp, form=RECORDS, copy=path)


def _titles(path: str, chats: set[str], known: Known) -> Iterator[Source]:
    """The titles that the window's own database has of these chats."""
    if not os.path.isfile(path):
        return
    mark = mark_of(path)
    found = known_sources(known, path, mark)
    if found is not None:
        yield from found
        return
    copy = snapshot(path)
    for chat, entry in _index(copy).items():
        if chat in chats:
            name = f"{ROWS}{path}#{chat}"
            stamp = (len(entry), 0, mark_of_rows(entry), 0)
            yield Source(
                HOST, plain(chat), TITLE, TRANSCRIPT, name, "title.rows", *stamp,
                form=RECORDS, store=path, store_mark=mark, copy=copy,
            )  # fmt: skip


def _index(copy: str) -> dict[str, bytes]:
    """What the database tells of each chat, without what changes with every look at it."""
    with opened(copy) as connection:
        row = next(iter(connection.execute("SELECT value FROM ItemTable WHERE key = ?", (INDEX,))), None)
    if row is None:
        return {}
    value = row[0].encode() if isinstance(row[0], str) else bytes(row[0] if isinstance(row[0], bytes) else b"")
    try:
        entries = mapping(mapping(decode(value)).get("entries"))
    except (msgspec.DecodeError, RecursionError):
        raise Unreadable(f"{INDEX} is no JSON") from None
    found = {}
    for chat, entry in entries.items():
        told: Fields = {name: value for name, value in mapping(entry).items() if name in _TOLD}
        if told:
            found[chat] = _canonical(told)
    return found


def records(path: str, copy: str, since: int) -> Iterator[Row]:
    """The rows of a chat as it is now, or its entry in the window's database."""
    store, _, chat = path.removeprefix(ROWS).rpartition("#")
    if os.path.basename(store) == DATABASE:
        entry = _index(copy).get(chat)
        if entry is not None:
            yield Row("ItemTable", INDEX, entry)
        return
    for row in rows(_state(copy)):
        yield Row(str(row["row"]), key_of(row), _canonical(row))


def _state(path: str) -> Fields:
    try:
        with open(path, "rb") as file:
            return state_of(file.read(_LONGEST))
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from None
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"it is no chat, or it is being written: {error}") from None


def _canonical(row: Fields) -> bytes:
    try:
        return msgspec.json.encode(row, order="sorted")
    except UnicodeEncodeError:  # lone surrogates
        return json.dumps(row, sort_keys=True, separators=(",", ":")).encode()


def claims(path: str) -> list[Source]:
    """What a path given by the user stands for: a chat (an exported one as well), or a folder with some."""
    path = os.path.abspath(path)
    if os.path.isdir(path):
        if _holds(path):
            return list(_readable(Root(HOST, path, "given")))
        return [source for file, _ in files(path) if file.endswith(SUFFIXES) for source in claims(file)]
    if not path.endswith(SUFFIXES) or not os.path.isfile(path) or not _looks_right(path):
        return []
    folder, name = os.path.split(path)
    source = _chat(path, os.path.splitext(name)[0], os.stat(path))
    beside = [one for one in _in_known_workspace(folder) if one.session_id == source.session_id]
    return [source, *(one for one in beside if one.key != MAIN)]


def _in_known_workspace(folder: str) -> Iterator[Source]:
    """What lies around a chat, if it lies where the host puts it."""
    if os.path.basename(folder) == "chatSessions":
        try:
            yield from _in_workspace(os.path.dirname(folder), {})
        except Unreadable:
            return


def _readable(root: Root) -> Iterator[Source]:
    try:
        yield from discover(root, {})
    except Unreadable:  # a database: the chats are here all the same
        return


def _looks_right(path: str) -> bool:
    """Whether a file holds requests as only this host writes them, or begins a log of changes."""
    start = head(path)
    compact = start[:4096].replace(b" ", b"")
    if b'{"kind":0,' in compact[:200]:
        return b'"requests":' in start or b'"sessionId":' in start
    if b'"requests"' not in start and b'"responderUsername"' not in start:
        return False
    try:
        state = _state(path)
    except Unreadable:
        return False
    asked = items(state.get("requests"))
    known = "responderUsername" in state or any("requestId" in mapping(request) for request in asked)
    return isinstance(state.get("requests"), list) and known


def folder_of(source: Source) -> str | None:
    """The folder that the workspace of a chat is about."""
    if source.content is not None:
        facts = sidecar_facts(source.key, source.content)
        return facts.cwd if facts else None
    chat = source.path.removeprefix(ROWS).rpartition("#")[0]
    facts = sidecar_facts(WORKSPACE, head(os.path.join(os.path.dirname(os.path.dirname(chat)), "workspace.json")))
    return facts.cwd if facts else None


def reader(session_id: str, key: str, source_key: str, saved: bytes, facts: Facts) -> VsCodeReader:
    """The reader of a chat's rows."""
    from retro.agents.vscode_records import VsCodeReader  # a sweep that finds nothing new loads no reader

    return VsCodeReader(session_id, source_key, saved, facts)


def sidecar_facts(key: str, content: bytes) -> Facts | None:
    """`workspace.json` names the folder; of several folders, only the file that lists them."""
    try:
        folder = string(mapping(decode(content)).get("folder"))
    except (msgspec.DecodeError, RecursionError):
        return None
    return Facts(cwd=uri_path(folder)) if folder else None
