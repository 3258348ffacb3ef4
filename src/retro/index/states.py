"""What is committed of a session: what its next capture goes on from."""

from __future__ import annotations

from collections.abc import Iterable

import apsw
import msgspec

from retro.archive.committed import SessionState
from retro.index import passages
from retro.index.database import rows
from retro.index.rows import SOURCE_COLUMNS, TURN_COLUMNS, source_state, turn_of
from retro.index.tracks import add_blocks
from retro.notes import Notes


def session_state(connection: apsw.Connection, host: str, session_id: str) -> SessionState:
    """What is committed of a session; an empty state for a new one."""
    state = SessionState(host, session_id, sources=[])
    found = connection.execute(
        "SELECT id, normalized_bytes, normalized_chain, normalized_frames, events_evicted, notes FROM session"
        " WHERE host = ? AND session_id = ?",
        (host, session_id),
    ).fetchone()
    if found is None:
        return state
    number, state.normalized_bytes, state.normalized_chain, state.normalized_frames = found[:4]
    state.events_evicted = bool(found[4])
    state.notes = msgspec.msgpack.decode(found[5], type=Notes) if found[5] is not None else None
    query = f"SELECT {SOURCE_COLUMNS} FROM source WHERE session = ? ORDER BY key, revision"  # noqa: S608 - our columns
    state.sources = [source_state(row) for row in rows(connection, query, (number,))]
    if not state.sources:  # known from its digest alone: what is captured now is all there is
        return SessionState(host, session_id, sources=[])
    add_blocks(connection, number, state.sources)
    last = connection.execute(
        f"SELECT {TURN_COLUMNS} FROM turn WHERE session = ? ORDER BY turn DESC LIMIT 1",  # noqa: S608
        (number,),
    ).fetchone()
    if last is not None:
        state.last_turn = turn_of(host, session_id, last)
    state.passages = passages.last_passages(connection, number)
    return state


def mark_rederiving(connection: apsw.Connection, sessions: Iterable[tuple[str, str]]) -> None:
    """Note that the normalised files of these sessions are about to be replaced: no version is right until then."""
    connection.pragma("synchronous", "full")  # the note must outlast what it warns of, also when the power fails
    with connection:
        connection.executemany("UPDATE session SET normaliser = -1 WHERE host = ? AND session_id = ?", sessions)
    connection.pragma("synchronous", "normal")
