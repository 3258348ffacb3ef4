"""`retro statusline`: one line for the agent's window: this session, today, the running block, the context left.

The agent waits for it, and says on stdin what it knows itself. SQLite reads that JSON: loading `json` would cost a
quarter of the time that there is.
"""

from __future__ import annotations

import os
import sys
import time

from retro.ledger.spans import is_active, spans

TYPE_CHECKING = False  # as in places
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import apsw

    from retro.places import Places

INPUT_LIMIT = 1024 * 1024
QUARTER_SECONDS = 900
HOUR_SECONDS = 3600
LOOK_BACK = 14 * 24
"""Hours in which the beginning of the running block is looked for."""
RECENT = 2000
"""Rows of the newest sums in which it is looked who uses a model."""
LIMITS_SIZE = 256 * 1024
"""Bytes of notes about limits that may wait for a sweep."""

COLUMNS = {"auto": "cost", "calculate": "calculated", "display": "embedded"}
"""What RETRO_COST_MODE takes for the cost; see `retro.ledger.reports`."""

# What the agent says: its name here, and where it stands in its JSON.
FIELDS = {
    "session": "$.session_id",
    "model": "$.model.display_name",
    "model_id": "$.model.id",
    "cost": "$.cost.total_cost_usd",
    "window": "$.context_window.context_window_size",
    "used": "$.context_window.used_percentage",
    "input": "$.context_window.current_usage.input_tokens",
    "written": "$.context_window.current_usage.cache_creation_input_tokens",
    "read": "$.context_window.current_usage.cache_read_input_tokens",
    "five_hour": "$.rate_limits.five_hour.used_percentage",
    "five_hour_resets": "$.rate_limits.five_hour.resets_at",
    "seven_day": "$.rate_limits.seven_day.used_percentage",
    "seven_day_resets": "$.rate_limits.seven_day.resets_at",
}
WINDOWS = {"five_hour": 300, "seven_day": 10080}
"""Minutes of what the provider limits."""


class Spent:
    """What the ledger says, in microdollars; None for what it does not know."""

    session: int | None = None
    today: int | None = None
    block: int | None = None
    left: int = 0
    """Milliseconds until the running block ends."""
    per_hour: int | None = None


def run(arguments: Sequence[str], options: Mapping[str, str | bool]) -> int:
    """Print the line. What is not known is left out; a broken input is said, and the rest shown."""
    given = _options(arguments, options)
    problem = None
    told: dict[str, object] = {}
    spent = Spent()
    try:
        import apsw

        index, places = _index(given)
        connection = index or apsw.Connection(":memory:")
        told, problem = _told(connection)
        if index is not None and places is not None:
            host = _text(given.get("host")) or _host_of(index, told)
            spent = _spent(index, host, told, time.time())
            _note_limits(places, host, told)
        elif (own := _number(told.get("cost"))) is not None:  # nothing is captured yet: the agent's own word
            spent.session = round(own * 1_000_000)
    except Exception as error:  # the line must never be a traceback
        if os.environ.get("RETRO_DEBUG"):
            print(f"retro statusline: {error!r}", file=sys.stderr)
        problem = problem or _reason(error)
    if problem is not None:
        print(f"retro: {problem}", file=sys.stderr)
    if given.get("json"):
        _print_json(told, spent)
    else:
        print(_line(told, spent, color=not (given.get("no_color") or os.environ.get("NO_COLOR"))))
    return int(problem is not None)


def _options(arguments: Sequence[str], options: Mapping[str, str | bool]) -> dict[str, str | bool]:
    given = dict(options)
    words = list(arguments)
    while words:
        word = words.pop(0)
        if word in ("--host", "--root", "--config") and words:
            given[word[2:]] = words.pop(0)
        elif word in ("--json", "--no-color"):
            given[word[2:].replace("-", "_")] = True
    return given


def _reason(error: Exception) -> str:
    message = getattr(error, "message", None) or str(error) or type(error).__name__
    return "".join(c if c.isprintable() else " " for c in str(message))[:200]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _number(value: object) -> float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e15 else None


# --- what is known ---------------------------------------------------------------------------------------------------


