"""Sessions deleted from everywhere in the archive, and a tombstone for each, so that no sweep brings them back."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from retro import inbox
from retro.archive.state_log import FORGOTTEN, WELCOME, Decision, append, forgotten, name_hash
from retro.archive.traces import erase_files, erase_mentions
from retro.digests import keeping
from retro.index.database import open_writer
from retro.index.forgetting import forget_sessions
from retro.index.readings import LOG
from retro.memory import folding, learning, store
from retro.places import Places
from retro.semantic import own
from retro.signals import log

SessionKey = tuple[str, str]


def forget(places: Places, sessions: list[SessionKey]) -> bool:
    """Delete sessions; whether nothing is left. The caller holds the archive's lock.

    The tombstones come first: from then on the sessions are forgotten, and the next sweep does what a crash leaves.
    """
    _decide(places, FORGOTTEN, sessions)
    return erase(places, sessions)


def welcome(places: Places, host: str, session_id: str) -> bool:
    """Take a tombstone back, if there is one: the next sweep captures the session if its source still exists."""
    if name_hash(host, session_id) not in forgotten(places):
        return False
    _decide(places, WELCOME, [(host, session_id)])
    return True


def erase(places: Places, sessions: list[SessionKey]) -> bool:
    """Remove sessions' files and then, when no file is left, their rows; whether nothing is left."""
    for session in sessions:
        erase_files(places, *session)
    if sessions:
        erase_mentions(places, [session_id for _, session_id in sessions])
        learning.intake(places)
        inbox.forget(places, [session_id for _, session_id in sessions])
        store.forget_sessions(places, sessions)
        own.forget(places, sessions)
    for suffix in ("", "-wal", "-shm"):  # half an index, of a rebuild that was killed
        _remove(f"{places.index}.building{suffix}")
    if not os.path.exists(places.index):
        log.forget(os.path.join(places.signals, LOG), sessions)
        return True
    connection = open_writer(places.index)
    try:
        if sessions:
            folding.fold(connection, places)
        done = forget_sessions(connection, sessions, places)
        keeping.catch_up(connection, places)  # others' may have named it as their parent, or shared its title
        return done
    finally:
        connection.close()


def _decide(places: Places, what: str, sessions: Iterable[SessionKey]) -> None:
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    append(places, [Decision(now, what, name_hash(*session)) for session in sessions])


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
