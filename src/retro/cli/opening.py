"""Opening the index to read it, without anything that a report from the index alone does not need."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import apsw

from retro.cli import output
from retro.index.database import explained, open_reader

if TYPE_CHECKING:
    from retro.cli.interface import Context
    from retro.places import Places


@contextmanager
def reading(context: Context) -> Iterator[apsw.Connection | None]:
    """The index for the length of a `with`; None where nothing is captured yet. Every query sees the same state."""
    connection = open_reader(context.places)
    if connection is None:
        warn_without_index(context.places)
        yield None
        return
    try:
        with connection:
            yield connection
    except apsw.Error as error:
        raise explained(error, context.places.index) from None
    finally:
        connection.close()


def warn_without_index(places: Places) -> None:
    """Say so where an archive has lost its index: it is not empty, it only looks so."""
    from retro.reindex import session_count

    kept = session_count(places)
    if kept:
        output.warn(f"the index of this archive is missing; retro reindex rebuilds it from {kept} sessions")
