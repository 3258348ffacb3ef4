"""The dashboard's data: equal to what the reports say, written once, with no secret and no markup in it."""

from __future__ import annotations

import json
import os
import re
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cli_support import AGENTS, ALL, FIX, SECRETS, Retro, retro, root, swept
from retro.dashboard.columns import packed, steps
from retro.dashboard.packing import as_script, unpacked
from retro.dashboard.sections import histogram, quartiles
from retro.dashboard.transcript import PART, entries, parts
from retro.event import Actor, Event, EventType, RawRef
from retro.memory import store
from retro.memory.item import Change
from retro.places import Places
from support import answer, call, lines, prompt, result, sweep_up, transcript

__all__ = ["retro", "root", "swept"]

SCRIPT = re.compile(rb'retro\.data\(("(?:[^"\\]|\\.)*"),"([A-Za-z0-9+/=]*)"\);\n')
HOSTILE = '</script><img src=x onerror="alert(1)">\u202e\u2028\x00 javascript:alert(1)'


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Where the pages go."""
    return tmp_path / "pages"


def build(retro: Retro, out: Path, *more: str) -> Any:
    """Build the dashboard; gives what the command says."""
    return retro.json("dashboard", "build", "--out", str(out), *more)


def read(out: Path, name: str) -> Any:
    """The object in a data file."""
    script = (out / "data" / f"{name}.js").read_bytes()
    found = SCRIPT.fullmatch(script)
    assert found is not None
    assert json.loads(found[1]) == name
    return json.loads(unpacked(script))


STEPS = {"at", "line", "turn", "begun"}


def table(columns: dict[str, Any], first: str) -> list[dict[str, Any]]:
    """The rows of a table, as `docs/dashboard-data.md` describes its columns."""
    count = len(columns.get(first, ()))
    full = {name: column if isinstance(column, list) else [column] * count for name, column in columns.items()}
    full = {name: list(accumulate(column)) if name in STEPS else column for name, column in full.items()}
    return [{name: column[at] for name, column in full.items() if name != "names"} for at in range(count)]


def session(out: Path, session_id: str) -> dict[str, Any]:
    """A session's page, put together of its parts."""
    shown = read(out, "overview")["sessions"]
    number = shown["bundle"][shown["id"].index(session_id)]
    bundle, talk = read(out, f"session/{number}"), read(out, f"talk/{number}")
    assert bundle["names"] == talk["names"]
    at = bundle["names"].index(f"claude/{session_id}")
    prompts, answers = talk["said"][at]
    of, values, _, _, evidence = bundle["readings"][at]
    requests = bundle["requests"][at]
    texts = requests.get("names", [""])
    named = ("model", "source", "agent", "note")
    return {
        **bundle["pages"][at],
        "turns": [
            {**turn, "prompt": prompt, "answer": answer}
            for turn, prompt, answer in zip(table(bundle["turns"][at], "event"), prompts, answers, strict=True)
        ],
        "requests": [{**one, **{name: texts[one.get(name, 0)] for name in named}} for one in table(requests, "at")],
        "readings": dict(zip(bundle["signals"][of], values, strict=True)),
        "evidence": dict(zip(bundle["signals"][of], evidence, strict=True)),
        "phases": table(bundle["phases"][at], "event"),
    }


def data_files(out: Path) -> list[Path]:
    return sorted((out / "data").rglob("*.js"))


def contents(out: Path) -> list[str]:
    """What all data files hold, unpacked."""
    return [unpacked(path.read_bytes()).decode() for path in data_files(out)]


# --- figures ---------------------------------------------------------------------------------------------------------


def test_days_and_models_are_what_the_cost_reports_say(swept: Retro, out: Path) -> None:
    build(swept, out, "--timezone", "UTC")
    shown = read(out, "overview")
    days: dict[str, int] = {}
    models: dict[str, int] = {}
    for day, model, cost in zip(shown["days"]["day"], shown["days"]["model"], shown["days"]["cost"], strict=True):
        name = _day(day)
        days[name] = days.get(name, 0) + cost
        models[shown["models"][model]] = models.get(shown["models"][model], 0) + cost
    daily = swept.json("cost", "daily", "--timezone", "UTC")["daily"]
    assert days == {row["date"]: row["totalMicrodollars"] for row in daily}
    by_model = swept.json("cost", "model")["models"]
    assert models == {row["model"]: row["totalMicrodollars"] for row in by_model}


