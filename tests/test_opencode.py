"""OpenCode: rows that change in place or lie only in the log, forks that do not name their parent, files of before."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

import apsw
import pytest

from agent_support import CORPUS, Read, lines, read
from retro import agents
from retro.agents import databases
from retro.agents.interface import RecordsModule, Root, Source
from retro.config import Settings
from retro.event import Actor, EventType, Origin
from retro.places import Places
from retro.sweep import sweep
from support import counts, tree

OPENCODE: Final = cast(RecordsModule, agents.named("opencode"))
LIVE: Final = CORPUS / "live" / "opencode"
DATA: Final = LIVE / "home" / ".local" / "share" / "opencode"
FIXTURES: Final = CORPUS / "opencode" / "fixtures"
ID: Final = "ses_main"
T: Final = 1772355600000


@pytest.fixture(autouse=True)
def _released() -> Iterator[None]:
    yield
    databases.release()


def part(name: str, message: str, **data: Any) -> dict[str, Any]:
    row = {"id": name, "message_id": message, "session_id": ID, "time_created": T, "data": json.dumps(data)}
    return {"table": "part", "key": name, "row": row}


def message(name: str, role: str, created: int = T, **data: Any) -> dict[str, Any]:
    about = json.dumps({"role": role, "time": {"created": created}, **data})
    return {"table": "message", "key": name, "row": {"id": name, "session_id": ID, "data": about}}


def tool(status: str, **state: Any) -> dict[str, Any]:
    return part("p", "a", type="tool", tool="bash", callID="c", state={"status": status, **state})


def told(*records: dict[str, Any], key: str = "main") -> Read:
    return read(OPENCODE, lines(*records), ID, key=key)


def rows(source: Source) -> bytes:
    """A source's rows, as a reader is fed them."""
    return b"".join(
        b'{"table":"%s","key":"%s","row":%s}\n' % (row.table.encode(), row.key.encode(), row.value.replace(b"\n", b""))
        for row in OPENCODE.records(source.path, source.copy or "", 0)
        if row.value
    )


def sources(folder: Path) -> list[Source]:
    return list(OPENCODE.discover(Root("opencode", str(folder), "test"), {}))


def readings(folder: Path) -> dict[str, Read]:
    """What every source of a folder gives, by the host's name of the session."""
    return {
        one.path.rpartition("#")[2]: read(OPENCODE, rows(one), one.session_id, key=one.key) for one in sources(folder)
    }


@pytest.fixture
def live(tmp_path: Path) -> Path:
    """The database that the client left, with its log."""
    folder = tmp_path / ".local" / "share" / "opencode"
    folder.mkdir(parents=True)
    for name in ("opencode.db", "opencode.db-wal"):
        shutil.copyfile(DATA / name, folder / name)
    return folder


# --- the corpus ------------------------------------------------------------------------------------------------------


@pytest.mark.corpus
def test_the_prompts_of_the_live_tree_are_those_that_were_typed(live: Path) -> None:
    runs = (LIVE / "evidence" / "runs.txt").read_text("utf-8")
    typed = re.findall(
        r"^--- .*opencode run .*?(?:json|--continue|--session \S+|--fork) ([a-zA-Z][^-]*)$", runs, re.MULTILINE
    )
    found = {(event.timestamp, event.text) for one in readings(live).values() for event in one.events
             if event.origin is Origin.HUMAN}  # fmt: skip
    assert sorted(text or "" for _, text in found) == sorted(typed)


@pytest.mark.corpus
def test_calls_are_joined_a_sub_agent_is_attributed_and_a_fork_knows_its_parent(live: Path) -> None:
    found = readings(live)
    assert [one.unjoined() for one in found.values()] == [[], [], []]
    main, child, fork = (
        "ses_e0fd4eb9affeW9IjH1IWnT0KW7",
        "ses_e0fd4cb81ffendnt5a66KpcAFE",
        "ses_e0fd4bceaffew5W1osAIFhGYVy",
    )
    assert {event.agent_id for event in found[child].events} == {child}
    (started,) = found[main].of_type(EventType.SUBAGENT_START)
    assert found[main].facts.agents[child].call_id == started.call_id
    assert (found[fork].facts.parent, found[fork].facts.agents, found[main].facts.parent) == (main, {}, None)


