"""A session's digest, made of what the index knows; nothing else is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import apsw
import msgspec

from retro.agents.records import Accounting
from retro.archive import account
from retro.archive.committed import MAIN, SourceState
from retro.digests.digest import (
    SCHEMA,
    Bytes,
    CommandLine,
    Correction,
    Counts,
    Digest,
    FileLine,
    Outcome,
    ProblemLine,
    Spent,
    Tests,
    TurnLine,
)
from retro.event import Value
from retro.index.database import rows
from retro.index.readings import values_of
from retro.notes import Notes, Problem, merged
from retro.signals.judging import OUTCOME, PROBABILITY, judge

TURNS: Final = 40
"""Turns that stand in a digest: the first and the last ones of more."""
_TEXT: Final = 1200
"""Characters of a text that are looked at."""

_decode_notes: Final = msgspec.msgpack.Decoder(Notes).decode
_decode_accounting: Final = msgspec.msgpack.Decoder(Accounting).decode
_decode_names: Final = msgspec.json.Decoder(list[str]).decode

_SESSION: Final = (
    "SELECT host, session_id, normaliser, rules, parent, title, project, repository, domain, cwd, branch, models,"
    " host_versions, started, ended, events, turns, commands, edits, errors,"
    " (SELECT count(*) FROM json_each(agents)), secrets, marks, notes, first_prompt FROM session WHERE id = ?"
)
_SOURCES: Final = (
    "SELECT session, key, revision, kind, path, archive_name, file, size, offset, base, form, accounting, notes"
    " FROM source WHERE session BETWEEN ? AND ? AND current = 1 ORDER BY session, key <> 'main', key"
)
_TURNS: Final = "SELECT turn, started, prompt, answer, actions, edits, errors FROM turn WHERE session = :id"
_ENDS: Final = (
    f"SELECT * FROM ({_TURNS} ORDER BY turn LIMIT {TURNS // 2})"  # noqa: S608 - our own query
    f" UNION SELECT * FROM ({_TURNS} ORDER BY turn DESC LIMIT {TURNS // 2}) ORDER BY turn"
)
_SPENT: Final = (
    "SELECT sum(requests), sum(input_tokens), sum(output_tokens), sum(cache_read_tokens), sum(cache_write_5m_tokens),"
    " sum(cache_write_1h_tokens), sum(reasoning_tokens), sum(cost), sum(unpriced_requests), sum(lower_bound_requests)"
    " FROM session_spent JOIN owner ON owner.id = session_spent.owner WHERE host = ? AND session_id = ?"
)


def make(connection: apsw.Connection, number: int) -> Digest:
    """The digest of a session, by its number in the index."""
    row = next(rows(connection, _SESSION, (number,)))
    host, session_id, normaliser, rules, parent, title, project, repository, domain, cwd, branch = row[:11]
    sources = list(sources_of(connection, number, number).get(number, ()))
    notes = notes_of(sources, row[23])
    turns = [tuple(turn) for turn in rows(connection, _ENDS, {"id": number})]
    readings = values_of(connection, number)
    return Digest(
        schema=SCHEMA,
        host=host,
        session_id=session_id,
        normaliser=normaliser,
        rules=rules,
        parent=parent,
        title=title,
        project=project,
        repository=repository,
        domain=domain,
        cwd=cwd,
        branch=branch,
        models=_decode_names(row[11]),
        host_versions=_decode_names(row[12]),
        started=row[13],
        ended=row[14],
        first_prompt=row[24],
        goal=turns[0][2][:_TEXT] or None if turns else None,
        result=next((turn[3][:_TEXT] for turn in reversed(turns) if turn[3]), None),
        counts=_counts(row[15:23], notes),
        files=files_of(notes, cwd or ""),
        commands=commands_of(notes),
        tests=tests_of(notes),
        commits=notes.commits,
        problems=problems_of(notes, cwd or ""),
        corrections=corrections_of(notes),
        spent=Spent(*(value or 0 for value in next(rows(connection, _SPENT, (host, session_id))))),
        bytes=bytes_of(sources),
        outcome=outcome_of({name: value for name, (value, _) in readings.items()}),
        turns=[_turn(turn, row[13]) for turn in turns],
        readings={name: _short(value, sure) for name, (value, sure) in readings.items()},
    )


def outcome_of(values: Mapping[str, Value | None]) -> Outcome | None:
    """How it went: what the signals said is taken, by the values of all readings, and why they did is told again."""
    said, probability = values.get(OUTCOME), values.get(PROBABILITY)
    if not isinstance(said, str) or not isinstance(probability, float):
        return None
    return Outcome(said, probability, judge(values).reasons)


def _short(value: Value | None, sure: float) -> Value | tuple[Value, float] | None:
    return value if value is None or sure >= 1 else (value, sure)


class Noted(NamedTuple):
    """A current source as far as its bytes are to be counted, and what was noted of it."""

    state: SourceState
    notes: Notes


def sources_of(connection: apsw.Connection, first: int, last: int) -> dict[int, list[Noted]]:
    """The current sources of some sessions, by their numbers from one to another; the main one of each first."""
    found: dict[int, list[Noted]] = {}
    for number, *row in rows(connection, _SOURCES, (first, last)):
        state = SourceState(*row[:6])
        state.size, state.offset, state.base, state.form = row[6:10]
        state.accounting = _decode_accounting(row[10])
        notes = _decode_notes(row[11])
        if state.key != MAIN:
            notes.corrections.clear()
        found.setdefault(number, []).append(Noted(state, notes))
    return found


def notes_of(sources: Sequence[Noted], of_all: bytes | None) -> Notes:
    """What was noted of a session: of all of it where that was kept apart, else of its sources together."""
    if of_all is not None:
        return _decode_notes(of_all)
    return sources[0].notes if len(sources) == 1 else merged([one.notes for one in sources])


def _counts(counted: tuple[int, ...], notes: Notes) -> Counts:
    counts = Counts(*counted)
    counts.files = len(notes.files) + notes.more_files
    counts.commits = len(notes.commits) + notes.more_commits
    counts.problems = len(notes.problems) + notes.more_problems
    counts.corrections = len(notes.corrections) + notes.more_corrections
    return counts


def tests_of(notes: Notes) -> Tests | None:
    """How tests went; None where none ran."""
    return Tests(notes.tests, notes.tests_failed, notes.tests_ended) if notes.tests else None


def corrections_of(notes: Notes) -> list[Correction]:
    """Where the person said that something went the wrong way."""
    return [Correction(*one) for one in notes.corrections]


def files_of(notes: Notes, cwd: str) -> list[FileLine]:
    """The most edited ones first, then in the order in which they were edited first."""
    found: dict[str, int] = {}
    for path, edits in notes.files.items():
        inside = _inside(path, cwd)
        found[inside] = found.get(inside, 0) + edits
    return [FileLine(path, edits) for path, edits in sorted(found.items(), key=lambda item: -item[1])]


def _inside(path: str, cwd: str) -> str:
    """A path as seen from the session's folder."""
    root = cwd.rstrip("/\\")
    if root and path.startswith(root) and path[len(root) : len(root) + 1] in ("/", "\\"):
        return path[len(root) + 1 :] or path
    return path


