"""`retro import`: captures chosen sessions: of an agent, of every agent, or files and folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from retro import agents, finding, sweep
from retro.agents.interface import Source
from retro.cli import output, render_cmd, sessions
from retro.cli.moments import positive
from retro.cli.sweep_cmd import say_problems
from retro.failure import FAILED, WRONG_USAGE, Failure
from retro.finding import Found, Known, SessionKey
from retro.index import queries
from retro.outcomes import Problem

if TYPE_CHECKING:
    import argparse

    from retro.archive.committed import SourceState
    from retro.cli.interface import Context, Parser
    from retro.index.queries import Detail

ALL = "all"
SHOWN = 30
"""At most so many sessions are printed; `--json` gives all."""

STATUS: TypeAlias = Literal["captured", "appended", "revision", "unchanged", "ignored", "failed"]

WORDS: dict[STATUS, tuple[str, str]] = {
    "captured": ("captured", "green"),
    "appended": ("appended", "green"),
    "revision": ("captured as revision", "green"),
    "unchanged": ("already captured", "dim"),
    "ignored": ("left out by your settings", "yellow"),
    "failed": ("failed", "red"),
}


class Imported(msgspec.Struct, omit_defaults=True):
    """What became of one session."""

    host: str
    session_id: str
    status: STATUS
    revision: int = 0
    title: str | None = None
    rendered: str | None = None


Choose: TypeAlias = Callable[[Known], Found]


def add_arguments(parser: Parser) -> None:
    """Declare what to import."""
    parser.usage = (
        "retro import HOST (--session-id ID | --latest | --all) [--limit N] [options]\n"
        "       retro import all [--limit-per-host N] [options]\n"
        "       retro import PATH ... [options]"
    )
    parser.add_argument("what", metavar="HOST|all|PATH", nargs="+", help="an agent, all of them, or files and folders")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--session-id", metavar="ID", help="of a host: the session whose id begins so")
    which.add_argument("--latest", action="store_true", help="of a host: the newest session")
    which.add_argument("--all", action="store_true", help="of a host: every session")
    parser.add_argument("--limit", metavar="N", type=positive, help="only the newest N")
    parser.add_argument("--limit-per-host", metavar="N", type=positive, help="with all: the newest N of each host")
    parser.add_argument("--force", action="store_true", help="capture again what is captured, as a new revision")
    parser.add_argument("--no-render", action="store_true", help="do not render them as markdown")


def run(args: argparse.Namespace, context: Context) -> int:
    """Capture them, render them, and say what became of each. The exit code is 1 if something failed."""
    unclaimed: list[str] = []
    known = finding.known_sources(context.places)
    if args.force:  # what is in unchanged stores is to be read again
        known.stores = {}
    found = _chooser(args, context, unclaimed)(known)
    for reason in unclaimed:
        output.warn(reason)
    before: dict[SessionKey, list[SourceState]] = {}

    def find(_: Known) -> Found:
        before.update({key: detail.sources for key, detail in _details(context, found.sessions).items()})
        return found

    with output.Progress("capturing") as progress:
        watch = sweep.Watch(progress.expect, progress.advance)
        report = sweep.capture_found(context.places, context.settings, find, force=args.force, watch=watch)
    problems = [problem for host in report.hosts for problem in host.problems]
    after = _details(context, found.sessions)
    imported = _outcomes(found.sessions, before, after, problems)
    if not args.no_render:
        _render(imported, after, context, problems)
    if context.json:
        figures = {"sessions": imported, "unclaimed": unclaimed, "problems": problems}
        output.print_json({"root": report.root, **figures})
    else:
        _say(imported)
        say_problems(problems)
    return FAILED if problems else 0


# --- choosing --------------------------------------------------------------------------------------------------------


def _chooser(args: argparse.Namespace, context: Context, unclaimed: list[str]) -> Choose:
    """The function that finds what the command line asks for; it names the paths that are nobody's."""
    word = args.what[0]
    if len(args.what) == 1 and word == ALL:
        return _checked(args, _of_all_hosts(args, context), "session_id", "latest", "limit")
    if len(args.what) == 1 and word in agents.MODULES:
        return _checked(args, _of_host(word, args, context), "limit_per_host")
    return _checked(args, _of_paths(args.what, args.limit, unclaimed), "session_id", "latest", "all", "limit_per_host")


