"""Codex at work, and Codex after its rollouts were deleted and restored."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Final

from live import clients
from live.model import Model
from live.play import Play, wait_until
from live.recording import Ran
from live.script import Call, Deed, Lane, Reply, code, edited, execute, patch

CODE_MODE: Final = "gpt-6-astra"
"""Its model writes JavaScript, in which the true calls stand."""
CLASSIC: Final = "gpt-5.5"
"""Its model calls tools by their names."""

FIX: Final = "Please fix the failing test and commit it"
REMAINS: Final = "What remains to be done?"
FORK: Final = "Take another way from here"
AGENT: Final = "Let an agent look at it"
TASK: Final = "LOOK-AT-CALC and report"
FILL: Final = "Fill the context now"
CARRY_ON: Final = "Carry on after the compaction"
FAIL: Final = "Say something that will be refused"
STOP: Final = "Begin what will be interrupted"
SLOW: Final = "Begin what will never end"
AFTER: Final = "What did we do before all was lost?"
AT_LAST: Final = "And after that?"

COMPACTED: Final = "Another language model started to solve this problem"
"""What Codex says instead of the old prompts, where it compacts in the middle of a turn."""
SUMMARY: Final = "The summary: mean() in calc.py was fixed and committed."
FULL: Final = 260_000
"""More than the context of any model holds."""

BODY: Final = """*** Begin Patch
*** Update File: calc.py
@@
 def mean(xs):
-    return sum(xs) / (len(xs) - 1)
+    return sum(xs) / len(xs)
*** Add File: NOTES.md
+mean() divides by len
*** End Patch"""
COMMIT: Final = "git add -A && git commit -qm 'Fix mean' && echo committed-$((6*7))"
TEST: Final = "python -m pytest -q"


def lanes(project: Path) -> list[Lane]:
    """What the model answers; the first lane that fits is taken."""
    calc, notes = str(project / "calc.py"), str(project / "NOTES.md")
    return [
        Lane("CONTEXT CHECKPOINT COMPACTION", (Reply(SUMMARY),), repeat=True, aside=True),
        Lane(
            FIX,
            (
                Reply("I'll run the tests.", "**Running the tests**", (run_in_code(TEST),)),
                Reply(
                    thinking="**Patching**",
                    calls=(code(f"text(await tools.apply_patch(`{BODY}`));\n", *edited(calc, notes)),),
                ),
                Reply(calls=(run_in_code(TEST, "git status --short"),)),
                Reply(calls=(run_in_code(COMMIT),)),
                Reply("Fixed mean() and committed it."),
            ),
            CODE_MODE,
        ),
        Lane(
            FIX,
            (
                Reply("I'll run the tests.", "**Running the tests**", (execute(TEST),)),
                Reply(calls=(patch(BODY, calc, notes),)),
                Reply(calls=(execute(TEST), execute("git status --short"))),
                Reply(calls=(execute(COMMIT),)),
                Reply("Fixed mean() and committed it."),
            ),
            CLASSIC,
        ),
        Lane(REMAINS, (Reply("Nothing remains."),)),
        Lane(FORK, (Reply("Another way it is.", calls=(run_in_code("echo forked"),)), Reply("Forked."))),
        Lane(TASK, (Reply(calls=(run_in_code("cat calc.py"),)), Reply("The agent's report: all is well."))),
        Lane(
            AGENT,
            (
                Reply("I'll send one.", calls=(spawn(),)),
                Reply(calls=(Call("wait_agent", {"timeout_ms": 30_000}, namespace="collaboration"),)),
                Reply("The agent says that all is well."),
            ),
        ),
        Lane(FILL, (Reply("Reading.", calls=(execute("seq 1 3000"),), full=FULL),)),
        Lane(COMPACTED, (Reply("It is full."),)),
        Lane(CARRY_ON, (Reply("Carrying on."),)),
        Lane(FAIL, (Reply("Refused on purpose", error=400),), repeat=True),
        Lane(STOP, (Reply("It starts.", calls=(execute("echo started"),)), Reply(held=True))),
        Lane(SLOW, (Reply("It begins.", calls=(execute("echo begun"),)), Reply(held=True))),
        Lane(AFTER, (Reply("We fixed mean().", calls=(run_in_code("echo remembered"),)), Reply("That is all I know."))),
        Lane(AT_LAST, (Reply("Nothing more."),)),
    ]


def run_in_code(*commands: str) -> Call:
    """Codex runs commands, one after the other, out of the model's JavaScript."""
    lines = [f"text((await tools.exec_command({{cmd: {json.dumps(command)}}})).output);\n" for command in commands]
    return code("".join(lines), *(Deed("command", command) for command in commands))


def spawn() -> Call:
    """Codex starts a sub-agent, which is told what was said before."""
    given = {"task_name": "look_at_calc", "message": TASK}
    return Call("spawn_agent", given, (Deed("subagent_start", TASK),), "collaboration")


