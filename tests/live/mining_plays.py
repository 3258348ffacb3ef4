"""The real clients, asked by retro what a session of theirs teaches."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

import retro
from live import claude_plays, codex_plays
from live.model import Model
from live.play import Play
from live.script import Call, Lane, Reply

ASKED: Final = "the record of a finished session"
TEST: Final = "python -m pytest -q"


def lesson(says: str, event: str, quote: str) -> dict[str, object]:
    """One as a model gives it."""
    return {
        "kind": "command",
        "lesson": says,
        "when_to_use": "the tests are to be run",
        "do_not_use_when": "nothing is to be tested",
        "confidence": 0.9,
        "risk": "low",
        "evidence": [{"event": event, "quote": quote}],
    }


ANSWER: Final = {
    "lessons": [
        lesson(f"The tests are run with `{TEST}`.", "e1", "fix the failing test"),
        lesson("The tests are run with `make nonsense`.", "e1", "fix the failing test"),
        lesson("Something that nothing proves.", "e999", ""),
        lesson("Something that is quoted wrongly.", "e1", "words that nobody said"),
    ]
}
"""The first holds; the others are made up."""

GIVEN: Final = "The tests are run with `python -m pytest -q`."


def claude_lanes(project: Path) -> list[Lane]:
    """The fix, and the question: Claude Code has its answer given by a tool of that form."""
    structured = Reply(calls=(Call("StructuredOutput", ANSWER),))
    return [Lane(ASKED, (structured, Reply("Done."))), *claude_plays.lanes(project)]


def codex_lanes(project: Path) -> list[Lane]:
    """The fix, and the question, answered by a text of that form."""
    return [Lane(ASKED, (Reply(json.dumps(ANSWER)),)), *codex_plays.lanes(project)]


def claude(folder: Path, model: Model) -> None:
    """A session of Claude Code, and Claude Code asked about it."""
    with claude_plays.Claude(folder, model) as play:
        play.type("work", claude_plays.FIX)
        _ask(play, "claude", play.claude[0])


def codex(folder: Path, model: Model) -> None:
    """A thread of Codex, and Codex asked about it."""
    with codex_plays.Codex(folder, model) as play:
        play.type("work", codex_plays.CLASSIC, codex_plays.FIX)
        _ask(play, "codex", play.codex)


def _ask(play: Play, host: str, program: str) -> None:
    """Sweep, ask twice, and sweep again: what was asked must leave no session of its own."""
    (play.home / "bin").mkdir()
    (play.home / "bin" / host).symlink_to(program)
    play.sweep()
    source = str(Path(retro.__file__).parents[1])
    path = f"{play.home / 'bin'}:{play.env['PATH']}"
    env = {**play.env, "PATH": path, "PYTHONPATH": source, "RETRO_ROOT": str(play.archive)}
    line = [sys.executable, "-m", "retro", "mine", host, play.recording.sessions["work"], "--json"]
    for more in (["--dry-run-prompts"], [], []):
        play._ran(play.recording.runs, "asked", [*line, "--method", f"{host}_headless", *more], env)
    play.sweep()
    play.look("end")
