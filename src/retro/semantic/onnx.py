"""Models as ONNX files, run by onnxruntime."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from retro.failure import Failure
from retro.semantic.bert import MOST_TOKENS, Array, pooled, word_pieces


class Onnx:
    """A model in a folder: `model.onnx` and `vocab.txt`."""

    def __init__(self, folder: str, threads: int = 0) -> None:
        try:
            import onnxruntime
        except ImportError:
            hint = "pip install onnxruntime, or a folder with model.safetensors"
            raise Failure("model", f"{folder} holds an ONNX model, and onnxruntime is not installed", hint) from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        path = os.path.join(folder, "model.onnx")
        path = path if os.path.isfile(path) else os.path.join(folder, "onnx", "model.onnx")
        self._session: Any = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self._inputs = {given.name for given in self._session.get_inputs()}
        self._pieces = word_pieces(folder)
        self.width = self.encode(["width"]).shape[1]

    def encode(self, texts: Sequence[str]) -> Array:
        """A vector for each text."""
        ids = [self._pieces.ids(text, MOST_TOKENS) for text in texts]
        taken = np.zeros((len(ids), max(map(len, ids))), np.int64)
        there = np.zeros_like(taken)
        for row, of_text in enumerate(ids):
            taken[row, : len(of_text)] = of_text
            there[row, : len(of_text)] = 1
        given = {"input_ids": taken, "attention_mask": there, "token_type_ids": np.zeros_like(taken)}
        states = self._session.run(None, {name: given[name] for name in given if name in self._inputs})[0]
        if states.ndim == 2:  # it pools by itself
            return pooled(states[:, None, :], np.ones((len(ids), 1), np.float32))
        return pooled(states, there.astype(np.float32))
