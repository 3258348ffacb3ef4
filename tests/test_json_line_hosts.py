"""Hosts whose sessions are JSON lines that stand for themselves: what is particular to one of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

from agent_support import lines, read
from retro import agents
from retro.agents.interface import SIDECAR, TRANSCRIPT, Root, Source
from retro.event import EventType

SAMPLES: Final = Path(__file__).resolve().parent / "samples"
ID: Final = "5b1d6a30-4c8e-4f7a-9d21-0a6c3e8f1b52"
CWD: Final = "/home/dev/code/tidebook"


HOSTS: Final = ("qwen", "droid", "kimi", "cursor", "deepseek", "antigravity", "openclaw", "omp", "iflow")


def sources(host: str) -> list[Source]:
    """What is discovered in a host's sample home."""
    agent = agents.named(host)
    found = agent.roots({"HOME": str(SAMPLES / host)}, ())
    assert [os.path.relpath(root.path, SAMPLES / host).split(os.sep)[0][:1] for root in found] == ["."]
    return [source for root in found for source in agent.discover(root, {})]


@pytest.mark.parametrize("host", HOSTS)
def test_a_file_that_was_seen_before_is_not_opened_to_learn_whose_it_is(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = sources(host)
    known = {source.path: (source.session_id, source.key) for source in found}
    monkeypatch.setattr("retro.agents.plainfiles.head", lambda *_: pytest.fail("a file was opened"))
    (root,) = agents.named(host).roots({"HOME": str(SAMPLES / host)}, ())
    assert list(agents.named(host).discover(root, known)) == found


def test_kimis_sub_agent_is_told_apart_and_its_state_gives_the_title() -> None:
    by_key = {source.key: source for source in sources("kimi")}
    assert {key: source.kind for key, source in by_key.items()} == {
        "main": TRANSCRIPT,
        "agent-0": TRANSCRIPT,
        "sidecars/state.json": SIDECAR,
    }
    agent = agents.named("kimi")
    child = read(agent, Path(by_key["agent-0"].path).read_bytes(), by_key["agent-0"].session_id, key="agent-0")
    assert {event.agent_id for event in child.events} == {"agent-0"}
    assert child.prompts == []
    facts = agent.sidecar_facts("sidecars/state.json", Path(by_key["sidecars/state.json"].path).read_bytes())
    assert facts is not None and (facts.title, facts.cwd, list(facts.agents)) == ("Harbours", CWD, ["agent-0"])


def test_cursors_sub_agent_belongs_to_the_session_above_it() -> None:
    child = next(source for source in sources("cursor") if source.key != "main")
    assert (child.session_id, child.key) == (ID, "agent-child-1")


def test_a_checkpoint_of_openclaw_is_no_session() -> None:
    assert len(sources("openclaw")) == 1


def test_kimis_prompt_counts_once_wherever_it_stands() -> None:
    said = {"role": "user", "content": [{"type": "text", "text": "hi"}], "origin": {"kind": "user"}}
    put = {"type": "context.append_message", "message": said, "time": 2}
    typed = {"type": "turn.prompt", "input": said["content"], "origin": {"kind": "user"}, "time": 1}
    again = {**typed, "time": 3}
    for records, prompts in (([typed, put], 1), ([put], 1), ([typed, put, again, {**put, "time": 4}], 2)):
        assert len(read(agents.named("kimi"), lines({"type": "metadata"}, *records), "s").prompts) == prompts


def test_fragments_of_one_message_are_all_kept() -> None:
    def part(text: str) -> dict[str, object]:
        return {"uuid": "u1", "sessionId": "s", "type": "assistant", "message": {"parts": [{"text": text}]}}

    assert [event.text for event in read(agents.named("qwen"), lines(part("one"), part("two")), "s").events] == [
        "one",
        "two",
    ]


def test_roots_follow_the_variables_that_move_them(tmp_path: Path) -> None:
    moved = {
        "qwen": ("QWEN_HOME", ".qwen"),
        "droid": ("FACTORY_HOME_OVERRIDE", ""),
        "kimi": ("KIMI_CODE_HOME", ".kimi-code"),
        "cursor": ("CURSOR_CONFIG_DIR", ".cursor"),
        "deepseek": ("DSH_HOME", ".dsh"),
        "openclaw": ("OPENCLAW_STATE_DIR", ".openclaw"),
    }
    for host, (variable, below) in moved.items():
        env = {"HOME": str(tmp_path), variable: str(SAMPLES / host / below).rstrip("/")}
        (root,) = agents.named(host).roots(env, ())
        assert root.reason == variable
        (given,) = agents.named(host).roots({"HOME": str(tmp_path)}, [root.path])
        assert given == Root(host, root.path, "settings")


@pytest.mark.parametrize(
    "text", [[{"type": "text", "text": "wind and tide"}], {"value": "wind and tide"}, ["wind and tide"]]
)
def test_words_in_another_form_are_still_words(text: object) -> None:
    entry = {"type": "message", "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}}
    assert read(agents.named("droid"), lines(entry), "s").texts(EventType.MESSAGE) == ["wind and tide"]


def test_a_block_that_does_not_say_what_it_is_is_kept_whole() -> None:
    entry = {"type": "message", "message": {"role": "assistant", "content": [{"thinking": "wind and tide"}]}}
    (event,) = read(agents.named("droid"), lines(entry), "s").of_type(EventType.UNKNOWN)
    assert "wind and tide" in (event.text or "")
