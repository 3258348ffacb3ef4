"""The ledger says the same whatever came first, however often it was swept, and after the index or sources are lost."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import apsw
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ledger_support import ALL, Lab, Spent, context, count, meta, said, tokens, truth
from retro.archive.frames import contents
from retro.event import Quality, Usage
from retro.index.database import open_writer
from retro.ledger import log
from retro.ledger.prices import Prices, snapshot
from retro.ledger.reports import CALCULATE, DISPLAY, Wanted
from retro.ledger.tables import Owner
from retro.ledger.writing import Ledger
from retro.places import Places
from retro.reindex import rebuild
from retro.upkeep.forget import forget

SESSIONS = ("s1", "s2", "s3")
PRICES = Prices([snapshot()])

USAGE = st.builds(
    lambda usage_id, request, session, at, model, output, given, agent, native, cost, done: Usage(
        usage_id=usage_id,
        request_id=request,
        session_id=session,
        host="somehost",
        source="main",
        line=1,
        timestamp=at,
        model=model,
        agent_id=agent,
        input_tokens=given,
        output_tokens=output,
        native=native,
        embedded_cost_usd=cost,
        quality=Quality.EXACT if done else Quality.LOWER_BOUND,
    ),
    st.sampled_from(["m1", "m2", "m3"]),
    st.sampled_from([None, "r1", "r2"]),
    st.sampled_from(SESSIONS),
    st.sampled_from([None, "2026-02-01T10:00:00.000Z", "2026-02-01T10:14:59.999Z", "2026-02-02T00:15:00.000Z"]),
    st.sampled_from(["claude-opus-4-8", "gpt-5.5", "unheard-of", None]),
    st.integers(0, 3),
    st.integers(0, 3),
    st.sampled_from([None, "a1"]),
    st.booleans(),
    st.sampled_from([None, 0.0, 0.25]),
    st.booleans(),
)


def owner(session: str, started: str = "2026-02-01T00:00:00.000Z", project: str = "code") -> Owner:
    return Owner("somehost", session, started, project, "", False)


@contextmanager
def ledger() -> Iterator[Ledger]:
    """A ledger of its own."""
    with tempfile.TemporaryDirectory() as folder:
        connection = open_writer(os.path.join(folder, "index.sqlite"))
        made = Ledger(connection, os.path.join(folder, "ledger", "usage.jsonl.zst"), lambda: PRICES)
        try:
            yield made
        finally:
            made.close()
            connection.close()


def put(made: Ledger, *records: Usage, project: str = "code") -> None:
    with made.connection:
        for record in records:
            made.add(owner(record.session_id, project=project), [record])
        made.settle()


def consistent(made: Ledger) -> None:
    """The sums are what the requests that count add up to."""
    from retro.ledger.sums import amounts

    counted = [copy for copy in made.tables.copies("1", ()) if copy.counted]
    own = [copy for copy in counted if not copy.agent]
    columns = ", ".join(f"sum({name})" for name in log_columns())
    in_all = ("spent", "spent_hour", "spent_day", "spent_host", "session_spent", "session_total WHERE whole = 1")
    for table, copies in (*((name, counted) for name in in_all), ("session_total WHERE whole = 0", own)):
        expected = [sum(column) for column in zip(*map(amounts, copies), strict=True)]
        found = list(next(iter(made.connection.execute(f"SELECT {columns} FROM {table}"))))
        assert [value or 0 for value in found] == (expected or [0] * len(found))


def log_columns() -> tuple[str, ...]:
    from retro.ledger.columns import SUMS

    return SUMS


@hypothesis_settings(max_examples=60)
@given(st.lists(USAGE, max_size=8), st.randoms(use_true_random=False), st.integers(1, 8))
def test_the_order_of_arrival_changes_nothing(records: list[Usage], random: object, cut: int) -> None:
    shuffled = list(records)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    with ledger() as one, ledger() as other:
        put(one, *records)
        for begin in range(0, len(shuffled), cut):
            put(other, *shuffled[begin : begin + cut])
        assert facts(one.connection) == facts(other.connection)
        consistent(one)
        consistent(other)


def facts(connection: apsw.Connection) -> dict[str, object]:
    """All but the price rows of copies that do not count: those say only what was looked up first."""
    found = truth(connection)
    copies = found["copies"]
    assert isinstance(copies, dict)
    found["copies"] = {name: (*copy[:2], copy[2] if copy[3] else None, *copy[3:]) for name, copy in copies.items()}
    return found


@hypothesis_settings(max_examples=40)
@given(st.lists(USAGE, min_size=1, max_size=8))
def test_the_log_alone_gives_the_same_ledger(records: list[Usage]) -> None:
    with ledger() as one, ledger() as other:
        for record in records:
            put(one, record)
        one.close()
        os.makedirs(os.path.dirname(other.path))
        shutil.copy(one.path, other.path)
        other.restore(lambda host, session: False)
        assert truth(other.connection) == truth(one.connection)


@hypothesis_settings(max_examples=40)
@given(st.lists(USAGE, min_size=1, max_size=8), st.sampled_from(SESSIONS))
def test_a_forgotten_session_leaves_what_the_others_alone_would_give(records: list[Usage], gone: str) -> None:
    with ledger() as one, ledger() as other:
        put(one, *records)
        with one.connection:
            one.forget("somehost", gone)
        one.heal()
        put(other, *[record for record in records if record.session_id != gone])
        assert facts(one.connection) == facts(other.connection)
        consistent(one)
        assert gone not in {getattr(entry, "session_id", None) for entry in log.read(one.path)}


@hypothesis_settings(max_examples=30)
@given(st.lists(USAGE, min_size=1, max_size=6), st.lists(USAGE, max_size=6))
def test_what_a_session_holds_now_takes_the_place_of_what_it_held(before: list[Usage], after: list[Usage]) -> None:
    def of_one(records: list[Usage]) -> list[Usage]:
        return [record for record in records if record.session_id == "s1"]

    others = [record for record in before if record.session_id != "s1"]
    with ledger() as one, ledger() as other:
        put(one, *before)
        with one.connection:
            one.add(owner("s1"), of_one(after), replaces=True)
            one.settle()
        put(other, *others, *of_one(after))
        left, right = truth(one.connection), truth(other.connection)
        assert (left["spent"], left["sessions"]) == (right["spent"], right["sessions"])


@given(st.lists(USAGE, min_size=1, max_size=8))
@hypothesis_settings(max_examples=30)
def test_a_session_that_changes_project_takes_its_sums_along(records: list[Usage]) -> None:
    with ledger() as one, ledger() as other:
        put(one, *records)
        put(one, *records, project="other")
        put(other, *records, project="other")
        assert truth(one.connection) == truth(other.connection)


# --- from files to sums ----------------------------------------------------------------------------------------------

A = "aaaaaaaa-0000-4000-8000-000000000001"
B = "bbbbbbbb-0000-4000-8000-000000000002"


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    lab = Lab(tmp_path)
    lab.claude(A, said("m", A), said("n", A, at="2026-02-01T12:00:00.000Z", output=20))
    lab.claude(B, said("m", B, at="2026-02-02T12:00:00.000Z"), said("o", B, at="2026-02-02T12:00:00.000Z"))
    return lab


def test_cold_warm_rebuilt_and_without_sources_are_the_same(lab: Lab) -> None:
    lab.sweep()
    cold = lab.truth()
    lab.sweep()
    assert lab.truth() == cold
    rebuild(Places(str(lab.root)), lab.settings)
    assert lab.truth() == cold
    shutil.rmtree(lab.claude_home)
    lab.sweep()
    assert lab.truth() == cold
    for path in lab.root.glob("index.sqlite*"):
        path.unlink()
    lab.sweep()
    assert lab.truth() == cold


MESSAGES = ("m1", "m2", "m3", "m4")
THREADS = ("01a1f028-0000-7000-8000-000000000001", "01a1f028-0000-7000-8000-000000000002")
HOURS = ("2026-02-01T10:00:00.000Z", "2026-02-01T23:50:00.000Z", "2026-02-02T12:00:00.000Z")

RECORD = st.builds(
    lambda message, output, at, model, request, agent, done, cost: (
        message,
        {
            "output": output,
            "at": at,
            "model": model,
            "request": request,
            "done": done,
            **({"isSidechain": True, "agentId": "a1"} if agent else {}),
            **({"costUSD": cost} if cost is not None else {}),
        },
    ),
    st.sampled_from(MESSAGES),
    st.integers(0, 3),
    st.sampled_from(HOURS),
    st.sampled_from(["claude-opus-4-8", "claude-haiku-4-5", "claude-unheard-of-9", "<synthetic>"]),
    st.sampled_from(["", None, "req_other"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, None, 0.25]),
)
"""A line of Claude Code: snapshots, copies, sub-agents, the host's own words, with and without request id and cost."""

