"""What `retro hooks` puts into the settings of the real clients makes them tell when a session ends, and goes again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from live.conftest import Give
from live.performance import Performance

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
