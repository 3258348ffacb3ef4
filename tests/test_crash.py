"""What a sweep leaves behind when it is killed, and that the next one makes good of it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from retro import capture, demo
from support import (
    POINTS,
    SESSION,
    content,
    counts,
    differences,
    failures,
    lines,
    prompt,
    run_child,
    sweep_up,
    transcript,
    uuid_of,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills processes as POSIX does")

SMALL_PARTS = {
    "retro.capture.PART": 3000,
    "retro.agents.records.CHUNK": 1024,
    "retro.agents.records.BLOCK": 1536,
    "retro.agents.records.RECORD_LIMIT": 2560,
    "retro.agents.records.SCAN": 256,
    "retro.committing.BATCH_PARTS": 2,
    "retro.archive.normalised.FRAME": 2048,
}
"""Limits with which the demo sessions come in many parts, with records too long for memory."""


def finished(root: Path, homes: Sequence[Path], **how: object) -> Any:
    child = run_child(root, homes, **how)
    printed, complaint = child.communicate()
    assert child.returncode == 0, complaint.decode()
    return json.loads(printed)


@pytest.mark.parametrize("limits", [{}, SMALL_PARTS], ids=["as they are", "small parts"])
@pytest.mark.parametrize("point", POINTS)
def test_dying_at_any_point_again_and_again(
    demo_home: Path, tmp_path: Path, point: str, limits: dict[str, int]
) -> None:
    passed = finished(tmp_path / "whole", [demo_home], limits=limits)["seen"][point]
    whole = content(tmp_path / "whole")
    chance = random.Random(point)
    moments = sorted({1, 2, 2 * passed, *(chance.randint(1, 2 * passed) for _ in range(3))} if passed else ())
    root = tmp_path / "archive"
    for moment in moments:
        child = run_child(root, [demo_home], limits=limits, fault=[point, moment])
        child.communicate()
        assert child.returncode in (0, 9)  # what an earlier one committed need not be done again
    report = finished(root, [demo_home], limits=limits)
    assert report["failures"] == []
    assert differences(content(root), whole) == []


@pytest.mark.parametrize("point", ["retro.archive.frames.FrameWriter.write", "retro.index.writing.Writer.commit"])
def test_dying_while_a_session_grows_and_is_rewritten(demo_home: Path, tmp_path: Path, point: str) -> None:
    files = sorted(demo_home.rglob("*.jsonl"))
    whole = {file: file.read_bytes() for file in files}
    for file, data in whole.items():
        file.write_bytes(data[: len(data) // 2])
    for root in ("archive", "whole"):
        sweep_up(tmp_path / root, demo_home)
    for file, data in whole.items():
        file.write_bytes(data)
    files[0].write_bytes(whole[files[1]])
    for moment in (1, 2, 5, 8):
        run_child(tmp_path / "archive", [demo_home], limits=SMALL_PARTS, fault=[point, moment]).communicate()
    finished(tmp_path / "archive", [demo_home], limits=SMALL_PARTS)
    finished(tmp_path / "whole", [demo_home], limits=SMALL_PARTS)
    assert differences(content(tmp_path / "archive"), content(tmp_path / "whole")) == []


def test_what_one_session_says_of_another_is_said_even_if_a_sweep_died_before_it_could(tmp_path: Path) -> None:
    """Nothing is new for the next sweep, and still it links the title and adds the readings up."""
    home, root = tmp_path / "claude", tmp_path / "archive"
    transcript(home, lines(prompt("what was asked")))
    sweep_up(root, home)
    transcript(home, lines({"type": "summary", "summary": "A title", "leafUuid": uuid_of(1)}), session="other")
    child = run_child(root, [home], fault=["retro.index.writing.Writer.finish", 1])
    child.communicate()
    assert child.returncode == 9
    assert counts(sweep_up(root, home)) == {"discovered": 2, "skipped_unchanged": 2}
    sweep_up(tmp_path / "whole", home)
    assert content(root).sessions[SESSION]["title"] == "A title"
    assert differences(content(root), content(tmp_path / "whole")) == []


@pytest.mark.parametrize("limits", [{}, SMALL_PARTS], ids=["as they are", "small parts"])
def test_dying_and_then_losing_the_index(demo_home: Path, tmp_path: Path, limits: dict[str, int]) -> None:
    """The archive alone, with whatever uncommitted frames lie in it, gives the same again."""
    finished(tmp_path / "whole", [demo_home], limits=limits)
    whole = content(tmp_path / "whole")
    root = tmp_path / "archive"
    for number, moment in enumerate((3, 11, 20, 27)):
        point = POINTS[3 + number % 3]
        run_child(root, [demo_home], limits=limits, fault=[point, moment]).communicate()
        for name in ("index.sqlite", "index.sqlite-wal", "index.sqlite-shm"):
            (root / name).unlink(missing_ok=True)
    assert finished(root, [demo_home], limits=limits)["failures"] == []
    assert differences(content(root), whole) == []


# --- killed from outside, with workers -------------------------------------------------------------------------------


@pytest.fixture
def large_home(tmp_path: Path) -> Path:
    """Enough sessions to be worth several processes: the demo's, many times under new ids."""
    home = tmp_path / "large"
    demo.install_sessions(tmp_path / "demo")
    for file in sorted((tmp_path / "demo" / "projects").glob("*/*.jsonl")):
        data = file.read_bytes()
        for number in range(5):
            name = f"{number:08x}{file.stem[8:]}"
            copy = home / "projects" / file.parent.name / f"{name}.jsonl"
            copy.parent.mkdir(parents=True, exist_ok=True)
            body = data.replace(file.stem.encode(), name.encode())
            copy.write_bytes(b"".join(body.replace(b'"uuid":"', b'"uuid":"%x' % turn) for turn in range(12)))
    return home


