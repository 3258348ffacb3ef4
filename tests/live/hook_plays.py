"""The real clients with hooks of ours in their settings, and without them again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from live import claude_plays, codex_plays, copilot_plays, gemini_plays
from live.model import Model
from live.play import Play

INBOX = "ended.jsonl"


MEMORY = """---
title: Fixing a failing test
when: a failing test is to be fixed and committed
---
The mean of calc divides by the length.

1. `python -m pytest -q`
"""


def claude(folder: Path, model: Model) -> None:
    """Claude Code."""
    with claude_plays.Claude(folder, model) as play:
        _settings(play, '{\n\t"cleanupPeriodDays": 90\n}\n')
        _hooked(play, "claude", lambda session: play.type(session, claude_plays.REMAINS))


def codex(folder: Path, model: Model) -> None:
    """Codex, which runs no hook that nobody trusts, unless it is told to."""
    with codex_plays.Codex(folder, model) as play:
        _hooked(play, "codex", lambda session: _type_to_codex(play, session, codex_plays.REMAINS))


def copilot(folder: Path, model: Model) -> None:
    """Copilot CLI."""
    with copilot_plays.Copilot(folder, model) as play:
        _settings(play, '{"theme": "dark"}')
        _hooked(play, "copilot", lambda session: play.type(session, copilot_plays.REMAINS))


def gemini(folder: Path, model: Model) -> None:
    """Gemini CLI."""
    with gemini_plays.Gemini(folder, model) as play:
        _hooked(play, "gemini", lambda session: play.type(session, gemini_plays.REMAINS))


def claude_weave(folder: Path, model: Model) -> None:
    """Claude Code, whose prompts are given memories."""
    with claude_plays.Claude(folder, model) as play:
        _settings(play, '{\n\t"cleanupPeriodDays": 90\n}\n')
        _woven(play, "claude", lambda session, prompt: play.type(session, prompt))


def codex_weave(folder: Path, model: Model) -> None:
    """Codex, whose prompts are given memories."""
    with codex_plays.Codex(folder, model) as play:
        _woven(play, "codex", lambda session, prompt: _type_to_codex(play, session, prompt))


def copilot_weave(folder: Path, model: Model) -> None:
    """Copilot CLI, whose prompts are given memories."""
    with copilot_plays.Copilot(folder, model) as play:
        _settings(play, '{"theme": "dark"}')
        _woven(play, "copilot", lambda session, prompt: play.type(session, prompt))


def gemini_weave(folder: Path, model: Model) -> None:
    """Gemini CLI, whose prompts are given memories."""
    with gemini_plays.Gemini(folder, model) as play:
        _woven(play, "gemini", lambda session, prompt: play.type(session, prompt))


def _settings(play: claude_plays.Claude | copilot_plays.Copilot, text: str) -> None:
    play.data.mkdir(exist_ok=True)
    (play.data / "settings.json").write_text(text, "utf-8")


def _type_to_codex(play: codex_plays.Codex, session: str, prompt: str) -> None:
    line = play.line(codex_plays.CLASSIC, "--dangerously-bypass-hook-trust", prompt)
    play.recording.sessions[session] = codex_plays.thread_id(play.run(session, line).printed) or ""


def _woven(play: Play, host: str, type_: Callable[[str, str], object]) -> None:
    """A prompt that something is remembered for, one that nothing is, and both again without the hook."""
    play.sweep()
    play.env["RETRO_ROOT"] = str(play.archive)
    notes = play.folder / "notes"
    notes.mkdir()
    (notes / "tests.md").write_text(MEMORY, "utf-8")
    play.retro("memory", "import-authored", str(notes), "--cwd", str(play.project), runs=play.recording.runs)
    (state,) = json.loads(play.retro("hooks", host, "--json").printed)["hooks"]
    settings = Path(state["file"])
    _keep(play, "before", settings)
    play.retro("hooks", "install", host, "--weave", runs=play.recording.runs)
    _keep(play, "between", settings)
    type_("woven", claude_plays.FIX)
    type_("silent", claude_plays.REMAINS)
    play.retro("hooks", "uninstall", host, runs=play.recording.runs)
    _keep(play, "after", settings)
    type_("without", claude_plays.FIX)
    play.sweep()
    play.retro("memory", "list", "--json", runs=play.recording.runs)  # takes in what was handed out
    _keep(play, "changes", play.archive / "memories" / "events.jsonl")
    play.look("end")


def _hooked(play: Play, host: str, type_: Callable[[str], object]) -> None:
    """A session with the hooks, one without them, and what stood in the settings before, between and after."""
    play.sweep()
    play.env["RETRO_ROOT"] = str(play.archive)
    (state,) = json.loads(play.retro("hooks", host, "--json").printed)["hooks"]
    settings = Path(state["file"])
    _keep(play, "before", settings)
    play.retro("hooks", "install", host, runs=play.recording.runs)
    _keep(play, "between", settings)
    type_("with")
    _keep(play, "inbox", play.archive / "inbox" / INBOX)
    play.retro("hooks", "uninstall", host, runs=play.recording.runs)
    _keep(play, "after", settings)
    type_("without")
    _keep(play, "inbox-after", play.archive / "inbox" / INBOX)
    play.sweep()


def _keep(play: Play, name: str, file: Path) -> None:
    """Keep what is in a file at this moment."""
    if file.exists():
        (play.folder / name).write_bytes(file.read_bytes())
