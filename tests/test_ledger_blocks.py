"""Five-hour blocks: where they begin and end, how fast they go, and that every request lies in one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_support import Retro, retro, root
from ledger_support import ALL, Lab, said
from retro.ledger import blocks, reports
from retro.ledger.blocks import HOUR, Block
from retro.ledger.calendar import QUARTER, milliseconds
from retro.ledger.reports import Amount
from retro.ledger.spans import spans

__all__ = ["retro", "root"]

A = "aaaaaaaa-0000-4000-8000-000000000001"


def at(clock: str) -> int:
    return milliseconds(f"2026-02-01T{clock}.000Z")


def test_a_block_begins_with_the_full_hour_and_ends_five_hours_later() -> None:
    first, last = at("10:20:00"), at("14:59:59")
    assert spans([("h", first, first), ("h", last, last)]) == [("h", at("10:00:00"), at("15:00:00"), first, last)]


def test_what_comes_after_its_end_begins_a_new_one() -> None:
    first, second = at("10:20:00"), at("15:00:00")
    found = spans([("h", first, first), ("h", second, second)])
    assert [start for _, start, *_ in found] == [at("10:00:00"), second]


def test_hosts_have_blocks_of_their_own() -> None:
    one, other = at("10:20:00"), at("12:20:00")
    found = spans([("a", one, one), ("b", other, other)])
    assert [span[:2] for span in found] == [("a", at("10:00:00")), ("b", at("12:00:00"))]


def test_a_longer_pause_is_a_gap_from_when_the_block_could_have_ended() -> None:
    one, other = at("01:20:00"), at("09:10:00")
    found = [Block(span, Amount(), [], False) for span in spans([("h", one, one), ("h", other, other)])]
    assert blocks.gaps(found) == [("h", one + 5 * HOUR, other)]


def test_the_pace_of_a_running_block_says_where_it_ends() -> None:
    amount = Amount()
    amount.add((3, 600, 0, 0, 300, 300, 0, 0, 6_000_000, 0, 0, 0, 0, 0, 0, 0))
    block = Block(("h", at("10:00:00"), at("15:00:00"), at("10:30:00"), at("11:30:00")), amount, ["m"], True)
    rate, end = block.rate, block.projection(at("12:00:00"))
    assert rate
    assert end
    assert [rate.tokens_per_minute, rate.own_tokens_per_minute, rate.microdollars_per_hour] == [20, 15, 6_000_000]
    assert [end.tokens, end.microdollars, end.minutes] == [1200 + 20 * 180, 6_000_000 * 4, 180]


def test_one_request_alone_has_no_pace() -> None:
    block = Block(("h", at("10:00:00"), at("15:00:00"), at("10:30:00"), at("10:30:00")), Amount(), [], True)
    assert block.rate is None
    assert block.projection(at("11:00:00")) is None


MOMENTS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 60 * 24 * 4)), max_size=30)


@given(MOMENTS, st.integers(1, 8))
def test_every_request_lies_in_one_block_of_its_host(moments: list[tuple[str, int]], hours: int) -> None:
    times = sorted((minute * 60_000, host) for host, minute in moments)
    quarters: dict[tuple[int, str], list[int]] = {}
    for time, host in times:
        quarters.setdefault((time // QUARTER, host), []).append(time)
    rows = [(host, found[0], found[-1]) for (_, host), found in sorted(quarters.items())]
    found = spans(rows, hours)
    for time, host in times:
        assert len([one for one in found if one[0] == host and one[3] <= time <= one[4]]) == 1
    for _, start, end, first, last in found:
        assert start % HOUR == 0 and start <= first <= last < end == start + hours * HOUR


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    made = Lab(tmp_path)
    made.claude(
        A,
        said("m", A, at="2026-02-01T10:20:00.000Z"),
        said("n", A, at="2026-02-01T14:59:59.000Z"),
        said("o", A, at="2026-02-01T15:00:00.000Z", model="claude-haiku-4-5"),
        said("p", A, at="2026-02-03T01:00:00.000Z"),
    )
    made.sweep()
    return made


def test_the_blocks_of_an_archive_hold_what_was_spent_in_them(lab: Lab) -> None:
    found = blocks.blocks(lab.index, ALL, at("16:00:00"))
    assert [(one.start, one.amount.requests, one.amount.cost, one.active) for one in found] == [
        (at("10:00:00"), 2, 1500, False),
        (at("15:00:00"), 1, 150, True),
        (milliseconds("2026-02-03T01:00:00.000Z"), 1, 750, True),
    ]
    assert reports.total(one.amount for one in found).cost == lab.spent().cost


def test_the_report_says_it_in_the_words_that_are_known(lab: Lab, retro: Retro) -> None:
    shown = retro.json("cost", "blocks", "--root", str(lab.root))["blocks"]
    assert [(one["id"], one["isGap"], one["entries"], one["totalTokens"]) for one in shown] == [
        ("2026-02-01T10:00:00.000Z", False, 2, 220),
        ("2026-02-01T15:00:00.000Z", False, 1, 110),
        ("gap-2026-02-01T20:00:00.000Z", True, 0, 0),
        ("2026-02-03T01:00:00.000Z", False, 1, 110),
    ]
    first: dict[str, Any] = shown[0]
    assert first["tokenCounts"] == {
        "inputTokens": 200,
        "outputTokens": 20,
        "cacheCreationInputTokens": 0,
        "cacheReadInputTokens": 0,
    }
    assert (first["endTime"], first["actualEndTime"]) == ("2026-02-01T15:00:00.000Z", "2026-02-01T14:59:59.000Z")
    assert (first["costUSD"], first["models"], first["isActive"]) == (0.0015, ["claude-opus-4-8"], False)
    assert retro.json("cost", "blocks", "--active", "--root", str(lab.root))["blocks"] == []
    assert json.loads(retro.says("cost", "blocks", "--json", "--since", "2026-02-02", "--root", str(lab.root)))[
        "blocks"
    ] == [shown[3]]


def test_a_block_may_have_another_length(lab: Lab, retro: Retro) -> None:
    shown = retro.json("cost", "blocks", "--session-length", "6", "--root", str(lab.root))["blocks"]
    assert [one["entries"] for one in shown if not one["isGap"]] == [3, 1]


def test_the_table_names_each_block(lab: Lab, retro: Retro) -> None:
    lines = retro.says("cost", "blocks", "--timezone", "UTC", "--root", str(lab.root)).splitlines()
    assert [line.split("  ")[0] for line in lines[1:]] == ["2026-02-01 10:00", "2026-02-01 15:00", "2026-02-03 01:00"]
    rows = retro.says("cost", "blocks", "--csv", "--root", str(lab.root)).splitlines()
    assert (len(rows), rows[1].split(",")[:2]) == (4, ["2026-02-01T10:00:00.000Z", "claude"])
