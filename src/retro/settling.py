"""What an earlier run left unfinished, finished: deletions, renames, what follows from commits, digests."""

from __future__ import annotations

import apsw

from retro.digests import keeping
from retro.index.database import empty_log, explained, log_is_left, open_writer
from retro.index.readings import Readings
from retro.index.writing import finish_interrupted
from retro.places import Places
from retro.upkeep import coalesce, evict, forget

SessionKey = tuple[str, str]


def settle(places: Places, forgotten_still: list[SessionKey], *, interrupted: bool) -> None:
    """Finish everything. Sessions in `forgotten_still` should be gone; the caller holds the archive's lock."""
    if log_is_left(places):  # what was forgotten may still stand in it
        _empty_log(places)
    if forgotten_still:  # a deletion was interrupted
        forget.erase(places, forgotten_still)
    connection = open_writer(places.index)
    try:
        coalesce.finish_interrupted(connection, places)
        evict.finish_interrupted(connection, places)
        if interrupted:
            finish_interrupted(connection, Readings(connection, places.signals))
        keeping.catch_up(connection, places)
    except apsw.Error as error:
        raise explained(error, places.index) from None
    finally:
        connection.close()


def _empty_log(places: Places) -> None:
    connection = open_writer(places.index, wait_ms=0)
    try:
        empty_log(connection)
    except apsw.Error as error:
        raise explained(error, places.index) from None
    finally:
        connection.close()
