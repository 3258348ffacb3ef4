"""Claude Code at work, and Claude Code after its sessions were deleted and restored."""

from __future__ import annotations

import json
import os
import signal
import time
import uuid
from pathlib import Path
from typing import Final

from live import clients
from live.model import Model
from live.play import Play, wait_until
from live.recording import Ran
from live.script import Call, Deed, Lane, Reply, bash, edit, read, write

FIX: Final = "Please fix the failing test and commit it"
REMAINS: Final = "What remains to be done?"
AGENT: Final = "Let an agent look at it"
TASK: Final = "LOOK-AT-CALC and report"
FORK: Final = "Take another way from here"
COMPACT: Final = "/compact keep the names of files"
CARRY_ON: Final = "Carry on after the compaction"
FAIL: Final = "Say something while the model is overloaded"
STOP: Final = "Begin what will be interrupted"
SLOW: Final = "Begin what will never end"
AFTER: Final = "What did we do before all was lost?"
OTHER: Final = "Something else entirely"

SUMMARY: Final = "<summary>\n1. Primary request: mean() in calc.py was to be fixed.\n2. It is committed.\n</summary>"
WAIT: Final = "for _ in $(seq 200); do [ -e ~/.claude/.last-cleanup ] && break; sleep 0.1; done; sleep 1"
OLD_S: Final = 60 * 86400
"""Claude Code deletes what was not used for 30 days."""


def lanes(project: Path) -> list[Lane]:
    """What the model answers; the first lane that fits is taken."""
    calc, notes = str(project / "calc.py"), str(project / "NOTES.md")
    again = "python -m pytest -q"
    agent = {
        "description": "Look at calc",
        "prompt": TASK,
        "subagent_type": "general-purpose",
        "run_in_background": False,
    }
    return [
        Lane("Your task is to create a detailed summary", (Reply(SUMMARY),), repeat=True, aside=True),
        Lane(
            FIX,
            (
                Reply("I'll run the tests.", "First I must see the failure.", (bash("python -m pytest -q"),)),
                Reply(calls=(read(calc),)),
                Reply("The divisor is off by one.", calls=(edit(calc, "(len(xs) - 1)", "len(xs)"),)),
                Reply(calls=(bash(again), write(notes, "mean() divides by len\n"))),
                Reply(calls=(bash("git add -A && git commit -qm 'Fix mean' && echo committed-$((6*7))"),)),
                Reply("Fixed mean() and committed it."),
            ),
        ),
        Lane(REMAINS, (Reply("Nothing remains."),)),
        Lane(TASK, (Reply(calls=(bash("cat calc.py"),)), Reply("The agent's report: all is well."))),
        Lane(
            AGENT,
            (
                Reply("I'll send one.", calls=(Call("Agent", agent, (Deed("subagent_start", TASK),)),)),
                Reply("The agent says that all is well."),
            ),
        ),
        Lane(FORK, (Reply("Another way it is.", calls=(bash("echo forked"),)), Reply("Forked."))),
        Lane(CARRY_ON, (Reply("Carrying on."),)),
        Lane(FAIL, (Reply("Overloaded", error=529),), repeat=True),
        Lane(STOP, (Reply("It starts.", calls=(bash("echo started"),)), Reply(held=True))),
        Lane(SLOW, (Reply("It begins.", calls=(bash("echo begun"),)), Reply(held=True))),
        Lane(AFTER, (Reply("We fixed mean().", calls=(bash("echo remembered"),)), Reply("That is all I know."))),
        Lane(
            OTHER,
            (Reply(calls=(bash(WAIT),)), Reply("Something else."), Reply(calls=(bash(WAIT),)), Reply("And again.")),
        ),
    ]


def lane(words: str, project: Path = Path()) -> Lane:
    """The lane of a prompt."""
    return next(one for one in lanes(project) if one.words == words)


