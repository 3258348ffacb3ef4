"""What the first screen shows, read from the index: days, activity, sessions, what is kept."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import apsw
import msgspec

from retro import __version__
from retro.agents.records import Accounting
from retro.archive.state_log import name_hash
from retro.dashboard import data
from retro.index.database import rows
from retro.ledger import calendar, cube, reports
from retro.ledger.calendar import Zone
from retro.ledger.reports import Amount
from retro.places import safe_name

CHUNK: Final = 1000
"""Sessions in the first load, and in each further file."""

TITLE: Final = 90
"""Characters of a title in the table."""

BUNDLE: Final = 64
"""Sessions that one file of pages may hold: neighbours in the index."""

_decode_accounting = msgspec.msgpack.Decoder(Accounting).decode
_decode_names = msgspec.json.Decoder(list[str]).decode


class Choice(NamedTuple):
    """What the dashboard is to show."""

    zone: Zone
    mode: str = reports.AUTO
    since: int | None = None
    """First local day."""
    project: str | None = None
    strict: bool = False
    """No word that stands in a session: figures alone."""


class Names:
    """Texts that many rows share, each once; rows hold their places."""

    def __init__(self, hidden: str = "") -> None:
        self.texts: list[str] = []
        self._places: dict[str, int] = {}
        self._hidden = hidden

    def place(self, text: str | None) -> int:
        """The place of a text, a new one if need be; -1 for none."""
        if not text:
            return -1
        found = self._places.get(text)
        if found is None:
            found = self._places[text] = len(self.texts)
            self.texts.append(f"{self._hidden} {found + 1}" if self._hidden else text)
        return found


class Row(NamedTuple):
    """A session as the index has it."""

    number: int
    host: str
    session_id: str
    project: str | None
    branch: str | None
    title: str | None
    models: str
    started: str | None
    ended: str | None
    turns: int
    events: int
    commands: int
    edits: int
    errors: int
    given_up: int
    pinned: int
    secrets: int


class Shared(NamedTuple):
    """What the parts of an overview share."""

    hosts: Names
    projects: Names
    models: Names


def shared(choice: Choice) -> Shared:
    """Names that start empty."""
    return Shared(Names(), Names("project" if choice.strict else ""), Names())


# --- days ------------------------------------------------------------------------------------------------------------


def days(connection: apsw.Connection, choice: Choice, names: Shared) -> data.Days:
    """Tokens and money by day, from the ledger's sums."""
    wanted = reports.Wanted(since=_first_quarter(choice), project=choice.project, mode=choice.mode)
    found = data.Days()
    columns = [getattr(found, name) for name in data.Days.__struct_fields__[4:]]
    for (day, host, project), amount in cube.by_place(connection, wanted, choice.zone).items():
        for model, share in amount.models.items():
            found.day.append(-1 if day is None else day)
            found.host.append(names.hosts.place(host))
            found.project.append(names.projects.place(project))
            found.model.append(names.models.place(model))
            for column, value in zip(columns, _figures(share), strict=True):
                column.append(value)
    return found


def _figures(amount: Amount) -> tuple[int, ...]:
    return (
        amount.requests,
        amount.input,
        amount.cache_write_5m,
        amount.cache_write_1h,
        amount.cache_read,
        amount.output,
        amount.reasoning,
        amount.cost,
        amount.unpriced_requests,
        amount.unpriced_tokens,
        amount.lower_bound_requests,
    )


def _first_quarter(choice: Choice) -> int | None:
    return None if choice.since is None else calendar.begin_of(choice.since, choice.zone)


def activity(connection: apsw.Connection, choice: Choice, names: Shared) -> data.Activity:
    """Turns, and what was done in them, by the day on which they began."""
    found = data.Activity()
    sums = "count(*), sum(turn.events), sum(actions), sum(turn.commands), sum(turn.edits), sum(turn.errors)"
    day = _day_of(connection, choice.zone, "coalesce(turn.started, session.started)")
    query = (
        f"SELECT {day} AS day, host, project, {sums} FROM turn JOIN session ON session.id = turn.session"  # noqa: S608
        f"{_where(choice)} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
    )
    columns = [getattr(found, name) for name in data.Activity.__struct_fields__[3:]]
    for number, host, project, *figures in rows(connection, query, _values(choice)):
        if number is None or (choice.since is not None and number < choice.since):
            continue
        found.day.append(number)
        found.host.append(names.hosts.place(host))
        found.project.append(names.projects.place(project))
        for column, value in zip(columns, figures, strict=True):
            column.append(value)
    return found


