"""Signals of the group risk: what is not known of the session, and what in it could do harm."""

from __future__ import annotations

from functools import partial

from retro.signals.activity import NO_EVENTS
from retro.signals.base import Reading, SessionContext, missing, reading, register


def _counted(what: str, session: SessionContext) -> Reading:
    """How often something was counted."""
    if not session.count("events"):
        return missing(NO_EVENTS)
    return reading(session.count(what), evidence=session.notes.get(what, ()))


for _name, _what, _description in (
    ("unknown_event_count", "unknown", "records of a type that retro does not know, kept whole"),
    ("events_without_timestamps", "no_timestamp", "events of which the host wrote no time"),
    ("secret_exposure_count", "secrets", "events in which a secret stood, which was masked"),
    ("injection_marker_count", "marks", "events with marks of prompt injection or invisible characters"),
):
    register(_name, group="risk", kind="numeric", method="heuristic", description=_description, unit="events")(
        partial(_counted, _what)
    )


@register(
    "secret_exposure_signal",
    group="risk",
    kind="boolean",
    method="regex",
    description="whether a secret stood in the session",
)
def secret_exposure_signal(session: SessionContext) -> Reading:
    """Any secret."""
    if not session.count("events"):
        return missing(NO_EVENTS)
    return reading(session.count("secrets") > 0, evidence=session.notes.get("secrets", ()))


@register(
    "capture_gap_signal",
    group="risk",
    kind="boolean",
    method="heuristic",
    description="whether something of the session is not understood: damaged records, or records of an unknown type",
)
def capture_gap_signal(session: SessionContext) -> Reading:
    """Anything malformed or unknown."""
    accounting = session.accounting
    if not accounting.total():
        return missing("no byte of a transcript was captured")
    damaged = sum(count for count, _ in accounting.malformed.values())
    unknown = sum(count for count, _ in accounting.unknown.values())
    said = f"{damaged} damaged stretches, {unknown} records of unknown types" if damaged or unknown else None
    return reading(bool(damaged or unknown), evidence=session.notes.get("unknown", ()), reason=said)
