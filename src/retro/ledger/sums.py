"""What was spent, kept up to date: in all by quarter-hour, hour and day, and of hosts and sessions for themselves."""

from __future__ import annotations

from collections.abc import Iterable
from operator import add
from typing import Final

import apsw

from retro.ledger.calendar import HOURS, PER_HOUR, QUARTER, QUARTERS
from retro.ledger.columns import SUMS
from retro.ledger.copies import FALLBACK, LOWER_BOUND, Copy
from retro.ledger.tables import fetched

_ALL: Final = ", ".join(SUMS)
_ADD: Final = ", ".join(f"{name} = {name} + excluded.{name}" for name in SUMS)
_SPAN: Final = "first = min(first, excluded.first), last = max(last, excluded.last)"


def _adding(table: str, *keys: str) -> str:
    """SQL that adds a row to the sums of a table."""
    names = ", ".join(keys)
    marks = ", ".join("?" * (len(keys) + len(SUMS) + 2))
    return (
        f"INSERT INTO {table} ({names}, {_ALL}, first, last) VALUES ({marks})"  # noqa: S608 - our own columns
        f" ON CONFLICT ({names}) DO UPDATE SET {_ADD}, {_SPAN}"
    )


_IN_ALL: Final = _adding("spent", "quarter", "host", "project", "model", "agent")
_BY_HOUR: Final = _adding("spent_hour", "hour", "host", "project", "model", "agent")
_BY_DAY: Final = _adding("spent_day", "day", "host", "project", "model", "agent")
_BY_HOST: Final = _adding("spent_host", "hour", "host", "model")
_BY_SESSION: Final = _adding("session_spent", "owner", "quarter", "model", "agent")
_OF_SESSION: Final = _adding("session_total", "whole", "owner", "model")

Key = tuple[int, ...]
Cell = tuple[int, int, int, int]
"""Session, quarter-hour, model, whether a sub-agent did it."""
Place = tuple[int, int]
"""Host and project, as labels."""

NEVER: Final = 1 << 60


def amounts(copy: Copy) -> tuple[int, ...]:
    """What one counted request adds, in the order of SUMS."""
    n = copy.counts
    tokens = n.total
    priced, embedded = copy.cost >= 0, n.embedded >= 0
    unpriced = not priced and not embedded
    return (
        1,
        n.input_tokens,
        n.cache_write_5m_tokens,
        n.cache_write_1h_tokens,
        n.cache_read_tokens,
        n.output_tokens,
        n.reasoning_tokens,
        n.web_searches,
        n.embedded if embedded else copy.cost if priced else 0,
        copy.cost if priced else 0,
        n.embedded if embedded else 0,
        int(embedded),
        int(unpriced),
        tokens if unpriced else 0,
        int(not priced),
        0 if priced else tokens,
        int(n.quality == LOWER_BOUND),
        int(n.quality == FALLBACK),
    )


def quarter_of(at: int) -> int:
    """The quarter-hour of a moment; -1 for none."""
    return at // QUARTER if at >= 0 else -1


def hour_of(quarter: int) -> int:
    """The hour that a quarter-hour lies in; -1 for none."""
    return quarter // PER_HOUR if quarter >= 0 else -1


def day_of(quarter: int) -> int:
    """The UTC day that a quarter-hour lies in; -1 for none."""
    return quarter // QUARTERS if quarter >= 0 else -1


class _Rows:
    """Rows of one table, each key once."""

    def __init__(self) -> None:
        self._found: dict[Key, list[int]] = {}

    def add(self, key: Key, change: list[int], first: int, last: int) -> None:
        known = self._found.get(key)
        if known is None:
            self._found[key] = [*change, first, last]
        else:
            self._found[key] = [*map(add, known, change), min(known[-2], first), max(known[-1], last)]

    def sorted(self) -> list[Key]:
        """As they are written."""
        return [(*key, *values) for key, values in sorted(self._found.items())]


