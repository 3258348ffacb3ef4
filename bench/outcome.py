"""`python -m bench.outcome`: how well readings tell whether a run did what was asked, and the weights of that.

A folder of sessions with a `labels.tsv` (columns session, repository, resolved) is swept, and a logistic regression is
fitted on a few readings. It has a strong ridge, and no weight may have the sign that speaks against what a reading
means. Everything that is reported comes from cross-validation: repeated in folds, and by repository, where the one that
is asked about was never seen. Where a success begins is chosen inside each training part. `--write` writes the table.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import exp, log1p
from statistics import fmean, pstdev
from typing import Final, NamedTuple

import msgspec

from bench.cases import scratch
from retro.config import Settings
from retro.event import Value
from retro.index.database import open_reader, rows
from retro.index.readings import readings_of
from retro.places import Places
from retro.signals.judging import TABLE, TEXTS, Judgement, Table, Term, judge
from retro.sweep import sweep

CORPUS: Final = os.path.join("shared", "corpus", "labelled")

TERMS: Final = (
    ("agent_confirmation_count", 1, "confirmed or reproduced: {} times"),
    ("agent_doubt_count", -1, "words of doubt: {}"),
    ("action_count_explore", -1, "files and folders looked at: {} times"),
)
"""What is fitted: a reading, the sign that it must have, and how it is told."""

OTHERS: Final = (
    ("step_count", -1),
    ("output_tokens", -1),
    ("active_seconds", -1),
    ("cost", -1),
    ("action_count_locate", -1),
    ("file_edit_count", -1),
    ("unique_files_edited", -1),
    ("failed_command_ratio", -1),
    ("failure_ignored_count", -1),
    ("repeated_action_without_progress", -1),
    ("test_fix_loop_count", -1),
    ("tests_run_count", 1),
    ("last_test_outcome", 1),
    ("premature_finish_without_validation", -1),
    ("exploitation_ratio", 1),
)
"""What was tried beside it, and the sign that one would expect."""

RIDGE: Final = 4.0
"""On weights of readings with a spread of one: about as much as four runs that tell nothing."""

SHARE: Final = 0.36
"""Of how many runs success is said at most: so many that runs of other repositories are not fewer than three in ten,
and few enough that what is said of those, fitted without them, stays right in 85 of a hundred."""

LEAST: Final = 0.10
"""Of fewer runs nothing is said at all: too few to know how often it would be right."""

PRECISION: Final = 0.85
FOLDS: Final = 5
REPEATS: Final = 10
NEWTON_STEPS: Final = 30
BINS: Final = 5

Values = dict[str, Value | None]


class Run(NamedTuple):
    """A run: its readings, whether it did what was asked, and whose task it was."""

    values: Values
    resolved: bool
    repository: str


class Told(NamedTuple):
    """What was said of a run that was not fitted on."""

    judged: Judgement
    resolved: bool

    @property
    def probability(self) -> float:
        """How likely it was said to be; one half where nothing was."""
        return 0.5 if self.judged.probability is None else self.judged.probability


class Score(msgspec.Struct):
    """How good that is."""

    runs: int
    auc: float
    brier: float
    brier_of_the_mean: float
    """What saying the mean of all runs each time would give."""
    calibration_error: float
    success_said: float
    success_precision: float | None
    failure_said: float
    failure_precision: float | None
    bins: list[tuple[float, float, int]]
    """What was said on average, what was true, and how many runs."""


def main() -> int:
    """Fit, cross-validate, print; and write the table where that is wanted."""
    parser = argparse.ArgumentParser(prog="python -m bench.outcome", description=__doc__)
    parser.add_argument("--corpus", default=_corpus(), help="a folder as CLAUDE_CONFIG_DIR names it, with labels.tsv")
    parser.add_argument("--check", action="store_true", help="judge with the table in force; fit nothing")
    parser.add_argument("--write", action="store_true", help=f"write the fitted table to {os.path.basename(TABLE)}")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    labels = os.path.join(args.corpus, "labels.tsv")
    if not os.path.isfile(labels):
        print(f"there is no {labels}", file=sys.stderr)
        return 1
    runs = labelled(args.corpus, labels)
    if args.check:
        found = {"the table in force": score([[Told(judge(run.values), run.resolved) for run in runs]])}
    else:
        found = {
            f"{FOLDS} folds, {REPEATS} times": score(in_folds(runs)),
            "by repository": score(by_repository(runs)),
        }
    if args.json:
        print(json.dumps({name: msgspec.to_builtins(one) for name, one in found.items()}, indent=1))
    else:
        _print(found, runs)
    if args.write:
        _write(with_limits(runs), found)
    return 0


def _corpus() -> str:
    above = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return os.path.join(above, CORPUS)


def labelled(corpus: str, labels: str) -> list[Run]:
    """The runs, with what a sweep reads of them."""
    with open(labels, encoding="utf-8", newline="") as file:
        truth = {row["session"]: row for row in csv.DictReader(file, delimiter="\t")}
    with scratch(tempfile.gettempdir()) as folder:
        places = Places(os.path.join(folder, "archive"))
        sweep(places, Settings(""), {"HOME": folder, "CLAUDE_CONFIG_DIR": corpus})
        connection = open_reader(places)
        assert connection is not None
        try:
            query = "SELECT id, session_id FROM session ORDER BY session_id"
            return [
                Run(
                    {one.signal: one.value for one in readings_of(connection, number)},
                    truth[name]["resolved"] == "1",
                    truth[name]["repository"],
                )
                for number, name in list(rows(connection, query))
                if name in truth
            ]
        finally:
            connection.close()


# --- fitting ---------------------------------------------------------------------------------------------------------


def fitted(runs: Sequence[Run]) -> Table:
    """Weights of these runs, without a limit for what is said. A weight of the wrong sign is left out."""
    terms = [term for term in TERMS if any(_number(run.values.get(term[0])) is not None for run in runs)]
    while True:
        columns = [_column(runs, signal) for signal, _, _ in terms]
        means = [fmean(column) for column in columns]
        spreads = [pstdev(column) or 1.0 for column in columns]
        grid = [
            [(column[at] - mean) / spread for column, mean, spread in zip(columns, means, spreads, strict=True)]
            for at in range(len(runs))
        ]
        intercept, *weights = _logistic(grid, [run.resolved for run in runs])
        wrong = [at for at, (_, sign, _) in enumerate(terms) if weights[at] * sign <= 0]
        if not wrong:
            break
        worst = min(wrong, key=lambda at: weights[at] * terms[at][1])
        terms = [term for at, term in enumerate(terms) if at != worst]
    made = []
    for (signal, _, words), weight, mean, spread in zip(terms, weights, means, spreads, strict=True):
        known = [value for run in runs if (value := _number(run.values.get(signal))) is not None]
        made.append(Term(signal, words, round(weight / spread, 4), round(mean, 4), min(known), max(known)))
    texts = min(_number(run.values.get(TEXTS)) or 0 for run in runs)
    return Table(1, round(intercept, 4), made, texts, None, None, {})


def _number(value: Value | None) -> float | None:
    if isinstance(value, str):
        return float(value == "passed")
    return None if value is None else float(value)


def _column(runs: Sequence[Run], signal: str) -> list[float]:
    """The logarithms of a reading; the mean of the others where there is none."""
    found = [None if (value := _number(run.values.get(signal))) is None else log1p(value) for run in runs]
    mean = fmean(value for value in found if value is not None)
    return [mean if value is None else value for value in found]


def _logistic(grid: list[list[float]], truth: list[bool]) -> list[float]:
    """Newton's method on the likelihood with a ridge; the first weight is the intercept, on which there is none."""
    size = len(grid[0]) + 1 if grid else 1
    lines = [[1.0, *line] for line in grid]
    weights = [0.0] * size
    for _ in range(NEWTON_STEPS):
        slope = [-RIDGE * weight if at else 0.0 for at, weight in enumerate(weights)]
        curve = [[RIDGE * (row == column and row > 0) for column in range(size)] for row in range(size)]
        for line, is_true in zip(lines, truth, strict=True):
            chance = 1 / (1 + exp(-sum(map(float.__mul__, weights, line))))
            for row in range(size):
                slope[row] += (is_true - chance) * line[row]
                for column in range(size):
                    curve[row][column] += chance * (1 - chance) * line[row] * line[column]
        step = _solved(curve, slope)
        weights = [weight + by for weight, by in zip(weights, step, strict=True)]
        if max(map(abs, step)) < 1e-9:
            break
    return weights


