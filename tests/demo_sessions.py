"""Writes the bundled demo sessions: small invented ones, in the records that Claude Code 2.1 writes.

They show a user what their own data would look like, and they are fixtures for the tests, so between them they hold
most kinds of record. Everything is computed from the text below: running this again gives the same bytes.

    python tests/demo_sessions.py
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TypeAlias, cast

Record: TypeAlias = dict[str, object]

HOME = "/home/demo"
TIDEBOOK = f"{HOME}/code/tidebook"
GARDENLOG = f"{HOME}/code/gardenlog"

FIX = "3b6f0c1e-52d8-4c0a-9a67-0e5d1f7b2a41"
AGENTS = "8c41d7a9-0f3e-4b52-8d16-6a2be90c7f35"
COMPACTED = "5e92b3f0-71c4-4d8b-b0a3-c9d4f1e86a27"
ERRORS = "a7d03c64-e8b1-4f29-93d5-2f70b6c1d8e4"
LEAK = "c2f815db-4a96-4e03-8b7c-d13e5a0f9642"
PLAN = "e94a6b27-3d05-4718-a2fc-785b1c40de93"

BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@dataclass(frozen=True)
class Tokens:
    """What one model request took."""

    output: int
    read: int = 0
    write_5m: int = 0
    write_1h: int = 0
    input: int = 4

    def as_usage(self, output: int, old: bool) -> Record:
        usage: Record = {
            "input_tokens": self.input,
            "cache_creation_input_tokens": self.write_5m + self.write_1h,
            "cache_read_input_tokens": self.read,
            "output_tokens": output,
            "service_tier": "standard",
            "cache_creation": {
                "ephemeral_1h_input_tokens": self.write_1h,
                "ephemeral_5m_input_tokens": self.write_5m,
            },
        }
        if old:
            return usage | {"inference_geo": "not_available"}
        return usage | {
            "output_tokens_details": {"thinking_tokens": 0},
            "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
            "inference_geo": "",
            "iterations": [],
            "speed": "standard",
        }


NO_TOKENS: Record = {
    "input_tokens": 0,
    "output_tokens": 0,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
    "service_tier": None,
    "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
}


@dataclass
class Transcript:
    """One file that a client appends to. `old` writes the records of 2.1.44, which had no attachments yet."""

    session: str
    clock: datetime
    cwd: str = TIDEBOOK
    branch: str = "main"
    version: str = "2.1.327"
    entrypoint: str = "cli"
    model: str = "claude-opus-5-5"
    agent: str | None = None
    agent_type: str | None = None
    slug: str | None = None
    old: bool = False
    parent: str | None = None
    prompt_id: str | None = None
    message_id: str | None = None
    asked: datetime = datetime(2026, 11, 1, tzinfo=timezone.utc)
    prompts: int = 0
    lines: list[Record] = field(default_factory=list)
    _drawn: int = 0

    def wait(self, seconds: float) -> None:
        self.clock += timedelta(seconds=seconds)

    @property
    def now(self) -> str:
        return self.clock.strftime("%Y-%m-%dT%H:%M:%S.") + f"{self.clock.microsecond // 1000:03d}Z"

    def _draw(self) -> bytes:
        self._drawn += 1
        return hashlib.sha256(f"{self.session}/{self.agent}/{self._drawn}".encode()).digest()

    def uuid(self) -> str:
        return str(uuid.UUID(bytes=self._draw()[:16], version=4))

    def name(self, prefix: str, length: int = 22) -> str:
        """An id as the provider gives them: `msg_01…`, `toolu_01…`, `req_011…`."""
        return prefix + "".join(BASE58[byte % 58] for byte in self._draw()[:length])

    def bare(self, kind: str, stamped: bool = False, **fields: object) -> None:
        """A bookkeeping record: it has no uuid and hangs below nothing."""
        record: Record = {"type": kind, **fields}
        if stamped:
            record["timestamp"] = self.now
        self.lines.append(record | {"sessionId": self.session})

    def hang(self, record: Record, parent: str | None = None, **envelope: object) -> str:
        """A record of the conversation's tree, below the last one unless told."""
        identity = self.uuid()
        place: Record = {
            "userType": "external",
            "entrypoint": self.entrypoint,
            "cwd": self.cwd,
            "sessionId": self.session,
            "version": self.version,
            "gitBranch": self.branch,
        }
        if self.old:
            del place["entrypoint"]
        if self.slug:
            place["slug"] = self.slug
        head: Record = {"parentUuid": parent or self.parent, "isSidechain": self.agent is not None}
        if self.agent:
            head["agentId"] = self.agent
        self.lines.append(head | envelope | record | {"uuid": identity, "timestamp": self.now} | place)
        self.parent = identity
        return identity

    def prompt(self, content: object, mode: str = "default", **extra: object) -> str:
        """What a person typed, or gave to `claude -p`."""
        self.prompts += 1
        self.asked = self.clock
        self.prompt_id = self.uuid()
        message = {"role": "user", "content": content}
        if self.old:
            thinking = {"maxThinkingTokens": 31999}
            return self.hang(
                {"type": "user", "message": message, "thinkingMetadata": thinking, "todos": [], "permissionMode": mode}
            )
        typed = self.entrypoint == "cli"
        record: Record = {"type": "user", "message": message, "permissionMode": mode}
        if typed:
            record["origin"] = {"kind": "human"}
        record["promptSource"] = "typed" if typed else "sdk"
        record["turnOrigin"] = "human" if typed else "sdk"
        record["turnPosition"] = {"promptIndex": self.prompts if typed else 0, "turnIndex": self.prompts}
        return self.hang(record | extra, promptId=self.prompt_id)

    def user(self, content: object, **extra: object) -> str:
        """A user record that nobody typed as a prompt."""
        envelope = {} if self.old else {"promptId": self.prompt_id or self.uuid()}
        return self.hang({"type": "user", "message": {"role": "user", "content": content}, **extra}, **envelope)

    def say(self, tokens: Tokens, *blocks: Record, placeholder: bool = False) -> list[str]:
        """One answer of the model: one record per block, all with the same message id.

        With `placeholder` only the last record carries the true output count, as real clients do.
        """
        self.message_id, request_id = self.name("msg_01"), self.name("req_011")
        uuids = []
        for index, block in enumerate(blocks):
            last = index == len(blocks) - 1
            stop = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
            message: Record = {
                "id": self.message_id,
                "type": "message",
                "role": "assistant",
                "model": self.model,
                "content": [block],
                "stop_reason": None if self.old else stop,
                "stop_sequence": None,
                "usage": tokens.as_usage(tokens.output if last or not placeholder else 3, self.old),
            }
            record: Record = {"message": message}
            if not self.old:
                record["apiBlockIndex"] = index
            record["requestId"] = request_id
            if not self.old:
                record |= {"requestedModel": self.model, "effort": "medium", "madeBy": "model"}
                if self.agent_type:
                    record["attributionAgent"] = self.agent_type
            uuids.append(self.hang(record | {"type": "assistant"}))
            self.wait(0.4)
        return uuids

    def result(
        self, call: Record, content: object, structured: object = None, *, error: bool = False, below: str | None = None
    ) -> str:
        """What a tool gave back, for the model (`content`) and for the client (`structured`)."""
        block: Record = {"tool_use_id": call["id"], "type": "tool_result", "content": content}
        if error or call["name"] == "Bash":
            block["is_error"] = error
        record: Record = {"type": "user", "message": {"role": "user", "content": [block]}}
        if structured is not None:
            record["toolUseResult"] = structured
        record["sourceToolAssistantUUID"] = below or self.parent
        envelope: Record = {}
        if not self.old:
            record["permissionDecision"] = {"decision": "accept", "source": "config", "reasonType": "mode"}
            envelope["promptId"] = self.prompt_id
        return self.hang(record, parent=below, **envelope)

    def shell(self, call: Record, output: str, exit_code: int = 0) -> str:
        """The result of a Bash call: an object when it went well, a string when it did not."""
        if exit_code:
            text = f"Exit code {exit_code}\n{output}"
            return self.result(call, text, f"Error: {text}", error=True)
        done: Record = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
        if not self.old:
            done["noOutputExpected"] = not output
        return self.result(call, output or "(Bash completed with no output)", done)

    def read(self, call: Record, content: str) -> str:
        path = _input(call, "file_path")
        count = content.count("\n")
        numbered = "\n".join(f"{number}\t{line}" for number, line in enumerate(content.split("\n"), 1))
        file = {"filePath": path, "content": content, "numLines": count, "startLine": 1, "totalLines": count}
        return self.result(call, numbered, {"type": "text", "file": file})

    def edit(self, call: Record, original: str, line: int) -> str:
        path, before, after = (_input(call, key) for key in ("file_path", "old_string", "new_string"))
        olds, news = before.split("\n"), after.split("\n")
        patch = {
            "oldStart": line,
            "oldLines": len(olds),
            "newStart": line,
            "newLines": len(news),
            "lines": [f"-{old}" for old in olds] + [f"+{new}" for new in news],
        }
        structured = {
            "filePath": path,
            "oldString": before,
            "newString": after,
            "originalFile": original,
            "structuredPatch": [patch],
            "userModified": False,
            "replaceAll": False,
        }
        return self.result(call, f"The file {path} has been updated successfully.", structured)

    def hook(self, event: str, matcher: str, command: str, output: str, took: int) -> None:
        name = f"{event}:{matcher}"
        attachment = {
            "type": "hook_success",
            "hookName": name,
            "toolUseID": self.uuid(),
            "hookEvent": event,
            "content": output,
            "stdout": output + "\n" if output else "",
            "stderr": "",
            "exitCode": 0,
            "command": command,
            "durationMs": took,
        }
        self.attach(attachment, f"{name} hook success: {output}")

    def attach(self, attachment: Record, rendered: str | None = None) -> str:
        record: Record = {"attachment": attachment, "type": "attachment"}
        if rendered is not None:
            record["rendered"] = [{"content": f"<system-reminder>\n{rendered}\n</system-reminder>"}]
            record["renderedRole"] = "system"
        return self.hang(record)

    def system(self, subtype: str, **fields: object) -> str:
        return self.hang({"type": "system", "subtype": subtype, **fields})

    def local_command(self, name: str, args: str, output: str) -> None:
        """A slash command that the client answers itself."""
        pad = "\n            "
        typed = f"<command-name>/{name}</command-name>{pad}<command-message>{name}</command-message>{pad}"
        self.system("local_command", content=f"{typed}<command-args>{args}</command-args>", level="info", isMeta=False)
        said = f"<local-command-stdout>{output}</local-command-stdout>"
        self.system("local_command", content=said, level="info", isMeta=False)

    def turn_ends(self, hook: str | None = None) -> None:
        if hook:
            self.system(
                "stop_hook_summary",
                hookCount=1,
                hookInfos=[{"command": hook, "durationMs": 31}],
                hookErrors=[],
                preventedContinuation=False,
                stopReason="",
                hasOutput=False,
                level="suggestion",
                toolUseID=self.uuid(),
            )
        took = round((self.clock - self.asked).total_seconds() * 1000)
        count: Record = {} if self.old else {"messageCount": len(self.lines)}
        self.system("turn_duration", durationMs=took, isMeta=False, **count)

    def text(self) -> str:
        return "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in self.lines)

    # Blocks of an answer.

    def think(self, thought: str) -> Record:
        return {"type": "thinking", "thinking": thought, "signature": self.name("Er", 30) + "=="}

    def call(self, tool: str, **arguments: object) -> Record:
        return {"type": "tool_use", "id": self.name("toolu_01"), "name": tool, "input": arguments}

    def bash(self, command: str, description: str) -> Record:
        return self.call("Bash", command=command, description=description)