@pytest.mark.corpus
def test_tokens_are_those_of_the_sessions_and_a_fork_adds_only_its_own(live: Path) -> None:
    with databases.opened(databases.snapshot(str(live / "opencode.db"))) as connection:
        names = "input", "cache_read", "cache_write", "output + tokens_reasoning"
        query = (
            f"SELECT {', '.join(f'sum(tokens_{name})' for name in names)} FROM session WHERE title NOT LIKE '%fork%'"
        )
        stored = next(iter(connection.execute(query)))
    found = readings(live)
    fork = "ses_e0fd4bceaffew5W1osAIFhGYVy"
    used = {one.usage_id: one for name, session in found.items() if name != fork for one in session.usage}
    added = {one.usage_id: one for one in found[fork].usage if one.usage_id not in used}
    assert stored == (
        sum(one.input_tokens for one in used.values()),
        sum(one.cache_read_tokens for one in used.values()),
        sum(one.cache_write_5m_tokens for one in used.values()),
        sum(one.output_tokens for one in used.values()),
    )
    assert [(one.input_tokens, one.output_tokens) for one in added.values()] == [(9377, 4)]


@pytest.mark.corpus
def test_rows_that_lie_only_in_the_log_are_captured_once_and_nothing_is_touched(live: Path, tmp_path: Path) -> None:
    before = tree(tmp_path / ".local")
    places, env = Places(str(tmp_path / "root")), {"HOME": str(tmp_path)}
    reports = [sweep(places, Settings("", {}), env, hosts=["opencode"]) for _ in range(2)]
    assert [counts(report) for report in reports] == [
        {"discovered": 2, "ingested": 2, "analyzed": 2},
        {"discovered": 2, "skipped_unchanged": 2},
    ]
    assert tree(tmp_path / ".local") == before


@pytest.mark.corpus
def test_trees_of_files_are_read_and_what_is_odd_in_them_harms_nothing() -> None:
    found = list(OPENCODE.claims(str(FIXTURES)))
    assert {one.session_id for one in found} == {"s_stage0_small", "s_stage0_large", "s_stage0_drift"}
    for one in found:
        told = read(OPENCODE, rows(one), one.session_id, key=one.key)
        assert (told.accounting.unknown, told.accounting.malformed) == ({}, {})
    large = next(one for one in found if one.session_id == "s_stage0_large")
    told = read(OPENCODE, rows(large), large.session_id)
    assert told.prompts == ["Step 1", "Step 2"]
    assert (told.facts.cwd, told.facts.host_title, OPENCODE.folder_of(large)) == (
        "/tmp/large",
        "OpenCode Large",
        "/tmp/large",
    )


# --- what rows mean --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stored", "typed"),
    [
        ('"fix the test"', "fix the test"),
        ('"say \\"hello\\" to it"', 'say "hello" to it'),
        ("fix", "fix"),
        ('"a" and "b"', '"a" and "b"'),
        ('say "hello"', 'say "hello"'),
    ],
)
def test_quotes_that_the_command_line_put_around_a_prompt_are_taken_off(stored: str, typed: str) -> None:
    assert told(message("u", "user"), part("p", "u", type="text", text=stored)).prompts == [typed]


def test_a_call_that_is_written_again_is_one_and_gets_its_result_when_it_has_one() -> None:
    time = {"start": T, "end": T + 40}
    found = told(
        message("a", "assistant"),
        tool("pending", input={}),
        tool("running", input={"command": "make"}),
        tool("completed", input={"command": "make"}, output="bad", metadata={"exit": 2}, time=time),
    )
    assert [(event.event_type.value, event.sequence) for event in found.events] == [("command", 0), ("tool_result", 1)]
    result = found.only(EventType.TOOL_RESULT)
    assert (found.commands, result.exit_code, result.is_error, result.duration_ms) == (["make"], 2, True, 40)


