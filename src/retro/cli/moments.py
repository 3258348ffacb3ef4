"""Times as a person gives and reads them, and the filters that every reading command takes."""

from __future__ import annotations

import argparse
import re
from datetime import date, datetime, timedelta, timezone
from typing import NamedTuple

from retro import agents
from retro.failure import WRONG_USAGE, Failure, did_you_mean

_AGO = re.compile(r"(\d{1,6})([hdw])", re.ASCII)
_DATE = re.compile(r"(\d{4})-?(\d{2})-?(\d{2})", re.ASCII)
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


class Filters(NamedTuple):
    """Which sessions a reading command is asked for. Times are UTC; `until` is excluded."""

    since: datetime | None
    until: datetime | None
    project: str | None
    host: str | None
    limit: int | None


def add_filters(parser: argparse.ArgumentParser, limit: int | None = None) -> None:
    """Give a reading command `--since --until --project --host --limit`."""
    group = parser.add_argument_group("which sessions")
    group.add_argument("--since", metavar="WHEN", help="from then on: 2026-11-01, 20261101, 7d, 12h, 2w")
    group.add_argument("--until", metavar="WHEN", help="up to then; a day is included")
    group.add_argument("--project", metavar="NAME", help="of this project")
    group.add_argument("--host", metavar="HOST", help="of this agent")
    group.add_argument("--limit", metavar="N", type=positive, default=limit, help="at most so many")


def filters(args: argparse.Namespace, now: datetime | None = None) -> Filters:
    """The filters given on the command line."""
    now = now or datetime.now(timezone.utc)
    return Filters(
        parse_since(args.since, now) if args.since is not None else None,
        parse_until(args.until, now) if args.until is not None else None,
        args.project,
        known_host(args.host) if args.host is not None else None,
        args.limit,
    )


def known_host(name: str) -> str:
    """A host's name as given, or a `Failure` that names the nearest."""
    if name not in agents.MODULES:
        hint = did_you_mean(name, agents.MODULES) or f"one of {', '.join(agents.MODULES)}"
        raise Failure("usage", f'there is no host "{name}"', hint, WRONG_USAGE)
    return name


def parse_since(text: str, now: datetime) -> datetime:
    """A moment as UTC: a local date (its first moment), `7d`, `12h`, `2w` before now, or an ISO timestamp."""
    return _parsed(text, now, days=0)


def parse_until(text: str, now: datetime) -> datetime:
    """As `parse_since`, but a date means its end, so that the day itself is included."""
    return _parsed(text, now, days=1)


def date_of(text: str) -> date | None:
    """The day that a text such as 2026-11-01 or 20261101 names; None where it is none."""
    found = _DATE.fullmatch(text.strip())
    try:
        return date(int(found[1]), int(found[2]), int(found[3])) if found else None
    except ValueError:
        return None


def moment(timestamp: str | None) -> datetime | None:
    """A timestamp of an event or session (`2026-02-01T03:50:40.902Z`) as a datetime; None for what is none."""
    if timestamp is None:
        return None
    try:
        # Python 3.10 knows neither `Z` nor fractions of other than three or six digits.
        plain = re.sub(r"\.(\d+)", lambda found: "." + found[1][:6].ljust(6, "0"), timestamp.strip().upper(), count=1)
        parsed = datetime.fromisoformat(re.sub("Z$", "+00:00", plain))
        return parsed.astimezone(timezone.utc)
    except (ValueError, OverflowError, OSError):
        return None


def local(when: datetime | str | None) -> str:
    """`2026-11-01 14:03` in the local time zone; empty for no time."""
    when = moment(when) if isinstance(when, str) else when
    try:
        return when.astimezone().strftime("%Y-%m-%d %H:%M") if when else ""
    except (ValueError, OverflowError, OSError):
        return ""


def ago(when: datetime | str | None, now: datetime | None = None) -> str:
    """`just now`, `5 min ago`, `3 h ago`, `2 days ago`, then the date; empty for no time."""
    when = moment(when) if isinstance(when, str) else when
    if when is None:
        return ""
    seconds = ((now or datetime.now(timezone.utc)) - when).total_seconds()
    if seconds < -60 or seconds >= 14 * 86400:
        return local(when)[:10]
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min ago"
    if seconds < 86400:
        return f"{seconds // 3600:.0f} h ago"
    return f"{seconds // 86400:.0f} days ago" if seconds >= 2 * 86400 else "1 day ago"


def _parsed(text: str, now: datetime, days: int) -> datetime:
    word = text.strip()
    try:
        if back := _AGO.fullmatch(word):
            return (now - timedelta(**{_UNITS[back[2]]: int(back[1])})).astimezone(timezone.utc)
        if _DATE.fullmatch(word) and (named := date_of(word)):
            day = datetime(named.year, named.month, named.day) + timedelta(days=days)
            return day.astimezone(timezone.utc)
    except (ValueError, OverflowError, OSError):
        pass
    else:
        if len(word) > 10 and (parsed := moment(word)):
            return parsed
    hint = "use 2026-11-01, 20261101, 7d, 12h, 2w or 2026-11-01T14:00"
    raise Failure("usage", f'"{text}" is no time', hint, WRONG_USAGE)


def positive(text: str) -> int:
    """A whole number above 0, as an argument."""
    if not text.isascii() or not text.isdigit() or int(text[:10]) == 0:
        raise argparse.ArgumentTypeError(f'"{text}" is not a whole number above 0')
    return int(text)


def whole(text: str) -> int:
    """A whole number from 0 on, as an argument."""
    return 0 if text == "0" else positive(text)


def stamp(when: datetime) -> str:
    """A moment as events and the index write it."""
    return when.astimezone(timezone.utc).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