def _input(call: Record, key: str) -> str:
    return str(cast("Record", call["input"])[key])


def words(text: str) -> Record:
    return {"type": "text", "text": text}


def at(day: int, hour: int, minute: int) -> datetime:
    return datetime(2026, 11, day, hour, minute, 7, 312000, tzinfo=timezone.utc)


TABLE = '''"""Tide tables for one harbour."""

from datetime import datetime, timedelta

ONE_DAY = timedelta(days=1)


def tides_of(day: datetime, tides: list[datetime]) -> list[datetime]:
    """The tides of one day, midnight to midnight."""
    end = day + ONE_DAY - timedelta(minutes=1)
    return [tide for tide in tides if day <= tide < end]
'''

FAILURE = """F..                                                                      [100%]
=================================== FAILURES ===================================
___________________ test_the_last_tide_belongs_to_its_day ____________________

    def test_the_last_tide_belongs_to_its_day():
        late = datetime(2026, 11, 2, 23, 59, 30)
>       assert tides_of(datetime(2026, 11, 2), [late]) == [late]
E       assert [] == [datetime.datetime(2026, 11, 2, 23, 59, 30)]

tests/test_table.py:21: AssertionError
=========================== short test summary info ============================
FAILED tests/test_table.py::test_the_last_tide_belongs_to_its_day
1 failed, 2 passed in 0.06s"""


