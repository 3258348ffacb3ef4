"""A play: a real client, typed at by a script, beside a scripted model and `retro sweep`. Runs in a room of its own.

`python play.py NAME FOLDER` within `clients.APART` leaves a `recording.json` in the folder.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import retro
from live.model import Model
from live.recording import Ran, Recording, save
from live.script import Lane
from retro.event import Event

if TYPE_CHECKING:
    from typing_extensions import Self

PATIENCE_S: Final = 120.0
"""How long one command line may take, on a machine that has much else to do."""

PLAY_S: Final = 400
"""After this long a play ends, whatever it does."""

FAILING_TEST: Final = {
    "calc.py": "def mean(xs):\n    return sum(xs) / (len(xs) - 1)\n",
    "test_calc.py": "from calc import mean\n\n\ndef test_mean():\n    assert mean([2, 4, 6]) == 4\n",
    "README.md": "# calc\n",
    ".gitignore": "__pycache__/\n.pytest_cache/\n",
}


class Play:
    """A home, a project with a failing test, an archive, and a model."""

    def __init__(self, folder: Path, model: Model, surroundings: Mapping[str, str]) -> None:
        self.folder, self.model = folder, model
        self.home, self.project, self.archive = (folder / name for name in ("home", "project", "archive"))
        self.recording = Recording(False, [], [], [], [], {}, {})
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.env = {
            "PATH": path,
            "HOME": str(self.home),
            "TMPDIR": str(folder / "tmp"),
            "SHELL": "/bin/bash",
            "TERM": "dumb",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "PYTHONDONTWRITEBYTECODE": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            **surroundings,
        }
        self.home.mkdir()
        (folder / "tmp").mkdir()
        (self.home / ".profile").write_text(f"export PATH={path}\n", "utf-8")  # a login shell forgets the one above
        self._make_project()

    def _make_project(self) -> None:
        self.project.mkdir()
        for name, content in FAILING_TEST.items():
            (self.project / name).write_text(content, "utf-8")
        for line in (
            ["init", "-q", "-b", "main"],
            ["config", "user.name", "Dev"],
            ["config", "user.email", "dev@example.invalid"],
            ["add", "-A"],
            ["commit", "-qm", "Start"],
        ):
            subprocess.run(["git", *line], cwd=self.project, env=self.env, check=True)

    def break_again(self) -> None:
        """Bring the project back to its failing test."""
        subprocess.run(["git", "reset", "-q", "--hard", "HEAD~1"], cwd=self.project, env=self.env, check=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.recording.served, self.recording.elsewhere = self.model.served, self.model.elsewhere
        self.recording.ended = error is None
        save(self.folder, self.recording)

    # The client.

    def run(self, session: str, line: Sequence[str]) -> Ran:
        """Give a command line to the client and wait for its end."""
        return self._ran(self.recording.runs, session, line, self.env)

    @contextmanager
    def killed(
        self, session: str, line: Sequence[str], end: signal.Signals = signal.SIGKILL
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Start the client, and at the end of the `with` kill it without warning, or give it another signal."""
        printed = self.folder / f"{session}.txt"
        with open(printed, "wb") as out:
            client = subprocess.Popen(
                line, cwd=self.project, env=self.env, stdin=subprocess.DEVNULL, stdout=out, stderr=out
            )
            try:
                yield client
            finally:
                client.send_signal(end)
                code = client.wait(PATIENCE_S)
        text = printed.read_text("utf-8", "replace")
        self.recording.runs.append(Ran(list(map(str, line)), session, code, text, ""))

    def _ran(self, runs: list[Ran], session: str, line: Sequence[str], env: Mapping[str, str]) -> Ran:
        done = subprocess.run(
            line,
            cwd=self.project,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=PATIENCE_S,
            check=False,
        )
        ran = Ran(list(map(str, line)), session, done.returncode, done.stdout, done.stderr)
        runs.append(ran)
        return ran

    # retro.

    def retro(self, *arguments: str, runs: list[Ran] | None = None) -> Ran:
        """Give a command line to retro, which knows of nothing but the client's home."""
        source = str(Path(retro.__file__).parents[1])
        names = ("PATH", "HOME", "LANG", "TZ", "CLAUDE_CONFIG_DIR", "CODEX_HOME")
        env = {name: self.env[name] for name in names if name in self.env}
        env |= {"PYTHONPATH": source, "RETRO_ROOT": str(self.archive)}
        return self._ran([] if runs is None else runs, "", [sys.executable, "-m", "retro", *arguments], env)

    def sweep(self) -> None:
        """Sweep once."""
        self.retro("sweep", "--json", runs=self.recording.sweeps)

    def restore(self, host: str, session: str) -> None:
        """Give a session's files back to where the client had them."""
        done = self.retro("restore", host, self.recording.sessions[session])
        if done.exit_code:
            raise RuntimeError(f"retro restore gave {done.exit_code}: {done.complained}")

    @contextmanager
    def sweeping(self) -> Iterator[None]:
        """Sweep again and again for the length of a `with`, and once more behind it."""
        over = threading.Event()

        def sweep_on() -> None:
            while not over.is_set():
                self.sweep()
                over.wait(0.2)

        thread = threading.Thread(target=sweep_on)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
        self.sweep()

    def look(self, moment: str) -> None:
        """Note what retro tells of every session."""
        found = self.recording.events[moment] = {}
        for name, session_id in self.recording.sessions.items():
            shown = self.retro("events", session_id)
            if shown.exit_code:
                raise RuntimeError(f"retro events {session_id} gave {shown.exit_code}: {shown.complained}")
            found[name] = [msgspec.json.decode(line, type=Event) for line in shown.printed.splitlines()]

    def copy(self, name: str, files: Path) -> None:
        """Keep a folder as it is at this moment."""
        if files.exists():
            shutil.copytree(files, self.folder / "copies" / name)


def wait_until(holds: Callable[[], bool], what: str, seconds: float = PATIENCE_S) -> None:
    """Wait for something that a client does when it pleases."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not come to be within {seconds:g} s")
        time.sleep(0.02)


def raise_loopback() -> None:
    """A new network namespace has a loopback that is down."""
    import fcntl  # not on Windows, where the tests are collected all the same

    set_flags, up = 0x8914, 0x1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, set_flags, struct.pack("16sh14x", b"lo", up))


def end_with_the_tests() -> None:
    """End when they let go of our input, as they do whatever way they end; or when it takes too long.

    This is the first process of its room: whatever it started ends with it.
    """
    select.select([sys.stdin], [], [], PLAY_S)
    os._exit(9)


def main(name: str, folder: Path) -> None:
    """Give a play."""
    from live.plays import PLAYS

    threading.Thread(target=end_with_the_tests, daemon=True).start()
    raise_loopback()
    make_lanes, give = PLAYS[name]
    lanes: Sequence[Lane] = make_lanes(folder / "project")
    with Model(lanes) as model:
        give(folder, model)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
