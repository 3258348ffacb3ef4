"""OpenCode at work, without an account: its model is one of the user's own."""

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
REMAINS: Final = 'What remains of "calc" to be done?'
AGENT: Final = "Let an agent look at it"
TASK: Final = "LOOK-AT-CALC and report"
FORK: Final = "Take another way from here"
FILL: Final = "Fill the context now"
FAIL: Final = "Say something that will be refused"
STOP: Final = "Begin what will be interrupted"
SLOW: Final = "Begin what will never end"

CONTEXT: Final = 200_000
FULL: Final = 195_000
CONTINUE: Final = "Continue if you have next steps"
"""What the client itself says after a compaction."""

SUMMARY: Final = "## Goal\nmean() in calc.py was to be fixed; it is."


def bash(command: str) -> Call:
    """OpenCode runs a command."""
    return Call("bash", {"command": command, "description": "Run it"}, (Deed("command", command),))


def lanes(project: Path) -> list[Lane]:
    """What the model answers; the first lane that fits is taken."""
    calc, notes = str(project / "calc.py"), str(project / "NOTES.md")
    read = Call("read", {"filePath": calc}, (Deed("file_read", calc),))
    change = {"filePath": calc, "oldString": "(len(xs) - 1)", "newString": "len(xs)"}
    edit = Call("edit", change, (Deed("file_edit", calc),))
    write = Call("write", {"filePath": notes, "content": "mean() divides by len\n"}, (Deed("file_edit", notes),))
    given = {"description": "Look at calc", "prompt": TASK, "subagent_type": "general"}
    agent = Call("task", given, (Deed("subagent_start", TASK),))
    return [
        Lane("summary", (Reply(SUMMARY),), repeat=True, aside=True),
        Lane(TASK, (Reply(calls=(bash("cat calc.py"),)), Reply("The agent's report: all is well."))),
        Lane(
            FIX,
            (
                Reply("I'll run the tests.", "First I must see the failure.", (bash("python -m pytest -q"), read)),
                Reply("The divisor is off by one.", calls=(edit,)),
                Reply(calls=(bash("python -m pytest -q"), write)),
                Reply(calls=(bash("git add -A && git commit -qm 'Fix mean' && echo committed-$((6*7))"),)),
                Reply("Fixed mean() and committed it."),
            ),
        ),
        Lane("What remains of", (Reply("Nothing remains."),)),
        Lane(AGENT, (Reply("I'll send one.", calls=(agent,)), Reply("The agent says that all is well."))),
        Lane(FORK, (Reply("Another way it is.", calls=(bash("echo forked"),)), Reply("Forked."))),
        Lane(FILL, (Reply("Reading.", calls=(bash("seq 1 3000"),), full=FULL),)),
        Lane(CONTINUE, (Reply("Carrying on."),)),
        Lane(FAIL, (Reply("Refused on purpose", error=400),), repeat=True),
        Lane(STOP, (Reply("It starts.", calls=(bash("echo started"),)), Reply(held=True))),
        Lane(SLOW, (Reply("It begins.", calls=(bash("echo begun"),)), Reply(held=True))),
    ]


class OpenCode(Play):
    """A play with OpenCode."""

    def __init__(self, folder: Path, model: Model) -> None:
        quiet = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
        super().__init__(folder, model, {f"OPENCODE_DISABLE_{name}": "1" for name in quiet})
        self.data = self.home / ".local" / "share" / "opencode"
        config = self.home / ".config" / "opencode"
        config.mkdir(parents=True)
        scripted = {
            "name": "Scripted",
            "tool_call": True,
            "reasoning": True,
            "limit": {"context": CONTEXT, "output": 8192},
        }
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "own",
            "options": {"baseURL": f"{model.url}/v1", "apiKey": "of-no-account"},
            "models": {"scripted": scripted},
        }
        settings = {
            "autoupdate": False,
            "share": "disabled",
            "model": "own/scripted",
            "small_model": "own/scripted",
            "permission": {"bash": "allow", "edit": "allow"},
            "provider": {"own": provider},
        }
        (config / "opencode.json").write_text(json.dumps(settings), "utf-8")
        found = clients.program("opencode")
        assert found is not None
        self.opencode = str(found)

    def line(self, session: str, prompt: str, *, of: str = "") -> list[str]:
        """A command line that begins a session, goes on with it, or forks it."""
        old = self.recording.sessions.get(of or session)
        how = ["--session", old, *(["--fork"] if of else [])] if old else ["--title", f"The {session} session"]
        return [self.opencode, "run", "--format", "json", *how, prompt]

    def type(self, session: str, prompt: str, *, of: str = "") -> Ran:
        """`opencode run PROMPT`."""
        done = self.run(session, self.line(session, prompt, of=of))
        self.note(session, done.printed)
        return done

    def note(self, session: str, printed: str) -> None:
        """The session's id, as the client printed it."""
        found = re.search(r'"sessionID":"([^"]+)"', printed)
        if found:
            self.recording.sessions.setdefault(session, found[1])

    def printed(self, session: str) -> str:
        """What a client that still runs has printed so far."""
        return (self.folder / f"{session}.txt").read_text("utf-8", "replace")


def work(folder: Path, model: Model) -> None:
    """A day's work, with retro sweeping beside it."""
    with OpenCode(folder, model) as play:
        with play.sweeping():
            play.type("work", FIX)
            play.type("work", REMAINS)
            play.type("work", AGENT)
            play.type("fork", FORK, of="work")
            play.type("full", FILL)
            play.type("failed", FAIL)
            for session, prompt, end in (("stopped", STOP, signal.SIGINT), ("killed", SLOW, signal.SIGKILL)):
                with play.killed(session, play.line(session, prompt), end):
                    model.wait_for(prompt, 1, PATIENCE_S)
                    wait_until(
                        lambda name=session: '"tool_use"' in play.printed(name),  # type: ignore[misc]
                        f"the result of the {session} session's command",
                    )
                play.note(session, play.printed(session))
        play.look("end")
        play.copy("end", play.data)
