"""`retro cost`: its reports and options, in the words that ccusage's users know where the meaning is the same."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cli_support import Retro, retro, root
from ledger_support import Lab, context, count, meta, said, tokens
from retro.cli import output

__all__ = ["retro", "root"]

A = "aaaaaaaa-0000-4000-8000-000000000001"
B = "bbbbbbbb-0000-4000-8000-000000000002"
T1 = "01a1f028-0000-7000-8000-000000000001"
NOON = 1_770_033_600  # 2026-02-02T12:00:00Z, a Monday

AMOUNTS = {"inputTokens", "outputTokens", "cacheCreationTokens", "cacheReadTokens", "totalTokens", "totalCost"}
BREAKDOWN = {"modelName", "inputTokens", "outputTokens", "cacheCreationTokens", "cacheReadTokens", "cost"}


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Path) -> Lab:
    """Three days, two projects, two models, two agents; one session wrote its own cost, one request has no price."""
    monkeypatch.setattr(time, "time", lambda: float(NOON))
    monkeypatch.delenv("RETRO_COST_MODE", raising=False)
    made = Lab(tmp_path)
    made.claude(A, said("m", A), said("n", A, at="2026-02-02T10:00:00.000Z", model="claude-haiku-4-5"))
    other = said("o", B, at="2026-01-31T23:30:00.000Z", costUSD=0.5, cwd="/home/dev/tide")
    made.claude(B, other, project="-home-dev-tide")
    unknown = context("unheard-of", at="2026-02-02T11:00:00.000Z")
    made.codex(T1, meta(T1), unknown, count(tokens(50, output=5), at="2026-02-02T11:00:00.000Z"))
    made.sweep()
    return made


def costs(shown: list[dict[str, Any]], name: str) -> dict[str, int]:
    return {row[name]: row["totalMicrodollars"] for row in shown}


@pytest.mark.parametrize(
    ("report", "key", "more"),
    [
        ("daily", "daily", {"date"}),
        ("weekly", "weekly", {"week"}),
        ("monthly", "monthly", {"month"}),
        ("session", "sessions", {"sessionId", "firstActivity", "lastActivity"}),
    ],
)
def test_the_keys_are_those_that_ccusage_has(lab: Lab, retro: Retro, report: str, key: str, more: set[str]) -> None:
    shown = retro.json("cost", report)
    for row in shown[key]:
        assert set(row) >= AMOUNTS | more | {"modelsUsed", "modelBreakdowns"}
        assert all(set(share) >= BREAKDOWN for share in row["modelBreakdowns"])
    assert set(shown["totals"]) >= AMOUNTS


def test_days_weeks_and_months(lab: Lab, retro: Retro) -> None:
    utc = ("--timezone", "UTC")
    assert costs(retro.json("cost", "daily", *utc)["daily"], "date") == {
        "2026-01-31": 500_000,
        "2026-02-01": 750,
        "2026-02-02": 150,
    }
    assert costs(retro.json("cost", "weekly", *utc)["weekly"], "week") == {"2026-01-26": 500_750, "2026-02-02": 150}
    sundays = retro.json("cost", "weekly", "-w", "sunday", *utc)["weekly"]
    assert costs(sundays, "week") == {"2026-01-25": 500_000, "2026-02-01": 900}
    assert costs(retro.json("cost", "monthly", *utc)["monthly"], "month") == {"2026-01": 500_000, "2026-02": 900}
    assert costs(retro.json("cost", "monthly", "-z", "Asia/Tokyo")["monthly"], "month") == {"2026-02": 500_900}


@pytest.mark.parametrize(
    ("options", "days"),
    [
        (["--since", "2026-02-01"], ["2026-02-01", "2026-02-02"]),
        (["-s", "20260201", "-u", "20260201"], ["2026-02-01"]),
        (["--until", "2026-01-31"], ["2026-01-31"]),
        (["--last", "2"], ["2026-02-01", "2026-02-02"]),
        (["--last", "1"], ["2026-02-02"]),
        (["--last", "999999999999"], ["2026-01-31", "2026-02-01", "2026-02-02"]),
        (["--limit", "1"], ["2026-02-02"]),
        (["--order", "desc"], ["2026-02-02", "2026-02-01", "2026-01-31"]),
        (["--host", "codex"], ["2026-02-02"]),
        (["--project", "tide"], ["2026-01-31"]),
        (["--offline", "-p", "TIDE"], ["2026-01-31"]),
    ],
)
def test_which_requests_and_in_which_order(lab: Lab, retro: Retro, options: list[str], days: list[str]) -> None:
    shown = retro.json("cost", "daily", "--timezone", "UTC", *options)["daily"]
    assert [row["date"] for row in shown] == days


@pytest.mark.parametrize(("report", "option", "first"), [("weekly", "1", "2026-02-02"), ("monthly", "2", "2026-01")])
def test_the_last_weeks_and_months(lab: Lab, retro: Retro, report: str, option: str, first: str) -> None:
    key = {"weekly": "week", "monthly": "month"}[report]
    assert retro.json("cost", report, "--last", option, "-z", "UTC")[report][0][key] == first


def test_two_beginnings_are_a_wrong_usage(lab: Lab, retro: Retro) -> None:
    done = retro("cost", "daily", "--last", "2", "--since", "7d")
    assert (done.code, done.out) == (2, "") and "--last and --since" in done.err


@pytest.mark.parametrize(("mode", "cost"), [("auto", 500_900), ("calculate", 1650), ("display", 500_000)])
@pytest.mark.parametrize("by_option", [True, False])
def test_whose_cost(
    lab: Lab, retro: Retro, monkeypatch: pytest.MonkeyPatch, mode: str, cost: int, by_option: bool
) -> None:
    if not by_option:
        monkeypatch.setenv("RETRO_COST_MODE", mode)
    shown = retro.json("cost", "daily", *(["--mode", mode] if by_option else []))
    assert shown["totals"]["totalMicrodollars"] == cost


def test_a_mode_that_is_none_is_a_wrong_usage(lab: Lab, retro: Retro, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETRO_COST_MODE", "guess")
    done = retro("cost", "daily")
    assert (done.code, done.out) == (2, "") and "auto, calculate, display" in done.err


def test_each_session_says_whose_its_cost_is(lab: Lab, retro: Retro) -> None:
    shown = {row["sessionId"]: row["costSource"] for row in retro.json("cost", "session")["sessions"]}
    assert shown == {A: "calculated", B: "embedded", T1: "unpriced"}
    assert [row["sessionId"] for row in retro.json("cost", "session", "--id", "bbbb")["sessions"]] == [B]
    assert retro.json("cost", "session", "-i", "zzzz")["sessions"] == []


def test_every_total_says_how_much_of_it_has_no_price(lab: Lab, retro: Retro) -> None:
    for report in ("daily", "session", "project", "model"):
        totals = retro.json("cost", report)["totals"]
        assert (totals["unpricedRequests"], totals["unpricedTokens"], totals["unpricedModels"]) == (
            1,
            55,
            ["unheard-of"],
        )
    assert "$0.50+" in retro.says("cost", "daily")
    assert "unpriced" in retro.says("cost", "model")


def test_instances_are_projects_and_a_breakdown_is_by_model(lab: Lab, retro: Retro) -> None:
    projects = retro.json("cost", "daily", "--instances", "-z", "UTC")["projects"]
    assert {name: [row["date"] for row in rows] for name, rows in projects.items()} == {
        "code": ["2026-02-01", "2026-02-02"],
        "tide": ["2026-01-31"],
    }
    lines = retro.says("cost", "monthly", "--breakdown", "-z", "UTC").splitlines()
    february = lines.index(next(line for line in lines if line.startswith("2026-02")))
    assert [line.split()[0] for line in lines[february + 1 : -1]] == [
        "claude-opus-4-8",
        "claude-haiku-4-5",
        "unheard-of",
    ]


def test_a_compact_table_has_three_columns(lab: Lab, retro: Retro) -> None:
    head, *_, total = retro.says("cost", "daily", "--compact").splitlines()
    assert head.split() == ["day", "input", "output", "cost"]
    assert total.split() == ["total", "350", "35", "$0.50+"]


def test_comma_separated_values_hold_what_json_holds_and_no_formula(lab: Lab, retro: Retro) -> None:
    lab.claude("cccccccc-0000-4000-8000-000000000003", said("x", "c", model="=HYPERLINK(1)"))
    lab.sweep()
    rows = list(csv.DictReader(io.StringIO(retro.says("cost", "model", "--csv"))))
    shown = retro.json("cost", "model")["models"]
    assert [int(row["totalMicrodollars"]) for row in rows] == [row["totalMicrodollars"] for row in shown]
    assert "'=HYPERLINK(1)" in {row["model"] for row in rows}


def test_at_a_glance_today_week_and_month(lab: Lab, retro: Retro) -> None:
    shown = retro.json("cost", "--timezone", "UTC")
    found = {name: shown[name]["totalMicrodollars"] for name in ("today", "week", "month")}
    assert found == {"today": 150, "week": 150, "month": 900}
    assert [line.split()[0] for line in retro.says("cost").splitlines()[1:]] == ["today", "this", "this"]


@pytest.mark.parametrize("zone", ["Mars/Phobos", "", "../../etc/passwd", "UTC+2"])
def test_a_time_zone_that_is_none_is_said_in_one_line(lab: Lab, retro: Retro, zone: str) -> None:
    done = retro("cost", "daily", "--timezone", zone)
    assert (done.code, done.out) == (2, "") and done.err.startswith("retro: there is no time zone")


def test_a_city_alone_is_nearly_a_time_zone(lab: Lab, retro: Retro) -> None:
    assert 'did you mean "America/New_York"?' in retro("cost", "daily", "-z", "new york").err


# --- the short way ---------------------------------------------------------------------------------------------------

EVERY = ("daily", "weekly", "monthly", "session", "project", "model", "blocks")
SHORT = [
    [],
    ["--timezone", "Asia/Kolkata"],
    ["--timezone=UTC", "--own-only"],
    ["-p", "code", "-m", "calculate"],
    ["--host", "codex", "--order", "desc", "-O"],
]


@pytest.mark.parametrize("report", EVERY)
@pytest.mark.parametrize("options", SHORT, ids=" ".join)
def test_json_is_the_same_whichever_way_it_goes(lab: Lab, retro: Retro, report: str, options: list[str]) -> None:
    """With a limit it takes the way of all other commands."""
    short = retro.says("cost", report, *options, "--json")
    assert short == retro.says("cost", report, *options, "--json", "--limit", "1000")
    assert len(json.loads(short)) > 1


@pytest.mark.parametrize("report", ["", *EVERY])
def test_json_loads_nothing_that_it_does_not_need(lab: Lab, report: str) -> None:
    arguments = ["cost", *([report] if report else []), "--json"]
    script = (
        "import sys; before = set(sys.modules); from retro import cli;"
        f" cli.run({arguments!r});"
        " print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}), file=sys.stderr)"
    )
    command = [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {script}"]
    env = {**os.environ, "RETRO_ROOT": str(lab.root)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    assert json.loads(done.stdout)["version"] == 1
    assert not set(done.stderr.split()) & {"argparse", "json", "msgspec", "re", "rich", "typing", "zoneinfo"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["daily", "--json", "--timezone", "Asia/Nowhere"], "there is no time zone"),
        (["daily", "--json", "--host", "nobody"], "there is no host"),
        (["daily", "--json", "--mode", "guess"], "guess"),
        (["daily", "--json", "--order", "up"], "up"),
        (["project", "--json", "--instances"], "--instances"),
        (["--json", "--order", "desc"], "desc"),
        (["--json", "daily", "monthly"], "monthly"),
        (["daily", "--json", "--project"], "--project"),
    ],
)
def test_what_is_wrong_is_said_whichever_way_it_goes(lab: Lab, retro: Retro, words: list[str], says: str) -> None:
    done = retro("cost", *words)
    assert (done.code, done.out.count("\n")) == (2, 1)
    assert says in json.loads(done.out)["error"]["message"]


@pytest.mark.parametrize("report", ["", *EVERY])
def test_before_the_first_sweep_reports_say_what_to_do(retro: Retro, report: str) -> None:
    assert retro.says("cost", *([report] if report else [])) == (
        "Nothing is kept yet; retro sweep captures every session on this machine.\n"
    )


@pytest.mark.parametrize("report", EVERY)
def test_a_narrow_terminal_is_shown_fewer_columns(
    lab: Lab, retro: Retro, monkeypatch: pytest.MonkeyPatch, report: str
) -> None:
    monkeypatch.setattr(output, "terminal_width", lambda stream: 64)
    lines = retro("cost", report, "--breakdown", "--timezone", "UTC").out.splitlines()
    assert len(lines) > 3
    assert "output" in lines[0] and "cache read" not in lines[0]
    assert report in ("session", "blocks") or max(map(len, lines[:3])) <= 64
