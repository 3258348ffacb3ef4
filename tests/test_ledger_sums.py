"""What reports say is what the requests that count add up to: under any filter, in any zone, however it is grouped."""

from __future__ import annotations

import json
import re
from datetime import datetime, timezone
from zoneinfo import ZoneInfo

import apsw
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ledger_support import Spent, figures
from retro.event import Quality, Usage
from retro.ledger import blocks, calendar, entries, receipts, reports, written
from retro.ledger.calendar import QUARTER
from retro.ledger.copies import Copy
from retro.ledger.entries import Asked
from retro.ledger.reports import AUTO, CALCULATE, MODES, Amount, Wanted
from retro.ledger.tables import Owner
from retro.ledger.writing import Ledger
from retro.ledger.written_sessions import sessions
from test_ledger_order import ledger

OWNERS = {
    "s1": Owner("somehost", "s1", "2026-03-28T00:00:00.000Z", "code", "", False),
    "s2": Owner("somehost", "s2", "2026-03-29T00:00:00.000Z", "tool", "", False),
    "s3": Owner("somehost", "s3", "2026-03-29T00:00:00.000Z", "tool", "s2", True),
    "s4": Owner("otherhost", "s4", "", "code", "", False),
}
ZONES = ("UTC", "Asia/Kolkata", "Europe/Berlin", "America/St_Johns", "Pacific/Chatham")
"""Some with quarters of an hour, some that change their clocks in the days of the requests."""

