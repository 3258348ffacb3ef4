"""Memories found by meaning: beside words and never instead of silence, with vectors that are kept and made again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from cli_support import Retro
from mining_support import kept, told
from retro import cli
from retro.index.database import open_writer
from retro.memory import meaning, retrieval
from retro.places import Places
from retro.semantic.model import Choice, choose
from semantic_support import model_folder

MISSING = ("python -m pytest tests/test_tide.py", "/usr/bin/python: No module named pytest", 1)
RUNNER = ("bin/test tests/test_tide.py", "3 passed", 0)
CODE = "/home/dev/code"
LIKE = "verify everything quickly"
"""What is meant is like what is remembered of tests, and no word is the same."""


class Concepts:
    """A model for which words of one group mean the same, and all others nothing."""

    width = 4
    groups = (("test", "tests", "suite", "verify", "pytest"), ("haiku", "poem"), ("moon",))

    def __init__(self) -> None:
        self.texts: list[str] = []

    def encode(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        self.texts += texts
        made = np.zeros((len(texts), self.width), np.float32)
        made[:, -1] = 0.1  # all that means nothing is alike
        for at, text in enumerate(texts):
            for axis, group in enumerate(self.groups):
                made[at, axis] += sum(word.strip(".,`").lower() in group for word in text.split())
        return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), np.float32)


@pytest.fixture
def retro(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Retro:
    monkeypatch.setenv("RETRO_ROOT", str(tmp_path / "archive"))
    return Retro(capsys)


@pytest.fixture
def choice(tmp_path: Path) -> Choice:
    found = choose(model_folder(tmp_path / "model"))
    assert found is not None
    return found


@pytest.fixture
def index(tmp_path: Path, retro: Retro) -> Iterator[apsw.Connection]:
    """An archive that remembers how tests are run."""
    steps = (MISSING, RUNNER)
    sessions = [(f"s{day}", told(f"s{day}", "please run the tests of the tides", *steps, day=day)) for day in (1, 2, 3)]
    places = kept(tmp_path / "archive", tmp_path / "claude", sessions)
    cli.run(["memory", "init"])
    connection = open_writer(Places(str(places.root)).index)
    yield connection
    connection.close()


def test_by_meaning_alone_something_is_worth_a_look_and_never_more(
    index: apsw.Connection, choice: Choice, retro: Retro
) -> None:
    model = Concepts()
    meaning.fill(index, choice, lambda: model)
    assert retrieval.retrieve(index, LIKE, [CODE]).decision == "none"
    answer = meaning.retrieve(index, LIKE, [CODE], False, choice, lambda: model)
    assert (answer.decision, answer.hits[0].parts["meaning"] > meaning.MEANT) == ("ask", True)
    assert "bin/test" in answer.hits[0].text
    assert retro.says("memory", "weave", "--query", LIKE, "--cwd", CODE) == ""


@pytest.mark.parametrize("query", ["write a haiku about spring", "continue", "", "the moon", "thanks!"])
def test_what_is_about_something_else_meets_silence(index: apsw.Connection, choice: Choice, query: str) -> None:
    model = Concepts()
    meaning.fill(index, choice, lambda: model)
    answer = meaning.retrieve(index, query, [CODE], False, choice, lambda: model)
    assert (answer.decision, answer.hits) == ("none", [])


def test_a_memory_of_one_repository_is_not_meant_in_another(index: apsw.Connection, choice: Choice) -> None:
    model = Concepts()
    meaning.fill(index, choice, lambda: model)
    answer = meaning.retrieve(index, LIKE, ["/home/dev/other"], False, choice, lambda: model)
    assert (answer.decision, answer.hits) == ("none", [])
    assert meaning.retrieve(index, LIKE, [CODE], True, choice, lambda: model).hits == []  # none of them is accepted


def test_what_words_decide_stays_decided(index: apsw.Connection, choice: Choice) -> None:
    model = Concepts()
    query = "python -m pytest says No module named pytest"
    before = retrieval.retrieve(index, query, [CODE])
    assert meaning.pending(index, choice.identity) > 0
    without = meaning.retrieve(index, query, [CODE], False, choice, lambda: model)
    assert [hit.id for hit in without.hits] == [hit.id for hit in before.hits]
    meaning.fill(index, choice, lambda: model)
    after = meaning.retrieve(index, query, [CODE], False, choice, lambda: model)
    assert (after.decision, after.reason) == (before.decision, before.reason) == ("inject", before.reason)
    assert {hit.id for hit in before.hits} <= {hit.id for hit in after.hits}


def test_vectors_are_made_once_and_again_where_the_model_or_the_memory_is_another(
    index: apsw.Connection, choice: Choice, tmp_path: Path
) -> None:
    model = Concepts()
    waiting = meaning.pending(index, choice.identity)
    assert meaning.fill(index, choice, lambda: model) == waiting > 0
    assert meaning.fill(index, choice, lambda: model) == meaning.pending(index, choice.identity) == 0
    cli.run(["memory", "reindex"])  # folds all of them anew
    assert meaning.pending(index, choice.identity) == 0
    assert len(model.texts) == waiting
    first = next(iter(index.execute("SELECT id FROM memory ORDER BY id")))[0]
    cli.run(["memory", "edit", first, "--text", "Run the tests with make test."])
    assert meaning.fill(index, choice, lambda: model) == 1
    assert index.execute("SELECT count(*) FROM memory_vector").get == waiting  # that of the old words went
    other = choose(model_folder(tmp_path / "other", 1))
    assert other is not None
    with open(tmp_path / "other" / "model.safetensors", "ab") as file:
        file.write(b"\0")  # of other weights
    assert meaning.pending(index, other.identity) == waiting
    assert meaning.fill(index, other, lambda: model) == waiting
    assert meaning.retrieve(index, LIKE, [CODE], False, choice, lambda: model).decision == "none"  # not its vectors


def test_the_command_goes_by_meaning_where_a_model_is_there(
    index: apsw.Connection, choice: Choice, retro: Retro, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "settings.toml").write_text(f"[semantic]\nmodel = {json.dumps(choice.folder)}\n", "utf-8")
    monkeypatch.setenv("RETRO_CONFIG", str(tmp_path / "settings.toml"))
    asked = ("memory", "retrieve", "--query", "No module named pytest", "--cwd", CODE, "--explain")
    found = retro.json(*asked)
    assert found["decision"] == "inject"
    assert all("meaning" in one["parts"] for one in found["memories"])
    assert meaning.pending(index, choice.identity) == 0
    plain = retro.json(*asked, "--keywords")
    assert not any("meaning" in one["parts"] for one in plain["memories"])
    monkeypatch.setattr("retro.semantic.model.find_spec", lambda name: None)
    assert retro.json(*asked) == plain
