"""`retro prices`: what models cost, which of those in use have no price, and a newer table."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import msgspec

from retro.cli import opening, output
from retro.cli.output import Column, Styled
from retro.failure import CHECK_NOT_PASSED, WRONG_USAGE, Failure
from retro.ledger import litellm, prices, reports
from retro.ledger.prices import Price, Prices, Table

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context, Parser

SIZE_LIMIT = 64 * 1024 * 1024
TIMEOUT_SECONDS = 30
REPRICE = "requests keep the price that they have; retro cost reprice prices them anew"


def add_arguments(parser: Parser) -> None:
    """Declare what may be done with them."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    show = verbs.add_parser(
        "show", help="what models cost", description="What models cost, in dollars a million tokens."
    )
    show.add_argument("models", metavar="MODEL", nargs="*", help="only these (those that were used)")
    show.add_argument("--all", action="store_true", help="every model that a table knows")
    check = "the tables in force, and the models in use that have no price"
    verbs.add_parser("check", help=check, description=f"Says which are {check}; exits with 4 where something is wrong.")
    refresh = verbs.add_parser(
        "refresh",
        help="take over a newer table",
        description="Takes over a newer table. No other command opens a connection, and this one only to your URL.",
    )
    refresh.add_argument(
        "--from", dest="source", metavar="FILE|URL", required=True, help="LiteLLM's table, or its wheel"
    )


def run(args: argparse.Namespace, context: Context) -> int:
    """Do what the verb says."""
    if args.verb == "refresh":
        return _refresh(args.source, context)
    tables, problems = prices.load(context.settings.folder)
    used = _used(context)
    if args.verb == "check":
        return _check(tables, problems, used, context)
    for problem in problems:
        output.warn(problem)
    return _show(args, tables, used, context)


def _used(context: Context) -> dict[str, reports.Amount]:
    """The models of the ledger, and what was spent on each."""
    with opening.reading(context) as index:
        return reports.spent_between(index, reports.Wanted()).models if index else {}


# --- show ------------------------------------------------------------------------------------------------------------


def _show(args: argparse.Namespace, tables: Prices, used: dict[str, reports.Amount], context: Context) -> int:
    if args.all:
        names = sorted({name for table in tables.tables for name in table.models})
    else:
        names = args.models or sorted(used)
    rows = {name: tables.rows(name) for name in names}
    if args.models and not any(rows.values()):
        raise Failure("not_found", f"no table knows {', '.join(args.models)}", "retro prices show --all lists them")
    if context.json:
        shown = [{"name": name, "rows": [_row(row) for row in found]} for name, found in rows.items()]
        output.print_json({"models": shown, "tables": [_table(one) for one in tables.tables]})
        return 0
    if not rows:
        output.say("No model was used yet; retro prices show --all lists those that a table knows.")
        return 0
    lines: list[list[str | Styled]] = []
    for name, found in rows.items():
        if not found:
            lines.append([name, Styled("no price", "yellow"), *[""] * 7])
        for row in found:
            lines += _lines(name, row)
    titles = ("input", "output", "write 5 min", "write 1 h", "read", "search")
    columns = [Column("model"), Column("tier"), *(Column(title, right=True) for title in titles), Column("")]
    output.table(lines, columns)
    output.notice("in dollars a million tokens, and dollars a search")
    return 0


def _lines(name: str, row: Price) -> list[list[str | Styled]]:
    note = f"since {row.since}" if row.since else ""
    known = f"as {row.model}" if row.model != name.lower() else ""
    search = f"{row.web_search / 1e6:g}" if row.web_search else ""
    whole: list[str | Styled] = [name, row.tier, *_rates(row.rates), search, ", ".join(filter(None, (known, note)))]
    found = [whole]
    for band in row.bands:
        rates, above = _rates(band.rates), f"above {output.count(band.above)} tokens"
        found += [["", "", *rates, "", above]]
    return found


def _rates(rates: prices.Rates) -> list[str]:
    figures = (rates.input, rates.output, rates.cache_write_5m, rates.cache_write_1h, rates.cache_read)
    return [f"{figure / 1e6:g}" for figure in figures]


def _row(row: Price) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(row)
    return {"hash": row.key, **found}


def _table(table: Table) -> dict[str, Any]:
    return {"source": table.source, "date": table.date or None, "hash": table.hash, "models": len(table.models)}


# --- check -----------------------------------------------------------------------------------------------------------