TOTAL = st.tuples(st.integers(0, 900), st.integers(0, 90), st.sampled_from(HOURS))
"""A running total of Codex: it grows, repeats and falls."""

STEPS = st.lists(st.sampled_from(["sweep", "again", "rebuild", "lose"]), max_size=3)


@hypothesis_settings(max_examples=12, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([A, B]), RECORD), min_size=1, max_size=10),
    st.lists(st.tuples(st.sampled_from(THREADS), TOTAL), max_size=6),
    STEPS,
    st.data(),
)
def test_whatever_happens_on_the_way_the_ledger_says_the_same(
    said_by: list[tuple[str, tuple[str, dict[str, object]]]],
    totals: list[tuple[str, tuple[int, int, str]]],
    steps: list[str],
    data: st.DataObject,
) -> None:
    """Cold at once; and grown step by step, swept again, rebuilt, with the index lost and at last the sources."""
    files = _files(said_by, totals)
    lengths = [0] * len(files)
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        cold, slow = Lab(Path(one)), Lab(Path(other))
        for file in files:
            file.write(cold, len(file.lines))
        cold.sweep()
        for step in steps:
            for number, file in enumerate(files):
                lengths[number] = data.draw(st.integers(lengths[number], len(file.lines)))
                file.write(slow, lengths[number])
            _go(slow, step)
        for file in files:
            file.write(slow, len(file.lines))
        slow.sweep()
        assert facts(slow.index) == facts(cold.index)
        shutil.rmtree(slow.claude_home, ignore_errors=True)
        shutil.rmtree(slow.codex_home, ignore_errors=True)
        slow.sweep()
        rebuild(Places(str(slow.root)), slow.settings)
        assert facts(slow.index) == facts(cold.index)