def fix_a_failing_test() -> dict[str, str]:
    """Two prompts: a test is red, gets green, is committed; then a line in the changelog. Renamed by the person."""
    t = Transcript(FIX, at(2, 9, 14))
    backup = "7d1c0be9a2f45e38@v1"
    t.bare("mode", mode="normal")
    t.bare("permission-mode", permissionMode="acceptEdits")
    t.hook("SessionStart", "startup", "cat NOTES.md", "Run the tests with: python -m pytest -q", 12)
    t.wait(31)
    asked = "test_the_last_tide_belongs_to_its_day is red. Find out why, fix it and commit."
    prompt = t.prompt(asked, mode="acceptEdits")
    t.lines.append(_snapshot(prompt, t.now, {}))
    t.wait(4)

    red = t.bash("python -m pytest -q", "Run the tests")
    t.say(
        Tokens(output=164, write_5m=11_820),
        t.think("First see how it fails, then look at how the end of the day is computed."),
        words("I run the tests first."),
        red,
        placeholder=True,
    )
    t.wait(1)
    t.shell(red, FAILURE, exit_code=1)
    t.wait(3)
    look = t.call("Read", file_path=f"{TIDEBOOK}/tides/table.py")
    t.say(Tokens(output=88, read=11_820, write_5m=432), look)
    t.read(look, TABLE)
    t.wait(4)
    change = t.call(
        "Edit",
        file_path=f"{TIDEBOOK}/tides/table.py",
        old_string="    end = day + ONE_DAY - timedelta(minutes=1)",
        new_string="    end = day + ONE_DAY",
        replace_all=False,
    )
    t.say(
        Tokens(output=203, read=12_252, write_5m=318),
        words("The end of the day is one minute early, and the comparison already excludes it: 23:59:30 falls out."),
        change,
    )
    delta = {
        "messageId": t.parent,
        "snapshotMessageId": prompt,
        "trackingPath": "tides/table.py",
        "backup": {"backupFileName": backup, "version": 1, "backupTime": t.now},
        "timestamp": t.now,
    }
    t.lines.append({"type": "file-history-delta", **delta})
    t.edit(change, TABLE, 10)
    t.hook("PostToolUse", "Edit", "ruff format --quiet .", "", 44)
    t.wait(2)
    green = t.bash("python -m pytest -q", "Run the tests again")
    t.say(Tokens(output=71, read=12_570, write_5m=266), green)
    t.wait(1)
    t.shell(green, "...                                                                      [100%]\n3 passed in 0.04s")
    commit = t.bash('git commit -qam "A day ends at midnight, not a minute before" && git log --oneline -1', "Commit")
    t.say(Tokens(output=96, read=12_836, write_5m=104), commit)
    t.shell(commit, "4f1d2c9 A day ends at midnight, not a minute before")
    t.wait(2)
    t.say(
        Tokens(output=118, read=12_940, write_5m=87),
        words(
            "Fixed and committed as `4f1d2c9`. `tides_of` cut the day off at 23:59 *and* excluded that minute, "
            "so a tide in the last minute belonged to no day. The day now ends at midnight; all 3 tests pass."
        ),
    )
    t.turn_ends(hook="notify-send 'claude is done'")

    t.wait(95)
    prompt = t.prompt("thanks! add a line to CHANGELOG.md too", mode="acceptEdits")
    tracked = {"tides/table.py": {"backupFileName": backup, "version": 1, "backupTime": t.now}}
    t.lines.append(_snapshot(prompt, t.now, tracked))
    t.wait(3)
    write = t.call("Write", file_path=f"{TIDEBOOK}/CHANGELOG.md", content="# Changes\n\n* A tide at 23:59 is listed.\n")
    t.say(Tokens(output=92, read=13_027, write_5m=141), write)
    written: Record = {
        "type": "create",
        "filePath": f"{TIDEBOOK}/CHANGELOG.md",
        "content": _input(write, "content"),
        "structuredPatch": [],
        "originalFile": None,
        "userModified": False,
    }
    t.result(write, f"File created successfully at: {TIDEBOOK}/CHANGELOG.md", written)
    t.say(
        Tokens(output=24, read=13_168, write_5m=98), words("Done: CHANGELOG.md has the fix. It is not committed yet.")
    )
    t.turn_ends()
    t.wait(20)
    t.bare("custom-title", customTitle="the missing last tide")
    t.bare("agent-name", agentName="the missing last tide")
    t.local_command("rename", "the missing last tide", "Session renamed to: the missing last tide")
    t.bare("last-prompt", lastPrompt="thanks! add a line to CHANGELOG.md too", leafUuid=t.parent)
    t.bare("cost-state", totalCostUSD=0.171, totalAPIDuration=21_050, totalLinesAdded=4, totalLinesRemoved=1)
    return {
        _main_file(t): t.text(),
        _beside(t, "custom-title.json"): '{"customTitle":"the missing last tide"}',
        f"file-history/{FIX}/{backup}": TABLE,
    }


