"""What the real Grok Build was made to do is in the archive, once and in order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from live.conftest import Give
from live.grok_plays import AGENT, CARRY_ON, COMPACT, FAIL, FIX, FORK, REMAINS, SLOW, STOP, SUMMARY, TASK, lanes
from live.performance import Performance
from live.recording import results, story
from live.script import Deed
from retro.event import Event, EventType

pytestmark = pytest.mark.live


@pytest.fixture
def work(give: Give) -> Performance:
    """A day's work, with sweeps beside it."""
    return give("grok")


def turn(play: Performance, prompt: str) -> list[Deed]:
    """What a session shows of a prompt."""
    return next(lane for lane in lanes(play.project) if lane.words == prompt).turn(prompt)


def of_type(events: list[Event], event_type: EventType) -> list[Event]:
    return [event for event in events if event.event_type is event_type]


def test_the_client_did_what_it_was_told(work: Performance) -> None:
    codes = {"work": [0, 0, 0, 0, 0], "fork": [0], "failed": [1], "stopped": [-2], "killed": [-9]}
    assert work.exit_codes() == codes
    assert "/ len(xs)" in (work.project / "calc.py").read_text("utf-8")
    asked = {(one.lane, one.number) for one in work.recording.served}
    script = {(one.words, number) for one in lanes(Path()) for number in range(len(one.replies))}
    assert (script - asked, {words for words, _ in asked} & {""}) == (set(), set())


def test_every_sweep_beside_the_client_went_well(work: Performance) -> None:
    sweeps = work.sweeps()
    assert sum(one["ingested"] for one in sweeps) == len(work.recording.sessions)
    assert work.passing() == []


def test_all_that_was_typed_done_and_said_is_there_once_and_in_order(work: Performance) -> None:
    began = [deed for prompt in (FIX, REMAINS, AGENT) for deed in turn(work, prompt)]
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
    said = ("1 failed", "1 passed", "committed-42")
    assert [text in back for text, (_, _, back) in zip(said, found, strict=True)] == [True] * 3


def test_the_last_answer_is_what_the_client_printed(work: Performance) -> None:
    for session in ("work", "fork"):
        printed = json.loads(work.recording.printed(session)[-1])["text"]
        assert printed.endswith(story(work.events("end")[session])[-1].what)


def test_a_compaction_is_there_once_with_its_summary(work: Performance) -> None:
    events = work.events("end")["work"]
    assert len(of_type(events, EventType.COMPACTION)) == 1
    kinds = [event for event in events if (event.payload or {}).get("kind") == "compact_summary"]
    assert [SUMMARY.strip() in (event.text or "") for event in kinds] == [True]


def test_a_refused_request_is_an_error(work: Performance) -> None:
    errors = [event.text or "" for event in of_type(work.events("end")["failed"], EventType.ERROR)]
    assert ["Refused on purpose" in error for error in errors] == [True]


def test_a_fork_knows_where_it_began(work: Performance) -> None:
    parents = {name: session.parent for name, session in work.sessions().items() if session.parent}
    assert parents == {"fork": work.recording.sessions["work"]}


def test_many_sweeps_beside_give_what_one_at_the_end_gives(work: Performance, tmp_path: Path) -> None:
    """But for messages to the model, which a compaction takes away: the sweeps beside saw more of them."""
    ended, seen = work.events("end"), work.seen_at_once(tmp_path / "archive")
    assert {name: logged(events) for name, events in seen.items()} == {
        name: logged(events) for name, events in ended.items()
    }
    for name, events in seen.items():
        assert {event.event_id for event in events} <= {event.event_id for event in ended[name]}
    assert work.rewritten() == []


def logged(events: list[Event]) -> list[Event]:
    """The events that do not come from messages to the model."""
    return [event for event in events if not event.source.endswith("messages")]


def test_tokens_are_those_that_the_model_handed_out(work: Performance, tmp_path: Path) -> None:
    """Grok tells the tokens of a turn as a whole, and of a turn that was broken off none."""
    told = [one for one in work.recording.served if not one.aside and one.lane not in (STOP, SLOW)]
    handed_out = [one.tokens for one in told if one.tokens]
    counted = work.counted(tmp_path / "archive").values()
    assert sum(one.input_tokens for one in counted) == sum(one.fresh for one in handed_out)
    assert sum(one.cache_read_tokens for one in counted) == sum(one.cached for one in handed_out)
    assert sum(one.output_tokens for one in counted) == sum(one.output for one in handed_out)
    assert sum(one.reasoning_tokens for one in counted) == sum(one.reasoning for one in handed_out)
