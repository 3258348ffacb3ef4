"""Plays are given once a run of the tests, whoever asks first; every test looks at what they left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

import retro
from live import clients
from live.performance import Performance
from live.recording import FILE, load
from retro.lock import Lock

PATIENCE_S = 420.0
"""How long a play may take; on an idle machine none takes a tenth of it."""

HERE = Path(__file__).resolve().parent


Give: TypeAlias = Callable[[str], Performance]


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line("markers", "live: runs real agent clients offline; skipped where they are not installed")


@pytest.fixture(scope="session")
def give(tmp_path_factory: pytest.TempPathFactory) -> Give:
    """Gives a play, or what it left when it was given before; skips where its client cannot run."""
    stage = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        stage = stage.parent  # which the workers share

    def given(name: str) -> Performance:
        host = name.partition("-")[0]
        hindrance = clients.hindrance(host)
        if hindrance:
            pytest.skip(hindrance)
        folder, said = stage / f"play-{name}", stage / f"play-{name}.txt"
        with Lock(str(stage / f"play-{name}.lock"), PATIENCE_S):
            if not folder.exists():
                folder.mkdir()
                _play(name, folder, said)
        if not (folder / FILE).exists() or not (recording := load(folder)).ended:
            pytest.fail(f"the play {name} did not come to its end:\n{said.read_text('utf-8')}", pytrace=False)
        return Performance(host, recording, folder)

    return given


def _play(name: str, folder: Path, said: Path) -> None:
    """Run a play in a room of its own, which has nothing of our environment and ends with us."""
    env = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "PYTHONPATH": str(Path(retro.__file__).parents[1]),
        "RETRO_LIVE": str(clients.FOLDER),
        "LANG": "C.UTF-8",
    }
    command = [*clients.APART, sys.executable, str(HERE / "play.py"), name, str(folder)]
    with (
        open(said, "wb") as out,
        subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT) as play,
    ):
        try:
            play.wait(PATIENCE_S)
        finally:
            play.kill()
