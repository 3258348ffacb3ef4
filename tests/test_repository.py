"""Git facts from `.git` files, whole, odd, broken and hostile."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retro import repository
from retro.repository import Repository, locate, normalised, project_name

posix = pytest.mark.skipif(os.name != "posix", reason="links and pipes")

ORIGIN = '[core]\n\tbare = false\n[remote "origin"]\n\turl = git@github.com:Owner/Name.git\n\tfetch = +refs/*:refs/*\n'


def make_git(folder: Path, config: str = ORIGIN, head: str = "ref: refs/heads/main\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config").write_text(config, encoding="utf-8")
    (folder / "HEAD").write_text(head, encoding="utf-8")
    return folder


# --- addresses -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("git@github.com:Owner/Name.git", "github.com/Owner/Name"),
        ("github.com:Owner/Name", "github.com/Owner/Name"),
        ("git@GitHub.com:/Owner/Name/", "github.com/Owner/Name"),
        ("https://github.com/Owner/Name.git", "github.com/Owner/Name"),
        ("https://github.com/Owner/Name.git/", "github.com/Owner/Name"),
        ("HTTPS://user:pass@GITHUB.com:443//Owner/Name?x=1#y", "github.com/Owner/Name"),
        ("https://user:p@ss@github.com/Owner/Name", "github.com/Owner/Name"),
        ("https://ghp_token@github.com/Owner/Name", "github.com/Owner/Name"),
        ("ssh://git@git.example.org:2222/group/sub/name.git", "git.example.org/group/sub/name"),
        ("git://example.org/name.git", "example.org/name"),
        ("git+ssh://git@example.org/name", "example.org/name"),
        ("https://[::1]:8080/owner/name", "[::1]/owner/name"),
        ("git@ssh.dev.azure.com:v3/org/project/repo", "ssh.dev.azure.com/v3/org/project/repo"),
    ],
)
def test_an_address_is_host_owner_name(url: str, expected: str) -> None:
    assert normalised(url) == expected


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/srv/git/x.git",
        "../x",
        "./a:b",
        "C:\\work\\x",
        "C:/work/x",
        "file:///srv/x",
        "ext::sh -c id",
        "https://",
        ":x",
        "https://host",
        "https://host/",
        "git@host:",
        "https://user:pa/ss@host/o/n",
        "user:secret@host:o/n",
        "https://host/../etc",
        "https://host/a b",
        "https://host/\x1b[31m",
        "https://host/" + "a" * 300,
    ],
)
def test_what_is_no_address_gives_none(url: str) -> None:
    assert normalised(url) is None


@given(st.text(alphabet="abc:/@.[]?#\\ ", max_size=30))
def test_no_address_keeps_a_user_or_password(url: str) -> None:
    assert "@" not in (normalised(url) or "")


# --- repositories ----------------------------------------------------------------------------------------------------


def test_a_repository_is_found_from_any_folder_below(tmp_path: Path) -> None:
    make_git(tmp_path / "work/.git", head="ref: refs/heads/feature/x@1\n")
    (tmp_path / "work/src/deep").mkdir(parents=True)
    expected = Repository(str(tmp_path / "work"), "github.com/Owner/Name", "feature/x@1")
    assert locate(str(tmp_path / "work/src/deep")) == expected
    assert locate(str(tmp_path / "work")) == expected
    assert locate(str(tmp_path / "work/src/gone/long/ago")) == expected
    assert hash(locate(str(tmp_path / "work"))) == hash(expected)


def test_a_folder_without_a_repository_gives_none(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert locate(str(tmp_path)) is None


def test_a_detached_head_has_no_branch(tmp_path: Path) -> None:
    make_git(tmp_path / ".git", head="9fceb02d0ae598e95dc970b74767f19372d61af8\n")
    assert locate(str(tmp_path)) == Repository(str(tmp_path), "github.com/Owner/Name", None)


def test_a_worktree_belongs_to_its_main_folder(tmp_path: Path) -> None:
    main = make_git(tmp_path / "main/.git")
    own = main / "worktrees/x"
    own.mkdir(parents=True)
    (own / "HEAD").write_text("ref: refs/heads/x\n")
    (own / "commondir").write_text("../..\n")
    (tmp_path / "x").mkdir()
    (tmp_path / "x/.git").write_text(f"gitdir: {own}\n")
    assert locate(str(tmp_path / "x")) == Repository(str(tmp_path / "main"), "github.com/Owner/Name", "x")


def test_a_submodule_is_a_repository_of_its_own(tmp_path: Path) -> None:
    main = make_git(tmp_path / "main/.git")
    make_git(main / "modules/lib", config='[remote "origin"]\nurl = https://host/o/lib\n', head="ref: refs/heads/dev")
    (tmp_path / "main/lib").mkdir()
    (tmp_path / "main/lib/.git").write_text("gitdir: ../.git/modules/lib")
    assert locate(str(tmp_path / "main/lib")) == Repository(str(tmp_path / "main/lib"), "host/o/lib", "dev")


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ('[remote "up"]\nurl=https://h/u/n\n[remote "origin"]\nurl=https://h/o/n\n', "h/o/n"),
        ('[remote "up"]\nurl=https://h/u/n\n[remote "other"]\nurl=https://h/x/n\n', "h/u/n"),
        ('[remote "origin"]\nurl = ../local\n[remote "up"]\nurl = https://h/u/n\n', "h/u/n"),
        ('[Remote "origin"] URL = "https://h/o/n" ; mirror\r\n', "h/o/n"),
        ('[remote "origin"]\n# url = https://h/no/no\n\turl = https://h/o/n # yes\n', "h/o/n"),
        ('[remote "origin"]\nurl = https://h/\\\no/n\n', "h/o/n"),
        ('[remote "origin"]\npushurl = https://h/no/no\n', None),
        ('[branch "url"]\nurl = https://h/no/no\n[remote "origin"\nurl', None),
        ("\0\0\0\ufffd[[[[===\n", None),
        ("", None),
    ],
)
def test_the_remote_of_a_configuration(tmp_path: Path, config: str, expected: str | None) -> None:
    make_git(tmp_path / ".git", config=config)
    assert locate(str(tmp_path)) == Repository(str(tmp_path), expected, "main")


def test_facts_agree_with_git_itself(tmp_path: Path) -> None:
    def git(*arguments: str, cwd: Path) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *arguments], cwd=cwd, check=True, capture_output=True)

    try:
        git("init", "-b", "trunk", "main", cwd=tmp_path)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no git, or an old one")
    git("remote", "add", "origin", "https://me:secret@github.com/o/n.git", cwd=tmp_path / "main")
    git("commit", "--allow-empty", "-m", "x", cwd=tmp_path / "main")
    git("worktree", "add", "-b", "side", "../side", cwd=tmp_path / "main")
    main = os.path.realpath(tmp_path / "main")
    assert locate(main) == Repository(main, "github.com/o/n", "trunk")
    assert locate(os.path.realpath(tmp_path / "side")) == Repository(main, "github.com/o/n", "side")


# --- hostile ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cwd",
    ["", ".", "relative/x", "a\0b", "/a\0b", "//server/share/x", "\\\\server\\share", "/" + "x/" * 5000, "\ud800"],
)
def test_odd_folders_give_none(cwd: str) -> None:
    assert locate(cwd) is None


@pytest.mark.parametrize(
    "link",
    [
        "",
        "gitdir:",
        "gitdir: ",
        "gitdir: nowhere",
        "gitdir: //server/share",
        "gitdir: \\\\server\\x",
        "x",
        "gitdir: a\0b",
        "gitdir: .",
        "\0" * 100,
        "gitdir: " + "x/" * 4000,
    ],
)
def test_a_broken_git_file_gives_none(tmp_path: Path, link: str) -> None:
    (tmp_path / ".git").write_text(link, encoding="utf-8")
    assert locate(str(tmp_path)) is None


def test_binary_and_huge_files_are_read_bounded(tmp_path: Path) -> None:
    git = make_git(tmp_path / ".git")
    (git / "HEAD").write_bytes(b"ref: refs/heads/\xff\xfe\n")
    (git / "config").write_bytes(b"[core]\n" + b"x" * (2 * repository.READ_LIMIT) + ORIGIN.encode())
    assert locate(str(tmp_path)) == Repository(str(tmp_path), None, None)


def test_a_hostile_branch_is_no_branch(tmp_path: Path) -> None:
    make_git(tmp_path / ".git", head="ref: refs/heads/\x1b[31mred\n")
    assert locate(str(tmp_path)) == Repository(str(tmp_path), "github.com/Owner/Name", None)


@posix
def test_loops_and_pipes_do_not_hang(tmp_path: Path) -> None:
    (tmp_path / "loop").mkdir()
    (tmp_path / "loop/.git").symlink_to(".git")
    assert locate(str(tmp_path / "loop")) is None
    git = make_git(tmp_path / "pipe/.git")
    (git / "config").unlink()
    os.mkfifo(git / "config")
    assert locate(str(tmp_path / "pipe")) == Repository(str(tmp_path / "pipe"), None, "main")
    (git / "HEAD").unlink()
    os.mkfifo(git / "HEAD")
    assert locate(str(tmp_path / "pipe")) is None


@given(config=st.binary(max_size=200), head=st.binary(max_size=60), common=st.binary(max_size=40))
def test_no_content_makes_it_raise(
    tmp_path_factory: pytest.TempPathFactory, config: bytes, head: bytes, common: bytes
) -> None:
    folder = tmp_path_factory.mktemp("r")
    git = make_git(folder / ".git")
    (git / "config").write_bytes(config)
    (git / "HEAD").write_bytes(head)
    (git / "commondir").write_bytes(common)
    locate(str(folder))


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cwd", "found", "expected"),
    [
        ("/w/folder/sub", Repository("/w/folder", "github.com/o/name"), "name"),
        ("/w/folder/sub", Repository("/w/folder"), "folder"),
        ("/w/folder/sub/", None, "sub"),
        ("C:\\work\\thing", None, "thing"),
        ("/w/thing/.worktrees/3", None, "thing"),
        ("/w/thing/.claude/worktrees/fix-it/src", None, "thing"),
        ("C:\\w\\thing\\.worktrees\\3", None, "thing"),
        ("/.worktrees/3", None, "3"),
        ("/", None, "/"),
        (None, None, None),
        ("", None, None),
    ],
)
def test_the_project_is_named_after_remote_repository_or_folder(
    cwd: str | None, found: Repository | None, expected: str | None
) -> None:
    assert project_name(cwd, found) == expected
