"""VS Code's chats: a log replayed, the state as rows, what the rows mean, and how chats are found and kept."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import Any, Final

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_support import CORPUS, Read, read
from retro import agents
from retro.agents import vscode
from retro.agents.vscode_rows import key_of, replay, rows, state_of, uri_path
from retro.event import Actor, EventType
from retro.places import Places
from retro.sweep import sweep
from support import Content, content, differences, failures, settings, tree

SAMPLE: Final = Path(__file__).resolve().parent / "samples" / "vscode"
USER: Final = SAMPLE / ".config" / "Code" / "User"
ID: Final = "5b1d6a30-4c8e-4f7a-9d21-0a6c3e8f1b52"
CHATS: Final = USER / "workspaceStorage" / "0123456789abcdef0123456789abcdef" / "chatSessions"
CWD: Final = "/home/dev/code/tide book"

Chat = dict[str, Any]


def state() -> Chat:
    """The sample's state."""
    return state_of((CHATS / f"{ID}.jsonl").read_bytes())


def told(chat: Chat, session: str = ID) -> Read:
    """What a chat's rows become."""
    records = [
        {"table": row["row"], "key": key_of(row), "row": json.loads(vscode._canonical(row))} for row in rows(chat)
    ]
    return read(agents.named("vscode"), b"".join(json.dumps(record).encode() + b"\n" for record in records), session)


# --- the log ---------------------------------------------------------------------------------------------------------


def test_a_log_is_replayed_and_never_read_as_messages() -> None:
    log = [
        {"kind": 0, "v": {"requests": [], "inputState": {"inputText": "why"}}},
        {"kind": 2, "k": ["requests"], "v": [{"requestId": "a", "response": [1, 2]}, {"requestId": "b"}]},
        {"kind": 2, "k": ["requests", 0, "response"], "v": [3], "i": 1},
        {"kind": 1, "k": ["requests", 1, "vote"], "v": 1},
        {"kind": 3, "k": ["inputState"]},
        {"kind": 2, "k": ["requests", 1, "response"], "v": ["new"]},
    ]
    assert replay(log) == {
        "requests": [{"requestId": "a", "response": [1, 3]}, {"requestId": "b", "vote": 1, "response": ["new"]}]
    }
    assert replay([*log, {"kind": 0, "v": {"requests": []}}]) == {"requests": []}  # it was compacted


@pytest.mark.parametrize(
    "log",
    [
        [],
        [{"kind": 1, "k": ["a"], "v": 1}],
        [{"kind": 0, "v": 3}],
    ],
)
def test_a_log_without_a_state_says_so(log: list[object]) -> None:
    with pytest.raises(ValueError):
        replay(log)


@pytest.mark.parametrize("entry", [{"kind": 1, "k": ["a", 3], "v": 1}, {"kind": 9, "k": ["a"]}, {"line": "{torn"}, 5])
def test_one_change_that_cannot_be_made_costs_no_chat_and_is_kept(entry: object) -> None:
    log = [{"kind": 0, "v": {"a": []}}, entry, {"kind": 1, "k": ["b"], "v": 1}]
    state = replay(log)
    assert {name: state[name] for name in "ab"} == {"a": [], "b": 1}
    assert [row["entry"] for row in rows(state) if row["row"] == "unapplied"] == [entry]


VALUES = st.recursive(st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=3), max_leaves=5)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from((1, 2, 3)), VALUES, st.integers(0, 3)), max_size=20))
def test_any_changes_give_what_doing_them_by_hand_gives(changes: list[tuple[str, int, Any, int]]) -> None:
    expected: Chat = {}
    log: list[object] = [{"kind": 0, "v": {}}]
    for name, kind, value, start in changes:
        if kind == 1:
            expected[name] = copy.deepcopy(value)
        elif kind == 3:
            expected.pop(name, None)
        else:
            value = value if isinstance(value, list) else [value]
            before = expected[name] if isinstance(expected.get(name), list) else []
            expected[name] = before[:start] + copy.deepcopy(value)
        entry: Chat = {"kind": kind, "k": [name], "v": copy.deepcopy(value)}
        log.append(entry | {"i": start} if kind == 2 else entry)
    assert replay(log) == expected


