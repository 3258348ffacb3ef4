"""What each file of the site holds, made when it is asked for: for the disk, or for a page that is served."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Final

import apsw
import msgspec

from retro.archive.frames import Damaged
from retro.archive.reading import session_events
from retro.config import Settings
from retro.dashboard import attention, data, memories, overview, sections, spending, transcript
from retro.dashboard.memories import Remembered
from retro.dashboard.overview import Choice, Row, Shared
from retro.dashboard.session_page import SessionPages
from retro.event import Event
from retro.index import queries
from retro.ledger.cube import by_session
from retro.ledger.reports import Amount
from retro.places import Places

OVERVIEW: Final = "overview"


class Contents:
    """The data of a site, as the index has it."""

    def __init__(self, connection: apsw.Connection, places: Places, choice: Choice) -> None:
        self._connection, self._places, self._choice = connection, places, choice

    @cached_property
    def sessions(self) -> SessionPages:
        """Pages of sessions."""
        remembered = None if self._choice.strict else Remembered(self._connection, self._places)
        return SessionPages(self._connection, remembered, self.amounts, self._choice)

    @cached_property
    def amounts(self) -> dict[tuple[str, str], Amount]:
        """What each session took, by host and id."""
        return by_session(self._connection, self._choice.mode)

    def transcript(self, host: str, session_id: str) -> list[data.Transcript]:
        """The parts of a session's transcript; none where its events were given up or cannot be read."""
        events = self.events(host, session_id)
        if not events:
            return []
        shown = transcript.parts(transcript.entries(events))
        return [data.Transcript(data.DATA_VERSION, number, part) for number, part in enumerate(shown)]

    def events(self, host: str, session_id: str) -> list[Event]:
        """A session's events, as far as they are there."""
        found = queries.detail(self._connection, host, session_id)
        if self._choice.strict or found.replacing or not found.normalized_bytes:
            return []
        path = self._places.checked(self._places.normalized(host, session_id))
        damage: list[Damaged] = []
        try:
            return session_events(path, found.agents, found.normalized_bytes, damage)
        except (OSError, Damaged):
            return []

    def overview(self, found: list[Row], settings: Settings, env: Mapping[str, str]) -> dict[str, msgspec.Struct]:
        """The first screen, the further portions of its table, and the pages beside it, by name."""
        choice, connection = self._choice, self._connection
        beside = sections.sections(connection, self._places, choice)
        outcomes = overview.outcomes(connection)
        names = overview.shared(choice)
        days = overview.days(connection, choice, names)
        portions = [overview.table(some, self.amounts, outcomes, names, choice) for some in overview.chunks(found)]
        activity = overview.activity(connection, choice, names)
        ended = overview.ended(found, outcomes, names, choice.zone)
        woven = self._woven(names)
        kept = overview.kept(connection)
        space = attention.space(connection, self._places, settings, choice.strict)
        seen = attention.Seen(days, names.models.texts, kept, space, beside)
        notices = attention.Attending(connection, self._places, settings, env, choice).all(seen)
        chunks = [f"sessions/{number}" for number in range(1, len(portions))]
        months = spending.months(connection, choice, found)
        shown = data.Overview(
            **overview.now(choice),
            hosts=names.hosts.texts,
            projects=names.projects.texts,
            models=names.models.texts,
            days=days,
            activity=activity,
            ended=ended,
            total_sessions=len(found),
            chunks=chunks,
            sessions=portions[0],
            attention=notices,
            kept=kept,
            space=space,
            woven=woven,
            months=list(months),
            sections=list(beside),
        )
        return {OVERVIEW: shown, **dict(zip(chunks, portions[1:], strict=True)), **months, **beside}

    def _woven(self, names: Shared) -> memories.Woven | None:
        """Memories that were handed to sessions; None where none was."""
        counts = memories.used(self._connection, self._places, self._choice)
        table = memories.Woven()
        for (day, host, project), number in sorted(counts.items(), key=lambda item: (item[0][0], item[0][1])):
            table.day.append(day)
            table.host.append(names.hosts.place(host))
            table.project.append(names.projects.place(project))
            table.used.append(number)
        return table if counts else None
