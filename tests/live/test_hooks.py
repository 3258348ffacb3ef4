"""What `retro hooks` puts into the settings of the real clients makes them tell when a session ends, and goes again.

With `--weave` it also puts memories before the model, where one speaks to the prompt; and their use is credited later.
"""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from live.claude_plays import FIX, REMAINS
from live.conftest import Give
from live.performance import Performance
from live.recording import story
from retro.index.database import open_writer
from retro.memory import crediting, store
from retro.places import Places

pytestmark = pytest.mark.live


@pytest.fixture(params=["claude", "codex", "copilot", "gemini"])
def hooked(request: pytest.FixtureRequest, give: Give) -> Performance:
    """A session with hooks, and one without them."""
    return give(f"{request.param}-hooks")


def kept(play: Performance, name: str) -> bytes | None:
    """What was in a file at a moment; None if it was not there."""
    path = play.folder / name
    return path.read_bytes() if path.exists() else None


def told(play: Performance, name: str) -> list[dict[str, Any]]:
    """The lines that hooks left."""
    return [json.loads(line) for line in (kept(play, name) or b"").splitlines()]


def test_the_client_tells_when_a_turn_and_the_session_end(hooked: Performance) -> None:
    session = hooked.recording.sessions["with"]
    said = [(line["event"], line["host"], line["session_id"]) for line in told(hooked, "inbox")]
    assert set(said) == {("stop", hooked.host, session), ("session-end", hooked.host, session)}
    assert all(code == 0 for codes in hooked.exit_codes().values() for code in codes)


def test_without_the_hooks_it_tells_nothing(hooked: Performance) -> None:
    assert hooked.recording.sessions["without"] != hooked.recording.sessions["with"]
    assert kept(hooked, "inbox-after") == kept(hooked, "inbox")


def test_its_settings_are_what_they_were(hooked: Performance) -> None:
    assert b"--installed" in (kept(hooked, "between") or b"")
    assert kept(hooked, "after") == kept(hooked, "before")


@pytest.fixture(params=["claude", "codex", "copilot", "gemini"])
def woven(request: pytest.FixtureRequest, give: Give) -> Performance:
    """Prompts with the hook that hands out memories, and one without it."""
    return give(f"{request.param}-weave")


AGAIN = ""
"""The lane of what there is nothing in the script for: the first prompt, typed once more without the hook."""


def handed(play: Performance, prompt: str) -> list[list[str]]:
    """For each request under a prompt the blocks of memory that the model heard."""
    return [
        [text for text in one.heard if "reference data from earlier sessions" in text]
        for one in play.recording.served_under(prompt)
    ]


def test_the_model_hears_the_memory_that_speaks_to_a_prompt(woven: Performance) -> None:
    first, *_ = handed(woven, FIX)
    assert len(first) == 1
    assert "divides by the length" in first[0]
    assert "[memory " in first[0]
    assert "[/memory " in first[0]
    assert all(code == 0 for codes in woven.exit_codes().values() for code in codes)


def test_it_hears_nothing_where_nothing_speaks_to_it_or_without_the_hook(woven: Performance) -> None:
    assert [blocks for blocks in handed(woven, REMAINS) if blocks] == []
    assert [blocks for blocks in handed(woven, AGAIN) if blocks] == []


def test_what_was_handed_out_is_no_prompt_of_the_persons(woven: Performance) -> None:
    for session, prompt in (("woven", FIX), ("silent", REMAINS)):
        prompts = [deed.what for deed in story(woven.events("end")[session]) if deed.kind == "prompt"]
        assert prompts == [prompt]


def test_the_sweep_notes_it_and_its_use_is_credited(woven: Performance) -> None:
    session = woven.recording.sessions["woven"]
    (given,) = [line for line in told(woven, "changes") if line["what"] == "woven"]
    assert (given["host"], given["session_id"], len(given["items"])) == (woven.host, session, 1)
    places = Places(str(woven.folder / "archive"))
    connection = open_writer(places.index)
    try:
        crediting.credit(connection, places, time.time() + 2 * crediting.REST_SECONDS)
    finally:
        connection.close()
    (credited,) = [one for one in store.read(places).changes if one.what == "credited"]
    assert credited.weave == given["weave"]
    # Two of the scripts change a file beside the last check, so that nobody knows how it went.
    unknown = (credited.note or "").startswith("used, but")
    assert unknown == (woven.host in ("claude", "gemini"))
    assert unknown or (credited.id, credited.reward) == (given["items"][0], 1.0)


def test_the_settings_are_what_they_were_before_the_weave(woven: Performance) -> None:
    assert b"memory weave --hook" in (kept(woven, "between") or b"")
    assert kept(woven, "after") == kept(woven, "before")