def _index(given: Mapping[str, object]) -> tuple[apsw.Connection | None, Places | None]:
    from retro import config
    from retro.places import Places, find_root

    root = _text(given.get("root"))
    settings = config.load(_text(given.get("config")), os.environ, root=root)
    places = Places(find_root(root, os.environ, settings).path)
    if not os.path.exists(places.index):
        return None, None
    import apsw

    connection = apsw.Connection(places.index, flags=apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(50)
    return connection, places


def _told(connection: apsw.Connection) -> tuple[dict[str, object], str | None]:
    """What the agent says, and what is wrong with it."""
    if sys.stdin is None or sys.stdin.isatty():
        return {}, None
    text = sys.stdin.buffer.read(INPUT_LIMIT).decode("utf-8", "replace").strip()
    if not text:
        return {}, None
    query = "SELECT json_valid(?1) AND json_type(iif(json_valid(?1), ?1, '[]')) = 'object'"
    if not connection.execute(query, (text,)).get:
        return {}, "the status line's input is no JSON object"
    columns = ", ".join(f"?1 ->> '{path}'" for path in FIELDS.values())
    values = connection.execute(f"SELECT {columns}", (text,)).fetchone()
    return dict(zip(FIELDS, values or (), strict=False)), None


def _host_of(index: apsw.Connection, told: Mapping[str, object]) -> str:
    """Whose session it is; where it is new, who used its model last; else whose request was the last."""
    newest = f"SELECT host, model FROM spent_hour ORDER BY hour DESC LIMIT {RECENT}"  # noqa: S608 - a number of ours
    for query, values in (
        ("SELECT host FROM owner WHERE session_id = ?", (_text(told.get("session")),)),
        (
            f"SELECT text FROM label WHERE id = (SELECT host FROM ({newest})"  # noqa: S608 - our own columns
            " WHERE model = (SELECT id FROM label WHERE text = ?) LIMIT 1)",
            (_text(told.get("model_id")),),
        ),
        ("SELECT text FROM label WHERE id = (SELECT host FROM spent_hour ORDER BY hour DESC LIMIT 1)", ()),
    ):
        found = index.execute(query, values).get
        if isinstance(found, str):
            return found
    return ""


def _spent(index: apsw.Connection, host: str, told: Mapping[str, object], now: float) -> Spent:
    """What the ledger says. What the agent itself has counted since the last sweep is added."""
    found = Spent()
    mode = os.environ.get("RETRO_COST_MODE") or "auto"
    column = COLUMNS.get(mode)
    if column is None:
        raise ValueError(f'RETRO_COST_MODE is "{mode}"; use {", ".join(COLUMNS)}')
    own = _number(told.get("cost"))
    swept = _of_session(index, host, _text(told.get("session")), column)
    fresh = 0 if own is None else max(round(own * 1_000_000) - (swept or 0), 0)
    found.session = swept if own is None else round(own * 1_000_000)
    found.today = fresh + _since(index, column, _midnight(now))
    _of_block(index, host, column, int(now * 1000), fresh, found)
    return found


def _of_session(index: apsw.Connection, host: str, session: str | None, column: str) -> int | None:
    if session is None:
        return None
    query = (
        f"SELECT sum({column}) FROM session_total WHERE whole = 1 AND owner IN (SELECT id FROM owner WHERE host = ?1"  # noqa: S608
        " AND (session_id = ?2 OR subagent = 1 AND parent = ?2))"
    )
    return _whole(index.execute(query, (host, session)).get)


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _midnight(now: float) -> int:
    """The quarter-hour in which this day began here."""
    day = time.localtime(now)
    begin = time.mktime((day.tm_year, day.tm_mon, day.tm_mday, 0, 0, 0, 0, 0, -1))
    return int(begin) // QUARTER_SECONDS


def _since(index: apsw.Connection, column: str, quarter: int) -> int:
    query = f"SELECT sum({column}) FROM spent WHERE quarter >= ?"  # noqa: S608 - our own columns
    return _whole(index.execute(query, (quarter,)).get) or 0


def _of_block(index: apsw.Connection, host: str, column: str, now: int, fresh: int, found: Spent) -> None:
    query = (
        f"SELECT min(first), max(last), sum({column}) FROM spent_hour WHERE hour >= ?"  # noqa: S608 - our own columns
        " AND host = (SELECT id FROM label WHERE text = ?) GROUP BY hour ORDER BY hour"
    )
    since = now // 1000 // HOUR_SECONDS - LOOK_BACK
    rows = [(int(str(a)), int(str(b)), int(str(c))) for a, b, c in index.execute(query, (since, host))]
    if fresh:
        rows.append((now, now, fresh))
    every = spans((host, first, last) for first, last, _ in rows)
    if not every or not is_active(every[-1], now):
        return
    _, start, end, first, last = every[-1]
    found.block = sum(cost for begin, _, cost in rows if begin >= start)
    found.left = end - now
    if last > first:
        found.per_hour = found.block * 3_600_000 // (last - first)


# --- limits ----------------------------------------------------------------------------------------------------------


def _note_limits(places: Places, host: str, told: Mapping[str, object]) -> None:
    """Keep what the provider says of its limits, where it is news, for `retro budget`."""
    if not host.isalnum():
        return
    parts = []
    for name, minutes in WINDOWS.items():
        used, resets = _number(told.get(name)), _number(told.get(f"{name}_resets"))
        if used is not None:
            parts.append(f'"{minutes}":[{used:g},{int(resets or 0)}]')
    if not parts:
        return
    from retro import inbox

    said = f'"host":"{host}","windows":{{{",".join(parts)}}}'
    if inbox.tail(places, inbox.LIMITS).find(said) < 0:
        inbox.append_line(places, inbox.LIMITS, f'{{"at":{int(time.time())},{said}}}\n'.encode(), limit=LIMITS_SIZE)


# --- the line --------------------------------------------------------------------------------------------------------


def context_left(told: Mapping[str, object]) -> int | None:
    """Of the context window what is free, in percent."""
    used = _number(told.get("used"))
    if used is None:
        window = _number(told.get("window"))
        counts = [_number(told.get(name)) for name in ("input", "written", "read")]
        if not window or all(count is None for count in counts):
            return None
        used = sum(count or 0 for count in counts) / window * 100
    return max(0, min(100, round(100 - used)))


def _line(told: Mapping[str, object], spent: Spent, *, color: bool) -> str:
    parts = []
    name = _text(told.get("model")) or _text(told.get("model_id"))
    if name and name[0] not in "[{":  # an object, where a name should be
        parts.append("".join(c for c in name if c.isprintable())[:40])
    money = [("session", spent.session), ("today", spent.today), ("block", spent.block)]
    shown = [f"{_dollars(cost)} {what}" for what, cost in money if cost is not None]
    if spent.block is not None:
        minutes = max(spent.left, 0) // 60_000
        shown[-1] += f" ({minutes // 60}h {minutes % 60:02}m left)"
    if shown:
        parts.append(" · ".join(shown))
    if spent.per_hour is not None:
        parts.append(f"{_dollars(spent.per_hour)}/h")
    left = context_left(told)
    if left is not None:
        parts.append(_painted(f"{left}% context left", 100 - left, color))
    used = [(what, _number(told.get(field))) for what, field in (("5h", "five_hour"), ("week", "seven_day"))]
    limits = [_painted(f"{what} {share:.0f}%", share, color) for what, share in used if share is not None]
    if limits:
        parts.append(" · ".join(limits))
    return " | ".join(parts) or "nothing is known yet"


def _dollars(microdollars: int) -> str:
    return f"${microdollars / 1_000_000:,.2f}"


def _painted(text: str, used: float, color: bool) -> str:
    """Green, from one half on yellow, from four fifths on red."""
    code = "31" if used >= 80 else "33" if used >= 50 else "32"
    return f"\x1b[{code}m{text}\x1b[0m" if color else text


def _print_json(told: Mapping[str, object], spent: Spent) -> None:
    import json

    print(
        json.dumps(
            {
                "version": 1,
                "sessionMicrodollars": spent.session,
                "todayMicrodollars": spent.today,
                "blockMicrodollars": spent.block,
                "blockRemainingMinutes": spent.left // 60_000 if spent.block is not None else None,
                "microdollarsPerHour": spent.per_hour,
                "contextLeftPercent": context_left(told),
                "fiveHourPercent": _number(told.get("five_hour")),
                "weekPercent": _number(told.get("seven_day")),
            }
        )
    )
