"""The database of GitHub Copilot CLI, for sessions of which it has more than the folders: their records are gone."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from hashlib import blake2b
from typing import Final

import apsw
import msgspec

from retro.agents import databases
from retro.agents.copilot_kinds import HOST, TOOLS, UNCOUNTED, remote
from retro.agents.copilot_usage import tokens_of
from retro.agents.emitter import ALL, Emitter, Progress, one_line, utc, verdict
from retro.agents.fields import Fields, as_text, decode, first, kept, mapping, string, whole
from retro.agents.homes import plain
from retro.agents.interface import (
    BOOKKEEPING,
    MAPPED,
    RECORDS,
    ROWS,
    TRANSCRIPT,
    UNKNOWN,
    Batch,
    Facts,
    Known,
    Row,
    Source,
    Verdict,
)
from retro.event import Actor, EventType, Origin, Usage

NAME: Final = "session-store.db"
STORE: Final = "store"

TABLES: Final = {
    "turns": ("id", "turn_index"),
    "checkpoints": ("id", "checkpoint_number"),
    "session_files": ("id", "file_path"),
    "session_refs": ("id", "ref_value"),
    "assistant_usage_events": ("id",),
}
"""Tables with rows of a session, and the columns that may name a row: older versions lack the first."""

_SUMMARY: Final = (
    "overview",
    "history",
    "work_done",
    "technical_details",
    "important_files",
    "next_steps",
)


# --- what it holds ---------------------------------------------------------------------------------------------------


def discover(root: str, present: Collection[str], known: Known) -> Iterator[Source]:
    """The sessions that the database has and no folder, as rows."""
    path = os.path.join(root, NAME)
    if not os.path.isfile(path):
        return
    mark = databases.mark_of(path)
    found = databases.known_sources(known, path, mark)
    if found is not None:
        yield from found
        return
    copy = databases.snapshot(path)
    captured = {session_id for session_id, key in known.values() if key != STORE}
    with databases.opened(copy) as connection:
        for (session_id,) in _sessions(connection):
            if session_id in present or session_id in captured:
                continue
            digest, size = blake2b(digest_size=8), 0
            for row in _rows(connection, session_id):
                digest.update(row.value or b"")
                size += len(row.value or b"")
            stamp = (size, 0, int.from_bytes(digest.digest(), "big") >> 1, 0)
            name = f"{ROWS}{path}#{session_id}"
            ids = (plain(session_id), STORE, TRANSCRIPT, name, "store.rows")
            yield Source(HOST, *ids, *stamp, form=RECORDS, store=path, store_mark=mark, copy=copy)  # type: ignore[arg-type]


def records(path: str, copy: str) -> Iterator[Row]:
    """The rows of a session."""
    with databases.opened(copy) as connection:
        yield from _rows(connection, path.rpartition("#")[2])


def folder_of(source: Source) -> str | None:
    """The folder that a session worked in."""
    if source.copy is None:
        return None
    with databases.opened(source.copy) as connection:
        for row in _rows(connection, source.path.rpartition("#")[2]):
            return string(mapping(decode(row.value or b"{}")).get("cwd"))
    return None


def _sessions(connection: apsw.Connection) -> list[tuple[str]]:
    if "id" not in databases.columns(connection, "sessions"):
        return []
    return [(str(row[0]),) for row in connection.execute("SELECT id FROM sessions ORDER BY id")]


def _rows(connection: apsw.Connection, session_id: str) -> Iterator[Row]:
    yield from databases.select(connection, "sessions", "id", "id = ?", (session_id,))
    for table, keys in TABLES.items():
        columns = databases.columns(connection, table)
        key = next((key for key in keys if key in columns), None)
        if key is not None and "session_id" in columns:
            yield from databases.select(connection, table, key, "session_id = ?", (session_id,))


# --- what it means ---------------------------------------------------------------------------------------------------


class State(msgspec.Struct):
    """What a session's events depend on, kept between sweeps."""

    progress: Progress = msgspec.field(default_factory=Progress)
    turns: dict[str, int] = {}
    """Our numbers of the host's turns."""


