"""What holds of every host with a database: its log counts, a lock keeps nobody waiting, damage costs only itself."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import apsw
import pytest

from retro.config import Settings
from retro.places import Places
from retro.sweep import Report, sweep
from support import content, failures, lines, tree

ID: Final = "5b1d6a30-4c8e-4f7a-9d21-0a6c3e8f1b52"
CHATS: Final = ".config/Code/User/workspaceStorage/0123456789abcdef0123456789abcdef"


class Store(NamedTuple):
    """A host's database with one session in it, whose title can be changed."""

    path: str
    """Below the home folder."""
    tables: tuple[str, ...]
    row: str
    """Adds the session; takes its title."""
    change: str
    """Gives it another one."""
    value: Callable[[str], str] = str
    beside: tuple[tuple[str, bytes], ...] = ()
    """Files of the host's that hold the session's records."""


def index(title: str) -> str:
    """A window's list of chats."""
    return json.dumps({"version": 1, "entries": {ID: {"sessionId": ID, "title": title}}})


ROLLOUT: Final = lines(
    {"timestamp": "2026-03-01T09:00:00.000Z", "type": "session_meta", "payload": {"id": ID, "cwd": "/w"}},
    {
        "timestamp": "2026-03-01T09:00:01.000Z",
        "type": "event_msg",
        "payload": {"type": "user_message", "message": "why is high water late?"},
    },
)
CHAT: Final = json.dumps(
    {
        "version": 3,
        "sessionId": ID,
        "requests": [{"requestId": "r", "message": {"text": "why?"}, "timestamp": 1772355600000, "response": []}],
    }
).encode()

STORES: Final = {
    "codex": Store(
        ".codex/state_5.sqlite",
        ("CREATE TABLE threads (id, name, title, cwd)",),
        f"INSERT INTO threads VALUES ('{ID}', ?, NULL, '/w')",
        "UPDATE threads SET name = ?",
        beside=((f".codex/sessions/2026/03/01/rollout-2026-03-01T09-00-00-{ID}.jsonl", ROLLOUT),),
    ),
    "copilot": Store(
        ".copilot/session-store.db",
        ("CREATE TABLE sessions (id, cwd, summary, created_at)", "CREATE TABLE turns (id, session_id, user_message)"),
        f"INSERT INTO sessions VALUES ('{ID}', '/w', ?, '2026-03-01T09:00:00Z')",
        "UPDATE sessions SET summary = ?",
    ),
    "opencode": Store(
        ".local/share/opencode/opencode.db",
        (
            "CREATE TABLE session (id, parent_id, directory, title, version, time_created, time_updated)",
            "CREATE TABLE message (id, session_id, time_created, time_updated, data)",
            "CREATE TABLE part (id, message_id, session_id, time_created, time_updated, data)",
        ),
        f"INSERT INTO session VALUES ('{ID}', NULL, '/w', ?, '1.18.33', 1772355600000, 1772355600000)",
        "UPDATE session SET title = ?, time_updated = time_updated + 1",
    ),
    "vscode": Store(
        f"{CHATS}/state.vscdb",
        ("CREATE TABLE ItemTable (key TEXT UNIQUE, value BLOB)",),
        "INSERT INTO ItemTable VALUES ('chat.ChatSessionStore.index', ?)",
        "UPDATE ItemTable SET value = ?",
        index,
        ((f"{CHATS}/chatSessions/{ID}.json", CHAT),),
    ),
}
each_store: Final = pytest.mark.parametrize("host", STORES)
each_mode: Final = pytest.mark.parametrize("mode", ["wal", "delete"])


def made(host: str, home: Path, mode: str = "wal") -> apsw.Connection:
    """A home with a host's database, which is still open and, where there is one, has everything in its log."""
    store = STORES[host]
    for name, data in store.beside:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(data)
    path = home / store.path
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA journal_mode = {mode}")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    for table in store.tables:
        connection.execute(table)
    connection.execute(store.row, (store.value("Late tides"),))
    return connection


