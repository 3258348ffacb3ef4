"""Everything read and hashed again, and what is damaged named."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import apsw
import msgspec

from retro import agents, inbox
from retro.archive.committed import SessionState, SourceState
from retro.archive.frames import Damaged, check
from retro.archive.meta import is_as_written, read_meta
from retro.archive.state_log import flaws, forgotten, name_hash
from retro.digests import keeping
from retro.failure import Failure
from retro.index.database import open_reader, rows
from retro.index.readings import flaw
from retro.index.states import session_state
from retro.ledger.writing import state_of
from retro.places import Places, safe_name
from retro.reindex import session_folders

NORMALISED: Final = "normalised"
META: Final = "meta"
FOLDER: Final = "folder"
LEDGER: Final = "ledger"
SIGNALS: Final = "signals"
DIGEST: Final = "digest"
INDEX: Final = "index"
STATE: Final = "state"
INBOX: Final = "inbox"

SessionKey = tuple[str, str]

_UNREADABLE: Final = (msgspec.MsgspecError, ValueError, TypeError, StopIteration)
"""What a damaged value of the index may lead to: SQLite sees whether its pages are whole, not what stands in them."""


class Damage(msgspec.Struct):
    """Something in the archive that is not what was committed."""

    host: str
    session_id: str
    source: str
    """Key of the source; `normalised` for the events, `meta` for what describes them, `digest` for its summary,
    `folder` for a whole session. No session's are `ledger`, the file of all usage records, `signals`, those of all
    readings, `state`, the log of decisions, `inbox`, what light commands told, and `index`, the database."""
    file: str
    position: int
    reason: str
    revision: int = 0
    mended: bool = False
    outcome: str | None = None
    """How it was mended, or why it could not be; None where nobody tried."""


class Verification(msgspec.Struct):
    """What was read, and what was found."""

    sessions: int = 0
    files: int = 0
    bytes: int = 0
    damages: list[Damage] = []


Advance = Callable[[int, int], None]


def verify(
    places: Places, connection: apsw.Connection, sessions: Iterable[SessionKey], advance: Advance | None = None
) -> Verification:
    """Read every committed byte of sessions.

    Files that grow meanwhile are read up to what was committed. A file that is being replaced at this moment can look
    damaged: who does not hold the archive's lock asks once more, with the lock, before believing it.
    """
    result = Verification(damages=[])
    for key in sessions:
        read = result.bytes
        try:
            state = session_state(connection, *key)
        except _UNREADABLE as error:
            result.damages.append(Damage(*key, INDEX, places.index, 0, f"what it says of the session is none: {error}"))
            continue
        for path, source in files_of(places, state):
            result.files += 1
            damage = _examine(path, state, source, result)
            if damage is not None:
                result.damages.append(damage)
        for damage in (_examine_meta(places, state), _examine_digest(places, connection, state)):
            if damage is not None:
                result.damages.append(damage)
        result.sessions += 1
        if advance:
            advance(1, result.bytes - read)
    return result


def examine_index(places: Places) -> list[Damage]:
    """Have SQLite read every page of the index, and compare its rows with what finds them: without a sound index
    nothing else can be looked at."""
    try:
        connection = open_reader(places)
        if connection is None:
            missing = os.path.isdir(os.path.join(places.root, "raw"))
            return [_index_damage(places, "is missing")] if missing else []
        try:
            said = str(next(rows(connection, "PRAGMA integrity_check(1)"))[0])
        except apsw.Error as error:
            said = str(error)
        finally:
            connection.close()
    except Failure as failure:
        if failure.kind not in ("index_damaged", "index_schema"):
            raise
        said = failure.message
    return [] if said == "ok" else [_index_damage(places, said)]


def _index_damage(places: Places, reason: str) -> Damage:
    return Damage("", "", INDEX, places.index, 0, " ".join(reason.split()))


def examine_decisions(places: Places) -> list[Damage]:
    """Read the log of decisions, and what light commands told and nobody has taken in."""
    found = [Damage("", "", STATE, places.state_log, at, "a line is not as it was written") for at in flaws(places)[:1]]
    told = inbox.flaws(places)
    return found + [Damage("", "", INBOX, path, at, "a line is no JSON object") for path, at in told]


def examine_ledger(places: Places, connection: apsw.Connection) -> list[Damage]:
    """Read the file of all usage records."""
    position, reason = 0, ""
    try:
        mark = state_of(connection).mark
        if mark.length and check(places.ledger, mark.length)[1] != mark.chain:
            reason = "frames were changed, moved, lost or added"
    except Damaged as error:
        position, reason = error.position, error.reason
    except FileNotFoundError:
        reason = "is missing"
    except OSError as error:
        reason = error.strerror or str(error)
    except _UNREADABLE as error:
        return [_index_damage(places, f"what it says of the ledger is none: {error}")]
    return [Damage("", "", LEDGER, places.ledger, position, reason)] if reason else []


def examine_signals(places: Places, connection: apsw.Connection) -> list[Damage]:
    """Compare the files of all readings with what the index says."""
    try:
        found = flaw(connection, places.signals)
    except _UNREADABLE as error:
        return [_index_damage(places, f"what it says of readings is none: {error}")]
    return [Damage("", "", SIGNALS, found[0], 0, found[1])] if found else []


def strays(places: Places, connection: apsw.Connection) -> list[Damage]:
    """Folders of raw copies that the index does not know."""
    known = {
        (host, safe_name(session_id)) for host, session_id in rows(connection, "SELECT host, session_id FROM session")
    }
    gone = forgotten(places)
    found = []
    for folder, host in session_folders(places):
        name = os.path.basename(folder)
        if (host, name) not in known:
            session_id = _named(folder, host) or name
            reason = (
                "was forgotten, and is still here: retro sweep removes it"
                if name_hash(host, session_id) in gone
                else "is not in the index: retro sweep or else retro reindex brings it in"
            )
            found.append(Damage(host, session_id, FOLDER, folder, 0, reason))
    return found


def _named(folder: str, host: str) -> str | None:
    """The session's id as its meta file has it."""
    try:
        return read_meta(os.path.join(folder, agents.named(host).META_NAME)).session_id
    except (OSError, ValueError):
        return None


