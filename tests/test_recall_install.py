"""The lines about recall in agents' instructions: put in once, taken out without a trace, whatever was edited."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_support import Retro, retro, root
from recall_support import repository
from retro import agents
from retro.agents.interface import InstructionFile
from retro.cadence import files, instructions
from retro.cadence.instructions import BLOCK, with_block, without_block

__all__ = ["retro", "root"]

FILE = InstructionFile("/nowhere/AGENTS.md")
FRONT = InstructionFile("/nowhere/rule.mdc", "---\nalwaysApply: true\n---\n")


def paths(home: Path, project: Path) -> dict[str, Path]:
    return {
        "claude": home / ".claude" / "CLAUDE.md",
        "codex": home / ".codex" / "AGENTS.md",
        "copilot": home / ".copilot" / "copilot-instructions.md",
        "grok": home / ".grok" / "AGENTS.md",
        "gemini": home / ".gemini" / "GEMINI.md",
        "cursor": project / ".cursor" / "rules" / "retro.mdc",
        "agents-md": project / "AGENTS.md",
    }


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = repository(Path(os.path.realpath(tmp_path)) / "project")
    (folder / "src").mkdir()
    monkeypatch.chdir(folder / "src")
    return folder


def test_every_agent_gets_the_block_where_it_reads_it(retro: Retro, isolated: Path, project: Path) -> None:
    expected = paths(isolated, project)
    assert set(expected) <= set(agents.instructed())
    for agent, path in expected.items():
        found = retro.json("recall", "install", agent)["instructions"]
        assert [(one["agent"], one["changed"]) for one in found] == [(agent, True)]
        assert BLOCK in path.read_text("utf-8")
        assert retro.says("recall", "install", agent).splitlines()[0] == f"{agent}: already there in {path}"
        retro.says("recall", "install", agent, "--uninstall")
        assert not path.exists()


def test_a_dry_run_shows_what_would_change_and_writes_nothing(retro: Retro, isolated: Path, project: Path) -> None:
    path = isolated / ".claude" / "CLAUDE.md"
    shown = retro.says("recall", "install", "claude", "--dry-run")
    assert all(f"+{line}" in shown for line in BLOCK.splitlines())
    assert f"claude: would change {path}" in shown
    assert not path.exists()


def test_what_was_there_before_is_kept_and_given_back(retro: Retro, isolated: Path, project: Path) -> None:
    path = isolated / ".claude" / "CLAUDE.md"
    path.parent.mkdir()
    path.write_bytes(b"\xef\xbb\xbf# Mine\r\n\r\nno newline at the end")
    before = path.read_bytes()
    path.chmod(0o640)
    done = retro.json("recall", "install", "claude")["instructions"][0]
    assert Path(done["backup"]).read_bytes() == before
    assert b"\r\n<!-- retro recall v1 begin -->\r\n" in path.read_bytes()
    retro.says("recall", "install", "claude", "--uninstall")
    assert path.read_bytes() == before
    assert os.name != "posix" or path.stat().st_mode & 0o777 == 0o640
    assert [file.name for file in path.parent.iterdir()] == ["CLAUDE.md"]


def test_a_link_stays_a_link(retro: Retro, isolated: Path, project: Path, tmp_path: Path) -> None:
    dotfile = tmp_path / "dotfiles" / "CLAUDE.md"
    dotfile.parent.mkdir()
    dotfile.write_text("mine\n")
    path = isolated / ".claude" / "CLAUDE.md"
    path.parent.mkdir()
    path.symlink_to(dotfile)
    retro.says("recall", "install", "claude")
    assert path.is_symlink()
    assert BLOCK in dotfile.read_text("utf-8")


def test_a_copilot_without_its_store_is_told_how_to_switch_it_on(retro: Retro, project: Path) -> None:
    assert "/experimental on" in retro.says("recall", "install", "copilot", "--dry-run")


@pytest.mark.parametrize("arguments", [[], ["nobody"], ["claude", "x"]])
def test_an_agent_must_be_known(retro: Retro, project: Path, arguments: list[str]) -> None:
    done = retro("recall", "install", *arguments)
    assert (done.code, done.out) == (2, "")


def test_a_file_that_is_no_text_is_left_as_it_is(retro: Retro, isolated: Path, project: Path) -> None:
    path = isolated / ".claude" / "CLAUDE.md"
    path.parent.mkdir()
    path.write_bytes(b"\xff\xfe\x00")
    assert retro("recall", "install", "claude").code == 1
    assert path.read_bytes() == b"\xff\xfe\x00"


# --- the text --------------------------------------------------------------------------------------------------------

TEXTS = st.one_of(
    st.text(max_size=300),
    st.lists(
        st.sampled_from(["# Title", "", "words", *BLOCK.splitlines(), "<!-- retro recall v0 begin -->"]), max_size=12
    ).map("\n".join),
)


def test_the_block_takes_few_tokens() -> None:
    assert len(BLOCK.encode()) / 3.5 <= 120


@given(TEXTS, st.sampled_from([FILE, FRONT]))
def test_putting_it_in_twice_is_putting_it_in_once(text: str, file: InstructionFile) -> None:
    once = with_block(file, text)
    assert with_block(file, once) == once
    assert once.replace("\r\n", "\n").count(BLOCK) == 1


@given(st.text(max_size=300).filter(lambda text: "retro recall" not in text), st.sampled_from([FILE, FRONT]))
def test_taking_it_out_leaves_what_was_there(text: str, file: InstructionFile) -> None:
    assert without_block(file, with_block(file, text), text) == text
    made = with_block(file, None)
    assert without_block(file, made, None) is None


@given(
    st.lists(st.sampled_from(["# A", "b", ""]), max_size=4), st.lists(st.sampled_from(["c", "", "## D"]), max_size=4)
)
def test_a_missing_end_mark_takes_nothing_else_with_it(above: list[str], below: list[str]) -> None:
    begin, *middle, _ = BLOCK.split("\n")
    text = "\n".join([*above, begin, *middle, *below]) + "\n"
    kept = "\n".join([*above, *below])
    gone = without_block(FILE, text, None)
    assert (gone or "").split() == kept.split()
    assert with_block(FILE, text).replace(BLOCK, "").split() == kept.split()


def test_an_older_block_is_replaced_where_it_stands() -> None:
    text = "above\n<!-- retro recall v0 begin -->\nold words\n<!-- retro recall v0 end -->\nbelow\n"
    assert with_block(FILE, text) == f"above\n{BLOCK}\nbelow\n"
    assert instructions.installed(with_block(FILE, text))
    assert not instructions.installed(text)


def test_a_backup_is_what_was_there_before_us(tmp_path: Path) -> None:
    path = tmp_path / "AGENTS.md"
    path.write_text("mine\n")
    file = InstructionFile(str(path))
    instructions.change(file, install=True, dry_run=False)
    path.write_text(path.read_text() + "more of mine\n")
    path.write_text(path.read_text().replace("recall v1", "recall v0"))
    instructions.change(file, install=True, dry_run=False)
    assert Path(str(path) + files.BACKUP).read_text() == "mine\n"
    instructions.change(file, install=False, dry_run=False)
    assert path.read_text().split() == ["mine", "more", "of", "mine"]
