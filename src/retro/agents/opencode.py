"""OpenCode: one database for all sessions, whose rows change in place; before it a file for every message and part."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple

import apsw

from retro.agents import databases
from retro.agents.fields import Fields, decode, mapping, string, whole
from retro.agents.homes import existing_roots, folders, head, homes, plain, scan
from retro.agents.interface import FILE, RECORDS, ROWS, TRANSCRIPT, Facts, Known, Root, Row, Source, Unreadable
from retro.agents.opencode_kinds import BOOKKEEPING_TYPES as BOOKKEEPING_TYPES
from retro.agents.opencode_kinds import FORK
from retro.agents.opencode_kinds import HOST as HOST
from retro.agents.opencode_kinds import UNCOUNTED as UNCOUNTED

if TYPE_CHECKING:
    from retro.agents.opencode_records import OpenCodeReader

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
MOVED_BY: Final = ("OPENCODE_DB",)
MAIN: Final = "main"
AGENT: Final = "agent-"
STORAGE: Final = "storage"
_MAGIC: Final = b"SQLite format 3\0"
_TABLES: Final = ("todo", "session_message", "session_input")
"""Further tables with rows of a session."""


# --- where -----------------------------------------------------------------------------------------------------------


def roots(env: Mapping[str, str], extra: Sequence[str]) -> list[Root]:
    """OPENCODE_DB, `opencode` below XDG_DATA_HOME or else `~/.local/share`, and what the settings add."""
    own, *others = homes(env)
    data = env.get("XDG_DATA_HOME", "").strip()
    moved = [data] if data else [os.path.join(own, ".local", "share")]
    wanted = [(os.path.join(folder, HOST), "XDG_DATA_HOME" if data else "default") for folder in moved]
    wanted += [(os.path.join(home, ".local", "share", HOST), "default") for home in others]
    named = env.get("OPENCODE_DB", "").strip()
    if named and named != ":memory:":
        wanted.insert(0, (os.path.join(wanted[0][0], os.path.expanduser(named)), "OPENCODE_DB"))
    return existing_roots(HOST, [*wanted, *((entry, "settings") for entry in extra)], _holds)


def _holds(path: str) -> bool:
    return _is_database(path) or bool(_databases(path)) or os.path.isdir(os.path.join(path, STORAGE, "session"))


def _databases(folder: str) -> list[str]:
    """`opencode.db`, and those of other release channels."""
    found = [entry for entry in scan(folder) if entry.name.startswith(HOST) and entry.name.endswith(".db")]
    return [entry.path for entry in found if entry.is_file()]


def _is_database(path: str) -> bool:
    return os.path.isfile(path) and head(path, len(_MAGIC)) == _MAGIC


def retention(root: Root) -> int | None:
    """This host deletes nothing by itself."""
    return None


# --- what ------------------------------------------------------------------------------------------------------------


def discover(root: Root, known: Known) -> Iterator[Source]:
    """Every session of the databases, then those of which only files are there."""
    paths = [root.path] if os.path.isfile(root.path) else _databases(root.path)
    present: set[str] = set()
    problems = []
    for path in paths:
        try:
            for source in _in_database(path, known):
                present.add(source.path.rpartition("#")[2])
                yield source
        except Unreadable as error:
            problems.append(f"{path}: {error}")
    yield from _in_files(os.path.join(root.path, STORAGE), present)
    if problems:
        raise Unreadable("; ".join(problems))


class Session(NamedTuple):
    """A session as the database or its file tells of it."""

    name: str
    parent: str | None
    archived: bool = False
    updated: int = 0
    folder: str | None = None


def _in_database(path: str, known: Known) -> Iterator[Source]:
    mark = databases.mark_of(path)
    found = databases.known_sources(known, path, mark)
    if found is not None:
        yield from found
        return
    copy = databases.snapshot(path)
    with databases.opened(copy) as connection:
        sessions = {one.name: one for one in _sessions(connection)}
        stamps = _stamps(connection)
    for name, session in sessions.items():
        size, updated, digest = stamps.get(name, (0, 0, b""))
        told = f"{session.updated} {session.archived}".encode() + digest
        number = int.from_bytes(blake2b(told, digest_size=8).digest(), "big") >> 1
        stamp = (size, max(updated, session.updated) * 1_000_000, number, 0)
        yield _source(session, sessions, f"{ROWS}{path}#{name}", stamp, path, mark, copy)


def _source(
    session: Session,
    sessions: Mapping[str, Session],
    path: str,
    stamp: tuple[int, int, int, int],
    store: str,
    mark: int,
    copy: str,
) -> Source:
    owner = _owner(session, sessions)
    key = MAIN if owner == session.name else AGENT + plain(session.name)
    return Source(
        HOST, plain(owner), key, TRANSCRIPT, path, "session.rows", *stamp,
        archived=session.archived, form=RECORDS, store=store, store_mark=mark, copy=copy,
    )  # fmt: skip


def _owner(session: Session, sessions: Mapping[str, Session]) -> str:
    """The session in which a chain of sub-agents began."""
    seen = {session.name}
    while session.parent and session.parent in sessions and session.parent not in seen:
        session = sessions[session.parent]
        seen.add(session.name)
    return session.name


def _sessions(connection: apsw.Connection) -> Iterator[Session]:
    columns = databases.columns(connection, "session")
    if "id" not in columns:
        return
    names = ("id", "parent_id", "time_archived", "time_updated", "directory")
    listed = ", ".join(name if name in columns else "NULL" for name in names)
    for row in connection.execute(f"SELECT {listed} FROM session ORDER BY id"):  # noqa: S608 - names of columns
        yield Session(str(row[0]), string(row[1]), bool(row[2]), whole(row[3]) or 0, string(row[4]))


def _stamps(connection: apsw.Connection) -> dict[str, tuple[int, int, bytes]]:
    """Of every session: the size of its messages and parts, when the last one changed, and what changes with each."""
    found: dict[str, tuple[int, int, bytes]] = {}
    for table in ("message", "part", *_TABLES):
        columns = databases.columns(connection, table)
        if "session_id" not in columns:
            continue
        size = "sum(octet_length(data))" if "data" in columns else "count(*)"
        updated = "time_updated" if "time_updated" in columns else "time_created"
        query = f"SELECT session_id, {size}, max({updated}), count(*), sum({updated}) FROM {table} GROUP BY session_id"  # noqa: S608
        for name, size_now, last, *rest in connection.execute(query):
            before = found.get(str(name), (0, 0, b""))
            digest = blake2b(before[2] + repr((table, size_now, last, *rest)).encode(), digest_size=16).digest()
            found[str(name)] = (before[0] + (whole(size_now) or 0), max(before[1], whole(last) or 0), digest)
    return found


# --- rows ------------------------------------------------------------------------------------------------------------


def records(path: str, copy: str, since: int) -> Iterator[Row]:
    """The rows of a session: each message before its parts."""
    store, _, name = path.removeprefix(ROWS).rpartition("#")
    if os.path.isdir(store):
        yield from _files_of(store, name)
        return
    with databases.opened(copy or databases.snapshot(store)) as connection:
        yield from databases.select(connection, "session", "id", "id = ?", (name,))
        yield from _fork(connection, name)
        parts: dict[str, list[Row]] = {}
        for row in databases.select(connection, "part", "id", "session_id = ?", (name,)):
            parts.setdefault(str(mapping(decode(row.value or b"{}")).get("message_id")), []).append(row)
        for row in databases.select(connection, "message", "id", "session_id = ?", (name,)):
            yield row
            yield from parts.pop(row.key, ())
        for left in parts.values():
            yield from left
        for table in _TABLES:
            key = "id" if "id" in databases.columns(connection, table) else "position"
            yield from databases.select(connection, table, key, "session_id = ?", (name,))


def _fork(connection: apsw.Connection, name: str) -> Iterator[Row]:
    """The session that this one was copied from, if its first message is older than itself: that had it first."""
    if not {"session_id", "time_created"} <= set(databases.columns(connection, "message")):
        return
    oldest = (
        "SELECT message.time_created FROM message JOIN session ON session.id = message.session_id"
        " WHERE session.id = ? AND session.parent_id IS NULL AND message.time_created < session.time_created"
        " ORDER BY message.time_created LIMIT 1"
    )
    for (first,) in list(connection.execute(oldest, (name,))):
        others = (
            "SELECT session.id FROM message JOIN session ON session.id = message.session_id"
            " WHERE message.time_created = ? AND session.id <> ? ORDER BY session.time_created, session.id LIMIT 1"
        )
        for (parent,) in connection.execute(others, (first, name)):
            yield Row(FORK, FORK, databases.canonical({"session_id": parent}))


# --- the files of before ---------------------------------------------------------------------------------------------


def _in_files(storage: str, present: set[str]) -> Iterator[Source]:
    """`session/<project>/<session>.json`, of sessions that no database has."""
    sessions: dict[str, Session] = {}
    for project in folders(os.path.join(storage, "session")):
        for entry in scan(project):
            if entry.name.endswith(".json") and entry.is_file():
                about = _object(head(entry.path, 1024 * 1024))
                name = string(about.get("id"))
                if name is not None and name not in present:
                    sessions[name] = Session(name, string(about.get("parentID")), folder=string(about.get("directory")))
    for name, session in sessions.items():
        digest, size, newest = blake2b(digest_size=8), 0, 0
        for path, stat in _paths_of(storage, name):
            digest.update(f"{path} {stat.st_size} {stat.st_mtime_ns}\n".encode("utf-8", "replace"))
            size, newest = size + stat.st_size, max(newest, stat.st_mtime_ns)
        number = int.from_bytes(digest.digest(), "big") >> 1
        path = f"{ROWS}{storage}#{name}"
        yield _source(session, sessions, path, (size, newest, number, 0), storage, number, storage)


def _paths_of(storage: str, name: str) -> Iterator[tuple[str, os.stat_result]]:
    """The files of a session, each message before its parts."""
    for project in folders(os.path.join(storage, "session")):
        for entry in scan(project):
            if entry.name.endswith(".json") and entry.is_file() and _named(entry.path) == name:
                yield entry.path, entry.stat()
    for entry in scan(os.path.join(storage, "message", name)):
        if entry.name.endswith(".json") and entry.is_file():
            yield entry.path, entry.stat()
            own = _named(entry.path) or entry.name.removesuffix(".json")
            for part in scan(os.path.join(storage, "part", own)):
                if part.name.endswith(".json") and part.is_file():
                    yield part.path, part.stat()


def _named(path: str) -> str | None:
    return string(_object(head(path, 1024 * 1024)).get("id"))


def _files_of(storage: str, name: str) -> Iterator[Row]:
    for path, _ in _paths_of(storage, name):
        try:
            with open(path, "rb") as file:
                yield Row(FILE, os.path.relpath(path, storage).replace(os.sep, "/"), file.read())
        except OSError as error:
            raise Unreadable(error.strerror or str(error)) from None


def _object(data: bytes) -> Fields:
    try:
        return mapping(decode(data))
    except (ValueError, RecursionError):
        return {}


# --- what a person names ---------------------------------------------------------------------------------------------


def claims(path: str) -> list[Source]:
    """What a path given by the user stands for: a database, a folder with some, or a tree of files."""
    path = os.path.abspath(path)
    if os.path.isfile(path):
        return list(_readable(Root(HOST, path, "given"))) if _is_ours(path) else []
    if not os.path.isdir(path):
        return []
    if os.path.isdir(os.path.join(path, "session")) and os.path.isdir(os.path.join(path, "message")):
        return list(_in_files(path, set()))
    if _holds(path):
        return list(_readable(Root(HOST, path, "given")))
    return [source for folder in folders(path) for source in claims(folder)]


def _readable(root: Root) -> Iterator[Source]:
    try:
        yield from discover(root, {})
    except Unreadable:
        return


def _is_ours(path: str) -> bool:
    if not _is_database(path):
        return False
    try:
        with databases.opened(databases.snapshot(path)) as connection:
            return all(
                wanted <= set(databases.columns(connection, table))
                for table, wanted in (("session", {"id", "directory"}), ("part", {"message_id", "data"}))
            )
    except Unreadable:
        return False


def folder_of(source: Source) -> str | None:
    """The folder that a session worked in."""
    store, _, name = source.path.removeprefix(ROWS).rpartition("#")
    if os.path.isdir(store):
        found = next((path for path, _ in _paths_of(store, name)), None)
        return string(_object(head(found)).get("directory")) if found else None
    if source.copy is None:
        return None
    with databases.opened(source.copy) as connection:
        return next((one.folder for one in _sessions(connection) if one.name == name), None)


def sidecar_facts(key: str, content: bytes) -> Facts | None:
    """This host keeps nothing beside its sessions."""
    return None


def reader(session_id: str, key: str, source_key: str, saved: bytes, facts: Facts) -> OpenCodeReader:
    """The reader of a session's rows, or of those of one of its sub-agents."""
    from retro.agents.opencode_records import OpenCodeReader  # a sweep that finds nothing new loads no reader

    plain = key.partition("~")[0]
    agent_id = plain.removeprefix("agent-") if plain.startswith("agent-") else None
    return OpenCodeReader(session_id, source_key, saved, facts, agent_id)
