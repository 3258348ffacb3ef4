"""Sessions as lists show them, out of rows of the index: without what it takes to capture, so that lists start fast."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from retro.event import Session

SESSION_COLUMNS: Final = (
    "host, session_id, parent, title, project, cwd, repository, branch, started, ended, models, host_versions,"
    " turns, events, agents, commands, edits, errors, source_bytes, raw_bytes + normalized_bytes,"
    " (SELECT value FROM reading WHERE session = session.id AND signal = 'outcome'),"
    " (SELECT value FROM reading WHERE session = session.id AND signal = 'outcome_probability')"
)


def session_of(row: tuple[Any, ...]) -> Session:
    """A session from its values, in the order of SESSION_COLUMNS."""
    return Session(
        host=row[0],
        session_id=row[1],
        parent=row[2],
        title=row[3],
        project=row[4],
        cwd=row[5],
        repository=row[6],
        branch=row[7],
        started=row[8],
        ended=row[9],
        models=msgspec.json.decode(row[10], type=list[str]),
        host_versions=msgspec.json.decode(row[11], type=list[str]),
        turns=row[12],
        events=row[13],
        agents=len(msgspec.json.decode(row[14], type=dict[str, object])),
        commands=row[15],
        edits=row[16],
        errors=row[17],
        source_bytes=row[18],
        archive_bytes=row[19],
        outcome=row[20],
        outcome_probability=row[21],
    )


def unsigned(number: int) -> int:
    """The number of an inode as the file system gives it."""
    return number + (1 << 64) if number < 0 else number
