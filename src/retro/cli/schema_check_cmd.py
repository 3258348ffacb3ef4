"""`retro schema-check`: whether the agents on this machine still write as we know it, and which commands suffer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retro.cli import moments, opening, output
from retro.cli.output import Column, Styled
from retro.failure import CHECK_NOT_PASSED, Failure
from retro.health.schemas import Store, check
from retro.index.drift import drift

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context, Parser


def add_arguments(parser: Parser) -> None:
    """Declare what to look at."""
    parser.add_argument("--host", metavar="HOST", help="only this agent")


def run(args: argparse.Namespace, context: Context) -> int:
    """Read some of what each agent wrote, and say how it reads. The exit code is 4 if something cannot be read."""
    host = moments.known_host(args.host) if args.host is not None else None
    differs: list[str] = []
    try:
        with opening.reading(context) as index:
            stores = check(context.settings, context.env, index, host)
            differs = drift(index) if index is not None else []
    except Failure as failure:
        stores = check(context.settings, context.env, None, host)
        differs = [failure.message]
    sound = not differs and all(store.readable for store in stores)
    if context.json:
        output.print_json({"stores": stores, "index": differs, "sound": sound})
    else:
        _say(stores, differs)
    return 0 if sound else CHECK_NOT_PASSED


def _say(stores: list[Store], differs: list[str]) -> None:
    if stores:
        columns = [Column("agent"), Column("form"), Column("read", right=True), Column("state"), Column("suffers")]
        output.table(map(_row, stores), columns)
    else:
        output.say("no agent on this machine keeps sessions where retro looks; retro agents says where that is")
    for store in stores:
        for problem in store.problems:
            output.say(f"{store.host}: {problem}", "yellow")
    for one in differs:
        output.say(f"index: {one}; retro doctor rebuilds it", "red")


def _row(store: Store) -> list[str | Styled]:
    state = Styled("as expected", "green") if store.readable else Styled("changed", "red")
    return [store.host, store.form, str(store.tried), state, ", ".join(store.suffers)]