def test_a_torn_last_line_does_not_count_yet() -> None:
    data = (CHATS / f"{ID}.jsonl").read_bytes()
    assert state_of(data + b'{"kind":1,"k":["custo') == state_of(data)
    torn = data.replace(b'"kind":2', b'"kind:2', 1)
    assert len([row for row in rows(state_of(torn)) if row["row"] == "unapplied"]) >= 1


# --- rows ------------------------------------------------------------------------------------------------------------


def test_every_value_of_a_state_is_in_one_row() -> None:
    chat = state()
    chat["requests"][0]["somethingNew"] = "kept 1"
    chat["requests"][0]["response"][1]["somethingNew"] = "kept 2"
    chat["requests"][0]["result"]["metadata"]["toolCallRounds"][0]["somethingNew"] = "kept 3"
    chat["somethingNew"] = "kept 4"
    text = json.dumps(list(rows(chat)))
    assert [text.count(f"kept {number}") for number in (1, 2, 3, 4)] == [1, 1, 1, 1]
    assert text.count("OFFSET = 2") == 2  # the call's argument, and what was read
    for name in ("promptTokens", "completionTokens", "hasPendingEdits", "never sent", "timings"):
        assert text.count(f'"{name}"') == (name != "hasPendingEdits")


def test_an_answer_that_grows_changes_few_rows() -> None:
    chat = state()
    before = {key_of(row) + str(row["row"]): row for row in rows(copy.deepcopy(chat))}
    chat["requests"][1]["response"].append({"value": "It is kept."})
    after = {key_of(row) + str(row["row"]): row for row in rows(chat)}
    assert [name for name, row in after.items() if before.get(name) != row] == ["request_2:0text"]


def test_calls_are_joined_to_invocations_by_id_or_else_in_order() -> None:
    found = [row.get("call") for row in rows(state()) if "call" in row]
    assert [call["name"] for call in found if isinstance(call, dict)] == [
        "read_file",
        "run_in_terminal",
        "replace_string_in_file",
    ]
    chat = state()
    chat["requests"][0]["response"][6]["toolCallId"] = "toolu_2__vscode-1700000000000-1"
    joined = {str(row["n"]).partition("__")[0]: row["call"] for row in rows(chat) if "call" in row}
    assert joined == {"toolu_2": {**state()["requests"][0]["result"]["metadata"]["toolCallRounds"][0]["toolCalls"][1]}}


# --- meaning ---------------------------------------------------------------------------------------------------------


def test_a_chat_tells_what_was_asked_said_and_done() -> None:
    found = told(state())
    assert found.prompts == ["why is high water late?", "delete the old table"]
    assert found.texts(EventType.MESSAGE, Actor.ASSISTANT) == ["I look at `clock.py`.\n", "It is summer time."]
    assert found.texts(EventType.REASONING) == ["A time zone?"]
    assert found.commands == ["pytest -q", "rm table.csv"]
    edit = found.only(EventType.FILE_EDIT)
    assert (edit.paths, edit.text) == ([f"{CWD}/clock.py"], "-OFFSET = 2\n+OFFSET = zone()")
    results = found.of_type(EventType.TOOL_RESULT)
    assert [(event.text, event.exit_code, event.is_error) for event in results] == [
        ("OFFSET = 2", None, None),
        ("1 failed", 1, True),
        ("", None, None),
        ("", None, None),
    ]
    assert results[-1].payload == {"rejected": True}
    assert found.unjoined() == []
    assert found.accounting.unknown == {}
    assert (found.facts.title, found.facts.models) == ("Late tides", ["copilot/claude-sonnet-4.6"])


def test_the_draft_in_the_box_is_never_said() -> None:
    assert not any("never sent" in (event.text or "") + event.summary for event in told(state()).events)


def test_only_times_that_the_host_tells_are_times() -> None:
    times = {event.event_type: event.timestamp for event in told(state()).events if event.turn == 1}
    assert times[EventType.REASONING] is None
    assert times[EventType.COMMAND] == "2026-09-01T08:01:10.000Z"


def test_tokens_are_those_of_the_request_and_a_lower_bound_where_there_were_several() -> None:
    (usage,) = told(state()).usage
    assert (usage.usage_id, usage.model) == ("request_1", "claude-sonnet-4-6")
    assert (usage.input_tokens, usage.output_tokens, usage.quality.value) == (2857, 490, "lower_bound")


