"""Every way in which agents' logs lead one to count a request twice, not at all, or at the wrong price."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ledger_support import STAMP, Lab, Spent, context, count, line, meta, recorded, said, tokens
from retro.ledger.reports import CALCULATE, DISPLAY, Wanted

A = "aaaaaaaa-0000-4000-8000-000000000001"
B = "bbbbbbbb-0000-4000-8000-000000000002"
C = "cccccccc-0000-4000-8000-000000000003"
T1 = "01a1f028-0000-7000-8000-000000000001"
T2 = "01a1f028-0000-7000-8000-000000000002"
LATER = "2026-02-01T11:00:00.000Z"
ONE = Spent(1, 100, 0, 0, 0, 10, 750)
"""One plain request: 100 in at 5 microdollars, 10 out at 25."""


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def times(spent: Spent, factor: int) -> Spent:
    return Spent(*(value * factor for value in spent))


# --- Claude Code -----------------------------------------------------------------------------------------------------


def test_of_a_streamed_message_the_last_and_largest_line_counts(lab: Lab) -> None:
    lab.claude(A, said("m", A, output=1, done=False), said("m", A, output=1, done=False), said("m", A, output=10))
    lab.sweep()
    assert lab.spent() == ONE


def test_a_smaller_line_that_comes_last_takes_nothing_away(lab: Lab) -> None:
    lab.claude(A, said("m", A, output=10), said("m", A, output=3, at=LATER))
    lab.sweep()
    assert lab.spent() == ONE


def test_lines_of_one_message_that_stand_apart_are_one_request(lab: Lab) -> None:
    between = {"type": "user", "uuid": "u", "sessionId": A, "timestamp": STAMP, "message": {"content": "and?"}}
    lab.claude(A, said("m", A, output=1), said("n", A), between, said("m", A, output=10))
    lab.sweep()
    assert lab.spent() == times(ONE, 2)


@pytest.mark.parametrize("rewritten", [True, False])
def test_a_resume_under_a_new_id_adds_nothing_for_what_it_copies(lab: Lab, rewritten: bool) -> None:
    lab.claude(A, said("m", A))
    copied = said("m", B if rewritten else A, at=LATER)
    lab.claude(B, copied, said("n", B, at=LATER))
    lab.sweep()
    assert lab.by_session() == {A: ONE, B: ONE}


def test_a_copy_with_more_output_corrects_the_numbers_but_not_the_owner_nor_the_day(lab: Lab) -> None:
    lab.claude(A, said("m", A, output=1, done=False))
    lab.claude(B, said("m", A, output=10, at="2026-02-02T10:00:00.000Z"))
    lab.sweep()
    assert (lab.by_session(), lab.by_day()) == ({A: ONE}, {"2026-02-01": ONE})


def test_a_fork_that_names_its_origin_is_no_owner(lab: Lab) -> None:
    origin = {"sessionId": B, "messageUuid": "u"}
    lab.claude(A, said("m", A, at="2026-01-01T10:00:00.000Z", forkedFrom=origin))
    lab.claude(B, said("m", B))
    lab.sweep()
    assert lab.by_session() == {B: ONE}


def test_a_compaction_that_writes_messages_again_adds_nothing(lab: Lab) -> None:
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "c", "sessionId": A, "timestamp": LATER}
    lab.claude(A, said("m", A), boundary, said("m", A, uuid="again", at=LATER), said("n", A, at=LATER))
    lab.sweep()
    assert lab.spent() == times(ONE, 2)


def test_a_sub_agent_in_a_file_of_its_own_is_the_session_s_and_can_be_told_apart(lab: Lab) -> None:
    path = lab.claude(A, said("m", A))
    own = path.parent / A / "subagents" / "agent-a1.jsonl"
    own.parent.mkdir(parents=True)
    record = said("s", A, model="claude-haiku-4-5", isSidechain=True, agentId="a1")
    own.write_text(json.dumps(record) + "\n", "utf-8")
    lab.sweep()
    both = Spent(2, 200, 0, 0, 0, 20, 750 + 150)  # haiku: 1 and 5 microdollars
    assert (lab.by_session(), lab.spent()) == ({A: both}, both)
    assert (lab.by_session(Wanted(own_only=True)), lab.spent(Wanted(own_only=True))) == ({A: ONE}, ONE)


def test_an_inline_sub_agent_is_told_apart(lab: Lab) -> None:
    lab.claude(A, said("m", A), said("s", A, isSidechain=True))
    lab.sweep()
    assert (lab.spent(), lab.spent(Wanted(own_only=True))) == (times(ONE, 2), ONE)


def progress(record: dict[str, object]) -> dict[str, object]:
    data = {"type": "agent_progress", "agentId": "a1", "message": record}
    own = {
        "type": "progress",
        "uuid": f"p-{record['uuid']}",
        "sessionId": A,
        "timestamp": STAMP,
        "cwd": "/home/dev/code",
    }
    return {**own, "data": data}


def test_a_sub_agent_known_only_from_progress_records_counts(lab: Lab) -> None:
    lab.claude(A, said("m", A), progress(said("s", A)), progress(said("s", A)))
    lab.sweep()
    assert (lab.spent(), lab.spent(Wanted(own_only=True))) == (times(ONE, 2), ONE)


def test_a_sub_agent_in_progress_records_and_in_its_own_file_counts_once(lab: Lab) -> None:
    path = lab.claude(A, said("m", A), progress(said("s", A, output=3)))
    own = path.parent / A / "subagents" / "agent-a1.jsonl"
    own.parent.mkdir(parents=True)
    own.write_text(json.dumps(said("s", A, isSidechain=True, agentId="a1")) + "\n", "utf-8")
    lab.sweep()
    assert (lab.spent(), lab.spent(Wanted(own_only=True))) == (times(ONE, 2), ONE)


def test_messages_of_the_host_itself_are_no_requests(lab: Lab) -> None:
    lab.claude(A, said("m", A), said("s", A, model="<synthetic>"))
    lab.sweep()
    assert lab.spent() == ONE


def test_a_copy_without_its_request_id_is_still_a_copy(lab: Lab) -> None:
    lab.claude(A, said("m", A))
    lab.claude(B, said("m", B, request=None, at=LATER))
    lab.sweep()
    assert lab.by_session() == {A: ONE}


def test_two_request_ids_are_two_requests_even_of_one_message_id(lab: Lab) -> None:
    lab.claude(A, said("m", A, request="req_1"), said("m", A, request="req_2", at=LATER))
    lab.sweep()
    assert lab.spent() == times(ONE, 2)


def test_messages_without_any_id_count_by_their_record(lab: Lab) -> None:
    lab.claude(A, said(None, A, request=None, uuid="u1"), said(None, A, request=None, uuid="u2"))
    lab.claude(B, said(None, A, request=None, uuid="u1"))
    lab.sweep()
    assert lab.spent() == times(ONE, 2)


def test_the_same_root_reached_twice_counts_once(lab: Lab, tmp_path: Path) -> None:
    lab.claude(A, said("m", A))
    link = tmp_path / "link"
    link.symlink_to(lab.claude_home, target_is_directory=True)
    lab.claude_home = Path(f"{lab.claude_home},{link}")
    lab.sweep()
    assert lab.spent() == ONE


def test_a_second_root_with_a_copy_of_the_files_counts_once(lab: Lab, tmp_path: Path) -> None:
    data = lab.claude(A, said("m", A)).read_bytes()
    copy = tmp_path / "backup" / "projects" / "-home-dev-code" / f"{A}.jsonl"
    copy.parent.mkdir(parents=True)
    copy.write_bytes(data)
    lab.claude_home = Path(f"{lab.claude_home},{tmp_path / 'backup'}")
    lab.sweep()
    assert lab.spent() == ONE


def test_caches_for_five_minutes_and_for_an_hour_have_their_own_price(lab: Lab) -> None:
    usage = {
        "input_tokens": 100,
        "output_tokens": 10,
        "cache_creation_input_tokens": 50,
        "cache_creation": {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 30},
        "cache_read_input_tokens": 1000,
    }
    lab.claude(A, said("m", A, usage=usage))
    lab.sweep()
    assert lab.spent() == Spent(1, 100, 20, 30, 1000, 10, 500 + 250 + 125 + 300 + 500)


def test_caches_of_which_only_the_parts_are_written_count(lab: Lab) -> None:
    parts = {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 30}
    lab.claude(A, said("m", A, usage={"input_tokens": 100, "output_tokens": 10, "cache_creation": parts}))
    lab.sweep()
    assert lab.spent()[1:4] == (100, 20, 30)


@pytest.mark.parametrize(
    ("together", "short", "hour", "written"),
    [
        (50, 20, 60, (20, 60)),
        (0, 20, 30, (20, 30)),
        (50, 20, 10, (40, 10)),
        (50, 0, 0, (50, 0)),
        (50, -9, 10, (40, 10)),
    ],
)
def test_of_cache_writes_that_do_not_add_up_nothing_is_lost(
    lab: Lab, together: int, short: int, hour: int, written: tuple[int, int]
) -> None:
    """ccusage takes the parts alone, also where they tell less."""
    parts = {"ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": hour}
    usage = {"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": together, "cache_creation": parts}
    lab.claude(A, said("m", A, usage=usage))
    lab.sweep()
    assert lab.spent()[2:4] == written


def test_usage_in_a_record_of_another_type_counts(lab: Lab) -> None:
    lab.claude(A, {**said("m", A), "type": "user"}, said("n", A))
    lab.sweep()
    assert lab.spent() == times(ONE, 2)


def test_a_long_context_is_priced_by_its_band_as_a_whole(lab: Lab) -> None:
    model = "claude-sonnet-4-20250514"  # 3 and 15; above 200,000: 6 and 22.5
    at = {"input_tokens": 200_000, "output_tokens": 10}
    above = {"input_tokens": 100_001, "cache_read_input_tokens": 100_000, "output_tokens": 10}
    lab.claude(A, said("m", A, model=model, usage=at), said("n", A, model=model, usage=above, at=LATER))
    lab.sweep()
    assert lab.spent().cost == (600_000 + 150) + (600_006 + 60_000 + 225)


def test_fast_requests_cost_what_fast_costs(lab: Lab) -> None:
    lab.claude(A, said("m", A, usage={"input_tokens": 100, "output_tokens": 10, "speed": "fast"}))
    lab.sweep()
    assert lab.spent().cost == 2 * 750


@pytest.mark.parametrize(
    ("geo", "speed", "cost"),
    [("us", "standard", 825), ("us", "fast", 1650), ("not_available", None, 750), ("", None, 750), ("eu", None, 750)],
)
def test_a_request_that_was_bound_to_a_region_costs_a_tenth_more(
    lab: Lab, geo: str, speed: str | None, cost: int
) -> None:
    usage = {"input_tokens": 100, "output_tokens": 10, "speed": speed, "inference_geo": geo}
    lab.claude(A, said("m", A, usage=usage))
    lab.sweep()
    assert lab.spent().cost == cost


def test_web_searches_have_a_fee(lab: Lab) -> None:
    usage = {"input_tokens": 100, "output_tokens": 10, "server_tool_use": {"web_search_requests": 3}}
    lab.claude(A, said("m", A, usage=usage))
    lab.sweep()
    assert lab.spent().cost == 750 + 3 * 10_000


def test_a_cost_that_the_host_wrote_counts_unless_another_mode_is_asked_for(lab: Lab) -> None:
    lab.claude(A, said("m", A, costUSD=0.5), said("n", A))
    lab.sweep()
    costs = {mode: lab.spent(Wanted(mode=mode)).cost for mode in ("auto", CALCULATE, DISPLAY)}
    assert costs == {"auto": 500_750, CALCULATE: 1500, DISPLAY: 500_000}


def test_a_model_without_a_price_is_listed_and_costs_nothing(lab: Lab) -> None:
    from retro.ledger import reports

    lab.claude(A, said("m", A, model="claude-unheard-of-9"), said("n", A))
    lab.sweep()
    amount = reports.spent_between(lab.index, Wanted())
    assert (amount.requests, amount.tokens, amount.cost) == (2, 220, 750)
    assert (amount.unpriced_requests, amount.unpriced_tokens, amount.unpriced_models) == (
        1,
        110,
        {"claude-unheard-of-9"},
    )


def test_a_placeholder_that_was_never_corrected_is_a_lower_bound(lab: Lab) -> None:
    from retro.ledger import reports

    lab.claude(A, said("m", A, done=False), said("n", A, done=False), said("n", A, done=True))
    lab.sweep()
    assert reports.spent_between(lab.index, Wanted()).lower_bound_requests == 1


def test_json_that_is_not_compact_counts_the_same(lab: Lab) -> None:
    path = lab.claude(A)
    path.write_text(json.dumps(said("m", A), separators=(", ", " : ")) + "\n", "utf-8")
    lab.sweep()
    assert lab.spent() == ONE


@pytest.mark.parametrize("much", [10**15, 10**30, 1e300])
def test_numbers_below_zero_and_beyond_reason_do_no_harm(lab: Lab, much: float) -> None:
    odd = {"input_tokens": -5, "output_tokens": 10, "cache_read_input_tokens": much}
    lab.claude(A, said("m", A, usage=odd), said("n", A))
    lab.sweep()
    assert lab.spent().input == 100
    assert lab.spent().read in (0, 10**12)


@pytest.mark.parametrize(
    "odd",
    [
        {"speed": 1, "inference_geo": {"is": "us"}},
        {"service_tier": ["standard"], "server_tool_use": 3},
        {"cache_creation": [], "output_tokens_details": "none"},
        {"input_tokens": 100.0},
        {"input_tokens": "100"},
        {"iterations": [{"input_tokens": 5}], "cache_creation": None, "cache_creation_input_tokens": None},
    ],
)
def test_a_field_of_a_type_that_no_one_wrote_yet_costs_the_field_and_not_the_request(
    lab: Lab, odd: dict[str, object]
) -> None:
    lab.claude(A, said("m", A, usage={"input_tokens": 100, "output_tokens": 10, **odd}))
    lab.sweep()
    assert lab.spent() == ONE


# --- Codex -----------------------------------------------------------------------------------------------------------
# gpt-5.5, microdollars a token: input 5, cached 0.5, output 30; above 272,000: 10, 1, 45. Priority: 12.5, 1.25, 75.


def test_of_repeated_totals_only_the_advance_counts(lab: Lab) -> None:
    first, second = tokens(100, output=10), tokens(300, 50, 30, 5)
    lab.codex(
        T1,
        meta(T1),
        context("gpt-5.5"),
        count(first, first),
        count(first, first),
        count(None),
        count(second, tokens(200, 50, 20, 5)),
        count(second, tokens(200, 50, 20, 5)),
    )
    lab.sweep()
    assert lab.spent() == Spent(2, 250, 0, 0, 50, 30, 1250 + 25 + 900)


def test_a_total_that_falls_is_a_new_beginning(lab: Lab) -> None:
    lab.codex(T1, meta(T1), context("gpt-5.5"), count(tokens(1000, output=10)), count(tokens(300, output=20)))
    lab.sweep()
    assert lab.spent()[:6] == (2, 1300, 0, 0, 0, 30)


def test_the_running_total_counts_also_where_the_last_request_says_something_else(lab: Lab) -> None:
    """An event is missing, or says too much: the total has every request. ccusage takes what the last one says."""
    less, more = count(tokens(300, output=30), tokens(150, output=15)), count(tokens(400, output=40), tokens(250))
    lab.codex(T1, meta(T1), context("gpt-5.5"), count(tokens(100, output=10)), less, more)
    lab.sweep()
    assert lab.spent()[:6] == (3, 400, 0, 0, 0, 40)


def test_where_no_total_is_written_what_each_request_took_counts_once(lab: Lab) -> None:
    def last(given: int, output: int) -> dict[str, object]:
        return line("event_msg", {"type": "token_count", "info": {"last_token_usage": tokens(given, output=output)}})

    again = {**last(90, 9), "timestamp": LATER}  # at another moment it is another request
    lab.codex(T1, meta(T1), context("gpt-5.5"), last(70, 7), last(70, 7), last(90, 9), again)
    lab.sweep()
    assert lab.spent()[:6] == (3, 250, 0, 0, 0, 25)


def test_a_total_that_falls_out_of_place_adds_only_what_it_says_itself(lab: Lab) -> None:
    one, two, three = tokens(100, output=10), tokens(200, output=20), tokens(300, output=30)
    lab.codex(T1, meta(T1), context("gpt-5.5"), *(count(total, one) for total in (one, two, one, three)))
    lab.sweep()
    assert lab.spent()[:6] == (4, 400, 0, 0, 0, 40)


@pytest.mark.parametrize(
    ("odd", "spent"),
    [
        ({"input_tokens": "100"}, (1, 100, 0, 0, 0, 10)),
        ({"input_tokens": 100.0}, (1, 100, 0, 0, 0, 10)),
        ({"cached_input_tokens": -5}, (1, 100, 0, 0, 0, 10)),
        ({"cached_input_tokens": 500}, (1, 0, 0, 0, 100, 10)),
        ({"cached_input_tokens": None, "cache_read_input_tokens": 40}, (1, 60, 0, 0, 40, 10)),
        ({"reasoning_output_tokens": None}, (1, 100, 0, 0, 0, 10)),
    ],
)
def test_odd_counts_of_a_total_cost_no_request(lab: Lab, odd: dict[str, object], spent: tuple[int, ...]) -> None:
    used: Any = {**tokens(100, output=10), **odd}
    lab.codex(T1, meta(T1), context("gpt-5.5"), count(used, used))
    lab.sweep()
    assert lab.spent()[:6] == spent


def test_reasoning_is_a_part_of_output_and_never_added(lab: Lab) -> None:
    from retro.ledger import reports

    lab.codex(T1, meta(T1), context("gpt-5.5"), count(tokens(100, output=10, reasoning=8)))
    lab.sweep()
    amount = reports.spent_between(lab.index, Wanted())
    assert (amount.output, amount.reasoning, amount.tokens, amount.cost) == (10, 8, 110, 500 + 300)


def test_a_rollout_that_is_not_compact_counts_the_same(lab: Lab) -> None:
    path = lab.codex(T1)
    records = [meta(T1), context("gpt-5.5"), count(tokens(100, output=10))]
    path.write_text("".join(json.dumps(record, separators=(", ", " : ")) + "\n" for record in records), "utf-8")
    lab.sweep()
    assert lab.spent()[:6] == (1, 100, 0, 0, 0, 10)


def test_a_rollout_that_was_archived_by_a_copy_counts_once(lab: Lab) -> None:
    path = lab.codex(T1, meta(T1), context("gpt-5.5"), count(tokens(100, output=10)))
    archived = lab.codex_home / "archived_sessions" / path.name
    archived.parent.mkdir()
    archived.write_bytes(path.read_bytes())
    lab.sweep()
    assert lab.spent()[:6] == (1, 100, 0, 0, 0, 10)


def test_cache_writes_are_a_part_of_input(lab: Lab) -> None:
    lab.codex(T1, meta(T1), context("gpt-5.5"), count(tokens(100, 30, 10, written=20)))
    lab.sweep()
    assert lab.spent()[:6] == (1, 50, 20, 0, 30, 10)


def test_a_total_that_includes_the_parent_s_counts_from_there(lab: Lab) -> None:
    lab.codex(
        T1, meta(T1, forked_from_id=T2), context("gpt-5.5"), count(tokens(9000, output=90), tokens(100, output=10))
    )
    lab.sweep()
    assert lab.spent()[:6] == (1, 100, 0, 0, 0, 10)


def test_where_each_request_has_a_record_the_totals_are_not_counted(lab: Lab) -> None:
    first, second = tokens(100, output=10), tokens(50, output=5)
    lab.codex(
        T1,
        meta(T1),
        context("gpt-5.5"),
        recorded(T1, 3, first),
        count(first, first),
        recorded(T1, 5, second),
        count(tokens(150, output=15), second),
    )
    lab.sweep()
    assert lab.spent()[:6] == (2, 150, 0, 0, 0, 15)


def test_a_fork_by_copy_adds_only_what_is_its_own(lab: Lab) -> None:
    history = [context("gpt-5.5"), count(tokens(100, output=10)), count(tokens(300, output=30))]
    lab.codex(T1, meta(T1), *history)
    again = [{**record, "timestamp": LATER} for record in (meta(T1), *history)]
    lab.codex(T2, meta(T2, LATER, forked_from_id=T1), *again, count(tokens(350, output=35), at=LATER))
    lab.sweep()
    assert lab.by_session() == {T1: Spent(2, 300, 0, 0, 0, 30, 2400), T2: Spent(1, 50, 0, 0, 0, 5, 400)}


@pytest.mark.parametrize("spawned", [True, False])
def test_a_copied_history_without_the_parent_s_own_first_record_adds_nothing(lab: Lab, spawned: bool) -> None:
    history = [context("gpt-5.5"), count(tokens(100, output=10)), count(tokens(300, output=30))]
    lab.codex(T1, meta(T1), *history, count(tokens(900, output=90), at="2026-02-01T12:00:00.000Z"))
    spawn = {"source": {"subagent": {"thread_spawn": {"parent_thread_id": T1, "depth": 1}}}} if spawned else {}
    copied = [{**record, "timestamp": LATER} for record in history]
    own = meta(T2, LATER, forked_from_id=T1, **spawn)
    lab.codex(T2, own, *copied, count(tokens(350, output=35), at=LATER))
    lab.sweep()
    assert lab.spent()[:6] == (4, 950, 0, 0, 0, 95)
    assert lab.spent(Wanted(own_only=True))[:3] == ((3, 900, 0) if spawned else (4, 950, 0))


def test_a_fork_whose_origin_is_gone_holds_what_it_copied(lab: Lab) -> None:
    """They were billed, and no other copy of them is left. ccusage leaves them out."""
    history = [context("gpt-5.5", LATER), count(tokens(100, output=10), at=LATER)]
    lab.codex(T2, meta(T2, LATER, forked_from_id=T1), *history, count(tokens(150, output=15), at=LATER))
    lab.sweep()
    assert lab.by_session() == {T2: Spent(2, 150, 0, 0, 0, 15, 1200)}


def test_records_of_requests_that_are_copied_under_other_numbers_add_nothing(lab: Lab) -> None:
    first = recorded(T1, 3, tokens(100, output=10))
    lab.codex(T1, meta(T1), context("gpt-5.5"), first)
    lab.codex(T2, meta(T2, LATER, forked_from_id=T1), meta(T1), context("gpt-5.5"), {**first, "ordinal": 7})
    lab.sweep()
    assert {name: spent[:6] for name, spent in lab.by_session().items()} == {T1: (1, 100, 0, 0, 0, 10)}


def test_a_fork_by_reference_adds_only_what_is_its_own(lab: Lab) -> None:
    lab.codex(T1, meta(T1), context("gpt-5.5"), recorded(T1, 3, tokens(100, output=10)))
    base = {"history_base": {"thread_id": T1, "end_ordinal_exclusive": 4, "end_byte_offset": 900}, "forked_from_id": T1}
    own = tokens(50, output=5)
    lab.codex(T2, meta(T2, LATER, **base), context("gpt-5.5"), recorded(T2, 5, own), count(tokens(150, output=15), own))
    lab.sweep()
    assert {name: spent[:6] for name, spent in lab.by_session().items()} == {
        T1: (1, 100, 0, 0, 0, 10),
        T2: (1, 50, 0, 0, 0, 5),
    }


def test_a_sub_agent_that_replays_its_parent_adds_only_its_own_and_is_rolled_up(lab: Lab) -> None:
    parent = [meta(T1), context("gpt-5.5"), recorded(T1, 2, tokens(100, output=10))]
    numbered = [{**record, "ordinal": place} for place, record in enumerate(parent)]
    lab.codex(T1, *numbered)
    spawn = {"source": {"subagent": {"thread_spawn": {"parent_thread_id": T1, "depth": 1}}}}
    own = {**meta(T2, LATER, **spawn, subagent_history_start_ordinal=4), "ordinal": 0}
    copied = [{**record, "ordinal": place + 1} for place, record in enumerate(parent)]
    lab.codex(T2, own, *copied, recorded(T2, 5, tokens(50, output=5), LATER))
    lab.sweep()
    assert (lab.spent()[:6], lab.spent(Wanted(own_only=True))[:6]) == ((2, 150, 0, 0, 0, 15), (1, 100, 0, 0, 0, 10))
    assert {name: spent[:6] for name, spent in lab.by_session().items()} == {T1: (2, 150, 0, 0, 0, 15)}
    assert {name: spent[:6] for name, spent in lab.by_session(Wanted(own_only=True)).items()} == {
        T1: (1, 100, 0, 0, 0, 10)
    }


def test_the_model_of_a_request_is_that_of_its_turn(lab: Lab) -> None:
    from retro.ledger import reports

    lab.codex(
        T1,
        meta(T1),
        context("gpt-5.5"),
        count(tokens(100)),
        context("gpt-5.4", turn_id="t2"),
        count(tokens(300)),
    )
    lab.sweep()
    models = reports.spent_between(lab.index, Wanted()).models
    assert {name: share.input for name, share in models.items()} == {"gpt-5.5": 100, "gpt-5.4": 200}


def test_a_band_of_codex_is_that_of_one_request_not_of_the_total(lab: Lab) -> None:
    lab.codex(T1, meta(T1), context("gpt-5.5"), count(tokens(272_000)), count(tokens(272_000 + 272_001)))
    lab.sweep()
    assert lab.spent().cost == 272_000 * 5 + 272_001 * 10


@pytest.mark.parametrize(
    ("tier", "cost"), [("priority", 1250 + 750), ("fast", 2000), ("flex", 250 + 150), ("default", 800)]
)
def test_tiers_have_their_own_prices(lab: Lab, tier: str, cost: int) -> None:
    lab.codex(T1, meta(T1), context("gpt-5.5", service_tier=tier), count(tokens(100, output=10)))
    lab.sweep()
    assert lab.spent().cost == cost


def test_a_request_without_an_event_of_its_own_is_not_lost_when_it_is_the_last(lab: Lab) -> None:
    path = lab.codex(T1, meta(T1), context("gpt-5.5"))
    lab.sweep()
    with path.open("a") as file:
        file.write(json.dumps(count(tokens(100, output=10))) + "\n")
    lab.sweep()
    assert lab.spent()[:6] == (1, 100, 0, 0, 0, 10)


def test_requests_of_rollouts_that_name_no_model_are_its_default_s_and_say_so(lab: Lab) -> None:
    from retro.ledger import reports

    lab.codex(T1, meta(T1), count(tokens(100, output=10)))
    lab.sweep()
    amount = reports.spent_between(lab.index, Wanted())
    assert (list(amount.models), amount.cost, amount.fallback_requests) == (["gpt-5"], 125 + 100, 1)


# --- prices ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("day", "cost"), [("2026-03-12", 2_000_010 + 375), ("2026-03-13", 1_000_005 + 250)])
def test_the_price_that_was_true_on_its_day_counts(lab: Lab, day: str, cost: int) -> None:
    """Until then a context over 200,000 tokens cost twice as much: 10 and 37.5 instead of 5 and 25."""
    usage = {"input_tokens": 200_001, "output_tokens": 10}
    lab.claude(A, said("m", A, model="claude-opus-4-6", usage=usage, at=f"{day}T10:00:00.000Z"))
    lab.sweep()
    assert lab.spent().cost == cost


def test_a_half_microdollar_goes_to_the_even_one(lab: Lab) -> None:
    usage = {"input_tokens": 0, "output_tokens": 0, "cache_read_input_tokens": 1}  # half a microdollar
    more = {"input_tokens": 0, "output_tokens": 0, "cache_read_input_tokens": 3}
    lab.claude(A, said("m", A, usage=usage), said("n", A, usage=more))
    lab.sweep()
    assert lab.spent().cost == 0 + 2


# --- where ccusage says something else -------------------------------------------------------------------------------


def test_lines_of_a_message_without_a_request_id_are_one_request(lab: Lab) -> None:
    """ccusage counts each of the lines."""
    lab.claude(
        A, said("m", A, request=None), said("m", A, request=None, uuid="2"), said("m", A, request=None, uuid="3")
    )
    lab.sweep()
    assert lab.spent() == ONE


def test_a_long_context_of_cache_reads_is_priced_by_its_band(lab: Lab) -> None:
    """ccusage prices each kind of token for itself, and only what of it is above 200,000."""
    usage = {"input_tokens": 10, "cache_read_input_tokens": 190_000, "output_tokens": 10}
    usage["cache_creation_input_tokens"] = 10_000
    lab.claude(A, said("m", A, model="claude-sonnet-4-20250514", usage=usage))
    lab.sweep()
    assert lab.spent().cost == 60 + 114_000 + 75_000 + 225  # 6, 0.6, 7.5, 22.5


def test_a_sub_agent_s_line_with_more_output_counts_before_the_session_s_own(lab: Lab) -> None:
    """ccusage takes the line that is no sub-agent's, whatever it says."""
    lab.claude(A, said("m", A, isSidechain=True, output=10), said("m", A, output=5, at=LATER))
    lab.sweep()
    assert lab.spent() == ONE


