"""`retro cost blocks`: the five-hour blocks, how fast the running one goes, and where it will end."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from json.encoder import encode_basestring as quoted
from typing import TYPE_CHECKING, Any

from retro.cli import output
from retro.cli.cost_shown import cells, columns, dollars, literal, say_doubts, write_csv
from retro.cli.output import Column, Styled
from retro.ledger import blocks, reports
from retro.ledger.blocks import Block, Gap
from retro.ledger.calendar import timestamp
from retro.ledger.spans import is_active

if TYPE_CHECKING:
    import argparse

    import apsw

    from retro.cli.interface import Context
    from retro.ledger.calendar import Zone
    from retro.ledger.reports import Wanted

RECENT = 3 * 24 * blocks.HOUR
LIMIT = 30
WARNING = 0.8
"""From this share of a limit on it is said."""


def run(index: apsw.Connection | None, wanted: Wanted, zone: Zone, args: argparse.Namespace, context: Context) -> int:
    """Show them, those of each agent for itself: its provider limits them for itself."""
    now = int(time.time() * 1000)
    spans = blocks.all_spans(index, wanted, args.session_length) if index else []
    largest = _largest(index, wanted, args, now) if index and args.token_limit == 0 else args.token_limit
    between = blocks.gaps(spans)
    if args.recent:
        spans = [span for span in spans if span.end > now - RECENT]
        between = [gap for gap in between if gap.end > now - RECENT]
    if args.active:
        spans, between = [span for span in spans if is_active(span, now)], []
    found = blocks.blocks(index, wanted, spans, now) if index and spans else []
    if context.json:
        rows = ",".join([_text(one, now, largest) for one in _in_order(args, [*between, *found])])
        output.print_written(f'{{"blocks":[{rows}]}}')
    elif args.csv:
        write_csv([_flat(_shown(one, now, largest)) for one in _in_order(args, found)])
    elif not found:
        output.say("No block is running." if args.active else "Nothing was spent in this time.")
    else:
        _print(args, found, now, largest, zone)
    return 0


def _largest(index: apsw.Connection, wanted: Wanted, args: argparse.Namespace, now: int) -> int | None:
    spans = blocks.all_spans(index, wanted._replace(since=None, until=None), args.session_length)
    over = [block.amount.tokens for block in blocks.blocks(index, wanted, spans, now) if not block.active]
    return max(over, default=None)


def _in_order(args: argparse.Namespace, found: Sequence[Block | Gap]) -> list[Block | Gap]:
    rows = sorted(found, key=_begin)
    if args.limit is not None:
        rows = rows[-args.limit :]
    return rows[::-1] if args.order == "desc" else rows


def _begin(one: Block | Gap) -> tuple[int, str]:
    where = one if isinstance(one, Gap) else one.span
    return where.start, where.host


def _values(one: Block | Gap) -> tuple[Any, ...]:
    """What `_row` names. A gap is as ccusage's users know it: a block without anything."""
    gap = isinstance(one, Gap)
    span, amount = (one, _NOTHING) if isinstance(one, Gap) else (one.span, one.amount)
    begin = timestamp(span.start)
    return (
        f"gap-{begin}" if gap else begin,
        span.host,
        begin,
        timestamp(span.end),
        None if isinstance(one, Gap) else timestamp(one.span.last),
        gap,
        not isinstance(one, Gap) and one.active,
        amount.requests,
        amount.input,
        amount.output,
        amount.cache_write_5m + amount.cache_write_1h,
        amount.cache_read,
        amount.tokens,
        amount.cost / 1_000_000,
        amount.cost,
        amount.unpriced_requests,
        sorted(amount.models),
    )


def _row(values: Sequence[Any]) -> dict[str, Any]:
    """A block that is over, or a gap, in the words of JSON."""
    name, host, begin, end, last, gap, active, entries, given, put, written, read, *rest = values
    tokens, cost, microdollars, unpriced, models = rest
    return {
        "id": name,
        "host": host,
        "startTime": begin,
        "endTime": end,
        "actualEndTime": last,
        "isGap": gap,
        "isActive": active,
        "entries": entries,
        "tokenCounts": {
            "inputTokens": given,
            "outputTokens": put,
            "cacheCreationInputTokens": written,
            "cacheReadInputTokens": read,
        },
        "totalTokens": tokens,
        "costUSD": cost,
        "microdollars": microdollars,
        "unpricedRequests": unpriced,
        "models": models,
        "burnRate": None,
        "projection": None,
    }


