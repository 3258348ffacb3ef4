"""The data root: names, layout, containment, private files, and which root counts."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retro import places
from retro.failure import Failure
from retro.places import OutsideRoot, Places, RootChoice, find_root, safe_name

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX permissions and links")


class Settings(NamedTuple):
    archive_root: str | None = None
    registered: tuple[str, ...] = ()


def mode(path: object) -> int:
    return stat.S_IMODE(os.stat(str(path)).st_mode)


@pytest.fixture
def hostile_umask() -> Iterator[None]:
    before = os.umask(0o277)
    yield
    os.umask(before)


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "usual", ["0198b5a2-7c1e-7000-8000-3f2a1b4c5d6e", "agent-a1b2", "_", "a", "9.json", "a" * 100, "ses_1.2-3", "com"]
)
def test_usual_ids_stand_as_they_are(usual: str) -> None:
    assert safe_name(usual) == usual


@pytest.mark.parametrize("identifier", ["ABC", "aBc", "Ses_01HXYZ", "A" * 100])
def test_upper_case_becomes_lower_case_and_a_hash(identifier: str) -> None:
    name = safe_name(identifier)
    assert name[:-9] == identifier.lower()
    assert name[-9] == "~"


@pytest.mark.parametrize(
    "hostile",
    [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "a\\b",
        "C:x",
        "a\0b",
        "a" * 101,
        "A" * 101,
        ".hidden",
        "-rf",
        "a.",
        "abc~12345678",
        "con",
        "CON",
        "nul.txt",
        "com1",
        "Lpt9.x",
        "\ud800",
        "ünï",
        "日本",
        "a b",
        "a\nb",
        "\x1b[31m",
        "<b>",
        "ſ",
        "x" * 10**6,
    ],
)
def test_hostile_ids_become_a_hash(hostile: str) -> None:
    name = safe_name(hostile)
    assert len(name) == 34
    assert name.startswith("x~")
    assert set(name[2:]) <= set("0123456789abcdef")


texts = st.text(alphabet=st.characters()) | st.text(alphabet="aAbB.~-_/x0", max_size=12)


@given(texts)
def test_a_safe_name_is_one_harmless_component(identifier: str) -> None:
    name = safe_name(identifier)
    assert 0 < len(name) <= 109
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-~")
    assert name[0] not in ".-"
    assert not name.endswith(".")
    assert name == safe_name(identifier)


@given(texts, texts)
def test_different_ids_differ_also_where_case_does_not_count(one: str, other: str) -> None:
    assert (safe_name(one).casefold() == safe_name(other).casefold()) == (one == other)


@given(texts)
def test_a_safe_name_used_as_an_id_collides_with_nothing(identifier: str) -> None:
    name = safe_name(identifier)
    assert safe_name(name) == name if name == identifier else safe_name(name) != name


@pytest.mark.parametrize("host", ["", "Claude", "../x", "a/b", "1a", "_a", "con", "é", "a.b", "a" * 101])
def test_a_host_that_is_no_name_is_refused(host: str, tmp_path: Path) -> None:
    with pytest.raises(Failure, match="not the name of a host"):
        Places(str(tmp_path)).raw(host, "s")


# --- layout ----------------------------------------------------------------------------------------------------------


def test_the_layout_is_the_contract(tmp_path: Path) -> None:
    there = Places(str(tmp_path))
    assert {
        "raw": there.raw("claude", "s1"),
        "normalized": there.normalized("claude", "s1"),
        "rendered": there.rendered("claude", "s1"),
        "digest": there.digest("claude", "s1"),
        "index": there.index,
        "lock": there.lock,
        "inbox": there.inbox,
        "state": there.state_log,
    } == {
        "raw": str(tmp_path / "raw/claude/s1"),
        "normalized": str(tmp_path / "normalized/claude/s1.events.jsonl.zst"),
        "rendered": str(tmp_path / "rendered/claude/s1.md"),
        "digest": str(tmp_path / "digests/claude/s1.json"),
        "index": str(tmp_path / "index.sqlite"),
        "lock": str(tmp_path / ".lock"),
        "inbox": str(tmp_path / "inbox"),
        "state": str(tmp_path / "state.jsonl"),
    }
    assert not (tmp_path / "raw").exists()


@given(texts)
def test_no_id_leads_out_of_the_root(identifier: str) -> None:
    there = Places("/archive")
    for path in (there.raw("claude", identifier), there.digest("claude", identifier)):
        assert there.checked(path) == path
        assert len(os.path.relpath(path, there.root).split(os.sep)) == 3


@pytest.mark.parametrize("path", ["..", "../archive-2/x", "raw/../../x", "/etc/passwd", "raw/a\0b"])
def test_a_path_outside_is_refused(path: str, tmp_path: Path) -> None:
    there = Places(str(tmp_path / "archive"))
    with pytest.raises(OutsideRoot):
        there.checked(os.path.join(there.root, path))


@posix
def test_a_link_that_leads_out_is_refused(tmp_path: Path) -> None:
    there = Places(str(tmp_path / "archive"))
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive/raw").symlink_to(tmp_path)
    with pytest.raises(OutsideRoot):
        there.checked(there.raw("claude", "s"))


@posix
def test_a_root_reached_through_a_link_is_fine(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    there = Places(str(tmp_path / "link"))
    assert there.contains(there.raw("claude", "s"))
    assert there.contains(there.root)


# --- private files ---------------------------------------------------------------------------------------------------


@posix
@pytest.mark.usefixtures("hostile_umask")
def test_folders_and_files_are_private_and_usable_under_a_narrow_umask(tmp_path: Path) -> None:
    places.make_private_dir(str(tmp_path / "a/b/c"))
    places.write_private(str(tmp_path / "a/b/c/f"), b"x")
    assert [mode(tmp_path / name) for name in ("a", "a/b", "a/b/c", "a/b/c/f")] == [0o700, 0o700, 0o700, 0o600]


@posix
@pytest.mark.usefixtures("open_umask")
def test_folders_and_files_are_private_under_an_open_umask(tmp_path: Path) -> None:
    places.make_private_dir(str(tmp_path / "a/b"))
    (tmp_path / "a/old").write_bytes(b"")
    os.close(places.open_private(str(tmp_path / "a/new"), os.O_WRONLY | os.O_CREAT))
    os.close(places.open_private(str(tmp_path / "a/old"), os.O_WRONLY | os.O_CREAT))
    assert [mode(tmp_path / name) for name in ("a", "a/b", "a/new", "a/old")] == [0o700, 0o700, 0o600, 0o600]


def test_a_folder_that_exists_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(0o755)
    before = mode(tmp_path / "a")
    places.make_private_dir(str(tmp_path / "a"))
    assert mode(tmp_path / "a") == before


def test_a_file_where_a_folder_is_wanted_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    with pytest.raises(OSError):
        places.make_private_dir(str(tmp_path / "a/b"))
    with pytest.raises(FileExistsError):
        places.make_private_dir(str(tmp_path / "a"))


@posix
def test_a_link_is_not_followed_when_a_file_is_opened(tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(b"precious")
    (tmp_path / "link").symlink_to("victim")
    with pytest.raises(OSError):
        places.open_private(str(tmp_path / "link"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    places.write_private(str(tmp_path / "link"), b"new")
    assert (tmp_path / "victim").read_bytes() == b"precious"
    assert (tmp_path / "link").read_bytes() == b"new"


@pytest.mark.parametrize("sync", [True, False])
def test_a_write_replaces_as_a_whole_and_leaves_nothing_beside_it(tmp_path: Path, sync: bool) -> None:
    target = tmp_path / "folder" / ("n" * 200)
    target.parent.mkdir()
    for data in (b"one", b"", b"three" * 100_000):
        places.write_private(str(target), data, sync)
        assert target.read_bytes() == data
    assert list(target.parent.iterdir()) == [target]


def test_a_failed_write_keeps_the_old_content_and_leaves_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "folder/f"
    target.parent.mkdir()
    places.write_private(str(target), b"old", sync=False)

    def full(descriptor: int, data: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        places.write_private(str(target), b"new", sync=True)
    assert target.read_bytes() == b"old"
    assert list(target.parent.iterdir()) == [target]


# --- which root ------------------------------------------------------------------------------------------------------


def test_the_option_comes_before_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    env = {"RETRO_ROOT": str(tmp_path / "env")}
    assert find_root("named", env, Settings("/config")) == RootChoice(str(tmp_path / "named"), "option")
    assert find_root(None, env, Settings("/config")) == RootChoice(str(tmp_path / "env"), "env:RETRO_ROOT")
    with pytest.raises(Failure, match="--root"):
        find_root("", env, Settings())


def test_an_archive_that_merely_lies_here_is_never_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rollout-memory/raw").mkdir(parents=True)
    config = str(tmp_path / "config")
    assert find_root(None, {}, Settings(config)).reason == "config"
    assert find_root(None, {}, Settings(config, (str(tmp_path / "other/rollout-memory"),))).reason == "config"


def test_a_registered_archive_is_used_in_its_own_folder_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = os.path.join(os.path.realpath(tmp_path), "rollout-memory")
    os.makedirs(os.path.join(here, "sub"))
    settings = Settings(str(tmp_path / "config"), (here,))
    monkeypatch.chdir(tmp_path)
    assert find_root(None, {}, settings) == RootChoice(here, "registered")
    monkeypatch.chdir(os.path.join(here, "sub"))
    assert find_root(None, {}, settings).reason == "config"


@posix
def test_a_link_in_the_place_of_a_registered_archive_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "foreign").mkdir()
    (tmp_path / "rollout-memory").symlink_to("foreign")
    registered = os.path.join(os.path.realpath(tmp_path), "rollout-memory")
    assert find_root(None, {}, Settings("/config", (registered,))).reason == "config"


@pytest.mark.skipif(sys.platform != "linux", reason="the folders of Linux")
def test_the_default_is_in_the_users_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    home = str(tmp_path / ".local/share/retro/rollout-memory")
    assert find_root(None, {}, Settings()) == RootChoice(home, "default")
    assert find_root(None, {"XDG_DATA_HOME": "relative"}, Settings()) == RootChoice(home, "default")
    assert find_root(None, {"XDG_DATA_HOME": "/d"}, Settings()) == RootChoice("/d/retro/rollout-memory", "default")


@pytest.mark.parametrize("named", [True, False])
def test_the_users_folders_are_those_of_platformdirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    import platformdirs

    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(variable, raising=False)
        if named and sys.platform == "linux":
            monkeypatch.setenv(variable, str(tmp_path / variable))
    assert places.config_folder(os.environ) == platformdirs.user_config_dir("retro", appauthor=False)
    assert places.data_folder(os.environ) == platformdirs.user_data_dir("retro", appauthor=False)


# --- a new root ------------------------------------------------------------------------------------------------------


def test_a_new_root_is_private_and_ignored_by_git_and_can_be_made_again(tmp_path: Path) -> None:
    root = tmp_path / "a/rollout-memory"
    assert places.init_root(str(root)) is True
    assert places.init_root(str(root)) is False
    assert [path.name for path in root.iterdir()] == [".gitignore"]
    assert (root / ".gitignore").read_bytes() == b"*\n"
    if os.name == "posix":
        assert mode(root) == 0o700


@posix
def test_an_archive_that_others_could_read_is_closed(tmp_path: Path) -> None:
    (tmp_path / "r/raw").mkdir(parents=True)
    os.chmod(tmp_path / "r", 0o755)
    assert places.init_root(str(tmp_path / "r")) is False
    assert mode(tmp_path / "r") == 0o700


def test_a_folder_with_something_else_in_it_is_refused_and_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "thesis.tex").write_bytes(b"")
    before = mode(folder)
    with pytest.raises(Failure, match="not empty"):
        places.init_root(str(folder))
    assert [path.name for path in folder.iterdir()] == ["thesis.tex"]
    assert mode(folder) == before


def test_a_file_or_a_link_is_no_place_for_an_archive(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(Failure, match="not a folder"):
        places.init_root(str(tmp_path / "file"))
    if os.name == "posix":
        (tmp_path / "link").symlink_to("nowhere")
        with pytest.raises(Failure, match="is a link"):
            places.init_root(str(tmp_path / "link"))
