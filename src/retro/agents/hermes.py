"""Hermes Agent: a database of all sessions; older versions and gateways wrote a file for each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple

import apsw
import msgspec

from retro.agents import databases
from retro.agents.fields import Fields, decode, first, mapping, string
from retro.agents.hermes_kinds import BOOKKEEPING_TYPES as BOOKKEEPING_TYPES
from retro.agents.hermes_kinds import HOST as HOST
from retro.agents.hermes_kinds import LOG, SNAPSHOT
from retro.agents.hermes_kinds import UNCOUNTED as UNCOUNTED
from retro.agents.homes import existing_roots, files, folders, head, homes, plain, source
from retro.agents.interface import (
    DOCUMENT,
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
)
from retro.agents.plain import parsed
from retro.agents.plainfiles import BESIDE, MAIN, first_records, matching, stem

if TYPE_CHECKING:
    from retro.agents.hermes_records import HermesReader

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
MOVED_BY: Final = ("HERMES_HOME",)

STORE: Final = "state.db"
PATTERNS: Final = ("sessions/session_*.json", "sessions/*.jsonl")
"""Files of single sessions: as the command line wrote them anew each time, and as gateways append to them."""

AGENT: Final = "agent-"
DELEGATED: Final = "_delegate_from"
"""In a session's settings: the session that gave it its task. Those that go on from another one inherit it."""

SUMMED: Final = {
    "messages": ("content", "tool_calls", "reasoning", "reasoning_content", "reasoning_details"),
    "session_model_usage": (),
}
"""Tables with rows of a session, and which of their columns make its size."""

COUNTED: Final = ("id", "active", "compacted", "api_call_count", "input_tokens", "output_tokens")
"""Columns by which a change of a row shows that changes no text."""

_ROLES: Final = frozenset({"user", "assistant", "tool", "system", "session_meta"})


# --- where -------------------------------------------------------------------------------------------------


def roots(env: Mapping[str, str], extra: Sequence[str]) -> list[Root]:
    """HERMES_HOME, `~/.hermes`, where Windows has it, and what the settings add."""
    wanted = [(env.get("HERMES_HOME", ""), "HERMES_HOME"), (os.path.join(env.get("LOCALAPPDATA", ""), HOST), "default")]
    wanted = [(path, reason) for path, reason in wanted if path not in ("", HOST)]
    for home in homes(env):
        wanted += [(os.path.join(home, f".{HOST}"), "default")]
        wanted += [(os.path.join(home, "AppData", "Local", HOST), "default")]
    return existing_roots(HOST, [*wanted, *((entry, "settings") for entry in extra)], _holds)


def _holds(folder: str) -> bool:
    return any(_has(home) for home in _homes(folder))


def _has(folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, STORE)) or any(True for _ in _files(folder))


def _homes(folder: str) -> list[str]:
    """A home of Hermes, and those of its profiles."""
    return [folder, *folders(os.path.join(folder, "profiles"))]


