"""What the real Copilot CLI was made to do is in the archive, once and in order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from live.conftest import Give
from live.copilot_plays import AGENT, CARRY_ON, FAIL, FILL, FIX, REMAINS, SLOW, STOP, SUMMARY, TASK, lanes
from live.performance import Performance
from live.recording import results, story
from live.script import Deed
from retro.event import Event, EventType

pytestmark = pytest.mark.live


@pytest.fixture
def work(give: Give) -> Performance:
    """A day's work, with sweeps beside it."""
    return give("copilot")


def turn(play: Performance, prompt: str) -> list[Deed]:
    """What a session shows of a prompt."""
    return next(lane for lane in lanes(play.project) if lane.words == prompt).turn(prompt)


def of_type(events: list[Event], event_type: EventType) -> list[Event]:
    return [event for event in events if event.event_type is event_type]


def test_the_client_did_what_it_was_told(work: Performance) -> None:
    ended = {"work": [0, 0, 0, 0, 0], "full": [0], "failed": [1], "stopped": [0], "killed": [-9]}
    assert work.exit_codes() == ended
    assert "/ len(xs)" in (work.project / "calc.py").read_text("utf-8")
    asked = {(one.lane, one.number) for one in work.recording.served}
    script = {(one.words, number) for one in lanes(Path()) for number in range(len(one.replies))}
    assert (script - asked, {words for words, _ in asked} & {""}) == (set(), set())


def test_every_sweep_beside_the_client_went_well(work: Performance) -> None:
    sweeps = work.sweeps()
    assert sum(one["ingested"] for one in sweeps) == len(work.recording.sessions)
    assert work.passing() == []


def test_all_that_was_typed_done_and_said_is_there_once_and_in_order(work: Performance) -> None:
    assert {name: story(events) for name, events in work.events("end").items()} == {
        "work": [deed for prompt in (FIX, REMAINS, AGENT, CARRY_ON) for deed in turn(work, prompt)],
        "full": turn(work, FILL),
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
    said = ("1 failed", "1 passed", "committed-42")
    assert [text in back for text, (_, _, back) in zip(said, found, strict=True)] == [True] * 3
    for session, said_there in (("killed", "begun"), ("stopped", "started")):
        ((_, code, back),) = results(work.events("end")[session])
        assert (code, said_there in back) == (0, True)


def test_the_last_answer_is_what_the_client_printed(work: Performance) -> None:
    for session in ("work", "full"):
        records = [json.loads(line) for line in work.recording.printed(session)[-1].splitlines() if line[:1] == "{"]
        printed = [record["data"]["content"] for record in records if record["type"] == "assistant.message"]
        assert story(work.events("end")[session])[-1] == Deed("answer", printed[-1])


def test_each_compaction_is_there_once_with_its_summary(work: Performance) -> None:
    for session in ("work", "full"):
        assert [event.text for event in of_type(work.events("end")[session], EventType.COMPACTION)] == [SUMMARY]


def test_a_refused_request_is_an_error(work: Performance) -> None:
    errors = [event.text or "" for event in of_type(work.events("end")["failed"], EventType.ERROR)]
    assert ["Refused on purpose" in error for error in errors] == [True]


def test_many_sweeps_beside_give_what_one_at_the_end_gives(work: Performance, tmp_path: Path) -> None:
    assert work.seen_at_once(tmp_path / "archive") == work.events("end")
    assert work.rewritten() == []


def test_tokens_are_those_that_the_model_handed_out(work: Performance, tmp_path: Path) -> None:
    counted = [
        (one.input_tokens, one.cache_read_tokens, one.output_tokens, one.reasoning_tokens)
        for one in work.counted(tmp_path / "archive").values()
    ]
    handed_out = [
        (one.tokens.fresh, one.tokens.cached, one.tokens.output, one.tokens.reasoning)
        for one in work.recording.served
        if one.tokens
    ]
    assert sorted(counted) == sorted(handed_out)
