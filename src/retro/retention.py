"""What a host will delete: transcripts that the index does not know yet, and how long they have."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Final

import msgspec

from retro import agents
from retro.agents.interface import TRANSCRIPT, Root, Source
from retro.config import Settings
from retro.index.queries import Captured

NEAR_DAYS: Final = 7
NEAR_SHARE: Final = 0.25
"""A deletion is near when so many days, or this part of the period, are left."""

CENTURY: Final = 36525


class Expiring(msgspec.Struct):
    """Sessions of one root that are not, or not fully, captured, of which the oldest will soon be deleted."""

    host: str
    root: str
    sessions: int
    """That many are about to be deleted."""
    oldest: str
    """When the oldest of them was last written."""
    period_days: int
    days_left: float
    """Below zero: it is deleted the next time that the host cleans up."""


def expiring(settings: Settings, env: Mapping[str, str], captured: Captured, now: datetime) -> list[Expiring]:
    """What is about to be lost, one entry for every root where something is."""
    found = []
    for host in agents.MODULES:
        if settings.host(host).enabled:
            for root in agents.named(host).roots(env, settings.host(host).sources):
                entry = _of_root(settings, root, captured, now)
                if entry is not None:
                    found.append(entry)
    return found


def near_since(period_days: int, now: float) -> float:
    """A file last written before this will soon be deleted by a host that keeps files for so many days."""
    period = min(period_days, CENTURY)
    return now - (period - max(NEAR_DAYS, period * NEAR_SHARE)) * 86400


def periods(settings: Settings, env: Mapping[str, str], host: str) -> dict[str, int]:
    """For how many days a host keeps what lies below each of its roots; without those where it keeps everything."""
    agent = agents.named(host)
    found = {root.path: agent.retention(root) for root in agent.roots(env, settings.host(host).sources)}
    return {path: days for path, days in found.items() if days is not None}


def _of_root(settings: Settings, root: Root, captured: Captured, now: datetime) -> Expiring | None:
    agent = agents.named(root.host)
    period = agent.retention(root)
    if period is None:
        return None
    period = min(period, CENTURY)  # people write 99999 to keep everything
    until = near_since(period, now.timestamp()) * 1e9
    due: dict[str, list[Source]] = {}
    try:
        for source in agent.discover(root, captured.owners.get(root.host, {})):
            if source.kind == TRANSCRIPT and source.mtime_ns <= until and not _is_captured(source, captured):
                due.setdefault(source.session_id, []).append(source)
    except OSError:
        return None  # the sweep says what is wrong with it
    if settings.ignored_projects:
        from retro.planning import left_out  # a list starts faster without the whole pipeline

        due = {session_id: sources for session_id, sources in due.items() if not left_out(settings, sources)}
    if not due:
        return None
    oldest = min(source.mtime_ns for sources in due.values() for source in sources) / 1e9
    left = oldest + period * 86400 - now.timestamp()
    written = datetime.fromtimestamp(oldest, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Expiring(root.host, root.path, len(due), written, period, round(left / 86400, 1))


def _is_captured(source: Source, captured: Captured) -> bool:
    stamp = (source.size, source.mtime_ns, source.inode, source.device)
    return captured.stamps.get(source.path) == stamp
