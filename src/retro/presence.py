"""Which hosts there are on this machine, what is captured of them, and whether they can still be read."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

import apsw
import msgspec

from retro import agents
from retro.agents import databases
from retro.agents.interface import TRANSCRIPT, Source
from retro.config import Settings
from retro.finding import Found, Known, discover
from retro.index.database import rows
from retro.trial import read

RECENT: Final = 5
"""So many of the newest sessions have to have turns among them; a host that now writes in another way has none."""

TRIED: Final = 5
"""So many of the newest sources are read where nothing is captured yet."""

State: TypeAlias = Literal["fine", "broken", "unreadable", "empty", "absent", "off"]


class Place(msgspec.Struct):
    """A folder of a host, and why it is looked at."""

    path: str
    reason: str


class Presence(msgspec.Struct):
    """A host on this machine and in the archive."""

    host: str
    state: State
    problems: list[str]
    """What is wrong, in words."""
    roots: list[Place]
    sessions: int = 0
    """That lie on this machine."""
    sources: int = 0
    """Files with records, or their like in databases."""
    last_written: str | None = None
    captured: int = 0
    """Sessions in the archive."""
    turns: int = 0
    """In them."""
    parse_yield: float | None = None
    """Turns for each session: of those that are captured, or of the newest sources where none is."""
    tried: int = 0
    """So many sources were read to tell that."""


class _Kept(msgspec.Struct):
    sessions: int = 0
    turns: int = 0
    recent: list[int] = []
    """Turns of the newest sessions."""


def presence(
    settings: Settings, env: Mapping[str, str], known: Known, connection: apsw.Connection | None
) -> list[Presence]:
    """Every host, in the order in which they are listed."""
    kept = _kept(connection) if connection is not None else {}
    try:
        return [_of(host, settings, env, known, kept.get(host, _Kept(recent=[]))) for host in agents.MODULES]
    finally:
        databases.release()


def _of(host: str, settings: Settings, env: Mapping[str, str], known: Known, kept: _Kept) -> Presence:
    here = Presence(host, "absent", [], [], captured=kept.sessions, turns=kept.turns)
    if not settings.host(host).enabled:
        here.state = "off"
        return here
    found = discover(settings, env, [host], known)
    sources = [one for session in found.sessions.values() for one in session if one.kind == TRANSCRIPT]
    here.roots = [Place(root.path, root.reason) for root in found.roots]
    here.sessions, here.sources = len(found.sessions), len(sources)
    here.last_written = _last(sources)
    here.problems = [f"{problem.path}: {problem.reason}" for problem in found.problems]
    if kept.sessions:
        here.parse_yield = round(kept.turns / kept.sessions, 2)
    elif sources:
        _try(sources, here)
    here.state = _state(found, here, kept)
    return here


def _state(found: Found, here: Presence, kept: _Kept) -> State:
    if here.parse_yield == 0:
        here.problems.append("there are sessions, but no turn was found in them: it may write in a new way")
        return "broken"
    if len(kept.recent) == RECENT and not any(kept.recent):
        here.problems.append(f"no turn was found in its {RECENT} newest sessions: it may write in a new way")
        return "broken"
    if found.problems:
        return "unreadable"
    if here.sources or here.captured:
        return "fine"
    return "empty" if found.roots else "absent"


def _try(sources: list[Source], here: Presence) -> None:
    """Read the newest sources that are not sub-agents', which have no turns."""
    own = [source for source in sources if not source.key.startswith("agent-")] or sources
    newest = sorted(own, key=_written, reverse=True)[:TRIED]
    trials = [read(source) for source in newest]
    here.tried = len(trials)
    here.parse_yield = round(sum(trial.turns for trial in trials) / len({trial.session_id for trial in trials}), 2)
    here.problems += [f"{trial.path}: {trial.problem}" for trial in trials if trial.problem]


def _kept(connection: apsw.Connection) -> dict[str, _Kept]:
    found: dict[str, _Kept] = {}
    row: tuple[Any, ...]
    for row in rows(connection, "SELECT host, count(*), sum(turns) FROM session GROUP BY host"):
        found[row[0]] = _Kept(row[1], row[2], recent=[])
    query = (
        "SELECT host, turns FROM (SELECT host, turns, row_number() OVER (PARTITION BY host ORDER BY ended DESC)"
        " AS place FROM session WHERE parent IS NULL) WHERE place <= ?"
    )
    for host, turns in rows(connection, query, (RECENT,)):
        found[host].recent.append(turns)
    return found


def _written(source: Source) -> int:
    if source.mtime_ns:
        return source.mtime_ns
    try:
        return os.stat(source.store or source.path).st_mtime_ns
    except (OSError, ValueError):
        return 0


def _last(sources: list[Source]) -> str | None:
    newest = max(map(_written, sources), default=0)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(newest / 1e9)) if newest else None
