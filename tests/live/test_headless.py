"""The real Codex and Claude Code, asked what a session teaches: once, kept apart, and never believed blindly."""

from __future__ import annotations

import json
from typing import Any

import pytest

from live.conftest import Give
from live.mining_plays import ASKED, GIVEN
from live.performance import Performance

pytestmark = pytest.mark.live


@pytest.fixture(params=["claude", "codex"])
def asked(request: pytest.FixtureRequest, give: Give) -> Performance:
    """A session that was asked about."""
    return give(f"{request.param}-headless")


def answers(play: Performance) -> list[dict[str, Any]]:
    """What the commands printed: the dry run, the question, and the same again."""
    return [json.loads(printed) for printed in play.recording.printed("asked")]


def test_a_dry_run_shows_the_question_that_is_asked_then_and_never_again(asked: Performance) -> None:
    (question,) = answers(asked)[0]["questions"]
    (served,) = asked.recording.served_under(ASKED)
    assert question["prompt"].strip() in "\n".join(served.heard)
    assert asked.exit_codes()["asked"] == [0, 0, 0]


def test_what_is_founded_is_a_candidate_and_what_is_made_up_is_not(asked: Performance) -> None:
    first, again = answers(asked)[1:]
    assert [one["text"] for one in first["candidates"]] == [GIVEN]
    assert again["candidates"] == first["candidates"]
    (ref,) = first["candidates"][0]["evidence_refs"]
    events = {event.event_id: event for event in asked.events("end")["work"]}
    assert ref["quote"] in (events[ref["event_id"]].text or "")


def test_the_stream_is_kept_and_the_question_leaves_no_session(asked: Performance) -> None:
    session = asked.recording.sessions["work"]
    folder = asked.folder / "archive" / "headless" / f"{asked.host}_headless" / asked.host
    lines = (folder / f"{session}.{asked.host}.jsonl").read_text("utf-8").splitlines()
    assert len([json.loads(line) for line in lines]) >= 3
    receipt = json.loads((folder / f"{session}.{asked.host}.json").read_bytes())
    assert (receipt["exit_code"], receipt["lessons"], receipt["output_tokens"] > 0) == (0, 1, True)
    assert [sweep["ingested"] for sweep in asked.sweeps()] == [1, 0]
    assert asked.recording.elsewhere == []
