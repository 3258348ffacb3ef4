"""The receipt of a session, the one way to another price, and what is shown of both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli_support import Retro, retro, root
from ledger_support import Lab, said, truth
from retro.places import Places
from retro.reindex import rebuild

__all__ = ["retro", "root"]

A = "aaaaaaaa-0000-4000-8000-000000000001"
B = "bbbbbbbb-0000-4000-8000-000000000002"
LATER = "2026-02-01T11:00:00.000Z"


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    made = Lab(tmp_path)
    monkeypatch.setenv("RETRO_ROOT", str(made.root))
    monkeypatch.setenv("RETRO_CONFIG", str(tmp_path / "config" / "config.toml"))
    return made


def requests(retro: Retro, session: str, *more: str) -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = retro.json("cost", "why", session[:8], *more)["requests"]
    return shown


def test_each_request_names_its_line_its_tokens_and_its_price(lab: Lab, retro: Retro) -> None:
    usage = {"input_tokens": 100, "output_tokens": 10, "cache_read_input_tokens": 1000}
    lab.claude(A, said("m", A, output=1, done=False), said("m", A, usage=usage))
    lab.sweep()
    (one,) = requests(retro, A)
    price = one.pop("price")
    assert {name: one[name] for name in ("messageId", "requestId", "source", "line", "linesLeftOut")} == {
        "messageId": "m",
        "requestId": "req_m",
        "source": "main",
        "line": 2,
        "linesLeftOut": ["main:1"],
    }
    assert (one["inputTokens"], one["outputTokens"], one["cacheReadTokens"]) == (100, 10, 1000)
    assert (one["counted"], one["reason"], one["costSource"], one["microdollars"]) == (True, None, "calculated", 1250)
    assert (price["model"], price["tier"], price["band"], price["rates"]["output"]) == (
        "claude-opus-4-8",
        "standard",
        None,
        25_000_000,
    )
    assert len(price["hash"]) == 16


def test_a_copy_is_shown_with_the_session_that_it_counts_in(lab: Lab, retro: Retro) -> None:
    lab.claude(A, said("m", A))
    lab.claude(B, said("m", B, at=LATER), said("n", B, at=LATER))
    lab.sweep()
    copy, own = requests(retro, B)
    assert (copy["counted"], copy["countedIn"], copy["reason"]) == (False, A, "that session began first")
    assert (copy["microdollars"], own["microdollars"]) == (0, 750)
    assert retro.json("cost", "why", B)["totalMicrodollars"] == 750
    said_ = retro.says("cost", "why", B)
    assert "These do not count here:" in said_ and A in said_


def test_numbers_of_another_copy_are_named(lab: Lab, retro: Retro) -> None:
    lab.claude(A, said("m", A, output=1, done=False))
    lab.claude(B, said("m", B, output=10, at=LATER))
    lab.sweep()
    (one,) = requests(retro, A)
    assert (one["outputTokens"], one["numbersFrom"], one["microdollars"]) == (10, B, 750)


def test_one_request_is_added_up_line_by_line(lab: Lab, retro: Retro) -> None:
    usage = {
        "input_tokens": 150_000,
        "cache_read_input_tokens": 60_000,
        "output_tokens": 1000,
        "server_tool_use": {"web_search_requests": 2},
    }
    lab.claude(A, said("m", A, model="claude-sonnet-4-20250514", usage=usage), said("n", A))
    lab.sweep()
    shown = retro.says("cost", "why", A, "--request", "req_m")
    assert "claude-sonnet-4-20250514, standard, for a context above 200,000 tokens" in shown
    rows = [line.split() for line in shown.splitlines()[-5:]]
    assert rows == [
        ["input", "150,000", "x", "$6", "a", "million", "$0.900000"],
        ["cache", "read", "60,000", "x", "$0.6", "a", "million", "$0.036000"],
        ["output", "1,000", "x", "$22.5", "a", "million", "$0.022500"],
        ["web", "searches", "2", "x", "$0.01", "$0.020000"],
        ["together", "$0.978500"],
    ]
    assert [one["messageId"] for one in requests(retro, A, "--request", "m")] == ["m"]
    assert retro("cost", "why", A, "--request", "other").code == 1


def test_what_has_no_price_and_what_the_agent_wrote_is_said(lab: Lab, retro: Retro) -> None:
    lab.claude(A, said("m", A, model="unheard-of"), said("n", A, costUSD=0.5), said("o", A, done=False))
    lab.sweep()
    first, second, third = sorted(requests(retro, A), key=lambda one: str(one["messageId"]))
    assert (first["costSource"], first["microdollars"], first["price"]) == ("unpriced", None, None)
    assert (second["costSource"], second["microdollars"], second["calculatedMicrodollars"]) == (
        "embedded",
        500_000,
        750,
    )
    assert third["quality"] == "lower_bound"
    said_ = retro.says("cost", "why", A)
    assert "without a price: 1 of 3 requests" in said_ and "not known for sure: 1 of 3 requests" in said_
    assert "no dollar is invented" in retro.says("cost", "why", A, "--request", "m")
    assert "only the beginning" in retro.says("cost", "why", A, "--request", "o")


def test_a_session_without_requests_has_an_empty_receipt(lab: Lab, retro: Retro) -> None:
    lab.claude(A, {"type": "user", "uuid": "u", "sessionId": A, "timestamp": LATER, "message": {"content": "hello"}})
    lab.sweep()
    assert requests(retro, A) == []
    assert retro.says("cost", "why", A) == "This session made no request that its agent logged.\n"
    assert retro("cost", "why", "zzzz").code == 1


# --- another price ---------------------------------------------------------------------------------------------------


def dearer(lab: Lab) -> None:
    (lab.folder / "config").mkdir(exist_ok=True)
    (lab.folder / "config" / "prices.toml").write_text(
        '["claude-opus-4-8"]\ninput = 10\noutput = 50\n[unheard-of]\ninput = 1\noutput = 1\n', "utf-8"
    )


def test_prices_change_when_it_is_asked_for_and_the_change_is_shown(lab: Lab, retro: Retro) -> None:
    lab.claude(A, said("m", A), said("n", A, model="unheard-of"))
    lab.sweep()
    assert retro.json("cost", "reprice")["models"] == []
    dearer(lab)
    lab.claude(B, said("o", B))
    lab.sweep()
    assert lab.spent().cost == 750 + 1500  # what was priced stays
    expected = [
        {"model": "claude-opus-4-8", "requests": 1, "beforeMicrodollars": 750, "afterMicrodollars": 1500},
        {"model": "unheard-of", "requests": 1, "beforeMicrodollars": 0, "afterMicrodollars": 110},
    ]
    before = truth(lab.index)
    shown = retro.json("cost", "reprice", "--dry-run")
    assert (shown["models"], shown["microdollars"], truth(lab.index)) == (expected, 860, before)
    table = [line.split() for line in retro.says("cost", "reprice").splitlines()]
    assert table[0] == ["model", "requests", "was", "is", "change"]
    assert table[-1] == ["total", "2", "$0.00", "$0.00", "+$0.00"]
    assert lab.spent().cost == 1500 + 1500 + 110
    assert retro.json("cost", "reprice")["models"] == []


def test_another_price_outlives_the_index(lab: Lab, retro: Retro) -> None:
    lab.claude(A, said("m", A))
    lab.sweep()
    dearer(lab)
    retro.says("cost", "reprice")
    before = truth(lab.index)
    (lab.folder / "config" / "prices.toml").unlink()
    (lab.root / "index.sqlite").unlink()
    rebuild(Places(str(lab.root)), lab.settings)
    assert truth(lab.index) == before


def test_a_broken_price_file_is_said_and_the_rest_is_priced(lab: Lab, retro: Retro) -> None:
    lab.claude(A, said("m", A))
    lab.sweep()
    (lab.folder / "config").mkdir()
    (lab.folder / "config" / "prices.toml").write_text("[x\n", "utf-8")
    done = retro("cost", "reprice", "--json")
    assert (done.code, json.loads(done.out)["models"]) == (0, [])
    assert "prices.toml is no price file" in done.err and done.err.count("\n") == 1