def _snapshot(message: str, now: str, tracked: object) -> Record:
    snapshot = {"messageId": message, "trackedFileBackups": tracked, "timestamp": now}
    return {"type": "file-history-snapshot", "messageId": message, "snapshot": snapshot, "isSnapshotUpdate": False}


def two_agents() -> dict[str, str]:
    """One prompt that starts two sub-agents, one waited for and one in the background, and a result kept in a file."""
    t = Transcript(AGENTS, at(4, 13, 2), branch="import-errors")
    explorer, reader = "a3f81c02d95e6b47d", "ae07b4512c96d83fa"
    t.bare("mode", mode="normal")
    t.prompt("The nightly import skips harbours. Let one agent look at the importer and another at last night's log.")
    t.wait(3)
    code_task = "Read src/importer and say under which conditions a harbour is skipped. Report file and line."
    log_task = "Read import.log and say which harbours were skipped, and what they have in common."
    first = t.call("Agent", description="Why harbours are skipped", prompt=code_task, subagent_type="Explore")
    second = t.call(
        "Agent",
        description="What the log says",
        prompt=log_task,
        subagent_type="general-purpose",
        run_in_background=True,
    )
    began = t.clock
    _, in_front, behind = t.say(
        Tokens(output=312, write_5m=12_004), words("Two questions, two agents."), first, second, placeholder=True
    )

    log = "\n".join(
        f"2026-11-04T02:{minute:02d}:11Z harbour={name} rows={rows} {note}"
        for minute, (name, rows, note) in enumerate(
            (f"{where}-{number}", 1_460 if number % 3 else 0, "ok" if number % 3 else "skipped: no station id")
            for number in range(1, 11)
            for where in ("north", "east", "south", "west")
        )
    )
    launched = words("Async agent launched successfully.\nagentId: " + reader)
    running = {
        "isAsync": True,
        "status": "async_launched",
        "agentId": reader,
        "description": "What the log says",
        "resolvedModel": t.model,
        "prompt": log_task,
        "outputFile": f"/tmp/claude-1000/{_slug(t.cwd)}/{AGENTS}/tasks/{reader}.output",
        "canReadOutputFile": True,
    }
    t.result(second, [launched], running, below=behind)

    explored = _explorer(explorer, began, t.prompt_id, code_task)
    read_log, persisted = _log_reader(reader, began, t.prompt_id, log_task, log)
    t.wait(38)
    said = "A harbour without a station id is skipped without a warning (src/importer/harbours.py:41)."
    done = {
        "status": "completed",
        "prompt": code_task,
        "agentId": explorer,
        "agentType": "Explore",
        "content": [words(said)],
        "resolvedModel": "claude-haiku-4-5-20251001",
        "totalDurationMs": 36_900,
        "totalTokens": 9_731,
        "totalToolUseCount": 2,
        "usage": Tokens(output=61, read=8_904, write_5m=762).as_usage(61, old=False),
    }
    t.result(first, [words("[Subagent hand-back]\n" + said)], done, below=in_front)

    notice = (
        f"<task-notification>\n<task-id>{reader}</task-id>\n<tool-use-id>{second['id']}</tool-use-id>\n"
        '<status>completed</status>\n<summary>Agent "What the log says" completed</summary>\n'
        "<result>12 of 40 harbours were skipped; every third number of each coast, all without a station id."
        "</result>\n</task-notification>"
    )
    queued: Record = {
        "type": "queued_command",
        "prompt": notice,
        "commandMode": "task-notification",
        "origin": {"kind": "task-notification", "producer": "session-task"},
        "timestamp": t.now,
    }
    t.attach(queued, "[SYSTEM NOTIFICATION - NOT USER INPUT]\n" + notice)
    t.wait(4)
    t.say(
        Tokens(output=187, read=12_004, write_5m=1_213),
        words(
            "Both agree. `src/importer/harbours.py:41` drops a harbour without a station id and says nothing; the log "
            "has 12 of them. I suggest to keep the harbour and warn."
        ),
    )
    t.turn_ends()
    t.bare("last-prompt", lastPrompt="The nightly import skips harbours.", leafUuid=t.parent)

    front_meta = _meta("Explore", first, "Why harbours are skipped", "foreground", "claude-haiku-4-5-20251001")
    back_meta = _meta("general-purpose", second, "What the log says", "background", t.model)
    return {
        _main_file(t): t.text(),
        _beside(t, f"subagents/agent-{explorer}.jsonl"): explored.text(),
        _beside(t, f"subagents/agent-{explorer}.meta.json"): front_meta,
        _beside(t, f"subagents/agent-{reader}.jsonl"): read_log.text(),
        _beside(t, f"subagents/agent-{reader}.meta.json"): back_meta,
        _beside(t, f"tool-results/{persisted}.txt"): log + "\n",
    }


