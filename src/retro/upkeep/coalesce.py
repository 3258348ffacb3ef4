"""Many small frames made few: sessions that nobody writes to any more, and those that were appended to very often."""

from __future__ import annotations

import os
from hashlib import sha256
from typing import Any, Final

import apsw
import msgspec

from retro import agents, secrets
from retro.archive.committed import SessionState
from retro.archive.frames import Damaged, FrameWriter, Mark, check, read_frames
from retro.archive.meta import write_meta
from retro.index import due
from retro.index.database import rows
from retro.index.states import session_state
from retro.places import Places, sync_dir

BUDGET: Final = 16 * 1024 * 1024
"""Compressed bytes that one sweep rewrites at most, unless a single file has more."""


class Candidate(msgspec.Struct):
    """A file worth rewriting, and how it stands."""

    session: int
    host: str
    session_id: str
    source: int
    """Row of the source; 0 for the normalised file."""
    file: str
    mark: Mark


def candidates(connection: apsw.Connection, budget: int = BUDGET) -> list[Candidate]:
    """Files with more frames than they need, bounded by bytes."""
    found: list[Candidate] = []
    for row in due.fragmented(connection):
        if budget <= 0:
            break
        budget -= row[5]
        found.append(_candidate(row))
    return found


def coalesce(connection: apsw.Connection, places: Places, candidate: Candidate) -> bool:
    """Rewrite one file; False where it is damaged and better left to `retro verify`. The caller holds the lock.

    The new file is written and compared; then the index notes what is about to come, which a crash cannot take back;
    then the file gets its name, and the index its marks. `finish_interrupted` ends what a crash leaves in between.
    """
    path = places.checked(_path(places, candidate))
    fresh = f"{path}.new"
    try:
        mark = _rewrite(path, candidate.mark, fresh)
    except (Damaged, FileNotFoundError):
        _remove(fresh)
        with connection:
            _note_packed(connection, candidate)  # or it would be tried again by every sweep
        return False
    connection.pragma("synchronous", "full")
    with connection:
        connection.execute(
            "INSERT OR REPLACE INTO replacing (session, source, bytes, chain, frames) VALUES (?, ?, ?, ?, ?)",
            (candidate.session, candidate.source, *mark),
        )
    os.replace(fresh, path)
    sync_dir(os.path.dirname(path))
    _conclude(connection, places, candidate, mark)
    return True


def finish_interrupted(connection: apsw.Connection, places: Places) -> None:
    """After a crash: see which of the two files is there, and have the index and the meta file say so."""
    pending = list(
        rows(
            connection,
            "SELECT session.id, host, session_id, replacing.source, coalesce(file, ''), replacing.bytes,"
            " replacing.chain, replacing.frames FROM replacing JOIN session ON session.id = replacing.session"
            " LEFT JOIN source ON source.id = replacing.source",
        )
    )
    for row in pending:
        candidate = _candidate(row)
        path = places.checked(_path(places, candidate))
        try:
            arrived = check(path, candidate.mark.length)[1] == candidate.mark.chain
        except (OSError, Damaged):
            arrived = False
        _remove(f"{path}.new")
        if arrived:
            _conclude(connection, places, candidate, candidate.mark)
        else:
            with connection:
                _settled(connection, candidate)


def _rewrite(path: str, committed: Mark, fresh: str) -> Mark:
    """The same content in larger frames, in another file, synced and compared."""
    _remove(fresh)
    writer = FrameWriter(fresh, 0, b"")
    before = sha256()
    waiting: list[bytes] = []
    size = 0
    try:
        # Damage must not be packed with a fresh checksum, so what is read has to be what was committed.
        if check(path, committed.length)[1] != committed.chain:
            raise Damaged(path, 0, "frames were changed, moved, lost or added")
        for _, content in read_frames(path, committed.length):
            before.update(content)
            if waiting and size + len(content) > due.FRAME:
                writer.write(b"".join(waiting))
                waiting, size = [], 0
            waiting.append(content)
            size += len(content)
        if waiting:
            writer.write(b"".join(waiting))
        writer.sync()
        mark = writer.mark()
    finally:
        writer.close()
    if check(fresh, mark.length)[2] != before.digest():
        raise Damaged(fresh, 0, "the rewritten file does not hold the same content")
    return mark


def _conclude(connection: apsw.Connection, places: Places, candidate: Candidate, mark: Mark) -> None:
    """Have the meta file and then the index say what the file is now."""
    state = session_state(connection, candidate.host, candidate.session_id)
    _mark(state, candidate, mark)
    agent = agents.named(candidate.host)
    meta = os.path.join(places.raw(candidate.host, candidate.session_id), agent.META_NAME)
    write_meta(meta, state, agent.NORMALISER, secrets.RULES_VERSION)
    with connection:
        if candidate.source:
            connection.execute(
                "UPDATE source SET raw_bytes = ?, chain = ?, frames = ? WHERE id = ?", (*mark, candidate.source)
            )
        else:
            connection.execute(
                "UPDATE session SET normalized_bytes = ?, normalized_chain = ?, normalized_frames = ? WHERE id = ?",
                (*mark, candidate.session),
            )
        _note_packed(connection, candidate)
        connection.execute(
            "UPDATE session SET raw_bytes = (SELECT sum(raw_bytes) FROM source WHERE session = :id) WHERE id = :id",
            {"id": candidate.session},
        )
        _settled(connection, candidate)


def _mark(state: SessionState, candidate: Candidate, mark: Mark) -> None:
    if not candidate.source:
        state.normalized_bytes, state.normalized_chain, state.normalized_frames = mark
    for source in state.sources:
        if source.file == candidate.file:
            source.raw_bytes, source.chain, source.frames = mark


def _settled(connection: apsw.Connection, candidate: Candidate) -> None:
    values = (candidate.session, candidate.source)
    connection.execute("DELETE FROM replacing WHERE session = ? AND source = ?", values)


def _note_packed(connection: apsw.Connection, candidate: Candidate) -> None:
    """Remember how many frames there are, so that only new ones make the file a candidate again."""
    if candidate.source:
        connection.execute("UPDATE source SET packed = frames WHERE id = ?", (candidate.source,))
    else:
        connection.execute(
            "UPDATE session SET normalized_packed = normalized_frames WHERE id = ?", (candidate.session,)
        )


def _candidate(row: tuple[Any, ...]) -> Candidate:
    return Candidate(row[0], row[1], row[2], row[3], row[4], Mark(row[5], row[6], row[7]))


def _path(places: Places, candidate: Candidate) -> str:
    if not candidate.source:
        return places.normalized(candidate.host, candidate.session_id)
    return os.path.join(places.raw(candidate.host, candidate.session_id), *candidate.file.split("/"))


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
