"""A dimension of health: one thing that is looked at, the zone that it is in, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import apsw
import msgspec

from retro.config import Settings
from retro.finding import Known
from retro.places import Places
from retro.presence import Presence

GREEN: Final = "green"
AMBER: Final = "amber"
RED: Final = "red"
Zone: TypeAlias = Literal["green", "amber", "red"]

BOUNDS: Final = {GREEN: 80, AMBER: 50}
"""Least score of a zone; below all of them it is red."""


class Dimension(msgspec.Struct, omit_defaults=True):
    """What was found in one dimension."""

    name: str
    zone: Zone
    score: int
    """From 0 to 100."""
    says: str
    """What was found, in a line."""
    hint: str | None = None
    """What to do, where it is not green."""
    details: list[str] = []


class Scene(msgspec.Struct):
    """What is looked at: an archive, its index, the hosts on this machine, and of which host in particular."""

    places: Places
    settings: Settings
    env: Mapping[str, str]
    connection: apsw.Connection
    known: Known
    hosts: list[Presence]
    host: str | None
    now: float


def zone_of(score: float) -> Zone:
    """The zone of a score."""
    return GREEN if score >= BOUNDS[GREEN] else AMBER if score >= BOUNDS[AMBER] else RED


def judged(name: str, score: float, says: str, hint: str, details: list[str] | None = None) -> Dimension:
    """A dimension by its score; the hint stands only where there is something to do."""
    whole = max(0, min(100, round(score)))
    zone = zone_of(whole)
    return Dimension(name, zone, whole, says, None if zone == GREEN else hint, details or [])
