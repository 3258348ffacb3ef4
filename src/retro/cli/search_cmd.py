"""`retro search`: the turns, or the sessions, that fit some words best, with the hit marked."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Final

from retro.cli import moments, output, sessions
from retro.cli.output import paint
from retro.failure import WRONG_USAGE, Failure
from retro.index import grading, queries
from retro.index.hits import Filters, Found
from retro.index.search import search
from retro.semantic.model import by_meaning
from retro.terms import COLUMNS

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context, Parser
    from retro.index.hits import Hit

LIMIT: Final = 10
PROMPT: Final = 100
EVENTS: Final = 20
"""At most so many events of a hit are named."""


def add_arguments(parser: Parser) -> None:
    """Declare words and filters."""
    parser.minus_words = True
    parser.add_argument(
        "words", metavar="WORDS", nargs="*", help='words, "phrases in quotes", beginnings*, -unwanted ones'
    )
    moments.add_filters(parser, limit=LIMIT)
    group = parser.add_argument_group("which turns")
    group.add_argument("--branch", metavar="NAME", help="on this branch")
    group.add_argument("--file", metavar="PATH", help="in which a file was read or edited whose path holds this")
    group.add_argument("--tool", metavar="NAME", help="in which this tool was used")
    group.add_argument("--model", metavar="NAME", help="by a model whose name holds this")
    group.add_argument("--errors", action="store_true", help="in which something failed")
    how = parser.add_argument_group("how")
    unit = how.add_mutually_exclusive_group()
    unit.add_argument(
        "--turns", action="store_true", help="results are turns: a prompt and what followed (the default)"
    )
    unit.add_argument("--sessions", action="store_true", help="results are sessions")
    how.add_argument("--keywords", action="store_true", help="by words alone, also where search by meaning is there")
    how.add_argument("--exact", action="store_true", help="only words as they are typed: no endings, no near words")


def run(args: argparse.Namespace, context: Context) -> int:
    """Search, and show what was found."""
    text = " ".join(args.words).strip()
    if not text:
        raise Failure("usage", "there is nothing to look for", 'retro search "flaky test"', WRONG_USAGE)
    wanted = _filters(args)
    with sessions.reading(context) as index:
        if index is None:
            found, short = Found(), {}
        else:
            meaning = None if args.exact or args.keywords else by_meaning(index, context.settings)
            if meaning is None:
                found = search(index, text, wanted, args.limit, by_session=args.sessions, exact=args.exact)
            else:
                found = meaning(index, text, wanted, args.limit, by_session=args.sessions)
            short = queries.short_ids(index, {hit.session_id for hit in found.hits})
    if context.json:
        output.print_json(told(text, found))
        return 0
    _say(found, short, context)
    return 0


def _filters(args: argparse.Namespace) -> Filters:
    chosen = moments.filters(args)
    return Filters(
        project=chosen.project,
        host=chosen.host,
        since=moments.stamp(chosen.since) if chosen.since else None,
        until=moments.stamp(chosen.until) if chosen.until else None,
        branch=args.branch,
        file=args.file,
        tool=args.tool,
        model=args.model,
        errors=args.errors,
    )


def told(text: str, found: Found) -> dict[str, object]:
    """What was found, as `--json` gives it."""
    return {
        "query": text,
        "hits": [_hit(hit) for hit in found.hits],
        "all_words": found.all_words,
        "newest_only": found.newest_only,
        "used": found.used,
        "missing": found.missing,
    }


def _hit(hit: Hit) -> dict[str, object]:
    return {
        "host": hit.host,
        "session_id": hit.session_id,
        "turn": hit.turn,
        "started": hit.started,
        "title": hit.title,
        "project": hit.project,
        "repository": hit.repository,
        "branch": hit.branch,
        "prompt": _line(hit.prompt, 4 * PROMPT),
        "score": round(hit.score, 3),
        "events": hit.events[:EVENTS],
        "snippets": [
            {"event_id": one.event_id, "kind": COLUMNS[one.column], "text": one.text, "marks": one.marks}
            for one in hit.snippets
        ],
    }


# --- for a person ----------------------------------------------------------------------------------------------------


def _say(found: Found, short: dict[str, str], context: Context) -> None:
    for word, used in found.used.items():
        output.warn(f'"{word}" stands nowhere; looked for {", ".join(used)}')
    if found.missing and found.hits:
        output.warn(f"stands nowhere: {', '.join(found.missing)}")
    if not found.hits:
        _say_nothing(found, context)
        return
    if not found.all_words:
        output.notice("no turn has all of the words; these have some")
    if found.newest_only:
        output.notice(f"too common to grade every passage: these are from the newest {grading.MOST_CANDIDATES:,}")
    now = datetime.now(timezone.utc)
    for number, hit in enumerate(found.hits):
        if number:
            output.say()
        _say_hit(hit, short[hit.session_id], now)


def _say_hit(hit: Hit, short: str, now: datetime) -> None:
    import sys

    where = [hit.host, hit.project, hit.branch, moments.ago(hit.started, now)]
    name = paint(output.harmless(short), "cyan", sys.stdout)
    turn = f" turn {hit.turn}" if hit.turn is not None else ""
    print(f"{name}{turn}  {output.harmless(' · '.join(part for part in where if part))}")
    words = hit.prompt if hit.prompt is not None else hit.title
    if words:
        output.say(f"  {_line(words, PROMPT)}", "bold")
    for one in hit.snippets:
        print(f"    {output.highlighted(one.text, one.marks)}")


def _line(text: str | None, width: int) -> str | None:
    if text is None:
        return None
    line = " ".join(text[: width * 3].split())
    return line if len(line) <= width else line[: width - 1] + "…"


def _say_nothing(found: Found, context: Context) -> None:
    if found.missing:
        output.say(f"Nothing was found; stands nowhere: {', '.join(found.missing)}")
    else:
        output.say("Nothing was found.")
    output.say("retro grep looks through every byte of the archive, also for parts of words.")
