"""Where hosts are looked for: at home on every system, and where variables move them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import pytest

from retro import agents
from retro.agents import databases, homes
from test_conformance import HOSTS, every_host, make_home

PLACES: Final = {
    "linux": {},
    "macos": {
        "cline": (".config/Code", "Library/Application Support/Code"),
        "roo": (".config/Code", "Library/Application Support/Code"),
        "kilo": (".config/Code", "Library/Application Support/Code"),
        "vscode": (".config/Code", "Library/Application Support/Code"),
    },
    "windows": {
        "cline": (".config/Code", "AppData/Roaming/Code"),
        "roo": (".config/Code", "AppData/Roaming/Code"),
        "kilo": (".config/Code", "AppData/Roaming/Code"),
        "vscode": (".config/Code", "AppData/Roaming/Code"),
        "hermes": (".hermes", "AppData/Local/hermes"),
        "neovim": (".local/share/nvim", "AppData/Local/nvim-data"),
    },
}
"""Hosts that lie elsewhere below the home folder than on Linux: there, and here."""

MOVED: Final = [
    ("claude", "CLAUDE_CONFIG_DIR", ".claude", ""),
    ("claude", "CLAUDE_CONFIG_DIR", ".claude", "projects"),
    ("claude", "XDG_CONFIG_HOME", ".claude", "claude"),
    ("codex", "CODEX_HOME", ".codex", ""),
    ("copilot", "COPILOT_HOME", ".copilot", ""),
    ("copilot", "XDG_STATE_HOME", ".", ""),
    ("copilot", "XDG_CONFIG_HOME", ".", ""),
    ("grok", "GROK_HOME", ".grok", ""),
    ("gemini", "GEMINI_CLI_HOME", ".", ""),
    ("opencode", "XDG_DATA_HOME", ".local/share", ""),
    ("pi", "PI_CODING_AGENT_DIR", ".pi/agent", ""),
    ("pi", "PI_CODING_AGENT_SESSION_DIR", ".pi/agent/sessions", ""),
    ("vscode", "VSCODE_APPDATA", ".config", ""),
    ("vscode", "XDG_CONFIG_HOME", ".config", ""),
    ("vscode", "APPDATA", ".config", ""),
    ("jetbrains", "COPILOT_HOME", ".copilot", ""),
    ("neovim", "XDG_DATA_HOME", ".local/share", ""),
    ("neovim", "XDG_STATE_HOME", ".local/share", ""),
    ("qwen", "QWEN_HOME", ".qwen", ""),
    ("qwen", "QWEN_RUNTIME_DIR", ".qwen", ""),
    ("droid", "FACTORY_HOME_OVERRIDE", ".", ""),
    ("kimi", "KIMI_CODE_HOME", ".kimi-code", ""),
    ("cursor", "CURSOR_CONFIG_DIR", ".cursor", ""),
    ("cursor", "CURSOR_DATA_DIR", ".cursor", ""),
    ("cline", "CLINE_DIR", ".cline", ""),
    ("cline", "CLINE_DATA_DIR", ".cline/data", ""),
    ("cline", "CLINE_SESSION_DATA_DIR", ".cline/data/sessions", ""),
    ("cline", "VSCODE_APPDATA", ".config", ""),
    ("roo", "VSCODE_APPDATA", ".config", ""),
    ("kilo", "VSCODE_APPDATA", ".config", ""),
    ("deepseek", "DSH_HOME", ".dsh", ""),
    ("openclaw", "OPENCLAW_STATE_DIR", ".openclaw", ""),
    ("hermes", "HERMES_HOME", ".hermes", ""),
    ("hermes", "LOCALAPPDATA", ".hermes", "hermes"),
    ("qwenpaw", "QWENPAW_WORKING_DIR", ".qwenpaw", ""),
    ("qwenpaw", "COPAW_WORKING_DIR", ".qwenpaw", ""),
    ("visualstudio", "LOCALAPPDATA", "AppData/Local", ""),
]
"""A host, a variable that moves it, and which folder of the sample's home the variable then names."""


def found(host: str, env: dict[str, str]) -> set[tuple[str, str]]:
    """What is discovered of a host's sessions: their ids, and the keys of their sources."""
    agent = agents.named(host)
    sources = [source for root in agent.roots(env, ()) for source in agent.discover(root, {})]
    databases.release()
    return {(source.session_id, source.key) for source in sources}


def carried(host: str, home: Path, system: str) -> Path:
    """A host's sample as a home folder of a system."""
    make_home(host, home)
    if host in PLACES[system]:
        there, here = PLACES[system][host]
        (home / here).parent.mkdir(parents=True)
        shutil.move(home / there, home / here)
    return home


@every_host
@pytest.mark.parametrize("system", PLACES)
def test_a_host_is_found_at_home_on_every_system(host: str, system: str, tmp_path: Path) -> None:
    expected = found(host, {"HOME": str(make_home(host, tmp_path / "linux"))})
    home = carried(host, tmp_path / "home", system)
    named = "USERPROFILE" if system == "windows" else "HOME"
    assert found(host, {named: str(home)}) == expected != set()


@every_host
def test_within_wsl_the_homes_of_windows_are_looked_through_as_well(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = found(host, {"HOME": str(make_home(host, tmp_path / "linux"))})
    carried(host, tmp_path / "Users" / "Ada", "windows")
    (tmp_path / "Users" / "Public").mkdir()
    monkeypatch.setattr(homes, "WINDOWS_USERS", str(tmp_path / "Users"))
    env = {"HOME": str(tmp_path / "none")}
    assert found(host, env) == set()
    assert found(host, env | {"WSL_DISTRO_NAME": "Debian"}) == expected


@pytest.mark.parametrize(("host", "variable", "moved", "below"), MOVED)
def test_a_host_is_found_where_a_variable_moves_it(
    host: str, variable: str, moved: str, below: str, tmp_path: Path
) -> None:
    home, named = make_home(host, tmp_path / "home"), tmp_path / "elsewhere" / "here"
    everything = found(host, {"HOME": str(home)})
    target = named if below == "projects" else named / below
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(home / moved, target)
    expected = everything - found(host, {"HOME": str(home)})
    env = {"HOME": str(tmp_path / "nobody"), variable: str(named / "projects" if below == "projects" else named)}
    assert found(host, env) == expected != set()


def test_every_host_is_moved_by_some_variable_or_by_none_that_is_known() -> None:
    assert set(HOSTS) - {host for host, *_ in MOVED} == {"antigravity", "iflow", "omp", "posit"}