class File(NamedTuple):
    """A session of one of the two agents, and its lines."""

    name: str
    lines: list[dict[str, object]]

    def write(self, lab: Lab, number: int) -> None:
        """Write its first lines; none: not yet there."""
        if number:
            (lab.codex if self.name in THREADS else lab.claude)(self.name, *self.lines[:number])


def _files(
    said_by: list[tuple[str, tuple[str, dict[str, object]]]], totals: list[tuple[str, tuple[int, int, str]]]
) -> list[File]:
    """The second thread of Codex is a fork of the first, whose history it copies."""
    files = []
    for session in (A, B):
        records = [
            said(message, session, uuid=f"{session[:1]}{number}", **fields)  # type: ignore[arg-type]
            for number, (owner_id, (message, fields)) in enumerate(said_by)
            if owner_id == session
        ]
        files.append(File(session, records))
    first, second = (
        [count(tokens(a, output=b), at=at) for name, (a, b, at) in totals if name == one] for one in THREADS
    )
    begin = [meta(THREADS[0]), context("gpt-5.5"), *first]
    files.append(File(THREADS[0], begin if first else []))
    files.append(File(THREADS[1], [meta(THREADS[1], forked_from_id=THREADS[0]), *begin, *second] if second else []))
    return files


def _go(lab: Lab, step: str) -> None:
    lab.sweep()
    if not os.path.exists(Places(str(lab.root)).index):  # nothing was there yet
        return
    if step == "again":
        lab.sweep()
    elif step == "rebuild":
        rebuild(Places(str(lab.root)), lab.settings)
    elif step == "lose":
        for path in lab.root.glob("index.sqlite*"):
            path.unlink()