def files_of(places: Places, state: SessionState) -> Iterator[tuple[str, SourceState | None]]:
    """Every file of a session that holds committed bytes; the one of its events without a source."""
    for source in state.sources:
        if source.raw_bytes or source.offset > source.base:  # nothing is left of what was given up as a whole
            yield _raw(places, state, source), source
    if state.normalized_bytes:
        yield places.normalized(state.host, state.session_id), None


def _raw(places: Places, state: SessionState, source: SourceState) -> str:
    return os.path.join(places.raw(state.host, state.session_id), *source.file.split("/"))


def _examine(path: str, state: SessionState, source: SourceState | None, result: Verification) -> Damage | None:
    committed = source.raw_bytes if source else state.normalized_bytes
    chain = source.chain if source else state.normalized_chain
    key, revision = (source.key, source.revision) if source else (NORMALISED, 0)
    position, reason = 0, ""
    try:
        size, found, _ = check(path, committed)
        result.bytes += committed
        if found != chain:
            reason = "frames were changed, moved, lost or added"
        elif source and size != source.offset - source.base:
            reason = f"holds {size:,} bytes instead of {source.offset - source.base:,}"
    except Damaged as error:
        position, reason = error.position, error.reason
    except FileNotFoundError:
        reason = "is missing"
    except OSError as error:
        reason = error.strerror or str(error)
    return Damage(state.host, state.session_id, key, path, position, reason, revision) if reason else None


def _examine_meta(places: Places, state: SessionState) -> Damage | None:
    """Whether the session could be found again without the index."""
    if not state.sources:
        return None  # it is known from its digest alone
    path = meta_path(places, state)
    reason = ""
    try:
        described = read_meta(path)
        told = {(source.key, source.revision): _described(source) for source in described.sources}
        wrong = [one for one in state.sources if told.get((one.key, one.revision)) != _described(one)]
        if (described.host, described.session_id) != (state.host, state.session_id):
            reason = f"describes another session: {described.host} {described.session_id}"
        elif wrong:
            reason = f"does not say where {wrong[0].source_key} lies"
        elif not is_as_written(path):
            reason = "its checksum is wrong"
    except FileNotFoundError:
        reason = "is missing"
    except (OSError, ValueError) as error:
        reason = f"cannot be used: {error}"
    return Damage(state.host, state.session_id, META, path, 0, reason) if reason else None


def _examine_digest(places: Places, connection: apsw.Connection, state: SessionState) -> Damage | None:
    """Whether what is to be kept for good is there; one that is still to be written is no damage."""
    query = "SELECT events FROM session WHERE host = ? AND session_id = ? AND digest_events = events"
    for (events,) in rows(connection, query, (state.host, state.session_id)):
        reason = keeping.flaw(places, state.host, state.session_id, events)
        if reason:
            path = places.digest(state.host, state.session_id)
            return Damage(state.host, state.session_id, DIGEST, path, 0, reason)
    return None


def meta_path(places: Places, state: SessionState) -> str:
    """Where a session's meta file lies."""
    return os.path.join(places.raw(state.host, state.session_id), agents.named(state.host).META_NAME)


def _described(source: SourceState) -> tuple[str, bytes, str, str]:
    return source.kind, source.path, source.file, source.archive_name
