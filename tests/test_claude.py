"""What Claude Code's records mean, checked on the sessions that real versions of it wrote."""

from __future__ import annotations

import json
import re
import shutil
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import msgspec
import pytest

from retro import agents, demo
from retro.agents import claude
from retro.agents.interface import BOOKKEEPING, Batch, Facts, Source
from retro.agents.records import Accounting, Parser, Position, chunks
from retro.event import Actor, Event, EventType, Origin, Quality
from support import SESSION, Content, answer, call, content, counts, lines, prompt, result, sweep_up, transcript

REPEATED = {"last-prompt", "queue-operation", "api-request-blob", "progress:query_update", "progress:mcp_progress"}
"""Types that repeat what a person or a model said elsewhere: their words must be found in events."""

OF_THE_HOST = re.compile(
    r"<[a-z-]+>|x-anthropic-billing|You are |# |The following |Available agent|\w+(:[\w-]+)? hook (success|additional)"
)
"""How the texts begin that the host makes for a request, of what it has in records and of its own instructions."""


def read(data: bytes, key: str = "main") -> tuple[Batch, Accounting, Facts]:
    """What one transcript gives, read at once and without an archive."""
    reader = claude.reader(SESSION, key, key, b"", Facts())
    batch, accounting = Batch([], []), Accounting()
    parser = Parser(reader, Position(), accounting)
    for chunk in chunks(BytesIO(data)):
        parser.feed(chunk, batch)
    return batch, accounting, reader.facts


def transcripts(corpus: Path) -> list[Path]:
    """Every Claude transcript of the corpus."""
    folders = [corpus / "claude-code", corpus / "labelled", corpus / "live" / "claude"]
    return sorted(file for folder in folders for file in folder.rglob("*.jsonl") if "evidence" not in file.parts)


# --- every file of the corpus ----------------------------------------------------------------------------------------


@pytest.mark.corpus
def test_every_file_is_read_and_accounted_for(corpus: Path) -> None:
    seen, unknown = Counter[str](), Counter[str]()
    for file in transcripts(corpus):
        data = file.read_bytes()
        batch, accounting, _ = read(data)
        line_ends = [found.start() for found in re.finditer(b"\n", data)]
        torn = data[accounting.total() :]
        assert b"\n" not in torn, file
        known = {*claude.BOOKKEEPING_TYPES, *claude.UNCOUNTED}
        assert set(accounting.bookkeeping) <= known, file
        for offset, length, _, _ in accounting.gaps:
            assert data[offset : offset + length].strip(), file
        for event in batch.events:
            place = event.raw_ref
            record = data[place.offset : place.offset + place.length]
            assert record[:1] == b"{" and record[-1:] == b"}", (file, place)
            assert bisect_left(line_ends, place.offset) + 1 == place.line
        if "real" in file.parts or "live" in file.parts:
            for table in (accounting.mapped, accounting.bookkeeping, accounting.unknown):
                seen.update({kind: cell[0] for kind, cell in table.items() if kind != "line_ends"})
            unknown.update({kind: cell[0] for kind, cell in accounting.unknown.items()})
    assert sum(unknown.values()) < 0.005 * sum(seen.values()), unknown


@pytest.mark.corpus
def test_sequences_are_dense_and_reading_again_gives_the_same_ids(corpus: Path) -> None:
    for file in transcripts(corpus)[::3]:
        first, again = (read(file.read_bytes())[0].events for _ in range(2))
        assert first == again, file
        places = {event.event_id: event.sequence for event in first}
        assert sorted(places.values()) == list(range(len(places))), file


@pytest.mark.corpus
def test_every_result_belongs_to_the_call_before_it(corpus: Path) -> None:
    """Where the file holds the call. Forks may have lost it, and sub-agents' calls may be in another file."""
    for file in transcripts(corpus):
        if "fixtures" in file.parts:
            continue  # some were made from one record, again and again under the same id
        events = read(file.read_bytes())[0].events
        calls: dict[str | None, int] = {}
        for place, event in enumerate(events):
            if event.event_type is not EventType.TOOL_RESULT:
                calls.setdefault(event.call_id, place)
        for place, event in enumerate(events):
            if event.event_type is EventType.TOOL_RESULT and event.call_id and event.call_id in calls:
                assert calls[event.call_id] < place, (file, event.event_id)
                assert event.tool, (file, event.event_id)


