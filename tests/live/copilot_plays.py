"""GitHub Copilot CLI at work, without an account: it talks to a provider of one's own."""

from __future__ import annotations

import signal
import uuid
from pathlib import Path
from typing import Final

from live import clients
from live.model import Model
from live.play import PATIENCE_S, Play, wait_until
from live.recording import Ran
from live.script import Call, Deed, Lane, Reply, edited

FIX: Final = "Please fix the failing test and commit it"
REMAINS: Final = "What remains to be done?"
AGENT: Final = "Let an agent look at it"
TASK: Final = "LOOK-AT-CALC and report"
COMPACT: Final = "/compact"
CARRY_ON: Final = "Carry on after the compaction"
FILL: Final = "Fill the context now"
FAIL: Final = "Say something that will be refused"
STOP: Final = "Begin what will be interrupted"
SLOW: Final = "Begin what will never end"

SUMMARY: Final = """<overview>mean() was fixed.</overview>
<history>Committed.</history>
<checkpoint_title>Fix mean</checkpoint_title>"""
FULL: Final = 60_000
LIMIT: Final = 64_000
"""So many tokens the model is said to take in the session that fills its context."""

BODY: Final = """*** Begin Patch
*** Update File: {calc}
@@
 def mean(xs):
-    return sum(xs) / (len(xs) - 1)
+    return sum(xs) / len(xs)
*** Add File: {notes}
+mean() divides by len
*** End Patch
"""


def shell(command: str) -> Call:
    """Copilot runs a command."""
    return Call("bash", {"command": command, "description": "Run it"}, (Deed("command", command),))


def lanes(project: Path) -> list[Lane]:
    """What the model answers; the first lane that fits is taken."""
    calc, notes = str(project / "calc.py"), str(project / "NOTES.md")
    agent = {
        "description": "Look at calc",
        "prompt": TASK,
        "agent_type": "general-purpose",
        "name": "reviewer",
        "mode": "sync",
    }
    body = BODY.format(calc=calc, notes=notes)
    view = Call("view", {"path": calc}, (Deed("file_read", calc),))
    return [
        Lane("respond only with the summary text", (Reply(SUMMARY),), repeat=True, aside=True),
        Lane(TASK, (Reply(calls=(shell("cat calc.py"),)), Reply("The agent's report: all is well."))),
        Lane(
            FIX,
            (
                Reply("I'll run the tests.", "First I must see the failure.", (shell("python -m pytest -q"), view)),
                Reply("The divisor is off by one.", calls=(Call("apply_patch", body, edited(calc, notes)),)),
                Reply(calls=(shell("python -m pytest -q"),)),
                Reply(calls=(shell("git add -A && git commit -qm 'Fix mean' && echo committed-$((6*7))"),)),
                Reply("Fixed mean() and committed it."),
            ),
        ),
        Lane(REMAINS, (Reply("Nothing remains."),)),
        Lane(
            AGENT,
            (
                Reply("I'll send one.", calls=(Call("task", agent, (Deed("subagent_start", TASK),)),)),
                Reply("The agent says that all is well."),
            ),
        ),
        Lane(CARRY_ON, (Reply("Carrying on."),)),
        Lane(
            FILL,
            (
                Reply("Reading.", calls=(shell("seq 1 3000"),), full=FULL),
                Reply(calls=(shell("sleep 1"),)),  # else the turn ends before the compaction, which is then cancelled
                Reply("It is full."),
            ),
        ),
        Lane(FAIL, (Reply("Refused on purpose", error=400),), repeat=True),
        Lane(STOP, (Reply("It starts.", calls=(shell("echo started"),)), Reply(held=True))),
        Lane(SLOW, (Reply("It begins.", calls=(shell("echo begun"),)), Reply(held=True))),
    ]


class Copilot(Play):
    """A play with Copilot CLI."""

    def __init__(self, folder: Path, model: Model) -> None:
        super().__init__(
            folder,
            model,
            {
                "COPILOT_OFFLINE": "true",
                "COPILOT_PROVIDER_BASE_URL": f"{model.url}/v1",
                "COPILOT_PROVIDER_API_KEY": "of-no-account",
                "COPILOT_PROVIDER_WIRE_API": "responses",
                "COPILOT_MODEL": "gpt-5.4",
                "COPILOT_AUTO_UPDATE": "false",
                "COPILOT_ALLOW_ALL": "true",
            },
        )
        self.data = self.home / ".copilot"
        found = clients.program("copilot")
        assert found is not None
        self.copilot = str(found)

    def line(self, session: str, prompt: str) -> list[str]:
        """A command line that begins a session, or goes on with it."""
        option = "--resume" if session in self.recording.sessions else "--session-id"
        name = self.recording.sessions.setdefault(session, str(uuid.uuid4()))
        return [self.copilot, "--allow-all", f"{option}={name}", "--output-format", "json", "-p", prompt]

    def type(self, session: str, prompt: str) -> Ran:
        """`copilot -p PROMPT`."""
        return self.run(session, self.line(session, prompt))

    def has(self, session: str, words: bytes) -> bool:
        """Whether a session's file has these words."""
        file = self.data / "session-state" / self.recording.sessions[session] / "events.jsonl"
        return file.exists() and words in file.read_bytes()


def work(folder: Path, model: Model) -> None:
    """A day's work, with retro sweeping beside it."""
    with Copilot(folder, model) as play:
        with play.sweeping():
            play.type("work", FIX)
            play.type("work", REMAINS)
            play.type("work", AGENT)
            play.type("work", COMPACT)
            play.type("work", CARRY_ON)
            play.env["COPILOT_PROVIDER_MAX_PROMPT_TOKENS"] = str(LIMIT)
            play.type("full", FILL)
            del play.env["COPILOT_PROVIDER_MAX_PROMPT_TOKENS"]
            play.type("failed", FAIL)
            for session, prompt, end in (("stopped", STOP, signal.SIGINT), ("killed", SLOW, signal.SIGKILL)):
                with play.killed(session, play.line(session, prompt), end):
                    model.wait_for(prompt, 1, PATIENCE_S)
                    wait_until(
                        lambda name=session: play.has(name, b"tool.execution_complete"),  # type: ignore[misc]
                        f"the result of the {session} session's command",
                    )
        play.look("end")
        play.copy("end", play.data)