def _day(number: int) -> str:
    from datetime import date, timedelta

    return (date(1970, 1, 1) + timedelta(days=number)).isoformat()


def test_sessions_add_up_to_the_days(swept: Retro, out: Path) -> None:
    build(swept, out)
    shown = read(out, "overview")
    assert sum(shown["sessions"]["cost"]) == sum(shown["days"]["cost"]) > 0
    assert sum(shown["sessions"]["turns"]) == sum(shown["activity"]["turns"]) > 0
    assert sum(shown["ended"]["sessions"]) == shown["total_sessions"] == len(ALL)


def test_a_receipt_adds_up_to_its_session_and_names_the_lines(swept: Retro, out: Path) -> None:
    build(swept, out)
    overview = read(out, "overview")
    for session_id in ALL:
        page = session(out, session_id)
        cost = overview["sessions"]["cost"][overview["sessions"]["id"].index(session_id)]
        requests = page["requests"]
        assert sum(one["cost"] for one in requests) == sum(one["cost"] for one in page["amounts"]) == cost
        for request in requests:
            source = ["--source", request["source"]] if request["source"] != "main" else []
            record = json.loads(swept.says("raw", session_id, "--line", str(request["line"]), *source))
            if record["type"] == "progress":
                record = record["data"]["message"]
            usage = record["message"]["usage"]
            assert (usage["input_tokens"], usage["output_tokens"]) == (
                request.get("input", 0),
                request.get("output", 0),
            )


def test_the_days_of_sessions_are_those_of_the_ledger_in_any_zone(swept: Retro, out: Path) -> None:
    for zone in ("UTC", "Asia/Kathmandu", "America/St_Johns"):
        build(swept, out, "--timezone", zone)
        shown = read(out, "overview")
        days: dict[int, int] = {}
        sessions: dict[str, int] = {}
        for name in shown["months"]:
            month = read(out, name)
            for day, session, cost in zip(month["day"], month["session"], month["cost"], strict=True):
                days[day] = days.get(day, 0) + cost
                session_id = month["sessions"][session][1]
                sessions[session_id] = sessions.get(session_id, 0) + cost
                assert name == f"days/{_day(day)[:7]}"
        daily = swept.json("cost", "daily", "--timezone", zone)["daily"]
        assert {_day(day): cost for day, cost in days.items()} == {r["date"]: r["totalMicrodollars"] for r in daily}
        told = dict(zip(shown["sessions"]["id"], shown["sessions"]["cost"], strict=True))
        assert sessions == {name: cost for name, cost in told.items() if name in sessions}


def test_memories_are_those_of_the_list_with_what_happened_to_them(swept: Retro, out: Path) -> None:
    swept.says("memory", "init")
    first, second, *_ = [one["item"] for one in swept.json("memory", "list")["memories"]]
    swept.says("memory", "accept", first["id"])
    swept.says("memory", "update-utility", first["id"], "--reward", "1")
    swept.says("memory", "reject", second["id"], "--note", "not so")
    build(swept, out)
    page = read(out, "memory")
    listed = {one["item"]["id"]: one["status"] for one in swept.json("memory", "list", "--limit", "999")["memories"]}
    assert {one["id"]: one["status"] for one in page["memories"]} == listed
    assert page["total"] == len(listed) == sum(page["statuses"].values())
    (used,) = [one for one in page["memories"] if one.get("uses")]
    assert (used["id"], used["uses"], used["wins"]) == (first["id"], 1, 1)
    assert 0 < used["low"] < used.get("high", 1.0)
    happened = dict(zip(page["happened"]["what"], page["happened"]["memories"], strict=True))
    assert happened["accepted"] == happened["credited"] == happened["rejected"] == 1
    _, session_id = used["sessions"][0]
    mined = session(out, session_id)["memory"]["mined"]
    assert first["id"] in {one["id"] for one in mined}


