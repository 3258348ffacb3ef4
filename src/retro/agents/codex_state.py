"""What Codex keeps of its threads beside the rollouts: `state_<n>.sqlite`, session_index.jsonl and history.jsonl."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final

import apsw
import msgspec

from retro.agents import databases
from retro.agents.codex_shapes import decode_any, mapping
from retro.agents.interface import Agent, Facts, Unreadable

STATE: Final = re.compile(r"state_(\d+)\.sqlite")
# Only what seldom changes: counts and times of use would make a new revision at every turn, and say nothing more.
COLUMNS: Final = (
    "id",
    "rollout_path",
    "title",
    "name",
    "first_user_message",
    "cwd",
    "source",
    "thread_source",
    "originator",
    "model",
    "model_provider",
    "cli_version",
    "git_sha",
    "git_branch",
    "git_origin_url",
    "archived",
    "agent_nickname",
    "agent_role",
    "agent_path",
    "history_mode",
    "created_at",
)
_EDGES: Final = ("parent_thread_id", "child_thread_id")


class Thread(msgspec.Struct, omit_defaults=True):
    """What is known of a thread beside its rollout; as canonical JSON it is captured with the session."""

    thread: dict[str, object] = {}
    """Its row in the table of threads."""
    parent: str | None = None
    children: list[str] = []
    """Edges of the table of sub-agents."""
    name: str | None = None
    """Its newest name in session_index.jsonl."""

    @property
    def content(self) -> bytes:
        """The same content gives the same bytes."""
        return msgspec.json.encode(self, order="sorted") + b"\n"

    @property
    def facts(self) -> Facts:
        """What that tells about the session."""
        row = {name: value for name, value in self.thread.items() if isinstance(value, str) and value}
        spawned = mapping(mapping(mapping(_json(row.get("source"))).get("subagent")).get("thread_spawn"))
        parent = self.parent or spawned.get("parent_thread_id")
        title = row.get("title")
        return Facts(
            title=self.name or row.get("name"),
            host_title=title if title != row.get("first_user_message") else None,
            parent=parent if isinstance(parent, str) else None,
            cwd=row.get("cwd"),
            branch=row.get("git_branch"),
            models=[row["model"]] if "model" in row else [],
            versions=[row["cli_version"]] if "cli_version" in row else [],
            agents={child: Agent() for child in self.children},
        )


def is_home(folder: str) -> bool:
    """Whether a folder has a database of threads."""
    return any(True for _ in _databases(folder))


def threads(folder: str) -> tuple[dict[str, Thread], list[str]]:
    """All that a home's databases and index tell, by thread; and why what could not be read could not."""
    found: dict[str, Thread] = {}
    problems = []
    for _, path in sorted(_databases(folder)):
        try:
            _read_database(path, found)
        except Unreadable as error:
            problems.append(f"{os.path.basename(path)}: {error}; titles and parents are taken from the rollouts")
    for thread, name in _names(os.path.join(folder, "session_index.jsonl")).items():
        found.setdefault(thread, Thread()).name = name
    return found, problems


def facts_of(content: bytes) -> Facts | None:
    """What a captured `Thread` tells."""
    try:
        return msgspec.json.decode(content, type=Thread).facts
    except msgspec.DecodeError:
        return None


def history(folder: str) -> dict[str, bytes]:
    """The lines of history.jsonl, prompts typed in the host's own window, by thread."""
    found: dict[str, list[bytes]] = {}
    for line, fields in _lines(os.path.join(folder, "history.jsonl")):
        thread = fields.get("session_id")
        if isinstance(thread, str) and isinstance(fields.get("text"), str):
            found.setdefault(thread, []).append(line)
    return {thread: b"\n".join(lines) + b"\n" for thread, lines in found.items()}


def _names(path: str) -> dict[str, str]:
    names = {}
    for _, fields in _lines(path):
        thread, name = fields.get("id"), fields.get("thread_name")
        if isinstance(thread, str) and isinstance(name, str):
            names[thread] = name  # a new name is appended: the last one holds
    return names


def _lines(path: str) -> Iterator[tuple[bytes, dict[str, object]]]:
    """The whole lines of a file that hold an object."""
    try:
        with open(path, "rb") as file:
            for line in file:
                if line.endswith(b"\n"):
                    yield line.strip(), mapping(_json(line))
    except OSError:
        return


def _json(text: str | bytes | None) -> object:
    try:
        return decode_any(text) if text else None
    except (msgspec.DecodeError, RecursionError):
        return None


# --- databases -------------------------------------------------------------------------------------------------------


def _databases(folder: str) -> Iterator[tuple[int, str]]:
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        if number := STATE.fullmatch(name):
            yield int(number[1]), os.path.join(folder, name)


def _read_database(path: str, found: dict[str, Thread]) -> None:
    with databases.opened(databases.snapshot(path)) as connection:
        _read_rows(connection, found)


def _read_rows(connection: apsw.Connection, found: dict[str, Thread]) -> None:
    for row in _select(connection, "threads", COLUMNS):
        thread = row.get("id")
        if isinstance(thread, str):
            found.setdefault(thread, Thread()).thread = {name: value for name, value in row.items() if _plain(value)}
    for row in _select(connection, "thread_spawn_edges", _EDGES):
        parent, child = row.get("parent_thread_id"), row.get("child_thread_id")
        if isinstance(parent, str) and isinstance(child, str):
            found.setdefault(child, Thread()).parent = parent
            siblings = found.setdefault(parent, Thread()).children
            if child not in siblings:
                siblings.append(child)
                siblings.sort()


def _select(connection: apsw.Connection, table: str, columns: tuple[str, ...]) -> Iterator[dict[str, object]]:
    """The wanted columns of a table, those of them that this version has."""
    present = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
    names = [name for name in columns if name in present]
    if names:
        for row in connection.execute(f"SELECT {', '.join(names)} FROM {table}"):  # noqa: S608 - our own names
            yield dict(zip(names, row, strict=True))


def _plain(value: object) -> bool:
    return isinstance(value, (str, int, float)) and value != ""