def _checked(args: argparse.Namespace, choose: Choose, *foreign: str) -> Choose:
    """Refuse the options that mean nothing here."""
    given = [f"--{name.replace('_', '-')}" for name in foreign if getattr(args, name)]
    if given:
        raise Failure("usage", f"{given[0]} does not go with {args.what[0]}", "retro import --help", WRONG_USAGE)
    return choose


def _of_host(host: str, args: argparse.Namespace, context: Context) -> Choose:
    if not (args.session_id or args.latest or args.all or args.limit):
        hint = f"retro import {host} --latest, --all, --limit N or --session-id ID"
        raise Failure("usage", f"which sessions of {host}?", hint, WRONG_USAGE)

    def choose(known: Known) -> Found:
        found = finding.discover(context.settings, context.env, [host], known)
        if args.session_id:
            found.sessions = _with_id(found.sessions, host, args.session_id)
        else:
            found.sessions = _newest(found.sessions, 1 if args.latest else args.limit)
        return found

    return choose


def _of_all_hosts(args: argparse.Namespace, context: Context) -> Choose:
    def choose(known: Known) -> Found:
        found = finding.discover(context.settings, context.env, agents.MODULES, known)
        chosen: dict[SessionKey, list[Source]] = {}
        for host in agents.MODULES:
            of_host = {key: sources for key, sources in found.sessions.items() if key[0] == host}
            chosen.update(_newest(of_host, args.limit_per_host))
        found.sessions = chosen
        return found

    return choose


def _of_paths(paths: list[str], limit: int | None, unclaimed: list[str]) -> Choose:
    def choose(_: Known) -> Found:
        found = Found([], {}, [])
        for path in paths:
            sources = list(agents.claimed(path))
            if not sources:
                unclaimed.append(_reason(path))
            for source in sources:
                of_session = found.sessions.setdefault((source.host, source.session_id), [])
                if all(source.path != other.path for other in of_session):
                    of_session.append(source)
        if not found.sessions:
            more = f" (and {len(unclaimed) - 3} more)" if len(unclaimed) > 3 else ""
            raise Failure("not_found", "; ".join(unclaimed[:3]) + more, _hint(paths))
        found.sessions = _newest(found.sessions, limit)
        return found

    return choose


def _reason(path: str) -> str:
    """Why a path gives nothing."""
    full = os.path.expanduser(path)
    try:
        if os.path.isdir(full):
            os.listdir(full)
            return f"no session of any agent that retro reads lies in {path}"
        with open(full, "rb"):
            return f"{path} is no session of any agent that retro reads"
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else None
        return f"{path} cannot be read: {said or error}"


def _hint(paths: list[str]) -> str | None:
    if len(paths) == 1 and os.sep not in paths[0] and not os.path.exists(paths[0]):
        return f"if a host is meant, one of {', '.join(agents.MODULES)}"
    return None


def _newest(found: dict[SessionKey, list[Source]], limit: int | None) -> dict[SessionKey, list[Source]]:
    """The sessions that were written to last, newest first."""
    order = sorted(found, key=lambda key: (-max(source.mtime_ns for source in found[key]), key))
    return {key: found[key] for key in order[:limit]}


