"""`retro mine`: what sessions teach, as candidates with their evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from retro.cli import output, sessions
from retro.cli.moments import positive
from retro.cli.remembering import writing
from retro.failure import FAILED, WRONG_USAGE, Failure, did_you_mean
from retro.mining import asked, base, runner, tracing
from retro.mining.filters import FILTERS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from retro.cli.interface import Context, Parser
    from retro.mining.headless.asking import Question

    Wanted = Callable[[str, str], bool]

ALL = "all"
EVERY = "*"
MOST = 20
"""Sessions that a client is asked about unless --limit says otherwise: each question uses the user's account."""


def add_arguments(parser: Parser) -> None:
    """Declare of which sessions, by which methods."""
    parser.usage = (
        "retro mine HOST ID [--method NAME|all] [options]\n       retro mine '*' [--method NAME|all] [options]"
    )
    parser.add_argument("words", metavar="[HOST] [ID]", nargs="*", help="a session, or '*' for all of them")
    parser.add_argument("--method", metavar="NAME", action="append", help="one of retro methods, or all (the default)")
    parser.add_argument(
        "--filter", metavar="NAME", default="risk_aware", help="what becomes of candidates: risk_aware, none"
    )
    parser.add_argument("--force", action="store_true", help="also where nothing has changed")
    asked = parser.add_argument_group("methods that start a client, never part of all: codex_headless, claude_headless")
    asked.add_argument("--dry-run-prompts", action="store_true", help="show what would be asked, and ask nothing")
    asked.add_argument("--model", metavar="NAME", help="the client's model (its own default)")
    asked.add_argument("--limit", metavar="N", type=positive, default=MOST, help=f"sessions to ask about ({MOST})")


def run(args: argparse.Namespace, context: Context) -> int:
    """Mine, and say what was found."""
    methods = chosen_methods(args.method or [ALL])
    if args.filter not in FILTERS:
        hint = did_you_mean(args.filter, FILTERS) or f"one of {', '.join(FILTERS)}"
        raise Failure("usage", f'there is no filter "{args.filter}"', hint, WRONG_USAGE)
    named = [method for method in methods if method.opt_in]
    if args.dry_run_prompts and not named:
        raise Failure("usage", "these methods ask nobody", "--method codex_headless", WRONG_USAGE)
    wanted = chosen_sessions(args.words, context)
    from retro.index.database import open_reader

    existing = open_reader(context.places)
    if existing is None:
        sessions.warn_without_index(context.places)
        return _show(context, runner.Report(candidates=[], dropped=[], problems=[]))
    existing.close()
    local = [] if args.dry_run_prompts else [method for method in methods if not method.opt_in]
    report = _mined(args, context, local, wanted)
    return _asked(args, context, named, wanted, report) if named else _show(context, report)


def _mined(
    args: argparse.Namespace, context: Context, methods: list[base.Method], wanted: Wanted | None
) -> runner.Report:
    """What the methods find that start nothing. Without any of them only what they look at is brought up to date."""
    options = msgspec.convert({"update": context.settings.mining_update}, base.Options)
    with writing(context) as connection, output.Progress("mining") as progress:

        def advance(count: int, size: int) -> None:
            progress.advance(count, size)

        if methods:
            return runner.mine(connection, context.places, methods, args.filter, wanted, args.force, options, advance)
        report = runner.Report(candidates=[], dropped=[], problems=[])
        report.traced, report.problems = tracing.bring_up_to_date(connection, context.places, advance)
        return report


def _asked(
    args: argparse.Namespace,
    context: Context,
    methods: list[base.Method],
    wanted: Wanted | None,
    report: runner.Report,
) -> int:
    """What a client says; or, for a dry run, what it would be asked."""
    headless = base.Headless(context.places.root, args.model)
    with sessions.reading(context) as index:
        traces = tracing.newest(index, wanted or (lambda host, session_id: True)) if index is not None else iter(())
        todo = asked.turns(methods, traces, headless, context.places, report, args.force)
        chosen, more = asked.first(todo, args.limit)
    if args.dry_run_prompts:
        return _show_questions(context, asked.questions(chosen, headless))
    with output.Progress("asking") as progress:
        asked.ask(chosen, context.places, args.filter, headless, report, lambda: progress.advance(1, 0))
    if more:
        output.notice(f"{args.limit} sessions were asked about; there are more: --limit")
    _show(context, report)
    return FAILED if report.problems else 0


def _show_questions(context: Context, questions: Iterator[Question]) -> int:
    if context.json:
        output.print_json({"questions": [question._asdict() for question in questions]})
        return 0
    none = True
    for question in questions:
        none = False
        output.say(f"{question.method}, {question.host} {question.session_id}", "bold")
        output.say(f"$ {question.command}", "dim")
        output.say(question.prompt)
    if none:
        output.say("Nothing would be asked: these sessions are too short, or were asked about before.")
    return 0


def chosen_methods(names: list[str]) -> list[base.Method]:
    """The methods that were named; `all` is every one that starts no program."""
    problems: list[str] = []
    known = base.methods(problems)
    for problem in problems:
        output.warn(problem)
    found: dict[str, base.Method] = {}
    for name in names:
        if name == ALL:
            found |= {method.name: method for method in known.values() if not method.opt_in}
        elif name in known:
            found[name] = known[name]
        else:
            hint = did_you_mean(name, known) or "retro methods lists them"
            raise Failure("usage", f'there is no mining method "{name}"', hint, WRONG_USAGE)
    return list(found.values())


def chosen_sessions(words: list[str], context: Context) -> Wanted | None:
    """Which sessions are meant: None for all."""
    if not words:
        raise Failure("usage", "which session?", "retro mine HOST ID, or retro mine '*' for all of them", WRONG_USAGE)
    if words in ([EVERY], [EVERY, EVERY]):
        return None
    if len(words) > 2:
        problem = f'"{words[2]}" is one word too many'
        raise Failure("usage", problem, "for all sessions the star stands in quotes: retro mine '*'", WRONG_USAGE)
    host, word = sessions.host_and_id([one for one in words if one != EVERY], "retro mine HOST ID")
    if word is None:
        return lambda of, _: of == host
    with sessions.reading(context) as index:
        found = sessions.find(index, host, word, context).session
    return lambda of, session_id: (of, session_id) == (found.host, found.session_id)


def _show(context: Context, report: runner.Report) -> int:
    if context.json:
        output.print_json(report)
        return 0
    for problem in report.problems:
        output.warn(problem)
    scope = None
    for one in report.candidates:
        if one.scope.key != scope:
            scope = one.scope.key
            output.say(scope or "(no folder)", "bold")
        output.say(f"  {one.text}")
        output.say(f"    {one.id}  {one.method}  confidence {one.confidence:.2f}  {one.reason}", "dim")
    if not report.candidates:
        output.say("Nothing that these sessions teach has been seen often enough to be sure of it.")
    changed = f"{output.count(report.traced)} sessions read, {output.count(report.written)} files written"
    output.notice(f"{len(report.candidates)} candidates; {changed}; {len(report.dropped)} dropped or merged")
    return 0
