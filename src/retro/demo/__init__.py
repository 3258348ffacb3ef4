"""What `make run` shows: this machine's sessions, or the bundled ones in a throw-away place where there are none."""

from __future__ import annotations

import os
import shlex
import site
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from retro import agents, config
from retro.failure import Failure
from retro.finding import Known, discover

EXAMPLE = "3b6f0c1e"
"""The demo session that is shown in full: a failing test, fixed and committed."""

_OURS = ("RETRO_", "XDG_", "WSL_")
"""How variables begin that move our own files, or anybody's, away from the home folder."""


def run(env: Mapping[str, str] = os.environ) -> int:
    """Do retro's main job where a host has sessions on this machine, else show the demo. Gives the exit code."""
    if not has_sessions(env):
        return _demo(env)
    for arguments in (["sweep"], ["list", "--limit", "20"]):
        code = _retro(arguments, env, None)
        if code:
            return code
    return 0


def has_sessions(env: Mapping[str, str]) -> bool:
    """Whether any agent left a session on this machine."""
    try:
        settings = config.load(None, env, hosts=agents.MODULES)
    except Failure:
        return True  # a sweep says what is wrong with the settings
    return any(discover(settings, env, (host,), Known()).sessions for host in agents.MODULES)


def install_sessions(data_root: Path) -> None:
    """Copy the bundled sessions to `data_root`, laid out as Claude Code's own folder."""
    bundled = Path(__file__).parent / "sessions"
    for file in bundled.rglob("*"):
        if file.is_file():
            target = data_root / file.relative_to(bundled)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())


def isolated_environment(home: Path, env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment `env` with every folder that retro or a host would use moved below `home`."""
    moves = {name for agent in agents.all_agents() for name in agent.MOVED_BY}
    kept = {
        name: value for name, value in env.items() if name.upper() not in moves and not name.upper().startswith(_OURS)
    }
    # Packages that were installed with `pip install --user` lie below the true home.
    kept.setdefault("PYTHONUSERBASE", site.getuserbase())
    return kept | {
        "HOME": str(home),
        "USERPROFILE": str(home),
        "APPDATA": str(home / "AppData" / "Roaming"),
        "LOCALAPPDATA": str(home / "AppData" / "Local"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "XDG_CACHE_HOME": str(home / ".cache"),
    }


def _demo(env: Mapping[str, str]) -> int:
    with tempfile.TemporaryDirectory(prefix="retro-demo-", ignore_cleanup_errors=True) as place:
        home = Path(place)
        install_sessions(home / ".claude")
        surroundings = isolated_environment(home, env) | {"RETRO_ROOT": str(home / "rollout-memory")}
        print(
            "No agent sessions were found on this machine, so this is the demo: six invented Claude Code sessions.\n"
            f"It lives in {place} and is removed at the end; nothing else is touched."
        )
        for why, arguments in _tour():
            print(f"\n# {why}\n$ retro {shlex.join(arguments)}", flush=True)
            code = _retro(arguments, surroundings, home)
            if code:
                return code
    print(
        "\nThat was the demo; its folder is gone. Once an agent has left sessions here, `retro sweep` keeps them.\n"
        "There is more: `retro --help` lists it, README.md begins with it."
    )
    return 0


def _tour() -> list[tuple[str, list[str]]]:
    return [
        ("Keep every session that is on this machine", ["sweep"]),
        ("What is there", ["list"]),
        ("What was captured of one of them, every byte accounted for", ["show", EXAMPLE]),
        ("How it went, to read", ["render", EXAMPLE, "--stdout"]),
        ("The same in short, which is kept for good", ["digest", EXAMPLE]),
        ("Where something was said or done", ["search", "missing tide"]),
        ("What it all cost", ["cost", "daily"]),
    ]


def _retro(arguments: Sequence[str], env: Mapping[str, str], folder: Path | None) -> int:
    command = [sys.executable, "-m", "retro", *arguments]
    return subprocess.run(command, env=dict(env), cwd=folder, check=False).returncode  # noqa: S603
