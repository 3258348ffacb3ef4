"""GitHub Copilot CLI: who said what, whose tokens, and what stands beside the records."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any, Final, cast

import pytest

from agent_support import CORPUS, Read, lines, read
from retro import agents
from retro.agents.copilot_records import called
from retro.agents.interface import SIDECAR, TRANSCRIPT, RecordsModule, Root, Source
from retro.config import Settings
from retro.event import Actor, EventType, Origin, Quality
from retro.places import Places
from retro.sweep import sweep
from support import counts, tree

COPILOT: Final = agents.named("copilot")
LIVE: Final = CORPUS / "live" / "copilot"
HOMES: Final = [LIVE / "home" / ".copilot", LIVE / "while-open" / ".copilot"]
FILES: Final = sorted([*LIVE.rglob("events.jsonl"), *(CORPUS / "copilot-cli" / "fixtures").rglob("*.jsonl")])
SESSION: Final = "8a0c4c97-6a76-4180-8331-e30839eddc3b"
STAMP: Final = "2026-11-18T19:37:19.901Z"
AGENT: Final = "dee0922c-bd1f-4fe8-aa22-144dd39533cf"


def record(kind: str, number: int = 1, agent: str | None = None, /, **data: Any) -> dict[str, Any]:
    named = {"agentId": agent} if agent else {}
    return {"type": kind, "data": data, **named, "id": f"id-{number}", "timestamp": STAMP, "parentId": None}


def told(*records: dict[str, Any], key: str = "main") -> Read:
    return read(COPILOT, lines(*records), SESSION, key=key)


def sources(home: Path, kind: str = TRANSCRIPT) -> list[Source]:
    return [source for source in COPILOT.discover(Root("copilot", str(home), "test"), {}) if source.kind == kind]


def typed(evidence: Path) -> list[str]:
    """What a person typed, out of the notes of what was run; commands of the host begin with a slash."""
    runs = (evidence / "runs.txt").read_text("utf-8", "replace")
    given = re.findall(r"^--- .*copilot .* -p (.*)$", runs, re.MULTILINE)
    shown = (evidence / "tui.txt").read_text("utf-8", "replace")
    given += re.findall(r"^===== (?!start|key )(.*)$", shown, re.MULTILINE)
    slow = ["slow turn please"] if "--- kill -9" in runs else []
    return sorted([words for words in given if not words.startswith("/")] + slow)


# --- the corpus ------------------------------------------------------------------------------------------------------


@pytest.mark.corpus
@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path)[-40:])
def test_every_byte_is_accounted_for_and_nothing_is_unknown(path: Path) -> None:
    (main,) = [source for source in COPILOT.claims(str(path)) if source.key == "main"]
    found = read(COPILOT, path.read_bytes(), main.session_id)
    assert (found.offset, found.accounting.total()) == (path.stat().st_size, path.stat().st_size)
    assert (found.accounting.unknown, found.accounting.malformed, found.of_type(EventType.UNKNOWN)) == ({}, {}, [])


@pytest.mark.corpus
def test_the_prompts_of_the_live_tree_are_those_that_were_typed() -> None:
    found = [prompt for one in sources(HOMES[0]) for prompt in _read(one).prompts]
    assert sorted(found) == typed(LIVE / "evidence")


@pytest.mark.corpus
@pytest.mark.parametrize("home", HOMES, ids=["closed", "open"])
def test_calls_are_joined_to_results_and_sub_agents_are_attributed(home: Path) -> None:
    for one in sources(home):
        found = _read(one)
        assert found.unjoined() == []
        named = {event.agent_id for event in found.events if event.agent_id}
        assert named == found.facts.agents.keys()
        assert [agent.call_id for agent in found.facts.agents.values()] == [
            event.call_id for event in found.of_type(EventType.SUBAGENT_START)
        ]


@pytest.mark.corpus
@pytest.mark.parametrize("home", HOMES, ids=["closed", "open"])
def test_tokens_are_those_of_the_totals_and_of_compactions(home: Path) -> None:
    for one in sources(home):
        records = [json.loads(line) for line in Path(one.path).read_bytes().splitlines()]
        ends = [record["data"]["modelMetrics"] for record in records if record["type"] == "session.shutdown"]
        if not ends:
            continue
        found = _read(one)
        attempts = {r["data"]["compactionAttemptId"] for r in records if r["type"] == "session.compaction_complete"}
        usage = [used for used in found.usage if used.usage_id not in attempts]
        assert len({used.usage_id for used in found.usage}) == len(found.usage)
        assert len(found.usage) - len(usage) == len(attempts)
        totals = [figures["usage"] for figures in ends[-1].values()]
        assert sum(used.output_tokens for used in usage) == sum(total["outputTokens"] for total in totals)
        assert sum(used.cache_read_tokens for used in usage) == sum(total["cacheReadTokens"] for total in totals)
        everything = sum(used.input_tokens + used.cache_read_tokens for used in usage)
        assert everything == sum(total["inputTokens"] for total in totals)


@pytest.mark.corpus
def test_names_that_a_person_gave_are_told_from_the_hosts() -> None:
    titles = Counter[str]()
    for one in sources(HOMES[0], SIDECAR):
        facts = COPILOT.sidecar_facts(one.key, Path(one.path).read_bytes())
        if facts is not None:
            titles[f"given: {facts.title}" if facts.title else "made"] += 1
            assert facts.cwd == "/home/dev/live/proj/copilot"
    assert titles == {"given: calc work": 1, "made": 5}


def _read(source: Source) -> Read:
    return read(COPILOT, Path(source.path).read_bytes(), source.session_id)


# --- what records mean -----------------------------------------------------------------------------------------------


def test_what_hooks_add_to_a_prompt_is_told_once_and_not_typed() -> None:
    found = told(
        record("hook.end", 1, hookType="userPromptSubmitted", success=True, output={"additionalContext": "Remember"}),
        record(
            "user.message",
            2,
            content="Fix it",
            transformedContent="<current_datetime>x</current_datetime>\n\nFix it\n\n"
            "<system_reminder>\nRemember\n</system_reminder>",
        ),
        record("user.message", 3, content="And this", transformedContent="And this\n<file>of another</file>"),
    )
    assert found.prompts == ["Fix it", "And this"]
    injected = [(event.text, event.origin, event.actor) for event in found.of_type(EventType.ATTACHMENT)]
    assert injected == [(words, Origin.INJECTED, Actor.HOOK) for words in ("Remember", "<file>of another</file>")]


@pytest.mark.parametrize(
    ("fields", "origin"),
    [
        ({"source": f"agent-{SESSION}"}, Origin.AGENT),
        ({"source": "skill-pdf"}, Origin.INJECTED),
        ({"isAutopilotContinuation": True}, Origin.MACHINE),
        ({"source": "user"}, Origin.HUMAN),
    ],
)
def test_a_message_tells_whose_it_is(fields: dict[str, Any], origin: Origin) -> None:
    found = told(record("user.message", content="Do it", **fields))
    assert found.only(EventType.MESSAGE).origin is origin
    assert len(found.prompts) == (origin is Origin.HUMAN)


def test_a_message_without_words_is_the_hosts_own() -> None:
    event = told(record("user.message", content="", transformedContent="Go on")).only(EventType.MESSAGE)
    assert (event.actor, event.origin, event.text) == (Actor.SYSTEM, Origin.MACHINE, "Go on")


def test_a_call_is_told_once_and_keeps_its_result() -> None:
    call = {"toolCallId": "call_1", "name": "bash", "arguments": {"command": "make", "description": "Build"}}
    found = told(
        record("assistant.message", 1, messageId="m", content="I build.", reasoningText="Well.", toolRequests=[call]),
        record("tool.execution_start", 2, toolCallId="call_1", toolName="bash", arguments=call["arguments"]),
        record(
            "tool.execution_complete",
            3,
            toolCallId="call_1",
            success=True,
            result={"content": "bad\n<shellId: 1 completed with exit code 2>"},
        ),
    )
    assert [event.event_type.value for event in found.events] == ["reasoning", "message", "command", "tool_result"]
    result = found.only(EventType.TOOL_RESULT)
    assert (found.commands, result.exit_code, result.is_error, result.tool) == (["make"], 2, False, "bash")


def test_a_call_that_nobody_asked_for_is_an_event_and_one_that_a_person_typed_is_theirs() -> None:
    found = told(
        record("tool.execution_start", 1, toolCallId="a", toolName="view", arguments={"path": "calc.py"}),
        record("tool.user_requested", 2, toolCallId="b", toolName="bash", arguments={"command": "ls"}),
        record("tool.execution_start", 3, toolCallId="b", toolName="bash", arguments={"command": "ls"}),
    )
    assert [(event.event_type.value, event.origin) for event in found.events] == [
        ("file_read", None),
        ("command", Origin.HUMAN),
    ]


def test_a_patch_is_an_edit_of_its_files() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Add File: b.py\n+z\n*** End Patch\n"
    for given in (patch, {"input": patch}):
        found = called("apply_patch", given)
        assert (found.event_type, found.paths, found.text) == (EventType.FILE_EDIT, ["a.py", "b.py"], patch)


def test_before_records_named_sub_agents_the_call_that_started_one_names_it() -> None:
    task = {"toolCallId": "call_1", "name": "task", "arguments": {"prompt": "Look", "description": "Look at it"}}
    found = told(
        record("assistant.message", 1, messageId="m", content="", toolRequests=[task]),
        record("assistant.message", 2, messageId="n", content="All is well.", parentToolCallId="call_1"),
    )
    start, said = found.events
    assert (start.agent_id, said.agent_id, said.actor) == (None, "call_1", Actor.SUBAGENT)
    assert found.facts.agents["call_1"].call_id == "call_1"


def test_totals_at_the_end_tell_what_no_request_told() -> None:
    """Sessions of versions without a record for each request; the totals of a resumed one go on, or begin anew."""

    def end(number: int, **usage: int) -> dict[str, Any]:
        return record("session.shutdown", number, modelMetrics={"m": {"usage": usage}})

    found = told(
        record("assistant.message", 1, messageId="one", model="m", content="A", outputTokens=10),
        end(2, inputTokens=100, cacheReadTokens=40, outputTokens=15),
        record("assistant.message", 3, messageId="two", model="m", content="B", outputTokens=5),
        end(4, inputTokens=150, cacheReadTokens=60, outputTokens=20),
        record("assistant.message", 5, messageId="three", model="m", content="C", outputTokens=7),
        end(6, inputTokens=30, cacheReadTokens=0, outputTokens=7),
    )
    assert [(one.usage_id, one.input_tokens, one.cache_read_tokens, one.output_tokens) for one in found.usage] == [
        ("one", 0, 0, 10),
        ("id-2:m", 60, 40, 5),
        ("two", 0, 0, 5),
        ("id-4:m", 30, 20, 0),
        ("three", 0, 0, 7),
        ("id-6:m", 30, 0, 0),
    ]
    assert [one.quality for one in found.usage[:2]] == [Quality.LOWER_BOUND, Quality.EXACT]


def test_a_request_with_a_record_of_its_own_is_not_counted_again() -> None:
    usage = {"model": "m", "inputTokens": 100, "cacheReadTokens": 40, "outputTokens": 15, "apiCallId": "resp_1"}
    found = told(
        record("session.usage_record", 1, AGENT, usage=usage),
        record("assistant.message", 2, AGENT, messageId="one", apiCallId="resp_1", content="A", outputTokens=15),
        record("session.shutdown", 3, modelMetrics={"m": {"usage": usage}}),
    )
    (one,) = found.usage
    assert (one.usage_id, one.agent_id, one.input_tokens, one.output_tokens) == ("resp_1", AGENT, 60, 15)
    assert found.only(EventType.MESSAGE).usage_id == "resp_1"


def test_an_abort_is_an_interrupt_and_a_refused_request_an_error() -> None:
    found = told(
        record("abort", 1, reason="user initiated"),
        record("session.error", 2, errorType="query", message="400 Bad request", statusCode=400),
    )
    stopped, error = found.events
    assert (stopped.payload or {})["interrupt"] is True
    assert (error.is_error, error.text, error.payload) == (True, "400 Bad request", {"kind": "query", "status": 400})


def test_odd_types_of_fields_do_no_harm() -> None:
    odd: list[Any] = [None, 7, "x", [], {}, [7], {"a": 1}]
    names = ("content", "toolRequests", "attachments", "result", "usage", "modelMetrics", "context", "output", "kind")
    kinds = [*COPILOT.UNCOUNTED, "user.message", "session.start", "tool.execution_complete", "session.shutdown"]
    records = [record(kind, at, **dict.fromkeys(names, one)) for kind in kinds for at, one in enumerate(odd)]
    records += [{"type": kind, "data": one, "id": 7, "timestamp": 3} for kind in kinds for one in odd]
    assert told(*records).accounting.malformed == {}


# --- the database ----------------------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A home of which only the database is left, its rows still in the log."""
    home = tmp_path / ".copilot"
    home.mkdir()
    for name in ("session-store.db", "session-store.db-wal"):
        shutil.copyfile(HOMES[0] / name, home / name)
    return home


