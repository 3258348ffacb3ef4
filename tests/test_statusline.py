"""The line in the agent's window: what it says, what it says in doubt, and how little it loads."""

from __future__ import annotations

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

__all__ = ["retro", "root"]

A = "aaaaaaaa-0000-4000-8000-000000000001"
B = "bbbbbbbb-0000-4000-8000-000000000002"
NOON = 1_770_033_600  # 2026-02-02T12:00:00Z
TOLD: dict[str, Any] = {
    "session_id": A,
    "model": {"id": "claude-opus-4-8", "display_name": "Opus 4.8"},
    "context_window": {
        "context_window_size": 200_000,
        "current_usage": {
            "input_tokens": 1_000,
            "cache_creation_input_tokens": 9_000,
            "cache_read_input_tokens": 40_000,
        },
    },
    "rate_limits": {
        "five_hour": {"used_percentage": 61.4, "resets_at": NOON + 600},
        "seven_day": {"used_percentage": 12, "resets_at": NOON + 6000},
    },
}


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """Two sessions of today, at ten and at eleven, and one of yesterday; it is noon in UTC."""
    monkeypatch.setenv("TZ", "UTC")
    if hasattr(time, "tzset"):
        time.tzset()
    monkeypatch.setattr(time, "time", lambda: float(NOON))
    made = Lab(tmp_path)
    monkeypatch.setenv("RETRO_ROOT", str(made.root))
    monkeypatch.delenv("RETRO_COST_MODE", raising=False)
    made.claude(A, said("m", A, at="2026-02-02T10:20:00.000Z", output=400_000))  # $10.0005
    made.claude(
        B, said("n", B, at="2026-02-02T11:20:00.000Z", output=40_000), said("o", B, at="2026-02-01T11:00:00.000Z")
    )
    made.sweep()
    return made


def tell(monkeypatch: pytest.MonkeyPatch, content: object) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_it_says_what_the_session_the_day_and_the_block_cost(
    lab: Lab, retro: Retro, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(monkeypatch, TOLD)
    assert retro.says("statusline", "--no-color").strip() == (
        "Opus 4.8 | $10.00 session · $11.00 today · $11.00 block (3h 00m left) | $11.00/h | 75% context left"
        " | 5h 61% · week 12%"
    )


def test_what_the_agent_counted_since_the_last_sweep_is_added(
    lab: Lab, retro: Retro, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(monkeypatch, {"session_id": A, "cost": {"total_cost_usd": 12.5005}})
    shown = retro.json("statusline")
    assert (shown["sessionMicrodollars"], shown["todayMicrodollars"], shown["blockMicrodollars"]) == (
        12_500_500,
        11_001_000 + 2_500_000,
        11_001_000 + 2_500_000,
    )


def test_an_agent_that_counted_less_takes_nothing_away(lab: Lab, retro: Retro, monkeypatch: pytest.MonkeyPatch) -> None:
    tell(monkeypatch, {"session_id": A, "cost": {"total_cost_usd": 1}})
    shown = retro.json("statusline")
    assert (shown["sessionMicrodollars"], shown["todayMicrodollars"]) == (1_000_000, 11_001_000)


@pytest.mark.parametrize("broken", ["{", "[1]", "7", '{"session_id": ', "\x00\x01"])
def test_a_broken_input_is_one_line_and_the_rest_is_shown(
    lab: Lab, retro: Retro, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    tell(monkeypatch, broken)
    done = retro("statusline")
    assert (done.code, done.err) == (1, "retro: the status line's input is no JSON object\n")
    assert done.out == "$11.00 today · $11.00 block (3h 00m left) | $11.00/h\n"


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"session_id": 7, "model": "x", "cost": {"total_cost_usd": "much"}, "context_window": []},
        {"model": {"display_name": ["a"]}, "cost": {"total_cost_usd": -1}, "context_window": {"used_percentage": 1e99}},
        {"rate_limits": {"five_hour": {"used_percentage": None}}},
    ],
)
def test_odd_fields_are_left_out(lab: Lab, retro: Retro, monkeypatch: pytest.MonkeyPatch, odd: object) -> None:
    tell(monkeypatch, odd)
    assert retro.says("statusline") == "$11.00 today · $11.00 block (3h 00m left) | $11.00/h\n"