def test_an_index_rebuilt_adds_no_line_to_the_log(lab: Lab) -> None:
    lab.sweep()
    size = os.path.getsize(Places(str(lab.root)).ledger)
    rebuild(Places(str(lab.root)), lab.settings)
    assert os.path.getsize(Places(str(lab.root)).ledger) == size


def test_sessions_whose_raw_copies_are_gone_are_still_accounted(lab: Lab) -> None:
    lab.sweep()
    cold = lab.truth()
    shutil.rmtree(lab.root / "raw" / "claude" / A)
    rebuild(Places(str(lab.root)), lab.settings)
    assert lab.truth() == cold


def test_a_lost_log_is_written_anew_from_the_index(lab: Lab) -> None:
    lab.sweep()
    cold = lab.truth()
    os.unlink(Places(str(lab.root)).ledger)
    lab.claude(B, said("m", B), said("o", B), said("p", B))
    lab.sweep()
    after = lab.truth()
    rebuild(Places(str(lab.root)), lab.settings)
    assert (lab.truth(), after != cold) == (after, True)


def test_growing_step_by_step_is_the_same_as_at_once(tmp_path: Path) -> None:
    records = [said("m", A, output=1, done=False), said("m", A, output=9, done=False), said("m", A), said("n", A)]
    slow, quick = Lab(tmp_path / "slow"), Lab(tmp_path / "quick")
    path = slow.claude(A)
    for record in records:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, separators=(",", ":")) + "\n")
        slow.sweep()
    quick.claude(A, *records)
    quick.sweep()
    assert slow.truth() == quick.truth()


def test_prices_that_change_later_change_nothing_that_was_counted(lab: Lab, tmp_path: Path) -> None:
    lab.sweep()
    before = lab.spent()
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "prices.toml").write_text('["claude-opus-4-8"]\ninput = 1000.0\noutput = 1000.0\n', "utf-8")
    rebuild(Places(str(lab.root)), lab.settings)
    assert lab.spent() == before
    lab.claude("cccccccc-0000-4000-8000-000000000003", said("new", "c"))
    lab.sweep()
    assert lab.spent().cost == before.cost + 110 * 1000


def test_a_forgotten_session_is_gone_from_the_ledger_for_good(lab: Lab) -> None:
    lab.sweep()
    assert lab.by_session()[A].requests == 2
    forget(Places(str(lab.root)), [("claude", A)])
    expected = {B: Spent(2, 200, 0, 0, 0, 20, 1500)}
    assert lab.by_session() == expected
    data = b"".join(contents(Places(str(lab.root)).ledger))
    assert A.encode() not in data
    rebuild(Places(str(lab.root)), lab.settings)
    assert lab.by_session() == expected


@pytest.mark.parametrize("mode", ["auto", CALCULATE, DISPLAY])
def test_sums_over_days_sessions_and_models_are_the_total(lab: Lab, mode: str) -> None:
    lab.sweep()
    for wanted in (ALL, Wanted(since=1_966_080), Wanted(project="code"), Wanted(host="claude"), Wanted(own_only=True)):
        asked = wanted.between(wanted.since, wanted.until)
        asked.mode = mode
        total = lab.spent(asked)
        for parts in (lab.by_day(asked), lab.by_session(asked)):
            added = [sum(column) for column in zip(*parts.values(), strict=True)] or [0] * len(total)
            assert list(total) == added
