"""Why a session cost what it cost: each of its requests, by which price, from which line, and what does not count."""

from __future__ import annotations

from typing import Final, NamedTuple

import apsw

from retro.ledger.copies import Copy, Numbers
from retro.ledger.prices import MILLION, Price, Rates
from retro.ledger.tables import Owner, Tables, fetched

_KINDS: Final = ("input", "cache_write_5m", "cache_write_1h", "cache_read", "output")


class Item(NamedTuple):
    """What of one kind was billed, in millionths of a microdollar: only the whole request is rounded."""

    kind: str
    tokens: int
    rate: int
    """Microdollars a million tokens."""

    @property
    def microdollars(self) -> float:
        """What it comes to."""
        return self.tokens * self.rate / MILLION


class Line(NamedTuple):
    """One request of a session, or a copy of one that counts elsewhere."""

    copy: Copy
    owner: Owner
    """The session whose line it is: the one that was asked for, or one of its sub-agents."""
    price: Price | None
    band: int | None
    """Its context is larger than this many tokens, and the rates are those for that."""
    elsewhere: Owner | None
    """Where the request counts, if not here."""
    numbers_of: Owner | None
    """Whose copy of the request gave the numbers, if not this one."""

    @property
    def numbers(self) -> Numbers:
        """The numbers that count, or would."""
        return self.copy.counts

    @property
    def items(self) -> list[Item]:
        """How its cost comes about."""
        if self.price is None:
            return []
        tokens, rates = self.numbers.tokens, rates_of(self.price, self.band)
        return [Item(kind, getattr(tokens, kind), getattr(rates, kind)) for kind in _KINDS if getattr(tokens, kind)]

    @property
    def cost(self) -> int | None:
        """What counts of it in mode auto: what the host wrote, else by the price; None where there is neither."""
        if self.numbers.embedded >= 0:
            return self.numbers.embedded
        return self.copy.cost if self.copy.cost >= 0 else None

    @property
    def reason(self) -> str | None:
        """Why it does not count here."""
        if self.elsewhere is None:
            return None
        if not self.copy.native:
            return "it was carried over from there"
        if self.elsewhere.rank[0] != self.owner.rank[0]:
            return "that session began first"
        return "both began at the same time, and that id is the smaller one"


def rates_of(price: Price, band: int | None) -> Rates:
    """The rates of a price row, or of one of its bands."""
    return next((one.rates for one in price.bands if one.above == band), price.rates)


def band_of(price: Price, context: int) -> int | None:
    """The band that a request of so many tokens falls into."""
    return max((one.above for one in price.bands if context > one.above), default=None)


def receipt(connection: apsw.Connection, host: str, session_id: str) -> list[Line]:
    """Every request that a session holds, with those of its sub-agents' sessions, in order of time."""
    tables = Tables(connection)
    query = "SELECT id FROM owner WHERE host = ?1 AND (session_id = ?2 OR subagent = 1 AND parent = ?2)"
    owners = [int(number) for (number,) in fetched(connection, query, (host, session_id))]
    lines = [_line(tables, copy) for owner in owners for copy in tables.copies("owner = ?", (owner,))]
    return sorted(lines, key=lambda line: (line.copy.numbers.at, line.copy.source, line.copy.line, line.copy.usage_id))


def _line(tables: Tables, copy: Copy) -> Line:
    price = tables.price(copy.price) if copy.price else None
    counts = None if copy.counted else _that_counts(tables, copy)
    return Line(
        copy,
        tables.owner(copy.owner),
        price,
        band_of(price, copy.counts.tokens.context) if price else None,
        tables.owner(counts.owner) if counts else None,
        tables.owner(copy.taken[0]) if copy.taken else None,
    )


def _that_counts(tables: Tables, copy: Copy) -> Copy | None:
    """The copy that counts in place of one that does not: of the same request id, where both have one."""
    counted = tables.copies("key = ? AND counted = 1", (copy.key,))
    same = [one for one in counted if one.variant == copy.variant]
    return next(iter(same or sorted(counted, key=lambda one: one.variant)), None)
