"""pi: entries with ids and without mean the same; every byte and token of its sessions is accounted for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from agent_support import CORPUS, Read, lines, read
from retro import agents
from retro.event import Actor, EventType, Origin

REAL: Final = sorted((CORPUS / "pi" / "real").rglob("*.jsonl"))
ALL: Final = sorted((CORPUS / "pi").rglob("*.jsonl"))
SESSION: Final = "019e19b4-eb48-746a-aa6b-8dfcfa37954b"
STAMP: Final = "2026-05-12T01:02:27.657Z"
PI: Final = agents.named("pi")
HEADER: Final = {"type": "session", "version": 3, "id": SESSION, "timestamp": STAMP, "cwd": "/work/project"}


def entry(kind: str, number: int = 1, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "id": f"{number:08x}", "parentId": None, "timestamp": STAMP, **fields}


def message(role: str, content: object, number: int = 1, **fields: Any) -> dict[str, Any]:
    return entry("message", number, message={"role": role, "content": content, **fields})


def text(words: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": words}]


def told(*records: dict[str, Any]) -> Read:
    return read(PI, lines(HEADER, *records), SESSION)


def given(path: Path) -> list[dict[str, Any]]:
    return [mapped for line in path.read_bytes().splitlines() if isinstance(mapped := json.loads(line), dict)]


# --- the corpus ------------------------------------------------------------------------------------------------------


@pytest.mark.corpus
@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
def test_every_file_is_a_session_and_every_byte_is_accounted_for(path: Path) -> None:
    (source,) = PI.claims(str(path))
    found = read(PI, path.read_bytes(), source.session_id)
    assert (found.offset, found.accounting.total()) == (path.stat().st_size, path.stat().st_size)
    assert found.unjoined() == []


@pytest.mark.corpus
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_real_sessions_have_nothing_unknown(path: Path) -> None:
    found = read(PI, path.read_bytes(), SESSION)
    assert (found.accounting.unknown, found.accounting.malformed, found.of_type(EventType.UNKNOWN)) == ({}, {}, [])


@pytest.mark.corpus
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_real_sessions_give_their_prompts_calls_and_tokens(path: Path) -> None:
    found, messages = read(PI, path.read_bytes(), SESSION), [one["message"] for one in given(path) if "message" in one]
    answers = [one for one in messages if one["role"] == "assistant"]
    typed = [block["text"] for one in messages if one["role"] == "user" for block in one["content"]]
    calls = [block["id"] for one in answers for block in one["content"] if block["type"] == "toolCall"]
    used = [one["usage"] for one in answers]
    assert found.prompts == typed
    assert [event.call_id for event in found.events if event.call_id and event.actor is not Actor.TOOL] == calls
    for name, total in {
        "input": sum(one.input_tokens for one in found.usage),
        "output": sum(one.output_tokens for one in found.usage),
        "cacheRead": sum(one.cache_read_tokens for one in found.usage),
        "cacheWrite": sum(one.cache_write_5m_tokens for one in found.usage),
    }.items():
        assert total == sum(one[name] for one in used), name
    assert len({one.usage_id for one in found.usage}) == len(found.usage)


@pytest.mark.corpus
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_reading_on_gives_what_reading_at_once_gives(path: Path) -> None:
    data = path.read_bytes()
    cuts = range(10_000, len(data), 157_111)
    assert read(PI, data, SESSION, cuts=cuts).events == read(PI, data, SESSION).events


# --- what records mean -----------------------------------------------------------------------------------------------


def test_what_an_extension_adds_is_no_prompt() -> None:
    found = told(
        message("user", "Fix it"),
        entry("custom_message", 2, customType="memory", content="Remember this", display=True),
        message("custom", "And that", 3, customType="memory"),
        message("hookMessage", text("And this"), 4, customType="memory"),
    )
    assert found.prompts == ["Fix it"]
    injected = [(event.text, event.origin) for event in found.of_type(EventType.ATTACHMENT)]
    assert injected == [(words, Origin.INJECTED) for words in ("Remember this", "And that", "And this")]


def test_a_typed_command_is_a_persons_and_has_its_result() -> None:
    command = {"command": "ls", "output": "calc.py", "exitCode": 0, "cancelled": False}
    found = told(entry("message", 1, message={"role": "bashExecution", **command}))
    assert [(event.event_type, event.origin, event.exit_code) for event in found.events[1:]] == [
        (EventType.COMMAND, Origin.HUMAN, None),
        (EventType.TOOL_RESULT, Origin.MACHINE, 0),
    ]
    assert found.prompts == []


@pytest.mark.parametrize(
    ("output", "failed", "code"),
    [("all well", False, 0), ("bad\n\nCommand exited with code 2", True, 2), ("Command timed out", True, None)],
)
def test_the_exit_code_is_told_in_words(output: str, failed: bool, code: int | None) -> None:
    call = [{"type": "toolCall", "id": "call_1", "name": "bash", "arguments": {"command": "make"}}]
    found = told(
        message("assistant", call),
        message("toolResult", text(output), 2, toolCallId="call_1", toolName="bash", isError=failed),
    )
    result = found.only(EventType.TOOL_RESULT)
    assert (found.commands, result.exit_code, result.is_error, result.tool) == (["make"], code, failed, "bash")


def test_an_edit_shows_what_goes_and_what_comes() -> None:
    given = {"path": "calc.py", "oldText": "a\nb", "newText": "c"}
    found = told(message("assistant", [{"type": "toolCall", "id": "1", "name": "edit", "arguments": given}]))
    edit = found.only(EventType.FILE_EDIT)
    assert (edit.paths, edit.text) == (["calc.py"], "-a\n-b\n+c")


def test_an_aborted_answer_is_an_interrupt_and_a_failed_one_an_error() -> None:
    found = told(
        message("assistant", [], 1, stopReason="aborted", errorMessage="Request was aborted"),
        message("assistant", [], 2, stopReason="error", errorMessage="529 overloaded"),
    )
    assert [(event.event_type, event.text, bool(event.is_error)) for event in found.events[1:]] == [
        (EventType.MESSAGE, "Request was aborted", False),
        (EventType.ERROR, "529 overloaded", True),
    ]


def test_a_fork_knows_its_parent_and_repeats_its_ids() -> None:
    spent = {"usage": {"input": 5, "output": 7, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 0.5}}}
    history = [message("user", "Fix it", 1), message("assistant", text("Done"), 2, **spent)]
    forked = {**HEADER, "id": "d703a1a9-1b7b-4fb1-b512-c9738b1fe617", "parentSession": f"C:\\s\\2026_{SESSION}.jsonl"}
    first, fork = told(*history), read(PI, lines(forked, *history), "d703a1a9-1b7b-4fb1-b512-c9738b1fe617")
    assert (first.facts.parent, fork.facts.parent) == (None, SESSION)
    assert [event.event_id for event in fork.events][1:] == [event.event_id for event in first.events][1:]
    assert [one.usage_id for one in fork.usage] == [one.usage_id for one in first.usage]


def test_equal_ids_at_other_times_are_other_entries() -> None:
    one, other = message("user", "Fix it"), {**message("user", "Fix it"), "timestamp": "2026-05-13T01:02:27.657Z"}
    assert len({event.event_id for event in told(one, other).events}) == 3


def test_the_last_name_is_the_title() -> None:
    named = [entry("session_info", 1, name="First"), entry("session_info", 2, name="Second")]
    assert told(*named).facts.title == "Second"


def test_odd_types_of_fields_do_no_harm() -> None:
    odd: list[Any] = [None, 7, "x", [], {}, [None], [7], {"type": 7}, [{"type": "toolCall", "name": 3, "arguments": 9}]]
    for role in ("user", "assistant", "toolResult", "bashExecution", "custom", 7):
        found = told(*(message(role, content, number) for number, content in enumerate(odd)))  # type: ignore[arg-type]
        assert found.accounting.malformed == {}


# --- where it writes -------------------------------------------------------------------------------------------------


def save(folder: Path, name: str = f"2026_{SESSION}.jsonl") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(lines(HEADER, message("user", "Fix it")))
    return path


def test_sessions_are_found_wherever_they_were_moved(tmp_path: Path) -> None:
    home, agent, apart, set_there = (tmp_path / name for name in ("home", "agent", "apart", "set"))
    for folder in (home / ".pi" / "agent" / "sessions" / "--work--", agent / "sessions" / "--work--", apart, set_there):
        save(folder)
    (agent / "settings.json").write_text(json.dumps({"sessionDir": str(set_there)}), "utf-8")
    assert [root.path for root in PI.roots({"HOME": str(home)}, ())] == [str(home / ".pi" / "agent")]
    moved = {"HOME": str(home), "PI_CODING_AGENT_DIR": str(agent), "PI_CODING_AGENT_SESSION_DIR": str(apart)}
    found = PI.roots(moved, ())
    assert [root.reason for root in found] == ["PI_CODING_AGENT_SESSION_DIR", "PI_CODING_AGENT_DIR", "sessionDir"]
    for root in found:
        (source,) = PI.discover(root, {})
        assert (source.session_id, source.key, PI.folder_of(source)) == (SESSION, "main", "/work/project")


def test_homes_of_windows_are_looked_at_from_within_wsl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    users = tmp_path / "Users"
    for name in ("Public", "dev"):
        save(users / name / ".pi" / "agent" / "sessions" / "--c-work--")
    monkeypatch.setattr("retro.agents.homes.WINDOWS_USERS", str(users))
    assert PI.roots({"HOME": str(tmp_path)}, ()) == []
    (root,) = PI.roots({"HOME": str(tmp_path), "WSL_DISTRO_NAME": "Debian"}, ())
    assert root.path == str(users / "dev" / ".pi" / "agent")


def test_a_file_that_is_no_session_is_not_claimed(tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text('{"type":"session","id":"of another kind"}\n', "utf-8")
    assert PI.claims(str(other)) == []
    assert [source.session_id for source in PI.claims(str(save(tmp_path)))] == [SESSION]
