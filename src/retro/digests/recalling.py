"""What a digest knows put back into a new index, where the bytes that it was made of are gone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

import apsw
import msgspec

from retro import agents
from retro.digests import digest as files
from retro.digests.digest import Digest, TurnLine
from retro.event import Reading, Turn
from retro.index import passages
from retro.index.database import rows
from retro.index.rows import TURN_COLUMNS, turn_row
from retro.index.writing import relate_forks
from retro.places import Places
from retro.signals.running import known
from retro.turns import TurnRow

_COUNTED: Final = ("events", "turns", "commands", "edits", "errors", "secrets", "marks")
_MARKS: Final = ", ".join("?" * len(TURN_COLUMNS.split(",")))


class Found(msgspec.Struct):
    """A digest on the disk, or why its file cannot be used."""

    host: str
    path: str
    digest: Digest | None
    reason: str = ""


def on_disk(places: Places) -> Iterator[Found]:
    """Every digest of the archive."""
    for host in agents.MODULES:
        folder = os.path.join(places.root, "digests", host)
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            path = os.path.join(folder, name)
            if not name.endswith(".json") or name.startswith("."):
                continue
            try:
                digest = files.read(places.checked(path))
                if digest.host != host or places.digest(host, digest.session_id) != path:
                    raise ValueError(f"it is that of another session: {digest.host} {digest.session_id}")
                yield Found(host, path, digest)
            except (OSError, ValueError) as error:
                yield Found(host, path, None, str(error))


def is_sound(path: str) -> bool:
    """Whether there is a digest in a file."""
    try:
        files.read(path)
    except (OSError, ValueError):
        return False
    return True


def is_needed(connection: apsw.Connection, digest: Digest) -> bool:
    """Whether an index that was made from the archived bytes knows less of a session than its digest."""
    query = (
        "SELECT events_evicted OR EXISTS (SELECT 1 FROM source WHERE session = session.id AND base > 0)"
        " FROM session WHERE host = ? AND session_id = ?"
    )
    return bool(next(rows(connection, query, (digest.host, digest.session_id)), (True,))[0])


def recall(connection: apsw.Connection, digest: Digest, versions: tuple[int, int]) -> None:
    """Have the index say of a session what its digest says. What was captured since then is not known to it."""
    number = _row(connection, digest, versions)
    values = {
        **{name: getattr(digest.counts, name) for name in _COUNTED},
        "started": digest.started,
        "ended": digest.ended,
        "parent": digest.parent,
        "first_prompt": digest.first_prompt,
    }
    assignments = ", ".join(f"{name} = coalesce(:{name}, {name})" for name in values)
    connection.execute(
        f"UPDATE session SET {assignments}, linked_title = CASE WHEN titled THEN linked_title ELSE :title END,"  # noqa: S608
        " title = CASE WHEN titled THEN title ELSE :title END, digest_events = :events WHERE id = :id",
        {**values, "title": digest.title, "id": number},
    )
    connection.executemany(
        f"INSERT OR IGNORE INTO turn (session, {TURN_COLUMNS}) VALUES (?, {_MARKS})",  # noqa: S608 - our own columns
        [(number, *turn_row(_turn(digest, line))) for line in digest.turns],
    )
    intake = passages.Intake(connection)
    passages.tell_sessions(intake, [number])
    intake.settle()
    if digest.first_prompt:
        relate_forks(connection, digest.host, digest.first_prompt)


def readings_of(digest: Digest) -> list[Reading]:
    """What the signals said, as far as a digest keeps it: without evidence and reasons."""
    signals, found = known(), []
    for name, said in digest.readings.items():
        value, sure = said if isinstance(said, tuple) else (said, 1.0 if said is not None else 0.0)
        signal = signals.get(name)
        unit, method = (signal.unit, signal.method) if signal is not None else ("", "")
        reason = "its digest says no more" if value is None else None
        found.append(Reading(name, value, unit, sure, method, reason=reason))
    return found


def _row(connection: apsw.Connection, digest: Digest, versions: tuple[int, int]) -> int:
    """The number of a session, which may have to be put in: then no byte of it is left."""
    name = digest.host, digest.session_id
    for row in rows(connection, "SELECT id FROM session WHERE host = ? AND session_id = ?", name):
        return int(row[0])
    values = {
        "host": digest.host,
        "session_id": digest.session_id,
        "project": digest.project,
        "repository": digest.repository,
        "domain": digest.domain,
        "cwd": digest.cwd,
        "branch": digest.branch,
        "models": msgspec.json.encode(digest.models).decode(),
        "host_versions": msgspec.json.encode(digest.host_versions).decode(),
        "agents": msgspec.json.encode({f"{place}": None for place in range(digest.counts.agents)}).decode(),
        "source_bytes": digest.bytes.size,
        "events_evicted": 1,
        "normaliser": versions[0],
        "rules": versions[1],
        "captured": digest.ended or "",
    }
    query = (
        f"INSERT INTO session ({', '.join(values)}) VALUES ({', '.join(f':{name}' for name in values)}) RETURNING id"  # noqa: S608
    )
    return int(next(rows(connection, query, values))[0])


def _turn(digest: Digest, line: TurnLine) -> TurnRow:
    """A turn as far as its line tells. The first one's prompt is the goal, of which a digest keeps more."""
    first = line is digest.turns[0]
    started = None
    if digest.started and line.after >= 0:
        moment = datetime.fromisoformat(digest.started[:19]) + timedelta(seconds=line.after)
        started = f"{moment.isoformat()}.000Z"
    turn = Turn(
        session_id=digest.session_id,
        host=digest.host,
        turn=line.turn,
        event_id=(first and digest.first_prompt) or f"h-{line.turn}",
        prompt=(first and digest.goal) or line.prompt,
        answer=digest.result if line is digest.turns[-1] else None,
        started=started,
        ended=started,
        first_sequence=0,
        last_sequence=0,
        actions=line.actions,
        edits=line.edits,
        errors=line.errors,
        files=[],
    )
    return TurnRow(turn)
