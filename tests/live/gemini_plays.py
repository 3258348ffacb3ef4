"""Gemini CLI at work, with a key of no account."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Final

from live import clients
from live.model import Model
from live.play import PATIENCE_S, Play, wait_until
from live.recording import Ran
from live.script import Call, Deed, Lane, Reply

FIX: Final = "Please fix the failing test and commit it"
REMAINS: Final = "What remains to be done?"
AGENT: Final = "Let an agent look at it"
TASK: Final = "LOOK-AT-CALC and report"
FILL: Final = "Fill the context now"
CARRY_ON: Final = "Carry on after the compaction"
FAIL: Final = "Say something that will be refused"
STOP: Final = "Begin what will be interrupted"
SLOW: Final = "Begin what will never end"

MODEL: Final = "gemini-3.1-pro-preview"
FULL: Final = 0.0001
"""So much of a context counts as full in the session whose context is compacted."""

SUMMARY: Final = "<state_snapshot><overall_goal>mean() in calc.py was fixed</overall_goal></state_snapshot>"


def shell(command: str) -> Call:
    """Gemini runs a command."""
    return Call("run_shell_command", {"command": command, "description": "Run it"}, (Deed("command", command),))


def lanes(project: Path) -> list[Lane]:
    """What the model answers; the first lane that fits is taken."""
    calc, notes = str(project / "calc.py"), str(project / "NOTES.md")
    read = Call("read_file", {"file_path": calc}, (Deed("file_read", calc),))
    change = {"file_path": calc, "instruction": "Mend it", "old_string": "(len(xs) - 1)", "new_string": "len(xs)"}
    edit = Call("replace", change, (Deed("file_edit", calc),))
    write = Call("write_file", {"file_path": notes, "content": "mean() divides by len\n"}, (Deed("file_edit", notes),))
    agent = Call("invoke_agent", {"agent_name": "generalist", "prompt": TASK}, (Deed("subagent_start", TASK),))
    done = Call("complete_task", {"result": {"response": "The agent's report: all is well."}})
    return [
        Lane("state_snapshot", (Reply(SUMMARY),), repeat=True, aside=True),
        Lane("Summary (max 80 chars)", (Reply("Fix mean in calc"),), repeat=True, aside=True),
        Lane(TASK, (Reply(calls=(shell("cat calc.py"),)), Reply(calls=(done,)))),
        Lane(
            FIX,
            (
                Reply("I'll run the tests.", "**First** I must see the failure.", (shell("python -m pytest -q"), read)),
                Reply("The divisor is off by one.", calls=(edit,)),
                Reply(calls=(shell("python -m pytest -q"), write)),
                Reply(calls=(shell("git add -A && git commit -qm 'Fix mean' && echo committed-42"),)),
                Reply("Fixed mean() and committed it."),
            ),
        ),
        Lane(REMAINS, (Reply("Nothing remains."),)),
        Lane(AGENT, (Reply("I'll send one.", calls=(agent,)), Reply("The agent says that all is well."))),
        Lane(FILL, (Reply("Reading.", calls=(shell("seq 1 3000"),)), Reply("It is full."))),
        Lane(CARRY_ON, (Reply("Carrying on."),)),
        Lane(FAIL, (Reply("Refused on purpose", error=400),), repeat=True),
        Lane(STOP, (Reply("It starts.", calls=(shell("echo started"),)), Reply(held=True))),
        Lane(SLOW, (Reply("It begins.", calls=(shell("echo begun"),)), Reply(held=True))),
    ]


class Gemini(Play):
    """A play with Gemini CLI."""

    def __init__(self, folder: Path, model: Model) -> None:
        surroundings = {
            "GOOGLE_GEMINI_BASE_URL": model.url,
            "GEMINI_API_KEY": "of-no-account",
            "GEMINI_TELEMETRY_ENABLED": "false",
            "GEMINI_CLI_NO_RELAUNCH": "true",
        }
        super().__init__(folder, model, surroundings)
        self.data = self.home / ".gemini"
        self.data.mkdir()
        self.settings: dict[str, object] = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {
                "enableAutoUpdate": False,
                "enableAutoUpdateNotification": False,
                "sessionRetention": {"enabled": False},  # else it deletes at each start what it thinks is broken
            },
            "telemetry": {"enabled": False},
        }
        self.set()
        found = clients.program("gemini")
        assert found is not None
        self.gemini = ["node", str(found)]

    def set(self, **more: object) -> None:
        """Write the settings, and some more."""
        (self.data / "settings.json").write_text(json.dumps({**self.settings, **more}), "utf-8")

    def line(self, session: str, prompt: str) -> list[str]:
        """A command line that begins a session, or goes on with it."""
        known = self.recording.sessions.get(session)
        how = ["--resume", known] if known else []
        return [*self.gemini, "-m", MODEL, "--output-format", "json", "--yolo", "--skip-trust", *how, "-p", prompt]

    def type(self, session: str, prompt: str) -> Ran:
        """`gemini -p PROMPT`."""
        done = self.run(session, self.line(session, prompt))
        self.note(session)
        return done

    def note(self, session: str) -> None:
        """The id of the session that was begun last, if it was not known."""
        known = self.recording.sessions
        begun = [found for found in map(named, sorted(self.chats(), key=lambda file: file.stat().st_mtime_ns)) if found]
        new = [name for name in begun if name not in known.values()]
        if session not in known and new:
            known[session] = new[-1]

    def chats(self) -> list[Path]:
        """The files of all sessions."""
        return list(self.data.glob("tmp/*/chats/session-*.jsonl"))

    def has(self, prompt: str, words: str) -> bool:
        """Whether the session with this prompt has these words in it."""
        return any(prompt in text and words in text for text in (file.read_text("utf-8") for file in self.chats()))


def named(file: Path) -> str | None:
    """The id of the session in a file."""
    found = re.search(r'"sessionId":"([^"]+)"', file.read_text("utf-8"))
    return found[1] if found else None


def work(folder: Path, model: Model) -> None:
    """A day's work, with retro sweeping beside it."""
    with Gemini(folder, model) as play:
        with play.sweeping():
            play.type("work", FIX)
            play.type("work", REMAINS)
            play.type("work", AGENT)
            play.type("full", FILL)
            play.set(model={"compressionThreshold": FULL})
            play.type("full", CARRY_ON)
            play.set()
            play.type("failed", FAIL)
            for session, prompt, end in (("stopped", STOP, signal.SIGINT), ("killed", SLOW, signal.SIGKILL)):
                with play.killed(session, play.line(session, prompt), end):
                    model.wait_for(prompt, 1, PATIENCE_S)
                    wait_until(
                        lambda words=prompt: play.has(words, '"functionResponse"'),  # type: ignore[misc]
                        f"the result of the {session} session's command",
                    )
                play.note(session)
        play.look("end")
        play.copy("end", play.data)