def retitle(host: str, connection: apsw.Connection, title: str) -> None:
    """Give the session another title."""
    connection.execute(STORES[host].change, (STORES[host].value(title),))


def swept(home: Path, root: Path, *hosts: str) -> Report:
    """Sweep a home."""
    return sweep(Places(str(root)), Settings("", {("sweep", "workers"): 1}), {"HOME": str(home)}, hosts=hosts)


def title(root: Path) -> object:
    """The session's title in the archive."""
    return content(root).sessions[ID]["title"]


@each_store
def test_rows_that_lie_only_in_the_log_are_found_and_nothing_is_left_beside_them(host: str, tmp_path: Path) -> None:
    connection = made(host, tmp_path / "running")
    home, store = tmp_path / "person", STORES[host].path
    shutil.copytree(tmp_path / "running", home, ignore=shutil.ignore_patterns("*-shm"))  # as a client that was killed
    connection.close()
    alone = tmp_path / "alone.db"
    shutil.copyfile(home / store, alone)
    bare = apsw.Connection(str(alone))
    assert list(bare.execute("SELECT count(*) FROM sqlite_schema")) == [(0,)]
    bare.close()
    before = tree(home)
    for _ in range(2):
        assert failures(swept(home, tmp_path / "root", host)) == []
    assert (title(tmp_path / "root"), tree(home)) == ("Late tides", before)


@each_mode
@each_store
def test_a_locked_store_is_read_as_it_was_and_after_the_lock_as_it_is(host: str, mode: str, tmp_path: Path) -> None:
    home, root = tmp_path / "person", tmp_path / "root"
    connection = made(host, home, mode)
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("CREATE TABLE more (words)")
    connection.execute("BEGIN EXCLUSIVE")
    retitle(host, connection, "Tides in winter")
    connection.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)"
                       " INSERT INTO more SELECT zeroblob(1000) FROM n")  # fmt: skip
    assert failures(swept(home, root, host)) == []
    assert title(root) == "Late tides"
    connection.execute("COMMIT")
    assert failures(swept(home, root, host)) == []
    assert title(root) == "Tides in winter"
    connection.close()


def _garbage(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 8000)


def _torn(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _text(path: Path) -> None:
    path.write_bytes(b"this is no database\n" * 300)


@pytest.mark.parametrize("damage", [_garbage, _text, _torn], ids=["garbage", "text", "torn"])
@each_store
def test_a_damaged_store_is_one_failed_source_with_its_reason(
    host: str, damage: Callable[[Path], None], tmp_path: Path
) -> None:
    home, root = tmp_path / "person", tmp_path / "root"
    connection = made(host, home, "delete")
    connection.execute("CREATE TABLE more AS SELECT zeroblob(50000)")
    connection.close()
    assert failures(swept(home, root, host)) == []
    path = home / STORES[host].path
    whole = path.read_bytes()
    damage(path)
    (reason,) = failures(swept(home, root, host))
    assert any(words in reason for words in ("not a database", "malformed", "disk image")), reason
    assert title(root) == "Late tides"
    path.write_bytes(whole)
    connection = apsw.Connection(str(path))
    retitle(host, connection, "Tides in winter")
    connection.close()
    assert failures(swept(home, root, host)) == []
    assert title(root) == "Tides in winter"


@pytest.mark.parametrize("host", [host for host in STORES if host != "codex"])  # it reads two places and compares
def test_a_store_that_was_captured_is_neither_copied_nor_opened_while_it_stays_as_it_is(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(host, tmp_path / "person", "delete").close()
    swept(tmp_path / "person", tmp_path / "root", host)
    monkeypatch.setattr("retro.agents.databases.snapshot", lambda path: pytest.fail(f"{path} was copied"))
    assert failures(swept(tmp_path / "person", tmp_path / "root", host)) == []
