"""Signals of other distributions: modules that register them, named by entry points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retro import plugins
from retro.signals.base import SIGNALS, Reading, SessionContext, missing, register

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINTS: Final = "retro.signals"
"""The group of entry points; each names a module that registers signals when it is imported."""


def load_plugins() -> None:
    """Import what is installed. A module that cannot be imported is a signal without a value, which says why."""
    for point in plugins.installed(ENTRY_POINTS):
        before = set(SIGNALS)
        try:
            point.load()
        except Exception as error:
            _broken(point, f"{type(error).__name__}: {str(error)[:200]}")
        origin = point.dist.name if point.dist is not None else point.value
        for name in set(SIGNALS) - before:
            SIGNALS[name] = SIGNALS[name]._replace(origin=origin)


def _broken(point: EntryPoint, error: str) -> None:
    """Put a signal in the place of those that could not be loaded."""
    name = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in point.name.lower())
    said = f"{point.value} could not be loaded: {error}"

    def failed(session: SessionContext) -> Reading:
        return missing(said)

    name = f"plugin_{name}"[:64]
    if name not in SIGNALS:
        register(name, group="risk", kind="boolean", method="external", description="signals that could not be loaded")(
            failed
        )
