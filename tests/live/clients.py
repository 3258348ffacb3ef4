"""The agent clients of the live tests: where they are installed, and what keeps them from running here."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Final

PROJECT: Final = Path(__file__).resolve().parents[2]
PINNED: Final = Path(__file__).with_name("package.json")

FOLDER: Final = Path(os.environ.get("RETRO_LIVE") or PROJECT / ".live").absolute()
"""Read once, at import: the tests take the environment away."""

PACKAGES: Final = {
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "copilot": "@github/copilot",
    "gemini": "@google/gemini-cli",
    "grok": "@xai-official/grok",
    "opencode": "opencode-ai",
}

# The program lies in a second package, one for each platform. Its own start script would look for it with node.
PROGRAMS: Final = {
    "claude": "@anthropic-ai/claude-code-*/claude",
    "codex": "@openai/codex-*/vendor/*/bin/codex",
    "copilot": "@github/copilot-*/copilot",
    "gemini": "@google/gemini-cli/bundle/gemini.js",
    "grok": "@xai-official/grok-*/bin/grok",
    "opencode": "opencode-linux-*/bin/opencode",
}

APART: Final = ("unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--")
"""Runs a program with no network but its own loopback; whatever it started ends with it."""


def pinned() -> dict[str, str]:
    """Each package and the version that the tests are written for."""
    versions: dict[str, str] = json.loads(PINNED.read_text("utf-8"))["dependencies"]
    return versions


def installed(package: str) -> str | None:
    """The version of a package that is installed."""
    try:
        text = (FOLDER / "node_modules" / package / "package.json").read_text("utf-8")
    except OSError:
        return None
    return str(json.loads(text)["version"])


def program(client: str) -> Path | None:
    """The client's program; of several for one platform the plain one."""
    return min((FOLDER / "node_modules").glob(PROGRAMS[client]), default=None)


@cache
def hindrance(client: str) -> str | None:
    """Why this client cannot be run here; None if it can."""
    if not sys.platform.startswith("linux"):
        return "live tests run on Linux only"
    package = PACKAGES[client]
    version = pinned()[package]
    if installed(package) != version or program(client) is None:
        return f"{package} {version} is not installed (make test-live installs it)"
    missing = [name for name in ("unshare", "git", "bash", "node") if shutil.which(name) is None]
    if missing:
        return f"{', '.join(missing)}: not found"
    tried = subprocess.run([*APART, "true"], capture_output=True, text=True, check=False)
    return f"no network namespace may be made here: {tried.stderr.strip()}" if tried.returncode else None
