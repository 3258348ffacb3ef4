"""What Cline's documents mean, beyond what its sample shows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from retro import agents
from retro.config import Settings
from retro.event import EventType
from retro.places import Places
from retro.sweep import sweep
from support import Content, content, failures

Event = dict[str, Any]
TASK: Final = "1788336000000"


def swept(tmp_path: Path, messages: Sequence[object], shown: Sequence[object] | None = None) -> Content:
    """A task with these messages, in an archive."""
    folder = tmp_path / "home" / ".cline" / "data" / "tasks" / TASK
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "api_conversation_history.json").write_text(json.dumps(messages))
    if shown is not None:
        (folder / "ui_messages.json").write_text(json.dumps(shown))
    env = {"HOME": str(tmp_path / "home")}
    report = sweep(Places(str(tmp_path / "archive")), Settings("", {("sweep", "workers"): 1}), env, hosts=["cline"])
    assert failures(report) == []
    return content(tmp_path / "archive")


def said(found: Content) -> list[tuple[str, str]]:
    """The type and text of every event."""
    events: list[Event] = found.events[TASK]
    return [(str(event["event_type"]), str(event.get("command") or event.get("text"))) for event in events]


def user(*texts: str) -> dict[str, object]:
    return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}


def test_words_that_are_calls_are_answers_and_what_comes_back_was_typed(tmp_path: Path) -> None:
    done = {"type": "tool_use", "id": "c1", "name": "attempt_completion", "input": {"result": "All is done."}}
    back = {"type": "tool_result", "tool_use_id": "c1", "content": "<feedback>\nnot quite\n</feedback>"}
    found = swept(
        tmp_path,
        [user("<task>go</task>"), {"role": "assistant", "content": [done]}, {"role": "user", "content": [back]}],
    )
    assert said(found) == [("message", "go"), ("message", "All is done."), ("message", "not quite")]
    assert [turn["prompt"] for turn in found.turns.values()] == ["go", "not quite"]


def test_several_calls_in_one_answer_get_their_own_results(tmp_path: Path) -> None:
    read, ran = (
        "<read_file>\n<path>a.py</path>\n</read_file>",
        "<execute_command><command>ls</command></execute_command>",
    )
    text = f"First.\n{read}\nThen.\n{ran}"
    results = user("[read_file for 'a.py'] Result:\nx = 1", "[execute_command for 'ls'] Result:\na.py")
    found = swept(tmp_path, [user("go"), {"role": "assistant", "content": text}, results])
    assert said(found)[1:] == [
        ("message", "First."), ("file_read", "None"), ("message", "Then."), ("command", "ls"),
        ("tool_result", "x = 1"), ("tool_result", "a.py"),
    ]  # fmt: skip
    calls = [event["call_id"] for event in found.events[TASK] if event.get("call_id")]
    assert calls[:2] == calls[2:]


def test_an_error_of_the_host_is_not_typed(tmp_path: Path) -> None:
    found = swept(tmp_path, [user("go"), user("[ERROR] You did not use a tool!"), user("[TASK RESUMPTION] go on")])
    assert [event.get("origin") for event in found.events[TASK]] == ["human", "machine", "machine"]


def test_what_a_document_has_that_is_new_is_kept_whole(tmp_path: Path) -> None:
    shown = [
        {"ts": 5, "type": "say", "say": "api_req_started", "text": '{"tokensIn": 4}', "modelInfo": {"modelId": "m"}}
    ]
    found = swept(tmp_path, [user("go"), {"role": "assistant", "content": [{"type": "hologram", "data": "…"}]}], shown)
    (new,) = (event for event in found.events[TASK] if event["event_type"] == EventType.UNKNOWN.value)
    assert (new["payload"], "…" in str(new["text"])) == ({"kind": "block:hologram"}, True)


def test_a_session_is_claimed_as_a_file_and_as_a_folder(tmp_path: Path) -> None:
    swept(tmp_path, [user("go")])
    folder = tmp_path / "home" / ".cline" / "data" / "tasks" / TASK
    for path in (folder, folder.parent, folder / "api_conversation_history.json"):
        assert {(source.host, source.session_id) for source in agents.claimed(str(path))} == {("cline", TASK)}


def test_a_result_whose_words_are_a_block_of_their_own_is_no_prompt(tmp_path: Path) -> None:
    ran = {"role": "assistant", "content": "<execute_command><command>ls</command></execute_command>"}
    back = user("[execute_command for 'ls'] Result:", "a.py", "<environment_details>\nx\n</environment_details>")
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    seen = {"role": "user", "content": [{"type": "text", "text": "[browser_action for 'launch'] Result:"}, image]}
    found = swept(tmp_path, [user("go"), ran, back, seen])
    assert [turn["prompt"] for turn in found.turns.values()] == ["go"]
    assert said(found)[2] == ("tool_result", "a.py")


def test_a_mark_that_is_put_on_a_message_later_makes_no_second_one(tmp_path: Path) -> None:
    first = user("go") | {"ts": 1788336000000}
    swept(tmp_path, [first])
    found = swept(tmp_path, [first | {"condenseParent": "c1"}])
    assert said(found) == [("message", "go")]
