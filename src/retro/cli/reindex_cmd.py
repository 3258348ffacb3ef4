"""`retro reindex`: the index, and the events, made anew from what the agents wrote."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from retro import reindex
from retro.cli import output
from retro.cli.sweep_cmd import say_problems
from retro.failure import FAILED
from retro.lock import Lock

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context, Parser


def add_arguments(parser: Parser) -> None:
    """Nothing to choose."""


def run(args: argparse.Namespace, context: Context) -> int:
    """Rebuild it. The exit code is 1 if a session could not be rebuilt; the others are there all the same."""
    places = context.places
    count = reindex.session_count(places)
    if not count and not os.path.exists(places.index):
        if context.json:
            output.print_json({"root": places.root, "sessions": 0, "failed": 0, "seconds": 0.0, "problems": []})
        else:
            output.say(f"There is no archive in {places.root}; retro sweep makes one.")
        return 0
    began = time.monotonic()
    with Lock(places.lock, context.settings.lock_wait_seconds), output.Progress("rebuilding", count) as progress:
        outcomes = reindex.rebuild(places, context.settings, progress.advance)
    seconds = round(time.monotonic() - began, 3)
    problems = [problem for outcome in outcomes for problem in outcome.problems]
    failed = sum(bool(outcome.problems) for outcome in outcomes)
    rebuilt = len(outcomes) - failed
    if context.json:
        figures = {"sessions": rebuilt, "failed": failed, "seconds": seconds, "problems": problems}
        output.print_json({"root": places.root, **figures})
    else:
        output.say(f"{output.count(rebuilt)} sessions rebuilt in {output.duration(seconds)}, {failed} failed")
        say_problems(problems)
    return FAILED if failed else 0