def _explorer(agent: str, began: datetime, prompt_id: str | None, task: str) -> Transcript:
    t = Transcript(AGENTS, began, branch="import-errors", agent=agent, agent_type="Explore", prompt_id=prompt_id)
    t.model = "claude-haiku-4-5-20251001"
    t.wait(1)
    t.user(task)
    t.wait(2)
    search = t.call("Grep", pattern="skip|continue", path="src/importer", output_mode="content")
    t.say(Tokens(output=74, write_5m=8_120), t.think("Search for the ways out of the loop."), search)
    found = "src/importer/harbours.py:41:            continue"
    t.result(search, found, {"mode": "content", "numFiles": 0, "filenames": [], "content": found, "numLines": 1})
    t.wait(3)
    look = t.call("Read", file_path=f"{TIDEBOOK}/src/importer/harbours.py")
    t.say(Tokens(output=66, read=8_120, write_5m=784), look)
    t.read(look, "for harbour in harbours:\n    if not harbour.station_id:\n        continue\n")
    t.wait(3)
    said = "A harbour without a station id is skipped without a warning (src/importer/harbours.py:41)."
    t.say(Tokens(output=61, read=8_904, write_5m=762), words(said))
    return t


def _log_reader(agent: str, began: datetime, prompt_id: str | None, task: str, log: str) -> tuple[Transcript, str]:
    """The background agent; its long output is kept in a file named after the call."""
    kind = "general-purpose"
    t = Transcript(AGENTS, began, branch="import-errors", agent=agent, agent_type=kind, prompt_id=prompt_id)
    t.wait(1)
    t.user(task)
    t.wait(2)
    show = t.bash("cat import.log", "Show the log of the last import")
    t.say(Tokens(output=52, write_5m=7_930), show)
    kept = f"{HOME}/.claude/projects/{_slug(TIDEBOOK)}/{AGENTS}/tool-results/{show['id']}.txt"
    size = f"{len(log) / 1024:.1f}KB"
    preview = f"Output too large ({size}). Full output saved to: {kept}\n\nPreview (first 2KB):\n{log[:200]}\n..."
    done = {"stdout": log[:200], "stderr": "", "interrupted": False, "isImage": False, "persistedOutputPath": kept}
    t.result(show, f"<persisted-output>\n{preview}\n</persisted-output>", done)
    t.wait(9)
    said = "12 of 40 harbours were skipped; every third number of each coast, all without a station id."
    t.say(Tokens(output=49, read=7_930, write_5m=611), words(said))
    return t, str(show["id"])


def _meta(kind: str, call: Record, description: str, shape: str, model: str) -> str:
    meta = {
        "agentType": kind,
        "isBuiltIn": True,
        "description": description,
        "toolUseId": call["id"],
        "spawnDepth": 1,
        "requestShape": shape,
        "model": model,
        "finished": True,
    }
    return json.dumps(meta, separators=(",", ":"))


REMINDER = """export function shouldWater(bed: Bed, today: Weather): boolean {
  return bed.daysDry >= bed.interval;
}
"""


