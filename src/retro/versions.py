"""Which versions of our own work make what is derived: what another one made is made again."""

from __future__ import annotations

from retro import agents, secrets


def versions(host: str) -> tuple[int, int]:
    """Which normaliser and which masking rules make a host's events now."""
    return agents.named(host).NORMALISER, secrets.RULES_VERSION
