"""One agent's absent folder, missing permission or broken files never cost another agent anything."""

from __future__ import annotations

import builtins
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from retro import agents
from retro.agents import databases
from retro.config import Settings
from retro.places import Places
from retro.sweep import Report, sweep
from support import unpacked
from test_conformance import make_home

HOSTS: Final = tuple(agents.MODULES)


@pytest.fixture(scope="module")
def everyone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a person who uses every agent."""
    home = tmp_path_factory.mktemp("everyone") / "person"
    for host in HOSTS:
        make_home(host, home)
    return home


def swept(home: Path, root: Path) -> Report:
    return sweep(Places(str(root)), Settings("", {("sweep", "workers"): 1}), {"HOME": str(home)})


def derived(root: Path, host: str) -> dict[str, bytes]:
    """All events of a host's sessions."""
    folder = root / "normalized" / host
    return {str(path.relative_to(folder)): unpacked(path) for path in sorted(folder.rglob("*.zst"))}


def folders(home: Path, host: str) -> list[str]:
    """Where a host's files are."""
    return [root.path for root in agents.named(host).roots({"HOME": str(home)}, ())]


@pytest.fixture(scope="module")
def whole(everyone: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    """What every host gives where nothing is broken."""
    root = tmp_path_factory.mktemp("whole")
    swept(everyone, root)
    found = {host: derived(root, host) for host in HOSTS}
    assert all(found.values())
    return found


def _absent(folder: str) -> None:
    shutil.rmtree(folder)


def _file(folder: str) -> None:
    shutil.rmtree(folder)
    Path(folder).write_text("not a folder", "utf-8")


def _broken(folder: str) -> None:
    for path in Path(folder).rglob("*"):
        if path.is_file():
            path.write_bytes(b"SQLite format 3\\0" + b"\\xff\\xfe{" * 500)


@pytest.mark.parametrize("harm", [_absent, _file, _broken], ids=["absent", "file", "broken"])
@pytest.mark.parametrize("half", [0, 1])
def test_what_happens_to_some_agents_is_nothing_to_the_others(
    half: int, harm: Callable[[str], None], everyone: Path, whole: dict[str, dict[str, bytes]], tmp_path: Path
) -> None:
    home = tmp_path / "person"
    shutil.copytree(everyone, home)
    harmed, spared = HOSTS[half::2], [host for host in HOSTS if host not in HOSTS[half::2]]
    theirs = {folder for host in spared for folder in folders(home, host)}
    alone = {folder for host in harmed for folder in folders(home, host)}
    alone = {folder for folder in alone if not any(_touch(folder, other) for other in theirs)}
    assert len(alone) >= len(harmed) // 2
    for folder in sorted(alone, key=len, reverse=True):  # one may lie in another
        harm(folder)
    swept(home, tmp_path / "root")
    for host in spared:
        assert derived(tmp_path / "root", host) == whole[host], host


def _touch(one: str, other: str) -> bool:
    return os.path.commonpath((one, other)) in (one, other)


@pytest.mark.parametrize("half", [0, 1])
def test_folders_that_may_not_be_read_are_nothing_to_the_others(
    half: int,
    everyone: Path,
    whole: dict[str, dict[str, bytes]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Permissions do not stop everybody who runs tests: here it is the calls that fail."""
    spared = [host for host in HOSTS if host not in HOSTS[half::2]]
    theirs = {folder for host in spared for folder in folders(everyone, host)}
    closed = {folder for host in HOSTS[half::2] for folder in folders(everyone, host)}
    closed = {folder for folder in closed if not any(_touch(folder, other) for other in theirs)}
    assert closed

    def guarded(call: Callable[..., Any]) -> Callable[..., Any]:
        def refusing(path: Any = ".", *more: Any, **named: Any) -> Any:
            text = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else ""
            if any(text == folder or text.startswith(folder + os.sep) for folder in closed):
                raise PermissionError(13, "Permission denied", text)
            return call(path, *more, **named)

        return refusing

    for module, name in ((os, "scandir"), (os, "listdir"), (os, "open"), (builtins, "open")):
        monkeypatch.setattr(module, name, guarded(getattr(module, name)))
    swept(everyone, tmp_path / "root")
    monkeypatch.undo()
    databases.release()
    for host in spared:
        assert derived(tmp_path / "root", host) == whole[host], host
