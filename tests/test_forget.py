"""A forgotten session is nowhere in the archive, and no sweep brings it back."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import apsw
import pytest

from cli_support import AGENTS, FIX, Retro, retro, root, swept
from retro import inbox
from retro.index.database import open_writer
from retro.places import Places
from retro.upkeep import forget
from support import SESSION, answer, content, counts, differences, failures, lines, prompt, sweep_up, transcript

__all__ = ["retro", "root", "swept"]

WORD = "quarkonium"


@pytest.fixture
def told(retro: Retro, root: Path, demo_home: Path) -> Path:
    """A session with an unheard-of word in every part of it, in revisions, sidecars and sub-agents. Gives its file."""
    file = transcript(demo_home, lines(prompt(f"say {WORD}", 1), answer(f"{WORD}!", 2)))
    beside = file.with_suffix("")
    (beside / "subagents").mkdir(parents=True)
    (beside / "tool-results").mkdir()
    (beside / "subagents" / "agent-a1.jsonl").write_bytes(lines(prompt(WORD, 3, isSidechain=True, agentId="a1")))
    (beside / "subagents" / "agent-a1.meta.json").write_text(f'{{"agentType":"{WORD}","description":"{WORD}"}}')
    (beside / "tool-results" / f"{WORD}.txt").write_text(WORD)
    sweep_up(root, demo_home)
    file.write_bytes(lines({"type": "custom-title", "sessionId": SESSION, "customTitle": WORD}, prompt(WORD, 7)))
    sweep_up(root, demo_home)
    retro.says("render", SESSION)
    places = Places(str(root))
    assert WORD in Path(places.digest("claude", SESSION)).read_text()
    for path in method_files(root):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Path(path).write_text(WORD)
    return file


def method_files(root: Path) -> list[str]:
    """What mining leaves of a session."""
    return [
        str(root / "mined" / "extractive" / "claude" / f"{SESSION}.json"),
        str(root / "mined" / "extractive" / "claude" / f"{SESSION}.prompt.md"),
        str(root / "headless" / "model" / "claude" / f"{SESSION}.claude.jsonl"),
    ]


def mentions(root: Path, word: str) -> list[str]:
    """Files of the archive whose name or bytes hold a word; compressed ones are looked into."""
    import zstandard

    found = []
    for path in root.rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        if path.suffix == ".zst":
            data = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read()
        if word.encode() in data or word in str(path.relative_to(root)):
            found.append(str(path.relative_to(root)))
    return sorted(found)


def test_nothing_of_it_is_left_anywhere(retro: Retro, root: Path, told: Path) -> None:
    assert len(mentions(root, WORD)) > 8
    others = {name: events for name, events in content(root).events.items() if name != SESSION}
    shown = retro.json("forget", SESSION, "--yes")
    assert [one["session_id"] for one in shown["sessions"]] == [SESSION]
    assert mentions(root, WORD) == []
    assert mentions(root, SESSION) == []
    assert content(root).events == others
    assert told.exists()


def test_what_light_commands_told_of_it_goes_and_what_they_told_of_others_stays(
    retro: Retro, root: Path, told: Path
) -> None:
    places = Places(str(root))
    for session_id in (SESSION, FIX):
        for log in (inbox.ENDED, inbox.CALLS):
            inbox.append(places, log, {"host": "claude", "session_id": session_id, "path": f"/{session_id}.jsonl"})
    retro.says("forget", "claude", SESSION, "--yes")
    assert mentions(root, SESSION) == []
    for log in (inbox.ENDED, inbox.CALLS):
        assert [line["session_id"] for line in inbox.last(places, log, 9)] == [FIX]


def test_no_sweep_import_or_reindex_brings_it_back(retro: Retro, root: Path, told: Path) -> None:
    retro.says("forget", SESSION, "--yes")
    told.write_bytes(told.read_bytes() + lines(prompt(WORD, 9)))
    swept = retro.json("sweep")["hosts"][0]
    assert (swept["ignored"], swept["ingested"]) == (1, 0)
    assert [one["status"] for one in retro.json("import", str(told))["sessions"]] == ["ignored"]
    retro.says("reindex")
    retro.json("sweep")
    for name in root.glob("index.sqlite*"):
        name.unlink()
    retro.json("sweep")
    assert mentions(root, WORD) == []
    assert SESSION not in {one["session_id"] for one in retro.json("list")["sessions"]}


def test_a_tombstone_does_not_tell_whose_it_is_and_can_be_taken_back(retro: Retro, root: Path, told: Path) -> None:
    retro.says("forget", SESSION, "--yes")
    assert mentions(root, SESSION[:8]) == []
    assert retro("forget", "--undo", "claude", SESSION[:8]).code == 1
    retro.says("forget", "--undo", "claude", SESSION)
    assert retro.json("sweep")["hosts"][0]["ingested"] == 1
    assert len(mentions(root, WORD)) > 3
    assert retro("forget", "--undo", "claude", SESSION).code == 1


def test_many_at_once_by_project_and_by_age(swept: Retro) -> None:
    going = swept.json("forget", "--project", "gardenlog", "--dry-run")["sessions"]
    assert [one["project"] for one in going] == ["gardenlog"]
    assert len(swept.json("list")["sessions"]) == 6
    swept.says("forget", "--project", "gardenlog", "--yes")
    assert {one["project"] for one in swept.json("list")["sessions"]} == {"tidebook"}
    moments = sorted(one["ended"] for one in swept.json("list")["sessions"])
    swept.says("forget", "--before", moments[2], "--yes")
    assert sorted(one["ended"] for one in swept.json("list")["sessions"]) == moments[2:]


def test_nothing_goes_without_a_yes(swept: Retro, root: Path) -> None:
    before = content(root)
    done = swept("forget", FIX)
    assert (done.code, "--yes" in done.err) == (2, True)
    assert FIX in done.out
    assert "would be deleted" in swept.says("forget", FIX, "--dry-run")
    assert swept("forget").code == 2
    assert swept("forget", FIX, "--project", "tidebook", "--yes").code == 2
    assert content(root) == before


def test_a_deletion_that_was_interrupted_is_finished_by_the_next_sweep(
    swept: Retro, root: Path, demo_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(forget, "erase", lambda *_: True)
        swept.says("forget", FIX, "--yes")
    assert (root / "raw" / "claude" / FIX).exists()
    assert counts(sweep_up(root, demo_home)) == {"discovered": 6, "skipped_unchanged": 5, "ignored": 1}
    assert mentions(root, FIX) == []


def test_a_deletion_that_was_interrupted_is_finished_by_a_reindex(
    swept: Retro, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(forget, "erase", lambda *_: True)
        swept.says("forget", FIX, "--yes")
    swept.says("reindex")
    assert mentions(root, FIX) == []


def test_what_the_others_are_is_as_if_it_had_never_been(
    swept: Retro, root: Path, demo_home: Path, tmp_path: Path
) -> None:
    swept.says("forget", AGENTS, "--yes")
    for path in [*demo_home.rglob(f"{AGENTS}*")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    sweep_up(tmp_path / "never", demo_home)
    assert differences(content(root), content(tmp_path / "never")) == []


def test_deleted_rows_are_not_left_in_the_pages_of_the_index(
    retro: Retro, root: Path, told: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a reader that holds an older view the log cannot be emptied: it is said, and the next sweep does it."""
    monkeypatch.setattr(forget, "open_writer", lambda path: open_writer(path, wait_ms=0))
    reader = apsw.Connection(str(root / "index.sqlite"), flags=apsw.SQLITE_OPEN_READONLY)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM session").get == 7
    done = retro("forget", SESSION, "--yes")
    assert (done.code, "next sweep" in done.err) == (0, True)
    reader.close()
    assert failures(sweep_up(root, told.parents[2])) == []
    assert mentions(root, WORD) == []
