"""All dimensions, each looked at by itself: one that cannot be looked at says so and stops no other."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

import apsw
import msgspec

from retro.agents import databases
from retro.config import Settings
from retro.failure import Failure
from retro.finding import known_sources
from retro.health import archive, hosts, use
from retro.health.interface import AMBER, GREEN, RED, Dimension, Scene, Zone, judged
from retro.index.database import explained, open_reader
from retro.places import Places
from retro.presence import presence
from retro.reindex import session_count

DIMENSIONS: Final[tuple[tuple[str, Callable[[Scene], Dimension]], ...]] = (
    ("freshness", hosts.freshness),
    ("index schema", archive.schema),
    ("agents' schemas", hosts.stores),
    ("parse yield", hosts.yields),
    ("corpus", archive.corpus),
    ("accounting", archive.accounting),
    ("integrity", archive.integrity),
    ("digests", archive.digests),
    ("repositories", archive.repositories),
    ("latency", use.latency),
    ("probe", use.probe),
    ("contention", use.contention),
    ("disclosure", use.disclosure),
    ("space", archive.space),
)


class Health(msgspec.Struct):
    """How all is."""

    root: str
    zone: Zone
    """The worst of all."""
    score: int
    """The mean."""
    dimensions: list[Dimension]


def health(places: Places, settings: Settings, env: Mapping[str, str], host: str | None = None) -> Health:
    """Look at everything, or at what concerns one host."""
    try:
        connection = open_reader(places)
        if connection is None:
            return _without_index(places)
    except Failure as failure:
        broken = Dimension("index", RED, 0, failure.message, "retro doctor mends it")
        return _summed(places, [broken])
    try:
        known = known_sources(places)
        found = [one for one in presence(settings, env, known, connection) if host in (None, one.host)]
        scene = Scene(places, settings, env, connection, known, found, host, time.time())
        return _summed(places, [_looked_at(name, look, scene) for name, look in DIMENSIONS])
    except (apsw.Error, Failure) as error:
        told = error if isinstance(error, Failure) else explained(error, places.index)
        return _summed(places, [Dimension("index", RED, 0, told.message, "retro doctor mends it")])
    finally:
        connection.close()
        databases.release()


def _looked_at(name: str, look: Callable[[Scene], Dimension], scene: Scene) -> Dimension:
    try:
        return look(scene)
    except apsw.Error as error:
        return Dimension(name, RED, 0, explained(error, scene.places.index).message, "retro doctor mends it")
    except Failure as failure:
        return Dimension(name, RED, 0, failure.message, failure.hint)
    except OSError as error:
        return Dimension(name, RED, 0, f"{error.strerror}: {error.filename}", "check the disk and the permissions")


def _without_index(places: Places) -> Health:
    kept = session_count(places)
    if kept:
        lost = Dimension("index", RED, 0, f"the index of {kept:,} sessions is missing", "retro doctor rebuilds it")
        return _summed(places, [lost])
    return _summed(places, [judged("corpus", 60, "nothing is captured yet", "retro sweep captures every session")])


def _summed(places: Places, found: list[Dimension]) -> Health:
    zones = {one.zone for one in found}
    worst: Zone = RED if RED in zones else AMBER if AMBER in zones else GREEN
    return Health(places.root, worst, round(sum(one.score for one in found) / len(found)), found)
