"""Experiments in `state.jsonl`: begun, ended, and which session was of which kind. Only ever appended to."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Final

import apsw
import msgspec

from retro.archive import state_log
from retro.measure.lot import RUNNING
from retro.places import Places

STARTED: Final = "measure_started"
STOPPED: Final = "measure_stopped"
ASSIGNED: Final = "assigned"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What was fixed before the first session."""

    id: str
    seed: str
    share: float
    """Of sessions that get nothing."""
    endpoint: str
    effect: float
    """The smallest difference of the endpoint that is looked for."""
    deviation: float
    """Of the endpoint in single sessions, as it was assumed."""
    observed: int
    """Sessions that the deviation was taken from; 0 where it is the endpoint's own."""
    needed: int
    """Sessions of both kinds together without which nothing is concluded."""


class Line(state_log.Decision, kw_only=True, omit_defaults=True):
    """A line about an experiment. `kinds` are those of the memories that were, or would have been, handed out."""

    experiment: str = ""
    withheld: bool = False
    plan: Plan | None = None


class Assigned(msgspec.Struct, frozen=True):
    """A session of an experiment: from the first prompt on that something spoke to."""

    at: str
    session: str
    """The hash of its name."""
    withheld: bool
    kinds: tuple[str, ...]


class Experiment(msgspec.Struct):
    """One experiment, with its sessions in the order in which they came in."""

    plan: Plan
    started: str
    stopped: str | None = None
    sessions: dict[str, Assigned] = {}


_decode: Final = msgspec.json.Decoder(Line).decode


def experiments(places: Places) -> list[Experiment]:
    """Every experiment, the oldest first. A torn line is passed over."""
    found: dict[str, Experiment] = {}
    for line in _lines(places):
        if line.what == STARTED and line.plan is not None:
            found.setdefault(line.experiment, Experiment(line.plan, line.at, sessions={}))
        known = found.get(line.experiment)
        if known is None:
            continue
        if line.what == STOPPED:
            known.stopped = known.stopped or line.at
        elif line.what == ASSIGNED:
            one = Assigned(line.at, line.session, line.withheld, tuple(line.kinds))
            known.sessions.setdefault(line.session, one)
    return list(found.values())


def _lines(places: Places) -> Iterable[Line]:
    for line in state_log.lines(places):
        if b'"experiment"' in line:
            try:
                yield _decode(line)
            except msgspec.MsgspecError:
                continue


def running(places: Places) -> Experiment | None:
    """The experiment that has not ended."""
    return next((one for one in experiments(places) if one.stopped is None), None)


def start(connection: apsw.Connection, places: Places, plan: Plan) -> None:
    """Begin an experiment. The caller holds the archive's lock and has made sure that none is running."""
    state_log.append(places, [Line(_now(), STARTED, "", experiment=plan.id, plan=plan)])
    note_running(connection, places)


def stop(connection: apsw.Connection, places: Places, experiment: Experiment) -> None:
    """End it. What was recorded stays."""
    state_log.append(places, [Line(_now(), STOPPED, "", experiment=experiment.plan.id)])
    note_running(connection, places)


def assign(places: Places, told: Iterable[Mapping[str, object]]) -> None:
    """Note the sessions of what the light command said, each once. The caller holds the archive's lock."""
    fresh: dict[tuple[str, str], Line] = {}
    known = {one.plan.id: one for one in experiments(places)}
    for line in told:
        name, session_id = line.get("experiment"), line.get("session_id")
        if not isinstance(name, str) or not isinstance(session_id, str) or name not in known:
            continue
        session = state_log.name_hash(str(line.get("host") or ""), session_id)
        kinds = line.get("kinds")
        if session not in known[name].sessions:
            one = Line(str(line.get("at") or _now()), ASSIGNED, session, experiment=name)
            one.withheld = line.get("what") == "withheld"
            one.kinds = [kind for kind in kinds if isinstance(kind, str)] if isinstance(kinds, list) else []
            fresh.setdefault((name, session), one)
    if fresh:
        state_log.append(places, list(fresh.values()))


def note_running(connection: apsw.Connection, places: Places) -> None:
    """Have the index say which experiment runs, so that the light command need not read the log."""
    now = running(places)
    with connection:
        connection.execute("DELETE FROM setting WHERE name = ?", (RUNNING,))
        if now is not None:
            told = {"id": now.plan.id, "seed": now.plan.seed, "share": now.plan.share}
            value = msgspec.json.encode(told).decode()
            connection.execute("INSERT INTO setting (name, value) VALUES (?, ?)", (RUNNING, value))


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
