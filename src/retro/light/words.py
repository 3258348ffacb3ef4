"""Words of recall: text made harmless, sizes in tokens, ages, and cuts that do not break characters."""

from __future__ import annotations

BYTES_PER_TOKEN = 3.5
"""UTF-8 bytes that count as one token."""

_HOUR, _DAY, _WEEK, _YEAR = 3600, 86400, 7 * 86400, 365 * 86400

# Printable by Unicode's book, and yet not seen: what may carry words that only a model reads.
_UNSEEN = frozenset(
    {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0}.union(
        range(0x180B, 0x1810), range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0)
    )
)


def clean(text: str) -> str:
    """A text as one line without control, bidi, tag and other characters that do not show."""
    if text.isascii() and text.isprintable():
        return text if text[:1] != " " and text[-1:] != " " and "  " not in text else " ".join(text.split())
    kept = [c if c.isprintable() else " " if c.isspace() else "" for c in text if ord(c) not in _UNSEEN]
    return " ".join("".join(kept).split())


def size(text: str) -> int:
    """Bytes of a text."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def limit_of(tokens: int) -> int:
    """Bytes that so many tokens are."""
    return int(tokens * BYTES_PER_TOKEN)


def cut(text: str, limit: int) -> str:
    """A text of at most so many bytes, with `…` at its end where something is missing."""
    if size(text) <= limit:
        return text
    if limit < 3:
        return ""
    return text.encode("utf-8", "replace")[: limit - 3].decode("utf-8", "ignore").rstrip() + "…"


def cut_left(text: str, limit: int) -> str:
    """The same for a path, of which the end says more than the beginning."""
    if size(text) <= limit:
        return text
    if limit < 3:
        return ""
    data = text.encode("utf-8", "replace")
    return "…" + data[len(data) - limit + 3 :].decode("utf-8", "ignore")


def seconds_of(timestamp: str) -> int | None:
    """Seconds since 1970 of a UTC timestamp; None where it is none. `datetime` would cost more than all the rest."""
    try:
        year, month, day = int(timestamp[:4]), int(timestamp[5:7]), int(timestamp[8:10])
        hour, minute, second = int(timestamp[11:13]), int(timestamp[14:16]), int(timestamp[17:19])
    except ValueError:
        return None
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    year -= month <= 2
    era_year = year % 400
    day_of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    days = (year // 400) * 146097 + era_year * 365 + era_year // 4 - era_year // 100 + day_of_year - 719468
    return days * _DAY + hour * _HOUR + minute * 60 + second


def ago(timestamp: str | None, now: float) -> str:
    """How long ago, in two or three characters: `now`, `5m`, `3h`, `2d`, `7w`, `1y`; `?` without a time."""
    then = seconds_of(timestamp) if timestamp else None
    if then is None:
        return "?"
    age = int(now - then)
    for unit, length, below in (("m", 60, _HOUR), ("h", _HOUR, _DAY), ("d", _DAY, 2 * _WEEK), ("w", _WEEK, _YEAR)):
        if age < below:
            return f"{age // length}{unit}" if age >= length else "now"
    return f"{age // _YEAR}y"
