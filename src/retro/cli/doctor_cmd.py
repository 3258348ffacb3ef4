"""`retro doctor`: says what is out of order in the archive and what it will do about it, then does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.cli import output
from retro.failure import CHECK_NOT_PASSED, Failure
from retro.health.doctor import Step, examine, mend
from retro.lock import Lock
from retro.semantic.model import wished

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context, Parser

SHOWN = 30
"""At most so many steps are printed; `--json` gives all."""


def add_arguments(parser: Parser) -> None:
    """Declare that it may only look."""
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, do nothing")


def run(args: argparse.Namespace, context: Context) -> int:
    """Look, say what will be done, do it. The exit code is 4 if something could not be mended."""
    places, settings = context.places, context.settings
    steps = examine(places, settings)
    if not context.json:
        _say_plan(steps, args.dry_run)
    if steps and not args.dry_run:
        with Lock(places.lock, settings.lock_wait_seconds):
            steps = examine(places, settings)  # what was seen without the lock may have been somebody at work
            mend(places, settings, steps)
            again = examine(places, settings) if any(step.done for step in steps) else []
            if again:  # what a rebuilt index shows only now
                mend(places, settings, again)
                steps += again
    failed = [step for step in steps if not step.done]
    if context.json:
        about = {"root": places.root, "dry_run": args.dry_run, "semantic": _meaning(context) is None}
        output.print_json({**about, "steps": steps, "sound": not steps or (not args.dry_run and not failed)})
    else:
        _say_done(steps, args.dry_run)
        missing = _meaning(context)
        output.say(missing or "search by meaning: installed; retro semantic tells how far it is")
    return CHECK_NOT_PASSED if failed and not args.dry_run else 0


def _meaning(context: Context) -> str | None:
    """Why there is no search by meaning; None where there is."""
    try:
        if wished(context.settings) is not None:
            return None
    except Failure as failure:
        return f"search by meaning: {failure.message}; search by words does all"
    return "search by meaning: not installed (retro-agent-memory[semantic]); search by words does all"


def _say_plan(steps: list[Step], dry_run: bool) -> None:
    for step in steps[:SHOWN]:
        output.say(step.why, "yellow")
        output.say(f"  {step.does}")
    if len(steps) > SHOWN:
        output.say(f"and {output.count(len(steps) - SHOWN)} more; --json names them all")
    if not steps:
        output.say("the archive is in order; its lock is the system's, and cannot be left behind")


def _say_done(steps: list[Step], dry_run: bool) -> None:
    if steps and not dry_run:
        for step in steps:
            if not step.done:
                output.say(f"{step.why}: {step.outcome or 'could not be mended'}", "red")
        done = sum(step.done for step in steps)
        output.say(f"{output.count(done)} of {output.count(len(steps))} mended", "bold")