def lane(words: str, model: str, project: Path = Path()) -> Lane:
    """The lane of a prompt to a model."""
    return next(one for one in lanes(project) if one.words == words and one.model in model)


CONFIG: Final = """model_provider = "scripted"
check_for_update_on_startup = false
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
[projects."{project}"]
trust_level = "trusted"
"""


class Codex(Play):
    """A play with Codex."""

    def __init__(self, folder: Path, model: Model) -> None:
        super().__init__(folder, model, {"SCRIPTED_KEY": "of-no-account"})
        self.data = self.home / ".codex"
        self.data.mkdir()
        (self.data / "config.toml").write_text(CONFIG.format(url=model.url, project=self.project), "utf-8")
        found = clients.program("codex")
        assert found is not None
        self.codex = str(found)

    def line(self, model: str, *words: str, verb: tuple[str, ...] = ()) -> list[str]:
        """A command line of `codex exec`."""
        return [self.codex, "exec", *verb, "--json", "--dangerously-bypass-approvals-and-sandbox", "-m", model, *words]

    def type(self, session: str, model: str, prompt: str, *, verb: str = "", of: str = "") -> Ran:
        """`codex exec [resume|fork ID] PROMPT`, and note the id of the thread that it gives."""
        thread = [self.recording.sessions[of]] if of else []
        ran = self.run(session, self.line(model, *thread, prompt, verb=(verb,) if verb else ()))
        found = thread_id(ran.printed)
        if found is None:
            raise RuntimeError(f"codex printed no thread: {ran}")
        self.recording.sessions[session] = found
        return ran

    def resume(self, session: str, model: str, prompt: str) -> Ran:
        """`codex exec resume ID PROMPT`."""
        return self.type(session, model, prompt, verb="resume", of=session)

    def end(self, session: str, prompt: str, how: signal.Signals, result: bytes) -> None:
        """Begin a thread, and end the client when the result of its command is written."""
        with self.killed(session, self.line(CLASSIC, prompt), how):
            self.model.wait_for(prompt, 1, 120)
            printed = (self.folder / f"{session}.txt").read_text("utf-8")
            thread = self.recording.sessions[session] = thread_id(printed) or ""
            wait_until(
                lambda: any(thread in file.name and result in file.read_bytes() for file in self.rollouts()),
                f"the result of the {session} thread's command",
            )

    def agent_of(self, session: str) -> str:
        """The thread of the sub-agent that a thread started."""
        began = (json.loads(file.read_bytes().partition(b"\n")[0])["payload"] for file in self.rollouts())
        of = self.recording.sessions[session]
        return next(str(meta["id"]) for meta in began if meta.get("parent_thread_id") == of)

    def rollouts(self) -> list[Path]:
        """The files of threads."""
        return sorted((self.data / "sessions").rglob("*.jsonl"))


def thread_id(printed: str) -> str | None:
    """The thread that `codex exec --json` says it works on."""
    for line in printed.splitlines():
        if line.startswith('{"type":"thread.started"'):
            return str(json.loads(line)["thread_id"])
    return None


def work(folder: Path, model: Model) -> None:
    """A day's work, with retro sweeping beside it."""
    with Codex(folder, model) as play:
        with play.sweeping():
            play.type("code", CODE_MODE, FIX)
            play.resume("code", CODE_MODE, REMAINS)
            play.type("fork", CODE_MODE, FORK, verb="fork", of="code")
            play.break_again()
            play.type("classic", CLASSIC, FIX)
            play.resume("classic", CLASSIC, FILL)
            play.resume("classic", CLASSIC, CARRY_ON)
            play.type("failed", CLASSIC, FAIL)
            play.type("led", CODE_MODE, AGENT)
            play.recording.sessions["agent"] = play.agent_of("led")
            play.end("stopped", STOP, signal.SIGINT, b"started\\n")
            play.end("killed", SLOW, signal.SIGKILL, b"begun\\n")
        play.look("end")
        play.copy("end", play.data)


def restored(folder: Path, model: Model) -> None:
    """A thread's rollout is deleted, later Codex's databases too; retro gives it back; Codex goes on with it."""
    with Codex(folder, model) as play:
        play.type("code", CODE_MODE, FIX)
        play.resume("code", CODE_MODE, REMAINS)
        play.sweep()
        play.look("before")
        play.copy("before", play.data)
        for rollout in play.rollouts():
            rollout.unlink()
        play.sweep()
        play.copy("deleted", play.data)
        play.restore("codex", "code")
        play.copy("restored", play.data)
        play.resume("code", CODE_MODE, AFTER)
        play.copy("resumed", play.data)
        play.sweep()
        play.look("between")
        for file in (*play.rollouts(), *play.data.glob("*.sqlite*")):
            file.unlink()
        play.restore("codex", "code")
        play.resume("code", CODE_MODE, AT_LAST)
        play.sweep()
        play.look("after")
        play.sweep()
