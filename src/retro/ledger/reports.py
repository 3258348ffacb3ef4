"""What was spent, in what period, on what: read from the sums alone, never from single requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import apsw

from retro.ledger import calendar
from retro.ledger.calendar import PER_HOUR, QUARTERS, Zone
from retro.ledger.columns import SUMS

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


class Wanted(NamedTuple):
    """Which requests are asked for. Quarter-hours in UTC, the last one excluded."""

    since: int | None = None
    until: int | None = None
    project: str | None = None
    host: str | None = None
    own_only: bool = False
    """Without what sub-agents did."""
    mode: str = AUTO


_NOTHING: Final = (*[0] * 14, -1, -1)
_UNPRICED: Final = 10
"""The place of `unpriced_requests` among the columns."""


class Amount:
    """Tokens and money of some requests together."""

    __slots__ = (
        "cache_read",
        "cache_write_1h",
        "cache_write_5m",
        "cost",
        "embedded_requests",
        "fallback_requests",
        "first",
        "input",
        "last",
        "lower_bound_requests",
        "models",
        "output",
        "reasoning",
        "requests",
        "unpriced_models",
        "unpriced_requests",
        "unpriced_tokens",
        "web_searches",
    )

    def __init__(self, row: Sequence[int] = _NOTHING, model: str | None = None) -> None:
        (
            self.requests,
            self.input,
            self.cache_write_5m,
            self.cache_write_1h,
            self.cache_read,
            self.output,
            self.reasoning,
            self.web_searches,
            self.cost,
            self.embedded_requests,
            self.unpriced_requests,
            self.unpriced_tokens,
            self.lower_bound_requests,
            self.fallback_requests,
            self.first,
            self.last,
        ) = row
        self.models: dict[str, Amount] = {} if model is None else {model: Amount(row)}
        self.unpriced_models: set[str] = {model} if model is not None and row[_UNPRICED] else set()

    @property
    def tokens(self) -> int:
        """All tokens; reasoning is a part of output."""
        return self.input + self.cache_write_5m + self.cache_write_1h + self.cache_read + self.output

    @property
    def origin(self) -> str:
        """Where the money comes from: `embedded`, `calculated`, `mixed` or `unpriced`."""
        if self.requests and self.unpriced_requests == self.requests:
            return "unpriced"
        if self.embedded_requests == 0:
            return "calculated"
        return "embedded" if self.embedded_requests == self.requests else "mixed"

    def add(self, row: Sequence[int], model: str | None = None) -> None:
        """Add a row in the order of `columns`, and to the share of its model."""
        if model is not None:
            if row[_UNPRICED]:
                self.unpriced_models.add(model)
            share = self.models.get(model)
            if share is None:
                self.models[model] = Amount(row)
            else:
                share.add(row)
        requests, given, short, long, read, put, thought, searches, cost, embedded, *rest = row
        self.requests += requests
        self.input += given
        self.cache_write_5m += short
        self.cache_write_1h += long
        self.cache_read += read
        self.output += put
        self.reasoning += thought
        self.web_searches += searches
        self.cost += cost
        self.embedded_requests += embedded
        unpriced_requests, unpriced_tokens, lower_bounds, fallbacks, first, last = rest
        self.unpriced_requests += unpriced_requests
        self.unpriced_tokens += unpriced_tokens
        self.lower_bound_requests += lower_bounds
        self.fallback_requests += fallbacks
        if first >= 0 and (self.first < 0 or first < self.first):
            self.first = first
        if last > self.last:
            self.last = last


def columns(mode: str) -> str:
    """SQL for what `Amount.add` takes."""
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
    return ", ".join(f"sum({name})" for name in names) + ", min(first), max(last)"


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


# --- by time ---------------------------------------------------------------------------------------------------------

Day = tuple[int | None, str]
"""The number of a local day, None for requests without a time, and a project, empty where none was asked for."""
LOCAL_DAY: Final = "local"
"""The column of `days` that has its number."""


def days(
    connection: apsw.Connection, wanted: Wanted, where: Zone, *, by_project: bool = False, period: str = LOCAL_DAY
) -> dict[Day, Amount]:
    """What was spent by local day, and by project if asked for; or by the first day of longer periods, told in SQL."""
    query = "SELECT (SELECT min(quarter) FROM spent WHERE quarter >= 0), (SELECT max(quarter) FROM spent)"
    first, last = next(rows(connection, query))
    parts = calendar.segments(where, first, last) if first is not None else [(0, 0)]
    unit = coarsest(wanted) if calendar.keeps_hours(parts) else "quarter"
    table, values = (_by_day if unit == "day" else _by_time)(wanted, parts, unit)
    project = "project" if by_project else "0"
    query = f"SELECT {period}, {project}, model, {columns(wanted.mode)} {table} GROUP BY 1, 2, 3"
    labels = Labels(connection)
    found: dict[Day, Amount] = {}
    for number, project, model, *row in rows(connection, query, values):
        if row[0]:  # what was moved to another day leaves nothing
            put(found, (number, labels[project]), row, labels[model])
    return found


def _by_time(wanted: Wanted, parts: list[tuple[int, int]], unit: str) -> tuple[str, list[object]]:
    """SQL for the sums of a unit with their local day."""
    condition, values = conditions(wanted, unit=unit)
    name, length = TABLES[unit]
    local = f"CASE WHEN {unit} < 0 THEN NULL ELSE {calendar.local_day(parts, unit, length)} END AS local"
    return f"FROM (SELECT {local}, * FROM {name}{condition})", values  # noqa: S608 - our own columns


def _by_day(wanted: Wanted, parts: list[tuple[int, int]], unit: str) -> tuple[str, list[object]]:
    """The same for UTC days; hours that are of another day there are taken from the one and given to the other."""
    condition, values = conditions(wanted, unit=unit)
    names = f"project, model, {', '.join(SUMS)}, first, last"
    whole = f"SELECT CASE WHEN day < 0 THEN NULL ELSE day END AS local, {names} FROM spent_day{condition}"  # noqa: S608
    if parts == [(parts[0][0], 0)]:
        return f"FROM ({whole})", values
    local = calendar.local_day(parts, "hour", PER_HOUR)
    condition, more = conditions(wanted, "hour >= 0", f"{local} <> hour / 24", unit="hour")
    moved = f"SELECT {local} AS local, hour / 24 AS day, {names} FROM spent_hour{condition}"  # noqa: S608
    less = f"project, model, {', '.join(f'-{name}' for name in SUMS)}, first, last"
    table = (
        f"FROM (WITH moved AS MATERIALIZED ({moved}) {whole}"  # noqa: S608 - our own columns
        f" UNION ALL SELECT local, {names} FROM moved UNION ALL SELECT day, {less} FROM moved)"
    )
    return table, [*more, *values]


def grouped(amounts: dict[Day, Amount], name: Callable[[int | None, str], object]) -> dict[Any, Amount]:
    """Days put together by what a function gives for each; in the order of days. The amounts are used up."""
    found: dict[Any, Amount] = {}
    for day, project in sorted(amounts, key=lambda key: (key[0] is None, key[0] or 0, key[1])):
        key, amount = name(day, project), amounts[day, project]
        if key in found:
            merge(found[key], amount)
        else:
            found[key] = amount
    return found


def put(found: dict[Any, Amount], name: object, row: Sequence[int], model: str) -> None:
    """Add a row in the order of `columns` to the amount that has a name."""
    amount = found.get(name)
    if amount is None:
        found[name] = Amount(row, model)
    else:
        amount.add(row, model)


def merge(total: Amount, part: Amount) -> None:
    """Add one amount, and the shares of its models, to another."""
    for model, share in part.models.items():
        total.add(_row(share), model)


def _row(amount: Amount) -> list[int]:
    return [
        amount.requests,
        amount.input,
        amount.cache_write_5m,
        amount.cache_write_1h,
        amount.cache_read,
        amount.output,
        amount.reasoning,
        amount.web_searches,
        amount.cost,
        amount.embedded_requests,
        amount.unpriced_requests,
        amount.unpriced_tokens,
        amount.lower_bound_requests,
        amount.fallback_requests,
        amount.first,
        amount.last,
    ]


def total(amounts: Iterable[Amount]) -> Amount:
    """Amounts together, without the shares of their models."""
    found = Amount()
    for amount in amounts:
        found.add(_row(amount))
        found.unpriced_models |= amount.unpriced_models
    return found


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
    found: dict[str, Amount] = {}
    for number, model, *row in rows(connection, query, values):
        put(found, labels[number], row, labels[model])
    return found


# --- by session ------------------------------------------------------------------------------------------------------


class SessionAmount(NamedTuple):
    """A session, and what it took; with what its sub-agents' sessions took."""

    host: str
    session_id: str
    project: str
    title: str | None
    amount: Amount
    agents: int
    """Sessions of sub-agents that are counted in."""