def test_what_no_part_shows_is_told_from_the_rounds() -> None:
    chat = state()
    chat["requests"][0]["response"] = []
    found = told(chat)
    assert found.texts(EventType.MESSAGE, Actor.ASSISTANT) == ["I look at clock.py.", "It is summer time."]
    calls = [event.tool for event in found.events if event.tool and event.actor is Actor.ASSISTANT and event.turn == 1]
    assert calls == ["read_file", "run_in_terminal", "replace_string_in_file"]


def test_edits_that_no_call_asked_for_are_edits() -> None:
    chat = state()
    group = chat["requests"][0]["response"][9]
    assert group["kind"] == "textEditGroup"
    chat["requests"][0] |= {"response": [group], "result": {}}
    assert told(chat).only(EventType.FILE_EDIT).paths == [f"{CWD}/clock.py"]


@pytest.mark.parametrize(
    ("part", "event_type", "text"),
    [
        ({"kind": "warning", "content": {"value": "slow"}}, EventType.MESSAGE, "slow"),
        ({"kind": "confirmation", "title": "Go on?", "message": "really", "isUsed": True}, EventType.PERMISSION, None),
        (
            {"kind": "elicitationSerialized", "title": "Which?", "acceptedResult": {"a": "b"}},
            EventType.PERMISSION,
            None,
        ),
        ({"kind": "questionCarousel", "questions": [{"title": "Which?"}]}, EventType.PERMISSION, None),
        ({"kind": "hook", "hookType": "PreToolUse", "stopReason": "no"}, EventType.ATTACHMENT, "no"),
        ({"kind": "markdownVuln", "content": {"value": "code"}}, EventType.MESSAGE, "code"),
        ({"kind": "multiDiffData", "multiDiffData": {}}, EventType.ATTACHMENT, None),
        ({"kind": "neverSeen", "value": 3}, EventType.UNKNOWN, None),
        ({"kind": "thinking", "value": ["a", "b"]}, EventType.REASONING, "ab"),
    ],
)
def test_parts_of_a_response(part: Chat, event_type: EventType, text: str | None) -> None:
    chat = {"requests": [{"requestId": "r", "message": "hi", "response": [part]}]}
    event = told(chat).events[-1]
    assert event.event_type is event_type
    assert text is None or event.text == text


def test_a_text_that_the_host_cut_says_so() -> None:
    mark = "[JustRide: value truncated for persistence; original 2000000 chars]"
    chat = {"requests": [{"requestId": "r", "message": "hi", "response": [{"value": mark}]}]}
    assert [event.truncated for event in told(chat).events] == [False, False, True]


@pytest.mark.parametrize(
    ("field", "value", "kind"),
    [
        ("isCanceled", True, EventType.MESSAGE),
        ("modelState", {"value": 2}, EventType.MESSAGE),
        ("modelState", {"value": "cancelled"}, EventType.MESSAGE),
        ("result", {"errorDetails": {"message": "no"}}, EventType.ERROR),
    ],
)
def test_how_a_request_ended(field: str, value: object, kind: EventType) -> None:
    event = told({"requests": [{"requestId": "r", "message": "hi", field: value}]}).events[-1]
    assert event.event_type is kind
    assert kind is EventType.ERROR or event.payload == {"interrupt": True}


def test_a_sub_agents_calls_are_its_own() -> None:
    def invocation(name: str, **more: object) -> Chat:
        return {
            "kind": "toolInvocationSerialized",
            "toolId": name,
            "isComplete": True,
            "pastTenseMessage": name,
            **more,
        }

    task = {"kind": "subagent", "description": "find", "prompt": "find it", "agentName": "scout", "result": "found"}
    response = [
        invocation("runSubagent", toolCallId="sub", toolSpecificData=task),
        invocation("copilot_readFile", toolCallId="c", subAgentInvocationId="sub"),
    ]
    found = told({"requests": [{"requestId": "r", "message": "hi", "response": response}]})
    assert [event.agent_id for event in found.events] == [None, None, None, None, "sub", "sub"]
    assert found.only(EventType.SUBAGENT_START).text == "find it"
    agent = found.facts.agents["sub"]
    assert (agent.call_id, agent.agent_type, agent.description) == ("sub", "scout", "find")