def _solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """A small system of equations, whose matrix is positive."""
    lines = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    size = len(lines)
    for at in range(size):
        best = max(range(at, size), key=lambda row: abs(lines[row][at]))
        lines[at], lines[best] = lines[best], lines[at]
        lines[at] = [value / lines[at][at] for value in lines[at]]
        for row in range(size):
            if row != at:
                factor = lines[row][at]
                lines[row] = [value - factor * own for value, own in zip(lines[row], lines[at], strict=True)]
    return [line[-1] for line in lines]


def with_limits(runs: Sequence[Run], seed: int = 0) -> Table:
    """Weights of these runs, and from where on something is said: chosen by what folds say that were left out."""
    told: list[Told] = []
    for table, rest in _split(runs, seed):
        open_to_all = msgspec.structs.replace(table, success=0.0)
        told += [Told(judge(run.values, open_to_all), run.resolved) for run in rest]
    high = _limit([(one.probability, one.resolved) for one in told if one.judged.said == "success"], len(told))
    low = _limit([(1 - one.probability, not one.resolved) for one in told], len(told))
    return msgspec.structs.replace(fitted(runs), success=high, failure=None if low is None else round(1 - low, 4))


def _limit(found: Iterable[tuple[float, bool]], among: int) -> float | None:
    """From which probability on what is said is right often enough; None if for too few runs to say so."""
    ranked = sorted(found, reverse=True)
    for count in range(min(len(ranked), round(SHARE * among)), round(LEAST * among) - 1, -1):
        if sum(right for _, right in ranked[:count]) >= PRECISION * count:
            return round(ranked[count - 1][0], 4)
    return None


