"""What a session did when: stretches of looking, changing and checking, as its track has them."""

from __future__ import annotations

from typing import Final

import apsw

from retro.dashboard import data
from retro.dashboard.columns import packed, steps
from retro.index.database import rows
from retro.index.rows import track_of
from retro.index.tracks import whole_track
from retro.signals.steps import steps_of
from retro.signals.trajectory import PHASES
from retro.track.columns import NO_TIME, Flag, Track

MOST: Final = 300
_PLACES: Final = {"x": 0, "f": 1, "t": 2}
"""Looking, changing, checking."""
_TRACK: Final = "SELECT track, revision FROM source WHERE session = ? AND key = 'main' AND current = 1"
_BLOCKS: Final = (
    "SELECT body FROM track_block WHERE session = ? AND key = 'main' AND revision = ? AND place >= 0 ORDER BY place"
)


class _Phase:
    """A stretch in the making."""

    def __init__(self, kind: int, at: int, event: str) -> None:
        self.kind, self.begun, self.ended, self.event = kind, at, at, event
        self.steps = self.failed = 0


def phases(connection: apsw.Connection, number: int) -> data.Phases:
    """The phases of a session; none where it has no track, or more than can be shown."""
    found = _found(connection, number)
    if not 0 < len(found) <= MOST:
        return data.Phases()
    return data.Phases(
        event=[one.event for one in found],
        kind=packed([one.kind for one in found]),
        begun=packed(steps([one.begun for one in found])),
        took=packed([one.ended - one.begun for one in found]),
        steps=packed([one.steps for one in found]),
        failed=packed([one.failed for one in found]),
    )


def _found(connection: apsw.Connection, number: int) -> list[_Phase]:
    track = whole_track(connection, number) or _of_main(connection, number)
    if track is None:
        return []
    taken = steps_of([(True, track)], {})
    found: list[_Phase] = []
    for place in taken.own:
        kind = _PLACES.get(PHASES.get(taken.kinds[place], ""))
        if kind is None and not found:
            continue
        moment = taken.times[place]
        at = -1 if moment == NO_TIME else moment // 1000
        if kind is not None and (not found or found[-1].kind != kind):
            found.append(_Phase(kind, at, next(taken.events([place]))))
        last = found[-1]
        last.begun = at if last.begun < 0 else last.begun
        last.ended = max(last.ended, at)
        last.steps += 1
        last.failed += bool(taken.flags[place] & Flag.FAILED)
    return found


def _of_main(connection: apsw.Connection, number: int) -> Track | None:
    for stored, revision in rows(connection, _TRACK, (number,)):
        track = track_of(stored)
        track.blocks = [body for (body,) in rows(connection, _BLOCKS, (number, revision))]
        return track
    return None
