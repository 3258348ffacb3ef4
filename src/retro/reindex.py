"""The index, and the normalised files, made anew from the raw archive alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

import apsw

from retro import agents
from retro.archive.committed import Job, SessionState
from retro.archive.frames import Mark, sound_length
from retro.archive.meta import read_meta
from retro.archive.state_log import forgotten, name_hash, pinned
from retro.archive.traces import erase_files
from retro.config import Settings
from retro.digests import keeping, recalling
from retro.event import Reading
from retro.failure import Failure
from retro.index.database import open_writer, rows
from retro.index.readings import LOG, Readings
from retro.ledger.prices import Prices
from retro.ledger.writing import Ledger
from retro.outcomes import Outcome, Problem
from retro.pipeline import Advance, carry_out
from retro.places import Places
from retro.versions import versions

BUILDING: Final = ".building"


def is_archive(places: Places) -> bool:
    """Whether there is anything of which an index could be made."""
    return any(True for _ in session_folders(places)) or any(True for _ in recalling.on_disk(places))


def rebuild(places: Places, settings: Settings, advance: Advance | None = None) -> list[Outcome]:
    """Rebuild the index beside the old one and put it in its place. The caller holds the archive's lock.

    The old index goes first: from here on its lengths may be wrong, and an archive without an index is rebuilt.
    """
    building = places.index + BUILDING
    for path in (places.index, building):
        for suffix in ("", "-wal", "-shm"):
            _remove(path + suffix)
    jobs, problems, names = [], [], forgotten(places)
    for folder, host in session_folders(places):
        if name_hash(host, os.path.basename(folder)) in names:
            erase_files(places, host, os.path.basename(folder))
            continue
        try:
            state, damaged = _recovered(folder, host)
            if name_hash(host, state.session_id) in names:  # a crash came before its folder was gone
                erase_files(places, host, state.session_id)
            else:
                jobs.append(Job(state, [], True, damaged))
        except (OSError, ValueError) as error:
            problems.append(
                Outcome(
                    host,
                    os.path.basename(folder),
                    problems=[Problem(host, os.path.basename(folder), folder, f"no usable meta file: {error}")],
                )
            )
    _restore_ledger(places, building, names)
    outcomes = carry_out(places, settings, jobs, advance, building, digests=False)
    problems += _recall(places, building, names)
    _pin_again(places, building)
    os.replace(building, places.index)
    return outcomes + problems


def _restore_ledger(places: Places, building: str, names: frozenset[str]) -> None:
    """Prices that were paid, and requests of sessions whose raw copies are gone, are known to the ledger alone."""
    connection = open_writer(building)
    try:
        ledger = Ledger(connection, places.ledger, lambda: Prices([]))
        ledger.restore(lambda host, session_id: name_hash(host, session_id) in names)
        ledger.heal()
    finally:
        connection.close()


def _recall(places: Places, building: str, names: frozenset[str]) -> list[Outcome]:
    """What only digests know of sessions whose bytes are gone; then all digests are brought up to date."""
    connection, damaged = open_writer(building), []
    readings: dict[tuple[str, str], list[Reading]] = {}
    try:
        with connection:
            keeping.begin(connection)
            for found in recalling.on_disk(places):
                digest = found.digest
                if digest is None:
                    damaged.append(found)
                elif name_hash(found.host, digest.session_id) in names:  # a crash came before it was gone
                    erase_files(places, found.host, digest.session_id)
                elif recalling.is_needed(connection, digest):
                    recalling.recall(connection, digest, versions(found.host))
                    readings[found.host, digest.session_id] = recalling.readings_of(digest)
        _restore_readings(places, connection, readings)
        keeping.catch_up(connection, places)
    finally:
        connection.close()
    return [_lost(found) for found in damaged if not recalling.is_sound(found.path)]


def _restore_readings(
    places: Places, connection: apsw.Connection, digested: dict[tuple[str, str], list[Reading]]
) -> None:
    """What only the log of readings knows, or only digests do; then that log, and what readings add up to, are new."""
    with connection:
        Readings(connection, None).restore(os.path.join(places.signals, LOG), digested)
        Readings(connection, places.signals).rewrite()


def _lost(found: recalling.Found) -> Outcome:
    name = os.path.basename(found.path).removesuffix(".json")
    problem = Problem(found.host, name, found.path, f"its digest is damaged: {found.reason}")
    return Outcome(found.host, name, problems=[problem])


def _pin_again(places: Places, index: str) -> None:
    """Have the index say which sessions are pinned."""
    names = pinned(places)
    if not names:
        return
    connection = open_writer(index)
    try:
        with connection:
            for number, host, session_id in list(rows(connection, "SELECT id, host, session_id FROM session")):
                if name_hash(host, session_id) in names:
                    connection.execute("UPDATE session SET pinned = 1 WHERE id = ?", (number,))
    finally:
        connection.close()


def session_count(places: Places) -> int:
    """How many sessions the archive holds."""
    names = {(host, os.path.basename(folder)) for folder, host in session_folders(places)}
    names |= {(found.host, os.path.basename(found.path).removesuffix(".json")) for found in recalling.on_disk(places)}
    return len(names)


def session_folders(places: Places) -> Iterator[tuple[str, str]]:
    """The folders of raw copies, and whose they are."""
    for host in agents.MODULES:
        parent = os.path.join(places.root, "raw", host)
        if os.path.isdir(parent):
            for name in sorted(os.listdir(parent)):
                folder = os.path.join(parent, name)
                if os.path.isdir(folder) and not os.path.islink(folder):
                    yield folder, host


def _recovered(folder: str, host: str) -> tuple[SessionState, list[str]]:
    """A session's state from what lies in its folder: the meta file says what, the frames say how much.

    With it the files that hold less than the meta file says. What was committed of them stays committed, lest
    the next capture cuts off what can still be read behind the damage.
    """
    state = read_meta(os.path.join(folder, agents.named(host).META_NAME))
    if state.host != host:
        raise ValueError(f"written for {state.host}")
    damaged = []
    for source in state.sources:
        path = os.path.join(folder, source.file)
        if os.path.realpath(path) != os.path.join(os.path.realpath(folder), *source.file.split("/")):
            raise ValueError(f"{source.file} leads elsewhere")
        if any(one.base for one in state.sources):
            continue  # raw bytes were given up: what the meta file says is all there is
        mark, size = sound_length(path) if os.path.exists(path) else (Mark(0, b"", 0), 0)
        if size < source.offset or (mark.length == source.raw_bytes and mark.chain != source.chain):
            damaged.append(source.file)
        else:
            (source.raw_bytes, source.chain, source.frames), source.offset = mark, size
    return state, damaged


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise Failure("not_writable", f"{path} cannot be removed: {error.strerror}", "check its permissions") from None
