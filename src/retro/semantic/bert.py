"""Small BERT models in numpy: weights from a safetensors file, texts in, vectors of length 1 out."""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Sequence
from math import sqrt
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retro.failure import Failure
from retro.semantic.wordpiece import WordPiece

Array = npt.NDArray[np.float32]

MOST_TOKENS: Final = 256
_TYPES: Final = {"F32": np.float32, "F16": np.float16}


class Bert:
    """A model in a folder: `config.json`, `vocab.txt` and `model.safetensors`, as sentence transformers lie on disk."""

    def __init__(self, folder: str) -> None:
        told = _json(folder, "config.json")
        if told.get("model_type") != "bert" or told.get("hidden_act", "gelu") != "gelu":
            raise Failure("model", f"{folder} holds no BERT model", "a MiniLM does; so does a folder with model.onnx")
        self.width = int(told["hidden_size"])
        self._heads = int(told["num_attention_heads"])
        self._small = float(told.get("layer_norm_eps", 1e-12))
        self._most = min(MOST_TOKENS, int(told.get("max_position_embeddings", MOST_TOKENS)))
        self.pieces = word_pieces(folder)
        path = os.path.join(folder, "model.safetensors")
        try:
            self._take(_weights(path), int(told["num_hidden_layers"]))
        except KeyError as error:
            raise Failure("model", f"{path} cannot be read: {error} is not in it", "is it a whole model?") from None

    def _take(self, weights: dict[str, Array], layers: int) -> None:
        self._words = weights["embeddings.word_embeddings.weight"]
        self._places = (
            weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
        )
        self._start = _norm_of(weights, "embeddings.LayerNorm")
        self._layers = [
            _Layer(weights, f"encoder.layer.{number}.", self._heads, self._small) for number in range(layers)
        ]

    def encode(self, texts: Sequence[str]) -> Array:
        """A vector for each text. Those of like length are best given together."""
        ids = [self.pieces.ids(text, self._most) for text in texts]
        longest = max(map(len, ids))
        taken = np.zeros((len(ids), longest), np.int64)
        there = np.zeros((len(ids), longest), np.float32)
        for row, of_text in enumerate(ids):
            taken[row, : len(of_text)] = of_text
            there[row, : len(of_text)] = 1
        states = _normed(self._words[taken] + self._places[:longest], *self._start, self._small)
        shut = ((there - 1) * 1e9)[:, None, None, :]
        for layer in self._layers:
            states = layer(states, shut)
        return pooled(states, there)


class _Layer:
    """One layer: attention, then two dense steps, each added to what came in."""

    def __init__(self, weights: dict[str, Array], name: str, heads: int, small: float) -> None:
        inner = f"{name}attention.self."
        parts = ("query", "key", "value")
        self._mix = np.concatenate([weights[f"{inner}{part}.weight"] for part in parts]).T.copy()
        self._mix_bias = np.concatenate([weights[f"{inner}{part}.bias"] for part in parts])
        self._out = _dense_of(weights, f"{name}attention.output.dense")
        self._after_attention = _norm_of(weights, f"{name}attention.output.LayerNorm")
        self._wide = _dense_of(weights, f"{name}intermediate.dense")
        self._narrow = _dense_of(weights, f"{name}output.dense")
        self._after = _norm_of(weights, f"{name}output.LayerNorm")
        self._heads = heads
        self._small = small

    def __call__(self, states: Array, shut: Array) -> Array:
        count, length, width = states.shape
        flat = states.reshape(-1, width)
        mixed = (flat @ self._mix + self._mix_bias).reshape(count, length, 3, self._heads, width // self._heads)
        query, key, value = mixed.transpose(2, 0, 3, 1, 4)
        scores = query @ key.transpose(0, 1, 3, 2)
        scores *= np.float32(1 / sqrt(width // self._heads))
        scores += shut
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        seen = (scores @ value).transpose(0, 2, 1, 3).reshape(-1, width)
        flat = _normed(seen @ self._out[0] + self._out[1] + flat, *self._after_attention, self._small)
        wide = _gelu(flat @ self._wide[0] + self._wide[1])
        flat = _normed(wide @ self._narrow[0] + self._narrow[1] + flat, *self._after, self._small)
        return flat.reshape(count, length, width)


def pooled(states: Array, there: Array) -> Array:
    """The mean of what stands at the pieces that are there, as vectors of length 1."""
    means = np.einsum("btw,bt->bw", states, there, optimize=True)
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    return np.asarray(means / np.maximum(lengths, 1e-12), np.float32)


def word_pieces(folder: str) -> WordPiece:
    """How a model in a folder cuts texts."""
    told = _json(folder, "tokenizer_config.json") if _has(folder, "tokenizer_config.json") else {}
    if not _has(folder, "vocab.txt"):
        raise Failure("model", f"{folder} has no vocab.txt", "a folder of a BERT model has one")
    return WordPiece(os.path.join(folder, "vocab.txt"), lower=bool(told.get("do_lower_case", True)))


def _has(folder: str, name: str) -> bool:
    return os.path.isfile(os.path.join(folder, name))


def _json(folder: str, name: str) -> dict[str, Any]:
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return dict(json.load(file))
    except (OSError, ValueError) as error:
        raise Failure("model", f"{os.path.join(folder, name)} cannot be read: {error}", "is it a model's?") from None


def _weights(path: str) -> dict[str, Array]:
    """The arrays of a safetensors file: eight bytes of length, so much JSON that says where each lies, the arrays."""
    try:
        with open(path, "rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        head = int.from_bytes(data[:8], "little")
        told = json.loads(data[8 : 8 + head])
        return {name.removeprefix("bert."): _array(data, 8 + head, of) for name, of in told.items() if name[0] != "_"}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Failure("model", f"{path} cannot be read: {error}", "is it a model's, and all of it there?") from None


def _array(data: mmap.mmap, start: int, of: dict[str, Any]) -> Array:
    kind = _TYPES.get(of["dtype"])
    if kind is None:
        return np.zeros(0, np.float32)
    begin, end = of["data_offsets"]
    size = np.dtype(kind).itemsize
    found: Array = np.frombuffer(data, kind, (end - begin) // size, start + begin).reshape(of["shape"])
    return found.astype(np.float32, copy=False)


def _dense_of(weights: dict[str, Array], name: str) -> tuple[Array, Array]:
    return weights[f"{name}.weight"].T, weights[f"{name}.bias"]


def _norm_of(weights: dict[str, Array], name: str) -> tuple[Array, Array]:
    return weights[f"{name}.weight"], weights[f"{name}.bias"]


def _normed(states: Array, scale: Array, shift: Array, small: float) -> Array:
    states = states - states.mean(axis=-1, keepdims=True)
    spread = np.sqrt(np.einsum("...w,...w->...", states, states)[..., None] / states.shape[-1] + np.float32(small))
    states /= spread
    states *= scale
    states += shift
    return states


def _gelu(x: Array) -> Array:
    """x * Φ(x). Φ is (1 + tanh of an odd polynomial) / 2, fitted so that the product is off by 3e-6 at most."""
    square = x * x
    inner = square * np.float32(1.11908691e-06)
    for factor in (-3.05810866e-05, -1.24861241e-04, 3.64687904e-02):
        inner += np.float32(factor)
        inner *= square
    inner += np.float32(7.97828136e-01)
    inner *= x
    np.tanh(inner, out=inner)
    inner += 1
    inner *= x
    inner *= np.float32(0.5)
    return np.asarray(inner, np.float32)
