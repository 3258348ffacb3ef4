"""`archive.vectors`: vectors of turns that a program brings, searched exactly, narrowed before anything is compared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cli_support import FIX, Retro, retro, root, swept
from retro import TurnVector
from retro import open as opened
from retro.failure import Failure

__all__ = ["retro", "root", "swept"]


def some(count: int = 512, width: int = 64) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return np.random.default_rng(1).standard_normal((count, width)).astype(np.float32)


def test_the_nearest_turns_are_found_all_of_them(root: Path) -> None:
    archive = opened(root)
    vectors = some()
    assert archive.vectors.put(TurnVector(f"s{at // 4}", at % 4, row) for at, row in enumerate(vectors)) == 512
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for query in some(50):
        best = np.argsort(-(unit @ query))[:10]
        found = archive.vectors.search(query, 10)
        assert [(hit.session_id, hit.turn) for hit in found] == [(f"s{at // 4}", at % 4) for at in best]
        assert found[0].score == pytest.approx((unit @ query)[best[0]] / np.linalg.norm(query), rel=1e-4)
    assert len(archive.vectors.search(list(map(float, vectors[7])), 1000)) == 512
    assert opened(root).vectors.search(vectors[7], 1)[0].turn == 3, "another program finds the same"


def test_filters_apply_before_anything_is_compared(swept: Retro, root: Path) -> None:
    archive = opened(root)
    near, far = [1.0, 0.0], [-1.0, 0.1]
    archive.vectors.put([TurnVector(f"other{at}", 1, near, meta={"team": "a"}) for at in range(30)])
    archive.vectors.put([TurnVector(FIX, 1, far, host="claude", meta={"team": "b"})])
    assert [hit.session_id for hit in archive.vectors.search(near, 5, where={"team": "b"})] == [FIX]
    assert [hit.session_id for hit in archive.vectors.search(near, 5, session_ids=[FIX])] == [FIX]
    assert [hit.session_id for hit in archive.vectors.search(near, 5, project="tidebook")] == [FIX]
    assert len(archive.vectors.search(near, 5, project="gardenlog")) == 0
    assert len(archive.vectors.search(near, 5, where={"nobody": "said"})) == 0


def test_a_turn_has_one_vector_and_forgetting_reaches_it(swept: Retro, root: Path) -> None:
    archive = opened(root)
    archive.vectors.put([TurnVector(FIX, 1, [1.0, 0.0], host="claude")])
    archive.vectors.put([TurnVector(FIX, 1, [0.0, 1.0], host="claude"), TurnVector("kept", 1, [1.0, 1.0])])
    assert archive.vectors.count() == 2
    assert archive.vectors.search([0.0, 1.0], 1)[0].session_id == FIX
    swept.says("forget", FIX, "--yes")
    assert [hit.session_id for hit in opened(root).vectors.search([0.0, 1.0])] == ["kept"]
    archive.vectors.drop()
    assert archive.vectors.count() == 0


def test_vectors_of_another_width_are_refused(root: Path) -> None:
    archive = opened(root)
    archive.vectors.put([TurnVector("s", 1, [1.0, 0.0])])
    with pytest.raises(Failure, match="2 numbers, not 3"):
        archive.vectors.put([TurnVector("s", 2, [1.0, 0.0, 0.0])])
    with pytest.raises(Failure, match="2 numbers"):
        archive.vectors.search([1.0])
    archive.vectors.put([TurnVector("s", 2, [1.0, 0.0, 0.0])], space="wide")
    assert len(archive.vectors.search([1.0, 0.0, 0.0], space="wide")) == 1


def test_nothing_is_found_where_there_is_nothing(root: Path) -> None:
    archive = opened(root)
    assert list(archive.vectors.search([1.0, 2.0])) == []
    archive.vectors.put([TurnVector("s", 1, [0.0, 0.0])])
    assert [hit.score for hit in archive.vectors.search([0.0, 0.0])] == [0.0]
    assert not root.joinpath("index.sqlite").exists()
