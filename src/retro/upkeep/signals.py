"""Signals read again from what is stored: no record is parsed for it, and no transcript is opened."""

from __future__ import annotations

from collections.abc import Collection

import apsw

from retro.digests import keeping
from retro.index import digested
from retro.index.database import rows
from retro.index.readings import Readings, readings_of
from retro.index.states import session_state
from retro.index.tracks import whole_track
from retro.index.writing import counted
from retro.places import Places
from retro.signals import VERSION
from retro.signals.base import LEDGER, Signal
from retro.signals.context import context_of, repository_commits
from retro.signals.running import evaluate

SessionKey = tuple[str, str]


def outdated(connection: apsw.Connection, signals: Collection[Signal]) -> list[SessionKey]:
    """Sessions that some of the signals have not read, or older ones have."""
    marks = ", ".join("?" * len(signals))
    query = (
        "SELECT host, session_id FROM session WHERE signals <> ?"  # noqa: S608 - our own text
        f" OR (SELECT count(*) FROM reading WHERE session = session.id AND signal IN ({marks})) < ? ORDER BY id"
    )
    values = (VERSION, *(signal.name for signal in signals), len(signals))
    return [(host, session_id) for host, session_id in rows(connection, query, values)]


def read_again(
    connection: apsw.Connection,
    places: Places,
    sessions: Collection[SessionKey],
    signals: Collection[Signal],
    *,
    ask_git: bool = False,
) -> list[SessionKey]:
    """Read signals of sessions and store what they say beside what others said; gives those that could be read.

    Digests of sessions of which something else is said are written anew. Of a session that only its digest remembers,
    what was read stays. The caller holds the archive's lock.
    """
    readings, done = Readings(connection, places.signals), []
    for name in sessions:
        with connection:
            for (number,) in list(rows(connection, "SELECT id FROM session WHERE host = ? AND session_id = ?", name)):
                if _read(connection, readings, number, name, signals, ask_git):
                    done.append(name)
                connection.execute("UPDATE session SET signals = ? WHERE id = ?", (VERSION, number))
            readings.settle()
    with connection:
        readings.finish()
    if digested.any_due(connection):
        keeping.catch_up(connection, places)
    return done


def _read(
    connection: apsw.Connection,
    readings: Readings,
    number: int,
    name: SessionKey,
    signals: Collection[Signal],
    ask_git: bool,
) -> bool:
    state, tally = session_state(connection, *name), counted(connection, number)
    context = context_of(*name, state.sources, whole_track(connection, number), tally)
    if not context.count("events") and tally.events:
        return False
    context.commits = repository_commits(context.facts.cwd, context.periods, ask_git=ask_git)
    context.readings = {one.signal: one for one in readings_of(connection, number)}
    readings.put(number, name, evaluate(context, [one for one in signals if one.needs != LEDGER]))
    if any(one.needs == LEDGER for one in signals):
        readings.put_of_ledger(number, name, [one for one in signals if one.needs == LEDGER])
    return True