def _day_of(connection: apsw.Connection, zone: Zone, moment: str) -> str:
    """SQL for the local day of a moment as events have it."""
    query = "SELECT min(started), max(ended) FROM session WHERE started > '1970'"
    first, last = next(rows(connection, query))
    quarter = f"(unixepoch({moment}) / 900)"
    if first is None:
        return f"{quarter} / {calendar.QUARTERS}"
    return calendar.local_day(calendar.segments(zone, _quarter(first), _quarter(last or first)), quarter)


def _quarter(moment: str) -> int:
    return int(datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp()) // 900


def _where(choice: Choice) -> str:
    return " WHERE lower(project) = lower(:project)" if choice.project else ""


def _values(choice: Choice) -> dict[str, object]:
    return {"project": choice.project} if choice.project else {}


# --- sessions --------------------------------------------------------------------------------------------------------


def session_rows(connection: apsw.Connection, choice: Choice) -> list[Row]:
    """Every session, newest first; those without any time at the end."""
    query = (
        "SELECT id, host, session_id, project, branch, title, models, started, ended, turns, events, commands, edits,"  # noqa: S608
        " errors, events_evicted OR EXISTS (SELECT 1 FROM source WHERE session = session.id AND base > 0), pinned,"
        f" secrets FROM session{_where(choice)} ORDER BY ended DESC, host, session_id"
    )
    found = [Row(*row) for row in rows(connection, query, _values(choice))]
    if choice.since is None:
        return found
    first = choice.since
    return [row for row in found if (day := local_day(row.ended, choice.zone)) is not None and day >= first]


def local_day(moment: str | None, zone: Zone) -> int | None:
    """The number of the local day of a moment as events have it."""
    seconds = seconds_of(moment)
    return None if seconds is None else (seconds + zone.offset(seconds)) // 86400


def seconds_of(moment: str | None) -> int | None:
    """Seconds since 1970 of a moment as events have it."""
    if not moment:
        return None
    try:
        return int(datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp())
    except (ValueError, OverflowError):
        return None


class Outcome(NamedTuple):
    """How a session went: chance of success in percent, and what is said of it."""

    chance: int
    verdict: str


UNKNOWN: Final = Outcome(-1, "")


def outcomes(connection: apsw.Connection) -> dict[int, Outcome]:
    """How sessions went, where that was judged, by their number."""
    query = (
        "SELECT session, value, (SELECT value FROM reading AS said WHERE said.session = reading.session"
        " AND said.signal = 'outcome') FROM reading WHERE signal = 'outcome_probability' AND value IS NOT NULL"
    )
    verdicts = {"success": "s", "failure": "f"}
    return {
        number: Outcome(round(chance * 100), verdicts.get(said or "", ""))
        for number, chance, said in rows(connection, query)
    }


