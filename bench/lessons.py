"""`python -m bench.lessons`: what mining finds in one half of the labelled sessions, counted on the other half.

A pattern is an error that at least three sessions of a half met, with a way that was seen to resolve it. On the other
half: how many are met again, and how often the way works there, beside the other attempts at the same errors.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

import msgspec

from bench.cases import scratch
from retro.config import Settings
from retro.index.database import open_writer
from retro.mining import base, runner, tracing
from retro.mining.episodes import Episode, Way
from retro.mining.recurring import EVERYWHERE, Cluster, Key, Rate
from retro.mining.statistics import lift_low
from retro.mining.trace import Trace
from retro.patterns import detect
from retro.patterns.pattern import Pattern
from retro.places import Places
from retro.sweep import sweep

CORPUS: Final = os.path.join("shared", "corpus", "labelled")
LEAST: Final = 3
AIM: Final = 20
RECUR: Final = 0.85


class Counted(NamedTuple):
    """A pattern of one half, and what the other half says of it."""

    pattern: Pattern
    sessions: int
    """That met the error there."""
    own: Rate
    others: Rate


class Half(msgspec.Struct):
    """The figures of one direction."""

    patterns: int
    recur: int
    worked: int
    tried: int
    others_worked: int
    others_tried: int
    any_worked: int
    any_tried: int
    shared: int = 0
    """Error signatures that at least three sessions of the half that was mined met, resolved or not."""

    @property
    def lift(self) -> float:
        """Lower bound against the other attempts at the same errors."""
        return lift_low(self.worked, self.tried, self.others_worked, self.others_tried)

    @property
    def lift_any(self) -> float:
        """Lower bound against all attempts at all errors."""
        return lift_low(self.worked, self.tried, self.any_worked, self.any_tried)


def main() -> int:
    """Mine one half, count on the other, and the other way round."""
    parser = argparse.ArgumentParser(prog="python -m bench.lessons", description=__doc__)
    parser.add_argument("--corpus", default=_corpus(), help="a folder as CLAUDE_CONFIG_DIR names it")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if not os.path.isdir(os.path.join(args.corpus, "projects")):
        print(f"there are no sessions in {args.corpus}", file=sys.stderr)
        return 1
    with scratch(tempfile.gettempdir()) as folder:
        places = Places(os.path.join(folder, "archive"))
        sweep(places, Settings(""), {"HOME": folder, "CLAUDE_CONFIG_DIR": args.corpus})
        seconds, size, traces = _mine(places, args.corpus)
    halves = [day_zero(*pair) for pair in (_halves(traces), _halves(traces)[::-1])]
    if args.json:
        print(
            json.dumps({"halves": [msgspec.to_builtins(half) for half, _ in halves], "mb_per_s": size / seconds / 1e6})
        )
        return 0
    for number, (half, counted) in enumerate(halves, 1):
        _print(number, half, counted)
    problems = [one for one in detect.detect(detect.gather(traces), LEAST) if one.kind == "problem"]
    print(
        f"all {len(traces)} sessions: {sum(one.resolution is not None for one in problems)} patterns with what"
        f" resolved them, of {len(problems)} errors that {LEAST} sessions shared"
    )
    print(
        f"mining read {size / 1e6:.0f} MB of sessions in {seconds:.2f} s of CPU:"
        f" {size / seconds / 1e6:.0f} MB/s (aim: 20)"
    )
    return 0


def _corpus() -> str:
    above = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return os.path.join(above, CORPUS)


def _mine(places: Places, corpus: str) -> tuple[float, int, list[Trace]]:
    size = sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(corpus) for name in names)
    connection = open_writer(places.index)
    try:
        began = time.process_time()
        runner.mine(connection, places, [one for one in base.methods().values() if not one.opt_in])
        return time.process_time() - began, size, list(tracing.all_traces(connection))
    finally:
        connection.close()


def _halves(traces: Sequence[Trace]) -> tuple[list[Trace], list[Trace]]:
    def first(trace: Trace) -> bool:
        return blake2b(trace.session_id.encode(), digest_size=1).digest()[0] % 2 == 0

    return [one for one in traces if first(one)], [one for one in traces if not first(one)]


def day_zero(mined: Sequence[Trace], other: Sequence[Trace]) -> tuple[Half, list[Counted]]:
    """What the patterns of one half are worth on the other."""
    met = [one for one in detect.detect(detect.gather(mined), LEAST) if one.kind == "problem"]
    patterns = [one for one in met if one.resolution]
    there = detect.failures(detect.gather(other))
    counted = [_counted(pattern, there) for pattern in patterns]
    attempts = {(one.trace.name, one.failure.signature, tried.way): False for one in there for tried in one.attempts}
    for one in there:
        for tried in one.attempts:
            attempts[one.trace.name, one.failure.signature, tried.way] |= tried.worked
    return Half(
        len(counted),
        sum(one.sessions > 0 for one in counted),
        sum(one.own.worked for one in counted),
        sum(one.own.tried for one in counted),
        sum(one.others.worked for one in counted),
        sum(one.others.tried for one in counted),
        sum(attempts.values()),
        len(attempts),
        len(met),
    ), counted


def _counted(pattern: Pattern, there: Sequence[Episode]) -> Counted:
    assert pattern.resolution is not None
    way = Way(pattern.resolution.how, pattern.resolution.program, tuple(pattern.resolution.flags))
    met = [one for one in there if _is(one, pattern)]
    cluster = Cluster(Key(EVERYWHERE, pattern.program, pattern.signature), tuple(met))
    tried: dict[tuple[bool, str, Way], bool] = {}
    for one in met:
        for attempt in one.attempts:
            key = (cluster.is_taken(way, attempt), one.trace.name, attempt.way)
            tried[key] = tried.get(key, False) or attempt.worked
    own = [worked for (is_own, _, _), worked in tried.items() if is_own]
    others = [worked for (is_own, _, _), worked in tried.items() if not is_own]
    sessions = len({one.trace.name for one in met})
    return Counted(pattern, sessions, Rate(sum(own), len(own)), Rate(sum(others), len(others)))


def _is(episode: Episode, pattern: Pattern) -> bool:
    return (pattern.program, pattern.signature) in {level(episode.failure) for level in detect.LEVELS}


def _print(number: int, half: Half, counted: Sequence[Counted]) -> None:
    print(f"mined on one half, counted on the other ({number} of 2)")
    for one in counted:
        said = one.pattern.resolution
        assert said is not None
        how = " ".join([said.how.replace("_", " "), said.program if said.how == "uses" else "", *said.flags]).strip()
        program = one.pattern.program or ", ".join(one.pattern.programs) or "(refused)"
        print(
            f"  {one.pattern.sessions:3} sessions  {program}: {one.pattern.signature[:70]}\n"
            f"      {how}: {said.worked} of {said.tried} | there: met in {one.sessions} sessions,"
            f" {one.own.worked} of {one.own.tried}, other attempts {one.others.worked} of {one.others.tried}"
        )
    share = half.recur / half.patterns if half.patterns else 0.0
    print(
        f"  {half.patterns} patterns (aim: {AIM}), of {half.shared} errors that {LEAST} sessions of this half shared;"
        f" {share:.0%} recur (aim: {RECUR:.0%}); the way works in {half.worked} of {half.tried},"
        f" other attempts at the same errors in {half.others_worked} of {half.others_tried}:"
        f" lift at least {half.lift:.2f}; attempts at any error {half.any_worked} of {half.any_tried}:"
        f" lift at least {half.lift_any:.2f} (aim: above 1)\n"
    )


if __name__ == "__main__":
    sys.exit(main())
