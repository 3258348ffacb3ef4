"""Grok Build: its log of updates, its messages of both forms, sub-agents in folders of their own, tokens by turn."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

from agent_support import CORPUS, Read, lines, read
from retro import agents
from retro.agents.interface import TRANSCRIPT, Root, Source
from retro.event import Actor, EventType, Origin

GROK: Final = agents.named("grok")
LIVE: Final = CORPUS / "live" / "grok"
HOMES: Final = [LIVE / "home" / ".grok", LIVE / "while-open" / ".grok"]
SESSION: Final = "01a1f029-e091-7a60-8e90-7e9ab79c8743"
AGENT: Final = "01a1f029-e94d-7e91-9450-b2bbdb4ffc06"
FORK: Final = "01a1f029-f209-7f22-af36-98194c185fdf"
PROJECT: Final = "%2Fwork%2Fproject"
MODEL: Final = {"modelUsage": {"m": {"inputTokens": 100, "cachedReadTokens": 60, "outputTokens": 7}}}


def update(kind: str, number: int = 1, at: int = 1000, prompt: str = "p1", /, **fields: Any) -> dict[str, Any]:
    meta = {"eventId": f"{SESSION}-{number}", "agentTimestampMs": 1795030639000 + at, "promptId": prompt}
    inner = {"sessionUpdate": kind, **fields}
    return {"timestamp": 1, "method": "session/update", "params": {"update": inner, "_meta": meta}}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def told(*records: dict[str, Any], key: str = "main") -> Read:
    return read(GROK, lines(*records), SESSION, key=key)


def sources(home: Path) -> list[Source]:
    found = GROK.discover(Root("grok", str(home), "test"), {})
    return [source for source in found if source.kind == TRANSCRIPT]


def read_all(source: Source) -> Read:
    return read(GROK, Path(source.path).read_bytes(), source.session_id, key=source.key)


def typed(evidence: Path) -> list[str]:
    """What a person typed, out of the notes of what was run; a fork begins with what its parent was told."""
    runs = (evidence / "runs.txt").read_text("utf-8", "replace")
    given = re.findall(r"^--- .*grok .* -p (.*)$", runs, re.MULTILINE)
    shown = (evidence / "tui.txt").read_text("utf-8", "replace")
    given += [words for words in re.findall(r"^===== (?!start|key )(.*)$", shown, re.MULTILINE) if words[:1] != "/"]
    forked = given[: given.index("fork here")]
    slow = ["slow turn please"] if "kill -9" in runs else []
    return sorted(given + slow + forked)


# --- the corpus ------------------------------------------------------------------------------------------------------


@pytest.mark.corpus
@pytest.mark.parametrize("home", HOMES, ids=["closed", "open"])
def test_every_byte_is_accounted_for_and_nothing_is_unknown(home: Path) -> None:
    found = sources(home)
    assert sum(source.key == "main" for source in found) == 7
    for source in found:
        one = read_all(source)
        assert (one.offset, one.accounting.total()) == (source.size, source.size)
        assert (one.accounting.unknown, one.accounting.malformed, one.of_type(EventType.UNKNOWN)) == ({}, {}, [])
        assert one.unjoined() == []


@pytest.mark.corpus
def test_fixtures_of_every_form_are_sessions() -> None:
    found = [source for source in GROK.claims(str(CORPUS / "grok")) if source.key == "main"]
    assert len(found) == 6
    for source in found:
        one = read_all(source)
        assert one.accounting.total() == source.size
        assert one.accounting.malformed == {}


@pytest.mark.corpus
def test_the_prompts_of_the_live_tree_are_those_that_were_typed() -> None:
    found = [prompt for source in sources(HOMES[0]) for prompt in read_all(source).prompts]
    assert sorted(found) == typed(LIVE / "evidence")


@pytest.mark.corpus
def test_tokens_are_those_that_the_client_printed() -> None:
    runs = (LIVE / "evidence" / "runs.txt").read_text("utf-8", "replace")
    found = [json.loads(one) for one in re.findall(r"^\{$.*?^\}$", runs, re.MULTILINE | re.DOTALL)]
    names = ("input_tokens", "cache_read_input_tokens", "output_tokens")
    printed = {one["requestId"]: tuple(one["usage"][name] for name in names) for one in found if "usage" in one}
    usage = {one.usage_id: one for source in sources(HOMES[0]) for one in read_all(source).usage}
    counted = {
        name.partition(":")[0]: (one.input_tokens, one.cache_read_tokens, one.output_tokens)
        for name, one in usage.items()
    }
    assert len(printed) == 7
    assert {name: counted[name] for name in printed} == printed


@pytest.mark.corpus
def test_a_sub_agents_folder_belongs_to_the_session_that_started_it() -> None:
    found = {source.key: source.session_id for source in sources(HOMES[0]) if source.key.startswith("agent-")}
    parts = ("", "/log", "/messages", "/rewind")
    assert found == {f"agent-{AGENT}{part}": SESSION for part in parts}
    (main,) = [one for one in sources(HOMES[0]) if (one.session_id, one.key) == (SESSION, "main")]
    whole = read_all(main)
    assert whole.facts.agents[AGENT].call_id == whole.only(EventType.SUBAGENT_START).call_id


@pytest.mark.corpus
def test_a_fork_repeats_ids_and_adds_only_its_own_tokens() -> None:
    mains = {source.session_id: read_all(source) for source in sources(HOMES[0]) if source.key == "main"}
    first, fork = mains[SESSION], mains[FORK]
    shared = {event.event_id for event in first.events} & {event.event_id for event in fork.events}
    assert len(shared) == len(fork.events) - 2
    assert len({one.usage_id for one in fork.usage} - {one.usage_id for one in first.usage}) == 1


# --- what records mean -----------------------------------------------------------------------------------------------


def test_pieces_of_a_message_are_one_event_that_grows() -> None:
    found = told(
        update("user_message_chunk", 1, content=text("Look"), _meta={"promptIndex": 0, "modelId": "m"}),
        update("agent_message_chunk", 2, content=text("All ")),
        update("agent_message_chunk", 3, content=text("is well.")),
        update("tool_call", 4, toolCallId="c", title="read_file", rawInput={"target_file": "a.py"}),
        update("agent_message_chunk", 5, content=text("Indeed.")),
    )
    assert found.texts(EventType.MESSAGE) == ["Look", "All is well.", "Indeed."]
    assert [event.sequence for event in found.events] == [0, 1, 2, 3]
    assert found.only(EventType.FILE_READ).model == "m"


def test_equal_numbers_of_two_runs_are_two_updates() -> None:
    found = told(
        update("user_message_chunk", 4, 0, "p1", content=text("One"), _meta={"promptIndex": 0}),
        update("turn_completed", 5, 1, stop_reason="end_turn"),
        update("user_message_chunk", 4, 9, "p2", content=text("Two"), _meta={"promptIndex": 1}),
    )
    assert found.prompts == ["One", "Two"]


def test_a_command_of_the_host_is_typed_by_a_person() -> None:
    found = told(update("user_message_chunk", content=text("/compact"), _meta={"hostTurn": True}))
    assert found.only(EventType.MESSAGE).payload == {"slash_command": "/compact"}
    assert found.prompts == ["/compact"]


@pytest.mark.parametrize(
    ("end", "words", "code", "failed"),
    [
        ({"status": "completed", "rawOutput": {"exit_code": 1, "output_for_prompt": "bad"}}, "bad", 1, True),
        ({"status": "failed", "content": [{"type": "content", "content": text("denied")}]}, "denied", None, True),
        ({"status": "completed", "rawOutput": {"output": {"OkayOutput": "fine"}}}, "fine", None, False),
        ({"status": "completed", "content": [{"type": "diff", "oldText": "a", "newText": "b"}]}, "-a\n+b", None, False),
    ],
)
def test_the_end_of_a_call_is_its_result(end: dict[str, Any], words: str, code: int | None, failed: bool) -> None:
    found = told(
        update("tool_call", 1, toolCallId="c", title="run_terminal_command", rawInput={"command": "make"}),
        update("tool_call_update", 2, toolCallId="c", rawInput={"command": "make"}),
        update("tool_call_update", 3, toolCallId="c", **end),
    )
    result = found.only(EventType.TOOL_RESULT)
    assert (found.commands, result.text, result.exit_code, result.is_error) == (["make"], words, code, failed)


def test_tokens_are_counted_once_for_a_turn_and_not_again_for_its_sub_agent() -> None:
    end = update("turn_completed", prompt_id="p1", stop_reason="end_turn", usage={"inputTokens": 100, **MODEL})
    (one,) = told(end).usage
    assert (one.usage_id, one.model, one.input_tokens, one.cache_read_tokens, one.output_tokens) == (
        "p1:m",
        "m",
        40,
        60,
        7,
    )
    assert told(end, key=f"agent-{AGENT}").usage == []


def test_a_sub_agents_task_is_no_prompt() -> None:
    asked = update("user_message_chunk", content=text("Look at it"), _meta={"promptIndex": 0})
    found = told(asked, update("agent_message_chunk", 2, content=text("Seen")), key=f"agent-{AGENT}")
    assert found.prompts == []
    assert [(event.origin, event.actor, event.agent_id) for event in found.events] == [
        (Origin.AGENT, Actor.USER, AGENT),
        (None, Actor.SUBAGENT, AGENT),
    ]


def test_a_refused_request_is_one_error_and_a_cancelled_turn_an_interrupt() -> None:
    found = told(
        update("retry_state", 1, type="failed", error_type="api", message="400 Bad Request"),
        update("turn_completed", 2, stop_reason="error", agent_result="400 Bad Request"),
        update("turn_completed", 3, stop_reason="cancelled"),
    )
    error, stopped = found.events
    assert (error.event_type, error.text) == (EventType.ERROR, "400 Bad Request")
    assert (stopped.payload or {})["interrupt"] is True


def test_messages_of_before_and_of_today_mean_the_same() -> None:
    arguments = '{"command":"make"}'
    today = told(
        {"type": "system", "content": "You are"},
        {"type": "user", "content": [text("<user_info>\nx\n</user_info>")], "synthetic_reason": "environment"},
        {"type": "user", "content": [text("<user_query>\nBuild it\n</user_query>")], "prompt_index": 0},
        {"type": "reasoning", "summary": [{"text": "Well."}]},
        {"type": "assistant", "content": "So.", "tool_calls": [{"id": "c", "name": "bash", "arguments": arguments}]},
        {"type": "tool_result", "tool_call_id": "c", "content": "done"},
    )
    called = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": arguments}}
    before = told(
        {"role": "system", "content": "You are"},
        {"role": "user", "content": "<user_info>\nx\n</user_info>"},
        {"role": "user", "content": "Build it"},
        {"role": "assistant", "content": "So.", "tool_calls": [called], "reasoning_content": "Well."},
        {"role": "tool", "tool_call_id": "c", "content": "done"},
    )
    for found in (today, before):
        assert found.prompts == ["Build it"]
        kinds = ["attachment", "message", "reasoning", "message", "command", "tool_result"]
        assert [event.event_type.value for event in found.events] == kinds
        assert (found.commands, found.unjoined()) == (["make"], [])


def test_beside_a_log_of_updates_messages_tell_only_what_it_lacks() -> None:
    continued = "This session is being continued from a previous conversation\nSummary: done"
    reminder = {"type": "user", "content": [text("Context from PostToolUse hook 'm'")], "synthetic_reason": "reminder"}
    found = told(
        {"type": "user", "content": [text("Build it")], "prompt_index": 0},
        {"type": "assistant", "content": "So."},
        reminder,
        {"type": "user", "content": [text(continued)], "synthetic_reason": "compaction"},
        reminder,
        {"prompt_index": 0, "file_snapshots": {"a.py": {"content": "x"}}},
        key="messages",
    )
    assert [(event.actor, event.event_type, event.origin) for event in found.events] == [
        (Actor.HOOK, EventType.ATTACHMENT, Origin.INJECTED),
        (Actor.SYSTEM, EventType.MESSAGE, Origin.MACHINE),
    ]


def test_a_session_that_has_only_just_begun_is_left_for_the_next_sweep(tmp_path: Path) -> None:
    folder = save(tmp_path, SESSION)
    (folder / "chat_history.jsonl").write_bytes(lines({"type": "user", "content": "Look"}))
    (folder / "updates.jsonl").rename(folder / "prompt_context.json")
    assert sources(tmp_path) == []
    (folder / "prompt_context.json").unlink()
    assert [source.key for source in sources(tmp_path)] == ["main"]


def test_the_same_message_twice_is_two_events() -> None:
    message = {"type": "user", "content": [text("Go on")], "prompt_index": 0}
    assert told(message, message).prompts == ["Go on", "Go on"]


def test_odd_types_of_fields_do_no_harm() -> None:
    odd: list[Any] = [None, 7, "x", [], {}, [7], {"a": 1}, [{"type": 3}]]
    names = ("content", "rawInput", "rawOutput", "usage", "runs", "toolCallId", "title", "_meta", "status")
    kinds = [*GROK.UNCOUNTED, "tool_call", "subagent_finished", "auto_compact_completed"]
    records = [update(kind, at, **dict.fromkeys(names, one)) for kind in kinds for at, one in enumerate(odd)]
    records += [{"type": kind.partition(":")[2], "content": one, "tool_calls": one} for kind in kinds for one in odd]
    assert told(*records).accounting.malformed == {}


# --- where it writes -------------------------------------------------------------------------------------------------


def save(home: Path, session: str, project: str = PROJECT) -> Path:
    folder = home / "sessions" / project / session
    folder.mkdir(parents=True)
    (folder / "updates.jsonl").write_bytes(lines(update("user_message_chunk", content=text("Look"))))
    info = {"info": {"id": session, "cwd": "/work/project"}, "parent_session_id": FORK, "generated_title": "Look"}
    (folder / "summary.json").write_text(json.dumps(info), "utf-8")
    return folder


def test_sessions_are_found_where_they_were_moved(tmp_path: Path) -> None:
    save(tmp_path / "home" / ".grok", SESSION)
    save(tmp_path / "moved", AGENT)
    (default,) = GROK.roots({"HOME": str(tmp_path / "home")}, ())
    (moved,) = GROK.roots({"HOME": str(tmp_path / "home"), "GROK_HOME": str(tmp_path / "moved")}, ())
    assert [next(iter(GROK.discover(root, {}))).session_id for root in (default, moved)] == [SESSION, AGENT]


def test_an_agent_of_an_agent_in_another_folder_belongs_to_the_first_session(tmp_path: Path) -> None:
    first, second = save(tmp_path, SESSION), save(tmp_path, AGENT)
    save(tmp_path, FORK, "%2Felsewhere")
    (first / "subagents" / AGENT).mkdir(parents=True)
    (second / "subagents" / FORK).mkdir(parents=True)
    assert {(source.session_id, source.key) for source in sources(tmp_path)} == {
        (SESSION, "main"),
        (SESSION, f"agent-{AGENT}"),
        (SESSION, f"agent-{FORK}"),
    }
    known = {source.path: (source.session_id, source.key) for source in sources(tmp_path)}
    shutil.rmtree(first)
    left = GROK.discover(Root("grok", str(tmp_path), "test"), known)
    assert {source.session_id for source in left} == {SESSION}


def test_the_summary_tells_title_folder_and_parent(tmp_path: Path) -> None:
    folder = save(tmp_path, SESSION)
    facts = GROK.sidecar_facts("sidecars/summary.json", (folder / "summary.json").read_bytes())
    assert facts is not None
    assert (facts.host_title, facts.cwd, facts.parent) == ("Look", "/work/project", FORK)
    (main,) = [one for one in GROK.claims(str(folder / "updates.jsonl")) if one.key == "main"]
    assert (main.session_id, GROK.folder_of(main)) == (SESSION, "/work/project")
