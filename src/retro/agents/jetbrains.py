"""GitHub Copilot in JetBrains' IDEs: append-only JSONL; older ones in stores, read as far as that goes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from retro.agents import chatfiles, databases, javastores
from retro.agents.databases import canonical
from retro.agents.emitter import content_id
from retro.agents.homes import existing_roots, files, folders, homes, plain, scan
from retro.agents.interface import RECORDS, ROWS, TRANSCRIPT, Facts, Known, Root, Row, Source, Unreadable
from retro.agents.jetbrains_kinds import BOOKKEEPING_TYPES as BOOKKEEPING_TYPES
from retro.agents.jetbrains_kinds import HOST as HOST
from retro.agents.jetbrains_kinds import SESSION, STORE, TEXT, TURN
from retro.agents.jetbrains_kinds import UNCOUNTED as UNCOUNTED
from retro.agents.plainfiles import MAIN, FileHost, Part, first_records, matching, stem

if TYPE_CHECKING:
    from retro.agents.jetbrains_records import JetBrainsReader

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
MOVED_BY: Final = ("COPILOT_HOME",)

KINDS: Final = ("chat-sessions", "chat-agent-sessions", "chat-edit-sessions", "bg-agent-sessions")
"""Folders of sessions, of an IDE or, by older versions, of all together."""

SETTINGS: Final = (".config", "Library/Application Support", "AppData/Local", "AppData/Roaming")
"""Where programs keep their settings on Linux, macOS and Windows."""

NITRITE: Final = "-nitrite.db"
XODUS: Final = ".xd"
POPULATED: Final = re.compile(rb"(?:Nt|Xd)(?:Chat|Agent|Edit)?(?:Session|Turn)\b")
"""Kinds of documents that are there once something was said."""

_PARTITION: Final = re.compile(r"partition-(\d{1,9})\.jsonl")
_LONGEST: Final = 512 * 1024 * 1024


# --- where -----------------------------------------------------------------------------------------------------------


def roots(env: Mapping[str, str], extra: Sequence[str]) -> list[Root]:
    """`jb` in COPILOT_HOME or `~/.copilot`; `github-copilot` where programs keep settings; what our settings add."""
    moved = env.get("COPILOT_HOME", "").strip()
    wanted = [(os.path.join(moved, "jb"), "COPILOT_HOME")] if moved else []
    if env.get("XDG_CONFIG_HOME"):
        wanted.append((os.path.join(env["XDG_CONFIG_HOME"], "github-copilot"), "XDG_CONFIG_HOME"))
    for home in homes(env):
        if not moved:
            wanted.append((os.path.join(home, ".copilot", "jb"), "default"))
        wanted += [(os.path.join(home, *below.split("/"), "github-copilot"), "default") for below in SETTINGS]
    moved_to = ((env.get(name), name) for name in ("LOCALAPPDATA", "APPDATA"))
    wanted += [(os.path.join(folder, "github-copilot"), name) for folder, name in moved_to if folder]
    wanted += [(entry, "settings") for entry in extra]
    return existing_roots(HOST, wanted, _holds)


def _holds(folder: str) -> bool:
    return any(True for _ in matching(folder, "*/partition-*.jsonl")) or any(True for _ in _kinds(folder))


def _kinds(root: str) -> Iterator[str]:
    """The folders of sessions below a root."""
    for parent in (root, *folders(root)):
        yield from (path for path in (os.path.join(parent, kind) for kind in KINDS) if os.path.isdir(path))


def retention(root: Root) -> int | None:
    """Nothing is deleted by itself."""
    return None


# --- what ------------------------------------------------------------------------------------------------------------


def _look(path: str) -> Part | None:
    """A partition of a conversation, by its name and what it begins with."""
    found = _PARTITION.fullmatch(os.path.basename(path))
    records = first_records(path)
    kinds = {str(record.get("type")) for record in records if isinstance(record.get("data"), dict)}
    if not kinds or (found is None and not kinds & {"partition.created", "user.message_rendered"}):
        return None
    if found is None:
        return Part(stem(path), MAIN)
    number = int(found[1])
    return Part(os.path.basename(os.path.dirname(path)), MAIN if number <= 1 else f"partition-{number:05}")


_FILES: Final = FileHost(HOST, ("*/partition-*.jsonl",), _look)


def discover(root: Root, known: Known) -> Iterator[Source]:
    """Every conversation, and every session of every store; a store that cannot be read is told of at the end."""
    yield from _FILES.discover(root, known)
    problems = []
    for folder in _kinds(root.path):
        for entry in scan(folder):
            try:
                yield from _sources(entry.path, known)
            except Unreadable as error:
                problems.append(f"{entry.path}: {error}")
    if problems:
        raise Unreadable("; ".join(problems))


def _sources(path: str, known: Known) -> Iterator[Source]:
    """What lies in a folder of sessions: a store's folder, or by older versions a file."""
    if os.path.isdir(path):
        names = [entry.path for entry in scan(path) if entry.is_file()]
        stores = [name for name in names if name.endswith(NITRITE)] or [name for name in names if name.endswith(XODUS)]
        for store in stores:
            yield from _in_store(store, known)
    elif path.endswith(".jsonl"):
        yield from _FILES.claims(path)
    elif path.endswith(".json"):
        yield chatfiles.source(HOST, plain(stem(path)), MAIN, path, os.stat(path))