def test_every_bookkeeping_type_has_a_reason() -> None:
    reasons = {**claude.BOOKKEEPING_TYPES, **claude.UNCOUNTED}
    assert all(len(reason) > 10 for reason in reasons.values())
    assert not set(claude.BOOKKEEPING_TYPES) & set(claude.UNCOUNTED)


# --- nothing that was said is only in bookkeeping --------------------------------------------------------------------


def said(value: object) -> Iterator[str]:
    """The long texts in a record's values that a person or a model may have written."""
    if isinstance(value, str):
        if len(value) > 40 and " " in value:
            yield " ".join(value.split())[:200]
    elif isinstance(value, list):
        for item in value:
            yield from said(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in ("signature", "uuid", "data", "cwd", "transcript_path", "system"):
                yield from said(item)


@pytest.mark.corpus
def test_no_words_are_only_in_bookkeeping(corpus: Path) -> None:
    lost = []
    for folder in [corpus / "live/claude/home/.claude/projects", *sorted((corpus / "claude-code/real").iterdir())]:
        files = sorted(folder.rglob("*.jsonl"))
        wanted = {
            (file.name, kind, text)
            for file in files
            for kind, record in repeated(file)
            for text in said(record)
            if not OF_THE_HOST.match(text)
        }
        for file in files if wanted else ():
            spoken = " ".join(" ".join(words(event)) for event in read(file.read_bytes())[0].events)
            wanted = {found for found in wanted if found[2] not in spoken}
        lost += sorted(wanted)
    assert lost == []


def repeated(file: Path) -> Iterator[tuple[str, object]]:
    """The records of a file that give no event and hold words."""
    for line in file.read_bytes().splitlines():
        try:
            record = msgspec.json.decode(line)
        except ValueError:
            continue
        if not isinstance(record, dict):
            continue
        data = record.get("data")
        kind = f"progress:{data.get('type')}" if isinstance(data, dict) else str(record.get("type"))
        if kind in REPEATED:
            yield kind, data if isinstance(data, dict) else record


def words(event: Event) -> Iterator[str]:
    """An event's texts as `said` gives them: without line ends."""
    for part in (event.text, event.command):
        yield from (part or "").split()


# --- the live tree: 2.1.327, every text known ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def live(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Content:
    root = tmp_path_factory.mktemp("live") / "archive"
    report = sweep_up(root, corpus / "live/claude/home/.claude")
    assert counts(report) == {"discovered": 8, "ingested": 8, "analyzed": 8}
    return content(root)


def by_person(live: Content) -> list[dict[str, object]]:
    return [event for events in live.events.values() for event in events if event.get("origin") == "human"]


def slash_command(event: dict[str, object]) -> object:
    payload = event.get("payload")
    return payload.get("slash_command") if isinstance(payload, dict) else None


@pytest.mark.corpus
def test_of_64_user_lines_19_are_prompts_of_a_person(live: Content, corpus: Path) -> None:
    records = [
        json.loads(line)
        for file in (corpus / "live/claude/home/.claude/projects").rglob("*.jsonl")
        for line in file.read_bytes().splitlines()
    ]
    assert sum(record["type"] == "user" for record in records) == 64
    typed = by_person(live)
    prompts = [event for event in typed if event["event_type"] == "message" and not slash_command(event)]
    marked = Counter(r["uuid"] for r in records if r["type"] == "user" and r.get("promptSource") in ("typed", "sdk"))
    assert len(prompts) == 19
    assert Counter(event["event_id"] for event in prompts) == marked
    commands = sorted(str(slash_command(event)) for event in typed if slash_command(event))
    assert commands == ["/clear", "/compact", "/context", "/greet", "/rename"]
    assert [event["command"] for event in typed if event["event_type"] == "command"] == ["echo from bash mode"]


@pytest.mark.corpus
def test_a_fork_names_its_parent_and_keeps_the_ids(live: Content) -> None:
    origin, fork = "2e25b64d-19a2-4429-9711-ebb0a4333851", "82c9f9f9-3a28-400c-ab66-46f9d7f61dd3"
    parents = {name: row["parent"] for name, row in live.sessions.items() if row["parent"]}
    assert parents == {fork: origin}
    copied = {event["event_id"] for event in live.events[fork]} & {event["event_id"] for event in live.events[origin]}
    assert len(copied) > 40
    texts = [
        {e["event_id"]: e.get("text") for e in live.events[name] if e["event_id"] in copied} for name in (origin, fork)
    ]
    assert texts[0] == texts[1]


@pytest.mark.corpus
def test_sub_agents_stand_behind_their_calls(live: Content) -> None:
    name = "2e25b64d-19a2-4429-9711-ebb0a4333851"
    events = live.events[name]
    agents_of = json.loads(str(live.sessions[name]["agents"]))
    assert len(agents_of) == 2
    for agent_id, call_id in agents_of.items():
        places = [place for place, event in enumerate(events) if event.get("agent_id") == agent_id]
        assert places == list(range(places[0], places[-1] + 1)), "its events stand together"
        start = events[places[0] - 1]
        while start.get("agent_id"):
            places.insert(0, places[0] - 1)
            start = events[places[0] - 1]
        assert (start["event_type"], start["call_id"]) in [("subagent_start", other) for other in agents_of.values()]
        assert {event["turn"] for event in events if event.get("agent_id") == agent_id} == {start["turn"]}
        assert call_id in [event.get("call_id") for event in events if event["event_type"] == "subagent_start"]


@pytest.mark.corpus
def test_forks_share_only_what_they_share(live: Content) -> None:
    for name, events in live.events.items():
        assert len({event["event_id"] for event in events}) == len(events), name
        assert {event["session_id"] for event in events} == {name}


@pytest.mark.corpus
def test_a_running_home_and_the_closed_one_agree(corpus: Path, live: Content, tmp_path: Path) -> None:
    """The same tree while the client still ran: what it had then is what the closed one has."""
    home = tmp_path / "claude"
    shutil.copytree(corpus / "live/claude/while-open/.claude/projects", home / "projects")
    sweep_up(tmp_path / "archive", home)
    shutil.copytree(corpus / "live/claude/home/.claude/projects", home / "projects", dirs_exist_ok=True)
    sweep_up(tmp_path / "archive", home)
    grown = content(tmp_path / "archive")
    assert set(grown.events) == set(live.events)
    for name, events in live.events.items():
        kept = {event["event_id"]: event for event in grown.events[name]}
        assert {event["event_id"] for event in events} <= set(kept)


# --- single records --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "origin"),
    [
        (prompt("do it"), Origin.HUMAN),
        (prompt("do it", promptSource="typed"), Origin.HUMAN),
        (prompt("x", promptSource="system"), Origin.MACHINE),
        (prompt("x", isMeta=True), Origin.INJECTED),
        (prompt("<task-notification>done</task-notification>"), Origin.MACHINE),
        (prompt("<system-reminder>be kind</system-reminder>"), Origin.INJECTED),
        (prompt("<user-prompt-submit-hook>ctx</user-prompt-submit-hook>"), Origin.INJECTED),
        (prompt("<teammate-message from=\"a\">hi</teammate-message>"), Origin.AGENT),
        (prompt("[Request interrupted by user]"), Origin.MACHINE),
        (prompt("This session is being continued from a previous conversation that …"), Origin.MACHINE),
        (prompt("x", isCompactSummary=True), Origin.MACHINE),
        (prompt("x", isSidechain=True), Origin.AGENT),
        (prompt("<command-name>/review</command-name><command-args>now</command-args>"), Origin.HUMAN),
        (prompt("<local-command-stdout>ok</local-command-stdout>"), Origin.MACHINE),
        (prompt("<b>bold</b> claim"), Origin.HUMAN),
    ],
)  # fmt: skip
def test_whose_words_they_are(record: dict[str, object], origin: Origin) -> None:
    (event,) = read(lines(record))[0].events
    assert event.origin is origin
    assert (event.turn == 1) == (origin is Origin.HUMAN)