class Claude(Play):
    """A play with Claude Code."""

    def __init__(self, folder: Path, model: Model) -> None:
        super().__init__(
            folder,
            model,
            {
                "ANTHROPIC_BASE_URL": model.url,
                "ANTHROPIC_API_KEY": "of-no-account",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "CLAUDE_CODE_MAX_RETRIES": "1",
                "DISABLE_AUTOUPDATER": "1",
                "DISABLE_TELEMETRY": "1",
                "IS_SANDBOX": "1",
            },
        )
        self.data = self.home / ".claude"
        self.cleaned = self.data / ".last-cleanup"
        found = clients.program("claude")
        assert found is not None
        self.claude = [str(found), "--dangerously-skip-permissions"]

    def type(self, session: str, prompt: str, *options: str) -> Ran:
        """`claude -p`, and note the id of the session that it gives."""
        ran = self.run(session, [*self.claude, "--output-format", "json", "-p", prompt, *options])
        try:
            self.recording.sessions[session] = json.loads(ran.printed)["session_id"]
        except (ValueError, KeyError) as error:
            raise RuntimeError(f"claude printed no session: {ran}") from error
        return ran

    def resume(self, session: str, prompt: str, *options: str) -> Ran:
        """`claude --resume ID -p`."""
        return self.type(session, prompt, "--resume", self.recording.sessions[session], *options)

    def end(self, session: str, prompt: str, how: signal.Signals, result: bytes) -> None:
        """Begin a session, and end the client when the result of its command is written."""
        name = self.recording.sessions[session] = str(uuid.uuid4())
        with self.killed(session, [*self.claude, "--session-id", name, "-p", prompt], how):
            self.model.wait_for(prompt, 1, 120)
            wait_until(
                lambda: any(name in file.name and result in file.read_bytes() for file in self.transcripts()),
                f"the result of the {session} session's command",
            )

    def transcripts(self) -> list[Path]:
        """The files of sessions, agents' among them."""
        return sorted((self.data / "projects").rglob("*.jsonl"))


def work(folder: Path, model: Model) -> None:
    """A day's work, with retro sweeping beside it."""
    with Claude(folder, model) as play:
        with play.sweeping():
            play.type("work", FIX)
            play.resume("work", REMAINS)
            play.resume("work", AGENT)
            fork = play.run(
                "fork",
                [
                    *play.claude,
                    "--output-format",
                    "json",
                    "-p",
                    FORK,
                    "--fork-session",
                    "--resume",
                    play.recording.sessions["work"],
                ],
            )
            play.recording.sessions["fork"] = json.loads(fork.printed)["session_id"]
            play.resume("work", COMPACT)
            play.resume("work", CARRY_ON)
            play.type("failed", FAIL)
            play.end("stopped", STOP, signal.SIGINT, b'"started"')
            play.end("killed", SLOW, signal.SIGKILL, b'"begun"')
        play.look("end")
        play.copy("end", play.data)


def restored(folder: Path, model: Model) -> None:
    """Claude Code itself deletes an old session; retro gives it back; Claude Code goes on with it."""
    with Claude(folder, model) as play:
        play.type("work", FIX)
        play.resume("work", AGENT)
        past = time.time() - OLD_S
        for file in play.data.rglob("*"):
            os.utime(file, (past, past))
        play.sweep()
        play.look("before")
        play.copy("before", play.data)
        clean_up(play)
        play.copy("deleted", play.data)
        play.sweep()
        play.restore("claude", "work")
        play.copy("restored", play.data)
        clean_up(play)
        play.copy("kept", play.data)
        play.restore("claude", "work")
        play.resume("work", AFTER)
        play.copy("resumed", play.data)
        play.sweep()
        play.look("after")
        play.sweep()


def clean_up(play: Claude) -> None:
    """Claude Code deletes old sessions a few seconds into one that works long enough, once a day."""
    play.cleaned.unlink(missing_ok=True)
    play.type("other", OTHER)
    if not play.cleaned.exists():
        raise RuntimeError("Claude Code did not clean up")
