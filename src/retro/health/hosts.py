"""Dimensions of what the hosts write: whether all of it is captured, and whether it can still be read."""

from __future__ import annotations

from retro.finding import discover
from retro.health.interface import Dimension, Scene, judged
from retro.index.database import rows
from retro.light.words import seconds_of

DAY = 86400


def freshness(scene: Scene) -> Dimension:
    """How long what the hosts wrote has been waiting to be captured."""
    hosts = [one.host for one in scene.hosts]
    found = discover(scene.settings, scene.env, hosts, scene.known)
    waiting = 0
    oldest = scene.now
    for sources in found.sessions.values():
        for source in sources:
            stamp = (source.size, source.mtime_ns, source.inode, source.device)
            if scene.known.stamps.get(source.path) != stamp:
                waiting += 1
                oldest = min(oldest, source.mtime_ns / 1e9 or scene.now)
    newest = next(rows(scene.connection, "SELECT max(captured) FROM session"))[0]
    since = f"; captured last {newest[:16].replace('T', ' ')} UTC" if newest else ""
    if not waiting:
        return judged("freshness", 100, f"everything is captured{since}", "")
    days = max(scene.now - oldest, 0) / DAY
    if newest and seconds_of(newest):
        days = min(days, max(scene.now - (seconds_of(newest) or 0), 0) / DAY)  # it waits since the last sweep at most
    says = f"{waiting:,} sources are not captured as they are now, for {days:.1f} days at most{since}"
    return judged("freshness", 100 - days * 12, says, "retro sweep captures them; retro schedule does so every hour")


def stores(scene: Scene) -> Dimension:
    """Whether the hosts' files and databases are laid out as they were."""
    wrong = [one for one in scene.hosts if one.state in ("broken", "unreadable")]
    there = [one for one in scene.hosts if one.state not in ("absent", "off")]
    says = f"{len(there) - len(wrong)} of {len(there)} agents on this machine are read as expected"
    score = 100.0 if not wrong else 40.0 if any(one.state == "broken" for one in wrong) else 60.0
    details = [f"{one.host}: {problem}" for one in wrong for problem in one.problems]
    return judged("agents' schemas", score, says, "retro schema-check says what suffers; others go on", details)


def yields(scene: Scene) -> Dimension:
    """Turns for each session, by host: one that suddenly gives none now writes in another way."""
    told = [one for one in scene.hosts if one.parse_yield is not None]
    none = [one for one in told if not one.parse_yield]
    says = ", ".join(f"{one.host} {one.parse_yield:g}" for one in told) or "no sessions yet"
    return judged("parse yield", 0 if none else 100, f"turns for each session: {says}", "retro schema-check", [])
