"""Five-hour blocks, as providers limit what may be used: how fast it goes, and where the running one will end."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final, NamedTuple

import apsw

from retro.ledger import reports
from retro.ledger.calendar import QUARTER
from retro.ledger.reports import Amount, Wanted
from retro.ledger.spans import HOUR as HOUR
from retro.ledger.spans import HOURS as HOURS
from retro.ledger.spans import is_active
from retro.ledger.spans import spans as found_spans

MINUTE: Final = 60 * 1000


class Span(NamedTuple):
    """A block in time, in milliseconds since 1970: it begins with the hour of its first request."""

    host: str
    start: int
    end: int
    first: int
    last: int


class Gap(NamedTuple):
    """A time without requests that is longer than a block."""

    host: str
    start: int
    end: int


class Rate(NamedTuple):
    """How fast a block is used up."""

    tokens_per_minute: float
    own_tokens_per_minute: float
    """Without what came from a cache or went into one."""
    microdollars_per_hour: float


class Projection(NamedTuple):
    """What a block will come to if it goes on as it did."""

    tokens: int
    microdollars: int
    minutes: int
    """Until it ends."""


class Block(NamedTuple):
    """A block, and what was used in it."""

    span: Span
    amount: Amount
    active: bool

    @property
    def rate(self) -> Rate | None:
        """From its first request to its last; None where there is but one moment."""
        minutes = (self.span.last - self.span.first) / MINUTE
        if minutes <= 0:
            return None
        amount = self.amount
        own = amount.input + amount.output
        return Rate(amount.tokens / minutes, own / minutes, amount.cost / minutes * 60)

    def projection(self, now: int) -> Projection | None:
        """Where an active block will end."""
        rate = self.rate
        if rate is None or not self.active:
            return None
        left = max(self.span.end - now, 0) / MINUTE
        return Projection(
            round(self.amount.tokens + rate.tokens_per_minute * left),
            round(self.amount.cost + rate.microdollars_per_hour * left / 60),
            round(left),
        )


def spans(moments: Iterable[tuple[str, int, int]], hours: int = HOURS) -> list[Span]:
    """Blocks from the quarter-hours or hours of hosts in order, each with its first and its last request."""
    return [Span(*row) for row in found_spans(moments, hours)]


def gaps(found: Iterable[Span]) -> list[Gap]:
    """The times between blocks in which nothing was used for longer than a block."""
    before: dict[str, Span] = {}
    between = []
    for span in found:
        earlier = before.get(span.host)
        if earlier is not None and span.first - earlier.last > earlier.end - earlier.start:
            between.append(Gap(span.host, earlier.last + earlier.end - earlier.start, span.first))
        before[span.host] = span
    return between


def all_spans(connection: apsw.Connection, wanted: Wanted, hours: int = HOURS) -> list[Span]:
    """Every block; requests without a time lie in none. `since` and `until` say which blocks begin then."""
    condition, values = reports.conditions(wanted._replace(since=0, until=None), unit="hour")
    query = f"SELECT host, min(first), max(last) FROM spent_hour{condition} GROUP BY hour, host ORDER BY hour"  # noqa: S608
    labels = reports.Labels(connection)
    rows = ((labels[host], first, last) for host, first, last in reports.rows(connection, query, values))
    begin = wanted.since * QUARTER if wanted.since is not None else 0
    end = wanted.until * QUARTER if wanted.until is not None else None
    return [span for span in spans(rows, hours) if span.start >= begin and (end is None or span.start < end)]


def blocks(connection: apsw.Connection, wanted: Wanted, found: list[Span], now: int) -> list[Block]:
    """What was used in each of some blocks; `now` in milliseconds since 1970."""
    timeless = wanted._replace(since=None, until=None)
    condition, values = reports.conditions(timeless, "block.value ->> 0 = label.text", unit="hour")
    numbered = json.dumps([(span.host, span.start // HOUR, span.end // HOUR) for span in found])
    query = (
        f"SELECT block.key, model, {reports.columns(wanted.mode)} FROM json_each(?) AS block"  # noqa: S608 - our own
        " JOIN label CROSS JOIN spent_hour ON spent_hour.host = label.id"
        " AND hour >= block.value ->> 1 AND hour < block.value ->> 2"
        f"{condition} GROUP BY 1, 2"
    )
    labels = reports.Labels(connection)
    amounts = [Amount() for _ in found]
    for place, model, *row in reports.rows(connection, query, [numbered, *values]):
        amounts[place].add(row, labels[model])
    return [Block(span, amount, is_active(span, now)) for span, amount in zip(found, amounts, strict=True)]
