"""What an agent deleted is given back byte for byte, where the agent finds it; and nothing else is touched."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from cli_support import ALL, FIX, Retro, retro, root, swept, tree
from support import SESSION, answer, content, counts, lines, prompt, sweep_up, transcript

__all__ = ["retro", "root", "swept"]

DAY_NS = 86400 * 10**9


@pytest.fixture
def lost(swept: Retro, demo_home: Path) -> dict[str, bytes]:
    """The agent's files, all of which are gone now."""
    files = {str(file): file.read_bytes() for file in demo_home.rglob("*") if file.is_file()}
    for part in demo_home.iterdir():
        shutil.rmtree(part)
    (demo_home / "projects").mkdir()
    return files


def test_every_session_comes_back_byte_for_byte(
    swept: Retro, root: Path, lost: dict[str, bytes], demo_home: Path
) -> None:
    before = content(root)
    said = [file for session in ALL for file in swept.json("restore", session)["files"]]
    assert {file["path"]: file["bytes"] for file in said} == {path: len(data) for path, data in lost.items()}
    assert {str(file): file.read_bytes() for file in demo_home.rglob("*") if file.is_file()} == lost
    assert content(root) == before
    assert counts(sweep_up(root, demo_home)) == {"discovered": 6, "skipped_unchanged": 6}


def test_what_is_there_already_is_left_alone(swept: Retro, demo_home: Path) -> None:
    before = tree(demo_home)
    assert {file["written"] for file in swept.json("restore", FIX)["files"]} == {False}
    assert "is there already" in swept.says("restore", FIX)
    assert tree(demo_home) == before


def test_a_file_with_other_content_is_never_overwritten_and_then_nothing_is_written(
    swept: Retro, lost: dict[str, bytes], demo_home: Path
) -> None:
    file = next(Path(path) for path in lost if path.endswith(f"{FIX}.jsonl"))
    file.parent.mkdir(parents=True)
    file.write_bytes(b"mine\n")
    done = swept("restore", FIX)
    assert (done.code, "--to" in done.err) == (1, True)
    assert [path for path in demo_home.rglob("*") if path.is_file()] == [file]
    assert file.read_bytes() == b"mine\n"


def test_a_session_that_went_on_since_is_not_set_back(swept: Retro, demo_home: Path) -> None:
    file = next((demo_home / "projects").rglob(f"{FIX}.jsonl"))
    file.write_bytes(file.read_bytes() + lines(prompt("more", 900)))
    before = tree(demo_home)
    assert swept("restore", FIX).code == 0
    assert tree(demo_home) == before


def test_another_folder_gets_the_files_as_they_lay_to_each_other(
    swept: Retro, lost: dict[str, bytes], tmp_path: Path, demo_home: Path
) -> None:
    target = tmp_path / "given back"
    swept.says("restore", FIX, "--to", str(target))
    found = {str(file.relative_to(target)): file.read_bytes() for file in target.rglob("*") if file.is_file()}
    assert found == {os.path.relpath(path, demo_home): data for path, data in lost.items() if FIX in path}
    assert list((demo_home / "projects").iterdir()) == []


def test_a_link_below_the_other_folder_leads_nowhere(swept: Retro, lost: dict[str, bytes], tmp_path: Path) -> None:
    target, elsewhere = tmp_path / "given", tmp_path / "elsewhere"
    elsewhere.mkdir()
    target.mkdir()
    (target / "projects").symlink_to(elsewhere)
    assert swept("restore", FIX, "--to", str(target)).code == 1
    assert list(elsewhere.iterdir()) == []


def test_a_damaged_copy_is_not_given_out(swept: Retro, root: Path, lost: dict[str, bytes], demo_home: Path) -> None:
    path = root / f"raw/claude/{FIX}/transcript.jsonl.zst"
    data = path.read_bytes()
    path.write_bytes(data[:40] + b"\x00\x01" + data[42:])
    done = swept("restore", FIX)
    assert (done.code, "retro verify" in done.err) == (1, True)
    assert [file for file in demo_home.rglob("*") if file.is_file()] == []


def test_each_revision_comes_back_as_it_was(retro: Retro, root: Path, tmp_path: Path) -> None:
    home = tmp_path / "claude"
    ages = [lines(prompt("one", 1), answer("two", 2)), lines(prompt("other", 5)), lines(prompt("third", 7))]
    for data in ages:
        transcript(home, data)
        sweep_up(root, home)
    for number, data in enumerate(ages):
        target = tmp_path / f"then {number}"
        retro.says("restore", SESSION, "--revision", str(number), "--to", str(target))
        assert (target / f"{SESSION}.jsonl").read_bytes() == data
    done = retro("restore", SESSION, "--revision", "3", "--to", str(tmp_path / "never"))
    assert (done.code, "0, 1, 2" in done.err) == (1, True)


@pytest.mark.parametrize(("days", "kept"), [(3, True), (16, True), (24, False), (400, False)])
def test_a_file_gets_its_old_time_back_unless_its_agent_would_soon_delete_it_again(
    retro: Retro, root: Path, isolated: Path, days: int, kept: bool
) -> None:
    """Of the 30 days that Claude Code keeps what is not used, the last seven or so are `soon`."""
    home = isolated / ".claude"
    file = transcript(home, lines(prompt("x", 1)))
    then = time.time_ns() - days * DAY_NS
    os.utime(file, ns=(then, then))
    retro.says("sweep")
    file.unlink()
    retro.says("restore", SESSION)
    age = time.time_ns() - file.stat().st_mtime_ns
    assert (abs(age - days * DAY_NS) < DAY_NS // 24) is kept
    assert kept or age < DAY_NS // 24
    assert retro.json("list")["retention"] == []
    assert retro.json("sweep")["hosts"][0]["skipped_unchanged"] == 1


def test_in_another_folder_files_keep_their_old_time(retro: Retro, root: Path, isolated: Path, tmp_path: Path) -> None:
    file = transcript(isolated / ".claude", lines(prompt("x", 1)))
    then = time.time_ns() - 400 * DAY_NS
    os.utime(file, ns=(then, then))
    retro.says("sweep")
    retro.says("restore", SESSION, "--to", str(tmp_path / "there"))
    assert (tmp_path / "there" / file.name).stat().st_mtime_ns == then
