"""What is out of order in the archive, found without changing anything, and then mended step by step."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final

import apsw
import msgspec

from retro import agents
from retro.archive.committed import SessionState
from retro.config import Settings
from retro.failure import Failure
from retro.index.database import empty_log, log_is_left, open_untouched, open_writer, rows
from retro.index.drift import drift
from retro.index.states import session_state
from retro.places import Places
from retro.reindex import BUILDING, rebuild, session_count, session_folders
from retro.upkeep import coalesce, evict
from retro.upkeep.repair import repair
from retro.upkeep.verify import Damage, files_of, strays

REBUILD: Final = "rebuild"
PRIVATE: Final = "private"
FINISH: Final = "finish"
CUT: Final = "cut"
MEND: Final = "mend"
REMOVE: Final = "remove"
EMPTY: Final = "empty"

_TEMPORARY: Final = re.compile(r"\..{1,100}\.[0-9a-f]{12}\.tmp")


class Step(msgspec.Struct, omit_defaults=True):
    """Something that is out of order, and what is done about it."""

    kind: str
    why: str
    does: str
    path: str | None = None
    length: int | None = None
    """Where a file is cut."""
    damage: Damage | None = None
    done: bool = False
    outcome: str | None = None
    """Why it could not be done."""


# --- looking ---------------------------------------------------------------------------------------------------------


def examine(places: Places, settings: Settings) -> list[Step]:
    """Everything that is out of order. Looks at sizes and names, reads the index, changes nothing."""
    if not os.path.isdir(places.root):
        return []
    found = [*_permissions(places)]
    broken = _index_is_broken(places)
    if broken is not None:
        found.append(Step(REBUILD, broken, "the index is made anew from the archive", places.index))
        return found + list(_leftovers(places, set()))
    connection = open_untouched(places)
    if connection is None:
        return found + list(_leftovers(places, set()))
    try:
        found += _out_of_step(places, connection)
        replacing = next(rows(connection, "SELECT count(*) FROM replacing"))[0]
        evicting = next(rows(connection, "SELECT count(*) FROM session WHERE evicting"))[0]
        if replacing or evicting:
            why = f"a crash left {replacing + evicting} changes of files unfinished"
            found.append(Step(FINISH, why, "they are brought to their end, or taken back"))
        else:
            found += _leftovers(places, _known_files(places, connection))
    finally:
        connection.close()
    if log_is_left(places):
        found.append(Step(EMPTY, "the index's log was not emptied", "it is moved into the index", places.index))
    return found


def _permissions(places: Places) -> Iterator[Step]:
    """Files that others may read, or that their owner may not write."""
    if os.name != "posix":
        return
    for path, wanted in ((places.root, 0o700), (places.index, 0o600)):
        try:
            mode = os.stat(path).st_mode & 0o777
        except OSError:
            continue
        if mode != wanted:
            yield Step(PRIVATE, f"{path} has the mode {mode:03o}", f"it gets the mode {wanted:03o}", path, wanted)


def _index_is_broken(places: Places) -> str | None:
    """What is wrong with the index as a whole."""
    try:
        connection = open_untouched(places)
    except Failure as failure:
        return failure.message
    if connection is None:
        kept = session_count(places)
        return f"the index of {kept:,} sessions is missing" if kept else None
    try:
        said = [row[0] for row in rows(connection, "PRAGMA quick_check(3)")]
        if said != ["ok"]:
            return f"{places.index} is damaged: {said[0]}"
        differs = drift(connection)
        if differs:
            return f"the index is not as this version makes it: {'; '.join(differs[:3])}"
        lost = [one for one in strays(places, connection) if "forgotten" not in one.reason]
        if lost:
            return f"{len(lost)} archived sessions are not in the index, such as {lost[0].host} {lost[0].session_id}"
    except apsw.Error as error:
        return f"{places.index} is damaged: {error}"
    finally:
        connection.close()
    return None


def _out_of_step(places: Places, connection: apsw.Connection) -> Iterator[Step]:
    """Files that hold more than was committed of them, or less."""
    query = "SELECT host, session_id FROM session WHERE normaliser >= 0 ORDER BY host, session_id"
    for host, session_id in list(rows(connection, query)):
        state = session_state(connection, host, session_id)
        for path, source in files_of(places, state):
            committed = source.raw_bytes if source else state.normalized_bytes
            size = os.path.getsize(path) if os.path.exists(path) else -1
            if size > committed:
                why = f"{path} holds {size - committed:,} bytes that were never committed"
                yield Step(CUT, why, f"it is cut to {committed:,} bytes", path, committed)
            elif size < committed:
                reason = "is missing" if size < 0 else f"holds {size:,} bytes instead of {committed:,}"
                yield _mending(state, path, source.key if source else "normalised", reason, source)


def _mending(state: SessionState, path: str, key: str, reason: str, source: object) -> Step:
    damage = Damage(state.host, state.session_id, key, path, 0, reason, getattr(source, "revision", 0))
    return Step(MEND, f"{path} {reason}", "it is captured or derived again, if that can be", path, damage=damage)


def _known_files(places: Places, connection: apsw.Connection) -> set[str]:
    known = set()
    for host, session_id in rows(connection, "SELECT host, session_id FROM session"):
        known.add(places.normalized(host, session_id))
        known.add(places.rendered(host, session_id))
    return known


def _leftovers(places: Places, known: set[str]) -> Iterator[Step]:
    """What crashed processes left, and derived files of sessions that are nowhere any more."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        path = places.index + BUILDING + suffix
        if os.path.exists(path):
            yield Step(REMOVE, f"{path} was left by a rebuild that did not end", "it is removed", path)
    for folder, _, names in os.walk(places.root):
        for name in names:
            if _TEMPORARY.fullmatch(name):
                path = os.path.join(folder, name)
                yield Step(REMOVE, f"{path} was left by a process that died", "it is removed", path)
    if not known:
        return
    raw = {(host, os.path.basename(folder)) for folder, host in session_folders(places)}
    for host in agents.MODULES:
        for kind, suffix in (("normalized", ".events.jsonl.zst"), ("rendered", ".md")):
            yield from _orphans(os.path.join(places.root, kind, host), host, suffix, known, raw)


