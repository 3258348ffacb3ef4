"""`retro cost reprice`: the one way in which the price of a request ever changes, and what the change comes to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from retro.cli import opening, output
from retro.cli.output import Column, Styled
from retro.index.database import open_writer
from retro.ledger import prices
from retro.ledger.writing import Ledger, Repriced
from retro.lock import Lock

if TYPE_CHECKING:
    import argparse

    import apsw

    from retro.cli.interface import Context


def run(args: argparse.Namespace, context: Context) -> int:
    """Price every request by the tables in force now, and show what changed."""
    places = context.places
    if not os.path.exists(places.index):
        opening.warn_without_index(places)
        changes: list[Repriced] = []
    else:
        with Lock(places.lock, context.settings.lock_wait_seconds):
            connection = open_writer(places.index)
            try:
                changes = _reprice(connection, args.dry_run, context)
            finally:
                connection.close()
    before, after = sum(one.before for one in changes), sum(one.after for one in changes)
    if context.json:
        output.print_json(
            {"dryRun": args.dry_run, "models": [_shown(one) for one in changes], "microdollars": after - before}
        )
    elif not changes:
        output.say("Every request has the price already that the tables in force give it.")
    else:
        _print(changes, before, after, dry_run=args.dry_run)
    return 0


class _TakenBack(Exception):
    """Nothing was to be changed."""


def _reprice(connection: apsw.Connection, dry_run: bool, context: Context) -> list[Repriced]:
    tables, problems = prices.load(context.settings.folder)
    for problem in problems:
        output.warn(problem)
    ledger = Ledger(connection, context.places.ledger, lambda: tables)
    ledger.heal()
    changes: list[Repriced] = []
    try:
        with connection:
            changes = ledger.reprice()
            if dry_run:
                raise _TakenBack
            ledger.settle()
    except _TakenBack:
        pass
    finally:
        ledger.close()
    return changes


def _shown(one: Repriced) -> dict[str, object]:
    return {
        "model": one.model,
        "requests": one.requests,
        "beforeMicrodollars": one.before,
        "afterMicrodollars": one.after,
    }


def _print(changes: list[Repriced], before: int, after: int, *, dry_run: bool) -> None:
    rows: list[list[str | Styled]] = [
        [
            one.model or "(no model)",
            output.count(one.requests),
            _money(one.before),
            _money(one.after),
            _change(one.after - one.before),
        ]
        for one in changes
    ]
    requests = output.count(sum(one.requests for one in changes))
    rows.append([Styled("total", "bold"), requests, _money(before), _money(after), _change(after - before)])
    names = ("requests", "was", "would be" if dry_run else "is", "change")
    output.table(rows, [Column("model"), *(Column(name, right=True) for name in names)])


def _money(microdollars: int) -> str:
    return f"${microdollars / 1e6:,.2f}"


def _change(microdollars: int) -> str:
    return f"{'-' if microdollars < 0 else '+'}${abs(microdollars) / 1e6:,.2f}"
