"""What is remembered: memories with their standing and links, what happened to them, what a session had of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import apsw
import msgspec

from retro.dashboard.overview import Choice, local_day
from retro.index.database import rows
from retro.lines import read_lines
from retro.memory import store
from retro.memory.item import Change, Item, Kept
from retro.mining.statistics import wilson
from retro.places import Places

SHOWN: Final = 1500
"""Memories on the page, those that are worth most before the others."""
WEAVES: Final = 200
OF_SESSION: Final = 100
_ORDER: Final = {"needs_review": 0, "accepted": 1, "candidate": 2, "archived": 3, "rejected": 4}

_decode_kept: Final = msgspec.json.Decoder(Kept).decode


class MemoryPage(msgspec.Struct, omit_defaults=True):
    """A memory with its standing."""

    id: str
    kind: str
    text: str
    status: str
    level: str
    """Of its scope: `repository`, `user`, `global`."""
    when: str = ""
    unless: str = ""
    title: str = ""
    scope: str = ""
    """The repository."""
    origin: str = "mined"
    method: str = ""
    confidence: float = 0.0
    priority: int = 0
    risk: str = "low"
    q: float = 0.5
    """What its uses were worth, newer ones more than older ones."""
    uses: int = 0
    wins: int = 0
    low: float = 0.0
    high: float = 1.0
    """Between which the share of uses that went well lies (Wilson, 95 %)."""
    shown: int = 0
    """How often it was handed to a session."""
    steps: list[str] = []
    findings: list[str] = []
    """What speaks against it."""
    stale: str = ""
    note: str = ""
    last: str = ""
    sessions: list[tuple[str, str]] = []
    """Where it comes from: host and session."""
    evidence: list[tuple[str, str, str]] = []
    """Host, session, event."""


class Happened(msgspec.Struct):
    """What happened to memories by local day: one value a row in every list."""

    day: list[int] = []
    what: list[str] = []
    memories: list[int] = []


class WeavePage(msgspec.Struct):
    """Memories that were handed to a session."""

    at: str
    host: str
    session: str
    title: str | None
    memories: list[str]
    credited: bool


class Memories(msgspec.Struct):
    """All that is remembered."""

    total: int
    statuses: dict[str, int]
    memories: list[MemoryPage]
    links: list[tuple[str, str]]
    """From one to another that it names."""
    happened: Happened
    weaves: list[WeavePage]
    """The newest."""


class Woven(msgspec.Struct):
    """Memories that were handed to sessions, by local day, host and project."""

    day: list[int] = []
    host: list[int] = []
    project: list[int] = []
    used: list[int] = []


class Mined(msgspec.Struct, omit_defaults=True):
    """A memory as a session's page names it."""

    id: str
    kind: str
    text: str
    status: str
    uses: int = 0
    wins: int = 0
    events: list[str] = []
    """Of this session: what it rests on."""


class Handed(msgspec.Struct, omit_defaults=True):
    """Memories that were handed to this session, and what came of it."""

    at: str
    memories: list[Mined]
    rewards: dict[str, float] = {}
    """By memory, where it was said."""
    note: str = ""


class OfSession(msgspec.Struct):
    """What a session had to do with memories."""

    mined: list[Mined]
    handed: list[Handed]


# --- the page --------------------------------------------------------------------------------------------------------


class _Row(NamedTuple):
    number: int
    kept: Kept
    utility: float
    stale: str | None


def _kept(connection: apsw.Connection) -> list[_Row]:
    query = "SELECT number, body, utility, stale FROM memory ORDER BY number"
    return [
        _Row(number, _decode_kept(body), utility, stale) for number, body, utility, stale in rows(connection, query)
    ]


def memories(connection: apsw.Connection, places: Places, choice: Choice) -> Memories | None:
    """Every memory of what was chosen; None where there is none."""
    found = [row for row in _kept(connection) if _is_of(row.kept.item, choice.project)]
    if not found:
        return None
    statuses: dict[str, int] = {}
    for row in found:
        statuses[row.kept.status] = statuses.get(row.kept.status, 0) + 1
    found.sort(key=lambda row: (_ORDER[row.kept.status], -row.kept.standing.uses, -row.utility, row.kept.item.id))
    shown = found[:SHOWN]
    names = {row.number: row.kept.item.id for row in shown}
    links = rows(connection, "SELECT memory, target FROM memory_link ORDER BY memory, target")
    changes = _changes(places)
    return Memories(
        total=len(found),
        statuses=statuses,
        memories=[_page(row) for row in shown],
        links=[(names[one], names[other]) for one, other in links if one in names and other in names],
        happened=_happened(changes, {row.kept.item.id for row in found}, choice),
        weaves=_weaves(connection, changes, choice),
    )


def _is_of(item: Item, project: str | None) -> bool:
    """Whether a memory concerns a project: what holds everywhere concerns all of them."""
    if project is None or item.scope.level != "repository":
        return True
    return (item.scope.key or "").rstrip("/").rpartition("/")[2].lower() == project.rpartition("/")[2].lower()