# --- finding and keeping ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///home/dev/tide%20book", "/home/dev/tide book"),
        ("file:///c%3A/Users/dev", "c:/Users/dev"),
        ("file://server/share", "//server/share"),
        ("vscode-remote://wsl%2Bubuntu/home/dev", "/home/dev"),
        ("untitled:Untitled-1", "untitled:Untitled-1"),
    ],
)
def test_addresses_become_paths(uri: str, path: str) -> None:
    assert uri_path(uri) == path


PLACES: Final = (
    ".config/Code/User",
    ".config/Code - Insiders/User",
    ".config/VSCodium/User",
    "Library/Application Support/Code/User",
    "AppData/Roaming/Code - Insiders/User",
    ".var/app/com.visualstudio.code/config/Code/User",
    "snap/code/current/.config/Code/User",
    ".vscode-server/data/User",
    ".vscode-server-insiders/data/User",
    ".local/share/code-server/User",
)


def test_every_edition_on_every_system_is_looked_for(tmp_path: Path) -> None:
    for place in PLACES:
        (tmp_path / place / "workspaceStorage").mkdir(parents=True)
    found = vscode.roots({"HOME": str(tmp_path)}, ())
    assert sorted(Path(root.path).relative_to(tmp_path).as_posix() for root in found) == sorted(PLACES)


def test_variables_move_it(tmp_path: Path) -> None:
    for below in ("portable/user-data/User", "appdata/Code/User", "agent/data/User", "config/Code/User"):
        (tmp_path / below / "globalStorage").mkdir(parents=True)
    names = ("VSCODE_PORTABLE", "VSCODE_APPDATA", "VSCODE_AGENT_FOLDER", "XDG_CONFIG_HOME")
    env = {
        name: str(tmp_path / below)
        for name, below in zip(names, ("portable", "appdata", "agent", "config"), strict=True)
    }
    found = vscode.roots({"HOME": str(tmp_path / "home"), **env}, [str(tmp_path / "portable" / "user-data")])
    assert {root.reason for root in found} == {*names[:3], "default"}