_NOTHING = reports.Amount()
_ROW_TEXT = json.dumps(_row(["%s"] * 17), separators=(",", ":")).replace('"%s"', "%s")
"""The same as a template: there may be thousands."""


def _text(one: Block | Gap, now: int, limit: int | None) -> str:
    """A block or a gap as JSON."""
    if isinstance(one, Block) and one.active:
        return json.dumps(_shown(one, now, limit), separators=(",", ":"), ensure_ascii=False)
    *names, gap, active, entries, given, put, written, read, tokens, cost, micro, unpriced, models = _values(one)
    figures = (entries, given, put, written, read, tokens, cost, micro, unpriced)
    flags = "true" if gap else "false", "true" if active else "false"
    return _ROW_TEXT % (*map(literal, names), *flags, *figures, f"[{','.join(map(quoted, models))}]")


def _shown(one: Block | Gap, now: int, limit: int | None) -> dict[str, Any]:
    """A block in the words of JSON; of a running one its pace as well."""
    found = _row(_values(one))
    if isinstance(one, Gap) or not one.active:
        return found
    rate, projection = one.rate, one.projection(now)
    if rate is not None:
        found["burnRate"] = {
            "tokensPerMinute": rate.tokens_per_minute,
            "tokensPerMinuteForIndicator": rate.own_tokens_per_minute,
            "costPerHour": rate.microdollars_per_hour / 1_000_000,
        }
    if projection is not None:
        found["projection"] = {
            "totalTokens": projection.tokens,
            "totalCost": projection.microdollars / 1_000_000,
            "remainingMinutes": projection.minutes,
        }
    if limit and projection is not None:
        found["tokenLimitStatus"] = {
            "limit": limit,
            "projectedUsage": projection.tokens,
            "percentUsed": projection.tokens / limit * 100,
            "status": _status(projection.tokens, limit),
        }
    return found


def _status(tokens: int, limit: int) -> str:
    return "exceeds" if tokens > limit else "warning" if tokens > limit * WARNING else "ok"


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """A row without rows in it."""
    rest = {name: value for name, value in row.items() if name not in ("tokenCounts", "burnRate", "projection")}
    return {**rest, **row["tokenCounts"], "models": " ".join(row["models"])}


# --- as a table ------------------------------------------------------------------------------------------------------


def _print(args: argparse.Namespace, found: list[Block], now: int, limit: int | None, zone: Zone) -> None:
    several = len({block.span.host for block in found}) > 1
    kept = found[-(args.limit or LIMIT) :]
    rows: list[list[str | Styled]] = []
    for block in kept[::-1] if args.order == "desc" else kept:
        head: list[str | Styled] = [_when(block.span.start, zone), _state(block, now)]
        rows.append([*head, *([block.span.host] if several else []), *cells(block.amount, args.compact)])
        if args.breakdown:
            for model, share in sorted(block.amount.models.items(), key=lambda item: -item[1].cost):
                rows.append([f"  {model}", *[""] * (1 + several), *cells(share, args.compact)])
    names = ["block", "", *(["host"] if several else [])]
    output.table(rows, [*map(Column, names), *columns(args.compact)])
    if len(kept) < len(found):
        output.notice(f"{len(kept)} of {len(found)}, the newest; --limit shows more")
    for block in kept:
        if block.active:
            _print_active(block, now, limit)
    say_doubts(reports.total(block.amount for block in kept))


def _print_active(block: Block, now: int, limit: int | None) -> None:
    rate, projection = block.rate, block.projection(now)
    if rate is None or projection is None:
        return
    money = f"${rate.microdollars_per_hour / 1e6:,.2f} an hour"
    pace = f"{output.count(round(rate.tokens_per_minute))} tokens a minute, {money}"
    end = f"{output.count(projection.tokens)} tokens and ${projection.microdollars / 1e6:,.2f} at its end"
    output.say(f"\n{block.span.host}: {dollars(block.amount)} so far; {pace}; at that pace {end}")
    if limit:
        status = _status(projection.tokens, limit)
        share = f"{projection.tokens / limit:.0%} of {output.count(limit)} tokens"
        output.say(f"  that is {share}", {"exceeds": "red", "warning": "yellow", "ok": None}[status])


def _when(at: int, zone: Zone) -> str:
    seconds = at // 1000
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds + zone.offset(seconds)))


def _state(block: Block, now: int) -> str | Styled:
    if block.active:
        return Styled(f"running, {output.duration((block.span.end - now) / 1000)} left", "green")
    return f"for {output.duration((block.span.last - block.span.first) / 1000)}"
