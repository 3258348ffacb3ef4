"""The rows of each report of what it cost: what names each, and its amount. On the light path."""

from __future__ import annotations

import time

from retro.ledger import calendar, reports
from retro.ledger.amounts import Amount

TYPE_CHECKING = False  # as in places
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Final

    import apsw

    from retro.ledger.calendar import Zone
    from retro.ledger.reports import Wanted

    Entry = tuple[tuple[str | int | None, ...], Amount]
    """What names a row, in the order of a table's `names`, and its amount."""

PERIODS: Final = {"daily": "date", "weekly": "week", "monthly": "month"}
"""Reports by time, and what names their rows."""

_OF_SESSION: Final = (
    "sessionId",
    "host",
    "project",
    "title",
    "firstActivity",
    "lastActivity",
    "costSource",
    "subagentSessions",
)


class Asked:
    """A report, and what of it; options of other reports are as if they were not given."""

    def __init__(self, report: str, wanted: Wanted, zone: Zone) -> None:
        self.report, self.wanted, self.zone = report, wanted, zone
        self.instances = False
        """By project as well."""
        self.start_of_week = 0
        """Monday (0) … Sunday (6)."""
        self.id: str | None = None
        """How the ids of sessions begin."""
        self.limit: int | None = None
        """The newest, so many."""
        self.newest_first = False


class Table:
    """The rows of a report: the name of all of them, the names of what names each, and what they are grouped by."""

    def __init__(self, key: str, names: Sequence[str], entries: list[Entry], grouped: bool = False) -> None:
        self.key, self.names, self.entries = key, names, entries
        self.grouped = grouped
        """By what the first name says."""
        self.total = reports.total([amount for _, amount in entries])
        self.left_out = 0

    def shortened(self, limit: int | None, newest_first: bool) -> None:
        """Leave out what is more than a limit, the oldest; and turn the rest around."""
        self.left_out = max(len(self.entries) - limit, 0) if limit is not None else 0
        self.entries = self.entries[self.left_out :]
        if newest_first:
            self.entries.reverse()


def table(index: apsw.Connection | None, asked: Asked) -> Table:
    """The rows that are asked for; of an archive without an index there are none."""
    found = _TABLES[asked.report](index, asked)
    found.shortened(asked.limit, asked.newest_first)
    return found


def glance(index: apsw.Connection | None, wanted: Wanted, zone: Zone) -> dict[str, Amount]:
    """What was spent today, this week, this month."""
    today = calendar.today(zone, time.time())
    begins = {"today": today, "week": calendar.week_of(today), "month": calendar.month_of(today)}

    def since(day: int) -> Amount:
        within = wanted.between(calendar.begin_of(day, zone), wanted.until)
        return reports.spent_between(index, within) if index is not None else Amount()

    return {name: since(day) for name, day in begins.items()}


def _periods(index: apsw.Connection | None, asked: Asked) -> Table:
    key = PERIODS[asked.report]
    period: Callable[[str], str] = str
    if asked.report == "weekly":
        period = lambda day: calendar.local_week(day, asked.start_of_week)  # noqa: E731
    elif asked.report == "monthly":
        period = calendar.local_month
    by = asked.instances
    found = reports.days(index, asked.wanted, asked.zone, by_project=by, period=period) if index is not None else {}
    rows = sorted(found.items(), key=lambda row: (row[0][0] is None, row[0][0] or 0, row[0][1]))
    length = 7 if key == "month" else 10
    if not by:
        return Table(asked.report, (key,), [((_name(day, length),), amount) for (day, _), amount in rows])
    entries: list[Entry] = [((project, _name(day, length)), amount) for (day, project), amount in rows]
    return Table(asked.report, ("project", key), entries, grouped=True)


def _name(day: int | None, length: int) -> str | None:
    """The period that begins with a day."""
    return None if day is None else calendar.day_name(day)[:length]


def _projects(index: apsw.Connection | None, asked: Asked) -> Table:
    found = reports.projects(index, asked.wanted) if index is not None else {}
    return Table("projects", ("project",), _by_cost({(name,): amount for name, amount in found.items()}))


def _models(index: apsw.Connection | None, asked: Asked) -> Table:
    shares = reports.spent_between(index, asked.wanted).shares if index is not None else {}
    return Table("models", ("model",), _by_cost({(name,): Amount(row, name) for name, row in shares.items()}))


def _by_cost(found: dict[tuple[str], Amount]) -> list[Entry]:
    return sorted(found.items(), key=lambda entry: (entry[1].cost, entry[1].tokens))


def _sessions(index: apsw.Connection | None, asked: Asked) -> Table:
    entries: list[Entry] = []
    timestamp = calendar.timestamp
    for one in reports.sessions(index, asked.wanted) if index is not None else ():
        if asked.id is not None and not one.session_id.startswith(asked.id):
            continue
        amount = one.amount
        times = timestamp(amount.first), timestamp(amount.last)
        named = (one.session_id, one.host, one.project, one.title, *times, amount.origin, one.agents)
        entries.append((named, amount))
    return Table("sessions", _OF_SESSION, entries)


_TABLES: Final[dict[str, Callable[[apsw.Connection | None, Asked], Table]]] = {
    "daily": _periods,
    "weekly": _periods,
    "monthly": _periods,
    "session": _sessions,
    "project": _projects,
    "model": _models,
}
