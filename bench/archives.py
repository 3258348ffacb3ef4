"""An archive of as many sessions as wanted, made of one: rows and files as they would be, with nothing in them."""

from __future__ import annotations

import os
from typing import Final

import apsw

from bench.generate import generate

_SIZE: Final = 1_500_000
"""What a simulated session's file seems to hold: 20,000 of them make 30 GB."""


def first_session(home: str) -> str:
    """A home with one small session; gives its path."""
    return generate(home, 40_000, sessions=1).paths[0]


def multiply(root: str, home: str, template: str, count: int) -> None:
    """Have `count` sessions where there was one: sparse files in the home, links in the archive, rows in the index."""
    connection = apsw.Connection(os.path.join(root, "index.sqlite"))
    try:
        with connection:
            _multiply(connection, root, home, template, count)
    finally:
        connection.close()


def _multiply(connection: apsw.Connection, root: str, home: str, template: str, count: int) -> None:
    number, session_id = connection.execute("SELECT id, session_id FROM session").get
    session, source = (_columns(connection, table) for table in ("session", "source"))
    turn = _columns(connection, "turn")
    raw, normalized = os.path.join(root, "raw", "claude"), os.path.join(root, "normalized", "claude")
    files = os.listdir(os.path.join(raw, session_id))
    folders = [os.path.join(home, "projects", f"-home-dev-project{place}") for place in range(count // 200 + 1)]
    for folder in folders:
        os.makedirs(folder)
    for place in range(1, count):
        name = f"{place:08x}-0000-4000-8000-{place:012x}"
        path = os.path.join(folders[place % len(folders)], f"{name}.jsonl")
        found = _sparse(path)
        os.mkdir(os.path.join(raw, name))
        for file in files:
            os.link(os.path.join(raw, session_id, file), os.path.join(raw, name, file))
        os.link(
            os.path.join(normalized, f"{session_id}.events.jsonl.zst"),
            os.path.join(normalized, f"{name}.events.jsonl.zst"),
        )
        own = number + place
        day = f"2026-{place % 12 + 1:02}-{place % 28 + 1:02}T10:00:00.000Z"
        _copy(
            connection, "session", session, number, {"id": own, "session_id": name, "ended": day, "first_prompt": name}
        )
        changes = {
            "id": None,
            "session": own,
            "path": os.fsencode(path),
            "size": found.st_size,
            "offset": found.st_size,
        }
        changes |= {"inode": found.st_ino, "device": found.st_dev, "mtime_ns": found.st_mtime_ns}
        _copy(connection, "source", source, number, changes)
        _copy(connection, "turn", turn, number, {"session": own})


def _sparse(path: str) -> os.stat_result:
    with open(path, "wb") as file:
        file.truncate(_SIZE)
    return os.stat(path)


def _columns(connection: apsw.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def _copy(connection: apsw.Connection, table: str, columns: list[str], number: int, changes: dict[str, object]) -> None:
    """The rows of the first session once more, with changes."""
    chosen = ", ".join(f":{name}" if name in changes else name for name in columns)
    where = "id" if table == "session" else "session"
    connection.execute(
        f"INSERT INTO {table} ({', '.join(columns)}) SELECT {chosen} FROM {table} WHERE {where} = {number}",
        changes,
    )
