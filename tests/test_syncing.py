"""What captures wrote is on the disk before it counts."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from retro.archive import syncing
from retro.archive.committed import Part
from retro.archive.syncing import BATCH, FEW, THREADS, Syncing
from retro.index import passages
from retro.index.writing import Writer
from support import sweep_up


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("count", [1, FEW, FEW + 1, BATCH, 200])
def test_all_that_was_added_is_synced_once_when_waiting_ends(
    monkeypatch: pytest.MonkeyPatch, count: int, quick: bool
) -> None:
    monkeypatch.setattr(syncing, "QUICK_SECONDS", 60 if quick else 0)
    synced: list[str] = []
    monkeypatch.setattr(syncing, "sync_file", synced.append)
    monkeypatch.setattr(syncing, "sync_dir", synced.append)
    work = Syncing()
    wanted: list[str] = []
    for again in range(3):
        files, folders = [f"{again} file {n}" for n in range(count)], [f"{again} folder {n}" for n in range(count)]
        work.add(files, folders)
        work.wait()
        wanted += [*files, *folders]
        assert sorted(synced) == sorted(wanted)
    work.close()


@pytest.mark.parametrize("quick", [True, False])
def test_an_error_is_raised_once_and_keeps_nothing_else_from_the_disk(
    monkeypatch: pytest.MonkeyPatch, quick: bool
) -> None:
    monkeypatch.setattr(syncing, "QUICK_SECONDS", 60 if quick else 0)
    synced: list[str] = []

    def sync(path: str) -> None:
        if path == "bad":
            raise OSError(5, "Input/output error", path)
        synced.append(path)

    monkeypatch.setattr(syncing, "sync_file", sync)
    work = Syncing()
    work.add([*(f"file {n}" for n in range(50)), "bad", *(f"file {n}" for n in range(50, 100))], [])
    with pytest.raises(OSError, match="Input/output"):
        work.wait()
    assert len(synced) == 100
    work.wait()
    work.close()


def test_little_is_synced_without_threads_and_much_with_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syncing, "sync_file", lambda _: None)
    monkeypatch.setattr(syncing, "QUICK_SECONDS", 0)
    before, work = threading.active_count(), Syncing()
    work.add(map(str, range(FEW)), [])
    assert threading.active_count() <= before
    work.add(map(str, range(1000)), [])
    assert threading.active_count() <= before + THREADS
    work.wait()
    work.close()


def test_what_is_synced_at_once_needs_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr(syncing, "sync_file", synced.append)
    monkeypatch.setattr(syncing, "QUICK_SECONDS", 60)
    before, work = threading.active_count(), Syncing()
    work.add(map(str, range(1000)), [])
    work.wait()
    assert threading.active_count() <= before  # those of others may have ended
    assert len(synced) == 1000
    work.close()


@pytest.mark.parametrize("workers", [1, 2])
def test_nothing_is_committed_before_it_is_synced(
    demo_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    root = tmp_path / "archive"
    synced: set[str] = set()
    added: set[str] = set()
    add, commit = Writer.add, Writer.commit

    def sync(path: str) -> None:
        assert os.path.exists(path)
        synced.add(path)

    def noted(self: Writer, part: Part) -> None:
        added.update(part.files, part.folders)
        add(self, part)

    def checked(self: Writer) -> None:
        assert added <= synced
        commit(self)

    monkeypatch.setattr("retro.workers.WORTH_IT", 0)
    monkeypatch.setattr(syncing, "sync_file", sync)
    monkeypatch.setattr(syncing, "sync_dir", sync)
    monkeypatch.setattr(Writer, "add", noted)
    monkeypatch.setattr(Writer, "commit", checked)
    sweep_up(root, demo_home, workers=workers)
    written = {str(path) for kind in ("raw", "normalized") for path in (root / kind).rglob("*") if path.is_file()}
    assert written <= added


def test_when_the_disk_refuses_nothing_of_the_batch_counts(
    demo_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sync(path: str) -> None:
        raise OSError(5, "Input/output error", path)

    root = tmp_path / "archive"
    with monkeypatch.context() as patch:
        patch.setattr(syncing, "sync_file", sync)
        with pytest.raises(OSError, match="Input/output"):
            sweep_up(root, demo_home)
    again, whole = sweep_up(root, demo_home), sweep_up(tmp_path / "whole", demo_home)
    assert again.hosts[0].ingested == whole.hosts[0].ingested > 0


def test_most_is_committed_and_gathered_while_the_last_sessions_are_captured(
    demo_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    def noting(of: Any, name: str) -> None:
        called = getattr(of, name)

        def noted(*args: Any) -> Any:
            said.append(name)
            return called(*args)

        monkeypatch.setattr(of, name, noted)

    noting(Writer, "add")
    noting(Writer, "commit")
    noting(passages, "gather")
    monkeypatch.setattr("retro.committing.LAST_BYTES", 1)
    sweep_up(tmp_path / "archive", demo_home)
    assert said.count("gather") == 1
    gathered = said.index("gather")
    assert said[gathered - 1] == "commit"
    assert 0 < said[gathered:].count("add") <= said.count("add") / 2
    assert said[-1] == "commit"
