"""Five-hour blocks, as providers limit what may be used: how fast it goes, and where the running one will end."""

from __future__ import annotations

from retro.ledger import reports
from retro.ledger.amounts import Amount
from retro.ledger.calendar import QUARTER
from retro.ledger.spans import HOUR as HOUR
from retro.ledger.spans import HOURS as HOURS
from retro.ledger.spans import cut, is_active

TYPE_CHECKING = False  # as in places
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

    import apsw

    from retro.ledger.reports import Wanted
    from retro.ledger.spans import Span

    Gap = tuple[str, int, int]
    """Host, start and end of a time without requests that is longer than a block."""

MINUTE: Final = 60 * 1000


class Rate:
    """How fast a block is used up."""

    def __init__(self, tokens: float, own_tokens: float, microdollars: float) -> None:
        self.tokens_per_minute = tokens
        self.own_tokens_per_minute = own_tokens
        """Without what came from a cache or went into one."""
        self.microdollars_per_hour = microdollars


class Projection:
    """What a block will come to if it goes on as it did."""

    def __init__(self, tokens: int, microdollars: int, minutes: int) -> None:
        self.tokens, self.microdollars = tokens, microdollars
        self.minutes = minutes
        """Until it ends."""


class Block:
    """A block, in milliseconds since 1970, and what was used in it; it begins with the hour of its first request."""

    __slots__ = ("active", "amount", "end", "first", "host", "last", "models", "start")

    def __init__(self, span: Span, amount: Amount, models: list[str], active: bool) -> None:
        self.host, self.start, self.end, self.first, self.last = span
        self.amount = amount
        """Without the shares of its models: `with_shares` gives them."""
        self.models = models
        self.active = active

    @property
    def rate(self) -> Rate | None:
        """From its first request to its last; None where there is but one moment."""
        minutes = (self.last - self.first) / MINUTE
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
        left = max(self.end - now, 0) / MINUTE
        return Projection(
            round(self.amount.tokens + rate.tokens_per_minute * left),
            round(self.amount.cost + rate.microdollars_per_hour * left / 60),
            round(left),
        )


def gaps(found: Iterable[Block]) -> list[Gap]:
    """The times between blocks in which nothing was used for longer than a block."""
    before: dict[str, Block] = {}
    between = []
    for block in found:
        earlier = before.get(block.host)
        if earlier is not None and block.first - earlier.last > earlier.end - earlier.start:
            between.append((block.host, earlier.last + earlier.end - earlier.start, block.first))
        before[block.host] = block
    return between


def blocks(connection: apsw.Connection, wanted: Wanted, now: int, hours: int = HOURS) -> list[Block]:
    """Every block, and what was used in it; requests without a time lie in none. `now` in milliseconds since 1970.

    `since` and `until` say which blocks begin then.
    """
    condition, values = reports.conditions(wanted.between(0, None), unit="hour")
    table = "spent_host" if wanted.project is None and not wanted.own_only else "spent_hour"
    query = (
        f"SELECT host, group_concat(model), {reports.columns(wanted.mode)} FROM {table}{condition}"  # noqa: S608 - our own
        " GROUP BY hour, host ORDER BY hour, host"
    )
    labels = reports.Labels(connection)
    rows = list(reports.rows(connection, query, values))
    begin = wanted.since * QUARTER if wanted.since is not None else 0
    end = wanted.until * QUARTER if wanted.until is not None else None
    names: dict[str, list[str]] = {}
    found = []
    for span, places in cut([(labels[row[0]], row[-2], row[-1]) for row in rows], hours):
        if span[1] < begin or (end is not None and span[1] >= end):
            continue
        own = [rows[place] for place in places]
        models = ",".join([row[1] for row in own])
        if models not in names:
            names[models] = sorted([labels[int(model)] for model in set(models.split(","))])
        row = [*map(sum, list(zip(*own, strict=True))[2:-2]), *span[3:]]
        found.append(Block(span, Amount(row), names[models], is_active(span, now)))
    return found


def with_shares(connection: apsw.Connection, wanted: Wanted, found: Iterable[Block]) -> None:
    """Give some blocks the shares of their models."""
    for block in found:
        # Blocks begin and end with full hours.
        within = wanted.between(block.start // QUARTER, block.end // QUARTER)
        within.host = block.host
        block.amount = reports.spent_between(connection, within)
