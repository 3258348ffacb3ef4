"""What the tests of recall share: demo sessions that worked in real repositories."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cli_support import Retro
from retro import demo

TIDEBOOK, GARDENLOG = "github.com/demo/tidebook", "github.com/demo/gardenlog"
PLANTS = "5e92b3f0-71c4-4d8b-b0a3-c9d4f1e86a27"
"""The demo's session in the other repository."""


def repository(folder: Path, remote: str | None = None) -> Path:
    """A git repository's files, as far as they say which it is."""
    git = folder / ".git"
    git.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    url = f'[remote "origin"]\n\turl = {remote}\n' if remote else ""
    (git / "config").write_text(f"[core]\n\tbare = false\n{url}")
    return folder


def worktree(main: Path, folder: Path, name: str) -> Path:
    """A worktree of a repository."""
    git = main / ".git" / "worktrees" / name
    git.mkdir(parents=True)
    (git / "HEAD").write_text(f"ref: refs/heads/{name}\n")
    (git / "commondir").write_text("../..\n")
    folder.mkdir(parents=True)
    (folder / ".git").write_text(f"gitdir: {git}\n")
    return folder


def demo_in(code: Path, home: Path) -> None:
    """Install the demo sessions, that worked in folders below `code`."""
    data = home / ".claude"
    demo.install_sessions(data)
    for file in data.rglob("*.jsonl"):
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace("/home/demo/code", code.as_posix()), encoding="utf-8", newline="")


@pytest.fixture
def code(isolated: Path, tmp_path: Path) -> Path:
    """The folder with both repositories of the demo sessions."""
    code = Path(os.path.realpath(tmp_path)) / "code"
    repository(code / "tidebook", "git@github.com:Demo/tidebook.git")
    repository(code / "gardenlog", "https://github.com/demo/gardenlog")
    demo_in(code, isolated)
    return code


@pytest.fixture
def recalling(retro: Retro, code: Path, monkeypatch: pytest.MonkeyPatch) -> Retro:
    """`retro` with the demo sessions captured, in the repository of most of them."""
    retro.says("sweep")
    monkeypatch.chdir(code / "tidebook")
    return retro
