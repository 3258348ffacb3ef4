"""The real clients with hooks of ours in their settings, and without them again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from live import claude_plays, codex_plays, copilot_plays, gemini_plays
from live.model import Model
from live.play import Play

INBOX = "ended.jsonl"


def claude(folder: Path, model: Model) -> None:
    """Claude Code."""
    with claude_plays.Claude(folder, model) as play:
        (play.data / "settings.json").parent.mkdir(exist_ok=True)
        (play.data / "settings.json").write_text('{\n\t"cleanupPeriodDays": 90\n}\n', "utf-8")
        _hooked(play, "claude", lambda session: play.type(session, claude_plays.REMAINS))


def codex(folder: Path, model: Model) -> None:
    """Codex, which runs no hook that nobody trusts, unless it is told to."""
    with codex_plays.Codex(folder, model) as play:

        def type_(session: str) -> None:
            line = play.line(codex_plays.CLASSIC, "--dangerously-bypass-hook-trust", codex_plays.REMAINS)
            thread = codex_plays.thread_id(play.run(session, line).printed)
            play.recording.sessions[session] = thread or ""

        _hooked(play, "codex", type_)


def copilot(folder: Path, model: Model) -> None:
    """Copilot CLI."""
    with copilot_plays.Copilot(folder, model) as play:
        play.data.mkdir()
        (play.data / "settings.json").write_text('{"theme": "dark"}', "utf-8")
        _hooked(play, "copilot", lambda session: play.type(session, copilot_plays.REMAINS))


def gemini(folder: Path, model: Model) -> None:
    """Gemini CLI."""
    with gemini_plays.Gemini(folder, model) as play:
        _hooked(play, "gemini", lambda session: play.type(session, gemini_plays.REMAINS))


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