def _in_store(path: str, known: Known) -> Iterator[Source]:
    mark = databases.mark_of(path)
    found = databases.known_sources(known, path, mark)
    if found is not None:
        yield from found
        return
    for session_id, rows in _recovered(path, mark).items():
        values = b"\n".join(row.value or b"" for row in rows)
        stamp = (len(values), os.stat(path).st_mtime_ns, int(content_id(values)[1:15], 16), 0)
        name = f"{ROWS}{path}#{session_id}"
        yield Source(
            HOST, plain(session_id), MAIN, TRANSCRIPT, name, "store.rows", *stamp,
            form=RECORDS, store=path, store_mark=mark, copy=path,
        )  # fmt: skip


@lru_cache(maxsize=4)
def _recovered(path: str, mark: int) -> dict[str, list[Row]]:
    """The rows of every session in a store; of a store without any that can be told apart, what there is."""
    try:
        with open(path, "rb") as file:
            data = file.read(_LONGEST)
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from None
    own = os.path.basename(os.path.dirname(path))
    about = {"name": os.path.basename(path), "bytes": len(data)}
    if path.endswith(XODUS):
        words = [Row(TEXT, content_id(text.encode()), canonical({"text": text})) for text in javastores.texts(data)]
        return {own: [_about(about), *words]} if words or POPULATED.search(data) else {}
    found = list(javastores.documents(data))
    turns = _latest(turn for document in found if (turn := _turn(document)))
    titles = {
        document.fields["id"]: document
        for document in found
        if "name.value" in document.fields and "id" in document.fields
    }
    sessions: dict[str, list[Row]] = {}
    for turn in sorted(turns, key=lambda turn: (str(turn.get("created", "")), str(turn["id"]))):
        session_id = str(turn.get("session") or own)
        rows = sessions.setdefault(session_id, [])
        rows.append(Row(TURN, str(turn["id"]), canonical(turn)))
    for session_id, rows in sessions.items():
        if session_id in titles:
            fields = titles[session_id].fields
            told = {"title": fields["name.value"], "project": fields.get("projectName")}
            rows.insert(0, Row(SESSION, session_id, canonical(told)))
        rows.insert(0, _about({**about, "documents": len(rows)}))
    if not sessions and not found and POPULATED.search(data):  # in a form that we do not know
        return {own: [_about(about)]}
    return sessions


def _about(about: dict[str, object]) -> Row:
    return Row(STORE, STORE, canonical(about))


def _turn(document: javastores.Document) -> dict[str, object] | None:
    """A question with its answer, if a document is one and was not deleted."""
    fields, numbers = document.fields, document.numbers
    told = {
        "request": fields.get("request.stringContent"),
        "request_contents": fields.get("request.contents"),
        "response": fields.get("response.stringContent"),
        "response_contents": fields.get("response.contents"),
    }
    if not any(told.values()) or "deletedAt" in numbers:
        return None
    name = fields.get("id") or content_id(repr(sorted(fields.items())).encode())
    when = {"created": numbers.get("createdAt"), "modified": numbers.get("_modified") or numbers.get("modifiedAt")}
    return {"id": name, "session": fields.get("sessionId"), **told, **when}


def _latest(turns: Iterator[dict[str, object]]) -> list[dict[str, object]]:
    """Each turn once, as it was written last."""
    found: dict[object, dict[str, object]] = {}
    for turn in turns:
        before = found.get(turn["id"])
        if before is None or _age(before) <= _age(turn):
            found[turn["id"]] = turn
    return list(found.values())


def _age(turn: dict[str, object]) -> tuple[int, int]:
    modified = turn.get("modified")
    return (modified if isinstance(modified, int) else 0), len(str(turn.get("response_contents") or ""))


def records(path: str, copy: str, since: int) -> Iterator[Row]:
    """The rows of a chat, or of a session that was recovered from a store."""
    if copy.endswith(".json"):
        yield from chatfiles.rows(copy)
        return
    session_id = path.rpartition("#")[2]
    yield from _recovered(copy, databases.mark_of(copy)).get(session_id, [])


# --- whose -----------------------------------------------------------------------------------------------------------


def claims(path: str) -> list[Source]:
    """What a path given by the user stands for: a partition, a store, or a folder with some."""
    path = os.path.abspath(path)
    if os.path.isdir(path):
        if _holds(path):
            return list(_readable(Root(HOST, path, "given")))
        wanted = [file for file, _ in files(path) if file.endswith((".jsonl", NITRITE, XODUS))]
        found = {source.path: source for file in wanted for source in claims(file)}
        return list(found.values())
    if not os.path.isfile(path):
        return []
    if path.endswith((NITRITE, XODUS)):
        try:
            return list(_in_store(path, {}))
        except Unreadable:
            return []
    if path.endswith(".json") and os.path.basename(os.path.dirname(path)) in KINDS:
        return list(_sources(path, {}))
    return _FILES.claims(path) if path.endswith(".jsonl") else []


def _readable(root: Root) -> Iterator[Source]:
    try:
        yield from discover(root, {})
    except Unreadable:  # one store: the others are here all the same
        return


def folder_of(source: Source) -> str | None:
    """Not told: at best the name of a project."""
    return None


def reader(session_id: str, key: str, source_key: str, saved: bytes, facts: Facts) -> JetBrainsReader:
    """The reader of a partition, a chat, or a recovered session."""
    from retro.agents.jetbrains_records import JetBrainsReader  # a sweep that finds nothing new loads no reader

    return JetBrainsReader(session_id, source_key, saved, facts)


def sidecar_facts(key: str, content: bytes) -> Facts | None:
    """Nothing is kept beside the conversations."""
    return None
