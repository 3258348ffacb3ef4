"""One session as the dashboard shows it: what it is, its turns, its receipt."""

from __future__ import annotations

from typing import Any, Final

import apsw
import msgspec

from retro.archive.account import Bytes
from retro.dashboard import data
from retro.dashboard.memories import Remembered
from retro.dashboard.overview import Choice, Row, shown_id
from retro.dashboard.phases import phases
from retro.dashboard.receipt import Receipts
from retro.digests import making
from retro.digests.digest import Digest
from retro.index.database import rows
from retro.places import Places, safe_name

TURNS: Final = 400
TEXT: Final = 1200
"""Characters of a prompt or answer; the transcript has them whole."""
CHILDREN: Final = 100
FILES: Final = 300

_TURNS: Final = (
    f"SELECT turn, substr(prompt, 1, {TEXT}), event_id, substr(answer, 1, {TEXT}), started, ended, events, actions,"  # noqa: S608
    " commands, edits, errors, input_tokens + output_tokens + cache_read_tokens + cache_write_tokens, files"
    f" FROM turn WHERE session = ? ORDER BY turn LIMIT {TURNS}"
)
_READINGS: Final = "SELECT signal, value, confidence, reason, evidence FROM reading WHERE session = ?"
_BESIDE: Final = (
    "SELECT captured, raw_bytes + normalized_bytes, pinned, events_evicted,"
    " EXISTS (SELECT 1 FROM source WHERE session = session.id AND base > 0) FROM session WHERE id = ?"
)
_CHILDREN: Final = (
    "SELECT host, parent, session_id, title FROM session WHERE parent IS NOT NULL ORDER BY started, session_id"
)
_DIGESTED: Final = ("goal", "result", "outcome", "files", "commands", "tests", "commits", "problems", "corrections")

_decode_names: Final = msgspec.json.Decoder(list[str]).decode


class SessionPages:
    """Makes the pages of sessions; what they share is looked up once."""

    def __init__(self, connection: apsw.Connection, places: Places, choice: Choice) -> None:
        self._connection, self._choice = connection, choice
        self._receipts = Receipts(connection, choice.mode)
        self._remembered = None if choice.strict else Remembered(connection, places)
        self._children: dict[tuple[str, str], list[tuple[str, str | None]]] = {}
        for host, parent, session_id, title in rows(connection, _CHILDREN):
            self._children.setdefault((host, parent), []).append((session_id, title))

    def beside(self, row: Row) -> tuple[object, ...]:
        """What a session's page shows that stands in no row of its own: to see whether it changed."""
        key = (row.host, row.session_id)
        memory = self._remembered.of(*key) if self._remembered else None
        return len(self._children.get(key, ())), memory

    def page(self, row: Row, parts: int) -> data.SessionPage:
        """All about one session but its transcript, which has so many parts."""
        made = making.make(self._connection, row.number)
        captured, size, pinned, evicted, cut = next(rows(self._connection, _BESIDE, (row.number,)))
        page = _page(made, file_name(row.session_id, self._choice))
        page.amounts = self._receipts.amounts(row.host, row.session_id)
        page.readings = [data.Reading(*one) for one in self._readings(row.number)]
        page.archive_bytes, page.captured, page.pinned, page.parts = size, captured, bool(pinned), parts
        page.given_up = "raw" if cut else "events" if evicted else ""
        if self._choice.strict:
            return _without_words(page)
        page.requests, page.requests_left_out = self._receipts.requests(row.host, row.session_id)
        page.turns = [_turn(turn) for turn in rows(self._connection, _TURNS, (row.number,))]
        page.turns_left_out = max(made.counts.turns - len(page.turns), 0)
        page.children = self._children.get((row.host, row.session_id), [])[:CHILDREN]
        page.phases = phases(self._connection, row.number) if parts else []
        page.digest = _told(made)
        page.memory = self._remembered.of(row.host, row.session_id) if self._remembered else None
        return page

    def _readings(self, number: int) -> list[tuple[Any, ...]]:
        found = rows(self._connection, _READINGS, (number,))
        return [
            (name, value, sure, reason, msgspec.Raw(events.encode())) for name, value, sure, reason, events in found
        ]


def file_name(session_id: str, choice: Choice) -> str:
    """How a session's files are called, within the folder of its host."""
    return shown_id(session_id) if choice.strict else safe_name(session_id)


def _page(made: Digest, file: str) -> data.SessionPage:
    """What a digest tells of a session."""
    names = ("turns", "events", "commands", "edits", "errors", "agents")
    return data.SessionPage(
        version=data.DATA_VERSION,
        host=made.host,
        id=made.session_id,
        file=file,
        title=made.title,
        project=made.project,
        repository=made.repository,
        branch=made.branch,
        cwd=made.cwd,
        parent=made.parent,
        children=[],
        started=made.started,
        ended=made.ended,
        models=made.models,
        versions=made.host_versions,
        counts={name: getattr(made.counts, name) for name in names},
        accounting={name: getattr(made.bytes, name) for name in Bytes.__struct_fields__},
        archive_bytes=0,
        captured="",
        pinned=False,
        given_up="",
        amounts=[],
        requests=data.Requests(),
        requests_left_out=0,
        turns=[],
        turns_left_out=0,
        readings=[],
        phases=[],
        digest=None,
        memory=None,
        parts=0,
    )


def _without_words(page: data.SessionPage) -> data.SessionPage:
    """The same without a word that stands in the session."""
    page.id = shown_id(page.id)
    page.title = page.project = page.repository = page.branch = page.cwd = page.parent = None
    for one in page.readings:
        one.evidence = msgspec.Raw(b"[]")
        one.value = one.value if one.name == "outcome" or isinstance(one.value, (int, float)) else None
    return page


def _told(made: Digest) -> dict[str, object]:
    """What of a digest stands nowhere else on the page."""
    made.files = made.files[:FILES]
    return {name: value for name in _DIGESTED if (value := getattr(made, name))}


def _turn(row: tuple[Any, ...]) -> data.TurnEntry:
    *told, files = row
    turn = data.TurnEntry(*told)
    if files != "[]":
        turn.files = _decode_names(files)[:FILES]
    return turn
