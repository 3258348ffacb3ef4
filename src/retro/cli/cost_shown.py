"""How costs are shown: as JSON, as CSV, as tables with a total, and how much of them is not known for sure."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from json.encoder import encode_basestring as quoted
from typing import TYPE_CHECKING, Any

from retro.cli import moments, output
from retro.cli.output import Column, Styled
from retro.ledger import reports
from retro.ledger.reports import Amount

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context

WIDE = 150
"""From so many cells on there is room for titles and all columns."""
LIMIT = 30
"""So many sessions are shown in a table that asks for no other number."""

Entry = tuple[dict[str, Any], Amount]
"""What names a row, and its amount."""


def show(
    args: argparse.Namespace,
    context: Context,
    key: str,
    entries: list[Entry],
    by: str | None = None,
    short: Callable[[list[str]], dict[str, str]] | None = None,
) -> int:
    """Print a report: as JSON, as CSV, or as a table with its total; `short` gives ids as they are shown there."""
    entire = reports.total(amount for _, amount in entries)
    if not context.json and not args.csv and args.limit is None and key == "sessions":
        args.limit = LIMIT
    left_out = max(len(entries) - args.limit, 0) if args.limit is not None else 0
    entries = entries[left_out:]
    if args.order == "desc":
        entries = entries[::-1]
    if context.json:
        output.print_written(_written(key, entries, entire, by))
    elif args.csv:
        write_csv(_flat(*entry) for entry in entries)
    elif not entries:
        output.say(
            "Nothing was spent in this time." if os.path.exists(context.places.index) else "Nothing is kept yet."
        )
    else:
        ids = short([named["sessionId"] for named, _ in entries]) if short else {}
        _print_table(args, entries, entire, ids)
        if left_out:
            output.notice(f"{len(entries)} of {len(entries) + left_out}, the newest; --limit shows more")
        say_doubts(entire)
    return 0


# --- JSON ------------------------------------------------------------------------------------------------------------
# Rows are written by templates: there may be thousands, and an encoder takes longer, or longer to be loaded.

_FIGURES = (
    "inputTokens",
    "outputTokens",
    "cacheCreationTokens",
    "cacheCreation1hTokens",
    "cacheReadTokens",
    "reasoningOutputTokens",
    "totalTokens",
    "webSearches",
    "requests",
    "totalCost",
    "totalMicrodollars",
    "unpricedRequests",
    "unpricedTokens",
    "lowerBoundRequests",
    "fallbackRequests",
)
_SHARE = (
    "modelName",
    "inputTokens",
    "outputTokens",
    "cacheCreationTokens",
    "cacheReadTokens",
    "cost",
    "microdollars",
    "missingPricing",
    "isFallback",
)


def template(names: Iterable[str]) -> str:
    """Members of an object of JSON, to be filled with `%` by what is JSON already."""
    return ",".join(f'"{name}":%s' for name in names)


_ROW_TEXT = "{%s" + template((*_FIGURES, "modelsUsed", "modelBreakdowns")) + "}"
_SHARE_TEXT = "{" + template(_SHARE) + "}"


def _figures(amount: Amount) -> tuple[int | float, ...]:
    """What an amount has, in the order of its names."""
    return (
        amount.input,
        amount.output,
        amount.cache_write_5m + amount.cache_write_1h,
        amount.cache_write_1h,
        amount.cache_read,
        amount.reasoning,
        amount.tokens,
        amount.web_searches,
        amount.requests,
        amount.cost / 1_000_000,
        amount.cost,
        amount.unpriced_requests,
        amount.unpriced_tokens,
        amount.lower_bound_requests,
        amount.fallback_requests,
    )


def totals(amount: Amount) -> dict[str, Any]:
    """A total in the words of JSON."""
    return {**dict(zip(_FIGURES, _figures(amount), strict=True)), "unpricedModels": sorted(amount.unpriced_models)}


def written(names: str, amount: Amount) -> str:
    """A row of JSON; `names` are the members that name it, each with a comma behind it."""
    shares = ",".join(
        [
            _SHARE_TEXT
            % (
                quoted(model),
                share.input,
                share.output,
                share.cache_write_5m + share.cache_write_1h,
                share.cache_read,
                share.cost / 1_000_000,
                share.cost,
                "true" if share.unpriced_requests else "false",
                "true" if share.fallback_requests else "false",
            )
            for model, share in _dearest(amount)
        ]
    )
    models = ",".join(map(quoted, sorted(amount.models)))
    return _ROW_TEXT % (names, *_figures(amount), f"[{models}]", f"[{shares}]")


def literal(value: str | int | None) -> str:
    """A value that names something, as JSON."""
    return "null" if value is None else quoted(value) if isinstance(value, str) else str(value)


def _written(key: str, entries: list[Entry], entire: Amount, by: str | None) -> str:
    """A report as an object of JSON: its rows, in groups where they are asked for, and the total."""
    names = f"{template(entries[0][0])}," if entries else ""
    rows = [(named, written(names % tuple(map(literal, named.values())), amount)) for named, amount in entries]
    if by is None:
        text = f"{quoted(key)}:[{','.join([row for _, row in rows])}]"
    else:
        groups: dict[str, list[str]] = {}
        for named, row in rows:
            groups.setdefault(named[by], []).append(row)
        inner = ",".join(f"{quoted(name)}:[{','.join(group)}]" for name, group in groups.items())
        text = f'"projects":{{{inner}}}'
    return f'{{{text},"totals":{json.dumps(totals(entire), separators=(",", ":"), ensure_ascii=False)}}}'


def _dearest(amount: Amount) -> list[tuple[str, Amount]]:
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


def _print_table(args: argparse.Namespace, entries: list[Entry], entire: Amount, ids: dict[str, str]) -> None:
    names = [
        name for name in entries[0][0] if name not in _HIDDEN and not (args.compact and name in ("title", "costSource"))
    ]
    width = output.terminal_width(sys.stdout)
    compact = args.compact or ("title" in names and width is not None and width < WIDE)
    named_by = [Column(_TITLES.get(name, name), shrink=name in ("title", "project")) for name in names]
    rows: list[list[str | Styled]] = []
    for named, amount in entries:
        rows.append([*(_named(name, named[name], ids) for name in names), *cells(amount, compact)])
        if args.breakdown:
            for model, share in _dearest(amount):
                rows.append([*_padded(f"  {model or '(no model)'}", len(names)), *cells(share, compact)])
    rows.append([*(Styled(cell, "bold") for cell in _padded("total", len(names))), *cells(entire, compact)])
    output.table(rows, [*named_by, *columns(compact)])


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


def _flat(named: dict[str, Any], amount: Amount) -> dict[str, Any]:
    return {
        **named,
        **dict(zip(_FIGURES, _figures(amount), strict=True)),
        "modelsUsed": " ".join(sorted(amount.models)),
    }


def _safe(value: object) -> object:
    """A value that no spreadsheet takes for a formula."""
    if isinstance(value, str):
        text = output.harmless(value)
        return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text
    return value