def rows_of(source: Source) -> bytes:
    """A session's rows, as a reader is fed them."""
    assert source.copy is not None
    return b"".join(
        b'{"table":"%s","key":"%s","row":%s}\n' % (row.table.encode(), row.key.encode(), row.value)
        for row in cast(RecordsModule, COPILOT).records(source.path, source.copy, 0)
        if row.value
    )


@pytest.mark.corpus
def test_the_database_gives_sessions_whose_folders_are_gone(store: Path) -> None:
    found = {one.session_id: read(COPILOT, rows_of(one), one.session_id, key=one.key) for one in sources(store)}
    assert len(found) == 6
    recorded = {one.session_id: _read(one) for one in sources(HOMES[0])}
    for session, one in found.items():
        assert one.accounting.unknown == {}
        assert set(one.prompts) <= set(recorded[session].prompts)
        assert sum(used.output_tokens for used in one.usage) == sum(
            used.output_tokens for used in recorded[session].usage
        )
    assert found[SESSION].prompts == [
        "Please fix the failing test and commit",
        "what does memory say",
        "track todos",
        "carry on after compaction",
    ]
    assert [event.turn for event in found[SESSION].events if event.actor is Actor.USER] == [1, 2, 3, 4]


@pytest.mark.corpus
def test_of_a_session_with_a_folder_the_database_gives_nothing(store: Path) -> None:
    (store / "session-state" / SESSION).mkdir(parents=True)
    assert SESSION not in {one.session_id for one in sources(store)}


