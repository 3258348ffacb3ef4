"""Times as the ledger has them; days, weeks and months in any time zone, from quarter-hours in UTC."""

from __future__ import annotations

import time
from datetime import date, datetime, timedelta, timezone

from retro.failure import WRONG_USAGE, Failure, did_you_mean

TYPE_CHECKING = False  # as in places: days are asked for on the light path
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

QUARTER: Final = 15 * 60 * 1000
"""Milliseconds."""
PER_HOUR: Final = 4
"""Quarter-hours."""
HOURS: Final = 24
"""In a day."""
QUARTERS: Final = 96
"""In a day."""
_EPOCH: Final = date(1970, 1, 1).toordinal()
_STEP: Final = 7 * QUARTERS
_KEPT: Final = 4096
"""Days whose names or numbers are kept for the next that asks."""

LOCAL: Final = "local"


class Zone:
    """A time zone: its name, and how many seconds it is ahead of UTC at a moment (seconds since 1970)."""

    def __init__(self, name: str, offset: Callable[[int], int]) -> None:
        self.name, self.offset = name, offset

    def quarters(self, quarter: int) -> int:
        """How many quarter-hours it is ahead in a quarter-hour."""
        return self.offset(quarter * 900) // 900


def zone(name: str | None) -> Zone:
    """A time zone by its name in the IANA database; without a name, that of this machine."""
    if name is None or name == LOCAL:
        return Zone(LOCAL, _local)
    if name.upper() in ("UTC", "Z", "GMT"):
        return Zone("UTC", lambda moment: 0)
    import zoneinfo

    try:
        found = zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        hint = _meant(name, zoneinfo.available_timezones()) or "use a name such as Europe/Berlin, or UTC"
        raise Failure("usage", f'there is no time zone "{name}"', hint, WRONG_USAGE) from None

    def offset(moment: int) -> int:
        ahead = datetime.fromtimestamp(moment, timezone.utc).astimezone(found).utcoffset()
        return int(ahead.total_seconds()) if ahead is not None else 0

    return Zone(name, offset)


def _meant(name: str, known: set[str]) -> str | None:
    """What a name may stand for: a city without its continent, or something that is written nearly so."""
    city = name.strip().replace(" ", "_").lower()
    cities = {one.rpartition("/")[2].lower(): one for one in sorted(known, reverse=True) if "/" in one}
    return f'did you mean "{cities[city]}"?' if city in cities else did_you_mean(name, known)


def _local(moment: int) -> int:
    try:
        return time.localtime(max(moment, 0)).tm_gmtoff
    except (OverflowError, OSError, ValueError):
        return 0


def segments(where: Zone, first: int, last: int) -> list[tuple[int, int]]:
    """From which quarter-hour on a zone is how many ahead, between two quarter-hours."""
    found = [(first, where.quarters(first))]
    at = first
    while at < last:
        later = min(at + _STEP, last)
        if where.quarters(later) != found[-1][1]:
            low, high = at, later
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if where.quarters(middle) == found[-1][1] else (low, middle)
            found.append((high, where.quarters(high)))
            at = high
        else:
            at = later
    return found


def keeps_hours(parts: list[tuple[int, int]]) -> bool:
    """Whether an hour of UTC is an hour of a zone, whose `segments` these are; where the first begins is no matter."""
    return all(ahead % PER_HOUR == 0 for _, ahead in parts) and all(begin % PER_HOUR == 0 for begin, _ in parts[1:])


def local(parts: list[tuple[int, int]], column: str, unit: int = 1) -> str:
    """SQL for a column of so many quarter-hours in UTC as the zone counts them; `parts` as `segments`."""
    if len(parts) == 1:
        return f"({column} + {parts[0][1] // unit})"
    cases = " ".join(
        f"WHEN {column} < {begin // unit} THEN {parts[at][1] // unit}" for at, (begin, _) in enumerate(parts[1:])
    )
    return f"({column} + CASE {cases} ELSE {parts[-1][1] // unit} END)"


