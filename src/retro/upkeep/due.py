"""What a sweep does beside capturing: frames coalesced, sources audited, signals read again."""

from __future__ import annotations

import time
from collections.abc import Mapping

import apsw

from retro.index.database import explained, open_writer
from retro.places import Places
from retro.signals.running import in_sweep
from retro.upkeep import audit, coalesce, signals


def is_due(connection: apsw.Connection) -> bool:
    """Whether a sweep has more to do than to look: frames to coalesce, sources to audit, signals to read again."""
    overdue = audit.is_due(connection, _days_ago(audit.PERIOD_DAYS))
    idle = _seconds_ago(coalesce.IDLE_SECONDS)
    return overdue or signals.due(connection) or bool(coalesce.candidates(connection, idle))


def do(places: Places, present: Mapping[str, set[bytes]]) -> set[bytes]:
    """Do what is due, within its budget, of the sources that there are; gives those that an audit found edited."""
    connection = open_writer(places.index)
    try:
        for candidate in coalesce.candidates(connection, _seconds_ago(coalesce.IDLE_SECONDS)):
            coalesce.coalesce(connection, places, candidate)
        if signals.due(connection):
            read = in_sweep(ledger=False) + in_sweep(ledger=True)
            signals.read_again(connection, places, signals.outdated(connection, read), read)
        return audit.edited(connection, places, present, _days_ago(audit.PERIOD_DAYS), _seconds_ago(0))
    except apsw.Error as error:
        raise explained(error, places.index) from None
    finally:
        connection.close()


def _days_ago(days: int) -> str:
    return _seconds_ago(days * 86400)


def _seconds_ago(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - seconds))