class Sums:
    """Changes that are collected, and then written together."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._changes: dict[Cell, list[int]] = {}
        self._spans: dict[Cell, tuple[int, int]] = {}
        self._places: dict[int, Place] = {}
        self._shrunk: set[Cell] = set()
        self.touched: set[int] = set()
        """Sessions whose sums have changed."""

    def add(self, copy: Copy, model: int, place: Place, sign: int = 1) -> None:
        """Count a request, or with a sign of -1 count it no longer."""
        at = copy.counts.at
        cell = (copy.owner, quarter_of(at), model, int(bool(copy.agent)))
        change = self._changes.get(cell)
        values = amounts(copy)
        if sign < 0:
            values = tuple(-value for value in values)
        self._changes[cell] = list(values if change is None else map(add, change, values))
        self._places[copy.owner] = place
        if sign > 0:
            first, last = self._spans.get(cell, (NEVER, -1))
            self._spans[cell] = (min(first, at), max(last, at))
        else:
            self._shrunk.add(cell)

    def write(self) -> None:
        """Bring the tables up to date."""
        if not self._changes:
            return
        self.touched.update(cell[0] for cell in self._changes)
        in_all, by_hour, by_day, by_host, of_session = _Rows(), _Rows(), _Rows(), _Rows(), _Rows()
        rows = []
        for cell in sorted(self._changes):
            owner, quarter, model, agent = cell
            change, (first, last) = self._changes[cell], self._spans.get(cell, (NEVER, -1))
            rows.append((*cell, *change, first, last))
            place = self._places[owner]
            in_all.add((quarter, *place, model, agent), change, first, last)
            by_hour.add((hour_of(quarter), *place, model, agent), change, first, last)
            by_day.add((day_of(quarter), *place, model, agent), change, first, last)
            by_host.add((hour_of(quarter), place[0], model), change, first, last)
            for whole in (0, 1) if agent == 0 else (1,):
                of_session.add((whole, owner, model), change, first, last)
        self._connection.executemany(_BY_SESSION, rows)
        longer = ((_BY_HOUR, by_hour), (_BY_DAY, by_day), (_BY_HOST, by_host))
        for query, found in ((_IN_ALL, in_all), *longer, (_OF_SESSION, of_session)):
            self._connection.executemany(query, found.sorted())
        for cell in self._shrunk:
            self._shrink(cell)
        self._changes, self._spans, self._shrunk = {}, {}, set()

    def _shrink(self, cell: Cell) -> None:
        """Find the first and the last moment again where requests were taken away, and drop what is empty."""
        owner, quarter, model, agent = cell
        begin = quarter * QUARTER if quarter >= 0 else -1
        end = begin + QUARTER if quarter >= 0 else 0
        query = (
            "SELECT at, taken, agent <> 0 FROM usage WHERE owner = ? AND counted = 1 AND at >= ? AND at < ?"
            " AND model = ?"
        )
        found = fetched(self._connection, query, (owner, begin, end, model))
        moments = [int(at) for at, _, is_agent in found if is_agent == agent]
        span = min(moments, default=None), max(moments, default=-1)
        keys = {"owner": owner, "quarter": quarter, "model": model, "agent": agent}
        self._set_span("session_spent", keys, span)
        query = "SELECT min(first), max(last) FROM session_spent WHERE owner = ? AND model = ? AND agent <= ?"
        for whole in (0, 1) if agent == 0 else (1,):
            keys = {"whole": whole, "owner": owner, "model": model}
            self._set_span("session_total", keys, next(fetched(self._connection, query, (owner, model, whole))))
        self._shrink_place(self._places[owner], quarter, model, agent)

    def _shrink_place(self, place: Place, quarter: int, model: int, agent: int) -> None:
        query = (
            "SELECT min(first), max(last) FROM session_spent JOIN owner ON owner.id = session_spent.owner"
            " WHERE quarter = ? AND model = ? AND agent = ?"
            " AND host = (SELECT text FROM label WHERE id = ?)"
            " AND project = coalesce((SELECT text FROM label WHERE id = ?), '')"
        )
        rest = {"host": place[0], "project": place[1], "model": model, "agent": agent}
        span = next(fetched(self._connection, query, (quarter, model, agent, *place)))
        self._set_span("spent", {"quarter": quarter, **rest}, span)
        self._shrink_longer(("spent", "quarter"), ("spent_hour", "hour"), PER_HOUR, hour_of(quarter), rest)
        self._shrink_longer(("spent_hour", "hour"), ("spent_day", "day"), HOURS, day_of(quarter), rest)
        keys = {"hour": hour_of(quarter), "host": place[0], "model": model}
        query = "SELECT min(first), max(last) FROM spent_hour WHERE hour = ? AND host = ? AND model = ?"
        self._set_span("spent_host", keys, next(fetched(self._connection, query, tuple(keys.values()))))

    def _shrink_longer(
        self, shorter: tuple[str, str], longer: tuple[str, str], factor: int, time: int, rest: dict[str, int]
    ) -> None:
        """The same for a row of a longer time, from those of the shorter ones in it."""
        query = (
            f"SELECT min(first), max(last) FROM {shorter[0]} WHERE {shorter[1]} BETWEEN ? AND ?"  # noqa: S608
            " AND host = ? AND project = ? AND model = ? AND agent = ?"
        )
        within = (time * factor, time * factor + factor - 1) if time >= 0 else (-1, -1)
        span = next(fetched(self._connection, query, (*within, *rest.values())))
        self._set_span(longer[0], {longer[1]: time, **rest}, span)

    def _set_span(self, table: str, keys: dict[str, int], span: tuple[int | None, int | None]) -> None:
        """The first and the last moment of a row; no row where there is none."""
        where = " AND ".join(f"{name} = ?" for name in keys)
        if span[0] is None:
            query = f"DELETE FROM {table} WHERE {where} AND requests = 0"  # noqa: S608 - our own tables
            self._connection.execute(query, tuple(keys.values()))
        else:
            query = f"UPDATE {table} SET first = ?, last = ? WHERE {where}"  # noqa: S608 - our own tables
            self._connection.execute(query, (*span, *keys.values()))

    def move(self, owner: int, old: Place, new: Place) -> None:
        """Take a session's sums from one host and project to another."""
        self.write()
        query = f"SELECT quarter, model, agent, {_ALL}, first, last FROM session_spent WHERE owner = ?"  # noqa: S608
        in_all, by_hour, by_day = _Rows(), _Rows(), _Rows()
        for quarter, model, agent, *change, first, last in fetched(self._connection, query, (owner,)):
            taken = [-value for value in change]
            for rows, time in ((in_all, quarter), (by_hour, hour_of(quarter)), (by_day, day_of(quarter))):
                rows.add((time, *new, model, agent), change, first, last)
                rows.add((time, *old, model, agent), taken, NEVER, -1)
        self._connection.executemany(_IN_ALL, in_all.sorted())
        self._connection.executemany(_BY_HOUR, by_hour.sorted())
        self._connection.executemany(_BY_DAY, by_day.sorted())

    def tidy(self, cells: Iterable[tuple[int, int, int]], place: Place) -> None:
        """After a move: the spans of what a session left behind."""
        for quarter, model, agent in cells:
            self._shrink_place(place, quarter, model, agent)