def local_day(parts: list[tuple[int, int]], column: str, unit: int = 1) -> str:
    """SQL for the number of the local day (since 1970) of such a column."""
    return f"{local(parts, column, unit)} / {QUARTERS // unit}"


def local_week(day: str, start: int = 0) -> str:
    """SQL for the first day of the week of a column that has numbers of days; as `week_of`."""
    return f"{day} - ({day} + {10 - start}) % 7"


def local_month(day: str) -> str:
    """SQL for the first day of the month of a column that has numbers of days; as `month_of`."""
    return f"CAST(strftime('%s', {day} * 86400, 'unixepoch', 'start of month') AS INTEGER) / 86400"


class _DayNames(dict[int, str]):
    def __missing__(self, number: int) -> str:
        if len(self) >= _KEPT:
            self.clear()
        name = self[number] = date.fromordinal(_EPOCH + number).isoformat()
        return name


_day_names: Final = _DayNames()


def day_name(number: int) -> str:
    """`2026-11-01` for the number of a day."""
    return _day_names[number]


def utc_day(at: int) -> str:
    """The UTC day of milliseconds since 1970; empty for -1."""
    return day_name(at // 86_400_000) if at >= 0 else ""


def day_number(day: date) -> int:
    """The number of a day since 1970."""
    return day.toordinal() - _EPOCH


def begin_of(day: int, where: Zone) -> int:
    """The first quarter-hour of a local day, in UTC."""
    guess = day * QUARTERS
    return guess - where.quarters(guess - where.quarters(guess))


def today(where: Zone, now: float) -> int:
    """The number of the local day of a moment."""
    moment = int(now)
    return (moment + where.offset(moment)) // 86400


def week_of(day: int, start: int = 0) -> int:
    """The first day of a day's week, that begins on Monday (0) … Sunday (6)."""
    weekday = (day + 3) % 7  # 1970-01-01 was a Thursday
    return day - (weekday - start) % 7


def month_of(day: int) -> int:
    """The first day of a day's month."""
    found = date.fromordinal(_EPOCH + day)
    return day - found.day + 1


def month_after(day: int) -> int:
    """The first day of the next month."""
    found = date.fromordinal(_EPOCH + month_of(day)) + timedelta(days=31)
    return day_number(found.replace(day=1))


class _Midnights(dict[str, int]):
    def __missing__(self, day: str) -> int:
        year, month, number = day.split("-")
        if not (len(year) == 4 and (year + month + number).isdecimal()):
            raise ValueError(day)
        if len(self) >= _KEPT:
            self.clear()
        at = self[day] = (date(int(year), int(month), int(number)).toordinal() - _EPOCH) * 86_400_000
        return at


_midnights: Final = _Midnights()


def milliseconds(timestamp: str | None) -> int:
    """A time of ours (`2026-02-01T03:50:40.902Z`) as milliseconds since 1970; -1 for none."""
    if not timestamp:
        return -1
    try:
        clock = timestamp[11:]
        of_day = (int(clock[:2]) * 60 + int(clock[3:5])) * 60_000 + int(clock[6:8]) * 1000 + int(clock[9:12])
        return max(_midnights[timestamp[:10]] + of_day, 0)
    except (ValueError, OverflowError):
        return -1


class _HourNames(dict[int, str]):
    def __missing__(self, hour: int) -> str:
        if len(self) >= _KEPT:
            self.clear()
        name = self[hour] = f"{_day_names[hour // HOURS]}T{hour % HOURS:02}:"
        return name


_hour_names: Final = _HourNames()


def timestamp(at: int) -> str | None:
    """The time of milliseconds since 1970, as events have it; None for -1."""
    if at < 0:
        return None
    hour, of_hour = divmod(at, 3_600_000)
    if not of_hour:
        return f"{_hour_names[hour]}00:00.000Z"
    seconds, milli = divmod(of_hour, 1000)
    minute, second = divmod(seconds, 60)
    return f"{_hour_names[hour]}{minute:02}:{second:02}.{milli:03}Z"
