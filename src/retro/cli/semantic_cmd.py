"""`retro semantic`: whether search by meaning is there, and vectors for the passages that have none yet."""

from __future__ import annotations

import os
import time
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final

from retro.cli import moments, output
from retro.cli.opening import reading
from retro.failure import BUSY, Failure
from retro.index.database import open_writer
from retro.lock import Lock
from retro.semantic.model import INSTALL, Choice, load, wished

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context, Parser

PATIENCE_SECONDS: Final = 900
BEHIND: Final = 10
"""How far behind other programs it stands for the processor."""

MISSING: Final = "search by meaning is not installed; search by words does all"


def add_arguments(parser: Parser) -> None:
    """Declare the verbs."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")
    verbs.add_parser("status", help="whether it is there, and how many passages have vectors (the default)")
    fill = verbs.add_parser("fill", help="give vectors to passages that have none, the newest first")
    fill.add_argument("--seconds", metavar="N", type=moments.whole, help="stop after so long; the next call goes on")


def run(args: argparse.Namespace, context: Context) -> int:
    """Say how it stands, or fill."""
    choice = wished(context.settings)
    if args.verb != "fill":
        _status(choice, context)
        return 0
    if choice is None:
        raise Failure("not_installed", MISSING, INSTALL)
    with Lock(f"{context.places.lock}.semantic", 0):
        done, left = fill_index(context, choice, args.seconds)
    if context.json:
        output.print_json({"done": done, "left": left})
    else:
        output.say(f"{output.count(done)} passages have vectors now, {output.count(left)} are still without")
    return 0


def fill_index(context: Context, choice: Choice, seconds: float | None) -> tuple[int, int]:
    """Give vectors to what has none, for so long at most: how many passages got theirs, and how many have none."""
    from retro.memory import meaning
    from retro.semantic.keeping import fill, pending

    if not os.path.exists(context.places.index):
        return 0, 0
    connection = open_writer(context.places.index)
    try:
        model = lru_cache(maxsize=1)(partial(load, choice))
        until = None if seconds is None else time.monotonic() + seconds
        if meaning.pending(connection, choice.identity):
            meaning.fill(connection, choice, model, until)
        waiting = pending(connection, choice.identity)
        if not waiting:
            return 0, 0
        with output.Progress("vectors", waiting) as progress:
            done = fill(connection, choice, model(), until=until, say=progress.advance)
        return done, pending(connection, choice.identity)
    finally:
        connection.close()


def fill_quietly(context: Context) -> None:
    """The same after a sweep in the background: where the extra is there, for some minutes, out of everybody's way."""
    choice = wished(context.settings)
    if choice is None:
        return
    if hasattr(os, "nice"):
        os.nice(BEHIND)
    try:
        with Lock(f"{context.places.lock}.semantic", 0):
            fill_index(context, choice, PATIENCE_SECONDS)
    except Failure as failure:
        if failure.exit_code != BUSY:
            raise


def _status(choice: Choice | None, context: Context) -> None:
    told: dict[str, object] = {"installed": choice is not None, "model": None, "passages": 0, "without": 0}
    if choice is not None:
        from retro.semantic.keeping import pending

        with reading(context) as index:
            if index is not None:
                (passages,) = next(iter(index.execute("SELECT count(*) FROM passage")))
                told |= {"passages": passages, "without": pending(index, choice.identity)}
        told |= {"model": choice.identity, "folder": choice.folder, "batch": choice.batch, "threads": choice.threads}
    if context.json:
        output.print_json(told)
    elif choice is None:
        output.say(MISSING)
        output.say(f"  {INSTALL}")
    else:
        output.say(f"search by meaning: {choice.identity}")
        output.say(f"{told['without']:,} of {told['passages']:,} passages are without vectors")
        if told["without"]:
            output.say("  retro semantic fill")
