"""The bench: what it generates is like real sessions, and what it measures with is right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import CORPUS, NO_CORPUS

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.archives import first_session, multiply
from bench.calibrate import calibration
from bench.cases import faster, within
from bench.figures import BINS, Figures, bins, measure, transcripts
from bench.generate import byte_count, generate, one_session
from bench.inside import LINES, SESSIONS, SIZE, only_transcript, small_home
from bench.outcome import by_repository, in_folds, labelled, score, with_limits
from bench.processes import run

from retro import config
from retro.places import Places
from retro.signals.judging import table
from retro.sweep import sweep

HOME = CORPUS / "claude-code" / "real" / "home"
MEASURED = 40_000_000
NEAR = 0.20


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("generated")
    generate(str(home), MEASURED, seed=7)
    return home


@pytest.fixture(scope="module")
def real() -> Figures:
    if not HOME.is_dir():
        pytest.skip(NO_CORPUS)
    return measure(str(HOME))


@pytest.fixture(scope="module")
def made(generated: Path) -> Figures:
    return measure(str(generated))


def near(one: float, other: float) -> bool:
    return abs(one - other) <= NEAR * other


def middle(values: list[int]) -> list[int]:
    """A distribution's inner part, in eight groups; single sessions and lines decide its ends."""
    inner = values[len(values) // 24 : -1]
    step = len(inner) // 8
    return [sum(inner[at : at + step]) // step for at in range(0, step * 8, step)]


@pytest.mark.corpus
def test_the_calibration_is_that_of_the_real_home(real: Figures) -> None:
    kept = calibration()
    assert kept.lines == real.lines
    assert kept.compressed == pytest.approx(real.compressed, abs=0.0001)
    assert {kind: round(found.count, 6) for kind, found in real.kinds.items()} == {
        kind: found.count for kind, found in kept.kinds.items()
    }


@pytest.mark.corpus
def test_generated_sessions_compress_like_real_ones(real: Figures, made: Figures) -> None:
    assert near(made.compressed, real.compressed)
    assert near(made.conversation, real.conversation)


@pytest.mark.corpus
def test_generated_sessions_are_as_long_as_real_ones(real: Figures, made: Figures) -> None:
    pairs = list(zip(middle(made.sessions), middle(real.sessions), strict=True))
    assert [pair for pair in pairs if not near(*pair)] == []


@pytest.mark.corpus
def test_generated_lines_are_as_long_as_real_ones(real: Figures, made: Figures) -> None:
    pairs = list(zip(middle(made.lines), middle(real.lines), strict=True))
    assert [pair for pair in pairs if not near(*pair)] == []
    assert near(sum(made.lines), sum(real.lines))


@pytest.mark.corpus
def test_generated_records_are_of_the_same_kinds(real: Figures, made: Figures) -> None:
    """By count and by bytes, for every kind that makes up a hundredth of either."""
    wrong = [
        (kind, what)
        for kind, found in real.kinds.items()
        for what in ("count", "size")
        if getattr(found, what) >= 0.01
        and not near(getattr(made.kinds[kind], what) if kind in made.kinds else 0.0, getattr(found, what))
    ]
    assert wrong == []


@pytest.mark.corpus
def test_generated_sessions_speak_as_much_as_real_ones(real: Figures, made: Figures) -> None:
    assert near(made.words, real.words)
    assert near(made.signature, real.signature)
    calls = {
        name: [sum(kind.count for key, kind in home.kinds.items() if key.startswith(name)) for home in (made, real)]
        for name in ("call:", "result:", "assistant:", "progress:")
    }
    assert [name for name, pair in calls.items() if not near(*pair)] == []


def records(home: Path) -> Iterator[tuple[str, list[dict[str, object]]]]:
    for path in transcripts(str(home)):
        with open(path, "rb") as file:
            yield path, [json.loads(line) for line in file]


def test_generated_records_are_json_with_ids_of_their_own_and_advancing_times(tmp_path: Path) -> None:
    generate(str(tmp_path), 1_500_000)
    seen: set[object] = set()
    for path, found in records(tmp_path):
        named = [record["uuid"] for record in found if "uuid" in record]
        assert len(named) == len(set(named)) and not seen.intersection(named)
        seen.update(named)
        assert {record["sessionId"] for record in found if "sessionId" in record} == {Path(path).stem}
        times = [str(record["timestamp"]) for record in found if "timestamp" in record]
        assert times == sorted(times)
    assert seen


def test_the_same_seed_gives_the_same_home(tmp_path: Path) -> None:
    homes = [tmp_path / name for name in ("one", "two", "other")]
    for home, seed in zip(homes, (3, 3, 4), strict=True):
        generate(str(home), 300_000, seed)
    contents = [[(os.path.relpath(path, home), found) for path, found in records(home)] for home in homes]
    assert contents[0] == contents[1]
    assert contents[0] != contents[2]


def test_a_home_has_as_many_sessions_and_bytes_as_asked_for(tmp_path: Path) -> None:
    made = generate(str(tmp_path), 2_000_000, sessions=20)
    assert len(made.paths) == len(set(made.paths)) == 20
    assert made.size == sum(map(os.path.getsize, made.paths))
    assert 1_500_000 < made.size < 4_000_000


def test_one_session_is_as_large_as_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "projects" / "p" / "s.jsonl"
    path.parent.mkdir(parents=True)
    one_session(str(path), 1_000_000)
    assert 1_000_000 <= path.stat().st_size < 1_500_000
    assert only_transcript(str(tmp_path)) == str(path)


def sweep_counts(home: Path, root: Path) -> tuple[int, int, int]:
    env = {"HOME": str(root / "nobody"), "CLAUDE_CONFIG_DIR": str(home), "RETRO_CONFIG": str(root / "no.toml")}
    (host,) = sweep(Places(str(root)), config.load(None, env), env, hosts=("claude",)).hosts
    return host.discovered, host.ingested, host.skipped_unchanged


def test_a_multiplied_archive_is_one_that_a_sweep_finds_unchanged(tmp_path: Path) -> None:
    home, root = tmp_path / "home", tmp_path / "root"
    template = first_session(str(home))
    assert sweep_counts(home, root) == (1, 1, 0)
    multiply(str(root), str(home), template, 30)
    assert sweep_counts(home, root) == (30, 0, 30)


def test_small_sessions_have_the_shape_that_was_asked_for(tmp_path: Path) -> None:
    paths = small_home(str(tmp_path / "home"))
    assert len(paths) == SESSIONS
    for path in paths:
        data = Path(path).read_bytes()
        assert (len(data), data.count(b"\n")) == (SIZE, LINES)
    assert sweep_counts(tmp_path / "home", tmp_path / "root") == (SESSIONS, SESSIONS, 0)


def test_bins_keep_the_mean() -> None:
    values = list(range(0, BINS * 100, 7))
    assert len(bins(values)) == BINS
    assert sum(bins(values)) / BINS == pytest.approx(sum(values) / len(values), rel=0.01)
    assert bins([5, 1]) == [1, 5]


@pytest.mark.parametrize(("text", "size"), [("1GB", 10**9), ("200 MB", 2 * 10**8), ("1.5k", 1500), ("7", 7)])
def test_byte_counts(text: str, size: int) -> None:
    assert byte_count(text) == size


def test_a_row_says_whether_its_aim_was_reached() -> None:
    assert (faster("c", "w", 2.0, "p", 6.0, 2.5).ratio, faster("c", "w", 2.0, "p", 6.0, 2.5).reached) == (3.0, True)
    assert faster("c", "w", 4.0, "p", 6.0, 2.5).reached is False
    assert faster("c", "w", 4.0, "p", 6.0).reached is None
    assert within("c", "w", "ms", 29.0, 30).reached is True
    assert within("c", "w", "ms", 31.0, 30).reached is False


def test_a_command_is_measured_with_its_memory(tmp_path: Path) -> None:
    code = "import time; held = bytearray(60_000_000); time.sleep(0.5); print('done')"
    env = {"PATH": os.environ.get("PATH", "")}
    result = run([sys.executable, "-c", code], env, str(tmp_path), sample=True)
    assert (result.code, result.output.strip()) == (0, "done")
    assert result.seconds >= 0.5
    if os.path.exists("/proc/self/smaps_rollup"):
        assert result.peak > 55_000_000


def test_a_filled_ledger_is_one_that_adds_up(tmp_path: Path) -> None:
    import apsw
    from bench.ledgers import fill

    from retro.ledger import reports

    root = str(tmp_path / "root")
    sessions = fill(root, 2000)
    index = apsw.Connection(Places(root).index, flags=apsw.SQLITE_OPEN_READONLY)
    whole = reports.spent_between(index, reports.Wanted())
    found = reports.sessions(index, reports.Wanted())
    assert (whole.requests, len(found)) == (2000, sessions)
    assert sum(one.amount.cost for one in found) == whole.cost > 0


@pytest.mark.corpus
def test_weights_of_the_outcome_are_what_is_fitted_and_what_is_said_is_mostly_right() -> None:
    corpus = CORPUS / "labelled"
    if not corpus.is_dir():
        pytest.skip(NO_CORPUS)
    runs = labelled(str(corpus), str(corpus / "labels.tsv"))
    assert (len(runs), sum(run.resolved for run in runs)) == (119, 84)
    fitted = with_limits(runs)
    assert (fitted.terms, fitted.intercept, fitted.success) == (table().terms, table().intercept, table().success)
    assert table().failure is None
    for found in (score(in_folds(runs)), score(by_repository(runs))):
        assert found.auc >= 0.75
        assert found.brier <= 0.17
        assert found.success_said >= 0.30
        assert (found.success_precision or 0) >= 0.85


def test_a_profile_puts_all_the_time_down_to_stages(demo_home: Path) -> None:
    command = [sys.executable, "-m", "bench.profile", str(demo_home)]
    folder = Path(__file__).resolve().parents[1]
    said = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=True).stdout
    shares = {line[:30].strip(): float(line[30:38].rstrip("s")) for line in said.splitlines()[1:]}
    total = shares.pop("all")
    assert sum(shares.values()) == pytest.approx(total, abs=0.01 * len(shares))
    assert {"index", "turns", "decode and normalise"} <= shares.keys()
    assert total > 0
