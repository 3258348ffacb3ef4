"""`retro recall install`, and `retro recall --help`. All else of the command is `retro.light.recall`."""

from __future__ import annotations

import argparse
import difflib
import os
from typing import TYPE_CHECKING

import msgspec

from retro import agents, repository
from retro.cadence import instructions
from retro.cli import output
from retro.failure import WRONG_USAGE, Failure, did_you_mean
from retro.light import recall

if TYPE_CHECKING:
    from retro.agents.interface import InstructionFile
    from retro.cli.interface import Context, Parser

INSTALL = "install"

_VERBS = """what to ask for:
  retro recall                the files edited last in this repository, and the last sessions
  retro recall files          the files edited last, with when and by which session
  retro recall list           the last sessions
  retro recall search WORDS   the turns that fit best; -WORD leaves out those with a word
  retro recall show ID        one session: its last turns; ID:TURN shows that turn
  retro recall checkpoints    summaries that agents wrote when they compacted a context
  retro recall repos          the repositories that sessions worked in
  retro recall install AGENT  have an agent ask by itself: a few lines in its instructions
"""


class Installed(msgspec.Struct):
    """How the instructions of one agent stand."""

    agent: str
    file: str
    installed: bool
    changed: bool = False
    backup: str | None = None
    diff: str = ""
    note: str | None = None


def add_arguments(parser: Parser) -> None:
    """Declare what the light command reads by itself, and what `install` takes."""
    parser.usage = "retro recall [VERB] [options]"
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _VERBS
    parser.add_argument("words", metavar="VERB", nargs="*", help="see below; without one, an overview")
    parser.add_argument("--limit", metavar="N", help="at most so many rows, whatever they take")
    parser.add_argument("--budget", metavar="TOKENS", help="the whole answer takes no more; UTF-8 bytes / 3.5")
    parser.add_argument("--all", action="store_true", help="not only this repository")
    parser.add_argument("--turns", metavar="N", help="of show: so many turns")
    parser.add_argument("--full", action="store_true", help="of show: all turns, uncut")
    parser.add_argument("--include-local", action="store_true", help="of repos: also those without a remote")
    parser.add_argument("--dry-run", action="store_true", help="of install: show what would change, write nothing")
    parser.add_argument("--uninstall", action="store_true", help="of install: take the lines out again")


def run(args: argparse.Namespace, context: Context) -> int:
    """Install, or do what the light command does."""
    if args.words[:1] != [INSTALL]:
        options = {"root": context.root_option, "config": context.config_option, "json": context.json}
        return recall.run(args.words, {name: value for name, value in options.items() if value})
    found = [_change(agent, file, args) for agent, file in _files(args.words[1:], context).items()]
    if context.json:
        output.print_json({"dry_run": args.dry_run, "instructions": found})
    else:
        for one in found:
            _say(one, args)
    return 0


def _files(named: list[str], context: Context) -> dict[str, InstructionFile]:
    known = agents.instructed()
    if not named:
        raise Failure("usage", "for which agents?", f"retro recall install {' '.join(known)}", WRONG_USAGE)
    for agent in named:
        if agent not in known:
            hint = did_you_mean(agent, known) or f"one of {', '.join(known)}"
            raise Failure("usage", f"{agent} is no agent with instructions that retro knows", hint, WRONG_USAGE)
    here = os.getcwd()
    found = repository.locate(here)
    folder = found.folder if found is not None else here
    return {agent: known[agent].instructions(context.env, folder) for agent in named}


def _change(agent: str, file: InstructionFile, args: argparse.Namespace) -> Installed:
    install = not args.uninstall
    before, after, backup = instructions.change(file, install=install, dry_run=args.dry_run)
    done = Installed(agent, file.path, install, before != after, backup, note=file.note if install else None)
    if done.changed:
        lines = [(text or "").splitlines(keepends=True) for text in (before, after)]
        done.diff = "".join(difflib.unified_diff(lines[0], lines[1], file.path, file.path))
    return done


def _say(one: Installed, args: argparse.Namespace) -> None:
    if not one.changed:
        output.say(f"{one.agent}: {'nothing of ours' if args.uninstall else 'already there'} in {one.file}")
    else:
        output.say(one.diff.rstrip("\n"))
        output.say(f"{one.agent}: {'would change' if args.dry_run else 'changed'} {one.file}", "bold")
    if one.backup:
        output.say(f"what was there before is in {one.backup}")
    if one.note:
        output.say(one.note, "yellow")
