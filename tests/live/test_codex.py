"""What the real Codex was made to do is in the archive, once and in order; and deleted rollouts can be resumed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from live.codex_plays import (
    AFTER,
    AGENT,
    AT_LAST,
    CARRY_ON,
    CLASSIC,
    CODE_MODE,
    COMPACTED,
    FAIL,
    FILL,
    FIX,
    FORK,
    REMAINS,
    SLOW,
    STOP,
    TASK,
    lane,
    lanes,
)
from live.conftest import Give
from live.performance import Performance
from live.recording import results, story
from live.script import Deed
from retro import agents
from retro.event import Actor, EventType, Origin

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif("codex" not in agents.MODULES, reason="retro cannot read Codex yet"),
]


@pytest.fixture
def work(give: Give) -> Performance:
    """A day's work, with sweeps beside it."""
    return give("codex")


@pytest.fixture
def restored(give: Give) -> Performance:
    """A thread whose rollout was deleted and restored, twice."""
    return give("codex-restored")


def turn(play: Performance, prompt: str, model: str = CODE_MODE) -> list[Deed]:
    """What a session shows of a prompt."""
    return lane(prompt, model, play.project).turn(prompt)


def test_the_client_did_what_it_was_told(work: Performance) -> None:
    went_well = {"code": [0, 0], "fork": [0], "classic": [0, 0, 0], "led": [0]}
    assert work.exit_codes() == {**went_well, "failed": [1], "stopped": [1], "killed": [-9]}
    assert "/ len(xs)" in (work.project / "calc.py").read_text("utf-8")
    asked = {(one.lane, one.number) for one in work.recording.served}
    script = {(one.words, number) for one in lanes(Path()) for number in range(len(one.replies))}
    assert {words for words, _ in script - asked} == {AFTER, AT_LAST}
    assert "" not in {words for words, _ in asked}


def test_every_sweep_beside_the_client_went_well(work: Performance) -> None:
    sweeps = work.sweeps()
    assert sum(one["ingested"] for one in sweeps) == len(work.recording.sessions)
    assert sum(one["appended"] for one in sweeps) > 0


def test_all_that_was_typed_done_and_said_is_there_once_and_in_order(work: Performance) -> None:
    full = turn(work, FILL, CLASSIC) + turn(work, COMPACTED, CLASSIC)[1:]
    assert {name: story(events) for name, events in work.events("end").items()} == {
        "code": turn(work, FIX) + turn(work, REMAINS),
        "fork": turn(work, FORK),
        "classic": turn(work, FIX, CLASSIC) + full + turn(work, CARRY_ON, CLASSIC),
        "led": turn(work, AGENT),
        "agent": turn(work, TASK)[1:],
        "failed": [Deed("prompt", FAIL)],
        "stopped": turn(work, STOP, CLASSIC),
        "killed": turn(work, SLOW, CLASSIC),
    }


@pytest.mark.parametrize("session", ["code", "classic"])
def test_every_command_has_its_result(work: Performance, session: str) -> None:
    found = results(work.events("end")[session])[:4]
    assert [code for _, code, _ in found] == [1, 0, 0, 0]
    said = ("1 failed", "1 passed", " M calc.py", "committed-42")
    assert [text in back for text, (_, _, back) in zip(said, found, strict=True)] == [True] * 4


@pytest.mark.parametrize(("session", "said"), [("killed", "begun"), ("stopped", "started")])
def test_a_command_before_the_end_has_its_result(work: Performance, session: str, said: str) -> None:
    ((command, code, back),) = results(work.events("end")[session])
    assert (command, code, back.splitlines()[-1]) == (f"echo {said}", 0, said)


def test_an_interrupt_is_told_and_nobody_typed_it(work: Performance) -> None:
    last = work.events("end")["stopped"][-1]
    assert (last.origin, last.text) == (Origin.MACHINE, "the turn was aborted: interrupted")


def test_a_sub_agent_is_a_session_of_its_own_below_the_call_that_started_it(work: Performance) -> None:
    led, agent = (work.events("end")[name] for name in ("led", "agent"))
    (call,) = (event for event in led if event.event_type is EventType.SUBAGENT_START)
    (end,) = (event for event in led if event.event_type is EventType.SUBAGENT_END)
    assert (call.text, (end.payload or {})["agent_id"]) == (TASK, work.recording.sessions["agent"])
    (task,) = (event for event in agent if event.origin is Origin.AGENT)
    assert (task.actor, agent.index(task)) == (Actor.USER, 1)
    ((command, code, back),) = results(agent)
    assert (command, code, "def mean" in back) == ("cat calc.py", 0, True)


def test_the_last_answer_is_what_the_client_printed(work: Performance) -> None:
    for session in ("code", "fork", "classic"):
        items = [json.loads(line).get("item", {}) for line in work.recording.printed(session)[-1].splitlines()]
        printed = [item["text"] for item in items if item.get("type") == "agent_message"]
        assert story(work.events("end")[session])[-1] == Deed("answer", printed[-1])


def test_a_compaction_is_there_once(work: Performance) -> None:
    assert [event.event_type for event in work.events("end")["classic"]].count(EventType.COMPACTION) == 1


def test_a_refused_request_is_an_error(work: Performance) -> None:
    errors = [event.text or "" for event in work.events("end")["failed"] if event.event_type is EventType.ERROR]
    assert ["Refused on purpose" in error for error in errors] == [True]


def test_a_fork_knows_where_it_began(work: Performance) -> None:
    parents = {name: session.parent for name, session in work.sessions().items() if session.parent}
    of = work.recording.sessions
    assert parents == {"fork": of["code"], "agent": of["led"]}


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


def test_restore_gives_back_the_very_bytes(restored: Performance) -> None:
    before = restored.files("before", "code")
    assert [Path(name).parts[0] for name in before if name.endswith(".jsonl")] == ["sessions"]
    assert [name for name in restored.files("deleted", "code") if name.endswith(".jsonl")] == []
    assert restored.files("restored", "code") == before


def test_the_client_goes_on_with_a_restored_session(restored: Performance) -> None:
    first, _ = restored.recording.served_under(AFTER)
    for text in (FIX, "Fixed mean() and committed it.", REMAINS, "Nothing remains.", AFTER):
        assert first.heard.count(text) == 1, text
    before, after = restored.files("before", "code"), restored.files("resumed", "code")
    assert after.keys() == before.keys()
    for name, content in before.items():
        assert after[name].startswith(content)
        assert len(after[name]) > len(content)


def test_the_client_goes_on_even_without_its_databases(restored: Performance) -> None:
    (asked,) = restored.recording.served_under(AT_LAST)
    for text in (FIX, REMAINS, AFTER, "That is all I know.", AT_LAST):
        assert asked.heard.count(text) == 1, text


def test_a_sweep_appends_to_a_restored_session(restored: Performance) -> None:
    moments = [events["code"] for events in restored.recording.events.values()]
    told = turn(restored, FIX) + turn(restored, REMAINS)
    assert [story(events) for events in moments] == [
        told,
        told + turn(restored, AFTER),
        told + turn(restored, AFTER) + turn(restored, AT_LAST),
    ]
    assert moments[1][: len(moments[0])] == moments[0]
    assert moments[2][: len(moments[1])] == moments[1]
    assert restored.rewritten() == []
    assert [(one["ingested"], one["appended"]) for one in restored.sweeps()] == [(1, 0), (0, 0), (0, 1), (0, 1), (0, 0)]
