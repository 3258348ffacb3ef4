"""What the tests of the archive share: homes, sweeps, and an archive as one value that can be compared.

Run as a script it is a sweep that may be told to die: `python support.py '{"root": …, "homes": […], "fault": …}'`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import apsw
import msgspec
import zstandard

from retro.agents.interface import DOCUMENT, LINES, TRANSCRIPT
from retro.archive.committed import SourceState
from retro.archive.frames import check
from retro.archive.journal import document, records
from retro.archive.reading import session_events, written_events
from retro.config import Settings
from retro.digests import digest
from retro.index.readings import readings_of
from retro.index.rows import SOURCE_COLUMNS, TURN_COLUMNS, source_state
from retro.passages import unpacked as pieces_of
from retro.places import Places
from retro.sweep import Report, sweep

SESSION: Final = "11111111-2222-4333-8444-555555555555"
PROJECT: Final = "-home-dev-code"
STAMP: Final = "2026-02-01T03:50:40.902Z"

# What two sweeps of the same files need not agree on: when it was done, and how the bytes were cut into frames.
VOLATILE: Final = frozenset(
    {
        *("captured", "id", "session", "raw_bytes", "chain", "frames"),
        *("normalized_bytes", "normalized_chain", "normalized_frames"),
    }
)

Row = dict[str, object]


class Content(NamedTuple):
    """Everything that an archive holds, keyed by the ids that the hosts gave."""

    raw: dict[tuple[str, str, int], bytes]
    """What each source wrote, by session, key and revision."""
    events: dict[str, list[dict[str, object]]]
    """Each session's events in reading order."""
    written: dict[tuple[str, str, str], dict[str, object]]
    """The last version of each event, by session, source and id."""
    sessions: dict[str, Row]
    sources: dict[tuple[str, str, int], Row]
    turns: dict[tuple[str, int], Row]
    titles: dict[bytes, str]
    passages: dict[tuple[str, str, int], Row]
    """What the search index holds, by session, source and number."""
    readings: dict[tuple[str, str], Row]
    """What each signal says, by session and signal."""
    sums: dict[str, object]
    """What they add up to, as it stands in the file beside them."""


# --- homes -----------------------------------------------------------------------------------------------------------


def prompt(text: str, number: int = 1, **more: object) -> dict[str, object]:
    """A person's words as Claude Code writes them."""
    return {
        "type": "user",
        "uuid": uuid_of(number),
        "parentUuid": uuid_of(number - 1) if number > 1 else None,
        "sessionId": SESSION,
        "timestamp": STAMP,
        "cwd": "/home/dev/code",
        "gitBranch": "main",
        "version": "2.1.300",
        "isSidechain": False,
        "message": {"role": "user", "content": text},
        **more,
    }


def answer(content: object, number: int = 2, *, output_tokens: int = 10, **more: object) -> dict[str, object]:
    """A message of the model."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return prompt("", number) | {
        "type": "assistant",
        "message": {
            "id": f"msg_{number}",
            "role": "assistant",
            "model": "claude-opus-4-8",
            "stop_reason": "end_turn",
            "content": blocks,
            "usage": {"input_tokens": 5, "output_tokens": output_tokens},
        },
        **more,
    }


def call(name: str, given: object, number: int = 2, call_id: str | None = None) -> dict[str, object]:
    """A tool call of the model."""
    block = {"type": "tool_use", "id": call_id or f"toolu_{number}", "name": name, "input": given}
    return answer([block], number)


def result(text: object, number: int = 3, call_id: str | None = None, **more: object) -> dict[str, object]:
    """What a tool gave back."""
    block = {"type": "tool_result", "tool_use_id": call_id or f"toolu_{number - 1}", "content": text}
    return prompt("", number) | {"message": {"role": "user", "content": [block]}, **more}


def uuid_of(number: int) -> str:
    """The identity of the n-th record."""
    return f"00000000-0000-4000-8000-{number:012d}"


def lines(*records: Mapping[str, object]) -> bytes:
    """Records as JSON lines."""
    return b"".join(
        json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for record in records
    )


def transcript(home: Path, data: bytes = b"", session: str = SESSION, project: str = PROJECT) -> Path:
    """A session's file in a data root, with this content."""
    file = home / "projects" / project / f"{session}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