def test_memories_that_were_handed_out_are_counted_and_shown_with_their_session(
    swept: Retro, root: Path, out: Path
) -> None:
    swept.says("memory", "init")
    names = [one["item"]["id"] for one in swept.json("memory", "list")["memories"]][:2]
    woven = Change(
        at="2026-03-02T10:00:00Z", what="woven", id="w1", weave="w1", host="claude", session_id=FIX, items=names
    )
    withheld = Change(
        at="2026-03-02T11:00:00Z", what="withheld", id="w2", host="claude", session_id=AGENTS, items=names
    )
    credited = Change(at="2026-03-02T12:00:00Z", what="credited", id=names[0], weave="w1", reward=1.0)
    store.note(Places(str(root)), [woven, withheld, credited])
    swept.says("memory", "reindex")
    build(swept, out, "--timezone", "UTC")
    assert read(out, "overview")["woven"] == {"day": [20514], "host": [0], "project": [0], "used": [2]} | {
        "project": [read(out, "overview")["projects"].index("tidebook")]
    }
    (handed,) = session(out, FIX)["memory"]["handed"]
    assert [one["id"] for one in handed["memories"]] == names
    assert handed["rewards"] == {names[0]: 1.0}
    (weave,) = read(out, "memory")["weaves"]
    assert (weave["session"], weave["credited"]) == (FIX, True)


def test_the_experiment_stands_as_the_report_says(swept: Retro, out: Path) -> None:
    build(swept, out)
    assert "measure" not in read(out, "overview")["sections"]
    swept.says("measure", "start", "--endpoint", "turns", "--seed", "s")
    build(swept, out)
    told = swept.json("measure")
    shown = read(out, "measure")["result"]
    assert shown["experiment"]["plan"] == told["experiment"]["plan"]
    assert {name: shown[name] for name in ("verdict", "needed", "counted", "assigned")} == {
        name: told[name] for name in ("verdict", "needed", "counted", "assigned")
    }


def test_what_needs_attention_names_a_budget_and_what_came_back(swept: Retro, out: Path, tmp_path: Path) -> None:
    swept.says("detect", "--min-frequency", "1")
    config = tmp_path / "config.toml"
    config.write_text("[budgets]\nmonthly = 0.0001\n", "utf-8")
    build(swept, out)
    assert not [one for one in read(out, "overview")["attention"] if one["kind"] == "budget"]
    swept.says("--config", str(config), "dashboard", "build", "--out", str(out))
    spent = swept.json("--config", str(config), "budget")["budgets"][0]
    found = [one for one in read(out, "overview")["attention"] if one["kind"] == "budget"]
    assert bool(found) is (spent["percentUsed"] >= 80)


@pytest.mark.corpus
def test_real_sessions_add_up(retro: Retro, root: Path, corpus: Path, out: Path) -> None:
    sweep_up(root, corpus / "claude-code" / "real" / "home")
    build(retro, out, "--timezone", "Asia/Kolkata")
    shown = read(out, "overview")
    total = retro.json("cost", "model")["totals"]
    assert sum(shown["days"]["cost"]) == total["totalMicrodollars"] == sum(shown["sessions"]["cost"])
    assert sum(shown["days"]["output"]) == total["outputTokens"]
    daily = retro.json("cost", "daily", "--timezone", "Asia/Kolkata")["daily"]
    assert {_day(day) for day in shown["days"]["day"]} == {row["date"] for row in daily}
    count = sum(len(session(out, name)["turns"]) for name in shown["sessions"]["id"])
    assert count == sum(shown["sessions"]["turns"])


def test_readings_are_those_of_the_signals(swept: Retro, out: Path) -> None:
    build(swept, out)
    page = session(out, FIX)
    shown = page["readings"]
    assert shown == {one["signal"]: one["value"] for one in swept.json("signal", "show", FIX)["readings"]}
    assert page["digest"]["goal"].startswith("test_the_last_tide")
    signals = {one["name"]: one for one in read(out, "signals")["signals"]}
    assert set(signals) == set(shown)
    assert sum(count for _, _, count in signals["command_count"]["bins"]) == len(ALL)
    assert read(out, "overview")["sections"] == ["signals", "blocks"]


@given(st.lists(st.one_of(st.integers(-1000, 1000), st.floats(-1e6, 1e6, allow_nan=False)), min_size=1, max_size=200))
@example([-5e-324, 0])
def test_a_histogram_counts_every_number_once(numbers: list[float]) -> None:
    numbers.sort()
    bins = histogram(numbers)
    assert sum(count for _, _, count in bins) == len(numbers)
    low, middle, high = quartiles(numbers)
    assert numbers[0] - 1e-6 <= low <= middle <= high <= numbers[-1] + 1e-6


def test_patterns_are_those_that_were_found_last(swept: Retro, out: Path) -> None:
    swept.says("detect", "--min-frequency", "2")
    build(swept, out)
    if "patterns" in read(out, "overview")["sections"]:
        ids = [one["id"] for one in read(out, "patterns")["patterns"]]
        assert ids == [one["id"] for one in swept.json("detect", "--min-frequency", "2", "--all")["patterns"]]


