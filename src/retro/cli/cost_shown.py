"""How costs are shown: as JSON, as CSV, as tables with a total, and how much of them is not known for sure."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from retro.cli import moments, output
from retro.cli.output import Column, Styled
from retro.ledger import written
from retro.ledger.amounts import Amount

if TYPE_CHECKING:
    import argparse

    import apsw

    from retro.cli.interface import Context
    from retro.ledger.entries import Table

WIDE = 150
"""From so many cells on there is room for titles and all columns."""


def show(index: apsw.Connection | None, table: Table, args: argparse.Namespace, context: Context) -> int:
    """Print a report: as JSON, as CSV, or as a table with its total."""
    if context.json:
        output.print_written(written.report(table))
    elif args.csv:
        write_csv(_flat(table.names, *entry) for entry in table.entries)
    elif not table.entries:
        output.say(nothing(context))
    else:
        _print_table(args, table, _short(index, table))
        if table.left_out:
            kept = len(table.entries)
            output.notice(f"{kept} of {kept + table.left_out}, the newest; --limit shows more")
        say_doubts(table.total)
    return 0


def nothing(context: Context) -> str:
    """What to say where there is nothing to show."""
    if os.path.exists(context.places.index):
        return "Nothing was spent in this time."
    return "Nothing is kept yet; retro sweep captures every session on this machine."


def _short(index: apsw.Connection | None, table: Table) -> dict[str, str]:
    """Ids of sessions as they are shown."""
    from retro.index.queries import short_ids

    if index is None or table.names[0] != "sessionId":
        return {}
    return short_ids(index, [str(named[0]) for named, _ in table.entries])


def dearest(amount: Amount) -> list[tuple[str, Amount]]:
    """The models of an amount, the dearest first."""
    return sorted(amount.models.items(), key=lambda item: (-item[1].cost, item[0]))


def columns(compact: bool) -> list[Column]:
    """The columns of an amount."""
    names = ["input", "output", "cost"]
    if not compact:
        names = ["requests", "input", "output", "cache write", "cache read", "tokens", "cost"]
    return [Column(name, right=True) for name in names]


def cells(amount: Amount, compact: bool) -> list[str | Styled]:
    """An amount in a table."""
    if compact:
        return [output.count(amount.input), output.count(amount.output), dollars(amount)]
    return [
        output.count(amount.requests),
        output.count(amount.input),
        output.count(amount.output),
        output.count(amount.cache_write_5m + amount.cache_write_1h),
        output.count(amount.cache_read),
        output.count(amount.tokens),
        dollars(amount),
    ]


def dollars(amount: Amount) -> str:
    """What it cost; `+` behind it where a part has no price."""
    if amount.unpriced_requests and amount.unpriced_requests == amount.requests:
        return "unpriced"
    return f"${amount.cost / 1_000_000:,.2f}{'+' if amount.unpriced_requests else ''}"


_TITLES = {"date": "day", "sessionId": "id", "lastActivity": "last used", "costSource": "cost is"}
_HIDDEN = ("firstActivity", "subagentSessions")


def _print_table(args: argparse.Namespace, table: Table, ids: dict[str, str]) -> None:
    shown = [name for name in table.names if name not in _HIDDEN]
    if args.compact:
        shown = [name for name in shown if name not in ("title", "costSource")]
    width = output.terminal_width(sys.stdout)
    compact = args.compact or ("title" in shown and width is not None and width < WIDE)
    named_by = [Column(_TITLES.get(name, name), shrink=name in ("title", "project")) for name in shown]

    def rows(compact: bool) -> list[list[str | Styled]]:
        found: list[list[str | Styled]] = []
        for named, amount in table.entries:
            by_name = dict(zip(table.names, named, strict=True))
            found.append([*(_named(name, by_name[name], ids) for name in shown), *cells(amount, compact)])
            if args.breakdown:
                for model, share in dearest(amount):
                    found.append([*_padded(f"  {model or '(no model)'}", len(shown)), *cells(share, compact)])
        total = (Styled(cell, "bold") for cell in _padded("total", len(shown)))
        return [*found, [*total, *cells(table.total, compact)]]

    print_fitting(rows, named_by, compact)


def print_fitting(rows: Callable[[bool], list[list[str | Styled]]], named_by: list[Column], compact: bool) -> None:
    """Print rows that end in the cells of an amount: all of them, or the few where a terminal has no room for more."""
    compact = compact or not output.fits(rows(False), [*named_by, *columns(False)])
    output.table(rows(compact), [*named_by, *columns(compact)])


def _padded(first: str, width: int) -> list[str]:
    return [first, *[""] * (width - 1)]


def _named(name: str, value: object, ids: dict[str, str]) -> str | Styled:
    if name == "lastActivity":
        return moments.ago(value if isinstance(value, str) else None) or "undated"
    if name in ("date", "week", "month"):
        return str(value) if value is not None else "undated"
    return Styled(ids.get(str(value), str(value)), "cyan") if name == "sessionId" else str(value or "")


def say_doubts(amount: Amount) -> None:
    """Say how much of a total is not known for sure."""
    if amount.unpriced_requests:
        models = ", ".join(sorted(name or "(no model)" for name in amount.unpriced_models))
        tokens = output.count(amount.unpriced_tokens)
        requests = output.count(amount.unpriced_requests)
        output.notice(f"{requests} requests ({tokens} tokens) have no price: {models}; see retro prices check")
    if amount.lower_bound_requests:
        count = output.count(amount.lower_bound_requests)
        output.notice(f"of {count} requests the agent logged only the beginning: their output tokens are a lower bound")
    if amount.fallback_requests:
        count = output.count(amount.fallback_requests)
        output.notice(f"{count} requests name no model: they are counted as that which was their agent's default then")


def write_csv(rows: Iterable[dict[str, Any]]) -> None:
    """Print rows that have the same names as comma-separated values."""
    import csv

    writer = None
    for row in rows:
        if writer is None:
            writer = csv.DictWriter(sys.stdout, list(row), lineterminator="\n")
            writer.writeheader()
        writer.writerow({name: _safe(value) for name, value in row.items()})


def _flat(names: Sequence[str], named: Sequence[object], amount: Amount) -> dict[str, Any]:
    figures = zip(written.FIGURES, written.figures(amount.row), strict=True)
    return {**dict(zip(names, named, strict=True)), **dict(figures), "modelsUsed": " ".join(sorted(amount.shares))}


def _safe(value: object) -> object:
    """A value that no spreadsheet takes for a formula."""
    if isinstance(value, str):
        text = output.harmless(value)
        return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text
    return value