def test_an_answer_that_has_only_begun_has_its_place_before_the_calls_behind_it() -> None:
    begun = part("p1", "a", type="text", text="", time={"start": T})
    found = told(
        message("a", "assistant"), begun, tool("running", input={"command": "make"}),
        part("p1", "a", type="text", text="I build.", time={"start": T, "end": T + 1}),
    )  # fmt: skip
    assert [(event.event_type.value, event.text) for event in found.events] == [
        ("message", "I build."),
        ("command", None),
    ]


def test_a_prompt_that_is_written_again_begins_no_turn() -> None:
    asked = part("p", "u", type="text", text="Look")
    found = told(
        message("u", "user"),
        asked,
        message("v", "user"),
        part("q", "v", type="text", text="Again"),
        asked,
        message("a", "assistant"),
        part("r", "a", type="text", text="Well."),
    )
    assert [(event.text, event.turn) for event in found.events] == [("Look", 1), ("Again", 2), ("Well.", 2)]


def test_what_the_host_adds_is_told_from_what_was_typed() -> None:
    found = told(
        message("u", "user"),
        part("1", "u", type="text", text="Look at @calc.py"),
        part("2", "u", type="text", text="Called the Read tool", synthetic=True),
        part("3", "u", type="file", mime="image/png", filename="a.png", url="data:image/png;base64,AAAA"),
        part("4", "u", type="file", mime="text/plain", filename="calc.py", url="file:///w/calc.py"),
    )
    assert found.prompts == ["Look at @calc.py"]
    assert [event.origin for event in found.events] == [Origin.HUMAN, *[Origin.INJECTED] * 3]
    assert [event.paths for event in found.of_type(EventType.ATTACHMENT)] == [None, ["/w/calc.py"]]


def test_a_summary_is_a_compaction_an_abort_an_interrupt_and_a_failure_an_error() -> None:
    aborted = {"name": "MessageAbortedError", "data": {"message": "aborted"}}
    failed = {"name": "APIError", "data": {"message": "overloaded", "statusCode": 529}}
    found = told(
        message("s", "assistant", summary=True, mode="compaction"),
        part("1", "s", type="text", text="## Goal"),
        message("a", "assistant", error=aborted),
        message("b", "assistant", error=failed),
    )
    compaction, stopped, error = found.events
    assert (compaction.event_type, compaction.text) == (EventType.COMPACTION, "## Goal")
    assert (stopped.actor, (stopped.payload or {})["interrupt"]) == (Actor.USER, True)
    assert (error.text, error.payload) == ("overloaded", {"kind": "APIError", "status": 529})


@pytest.mark.parametrize(("total", "output"), [(0, 20), (100 + 40 + 20 + 5, 25), (100 + 40 + 20, 20)])
def test_thoughts_are_output_where_the_total_has_them_apart(total: int, output: int) -> None:
    tokens = {"input": 100, "output": 20, "reasoning": 5, "cache": {"read": 40, "write": 0}, "total": total}
    found = told(
        message("a", "assistant", modelID="m", tokens=tokens),
        part("f", "a", type="step-finish", tokens=tokens),
    )
    assert len({one.usage_id for one in found.usage}) == 1
    assert [(one.input_tokens, one.cache_read_tokens, one.output_tokens) for one in found.usage] == [
        (100, 40, output)
    ] * 2


def test_a_patch_is_an_edit_of_its_files() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch\n"
    state = {"status": "completed", "input": {"patchText": patch}, "output": "ok"}
    found = told(part("p", "a", type="tool", tool="apply_patch", callID="c", state=state))
    assert found.only(EventType.FILE_EDIT).paths == ["a.py"]


