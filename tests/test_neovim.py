"""Neovim's plug-ins: whose chat a file is, what changes in it, and what older forms say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from agent_support import Read, read
from retro import agents
from retro.agents import chatfiles
from retro.agents.interface import Root
from retro.config import Settings
from retro.event import EventType
from retro.places import Places
from retro.sweep import sweep
from support import content, failures

NEOVIM: Final = agents.named("neovim")


def told(path: Path, chat: object) -> Read:
    """What a chat becomes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(chat), "utf-8")
    rows = [
        {"table": row.table, "key": row.key, "row": json.loads(row.value or b"{}")} for row in chatfiles.rows(str(path))
    ]
    return read(NEOVIM, b"".join(json.dumps(row).encode() + b"\n" for row in rows), "s")


def test_questions_and_answers_of_older_chats_are_read(tmp_path: Path) -> None:
    entry = {"timestamp": "2025-01-01 10:00:00", "model": "gpt-4o", "request": "why late?", "response": "Summer time."}
    found = told(tmp_path / "0.json", {"title": "untitled", "entries": [entry, {**entry, "request": ""}]})
    assert (found.prompts, found.texts(EventType.MESSAGE)[1:]) == (["why late?"], ["Summer time.", "Summer time."])
    assert found.facts.models == ["gpt-4o"] and found.facts.host_title is None
    assert {event.timestamp for event in found.events} == {None}
    assert next(event for event in found.events if event.text == "why late?").payload == {
        "local_time": "2025-01-01 10:00:00"
    }


def test_odd_types_of_fields_do_no_harm(tmp_path: Path) -> None:
    odd: list[Any] = [None, 7, "x", [], {}, [7], {"a": 1}, [{"type": 3}]]
    names = ("content", "opts", "tool_calls", "tools", "reasoning", "message", "timestamp", "uuid", "id")
    messages = [{"role": role, **dict.fromkeys(names, one)} for role in ("user", "llm", "tool", 3) for one in odd]
    found = told(tmp_path / "c.json", {"messages": [*messages, "text", None], "entries": odd, "settings": 3})
    assert found.accounting.malformed == {}


def test_a_chat_that_is_cut_short_and_goes_on_keeps_what_was_said(tmp_path: Path) -> None:
    home = tmp_path / "home"
    file = home / ".local" / "share" / "nvim" / "copilotchat_history" / "default.json"
    file.parent.mkdir(parents=True)

    def swept(*texts: str) -> list[object]:
        file.write_text(json.dumps([{"role": "user", "content": text} for text in texts]), "utf-8")
        report = sweep(
            Places(str(tmp_path / "archive")),
            Settings("", {("sweep", "workers"): 1}),
            {"HOME": str(home)},
            hosts=["neovim"],
        )
        assert failures(report) == []
        return [event["text"] for event in content(tmp_path / "archive").events["copilotchat-default"]]

    assert swept("one", "yes") == ["one", "yes"]
    assert swept("one", "yes", "yes") == ["one", "yes", "yes"]
    assert swept("another") == ["one", "yes", "yes", "another"]


@pytest.mark.parametrize(
    ("chat", "claimed"),
    [
        ([{"role": "user", "content": "why"}], True),
        ([{"role": "user", "content": [{"type": "text", "text": "why"}]}], False),
        ([], False),
        ({"save_id": "1", "messages": [{"role": "user"}]}, True),
        ({"messages": [{"uuid": "u", "message": {}}]}, True),
        ({"messages": [{"id": "u", "role": "user"}]}, False),
        ({"entries": [{"request": "why"}]}, True),
        ("text", False),
    ],
)
def test_a_file_is_told_by_what_stands_in_it(chat: object, claimed: bool, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps(chat), "utf-8")
    assert bool(NEOVIM.claims(str(tmp_path / "x.json"))) == claimed


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({}, ".local/share/nvim"),
        ({}, ".local/state/nvim"),
        ({}, ".local/share/nvim-lazy"),
        ({}, "AppData/Local/nvim-data"),
        ({"XDG_DATA_HOME": "{home}/data"}, "data/nvim"),
        ({"XDG_STATE_HOME": "{home}/state"}, "state/nvim"),
        ({"LOCALAPPDATA": "{home}/local"}, "local/nvim-data"),
        ({"NVIM_APPNAME": "editor"}, ".local/share/editor"),
        ({"NVIM_APPNAME": "editor", "LOCALAPPDATA": "{home}/local"}, "local/editor-data"),
    ],
)
def test_neovim_is_found_where_it_keeps_its_data(env: dict[str, str], folder: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / folder / "copilotchat_history").mkdir(parents=True)
    (home / folder / "copilotchat_history" / "default.json").write_text("[]")
    surroundings = {name: value.format(home=home) for name, value in env.items()} | {"HOME": str(home)}
    (root,) = NEOVIM.roots(surroundings, ())
    assert root.path == str(home / folder)
    (given,) = NEOVIM.roots({"HOME": "/nowhere"}, [root.path])
    assert given == Root("neovim", root.path, "settings")
