"""Readings in the index: what signals say of each session; with the files that are written from them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

import apsw
import msgspec

from retro.event import Reading, Value
from retro.index.aggregates import Aggregates, miscounted, recount, spreads
from retro.index.database import rows
from retro.places import make_private_dir, write_private
from retro.signals import log, summary
from retro.signals.base import SIGNALS, Signal, Spent
from retro.signals.context import bare_context
from retro.signals.running import evaluate, in_sweep, known
from retro.signals.statistics import Spread

LOG: Final = "readings.jsonl"
AGGREGATES: Final = "aggregates.json"
SUMMARY: Final = "summary.md"
SETTING: Final = "readings"
SPARE: Final = 1000
"""Readings that the log may hold beside twice as many as there are, before it is written anew."""

_json = msgspec.json.Encoder().encode
_events = msgspec.json.Decoder(list[str]).decode
_COLUMNS: Final = "signal, value, unit, confidence, method, evidence, reason"
_PUT: Final = f"INSERT OR REPLACE INTO reading (session, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
_SPENT: Final = (
    "SELECT sum(requests), sum(input_tokens), sum(cache_write_5m_tokens + cache_write_1h_tokens),"
    " sum(cache_read_tokens), sum(output_tokens), sum(reasoning_tokens), sum(cost), sum(unpriced_requests),"
    " sum(lower_bound_requests) FROM session_spent JOIN owner ON owner.id = owner WHERE host = ? AND session_id = ?"
)

_OUTDATE: Final = "UPDATE session SET digest_events = NULL WHERE id = ? AND digest_events IS NOT NULL"

_NAMES: Final = "SELECT id, host, session_id FROM session"

Row = tuple[str, Any, str, float, str, str, str | None]
Name = tuple[str, str]
"""Host and id of a session."""


class State(msgspec.Struct):
    """What is committed of the files."""

    length: int = 0
    logged: int = 0
    """Readings in the log, outdated ones too."""
    changes: int = 0
    """Commits that changed a reading."""
    written: int = 0
    """How many of them the aggregates and the summary on the disk know."""
    summary: str = ""
    """Hash of the summary that was written."""


# --- looking ---------------------------------------------------------------------------------------------------------


def readings_of(connection: apsw.Connection, number: int) -> list[Reading]:
    """What is known of one session, in the order of the signals."""
    known()
    query = f"SELECT {_COLUMNS} FROM reading WHERE session = ?"  # noqa: S608 - our own columns
    found = [_reading(row) for row in rows(connection, query, (number,))]
    order = {name: at for at, name in enumerate(SIGNALS)}
    return sorted(found, key=lambda one: (order.get(one.signal, len(order)), one.signal))


def values_of(connection: apsw.Connection, number: int) -> dict[str, tuple[Value | None, float]]:
    """The values of one session's readings, by the signals' names in order, each with how sure it is."""
    known()
    query = "SELECT signal, value, confidence FROM reading WHERE session = ? ORDER BY signal"
    found = rows(connection, query, (number,))
    return {name: (value if value is None else _typed(name, value), sure) for name, value, sure in found}


def spent_of(connection: apsw.Connection, host: str, session_id: str) -> Spent | None:
    """What the ledger counts for a session; None where it knows no request of it."""
    row = next(rows(connection, _SPENT, (host, session_id)))
    return Spent(*row) if row[0] else None


def state_of(connection: apsw.Connection) -> State:
    """What is committed of the files."""
    row = next(rows(connection, "SELECT value FROM setting WHERE name = ?", (SETTING,)), None)
    return msgspec.json.decode(row[0], type=State) if row else State()


def logged(connection: apsw.Connection) -> Iterator[log.Line]:
    """Every reading, as the log has it when it is written anew."""
    for number, host, session_id, at in rows(connection, "SELECT id, host, session_id, captured FROM session"):
        if found := readings_of(connection, number):
            yield log.Line(log.SCHEMA, host, session_id, at, found)


def flaw(connection: apsw.Connection, folder: str) -> tuple[str, str] | None:
    """A file of the folder that does not say what the index says, and in which way; None where all do."""
    state = state_of(connection)
    if not state.changes:
        return None
    path = os.path.join(folder, LOG)
    if log.size_of(path) < state.length:
        return path, "is missing" if not os.path.exists(path) else "is shorter than what was committed of it"
    told: dict[Name, dict[str, Reading]] = {}
    for line in log.read(path):
        told.setdefault((line.host, line.session_id), {}).update({one.signal: one for one in line.readings})
    for number, *name in list(rows(connection, _NAMES)):
        said = told.get((name[0], name[1]), {})
        if any(said.get(one.signal) != one for one in readings_of(connection, number)):
            return path, f"does not say what the index says of {name[0]} {name[1]}"
    if wrong := miscounted(connection):
        return os.path.join(folder, AGGREGATES), f"is counted wrongly: {', '.join(wrong[:3])}"
    for name in (AGGREGATES, SUMMARY):
        path = os.path.join(folder, name)
        try:
            with open(path, "rb") as file:
                content = file.read()
        except OSError as error:
            return path, "is missing" if isinstance(error, FileNotFoundError) else error.strerror or str(error)
        if state.written != state.changes:
            continue
        if name == AGGREGATES and content != _sums(connection, spreads(connection, keep=False)):
            return path, "does not say what the index says"
        if name == SUMMARY and state.summary not in ("", sha256(content).hexdigest()):
            return path, "its checksum is wrong"
    return None


def _sessions(connection: apsw.Connection) -> int:
    """How many sessions were read: as many as the signal that was read of most. To count those of all readings takes
    the longer the more there are."""
    return int(next(rows(connection, "SELECT coalesce(max(readings + missing), 0) FROM aggregate"))[0])


def _summary(connection: apsw.Connection, found: list[Spread]) -> bytes:
    sessions = _sessions(connection)
    return summary.text(sessions, found, _standing_out(connection)).encode("utf-8", "replace")


def _standing_out(connection: apsw.Connection) -> dict[str, list[summary.Outstanding]]:
    """For some signals the sessions with the largest values."""
    query = (
        "SELECT host, session_id, title, value FROM reading JOIN session ON session.id = session"
        " WHERE signal = ? AND value IS NOT NULL AND value > 0 ORDER BY value DESC, session.id LIMIT ?"
    )
    return {
        signal: [summary.Outstanding(*row) for row in rows(connection, query, (signal, summary.MOST))]
        for signal in summary.LISTED
    }


def _sums(connection: apsw.Connection, found: list[Spread]) -> bytes:
    sessions = _sessions(connection)
    content = {"schema": log.SCHEMA, "sessions": sessions, "signals": {spread.signal: spread for spread in found}}
    return msgspec.json.format(_json(content), indent=1) + b"\n"


# --- writing ---------------------------------------------------------------------------------------------------------


class Readings:
    """Takes what signals say, in the transaction that is open. Without a folder no file is written."""

    def __init__(self, connection: apsw.Connection, folder: str | None) -> None:
        self._connection, self._folder = connection, folder
        self._aggregates = Aggregates(connection)
        self._lines: list[log.Line] = []
        self._told_before = False
        self._standing: dict[int, dict[str, Row]] = {}
        """What is stored of the sessions of this transaction that `put` was told to keep in mind."""
        self._said: dict[int, dict[str, Reading]] = {}
        """What was said of them in it."""

    def put(
        self, number: int, name: Name, readings: Iterable[Reading], *, new: bool = False, keep: bool = False
    ) -> None:
        """Store what signals say now; what others said stays. Only what changed is written.

        Of a `new` session nothing was read before. With `keep` what is stored of it need not be looked up again
        before the next `settle`.
        """
        before = {} if new else self._stored(number)
        told = bool(before) and not self._told_before
        spoken = self._said.setdefault(number, {}) if keep else {}
        changed, said, add = [], [], self._aggregates.add
        for one in readings:
            row = _row(one)
            old, spoken[row[0]] = before.get(row[0]), one
            if row == old:
                continue
            changed.append((number, *row))
            said.append(one)
            if old is None or old[1] != row[1]:
                if old is not None:
                    add(old[0], old[2], old[1], -1)
                add(row[0], row[2], row[1])
            before[row[0]] = row
        if keep:
            self._standing[number] = before
        if said:
            self._connection.executemany(_PUT, changed)
            if told:  # else its digest is not written yet, or says it already
                self._connection.execute(_OUTDATE, (number,))
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            self._lines.append(log.Line(log.SCHEMA, *name, now, said))

    def _stored(self, number: int) -> dict[str, Row]:
        if (standing := self._standing.get(number)) is not None:
            return standing
        query = f"SELECT {_COLUMNS} FROM reading WHERE session = ?"  # noqa: S608 - our own columns
        return {row[0]: row for row in rows(self._connection, query, (number,))}

    def put_of_ledger(self, number: int, name: Name, wanted: Collection[Signal] | None = None) -> None:
        """Read again what the ledger tells of a session: all of it, or what some signals say."""
        context = bare_context(*name)
        context.spent = spent_of(self._connection, *name)
        signals = in_sweep(ledger=True) if wanted is None else wanted
        own = {signal.name for signal in signals}
        said = self._said.get(number, {})
        for signal, row in self._stored(number).items():
            if signal not in own:
                context.readings[signal] = said.get(signal) or _reading(row)
        self.put(number, name, evaluate(context, signals))

    def drop(self, number: int) -> None:
        """Count the readings of a session no longer: it is about to go."""
        query = "SELECT signal, unit, value FROM reading WHERE session = ?"
        for signal, unit, value in rows(self._connection, query, (number,)):
            self._aggregates.add(signal, unit, value, -1)

    def settle(self) -> None:
        """Make what was taken count: sums, and lines in the log."""
        lines, self._lines = self._lines, []
        self._standing.clear()
        self._said.clear()
        if not (self._aggregates.write() or lines):
            return
        state = state_of(self._connection)
        state.changes += 1
        if self._folder is not None and log.size_of(self._path(LOG)) >= state.length:
            state.length = log.append(self._path(LOG), state.length, lines)
            state.logged += sum(len(line.readings) for line in lines)
        _put_state(self._connection, state)

    def finish(self) -> None:
        """Bring the files up to date, if something has changed."""
        if self._folder is None:
            return
        state = state_of(self._connection)
        if state.written == state.changes:
            return
        count = next(rows(self._connection, "SELECT count(*) FROM reading"))[0]
        if state.logged > 2 * count + SPARE or log.size_of(self._path(LOG)) != state.length or state.logged < count:
            state.length, state.logged = log.rewrite(self._path(LOG), logged(self._connection))
        self._write_sums(state)
        state.written = state.changes
        _put_state(self._connection, state)

    def rewrite(self, *, recounted: bool = False) -> None:
        """Write all files anew; `recounted` counts what readings add up to anew as well."""
        if recounted:
            recount(self._connection)
        state = state_of(self._connection)
        state.length, state.logged = log.rewrite(self._path(LOG), logged(self._connection))
        self._write_sums(state)
        state.written = state.changes
        _put_state(self._connection, state)

    def restore(self, path: str, digested: Mapping[Name, list[Reading]] | None = None) -> None:
        """Take over from a log what no signal here has said: what was read of sessions whose bytes are gone, or by
        signals that only `retro signal run` reads; and what neither knows from digests."""
        numbers = {(host, name): number for number, host, name in rows(self._connection, _NAMES)}
        own: dict[int, set[str]] = {}
        for number, signal in rows(self._connection, "SELECT session, signal FROM reading"):
            own.setdefault(number, set()).add(sys.intern(signal))
        logged: dict[int, set[str]] = {}
        self._told_before = True
        for line in log.read(path):
            name = (line.host, line.session_id)
            number = numbers.get(name)
            if number is not None:
                said = own.get(number, set())
                found = [one for one in line.readings if one.signal not in said]
                logged.setdefault(number, set()).update(sys.intern(one.signal) for one in found)
                self.put(number, name, found)
        for name, readings in (digested or {}).items():
            number = numbers.get(name)
            if number is not None:
                said = own.get(number, set()) | logged.get(number, set())
                self.put(number, name, [one for one in readings if one.signal not in said])
        self._told_before = False
        self._lines.clear()
        self.settle()

    def _write_sums(self, state: State) -> None:
        found = spreads(self._connection, keep=True)
        make_private_dir(os.path.dirname(self._path(AGGREGATES)))
        write_private(self._path(AGGREGATES), _sums(self._connection, found), sync=False)
        text = _summary(self._connection, found)
        write_private(self._path(SUMMARY), text, sync=False)
        state.summary = sha256(text).hexdigest()

    def _path(self, name: str) -> str:
        return os.path.join(self._folder or "", name)


def _put_state(connection: apsw.Connection, state: State) -> None:
    query = "INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)"
    connection.execute(query, (SETTING, _json(state).decode()))


def _row(one: Reading) -> Row:
    value = int(one.value) if isinstance(one.value, bool) else one.value
    evidence = _json(one.evidence).decode() if one.evidence else "[]"
    return one.signal, value, one.unit, one.confidence, one.method, evidence, one.reason


def _reading(row: Row) -> Reading:
    signal, value, unit, confidence, method, evidence, reason = row
    return Reading(signal, _typed(signal, value), unit, confidence, method, _events(evidence), reason)


def _typed(signal: str, value: Value | None) -> Value | None:
    """A value as its signal gave it: SQLite has no true and false."""
    kind = SIGNALS.get(signal)
    return bool(value) if kind is not None and kind.kind == "boolean" and value is not None else value
