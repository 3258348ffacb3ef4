"""What was spent, cut small: by day, host, project and model, and by session."""

from __future__ import annotations

import apsw

from retro.ledger import calendar
from retro.ledger.calendar import Zone
from retro.ledger.reports import Amount, Found, Labels, Wanted, columns, conditions, rows

Cell = tuple[int | None, str, str]
"""Local day, host and project; the day is None for requests without a time."""


def by_place(connection: apsw.Connection, wanted: Wanted, where: Zone) -> dict[Cell, Amount]:
    """What was spent by local day, host and project, in their order, with the share of each model."""
    condition, values = conditions(wanted)
    first, last = next(rows(connection, "SELECT min(quarter), max(quarter) FROM spent WHERE quarter >= 0"))
    day = calendar.local_day(calendar.segments(where, first, last), "quarter") if first is not None else "quarter"
    query = (
        f"SELECT CASE WHEN quarter < 0 THEN NULL ELSE {day} END AS day, host, project, model,"  # noqa: S608 - our columns
        f" {columns(wanted.mode)} FROM spent{condition} GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4"
    )
    labels = Labels(connection)
    found = Found()
    for row in rows(connection, query, values):
        found.add((row[0], labels[row[1]], labels[row[2]]), labels[row[3]], row[4:])
    amounts: dict[Cell, Amount] = found.amounts()
    return amounts


def by_session(connection: apsw.Connection, mode: str) -> dict[tuple[str, str], Amount]:
    """What each session took by itself, without the sessions of its sub-agents, by host and id."""
    query = (
        f"SELECT host, session_id, model, {columns(mode, added=False)} FROM session_total"  # noqa: S608 - our own columns
        " JOIN owner ON owner.id = session_total.owner WHERE whole = 1"
    )
    labels = Labels(connection)
    found = Found()
    for row in rows(connection, query):
        found.add((row[0], row[1]), labels[row[2]], row[3:])
    amounts: dict[tuple[str, str], Amount] = found.amounts()
    return amounts
