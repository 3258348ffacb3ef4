"""Vectors in memory, a byte a number, and exact search through all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.int8]

FULL: Final = 127


def reduced(vectors: Floats) -> tuple[Bytes, Floats]:
    """Vectors with a byte a number, and what each has to be multiplied by to be itself again, nearly."""
    scales = np.abs(vectors).max(axis=1, initial=0.0) / FULL
    divided = vectors / np.where(scales > 0, scales, 1)[:, None]
    return np.rint(divided).astype(np.int8), scales.astype(np.float32)


def _fast_products() -> Callable[[Bytes, Bytes], npt.NDArray[Any]] | None:
    try:
        import simsimd
    except ImportError:
        return None

    def products(rows: Bytes, query: Bytes) -> npt.NDArray[Any]:
        found: npt.NDArray[Any] = np.asarray(simsimd.cdist(query, rows, metric="dot"))[0]
        return found

    return products


class Matrix:
    """Rows of bytes with their scales. Products are exact: whole numbers throughout."""

    def __init__(self, rows: Bytes, scales: Floats) -> None:
        self.scales = scales
        self._products = _fast_products() if len(rows) else None
        # Without the kernels, products of whole numbers below 2**24 are exact in floats too, and those have BLAS.
        self._rows: npt.NDArray[Any] = rows if self._products else rows.astype(np.float32)

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    def scores(self, query: Floats) -> Floats:
        """What each row times the query is."""
        small, scale = reduced(query.reshape(1, -1))
        found = self._products(self._rows, small) if self._products else self._rows @ small[0].astype(np.float32)
        return np.asarray(found * self.scales * scale[0], np.float32)


def highest(scores: npt.NDArray[Any], limit: int) -> npt.NDArray[np.intp]:
    """The places of the highest scores, highest first."""
    last = len(scores) - limit
    if last <= 0:
        return np.argsort(-scores, kind="stable")
    ordered = scores.copy()
    ordered.partition(last)
    places: npt.NDArray[np.intp] = (scores >= ordered[last]).nonzero()[0]  # faster than to have it keep the places
    return places[(-scores[places]).argsort(kind="stable")[:limit]]