# --- cross-validation ------------------------------------------------------------------------------------------------


def _split(runs: Sequence[Run], seed: int) -> Iterator[tuple[Table, list[Run]]]:
    """Tables fitted without a fold, and that fold; each fold has its part of either truth."""
    drawn = random.Random(seed)
    folds: list[list[Run]] = [[] for _ in range(FOLDS)]
    at = 0
    for truth in (True, False):
        group = [run for run in runs if run.resolved is truth]
        drawn.shuffle(group)
        for run in group:
            folds[at % FOLDS].append(run)
            at += 1
    for fold in folds:
        yield fitted([run for other in folds if other is not fold for run in other]), fold


def in_folds(runs: Sequence[Run]) -> list[list[Told]]:
    """What is said of each run by weights and limits that do not know it, several times over."""
    rounds = []
    for seed in range(REPEATS):
        told = []
        for at, (table, fold) in enumerate(_split(runs, seed)):
            known = set(map(id, fold))
            limits = with_limits([run for run in runs if id(run) not in known], seed * FOLDS + at)
            table = msgspec.structs.replace(table, success=limits.success, failure=limits.failure)
            told += [Told(judge(run.values, table), run.resolved) for run in fold]
        rounds.append(told)
    return rounds


def by_repository(runs: Sequence[Run]) -> list[list[Told]]:
    """What is said of the runs of a repository by weights and limits of all others."""
    told = []
    for repository in sorted({run.repository for run in runs}):
        table = with_limits([run for run in runs if run.repository != repository])
        told += [Told(judge(run.values, table), run.resolved) for run in runs if run.repository == repository]
    return [told]


# --- how good it is --------------------------------------------------------------------------------------------------


