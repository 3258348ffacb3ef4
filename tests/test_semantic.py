"""Search by meaning: the model in numpy, vectors that are kept and made again, and what is found with them."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from math import erf, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli_support import FIX, Retro, retro, root, swept
from retro.failure import Failure
from retro.foreign import Document, Library
from retro.index.database import open_reader, open_writer
from retro.places import Places
from retro.semantic import keeping, matrix, windows
from retro.semantic.bert import Bert
from retro.semantic.exact import Exact
from retro.semantic.model import PACKAGE, choose, load
from retro.semantic.wordpiece import WordPiece
from semantic_support import HEADS, INNER, LAYERS, WIDTH, WORDS, model_folder, weights

__all__ = ["retro", "root", "swept"]

Floats = np.ndarray[Any, np.dtype[np.float32]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return model_folder(tmp_path_factory.mktemp("models") / "tiny")


# --- the model -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The tides", "[CLS] the tides [SEP]"),
        ("TESTING, flaky?", "[CLS] test ##ing , flaky ? [SEP]"),
        ("Café résumé", "[CLS] cafe resume [SEP]"),
        ("潮汐 tide_table", "[CLS] 潮 汐 tide _ table [SEP]"),
        ("unheard\x00 of", "[CLS] [UNK] of [SEP]"),
        ("", "[CLS] [SEP]"),
    ],
)
def test_texts_are_cut_as_the_model_knows_them(folder: str, text: str, expected: str) -> None:
    pieces = WordPiece(f"{folder}/vocab.txt")
    assert [WORDS[number] for number in pieces.ids(text, 64)] == expected.split()


def test_a_long_text_is_cut_off_and_still_ends(folder: str) -> None:
    ids = WordPiece(f"{folder}/vocab.txt").ids("tide " * 500, 16)
    assert (len(ids), WORDS[ids[-1]]) == (16, "[SEP]")


def plainly(ids: list[int]) -> Floats:
    """What the model gives for one text, as the book has it, number by number."""
    w = {name: array.astype(np.float64) for name, array in weights(np.random.default_rng(0)).items()}

    def norm(x: Any, name: str) -> Any:
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12) * w[f"{name}.weight"] + w[
            f"{name}.bias"
        ]

    def dense(x: Any, name: str) -> Any:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    size = WIDTH // HEADS
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}."
        query, key, value = (dense(x, f"{layer}attention.self.{part}") for part in ("query", "key", "value"))
        seen = []
        for head in range(HEADS):
            part = slice(head * size, (head + 1) * size)
            scores = np.exp(query[:, part] @ key[:, part].T / sqrt(size))
            seen.append(scores / scores.sum(-1, keepdims=True) @ value[:, part])
        attended = dense(np.concatenate(seen, -1), f"{layer}attention.output.dense")
        x = norm(attended + x, f"{layer}attention.output.LayerNorm")
        wide = dense(x, f"{layer}intermediate.dense")
        wide = np.vectorize(lambda v: 0.5 * v * (1 + erf(v / sqrt(2))))(wide)
        assert wide.shape[-1] == INNER
        x = norm(dense(wide, f"{layer}output.dense") + x, f"{layer}output.LayerNorm")
    mean = x.mean(0)
    return np.asarray(mean / np.linalg.norm(mean), np.float32)


def test_a_model_gives_what_the_book_says_whatever_stands_beside_a_text(folder: str) -> None:
    model = Bert(folder)
    texts = ["the flaky websocket test", "tides", "rename the column of the database schema in the index, please"]
    expected = np.stack([plainly(model.pieces.ids(text, 64)) for text in texts])
    np.testing.assert_allclose(model.encode(texts), expected, atol=1e-5)
    np.testing.assert_allclose(model.encode(texts[:1]), expected[:1], atol=1e-5)


@pytest.mark.skipif(find_spec(PACKAGE) is None, reason="the extra is not installed")
def test_the_packaged_model_tells_what_is_alike() -> None:
    choice = choose()
    assert choice is not None
    one, two, three = load(choice).encode(["That is a happy person", "That is a very happy person", "Today is sunny"])
    assert one @ two > 0.9 > 0.4 > one @ three


def test_a_folder_that_holds_no_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="neither"):
        choose(str(tmp_path))
    broken = model_folder(tmp_path / "broken")
    (tmp_path / "broken" / "model.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0{}")
    with pytest.raises(Failure, match=r"model\.safetensors cannot be read"):
        Bert(broken)


@given(st.text(max_size=4000))
@settings(max_examples=60)
def test_windows_hold_all_of_a_text_but_blanks(text: str) -> None:
    parts = list(windows.parts(text))
    assert all(windows.LEAST <= len(part) <= windows.SIZE for part in parts)
    if len("".join(text.split())) == len(text) and len(text) >= 2 * windows.LEAST:
        assert "".join(parts) == text


# --- searching -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fast", [True, False])
def test_products_of_bytes_are_exact(fast: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not fast:
        monkeypatch.setattr(matrix, "_fast_products", lambda: None)
    elif find_spec("simsimd") is None:
        pytest.skip("simsimd is not installed")
    random = np.random.default_rng(3)
    rows, scales = matrix.reduced(random.standard_normal((300, 384)).astype(np.float32))
    query = random.standard_normal(384).astype(np.float32)
    small, scale = matrix.reduced(query.reshape(1, -1))
    expected = (rows.astype(np.int64) @ small[0].astype(np.int64)) * scales * scale[0]
    np.testing.assert_allclose(matrix.Matrix(rows, scales).scores(query), expected, rtol=1e-6)


@given(st.integers(1, 40), st.integers(0, 45), st.integers(0, 5))
def test_the_highest_are_the_highest(count: int, limit: int, different: int) -> None:
    scores = np.random.default_rng(count).integers(0, different + 1, count).astype(np.float32)
    found = matrix.highest(scores, limit) if limit else np.zeros(0, np.intp)
    assert [scores[at] for at in found] == sorted(scores, reverse=True)[:limit]
    assert len(set(found.tolist())) == min(limit, count)


@pytest.mark.parametrize("spread", [1.0, 0.05])
def test_the_nearest_of_many_vectors_are_the_nearest(spread: float) -> None:
    random = np.random.default_rng(4)
    vectors = (random.standard_normal((3000, 384)) * spread + random.standard_normal(384)).astype(np.float32)
    exact = Exact(vectors)
    assert exact._small is not None, "large enough that bytes are looked at first"
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for query in random.standard_normal((20, 384)).astype(np.float32):
        places, products, length = exact.nearest(query, 10)
        best = np.argsort(-(unit @ query))[:10]
        np.testing.assert_allclose(np.sort(products), np.sort((unit @ query)[best]), rtol=1e-4)
        assert len(places) == 10
        np.testing.assert_allclose(length, np.linalg.norm(query), rtol=1e-5)


# --- keeping ---------------------------------------------------------------------------------------------------------


def test_vectors_are_made_in_steps_and_gone_on_with(swept: Retro, root: Path, folder: str) -> None:
    choice = choose(folder)
    assert choice is not None
    model = load(choice)
    connection = open_writer(Places(str(root)).index)
    all_of_them = keeping.pending(connection, choice.identity)
    assert all_of_them > keeping.AT_ONCE / 4
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(keeping, "AT_ONCE", 2)
    assert keeping.fill(connection, choice, model, until=0.0) == 2
    assert keeping.pending(connection, choice.identity) == all_of_them - 2
    assert keeping.fill(connection, choice, model) == all_of_them - 2
    assert keeping.fill(connection, choice, model) == 0
    monkeypatch.undo()
    kept = keeping.Kept(connection, model.width)
    assert len(kept.matrix) == len(kept.passages) == len(kept.kinds) > 0
    connection.close()


def test_another_model_makes_them_anew(swept: Retro, root: Path, folder: str, tmp_path: Path) -> None:
    one, other = choose(folder), choose(model_folder(tmp_path / "other" / "large", seed=9))
    assert one is not None and other is not None and one.identity != other.identity
    connection = open_writer(Places(str(root)).index)
    everything = keeping.fill(connection, one, load(one))
    assert keeping.pending(connection, other.identity) == everything
    assert keeping.fill(connection, other, load(other)) == everything
    assert keeping.pending(connection, other.identity) == 0
    connection.close()


@pytest.fixture
def settled(swept: Retro, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Retro:
    """`retro` with the tiny model in its settings."""
    (tmp_path / "settings.toml").write_text(f"[semantic]\nmodel = {json.dumps(folder)}\nbatch = 4\n", "utf-8")
    monkeypatch.setenv("RETRO_CONFIG", str(tmp_path / "settings.toml"))
    return swept


def test_a_search_by_meaning_finds_what_shares_no_word(settled: Retro) -> None:
    swept = settled
    before = swept.json("semantic")
    assert before["installed"] and before["without"] == before["passages"] > 0
    assert swept.json("search", "lunar")["hits"] == []
    assert swept.json("semantic", "fill")["left"] == 0
    assert swept.json("semantic")["without"] == 0
    found = swept.json("search", "lunar", "--limit", "5")["hits"]
    assert found and all(hit["snippets"][0]["text"] for hit in found)
    assert swept.json("search", "lunar", "--keywords")["hits"] == []
    assert swept.json("search", "lunar", "--exact")["hits"] == []
    filtered = swept.json("search", "lunar", "--project", "gardenlog", "--limit", "50")["hits"]
    assert {hit["project"] for hit in filtered} <= {"gardenlog"}
    assert swept.says("recall", "search", "lunar", "--all") != "", "the light entry goes by words"


def test_vectors_go_with_their_session(settled: Retro, root: Path) -> None:
    settled.says("semantic", "fill")
    settled.says("forget", FIX, "--yes")
    connection = open_reader(Places(str(root)))
    assert connection is not None
    query = "SELECT count(*) FROM passage_vector WHERE passage NOT IN (SELECT id FROM passage)"
    assert connection.execute(query).get == 0
    connection.close()


def test_without_the_extra_words_do_all_and_it_is_said(swept: Retro, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retro.semantic.model.find_spec", lambda name: None)
    assert swept.json("semantic")["installed"] is False
    assert "not installed" in swept.says("semantic")
    done = swept("semantic", "fill")
    assert (done.code, "numpy" in done.err) == (1, True)
    assert swept.json("search", "tide")["hits"]


def test_documents_are_found_by_meaning_too(folder: str) -> None:
    said = ["the websocket retry is flaky", "tides of the harbour", "rename the column of the database"]
    documents = [Document(str(at), text) for at, text in enumerate(said)]
    library = Library(documents, choose(folder))
    assert library.find("flaky websocket retry", 3)[0] == "0"
    assert set(Library(documents, choose(folder)).find("lunar", 3)) <= {"0", "1", "2"}
    assert Library(documents).find("lunar", 3) == []


def test_numpy_is_loaded_only_where_it_is_needed(swept: Retro) -> None:
    script = (
        f"import sys; sys.path[:0] = {sys.path!r}; from retro import cli; cli.run(['search', 'tide']);"
        " print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
