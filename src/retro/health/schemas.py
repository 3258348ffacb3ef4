"""Whether what the hosts keep can still be read as we know it, by reading some of it; and which commands suffer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import apsw
import msgspec

from retro import agents
from retro.agents import databases
from retro.agents.interface import TRANSCRIPT, Source
from retro.config import Settings
from retro.finding import Known, discover
from retro.index.database import rows
from retro.trial import Trial, read

NEWEST: Final = 5
"""So many of the newest sources of each form are read."""

UNKNOWN_SHARE: Final = 0.005
"""More than this of the bytes unknown, and what a host writes has changed."""

LOST: Final = {
    "nothing": ["sweep", "import"],
    "turns": ["list", "show", "recall", "search"],
    "requests": ["cost"],
    "records": ["show", "events"],
}
"""Commands that suffer when something cannot be read any more."""

Found = Mapping[str, Trial]


class Store(msgspec.Struct):
    """Sources of one host in one form, and how they read."""

    host: str
    form: str
    tried: int
    readable: bool
    suffers: list[str]
    """Commands that know less than they should; all others go on."""
    problems: list[str]


def check(
    settings: Settings, env: Mapping[str, str], connection: apsw.Connection | None, host: str | None = None
) -> list[Store]:
    """Read the newest sources of every host on this machine, nothing of which is kept."""
    try:
        return [
            store for name in agents.MODULES if host in (None, name) for store in _of(name, settings, env, connection)
        ]
    finally:
        databases.release()


def _of(host: str, settings: Settings, env: Mapping[str, str], connection: apsw.Connection | None) -> Iterator[Store]:
    if not settings.host(host).enabled:
        return
    found = discover(settings, env, [host], Known({}, {}, {}, [], []))
    for problem in found.problems:
        yield Store(host, "folder", 0, False, LOST["nothing"], [f"{problem.path}: {problem.reason}"])
    by_form: dict[str, list[Source]] = {}
    for sources in found.sessions.values():
        for source in sources:
            if source.kind == TRANSCRIPT and not source.key.startswith("agent-"):
                by_form.setdefault(source.form, []).append(source)
    for form, sources in by_form.items():
        newest = sorted(sources, key=lambda source: source.mtime_ns, reverse=True)[:NEWEST]
        yield _judged(host, form, [read(source) for source in newest], _told_tokens(host, connection))


def _told_tokens(host: str, connection: apsw.Connection | None) -> bool:
    """Whether this host's sessions are known to tell tokens."""
    if connection is None:
        return False
    query = (
        "SELECT EXISTS (SELECT 1 FROM turn JOIN session ON session.id = session WHERE host = ? AND output_tokens > 0)"
    )
    return bool(next(rows(connection, query, (host,)))[0])


def _judged(host: str, form: str, trials: list[Trial], tokens: bool) -> Store:
    store = Store(host, form, len(trials), True, [], [f"{one.path}: {one.problem}" for one in trials if one.problem])
    whole = [one for one in trials if not one.problem]
    lost = set[str]()
    if store.problems:
        lost.add("nothing")
    size = sum(one.bytes.size for one in whole)
    unknown = sum(one.bytes.unknown + one.bytes.malformed for one in whole)
    if size and unknown / size > UNKNOWN_SHARE:
        kinds = sorted({kind for one in whole for kind in (*one.types["unknown"], *one.types["malformed"])})
        store.problems.append(f"{unknown / size:.1%} of its bytes are not understood: {', '.join(kinds[:8])}")
        lost.add("records")
    if whole and not any(one.turns for one in whole):
        store.problems.append("no turn was found in its newest sessions")
        lost.add("turns")
    if whole and tokens and not any(one.requests for one in whole):
        store.problems.append("its newest sessions tell no tokens, and earlier ones do")
        lost.add("requests")
    store.suffers = [command for what in LOST if what in lost for command in LOST[what]]
    store.readable = not lost
    return store
