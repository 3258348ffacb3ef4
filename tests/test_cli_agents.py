"""`retro agents`: which hosts there are, which of them can be read, and what a file is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli_support import Retro, retro, root, swept
from retro import agents
from retro.agents.interface import Unreadable
from test_conformance import make_home

__all__ = ["retro", "root", "swept"]


@pytest.fixture
def home(isolated: Path) -> Path:
    """A home of a person who uses every host."""
    for host in agents.MODULES:
        make_home(host, isolated)
    return isolated


def of(retro: Retro, host: str) -> dict[str, Any]:
    """What is shown of a host."""
    return next(one for one in retro.json("agents")["agents"] if one["host"] == host)


def strange(home: Path, number: int) -> None:
    """A session of which no record is known any more."""
    file = home / ".claude" / "projects" / "-p" / f"00000000-0000-4000-8000-{number:012}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    when = f"2030-01-01T00:00:{number:02}.000Z"
    file.write_text(json.dumps({"type": "novelty", "uuid": f"u{number}", "timestamp": when, "words": "hi"}) + "\n")


# --- hosts -----------------------------------------------------------------------------------------------------------


def test_every_host_of_a_home_is_fine_before_and_after_it_is_captured(retro: Retro, home: Path) -> None:
    before = {one["host"]: one for one in retro.json("agents")["agents"]}
    assert {host: one["state"] for host, one in before.items()} == dict.fromkeys(agents.MODULES, "fine")
    assert all(one["tried"] and one["captured"] == 0 and one["last_written"] for one in before.values())
    retro.says("sweep")
    for host, one in ((one["host"], one) for one in retro.json("agents")["agents"]):
        assert (one["state"], one["tried"], one["problems"]) == ("fine", 0, []), host
        assert (one["captured"], one["sources"]) == (before[host]["sessions"], before[host]["sources"]), host
        assert round(one["turns"] / one["captured"], 2) == one["parse_yield"] > 0, host
        assert [Path(place["path"]).is_dir() for place in one["roots"]] == [True] * len(one["roots"])


def test_where_there_is_no_host_nothing_is_made_up(retro: Retro, root: Path, isolated: Path) -> None:
    assert retro.says("agents") == f"not on this machine: {', '.join(agents.MODULES)}\n"
    assert {one["state"] for one in retro.json("agents")["agents"]} == {"absent"}
    (isolated / ".claude" / "projects").mkdir(parents=True)
    assert of(retro, "claude")["state"] == "empty"
    assert not root.exists()


def test_files_without_turns_are_broken_and_not_fine(retro: Retro, isolated: Path) -> None:
    strange(isolated, 1)
    for _ in range(2):
        shown = of(retro, "claude")
        assert (shown["state"], shown["sessions"], shown["parse_yield"]) == ("broken", 1, 0)
        assert "no turn was found in them" in shown["problems"][0]
        retro("sweep")
    assert of(retro, "claude")["captured"] == 1
    assert "claude: there are sessions, but no turn" in retro.says("agents")


def test_a_host_whose_newest_sessions_have_no_turns_is_broken(swept: Retro, demo_home: Path) -> None:
    assert of(swept, "claude")["state"] == "fine"
    for number in range(5):
        strange(demo_home.parent, number)
    swept("sweep")
    shown = of(swept, "claude")
    assert (shown["state"], shown["parse_yield"] > 0) == ("broken", True)
    assert shown["problems"] == ["no turn was found in its 5 newest sessions: it may write in a new way"]


def test_a_host_that_is_turned_off_or_cannot_be_read_says_so(
    retro: Retro, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise Unreadable("file is not a database")

    monkeypatch.setattr(agents.named("copilot"), "discover", refuse)
    (tmp_path / "config.toml").write_text("[hosts.qwen]\nenabled = false\n")
    monkeypatch.setenv("RETRO_CONFIG", str(tmp_path / "config.toml"))
    states = {one["host"]: one["state"] for one in retro.json("agents")["agents"]}
    assert (states.pop("copilot"), states.pop("qwen")) == ("unreadable", "off")
    assert set(states.values()) == {"fine"}
    assert "file is not a database" in retro.says("agents")


# --- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", agents.MODULES)
def test_a_file_is_told_by_what_stands_in_it(host: str, retro: Retro, isolated: Path, root: Path) -> None:
    make_home(host, isolated)
    (place, *_) = of(retro, host)["roots"]
    shown = retro.json("agents", "check", place["path"])
    (file,) = shown["files"]
    assert (shown["passed"], file["host"], host in file["claimed_by"]) == (True, host, True)
    assert sum(source["turns"] for source in file["sources"]) > 0
    assert not root.exists()
    assert f"{place['path']}: {host}" in retro.says("agents", "check", place["path"])


def test_what_stands_beside_a_session_is_its_hosts(retro: Retro, isolated: Path) -> None:
    make_home("posit", isolated)
    tree = next(isolated.rglob("conversation.json"))
    (file,) = retro.json("agents", "check", str(tree))["files"]
    assert (file["host"], file["passed"], file["beside"], file["sources"]) == ("posit", True, True, [])
    assert "it stands beside a session, and is kept with it" in retro.says("agents", "check", str(tree))


def test_what_nobody_wrote_or_is_damaged_does_not_pass(retro: Retro, demo_home: Path, tmp_path: Path) -> None:
    file = next((demo_home / "projects").rglob("*.jsonl"))
    (tmp_path / "notes.txt").write_text("nothing")
    done = retro("agents", "check", str(file), str(tmp_path / "notes.txt"))
    assert (done.code, done.err) == (4, "")
    assert "it reads well" in done.out and "no agent that retro knows writes such files" in done.out
    data = file.read_bytes()
    file.write_bytes(data + b"\x00\x00\n" + data[:50])
    strange(tmp_path / "other", 1)
    shown = retro.json("agents", "check", str(file), str(tmp_path / "other" / ".claude"), code=4)
    damaged, unknown = shown["files"]
    assert damaged["problems"] == ["2 B are damaged or no records at all"]
    assert damaged["sources"][0]["bytes"]["torn_tail"] == 50
    assert unknown["problems"][0] == "no turn was found" and "does not know" in unknown["problems"][1]


def test_a_file_that_is_not_there_is_an_error(retro: Retro) -> None:
    done = retro("agents", "check", "/nowhere/at/all")
    assert (done.code, done.out) == (1, "")
    assert "there is no file /nowhere/at/all" in done.err
