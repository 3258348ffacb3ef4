"""Moments and durations in the words of a rendered session."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Final

LONG_GAP: Final = timedelta(minutes=30)


def moment_of(timestamp: str | None) -> datetime | None:
    """A timestamp as a moment; None where it is none."""
    try:
        moment = datetime.fromisoformat((timestamp or "").replace("Z", "+00:00"))
        return moment.replace(tzinfo=timezone.utc) if moment.tzinfo is None else moment.astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return None


def time_words(last: datetime | None, now: datetime) -> str:
    """A time; with its day where that is new, and with how much later it is where that is long."""
    parts = [now.strftime("%H:%M UTC")]
    if last is None or now.date() != last.date():
        parts.insert(0, now.strftime("%Y-%m-%d"))
    if last is not None and now - last > LONG_GAP:
        parts.append(f"{duration_words(now - last)} later")
    return " · ".join(parts)


def when_words(started: datetime | None, ended: datetime | None) -> str:
    """When a session took place, and for how long."""
    if started is None:
        return ""
    if ended is None or ended <= started:
        return f"{started:%Y-%m-%d %H:%M} UTC"
    until = f" – {ended:%Y-%m-%d %H:%M}"
    if started.date() == ended.date():
        until = "" if f"{started:%H:%M}" == f"{ended:%H:%M}" else f"–{ended:%H:%M}"
    return f"{started:%Y-%m-%d %H:%M}{until} UTC ({duration_words(ended - started)})"


def duration_words(duration: timedelta) -> str:
    """A duration in its two largest units."""
    minutes, seconds = divmod(int(duration.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    units = [(days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s")]
    first = next((n for n, (amount, _) in enumerate(units) if amount), 3)
    return " ".join(f"{amount} {unit}" for amount, unit in units[first : first + 2] if amount) or "0 s"
