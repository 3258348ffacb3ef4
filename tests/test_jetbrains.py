"""Copilot in JetBrains' IDEs: partitions of a conversation, documents out of Java's stores, stores that keep silent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_support import Read, lines, read
from java_support import document, java_text, store
from retro import agents
from retro.agents import javastores
from retro.agents.interface import Root
from retro.config import Settings
from retro.event import Actor, EventType
from retro.places import Places
from retro.sweep import Report, sweep
from support import Content, content, counts, failures

JETBRAINS: Final = agents.named("jetbrains")
STORE: Final = ".config/github-copilot/iu/chat-agent-sessions/36WZJbBx05NpO28apIrHaBmmyCJ"
TURN: Final[dict[str, str | int]] = {"id": "t1", "createdAt": 1788163200000, "request.stringContent": "why late?"}


def told(*records: dict[str, Any]) -> Read:
    return read(JETBRAINS, lines(*records), "s")


def save(home: Path, data: bytes, name: str = "copilot-agent-sessions-nitrite.db", folder: str = STORE) -> Path:
    file = home / folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


def swept(tmp_path: Path) -> tuple[Report, Content]:
    """What becomes of the home in `tmp_path`."""
    settings, root = Settings("", {("sweep", "workers"): 1}), tmp_path / "archive"
    report = sweep(Places(str(root)), settings, {"HOME": str(tmp_path / "home")}, hosts=["jetbrains"])
    return report, content(root)


# --- events ----------------------------------------------------------------------------------------------------------


def test_partitions_are_one_conversation_whose_turns_go_on(tmp_path: Path) -> None:
    for number in (1, 2, 10):
        events = [{"type": "user.message", "data": {"content": f"p{number}"}, "id": f"e{number}", "parentId": None}]
        save(tmp_path / "home", lines(*events), f"partition-{number}.jsonl", ".copilot/jb/c")
        report, found = swept(tmp_path)  # one after the other, as they come
        assert failures(report) == []
    assert [turn["prompt"] for turn in found.turns.values()] == ["p1", "p2", "p10"]
    assert (found.sessions["c"]["turns"], found.sessions["c"]["events"]) == (3, 3)


def test_odd_types_of_fields_do_no_harm() -> None:
    odd: list[Any] = [None, 7, "x", [], {}, [7], {"a": 1}, [{"type": 3}]]
    names = ("content", "text", "thinking", "renderedMessage", "arguments", "result", "success", "status", "model")
    kinds = ["user.message", "tool.execution_start", "tool.execution_complete", *JETBRAINS.UNCOUNTED]
    records = [{"type": kind, "data": dict.fromkeys(names, one)} for kind in kinds for one in odd]
    rows = ("request", "request_contents", "response", "response_contents", "created", "title", "text", "bytes")
    records += [
        {"table": table, "key": "k", "row": dict.fromkeys(rows, one)}
        for table in ("store", "session", "turn", "text", "chat", "message", "other")
        for one in odd
    ]
    assert told(*records).accounting.malformed == {}


def test_a_type_that_is_new_is_kept_whole() -> None:
    found = told({"type": "user.waved", "data": {"hand": "left"}, "id": "x"})
    assert '"left"' in (found.only(EventType.UNKNOWN).text or "")


# --- documents out of stores -----------------------------------------------------------------------------------------

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1, max_size=300)


@given(st.lists(st.tuples(WORDS, st.integers(0, 1 << 62), WORDS), min_size=1, max_size=4))
def test_fields_of_documents_are_found_whatever_they_hold(told: list[tuple[str, int, str]]) -> None:
    written: list[dict[str, str | int]] = [
        {"id": f"d{number}", "createdAt": when, "_modified": when // 2, "request.stringContent": asked, "other": said}
        for number, (asked, when, said) in enumerate(told)
    ]
    found = list(javastores.documents(store(*(document(fields) for fields in written))))
    assert [(one.fields["id"], one.fields["request.stringContent"]) for one in found] == [
        (fields["id"], fields["request.stringContent"]) for fields in written
    ]
    assert [(one.numbers["createdAt"], one.numbers["_modified"]) for one in found] == [
        (fields["createdAt"], fields["_modified"]) for fields in written
    ]


@given(st.binary(max_size=400))
def test_any_bytes_are_read_without_harm(data: bytes) -> None:
    for document_found in javastores.documents(javastores.STREAM + data):
        assert document_found.size <= len(data)
    assert all(text.strip() for text in javastores.texts(data))


def test_long_and_strange_texts_are_whole() -> None:
    text = "naïve ☃ 🙂 " * 9000
    (found,) = javastores.documents(store(document({"request.stringContent": text})))
    assert found.fields["request.stringContent"] == text


def test_fields_within_fields_have_both_names() -> None:
    inner = b"".join([java_text("request"), b"sr", java_text("stringContent"), java_text("why?")])
    (found,) = javastores.documents(javastores.STREAM + inner + b"x")
    assert found.fields == {"request.stringContent": "why?"}


def test_a_turn_is_the_latest_of_its_versions_and_a_deleted_one_is_none(tmp_path: Path) -> None:
    grown = {**TURN, "response.stringContent": "Summer time.", "_modified": 2}
    deleted = {**TURN, "id": "t2", "deletedAt": 1788163300000}
    save(tmp_path / "home", store(document(grown), document({**TURN, "_modified": 1}), document(deleted)))
    report, found = swept(tmp_path)
    assert failures(report) == []
    (events,) = found.events.values()
    assert [event["text"] for event in events[1:]] == ["why late?", "Summer time."]
    assert {event["payload"]["confidence"] for event in events} == {"low"}  # type: ignore[index]
    assert [event["timestamp"] for event in events[1:]] == ["2026-08-31T08:00:00.000Z"] * 2


def test_a_store_that_grows_adds_what_is_new(tmp_path: Path) -> None:
    save(tmp_path / "home", store(document(TURN)))
    assert [len(events) for events in swept(tmp_path)[1].events.values()] == [2]
    more = {**TURN, "id": "t2", "createdAt": 1788163260000, "request.stringContent": "and now?"}
    save(tmp_path / "home", store(document({**TURN, "response.stringContent": "So."}), document(more)))
    report, found = swept(tmp_path)
    assert failures(report) == []
    assert [turn["prompt"] for turn in found.turns.values()] == ["why late?", "and now?"]
    assert next(iter(found.turns.values()))["answer"] == "So."


def test_a_store_that_cannot_be_read_is_there_all_the_same(tmp_path: Path) -> None:
    save(tmp_path / "home", b"\x8f\x91" * 2000 + b"entity.NtAgentTurn\x00" + b"\x99" * 50)
    report, found = swept(tmp_path)
    assert failures(report) == []
    ((event,),) = found.events.values()
    assert "nothing could be read" in str(event["summary"])
    assert event["payload"] == {"name": "copilot-agent-sessions-nitrite.db", "bytes": 4069, "confidence": "low"}


def test_a_store_in_which_nothing_was_said_is_no_session(tmp_path: Path) -> None:
    save(tmp_path / "home", store(document({"modelName": "gpt-5", "scope": "chat"}), kinds=("NtSelectedModel",)))
    save(tmp_path / "home", b"\x80\x81XdMigration\x00\x82done", "00000000000.xd", STORE.replace("36WZ", "37WZ"))
    settings, root = Settings("", {("sweep", "workers"): 1}), tmp_path / "archive"
    report = sweep(Places(str(root)), settings, {"HOME": str(tmp_path / "home")}, hosts=["jetbrains"])
    assert counts(report) == {}


def test_what_the_window_showed_is_unwrapped_and_said_once() -> None:
    rounds = [{"roundId": n, "reply": "I look.", "toolCalls": [{"name": "grep_search", "input": {}}]} for n in (1, 2)]
    parts = [{"type": "AgentRound", "data": json.dumps(one)} for one in rounds]
    parts += [{"type": "Markdown", "data": '{"text": "Done."}'}, {"type": "Error", "message": "no network"}]
    value = json.dumps({str(n): {"type": "Value", "value": json.dumps(part)} for n, part in enumerate(parts)})
    row = {"request": "why?", "response_contents": json.dumps({"x": {"type": "Subgraph", "value": value}})}
    found = told({"table": "turn", "key": "t1", "row": row})
    assert found.texts(EventType.MESSAGE, Actor.ASSISTANT) == ["I look.", "Done."]
    assert len(found.of_type(EventType.TOOL_CALL)) == 2 and found.only(EventType.ERROR).text == "no network"


# --- where it writes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({}, ".copilot/jb"),
        ({"COPILOT_HOME": "{home}/moved"}, "moved/jb"),
        ({}, ".config/github-copilot"),
        ({"XDG_CONFIG_HOME": "{home}/xdg"}, "xdg/github-copilot"),
        ({}, "Library/Application Support/github-copilot"),
        ({}, "AppData/Local/github-copilot"),
        ({"LOCALAPPDATA": "{home}/local"}, "local/github-copilot"),
        ({"APPDATA": "{home}/roaming"}, "roaming/github-copilot"),
    ],
)
def test_it_is_found_where_it_keeps_its_conversations(env: dict[str, str], folder: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    below = "c" if folder.endswith("jb") else "iu/chat-sessions"
    save(home, b"{}\n", "partition-1.jsonl", f"{folder}/{below}")
    surroundings = {name: value.format(home=home) for name, value in env.items()} | {"HOME": str(home)}
    (root,) = JETBRAINS.roots(surroundings, ())
    assert root.path == str(home / folder)
    (given,) = JETBRAINS.roots({"HOME": "/nowhere"}, [root.path])
    assert given == Root("jetbrains", root.path, "settings")
