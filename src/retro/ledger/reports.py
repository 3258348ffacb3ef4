"""What was spent, in what period, on what: read from the sums alone, never from single requests."""

from __future__ import annotations

import apsw

from retro.failure import WRONG_USAGE, Failure
from retro.ledger import calendar
from retro.ledger.amounts import Amount as Amount
from retro.ledger.amounts import merge as merge
from retro.ledger.amounts import plus
from retro.ledger.amounts import total as total
from retro.ledger.calendar import PER_HOUR, QUARTERS

TYPE_CHECKING = False  # as in places
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any, Final

    from retro.ledger.amounts import Row
    from retro.ledger.calendar import Zone

    Day = tuple[int | None, str]
    """The number of a local day, None for requests without a time, and a project, empty where none was asked for."""

AUTO: Final = "auto"
CALCULATE: Final = "calculate"
DISPLAY: Final = "display"
MODES: Final = (AUTO, CALCULATE, DISPLAY)
"""What the host wrote, else what the tables give; only the tables; only what the host wrote."""

_COSTS: Final = {AUTO: "cost", CALCULATE: "calculated", DISPLAY: "embedded"}
_WITHOUT: Final = {
    AUTO: ("unpriced_requests", "unpriced_tokens"),
    CALCULATE: ("uncalculated_requests", "uncalculated_tokens"),
    DISPLAY: ("requests - embedded_requests", "0"),
}


class Wanted:
    """Which requests are asked for. Quarter-hours in UTC, the last one excluded."""

    __slots__ = ("host", "mode", "own_only", "project", "since", "until")

    def __init__(
        self,
        since: int | None = None,
        until: int | None = None,
        project: str | None = None,
        host: str | None = None,
        own_only: bool = False,
        mode: str = AUTO,
    ) -> None:
        self.since, self.until = since, until
        self.project, self.host = project, host
        self.own_only = own_only
        """Without what sub-agents did."""
        self.mode = mode

    def __repr__(self) -> str:
        return f"Wanted({self.since}, {self.until}, {self.project!r}, {self.host!r}, {self.own_only}, {self.mode!r})"

    def between(self, since: int | None, until: int | None) -> Wanted:
        """The same of another time."""
        return Wanted(since, until, self.project, self.host, self.own_only, self.mode)


def mode_of(given: str | None, env: Mapping[str, str]) -> str:
    """How costs are taken: as the option says, else `RETRO_COST_MODE`."""
    mode = given or env.get("RETRO_COST_MODE") or AUTO
    if mode not in MODES:
        hint = f"one of {', '.join(MODES)}"
        raise Failure("usage", f'RETRO_COST_MODE is "{mode}", which is no mode', hint, WRONG_USAGE)
    return mode


def columns(mode: str, *, added: bool = True) -> str:
    """SQL for a row of an amount: added up, or as it stands."""
    requests, tokens = _WITHOUT[mode]
    names = (
        "requests",
        "input_tokens",
        "cache_write_5m_tokens",
        "cache_write_1h_tokens",
        "cache_read_tokens",
        "output_tokens",
        "reasoning_tokens",
        "web_searches",
        _COSTS[mode],
        "embedded_requests",
        requests,
        tokens,
        "lower_bound_requests",
        "fallback_requests",
    )
    if not added:
        return ", ".join([*names, "first", "last"])
    return ", ".join([f"sum({name})" for name in names]) + ", min(first), max(last)"


TABLES: Final = {"quarter": ("spent", 1), "hour": ("spent_hour", PER_HOUR), "day": ("spent_day", QUARTERS)}
"""The sums by time: the table of each unit, and how many quarter-hours it has."""


