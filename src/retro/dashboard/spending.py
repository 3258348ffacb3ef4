"""What each day's money went to: by hour, session and model; a file a month, read when a day is looked at."""

from __future__ import annotations

from typing import Final

import apsw
import msgspec

from retro.dashboard.overview import Choice, Row, shown_id
from retro.index.database import rows
from retro.ledger import calendar
from retro.ledger.reports import Labels, columns

HOURS: Final = 24
FOLDER: Final = "days"


class Spender(msgspec.Struct, array_like=True):
    """A session of a month."""

    host: str
    id: str
    title: str | None
    project: str | None


class Month(msgspec.Struct):
    """The requests of a month by local day, hour, session and model: one value a row in every list."""

    sessions: list[Spender] = []
    models: list[str] = []
    day: list[int] = []
    hour: list[int] = []
    session: list[int] = []
    """Place in `sessions`."""
    model: list[int] = []
    requests: list[int] = []
    input: list[int] = []
    cache_write: list[int] = []
    cache_read: list[int] = []
    output: list[int] = []
    cost: list[int] = []
    """Microdollars."""
    unpriced_requests: list[int] = []
    lower_bound_requests: list[int] = []


def months(connection: apsw.Connection, choice: Choice, found: list[Row]) -> dict[str, msgspec.Struct]:
    """A file for each month in which there were requests, by name."""
    known = {(row.host, row.session_id): row for row in found}
    labels = Labels(connection)
    made: dict[str, _Maker] = {}
    names: dict[int, str] = {}
    for owner, hour, host, session_id, model, *figures in rows(connection, _query(connection, choice)):
        row = known.get((host, session_id))
        day = hour // HOURS
        if row is None or (choice.since is not None and day < choice.since):
            continue
        name = names.get(day)
        if name is None:
            name = names[day] = calendar.day_name(day)[:7]
        maker = made.get(name)
        if maker is None:
            maker = made[name] = _Maker(choice)
        maker.add(owner, row, day, hour % HOURS, labels[model], figures)
    return {f"{FOLDER}/{name}": maker.month for name, maker in sorted(made.items())}


def _query(connection: apsw.Connection, choice: Choice) -> str:
    """SQL for the sums by session and local hour."""
    first, last = next(rows(connection, "SELECT min(quarter), max(quarter) FROM session_spent WHERE quarter >= 0"))
    parts = calendar.segments(choice.zone, first, last) if first is not None else [(0, 0)]
    hour = f"{calendar.local(parts, 'quarter')} / 4"
    return (
        f"SELECT owner, {hour} AS hour, host, session_id, model, {columns(choice.mode)} FROM session_spent"  # noqa: S608
        " JOIN owner ON owner.id = owner WHERE quarter >= 0 GROUP BY 1, 2, model ORDER BY 2, 1, model"
    )


class _Maker:
    """A month in the making."""

    def __init__(self, choice: Choice) -> None:
        self.month = Month()
        self._strict = choice.strict
        self._sessions: dict[int, int] = {}
        self._models: dict[str, int] = {}

    def add(self, owner: int, row: Row, day: int, hour: int, model: str, figures: list[int]) -> None:
        month = self.month
        place = self._sessions.get(owner)
        if place is None:
            place = self._sessions[owner] = len(month.sessions)
            month.sessions.append(self._spender(row))
        if model not in self._models:
            self._models[model] = len(month.models)
            month.models.append(model)
        requests, given, short, long, read, put, _, _, cost, _, unpriced, _, lower, *_ = figures
        month.day.append(day)
        month.hour.append(hour)
        month.session.append(place)
        month.model.append(self._models[model])
        month.requests.append(requests)
        month.input.append(given)
        month.cache_write.append(short + long)
        month.cache_read.append(read)
        month.output.append(put)
        month.cost.append(cost)
        month.unpriced_requests.append(unpriced)
        month.lower_bound_requests.append(lower)

    def _spender(self, row: Row) -> Spender:
        if self._strict:
            return Spender(row.host, shown_id(row.session_id), None, None)
        title = row.title[:120] if row.title else None
        return Spender(row.host, row.session_id, title, row.project)
