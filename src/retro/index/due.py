"""What the index says there is still to do: every sweep asks, and nearly always there is nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final

import apsw

from retro.agents.interface import LINES
from retro.index import digested
from retro.index.database import rows
from retro.signals import VERSION as SIGNALS_VERSION

UNFINISHED: Final = "unfinished"
"""A setting that stands as long as something was committed of which not all is said that follows from it."""

AUDIT_DAYS: Final = 7
"""So often every source is compared with what was captured of it."""

IDLE_SECONDS: Final = 3600
"""After so long a session counts as one that nobody writes to any more."""

FRAME: Final = 1024 * 1024
"""Content of a frame that is as large as it should be."""

MANY: Final = 256
"""Small frames that are too many even for a session in use."""

SMALL: Final = 16 * 1024
"""Compressed bytes of a frame that is small, on average."""

# A journal is no copy of its source, with which it is compared whenever that is touched.
_UNAUDITED: Final = "current = 1 AND base = 0 AND coalesce(audited, source.captured) < ? AND form = ?"

_FRAGMENTED: Final = """
    SELECT session.id, host, session_id, source.id, file, source.raw_bytes, source.chain, source.frames
      FROM source JOIN session ON session.id = source.session
     WHERE source.frames > packed + 2 AND source.frames > 2 + 2 * (offset / :target) AND (source.captured < :idle
           OR (source.frames > packed + :many AND source.raw_bytes < source.frames * :small))
    UNION ALL
    SELECT id, host, session_id, 0, '', normalized_bytes, normalized_chain, normalized_frames FROM session
     WHERE normalized_frames > normalized_packed + 2 AND normaliser >= 0 AND (captured < :idle
           OR (normalized_frames > normalized_packed + :many AND normalized_bytes < normalized_frames * :small))
"""


def interrupted(connection: apsw.Connection) -> bool:
    """Whether a crash came between a file's rename and its commit, or before what follows from a commit was said."""
    query = (
        "SELECT EXISTS (SELECT 1 FROM replacing) OR EXISTS (SELECT 1 FROM session WHERE evicting)"
        " OR EXISTS (SELECT 1 FROM setting WHERE name = ?)"
    )
    return bool(next(rows(connection, query, (UNFINISHED,)))[0])


def undigested(connection: apsw.Connection) -> bool:
    """Whether digests are to be written of what was captured before."""
    return digested.any_due(connection) or not digested.current(connection)


def upkeep(connection: apsw.Connection) -> bool:
    """Whether a sweep has more to do than to look: frames to coalesce, sources to audit, signals to read again."""
    query = f"SELECT EXISTS (SELECT 1 FROM source WHERE {_UNAUDITED})"  # noqa: S608 - our own condition
    unaudited = bool(next(rows(connection, query, (_audited_before(), LINES)))[0])
    return unaudited or signals(connection) or next(fragmented(connection), None) is not None


def signals(connection: apsw.Connection) -> bool:
    """Whether some sessions were read by older signals."""
    query = "SELECT EXISTS (SELECT 1 FROM session WHERE signals <> ?)"
    return bool(next(rows(connection, query, (SIGNALS_VERSION,)))[0])


def unaudited(connection: apsw.Connection) -> list[tuple[int, str, str, bytes, str, int, int]]:
    """Sources not compared for AUDIT_DAYS, the longest ago first: row, host, session, path, file, and the lengths of
    what was captured and of its copy."""
    query = (
        "SELECT source.id, host, session_id, path, file, offset, source.raw_bytes FROM source JOIN session"  # noqa: S608
        f" ON session.id = source.session WHERE {_UNAUDITED} ORDER BY coalesce(audited, source.captured)"
    )
    return list(rows(connection, query, (_audited_before(), LINES)))


def fragmented(connection: apsw.Connection) -> Iterator[tuple[Any, ...]]:
    """Files with more frames than they need; one that was packed needs new frames to be one: number, host and name of
    the session, row of the source (0 for the normalised file), file, and its length, chain and number of frames."""
    idle = seconds_ago(IDLE_SECONDS)
    return rows(connection, _FRAGMENTED, {"target": FRAME, "idle": idle, "many": MANY, "small": SMALL})


def _audited_before() -> str:
    return seconds_ago(AUDIT_DAYS * 86400)


def seconds_ago(seconds: int) -> str:
    """A moment before now, as the index writes it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - seconds))