def titled(home: Path, title: str) -> None:
    """Give the sample's workspace a database whose index, still in its log, has a title."""
    path = home / CHATS.relative_to(SAMPLE).parent / "state.vscdb"
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "wal")
    connection.pragma("wal_autocheckpoint", 0)
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    with connection:
        connection.execute("CREATE TABLE IF NOT EXISTS ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        index = {"version": 1, "entries": {ID: {"sessionId": ID, "title": title, "lastMessageDate": 3}, "other": {}}}
        connection.execute("INSERT INTO ItemTable VALUES (?, ?)", (vscode.INDEX, json.dumps(index)))
    connection.close()


@pytest.fixture
def home(isolated: Path) -> Path:
    """A home folder with the sample in it."""
    shutil.copytree(SAMPLE, isolated, dirs_exist_ok=True)
    return isolated


def swept(home: Path, root: Path) -> Content:
    """What an archive holds after a sweep of a home, which leaves the home as it was."""
    before = tree(home)
    report = sweep(Places(str(root)), settings(), {"HOME": str(home)}, hosts=["vscode"])
    assert failures(report) == []
    assert tree(home) == before
    return content(root)


def test_a_chat_is_captured_with_its_folder_and_its_title(home: Path, tmp_path: Path) -> None:
    chat = home / CHATS.relative_to(SAMPLE) / f"{ID}.jsonl"
    chat.write_bytes(b"".join(line for line in chat.read_bytes().splitlines(True) if b"customTitle" not in line))
    titled(home, "Late high water")
    found = swept(home, tmp_path / "archive")
    session = found.sessions[ID]
    assert (session["title"], session["cwd"], session["turns"]) == ("Late high water", CWD, 2)
    again = swept(home, tmp_path / "archive")
    assert differences(found, again) == []
    titled(home, "High water")
    assert swept(home, tmp_path / "archive").sessions[ID]["title"] == "High water"


def test_nothing_is_read_where_nothing_changed(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    titled(home, "Late tides")
    swept(home, tmp_path / "archive")
    monkeypatch.setattr(vscode, "snapshot", lambda _: pytest.fail("a database was copied"))
    monkeypatch.setattr(vscode, "state_of", lambda _: pytest.fail("a chat was read"))
    swept(home, tmp_path / "archive")


def test_a_chat_that_grows_and_is_written_anew_is_what_it_would_be_at_once(home: Path, tmp_path: Path) -> None:
    chat = home / CHATS.relative_to(SAMPLE) / f"{ID}.jsonl"
    lines = chat.read_bytes().splitlines(True)
    for count in range(1, len(lines) + 1, 2):
        chat.write_bytes(b"".join(lines[:count]))
        swept(home, tmp_path / "grown")
    whole = state_of(b"".join(lines))
    chat.write_bytes(json.dumps({"kind": 0, "v": whole}).encode() + b"\n")  # compacted
    grown = swept(home, tmp_path / "grown")
    chat.unlink()
    chat.with_suffix(".json").write_text(json.dumps(whole, indent=2), "utf-8")  # as older versions keep it
    older = swept(home, tmp_path / "older")
    for found in (grown, older):
        assert [(event["event_type"], event.get("text")) for event in found.events[ID]] == [
            (event.event_type.value, event.text) for event in told(whole).events
        ]
        assert [key for key in found.raw if key[0] == ID and key[1] == "main"] == [(ID, "main", 0)]
        assert found.sessions[ID]["turns"] == 2
        assert [turn["prompt"] for (name, _), turn in sorted(found.turns.items()) if name == ID] == [
            "why is high water late?",
            "delete the old table",
        ]


def test_a_chat_rewritten_many_times_does_not_swell_the_archive(home: Path, tmp_path: Path) -> None:
    chat = home / CHATS.relative_to(SAMPLE) / f"{ID}.jsonl"
    whole = state_of(chat.read_bytes())
    whole_requests: Any = whole["requests"]
    whole_requests[0]["result"]["metadata"]["rendered"] = "x" * 200_000
    for number in range(12):
        whole_requests[1]["response"].append({"kind": "thinking", "value": f"thought {number}", "id": str(number)})
        chat.write_bytes(json.dumps({"kind": 0, "v": whole}).encode() + b"\n")
        found = swept(home, tmp_path / "archive")
    assert len(found.raw[ID, "main", 0]) < 2 * chat.stat().st_size


def test_a_chat_that_is_no_chat_is_one_failed_source(home: Path, tmp_path: Path) -> None:
    (home / CHATS.relative_to(SAMPLE) / "broken.json").write_text('{"requests": [')
    report = sweep(Places(str(tmp_path / "archive")), settings(), {"HOME": str(home)}, hosts=["vscode"])
    (reason,) = failures(report)
    assert reason.startswith("it is no chat, or it is being written")
    assert ID in content(tmp_path / "archive").sessions


def test_a_broken_database_of_the_window_costs_only_titles(home: Path, tmp_path: Path) -> None:
    (home / CHATS.relative_to(SAMPLE).parent / "state.vscdb").write_bytes(b"SQLite format 3\0" + b"\xff" * 4000)
    report = sweep(Places(str(tmp_path / "archive")), settings(), {"HOME": str(home)}, hosts=["vscode"])
    assert len(failures(report)) == 1
    assert content(tmp_path / "archive").sessions[ID]["turns"] == 2


def test_a_file_given_by_a_person_is_told_by_its_content(tmp_path: Path) -> None:
    given = vscode.claims(str(CHATS / f"{ID}.jsonl"))
    assert [source.key for source in given] == ["main", vscode.WORKSPACE]
    assert {source.session_id for source in vscode.claims(str(SAMPLE))} > {ID}
    for name, text in (("a.json", '{"requests": {}}'), ("b.jsonl", '{"kind":"x"}'), ("c.json", '{"requests": [{}]}')):
        (tmp_path / name).write_text(text)
        assert vscode.claims(str(tmp_path / name)) == []


@pytest.mark.corpus
def test_every_chat_of_the_corpus_is_read() -> None:
    folder = CORPUS / "vscode-copilot" / "fixtures"
    found = {path.name: vscode.claims(str(path)) for path in sorted(folder.rglob("*.json"))}
    assert [name for name, sources in found.items() if not sources] == [
        "claude-code-session-schema.json",
        "jetbrains-session-schema.json",
        "session-file-schema.json",
    ]
    for sources in found.values():
        for source in sources:
            chat: Chat = state_of(Path(source.copy or "").read_bytes())
            read_chat = told(chat, source.session_id)
            assert read_chat.prompts == [request["message"]["text"] for request in chat["requests"]]
            assert len(read_chat.usage) == len(chat["requests"])
            assert read_chat.accounting.unknown == {}
