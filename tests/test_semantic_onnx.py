"""A model of one's own as an ONNX file: run where onnxruntime is installed, and named where it is not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from retro.failure import Failure
from retro.foreign import Document, Library
from retro.semantic.bert import word_pieces
from retro.semantic.model import Choice, choose, load
from semantic_support import WIDTH, WORDS, model_folder

TABLE = np.random.default_rng(3).normal(0, 1, (len(WORDS), WIDTH)).astype(np.float32)
TEXTS = [
    "the flaky websocket test",
    "the lunar tides of the harbour",
    "rename the column of the database schema in the index, please",
]


def onnx_folder(folder: Path, *, pooling: bool) -> str:
    """A model that looks words up in a table and, where it pools by itself, gives their mean, with padding and all."""
    onnx: Any = pytest.importorskip("onnx", reason="onnx, which writes such files, is not installed")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    helper, kind = onnx.helper, onnx.TensorProto
    shape = ["batch", WIDTH] if pooling else ["batch", "length", WIDTH]
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["states" if pooling else "out"])]
    if pooling:
        nodes.append(helper.make_node("ReduceMean", ["states"], ["out"], axes=[1], keepdims=0))
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info("input_ids", kind.INT64, ["batch", "length"])],
        [helper.make_tensor_value_info("out", kind.FLOAT, shape)],
        [onnx.numpy_helper.from_array(TABLE, "table")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    model_folder(folder)
    (folder / "model.safetensors").unlink()
    inside = folder / "onnx" if pooling else folder  # both places are usual
    inside.mkdir(exist_ok=True)
    onnx.save(made, str(inside / "model.onnx"))
    return str(folder)


def expected(folder: str, texts: list[str]) -> list[np.ndarray[Any, Any]]:
    means = [TABLE[word_pieces(folder).ids(text, 256)].mean(0) for text in texts]
    return [mean / np.linalg.norm(mean) for mean in means]


def test_states_are_pooled_where_words_stand_and_not_where_a_text_was_filled_up(tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path / "tiny", pooling=False)
    model = load(Choice(folder, threads=1))
    assert model.width == WIDTH
    np.testing.assert_allclose(model.encode(TEXTS), expected(folder, TEXTS), atol=1e-5)


def test_a_model_that_pools_by_itself_is_taken_at_its_word(tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path / "tiny", pooling=True)
    model = load(Choice(folder))
    np.testing.assert_allclose(model.encode(TEXTS[:1]), expected(folder, TEXTS[:1]), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(model.encode(TEXTS), axis=1), 1, atol=1e-5)


def test_documents_are_found_by_it(tmp_path: Path) -> None:
    choice = choose(onnx_folder(tmp_path / "tiny", pooling=False))
    assert choice is not None
    library = Library([Document(f"D1:{at}", text) for at, text in enumerate(TEXTS)], choice)
    assert library.find("lunar tides", 1) == ["D1:1"]


def test_without_onnxruntime_it_is_said_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = model_folder(tmp_path / "tiny")
    (tmp_path / "tiny" / "model.safetensors").rename(tmp_path / "tiny" / "model.onnx")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(Failure, match="onnxruntime is not installed"):
        load(Choice(folder))
