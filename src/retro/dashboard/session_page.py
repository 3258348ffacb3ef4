"""Sessions as the dashboard shows them: what each is, its turns, its receipt, its readings; many are made at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple

import apsw
import msgspec

from retro.archive.account import Bytes
from retro.dashboard import data
from retro.dashboard.columns import packed, steps
from retro.dashboard.memories import Remembered
from retro.dashboard.overview import Choice, Row, file_name, seconds_of, shown_id
from retro.dashboard.phases import phases
from retro.dashboard.receipt import Amounts, Receipts
from retro.digests import making
from retro.event import Value
from retro.index.database import rows
from retro.notes import Notes

TURNS: Final = 400
TEXT: Final = 1200
"""Characters of a prompt or answer; the transcript has them whole."""
CHILDREN: Final = 100
FILES: Final = 300

_SESSIONS: Final = (
    "SELECT id, parent, repository, cwd, host_versions, (SELECT count(*) FROM json_each(agents)), notes, captured,"
    " raw_bytes + normalized_bytes, pinned, events_evicted,"
    " EXISTS (SELECT 1 FROM source WHERE session = session.id AND base > 0) FROM session WHERE id BETWEEN ? AND ?"
)
_TURNS: Final = (
    f"SELECT session, event_id, turn, substr(prompt, 1, {TEXT}), substr(answer, 1, {TEXT}), started, ended, actions,"  # noqa: S608
    " edits, errors, input_tokens + output_tokens + cache_read_tokens + cache_write_tokens"
    " FROM turn WHERE session BETWEEN ? AND ? ORDER BY session, turn"
)
_READINGS: Final = (
    "SELECT session, '[\"' || group_concat(signal, '\",\"') || '\"]', json_group_array(value),"
    " json_group_array(confidence), json_group_array(reason), '[' || group_concat(evidence) || ']'"
    " FROM (SELECT * FROM reading WHERE session BETWEEN ? AND ? ORDER BY session, signal) GROUP BY session"
)
_CHILDREN: Final = (
    "SELECT host, parent, session_id, title FROM session WHERE parent IS NOT NULL ORDER BY started, session_id"
)

_decode_names: Final = msgspec.json.Decoder(list[str]).decode
_decode_values: Final = msgspec.json.Decoder(list[Value | None]).decode
_encode: Final = msgspec.json.Encoder().encode


class Wanted(NamedTuple):
    """A session whose page is to be made, and how many files its transcript has."""

    row: Row
    parts: int


class Made(NamedTuple):
    """What was made of a session: each part as a bundle holds it, as JSON."""

    page: msgspec.Raw
    turns: msgspec.Raw
    requests: msgspec.Raw
    readings: msgspec.Raw
    phases: msgspec.Raw
    said: msgspec.Raw


class _Found(NamedTuple):
    """What the index says of some sessions, by their numbers."""

    sessions: dict[int, tuple[Any, ...]]
    sources: dict[int, list[making.Noted]]
    turns: dict[int, list[tuple[Any, ...]]]
    readings: dict[int, tuple[str, ...]]


class SessionPages:
    """Makes the pages of sessions; what they share is looked up once."""

    def __init__(
        self, connection: apsw.Connection, remembered: Remembered | None, amounts: Amounts, choice: Choice
    ) -> None:
        self._connection, self._choice, self._remembered = connection, choice, remembered
        self._receipts = Receipts(connection, amounts, choice.mode)
        self._children: dict[tuple[str, str], list[tuple[str, str | None]]] = {}
        for host, parent, session_id, title in rows(connection, _CHILDREN):
            self._children.setdefault((host, parent), []).append((session_id, title))

    def beside(self, row: Row) -> tuple[object, ...]:
        """What a session's page shows that stands in no row of its own: to see whether it changed."""
        key = (row.host, row.session_id)
        memory = self._remembered.of(*key) if self._remembered else None
        return len(self._children.get(key, ())), memory

    def make(self, wanted: Sequence[Wanted], signals: list[list[str]]) -> Iterator[Made]:
        """All about some sessions, in their order; names of signals that are not yet in the list are added to it."""
        if not wanted:
            return
        numbers = [one.row.number for one in wanted]
        found = self._look(min(numbers), max(numbers))
        for one in wanted:
            yield self._made(one, found, signals)

    def _look(self, first: int, last: int) -> _Found:
        """What the index says of the sessions with the numbers from one to another."""
        connection, span = self._connection, (first, last)
        turns = groupby(rows(connection, _TURNS, span), key=itemgetter(0))
        return _Found(
            {row[0]: row[1:] for row in rows(connection, _SESSIONS, span)},
            making.sources_of(connection, first, last),
            {number: [row[1:] for row in some] for number, some in turns},
            {row[0]: row[1:] for row in rows(connection, _READINGS, span)},
        )

    def _made(self, wanted: Wanted, found: _Found, signals: list[list[str]]) -> Made:
        row, strict = wanted.row, self._choice.strict
        told = found.readings.get(row.number)
        values = _values(told)
        readings = _readings(told, values, signals, strict) if told else None
        page = self._page(wanted, found)
        if strict:
            _take_words(page)
            return Made(*(_raw(part) for part in (page, data.Turns(), data.Requests(), readings, data.Phases(), None)))
        turns = found.turns.get(row.number, [])
        sources = found.sources.get(row.number, [])
        requests, page.requests_left_out = self._receipts.requests(row.host, row.session_id)
        page.turns_left_out = max(row.turns - TURNS, 0)
        page.children = self._children.get((row.host, row.session_id), [])[:CHILDREN]
        page.digest = _digest(turns, making.notes_of(sources, found.sessions[row.number][5]), page.cwd or "", values)
        page.memory = self._remembered.of(row.host, row.session_id) if self._remembered else None
        phased = phases(self._connection, row.number) if wanted.parts else data.Phases()
        shown = turns[:TURNS]
        said = data.Said([turn[2] for turn in shown], [turn[3] for turn in shown])
        return Made(*(_raw(part) for part in (page, _turns(shown), requests, readings, phased, said)))

    def _page(self, wanted: Wanted, found: _Found) -> data.SessionPage:
        """What there is one of in a session."""
        row = wanted.row
        parent, repository, cwd, versions, agents, _, captured, size, pinned, evicted, cut = found.sessions[row.number]
        kept = making.bytes_of(found.sources.get(row.number, []))
        counts = {name: getattr(row, name) for name in ("turns", "events", "commands", "edits", "errors")}
        return data.SessionPage(
            host=row.host,
            id=row.session_id,
            file=file_name(row.session_id, self._choice),
            title=row.title,
            project=row.project,
            repository=repository,
            branch=row.branch,
            cwd=cwd,
            parent=parent,
            children=[],
            started=row.started,
            ended=row.ended,
            models=_decode_names(row.models),
            versions=_decode_names(versions),
            counts={**counts, "agents": agents},
            accounting={name: getattr(kept, name) for name in Bytes.__struct_fields__},
            archive_bytes=size,
            captured=captured,
            pinned=bool(pinned),
            given_up="raw" if cut else "events" if evicted else "",
            amounts=self._receipts.amounts(row.host, row.session_id),
            requests_left_out=0,
            turns_left_out=0,
            digest=None,
            memory=None,
            parts=wanted.parts,
        )