def _orphans(folder: str, host: str, suffix: str, known: set[str], raw: set[tuple[str, str]]) -> Iterator[Step]:
    if not os.path.isdir(folder):
        return
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        # Folders and files of a session bear the same safe name.
        if name.endswith(suffix) and path not in known and (host, name.removesuffix(suffix)) not in raw:
            yield Step(REMOVE, f"{path} is of a session that is nowhere any more", "it is removed", path)


# --- mending ---------------------------------------------------------------------------------------------------------


def mend(places: Places, settings: Settings, steps: list[Step]) -> None:
    """Do the steps, one kind after the other. The caller holds the archive's lock."""
    for step in steps:
        try:
            _do(places, settings, step)
            step.done = step.outcome is None
        except Failure as failure:
            step.outcome = failure.message
        except OSError as error:
            step.outcome = error.strerror or str(error)
    damages = [step.damage for step in steps if step.damage is not None]
    if damages:
        repair(places, settings, damages)
        for step in steps:
            if step.damage is not None:
                step.done = os.path.exists(step.damage.file)
                step.outcome = None if step.done else step.damage.outcome


def _do(places: Places, settings: Settings, step: Step) -> None:
    if step.kind == REBUILD:
        problems = [problem for outcome in rebuild(places, settings) for problem in outcome.problems]
        if problems:
            step.outcome = f"{len(problems)} sessions could not be read: {problems[0].reason}"
    elif step.kind == PRIVATE and step.path and step.length is not None:
        os.chmod(step.path, step.length)
    elif step.kind == CUT and step.path and step.length is not None:
        os.truncate(places.checked(step.path), step.length)
    elif step.kind == REMOVE and step.path:
        os.unlink(places.checked(step.path))
    elif step.kind in (FINISH, EMPTY):
        connection = open_writer(places.index)
        try:
            if step.kind == FINISH:
                coalesce.finish_interrupted(connection, places)
                evict.finish_interrupted(connection, places)
            elif not empty_log(connection):
                step.outcome = "another program reads it; it goes with the next sweep"
        finally:
            connection.close()
