"""Gemini CLI: both forms of its chats, what is typed and what is added, whose folder a hash is."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from agent_support import CORPUS, Read, lines, read
from retro import agents
from retro.agents.interface import DOCUMENT, LINES, TRANSCRIPT, Root, Source, Unreadable
from retro.config import Settings
from retro.event import Actor, EventType, Origin
from retro.places import Places
from retro.sweep import sweep
from support import content

GEMINI: Final = agents.named("gemini")
LIVE: Final = CORPUS / "live" / "gemini" / "home" / ".gemini"
SAMPLE: Final = Path(__file__).resolve().parent / "samples" / "gemini" / ".gemini"
ID: Final = "5b1d6a30-4c8e-4f7a-9d21-0a6c3e8f1b52"
STAMP: Final = "2026-03-01T09:00:00.000Z"
FOLDER: Final = "/home/dev/code/tidebook"


def header(**more: Any) -> dict[str, Any]:
    return {"sessionId": ID, "projectHash": "", "startTime": STAMP, "lastUpdated": STAMP, "kind": "main", **more}


def message(kind: str, content: Any, name: str = "m", **more: Any) -> dict[str, Any]:
    return {"id": name, "timestamp": STAMP, "type": kind, "content": content, **more}


def call(name: str, result: str | None, tool: str = "run_shell_command", **more: Any) -> dict[str, Any]:
    response = {"functionResponse": {"id": name, "name": tool, "response": {"output": result}}}
    return {"id": name, "name": tool, "args": {"command": "make"}, "result": [response], "status": "success", **more}


def told(*records: dict[str, Any], key: str = "main") -> Read:
    return read(GEMINI, lines(*records), ID, key=key)


def sources(home: Path) -> list[Source]:
    return list(GEMINI.discover(Root("gemini", str(home), "test"), {}))


def parts(*texts: str) -> list[dict[str, str]]:
    return [{"text": text} for text in texts]


# --- the corpus ------------------------------------------------------------------------------------------------------


@pytest.mark.corpus
def test_the_live_session_is_told_once_though_it_was_resumed() -> None:
    (main,) = [one for one in sources(LIVE) if one.kind == TRANSCRIPT]
    found = read(GEMINI, Path(main.path).read_bytes(), main.session_id)
    assert found.prompts == ["Please fix the failing test and commit", "what does memory say"]
    answers = found.texts(EventType.MESSAGE, Actor.ASSISTANT)
    assert answers == [
        "I'll run the tests.",
        "Fixed mean() and committed.",
        "Memory says mean was once divided by len-1.",
    ]
    assert [event.exit_code for event in found.of_type(EventType.TOOL_RESULT)] == [1, None, 0, None]
    assert (found.accounting.unknown, found.accounting.malformed, found.unjoined()) == ({}, {}, [])
    assert (found.facts.cwd, found.facts.host_title) == ("/home/dev/live/proj/gemini", "Fix mean in calc")


@pytest.mark.corpus
def test_tokens_of_the_live_session_are_those_that_the_client_printed() -> None:
    (main,) = [one for one in sources(LIVE) if one.kind == TRANSCRIPT]
    used = {one.usage_id: one for one in read(GEMINI, Path(main.path).read_bytes(), ID).usage}.values()
    printed = (LIVE.parents[1] / "evidence" / "runs.txt").read_text("utf-8").split("\n{\n")[1:]
    told = [json.loads("{" + text[: text.index("\n}") + 2]) for text in printed]
    totals = [model["tokens"] for run in told for model in run["stats"]["models"].values()]
    assert sum(one.input_tokens for one in used) == sum(total["prompt"] - total["cached"] for total in totals)
    assert sum(one.cache_read_tokens for one in used) == sum(total["cached"] for total in totals)
    assert sum(one.output_tokens for one in used) == sum(total["candidates"] for total in totals)


@pytest.mark.corpus
def test_every_session_of_the_corpus_is_claimed_and_no_excerpt_is() -> None:
    found = {source.path for source in GEMINI.claims(str(CORPUS / "gemini"))}
    files = {str(path) for path in (CORPUS / "gemini").rglob("*") if path.suffix in (".json", ".jsonl")}
    assert {path for path in files - found if "/individual/" not in path} == set()
    assert {path for path in found if "/individual/" in path} == set()


@pytest.mark.corpus
def test_a_chat_in_one_object_is_one_though_its_name_ends_like_a_journals() -> None:
    (source,) = GEMINI.claims(str(CORPUS / "gemini/real/entireio+cli/ec/38b74f08e3/2/full.jsonl"))
    assert (source.form, source.archive_name) == (DOCUMENT, "transcript.json")


# --- what records mean -----------------------------------------------------------------------------------------------


def test_what_was_typed_is_told_from_what_was_sent() -> None:
    found = told(
        message("user", parts("A long text", "<hook_context>by a hook</hook_context>"), "1", displayContent="/init"),
        message("user", parts("<hook_context>at the start</hook_context>\n\nFix it"), "2"),
        message("user", parts("System: Please continue."), "3", displayContent=[{"functionResponse": {"id": "c"}}]),
        message("user", "<session_context>\n- **Workspace Directories:**\n  - /w/x\n</session_context>", "4"),
    )
    assert found.prompts == ["/init", "Fix it"]
    others = [event for event in found.events if event.actor is Actor.SYSTEM]
    assert [(event.text, event.origin) for event in others[:4]] == [
        ("A long text", Origin.INJECTED),
        ("by a hook", Origin.INJECTED),
        ("at the start", Origin.INJECTED),
        ("System: Please continue.", Origin.MACHINE),
    ]
    assert found.facts.cwd == "/w/x"


def test_a_message_that_is_written_again_with_its_calls_is_one() -> None:
    first = message("gemini", "I look.", thoughts=[{"subject": "S", "description": "d"}], model="gemini-3")
    found = told(message("user", "Look", "u"), first, {**first, "toolCalls": [call("c", "well\nExit Code: 2")]})
    assert [(event.event_type.value, event.sequence, event.turn) for event in found.events] == [
        ("message", 0, 1),
        ("reasoning", 1, 1),
        ("message", 2, 1),
        ("command", 3, 1),
        ("tool_result", 4, 1),
    ]
    assert found.only(EventType.TOOL_RESULT).exit_code == 2


def test_a_list_that_takes_the_place_of_all_messages_takes_nothing_away() -> None:
    asked, answered = (
        message("user", "Look", "u"),
        message("gemini", "Well.", "g", toolCalls=[call("c", "a long text")]),
    )
    masked = {**answered, "toolCalls": [{**call("c", ""), "result": parts("<tool_output_masked>")}]}
    summary = message("user", "<state_snapshot>all was well</state_snapshot>", "s")
    thanks = message("gemini", parts("Got it. Thanks for the additional context!"), "t")
    found = told(asked, answered, {"$set": {"messages": [asked, masked]}}, {"$set": {"messages": [summary, thanks]}})
    assert found.prompts == ["Look"]
    assert found.texts(EventType.TOOL_RESULT) == ["a long text"]
    assert found.texts(EventType.COMPACTION) == ["<state_snapshot>all was well</state_snapshot>"]
    assert found.texts(EventType.MESSAGE, Actor.ASSISTANT) == ["Well."]


def test_a_prompt_that_is_written_again_begins_no_turn() -> None:
    asked = message("user", "Look", "u")
    found = told(asked, message("user", "Again", "v"), {**asked, "displayContent": "Look"}, message("gemini", "Well."))
    assert [(event.text, event.turn) for event in found.events] == [("Look", 1), ("Again", 2), ("Well.", 2)]


def test_results_without_a_call_stand_by_themselves() -> None:
    response = {"functionResponse": {"id": "lost", "name": "read_file", "response": {"error": "no such file"}}}
    (result,) = told(message("user", [response])).events
    assert (result.event_type, result.is_error, result.text) == (EventType.TOOL_RESULT, True, "no such file")


@pytest.mark.parametrize(
    ("total", "output"), [(100 + 20 + 5, 20 + 5), (100 + 20, 20), (100 + 20 + 5 + 7, 20 + 5), (0, 20 + 5)]
)
def test_thoughts_are_output_that_some_servers_count_in(total: int, output: int) -> None:
    tool = 7 if total == 132 else 0
    tokens = {"input": 100, "cached": 60, "output": 20, "thoughts": 5, "tool": tool, "total": total}
    (used,) = told(message("gemini", "Well.", tokens=tokens, model="gemini-3")).usage
    assert (used.input_tokens, used.cache_read_tokens, used.output_tokens) == (40 + tool, 60, output)
    assert (used.reasoning_tokens, used.usage_id) == (5, "m")


def test_a_sub_agent_is_joined_to_its_call_and_its_task_is_nobodys_prompt() -> None:
    given = {"agent_name": "generalist", "prompt": "count"}
    found = told(message("gemini", "", toolCalls=[call("c", "done", "invoke_agent", args=given, agentId="a1")]))
    start = found.only(EventType.SUBAGENT_START)
    assert (start.text, found.facts.agents["a1"].call_id, found.facts.agents["a1"].agent_type) == (
        "count",
        "c",
        "generalist",
    )
    own = told(header(kind="subagent"), message("user", "count", "u"), key="agent-a1")
    assert own.prompts == []
    assert [event.origin for event in own.of_type(EventType.MESSAGE)] == [Origin.AGENT]


def test_a_resume_an_interrupt_and_a_way_back_are_told() -> None:
    found = told(
        header(),
        message("info", "Request cancelled.", "i"),
        {"$rewindTo": "u"},
        header(startTime="2026-03-02T09:00:00.000Z"),
        {"$set": {"summary": "Late tides", "directories": [FOLDER]}},
    )
    assert [event.summary for event in found.events] == [
        "session started",
        "the person stopped the agent",
        "the session was taken back to an earlier message",
        "session resumed",
    ]
    assert (found.facts.host_title, found.facts.cwd) == ("Late tides", FOLDER)


def test_the_folder_is_the_one_above_a_path_whose_hash_is_the_projects() -> None:
    wanted = header(projectHash=sha256(FOLDER.encode()).hexdigest())
    reading = {"file_path": f"{FOLDER}/src/clock.py"}
    seen = message("gemini", "", toolCalls=[call("c", "…", "read_file", args=reading)])
    assert told(wanted, seen).facts.cwd == FOLDER
    assert told(header(projectHash="0" * 64), seen).facts.cwd is None


def test_odd_types_of_fields_do_no_harm() -> None:
    odd: list[Any] = [None, 7, "x", [], {}, [7], {"a": 1}, [{"functionResponse": 3}], [{"functionCall": 3}]]
    names = ("content", "displayContent", "thoughts", "toolCalls", "tokens", "model", "timestamp")
    records = [{"id": f"{kind}{at}", "type": kind, **dict.fromkeys(names, one)} for at, one in enumerate(odd)
               for kind in ("user", "gemini", "info", "error")]  # fmt: skip
    records += [{"$set": one} for one in odd] + [{"$set": {"messages": [one], "summary": one}} for one in odd]
    records += [
        message("gemini", "", toolCalls=[dict.fromkeys(("id", "args", "result", "status"), one)]) for one in odd
    ]
    assert told(*records).accounting.malformed == {}


def test_a_chat_that_is_rewritten_with_every_turn_does_not_swell_the_archive(tmp_path: Path) -> None:
    """What the archive gets of a state is what is new in it, and a line that says where the rest stands."""
    chat = tmp_path / ".gemini" / "tmp" / "tidebook" / "chats" / "session-2026-03-01T09-00-5b1d6a30.json"
    chat.parent.mkdir(parents=True)
    noise = Random(7)
    messages = [message("user", noise.randbytes(150_000).hex(), "u")]
    root, sizes = tmp_path / "root", []
    for number in range(10):
        messages.append(message("gemini", f"thought {number}", f"g{number}"))
        chat.write_text(json.dumps({**header(), "messages": messages}, indent=2), "utf-8")
        sweep(Places(str(root)), Settings("", {}), {"HOME": str(tmp_path)}, hosts=["gemini"])
        sizes.append(sum(path.stat().st_size for path in (root / "raw").rglob("*.zst")))
    assert sizes[-1] - sizes[0] < 10 * 1024 < sizes[0] / 10
    assert len(content(root).events[ID]) == 12


# --- what lies where -------------------------------------------------------------------------------------------------


def test_forms_owners_and_folders_are_told_without_reading_all(tmp_path: Path) -> None:
    found = {source.key: source for source in sources(SAMPLE) if source.session_id == ID}
    agent = "0d1e2f30-1111-4222-8333-444455556666"
    output = f"sidecars/tool-outputs/session-{ID}/run_shell_command_c1.txt"
    assert found.keys() == {"main", f"agent-{agent}", "prompts", "sidecars/.project_root", output}
    assert (found["main"].form, GEMINI.folder_of(found["main"])) == (LINES, FOLDER)
    (old,) = [one for one in sources(SAMPLE) if one.form == DOCUMENT]
    assert GEMINI.folder_of(old) == FOLDER


def test_a_moved_home_is_found(tmp_path: Path) -> None:
    (tmp_path / "moved" / ".gemini" / "tmp").mkdir(parents=True)
    (tmp_path / ".gemini" / "tmp").mkdir(parents=True)
    env = {"HOME": str(tmp_path), "GEMINI_CLI_HOME": str(tmp_path / "moved")}
    assert [(root.path, root.reason) for root in GEMINI.roots(env, ())] == [
        (str(tmp_path / "moved" / ".gemini"), "GEMINI_CLI_HOME")
    ]
    assert [root.reason for root in GEMINI.roots({"HOME": str(tmp_path)}, ())] == ["default"]


def test_a_broken_log_keeps_nothing_else_back(tmp_path: Path) -> None:
    project = tmp_path / "tmp" / "tidebook"
    (project / "chats").mkdir(parents=True)
    (project / "logs.json").write_text('[{"sessionId": "x"', "utf-8")
    (project / "chats" / "session-2026-03-01T09-00-5b1d6a30.jsonl").write_bytes(lines(header()))
    with pytest.raises(Unreadable, match=r"logs\.json: it is no log"):
        sources(tmp_path)
    assert [one.session_id for one in GEMINI.claims(str(tmp_path))] == [ID]


def test_a_saved_chat_is_kept_with_the_one_that_was_written_to_next(tmp_path: Path) -> None:
    project = tmp_path / "tmp" / "tidebook"
    (project / "chats").mkdir(parents=True)
    (project / "checkpoint-before.json").write_text('{"history": []}', "utf-8")
    (project / "chats" / "session-2026-03-01T09-00-5b1d6a30.jsonl").write_bytes(lines(header()))
    assert ("sidecars/checkpoint-before.json", ID) in {(one.key, one.session_id) for one in sources(tmp_path)}


@pytest.mark.parametrize(
    ("kept", "days"),
    [(None, 30), ({"maxAge": "7d"}, 7), ({"maxAge": "2w"}, 14), ({"enabled": False}, None), ({"maxAge": "12h"}, 1)],
)
def test_retention_is_what_the_settings_say(kept: dict[str, Any] | None, days: int | None, tmp_path: Path) -> None:
    if kept is not None:
        settings = json.dumps({"general": {"sessionRetention": kept}})
        (tmp_path / "settings.json").write_text(settings, "utf-8")
    assert GEMINI.retention(Root("gemini", str(tmp_path), "test")) == days


def test_a_message_of_a_new_type_in_a_list_is_kept_whole() -> None:
    found = told(header(), {"$set": {"messages": [message("hologram", "wind and tide"), message("user", "go", "n")]}})
    (event,) = found.of_type(EventType.UNKNOWN)
    assert ("wind and tide" in (event.text or ""), found.prompts) == (True, ["go"])
