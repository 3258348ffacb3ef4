"""Raw bulk kept within a budget: what goes first, what never goes, and what a pass did about it.

The oldest digested sessions go first, each of them rendered text before events before raw bytes, until the soft cap
holds. What is pinned stays, and so does what was not distilled yet, unless the user allows its loss for the hard cap.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import Final

import apsw
import msgspec

from retro.archive.state_log import PINNED, UNPINNED, Decision, append, name_hash
from retro.digests import keeping
from retro.index.database import open_writer, rows
from retro.places import Places
from retro.upkeep.caps import Limits
from retro.upkeep.evict import KINDS, NORMALISED, RAW, RENDERED, evict

DAY_SECONDS: Final = 86400
DISTILLED: Final = ("digests", "ledger", "signals", "patterns", "memories", "mined", "headless")
"""What stays for good; only its own cap is watched, and nothing of it is ever deleted."""


class Holding(msgspec.Struct):
    """What one session takes on the disk, by kind, and whether it may go."""

    host: str
    session_id: str
    title: str | None
    active: str
    """When it was last active; when it was captured, where it tells no time."""
    bytes: dict[str, int]
    digested: bool
    pinned: bool

    @property
    def size(self) -> int:
        """What it takes as a whole."""
        return sum(self.bytes.values())


class Eviction(msgspec.Struct):
    """A session of which something goes, or went."""

    host: str
    session_id: str
    title: str | None
    active: str
    kinds: list[str]
    bytes: int
    digested: bool
    reason: str
    """`soft_cap`, `hard_cap` or `age`."""


class Usage(msgspec.Struct):
    """What takes how much space, in bytes on the disk."""

    raw: int = 0
    normalised: int = 0
    rendered: int = 0
    distilled: int = 0

    @property
    def bulk(self) -> int:
        """What the caps are about."""
        return self.raw + self.normalised + self.rendered


class Pass(msgspec.Struct):
    """What one pass gave up, or would give up."""

    usage: int
    """Bulk before it, in bytes."""
    final_usage: int
    freed: int
    evictions: list[Eviction]
    data_loss: list[Eviction]
    """Those of them from which nothing had been distilled."""
    over_hard_cap: bool = False
    """The hard cap does not hold: what is left is pinned, or not distilled."""
    distilled: int | None = None
    """What is distilled takes so much, which is more than its cap."""


# --- what there is ---------------------------------------------------------------------------------------------------


def holdings(connection: apsw.Connection, places: Places) -> list[Holding]:
    """Every session that takes space, oldest first."""
    rendered = _rendered(places)
    query = (
        "SELECT host, session_id, title, coalesce(ended, captured), raw_bytes, normalized_bytes, pinned,"
        " digest_events IS events FROM session ORDER BY coalesce(ended, captured), host, session_id"
    )
    found = []
    for host, session_id, title, active, raw, normalised, pinned, digested in rows(connection, query):
        sizes = {RENDERED: rendered.get(places.rendered(host, session_id), 0), NORMALISED: normalised, RAW: raw}
        there = {kind: size for kind, size in sizes.items() if size}
        if there:
            found.append(Holding(host, session_id, title, active, there, bool(digested), bool(pinned)))
    return found


def _rendered(places: Places) -> dict[str, int]:
    folder = os.path.join(places.root, "rendered")
    return {path: size for path, size in _sizes(folder) if path.endswith(".md")}


def rendered_bytes(places: Places) -> int:
    """What is rendered takes so much."""
    return sum(_rendered(places).values())


def distilled_bytes(places: Places) -> int:
    """What is kept for good takes so much."""
    return sum(size for family in DISTILLED for _, size in _sizes(os.path.join(places.root, family)))


def _sizes(folder: str) -> Iterable[tuple[str, int]]:
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            try:
                yield path, os.lstat(path).st_size
            except OSError:
                continue


# --- what goes -------------------------------------------------------------------------------------------------------


def plan(found: list[Holding], wanted: Limits, oldest_kept: str) -> list[Eviction]:
    """What is to be given up of sessions (oldest first) so that the limits hold; `oldest_kept` is the age's moment."""
    left = {(one.host, one.session_id): one.bytes for one in found}
    usage = sum(one.size for one in found)
    going: list[Eviction] = []
    for one in found:
        if wanted.max_age_days is None or one.active >= oldest_kept:
            break
        if one.digested and not one.pinned:
            going.append(_eviction(one, list(one.bytes), "age"))
            left[one.host, one.session_id] = {}
            usage -= one.size
    caps = [(wanted.target, True, "soft_cap" if wanted.soft is not None else "hard_cap")]
    if wanted.allow_data_loss:
        caps.append((wanted.hard, False, "hard_cap"))
    for cap, digested, reason in caps:
        for one in found if cap is not None else ():
            if one.pinned or one.digested is not digested:
                continue
            there = left[one.host, one.session_id]
            kinds = list[str]()
            for kind in KINDS:
                if kind in there and cap is not None and usage > cap:
                    kinds.append(kind)
                    usage -= there[kind]
            if kinds:
                going.append(_eviction(one, kinds, reason))
    return going


