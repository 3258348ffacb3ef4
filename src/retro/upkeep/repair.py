"""Damage mended: raw copies from the agents' own files, events from the raw copies, meta files from the index."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Final

import apsw

from retro import agents, inbox, secrets
from retro.agents.interface import ROWS, SIDECAR
from retro.archive import state_log
from retro.archive.committed import Job, SessionState, SourceState
from retro.archive.frames import Damaged, read_frames
from retro.archive.meta import write_meta
from retro.archive.origin import EDGE, open_origin
from retro.archive.work import Work
from retro.capture import SMALL
from retro.config import Settings
from retro.digests import keeping
from retro.index.database import open_writer, rows
from retro.index.readings import Readings
from retro.index.states import mark_rederiving, session_state
from retro.ledger import prices
from retro.ledger.writing import Ledger
from retro.pipeline import carry_out
from retro.places import Places, make_private_dir
from retro.upkeep.coalesce import finish_interrupted
from retro.upkeep.verify import (
    DIGEST,
    FOLDER,
    INBOX,
    INDEX,
    LEDGER,
    META,
    NORMALISED,
    SIGNALS,
    STATE,
    Damage,
    meta_path,
)

_ROWS: Final = ROWS.encode()
_HOW: Final = {NORMALISED: "derived again from the raw copies", META: "written again"}

SessionKey = tuple[str, str]


def repair(places: Places, settings: Settings, damages: list[Damage]) -> None:
    """Mend what can be mended, and say in each damage how, or why not. The caller holds the archive's lock.

    A raw copy comes back from its source, if that still holds what was captured; events come back from the raw copies.
    A damaged raw file is never thrown away: it stays beside the new one, as `….damaged`.
    """
    by_session: dict[SessionKey, list[Damage]] = {}
    for damage in damages:
        if damage.source not in (FOLDER, LEDGER, SIGNALS, DIGEST, STATE, INBOX, INDEX):
            by_session.setdefault((damage.host, damage.session_id), []).append(damage)
    connection = open_writer(places.index)
    try:
        finish_interrupted(connection, places)
        plans = [_Plan(places, session_state(connection, *key), found) for key, found in by_session.items()]
        mark_rederiving(connection, [plan.key for plan in plans if plan.job and plan.job.rederive])
    finally:
        connection.close()
    outcomes = {
        (done.host, done.session_id): [problem.reason for problem in done.problems]
        for done in carry_out(places, settings, [plan.job for plan in plans if plan.job])
    }
    connection = open_writer(places.index)
    try:
        for plan in plans:
            plan.conclude(connection, outcomes.get(plan.key, []))
        for damage in damages:
            if damage.source == DIGEST:
                keeping.ensure(connection, places, [(damage.host, damage.session_id)])
                damage.mended, damage.outcome = True, "written again from the index"
            elif damage.source == SIGNALS:
                with connection:
                    Readings(connection, places.signals).rewrite(recounted=True)
                damage.mended, damage.outcome = True, "written again from the index"
            elif damage.source == STATE:
                state_log.mend(places)
                _pin_again(connection, places)
                damage.mended, damage.outcome = True, "written again without it; pins come from the index"
            elif damage.source == INBOX:
                inbox.mend(damage.file)
                damage.mended, damage.outcome = True, "the line was taken out"
            elif damage.source == LEDGER:
                Ledger(connection, places.ledger, lambda: prices.load(settings.folder)[0]).rewrite()
                damage.mended, damage.outcome = True, "written again from the index"
    finally:
        connection.close()


def _pin_again(connection: apsw.Connection, places: Places) -> None:
    """Have the log of decisions say which sessions are pinned."""
    standing, now = state_log.pinned(places), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    names = [state_log.name_hash(*key) for key in rows(connection, "SELECT host, session_id FROM session WHERE pinned")]
    lost = [state_log.Decision(now, state_log.PINNED, name) for name in names if name not in standing]
    if lost:
        state_log.append(places, lost)


class _Plan:
    """How one session is mended: which sources are captured again, and whether all events are derived anew."""

    def __init__(self, places: Places, state: SessionState, damages: list[Damage]) -> None:
        self.key = (state.host, state.session_id)
        self._places = places
        self._damages = damages
        self._aside: dict[str, str] = {}
        lost = self._recapture(state)
        events = [damage for damage in damages if damage.source == NORMALISED]
        for damage in events:
            damage.outcome = f"cannot be derived again: the raw copy of {lost[0]} is damaged too" if lost else None
        work = self._work
        state.sources = [source for source in state.sources if source not in self._taken]
        self.job = Job(state, work, not lost) if work or (events and not lost) else None

    def _recapture(self, state: SessionState) -> list[str]:
        """Plan the raw copies; gives the sources that cannot be captured again."""
        self._work: list[Work] = []
        self._taken: list[SourceState] = []
        lost = []
        newest = {source.key: source for source in sorted(state.sources, key=lambda one: one.revision)}
        for damage in self._damages:
            source = next(
                (one for one in state.sources if (one.key, one.revision) == (damage.source, damage.revision)), None
            )
            if source is None:
                continue
            damage.outcome = _why_not(damage.file, source, newest[source.key])
            if damage.outcome:
                lost.append(source.source_key)
                continue
            self._taken.append(source)
            # By force: it must not be taken for the continuation of an earlier revision.
            self._work.append(Work(source.path, source.key, source.kind, source.archive_name, source.size, True))
            self._aside[damage.file] = _put_aside(damage.file)
        return lost

    def conclude(self, connection: apsw.Connection, problems: list[str]) -> None:
        """Say what became of each damage, and write down what the session's folder holds now."""
        state = session_state(connection, *self.key)
        for damage in self._damages:
            if damage.outcome:
                continue
            if problems and damage.source != META:
                damage.outcome = f"not mended: {problems[0]}"
                self._put_back(damage.file)
            else:
                damage.mended, damage.outcome = True, _HOW.get(damage.source, "captured again from its source")
        agent = agents.named(state.host)
        make_private_dir(self._places.raw(*self.key))
        write_meta(meta_path(self._places, state), state, agent.NORMALISER, secrets.RULES_VERSION)

    def _put_back(self, path: str) -> None:
        aside = self._aside.get(path, "")
        if aside and os.path.lexists(aside):
            os.replace(aside, path)


