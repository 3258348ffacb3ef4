"""`retro import`: what is chosen, what became of it, and that nothing captured is ever overwritten."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from cli_support import AGENTS, ALL, FIX, FORK, Retro, retro, root, swept, transcript

__all__ = ["retro", "root", "swept"]


def _statuses(shown: object) -> dict[str, str]:
    assert isinstance(shown, dict)
    return {item["session_id"]: item["status"] for item in shown["sessions"]}


def _only(shown: object) -> dict[str, object]:
    assert isinstance(shown, dict)
    (item,) = shown["sessions"]
    assert isinstance(item, dict)
    return item


def _order(home: Path) -> None:
    """Give the transcripts times that tell them apart, ALL[0] being the newest."""
    now = time.time()
    for place, session_id in enumerate(ALL):
        for path in [transcript(home, session_id), *home.rglob(f"*{session_id}*"), *home.rglob(f"{session_id}/**/*")]:
            os.utime(path, (now - place * 60, now - place * 60))


def test_a_session_is_captured_then_known_then_appended_then_rewritten(retro: Retro, demo_home: Path) -> None:
    chosen = ("import", "claude", "--session-id", FIX)
    path = transcript(demo_home, FIX)
    assert _statuses(retro.json(*chosen)) == {FIX: "captured"}
    assert _statuses(retro.json(*chosen)) == {FIX: "unchanged"}
    assert "already captured" in retro.says(*chosen)
    with path.open("ab") as file:
        file.write(b'{"type":"mode","mode":"plan"}\n')
    assert _statuses(retro.json(*chosen)) == {FIX: "appended"}
    first = path.read_bytes()
    path.write_bytes(b'{"type":"mode","mode":"x"}\n' + first)
    assert "captured as revision 1" in retro.says(*chosen)
    forced = _only(retro.json(*chosen, "--force"))
    assert (forced["status"], forced["revision"]) == ("revision", 2)
    assert retro.json("raw", FIX, "--revision", "0")["text"].encode() == first
    assert retro.json("raw", FIX)["text"].encode() == path.read_bytes()


def test_what_is_imported_is_rendered_unless_not_wanted(retro: Retro, demo_home: Path, root: Path) -> None:
    assert "rendered" not in _only(retro.json("import", "claude", "--session-id", FIX, "--no-render"))
    rendered = root / "rendered" / "claude" / f"{FIX}.md"
    assert not rendered.exists()
    item = _only(retro.json("import", "claude", "--session-id", FIX))
    assert (item["status"], item["rendered"]) == ("unchanged", str(rendered))
    assert rendered.read_text().startswith("# the missing last tide\n")
    assert os.name != "posix" or rendered.stat().st_mode & 0o777 == 0o600


def test_the_newest_are_chosen_by_when_they_were_written(retro: Retro, demo_home: Path) -> None:
    _order(demo_home)
    assert list(_statuses(retro.json("import", "claude", "--latest"))) == [ALL[0]]
    assert list(_statuses(retro.json("import", "claude", "--limit", "2"))) == list(ALL[:2])
    assert list(_statuses(retro.json("import", "claude", "--all", "--limit", "3"))) == list(ALL[:3])
    assert list(_statuses(retro.json("import", "all", "--limit-per-host", "4"))) == list(ALL[:4])
    shown = retro.json("import", "all")
    assert list(_statuses(shown)) == list(ALL)
    assert list(_statuses(shown).values()) == ["unchanged"] * 4 + ["captured"] * 2


def test_the_beginning_of_an_id_is_enough(retro: Retro, demo_home: Path) -> None:
    assert list(_statuses(retro.json("import", "claude", "--session-id", FIX[:6]))) == [FIX]


def test_files_and_folders_are_imported(retro: Retro, demo_home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "backup"
    shutil.copytree(demo_home, elsewhere)
    shutil.rmtree(demo_home)
    assert _statuses(retro.json("import", str(transcript(elsewhere, FIX)))) == {FIX: "captured"}
    assert set(_statuses(retro.json("import", str(elsewhere / "projects" / "-home-demo-code-tidebook")))) == {
        session_id for session_id in ALL if not session_id.startswith("5e92")
    }
    assert set(_statuses(retro.json("import", str(elsewhere)))) == set(ALL)
    assert retro.json("raw", FIX)["text"].encode() == transcript(elsewhere, FIX).read_bytes()


def test_a_file_of_a_sub_agent_brings_that_part(retro: Retro, demo_home: Path) -> None:
    part = next(demo_home.rglob("agent-*.jsonl"))
    assert _statuses(retro.json("import", str(part))) == {AGENTS: "captured"}
    assert [source["key"] for source in retro.json("raw", AGENTS, "--list")["sources"]] == [part.stem]


def test_a_file_named_like_a_host_is_reached_by_its_path(
    retro: Retro, demo_home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shutil.copytree(demo_home, tmp_path / "claude")
    monkeypatch.chdir(tmp_path)
    assert len(_statuses(retro.json("import", f".{os.sep}claude"))) == 6


def test_paths_that_nobody_claims_are_named(retro: Retro, demo_home: Path, tmp_path: Path, root: Path) -> None:
    letter, empty = tmp_path / "letter.txt", tmp_path / "empty"
    letter.write_text("Dear all")
    empty.mkdir()
    for path, words in ((letter, "is no session of"), (empty, "no session of"), (tmp_path / "no", "cannot be read")):
        done = retro("import", str(path))
        assert (done.code, done.out) == (1, "")
        assert words in done.err
        assert str(path) in done.err
    assert not root.exists()
    done = retro("import", str(letter), str(transcript(demo_home, FIX)))
    assert done.code == 0
    assert str(letter) in done.err
    assert FIX in done.out


def test_an_unclaimed_path_is_named_in_json_too(retro: Retro, demo_home: Path, tmp_path: Path) -> None:
    import json

    done = retro("import", str(tmp_path / "no"), str(transcript(demo_home, FIX)), "--json")
    assert json.loads(done.out)["unclaimed"] == [f"{tmp_path / 'no'} cannot be read: No such file or directory"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["claude"], 2, ("which sessions of claude?", "--latest")),
        (["all", "--latest"], 2, ("--latest does not go with all",)),
        (["claude", "--latest", "--all"], 2, ("not allowed with",)),
        (["claude", "--latest", "--limit-per-host", "2"], 2, ("--limit-per-host does not go with claude",)),
        (["/some/file", "--session-id", "x"], 2, ("--session-id does not go with /some/file",)),
        (["claude", "--session-id", "3b6f0c1f"], 1, ("claude keeps no session", "did you mean", FIX)),
        (["claude", "--session-id", "zzzzzz"], 1, ("claude keeps no session", "retro import claude --latest")),
        (["claude", "--limit", "0"], 2, ("not a whole number above 0",)),
        (["clade"], 1, ("clade cannot be read", "if a host is meant")),
        ([], 2, ("required",)),
    ],
)
def test_what_cannot_be_imported_is_told(
    retro: Retro, demo_home: Path, root: Path, arguments: list[str], code: int, words: tuple[str, ...]
) -> None:
    done = retro("import", *arguments)
    assert (done.code, done.out) == (code, "")
    assert all(word in done.err for word in words), done.err
    assert not root.exists()


def test_an_ambiguous_id_lists_the_choices(retro: Retro, demo_home: Path) -> None:
    shutil.copy(transcript(demo_home, FIX), transcript(demo_home, FIX).with_name("3b6f0c1e-other.jsonl"))
    done = retro("import", "claude", "--session-id", "3b6f")
    assert done.code == 2
    assert {FIX, "3b6f0c1e-other"} <= set(done.err.split())


def test_an_ignored_project_is_left_out_and_told(retro: Retro, demo_home: Path, tmp_path: Path) -> None:
    settings = tmp_path / "c.toml"
    settings.write_text('[ignore]\nprojects = ["tidebook"]\n')
    chosen = ("import", "claude", "--session-id", FIX, "--config", str(settings))
    assert _statuses(retro.json(*chosen)) == {FIX: "ignored"}
    assert "left out by your settings" in retro.says(*chosen)


def test_a_failure_is_told_and_does_not_stop_the_others(
    retro: Retro, demo_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from retro.archive import origin

    original = origin.SourceFile.__init__

    def refuse(self: origin.SourceFile, path: bytes) -> None:
        if FORK.encode() in path:
            raise origin.Unreadable("it is gone")
        original(self, path)

    monkeypatch.setattr(origin.SourceFile, "__init__", refuse)
    done = retro("import", "claude", "--all")
    assert done.code == 1
    assert "it is gone" in done.err
    statuses = _statuses(retro.json("import", "claude", "--all", code=1))
    assert statuses.pop(FORK) == "failed"
    assert set(statuses.values()) == {"unchanged"}


def test_many_sessions_are_summed_up(retro: Retro, demo_home: Path) -> None:
    for number in range(40):
        target = demo_home / "projects" / "-x" / f"copy-{number:02}.jsonl"
        target.parent.mkdir(exist_ok=True)
        shutil.copy(transcript(demo_home, FIX), target)
    shown = retro.says("import", "claude", "--all", "--no-render")
    assert "and 16 more" in shown
    assert "46 sessions: captured 46" in shown