def conditions(wanted: Wanted, *more: str, unit: str = "quarter") -> tuple[str, list[object]]:
    """SQL for which rows of the sums are asked for, in the table of a unit, and its values."""
    parts = list(more)
    values: list[object] = []
    length = TABLES[unit][1]
    if wanted.since is not None:
        parts.append(f"{unit} >= ?")
        values.append(wanted.since // length)
    if wanted.until is not None:
        parts.append(f"{unit} < ?")
        values.append(wanted.until // length)
        if wanted.since is None:
            parts.append(f"{unit} >= 0")
    if wanted.host is not None:
        parts.append("host = (SELECT id FROM label WHERE text = ?)")
        values.append(wanted.host)
    if wanted.project is not None:
        parts.append("project IN (SELECT id FROM label WHERE lower(text) = ?)")
        values.append(wanted.project.rpartition("/")[2].lower())
    if wanted.own_only:
        parts.append("agent = 0")
    return (f" WHERE {' AND '.join(parts)}" if parts else ""), values


def coarsest(wanted: Wanted) -> str:
    """The longest unit with which what is asked for begins and ends."""
    ends = (wanted.since or 0, wanted.until or 0)
    return next(unit for unit in ("day", "hour", "quarter") if all(end % TABLES[unit][1] == 0 for end in ends))


def rows(connection: apsw.Connection, query: str, values: Iterable[object] = ()) -> Iterator[Any]:
    """The rows that a query gives."""
    return iter(connection.execute(query, tuple(values)))


class Labels(dict[int, str]):
    """The texts that stand in columns of the sums by number, looked up when first asked for."""

    def __init__(self, connection: apsw.Connection) -> None:
        super().__init__({0: ""})
        self._connection = connection

    def __missing__(self, number: int) -> str:
        found = next(rows(self._connection, "SELECT text FROM label WHERE id = ?", (number,)), ("",))
        self[number] = str(found[0])
        return self[number]


class Found:
    """Amounts by what names them, put together from rows."""

    def __init__(self) -> None:
        self._shares: dict[Any, dict[str, Row]] = {}

    def add(self, name: object, model: str, row: Row) -> None:
        """Add a row of a model."""
        shares = self._shares.get(name)
        if shares is None:
            self._shares[name] = {model: row}
        else:
            known = shares.get(model)
            shares[model] = row if known is None else plus(known, row)

    def take(self, name: object, model: str, row: Row) -> None:
        """Take away what a row says, but for its first and last moment."""
        self.add(name, model, [*[-value for value in row[:-2]], -1, -1])

    def amounts(self) -> dict[Any, Amount]:
        """What there is of each; what was taken away from leaves nothing."""
        found = {}
        for name, shares in self._shares.items():
            left = {model: row for model, row in shares.items() if row[0]}
            if left:
                found[name] = Amount.of(left)
        return found


# --- by time ---------------------------------------------------------------------------------------------------------


def days(
    connection: apsw.Connection,
    wanted: Wanted,
    where: Zone,
    *,
    by_project: bool = False,
    period: Callable[[str], str] = str,
) -> dict[Day, Amount]:
    """What was spent by local day, and by project if asked for.

    With a `period` by the first day of longer ones, which it gives in SQL for a column with the numbers of days.
    """
    query = "SELECT (SELECT min(quarter) FROM spent WHERE quarter >= 0), (SELECT max(quarter) FROM spent)"
    first, last = next(rows(connection, query))
    parts = calendar.segments(where, first, last) if first is not None else [(0, 0)]
    found, labels = Found(), Labels(connection)
    project = "project" if by_project else "0"
    for within, unit in pieces(wanted):
        here = "day" if unit == "day" else f"({calendar.local_day(parts, unit)})"
        condition, values = conditions(within, unit=unit)
        query = (
            f"SELECT iif({unit} < 0, NULL, {period(here)}), {project}, model, {columns(wanted.mode)}"  # noqa: S608 - ours
            f" FROM {TABLES[unit][0]}{condition} GROUP BY 1, 2, 3"
        )
        for row in rows(connection, query, values):
            found.add((row[0], labels[row[1]]), labels[row[2]], row[3:])
        if unit == "day":
            for row in _moved(connection, within, parts, project, period):
                name, model = labels[row[2]], labels[row[3]]
                found.add((row[0], name), model, row[4:])
                found.take((row[1], name), model, row[4:])
    amounts: dict[Day, Amount] = found.amounts()
    return amounts


def pieces(wanted: Wanted) -> list[tuple[Wanted, str]]:
    """What is asked for, cut into whole days of UTC and what is before and behind them, each with its unit."""
    if wanted.since is None and wanted.until is None:
        return [(wanted, "day")]
    since = wanted.since if wanted.since is not None else 0
    begin = -(-since // QUARTERS) * QUARTERS
    end = wanted.until // QUARTERS * QUARTERS if wanted.until is not None else None
    if end is not None and begin >= end:
        return [(wanted.between(since, wanted.until), "quarter")]
    found = [(wanted.between(begin, end), "day")]
    if since < begin:
        found.append((wanted.between(since, begin), "quarter"))
    if end is not None and wanted.until != end:
        found.append((wanted.between(end, wanted.until), "quarter"))
    return found


def _moved(
    connection: apsw.Connection,
    wanted: Wanted,
    parts: list[tuple[int, int]],
    project: str,
    period: Callable[[str], str],
) -> Iterator[Any]:
    """What of whole UTC days is of another local day or period: that one, the UTC day's, project, model and a row.

    An hour lies in one local day, but for those in which there is a midnight: of these quarter-hours are read.
    """
    if all(ahead == 0 for _, ahead in parts):
        return
    first, last = (calendar.local_day(parts, f"(hour * {PER_HOUR} + {more})") for more in (0, PER_HOUR - 1))
    split = "" if calendar.keeps_hours(parts) else f"{first} = {last}"
    utc = period("(hour / 24)")
    other = f"{period(f'({first})')} <> {utc}"
    condition, values = conditions(wanted, "hour >= 0", other, *filter(None, [split]), unit="hour")
    query = (
        f"SELECT {period(f'({first})')}, {utc}, {project}, model, {columns(wanted.mode)}"  # noqa: S608 - our own columns
        f" FROM spent_hour{condition} GROUP BY 1, 2, 3, 4"
    )
    yield from rows(connection, query, values)
    if not split:
        return
    here, utc = period(f"({calendar.local_day(parts, 'quarter')})"), period(f"(quarter / {QUARTERS})")
    condition, values = conditions(wanted, f"{here} <> {utc}")
    query = (
        f"SELECT {here}, {utc}, {project}, model, {columns(wanted.mode)}"  # noqa: S608 - our own columns
        f" FROM (SELECT DISTINCT hour FROM spent_hour WHERE hour >= 0 AND {first} <> {last}) CROSS JOIN spent"
        f" ON quarter BETWEEN hour * {PER_HOUR} AND hour * {PER_HOUR} + {PER_HOUR - 1}{condition} GROUP BY 1, 2, 3, 4"
    )
    yield from rows(connection, query, values)


def spent_between(connection: apsw.Connection, wanted: Wanted) -> Amount:
    """What was spent in all."""
    return _by(connection, wanted, "0").get("", Amount())


def projects(connection: apsw.Connection, wanted: Wanted) -> dict[str, Amount]:
    """What was spent on each project."""
    return _by(connection, wanted, "project")


def _by(connection: apsw.Connection, wanted: Wanted, column: str) -> dict[str, Amount]:
    unit = coarsest(wanted)
    condition, values = conditions(wanted, unit=unit)
    table = TABLES[unit][0]
    query = f"SELECT {column}, model, {columns(wanted.mode)} FROM {table}{condition} GROUP BY 1, 2"  # noqa: S608
    labels = Labels(connection)
    found = Found()
    for row in rows(connection, query, values):
        found.add(labels[row[0]], labels[row[1]], row[2:])
    amounts: dict[str, Amount] = found.amounts()
    return amounts


# --- by session ------------------------------------------------------------------------------------------------------


class SessionAmount:
    """A session, and what it took; with what its sub-agents' sessions took."""

    __slots__ = ("agents", "amount", "host", "project", "session_id", "title")

    def __init__(self, host: str, session_id: str, project: str, title: str | None, amount: Amount, agents: int):
        self.host, self.session_id = host, session_id
        self.project, self.title = project, title
        self.amount = amount
        self.agents = agents
        """Sessions of sub-agents that are counted in."""


def sessions(connection: apsw.Connection, wanted: Wanted, session: str | None = None) -> list[SessionAmount]:
    """What each session took, those that were used last at the end."""
    query, values = by_session(wanted, session)
    labels = Labels(connection)
    took = Found()
    for row in rows(connection, query, values):
        took.add(row[0], labels[row[1]], row[2:])
    amounts: dict[int, Amount] = took.amounts()
    above = {} if wanted.own_only else heads(connection)
    rolled: dict[int, Amount] = {}
    agents: dict[int, int] = {}
    for owner, amount in amounts.items():
        head = above.get(owner, owner)
        if head == owner:
            rolled.setdefault(owner, amount)
            continue
        if head not in rolled:
            rolled[head] = amounts.get(head) or Amount()
        merge(rolled[head], amount)
        agents[head] = agents.get(head, 0) + 1
    facts = described(connection, rolled)
    found = [SessionAmount(*facts[owner], amount, agents.get(owner, 0)) for owner, amount in rolled.items()]
    return sorted(found, key=lambda one: (one.amount.last, one.host, one.session_id))


def by_session(wanted: Wanted, session: str | None = None) -> tuple[str, list[object]]:
    """SQL for what each session took of each model, in the order of sessions, and its values."""
    condition, values = _session_where(wanted, session)
    if wanted.since is None and wanted.until is None:
        return f"SELECT owner, model, {columns(wanted.mode, added=False)} FROM session_total{condition}", values  # noqa: S608
    return f"SELECT owner, model, {columns(wanted.mode)} FROM session_spent{condition} GROUP BY 1, 2", values  # noqa: S608


def _session_where(wanted: Wanted, session: str | None) -> tuple[str, list[object]]:
    conditions: list[str] = []
    values: list[object] = []
    if wanted.since is not None:
        conditions.append("quarter >= ?")
        values.append(wanted.since)
    if wanted.until is not None:
        conditions.append("quarter < ?")
        values.append(wanted.until)
        if wanted.since is None:
            conditions.append("quarter >= 0")
    if wanted.own_only:
        conditions.append("owner NOT IN (SELECT id FROM owner WHERE subagent = 1)")
    if wanted.since is None and wanted.until is None:
        conditions.append(f"whole = {int(not wanted.own_only)}")
    elif wanted.own_only:
        conditions.append("agent = 0")
    owners: list[str] = []
    if wanted.host is not None:
        owners.append("host = ?")
        values.append(wanted.host)
    if wanted.project is not None:
        owners.append("lower(project) = ?")
        values.append(wanted.project.rpartition("/")[2].lower())
    if session is not None:
        owners.append("(session_id = ? OR subagent = 1)")
        values.append(session)
    if owners:
        conditions.append(f"owner IN (SELECT id FROM owner WHERE {' AND '.join(owners)})")  # noqa: S608 - our own text
    return (f" WHERE {' AND '.join(conditions)}" if conditions else ""), values


def heads(connection: apsw.Connection) -> dict[int, int]:
    """For each session of a sub-agent the one that it worked for in the end, where that is known."""
    query = (
        "SELECT child.id, parent.id FROM owner AS child JOIN owner AS parent"
        " ON parent.host = child.host AND parent.session_id = child.parent WHERE child.subagent = 1"
    )
    parents: dict[int, int] = dict(rows(connection, query))
    found: dict[int, int] = {}
    for child in parents:
        head, seen = child, {child}
        while (above := parents.get(head)) is not None and above not in seen:
            seen.add(above)
            head = above
        found[child] = head
    return found


def described(connection: apsw.Connection, owners: Iterable[int]) -> dict[int, tuple[str, str, str, str | None]]:
    """Host, id, project and title of sessions by their numbers."""
    wanted = set(owners)
    query = (
        "SELECT owner.id, owner.host, owner.session_id, owner.project, session.title FROM owner"
        " LEFT JOIN session ON session.host = owner.host AND session.session_id = owner.session_id"
    )
    return {
        number: (host, session_id, project, title)
        for number, host, session_id, project, title in rows(connection, query)
        if number in wanted
    }