def settings(workers: int = 1, wait: float = 0.0) -> Settings:
    """Settings with so many workers, and so many seconds to wait for another sweep."""
    return Settings("", {("sweep", "workers"): workers, ("sweep", "lock_wait_seconds"): wait})


def environment(homes: Iterable[Path]) -> dict[str, str]:
    """An environment in which Claude Code's sessions lie in these data roots and nowhere else."""
    return {"HOME": "/nonexistent", "CLAUDE_CONFIG_DIR": ",".join(map(str, homes))}


def sweep_up(root: Path, *homes: Path, workers: int = 1, wait: float = 0.0, dry_run: bool = False) -> Report:
    """Sweep these data roots into an archive."""
    return sweep(Places(str(root)), settings(workers, wait), environment(homes), dry_run=dry_run)


def failures(report: Report) -> list[str]:
    """Why something could not be captured."""
    return [problem.reason for host in report.hosts for problem in host.problems]


def counts(report: Report) -> dict[str, int]:
    """What a sweep did, without the zeroes."""
    names = ("discovered", "ingested", "appended", "skipped_unchanged", "analyzed", "failed", "ignored")
    total = {name: sum(getattr(host, name) for host in report.hosts) for name in names}
    return {name: count for name, count in total.items() if count}


# --- what an archive holds -------------------------------------------------------------------------------------------


def unpacked(path: str | Path) -> bytes:
    """The content of a file of frames, by another reader than ours."""
    with open(path, "rb") as file:
        return zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read()


