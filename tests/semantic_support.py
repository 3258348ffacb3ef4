"""A tiny model on disk, as sentence transformers lie there; its weights are noise, so that same words are alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import numpy as np

WORDS: Final = [
    *(
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "the",
        "a",
        "of",
        "in",
        "is",
        "was",
        "fix",
        "fixed",
        "test",
        "tests",
        "flaky",
    ),
    *("websocket", "retry", "tide", "tides", "moon", "lunar", "table", "harbour", "port", "sea", "water", "database"),
    *("column", "rename", "schema", "index", "##s", "##ing", "##ed", ".", ",", "?", "!", "'", "-", "_", "/", ":"),
    *("潮", "汐", "cafe", "resume"),
]
WIDTH, HEADS, LAYERS, INNER = 32, 4, 2, 64


def model_folder(folder: Path, seed: int = 0) -> str:
    """Make one."""
    folder.mkdir(parents=True, exist_ok=True)
    told = {"model_type": "bert", "hidden_act": "gelu", "hidden_size": WIDTH, "num_attention_heads": HEADS}
    told |= {"num_hidden_layers": LAYERS, "layer_norm_eps": 1e-12, "max_position_embeddings": 64}
    (folder / "config.json").write_text(json.dumps(told), "utf-8")
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n", "utf-8")
    arrays = weights(np.random.default_rng(seed))
    head: dict[str, object] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, array in arrays.items():
        head[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(head).encode()
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
    return str(folder)


def weights(random: np.random.Generator) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    """Noise in the shape of a model."""
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS), WIDTH),
        "embeddings.position_embeddings.weight": (64, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "embeddings.LayerNorm.weight": (WIDTH,),
        "embeddings.LayerNorm.bias": (WIDTH,),
    }
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}."
        dense = {
            **{f"attention.self.{part}": (WIDTH, WIDTH) for part in ("query", "key", "value")},
            "attention.output.dense": (WIDTH, WIDTH),
            "intermediate.dense": (INNER, WIDTH),
            "output.dense": (WIDTH, INNER),
        }
        for name, shape in dense.items():
            shapes |= {f"{layer}{name}.weight": shape, f"{layer}{name}.bias": shape[:1]}
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"{layer}{name}.weight": (WIDTH,), f"{layer}{name}.bias": (WIDTH,)}
    made = {name: random.normal(0, 0.2, shape).astype(np.float32) for name, shape in shapes.items()}
    made["embeddings.word_embeddings.weight"] *= 5
    return {name: array + 1 if name.endswith("LayerNorm.weight") else array for name, array in made.items()}
