"""Dimensions of what is kept: its schema, size, digests, repositories, accounting, integrity, space."""

from __future__ import annotations

import os
import random
from typing import Final

from retro.archive.account import bytes_of
from retro.health.interface import Dimension, Scene, judged
from retro.index import queries
from retro.index.database import rows
from retro.index.drift import drift
from retro.upkeep.caps import limits_of
from retro.upkeep.verify import verify

NEWEST: Final = 200
"""Sessions whose accounting is added up."""

SAMPLE_SESSIONS: Final = 8
SAMPLE_BYTES: Final = 32 * 1024 * 1024
"""What is read again to see whether the archive is whole."""


def schema(scene: Scene) -> Dimension:
    """Whether the index has the tables that this version makes."""
    found = drift(scene.connection)
    says = "the index is as this version makes it" if not found else f"{len(found)} parts of the index differ"
    return judged("index schema", 0 if found else 100, says, "retro doctor rebuilds the index", found[:20])


def corpus(scene: Scene) -> Dimension:
    """How much there is."""
    query = "SELECT count(*), coalesce(sum(turns), 0), coalesce(sum(events), 0) FROM session WHERE ? IN (host, '')"
    sessions, turns, events = next(rows(scene.connection, query, (scene.host or "",)))
    says = f"{sessions:,} sessions, {turns:,} turns, {events:,} events"
    return judged("corpus", 100 if sessions else 60, says, "retro sweep captures every session on this machine")


def digests(scene: Scene) -> Dimension:
    """For how many sessions there is a digest that covers all of it."""
    return _share(scene, "digests", "digest_events IS events", "sessions are digested", "retro sweep digests them", 60)


def repositories(scene: Scene) -> Dimension:
    """Of how many sessions the repository is known, without which recall cannot find them."""
    hint = "sessions outside of git repositories are found with retro recall --all"
    return _share(scene, "repositories", "clone IS NOT NULL", "sessions belong to a known repository", hint, 60)


def _share(scene: Scene, name: str, condition: str, says: str, hint: str, floor: int) -> Dimension:
    query = f"SELECT count(*), coalesce(sum({condition}), 0) FROM session WHERE events > 0 AND ? IN (host, '')"  # noqa: S608
    total, having = next(rows(scene.connection, query, (scene.host or "",)))
    share = having / total if total else 1.0
    return judged(name, floor + (100 - floor) * share, f"{having:,} of {total:,} {says} ({share:.0%})", hint)


def accounting(scene: Scene) -> Dimension:
    """Whether every byte of the newest sessions is accounted for, and how many could not be read."""
    query = "SELECT host, session_id FROM session WHERE ? IN (host, '') ORDER BY ended DESC LIMIT ?"
    wrong, size, lost = [], 0, 0
    for host, session_id in list(rows(scene.connection, query, (scene.host or "", NEWEST))):
        found = bytes_of(queries.detail(scene.connection, host, session_id).current)
        size += found.size
        lost += found.unknown + found.malformed
        if not found.exact:
            wrong.append(f"{host} {session_id}: the parts do not add up to {found.size:,} bytes")
    share = lost / size if size else 0.0
    says = f"every byte of the newest sessions is accounted for; {share:.3%} of them unknown or malformed"
    if wrong:
        says = f"{len(wrong)} of the newest sessions are not exactly accounted for"
    score = 0 if wrong else 100 - share * 2000
    return judged("accounting", score, says, "retro show tells which records; please report their type", wrong[:20])


def integrity(scene: Scene) -> Dimension:
    """Whether a sample of the archive still holds what was written: the newest sessions, and some by chance."""
    query = (
        "SELECT host, session_id, raw_bytes + normalized_bytes FROM session WHERE normaliser >= 0 AND ? IN (host, '')"
        " ORDER BY ended DESC"
    )
    known = list(rows(scene.connection, query, (scene.host or "",)))
    rest = known[2:]
    chosen, size = list[tuple[str, str]](), 0
    for host, session_id, length in known[:2] + random.sample(rest, min(SAMPLE_SESSIONS - 2, len(rest))):
        if not chosen or size + length <= SAMPLE_BYTES:
            chosen.append((host, session_id))
            size += length
    found = verify(scene.places, scene.connection, chosen)
    details = [f"{one.host} {one.session_id}, {one.source}: {one.reason}" for one in found.damages]
    says = f"{found.sessions} sessions ({found.bytes:,} bytes) read again, {len(found.damages)} damages"
    return judged("integrity", 0 if details else 100, says, "retro verify --repair mends what can be mended", details)


def space(scene: Scene) -> Dimension:
    """How the archive stands against its budget, and the disk against what may come."""
    limits = limits_of(scene.settings)
    query = "SELECT coalesce(sum(raw_bytes + normalized_bytes), 0) FROM session"
    used = next(rows(scene.connection, query))[0]
    stat = os.statvfs(scene.places.root) if hasattr(os, "statvfs") else None
    free = stat.f_bavail * stat.f_frsize if stat else None
    hint = "retro space says what goes next; [retention] in the settings sets the budget"
    if free is not None and free < 1_000_000_000:
        return judged("space", 20, f"{free / 1e6:,.0f} MB are left on the disk", hint)
    cap = limits.hard or limits.soft
    if cap is None:
        return judged("space", 100, f"{used / 1e6:,.1f} MB, and no budget", hint)
    share = used / cap
    return judged("space", 100 - max(0.0, share - 0.8) * 200, f"{used / 1e6:,.1f} MB, {share:.0%} of the budget", hint)
