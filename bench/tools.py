"""The tools that are compared: how each is installed, started on a home, and what it says of itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Final, NamedTuple

from bench.processes import Failed, Run, checked, cpu_left_behind, end, run

PACKAGES: Final = {"agentsview": "agentsview==0.46.1", "retro-ai": "retro-ai==0.3.0"}

CCUSAGE: Final = "ccusage@20.0.24"

# Peers may want to report home or look for updates; here they reach nobody.
_SILENT: Final = {
    **dict.fromkeys(("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9"),
    "no_proxy": "127.0.0.1,localhost",
    "DO_NOT_TRACK": "1",
    "AGENTSVIEW_TELEMETRY_ENABLED": "0",
    "AGENTSVIEW_DISABLE_UPDATE_CHECK": "1",
    "AGENTSVIEW_NO_BROWSER": "1",
}


class Place:
    """A folder of its own for one tool's run: a home without anything, and room for its data."""

    def __init__(self, home: str) -> None:
        self.home = home
        """The Claude Code home that it reads."""
        self.folder = tempfile.mkdtemp(prefix="bench-")
        self.data = os.path.join(self.folder, "data")
        self.user = os.path.join(self.folder, "user")
        os.makedirs(os.path.join(self.user))

    def environment(self) -> dict[str, str]:
        """What every tool is told."""
        return {
            "PATH": os.environ.get("PATH", ""),
            "LANG": "C.UTF-8",
            "HOME": self.user,
            "TMPDIR": self.folder,
            **_SILENT,
        }

    def size(self) -> int:
        """Bytes of the tool's data."""
        return tree_size(self.data)

    def remove(self) -> None:
        """Leave nothing."""
        shutil.rmtree(self.folder, ignore_errors=True)


class Sync(NamedTuple):
    """One run of a tool over a home."""

    cost: Run
    said: float | None = None
    """How long it says that the work itself took."""
    data: int = 0


def tree_size(folder: str) -> int:
    """Bytes of all files below a folder."""
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names)


# --- retro -----------------------------------------------------------------------------------------------------------


def retro_environment(place: Place) -> dict[str, str]:
    """Where retro finds sessions and keeps its archive."""
    return {
        **place.environment(),
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "CLAUDE_CONFIG_DIR": place.home,
        "RETRO_ROOT": place.data,
        "RETRO_CONFIG": os.path.join(place.folder, "config.toml"),
    }


def retro(place: Place, *command: str, sample: bool = False) -> Sync:
    """A retro command, by default a sweep."""
    arguments = command or ("sweep",)
    result = run([sys.executable, "-m", "retro", *arguments], retro_environment(place), place.folder, sample=sample)
    return Sync(checked(result, f"retro {arguments[0]}"))


# --- agentsview ------------------------------------------------------------------------------------------------------


class Agentsview:
    """agentsview's sync. Its daemon stays after the command, and is stopped with the place."""

    name = "agentsview"

    def __init__(self, folder: str) -> None:
        self._command = os.path.join(folder, "agentsview")
        self._daemons: dict[str, int] = {}

    def environment(self, place: Place) -> dict[str, str]:
        """Where it finds sessions and keeps its data."""
        projects = os.path.join(place.home, "projects")
        return {**place.environment(), "CLAUDE_PROJECTS_DIR": projects, "AGENTSVIEW_DATA_DIR": place.data}

    def sync(self, place: Place, *, sample: bool = False) -> Sync:
        """Sync what is new."""
        os.makedirs(place.data, exist_ok=True)
        result = checked(
            run([self._command, "sync"], self.environment(place), place.folder, sample=sample), "agentsview"
        )
        if started := re.search(r"pid (\d+)", result.output):
            self._daemons[place.folder] = int(started[1])
        result = result._replace(cpu=result.cpu + cpu_left_behind())
        said = re.search(r"synced in ([\d.]+)(m?s)", result.output)
        seconds = float(said[1]) / (1000 if said[2] == "ms" else 1) if said else None
        database = os.path.join(place.data, "sessions.db")
        return Sync(result, seconds, sum(_size(database + end) for end in ("", "-wal")))

    def stop(self, place: Place) -> None:
        """End the daemon that was started for a place."""
        process = self._daemons.pop(place.folder, None)
        if process is not None:
            end(process)


def _size(path: str) -> int:
    return os.path.getsize(path) if os.path.exists(path) else 0


# --- retro-ai --------------------------------------------------------------------------------------------------------


class RetroAi:
    """retro-ai's import of all sessions, and its signals, which are commands of their own."""

    name = "retro-ai"

    def __init__(self, folder: str) -> None:
        self._command = os.path.join(folder, "retro")

    def sync(self, place: Place, *, sample: bool = False) -> Sync:
        """Import, then compute signals; both count."""
        link = os.path.join(place.user, ".claude")
        if not os.path.lexists(link):
            os.symlink(place.home, link)
        commands = (["import", "claude", "--all", "--no-render", "--root"], ["signal", "run", "--root"])
        runs = [
            checked(
                run([self._command, *command, place.data], place.environment(), place.folder, sample=sample), self.name
            )
            for command in commands
        ]
        total = Run(
            sum(one.seconds for one in runs), sum(one.cpu for one in runs), max(one.peak for one in runs), 0, ""
        )
        return Sync(total, runs[0].seconds, place.size())

    def stop(self, place: Place) -> None:
        """Nothing stays."""


Peer = Agentsview | RetroAi
MAKERS: Final[dict[str, Callable[[str], Peer]]] = {"agentsview": Agentsview, "retro-ai": RetroAi}


def install(folder: str, existing: str | None) -> tuple[list[Peer], dict[str, str]]:
    """The peers that could be installed into a new environment in `folder`, and why the others could not."""
    peers: list[Peer] = []
    missing: dict[str, str] = {}
    programs = existing
    if programs is None:
        try:
            subprocess.run([sys.executable, "-m", "venv", folder], check=True, capture_output=True, timeout=120)
        except (subprocess.SubprocessError, OSError):
            return [], dict.fromkeys(PACKAGES, "no virtual environment could be made")
        programs = os.path.join(folder, "Scripts" if os.name == "nt" else "bin")
    for name, package in PACKAGES.items():
        reason = _install(programs, package) if existing is None else None
        if reason is None and shutil.which("agentsview" if name == "agentsview" else "retro", path=programs) is None:
            reason = "its command is not there"
        if reason is None:
            peers.append(MAKERS[name](programs))
        else:
            missing[name] = reason
    return peers, missing


def install_ccusage(folder: str) -> str:
    """The command of ccusage, installed into a folder from npm; raises `Failed` where that is not possible."""
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder, CCUSAGE]
    try:
        done = subprocess.run(command, capture_output=True, timeout=240, text=True)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f"ccusage: npm cannot install it ({error})") from None
    found = os.path.join(folder, "node_modules", ".bin", "ccusage")
    if done.returncode or not os.path.exists(found):
        raise Failed("ccusage: npm cannot install it")
    return found


def _install(programs: str, package: str) -> str | None:
    """Why a package could not be installed; None if it could."""
    command = [
        os.path.join(programs, "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        package,
    ]
    try:
        done = subprocess.run(command, capture_output=True, timeout=240, text=True)
    except subprocess.TimeoutExpired:
        return "pip took more than four minutes"
    if done.returncode == 0:
        return None
    lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return (lines[-1] if lines else "pip failed").removeprefix("ERROR: ")[:120]
