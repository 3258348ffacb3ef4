"""What a sweep does beside capturing: frames coalesced, sources audited, signals read again."""

from __future__ import annotations

from collections.abc import Mapping

import apsw

from retro.index import due
from retro.index.database import explained, open_writer
from retro.places import Places
from retro.signals.running import in_sweep
from retro.upkeep import audit, coalesce, signals


def do(places: Places, present: Mapping[str, set[bytes]]) -> set[bytes]:
    """Do what is due, within its budget, of the sources that there are; gives those that an audit found edited."""
    connection = open_writer(places.index)
    try:
        for candidate in coalesce.candidates(connection):
            coalesce.coalesce(connection, places, candidate)
        if due.signals(connection):
            read = in_sweep(ledger=False) + in_sweep(ledger=True)
            signals.read_again(connection, places, signals.outdated(connection, read), read)
        return audit.edited(connection, places, present, due.seconds_ago(0))
    except apsw.Error as error:
        raise explained(error, places.index) from None
    finally:
        connection.close()