def _why_not(file: str, source: SourceState, newest: SourceState) -> str | None:
    """Why a raw copy cannot be captured again; None where it can."""
    if source.path.startswith(_ROWS):
        return "cannot be restored: it was captured from rows of a database"
    if source.base:
        return "cannot be restored: its beginning was given up to stay within the space budget"
    if source is not newest:
        return "cannot be restored: it is an older revision, which the agent has replaced since"
    try:
        origin = open_origin(source.path)
    except (OSError, ValueError):
        return "cannot be restored: the agent's file is gone"
    try:
        if _holds_still(origin.read, origin.seek, file, source):
            return None
    except OSError:
        pass
    finally:
        origin.close()
    return "cannot be restored: the agent's file no longer holds what was captured"


def _holds_still(
    read: Callable[[int], bytes | None], seek: Callable[[int], int], file: str, source: SourceState
) -> bool:
    """Whether an agent's file begins with what was captured, as far as its edges and the sound frames tell."""
    if source.kind == SIDECAR:
        first = read(SMALL) or b""
        return sha256(first).digest() == source.head and (len(first) < SMALL or _size(seek, read) == source.offset)
    head = read(min(EDGE, source.offset)) or b""
    start = max(0, source.offset - EDGE)
    seek(start)
    tail = read(source.offset - start) or b""
    if (sha256(head).digest(), sha256(tail).digest()) != (source.head, source.tail):
        return False
    seek(0)
    if all(read(len(content)) == content for content in _sound_frames(file, source)):
        return True  # up to the damage
    seek(0)
    return _lines_known(read, file, source)  # frames that are sound and in the wrong place


def _sound_frames(file: str, source: SourceState) -> Iterator[bytes]:
    """The content of a damaged file's frames, up to the first that cannot be read."""
    try:
        for _, content in read_frames(file, source.raw_bytes):
            yield content
    except (Damaged, FileNotFoundError):
        return


def _lines_known(read: Callable[[int], bytes | None], file: str, source: SourceState) -> bool:
    """Whether every line that the sound frames hold, in whatever order, is among those that were captured."""
    known = set()
    line, left = sha256(), source.offset
    while left > 0 and (block := read(min(SMALL, left))):
        left -= len(block)
        *ended, rest = block.split(b"\n")
        for piece in ended:
            line.update(piece)
            known.add(line.digest()[:8])
            line = sha256()
        line.update(rest)
    known.add(line.digest()[:8])
    return all(
        sha256(one).digest()[:8] in known
        for content in _sound_frames(file, source)
        for one in content.split(b"\n")
        if one
    )


def _size(seek: Callable[[int], int], read: Callable[[int], bytes | None]) -> int:
    size = seek(0)
    while block := read(SMALL):
        size += len(block)
    return size


def _put_aside(path: str) -> str:
    target, number = f"{path}.damaged", 1
    while os.path.lexists(target):
        number += 1
        target = f"{path}.damaged{number}"
    try:
        os.rename(path, target)
    except FileNotFoundError:
        return ""
    return target
