"""Whether anybody has asked for memories yet: until then no sweep waits for them, or loads what makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro.index.database import open_untouched, rows

if TYPE_CHECKING:
    import apsw

    from retro.places import Places

STAMP: Final = "memory_stamp"
"""The setting in which the index keeps it."""


def is_used(places: Places) -> bool:
    """Whether the index has ever held memories."""
    index = open_untouched(places)
    if index is None:
        return False
    try:
        return stamp_of(index) is not None
    finally:
        index.close()


def stamp_of(connection: apsw.Connection) -> str | None:
    """What the files of memories looked like when the index took them in; None where it never did."""
    found = next(rows(connection, "SELECT value FROM setting WHERE name = ?", (STAMP,)), None)
    return str(found[0]) if found else None