def compacted_and_interrupted() -> dict[str, str]:
    """An image, an interrupted answer, a refused command, shell mode, a queued prompt and an automatic compaction."""
    t = Transcript(COMPACTED, at(9, 17, 40), cwd=GARDENLOG, branch="rain", slug="quiet-mossy-lantern")
    t.bare("mode", mode="normal")
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    t.prompt(
        [words("[Image #1] This reminder came up although it was pouring. Rain should count as watering."), picture],
        imagePasteIds=[1],
    )
    t.wait(6)
    t.say(
        Tokens(output=203, write_5m=2_110, write_1h=11_600),
        words("I could model rain as a separate event with an amount and a soil type, and then compute an index from"),
    )
    t.wait(2)
    t.user([words("[Request interrupted by user]")], interruptedMessageId=t.message_id)
    t.wait(25)
    t.prompt("Simpler please: if it rained today, the bed is not due. Nothing else.")
    t.wait(3)
    look = t.call("Read", file_path=f"{GARDENLOG}/src/reminder.ts")
    t.say(Tokens(output=58, read=13_710, write_1h=390), look)
    t.read(look, REMINDER)
    t.wait(2)
    wipe = t.bash("rm -rf build && npm run build", "Rebuild from nothing")
    t.say(Tokens(output=64, read=14_100, write_1h=210), wipe)
    refusal = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, "
        "the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how "
        "to proceed."
    )
    t.result(wipe, refusal, "User rejected tool use", error=True)
    t.user([words("[Request interrupted by user for tool use]")])
    t.wait(8)
    t.user("<bash-input>ls build</bash-input>")
    t.user("<bash-stdout>index.js  reminder.js</bash-stdout><bash-stderr></bash-stderr>")
    t.wait(14)
    t.prompt("No need to rebuild, just make the edit and run the tests.")
    t.wait(3)
    change = t.call(
        "Edit",
        file_path=f"{GARDENLOG}/src/reminder.ts",
        old_string="  return bed.daysDry >= bed.interval;",
        new_string="  return !today.rained && bed.daysDry >= bed.interval;",
        replace_all=False,
    )
    t.say(Tokens(output=97, read=14_310, write_1h=365), change)
    t.edit(change, REMINDER, 2)
    queued = "and mention it in the README"
    t.bare("queue-operation", stamped=True, operation="enqueue", content=queued)
    t.wait(6)
    before = t.parent
    t.parent = None
    t.system(
        "compact_boundary",
        content="Conversation compacted",
        isMeta=False,
        level="info",
        logicalParentUuid=before,
        compactMetadata={
            "trigger": "auto",
            "preTokens": 166_940,
            "postTokens": 3_180,
            "cumulativeDroppedTokens": 163_760,
            "durationMs": 9_120,
        },
    )
    summary = (
        "This session is being continued from a previous conversation that ran out of context. The summary below "
        "covers the earlier portion of the conversation.\n\nSummary:\n1. Rain should count as watering: a bed is not "
        "due on a day it rained. The person asked for the simplest form.\n2. src/reminder.ts was edited; the tests "
        "were not run yet.\n3. Do not rebuild."
    )
    t.user(summary, isVisibleInTranscriptOnly=True, isCompactSummary=True)
    shown = {"filePath": f"{GARDENLOG}/src/reminder.ts", "content": REMINDER, "numLines": 3, "startLine": 1}
    file: Record = {"type": "file", "filename": f"{GARDENLOG}/src/reminder.ts", "displayPath": "src/reminder.ts"}
    t.attach(file | {"content": {"type": "text", "file": shown | {"totalLines": 3}}})
    t.wait(4)
    run = t.bash("npm test --silent", "Run the tests")
    t.say(Tokens(output=44, write_5m=640, write_1h=14_020), run)
    t.wait(3)
    t.shell(run, " ✓ src/reminder.test.ts (4)\n\n Tests  4 passed (4)")
    t.bare("queue-operation", stamped=True, operation="remove")
    typed: Record = {"type": "queued_command", "prompt": queued, "commandMode": "prompt"}
    t.attach(typed | {"origin": {"kind": "human"}})
    t.wait(4)
    readme = t.call("Read", file_path=f"{GARDENLOG}/README.md")
    t.say(Tokens(output=41, read=14_660, write_1h=120), readme)
    missing = f"File does not exist. Note: your current working directory is {GARDENLOG}."
    t.result(readme, f"<tool_use_error>{missing}</tool_use_error>", f"Error: {missing}", error=True)
    t.wait(3)
    t.say(
        Tokens(output=83, read=14_780, write_1h=160),
        words("A bed is not due on a day it rained; the 4 tests pass. There is no README.md here, so I left that out."),
    )
    t.turn_ends()
    t.bare("last-prompt", lastPrompt=queued, leafUuid=t.parent)
    return {_main_file(t): t.text()}


def errors_and_retries() -> dict[str, str]:
    """An older client: overloaded twice and then answered, a turn that fails for good, an inline sub-agent, todos."""
    t = Transcript(ERRORS, at(11, 8, 5), version="2.1.44", model="claude-opus-4-6", old=True, slug="brisk-tin-harbour")
    t.lines.append(
        {
            "type": "summary",
            "summary": "Chart colours for spring tides",
            "leafUuid": "0d5c3e71-94ab-4c12-8f60-b7e2a9d1c354",
        }
    )
    hook: Record = {"type": "hook_progress", "hookEvent": "SessionStart", "hookName": "SessionStart:startup"}
    _progress(t, hook | {"command": "cat NOTES.md"}, t.uuid())
    t.prompt(
        "The option is spelled --harbor in one place and --harbour in the rest. Make it one, keep the old one working."
    )
    for attempt, pause in ((1, 0.6), (2, 1.2)):
        t.wait(pause)
        _overloaded(t, attempt)
    t.wait(9)
    first, second = "Accept both spellings", "Update the help text"
    plan = t.call("TodoWrite", todos=[_todo(first, "in_progress"), _todo(second, "pending")])
    t.say(Tokens(output=9, write_1h=15_300), words("It got through on the third try."), plan)
    todos: Record = {"oldTodos": [], "newTodos": [_todo(first, "in_progress"), _todo(second, "pending")]}
    t.result(plan, "Todos have been modified successfully.", todos)
    t.wait(2)
    task = "List every place that spells the option harbor."
    ask = t.call("Task", description="Find the old spelling", subagent_type="Explore", prompt=task)
    t.say(Tokens(output=5, read=15_300, write_1h=420), ask)
    _inline_agent(t, ask, task)
    change = t.call(
        "Edit",
        file_path=f"{TIDEBOOK}/tides/options.py",
        old_string='parser.add_argument("--harbor")',
        new_string='parser.add_argument("--harbour", "--harbor")',
        replace_all=False,
    )
    t.say(Tokens(output=7, read=15_720, write_1h=510), change)
    t.edit(change, 'parser.add_argument("--harbor")\n', 1)
    t.wait(2)
    run = t.bash("python -m pytest -q", "Run the tests")
    t.say(Tokens(output=4, read=16_230, write_1h=230), run)
    passing = "...                                                                      [100%]\n3 passed in 0.04s"
    ran: Record = {
        "type": "bash_progress",
        "output": "...",
        "fullOutput": "...",
        "elapsedTimeSeconds": 3,
        "totalLines": 1,
    }
    _progress(t, ran, "bash-progress-0", str(run["id"]))
    t.shell(run, passing)
    t.wait(3)
    t.say(
        Tokens(output=6, read=16_460, write_1h=140),
        words("`--harbour` is the name, `--harbor` still works. Tests pass."),
    )
    t.turn_ends()

    t.wait(60)
    t.prompt("Does the manual page still say harbor?")
    t.wait(1)
    _overloaded(t, 1, most=1)
    t.wait(2)
    failed = {
        "id": t.uuid(),
        "container": None,
        "model": "<synthetic>",
        "role": "assistant",
        "stop_reason": "stop_sequence",
        "stop_sequence": "",
        "type": "message",
        "usage": NO_TOKENS,
        "content": [words("API Error: Repeated 529 Overloaded errors")],
        "context_management": None,
    }
    t.hang({"type": "assistant", "message": failed, "error": "server_error", "isApiErrorMessage": True})
    t.wait(120)
    t.prompt("try again")
    t.wait(5)
    t.say(
        Tokens(output=12, read=16_600, write_1h=190),
        words("Yes, once: `man/tidebook.1`, line 12. It should say `--harbour` as well."),
    )
    t.lines.append({"type": "summary", "summary": "One spelling of the harbour option", "leafUuid": t.parent})
    kept = json.dumps([_todo(first, "completed"), _todo(second, "pending")], separators=(",", ":"))
    return {_main_file(t): t.text(), f"todos/{ERRORS}-agent-{ERRORS}.json": kept}


