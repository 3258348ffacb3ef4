"""Dimensions of recall: how fast it answers, whether it finds what it should, how it is called."""

from __future__ import annotations

import time
from typing import Final

from retro import inbox
from retro.failure import BUSY
from retro.health.interface import Dimension, Scene, judged
from retro.index.database import rows
from retro.light import looking
from retro.light.scope import Scope, everything

RUNS: Final = 5
FEW: Final = 20
"""Calls below which shares say nothing."""


def latency(scene: Scene) -> Dimension:
    """How long the queries of recall take in process, for the repository with the most sessions."""
    query = "SELECT clone FROM session WHERE clone IS NOT NULL GROUP BY clone ORDER BY count(*) DESC LIMIT 1"
    clones = [number for (number,) in rows(scene.connection, query)]
    scope = Scope("", clones, wide=not clones)
    spent = []
    for _ in range(RUNS):
        began = time.perf_counter()
        looking.files(scene.connection, scope, 10)
        looking.sessions(scene.connection, scope, 10)
        spent.append((time.perf_counter() - began) * 1000)
    taken = sorted(spent)[RUNS // 2]
    hint = "is the archive on a slow disk, or does a scanner read along?"
    return judged("latency", 100 - max(0.0, taken - 20), f"recall's queries take {taken:.1f} ms", hint)


def probe(scene: Scene) -> Dimension:
    """End to end: the newest session is listed, and can be shown."""
    name = "probe"
    order = "ORDER BY ended DESC LIMIT 1"
    newest = list(rows(scene.connection, f"SELECT session_id, turns FROM session WHERE turns > 0 {order}"))  # noqa: S608
    if not newest:
        return judged(name, 100, "there is no session yet to look for", "")
    session_id, turns = newest[0]
    scope = everything(scene.connection)
    listed = [one.id for one in looking.sessions(scene.connection, scope, 50)]
    shown = looking.find(scene.connection, scope, session_id)
    told = looking.turns(scene.connection, shown.number, None)
    found = session_id in listed and len(told) == turns
    says = "the newest session is listed and shown" if found else f"session {session_id} is not found as it should be"
    return judged(name, 100 if found else 0, says, "retro doctor brings the index into step")


def contention(scene: Scene) -> Dimension:
    """How many calls of recall found the index locked for too long."""
    calls = _calls(scene)
    busy = sum(call.get("exit") == BUSY for call in calls)
    share = busy / len(calls) if calls else 0.0
    says = f"{busy} of the last {len(calls)} calls found the index locked"
    return judged("contention", 100 - share * 1000, says, "another program holds the index for long; which one?")


def disclosure(scene: Scene) -> Dimension:
    """How much recall is asked for by tier: who looks first and reads then pays the least."""
    if not scene.settings.telemetry:
        return judged("disclosure", 100, "calls are not noted: recall.telemetry is off", "")
    calls = [call for call in _calls(scene) if call.get("exit") is None]
    tiers = [sum(call.get("tier") == tier for call in calls) for tier in (1, 2, 3)]
    if len(calls) < FEW:
        return judged("disclosure", 100, f"{len(calls)} calls: too few to tell", "")
    says = ", ".join(f"tier {tier + 1} {count / len(calls):.0%}" for tier, count in enumerate(tiers))
    score = 100 - max(0.0, tiers[2] / len(calls) - 0.4) * 100
    return judged("disclosure", score, f"{len(calls)} calls: {says}", "retro recall list first, then show what matters")


def _calls(scene: Scene) -> list[dict[str, object]]:
    return inbox.last(scene.places, inbox.CALLS, inbox.CALLS_KEPT)
