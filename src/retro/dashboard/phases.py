"""What a session did when: stretches of looking, changing and checking, as its track has them."""

from __future__ import annotations

from typing import Final

import apsw

from retro.dashboard.data import Phase
from retro.index.database import rows
from retro.index.rows import track_of
from retro.index.tracks import whole_track
from retro.signals.steps import steps_of
from retro.signals.trajectory import PHASES
from retro.track.columns import NO_TIME, Flag, Track

MOST: Final = 300
_NAMES: Final = {"x": "looking", "f": "changing", "t": "checking"}
_TRACK: Final = "SELECT track, revision FROM source WHERE session = ? AND key = 'main' AND current = 1"
_BLOCKS: Final = (
    "SELECT body FROM track_block WHERE session = ? AND key = 'main' AND revision = ? AND place >= 0 ORDER BY place"
)


def phases(connection: apsw.Connection, number: int) -> list[Phase]:
    """The phases of a session; none where it has no track, or more than can be shown."""
    track = whole_track(connection, number) or _of_main(connection, number)
    if track is None:
        return []
    steps = steps_of([(True, track)], {})
    found: list[Phase] = []
    for place in steps.own:
        kind = _NAMES.get(PHASES.get(steps.kinds[place], ""))
        if kind is None and not found:
            continue
        moment = steps.times[place]
        at = -1 if moment == NO_TIME else moment // 1000
        if kind is not None and (not found or found[-1].kind != kind):
            found.append(Phase(kind, at, at, 0, 0, next(steps.events([place]))))
        last = found[-1]
        last.begun = at if last.begun < 0 else last.begun
        last.ended = max(last.ended, at)
        last.steps += 1
        last.failed += bool(steps.flags[place] & Flag.FAILED)
    return found if len(found) <= MOST else []


def _of_main(connection: apsw.Connection, number: int) -> Track | None:
    for stored, revision in rows(connection, _TRACK, (number,)):
        track = track_of(stored)
        track.blocks = [body for (body,) in rows(connection, _BLOCKS, (number, revision))]
        return track
    return None
