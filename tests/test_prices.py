"""Prices: names, tiers, bands and days; the table that comes with retro; the user's own, and newer ones."""

from __future__ import annotations

import http.server
import io
import json
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_support import Retro, retro, root
from ledger_support import Lab, said
from retro.ledger.litellm import distilled
from retro.ledger.names import names_of
from retro.ledger.prices import Prices, Tokens, cost, snapshot

__all__ = ["retro", "root"]

A = "aaaaaaaa-0000-4000-8000-000000000001"
OURS = Prices([snapshot()])
DAY = "2026-11-01"


def dollars(model: str, tokens: Tokens, day: str = DAY, tier: str = "standard") -> float:
    price = OURS.price(model, day, tier)
    assert price is not None
    return cost(price, tokens) / 1_000_000


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "claude-opus-4-8",
        "Claude-Opus-4-8",
        "claude-opus-4-8-20260501",
        "claude-opus-4-8[1m]",
        "claude-opus-4.8",
        "anthropic/claude-opus-4-8",
        "us.anthropic.claude-opus-4-8-v1:0",
        "vertex_ai/claude-opus-4-8@20260501",
        "claude-opus-4-8@default",
        "claude-opus-4-8:latest",
        "us-gov.anthropic.claude-opus-4-8-20260501-v1:0",
        "anthropic:claude-opus-4-8",
        "claude-opus-4-8:thinking",
        "claude-opus-4-8 (high)",
    ],
)
def test_a_model_is_known_by_its_other_names(name: str) -> None:
    price = OURS.price(name, DAY)
    assert price is not None and price.model == "claude-opus-4-8"


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("claude-sonnet-4", "claude-sonnet-4-20250514"),
        ("claude-sonnet-4@20250514", "claude-sonnet-4-20250514"),
        ("anthropic/claude-3.7-sonnet", "claude-3-7-sonnet-20250219"),
        ("claude-3.7-sonnet-thought", "claude-3-7-sonnet-20250219"),
        ("claude-3-5-sonnet-v2@20241022", "claude-3-5-sonnet-20241022"),
        ("claude-opus-4.5-thinking", "claude-opus-4-5"),
        ("kimi-k2-thinking", "kimi-k2-thinking"),
    ],
)
def test_a_name_without_a_date_is_that_of_the_latest_dated_one(name: str, known: str) -> None:
    price = OURS.price(name, DAY)
    assert price is not None and price.model == known


@pytest.mark.parametrize(
    "name",
    [
        "gpt-5-codex-custom",
        "aide-gpt-5",
        "claude-haiku-4",
        "claude-sonnet",
        "my-claude-opus-4-8",
        "claude-opus",
        "gpt",
        "claude-opus-4-8x",
        "",
        "5.5",
        "opus",
    ],
)
def test_a_name_within_another_is_no_name(name: str) -> None:
    assert OURS.price(name, DAY) is None


@given(st.text(max_size=30))
def test_any_text_is_a_name_of_something_or_nothing(name: str) -> None:
    assert len(names_of(name)) == len(set(names_of(name)))
    OURS.price(name, DAY)


# --- figures, worked out by hand from the makers' price lists --------------------------------------------------------

MILLION = 1_000_000


