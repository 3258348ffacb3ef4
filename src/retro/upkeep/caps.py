"""How much space and time the user gives the archive."""

from __future__ import annotations

import msgspec

from retro.config import Settings


class Limits(msgspec.Struct, frozen=True):
    """What the user allows: bytes on the disk, and an age in days. None: no limit."""

    soft: int | None = None
    hard: int | None = None
    max_age_days: int | None = None
    distilled: int | None = None
    allow_data_loss: bool = False

    @property
    def any(self) -> bool:
        """Whether there is something to keep to."""
        return not (self.soft is self.hard is self.max_age_days is self.distilled is None)

    @property
    def target(self) -> int | None:
        """What digested sessions are given up for."""
        return min(filter(None, (self.soft, self.hard)), default=None)


def limits_of(settings: Settings) -> Limits:
    """The limits that the settings name."""
    return Limits(
        settings.limit("raw_soft_cap_bytes"),
        settings.limit("raw_hard_cap_bytes"),
        settings.limit("raw_max_age_days"),
        settings.limit("distilled_cap_bytes"),
        settings.allow_data_loss,
    )