def test_the_tools_have_events_of_their_own() -> None:
    given: dict[str, tuple[dict[str, object], EventType]] = {
        "Bash": ({"command": "ls", "description": "look"}, EventType.COMMAND),
        "Read": ({"file_path": "/a"}, EventType.FILE_READ),
        "Edit": ({"file_path": "/a", "old_string": "x", "new_string": "y"}, EventType.FILE_EDIT),
        "Write": ({"file_path": "/a", "content": "z"}, EventType.FILE_EDIT),
        "WebFetch": ({"url": "https://example.org"}, EventType.WEB_SEARCH),
        "Task": ({"prompt": "look", "description": "d", "subagent_type": "Explore"}, EventType.SUBAGENT_START),
        "Grep": ({"pattern": "x", "path": "/a"}, EventType.TOOL_CALL),
        "mcp__x__y": ({"a": [1, {"b": None}]}, EventType.TOOL_CALL),
    }
    data = lines(*(call(name, value, number) for number, (name, (value, _)) in enumerate(given.items(), 2)))
    events = read(data)[0].events
    assert [event.event_type for event in events] == [kind for _, kind in given.values()]
    assert [event.tool for event in events] == list(given)
    assert (events[0].command, events[0].payload) == ("ls", {"description": "look"})
    assert (events[2].text, events[3].text) == ("-x\n+y", "z")
    assert [event.paths for event in events[1:4]] == [["/a"]] * 3


