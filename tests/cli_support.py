"""What the tests of the commands share: one call of `retro`, its words and its objects."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from retro import cli

FIX = "3b6f0c1e-52d8-4c0a-9a67-0e5d1f7b2a41"
"""The demo's session with a failing test, fixed and committed; it has sidecars."""
AGENTS = "8c41d7a9-0f3e-4b52-8d16-6a2be90c7f35"
"""With two sub-agents."""
SECRETS = "c2f815db-4a96-4e03-8b7c-d13e5a0f9642"
"""Its answer holds secrets."""
FORK = "e94a6b27-3d05-4718-a2fc-785b1c40de93"
"""A continuation of SECRETS."""
ALL = (FIX, AGENTS, SECRETS, FORK, "a7d03c64-e8b1-4f29-93d5-2f70b6c1d8e4", "5e92b3f0-71c4-4d8b-b0a3-c9d4f1e86a27")


class Done(NamedTuple):
    """What a command gave."""

    code: int
    out: str
    err: str


class Retro:
    """Runs commands in this process, and keeps what they print apart."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Done:
        self._capsys.readouterr()
        code = cli.run(list(arguments))
        shown = self._capsys.readouterr()
        return Done(code, shown.out, shown.err)

    def says(self, *arguments: str) -> str:
        """What a command that succeeds prints on stdout."""
        done = self(*arguments)
        assert (done.code, done.err) == (0, ""), done
        return done.out

    def json(self, *arguments: str, code: int = 0) -> Any:
        """The object that a command prints, and nothing else."""
        done = self(*arguments, "--json")
        assert (done.code, done.err) == (code, ""), done
        shown = json.loads(done.out)
        assert code or shown["version"] == 1
        return shown


@pytest.fixture
def retro(capsys: pytest.CaptureFixture[str], root: Path) -> Retro:
    """`retro` on an archive of the test's own."""
    return Retro(capsys)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the archive will be."""
    place = tmp_path / "archive"
    monkeypatch.setenv("RETRO_ROOT", str(place))
    return place


@pytest.fixture
def swept(retro: Retro, demo_home: Path) -> Retro:
    """`retro` with the demo sessions captured."""
    retro.says("sweep")
    return retro


def crontab_stand_in(folder: Path, table: Path) -> None:
    """Programs in a folder for PATH: a crontab that keeps its table in a file, and a systemctl that never answers."""
    script = f'if [ "$1" = -l ]; then [ -f {table} ] && exec /bin/cat {table}; exit 1; fi\nexec /bin/cat > {table}\n'
    for name, lines in (("crontab", script), ("systemctl", "exit 1\n")):
        (folder / name).write_text(f"#!/bin/sh\n{lines}")
        (folder / name).chmod(0o755)


def transcript(home: Path, session_id: str) -> Path:
    """A session's file in a host's home."""
    return next((home / "projects").glob(f"*/{session_id}.jsonl"))


def tree(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Everything below a folder, with modes, times and contents."""
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        stat = os.lstat(path)
        content = path.read_bytes() if path.is_file() else b""
        found[path.relative_to(folder).as_posix()] = (stat.st_mode, stat.st_mtime_ns, content)
    return found
