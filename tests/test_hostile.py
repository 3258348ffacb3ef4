"""Names and files that mean harm, full disks, busy archives: nothing leaves the root, nothing is lost."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from retro import cli
from retro.agents import claude
from retro.archive import frames, origin
from retro.failure import Failure
from retro.index import database
from retro.lock import Lock
from retro.places import Places
from support import (
    SESSION,
    content,
    counts,
    differences,
    failures,
    lines,
    prompt,
    sweep_up,
    transcript,
    tree,
    unpacked,
)

posix = pytest.mark.skipif(os.name != "posix", reason="names and files of POSIX")

NAMES = [
    "..",
    "../../escape",
    "...",
    ".hidden",
    "-rf",
    "--root=x",
    "a" * 240,
    "UPPER",
    "upper",
    "Upper",
    "con",
    "nul.x",
    "with space",
    "new\nline",
    "tab\tand\x1b[31mred",
    "naïve-☃",
    "e\u0301",
    "\u00e9",
    "%2e%2e%2f",
    "~",
    "$(touch x)",
    "'; DROP TABLE session; --",
    "<script>alert(1)</script>",
    "\u202egnp.exe",
    "x~0123",
    "trailing.",
    "trailing ",
    "",
]


@pytest.fixture
def home(isolated: Path) -> Path:
    folder = isolated / ".claude"
    (folder / "projects").mkdir(parents=True)
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "archive"


def elsewhere(tmp_path: Path, root: Path) -> dict[str, tuple[object, ...]]:
    """All that lies beside the archive."""
    seen = tree(tmp_path)
    del seen[str(tmp_path)]
    return {path: what for path, what in seen.items() if path != str(root) and not path.startswith(f"{root}/")}


def said(root: Path, *arguments: str) -> int:
    return cli.run(["--root", str(root), *arguments])


# --- names -----------------------------------------------------------------------------------------------------------


@posix
def test_sessions_with_names_of_any_kind_stay_apart_and_inside(home: Path, root: Path, tmp_path: Path) -> None:
    expected = {}
    for number, name in enumerate(NAMES):
        if "/" not in name:
            expected[name] = lines(prompt(f"session {number}", number + 1))
            transcript(home, expected[name], session=name, project=f"-project-{number}")
    before = elsewhere(tmp_path, root)
    assert failures(sweep_up(root, home)) == []
    assert elsewhere(tmp_path, root) == before
    found = content(root)
    assert {key[0]: data for key, data in found.raw.items()} == expected
    assert all(path.resolve().is_relative_to(root.resolve()) for path in root.rglob("*"))
    folders = [path.name for path in (root / "raw" / "claude").iterdir()]
    assert len({name.lower() for name in folders}) == len(expected)
    assert all(name.isascii() and len(name) <= 120 and name[0] not in ".-" for name in folders)


@posix
@pytest.mark.parametrize("session", ["../../../escape", "/etc/passwd", "a/../../b", "\x00", "x" * 300, "C:\\x", ".."])
def test_session_ids_inside_of_files_lead_nowhere(home: Path, root: Path, tmp_path: Path, session: str) -> None:
    data = lines(prompt("x", sessionId=session))
    transcript(home, data, session="agent-1")
    transcript(home, data, session=SESSION)
    before = elsewhere(tmp_path, root)
    assert failures(sweep_up(root, home)) == []
    assert elsewhere(tmp_path, root) == before
    assert all(data == kept for kept in content(root).raw.values())
    assert (SESSION, "main", 0) in content(root).raw


@posix
@pytest.mark.parametrize("agent", ["../../../escape", "/abs", "..", "a/b", "x" * 5000, "\x00", "main", "main@1"])
def test_agent_ids_inside_of_records_lead_nowhere(home: Path, root: Path, tmp_path: Path, agent: str) -> None:
    message = {"type": "assistant", "uuid": "e", "message": {"content": [{"type": "text", "text": "hi"}]}}
    data = lines(
        prompt("x", 1, agentId=agent),
        {"type": "progress", "uuid": "p", "data": {"type": "agent_progress", "agentId": agent, "message": message}},
    )
    transcript(home, data)
    before = elsewhere(tmp_path, root)
    assert failures(sweep_up(root, home)) == []
    assert elsewhere(tmp_path, root) == before
    assert len(content(root).events[SESSION]) == 2


@posix
def test_names_that_are_not_utf8(home: Path, root: Path) -> None:
    folder = os.fsencode(home / "projects") + b"/-caf\xe9"
    os.mkdir(folder)
    data = lines(prompt("x"))
    for name in (b"\xff\xfe", b"b\xe9"):
        with open(folder + b"/" + name + b".jsonl", "wb") as file:
            file.write(data)
    os.mkdir(folder + b"/b\xe9")
    assert failures(sweep_up(root, home)) == []
    assert counts(sweep_up(root, home)) == {"discovered": 2, "skipped_unchanged": 2}
    assert list(content(root).raw.values()) == [data, data]


@posix
def test_a_link_in_the_archive_that_leads_out_is_refused(home: Path, root: Path, tmp_path: Path) -> None:
    file = transcript(home, lines(prompt("x")))
    sweep_up(root, home)
    outside = tmp_path / "outside"
    outside.mkdir()
    for path in (root / "raw" / "claude" / SESSION).iterdir():
        path.rename(outside / path.name)
    (root / "raw" / "claude" / SESSION).rmdir()
    (root / "raw" / "claude" / SESSION).symlink_to(outside)
    before = tree(outside)
    file.write_bytes(lines(prompt("x"), prompt("y", 2)))
    transcript(home, lines(prompt("z")), session="other")
    report = sweep_up(root, home)
    assert counts(report)["failed"] == 1 and counts(report)["ingested"] == 1
    assert "is not inside the archive" in failures(report)[0]
    assert tree(outside) == before


@posix
@pytest.mark.parametrize("place", ["raw", "normalized", "index.sqlite", ".lock"])
def test_links_in_the_archives_own_places_are_refused(home: Path, root: Path, tmp_path: Path, place: str) -> None:
    transcript(home, lines(prompt("x")))
    sweep_up(root, home)
    outside = tmp_path / "outside"
    for suffix in ("-wal", "-shm"):
        (root / f"index.sqlite{suffix}").unlink(missing_ok=True)
    (root / place).rename(outside)
    (root / place).symlink_to(outside)
    transcript(home, lines(prompt("y")), session="other")
    before = elsewhere(tmp_path, root)
    try:
        assert failures(sweep_up(root, home)) != []
    except (Failure, OSError) as error:
        assert str(error)
    assert elsewhere(tmp_path, root) == before


# --- files that are no files -----------------------------------------------------------------------------------------


@posix
def test_what_is_not_a_regular_file_is_left_alone(home: Path, root: Path, tmp_path: Path) -> None:
    data = lines(prompt("x"))
    file = transcript(home, data)
    project = file.parent
    os.mkfifo(project / "fifo.jsonl")
    (project / "folder.jsonl").mkdir()
    (project / "nowhere.jsonl").symlink_to(tmp_path / "nothing")
    (project / "loop.jsonl").symlink_to(project / "loop.jsonl")
    (project / "linked.jsonl").symlink_to(file)
    (home / "projects" / "loop").symlink_to(home / "projects")
    os.mkdir(project / SESSION)
    os.mkfifo(project / SESSION / "fifo")
    (project / SESSION / "up").symlink_to(home)
    before = tree(home)
    report = sweep_up(root, home)
    assert failures(report) == []
    assert {key[0] for key in content(root).raw} == {SESSION, "linked"}
    assert tree(home) == before


@posix
def test_a_fifo_that_is_named_by_the_user_does_not_hang(home: Path) -> None:
    os.mkfifo(home / "x.jsonl")
    assert claude.claims(str(home / "x.jsonl")) == []


@posix
def test_a_file_that_becomes_a_fifo_after_it_was_found(home: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = transcript(home, lines(prompt("x")))
    transcript(home, lines(prompt("y")), session="other")
    original = claude.discover

    def discover(*arguments: object) -> Iterator[object]:
        yield from list(original(*arguments))  # type: ignore[arg-type]
        file.unlink()
        os.mkfifo(file)

    monkeypatch.setattr(claude, "discover", discover)
    report = sweep_up(root, home)
    assert failures(report) == ["not a regular file"]
    assert counts(report)["ingested"] == 1


def test_a_file_that_vanishes_after_it_was_found(home: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = transcript(home, lines(prompt("x")))
    transcript(home, lines(prompt("y")), session="other")
    original = claude.discover

    def discover(*arguments: object) -> Iterator[object]:
        yield from list(original(*arguments))  # type: ignore[arg-type]
        file.unlink(missing_ok=True)

    monkeypatch.setattr(claude, "discover", discover)
    report = sweep_up(root, home)
    assert (counts(report)["failed"], counts(report)["ingested"]) == (1, 1)
    assert failures(report) == [os.strerror(errno.ENOENT)]
    assert not (root / "raw" / "claude" / SESSION).exists()


def test_a_file_that_cannot_be_read_to_its_end_leaves_nothing_half_done(
    home: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk gives an error in the middle of the second source of a session; the first one counts."""
    from retro import capture

    transcript(home, lines(prompt("x", 1), prompt("y", 2)))
    agent = home / "projects" / "-home-dev-code" / SESSION / "subagents" / "agent-a.jsonl"
    agent.parent.mkdir(parents=True)
    agent.write_bytes(lines(*(prompt("z" * 900, number, isSidechain=True, agentId="a") for number in range(50, 2000))))
    original = origin.SourceFile.read

    def read(self: origin.SourceFile, size: int) -> bytes:
        if self.found.st_size == agent.stat().st_size and self._file.tell() > 1_500_000:
            raise origin.Unreadable("Input/output error")
        return original(self, size)

    with monkeypatch.context() as patch:
        patch.setattr(origin.SourceFile, "read", read)
        patch.setattr(capture, "PART", 700_000)
        assert failures(sweep_up(root, home)) == ["Input/output error"]
        found = [event["text"] for event in content_of_main(root)]
        assert found == ["x", "y"]
    assert failures(sweep_up(root, home)) == []
    sweep_up(tmp_path / "whole", home)
    assert differences(content(root), content(tmp_path / "whole")) == []