def commands_of(notes: Notes) -> list[CommandLine]:
    """Those that tell most first: tests before anything else, then what ran often."""
    order = sorted(notes.commands.items(), key=lambda item: (_RANK.get(item[1].kind, 9), -item[1].runs))
    return [CommandLine(said, one.kind, one.runs, one.failed) for said, one in order]


_RANK: Final = {kind: rank for rank, kind in enumerate(("test", "check", "build", "install", "commit", "run"))}


def problems_of(notes: Notes, cwd: str) -> list[ProblemLine]:
    """Those that came most often first, then those that were resolved: what resolved them is worth keeping."""
    order = sorted(notes.problems.items(), key=lambda item: (-item[1].times, item[1].resolved is None))
    return [ProblemLine(name, one.where, one.times, _resolved(one, cwd)) for name, one in order]


def _resolved(problem: Problem, cwd: str) -> list[str] | None:
    return None if problem.resolved is None else [_inside(what, cwd) for what in problem.resolved]


def bytes_of(sources: Iterable[Noted]) -> Bytes:
    """What became of every byte of some sources."""
    sums = account.bytes_of(one.state for one in sources)
    return Bytes(sums.size, sums.mapped, sums.bookkeeping, sums.unknown, sums.malformed, sums.torn_tail)


def _turn(row: tuple[Any, ...], began: str | None) -> TurnLine:
    turn, started, prompt, _, actions, edits, errors = row
    return TurnLine(turn, seconds_between(began, started), prompt[:_TEXT], actions, edits, errors)


def seconds_between(began: str | None, moment: str | None) -> int:
    """Whole seconds between two times as events have them; -1 where one is missing."""
    if not began or not moment:
        return -1
    try:
        first, second = datetime.fromisoformat(began[:19]), datetime.fromisoformat(moment[:19])
    except ValueError:
        return -1
    return max(int((second - first).total_seconds()), 0)