POOL = {
    "retro.workers.WORTH_IT": 0,
    "retro.workers.HELD": 300_000,
    "retro.capture.PART": 200_000,
    "retro.committing.LAST_BYTES": 300_000,
}


def test_workers_give_what_one_process_gives(large_home: Path, tmp_path: Path) -> None:
    finished(tmp_path / "pool", [large_home], workers=2, limits=POOL)
    finished(tmp_path / "alone", [large_home], workers=1, limits=POOL)
    assert differences(content(tmp_path / "pool"), content(tmp_path / "alone")) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_killed_at_any_moment_again_and_again(large_home: Path, tmp_path: Path, workers: int) -> None:
    """From outside, at moments that nobody chose: a share of the time that a sweep takes on this machine."""
    began = time.monotonic()
    finished(tmp_path / "whole", [large_home], workers=workers, limits=POOL)
    lasts = time.monotonic() - began
    whole = content(tmp_path / "whole")
    chance = random.Random(workers)
    for _ in range(6):
        child = run_child(tmp_path / "archive", [large_home], workers=workers, limits=POOL, wait=30.0)
        try:
            child.wait(lasts * chance.uniform(0.1, 1.0))
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
        child.communicate()
    report = finished(tmp_path / "archive", [large_home], workers=workers, limits=POOL, wait=30.0)
    assert report["failures"] == []
    assert differences(content(tmp_path / "archive"), whole) == []


def test_workers_end_when_their_sweep_is_killed(large_home: Path, tmp_path: Path) -> None:
    child = run_child(
        tmp_path / "archive", [large_home], workers=2, limits=POOL, fault=["retro.index.writing.Writer.commit", 1]
    )
    child.communicate()  # returns when the last process that holds its output has ended
    assert child.returncode == 9
    assert failures(sweep_up(tmp_path / "archive", large_home, wait=0.0)) == []


def test_a_worker_that_dies_takes_only_its_session_with_it(
    large_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = sorted(large_home.rglob("*.jsonl"))[3].stem

    def dying(places: Any, job: Any) -> Any:
        if job.state.session_id == victim:
            os.kill(os.getpid(), signal.SIGKILL)
        return capture.capture(places, job)

    monkeypatch.setattr("retro.workers.capture", dying)
    monkeypatch.setattr("retro.workers.WORTH_IT", 0)
    report = sweep_up(tmp_path / "archive", large_home, workers=2)
    assert failures(report) == ["its worker process ended unexpectedly (exit code -9)"]
    total = len(list(large_home.rglob("*.jsonl")))
    assert counts(report) == {"discovered": total, "ingested": total - 1, "analyzed": total - 1, "failed": 1}
    monkeypatch.undo()
    assert counts(sweep_up(tmp_path / "archive", large_home))["ingested"] == 1