def _eviction(one: Holding, kinds: list[str], reason: str) -> Eviction:
    size = sum(one.bytes[kind] for kind in kinds)
    return Eviction(one.host, one.session_id, one.title, one.active, kinds, size, one.digested, reason)


def foreseen(connection: apsw.Connection, places: Places, wanted: Limits) -> Pass:
    """What the next pass would give up."""
    found = holdings(connection, places)
    going = plan(found, wanted, _days_ago(wanted.max_age_days))
    return _passed(places, wanted, sum(one.size for one in found), going, sum(one.bytes for one in going))


def keep_within(places: Places, wanted: Limits) -> Pass:
    """Give up what has to go so that the limits hold. The caller holds the archive's lock."""
    connection = open_writer(places.index)
    try:
        oldest_kept = _days_ago(wanted.max_age_days)
        found = holdings(connection, places)
        going = plan(found, wanted, oldest_kept)
        if going:  # what is to go must be in a digest that is there, and whole
            keeping.ensure(connection, places, [(one.host, one.session_id) for one in going if one.digested])
            found = holdings(connection, places)
            going = plan(found, wanted, oldest_kept)
        freed = 0
        for one in going:
            one.bytes = evict(connection, places, one.host, one.session_id, one.kinds, digested=one.digested)
            freed += one.bytes
    finally:
        connection.close()
    return _passed(places, wanted, sum(one.size for one in found), going, freed)


def _passed(places: Places, wanted: Limits, usage: int, going: list[Eviction], freed: int) -> Pass:
    final = usage - freed
    distilled = distilled_bytes(places) if wanted.distilled is not None else 0
    return Pass(
        usage=usage,
        final_usage=final,
        freed=freed,
        evictions=going,
        data_loss=[one for one in going if not one.digested],
        over_hard_cap=wanted.hard is not None and final > wanted.hard,
        distilled=distilled if wanted.distilled is not None and distilled > wanted.distilled else None,
    )


def _days_ago(days: int | None) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - (days or 0) * DAY_SECONDS))


# --- pins ------------------------------------------------------------------------------------------------------------


def pin(places: Places, host: str, session_id: str, *, keep: bool = True) -> bool:
    """Keep a session from ever being given up, or no longer; whether that was new. The caller holds the lock."""
    connection = open_writer(places.index)
    try:
        query = "SELECT pinned FROM session WHERE host = ? AND session_id = ?"
        if next(rows(connection, query, (host, session_id)), (int(keep),))[0] == int(keep):
            return False
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        append(places, [Decision(now, PINNED if keep else UNPINNED, name_hash(host, session_id))])
        with connection:
            connection.execute(
                "UPDATE session SET pinned = ? WHERE host = ? AND session_id = ?", (int(keep), host, session_id)
            )
    finally:
        connection.close()
    return True
