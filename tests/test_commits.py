"""Commits read from git's own files: the same as git says, loose and packed, and nothing where it cannot be told."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from retro.commits import MOST, History, blob_of
from retro.memory import authored, staleness
from retro.memory.item import Item
from retro.mining.base import Scope

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is needed to make what is read")


class Git:
    """A repository that git itself makes."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder, self.moment = folder, 1_700_000_000
        folder.mkdir(parents=True, exist_ok=True)
        self("init", "-q", "-b", "main", *options)

    def __call__(self, *arguments: str) -> str:
        self.moment += 60
        when = f"@{self.moment} +0000"
        env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        env |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
        env |= {f"GIT_{who}_{what}": "a@b.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        env |= {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
        done = subprocess.run(["git", *arguments], cwd=self.folder, env=env, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, name: str, text: str) -> str:
        """Write a file and commit it; the commit's id."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        self("add", "-A")
        self("commit", "-q", "-m", f"Change {name}")
        return self("rev-parse", "HEAD")

    @property
    def history(self) -> History:
        """What is read of it."""
        return History(str(self.folder / ".git"))


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """A history with two branches that were merged, an annotated tag, and a long file that changes a little."""
    git = Git(tmp_path / "repository")
    text = "".join(f"line {number} of a long file\n" for number in range(400))
    for number in range(6):
        git.commit("src/long.py", text.replace(f"line {number} ", f"line {number} changed "))
    git("checkout", "-q", "-b", "side")
    git.commit("side.py", "x = 1\n")
    git("checkout", "-q", "main")
    git.commit("main.py", "y = 1\n")
    git("merge", "-q", "--no-ff", "-m", "Merge", "side")
    git("tag", "-a", "v1", "-m", "The first")
    return git


@pytest.mark.parametrize("packed", [False, True])
def test_every_commit_is_what_git_says(git: Git, packed: bool) -> None:
    if packed:
        git("gc", "-q", "--aggressive")
        assert not list((git.folder / ".git" / "objects").glob("??"))
    history = git.history
    lines = git("log", "--all", "--format=%H %T %ct %P").splitlines()
    for line in lines:
        name, tree, when, *parents = line.split()
        commit = history.commit(name)
        assert commit is not None
        assert (commit.tree, commit.time, list(commit.parents)) == (tree, int(when), parents)
        assert history.find(name[:10]) == name
        assert history.leads_to(commit) is True
        for path in git("ls-tree", "-r", "--name-only", name).splitlines():
            assert history.blob_at(commit, path) == git("rev-parse", f"{name}:{path}")
        assert history.blob_at(commit, "src/nowhere.py") is None
        assert history.blob_at(commit, "src") is not None
    tag = git("rev-parse", "v1")
    assert tag != git("rev-parse", "HEAD")
    assert history.commit(tag) == history.commit(git("rev-parse", "HEAD"))
    assert blob_of((git.folder / "main.py").read_bytes()) == git("rev-parse", "HEAD:main.py")


def test_a_memory_says_when_a_commit_that_it_cites_or_a_file_of_that_commit_has_moved(git: Git, tmp_path: Path) -> None:
    cited = git.commit("src/tide.py", "x = 1\n")
    other = git.commit("src/other.py", "x = 1\n")
    root = str(git.folder)
    known = {root: root}

    def memory(text: str) -> Item:
        (tmp_path / "note.md").write_text(text, "utf-8")
        item = authored.read(str(tmp_path / "note.md"), "note.md", Scope("repository", root))
        return msgspec.structs.replace(item, commits=staleness.commits_now(item, known))

    def said(item: Item) -> str | None:
        return staleness.stale(staleness.files_of(item, known) | staleness.commits_of(item, known))

    named = memory(f"Since {cited[:9]} the tides stand in `src/tide.py`, and no longer in `src/moon.py`.")
    bare = memory(f"As in {other[:7]}, run the tests. Colour #{cited[:7]}, session 0badcafe, number 1234567.")
    unknown = memory("As in abc1234, run the tests.")
    assert (named.commits, bare.commits, unknown.commits) == ({cited[:9]: cited}, {other[:7]: other}, {})
    assert [said(one) for one in (named, bare, unknown)] == [None, None, None]
    (git.folder / "src" / "tide.py").write_bytes(b"x = 1\r\n")  # as git may check it out elsewhere
    assert said(named) is None
    (git.folder / "src" / "tide.py").write_text("x = 2\n")
    assert said(named) == f"tide.py has changed since commit {cited[:9]}"
    git("checkout", "-q", "--", "src/tide.py")
    git("commit", "-q", "--amend", "-m", "Said better")
    assert said(bare) == f"commit {other[:7]} is on no branch any more"
    assert said(msgspec.structs.replace(bare, commits={})) == f"commit {other[:7]} is on no branch any more"
    assert said(named) is None
    git("reflog", "expire", "--expire=all", "--all")
    git("gc", "-q", "--prune=now")
    assert said(bare) == f"commit {other[:7]} is gone"
    assert said(msgspec.structs.replace(bare, commits={})) is None  # nobody knows whether it ever was one
    shutil.rmtree(git.folder / ".git")
    assert [said(one) for one in (named, bare, unknown)] == [None, None, None]


@pytest.mark.parametrize("packed", [False, True])
def test_a_commit_that_was_rebased_away_is_on_no_branch(git: Git, packed: bool) -> None:
    before = git.commit("more.py", "z = 1\n")
    git("commit", "-q", "--amend", "-m", "Said better")
    if packed:
        git("gc", "-q")
    commit = git.history.commit(before)
    assert commit is not None
    assert git.history.leads_to(commit) is False
    git("branch", "kept", before)
    assert git.history.leads_to(commit) is True
    git("branch", "-q", "-D", "kept")
    git("reflog", "expire", "--expire=all", "--all")
    git("gc", "-q", "--prune=now")
    assert git.history.commit(before) is None
    assert git.history.find(before[:9]) is None


def test_where_it_cannot_be_told_nothing_is_said(git: Git, tmp_path: Path) -> None:
    first = git("rev-list", "--max-parents=0", "HEAD")
    lost = git.commit("more.py", "z = 1\n")
    git("reset", "-q", "--hard", "HEAD~1")
    shallow = Git(tmp_path / "shallow")
    shallow("fetch", "-q", "--depth", "1", git.folder.as_uri(), "main")
    shallow("update-ref", "refs/heads/main", "FETCH_HEAD")
    assert shallow.history.commit(first) is None
    commit = git.history.commit(lost)
    assert commit is not None
    old = commit._replace(time=commit.time - 10**8)
    assert shallow.history.leads_to(old) is None
    empty = Git(tmp_path / "empty")
    assert (empty.history.leads_to(commit), empty.history.find("abc1234")) == (None, None)
    assert History(str(tmp_path / "nowhere")).find("abc1234") is None


def test_what_is_broken_gives_nothing(git: Git) -> None:
    name = git("rev-parse", "HEAD")
    path = git.folder / ".git" / "objects" / name[:2] / name[2:]
    path.chmod(0o600)
    for data in (b"", b"\0" * 40, b"x" * 9999):
        path.write_bytes(data)
        assert git.history.commit(name) is None
    path.unlink()
    git_folder = git.folder / ".git" / "objects" / "pack"
    for stem in (b"", b"\xfftOc\0\0\0\2", b"\xfftOc\0\0\0\2" + b"\xff" * 3000):
        (git_folder / "pack-x.idx").write_bytes(stem)
        (git_folder / "pack-x.pack").write_bytes(b"PACK")
        assert git.history.commit(name) is None
        assert git.history.find(name[:8]) is None
    assert git.history.commit("../../../../etc/passwd") is None
    assert git.history.commit("") is None
    assert MOST < 10_000