def content(root: Path) -> Content:
    """All that an archive holds; its checksums and accounts are verified on the way."""
    places = Places(str(root))
    found = Content({}, {}, {}, {}, {}, {}, {}, {}, {}, {})
    connection = apsw.Connection(places.index, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        assert connection.pragma("integrity_check") == "ok"
        for session in _rows(connection, "SELECT * FROM session"):
            _read_session(connection, places, session, found)
        found.titles.update(connection.execute("SELECT record, title FROM title"))
        found.passages.update(_passages(connection))
    finally:
        connection.close()
    if found.readings:
        found.sums.update(json.loads((root / "signals" / "aggregates.json").read_bytes()))
    return found


def artefacts(root: Path) -> Iterator[tuple[Path, str]]:
    """Every file of the archive but the raw copies, decompressed."""
    for path in root.rglob("*"):
        if path.is_file() and not (path.suffix == ".zst" and path.is_relative_to(root / "raw")):
            data = unpacked(path) if path.suffix == ".zst" else path.read_bytes()
            yield path, data.decode("utf-8", "replace")


def _passages(connection: apsw.Connection) -> dict[tuple[str, str, int], Row]:
    """Each passage with its text, as often as it is indexed."""
    query = "SELECT count(*) FROM passage_text_docsize WHERE id IN (SELECT id FROM passage)"
    assert connection.execute(query).get == connection.execute("SELECT count(*) FROM passage").get
    query = (
        "SELECT host_id.session_id, passage.*, body FROM passage JOIN passage_body USING (id)"
        " JOIN session AS host_id ON host_id.id = passage.session"
    )
    found: dict[tuple[str, str, int], Row] = {}
    for row in _rows(connection, query):
        row["body"] = msgspec.to_builtins(pieces_of(row["body"]))
        found[row["session_id"], row["source"], row["number"]] = _stable(row)
    return found


def _read_session(connection: apsw.Connection, places: Places, session: dict[str, Any], found: Content) -> None:
    name, host = session["session_id"], session["host"]
    query = f"SELECT {SOURCE_COLUMNS} FROM source WHERE session = ?"
    states = [source_state(row) for row in connection.execute(query, (session["id"],))]
    folder = Path(places.raw(host, name))
    for state in states:
        key = (name, state.key, state.revision)
        found.sources[key] = _stable(msgspec.structs.asdict(state)) | {
            "accounting": msgspec.to_builtins(state.accounting),
            "facts": msgspec.to_builtins(state.facts),
            "fold": msgspec.to_builtins(state.fold),
            "track": msgspec.to_builtins(state.track),
            "notes": msgspec.to_builtins(state.notes),
            "reader": msgspec.msgpack.decode(state.reader, strict=False) if state.reader else None,
        }
        if state.revision:  # what is folded of it counts only together with the other revisions
            del found.sources[key]["fold"], found.sources[key]["track"], found.sources[key]["notes"]
        found.raw[key] = _raw(folder / state.file, state)
    for turn in _rows(connection, f"SELECT session, {TURN_COLUMNS} FROM turn WHERE session = ?", (session["id"],)):
        found.turns[name, turn["turn"]] = _stable(turn)
    for one in readings_of(connection, session["id"]):
        found.readings[name, one.signal] = msgspec.to_builtins(one)
    path, committed = places.normalized(host, name), session["normalized_bytes"]
    if any(state.kind == TRANSCRIPT for state in states) and os.path.exists(path):
        assert check(path, committed)[1] == session["normalized_chain"]
        agents = json.loads(session["agents"])
        found.events[name] = [msgspec.to_builtins(event) for event in session_events(path, agents, committed)]
        for event in written_events(path, committed):
            found.written[name, event.source, event.event_id] = msgspec.to_builtins(event)
    assert session["raw_bytes"] == sum(state.raw_bytes for state in states)
    found.sessions[name] = _stable(session) | {"digest": _digest(places, session)}


def _digest(places: Places, session: Mapping[str, Any]) -> dict[str, object]:
    """A session's digest, which covers all of its events."""
    assert session["digest_events"] == session["events"]
    path = places.digest(session["host"], session["session_id"])
    found = digest.read(path)
    assert os.path.getsize(path) <= digest.LIMIT + len(msgspec.json.encode(found.readings)) + len(',"readings":')
    assert found.counts.events == session["events"]
    said: dict[str, object] = msgspec.to_builtins(found)
    return said


def _raw(path: Path, state: SourceState) -> bytes:
    """The archived bytes of a source, all of them accounted for."""
    assert path.stat().st_size == state.raw_bytes, f"{path}: bytes beyond the committed length"
    data = unpacked(path)
    assert len(data) == state.offset, (path, len(data), state.offset)
    if state.form != LINES:
        lines = data.splitlines(keepends=True)
        whole = document(lines) if state.form == DOCUMENT else b"".join(records(lines).values())
        assert len(whole) == state.accounting.total(), (path, len(whole), state.accounting)
    else:
        assert state.offset == state.accounting.total(), (path, state.offset, state.accounting)
    assert check(str(path), state.raw_bytes)[:2] == (state.offset, state.chain)
    return data


def _rows(connection: apsw.Connection, query: str, values: tuple[Any, ...] = ()) -> list[dict[str, Any]]:
    cursor = connection.execute(query, values)
    names: list[str] = []
    found = []
    for row in cursor:
        names = names or [name for name, _ in cursor.getdescription()]
        found.append(row)
    return [dict(zip(names, row, strict=True)) for row in found]


def _stable(row: Mapping[str, object]) -> Row:
    return {name: value for name, value in row.items() if name not in VOLATILE}


def differences(left: Content, right: Content) -> list[str]:
    """Where two archives differ, in words short enough to read."""
    said: list[str] = []
    for name in Content._fields:
        one: dict[object, object] = getattr(left, name)
        other: dict[object, object] = getattr(right, name)
        changed = [key for key in sorted({*one, *other}, key=str) if one.get(key) != other.get(key)]
        said += [f"{name} {key}: {_difference(one.get(key), other.get(key))}" for key in changed]
    return said


def _difference(one: object, other: object) -> str:
    if isinstance(one, dict) and isinstance(other, dict):
        names = [name for name in {**one, **other} if one.get(name) != other.get(name)]
        return "; ".join(f"{name}: {str(one.get(name))[:300]} != {str(other.get(name))[:300]}" for name in names)
    if isinstance(one, list) and isinstance(other, list):
        pairs = [_difference(a, b) for a, b in zip(one, other, strict=False) if a != b]
        return f"{len(one)} and {len(other)} entries; first difference: {pairs[:1]}"
    if isinstance(one, bytes) and isinstance(other, bytes):
        return f"{len(one)} and {len(other)} bytes"
    return f"{str(one)[:300]} != {str(other)[:300]}"


def tree(folder: Path) -> dict[str, tuple[object, ...]]:
    """Every file and folder below a folder as `stat` and a reader see it; access times do not count."""
    seen: dict[str, tuple[object, ...]] = {}
    for path in [folder, *folder.rglob("*")]:
        stat = path.lstat()
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else None
        names = sorted(os.listdir(path)) if path.is_dir() and not path.is_symlink() else None
        seen[os.fsencode(path).decode("utf-8", "backslashreplace")] = (
            stat.st_mode,
            stat.st_size,
            stat.st_mtime_ns,
            stat.st_nlink,
            data,
            names,
        )
    return seen


# --- a sweep that dies -----------------------------------------------------------------------------------------------


def run_child(root: Path, homes: Sequence[Path], **how: object) -> subprocess.Popen[bytes]:
    """Start a sweep in a process of its own; `how` is what `main` takes."""
    task = {"root": str(root), "homes": [str(home) for home in homes], **how}
    sources = str(Path(__file__).parents[1] / "src")
    command = [sys.executable, __file__, json.dumps(task)]
    return subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": sources}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def main(task: dict[str, Any]) -> None:
    """Sweep; `fault` = [point, n] dies at the n-th time that a point is reached, `limits` sets module attributes."""
    import importlib

    for name, value in task.get("limits", {}).items():
        module, _, attribute = name.rpartition(".")
        setattr(importlib.import_module(module), attribute, value)
    fault = task.get("fault")
    seen = dict.fromkeys(POINTS, 0)
    for point in POINTS:
        _arm(point, seen, fault[1] if fault and fault[0] == point else None)
    report = sweep_up(
        Path(task["root"]),
        *map(Path, task["homes"]),
        workers=task.get("workers", 1),
        wait=task.get("wait", 0.0),
    )
    said = {"seen": seen, "counts": counts(report), "failures": failures(report), "peak_rss": _peak_rss()}
    print(json.dumps(said))


def _peak_rss() -> int:
    """The most memory that this process held at once, in bytes; 0 where the system does not tell."""
    try:  # not `ru_maxrss`, which on Linux begins with that of the process that started this one
        status = Path("/proc/self/status").read_text("ascii")
    except OSError:
        return 0
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


POINTS: Final = (
    "os.fsync",
    "os.replace",
    "os.mkdir",
    "retro.archive.frames.FrameWriter.write",
    "retro.archive.syncing.Syncing.wait",
    "retro.recording.write_meta",
    "retro.index.writing.Writer.commit",
    "retro.index.writing.Writer.finish",
    "retro.index.readings.write_private",
    "retro.index.database.open_private",
    "retro.committing.open_writer",
    "retro.index.database._check_schema",
)
"""Functions before and after which a sweep can be made to die."""


def _arm(point: str, seen: dict[str, int], fatal: int | None) -> None:
    import importlib

    path, _, name = point.rpartition(".")
    try:
        owner: object = importlib.import_module(path)
    except ModuleNotFoundError:
        module, _, kind = path.rpartition(".")
        owner = getattr(importlib.import_module(module), kind)
    original: Callable[..., object] = getattr(owner, name)

    def armed(*arguments: object, **named: object) -> object:
        """Odd numbers die before the call, even ones behind it."""
        seen[point] += 1
        if fatal is not None and 2 * seen[point] - 1 == fatal:
            os._exit(9)
        value = original(*arguments, **named)
        if fatal is not None and 2 * seen[point] == fatal:
            os._exit(9)
        return value

    setattr(owner, name, armed)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
