"""Tracks in the index: the blocks of each source, and the track of a session whose sources overlap as one."""

from __future__ import annotations

import apsw

from retro.archive.committed import Part, SourceState
from retro.index.database import rows
from retro.index.rows import track_of, track_row
from retro.track.columns import Track

_PUT = "INSERT OR REPLACE INTO track_block (session, key, revision, place, body) VALUES (?, ?, ?, ?, ?)"
_WHOLE = ("", 0)
_COUNTS = -1


def put_tracks(connection: apsw.Connection, number: int, part: Part) -> None:
    """Write what a part adds to the tracks of a session."""
    for state in part.sources:
        _put(connection, number, (state.key, state.revision), state.track)
    if part.track is not None:
        _put(connection, number, _WHOLE, part.track)
        connection.execute(_PUT, (number, *_WHOLE, _COUNTS, track_row(part.track)))
    elif part.tally is None and not part.evicted:
        connection.execute("DELETE FROM track_block WHERE session = ? AND key = '' AND revision = 0", (number,))


def _put(connection: apsw.Connection, number: int, name: tuple[str, int], track: Track) -> None:
    stored = track.stored
    if stored == len(track.blocks) and stored:
        return
    where = "session = ? AND key = ? AND revision = ? AND place >= ?"
    connection.execute(f"DELETE FROM track_block WHERE {where}", (number, *name, stored))  # noqa: S608 - our own text
    blocks = enumerate(track.blocks[stored:], stored)
    connection.executemany(_PUT, [(number, *name, place, body) for place, body in blocks])


def add_blocks(connection: apsw.Connection, number: int, sources: list[SourceState]) -> None:
    """Give the tracks of sources their blocks."""
    by_name = {(source.key, source.revision): source.track for source in sources}
    for track in by_name.values():
        track.blocks = []
    query = "SELECT key, revision, body FROM track_block WHERE session = ? AND key <> '' ORDER BY place"
    for key, revision, body in rows(connection, query, (number,)):
        if (key, revision) in by_name:
            by_name[key, revision].blocks.append(body)
    for track in by_name.values():
        track.stored = len(track.blocks)


def whole_track(connection: apsw.Connection, number: int) -> Track | None:
    """The track of a session as one; None where those of its sources add up."""
    query = "SELECT place, body FROM track_block WHERE session = ? AND key = '' AND revision = 0 ORDER BY place"
    track: Track | None = None
    for place, body in rows(connection, query, (number,)):
        if place == _COUNTS:
            track = track_of(body)
        elif track is not None:
            track.blocks.append(body)
    if track is not None:
        track.stored = len(track.blocks)
    return track
