"""What the readings of all sessions add up to, kept up to date: each change is counted, nothing is counted again."""

from __future__ import annotations

from typing import Any, Final

import apsw
import msgspec

from retro.event import Value
from retro.index.database import rows
from retro.signals.base import SIGNALS, Signal
from retro.signals.statistics import MILLIONTH, Spread, bin_of, number, parts_of

_ADD: Final = (
    "INSERT INTO aggregate (signal, readings, missing, whole, millionths) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (signal) DO UPDATE SET readings = readings + excluded.readings, missing = missing + excluded.missing,"
    " whole = whole + excluded.whole, millionths = millionths + excluded.millionths, spread = NULL"
)
_ADD_BIN: Final = (
    "INSERT INTO aggregate_bin (signal, bin, readings) VALUES (?, ?, ?)"
    " ON CONFLICT (signal, bin) DO UPDATE SET readings = readings + excluded.readings"
)
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Spread).decode


MANY: Final = 50_000
"""Different values are kept apart up to so many."""


class Aggregates:
    """Collects changes of readings, and counts them together."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._values: dict[tuple[str, str, Value | None], int] = {}
        self._changes: dict[str, list[int]] = {}
        self._bins: dict[tuple[str, float | str], int] = {}

    def add(self, signal: str, unit: str, value: Value | None, sign: int = 1) -> None:
        """Count a reading, or with a sign of -1 count it no longer."""
        key = (signal, unit, value)  # most sessions share most values, so that they are looked at once
        self._values[key] = self._values.get(key, 0) + sign
        if len(self._values) > MANY:
            self._sum_up()

    def _sum_up(self) -> None:
        for (signal, unit, value), times in self._values.items():
            change = self._changes.setdefault(signal, [0, 0, 0, 0])
            if value is None:
                change[1] += times
                continue
            whole, millionths = parts_of(value)
            change[0] += times
            change[2] += times * whole
            change[3] += times * millionths
            place = (signal, bin_of(unit, value))
            self._bins[place] = self._bins.get(place, 0) + times
        self._values = {}

    def write(self) -> bool:
        """Bring the tables up to date; whether there was anything."""
        self._sum_up()
        if not self._changes:
            return False
        self._connection.executemany(_ADD, [(name, *change) for name, change in self._changes.items()])
        self._connection.executemany(_ADD_BIN, [(*place, change) for place, change in self._bins.items() if change])
        self._connection.execute("DELETE FROM aggregate_bin WHERE readings = 0")
        self._connection.execute("DELETE FROM aggregate WHERE readings = 0 AND missing = 0")
        self._changes, self._bins = {}, {}
        return True


def recount(connection: apsw.Connection) -> None:
    """Count all readings anew."""
    connection.execute("DELETE FROM aggregate")
    connection.execute("DELETE FROM aggregate_bin")
    counted = Aggregates(connection)
    for signal, unit, value in rows(connection, "SELECT signal, unit, value FROM reading"):
        counted.add(signal, unit, value)
    counted.write()


def miscounted(connection: apsw.Connection) -> list[str]:
    """Signals of which the tables say something else than their readings do."""
    counts: dict[str, list[int]] = {}
    bins: dict[str, dict[float | str, int]] = {}
    for signal, unit, value in rows(connection, "SELECT signal, unit, value FROM reading"):
        count = counts.setdefault(signal, [0, 0, 0, 0])
        count[1 if value is None else 0] += 1
        if value is not None:
            whole, millionths = parts_of(value)
            count[2] += whole
            count[3] += millionths
            place, of_signal = bin_of(unit, value), bins.setdefault(signal, {})
            of_signal[place] = of_signal.get(place, 0) + 1
    query = "SELECT signal, readings, missing, whole, millionths FROM aggregate"
    told = {signal: list(count) for signal, *count in rows(connection, query)}
    told_bins: dict[str, dict[float | str, int]] = {}
    for signal, place, number_ in rows(connection, "SELECT signal, bin, readings FROM aggregate_bin"):
        told_bins.setdefault(signal, {})[place] = number_
    names = {*counts, *told, *told_bins}
    return sorted(name for name in names if (counts.get(name), bins.get(name)) != (told.get(name), told_bins.get(name)))


def spreads(connection: apsw.Connection, *, keep: bool) -> list[Spread]:
    """How the readings of each signal are spread; `keep` stores what had to be found out anew."""
    found = []
    known = list(rows(connection, "SELECT signal, readings, missing, whole, millionths, spread FROM aggregate"))
    for name, readings, missing, whole, millionths, stored in known:
        signal = SIGNALS.get(name)
        if signal is None:
            continue  # of a distribution that is not installed any more
        if stored is not None:
            found.append(_decode(stored))
            continue
        spread = _spread(connection, signal, readings, missing, whole + millionths / MILLIONTH)
        if keep:
            connection.execute("UPDATE aggregate SET spread = ? WHERE signal = ?", (_encode(spread).decode(), name))
        found.append(spread)
    order = {name: place for place, name in enumerate(SIGNALS)}
    return sorted(found, key=lambda spread: order[spread.signal])


def _spread(connection: apsw.Connection, signal: Signal, readings: int, missing: int, total: float) -> Spread:
    spread = Spread(signal.name, signal.group, signal.kind, signal.method, signal.unit, readings, missing)
    spread.histogram, spread.values, spread.shares = [], {}, {}
    if not readings:
        return spread
    query = "SELECT bin, readings FROM aggregate_bin WHERE signal = ? ORDER BY bin"
    bins: list[tuple[Any, int]] = list(rows(connection, query, (signal.name,)))
    if signal.kind == "categorical":
        spread.values = dict(bins)
        spread.shares = {value: number(count / readings) for value, count in bins}
        return spread
    spread.sum, spread.mean = number(total), number(total / readings)
    if signal.kind == "boolean":
        spread.ratio = number(total / readings)
        return spread
    spread.histogram = bins
    places = _Places(connection, signal.name, bins)
    spread.median = number((places.at((readings - 1) // 2) + places.at(readings // 2)) / 2)
    spread.p90 = number(places.at(-(-readings * 9 // 10) - 1))
    spread.min, spread.max = number(places.at(0)), number(places.at(readings - 1))
    return spread


class _Places:
    """Values of a signal by their place in order, found within the one bin that they are in."""

    def __init__(self, connection: apsw.Connection, signal: str, bins: list[tuple[float, int]]) -> None:
        self._connection, self._signal, self._bins = connection, signal, bins

    def at(self, place: int) -> float:
        """The value with so many before it."""
        edge = self._bins[0][0] if self._bins else 0.0
        for lower, count in self._bins:
            if place < count:
                edge = lower
                break
            place -= count
        first = edge == self._bins[0][0]  # what is below the first edge is in the first bin
        query = (
            "SELECT value FROM reading WHERE signal = ? AND value IS NOT NULL AND value >= ? ORDER BY value"
            " LIMIT 1 OFFSET ?"
        )
        lower = -1e300 if first else edge
        return float(next(rows(self._connection, query, (self._signal, lower, place)))[0])
