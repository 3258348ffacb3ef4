"""Grok Build at work, without an account: its model is one of the user's own."""

from __future__ import annotations

import signal
import uuid
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
FORK: Final = "Take another way from here"
COMPACT: Final = "/compact"
CARRY_ON: Final = "Carry on after the compaction"
FAIL: Final = "Say something that will be refused"
STOP: Final = "Begin what will be interrupted"
SLOW: Final = "Begin what will never end"

SUMMARY: Final = (
    "The summary: mean() in calc.py divided by one less than it should; this was mended, tested and committed. "
)
TITLE: Final = Call("session_title", {"session_title": "Fix mean"})

CONFIG: Final = """[models]
default = "scripted"
[model.scripted]
model = "scripted"
base_url = "{url}/v1"
api_key = "of-no-account"
api_backend = "responses"
context_window = 200000
"""


def shell(command: str) -> Call:
    """Grok runs a command."""
    return Call("run_terminal_command", {"command": command, "description": "Run it"}, (Deed("command", command),))


def lanes(project: Path) -> list[Lane]:
    """What the model answers; the first lane that fits is taken."""
    read = Call("read_file", {"target_file": "calc.py"}, (Deed("file_read", "calc.py"),))
    change = {"file_path": "calc.py", "old_string": "(len(xs) - 1)", "new_string": "len(xs)"}
    edit = Call("search_replace", change, (Deed("file_edit", "calc.py"),))
    write = Call(
        "write", {"file_path": "NOTES.md", "content": "mean() divides by len\n"}, (Deed("file_edit", "NOTES.md"),)
    )
    agent = {"description": "Look at calc", "prompt": TASK, "background": False}
    return [
        Lane("produce your summary", (Reply(f"<summary>{SUMMARY * 8}</summary>"),), repeat=True, aside=True),
        Lane("invent content", (Reply("And now?"),), repeat=True, aside=True),
        Lane("respond with plain text only", (Reply("Nothing remains."),), repeat=True, aside=True),
        Lane("<user_query>", (Reply(calls=(TITLE,)),), repeat=True, aside=True, tool="session_title"),
        Lane(TASK, (Reply(calls=(shell("cat calc.py"),)), Reply("The agent's report: all is well."))),
        Lane(
            FIX,
            (
                Reply("I'll run the tests.", "First I must see the failure.", (shell("python -m pytest -q"),)),
                Reply(calls=(read,)),
                Reply("The divisor is off by one.", calls=(edit,)),
                Reply(calls=(shell("python -m pytest -q"), write)),
                Reply(calls=(shell("git add -A && git commit -qm 'Fix mean' && echo committed-$((6*7))"),)),
                Reply("Fixed mean() and committed it."),
            ),
        ),
        Lane(REMAINS, (Reply("Nothing remains."),)),
        Lane(
            AGENT,
            (
                Reply("I'll send one.", calls=(Call("spawn_subagent", agent, (Deed("subagent_start", TASK),)),)),
                Reply("The agent says that all is well."),
            ),
        ),
        Lane(FORK, (Reply("Another way it is.", calls=(shell("echo forked"),)), Reply("Forked."))),
        Lane(CARRY_ON, (Reply("Carrying on."),)),
        Lane(FAIL, (Reply("Refused on purpose", error=400),), repeat=True),
        Lane(STOP, (Reply("It starts.", calls=(shell("echo started"),)), Reply(held=True))),
        Lane(SLOW, (Reply("It begins.", calls=(shell("echo begun"),)), Reply(held=True))),
    ]


class Grok(Play):
    """A play with Grok Build."""

    def __init__(self, folder: Path, model: Model) -> None:
        quiet = {
            "GROK_TELEMETRY_ENABLED": "false",
            "GROK_DISABLE_AUTOUPDATER": "1",
            "GROK_TELEMETRY_TRACE_UPLOAD": "0",
        }
        super().__init__(folder, model, quiet)
        self.data = self.home / ".grok"
        self.data.mkdir()
        (self.data / "config.toml").write_text(CONFIG.format(url=model.url), "utf-8")
        found = clients.program("grok")
        assert found is not None
        self.grok = str(found)

    def line(self, session: str, prompt: str, *, of: str = "") -> list[str]:
        """A command line that begins a session, goes on with it, or forks it."""
        old = self.recording.sessions.get(of or session)
        name = self.recording.sessions.setdefault(session, str(uuid.uuid4()))
        how = ["--session-id", name]
        if old is not None:
            how = ["--resume", old, *(["--fork-session", "--session-id", name] if of else [])]
        return [self.grok, "--always-approve", "--output-format", "json", *how, "-p", prompt]

    def type(self, session: str, prompt: str, *, of: str = "") -> Ran:
        """`grok -p PROMPT`."""
        return self.run(session, self.line(session, prompt, of=of))

    def has(self, session: str, words: bytes) -> bool:
        """Whether a session's log has these words."""
        found = (self.data / "sessions").glob(f"*/{self.recording.sessions[session]}/updates.jsonl")
        return any(words in file.read_bytes() for file in found)


def work(folder: Path, model: Model) -> None:
    """A day's work, with retro sweeping beside it."""
    with Grok(folder, model) as play:
        with play.sweeping():
            play.type("work", FIX)
            play.type("work", REMAINS)
            play.type("work", AGENT)
            play.type("fork", FORK, of="work")
            play.type("work", COMPACT)
            play.type("work", CARRY_ON)
            play.type("failed", FAIL)
            for session, prompt, end in (("stopped", STOP, signal.SIGINT), ("killed", SLOW, signal.SIGKILL)):
                with play.killed(session, play.line(session, prompt), end):
                    model.wait_for(prompt, 1, PATIENCE_S)
                    wait_until(
                        lambda name=session: play.has(name, b'"tool_call"'),  # type: ignore[misc]
                        f"the command of the {session} session",  # its result is written with the next answer
                    )
        play.look("end")
        play.copy("end", play.data)
