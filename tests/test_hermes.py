"""Hermes Agent: what is particular to its database and to its files."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw

from agent_support import lines, read
from retro import agents
from retro.agents import databases
from retro.event import EventType, Origin
from test_conformance import make_home

HERMES = agents.named("hermes")


def row(table: str, key: str, **values: object) -> dict[str, object]:
    """A row as the reader is fed it."""
    return {"table": table, "key": key, "row": values}


def test_every_profile_is_a_home_of_its_own(tmp_path: Path) -> None:
    home = make_home("hermes", tmp_path)
    (home / ".hermes" / "profiles").mkdir()
    shutil.copytree(home / ".hermes" / "sessions", home / ".hermes" / "profiles" / "coder" / "sessions")
    (root,) = HERMES.roots({"HOME": str(home)}, ())
    found = [source.path for source in HERMES.discover(root, {})]
    databases.release()
    assert len([path for path in found if "/profiles/coder/" in path]) == 3


def test_what_a_session_took_beside_its_models_is_counted_once_more_and_only_once() -> None:
    used = {"input_tokens": 100, "output_tokens": 50}
    before = [row("sessions", "s", id="s", model="m", **used)]
    after = [
        row("session_model_usage", "m:0", model="n", input_tokens=30, output_tokens=20),
        row("sessions", "s", id="s", model="m", input_tokens=130, output_tokens=70),
    ]
    found = read(HERMES, lines(*before, *after), "s")
    told = {usage.usage_id: (usage.model, usage.input_tokens, usage.output_tokens) for usage in found.usage}
    assert sorted(told.values(), key=str) == [("m", 100, 50), ("n", 30, 20)]


def test_a_row_that_a_compaction_put_aside_stays_one_event() -> None:
    said = {"role": "user", "content": "why is high water late?", "timestamp": 1788249600.5}
    again = [row("messages", "1", **said, active=1), row("messages", "1", **said, active=0, compacted=1)]
    summary = row("messages", "2", role="user", content="[CONTEXT COMPACTION] tides", _compressed_summary=1)
    found = read(HERMES, lines(*again, summary), "s")
    assert found.prompts == ["why is high water late?"]
    assert found.texts(EventType.COMPACTION) == ["[CONTEXT COMPACTION] tides"]


def test_a_content_of_blocks_is_read_out_of_its_column() -> None:
    blocks = '\0json:[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:"}}]'
    found = read(HERMES, lines(row("messages", "1", role="user", content=blocks)), "s")
    assert found.prompts == ["look"]


def test_what_a_skill_says_is_no_prompt() -> None:
    begun = "[IMPORTANT: The user has invoked the "
    texts = [
        f'{begun}"a" skill, loaded below.]\n\nDo it.',
        f'{begun}"a b" skill bundle, loaded.\nUser instruction: both\n\n[Loaded as part of the bundle]\n\nDo it.',
    ]
    found = read(
        HERMES, lines(*(row("messages", str(at), role="user", content=text) for at, text in enumerate(texts))), "s"
    )
    assert found.prompts == ["both"]
    assert [event.text for event in found.events if event.origin is Origin.INJECTED] == texts


def test_a_database_of_something_else_is_not_claimed(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "state.db"))
    connection.execute("CREATE TABLE sessions (id TEXT)")
    connection.close()
    assert HERMES.claims(str(tmp_path / "state.db")) == []
    databases.release()