def test_requests_without_a_model_or_a_time_are_listed(lab: Lab) -> None:
    """ccusage leaves them out."""
    timeless = {name: value for name, value in said("m", A).items() if name != "timestamp"}
    nameless = said("n", A, model="")
    lab.claude(A, timeless, nameless)
    lab.sweep()
    assert lab.by_day() == {None: ONE, "2026-02-01": Spent(1, 100, 0, 0, 0, 10, 0)}


def test_a_file_of_a_sub_agent_beside_the_sessions_is_that_session_s(lab: Lab) -> None:
    """So it was until 2.0. ccusage lists it as a session of its own."""
    lab.claude(A, said("m", A))
    lab.claude("agent-a1", said("s", A, isSidechain=True, agentId="a1"))
    lab.sweep()
    assert (lab.by_session(), lab.by_session(Wanted(own_only=True))) == ({A: times(ONE, 2)}, {A: ONE})


def test_a_model_whose_name_only_holds_another_s_has_no_price(lab: Lab) -> None:
    """ccusage finds `gpt-5` in it."""
    from retro.ledger import reports

    lab.codex(T1, meta(T1), context("aide-gpt-5"), count(tokens(100, output=10)))
    lab.sweep()
    amount = reports.spent_between(lab.index, Wanted())
    assert (amount.cost, amount.unpriced_tokens, amount.unpriced_models) == (0, 110, {"aide-gpt-5"})


def test_of_two_sessions_with_the_same_messages_and_beginning_the_smallest_id_has_them(lab: Lab) -> None:
    """Both began at the same time: the smallest id has them; ccusage takes the file that it reads first."""
    lab.claude(B, said("m", B))
    lab.claude(A, said("m", A))
    lab.sweep()
    assert lab.by_session() == {A: ONE}
