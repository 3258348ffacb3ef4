"""What hosts never wrote, made out of what they wrote: nothing is lost to it, and everything is accounted for."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import apsw
import msgspec
import pytest
import zstandard
from hypothesis import HealthCheck, given
from hypothesis import settings as effort
from hypothesis import strategies as st

from agent_support import CORPUS, lines
from agent_support import read as reading
from retro import agents
from retro.agents import databases
from retro.agents.fields import between, parted
from retro.agents.interface import LINES, TRANSCRIPT, Source
from retro.config import Settings
from retro.event import MOST, EventType, Quality, Usage
from retro.places import Places
from retro.sweep import sweep
from retro.trial import read as trial_of
from support import content, failures

SAMPLES: Final = Path(__file__).resolve().parent / "samples"
SEEDS: Final = st.integers(0, 1 << 32)

ODD: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 3.5, 1 << 40, 1 << 70, -(1 << 70)),
    *("", "x", "2026-13-45T99:99:99Z", "\ud800", "a\x00b", "/" * 300, "9" * 400, "null", "[1]", '{"command": 5}'),
    *([], {}, [None], [[]], [{}], {"type": "x"}, [{"type": "text", "text": 5}], {"a": {"b": [1]}}),
)
"""Values that no field is made for."""

BOUNDLESS: Final = "boundless"
"""Stands for a number that no decoder takes."""

KNOWN_REASONS: Final = (
    "it is no chat",
    "it is no session",
    "it is no log",
    "no such table",
    "no such column",
    "not a database",
)
"""What may be said of a file or a database that is damaged as a whole."""


def odd(data: bytes, chance: random.Random) -> bytes:
    """A file of JSON, or of JSON lines, some of whose values are others; at times cut."""
    try:
        made = encoded(changed(json.loads(data), chance, chance.randint(1, 6)))
    except ValueError:
        made = b"\n".join(odd_line(line, chance) for line in data.split(b"\n"))
    return made[: chance.randrange(len(made) + 1)] if chance.random() < 0.03 else made


def odd_line(line: bytes, chance: random.Random) -> bytes:
    """A line, changed once in a while."""
    if chance.random() > 0.3:
        return line
    try:
        return encoded(changed(json.loads(line), chance, chance.randint(1, 3)))
    except ValueError:
        return line[: chance.randrange(len(line) + 1)]


def changed(value: Any, chance: random.Random, times: int) -> Any:
    """A value with other values in it, or fewer, or by other names."""
    for _ in range(times):
        places = list(inside(value))
        if places:
            change(*chance.choice(places), chance)
    return value


def inside(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place within a value: what holds it, and its name or number there."""
    names = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for name in names:
        yield value, name
        yield from inside(value[name])


def change(holder: Any, name: Any, chance: random.Random) -> None:
    """Drop what stands in a place, put another value there, or another name over it."""
    what = chance.random()
    if what < 0.2:
        del holder[name]
    elif what < 0.3 and isinstance(holder, dict):
        holder[f"{name}X"] = holder.pop(name)
    elif what < 0.35:
        holder[name] = BOUNDLESS
    else:
        holder[name] = deepcopy(chance.choice(ODD))


def encoded(value: object) -> bytes:
    return json.dumps(value).replace(f'"{BOUNDLESS}"', "1e400").encode()


def odd_database(connection: apsw.Connection, chance: random.Random) -> None:
    """Change rows of a database, and at times its columns."""
    for (table,) in list(
        connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
    ):
        columns = databases.columns(connection, table)
        rows = list(connection.execute(f'SELECT rowid, * FROM "{table}" LIMIT 200'))
        for rowid, *values in rows:
            number = chance.randrange(len(columns))
            if chance.random() < 0.3:
                put(connection, table, columns[number], rowid, odd_cell(values[number], chance))
        if chance.random() < 0.05:
            tried(connection, f'ALTER TABLE "{table}" DROP COLUMN "{chance.choice(columns)}"')


def odd_cell(value: object, chance: random.Random) -> object:
    if isinstance(value, str) and value[:1] in ("{", "["):
        return odd(value.encode(), chance).decode("utf-8", "replace")
    return chance.choice((None, 0, -1, 1 << 62, 3.5, "", "x", "{}", "[]", b"\xff\x00"))


