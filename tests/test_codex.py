"""Codex: every version's records mean the same, each thing said once, every byte and token accounted for."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import apsw
import msgspec
import pytest
import zstandard

from retro.agents import codex, codex_state
from retro.agents.codex_calls import changed, command_text, patched
from retro.agents.codex_kinds import BOOKKEEPING_TYPES, UNCOUNTED
from retro.agents.codex_texts import outcome
from retro.agents.interface import SIDECAR, TRANSCRIPT, Batch, Facts, Root, Source
from retro.agents.records import Accounting, Parser, Position, chunks
from retro.archive.reading import session_events
from retro.config import Settings
from retro.event import Actor, Event, EventType, Origin, Usage
from retro.index.database import open_writer
from retro.index.states import session_state
from retro.places import Places
from retro.sweep import Report, sweep
from retro.turns import is_prompt
from retro.upkeep.restore import restore

CORPUS: Final = Path(__file__).resolve().parents[2] / "shared" / "corpus"
LIVE: Final = CORPUS / "live" / "codex"
THREAD: Final = "01a1f028-0000-7000-8000-000000000001"
PARENT: Final = "01a1f028-0000-7000-8000-000000000000"
STAMP: Final = "2026-11-18T19:36:03.558Z"


def _files(*folders: Path) -> list[Path]:
    found = [path for folder in folders for path in sorted(folder.rglob("*.jsonl"))]
    return [path for path in found if path.name not in ("history.jsonl", "session_index.jsonl")]


HOST_FILES: Final = _files(CORPUS / "codex" / "real", CORPUS / "codex-exec" / "real", LIVE / "home")
ALL_FILES: Final = [*HOST_FILES, *_files(CORPUS / "codex" / "fixtures")]


def _name(path: Path) -> str:
    return path.name[-48:]


# --- reading ---------------------------------------------------------------------------------------------------------


class Read(NamedTuple):
    """What came of a source."""

    written: list[Event]
    usage: list[Usage]
    accounting: Accounting
    facts: Facts
    offset: int

    @property
    def events(self) -> list[Event]:
        """Each event once, in its latest version."""
        return sorted({event.event_id: event for event in self.written}.values(), key=lambda event: event.sequence)

    def texts(self, event_type: EventType, actor: Actor | None = None) -> list[str]:
        """Texts of the events of a type."""
        wanted = [event for event in self.events if event.event_type is event_type]
        return [event.text or "" for event in wanted if actor is None or event.actor is actor]

    @property
    def prompts(self) -> list[str]:
        """What a person typed."""
        return [event.text or "" for event in self.events if is_prompt(event)]

    @property
    def commands(self) -> list[str]:
        """What was run."""
        return [event.command or "" for event in self.events if event.event_type is EventType.COMMAND]

    def only(self, event_type: EventType) -> Event:
        """The one event of a type."""
        (found,) = [event for event in self.events if event.event_type is event_type]
        return found


def read(data: bytes, cuts: Iterable[int] = (), session: str = THREAD) -> Read:
    """Read a source, in several goes if it is cut, each from the state that the one before saved."""
    batch, accounting, state = Batch([], []), Accounting(), b""
    facts = Facts(models=[], versions=[], titles={}, agents={})
    position = Position(0, 1)
    for end in [*cuts, len(data)]:
        reader = codex.reader(session, "main", "main", state, facts)
        parser = Parser(reader, position, accounting)
        for chunk in chunks(io.BytesIO(data[position.offset : end])):
            parser.feed(chunk, batch)
        state, facts, position = reader.save(), reader.facts, parser.position
    return Read(batch.events, batch.usage, accounting, facts, position.offset)


def read_file(path: Path, cuts: Iterable[int] = ()) -> Read:
    return read(path.read_bytes(), cuts, _session(path))


def lines(*records: Mapping[str, object]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def line(kind: str, ordinal: int | None = None, /, **payload: object) -> dict[str, object]:
    """An enveloped record."""
    numbered: dict[str, object] = {} if ordinal is None else {"ordinal": ordinal}
    return {"timestamp": STAMP, **numbered, "type": kind, "payload": payload}


def item(kind: str, ordinal: int | None = None, /, **fields: object) -> dict[str, object]:
    return line("response_item", ordinal, type=kind, **fields)


def told(kind: str, ordinal: int | None = None, /, **fields: object) -> dict[str, object]:
    return line("event_msg", ordinal, type=kind, **fields)


def completed(kind: str, ordinal: int, /, **fields: object) -> dict[str, object]:
    return told("item_completed", ordinal, item={"type": kind, **fields})


def said(role: str, text: str, ordinal: int | None = None, /, **more: object) -> dict[str, object]:
    part = "output_text" if role == "assistant" else "input_text"
    return item("message", ordinal, role=role, content=[{"type": part, "text": text}], **more)


def meta(ordinal: int | None = None, /, **fields: object) -> dict[str, object]:
    return line("session_meta", ordinal, **{"id": THREAD, "timestamp": STAMP, "cwd": "/code", **fields})


def at(record: dict[str, object], millisecond: int) -> dict[str, object]:
    """The same record at another time: the host never writes two in the same form at the same moment."""
    return {**record, "timestamp": f"2026-11-18T19:36:04.{millisecond:03}Z"}


# --- every file of the corpus ----------------------------------------------------------------------------------------


@pytest.mark.corpus
@pytest.mark.parametrize("path", ALL_FILES, ids=_name)
def test_every_byte_is_accounted_for_exactly_once(path: Path) -> None:
    found = read_file(path)
    tables = [getattr(found.accounting, name) for name in ("mapped", "bookkeeping", "unknown", "malformed")]
    counted = sum(size for table in tables for _, size in table.values())
    assert counted == found.offset
    assert found.offset <= path.stat().st_size
    for kind in found.accounting.bookkeeping:
        assert kind in BOOKKEEPING_TYPES or kind in UNCOUNTED


@pytest.mark.corpus
@pytest.mark.parametrize("path", ALL_FILES, ids=_name)
def test_places_are_dense_and_identities_unique(path: Path) -> None:
    events = read_file(path).events
    assert [event.sequence for event in events] == list(range(len(events)))


@pytest.mark.corpus
@pytest.mark.parametrize("path", HOST_FILES, ids=_name)
def test_hardly_anything_is_unknown_in_what_the_host_wrote(path: Path) -> None:
    found = read_file(path)
    assert sum(size for _, size in found.accounting.unknown.values()) < 0.005 * path.stat().st_size
    assert not found.accounting.malformed


@pytest.mark.corpus
@pytest.mark.parametrize("path", HOST_FILES, ids=_name)
def test_results_are_joined_to_calls_that_came_before(path: Path) -> None:
    calls: dict[str, str | None] = {}
    for event in read_file(path).events:
        if event.event_type is EventType.TOOL_RESULT:
            assert event.call_id in calls, event.summary
            assert event.tool == calls[event.call_id]
        elif event.call_id:
            assert event.call_id not in calls
            calls[event.call_id] = event.tool


@pytest.mark.corpus
@pytest.mark.parametrize("path", ALL_FILES, ids=_name)
def test_a_growing_file_gives_the_same_events(path: Path) -> None:
    data = path.read_bytes()
    whole = read_file(path)
    for parts in (2, 3, 7):
        cuts = [len(data) * part // parts for part in range(1, parts)]
        assert read_file(path, cuts) == whole
    for cut in range(0, len(data), max(len(data) // 5, 1)):  # and a part gives the beginning of what the whole gives
        start = data[:cut].rfind(b"\n") + 1
        part = read(data[:start], session=_session(path)).written
        assert part == whole.written[: len(part)]


def _session(path: Path) -> str:
    return next((source.session_id for source in codex.claims(str(path))), "unclaimed")


@pytest.mark.corpus
@pytest.mark.parametrize("path", [path for path in HOST_FILES if path.name.startswith("rollout-")], ids=_name)
def test_answers_and_reasoning_are_said_once(path: Path) -> None:
    records = [json.loads(record) for record in path.read_bytes().splitlines()]
    start = records[0]["payload"].get("subagent_history_start_ordinal", 0)
    items = [
        record["payload"]
        for record in records
        if record["type"] == "response_item"
        and record.get("ordinal", start) >= start
        and not record.get("metadata", {}).get("compaction_output")
    ]
    found = read_file(path)
    answers = [part["text"] for one in items if one.get("role") == "assistant" for part in one["content"]]
    assert found.texts(EventType.MESSAGE, Actor.ASSISTANT) == answers
    thoughts = [part["text"] for one in items if one["type"] == "reasoning" for part in one["summary"]]
    assert found.texts(EventType.REASONING) == thoughts
    calls = [one["call_id"] for one in items if one["type"] in ("function_call", "custom_tool_call")]
    seen = [event.call_id for event in found.events if event.event_type is not EventType.TOOL_RESULT and event.call_id]
    assert [call for call in seen if not call.startswith("exec-")] == calls


@pytest.mark.corpus
@pytest.mark.parametrize("path", [path for path in HOST_FILES if path.name.startswith("rollout-2025")], ids=_name)
def test_typed_prompts_are_those_that_the_window_showed(path: Path) -> None:
    records = [json.loads(record)["payload"] for record in path.read_bytes().splitlines()]
    shown = [record["message"] for record in records if record.get("type") == "user_message"]
    typed = [text.partition("## My request for Codex:")[2].strip() or text for text in shown]
    assert read_file(path).prompts == typed


@pytest.mark.corpus
@pytest.mark.parametrize("path", HOST_FILES, ids=_name)
def test_tokens_add_up_to_what_the_host_counted(path: Path) -> None:
    records = [json.loads(record) for record in path.read_bytes().splitlines()]
    totals = [
        info["total_token_usage"]
        for record in records
        if (record.get("payload") or {}).get("type") == "token_count" and (info := record["payload"]["info"])
    ]
    requests = [record["payload"]["usage"] for record in records if record["type"] == "token_usage_record"]
    turns = [record["usage"] for record in records if record["type"] == "turn.completed"]
    wanted = requests or totals[-1:] or turns[-1:]
    usage = read_file(path).usage
    assert len({one.usage_id for one in usage}) == len(usage)
    assert sum(one.input_tokens + one.cache_read_tokens + one.cache_write_5m_tokens for one in usage) == sum(
        one["input_tokens"] for one in wanted
    )
    assert sum(one.cache_read_tokens for one in usage) == sum(one["cached_input_tokens"] for one in wanted)
    assert sum(one.output_tokens for one in usage) == sum(one["output_tokens"] for one in wanted)


# --- the live client's run, against what it printed and what was typed -----------------------------------------------


class Run(NamedTuple):
    """What `codex exec --json` printed for one prompt."""

    thread: str
    prompt: str
    items: list[dict[str, Any]]


def _runs() -> list[Run]:
    found = []
    for block in re.split(r"^--- ", (LIVE / "evidence" / "runs.txt").read_text(), flags=re.MULTILINE)[1:]:
        head, *rest = block.splitlines()
        printed = [json.loads(text) for text in rest if text.startswith("{")]
        if printed:
            prompt = re.sub(r"^timeout \d+ codex exec(?: resume| fork)?(?: --?[\w-]+| gpt-\S+| 01a1f0\S+)* ", "", head)
            items = [one["item"] for one in printed if one["type"] == "item.completed"]
            found.append(Run(printed[0]["thread_id"], prompt, items))
    return found


def _live() -> dict[str, Read]:
    return {_session(path): read_file(path) for path in _files(LIVE / "home")}


@pytest.mark.corpus
def test_live_prompts_are_those_that_were_typed() -> None:
    typed: dict[str, list[str]] = {}
    for run in _runs():
        typed.setdefault(run.thread, []).append(run.prompt)
    for text in (LIVE / "home/.codex/history.jsonl").read_text().splitlines():
        typed.setdefault(json.loads(text)["session_id"], []).append(json.loads(text)["text"])
    found = {thread: one.prompts for thread, one in _live().items() if one.prompts}
    killed = next(thread for thread, prompts in found.items() if prompts == ["slow turn please"])
    assert found == {**typed, killed: ["slow turn please"]}


@pytest.mark.corpus
def test_live_commands_edits_and_answers_are_those_that_were_printed() -> None:
    commands: dict[str, Counter[str]] = {}
    answers: dict[str, list[str]] = {}
    edits: Counter[str] = Counter()
    for run in _runs():
        for one in run.items:
            if one["type"] == "command_execution":
                commands.setdefault(run.thread, Counter())[shlex.split(one["command"])[2]] += 1
            elif one["type"] == "file_change":
                edits[run.thread] += 1
            elif one["type"] == "agent_message":
                answers.setdefault(run.thread, []).append(one["text"])
    live = _live()
    for thread in {run.thread for run in _runs()}:
        found = live[thread]
        assert Counter(found.commands) == commands.get(thread, Counter())
        assert len(found.texts(EventType.FILE_EDIT)) == edits[thread]
        assert found.texts(EventType.MESSAGE, Actor.ASSISTANT) == answers.get(thread, [])


@pytest.mark.corpus
def test_live_relations_say_who_started_or_forked_whom() -> None:
    live = _live()
    parents = {thread: found.facts.parent for thread, found in live.items() if found.facts.parent}
    started = {child: thread for thread, found in live.items() for child in found.facts.agents}
    rows, problems = codex_state.threads(str(LIVE / "home/.codex"))
    assert problems == []
    assert started == {thread: row.parent for thread, row in rows.items() if row.parent}
    assert started.items() < parents.items()
    ((fork, origin),) = parents.items() - started.items()
    assert (live[fork].prompts, live[origin].prompts[0]) == (["fork here"], "Please fix the failing test and commit")
    assert not any(live[child].prompts for child in started)


@pytest.mark.corpus
def test_what_people_and_hooks_said_is_in_some_event() -> None:
    for path in _files(LIVE / "home"):
        found = read_file(path)
        texts = "\n".join(event.text or "" for event in found.events)
        records = [json.loads(record) for record in path.read_bytes().splitlines()]
        start = records[0]["payload"].get("subagent_history_start_ordinal", 0)
        for record in records:
            kinds = record["payload"].get("internal_chat_message_metadata_passthrough", {}).get("content_item_kinds")
            for kind, part in zip(kinds or (), record["payload"].get("content") or (), strict=False):
                if record["ordinal"] >= start and kind.startswith(("user.", "hooks.", "agents_md.", "unknown")):
                    assert part["text"] in texts


# --- the same thing on two channels ----------------------------------------------------------------------------------

PAIRS: Final = {
    "prompt": (said("user", "yes"), told("user_message", message="yes", kind="plain")),
    "answer": (said("assistant", "done"), told("agent_message", message="done")),
    "thought": (
        item("reasoning", summary=[{"type": "summary_text", "text": "hm"}]),
        told("agent_reasoning", text="hm"),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("channels", [1, 2])
def test_each_thing_is_said_once_and_repeats_stay(name: str, turned: bool, channels: int) -> None:
    pair = PAIRS[name][::-1] if turned else PAIRS[name]
    records = [at(record, repeat * 10 + place) for repeat in range(2) for place, record in enumerate(pair[:channels])]
    found = read(lines(meta(), *records))
    assert [event.text for event in found.events[1:]] == [found.events[1].text] * 2
    assert len(found.prompts) == (2 if name == "prompt" else 0)
    assert [event.turn for event in found.events[1:]] == ([1, 2] if name == "prompt" else [None, None])


def test_a_plan_that_came_apart_is_not_said_again_with_the_answer() -> None:
    answer = "Here it is.\n<proposed_plan>\n# Plan\n</proposed_plan>"
    records = [
        told("agent_message", message="Here it is."),
        completed("Plan", 5, text="# Plan\n"),
        said("assistant", answer),
    ]
    for order in (records, records[::-1]):
        assert sorted(read(lines(meta(), *order)).texts(EventType.MESSAGE)) == ["# Plan", "Here it is."]


INJECTED: Final = {
    "# AGENTS.md instructions for /code\n\n<INSTRUCTIONS>\nrules\n</INSTRUCTIONS>": Origin.INJECTED,
    "<user_instructions>\nrules\n</user_instructions>": Origin.INJECTED,
    "<skill>\n<name>x</name>\n</skill>": Origin.INJECTED,
    "<environment_context>\n  <cwd>/code</cwd>\n</environment_context>": Origin.MACHINE,
    "<subagent_notification>\n{}\n</subagent_notification>": Origin.MACHINE,
}


@pytest.mark.parametrize("text", INJECTED)
def test_what_the_host_puts_into_a_users_message_is_no_prompt(text: str) -> None:
    found = read(lines(meta(), said("user", text), said("user", "do it")))
    assert (found.prompts, found.events[1].text, found.events[1].origin) == (["do it"], text, INJECTED[text])


def test_developer_messages_are_injected_and_the_hosts_own_instructions_are_bookkeeping() -> None:
    hook = {"internal_chat_message_metadata_passthrough": {"content_item_kinds": ["hooks.additional_context"]}}
    own = {"internal_chat_message_metadata_passthrough": {"content_item_kinds": ["model.base_instructions"]}}
    found = read(
        lines(
            meta(),
            said("developer", "mind the gap", **hook),
            said("developer", "You are Codex", **own),
            said("developer", "<permissions instructions>\nall\n</permissions instructions>"),
            said("developer", "speak plainly"),
        )
    )
    assert [(event.actor, event.text) for event in found.events[1:]] == [
        (Actor.HOOK, "mind the gap"),
        (Actor.SYSTEM, "speak plainly"),
    ]
    assert found.accounting.bookkeeping["response:message"][0] == 2


def test_an_editors_context_stands_apart_from_the_prompt() -> None:
    text = "# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\nmend it\n"
    found = read(lines(meta(), said("user", text), told("user_message", message=text)))
    assert found.prompts == ["mend it"]
    assert (found.events[1].origin, found.events[1].text) == (
        Origin.INJECTED,
        "# Context from my IDE setup:\n\n## Active file: a.py",
    )


def test_a_command_that_a_person_ran_is_theirs() -> None:
    text = (
        "<user_shell_command>\n<command>\nls\n</command>\n<result>\nExit code: 2\nDuration: 0.1 seconds\nOutput:\nno\n"
        "</result>\n</user_shell_command>"
    )
    found = read(lines(meta(), said("user", text)))
    command, result = found.events[1:]
    assert (command.actor, command.command, command.origin) == (Actor.USER, "ls", Origin.HUMAN)
    assert (result.exit_code, found.prompts) == (2, [])


# --- calls -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (["bash", "-lc", "ls | wc"], "ls | wc"),
        (["/bin/zsh", "-lc", "ls"], "ls"),
        (["git", "log", "a b"], "git log 'a b'"),
        ("zsh -lc ls", "ls"),
        ("/bin/bash -lc 'python -m pytest -q'", "python -m pytest -q"),
        ("bash -lc 'torn", "bash -lc 'torn"),
        ("ls -la", "ls -la"),
    ],
)
def test_a_command_is_shown_without_the_shell_around_it(command: str | list[str], text: str) -> None:
    assert command_text(command) == text


@pytest.mark.parametrize(
    ("output", "code", "failed", "duration"),
    [
        ('{"output":"x","metadata":{"exit_code":2,"duration_seconds":1.4}}', 2, True, 1400),
        ('{"output":"x","metadata":{}}', None, None, None),
        ("Chunk ID: 1\nWall time: 0.5 seconds\nProcess exited with code 1\nOutput:\nExit code: 7", 1, True, 500),
        ("Exit code: 0\nWall time: 2 seconds\nOutput:\nok", 0, False, 2000),
        ("2 passed\nProcess exited with code 0", 0, False, None),
        ("Chunk ID: 1\nWall time: 0.5 seconds\nProcess running with session ID 7\nOutput:\n", None, None, 500),
        ("execution error: No such file or directory (os error 2)", None, True, None),
        ("exec command rejected by user", None, True, None),
        ("Plan updated", None, None, None),
        ('{"agent_id":"a"}', None, None, None),
    ],
)
def test_exit_codes_are_found_in_every_shape(
    output: str, code: int | None, failed: bool | None, duration: int | None
) -> None:
    found = outcome(output)
    assert (found.exit_code, found.is_error, found.duration_ms) == (code, failed, duration)


PATCH: Final = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Add File: b.py\n+z\n*** End Patch"


@pytest.mark.parametrize(
    ("patch", "paths", "change", "text"),
    [
        (PATCH, ["a.py", "b.py"], "patch", PATCH[16:-14]),
        ("*** Begin Patch\n*** Add File: b.py\n+z\n+w\n*** End Patch\n", ["b.py"], "write", "z\nw"),
        ("*** Begin Patch\n*** Delete File: b.py\n*** End Patch", ["b.py"], "delete", "*** Delete File: b.py\n"),
        (
            "*** Begin Patch\n*** Update File: a.py\n*** Move to: c.py\n@@\n-x\n*** End Patch",
            ["a.py", "c.py"],
            "move",
            "*** Update File: a.py\n*** Move to: c.py\n@@\n-x\n",
        ),
    ],
)
def test_a_patch_is_an_edit(patch: str, paths: list[str], change: str, text: str) -> None:
    found = patched(patch)
    assert (found.event_type, found.paths, found.payload) == (EventType.FILE_EDIT, paths, {"change": change})
    assert (found.text or "").strip("\n") == text.strip("\n")


CALLS: Final = {
    "apply_patch": item("custom_tool_call", name="apply_patch", input=PATCH, call_id="c"),
    "function": item("function_call", name="apply_patch", arguments=json.dumps({"input": PATCH}), call_id="c"),
    "heredoc": item(
        "function_call",
        name="shell",
        arguments=json.dumps({"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF\n"]}),
        call_id="c",
    ),
    "argument": item(
        "function_call", name="shell", arguments=json.dumps({"command": ["apply_patch", PATCH]}), call_id="c"
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_way_to_patch_is_one_edit(name: str) -> None:
    output = item("custom_tool_call_output", call_id="c", output='{"output":"ok","metadata":{"exit_code":0}}')
    end = told("patch_apply_end", call_id="c", success=True, changes={"a.py": {"type": "update", "unified_diff": ""}})
    found = read(lines(meta(), CALLS[name], end, output))
    edit = found.only(EventType.FILE_EDIT)
    assert (edit.paths, edit.call_id) == (["a.py", "b.py"], "c")
    assert found.only(EventType.TOOL_RESULT).exit_code == 0


OTHER_CALLS: Final = [
    (item("function_call", name="view_image", arguments='{"path":"a.png"}', call_id="c"), EventType.FILE_READ),
    (item("function_call", name="update_plan", arguments='{"plan":[]}', call_id="c"), EventType.TOOL_CALL),
    (item("function_call", name="spawn_agent", arguments='{"message":"go"}', call_id="c"), EventType.SUBAGENT_START),
    (item("function_call", name="shell", arguments="not JSON", call_id="c"), EventType.TOOL_CALL),
    (item("web_search_call", action={"type": "search", "query": "q"}), EventType.WEB_SEARCH),
    (item("local_shell_call", call_id="c", action={"type": "exec", "command": ["ls"]}), EventType.COMMAND),
    (item("function_call", name="recall", namespace="mcp__mem", arguments="{}", call_id="c"), EventType.TOOL_CALL),
]


@pytest.mark.parametrize("place", range(len(OTHER_CALLS)))
def test_calls_have_the_type_of_what_they_do(place: int) -> None:
    record, event_type = OTHER_CALLS[place]
    assert read(lines(meta(), record)).events[1].event_type is event_type


def test_in_code_mode_the_inner_calls_are_the_events_and_the_outer_stays_a_call() -> None:
    ran = {"command": ["/bin/bash", "-lc", "pytest"], "aggregated_output": "F", "exit_code": 1, "status": "failed"}
    diff = {"/code/a.py": {"type": "update", "unified_diff": "@@\n-x\n+y\n", "move_path": None}}
    found = read(
        lines(
            meta(0),
            item("custom_tool_call", 1, name="exec", call_id="k", input="await tools.exec_command({cmd: 'pytest'})"),
            completed("CommandExecution", 2, id="exec-1", duration={"secs": 1, "nanos": 5_000_000}, **ran),
            completed("FileChange", 3, id="exec-2", changes=diff, status="completed", stdout="ok", stderr=""),
            completed("McpToolCall", 4, id="exec-3", server="mem", tool="recall", arguments={}, result={"content": []}),
            item(
                "custom_tool_call_output", 5, call_id="k", output=[{"type": "input_text", "text": "Script completed"}]
            ),
        )
    )
    assert [(event.event_type.value, event.tool, event.call_id) for event in found.events[1:]] == [
        ("tool_call", "exec", "k"),
        ("command", "exec_command", "exec-1"),
        ("tool_result", "exec_command", "exec-1"),
        ("file_edit", "apply_patch", "exec-2"),
        ("tool_result", "apply_patch", "exec-2"),
        ("tool_call", "mcp__mem__recall", "exec-3"),
        ("tool_result", "mcp__mem__recall", "exec-3"),
        ("tool_result", "exec", "k"),
    ]
    assert (found.events[3].exit_code, found.events[3].duration_ms, found.events[4].paths) == (1, 1005, ["/code/a.py"])


def test_a_command_that_goes_on_gets_its_end_when_that_is_told() -> None:
    found = read(
        lines(
            meta(0),
            item("function_call", 1, name="exec_command", arguments='{"cmd":"sleep 5"}', call_id="c"),
            item("function_call_output", 2, call_id="c", output="Process running with session ID 7\nOutput:\n"),
            completed(
                "CommandExecution", 3, id="c", command=["bash", "-lc", "sleep 5"], aggregated_output="", exit_code=0
            ),
            completed(
                "CommandExecution", 4, id="c", command=["bash", "-lc", "sleep 5"], aggregated_output="", exit_code=0
            ),
        )
    )
    results = [event for event in found.events if event.event_type is EventType.TOOL_RESULT]
    assert [(event.exit_code, event.payload) for event in results] == [(None, {"background": True}), (0, None)]
    assert found.commands == ["sleep 5"]


def test_changes_are_told_in_both_ways() -> None:
    as_list = changed(msgspec.Raw(b'[{"path":"a","kind":"add"},{"path":"b","kind":"update"}]'))
    assert (as_list.paths, as_list.payload) == (["a", "b"], {"change": "patch"})
    added = changed(msgspec.Raw(b'{"a":{"type":"add","content":"x\\n"}}'))
    assert (added.text, added.payload) == ("x\n", {"change": "write"})


# --- what the host tells ---------------------------------------------------------------------------------------------


def test_interrupts_errors_titles_and_reviews() -> None:
    found = read(
        lines(
            meta(),
            told("turn_aborted", reason="interrupted"),
            told("error", message="rate limit"),
            told("task_complete", last_agent_message=None, error={"message": "bad request"}),
            told("task_complete", last_agent_message="done"),
            told("thread_name_updated", thread_name="calc work"),
            told("entered_review_mode", target={"type": "baseBranch", "branch": "main"}),
            told("exited_review_mode", review_output={"overall_explanation": "fine", "findings": []}),
        )
    )
    assert [(event.event_type.value, event.text) for event in found.events[1:]] == [
        ("message", "the turn was aborted: interrupted"),
        ("error", "rate limit"),
        ("error", "bad request"),
        ("attachment", "calc work"),
        ("message", "/review main"),
        ("message", "fine"),
    ]
    assert (found.events[1].payload, found.facts.title) == ({"interrupt": True}, "calc work")


def test_a_compaction_takes_the_place_of_the_message_that_held_its_summary() -> None:
    summary = {**said("assistant", "the summary", 1), "metadata": {"compaction_output": True}}
    whole = lines(meta(0), summary, line("compacted", 2, message="It was: the summary", replacement_history=[]))
    found = read(whole)
    assert found.only(EventType.COMPACTION).text == "It was: the summary"
    torn = read(whole[: whole.index(b'{"timestamp": "2026-11-18T19:36:03.558Z", "ordinal": 2')])
    assert torn.only(EventType.COMPACTION).text == "the summary"
    assert torn.only(EventType.COMPACTION).event_id == found.only(EventType.COMPACTION).event_id


def test_folder_branch_versions_and_model_are_noted() -> None:
    found = read(
        lines(
            meta(
                cli_version="0.169.0", git={"branch": "main", "commit_hash": "c", "repository_url": "r"}, source="cli"
            ),
            line("turn_context", cwd="/code", model="gpt-6"),
            said("assistant", "hello"),
            line("turn_context", cwd="/elsewhere", model="gpt-6"),
            at(said("assistant", "there"), 1),
        )
    )
    assert [(event.cwd, event.branch, event.model) for event in found.events] == [
        ("/code", "main", None),
        (None, None, "gpt-6"),
        ("/elsewhere", None, "gpt-6"),
    ]
    facts = found.facts
    assert (facts.cwd, facts.branch, facts.models, facts.versions) == ("/code", "main", ["gpt-6"], ["0.169.0"])


def test_fields_of_unforeseen_types_lose_nothing_else() -> None:
    found = read(lines(meta(git="none", cli_version=7), told("user_message", message="hello", images={"a": 1})))
    assert found.prompts == ["hello"]
    assert found.facts.cwd == "/code"


def test_an_unknown_record_is_kept_whole() -> None:
    record = told("quantum_leap", how="far")
    found = read(lines(meta(), record, {"timestamp": STAMP, "type": "odd", "payload": {}}))
    assert found.events[1].text == json.dumps(record)
    assert set(found.accounting.unknown) == {"event:quantum_leap", "odd"}


# --- tokens ----------------------------------------------------------------------------------------------------------


def tokens(given: int, cached: int, out: int, thought: int = 0, written: int = 0) -> dict[str, int]:
    return {
        "input_tokens": given,
        "cached_input_tokens": cached,
        "cache_write_input_tokens": written,
        "output_tokens": out,
        "reasoning_output_tokens": thought,
    }


def count(total: dict[str, int] | None, last: dict[str, int] | None = None) -> dict[str, object]:
    return told("token_count", info=total and {"total_token_usage": total, "last_token_usage": last})


def test_totals_count_by_their_steps_and_a_fall_is_a_new_beginning() -> None:
    found = read(
        lines(
            meta(),
            line("turn_context", model="gpt-5"),
            count(tokens(100, 40, 10, 4), tokens(100, 40, 10, 4)),
            count(tokens(100, 40, 10, 4), tokens(100, 40, 10, 4)),
            count(None),
            count(tokens(300, 140, 30, 4), tokens(200, 100, 20, 0)),
            count(tokens(50, 10, 5), tokens(50, 10, 5)),
            count(tokens(60, 10, 6), tokens(10, 0, 1)),
        )
    )
    assert [(one.input_tokens, one.cache_read_tokens, one.output_tokens) for one in found.usage] == [
        (60, 40, 10),
        (100, 100, 20),
        (40, 10, 5),
        (10, 0, 1),
    ]
    assert found.usage[0].reasoning_tokens == 4
    assert {one.model for one in found.usage} == {"gpt-5"}
    assert len({one.usage_id for one in found.usage}) == 4


def test_a_request_with_a_record_of_its_own_is_not_counted_by_the_total_again() -> None:
    used = {"usage": tokens(100, 40, 10, written=20), "thread_id": THREAD}
    found = read(
        lines(
            meta(0),
            line("token_usage_record", 1, **used),
            told("token_count", 2, info={"total_token_usage": tokens(9, 0, 9)}),
        )
    )
    (usage,) = found.usage
    assert (usage.usage_id, usage.input_tokens, usage.cache_write_5m_tokens, usage.cache_read_tokens) == (
        f"{THREAD}:1",
        40,
        20,
        40,
    )


def test_a_fork_that_repeats_its_parents_totals_names_them_as_the_parent_did() -> None:
    first, second = (tokens(100, 0, 10), tokens(100, 0, 10)), (tokens(300, 0, 30), tokens(200, 0, 20))
    parent = read(lines(meta(id=PARENT), count(*first), count(*second)), session=PARENT)
    fork = read(lines(meta(forked_from_id=PARENT), meta(id=PARENT), count(*first), count(tokens(150, 0, 12))))
    assert fork.usage[0].usage_id == parent.usage[0].usage_id
    assert {one.usage_id for one in fork.usage} & {one.usage_id for one in parent.usage} == {parent.usage[0].usage_id}
    assert fork.facts.parent == PARENT


def test_a_fork_without_copies_counts_only_what_its_own_request_took() -> None:
    found = read(lines(meta(history_base={"thread_id": PARENT}), count(tokens(1000, 0, 100), tokens(10, 0, 1))))
    assert [(one.input_tokens, one.output_tokens) for one in found.usage] == [(10, 1)]
    assert found.facts.parent == PARENT


# --- identity, copies, forks -----------------------------------------------------------------------------------------


def test_copied_history_of_a_sub_agent_adds_nothing() -> None:
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": PARENT, "depth": 1, "agent_path": "/root/look"}}}
    found = read(
        lines(
            meta(0, source=spawn, forked_from_id=PARENT, subagent_history_start_ordinal=4),
            meta(1, id=PARENT, cwd="/parent", cli_version="0.1"),
            said("user", "the parent's prompt", 2),
            line("token_usage_record", 3, usage=tokens(100, 0, 10), thread_id=PARENT),
            said("user", "the task", 4),
            said("assistant", "the report", 5),
        )
    )
    assert [event.text for event in found.events[1:]] == ["the task", "the report"]
    assert (found.prompts, found.events[1].origin, found.usage) == ([], Origin.AGENT, [])
    assert found.accounting.bookkeeping["copied"][0] == 3
    assert (found.facts.parent, found.facts.cwd, found.facts.host_title) == (PARENT, "/code", "/root/look")


def test_records_are_named_by_their_number_and_by_their_content_where_that_fails() -> None:
    found = read(lines(meta(0), said("user", "a", 1), said("user", "b", 1), said("user", "c")))
    assert found.events[1].event_id == f"{THREAD}:1"
    assert [event.text for event in found.events[1:]] == ["a", "b", "c"]
    assert len({event.event_id for event in found.events}) == 4


def test_the_first_format_has_items_without_an_envelope() -> None:
    call = {"type": "function_call", "name": "shell", "arguments": '{"command":["bash","-lc","ls"]}', "call_id": "c"}
    data = lines(
        {"id": THREAD, "timestamp": STAMP, "instructions": None, "git": {"branch": "main"}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "yes"}]},
        {"record_type": "state"},
        call,
        {"type": "function_call_output", "call_id": "c", "output": '{"output":"x","metadata":{"exit_code":0}}'},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "yes"}]},
    )
    found = read(data)
    assert (found.prompts, found.commands, found.facts.branch) == (["yes", "yes"], ["ls"], "main")
    assert found.only(EventType.TOOL_RESULT).exit_code == 0
    assert read(data, range(0, len(data), 40)) == found
    assert not found.accounting.unknown


def test_a_record_too_long_to_be_read_keeps_its_place() -> None:
    huge = item("function_call_output", 2, call_id="c", output="x" * (17 * 1024 * 1024))
    found = read(
        lines(
            meta(0), item("function_call", 1, name="shell", arguments="{}", call_id="c"), huge, said("user", "next", 3)
        )
    )
    result = found.only(EventType.TOOL_RESULT)
    assert (result.call_id, result.truncated, result.event_id, found.prompts) == ("c", True, f"{THREAD}:2", ["next"])


# --- `codex exec --json` ---------------------------------------------------------------------------------------------


def _stream(*items: dict[str, object], total: int = 10) -> bytes:
    used = {"input_tokens": total, "cached_input_tokens": 0, "output_tokens": total}
    done = [{"type": "item.completed", "item": one} for one in items]
    return lines(
        {"type": "thread.started", "thread_id": THREAD},
        {"type": "turn.started"},
        *done,
        {"type": "turn.completed", "usage": used},
    )


def test_runs_in_one_stream_keep_their_items_apart() -> None:
    ran: dict[str, object] = {
        "id": "item_0",
        "type": "command_execution",
        "command": "bash -lc ls",
        "aggregated_output": "x",
        "exit_code": 0,
    }
    found = read(_stream(ran) + _stream(ran, total=25))
    assert found.commands == ["ls", "ls"]
    calls = [event.call_id for event in found.events if event.event_type is EventType.TOOL_RESULT]
    assert len(set(calls)) == 2
    assert [one.output_tokens for one in found.usage] == [10, 15]


def test_a_stream_shows_begun_commands_lists_and_failures() -> None:
    todo = {"id": "item_1", "type": "todo_list", "items": [{"text": "a", "completed": False}]}
    done = {"id": "item_1", "type": "todo_list", "items": [{"text": "a", "completed": True}]}
    data = lines(
        {"type": "thread.started", "thread_id": THREAD},
        {"type": "item.started", "item": {"id": "item_0", "type": "command_execution", "command": "zsh -lc ls"}},
        {"type": "item.started", "item": todo},
        {"type": "item.updated", "item": done},
        {"type": "error", "message": "no"},
        {"type": "turn.failed", "error": {"message": "no"}},
    )
    found = read(data)
    assert found.commands == ["ls"]
    assert '"completed":true' in (found.only(EventType.TOOL_CALL).text or "")
    assert found.texts(EventType.ERROR) == ["no"]


# --- homes -----------------------------------------------------------------------------------------------------------


def _rollout(home: Path, thread: str = THREAD, text: str = "hello", folder: str = "sessions/2026/11/18") -> Path:
    path = home / folder / f"rollout-2026-11-18T19-36-03-{thread}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lines(meta(0, id=thread), said("user", text, 1)))
    return path


def _database(path: Path, *threads: dict[str, object], edges: Iterable[tuple[str, str]] = ()) -> apsw.Connection:
    """A database of threads that is open and has everything in its log; the caller keeps the connection."""
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL")
    names = sorted({name for thread in threads for name in thread} | {"id"})
    connection.execute(f"CREATE TABLE threads ({', '.join(names)})")
    for thread in threads:
        marks = ", ".join("?" * len(names))
        connection.execute(f"INSERT INTO threads VALUES ({marks})", [thread.get(name) for name in names])
    connection.execute("CREATE TABLE thread_spawn_edges (parent_thread_id, child_thread_id, status)")
    connection.executemany("INSERT INTO thread_spawn_edges VALUES (?, ?, 'open')", list(edges))
    return connection


def _discovered(home: Path) -> dict[tuple[str, str], Source]:
    return {(found.session_id, found.key): found for found in codex.discover(Root("codex", str(home), ""), {})}


def test_homes_are_told_apart(tmp_path: Path) -> None:
    for name in ("database", "sessions", "bag", "empty", "sqlite"):
        (tmp_path / name).mkdir()
    _database(tmp_path / "database" / "state_12.sqlite").close()
    _database(tmp_path / "sqlite" / "state_3.sqlite").close()
    _rollout(tmp_path / "sessions", folder="archived_sessions")
    _rollout(tmp_path / "bag", folder="deep/down")
    env = {
        "HOME": str(tmp_path),
        "CODEX_HOME": f"{tmp_path}/database, {tmp_path}/sessions,{tmp_path}/bag,{tmp_path}/empty,{tmp_path}/none",
        "CODEX_SQLITE_HOME": f"{tmp_path}/sqlite",
    }
    found = codex.roots(env, [f"{tmp_path}/bag"])
    assert [(os.path.basename(root.path), codex.layout(root.path), root.reason) for root in found] == [
        ("database", "database", "CODEX_HOME"),
        ("sessions", "sessions", "CODEX_HOME"),
        ("bag", "bag", "CODEX_HOME"),
        ("sqlite", "database", "CODEX_SQLITE_HOME"),
    ]
    assert codex.roots({"HOME": str(tmp_path)}, []) == []


def test_database_and_disk_are_joined(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    _rollout(home)
    elsewhere = _rollout(tmp_path / "other", PARENT)
    gone = "01a1f028-0000-7000-8000-00000000dead"
    rows: list[dict[str, object]] = [
        {"id": PARENT, "rollout_path": str(elsewhere), "archived": 1, "title": "one", "model": "m", "tokens_used": 5},
        {"id": gone, "rollout_path": str(tmp_path / "gone.jsonl")},
        {"id": THREAD, "name": "calc", "title": "hello", "first_user_message": "hello", "cwd": "/code"},
    ]
    connection = _database(home / "state_5.sqlite", *rows, edges=[(PARENT, THREAD)])
    (home / "session_index.jsonl").write_bytes(
        lines({"id": THREAD, "thread_name": "old"}, {"id": THREAD, "thread_name": "calc work"})
    )
    before = sorted(home.iterdir())
    found = _discovered(home)
    connection.close()
    assert set(found) == {(thread, key) for thread in (THREAD, PARENT) for key in ("main", "sidecars/state.json")}
    assert (found[PARENT, "main"].archived, found[THREAD, "main"].archived) == (True, False)
    assert sorted(path for path in home.iterdir() if path not in before) == []
    content = found[THREAD, "sidecars/state.json"].content
    assert content is not None and b"tokens_used" not in content
    facts = codex.sidecar_facts("sidecars/state.json", content)
    assert facts is not None
    assert (facts.title, facts.host_title, facts.parent, facts.cwd) == ("calc work", None, PARENT, "/code")
    parent = codex.sidecar_facts("sidecars/state.json", found[PARENT, "sidecars/state.json"].content or b"")
    assert parent is not None and (list(parent.agents), parent.models, parent.host_title) == ([THREAD], ["m"], "one")


def test_a_database_is_read_without_touching_it(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    home.mkdir()
    connection = _database(home / "state_5.sqlite", {"id": THREAD, "name": "in the log only"})
    kept = [home / "state_5.sqlite", home / "state_5.sqlite-wal"]
    before = [(path.stat().st_mtime_ns, path.read_bytes()) for path in kept], sorted(home.iterdir())
    rows, problems = codex_state.threads(str(home))
    after = [(path.stat().st_mtime_ns, path.read_bytes()) for path in kept], sorted(home.iterdir())
    connection.close()
    assert (rows[THREAD].facts.title, problems) == ("in the log only", [])
    assert after == before


@pytest.mark.parametrize("content", [b"not a database" * 100, b""])
def test_a_database_that_cannot_be_read_hides_no_rollout(tmp_path: Path, content: bytes) -> None:
    _rollout(tmp_path)
    (tmp_path / "state_5.sqlite").write_bytes(content)
    discovering = codex.discover(Root("codex", str(tmp_path), ""), {})
    assert next(discovering).session_id == THREAD
    if content:
        with pytest.raises(OSError, match=r"^state_5\.sqlite: .*; titles and parents are taken from the rollouts$"):
            list(discovering)
    else:
        assert list(discovering) == []


def test_prompts_of_threads_without_a_rollout_come_from_the_history(tmp_path: Path) -> None:
    _rollout(tmp_path)
    typed = [{"session_id": PARENT, "ts": 1754500000, "text": "hm"}, {"session_id": THREAD, "ts": 1, "text": "hello"}]
    (tmp_path / "history.jsonl").write_bytes(lines(*typed) + b'{"torn')
    found = _discovered(tmp_path)
    assert set(found) == {(THREAD, "main"), (PARENT, "history")}
    history = found[PARENT, "history"]
    events = read(history.content or b"").events
    assert [(event.text, event.timestamp, event.origin) for event in events] == [
        ("hm", "2025-08-06T17:06:40.000Z", Origin.HUMAN)
    ]


def test_a_bag_is_sorted_by_first_records(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines({"type": "thread.started", "thread_id": PARENT}))
    (tmp_path / "b.jsonl").write_bytes(lines(meta(id=THREAD)))
    (tmp_path / "c.jsonl").write_bytes(lines({"id": "old", "timestamp": STAMP, "instructions": None}))
    (tmp_path / "d.jsonl").write_bytes(lines({"ts": STAMP, "dir": "to_tui", "kind": "key_event"}))
    (tmp_path / "e.jsonl").write_bytes(lines({"type": "user", "sessionId": "x", "uuid": "y", "message": {}}))
    (tmp_path / "f.jsonl").write_bytes(lines(said("user", "no first record")))
    found = {source.session_id: source.archive_name for source in codex.claims(str(tmp_path))}
    assert found == {PARENT: "exec.jsonl", THREAD: "rollout.jsonl", "old": "rollout.jsonl", "f": "rollout.jsonl"}
    assert codex.claims(str(tmp_path / "d.jsonl")) == []


# --- through the archive ---------------------------------------------------------------------------------------------


def _sweep(tmp_path: Path, home: Path) -> Report:
    settings = Settings("", {("sweep", "workers"): 1})
    return sweep(Places(str(tmp_path / "root")), settings, {"HOME": "/nonexistent", "CODEX_HOME": str(home)})


def _archived(tmp_path: Path, thread: str = THREAD) -> list[Event]:
    return session_events(Places(str(tmp_path / "root")).normalized("codex", thread), {})


def test_a_rollout_that_its_host_compresses_moves_and_resumes_stays_one_source(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    path = _rollout(home)
    _sweep(tmp_path, home)
    data = path.read_bytes()
    path.unlink()
    packed = path.with_name(path.name + ".zst")
    packed.write_bytes(zstandard.compress(data))
    report = _sweep(tmp_path, home)
    assert [host.bytes_read for host in report.hosts if host.host == "codex"] == [0]
    archived = home / "archived_sessions" / path.name
    archived.parent.mkdir()
    archived.write_bytes(data + lines(said("user", "again", 2)))
    packed.unlink()
    _sweep(tmp_path, home)
    places = Places(str(tmp_path / "root"))
    names = sorted(file.name for file in Path(places.raw("codex", THREAD)).rglob("*") if file.is_file())
    assert names == ["rollout.jsonl.zst", "thread.json"]
    assert [event.text for event in _archived(tmp_path)] == [None, "hello", "again"]


def test_a_compressed_rollout_is_captured_and_restored_as_what_was_compressed(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    path = _rollout(home)
    data = path.read_bytes()
    packed = path.with_name(path.name + ".zst")
    packed.write_bytes(zstandard.compress(data))
    path.unlink()
    _sweep(tmp_path, home)
    packed.unlink()
    places = Places(str(tmp_path / "root"))
    connection = open_writer(places.index)
    state = session_state(connection, "codex", THREAD)
    connection.close()
    restore(places, state, None)
    assert path.read_bytes() == data


def test_rows_of_the_database_are_captured_once_and_tell_the_title_and_the_parent(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    _rollout(home)
    row: dict[str, object] = {"id": THREAD, "name": "calc work", "tokens_used": 1}
    connection = _database(home / "state_5.sqlite", row, edges=[(PARENT, THREAD)])
    _sweep(tmp_path, home)
    connection.execute("UPDATE threads SET tokens_used = 2")
    report = _sweep(tmp_path, home)
    connection.close()
    assert [host.skipped_unchanged for host in report.hosts if host.host == "codex"] == [1]
    index = apsw.Connection(Places(str(tmp_path / "root")).index)
    assert list(index.execute("SELECT title, parent FROM session")) == [("calc work", PARENT)]
    index.close()
    kept = json.loads((tmp_path / "root/raw/codex" / THREAD / "thread.json").read_text())
    assert [one["facts"].get("parent") for one in kept["sources"] if one["kind"] == SIDECAR] == [PARENT]


@pytest.mark.corpus
def test_the_live_home_is_swept_while_it_is_open(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    shutil.copytree(LIVE / "while-open/.codex", home, copy_function=shutil.copyfile)
    for folder in (home, *(path for path in home.rglob("*") if path.is_dir())):
        folder.chmod(0o700)
    before = sorted(home.rglob("*"))
    report = _sweep(tmp_path, home)
    (host,) = [one for one in report.hosts if one.host == "codex"]
    assert (host.ingested, host.problems) == (10, [])
    assert sorted(home.rglob("*")) == before
    (host,) = [one for one in _sweep(tmp_path, home).hosts if one.host == "codex"]
    assert (host.skipped_unchanged, host.bytes_read) == (10, 0)


@pytest.mark.corpus
def test_archived_sessions_are_found_and_marked() -> None:
    found = [source for source in codex.claims(str(LIVE / "home/.codex")) if source.kind == TRANSCRIPT]
    assert len(found) == 10
    assert [source.path for source in found if source.archived] == [
        str(path) for path in (LIVE / "home/.codex/archived_sessions").iterdir()
    ]
