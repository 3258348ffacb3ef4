"""What sessions take up given back to the disk, a kind at a time; what was distilled from them stays."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable
from typing import Final

import apsw

from retro import agents, secrets
from retro.archive.committed import SessionState
from retro.archive.meta import write_meta
from retro.archive.state_log import EVICTED, Decision, append, name_hash
from retro.index import passages
from retro.index.database import rows
from retro.index.states import session_state
from retro.places import Places

RENDERED: Final = "rendered"
NORMALISED: Final = "normalised"
RAW: Final = "raw"
KINDS: Final = (RENDERED, NORMALISED, RAW)
"""In the order in which they go: what can be made again first."""


def evict(
    connection: apsw.Connection, places: Places, host: str, session_id: str, kinds: Collection[str], *, digested: bool
) -> int:
    """Give up what a session takes, and say how many bytes that freed. The caller holds the archive's lock.

    First the decision is written down, then the meta file and the index say what is left, then the files go. What a
    crash leaves of them, `finish_interrupted` takes away.
    """
    state = session_state(connection, host, session_id)
    going = [path for kind in kinds for path in _files(places, state, kind)]
    size = sum(map(_size, going))
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    names = [kind for kind in KINDS if kind in kinds]
    append(places, [Decision(now, EVICTED, name_hash(host, session_id), names, size, not digested)])
    if NORMALISED in kinds:
        state.events_evicted = True
        state.normalized_bytes, state.normalized_chain, state.normalized_frames = 0, b"", 0
    if RAW in kinds:
        for source in state.sources:
            source.base = source.offset
            source.raw_bytes, source.chain, source.frames = 0, b"", 0
    if NORMALISED in kinds or RAW in kinds:
        agent = agents.named(host)
        meta = os.path.join(places.raw(host, session_id), agent.META_NAME)
        write_meta(places.checked(meta), state, agent.NORMALISER, secrets.RULES_VERSION)
        _say_so(connection, state, kinds)
    left = _remove(places, going)
    _tidy(places.raw(host, session_id))
    if not left:
        _settled(connection, host, session_id)
    return size - sum(map(_size, left))


def finish_interrupted(connection: apsw.Connection, places: Places) -> None:
    """After a crash: take away the files of which the index says that they were given up."""
    query = "SELECT host, session_id FROM session WHERE evicting"
    for host, session_id in list(rows(connection, query)):
        state = session_state(connection, host, session_id)
        going = _files(places, state, RENDERED)
        if state.events_evicted and not state.normalized_bytes:
            going += _files(places, state, NORMALISED)
        root = places.raw(host, session_id)
        gone = [source for source in state.sources if source.base and not source.raw_bytes]
        going += [os.path.join(root, *source.file.split("/")) for source in gone]
        if not _remove(places, going):
            _settled(connection, host, session_id)
        _tidy(root)


def _files(places: Places, state: SessionState, kind: str) -> list[str]:
    if kind == RENDERED:
        return [places.rendered(state.host, state.session_id)]
    if kind == NORMALISED:
        return [places.normalized(state.host, state.session_id)]
    root = places.raw(state.host, state.session_id)
    return [os.path.join(root, *source.file.split("/")) for source in state.sources]


def _say_so(connection: apsw.Connection, state: SessionState, kinds: Collection[str]) -> None:
    name = (state.host, state.session_id)
    connection.pragma("synchronous", "full")  # files go next: what is said must outlast them
    with connection:
        if NORMALISED in kinds:
            connection.execute(
                "UPDATE session SET events_evicted = 1, normalized_bytes = 0, normalized_chain = x'',"
                " normalized_frames = 0, normalized_packed = 0 WHERE host = ? AND session_id = ?",
                name,
            )
            passages.give_up(connection, *name)
        if RAW in kinds:
            connection.execute(
                "UPDATE source SET base = offset, raw_bytes = 0, chain = x'', frames = 0, packed = 0"
                " WHERE session = (SELECT id FROM session WHERE host = ? AND session_id = ?)",
                name,
            )
            connection.execute("UPDATE session SET raw_bytes = 0 WHERE host = ? AND session_id = ?", name)
        connection.execute("UPDATE session SET evicting = 1 WHERE host = ? AND session_id = ?", name)


def _settled(connection: apsw.Connection, host: str, session_id: str) -> None:
    with connection:
        connection.execute("UPDATE session SET evicting = 0 WHERE host = ? AND session_id = ?", (host, session_id))


def _remove(places: Places, paths: Iterable[str]) -> list[str]:
    """Remove files; gives those that could not be removed."""
    left = []
    for path in paths:
        try:
            os.unlink(places.checked(path) if not os.path.islink(path) else path)
        except FileNotFoundError:
            continue
        except OSError:  # Windows keeps a file that somebody reads: it goes with the next sweep
            left.append(path)
    return left


def _tidy(folder: str) -> None:
    """Remove the empty folders below a session's raw folder."""
    for parent, _, _ in os.walk(folder, topdown=False):
        if parent != folder:
            try:
                os.rmdir(parent)
            except OSError:
                continue


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0