@pytest.mark.parametrize(
    ("model", "tokens", "expected"),
    [
        ("claude-opus-4-5-20251101", Tokens(1000, 1000, 1000, 1000, 1000), 0.005 + 0.00625 + 0.01 + 0.0005 + 0.025),
        ("claude-haiku-4-5", Tokens(1000, 1000, 1000, 1000, 1000), 0.001 + 0.00125 + 0.002 + 0.0001 + 0.005),
        ("claude-sonnet-4-20250514", Tokens(200_000, 0, 0, 0, 0), 0.6),
        ("claude-sonnet-4-20250514", Tokens(200_000, 0, 0, 1, 0), 1.200001),  # 0.6 of a microdollar for the one
        ("gpt-5-codex", Tokens(1000, 0, 0, 1000, 1000), 0.00125 + 0.000125 + 0.01),
        ("gpt-5.5", Tokens(272_000, 0, 0, 0, 0), 1.36),
        ("gpt-5.5", Tokens(272_001, 0, 0, 0, 0), 2.72001),
        ("gemini-2.5-pro", Tokens(200_000, 0, 0, 0, 1000), 0.25 + 0.01),
        ("gemini-2.5-pro", Tokens(200_001, 0, 0, 0, 1000), 0.500002 + 0.015),  # half a microdollar, to the even one
        ("claude-opus-4-8", Tokens(0, 0, 0, 0, 0, web_searches=7), 0.07),
        ("qwen3-coder-plus", Tokens(32_000, 0, 0, 0, 1000), 0.032 + 0.005),
        ("qwen3-coder-plus", Tokens(32_001, 0, 0, 1000, 1000), 0.057602 + 0.00018 + 0.009),
        ("qwen3-coder-plus", Tokens(300_000, 0, 0, 0, 1000), 1.8 + 0.06),
    ],
)
def test_what_a_request_costs(model: str, tokens: Tokens, expected: float) -> None:
    assert dollars(model, tokens) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("model", "tier", "expected"),
    [
        ("gpt-5.5", "priority", 12.5),
        ("gpt-5.5", "fast", 12.5),
        ("gpt-5.5", "flex", 2.5),
        ("gpt-5.5", "batch", 2.5),
        ("gpt-5.5", "unheard-of", 5),
        ("claude-opus-4-8", "fast", 10),
        ("claude-opus-4-8", "priority", 10),
        ("claude-haiku-4-5", "fast", 1),
        ("gpt-6.1-sol", "ultrafast", 12),
        ("claude-opus-4-8", "standard@us", 5.5),
        ("claude-opus-4-8", "fast@us", 11),
        ("claude-opus-4-8", "flex@us", 5.5),
        ("claude-opus-4-8", "standard@eu", 5),
        ("gpt-5.5", "priority@us", 12.5),
    ],
)
def test_tiers(model: str, tier: str, expected: float) -> None:
    assert dollars(model, Tokens(MILLION // 10, 0, 0, 0, 0), tier=tier) == pytest.approx(expected / 10)


@pytest.mark.parametrize(
    ("model", "day", "expected"),
    [
        ("o3", "2025-06-09", 10),
        ("o3", "2025-06-10", 2),
        ("claude-opus-4-6", "2026-03-12", 10),
        ("claude-opus-4-6", "2026-03-13", 5),
        ("claude-sonnet-4-6", "2026-03-12", 6),
        ("claude-sonnet-4-6", "", 3),
        ("grok-code-fast-1", "2026-05-14", 0.2),
    ],
)
def test_a_price_is_that_of_its_day(model: str, day: str, expected: float) -> None:
    assert dollars(model, Tokens(MILLION, 0, 0, 0, 0), day) == pytest.approx(expected)


# --- the table that comes with retro ---------------------------------------------------------------------------------


def test_the_table_is_what_its_hash_says() -> None:
    table = snapshot()
    assert table.sealed().hash == table.hash
    assert (table.date, table.source) == ("2026-11-19", "LiteLLM 1.109.1")


def test_rows_make_sense() -> None:
    for name, rows in snapshot().models.items():
        for row in rows:
            assert row.model == name
            assert min(msgspec.structs.astuple(row.rates)) >= 0
            assert [band.above for band in row.bands] == sorted({band.above for band in row.bands})
        by_day = [(row.tier, row.since or "") for row in rows]
        assert len(by_day) == len(set(by_day))


@pytest.mark.corpus
def test_every_model_of_the_corpus_has_a_price(corpus: Path) -> None:
    import re

    used: set[str] = set()
    for folder in (
        "claude-code/real",
        "codex/real",
        "live/claude/home",
        "live/codex/home",
        "live/copilot/home",
        "labelled",
    ):
        for file in (corpus / folder).rglob("*.jsonl"):
            found = re.findall(rb'"model":\s?"([^"<]+)"', file.read_bytes())
            used |= {name.decode() for name in found if re.match(rb"(claude-\w+-|gpt-)\d", name)}
    assert len(used) > 5
    assert {name for name in used if OURS.price(name, DAY) is None} == set()


# --- LiteLLM's table -------------------------------------------------------------------------------------------------

LITELLM = {
    "sample_spec": {"mode": "one of chat, embedding"},
    "new-model": {
        "litellm_provider": "openai",
        "mode": "responses",
        "input_cost_per_token": 1e-06,
        "output_cost_per_token": 8e-06,
        "cache_read_input_token_cost": 1e-07,
        "input_cost_per_token_above_272k_tokens": 2e-06,
        "output_cost_per_token_above_272k_tokens": 1.2e-05,
        "input_cost_per_token_priority": 2e-06,
        "output_cost_per_token_priority": 1.6e-05,
        "search_context_cost_per_query": {"search_context_size_medium": 0.01},
    },
    "azure/new-model": {
        "litellm_provider": "azure",
        "mode": "chat",
        "input_cost_per_token": 9,
        "output_cost_per_token": 9,
    },
    "picture": {"litellm_provider": "openai", "mode": "image_generation", "input_cost_per_token": 1},
    "gpt-5.5": {
        "litellm_provider": "openai",
        "mode": "chat",
        "input_cost_per_token": 4e-06,
        "output_cost_per_token": 2e-05,
    },
}


def test_a_list_of_bands_and_factors_for_regions_are_taken() -> None:
    steps = [
        {"range": [32_000, 1_000_000], "input_cost_per_token": 2e-06, "output_cost_per_token": 4e-06},
        {"range": [0, 32_000], "input_cost_per_token": 1e-06, "output_cost_per_token": 3e-06},
    ]
    usual = {"input_cost_per_token": 1e-06, "output_cost_per_token": 3e-06}
    chat = {"litellm_provider": "anthropic", "mode": "chat"}
    broken: list[dict[str, object]] = [
        {"tiered_pricing": [{"range": [5, 9], "input_cost_per_token": 1, "output_cost_per_token": 1}]},
        {"tiered_pricing": ["x"]},
        {"tiered_pricing": []},
        {"tiered_pricing": 7},
    ]
    factors = {"us": 1.1, "fast": 2, "eu": True}
    entries = {
        "steps": {**chat, "tiered_pricing": steps},
        "usual": {**chat, **usual, "provider_specific_entry": factors},
    }
    table = distilled({**entries, **{f"broken-{n}": {**chat, **one} for n, one in enumerate(broken)}}, "", "x")
    assert sorted(table.models) == ["steps", "usual"]
    prices = Prices([table])
    found = {tier: prices.price("usual", DAY, tier) for tier in ("standard", "fast", "standard@us", "fast@us")}
    assert {tier: one.rates.input for tier, one in found.items() if one} == {
        "standard": 1_000_000,
        "fast": 2_000_000,
        "standard@us": 1_100_000,
        "fast@us": 2_200_000,
    }
    stepped = prices.price("steps", DAY)
    assert stepped is not None
    assert [cost(stepped, Tokens(count, 0, 0, 0, 0)) for count in (32_000, 32_001)] == [32_000, 64_002]


def test_of_litellm_s_table_bands_tiers_and_fees_are_taken() -> None:
    table = distilled(LITELLM, "2026-12-01", "x")
    assert sorted(table.models) == ["gpt-5.5", "new-model"]
    prices = Prices([table])
    small, large = Tokens(1000, 0, 0, 1000, 1000, 1), Tokens(272_001, 0, 0, 0, 1000)
    found = [prices.price("new-model", DAY, tier) for tier in ("standard", "priority")]
    assert [cost(one, small) for one in found if one] == [1000 + 100 + 8000 + 10_000, 2000 + 2000 + 16_000 + 10_000]
    assert [cost(one, large) for one in found[:1] if one] == [544_002 + 12_000]


# --- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    made = Lab(tmp_path)
    monkeypatch.setenv("RETRO_ROOT", str(made.root))
    monkeypatch.setenv("RETRO_CONFIG", str(tmp_path / "config" / "config.toml"))
    (tmp_path / "config").mkdir()
    made.claude(A, said("m", A), said("n", A, model="new-model"))
    made.sweep()
    return made


def overrides(lab: Lab, text: str) -> None:
    (lab.folder / "config" / "prices.toml").write_text(text, "utf-8")


def test_models_without_a_price_are_named_by_a_check(lab: Lab, retro: Retro) -> None:
    shown = retro.json("prices", "check", code=4)
    assert shown["unpricedModels"] == [{"model": "new-model", "requests": 1, "tokens": 110}]
    assert [table["source"] for table in shown["tables"]] == ["LiteLLM 1.109.1"]
    overrides(lab, "[new-model]\ninput = 1\noutput = 2\n")
    assert "Every model that was used has a price." in retro.says("prices", "check")


@pytest.mark.parametrize(
    "text",
    ["[", "[new-model]\ninput = 1\n", "[new-model]\ninput = -1\noutput = 1\n", "[x]\ninput='?'\noutput=1\n", "a = 1\n"],
)
def test_a_file_of_prices_that_is_none_is_said_and_the_rest_answers(lab: Lab, retro: Retro, text: str) -> None:
    overrides(lab, text)
    done = retro("prices", "show")
    assert (done.code, done.err.count("\n")) == (0, 1)
    assert "prices.toml is no price file" in done.err and "claude-opus-4-8" in done.out
    assert len(retro.json("prices", "check", code=4)["problems"]) == 1
    swept = retro("sweep")
    assert swept.code == 0 and "prices.toml is no price file" in swept.err


def test_a_price_of_one_s_own_counts_first_and_from_its_day(lab: Lab, retro: Retro) -> None:
    overrides(
        lab,
        '[["claude-opus-4-8"]]\ninput = 4\noutput = 20\n'
        '[["claude-opus-4-8"]]\nsince = 2026-12-01\ninput = 3\noutput = 15\n',
    )
    rows = retro.json("prices", "show", "claude-opus-4-8")["models"][0]["rows"]
    assert [(row["rates"]["input"], row.get("since"), row["table"]) for row in rows] == [
        (4_000_000, None, "prices.toml"),
        (3_000_000, "2026-12-01", "prices.toml"),
    ]
    lab.claude(
        A, said("m", A), said("n", A, model="new-model"), said("o", A), said("p", A, at="2026-12-02T10:00:00.000Z")
    )
    lab.sweep()
    assert lab.spent().cost == 750 + 600 + 450


def test_show_lists_what_was_used_or_asked_for(lab: Lab, retro: Retro) -> None:
    table = retro.says("prices", "show")
    assert "new-model" in table and "no price" in table
    assert len(retro.json("prices", "show", "--all")["models"]) == len(snapshot().models)
    assert "above 272,000 tokens" in retro.says("prices", "show", "gpt-5.5")
    assert retro("prices", "show", "unheard-of").code == 1


@pytest.mark.parametrize("form", ["json", "wheel"])
def test_a_newer_table_is_taken_from_a_file(lab: Lab, retro: Retro, tmp_path: Path, form: str) -> None:
    file = tmp_path / f"table.{form}"
    file.write_bytes(json.dumps(LITELLM).encode() if form == "json" else wheel())
    shown = retro.json("prices", "refresh", "--from", str(file))
    assert (shown["models"], shown["new"], shown["changed"]) == (2, ["new-model"], ["gpt-5.5"])
    assert lab.spent().cost == 750  # what was counted keeps its price, or has none
    retro.says("cost", "reprice")
    assert lab.spent().cost == 750 + 100 + 80
    assert retro.json("prices", "check")["unpricedModels"] == []


def wheel() -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("litellm/model_prices_and_context_window_backup.json", json.dumps(LITELLM))
    return held.getvalue()


@pytest.fixture
def address() -> Iterator[str]:
    """A server on this machine that has the table."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/table.json" else 404)
            self.end_headers()
            self.wfile.write(json.dumps(LITELLM).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_newer_table_is_taken_from_a_url(
    lab: Lab, retro: Retro, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert retro.json("prices", "refresh", "--from", f"{address}/table.json")["new"] == ["new-model"]
    assert retro("prices", "refresh", "--from", f"{address}/other").code == 1


@pytest.mark.parametrize("content", ["{}", "[]", "{", "PK\x03\x04broken", '{"a": {"litellm_provider": "openai"}}'])
def test_what_is_no_table_leaves_the_old_one(lab: Lab, retro: Retro, tmp_path: Path, content: str) -> None:
    file = tmp_path / "table"
    file.write_text(content, "latin-1")
    done = retro("prices", "refresh", "--from", str(file))
    assert (done.code, done.out) == (1, "") and "is no price table" in done.err
    assert not (lab.folder / "config" / "prices.json").exists()
    assert retro("prices", "refresh", "--from", str(tmp_path / "none")).code == 1
    assert retro("prices", "refresh", "--from", "ftp://example.org/table").code == 2


def test_a_damaged_newer_table_is_said_and_ours_is_used(lab: Lab, retro: Retro) -> None:
    (lab.folder / "config" / "prices.json").write_text('{"models": 3}', "utf-8")
    done = retro("prices", "show", "gpt-5.5")
    assert done.code == 0 and "prices.json is no price table" in done.err and "gpt-5.5" in done.out
