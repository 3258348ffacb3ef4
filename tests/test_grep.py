"""`retro grep`: every byte of the archive is looked through, and it is said what was."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_support import FIX, Retro, retro, root, swept
from retro import scanning
from retro.scanning import File, Looked, Wanted, look_through
from support import answer, call, lines, prompt, result, sweep_up, transcript

__all__ = ["retro", "root", "swept"]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    output = "\n".join(f"line {number}" for number in range(3000))
    transcript(
        tmp_path / "home",
        lines(prompt("run it", 1), call("Bash", {"command": "make\nall"}, 2), result(output, 3), answer("done", 4)),
    )
    sweep_up(tmp_path / "archive", tmp_path / "home")
    return tmp_path / "archive"


@pytest.fixture
def kept(archive: Path, monkeypatch: pytest.MonkeyPatch, retro: Retro) -> Retro:
    monkeypatch.setenv("RETRO_ROOT", str(archive))
    return retro


def test_what_the_search_index_leaves_out_is_found(kept: Retro) -> None:
    """The middle of a long output is in no passage."""
    assert [hit["snippets"] for hit in kept.json("search", '"line 1500"')["hits"]] == []
    (match,) = kept.json("grep", "^line 1500$")["matches"]
    assert (match["field"], match["line"], match["text"], match["marks"]) == ("text", 1501, "line 1500", [[0, 9]])


def test_lines_around_a_match_are_shown(kept: Retro) -> None:
    (match,) = kept.json("grep", "line 7$", "-C", "2")["matches"]
    assert (match["before"], match["after"]) == (["line 5", "line 6"], ["line 8", "line 9"])
    assert kept.says("grep", "line 7$", "-C", "1").split("\n")[0::2][:2] == ["  line 6", "  line 8"]


def test_a_match_may_go_on_over_the_end_of_a_line(kept: Retro) -> None:
    (match,) = kept.json("grep", "make\\nall")["matches"]
    assert (match["field"], match["text"]) == ("command", "make")


def test_raw_lines_are_looked_through_byte_for_byte(kept: Retro) -> None:
    found = kept.json("grep", "--raw", '"name": ?"Bash"')
    (match,) = found["matches"]
    assert (match["source"], match["line"]) == ("main", 2)
    assert found["scanned"]["kind"] == "raw"


def test_it_says_how_much_it_looked_through(kept: Retro, archive: Path) -> None:
    assert kept.json("grep", "--raw", "nothing")["scanned"] == {
        "files": 1,
        "bytes": (archive.parent / "home/projects/-home-dev-code")
        .joinpath("11111111-2222-4333-8444-555555555555.jsonl")
        .stat()
        .st_size,
        "kind": "raw",
        "given_up": 0,
    }


def test_more_matches_than_are_shown_are_counted(kept: Retro) -> None:
    found = kept.json("grep", "^line", "--limit", "5")
    assert (len(found["matches"]), found["total"]) == (5, 3000)


def test_a_pattern_that_is_none_is_wrong_usage(swept: Retro) -> None:
    assert swept("grep", "(").code == 2
    assert swept.json("grep", "(", code=2)["error"]["kind"] == "usage"


def test_filters(swept: Retro) -> None:
    ids = {match["session_id"] for match in swept.json("grep", "-i", "tide", "--project", "tidebook")["matches"]}
    assert FIX in ids
    assert swept.json("grep", "-i", "tide", "--host", "codex")["scanned"]["files"] == 0


@given(st.lists(st.sampled_from(["needle", "hay", "x" * 50]), max_size=40), st.integers(1, 60))
def test_a_line_in_several_frames_is_looked_through_as_one(words: list[str], size: int) -> None:
    data = " ".join(words).encode() + b"\nlast needle"
    frames = [data[at : at + size] for at in range(0, len(data), size)]
    found = Looked(File("", "", "", "", 0), [])
    scanning._look_raw(scanning._lines(frames, found), re.compile(b"needle"), 0, found)
    assert (found.count, found.bytes) == (2 if "needle" in words else 1, len(data))


def test_a_very_long_line_is_looked_through_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "LINE", 100)
    monkeypatch.setattr(scanning, "OVERLAP", 20)
    for place in range(0, 300, 7):
        line = b"." * place + b"needle" + b"." * (400 - place)
        assert scanning._spans(line, re.compile(b"needle")) == [(place, place + 6)]


def test_several_processes_find_the_same(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = archive.glob("normalized/claude/*.zst")
    files = [File("claude", str(number), "events", str(path), path.stat().st_size) for number in range(5)]
    alone = list(look_through(files, Wanted("line 1.$"), 1))
    monkeypatch.setattr(scanning, "WORTH_IT", 0)
    assert list(look_through(files, Wanted("line 1.$"), 2)) == alone