@pytest.mark.parametrize("given", [None, 5, "text", [], {"command": 5}, {"file_path": ["/a"]}, {"edits": "x"}])
@pytest.mark.parametrize("tool", ["Bash", "Edit", "Read", "Task", "WebSearch"])
def test_arguments_of_any_shape_are_kept(tool: str, given: object) -> None:
    batch, accounting, _ = read(lines(call(tool, given)))
    (event,) = batch.events
    assert (event.tool, accounting.malformed) == (tool, {})
    assert event.text is not None or event.command is not None or event.paths or given in (None, [], 5, "text")


def test_a_result_knows_its_tool_and_how_it_ended() -> None:
    data = lines(
        call("Bash", {"command": "x"}, 2),
        result("Error: Exit code 3\nno", 3, toolUseResult="Error: Exit code 3\nno"),
        call("Bash", {"command": "y"}, 4),
        result("fine", 5, toolUseResult={"stdout": "fine", "stderr": "", "interrupted": False}),
    )
    first, second = (event for event in read(data)[0].events if event.event_type is EventType.TOOL_RESULT)
    assert (first.tool, first.exit_code) == ("Bash", 3)
    assert (second.tool, second.exit_code, second.is_error) == ("Bash", 0, False)


def test_usage_is_noted_once_for_each_state_of_a_request() -> None:
    data = lines(
        answer("a", 2, output_tokens=1),
        answer("b", 3, output_tokens=1) | {"message": answer("b", 2, output_tokens=1)["message"]},
        answer("c", 4, output_tokens=9) | {"message": answer("c", 2, output_tokens=9)["message"]},
    )
    usage = read(data)[0].usage
    assert [(one.usage_id, one.output_tokens, one.quality) for one in usage] == [
        ("msg_2", 1, Quality.EXACT),
        ("msg_2", 9, Quality.EXACT),
    ]


def test_a_record_of_unknown_type_is_kept_whole() -> None:
    record = {"type": "hologram", "uuid": "u", "words": "in a new field"}
    batch, accounting, _ = read(lines(record))
    (event,) = batch.events
    assert (event.event_type, event.actor) == (EventType.UNKNOWN, Actor.SYSTEM)
    assert json.loads(event.text or "") == record
    assert accounting.unknown == {"hologram": [1, len(lines(record)) - 1]}


@pytest.mark.parametrize("field", ["message", "timestamp", "cwd", "isSidechain", "parentUuid", "version", "uuid"])
@pytest.mark.parametrize("value", [5, ["x"], {"x": 1}, True, None])
def test_a_field_of_the_wrong_type_costs_the_field_and_not_the_record(field: str, value: object) -> None:
    batch, accounting, _ = read(lines(prompt("words to keep") | {field: value}))
    assert accounting.malformed == {}
    assert any("words to keep" in (event.text or "") for event in batch.events) or field == "message"


def test_the_first_event_says_where_even_if_records_without_events_come_first() -> None:
    where = {"cwd": "/home/demo/code/tidebook", "gitBranch": "publish"}
    silent = {"type": "attachment", "attachment": {"type": "date", "date": "2026-11-16"}, "sessionId": SESSION, **where}
    batch, _, facts = read(lines(silent, prompt("go", 1) | where, prompt("on", 2) | where))
    assert [(event.cwd, event.branch) for event in batch.events] == [(*where.values(),), (None, None)]
    assert (facts.cwd, facts.branch) == (*where.values(),)