def _todo(content: str, status: str) -> Record:
    return {"content": content, "status": status, "activeForm": f"Working: {content}"}


def _progress(t: Transcript, data: Record, tool_use: str, parent_tool_use: str | None = None) -> None:
    t.hang({"type": "progress", "data": data, "toolUseID": tool_use, "parentToolUseID": parent_tool_use or tool_use})


def _overloaded(t: Transcript, attempt: int, most: int = 10) -> None:
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    t.system(
        "api_error",
        level="error",
        error={"status": 529, "headers": {}, "requestID": t.name("req_011"), "error": body},
        retryInMs=600 * attempt,
        retryAttempt=attempt,
        maxRetries=most,
    )


def _inline_agent(t: Transcript, ask: Record, task: str) -> None:
    """A sub-agent as this version kept it: inside progress records of the main file, and nowhere else."""
    agent = "a91be30"
    inner = Transcript(ERRORS, t.clock, old=True, agent=agent, model="claude-haiku-4-5-20251001", version=t.version)
    inner.user(task)
    search = inner.call("Grep", pattern="harbor", output_mode="files_with_matches")
    inner.say(Tokens(output=4, write_5m=6_480), search)
    inner.result(search, "Found 2 files\ntides/options.py\nman/tidebook.1")
    inner.say(Tokens(output=5, read=6_480, write_5m=95), words("tides/options.py and man/tidebook.1"))
    for record in inner.lines:
        kept = {key: record[key] for key in ("type", "message", "requestId", "uuid", "timestamp") if key in record}
        data: Record = {"message": kept, "normalizedMessages": [], "type": "agent_progress", "agentId": agent}
        t.wait(1)
        _progress(t, data | {"prompt": task}, t.name("agent_msg_01"), str(ask["id"]))
    said = words("tides/options.py and man/tidebook.1")
    done = {
        "status": "completed",
        "prompt": task,
        "agentId": agent,
        "content": [said],
        "totalDurationMs": 4_000,
        "totalTokens": 6_580,
        "totalToolUseCount": 1,
        "usage": Tokens(output=5, read=6_480, write_5m=95).as_usage(5, old=True),
    }
    t.result(ask, [said], done)


# The provider's own documented examples: shaped like the real thing, worth nothing.
EXAMPLE_ENV = """TIDEBOOK_BUCKET=tide-tables
AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE
AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY
DATABASE_URL=postgres://tidebook:correct-horse-battery@db.example.invalid/tides"""


def a_secret_in_the_output() -> tuple[dict[str, str], Transcript]:
    """`claude -p`, and a key in a file that was printed. This client also logs its requests."""
    t = Transcript(LEAK, at(16, 10, 21), branch="publish", entrypoint="sdk-cli")
    asked = "Which settings does deploy/publish.sh need?"
    t.bare("queue-operation", stamped=True, operation="enqueue", content=asked)
    t.bare("queue-operation", stamped=True, operation="dequeue")
    t.prompt(asked)
    context = ["tidebook hook: tables are published on the first of a month"]
    named: Record = {"hookName": "UserPromptSubmit", "toolUseID": "hook-" + t.uuid(), "hookEvent": "UserPromptSubmit"}
    attachment: Record = {"type": "hook_additional_context", "content": context, **named}
    t.attach(attachment, f"UserPromptSubmit hook additional context: {context[0]}")
    t.attach({"type": "date", "date": "2026-11-16"}, "Today's date is 2026-11-16.")
    system = ["You are an agent working with the user toward their goals."]
    t.attach({"type": "prompt_snapshot", "systemPrompt": system, "contextRendering": "announced"})
    shape = hashlib.sha256(b"shape").hexdigest()
    t.bare(
        "api-request-shape",
        stamped=True,
        shapeHash=shape,
        version=t.version,
        shape={"system": [words(system[0])], "tools": [{"name": "Bash", "description": "Executes a bash command"}]},
    )
    asking = _logged_request(t, shape, {"role": "user", "content": [words(asked)]}, [])
    t.wait(3)
    show = t.bash("cat deploy/publish.sh deploy/example.env", "Show the script and its settings")
    t.say(Tokens(output=66, write_5m=9_940), show)
    output = 'set -eu\naws s3 sync build "s3://$TIDEBOOK_BUCKET"\n' + EXAMPLE_ENV
    t.shell(show, output)
    answer: Record = {"type": "tool_result", "tool_use_id": show["id"], "content": output}
    _logged_request(t, shape, {"role": "user", "content": [answer]}, asking)
    t.wait(4)
    t.say(
        Tokens(output=131, read=9_940, write_5m=275),
        words(
            "Four: `TIDEBOOK_BUCKET`, the two AWS keys, and `DATABASE_URL`. The example file holds what looks like "
            "working credentials; they should come from the environment instead."
        ),
    )
    t.bare("tools-used", tools=["Bash"])
    t.bare("last-prompt", lastPrompt=asked, leafUuid=t.parent)
    t.bare("cost-state", totalCostUSD=0.068, totalAPIDuration=7_400, totalLinesAdded=0, totalLinesRemoved=0)
    return {_main_file(t): t.text()}, t