# Around the change of clocks in Europe, 2026-03-29T01:00Z.
MOMENTS = st.integers(0, 4 * 96 * 4).map(lambda part: 1_774_656_000_000 + part * QUARTER // 4)

USAGE = st.builds(
    lambda name, usage_id, at, model, output, given, agent, cost, native: Usage(
        usage_id=usage_id,
        session_id=name,
        host=OWNERS[name].host,
        source="main",
        line=1,
        timestamp=calendar.timestamp(at) if at is not None else None,
        model=model,
        agent_id=agent,
        input_tokens=given,
        output_tokens=output,
        embedded_cost_usd=cost,
        native=native,
        quality=Quality.EXACT,
    ),
    st.sampled_from(sorted(OWNERS)),
    st.sampled_from(["m1", "m2", "m3", "m4", "m5"]),
    st.none() | MOMENTS,
    st.sampled_from(["claude-opus-4-8", "gpt-5.5", "unheard-of", None]),
    st.integers(0, 300_000),
    st.integers(0, 300_000),
    st.sampled_from([None, None, "a1"]),
    st.sampled_from([None, None, 0.0, 0.25]),
    st.booleans(),
)
WANTED = st.builds(
    Wanted,
    since=st.none() | MOMENTS.map(lambda at: at // QUARTER),
    until=st.none() | MOMENTS.map(lambda at: at // QUARTER),
    project=st.sampled_from([None, "code", "tool", "else"]),
    host=st.sampled_from([None, "somehost", "otherhost"]),
    own_only=st.booleans(),
    mode=st.sampled_from(MODES),
)


def filled(made: Ledger, records: list[Usage]) -> list[Copy]:
    """The ledger with these records; gives the copies that count."""
    with made.connection:
        for record in records:
            made.add(OWNERS[record.session_id], [record])
        made.settle()
    return [copy for copy in made.tables.copies("1", ()) if copy.counted]


def is_wanted(copy: Copy, owner: Owner, wanted: Wanted) -> bool:
    quarter = copy.counts.at // QUARTER if copy.counts.at >= 0 else -1
    timed = wanted.since is None and wanted.until is None
    return (
        (wanted.since is None or quarter >= wanted.since)
        and (wanted.until is None or quarter < wanted.until)
        and (timed or quarter >= 0)
        and wanted.project in (None, owner.project)
        and wanted.host in (None, owner.host)
        and not (wanted.own_only and (copy.agent or owner.subagent))
    )


def cost_of(copy: Copy, mode: str) -> int:
    embedded, calculated = copy.counts.embedded, copy.cost
    if mode == AUTO:
        return embedded if embedded >= 0 else max(calculated, 0)
    return max(calculated if mode == CALCULATE else embedded, 0)


def added(copies: list[Copy], mode: str) -> Spent:
    numbers = [copy.counts for copy in copies]
    return Spent(
        len(copies),
        sum(one.input_tokens for one in numbers),
        0,
        0,
        0,
        sum(one.output_tokens for one in numbers),
        sum(cost_of(copy, mode) for copy in copies),
    )


def together(amounts: list[Amount]) -> Spent:
    return figures(reports.total(amounts))


@hypothesis_settings(max_examples=80)
@given(st.lists(USAGE, max_size=10), WANTED, st.sampled_from(ZONES))
def test_every_report_adds_up_to_the_requests_that_count(records: list[Usage], wanted: Wanted, name: str) -> None:
    with ledger() as made:
        counted = filled(made, records)
        owner = made.tables.owner
        expected = added([copy for copy in counted if is_wanted(copy, owner(copy.owner), wanted)], wanted.mode)
        index, zone = made.connection, calendar.zone(name)
        whole = reports.spent_between(index, wanted)
        assert figures(whole) == expected
        assert together(list(whole.models.values())) == expected
        assert together(list(reports.days(index, wanted, zone).values())) == expected
        assert together([one.amount for one in reports.sessions(index, wanted)]) == expected


@pytest.mark.parametrize(
    ("zone", "tables"),
    [
        ("UTC", {"spent_day"}),
        ("Europe/Berlin", {"spent_day", "spent_hour"}),
        ("Asia/Kolkata", {"spent_day", "spent_hour"}),
        ("America/St_Johns", {"spent_day", "spent_hour"}),
    ],
)
@pytest.mark.parametrize("minute", [0, 20])
def test_reports_by_day_read_few_rows_whenever_the_first_request_was(zone: str, tables: set[str], minute: int) -> None:
    """Of quarter-hours only those are looked up in whose hour there is a midnight."""
    at = f"2026-03-28T10:{minute:02}:00.000Z"
    record = Usage(
        usage_id="m", session_id="s1", host="somehost", source="main", line=1, timestamp=at, model=None, output_tokens=1
    )
    with ledger() as made:
        filled(made, [record])
        asked: list[str] = []

        def note(_: object, query: str, values: object) -> bool:
            asked.append(query)
            return True

        made.connection.set_exec_trace(note)
        reports.days(made.connection, Wanted(), calendar.zone(zone))
        assert set(re.findall(r"FROM (spent\w*)", " ".join(asked[1:]))) == tables


@hypothesis_settings(max_examples=60)
@given(st.lists(USAGE, max_size=10), st.sampled_from(ZONES))
def test_a_day_holds_what_its_clock_says(records: list[Usage], name: str) -> None:
    where = ZoneInfo(name)

    def day_of(copy: Copy) -> str | None:
        at = copy.counts.at
        if at < 0:
            return None
        return datetime.fromtimestamp(at / 1000, timezone.utc).astimezone(where).date().isoformat()

    with ledger() as made:
        counted = filled(made, records)
        expected: dict[str | None, int] = {}
        for copy in counted:
            expected[day_of(copy)] = expected.get(day_of(copy), 0) + cost_of(copy, AUTO)
        days = reports.days(made.connection, Wanted(), calendar.zone(name))
        found = {None if day is None else calendar.day_name(day): amount.cost for (day, _), amount in days.items()}
        assert found == expected


@hypothesis_settings(max_examples=40)
@given(st.lists(USAGE, max_size=10), st.sampled_from(MODES))
def test_blocks_hold_every_request_that_has_a_time(records: list[Usage], mode: str) -> None:
    wanted = Wanted(mode=mode)
    with ledger() as made:
        counted = [copy for copy in filled(made, records) if copy.counts.at >= 0]
        found = blocks.blocks(made.connection, wanted, 0)
        assert together([block.amount for block in found]) == added(counted, mode)
        before = [([*block.amount.row], block.models) for block in found]
        blocks.with_shares(made.connection, wanted, found)
        assert [([*block.amount.row], sorted(block.amount.shares)) for block in found] == before


@hypothesis_settings(max_examples=60)
@given(st.lists(USAGE, max_size=10), WANTED)
def test_the_report_by_session_says_the_same_as_json(records: list[Usage], wanted: Wanted) -> None:
    asked = Asked("session", wanted, calendar.zone("UTC"))
    with ledger() as made:
        filled(made, records)
        shown = json.loads("".join(sessions(made.connection, asked)))
        assert shown == json.loads("".join(written.report(entries.table(made.connection, asked))))


@hypothesis_settings(max_examples=40)
@given(st.lists(USAGE, max_size=10))
def test_receipts_add_up_to_the_report_by_session(records: list[Usage]) -> None:
    with ledger() as made:
        filled(made, records)
        for one in reports.sessions(made.connection, Wanted()):
            lines = receipts.receipt(made.connection, one.host, one.session_id)
            assert sum(line.cost or 0 for line in lines if line.copy.counted) == one.amount.cost
            assert all(line.elsewhere and line.reason for line in lines if not line.copy.counted)


def test_weeks_and_months_told_in_sql_are_those_of_the_calendar() -> None:
    connection = apsw.Connection(":memory:")
    for day in (*range(800), 11_016, 11_017, 19_782, 19_783, 20_000, 47_541):
        begins = [calendar.local_month("day"), *(calendar.local_week("day", start) for start in range(7))]
        found = next(connection.execute(f"SELECT {', '.join(begins)} FROM (SELECT {day} AS day)"))
        assert found == (calendar.month_of(day), *(calendar.week_of(day, start) for start in range(7)))