def test_odd_types_of_fields_do_no_harm() -> None:
    odd: list[Any] = [None, 7, "x", [], {}, [7], {"a": 1}]
    kinds = ("text", "reasoning", "tool", "file", "step-finish", "compaction", "subtask", "retry", "agent", "patch")
    names = ("text", "state", "tool", "callID", "time", "tokens", "url", "source", "error", "prompt", "auto")
    records = [part(f"{kind}{at}", "a", type=kind, **dict.fromkeys(names, one))
               for kind in kinds for at, one in enumerate(odd)]  # fmt: skip
    fields = ("tokens", "error", "model", "modelID", "path", "summary", "cost")
    records += [message(f"m{at}", role, **dict.fromkeys(fields, one))
                for role in ("user", "assistant") for at, one in enumerate(odd)]  # fmt: skip
    states: list[Any] = [
        {"status": "completed", **dict.fromkeys(("input", "output", "metadata", "time"), one)} for one in odd
    ]
    records += [part(f"s{at}", "a", type="tool", state=state) for at, state in enumerate(states)]
    assert told(*records).accounting.malformed == {}


# --- where -----------------------------------------------------------------------------------------------------------


def make(path: Path, *statements: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = apsw.Connection(str(path))
    for statement in (
        "CREATE TABLE session (id, parent_id, directory, title, version, time_created, time_updated, time_archived)",
        "CREATE TABLE message (id, session_id, time_created, time_updated, data)",
        "CREATE TABLE part (id, message_id, session_id, time_created, time_updated, data)",
        *statements,
    ):
        connection.execute(statement)
    connection.close()
    return path


def test_a_moved_home_and_a_database_of_any_name_are_found(tmp_path: Path) -> None:
    make(tmp_path / "data" / "opencode" / "opencode.db")
    own = make(tmp_path / "elsewhere" / "mine.sqlite")
    env = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data"), "OPENCODE_DB": str(own)}
    assert [(root.path, root.reason) for root in OPENCODE.roots(env, ())] == [
        (str(own), "OPENCODE_DB"),
        (str(tmp_path / "data" / "opencode"), "XDG_DATA_HOME"),
    ]
    assert OPENCODE.roots({**env, "OPENCODE_DB": ":memory:"}, ())[0].reason == "XDG_DATA_HOME"


def test_a_chain_of_sub_agents_belongs_to_the_session_in_which_it_began(tmp_path: Path) -> None:
    row = "INSERT INTO session VALUES ('{}', {}, '/w', 't', '1', 1, 1, NULL)"
    chain = [row.format("a", "NULL"), row.format("b", "'a'"), row.format("c", "'b'"), row.format("d", "'gone'")]
    make(tmp_path / "opencode.db", *chain)
    assert {(one.session_id, one.key) for one in sources(tmp_path)} == {
        ("a", "main"),
        ("a", "agent-b"),
        ("a", "agent-c"),
        ("d", "main"),
    }


def test_an_archived_session_is_one_and_a_change_in_place_is_seen(tmp_path: Path) -> None:
    row = "INSERT INTO session VALUES ('a', NULL, '/w', 't', '1', 1, 1, 5)"
    talk = "INSERT INTO part VALUES ('p', 'm', 'a', 1, 1, '{\"type\":\"text\",\"text\":\"one\"}')"
    path = make(tmp_path / "opencode.db", row, talk)
    (before,) = sources(tmp_path)
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE part SET time_updated = 2, data = replace(data, 'one', 'two')")
    connection.close()
    (after,) = sources(tmp_path)
    assert (before.archived, before.size == after.size, before.inode == after.inode) == (True, True, False)


def test_sessions_that_the_database_has_are_not_read_from_files(tmp_path: Path) -> None:
    make(tmp_path / "opencode.db", "INSERT INTO session VALUES ('a', NULL, '/w', 't', '1', 1, 1, NULL)")
    folder = tmp_path / "storage" / "session" / "p"
    folder.mkdir(parents=True)
    for name in ("a", "b"):
        (folder / f"{name}.json").write_text(json.dumps({"id": name, "directory": "/w"}), "utf-8")
    assert [(one.session_id, one.store) for one in sources(tmp_path)] == [
        ("a", str(tmp_path / "opencode.db")),
        ("b", str(tmp_path / "storage")),
    ]
