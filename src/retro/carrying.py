"""Work done within the budget for space: group by group, so that a hard cap is never passed by much."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import apsw

from retro import pipeline, workers
from retro.archive.committed import Job
from retro.archive.work import Work
from retro.config import Settings
from retro.index.database import explained, open_writer
from retro.index.states import mark_rederiving, session_state
from retro.outcomes import Outcome
from retro.places import Places
from retro.upkeep.caps import Limits

if TYPE_CHECKING:
    from retro.upkeep.budget import Pass

GROUP_BYTES: Final = 64 * 1024 * 1024
"""So much is read at least before a sweep that has a hard cap looks what has to go."""

SessionKey = tuple[str, str]


def carry_out(
    places: Places,
    settings: Settings,
    todo: list[Job],
    limits: Limits,
    connection: apsw.Connection,
    advance: Callable[[int, int], None] | None,
    done: Callable[[Outcome], None],
) -> tuple[list[Pass], int]:
    """Do jobs and tell what became of each; gives what was given up for them, and how many were not done.

    The connection is the index's; it is closed before processes are started.
    """
    if limits.any or workers.process_count(todo, settings.sweep_workers):
        connection.close()
        shared = None
    else:
        shared = connection
    passes: list[Pass] = []
    left = len(todo)
    keep_within = _keeping(limits)
    if keep_within:
        passes.append(keep_within(places, limits))
    for group in _groups(todo, limits.hard):
        if passes and limits.hard is not None and passes[-1].final_usage >= limits.hard:
            break
        for outcome in pipeline.carry_out(places, settings, group, advance, connection=shared):
            done(outcome)
        left -= len(group)
        if keep_within:
            passes.append(keep_within(places, limits))
    return passes, left


def _keeping(limits: Limits) -> Callable[[Places, Limits], Pass] | None:
    """What keeps the archive within a budget, loaded only where there is one."""
    if not limits.any:
        return None
    from retro.upkeep.budget import keep_within

    return keep_within


def _groups(todo: list[Job], hard_cap: int | None) -> Iterator[list[Job]]:
    """Jobs in their order, as many at once as may be read before it is time to see what has to go."""
    if hard_cap is None:
        if todo:
            yield todo
        return
    group, size = list[Job](), 0
    for job in todo:
        if group and size + job.size > max(GROUP_BYTES, hard_cap // 2):
            yield group
            group, size = [], 0
        group.append(job)
        size += job.size
    if group:
        yield group


@contextmanager
def index(places: Places) -> Iterator[apsw.Connection]:
    """The index, open to be written, for as long as it takes; closing it early does no harm."""
    connection = open_writer(places.index)
    try:
        yield connection
    except apsw.Error as error:
        raise explained(error, places.index) from None
    finally:
        connection.close()


def jobs(connection: apsw.Connection, work: Mapping[SessionKey, list[Work]], outdated: set[SessionKey]) -> list[Job]:
    """What is to be captured, and derived anew, with what is committed of each session."""
    wanted = {session: work.get(session, []) for session in [*work, *sorted(outdated - set(work))]}
    if outdated:
        mark_rederiving(connection, outdated)
    return [Job(session_state(connection, *key), todo, key in outdated) for key, todo in wanted.items()]
