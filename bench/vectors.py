"""`python -m bench.vectors`: exact search through vectors, warm: 512 of 64 numbers, and 45,000 of 384."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from retro import TurnVector
from retro import open as opened
from retro.semantic.exact import Exact

Floats = npt.NDArray[np.float32]

FIRST: Final = 10
QUERIES: Final = 50


def main() -> int:
    """Measure, and count whether the nearest were found."""
    random = np.random.default_rng(7)

    def some(count: int, width: int) -> Floats:
        return random.standard_normal((count, width)).astype(np.float32)

    with tempfile.TemporaryDirectory(prefix="bench-vectors-") as folder:
        archive = opened(folder)
        vectors, queries = some(512, 64), some(QUERIES, 64)
        archive.vectors.put(TurnVector(str(at), 1, row) for at, row in enumerate(vectors))
        _print("512 x 64, archive.vectors.search", lambda query: archive.vectors.search(query, FIRST), queries, 100)
        found = [[int(hit.session_id) for hit in archive.vectors.search(query, FIRST)] for query in queries]
        print(f"{'':40} recall {_recall(vectors, queries, found):.3f}   ≤ 10 µs, 1.0")
    vectors, queries = some(45_000, 384), some(QUERIES, 384)
    exact = Exact(vectors)
    _print("45,000 x 384", lambda query: exact.nearest(query, FIRST), queries, 1)
    found = [exact.nearest(query, FIRST)[0].tolist() for query in queries]
    print(f"{'':40} recall {_recall(vectors, queries, found):.3f}   ≤ 2,000 µs, 1.0")
    return 0


def _print(
    what: str, search: Callable[[npt.NDArray[np.float32]], object], queries: npt.NDArray[np.float32], times: int
) -> None:
    spent = []
    for query in [*queries, *queries]:
        began = time.perf_counter()
        for _ in range(times):
            search(query)
        spent.append((time.perf_counter() - began) / times * 1e6)
    spent = sorted(spent[len(queries) :])
    print(f"{what:40} median {spent[len(spent) // 2]:8.1f} µs   p95 {spent[int(len(spent) * 0.95)]:8.1f} µs")


def _recall(vectors: Floats, queries: Floats, found: list[list[int]]) -> float:
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    right = [set(np.argsort(-(unit @ query))[:FIRST].tolist()) for query in queries]
    return sum(len(best.intersection(got)) for best, got in zip(right, found, strict=True)) / (FIRST * len(queries))


if __name__ == "__main__":
    raise SystemExit(main())