def _files(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    for pattern in PATTERNS:
        yield from matching(folder, pattern)


def retention(root: Root) -> int | None:
    """This host deletes nothing unless it is told to."""
    return None


# --- what --------------------------------------------------------------------------------------------------


def discover(root: Root, known: Known) -> Iterator[Source]:
    """Every session of the databases, then those of which only a file is there."""
    problems = []
    for folder in _homes(root.path):
        present: set[str] = set()
        try:
            for found in _in_database(os.path.join(folder, STORE), known):
                present.add(found.path.rpartition("#")[2])
                yield found
        except Unreadable as error:
            problems.append(f"{os.path.join(folder, STORE)}: {error}")
        for path, stat in _files(folder):
            one = _in_file(path, stat, present, known)
            if one is not None:
                yield one
    if problems:
        raise Unreadable("; ".join(problems))


class Session(NamedTuple):
    """A session as the database tells of it."""

    name: str
    parent: str | None
    delegated: bool
    cwd: str | None
    stamp: tuple[int, int, int, int]


def _in_database(path: str, known: Known) -> Iterator[Source]:
    if not os.path.isfile(path):
        return
    mark = databases.mark_of(path)
    found = databases.known_sources(known, path, mark)
    if found is not None:
        yield from found
        return
    copy = databases.snapshot(path)
    with databases.opened(copy) as connection:
        sessions = {one.name: one for one in _sessions(connection)}
    for session in sessions.values():
        owner = _owner(session, sessions)
        key = MAIN if owner == session.name else AGENT + plain(session.name)
        yield Source(
            HOST, plain(owner), key, TRANSCRIPT, f"{ROWS}{path}#{session.name}", "session.rows", *session.stamp,
            form=RECORDS, store=path, store_mark=mark, copy=copy,
        )  # fmt: skip


def _sessions(connection: apsw.Connection) -> Iterator[Session]:
    """Each session in which something was said, with a stamp that changes when any of its rows does."""
    stamps = _stamps(connection)
    for row in databases.select(connection, "sessions", "id"):
        fields = mapping(decode(row.value or b"{}"))
        name, parent = str(fields.get("id")), string(fields.get("parent_session_id"))
        if name not in stamps:
            continue
        size, told = stamps[name]
        digest = blake2b((row.value or b"") + told.encode(), digest_size=8).digest()
        times = (fields.get(column) for column in ("last_activity_at", "ended_at", "started_at"))
        newest = next((time for time in times if isinstance(time, float) and 0 < time < 1e9 * 9), 0.0)
        stamp = (size, int(newest * 1e9), int.from_bytes(digest, "big") >> 1, 0)
        delegated = mapping(parsed(fields.get("model_config"))).get(DELEGATED) == parent
        yield Session(name, parent, delegated and parent is not None, string(fields.get("cwd")), stamp)


def _stamps(connection: apsw.Connection) -> dict[str, tuple[int, str]]:
    """Of every session: the size of its messages, and what changes with them and with its tokens."""
    found: dict[str, tuple[int, str]] = {}
    for table, sums in SUMMED.items():
        columns = databases.columns(connection, table)
        if "session_id" not in columns:
            continue
        texts = [f"coalesce(octet_length({name}), 0)" for name in sums if name in columns]
        others = [f"total({name})" for name in COUNTED if name in columns]
        listed = ", ".join([f"total({' + '.join(texts) or '0'})", "count(*)", *others])
        for name, size, *rest in connection.execute(f"SELECT session_id, {listed} FROM {table} GROUP BY session_id"):  # noqa: S608 - names of columns
            before = found.get(str(name), (0, ""))
            found[str(name)] = (before[0] + int(size), f"{before[1]} {table} {size} {rest}")
    return {name: stamp for name, stamp in found.items() if " messages " in stamp[1]}


def _owner(session: Session, sessions: Mapping[str, Session]) -> str:
    """The session in which a chain of sub-agents began."""
    seen = {session.name}
    while session.delegated and (parent := sessions.get(session.parent or "")) and parent.name not in seen:
        session = parent
        seen.add(session.name)
    return session.name


def records(path: str, copy: str, since: int) -> Iterator[Row]:
    """The rows of a session: the tokens of its models, what it is, what was said."""
    store, _, name = path.removeprefix(ROWS).rpartition("#")
    with databases.opened(copy or databases.snapshot(store)) as connection:
        yield from _rows_of(connection, name)


def _rows_of(connection: apsw.Connection, name: str) -> Iterator[Row]:
    usage = "session_model_usage"
    for number, row in enumerate(databases.select(connection, usage, "model", "session_id = ?", (name,))):
        yield Row(usage, f"{row.key}:{_task(row.value, number)}", row.value)
    yield from databases.select(connection, "sessions", "id", "id = ?", (name,))
    yield from databases.select(connection, "messages", "id", "session_id = ?", (name,))


def _task(value: bytes | None, number: int) -> str:
    """What else than its model tells apart what a session took."""
    fields = mapping(decode(value or b"{}"))
    names = ("billing_provider", "billing_base_url", "billing_mode", "task")
    told = [string(fields.get(name)) or "" for name in names]
    return blake2b("\0".join(told).encode("utf-8", "replace"), digest_size=6).hexdigest() if any(told) else str(number)


# --- files of single sessions ----------------------------------------------------------------------------------------


def _in_file(path: str, stat: os.stat_result, present: set[str], known: Known) -> Source | None:
    """A file as a session, or beside the rows that the database has of it."""
    before = known.get(path)
    session_id = before[0] if before else _session_of(path)
    if session_id is None:
        return None
    name = os.path.basename(path)
    beside = before[1].startswith(BESIDE) if before else session_id in present
    if beside:
        return source(HOST, session_id, BESIDE + name, SIDECAR, path, name, stat)
    if name.endswith(".jsonl"):
        return source(HOST, session_id, LOG, TRANSCRIPT, path, "transcript.jsonl", stat)
    found = source(HOST, session_id, SNAPSHOT, TRANSCRIPT, path, "transcript.json", stat)
    return msgspec.structs.replace(found, form=DOCUMENT)


def _session_of(path: str) -> str | None:
    """The session that a file holds; None if it is not this host's."""
    if path.endswith(".jsonl"):
        records = first_records(path)
        begun = any(record.get("role") == "session_meta" for record in records[:1])
        spoken = all(string(record.get("role")) in _ROLES and "type" not in record for record in records)
        named = stem(path)
        return named if records and spoken and (begun or named[:8].isdigit()) else None
    found = _snapshot(path)
    told = "messages" in found and ("session_start" in found or "platform" in found)
    return first(found, "session_id") if told else None


def _snapshot(path: str) -> Fields:
    """The object that a file is; of a long one nothing."""
    try:
        return mapping(decode(head(path, 64 * 1024 * 1024)))
    except (ValueError, RecursionError):
        return {}


# --- what a person names -----------------------------------------------------------------------------------


def claims(path: str) -> list[Source]:
    """What a path given by the user stands for: a database, a session's file, or a folder with some."""
    path = os.path.abspath(path)
    if os.path.isdir(path):
        if _holds(path):
            return _readable(lambda: discover(Root(HOST, path, "given"), {}))
        return [one for file, _ in files(path) if file.endswith((".json", ".jsonl")) for one in claims(file)]
    if not os.path.isfile(path):
        return []
    if os.path.basename(path) == STORE:
        return _readable(lambda: _in_database(path, {}))
    found = _in_file(path, os.stat(path), set(), {}) if path.endswith((".json", ".jsonl")) else None
    return [found] if found is not None else []


def _readable(look: Callable[[], Iterator[Source]]) -> list[Source]:
    found: list[Source] = []
    try:
        found.extend(look())
    except Unreadable:
        return found
    return found


def folder_of(source: Source) -> str | None:
    """The folder that a session worked in."""
    if source.form == RECORDS:
        if source.copy is None:
            return None
        with databases.opened(source.copy) as connection:
            name = source.path.rpartition("#")[2]
            return next((one.cwd for one in _sessions(connection) if one.name == name), None)
    if source.form != DOCUMENT:
        return None
    found = _snapshot(source.path)
    return first(found, "cwd") or first(mapping(found.get("model_config")), "cwd")


def sidecar_facts(key: str, content: bytes) -> Facts | None:
    """What lies beside a session repeats it."""
    return None


def reader(session_id: str, key: str, source_key: str, saved: bytes, facts: Facts) -> HermesReader:
    """The reader of one session, of one of its sub-agents, or of its file."""
    from retro.agents.hermes_records import HermesReader  # a sweep that finds nothing new loads no reader

    return HermesReader(session_id, key.partition("~")[0], source_key, saved, facts)
