"""A pattern: something that several sessions had in common, with where it was seen and what a person made of it."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final, Literal

import msgspec

from retro.mining.base import Evidence

Kind = Literal["problem", "correction", "success"]
State = Literal["new", "confirmed", "ignored", "resolved"]

STATES: Final[tuple[State, ...]] = ("new", "confirmed", "ignored", "resolved")


class Resolution(msgspec.Struct, frozen=True):
    """What worked best after a problem, in how many of the sessions that tried it, and how other attempts did."""

    how: str
    program: str
    flags: list[str]
    worked: int
    tried: int
    others_worked: int
    others_tried: int
    lift_low: float
    others_of_any: bool = False
    """Whether the other attempts are those at any problem, as there were too few at this one."""


class Pattern(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Something that recurs."""

    id: str
    kind: Kind
    program: str
    """What failed or worked; '' where it was several programs, or none."""
    signature: str
    example: str
    """One occurrence, as it stands in its session."""
    sessions: int
    """Distinct sessions."""
    occurrences: int
    hosts: list[str]
    repositories: list[str]
    programs: list[str] = []
    """Where it was several: those that had it most often."""
    first_seen: str | None = None
    last_seen: str | None = None
    resolution: Resolution | None = None
    evidence: list[Evidence] = []
    aliases: list[str] = []
    """Ids of the patterns that this one would be if fewer sessions were alike; each keeps what was decided of it."""
    state: State = "new"
    note: str | None = None

    @property
    def cross_host(self) -> bool:
        """Whether sessions of several hosts had it."""
        return len(self.hosts) > 1


def pattern_id(kind: str, program: str, signature: str) -> str:
    """The identity of a pattern."""
    return "p_" + blake2b("\0".join((kind, program, signature)).encode("utf-8", "replace"), digest_size=6).hexdigest()
