"""Where the editions of VS Code keep what belongs to their user, and extensions their files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from retro.agents.homes import homes

PRODUCTS: Final = ("Code", "Code - Insiders", "Code - Exploration", "Code - OSS", "VSCodium", "VSCodium - Insiders")
FORKS: Final = ("Cursor", "Windsurf", "Windsurf - Next", "Trae", "Kiro", "Positron", "Antigravity")
"""Editors made from VS Code, in which the same extensions run."""

FLATPAKS: Final = (
    ("com.visualstudio.code", "Code"),
    ("com.visualstudio.code.insiders", "Code - Insiders"),
    ("com.visualstudio.code-oss", "Code - OSS"),
    ("com.vscodium.codium", "VSCodium"),
    ("com.vscodium.codium-insiders", "VSCodium - Insiders"),
)
MOVED_BY: Final = ("VSCODE_PORTABLE", "VSCODE_AGENT_FOLDER", "VSCODE_APPDATA")
"""Variables that move an edition's folder."""

SNAPS: Final = (("code", "Code"), ("code-insiders", "Code - Insiders"), ("codium", "VSCodium"))
SERVERS: Final = (
    ".vscode-server/data",
    ".vscode-server-insiders/data",
    ".vscode-server-oss/data",
    ".vscodium-server/data",
    ".vscode-remote/data",
    ".local/share/code-server",
)


def user_folders(env: Mapping[str, str], forks: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """The `User` folder of every edition and why we look there: installed, portable, in a sandbox, on a server."""
    own, *others = homes(env)
    wanted = [(os.path.join(env.get("VSCODE_PORTABLE", ""), "user-data", "User"), "VSCODE_PORTABLE")]
    wanted += [(os.path.join(env.get("VSCODE_AGENT_FOLDER", ""), "data", "User"), "VSCODE_AGENT_FOLDER")]
    wanted = [(path, name) for path, name in wanted if env.get(name)]
    config = env.get("XDG_CONFIG_HOME") or os.path.join(own, ".config")
    data = [config, os.path.join(own, "Library", "Application Support")]
    data += [env.get("APPDATA", ""), *(os.path.join(home, "AppData", "Roaming") for home in (own, *others))]
    moved = (env.get("VSCODE_APPDATA", ""), "VSCODE_APPDATA")
    for folder, reason in [moved, *((folder, "default") for folder in data)]:
        wanted += [(os.path.join(folder, product, "User"), reason) for product in (*PRODUCTS, *forks) if folder]
    for name, product in FLATPAKS:
        wanted.append((os.path.join(own, ".var", "app", name, "config", product, "User"), "Flatpak"))
    for name, product in SNAPS:
        wanted.append((os.path.join(own, "snap", name, "current", ".config", product, "User"), "Snap"))
    return wanted + [(os.path.join(own, *server.split("/"), "User"), "server") for server in SERVERS]