def _logged_request(t: Transcript, shape: str, message: Record, tail: Sequence[str]) -> list[str]:
    blob = hashlib.sha256(json.dumps(message).encode()).hexdigest()
    t.bare("api-request-blob", hash=blob, message=message)
    hashes = [*tail, blob]
    parameters = {"model": t.model, "max_tokens": 128_000}
    t.bare(
        "api-request",
        stamped=True,
        id=t.uuid(),
        querySource="sdk",
        shapeHash=shape,
        params=parameters,
        keep=0,
        tail=hashes,
    )
    return hashes


def a_plan(forked: Transcript) -> dict[str, str]:
    """A fork: the old lines under their old uuids and a new session id, then plan mode and slash commands."""
    t = Transcript(PLAN, at(17, 15, 48), branch="publish", prompts=1)
    t.bare("mode", mode="plan")
    t.bare("permission-mode", permissionMode="plan")
    for line in forked.lines:
        if "uuid" in line:
            t.lines.append(line | {"sessionId": PLAN})
    t.parent = forked.parent
    t.asked = t.clock
    t.local_command("model", "opus", "Set model to claude-opus-5-5")
    t.wait(12)
    t.prompt_id = t.uuid()
    typed = "<command-message>check-env</command-message>\n<command-name>/check-env</command-name>\n"
    position = {"promptIndex": 2, "turnIndex": 2}
    t.user(typed + "<command-args>deploy</command-args>", turnOrigin="human", turnPosition=position)
    meta = {"isMeta": True, "turnCompanion": True}
    t.user([words("Say for every setting in deploy/ where it should come from. Change nothing.")], **meta)
    t.wait(5)
    question: Record = {
        "question": "Where do the machines that publish get their environment from?",
        "header": "Source",
        "options": [
            {"label": "systemd unit", "description": "EnvironmentFile= in the unit"},
            {"label": "CI variables", "description": "Set in the pipeline"},
        ],
        "multiSelect": False,
    }
    ask = t.call("AskUserQuestion", questions=[question])
    t.say(Tokens(output=142, write_1h=10_630), ask)
    t.wait(40)
    answers = {str(question["question"]): "systemd unit"}
    replied = f'User has answered your questions: "{question["question"]}"="systemd unit".'
    t.result(ask, replied, {"questions": [question], "answers": answers})
    t.wait(6)
    plan = (
        "# Settings out of the repository\n\n1. `deploy/example.env` keeps the names and loses the values.\n"
        "2. `publish.sh` stops with a message when a name is unset.\n3. The unit reads `/etc/tidebook.env`.\n"
    )
    propose = t.call("ExitPlanMode", plan=plan)
    t.say(Tokens(output=176, read=10_630, write_1h=320), propose)
    t.wait(31)
    kept = f"{HOME}/.claude/plans/settled-amber-heron.md"
    approved = f"User has approved your plan. You can now start coding.\n\nYour plan has been saved to: {kept}"
    t.result(propose, approved, {"plan": plan, "isAgent": False, "filePath": kept})
    t.bare("permission-mode", permissionMode="default")
    t.wait(5)
    t.say(
        Tokens(output=38, read=10_950, write_1h=210), words("Approved. I start with the example file when you say so.")
    )
    t.turn_ends()
    t.wait(50)
    t.prompt("not today, keep the plan")
    t.wait(2)
    t.say(Tokens(output=17, read=11_160, write_1h=60), words(f"It is kept in {kept}."))
    t.turn_ends()
    t.bare("last-prompt", lastPrompt="not today, keep the plan", leafUuid=t.parent)
    return {_main_file(t): t.text()}


def _slug(cwd: str) -> str:
    return "".join(character if character.isalnum() else "-" for character in cwd)


def _main_file(t: Transcript) -> str:
    return f"projects/{_slug(t.cwd)}/{t.session}.jsonl"


def _beside(t: Transcript, name: str) -> str:
    return f"projects/{_slug(t.cwd)}/{t.session}/{name}"


def sessions() -> dict[str, str]:
    """Every file of the demo, by its path within the data root."""
    secret, transcript = a_secret_in_the_output()
    return {
        **fix_a_failing_test(),
        **two_agents(),
        **compacted_and_interrupted(),
        **errors_and_retries(),
        **secret,
        **a_plan(transcript),
    }


def main() -> None:
    root = Path(__file__).parents[1] / "src" / "retro" / "demo" / "sessions"
    for name, text in sessions().items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


if __name__ == "__main__":
    main()