def _with_id(found: dict[SessionKey, list[Source]], host: str, word: str) -> dict[SessionKey, list[Source]]:
    """The one session whose id begins so."""
    if (host, word) in found:
        return {(host, word): found[host, word]}
    matching = [key for key in _newest(found, None) if key[1].startswith(word)]
    if len(matching) > 1:
        lines = [session_id for _, session_id in matching[: sessions.CHOICES]]
        if len(matching) > len(lines):
            lines.append(f"and {output.count(len(matching) - len(lines))} more")
        message = f'"{word}" is the beginning of {output.count(len(matching))} ids'
        raise Failure("ambiguous", message, "\n  ".join(lines), WRONG_USAGE)
    if not matching:
        import difflib

        beginnings = {session_id[: len(word)]: session_id for _, session_id in found}
        near = [beginnings[hit] for hit in difflib.get_close_matches(word[:100], beginnings, n=3)]
        hint = "\n  ".join(["did you mean one of these?", *near]) if near else f"retro import {host} --latest"
        raise Failure("not_found", f'{host} keeps no session "{word}" on this machine', hint)
    return {matching[0]: found[matching[0]]}


# --- what became of them ---------------------------------------------------------------------------------------------


def _details(context: Context, chosen: Iterable[SessionKey]) -> dict[SessionKey, Detail]:
    found: dict[SessionKey, Detail] = {}
    with sessions.reading(context) as index:
        if index is not None:
            for key in chosen:
                try:
                    found[key] = queries.detail(index, *key)
                except KeyError:
                    continue
    return found


def _outcomes(
    chosen: Iterable[SessionKey],
    before: dict[SessionKey, list[SourceState]],
    after: dict[SessionKey, Detail],
    problems: list[Problem],
) -> list[Imported]:
    failed = {(problem.host, problem.session_id) for problem in problems}
    outcomes = []
    for key in chosen:
        found = after.get(key)
        status, revision = _status(before.get(key), found.sources if found else None)
        title = found.session.title if found else None
        outcomes.append(Imported(*key, "failed" if key in failed else status, revision, title))
    return outcomes


def _status(before: list[SourceState] | None, after: list[SourceState] | None) -> tuple[STATUS, int]:
    """What became of a session, by what was captured of it before and what is now."""
    if after is None:
        return "ignored", 0
    if before is None:
        return "captured", 0
    newest = {source.key: source.revision for source in before}
    again = [source for source in after if source.revision > newest.get(source.key, source.revision)]
    if again:
        return "revision", again[0].revision
    known = {(source.key, source.revision): source.offset for source in before}
    grown = any(known.get((source.key, source.revision)) != source.offset for source in after)
    return ("appended" if grown else "unchanged"), 0


def _render(
    imported: list[Imported], after: dict[SessionKey, Detail], context: Context, problems: list[Problem]
) -> None:
    """Each session's markdown, made where there is something new to show."""
    with output.Progress("rendering", len(after)) as progress:
        for outcome in imported:
            found = after.get((outcome.host, outcome.session_id))
            if found is None:
                continue
            try:
                path = context.places.rendered(outcome.host, outcome.session_id)
                is_new = outcome.status != "unchanged" or not os.path.exists(path)
                outcome.rendered = render_cmd.render(found, context.places) if is_new else path
            except (Failure, OSError) as error:
                said = error.message if isinstance(error, Failure) else error.strerror or str(error)
                reason = f"captured, but not rendered: {said}"
                problems.append(Problem(outcome.host, outcome.session_id, None, reason))
            progress.advance(1)


def _say(imported: list[Imported]) -> None:
    """A line per session, then how many there were of each kind."""
    for outcome in imported[:SHOWN]:
        words, style = WORDS[outcome.status]
        if outcome.revision:
            words += f" {outcome.revision}"
        output.say(" ".join(filter(None, (outcome.host, outcome.session_id, output.cut(outcome.title or "", 60)))))
        output.say(f"  {words}" + (f", {outcome.rendered}" if outcome.rendered else ""), style)
    if len(imported) > SHOWN:
        output.say(f"and {output.count(len(imported) - SHOWN)} more")
    if len(imported) != 1:
        kinds = [(status, sum(outcome.status == status for outcome in imported)) for status in WORDS]
        counts = ", ".join(f"{WORDS[status][0]} {output.count(number)}" for status, number in kinds if number)
        output.say(
            f"{output.count(len(imported))} sessions: {counts}" if imported else "There is no session to capture."
        )