def table(
    found: Iterable[Row],
    amounts: dict[tuple[str, str], Amount],
    judged: dict[int, Outcome],
    names: Shared,
    choice: Choice,
) -> data.Sessions:
    """Sessions as the table shows them."""
    shown = data.Sessions()
    for row in found:
        amount = amounts.get((row.host, row.session_id)) or Amount()
        model = max(amount.models, key=lambda name: (amount.models[name].tokens, name), default=None)
        models = _decode_names(row.models.encode())
        file = safe_name(row.session_id)
        priced = amount.requests == 0 or amount.unpriced_requests < amount.requests
        flags = (
            data.UNPRICED * bool(amount.unpriced_requests)
            + data.LOWER_BOUND * bool(amount.lower_bound_requests)
            + data.GIVEN_UP * row.given_up
            + data.PINNED * row.pinned
            + data.SECRETS * bool(row.secrets)
        )
        shown.id.append(shown_id(row.session_id) if choice.strict else row.session_id)
        shown.file.append(None if choice.strict or file == row.session_id else file)
        shown.bundle.append(row.number // BUNDLE)
        shown.host.append(names.hosts.place(row.host))
        shown.project.append(names.projects.place(row.project))
        shown.model.append(names.models.place(model or next(iter(models), None)))
        shown.branch.append(None if choice.strict else row.branch)
        shown.title.append(None if choice.strict else _short(row.title))
        shown.started.append(seconds_of(row.started))
        shown.ended.append(seconds_of(row.ended))
        shown.turns.append(row.turns)
        shown.events.append(row.events)
        shown.commands.append(row.commands)
        shown.edits.append(row.edits)
        shown.errors.append(row.errors)
        shown.cost.append(amount.cost if priced else -1)
        shown.tokens.append(amount.tokens)
        shown.flags.append(flags)
        outcome = judged.get(row.number, UNKNOWN)
        shown.outcome.append(outcome.chance)
        shown.verdict.append(outcome.verdict)
    return shown


def _short(title: str | None) -> str | None:
    return title if title is None or len(title) <= TITLE else title[: TITLE - 1] + "…"


def ended(found: Sequence[Row], judged: dict[int, Outcome], names: Shared, zone: Zone) -> data.Ended:
    """Sessions by the day on which they were last active."""
    cells: dict[tuple[int, int, int], list[int]] = {}
    for row in found:
        day = local_day(row.ended, zone)
        key = (-1 if day is None else day, names.hosts.place(row.host), names.projects.place(row.project))
        cell = cells.setdefault(key, [0, 0, 0])
        verdict = judged.get(row.number, UNKNOWN).verdict
        cell[0] += 1
        cell[1] += verdict == "s"
        cell[2] += verdict == "f"
    table = data.Ended()
    for (day, host, project), (sessions, success, failure) in sorted(cells.items()):
        for column, value in zip(
            (getattr(table, name) for name in data.Ended.__struct_fields__),
            (day, host, project, sessions, success, failure),
            strict=True,
        ):
            column.append(value)
    return table


def chunks(found: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Sessions in the portions in which they are loaded."""
    for start in range(0, max(len(found), 1), CHUNK):
        yield found[start : start + CHUNK]


# --- what is kept ----------------------------------------------------------------------------------------------------


def kept(connection: apsw.Connection) -> list[data.HostKept]:
    """What is kept of each host, and what of it could not be read."""
    query = (
        "SELECT host, count(*), sum(turns), sum(source_bytes), sum(raw_bytes + normalized_bytes), max(captured)"
        " FROM session GROUP BY host ORDER BY 2 DESC, host"
    )
    found = [
        data.HostKept(host, sessions, turns, source, archive, 0, 0, 0, 0, captured)
        for host, sessions, turns, source, archive, captured in rows(connection, query)
    ]
    by_host = {one.host: one for one in found}
    query = (
        "SELECT host, accounting FROM source JOIN session ON session.id = source.session"
        " WHERE current = 1 AND kind = 'transcript'"
    )
    for host, blob in rows(connection, query):
        accounting = _decode_accounting(blob)
        one = by_host[host]
        for records, size in accounting.unknown.values():
            one.unknown_records += records
            one.unknown_bytes += size
        for records, size in accounting.malformed.values():
            one.malformed_records += records
            one.malformed_bytes += size
    return found


def now(choice: Choice) -> dict[str, Any]:
    """When and for which days an overview is made."""
    moment = time.time()
    return {
        "version": data.DATA_VERSION,
        "retro": __version__,
        "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment)),
        "timezone": choice.zone.name,
        "offset": choice.zone.offset(int(moment)),
        "mode": choice.mode,
        "today": calendar.today(choice.zone, moment),
        "strict": choice.strict,
    }


def file_name(session_id: str, choice: Choice) -> str:
    """How a session's files are called, within the folder of its host."""
    return shown_id(session_id) if choice.strict else safe_name(session_id)


def shown_id(session_id: str) -> str:
    """A stand-in for a session's id where no word of it may be shown."""
    return name_hash("", session_id)[:12]