@pytest.mark.corpus
def test_a_sweep_captures_the_database_once_and_leaves_it_as_it_was(store: Path, tmp_path: Path) -> None:
    before = tree(store)
    places, env = Places(str(tmp_path / "root")), {"HOME": str(tmp_path)}
    reports = [sweep(places, Settings("", {}), env, hosts=["copilot"]) for _ in range(2)]
    assert [counts(report) for report in reports] == [
        {"discovered": 6, "ingested": 6, "analyzed": 6},
        {"discovered": 6, "skipped_unchanged": 6},
    ]
    assert tree(store) == before


def test_a_row_that_is_written_again_is_the_same_turn() -> None:
    def row(answer: str | None) -> dict[str, Any]:
        turn = {"session_id": SESSION, "turn_index": 0, "user_message": "Look", "assistant_response": answer}
        return {"table": "turns", "key": "1", "row": turn}

    other = {"table": "turns", "key": "2", "row": {"turn_index": 1, "user_message": "And now?"}}
    found = told(row(None), other, row("Seen"), key="store")
    assert [(event.text, event.turn) for event in found.events] == [("Look", 1), ("And now?", 2), ("Seen", 1)]


# --- where it writes -------------------------------------------------------------------------------------------------


def save(home: Path, name: str) -> None:
    path = home / "session-state" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lines(record("session.start", sessionId=SESSION, context={"cwd": "/work"})))