def sessions(connection: apsw.Connection, wanted: Wanted, session: str | None = None) -> list[SessionAmount]:
    """What each session took, those that were used last at the end."""
    condition, values = _session_where(wanted, session)
    table = "session_total" if wanted.since is None and wanted.until is None else "session_spent"
    query = f"SELECT owner, model, {columns(wanted.mode)} FROM {table}{condition} GROUP BY 1, 2"  # noqa: S608
    labels = Labels(connection)
    amounts: dict[int, Amount] = {}
    for owner, model, *row in rows(connection, query, values):
        put(amounts, owner, row, labels[model])
    heads = {} if wanted.own_only else _heads(connection)
    rolled: dict[int, Amount] = {}
    agents: dict[int, int] = {}
    for owner, amount in amounts.items():
        head = heads.get(owner, owner)
        if head == owner:
            rolled.setdefault(owner, amount)
            continue
        if head not in rolled:
            rolled[head] = amounts.get(head) or Amount()
        merge(rolled[head], amount)
        agents[head] = agents.get(head, 0) + 1
    described = _described(connection, rolled)
    found = [SessionAmount(*described[owner], amount, agents.get(owner, 0)) for owner, amount in rolled.items()]
    return sorted(found, key=lambda one: (one.amount.last, one.host, one.session_id))


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
        conditions.append("agent = 0 AND owner NOT IN (SELECT id FROM owner WHERE subagent = 1)")
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


def _heads(connection: apsw.Connection) -> dict[int, int]:
    """For each session of a sub-agent the one that it worked for in the end, where that is known."""
    query = (
        "SELECT child.id, parent.id FROM owner AS child JOIN owner AS parent"
        " ON parent.host = child.host AND parent.session_id = child.parent WHERE child.subagent = 1"
    )
    parents: dict[int, int] = dict(rows(connection, query))
    heads: dict[int, int] = {}
    for child in parents:
        head, seen = child, {child}
        while (above := parents.get(head)) is not None and above not in seen:
            seen.add(above)
            head = above
        heads[child] = head
    return heads


def _described(connection: apsw.Connection, owners: Iterable[int]) -> dict[int, tuple[str, str, str, str | None]]:
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