# --- the files -------------------------------------------------------------------------------------------------------


def test_what_did_not_change_is_not_written_again(swept: Retro, demo_home: Path, out: Path) -> None:
    first = build(swept, out)
    assert (first["written"], first["transcripts"]) == (len(ALL), len(ALL))
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.js")}
    again = build(swept, out)
    assert (again["written"], again["transcripts"], again["removed"]) == (0, 0, 0)
    (file,) = demo_home.rglob(f"{FIX}.jsonl")
    with file.open("ab") as grown:
        grown.write(lines(prompt("and one more thing", 900, sessionId=FIX, promptSource="typed")))
    swept.says("sweep")
    assert build(swept, out)["written"] == 1
    changed = {path.relative_to(out).as_posix() for path, when in before.items() if path.stat().st_mtime_ns != when}
    (number,) = set(read(out, "overview")["sessions"]["bundle"])
    assert {name for name in changed if name.rpartition("/")[0] != "data"} | {"data/overview.js"} == {
        "data/overview.js",
        f"data/session/{number}.js",
        f"data/talk/{number}.js",
        f"data/transcript/claude/{FIX}/0.js",
    }
    assert session(out, FIX)["turns"][-1]["prompt"] == "and one more thing"


def test_a_forgotten_session_is_in_no_page(swept: Retro, root: Path, out: Path) -> None:
    build(swept, out)
    swept.says("dashboard", "build")
    swept.says("forget", FIX, "--yes")
    assert not (root / "dashboard").exists()
    assert build(swept, out)["removed"] == 1
    assert not [path for path in out.rglob("*") if FIX in path.as_posix()]
    assert not [text for text in contents(out) if FIX in text]


def test_a_folder_that_holds_something_else_is_refused(swept: Retro, out: Path) -> None:
    out.mkdir()
    (out / "letter.txt").write_text("dear")
    done = swept("dashboard", "build", "--out", str(out))
    assert done.code == 1
    assert "something else" in done.err
    assert [path.name for path in out.iterdir()] == ["letter.txt"]


def test_nothing_captured_says_what_to_do(retro: Retro, out: Path) -> None:
    done = retro("dashboard", "build", "--out", str(out))
    assert done.code == 1
    assert "retro sweep" in done.err
    assert not out.exists()