def test_bookkeeping_gives_no_events() -> None:
    for kind in claude.BOOKKEEPING_TYPES:
        if ":" in kind or kind in ("line_ends", "bom"):
            continue
        batch, accounting, _ = read(lines({"type": kind, "sessionId": SESSION}))
        assert (batch.events, list(accounting.bookkeeping)) == ([], [kind, "line_ends"])


# --- where it looks --------------------------------------------------------------------------------------------------


def found(home: Path) -> list[tuple[str, str]]:
    (root,) = claude.roots({"HOME": "/nonexistent", "CLAUDE_CONFIG_DIR": str(home)}, ())
    return sorted((source.session_id, source.key) for source in claude.discover(root, {}))


def test_sources_of_every_kind_are_found(tmp_path: Path) -> None:
    transcript(tmp_path, lines(prompt("x")))
    beside = tmp_path / "projects" / "-home-dev-code" / SESSION
    for name in (
        "subagents/agent-a1.jsonl",
        "subagents/agent-a1.meta.json",
        "subagents/workflows/w/agent-b2.jsonl",
        "tool-results/t.txt",
    ):
        (beside / name).parent.mkdir(parents=True, exist_ok=True)
        (beside / name).write_bytes(lines(prompt("x", isSidechain=True)))
    (tmp_path / "todos").mkdir()
    (tmp_path / "todos" / f"{SESSION}-agent-{SESSION}.json").write_text("[]")
    (tmp_path / "todos" / "another.json").write_text("[]")
    (tmp_path / "file-history" / SESSION).mkdir(parents=True)
    (tmp_path / "file-history" / SESSION / "abc@v1").write_text("old")
    transcript(tmp_path, lines(prompt("x", sessionId="the-owner")), session="agent-c3")
    assert found(tmp_path) == [
        (SESSION, "agent-a1"),
        (SESSION, "main"),
        (SESSION, "sidecars/file-history/abc@v1"),
        (SESSION, "sidecars/subagents/agent-a1.meta.json"),
        (SESSION, f"sidecars/todos/{SESSION}-agent-{SESSION}.json"),
        (SESSION, "sidecars/tool-results/t.txt"),
        (SESSION, "workflows/w/agent-b2"),
        ("the-owner", "agent-c3"),
    ]


def test_every_root_counts_once(tmp_path: Path) -> None:
    for name in ("home/.claude/projects", "home/.config/claude/projects", "other/projects"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "other")
    home = tmp_path / "home"
    env = {"HOME": str(home), "CLAUDE_CONFIG_DIR": f"{tmp_path}/other, {tmp_path}/link,,{tmp_path}/none"}
    roots = claude.roots(env, [str(home / ".claude"), f"{tmp_path}/other/projects"])
    assert [root.path for root in roots] == [
        str(tmp_path / "other"),
        str(home / ".claude"),
        str(home / ".config/claude"),
    ]


def test_what_a_user_names_is_claimed(tmp_path: Path) -> None:
    file = transcript(tmp_path, lines(prompt("x"), answer("y")))
    other = tmp_path / "notes.jsonl"
    other.write_text('{"a": 1}\n')

    def keys(path: Path) -> list[str]:
        return [source.key for source in claude.claims(str(path))]

    assert keys(file) == keys(file.parent) == keys(tmp_path) == ["main"]
    assert keys(other) == keys(tmp_path / "nothing.jsonl") == []


@pytest.mark.corpus
def test_every_transcript_is_claimed_by_its_content(corpus: Path) -> None:
    unclaimed = [
        file
        for file in transcripts(corpus)
        if "real" in file.parts and file.stat().st_size and not claude.claims(str(file))
    ]
    assert unclaimed == []


def test_the_demo_is_read_without_anything_unknown(tmp_path: Path) -> None:
    demo.install_sessions(tmp_path)
    for file in tmp_path.rglob("*.jsonl"):
        _, accounting, _ = read(file.read_bytes())
        assert (accounting.unknown, accounting.malformed, accounting.repaired) == ({}, {}, 0)
        assert accounting.total() == file.stat().st_size
    assert agents.named("claude").HOST == "claude"
    assert isinstance(next(iter(claude.claims(str(tmp_path)))), Source)
    assert BOOKKEEPING == "bookkeeping"