def test_sessions_are_found_in_folders_and_flat_and_where_they_were_moved(tmp_path: Path) -> None:
    home, moved = tmp_path / "home", tmp_path / "moved"
    save(home / ".copilot", f"{SESSION}/events.jsonl")
    save(moved, f"{AGENT}.jsonl")
    (home / ".copilot" / "session-state" / SESSION / "inuse.7.lock").write_text("7")
    (home / ".copilot" / "session-state" / SESSION / "plan.md").write_text("Plan")
    (home / ".copilot" / "session-state" / ".session-operation-locks").mkdir()
    (default,) = COPILOT.roots({"HOME": str(home)}, ())
    (elsewhere,) = COPILOT.roots({"HOME": str(home), "COPILOT_HOME": str(moved)}, ())
    found = [(one.session_id, one.key) for root in (default, elsewhere) for one in COPILOT.discover(root, {})]
    assert found == [(SESSION, "main"), (SESSION, "sidecars/plan.md"), (AGENT, "main")]
    (given,) = COPILOT.claims(str(moved / "session-state" / f"{AGENT}.jsonl"))
    assert (given.session_id, COPILOT.folder_of(given)) == (SESSION, "/work")


def test_names_in_yaml_may_be_quoted() -> None:
    content = b"name: 'it''s'\nuser_named: true\ncwd: \"C:\\\\work\"\nbranch: null\n"
    facts = COPILOT.sidecar_facts("sidecars/workspace.yaml", content)
    assert facts is not None
    assert (facts.title, facts.host_title, facts.cwd, facts.branch) == ("it's", None, "C:\\work", None)


def test_a_session_of_before_that_goes_on_in_a_folder_is_kept_beside_it(tmp_path: Path) -> None:
    home = tmp_path / ".copilot"
    shutil.copytree(Path(__file__).resolve().parent / "samples" / "copilot" / ".copilot", home)
    (name,) = (path.name for path in (home / "session-state").iterdir())
    document = {"sessionId": name, "chatMessages": [], "timeline": [{"type": "user", "id": "u", "text": "go"}]}
    (home / "history-session-state" / "again.json").write_text(json.dumps(document))
    sources = list(COPILOT.discover(Root("copilot", str(home), "given"), {}))
    assert {"main", "sidecars/history-session-state.json"} <= {one.key for one in sources if one.session_id == name}
    assert sorted(one.key for one in sources if one.session_id != name) == ["history", "history-messages"]