def content_of_main(root: Path) -> list[dict[str, object]]:
    from retro.archive.reading import written_events

    places = Places(str(root))
    connection = apsw.Connection(places.index, flags=apsw.SQLITE_OPEN_READONLY)
    committed = connection.execute("SELECT normalized_bytes FROM session").get
    connection.close()
    events = written_events(places.normalized("claude", SESSION), committed)
    return [{"text": event.text} for event in events if event.source == "main"]


# --- no space, no right to write -------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 1 MB."""
    if sys.platform != "linux":
        pytest.skip("mounts a tmpfs")
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], capture_output=True).returncode:
        pytest.skip("may not mount")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def test_a_full_disk_is_named_and_loses_nothing(
    small_disk: Path, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = small_disk / "archive"
    filler = small_disk / "filler"
    transcript(home, lines(prompt("first")), session="first")
    assert said(root, "sweep") == 0
    first = unpacked(root / "raw/claude/first/transcript.jsonl.zst")
    for number in range(20):
        noise = os.urandom(20_000).hex()
        transcript(home, lines(*(prompt(noise, at) for at in range(1, 4))), session=f"session-{number}")
    capsys.readouterr()
    assert said(root, "sweep") == 1
    assert "no space left" in capsys.readouterr().err
    assert said(root, "--json", "sweep") == 1
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "disk_full"
    assert unpacked(root / "raw/claude/first/transcript.jsonl.zst") == first
    filler.unlink(missing_ok=True)
    subprocess.run(["mount", "-o", "remount,size=32m", small_disk], check=True)
    assert said(root, "sweep") == 0
    assert said(tmp_path / "whole", "sweep") == 0
    assert differences(content(root), content(tmp_path / "whole")) == []


def test_a_read_only_archive_is_named(small_disk: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = small_disk / "archive"
    file = transcript(home, lines(prompt("x")))
    assert said(root, "sweep") == 0
    before = content(root)
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    file.write_bytes(lines(prompt("x"), prompt("y", 2)))
    capsys.readouterr()
    assert said(root, "sweep") == 1
    assert "read-only" in capsys.readouterr().err
    assert said(root, "list") == 0  # reading goes on
    subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)
    assert content(root) == before
    assert said(root, "sweep") == 0


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_an_error_that_no_session_escapes_ends_the_sweep(
    home: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, workers: int
) -> None:
    for session in range(6):
        transcript(home, lines(prompt("x" * 1000 * session)), session=f"session-{session}")
    sweep_up(tmp_path / "whole", home)
    original, written = frames.FrameWriter.write, []

    def write(self: frames.FrameWriter, data: bytes) -> None:
        written.append(data)
        if len(written) > 5:
            os.write(self._descriptor, b"half a fra")
            raise OSError(number, os.strerror(number))
        original(self, data)

    with monkeypatch.context() as patch:
        patch.setattr(frames.FrameWriter, "write", write)
        patch.setattr("retro.workers.WORTH_IT", 0)
        with pytest.raises(OSError) as raised:
            sweep_up(root, home, workers=workers)
        assert raised.value.errno == number
    assert failures(sweep_up(root, home)) == []
    assert differences(content(root), content(tmp_path / "whole")) == []


def test_an_error_of_one_session_fails_that_session(home: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for session in ("bad", "good"):
        transcript(home, lines(prompt(session)), session=session)
    original = frames.FrameWriter.write

    def write(self: frames.FrameWriter, data: bytes) -> None:
        if "/bad" in self.path:
            raise OSError(errno.EIO, os.strerror(errno.EIO), self.path)
        original(self, data)

    with monkeypatch.context() as patch:
        patch.setattr(frames.FrameWriter, "write", write)
        report = sweep_up(root, home)
    assert counts(report) == {"discovered": 2, "ingested": 1, "analyzed": 1, "failed": 1}
    assert "Input/output error" in failures(report)[0]
    assert counts(sweep_up(root, home)) == {"discovered": 2, "ingested": 1, "skipped_unchanged": 1, "analyzed": 1}


# --- busy ------------------------------------------------------------------------------------------------------------


def test_an_index_locked_by_another_program_is_busy(
    home: Path, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = transcript(home, lines(prompt("x")))
    sweep_up(root, home)
    before = content(root)
    file.write_bytes(lines(prompt("x"), prompt("y", 2)))
    original = database._prepare
    monkeypatch.setattr(database, "_prepare", lambda connection, wait: original(connection, 50))
    other = apsw.Connection(str(root / "index.sqlite"))
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(Failure) as raised:
        sweep_up(root, home)
    assert (raised.value.kind, raised.value.exit_code) == ("busy", 3)
    assert said(root, "sweep") == 3
    other.execute("ROLLBACK")
    other.close()
    assert content_of_main(root) == [{"text": event["text"]} for event in before.events[SESSION]]
    assert counts(sweep_up(root, home))["appended"] == 1
    assert [event["text"] for event in content(root).events[SESSION]] == ["x", "y"]


def test_a_second_sweep_does_not_wait_for_ever(home: Path, root: Path) -> None:
    transcript(home, lines(prompt("x")))
    sweep_up(root, home)
    with Lock(Places(str(root)).lock, 0), pytest.raises(Failure) as raised:
        sweep_up(root, home, wait=0.1)
    assert (raised.value.kind, raised.value.exit_code) == ("busy", 3)
    assert "waited 0.1 s" in raised.value.message
    assert counts(sweep_up(root, home)) == {"discovered": 1, "skipped_unchanged": 1}


def test_two_sweeps_at_once_do_everything_once(demo_home: Path, root: Path, tmp_path: Path) -> None:
    reports = []

    def run() -> None:
        reports.append(sweep_up(root, demo_home, wait=60.0))

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(counts(report).get("ingested", 0) for report in reports) == [0, 0, 6]
    sweep_up(tmp_path / "whole", demo_home)
    assert differences(content(root), content(tmp_path / "whole")) == []


def test_readers_do_not_wait_for_a_sweep(home: Path, root: Path) -> None:
    transcript(home, lines(prompt("x")))
    sweep_up(root, home)
    with Lock(Places(str(root)).lock, 0):
        writing = apsw.Connection(str(root / "index.sqlite"))
        writing.execute("BEGIN IMMEDIATE; UPDATE session SET title = 'changed'")
        assert said(root, "list") == 0
        writing.execute("ROLLBACK")
        writing.close()