def test_more_sessions_than_the_first_load_holds_come_in_portions(
    swept: Retro, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retro.dashboard.overview.CHUNK", 4)
    build(swept, out)
    overview = read(out, "overview")
    assert overview["chunks"] == ["sessions/1"]
    assert sorted(overview["sessions"]["id"] + read(out, "sessions/1")["id"]) == sorted(ALL)
    monkeypatch.setattr("retro.dashboard.overview.CHUNK", 100)
    build(swept, out)
    assert not (out / "data" / "sessions" / "1.js").exists()


# --- what must not be in it ------------------------------------------------------------------------------------------


def test_secrets_are_in_no_byte(swept: Retro, out: Path) -> None:
    raw = swept.says("raw", SECRETS)
    planted = re.findall(r"AKIA[0-9A-Z]{16}|ghp_[0-9A-Za-z]{36}|sk_live_\w+", raw)
    assert planted
    build(swept, out, "--transcripts", "all")
    for text in [*contents(out), *(path.read_text() for path in data_files(out))]:
        assert not [secret for secret in planted if secret in text]


def test_strict_leaves_no_word_of_a_session(swept: Retro, out: Path) -> None:
    build(swept, out, "--redact", "strict")
    overview = read(out, "overview")
    assert set(overview["projects"]) == {"project 1", "project 2"}
    text = "".join(contents(out))
    assert not [word for word in ("tidebook", "gardenlog", "harbour", "/home/", FIX, AGENTS) if word in text]
    assert sum(overview["days"]["cost"]) > 0
    assert not (out / "data" / "transcript").exists()


def test_hostile_words_and_names_stay_data(retro: Retro, root: Path, tmp_path: Path, out: Path) -> None:
    home = tmp_path / "home"
    told = lines(
        prompt(HOSTILE, 1, cwd=f"/tmp/{HOSTILE[:20]}", gitBranch=HOSTILE),
        answer(HOSTILE, 2),
        call("Bash", {"command": HOSTILE, "description": HOSTILE}, 3),
        result(HOSTILE, 4),
        {"type": "custom-title", "sessionId": "x", "customTitle": HOSTILE},
    )
    transcript(home, told)
    sweep_up(root, home)
    build(retro, out)
    for path in data_files(out):
        content = path.read_bytes()
        assert SCRIPT.fullmatch(content), path
        assert b"<" not in content
        assert "\u2028".encode() not in content
        assert os.path.commonpath([path.resolve(), out.resolve()]) == str(out.resolve())


def test_a_script_carries_any_text_and_nothing_else() -> None:
    found = SCRIPT.fullmatch(as_script("a/b", {"text": HOSTILE}))
    assert found is not None
    assert json.loads(unpacked(found[0])) == {"text": HOSTILE}
    assert b"<" not in found[0]


@given(st.lists(st.integers(-(2**53), 2**53), max_size=50))
def test_a_column_is_what_it_was(values: list[int]) -> None:
    column = packed(steps(values))
    told = column if isinstance(column, list) else [column] * len(values)
    assert list(accumulate(told)) == values
    column = packed(values)
    assert (column if isinstance(column, list) else [column] * len(values)) == values


def test_a_damaged_bundle_is_made_anew(swept: Retro, demo_home: Path, out: Path) -> None:
    build(swept, out)
    (number,) = set(read(out, "overview")["sessions"]["bundle"])
    before = read(out, f"session/{number}"), read(out, f"talk/{number}")
    (file,) = demo_home.rglob(f"{FIX}.jsonl")
    with file.open("ab") as grown:
        grown.write(lines(prompt("and one more thing", 900, sessionId=FIX, promptSource="typed")))
    swept.says("sweep")
    path = out / "data" / "session" / f"{number}.js"
    path.write_bytes(path.read_bytes()[:-40])
    assert build(swept, out)["written"] == len(ALL)
    after = read(out, f"session/{number}"), read(out, f"talk/{number}")
    changed = [
        name
        for name, old, new in zip(before[0]["names"], before[1]["said"], after[1]["said"], strict=True)
        if old != new
    ]
    assert changed == [f"claude/{FIX}"]


# --- transcripts -----------------------------------------------------------------------------------------------------


def _event(number: int, event_type: EventType, text: str, **more: Any) -> Event:
    return Event(
        schema=1,
        event_id=f"e{number}",
        session_id="s",
        host="claude",
        source="main",
        sequence=number,
        timestamp=None,
        actor=more.pop("actor", Actor.ASSISTANT),
        event_type=event_type,
        raw_ref=RawRef("main", number, 0, 1),
        summary=text[:20],
        text=text,
        **more,
    )


def test_a_result_stands_with_its_call_and_a_second_one_alone() -> None:
    shown = entries(
        [
            _event(1, EventType.COMMAND, "make", command="make", call_id="c"),
            _event(2, EventType.MESSAGE, "wait"),
            _event(3, EventType.TOOL_RESULT, "boom", call_id="c", exit_code=2, actor=Actor.TOOL),
            _event(4, EventType.TOOL_RESULT, "again", call_id="c", actor=Actor.TOOL),
            _event(5, EventType.TOOL_RESULT, "lost", call_id="d", actor=Actor.TOOL),
        ]
    )
    assert [(one.id, one.kind, one.result, one.exit_code, one.failed) for one in shown] == [
        ("e1", "command", "boom", 2, True),
        ("e2", "message", None, None, False),
        ("e4", "tool_result", None, None, False),
        ("e5", "tool_result", None, None, False),
    ]


def test_parts_hold_every_entry_once_and_none_is_much_too_large() -> None:
    shown = entries([_event(number, EventType.MESSAGE, "x" * 20_000) for number in range(100)])
    held = list(parts(shown))
    assert [one.id for part in held for one in part] == [f"e{number}" for number in range(100)]
    assert max(sum(len(one.text or "") for one in part) for part in held) <= PART
    assert list(parts([])) == [[]]


def test_long_texts_are_shortened_in_their_middle_and_say_so() -> None:
    (shown,) = entries([_event(1, EventType.MESSAGE, "a" * 30_000 + "b" * 30_000)])
    assert shown.text is not None
    assert shown.text.startswith("aaa")
    assert shown.text.endswith("bbb")
    assert shown.cut == 36_000
    assert "36,000 characters left out" in shown.text