def score(rounds: Sequence[Sequence[Told]]) -> Score:
    """The mean over rounds, and bins of all rounds together."""
    together = [one for told in rounds for one in told]
    count, mean = len(together), fmean(one.resolved for one in together)
    grouped = _bins(together)
    said = {name: [one for one in together if one.judged.said == name] for name in ("success", "failure")}
    right = {"success": sum(one.resolved for one in said["success"])}
    right["failure"] = sum(not one.resolved for one in said["failure"])
    precision = {name: round(right[name] / len(told), 3) if told else None for name, told in said.items()}
    return Score(
        runs=len(rounds[0]),
        auc=round(fmean(map(auc, rounds)), 3),
        brier=round(fmean((one.probability - one.resolved) ** 2 for one in together), 4),
        brier_of_the_mean=round(mean * (1 - mean), 4),
        calibration_error=round(sum(abs(told - true) * number for told, true, number in grouped) / count, 3),
        success_said=round(len(said["success"]) / count, 3),
        success_precision=precision["success"],
        failure_said=round(len(said["failure"]) / count, 3),
        failure_precision=precision["failure"],
        bins=[(round(told, 3), round(true, 3), number // len(rounds)) for told, true, number in grouped],
    )


def auc(told: Sequence[Told]) -> float:
    """How often a run that did it is said to be likelier than one that did not."""
    good = [one.probability for one in told if one.resolved]
    bad = [one.probability for one in told if not one.resolved]
    return sum((one > other) + 0.5 * (one == other) for one in good for other in bad) / (len(good) * len(bad))


def _bins(told: Sequence[Told]) -> list[tuple[float, float, int]]:
    ranked = sorted(told, key=lambda one: one.probability)
    edges = [round(len(ranked) * at / BINS) for at in range(BINS + 1)]
    parts = [ranked[low:high] for low, high in pairwise(edges)]
    return [(fmean(one.probability for one in part), fmean(one.resolved for one in part), len(part)) for part in parts]


def _alone(runs: Sequence[Run], signal: str, sign: int) -> list[float]:
    """How well one reading alone tells, in all runs and in those of each repository; below one half: the wrong way."""
    found = []
    column = _column(runs, signal)
    for repository in (None, *sorted({run.repository for run in runs})):
        told = [
            Told(Judgement(sign * value, "unknown", []), run.resolved)
            for run, value in zip(runs, column, strict=True)
            if repository in (None, run.repository)
        ]
        found.append(auc(told))
    return found


# --- showing ---------------------------------------------------------------------------------------------------------


def _print(found: dict[str, Score], runs: Sequence[Run]) -> None:
    for name, one in found.items():
        print(f"{name}: {one.runs} runs")
        print(f"  AUC {one.auc:.3f}, Brier {one.brier:.3f} (the mean each time: {one.brier_of_the_mean:.3f})")
        told = ", ".join(f"{said:.0%} said and {true:.0%} true" for said, true, _ in one.bins)
        print(f"  calibration: {told}; off by {one.calibration_error:.3f} on average")
        for said, share, precision in (
            ("success", one.success_said, one.success_precision),
            ("failure", one.failure_said, one.failure_precision),
        ):
            right = "" if precision is None else f", right in {precision:.1%} of them"
            print(f"  {said} is said of {share:.0%}{right}")
    print("\neach reading alone (all runs, then by repository; below 0.5 it tells the other way round)")
    for signal, sign in (*((signal, sign) for signal, sign, _ in TERMS), *OTHERS):
        print(f"  {signal:40} {'more' if sign > 0 else 'less'}  ", end="")
        print("  ".join(f"{value:.2f}" for value in _alone(runs, signal, sign)))


def _write(table: Table, found: dict[str, Score]) -> None:
    folds, apart = found.values()
    fitted_on: dict[str, float | str] = {
        "runs": folds.runs,
        "auc": folds.auc,
        "auc_by_repository": apart.auc,
        "brier": folds.brier,
        "calibration_error": folds.calibration_error,
        "success_said": folds.success_said,
        "success_precision": folds.success_precision or 0.0,
    }
    content = msgspec.json.format(msgspec.json.encode(msgspec.structs.replace(table, fitted=fitted_on)), indent=2)
    with open(TABLE, "wb") as file:
        file.write(content + b"\n")


if __name__ == "__main__":
    sys.exit(main())