class StoreReader:
    """Reads the rows of one session."""

    def __init__(self, session_id: str, source: str, saved: bytes, facts: Facts) -> None:
        self.state = msgspec.msgpack.decode(saved, type=State) if saved else State()
        self.facts = facts
        self.session_id, self.source = session_id, source
        self.out = Emitter(HOST, session_id, source, self.state.progress, remembered=ALL)

    def save(self) -> bytes:
        """The state to go on from."""
        return msgspec.msgpack.encode(self.state)

    def feed(self, record: bytes, line: int, offset: int, batch: Batch) -> Verdict:
        """Add what one row gives."""
        out = self.out
        fields = mapping(decode(record))
        table, row = string(fields.get("table")) or "(none)", mapping(fields.get("row"))
        out.begin(batch, line, offset, len(record))
        out.timestamp = utc(first(row, "timestamp", "created_at", "first_seen_at"))
        out.identify(f"{self.session_id}:{table}:{as_text(fields.get('key'))}".replace(".", "_"))
        read = {
            "sessions": self._session,
            "turns": self._turn,
            "checkpoints": self._checkpoint,
            "session_files": self._file,
            "assistant_usage_events": self._request,
        }.get(table)
        if read is not None:
            read(row)
        if out.emitted:
            return verdict(MAPPED, table)
        if table in UNCOUNTED:
            return verdict(BOOKKEEPING, table)
        text = record.decode("utf-8", "replace")
        out.emit(Actor.SYSTEM, EventType.UNKNOWN, one_line(f"{table}: {text}"), text, payload={"kind": table})
        return verdict(UNKNOWN, table)

    def feed_giant(self, head: bytes, tail: bytes, line: int, offset: int, length: int, batch: Batch) -> Verdict:
        """A row over 16 MiB, of which nothing is read."""
        self.out.begin(batch, line, offset, length)
        self.out.identify(f"{self.session_id}:{offset}")
        text = f"a row of {length:,} bytes, too long to be read"
        self.out.emit(Actor.SYSTEM, EventType.UNKNOWN, text, payload={"bytes": length}, truncated=True)
        return verdict(UNKNOWN, "(none)")

    def _session(self, row: Fields) -> None:
        facts = self.facts
        facts.cwd, facts.branch = string(row.get("cwd")), string(row.get("branch"))
        facts.host_title = string(row.get("summary"))
        self.out.shared = self.out.where(facts.cwd, facts.branch)
        payload = kept(host_type=row.get("host_type"), remote=remote(row, row.get("repository")), confidence="low")
        self.out.emit(Actor.SYSTEM, EventType.SESSION_START, "session started", payload=payload)

    def _turn(self, row: Fields) -> None:
        index, turns = as_text(row.get("turn_index")), self.state.turns
        number = turns.setdefault(index, len(turns) + 1)
        before, self.out.progress.turn = self.out.progress.turn, number
        asked, said = string(row.get("user_message")), string(row.get("assistant_response"))
        if asked is not None:
            self.out.emit(Actor.USER, EventType.MESSAGE, one_line(asked), asked, origin=Origin.HUMAN)
        if said is not None:
            self.out.emit(Actor.ASSISTANT, EventType.MESSAGE, one_line(said), said)
        self.out.progress.turn = max(before, number)

    def _checkpoint(self, row: Fields) -> None:
        text = "\n\n".join(f"{name}: {row[name]}" for name in _SUMMARY if row.get(name))
        title = string(row.get("title"))
        self.out.emit(Actor.SYSTEM, EventType.COMPACTION, one_line(title or "the context was compacted"), text or title)

    def _file(self, row: Fields) -> None:
        """A file that was edited or read; how, is told nowhere any more."""
        path, tool = string(row.get("file_path")), string(row.get("tool_name")) or ""
        kind = EventType.FILE_EDIT if tool == "apply_patch" else TOOLS.get(tool, EventType.FILE_EDIT)
        if path is not None:
            self.out.emit(Actor.ASSISTANT, kind, one_line(f"{tool} {path}"), tool=tool or None, paths=[path])

    def _request(self, row: Fields) -> None:
        names = {
            "inputTokens": "input_tokens",
            "outputTokens": "output_tokens",
            "cacheReadTokens": "cache_read_tokens",
            "cacheWriteTokens": "cache_write_tokens",
            "reasoningTokens": "reasoning_tokens",
        }
        found = tokens_of({name: row.get(column) for name, column in names.items()})
        self.out.batch.usage.append(
            Usage(
                usage_id=self.out.identity,
                session_id=self.session_id,
                host=HOST,
                source=self.source,
                line=self.out.reference.line,
                timestamp=self.out.timestamp,
                model=string(row.get("model")),
                turn=self.state.turns.get(str(whole(row.get("turn_index")))),
                agent_id=string(row.get("agent_id")),
                input_tokens=found.fresh,
                cache_write_5m_tokens=found.written,
                cache_read_tokens=found.cached,
                output_tokens=found.output,
                reasoning_tokens=found.reasoning,
            )
        )
