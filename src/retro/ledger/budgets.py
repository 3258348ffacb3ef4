"""Budgets: what the user allows in a day, week or month, what providers allow, and how much of it is used."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import apsw
import msgspec

from retro.agents.interface import Facts, Limit
from retro.ledger import calendar, reports
from retro.ledger.calendar import Zone
from retro.ledger.reports import Amount, Wanted

NEWEST: Final = 10
"""In so many sessions of each host its last word on limits is looked for."""

_decode_facts: Final = msgspec.msgpack.Decoder(Facts).decode


class Budget(NamedTuple):
    """What may be spent, and what was."""

    project: str | None
    """None: all of them."""
    period: str
    limit: int
    """Microdollars."""
    amount: Amount
    first: int
    """Number of the day with which the period began."""
    after: int
    """Number of the day with which the next one begins."""

    @property
    def exceeded(self) -> bool:
        """Whether more was spent."""
        return self.amount.cost > self.limit


class Allowance(NamedTuple):
    """What a provider allows in some minutes, and how much of it was used when it last said so."""

    host: str
    limit: Limit
    most: float
    """Percent that may be used."""
    over: bool
    """The time that it was said of is over: all of it is free again."""

    @property
    def exceeded(self) -> bool:
        """Whether more is used."""
        return not self.over and self.limit.used_percent >= self.most


def budgets(
    index: apsw.Connection | None, wanted: Iterable[tuple[str | None, str, int]], zone: Zone, now: float, mode: str
) -> list[Budget]:
    """What was spent of each budget (project, period, microdollars) until now."""
    found = []
    for project, period, limit in wanted:
        first, after = _period(period, calendar.today(zone, now))
        since = calendar.begin_of(first, zone)
        asked = Wanted(since, calendar.begin_of(after, zone), project, mode=mode)
        amount = reports.spent_between(index, asked) if index else Amount()
        found.append(Budget(project, period, limit, amount, first, after))
    return found


def _period(name: str, today: int) -> tuple[int, int]:
    if name == "monthly":
        return calendar.month_of(today), calendar.month_after(today)
    if name == "weekly":
        return calendar.week_of(today), calendar.week_of(today) + 7
    return today, today + 1


def allowances(
    index: apsw.Connection | None, told: Iterable[dict[str, object]], now: float, most: float
) -> list[Allowance]:
    """The last word of each provider: from what its agent recorded, or told (`inbox.LIMITS`) in its status line."""
    newest: dict[tuple[str, int], Limit] = {}
    for host, limit in (*(_recorded(index) if index else ()), *_told(told)):
        known = newest.get((host, limit.minutes))
        if known is None or limit.seen >= known.seen:
            newest[host, limit.minutes] = limit
    return [
        Allowance(host, limit, most, _is_over(limit, now))
        for (host, _), limit in sorted(newest.items(), key=lambda item: item[0])
    ]


def _is_over(limit: Limit, now: float) -> bool:
    if limit.resets:
        return limit.resets <= now
    return calendar.milliseconds(limit.seen) / 1000 + limit.minutes * 60 <= now


def _recorded(index: apsw.Connection) -> list[tuple[str, Limit]]:
    found = []
    for (host,) in list(reports.rows(index, "SELECT DISTINCT host FROM session")):
        query = (
            "SELECT facts FROM source WHERE session IN"
            " (SELECT id FROM session WHERE host = ? ORDER BY ended DESC LIMIT ?)"
        )
        for (facts,) in reports.rows(index, query, (host, NEWEST)):
            found += [(host, limit) for limit in _decode_facts(facts).limits]
    return found


def _told(lines: Iterable[dict[str, object]]) -> list[tuple[str, Limit]]:
    found = []
    for line in lines:
        host, at, windows = line.get("host"), line.get("at"), line.get("windows")
        if not isinstance(host, str) or not isinstance(at, int) or not isinstance(windows, dict):
            continue
        seen = calendar.timestamp(at * 1000) if 0 <= at < 1 << 40 else None
        for minutes, pair in windows.items():
            limit = _limit(minutes, pair, seen)
            if limit is not None:
                found.append((host, limit))
    return found


def _limit(minutes: Any, pair: Any, seen: str | None) -> Limit | None:
    try:
        used, resets = pair
        return Limit(int(minutes), float(used), int(resets) or None, seen) if seen else None
    except (TypeError, ValueError):
        return None
