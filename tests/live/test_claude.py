"""What the real Claude Code was made to do is in the archive, once and in order; and what it deleted can be resumed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from live.claude_plays import (
    AFTER,
    AGENT,
    CARRY_ON,
    COMPACT,
    FAIL,
    FIX,
    FORK,
    OTHER,
    REMAINS,
    SLOW,
    STOP,
    TASK,
    lane,
    lanes,
)
from live.conftest import Give
from live.performance import Performance
from live.protocols import Tokens
from live.recording import results, story
from live.script import Deed
from retro.event import EventType, Origin

pytestmark = pytest.mark.live


@pytest.fixture
def work(give: Give) -> Performance:
    """A day's work, with sweeps beside it."""
    return give("claude")


@pytest.fixture
def restored(give: Give) -> Performance:
    """A session that the client deleted, restored and resumed."""
    return give("claude-restored")


def turn(play: Performance, prompt: str) -> list[Deed]:
    """What a session shows of a prompt."""
    return lane(prompt, play.project).turn(prompt)


def test_the_client_did_what_it_was_told(work: Performance) -> None:
    assert work.exit_codes() == {"work": [0] * 5, "fork": [0], "failed": [1], "stopped": [0], "killed": [-9]}
    assert "/ len(xs)" in (work.project / "calc.py").read_text("utf-8")
    asked = {(one.lane, one.number) for one in work.recording.served}
    script = {(one.words, number) for one in lanes(Path()) for number in range(len(one.replies))}
    assert script - asked == {
        (one.words, n) for one in lanes(Path()) if one.words in (AFTER, OTHER) for n in range(len(one.replies))
    }
    assert "" not in {lane for lane, _ in asked}


def test_every_sweep_beside_the_client_went_well(work: Performance) -> None:
    sweeps = work.sweeps()
    assert sum(one["ingested"] for one in sweeps) == len(work.recording.sessions)
    assert sum(one["appended"] for one in sweeps) > 0


def test_a_file_about_to_be_renamed_is_no_source(work: Performance) -> None:
    assert work.passing() == []


def test_all_that_was_typed_done_and_said_is_there_once_and_in_order(work: Performance) -> None:
    began = turn(work, FIX) + turn(work, REMAINS) + turn(work, AGENT)
    assert {name: story(events) for name, events in work.events("end").items()} == {
        "work": [*began, Deed("prompt", COMPACT), *turn(work, CARRY_ON)],
        "fork": began + turn(work, FORK),
        "failed": [Deed("prompt", FAIL)],
        "stopped": turn(work, STOP),
        "killed": turn(work, SLOW),
    }


def test_what_a_sub_agent_did_is_its_own(work: Performance) -> None:
    events = work.events("end")["work"]
    agents = {event.agent_id for event in events if event.agent_id}
    assert [story(events, agent) for agent in agents] == [turn(work, TASK)[1:]]


def test_every_command_has_its_result(work: Performance) -> None:
    found = results(work.events("end")["work"])
    assert [code for _, code, _ in found] == [1, 0, 0]
    assert ["1 failed" in found[0][2], "1 passed" in found[1][2], found[2][2]] == [True, True, "committed-42"]
    assert results(work.events("end")["killed"]) == [("echo begun", 0, "begun")]
    assert results(work.events("end")["stopped"]) == [("echo started", 0, "started")]


def test_the_last_answer_is_what_the_client_printed(work: Performance) -> None:
    for session in ("work", "fork"):
        printed = json.loads(work.recording.printed(session)[-1])["result"]
        assert story(work.events("end")[session])[-1] == Deed("answer", printed)


def test_a_compaction_is_there_once(work: Performance) -> None:
    assert [event.event_type for event in work.events("end")["work"]].count(EventType.COMPACTION) == 1


def test_a_refused_request_is_an_error(work: Performance) -> None:
    errors = [event.text or "" for event in work.events("end")["failed"] if event.event_type is EventType.ERROR]
    assert len(errors) == len(work.recording.served_under(FAIL))
    assert all("529" in error for error in errors)


def test_a_fork_knows_where_it_began(work: Performance) -> None:
    parents = {name: session.parent for name, session in work.sessions().items()}
    assert {name: parent for name, parent in parents.items() if parent} == {"fork": work.recording.sessions["work"]}


def test_an_interrupt_is_told_and_nobody_typed_it(work: Performance) -> None:
    last = work.events("end")["stopped"][-1]
    assert (last.origin, last.text) == (Origin.MACHINE, "[Request interrupted by user]")


def test_many_sweeps_beside_give_what_one_at_the_end_gives(work: Performance, tmp_path: Path) -> None:
    assert work.seen_at_once(tmp_path / "archive") == work.events("end")
    assert work.rewritten() == []


def test_tokens_are_those_that_the_model_handed_out(work: Performance, tmp_path: Path) -> None:
    counted = {
        name: Tokens(
            one.input_tokens,
            one.cache_write_5m_tokens,
            one.cache_write_1h_tokens,
            one.cache_read_tokens,
            one.output_tokens,
            one.reasoning_tokens,
        )
        for name, one in work.counted(tmp_path / "archive").items()
    }
    assert counted == {one.identity: one.tokens for one in work.recording.served if one.tokens and not one.aside}


def test_restore_gives_back_the_very_bytes_that_the_client_deleted(restored: Performance) -> None:
    before = restored.files("before", "work")
    assert sum(name.endswith(".jsonl") for name in before) == 2
    assert restored.files("deleted", "work") == {}
    assert restored.files("restored", "work") == before


def test_the_client_keeps_what_was_restored(restored: Performance) -> None:
    assert restored.files("kept", "work") == restored.files("before", "work")


def test_the_client_goes_on_with_a_restored_session(restored: Performance) -> None:
    first, _ = restored.recording.served_under(AFTER)
    for text in (FIX, "Fixed mean() and committed it.", AGENT, "The agent says that all is well.", AFTER):
        assert first.heard.count(text) == 1, text
    before, after = restored.files("before", "work"), restored.files("resumed", "work")
    transcript = next(name for name in before if name.endswith(f"{restored.recording.sessions['work']}.jsonl"))
    assert after.keys() == before.keys()
    assert {name for name in before if after[name] != before[name]} == {transcript}
    assert after[transcript].startswith(before[transcript])


def test_a_sweep_appends_to_a_restored_session(restored: Performance) -> None:
    before, after = restored.events("before")["work"], restored.events("after")["work"]
    assert after[: len(before)] == before
    assert story(after) == turn(restored, FIX) + turn(restored, AGENT) + turn(restored, AFTER)
    assert restored.rewritten() == []
    assert [(one["ingested"], one["appended"]) for one in restored.sweeps()] == [(1, 0), (1, 0), (1, 1), (0, 0)]
