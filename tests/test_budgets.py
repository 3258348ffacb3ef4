"""Budgets: what was spent of them, what providers said of theirs, and a check that hooks can ask for."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cli_support import Retro, retro, root
from ledger_support import Lab, context, count, meta, said, tokens

__all__ = ["retro", "root"]

A = "aaaaaaaa-0000-4000-8000-000000000001"
B = "bbbbbbbb-0000-4000-8000-000000000002"
T1 = "01a1f028-0000-7000-8000-000000000001"
NOON = 1_770_033_600  # 2026-02-02T12:00:00Z, a Monday


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """$10 and $1 of today in two projects, and $2 of yesterday, which was another week and the same month."""
    monkeypatch.setattr(time, "time", lambda: float(NOON))
    made = Lab(tmp_path)
    monkeypatch.setenv("RETRO_ROOT", str(made.root))
    monkeypatch.setenv("RETRO_CONFIG", str(tmp_path / "config" / "config.toml"))
    monkeypatch.delenv("RETRO_COST_MODE", raising=False)
    made.claude(A, said("m", A, at="2026-02-02T10:20:00.000Z", usage={"output_tokens": 400_000}))
    other = said("n", B, at="2026-02-02T11:20:00.000Z", usage={"output_tokens": 40_000})
    older = said("o", B, at="2026-02-01T11:00:00.000Z", usage={"output_tokens": 80_000})
    made.claude(B, {**other, "cwd": "/home/dev/tool"}, {**older, "cwd": "/home/dev/tool"}, project="-home-dev-tool")
    made.sweep()
    return made


def configure(lab: Lab, text: str) -> None:
    (lab.folder / "config").mkdir(exist_ok=True)
    (lab.folder / "config" / "config.toml").write_text(text, "utf-8")


def ask(retro: Retro, *more: str, code: int = 0) -> Any:
    return retro.json("budget", "--timezone", "UTC", *more, code=code)


def test_it_says_what_was_spent_of_each_budget(lab: Lab, retro: Retro) -> None:
    configure(lab, "[budgets]\ndaily = 22\nweekly = 20.5\nmonthly = 10\n[budgets.projects.tool]\nmonthly = 4\n")
    shown = ask(retro)
    assert [(one["project"], one["period"], one["spentMicrodollars"], one["exceeded"]) for one in shown["budgets"]] == [
        (None, "daily", 11_000_000, False),
        (None, "weekly", 11_000_000, False),
        (None, "monthly", 13_000_000, True),
        ("tool", "monthly", 3_000_000, False),
    ]
    monthly = shown["budgets"][2]
    assert (monthly["begins"], monthly["ends"], monthly["percentUsed"]) == ("2026-02-01", "2026-02-28", 130)
    assert shown["exceeded"] is True


def test_the_check_ends_with_4_when_one_is_exceeded(lab: Lab, retro: Retro) -> None:
    configure(lab, "[budgets]\ndaily = 20\n[budgets.projects.tool]\nmonthly = 2.99\n")
    done = retro("budget", "--check", "--timezone", "UTC")
    assert (done.code, done.out) == (4, "the monthly budget of tool is exceeded: $3.00 of $2.99\n")
    assert ask(retro, "--check", code=4)["exceeded"] is True
    assert retro("budget", "--check", "--project", "code", "--timezone", "UTC").code == 0


def test_a_budget_that_is_spent_to_the_last_is_not_exceeded(lab: Lab, retro: Retro) -> None:
    configure(lab, "[budgets]\ndaily = 11\n")
    assert retro("budget", "--check", "--timezone", "UTC") == (0, "", "")


def test_without_budgets_it_says_how_to_set_one(lab: Lab, retro: Retro) -> None:
    assert "[budgets]" in retro.says("budget")
    assert ask(retro, "--check") == {"version": 1, "budgets": [], "limits": [], "exceeded": False}


@pytest.mark.parametrize("text", ["daily = 0", "daily = -1", 'daily = "much"', "daily = true", "projects = 3"])
def test_a_budget_that_is_none_is_refused_with_its_line(lab: Lab, retro: Retro, text: str) -> None:
    configure(lab, f"[budgets]\n{text}\n")
    done = retro("budget")
    assert done.code == 2 and "config.toml:2: budgets." in done.err


def limits(primary: Mapping[str, object] | None, secondary: Mapping[str, object] | None = None) -> dict[str, object]:
    return {"limit_id": "x", "primary": primary, "secondary": secondary}


def test_the_last_word_of_codex_on_its_limits_is_used(lab: Lab, retro: Retro) -> None:
    week = {"used_percent": 69.0, "window_minutes": 10_080, "resets_at": NOON + 86_400}
    five = {"used_percent": 42.0, "window_minutes": 300, "resets_in_seconds": 5400}
    lab.codex(
        T1,
        meta(T1),
        context("gpt-5.5"),
        count(tokens(100), rate_limits=limits({**five, "used_percent": 10.0}, week), at="2026-02-02T11:00:00.000Z"),
        count(tokens(200), rate_limits=limits(five, week), at="2026-02-02T11:30:00.000Z"),
        count(tokens(200), rate_limits=limits(None), at="2026-02-02T11:31:00.000Z"),
        count(tokens(200), rate_limits="?", at="2026-02-02T11:32:00.000Z"),
    )
    lab.sweep()
    common = {"host": "codex", "seenAt": "2026-02-02T11:30:00.000Z", "exceeded": False}
    assert ask(retro)["limits"] == [
        {**common, "windowMinutes": 300, "usedPercent": 42.0, "resetsAt": "2026-02-02T13:00:00.000Z"},
        {**common, "windowMinutes": 10_080, "usedPercent": 69.0, "resetsAt": "2026-02-03T12:00:00.000Z"},
    ]
    configure(lab, "[budgets]\nlimit_percent = 60\n")
    assert retro("budget", "--check").out == "69% of what codex allows in 7 days is used\n"


def test_the_oldest_form_of_limits_is_read_and_is_over_with_its_time(lab: Lab, retro: Retro) -> None:
    old = {"primary_used_percent": 99.0, "primary_window_minutes": 299, "secondary_window_minutes": 10_079}
    told = {**old, "secondary_used_percent": 100.0}
    lab.codex(T1, meta(T1), context("gpt-5.5"), count(tokens(9), rate_limits=told, at="2026-02-02T06:59:00.000Z"))
    lab.sweep()
    shown = ask(retro)["limits"]
    assert [(one["windowMinutes"], one["usedPercent"], one["exceeded"]) for one in shown] == [
        (300, 0.0, False),
        (10_080, 100.0, True),
    ]
    assert retro("budget", "--check").code == 4


def test_what_the_status_line_was_told_is_used(lab: Lab, retro: Retro) -> None:
    inbox = lab.root / "inbox" / "limits.jsonl"
    inbox.parent.mkdir(exist_ok=True)
    lines = [
        {"at": NOON - 60, "host": "claude", "windows": {"300": [95.5, NOON + 60]}},
        {"at": NOON - 30, "host": "claude", "windows": {"300": [96.5, NOON + 60], "10080": [12, 0]}},
        {"at": "?", "host": "claude", "windows": {"300": [1, 1]}},
        {"at": NOON, "host": "claude", "windows": {"300": [1], "x": [1, 2]}},
    ]
    inbox.write_text("".join(json.dumps(line) + "\n" for line in lines) + "{torn", "utf-8")
    shown = ask(retro)["limits"]
    assert [(one["windowMinutes"], one["usedPercent"]) for one in shown] == [(300, 96.5), (10_080, 12.0)]
    lab.sweep()
    assert ask(retro)["limits"] == shown


def test_the_table_shows_all_of_it(lab: Lab, retro: Retro) -> None:
    configure(lab, "[budgets]\ndaily = 22\n")
    inbox = lab.root / "inbox" / "limits.jsonl"
    inbox.parent.mkdir(exist_ok=True)
    inbox.write_text(json.dumps({"at": NOON, "host": "claude", "windows": {"300": [25, NOON + 7200]}}) + "\n", "utf-8")
    assert [line.split() for line in retro.says("budget", "--timezone", "UTC").splitlines()[1:]] == [
        ["all", "projects", "daily", "$11.00", "of", "$22.00", "50%"],
        ["claude", "5", "hours", "resets", "in", "2h", "00m", "25%"],
    ]
