"""`retro cost blocks`: the five-hour blocks, how fast the running one goes, and where it will end."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from retro.cli import output
from retro.cli.cost_shown import cells, dearest, dollars, nothing, print_fitting, say_doubts, write_csv
from retro.cli.output import Column, Styled
from retro.ledger import blocks, reports, written
from retro.ledger.blocks import Block

if TYPE_CHECKING:
    import argparse

    import apsw

    from retro.cli.interface import Context
    from retro.ledger.calendar import Zone
    from retro.ledger.entries import Asked

RECENT = 3 * 24 * blocks.HOUR


def run(index: apsw.Connection | None, asked: Asked, args: argparse.Namespace, context: Context) -> int:
    """Show them, those of each agent for itself: its provider limits them for itself."""
    now = int(time.time() * 1000)
    length = args.session_length
    found = blocks.blocks(index, asked.wanted, now, length) if index else []
    limit = _largest(index, asked, now, length) if index and args.token_limit == 0 else args.token_limit
    between = blocks.gaps(found)
    if args.recent:
        found = [block for block in found if block.end > now - RECENT]
        between = [gap for gap in between if gap[2] > now - RECENT]
    if args.active:
        found, between = [block for block in found if block.active], []
    if context.json:
        output.print_written(written.blocks(found, between, asked, now, limit))
    elif args.csv:
        rows = json.loads("".join(written.blocks(found, [], asked, now, limit)))["blocks"]
        write_csv(map(_flat, rows))
    elif not found:
        output.say("No block is running." if args.active and index else nothing(context))
    else:
        kept = found[-asked.limit :] if asked.limit is not None else found
        if index is not None:
            blocks.with_shares(index, asked.wanted, kept)
        _print(asked, args, kept, now)
        if len(kept) < len(found):
            output.notice(f"{len(kept)} of {len(found)}, the newest; --limit shows more")
        _print_running(kept, now, limit)
    return 0


def _largest(index: apsw.Connection, asked: Asked, now: int, hours: int) -> int | None:
    """The tokens of the largest block that is over."""
    every = blocks.blocks(index, asked.wanted.between(None, None), now, hours)
    return max([block.amount.tokens for block in every if not block.active], default=None)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """A row without rows in it."""
    left_out = ("tokenCounts", "burnRate", "projection", "tokenLimitStatus")
    rest = {name: value for name, value in row.items() if name not in left_out}
    return {**rest, **row["tokenCounts"], "models": " ".join(row["models"])}


# --- as a table ------------------------------------------------------------------------------------------------------


def _print(asked: Asked, args: argparse.Namespace, kept: list[Block], now: int) -> None:
    several = len({block.host for block in kept}) > 1

    def rows(compact: bool) -> list[list[str | Styled]]:
        found: list[list[str | Styled]] = []
        for block in kept[::-1] if asked.newest_first else kept:
            head: list[str | Styled] = [_when(block.start, asked.zone), _state(block, now)]
            found.append([*head, *([block.host] if several else []), *cells(block.amount, compact)])
            if args.breakdown:
                for model, share in dearest(block.amount):
                    found.append([f"  {model or '(no model)'}", *[""] * (1 + several), *cells(share, compact)])
        return found

    names = ["block", "", *(["host"] if several else [])]
    print_fitting(rows, [*map(Column, names)], args.compact)


def _print_running(kept: list[Block], now: int, limit: int | None) -> None:
    for block in kept:
        if block.active:
            _print_pace(block, now, limit)
    say_doubts(reports.total(block.amount for block in kept))


def _print_pace(block: Block, now: int, limit: int | None) -> None:
    rate, projection = block.rate, block.projection(now)
    if rate is None or projection is None:
        return
    money = f"${rate.microdollars_per_hour / 1e6:,.2f} an hour"
    pace = f"{output.count(round(rate.tokens_per_minute))} tokens a minute, {money}"
    end = f"{output.count(projection.tokens)} tokens and ${projection.microdollars / 1e6:,.2f} at its end"
    output.say(f"\n{block.host}: {dollars(block.amount)} so far; {pace}; at that pace {end}")
    if limit:
        status = written.status(projection.tokens, limit)
        share = f"{projection.tokens / limit:.0%} of {output.count(limit)} tokens"
        output.say(f"  that is {share}", {"exceeds": "red", "warning": "yellow", "ok": None}[status])


def _when(at: int, zone: Zone) -> str:
    seconds = at // 1000
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds + zone.offset(seconds)))


def _state(block: Block, now: int) -> str | Styled:
    if block.active:
        return Styled(f"running, {output.duration((block.end - now) / 1000)} left", "green")
    return f"for {output.duration((block.last - block.first) / 1000)}"