def _check(tables: Prices, problems: list[str], used: dict[str, reports.Amount], context: Context) -> int:
    unpriced = {name: amount for name, amount in used.items() if name and not tables.rows(name)}
    nameless = used.get("")
    changed = [table for table in tables.tables if table.hash and table.sealed().hash != table.hash]
    problems = [*problems, *(f"{table.source}: its prices are not those that its hash names" for table in changed)]
    if context.json:
        output.print_json(
            {
                "tables": [_table(one) for one in tables.tables],
                "problems": problems,
                "unpricedModels": [
                    {"model": name, "requests": amount.requests, "tokens": amount.tokens}
                    for name, amount in unpriced.items()
                ],
                "modelsUsed": len(used),
            }
        )
    else:
        _print_check(tables, problems, unpriced, used)
    return CHECK_NOT_PASSED if problems or unpriced or nameless else 0


def _print_check(
    tables: Prices, problems: list[str], unpriced: dict[str, reports.Amount], used: dict[str, reports.Amount]
) -> None:
    rows: list[list[str | Styled]] = [
        [table.source, table.date, output.count(len(table.models)), table.hash] for table in tables.tables
    ]
    output.table(rows, [Column("table"), Column("of"), Column("models", right=True), Column("hash")])
    for problem in problems:
        output.say(problem, "red")
    output.say()
    if not used:
        output.say("No model was used yet.")
    elif not unpriced:
        output.say("Every model that was used has a price.", "green")
    for name, amount in sorted(unpriced.items()):
        output.say(
            f"{name} has no price: {output.count(amount.requests)} requests, {output.count(amount.tokens)} tokens",
            "yellow",
        )
    if unpriced:
        output.say(f"  a section in {prices.OVERRIDES} beside the settings file gives it one; see docs/prices.md")


# --- refresh ---------------------------------------------------------------------------------------------------------


def _refresh(source: str, context: Context) -> int:
    folder = context.settings.folder
    if folder is None:
        raise Failure("config", "there is no folder for settings", "name a settings file with --config")
    today = time.strftime("%Y-%m-%d", time.gmtime())
    try:
        table = litellm.distilled(_content(source), today, _name(source))
    except (ValueError, TypeError, AttributeError) as error:
        raise Failure(
            "prices", f"{source} is no price table: {error}", "LiteLLM publishes one; so does its wheel"
        ) from None
    path = os.path.join(folder, prices.REFRESHED)
    before, _ = prices.load(folder)
    known = {name: before.rows(name) for name in table.models}
    new = sorted(name for name, rows in known.items() if not rows)
    changed = sorted(name for name, rows in known.items() if rows and _money(rows) != _money(table.models[name]))
    prices.write_table(path, table)
    if context.json:
        output.print_json({"path": path, **_table(table), "new": new, "changed": changed})
        return 0
    output.say(f"{output.count(len(table.models))} models of {table.source} in {path}")
    for what, names in (("new", new), ("changed", changed)):
        if names:
            output.say(f"{what}: {', '.join(names[:20])}{f' and {len(names) - 20} more' if len(names) > 20 else ''}")
    output.notice(REPRICE)
    return 0


def _money(rows: list[Price]) -> set[str]:
    """What rows say about money, whatever day they are from."""
    return {msgspec.structs.replace(row, since=None).key for row in rows}


def _name(source: str) -> str:
    return source.partition("?")[0].rstrip("/").replace("\\", "/").rpartition("/")[2]


def _content(source: str) -> dict[str, object]:
    data = _fetched(source) if "://" in source else _read(source)
    if data[:2] == b"PK":
        data = _unpacked(data)
    content = msgspec.json.decode(data)
    if not isinstance(content, dict):
        raise ValueError("it holds no JSON object")
    return content


def _read(path: str) -> bytes:
    with open(os.path.expanduser(path), "rb") as file:
        return file.read(SIZE_LIMIT + 1)


def _unpacked(data: bytes) -> bytes:
    """The table in a wheel."""
    import io
    import zipfile

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as wheel:
            for name in wheel.namelist():
                if name.endswith("model_prices_and_context_window_backup.json"):
                    with wheel.open(name) as file:
                        return file.read(SIZE_LIMIT)
    except zipfile.BadZipFile as error:
        raise ValueError(f"it is damaged ({error})") from None
    raise ValueError("it holds no table")


def _fetched(url: str) -> bytes:
    if not url.startswith(("https://", "http://")):
        raise Failure("usage", f"{url} is no address that can be opened", "use https://…, or a file", WRONG_USAGE)
    import urllib.error
    import urllib.request

    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310 - checked above
            found: bytes = answer.read(SIZE_LIMIT + 1)
            return found
    except (urllib.error.URLError, TimeoutError, OSError) as error:
        reason = getattr(error, "reason", None) or error
        raise Failure(
            "network", f"{url} cannot be opened: {reason}", "fetch it by other means, and name the file"
        ) from None