def _page(row: _Row) -> MemoryPage:
    item, standing = row.kept.item, row.kept.standing
    low, high = wilson(standing.wins, standing.uses)
    return MemoryPage(
        id=item.id,
        kind=item.kind,
        text=item.text,
        status=row.kept.status,
        level=item.scope.level,
        when=item.when_to_use,
        unless=item.do_not_use_when,
        title=item.title or "",
        scope=item.scope.key or "",
        origin=item.origin,
        method=item.method or "",
        confidence=round(item.confidence, 3),
        priority=item.priority,
        risk=item.risk,
        q=round(standing.q, 3),
        uses=standing.uses,
        wins=standing.wins,
        low=round(low, 3),
        high=round(high, 3),
        shown=standing.shown,
        steps=item.steps[:20],
        findings=row.kept.findings,
        stale=row.stale or "",
        note=standing.note or "",
        last=standing.last or "",
        sessions=[_session(name) for name in item.source_sessions[:12]],
        evidence=[(ref.host, ref.session_id, ref.event_id) for ref in item.evidence_refs[:6]],
    )


def _session(name: str) -> tuple[str, str]:
    host, _, session_id = name.partition("/")
    return host, session_id


def _changes(places: Places) -> list[Change]:
    return read_lines(store.changes_path(places), Change).items


def _happened(changes: Iterable[Change], known: set[str], choice: Choice) -> Happened:
    counts: dict[tuple[int, str], int] = {}
    for change in changes:
        day = local_day(change.at, choice.zone)
        touched = [name for name in (change.items if change.what == "woven" else [change.id]) if name in known]
        if day is not None and touched and (choice.since is None or day >= choice.since):
            counts[day, change.what] = counts.get((day, change.what), 0) + len(touched)
    ordered = sorted(counts.items())
    return Happened([day for (day, _), _ in ordered], [what for (_, what), _ in ordered], [n for _, n in ordered])


def _weaves(connection: apsw.Connection, changes: Sequence[Change], choice: Choice) -> list[WeavePage]:
    credited = {change.weave for change in changes if change.what == "credited" and change.weave}
    found: list[WeavePage] = []
    for change in reversed(changes):
        if change.what != "woven" or len(found) == WEAVES:
            continue
        title, project = _session_named(connection, change)
        if choice.project is None or (project or "").lower() == choice.project.lower():
            name = (change.host or "", change.session_id or "")
            found.append(WeavePage(change.at, *name, title, change.items, (change.weave or change.id) in credited))
    return found


def _session_named(connection: apsw.Connection, change: Change) -> tuple[str | None, str | None]:
    """Title and project of the session that a weave was handed to."""
    query = "SELECT title, project FROM session WHERE host = ? AND session_id = ?"
    return next(rows(connection, query, (change.host or "", change.session_id or "")), (None, None))


def used(connection: apsw.Connection, places: Places, choice: Choice) -> dict[tuple[int, str, str | None], int]:
    """How many memories were handed to sessions, by local day, host and project."""
    counts: dict[tuple[int, str, str | None], int] = {}
    for change in _changes(places):
        day = local_day(change.at, choice.zone) if change.what == "woven" else None
        if day is None or (choice.since is not None and day < choice.since):
            continue
        project = _session_named(connection, change)[1]
        if choice.project is None or (project or "").lower() == choice.project.lower():
            key = (day, change.host or "", project)
            counts[key] = counts.get(key, 0) + len(change.items)
    return counts


# --- of one session --------------------------------------------------------------------------------------------------


class Remembered:
    """What each session had to do with memories, put together once for all of them."""

    def __init__(self, connection: apsw.Connection, places: Places) -> None:
        kept = {row.kept.item.id: row.kept for row in _kept(connection)}
        changes = _changes(places) if kept else []
        credits: dict[str, dict[str, tuple[float, str]]] = {}
        for change in changes:
            if change.what == "credited" and change.weave and change.reward is not None:
                credits.setdefault(change.weave, {})[change.id] = (change.reward, change.note or "")
        self._found: dict[tuple[str, str], OfSession] = {}
        for one in kept.values():
            for name in one.item.source_sessions:
                self._mined(one, _session(name))
        for change in changes:
            if change.what == "woven" and change.session_id:
                self._handed(change, kept, credits.get(change.weave or change.id, {}))

    def of(self, host: str, session_id: str) -> OfSession | None:
        """What one had; None for nothing."""
        return self._found.get((host, session_id))

    def _at(self, key: tuple[str, str]) -> OfSession:
        return self._found.setdefault(key, OfSession([], []))

    def _mined(self, one: Kept, key: tuple[str, str]) -> None:
        found = self._at(key)
        if len(found.mined) < OF_SESSION:
            events = [ref.event_id for ref in one.item.evidence_refs if (ref.host, ref.session_id) == key]
            found.mined.append(_named(one, events))

    def _handed(self, change: Change, kept: Mapping[str, Kept], rewards: Mapping[str, tuple[float, str]]) -> None:
        found = self._at((change.host or "", change.session_id or ""))
        if len(found.handed) < OF_SESSION:
            found.handed.append(
                Handed(
                    at=change.at,
                    memories=[_named(kept[name], []) for name in change.items if name in kept],
                    rewards={name: reward for name, (reward, _) in rewards.items()},
                    note="; ".join(dict.fromkeys(note for _, note in rewards.values() if note)),
                )
            )


def _named(one: Kept, events: list[str]) -> Mined:
    return Mined(
        id=one.item.id,
        kind=one.item.kind,
        text=one.item.text,
        status=one.status,
        uses=one.standing.uses,
        wins=one.standing.wins,
        events=events[:6],
    )