def put(connection: apsw.Connection, table: str, column: str, rowid: object, value: object) -> None:
    tried(connection, f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', value, rowid)


def tried(connection: apsw.Connection, statement: str, *values: Any) -> None:
    """A change that the schema may refuse."""
    try:
        connection.execute(statement, values)
    except apsw.Error:
        return


def odd_home(home: Path, chance: random.Random) -> None:
    """The sessions of every host in one home, changed all over."""
    for sample in sorted(SAMPLES.iterdir()):
        if sample.is_dir():
            shutil.copytree(sample, home, dirs_exist_ok=True)
    for path in sorted(home.rglob("*")):
        if path.suffix == ".sql":
            connection = apsw.Connection(str(path.with_suffix("")))
            connection.execute(path.read_text("utf-8"))
            odd_database(connection, chance)
            connection.close()
            path.unlink()
        elif path.suffix in (".json", ".jsonl") and chance.random() < 0.7:
            path.write_bytes(odd(path.read_bytes(), chance))


@given(seed=SEEDS)
@effort(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
def test_no_session_and_no_sweep_is_lost_to_odd_values(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Reading the content of the archive compares each source's account with its size, and decodes all events."""
    folder = tmp_path_factory.mktemp("odd")
    odd_home(folder / "home", random.Random(seed))
    root = folder / "archive"
    settings = Settings("", {("sweep", "workers"): 1})
    report = sweep(Places(str(root)), settings, {"HOME": str(folder / "home")})
    assert [reason for reason in failures(report) if not any(known in reason for known in KNOWN_REASONS)] == []
    assert sum(host.ingested for host in report.hosts) > len(agents.MODULES)
    content(root)
    again = sweep(Places(str(root)), settings, {"HOME": str(folder / "home")})
    assert sum(host.ingested + host.appended for host in again.hosts) == 0


def test_a_number_beyond_all_bounds_in_a_first_record_stops_no_sweep(tmp_path: Path) -> None:
    home = tmp_path / "home"
    first = b'{"timestamp":"2026-01-02T03:04:05Z","type":"session_meta","payload":{"id":"s","cwd":"/p","n":1e400}}'
    said = b'{"timestamp":"2026-01-02T03:04:06Z","type":"event_msg","payload":{"type":"user_message","message":"hi"}}'
    for name in ("a", "b"):
        path = home / ".codex" / "sessions" / "2026" / "01" / "02" / f"rollout-2026-01-02T03-04-05-{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(first.replace(b'"s"', f'"{name}"'.encode()) + b"\n" + said + b"\n")
    report = sweep(Places(str(tmp_path / "archive")), Settings("", {}), {"HOME": str(home)})
    assert failures(report) == []
    found = content(tmp_path / "archive")
    assert {name: row["cwd"] for name, row in found.sessions.items()} == {"a": "/p", "b": "/p"}


def test_an_error_in_looking_through_one_root_is_that_roots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd_home(tmp_path / "home", random.Random(0))

    def broken(*_: object) -> Iterator[Source]:
        raise KeyError("what nobody thought of")

    monkeypatch.setattr(agents.named("pi"), "discover", broken)
    report = sweep(Places(str(tmp_path / "archive")), Settings("", {}), {"HOME": str(tmp_path / "home")})
    unexpected = [(host.host, one.reason) for host in report.hosts for one in host.problems if "internal" in one.reason]
    assert [(host, "KeyError('what nobody thought of')" in reason) for host, reason in unexpected] == [("pi", True)]
    assert sum(host.ingested for host in report.hosts) > len(agents.MODULES)


def real(limit: int) -> list[Source]:
    """Sessions of the corpus that are not too long."""
    found = []
    for path in sorted(CORPUS.rglob("*")):
        if path.is_file() and path.suffix in (".json", ".jsonl") and path.stat().st_size < limit:
            found += [source for source in agents.claimed(str(path)) if source.kind == TRANSCRIPT]
    databases.release()
    return [source for source in found if source.form == LINES and source.content is None]


@pytest.mark.corpus
def test_every_byte_of_odd_sessions_is_accounted_for(tmp_path: Path) -> None:
    chance = random.Random(5)
    sources = real(100_000)
    by_host = {host: [source for source in sources if source.host == host] for host in agents.MODULES}
    for of_host in by_host.values():
        for number, source in enumerate(chance.sample(of_host, min(len(of_host), 12))):
            path = tmp_path / f"{source.host}-{number}.jsonl"
            path.write_bytes(odd(Path(source.path).read_bytes(), chance))
            trial = trial_of(msgspec.structs.replace(source, path=str(path), size=path.stat().st_size))
            assert (trial.problem, trial.bytes.exact) == (None, True), path


@pytest.mark.parametrize("tokens", [-1, MOST + 1])
def test_what_cannot_be_a_number_of_tokens_counts_for_nothing(tokens: int) -> None:
    usage = Usage(
        usage_id="u", session_id="s", host="h", source="main", line=1, timestamp=None, model=None,
        input_tokens=tokens, output_tokens=7, embedded_cost_usd=-1.0, quality=Quality.EXACT,
    )  # fmt: skip
    assert (usage.input_tokens, usage.output_tokens, usage.embedded_cost_usd) == (0, 7, None)
    assert msgspec.json.decode(msgspec.json.encode(usage), type=Usage) == usage


@pytest.mark.parametrize("mark", ["<command-name>", "<hook_context>", "<task>", "<mode_notice>", "<execute_command>"])
def test_marks_that_are_opened_again_and_again_are_read_in_one_pass(mark: str) -> None:
    """Looking for the end of each would take hours."""
    text = mark * 200_000
    assert between(text, mark, mark.replace("<", "</")) is None
    assert parted(text, mark, mark.replace("<", "</")) == ([], [text])
    assert parted(f"a{mark}b{mark}c</>d", mark, "</>") == ([f"b{mark}c"], ["a", "d"])


_UUID: Final = "00000000-0000-4000-8000-000000000001"
_WORDED: Final[dict[str, tuple[str, Callable[[Any], dict[str, Any]]]]] = {
    "antigravity prompt": ("antigravity", lambda said: {"step_index": 1, "type": "USER_INPUT", "content": said}),
    "antigravity answer": ("antigravity", lambda said: {"step_index": 1, "type": "PLANNER_RESPONSE", "content": said}),
    "antigravity result": (
        "antigravity",
        lambda said: {"step_index": 1, "type": "VIEW_FILE", "source": "MODEL", "content": said},
    ),
    "claude prompt": ("claude", lambda said: {"type": "user", "uuid": _UUID, "message": {"content": said}}),
    "claude answer": ("claude", lambda said: {"type": "assistant", "uuid": _UUID, "message": {"content": said}}),
    "codex prompt": ("codex", lambda said: _rollout("event_msg", type="user_message", message=said)),
    "codex answer": ("codex", lambda said: _rollout("event_msg", type="agent_message", message=said)),
    "codex thought": ("codex", lambda said: _rollout("event_msg", type="agent_reasoning", text=said)),
    "codex message": ("codex", lambda said: _rollout("response_item", type="message", role="user", content=said)),
    "codex output": (
        "codex",
        lambda said: _rollout("response_item", type="function_call_output", call_id="c", output=said),
    ),
    "codex summary": ("codex", lambda said: _rollout("compacted", message=said)),
    "copilot prompt": ("copilot", lambda said: {"type": "user.message", "data": {"content": said}}),
    "copilot thought": ("copilot", lambda said: {"type": "assistant.message", "data": {"reasoningText": said}}),
    "copilot result": (
        "copilot",
        lambda said: {"type": "tool.execution_complete", "data": {"toolCallId": "c", "result": {"content": said}}},
    ),
    "copilot error": (
        "copilot",
        lambda said: {"type": "tool.execution_complete", "data": {"toolCallId": "c", "error": {"message": said}}},
    ),
    "gemini prompt": ("gemini", lambda said: {"id": "m", "type": "user", "content": [{"text": said}]}),
    "gemini answer": ("gemini", lambda said: {"id": "m", "type": "gemini", "content": said}),
    "iflow prompt": ("iflow", lambda said: {"type": "user", "uuid": "u", "message": {"content": said}}),
    "jetbrains prompt": ("jetbrains", lambda said: {"type": "user.message", "id": "i", "data": {"content": said}}),
    "jetbrains answer": ("jetbrains", lambda said: {"type": "assistant.message", "id": "i", "data": {"text": said}}),
    "pi prompt": (
        "pi",
        lambda said: {
            "type": "message",
            "message": {"role": "user", "content": [{"type": "text", "text": said}]},
        },
    ),
    "pi result": (
        "pi",
        lambda said: {"type": "message", "message": {"role": "toolResult", "toolCallId": "c", "content": said}},
    ),
    "qwen prompt": ("qwen", lambda said: {"type": "user", "uuid": "u", "message": {"parts": [{"text": said}]}}),
    "qwen answer": ("qwen", lambda said: {"type": "assistant", "uuid": "u", "message": {"parts": [{"text": said}]}}),
}
"""Records of hosts around somebody's words."""


def _rollout(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-02T03:04:05.000Z", "type": kind, "payload": payload}


@pytest.mark.parametrize("form", ["text", "list", "object", "block", "unknown"])
@pytest.mark.parametrize("case", _WORDED)
def test_words_are_told_whether_they_stand_alone_or_in_a_list_or_an_object(case: str, form: str) -> None:
    host, record = _WORDED[case]
    words = "the lighthouse keeper"
    forms = {
        "text": words,
        "list": [words],
        "object": {"text": words},
        "block": [{"type": "text", "text": words}],
        "unknown": {"told": {"by": words}},
    }
    found = reading(agents.named(host), lines(record(forms[form])), "s")
    assert any(words in (event.text or "") for event in found.events), found.events
    if form != "unknown" and host != "claude":
        assert [event for event in found.events if event.event_type is EventType.UNKNOWN] == []
        assert any((event.text or "").strip() == words for event in found.events), found.events


def test_a_block_that_no_version_was_seen_to_write_is_kept_with_all_its_fields() -> None:
    block = {"type": "hologram", "depth": {"words": "the lighthouse keeper"}}
    for kind in ("user", "assistant"):
        record = {"type": kind, "uuid": _UUID, "message": {"content": [{"type": "text", "text": "hi"}, block]}}
        found = reading(agents.named("claude"), lines(record), "s")
        (unknown,) = found.of_type(EventType.UNKNOWN)
        assert json.loads(unknown.text or "") == block


def test_a_secret_in_a_name_or_a_type_is_nowhere_but_in_the_raw_bytes(tmp_path: Path) -> None:
    token = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0fG2iL5"
    said = {"type": "text", "text": "hi"}
    call = {"type": "tool_use", "id": f"call {token}", "name": "Bash", "input": {"command": "ls"}}
    answer = {"id": f"msg_{token}", "model": "m", "content": [said, call], "usage": {"output_tokens": 5}}
    returned = {"type": "tool_result", "tool_use_id": f"call {token}", "content": "out"}
    records = (
        {"type": "user", "uuid": _UUID, "message": {"content": "go"}, "cwd": "/p"},
        {"type": "assistant", "uuid": f"a {token}", "parentUuid": _UUID, "message": answer},
        {"type": "user", "uuid": "r", "parentUuid": f"a {token}", "message": {"content": [returned]}},
        {"type": token, "uuid": "x", "words": "odd"},
        {"type": "file-history-snapshot", "uuid": f"f {token}"},
        {"type": "user", "uuid": "l", "parentUuid": f"f {token}", "message": {"content": "on"}},
    )
    path = tmp_path / "home" / ".claude" / "projects" / "-p" / f"{_UUID}.jsonl"
    path.parent.mkdir(parents=True)
    root = tmp_path / "archive"
    for until in (2, len(records)):
        path.write_bytes(lines(*records[:until]))
        report = sweep(Places(str(root)), Settings("", {}), {"HOME": str(tmp_path / "home")})
        assert failures(report) == []
    told = [file for file in root.rglob("*") if file.is_file() and file.relative_to(root).parts[0] != "raw"]
    assert len(told) > 4
    for file in told:
        data = file.read_bytes()
        if file.suffix == ".zst":
            data = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read()
        assert token.encode() not in data, file
    first, *_ = content(root).events.values()
    called, result = (
        next(event for event in first if event["event_type"] == kind) for kind in ("command", "tool_result")
    )
    assert called["call_id"] == result["call_id"]
    assert result["parent_event_id"] == str(called["event_id"]).partition(".")[0]