def test_nothing_in_it_acts_on_the_terminal(lab: Lab, retro: Retro, monkeypatch: pytest.MonkeyPatch) -> None:
    tell(monkeypatch, {"model": {"display_name": "\x1b[31mOpus\x07\n"}})
    assert retro.says("statusline").startswith("[31mOpus | ")


def test_without_an_archive_it_says_what_the_agent_knows(
    retro: Retro, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(monkeypatch, TOLD)
    assert retro.says("statusline", "--root", str(tmp_path / "none"), "--no-color").strip() == (
        "Opus 4.8 | 75% context left | 5h 61% · week 12%"
    )
    assert not (tmp_path / "none").exists()


def test_a_mode_that_there_is_not_is_said(lab: Lab, retro: Retro, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETRO_COST_MODE", "guess")
    tell(monkeypatch, TOLD)
    done = retro("statusline", "--no-color")
    assert (done.code, done.err) == (1, 'retro: RETRO_COST_MODE is "guess"; use auto, calculate, display\n')
    assert done.out.startswith("Opus 4.8 | 75% context left")


def test_limits_are_noted_once_for_each_change(lab: Lab, retro: Retro, monkeypatch: pytest.MonkeyPatch) -> None:
    for used in (61.4, 61.4, 62, 62):
        TOLD["rate_limits"]["five_hour"]["used_percentage"] = used
        tell(monkeypatch, TOLD)
        retro.says("statusline")
    noted = [json.loads(line) for line in (lab.root / "inbox" / "limits.jsonl").read_text().splitlines()]
    assert [one["windows"]["300"] for one in noted] == [[61.4, NOON + 600], [62, NOON + 600]]
    assert noted[0] == {
        "at": NOON,
        "host": "claude",
        "windows": {"300": [61.4, NOON + 600], "10080": [12, NOON + 6000]},
    }


def test_it_loads_nothing_that_is_slow_to_load(lab: Lab) -> None:
    code = (
        "import sys; before = set(sys.modules)\n"
        "from retro.cli import run; run(['statusline'])\n"
        "print(sorted({name.partition('.')[0] for name in set(sys.modules) - before}), file=sys.stderr)"
    )
    env = {**os.environ, "RETRO_ROOT": str(lab.root), "RETRO_CONFIG": str(lab.folder / "none.toml")}
    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(TOLD), env=env, capture_output=True, text=True, check=True
    )
    assert not {"json", "re", "typing", "msgspec", "argparse", "subprocess", "datetime", "zstandard"} & set(
        json.loads(done.stderr.replace("'", '"'))
    )


def test_a_new_session_is_that_of_the_agent_that_uses_its_model(
    lab: Lab, retro: Retro, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Codex was used last; the limits that are told are those of whose model it is."""
    thread = "01a1f028-0000-7000-8000-000000000001"
    at = "2026-02-02T11:50:00.000Z"
    lab.codex(thread, meta(thread, at), context("gpt-5.5", at), count(tokens(100, output=10), at=at))
    lab.sweep()
    tell(monkeypatch, {**TOLD, "session_id": "new"})
    assert "$11.00 block" in retro.says("statusline", "--no-color")
    assert {limit["host"] for limit in retro.json("budget")["limits"]} == {"claude"}


def test_before_the_first_sweep_the_agent_s_own_word_is_shown(retro: Retro, monkeypatch: pytest.MonkeyPatch) -> None:
    tell(monkeypatch, {"session_id": "s", "cost": {"total_cost_usd": 1.5}})
    assert retro.says("statusline").strip() == "$1.50 session"