def _raw(part: object) -> msgspec.Raw:
    return msgspec.Raw(_encode(part))


def _take_words(page: data.SessionPage) -> None:
    """Leave no word that stands in the session."""
    page.id = shown_id(page.id)
    page.title = page.project = page.repository = page.branch = page.cwd = page.parent = None


def _values(told: tuple[str, ...] | None) -> dict[str, Value | None]:
    """What signals say, by their names."""
    return dict(zip(_decode_names(told[0]), _decode_values(told[1]), strict=True)) if told else {}


def _readings(
    told: tuple[str, ...], values: Mapping[str, Value | None], signals: list[list[str]], strict: bool
) -> data.Readings:
    names = list(values)
    if names not in signals:
        signals.append(names)
    said, sure, reasons, evidence = (msgspec.Raw(text.encode()) for text in told[1:])
    if strict:
        shown = [
            value if name == "outcome" or isinstance(value, (int, float)) else None for name, value in values.items()
        ]
        said, evidence = _raw(shown), _raw([[]] * len(names))
    return data.Readings(signals.index(names), said, sure, reasons, evidence)


def _turns(found: Sequence[tuple[Any, ...]]) -> data.Turns:
    if not found:
        return data.Turns()
    event, turn, _, _, started, ended, actions, edits, errors, tokens = zip(*found, strict=True)
    begun = [_moment(moment) for moment in started]
    over = [_moment(moment) for moment in ended]
    took = [last - first if first >= 0 and last >= 0 else -1 for first, last in zip(begun, over, strict=True)]
    return data.Turns(
        event=list(event),
        turn=packed(steps(turn)),
        begun=packed(steps(begun)),
        took=packed(took),
        actions=packed(actions),
        edits=packed(edits),
        errors=packed(errors),
        tokens=packed(tokens),
    )


def _moment(text: str | None) -> int:
    seconds = seconds_of(text)
    return -1 if seconds is None else seconds


def _digest(
    turns: Sequence[tuple[Any, ...]], notes: Notes, cwd: str, values: Mapping[str, Value | None]
) -> dict[str, object]:
    """What of a session's digest stands nowhere else on the page."""
    told = {
        "goal": turns[0][2] if turns else None,
        "result": next((turn[3] for turn in reversed(turns) if turn[3]), None),
        "outcome": making.outcome_of(values),
        "files": making.files_of(notes, cwd)[:FILES],
        "commands": making.commands_of(notes),
        "tests": making.tests_of(notes),
        "commits": notes.commits,
        "problems": making.problems_of(notes, cwd),
        "corrections": notes.corrections,
    }
    return {name: value for name, value in told.items() if value}
