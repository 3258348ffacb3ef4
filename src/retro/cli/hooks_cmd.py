"""`retro hooks`: has agents tell when a turn or a session is over, and ask at each prompt what is remembered."""

from __future__ import annotations

import difflib
import os
import shutil
import sys
from typing import TYPE_CHECKING

import msgspec

from retro import agents
from retro.cadence import hooks
from retro.cli import output
from retro.cli.output import Column
from retro.failure import WRONG_USAGE, Failure, did_you_mean
from retro.memory.used import is_used

if TYPE_CHECKING:
    import argparse

    from retro.agents.interface import HookFile
    from retro.cli.interface import Context, Parser


class Hooks(msgspec.Struct):
    """How the hooks of one agent stand."""

    host: str
    file: str
    installed: bool
    weave: bool = False
    """Whether prompts are given memories."""
    changed: bool = False
    backup: str | None = None
    diff: str = ""
    note: str | None = None


def add_arguments(parser: Parser) -> None:
    """Declare what to do, and for which agents."""
    parser.usage = "retro hooks [install | uninstall] [HOST …] [--weave] [--dry-run] [options]"
    parser.add_argument(
        "words", metavar="[install | uninstall] [HOST …]", nargs="*", help="for these agents, or for all"
    )
    parser.add_argument(
        "--weave",
        action="store_true",
        help="also the hook that gives a prompt what is remembered; or only that one out",
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would change, write nothing")


def run(args: argparse.Namespace, context: Context) -> int:
    """Say how the hooks stand, or change that and show how."""
    verb = args.words[0] if args.words[:1] in (["install"], ["uninstall"]) else None
    files = _files(args.words[1:] if verb else args.words, context)
    if verb == "install" and not args.words[1:]:
        raise Failure("usage", "for which agents?", f"retro hooks install {' '.join(agents.hooked())}", WRONG_USAGE)
    if args.weave and verb is None:
        raise Failure(
            "usage", "--weave goes with install or uninstall", "retro hooks install HOST --weave", WRONG_USAGE
        )
    found = [_change(verb, host, file, args) for host, file in files.items()]
    if context.json:
        output.print_json({"dry_run": args.dry_run, "hooks": found})
    elif verb is None:
        _say_state(found)
    else:
        _say_changes(found, verb, args.dry_run)
        if args.weave and verb == "install" and not is_used(context.places):
            output.say("nothing is remembered yet; retro memory init learns from the sessions that are there", "yellow")
    return 0


def _files(named: list[str], context: Context) -> dict[str, HookFile]:
    modules = agents.hooked()
    for host in named:
        if host not in modules:
            hint = did_you_mean(host, modules) or f"one of {', '.join(modules)}"
            raise Failure("usage", f"{host} is no agent with hooks that retro knows", hint, WRONG_USAGE)
    return {host: modules[host].hooks(context.env) for host in named or modules}


def _change(verb: str | None, host: str, file: HookFile, args: argparse.Namespace) -> Hooks:
    installed, weaves = hooks.installed(file), hooks.weaves(file)
    if verb is None:
        return Hooks(host, file.path, installed, weaves)
    before: str | None
    after: str | None
    if verb == "install":
        before, after = hooks.with_entries(file, host, _program(), weave=args.weave)
        done = Hooks(host, file.path, True, args.weave or weaves, before != after, note=file.note)
    else:
        before, after = hooks.without_entries(file, only_weave=args.weave)
        done = Hooks(host, file.path, installed and args.weave, False, before != after)
    if done.changed:
        lines = [(text or "").splitlines(keepends=True) for text in (before, after)]
        done.diff = "".join(difflib.unified_diff(lines[0], lines[1], file.path, file.path))
        if not args.dry_run:
            done.backup = hooks.write(file, before, after)
    return done


def _program() -> str:
    """How a hook calls retro: by its full path, so that it does not depend on the agent's PATH."""
    script = os.path.abspath(sys.argv[0]) if os.path.basename(sys.argv[0]).startswith("retro") else None
    found = script if script and os.access(script, os.X_OK) else shutil.which("retro")
    words = [found] if found else [sys.executable, "-m", "retro"]
    if os.name == "nt":
        import subprocess

        return subprocess.list2cmdline(words)
    import shlex

    return shlex.join(words)


def _say_state(found: list[Hooks]) -> None:
    rows = [
        (one.host, "installed" if one.installed else "", "installed" if one.weave else "", one.file) for one in found
    ]
    output.table(rows, [Column("agent"), Column("hooks"), Column("weave"), Column("file")])
    if not any(one.installed for one in found):
        output.say(f"retro hooks install {' '.join(one.host for one in found)}")


def _say_changes(found: list[Hooks], verb: str, dry_run: bool) -> None:
    for one in found:
        if not one.changed:
            output.say(f"{one.host}: {'already there' if verb == 'install' else 'nothing of ours'} in {one.file}")
            continue
        output.say(one.diff.rstrip("\n"))
        output.say(f"{one.host}: {'would change' if dry_run else 'changed'} {one.file}", "bold")
        if one.backup:
            output.say(f"what was there before is in {one.backup}")
        if one.note:
            output.say(one.note, "yellow")
