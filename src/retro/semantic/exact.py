"""Exact search through vectors of 32-bit floats: every one is compared, and the nearest are the nearest."""

from __future__ import annotations

from math import sqrt
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retro.semantic.matrix import Floats, Matrix, highest, reduced

LARGE: Final = 1 << 20
"""Numbers from which on bytes are looked at first: they are four times fewer to read."""

ROUNDING: Final = 1e-5


class Exact:
    """Vectors of one width, searched by the angle between them and a query.

    Of many, a copy in bytes says which could be among the nearest: by how much it can be wrong is known, and those that
    it cannot exclude are compared as floats. So the answer is the same as without it.
    """

    def __init__(self, vectors: Floats) -> None:
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        self._rows: Floats = np.ascontiguousarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)
        self._count, self._width = len(self._rows), int(vectors.shape[1])
        self._dot: Any = self._rows.dot
        self._small: Matrix | None = None
        self._wrong = 0.0
        if self._rows.size >= LARGE:
            small, scales = reduced(self._rows)
            self._wrong = float(np.linalg.norm(self._rows - small * scales[:, None], axis=1).max())
            self._small = Matrix(small, scales)

    def __len__(self) -> int:
        """How many there are."""
        return self._count

    @property
    def width(self) -> int:
        """Numbers of each."""
        return self._width

    def nearest(
        self, query: Floats, limit: int, allowed: npt.NDArray[np.bool_] | None = None
    ) -> tuple[npt.NDArray[np.intp], Floats, float]:
        """Places of the nearest that are allowed, nearest first, their products with the query, and its length."""
        if allowed is not None:
            through = np.flatnonzero(allowed)
            scores = self._rows[through] @ query
            best = highest(scores, limit)
            return through[best], scores[best], _length(query)
        if self._small is not None and limit < self._count:
            return self._by_bytes(query, limit)
        every: Floats = self._dot(query)
        best = highest(every, limit)
        return best, every[best], _length(query)

    def _by_bytes(self, query: Floats, limit: int) -> tuple[npt.NDArray[np.intp], Floats, float]:
        assert self._small is not None  # noqa: S101 - asked by the caller
        length = _length(query)
        small, scale = reduced(query.reshape(1, -1))
        off = float(np.linalg.norm(query - small[0] * scale[0]))
        # |row·query - row'·query'| ≤ |row-row'| |query| + |row'| |query-query'|
        wrong = self._wrong * length + (1 + self._wrong) * off + ROUNDING * length
        rough = self._small.scores(query)
        least = np.partition(rough, self._count - limit)[self._count - limit] - 2 * wrong
        could = np.flatnonzero(rough >= least)
        scores: Any = self._rows[could] @ query
        best = highest(scores, limit)
        return could[best], scores[best], _length(query)


def _length(query: Floats) -> float:
    return sqrt(query.dot(query))
