"""`python -m bench`: retro's figures beside those of others, measured in the same run."""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import shutil
import signal
import sys
import tempfile
import time
from typing import Final

import msgspec

from bench.cases import CASES, CORPUS, Bench, Row
from bench.generate import byte_count
from bench.processes import Failed, adopt_orphans
from bench.tools import install

ROUNDS: Final = 5
QUICK_ROUNDS: Final = 3
PATIENCE_SECONDS: Final = 8 * 60
"""From then on no further round or case is begun."""


def main() -> int:
    """Measure, and print a table."""
    args = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was begun is cleared away
    adopt_orphans()
    folder = tempfile.mkdtemp(prefix="bench-peers-")
    rows: list[Row] = []
    skipped: dict[str, str] = {}
    try:
        _note("installing the peers")
        peers, missing = install(folder, args.peers)
        skipped.update(missing)
        # A size that was asked for may take as long as it takes.
        until = time.monotonic() + (PATIENCE_SECONDS if args.bytes is None else math.inf)
        size = args.bytes or byte_count("100MB" if args.quick else "400MB")
        bench = Bench(QUICK_ROUNDS if args.quick else ROUNDS, size, _home(args.home), peers, _note, until)
        _measure(bench, args.only or list(CASES), rows, skipped)
    except KeyboardInterrupt:
        skipped["the rest"] = "it was interrupted"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    _print(rows, skipped, args.json)
    return 0


def _print(rows: list[Row], skipped: dict[str, str], as_json: bool) -> None:
    if as_json:
        machine = {"system": platform.system(), "cores": os.cpu_count(), "python": platform.python_version()}
        print(json.dumps({"machine": machine, "rows": msgspec.to_builtins(rows), "skipped": skipped}, indent=1))
        return
    print(_table(rows))
    for name, reason in skipped.items():
        print(f"{name} was left out: {reason}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three rounds instead of five, and 100 MB instead of 400")
    parser.add_argument("--bytes", type=byte_count, help="how large the generated home is, about: 400MB, 1GB")
    parser.add_argument(
        "--only", metavar="CASE", choices=list(CASES), action="append", help=f"one of {', '.join(CASES)}"
    )
    parser.add_argument("--home", help="a folder as CLAUDE_CONFIG_DIR names it, with real sessions")
    parser.add_argument(
        "--peers", metavar="DIR", help="where the peers' commands are; else they are installed for this run"
    )
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def _home(named: str | None) -> str | None:
    """A real home: the one that was named, or the corpus beside the project."""
    above = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    home = os.path.abspath(named) if named else os.path.join(above, CORPUS)
    return home if os.path.isdir(os.path.join(home, "projects")) else None


def _measure(bench: Bench, wanted: list[str], rows: list[Row], skipped: dict[str, str]) -> None:
    for name in wanted:
        began = time.monotonic()
        if began > bench.until:
            skipped[name] = "the others have used up the time of this run; ask for it with --only"
            continue
        try:
            rows += CASES[name](bench)
        except (Failed, OSError) as error:
            skipped[name] = str(error)
        _note(f"{name}: {time.monotonic() - began:.0f} s")


def _note(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)


def _table(rows: list[Row]) -> str:
    heads = ["case", "what", "retro", "peer", "", "ratio", "aim", "reached"]
    lines = [heads, *(_line(row) for row in rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(heads))]
    right = {2, 4, 5}
    return "\n".join(
        "  ".join(
            f"{cell:>{width}}" if at in right else f"{cell:{width}}"
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _line(row: Row) -> list[str]:
    reached = {True: "yes", False: "no", None: ""}[row.reached]
    theirs = _figure(row.theirs, row.unit) if row.theirs is not None else ""
    ratio = f"{row.ratio:.2f}x" if row.ratio is not None else ""
    return [row.case, row.what, _figure(row.retro, row.unit), row.peer, theirs, ratio, row.aim, reached]


def _figure(value: float, unit: str) -> str:
    digits = {"s": 3, "x": 3, "ms": 1}.get(unit, 0)
    return f"{value:,.{digits}f} {unit}"


if __name__ == "__main__":
    sys.exit(main())
