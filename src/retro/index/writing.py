"""Writing the index: the parts of a capture, and what follows from them for the sessions they belong to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import apsw
import msgspec

from retro.agents.emitter import is_content_id
from retro.agents.interface import TRANSCRIPT
from retro.archive.committed import Part, SourceState
from retro.archive.together import fact_order, merged_facts, total
from retro.index import landmarks, passages
from retro.index.database import rows
from retro.index.due import UNFINISHED
from retro.index.landmarks import Where
from retro.index.passages import Scope
from retro.index.readings import Readings
from retro.index.rows import SOURCE_COLUMNS, TURN_COLUMNS, source_row, source_state, turn_row
from retro.index.titles import Titles
from retro.index.tracks import put_tracks
from retro.ledger.tables import Owner
from retro.ledger.writing import Ledger
from retro.placing import Place
from retro.signals import VERSION as SIGNALS_VERSION
from retro.turns import Tally

_json = msgspec.json.Encoder().encode
_SOURCE_MARKS: Final = ", ".join("?" * len(SOURCE_COLUMNS.split(",")))
_TURN_MARKS: Final = ", ".join("?" * len(TURN_COLUMNS.split(",")))
_PUT_SOURCE: Final = (
    f"INSERT INTO source (session, current, {SOURCE_COLUMNS}) VALUES (?, 1, {_SOURCE_MARKS})"  # noqa: S608 - our columns
    " ON CONFLICT (session, key, revision) DO UPDATE SET "
    + ", ".join(f"{name.strip()} = excluded.{name.strip()}" for name in SOURCE_COLUMNS.split(","))
)
TITLE: Final = 200


def counted(connection: apsw.Connection, number: int) -> Tally:
    """What a session counts."""
    names = Tally.__struct_fields__
    query = f"SELECT {', '.join(names)} FROM session WHERE id = ?"  # noqa: S608 - our own columns
    return Tally(*next(rows(connection, query, (number,))))


class Writer:
    """Commits parts of captures; several of them, of any sessions, make one transaction."""

    def __init__(
        self,
        connection: apsw.Connection,
        place: Callable[[str | None], Place],
        versions: Callable[[str], tuple[int, int]],
        ledger: Ledger,
        readings: Readings,
    ) -> None:
        self._connection = connection
        self._ledger = ledger
        self._readings = readings
        ledger.heal()
        self._place = place
        self._versions = versions
        self._titles = Titles(connection)
        self._passages = passages.Intake(connection)
        self._written: set[tuple[str, str]] = set()
        self._first_load = passages.begin(connection)
        self._gathered = False

    def add(self, part: Part) -> None:
        """Write a part's rows, which count from the next `commit` on: all of them, or none."""
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute("INSERT OR REPLACE INTO setting (name, value) VALUES (?, 1)", (UNFINISHED,))
        self._write(part)
        if part.sources:
            self._written.add((part.host, part.session_id))

    def settle(self) -> None:
        """Write what follows from the parts together."""
        if self._connection.in_transaction:
            passages.write_titles(self._passages)
            self._ledger.settle()
            self._read_ledger(self._written)
            self._passages.settle()
            self._written.clear()

    def commit(self) -> None:
        """Make what was added count. The caller has seen to it that what it speaks of is on the disk."""
        if self._connection.in_transaction:
            self._connection.execute("COMMIT")

    def gather(self) -> None:
        """Nearly everything is in: do now what would otherwise have to be done when all is, if it is a first load."""
        if self._first_load and not self._gathered:
            passages.gather(self._connection)
            self._gathered = True

    def finish(self) -> None:
        """What can only be said when everything is there."""
        _finish(self._connection, self._titles, self._readings)
        self.gather()
        if self._first_load:
            passages.settle(self._connection)
        else:
            passages.keep_up(self._connection)

    def _write(self, part: Part) -> None:
        if part.kept:
            self._connection.execute(
                "UPDATE session SET normaliser = ?, rules = ? WHERE host = ? AND session_id = ?",
                (*self._versions(part.host), part.host, part.session_id),
            )
        if not part.sources:
            return
        number, scope, known = self._session(part)
        new = scope is None
        before = self._counted(number) if part.evicted and not new else None
        for state in part.sources:
            self._source(number, part, state)
        self._turns(number, part)
        put_tracks(self._connection, number, part)
        self._readings.put(number, (part.host, part.session_id), part.readings, new=not known, keep=True)
        owner, place = self._refresh(number, part, new, before)
        landmarks.write(self._connection, number, part, place)
        passages.write(self._passages, number, part, scope)
        self._ledger.add(owner, part.usage, replaces=part.replaces_usage)
        self._titles.add(part, number)

    def _read_ledger(self, written: set[tuple[str, str]]) -> None:
        """Have the signals that ask the ledger say it again: of what was written, and of what it changed elsewhere."""
        query = "SELECT id FROM session WHERE host = ? AND session_id = ?"
        for name in sorted(written | self._ledger.touched()):
            for (number,) in list(rows(self._connection, query, name)):
                self._readings.put_of_ledger(int(number), name)
        self._readings.settle()

    def _session(self, part: Part) -> tuple[int, Scope | None, bool]:
        """The row of a session; where it belonged, None for a new one; whether at least its digest told of it."""
        name = (part.host, part.session_id)
        captured = max(state.captured for state in part.sources)
        query = (
            "UPDATE session SET captured = ? WHERE host = ? AND session_id = ?"
            " RETURNING id, EXISTS (SELECT 1 FROM source WHERE session = session.id), project, repository, clone"
        )
        for number, known, *where in list(rows(self._connection, query, (captured, *name))):
            if known:
                return int(number), Scope(part.host, *where), True
            self._connection.execute("DELETE FROM turn WHERE session = ?", (number,))
            return int(number), None, True
        query = "INSERT INTO session (captured, host, session_id) VALUES (?, ?, ?) RETURNING id"
        return int(next(rows(self._connection, query, (captured, *name)))[0]), None, False

    def _source(self, number: int, part: Part, state: SourceState) -> None:
        self._connection.execute(_PUT_SOURCE, (number, *source_row(state)))
        if state.revision:
            self._connection.execute(
                "UPDATE source SET current = 0 WHERE session = ? AND key = ? AND revision < ?",
                (number, state.key, state.revision),
            )

    def _turns(self, number: int, part: Part) -> None:
        if part.replaces_turns:
            self._connection.execute("DELETE FROM turn WHERE session = ?", (number,))
        self._connection.executemany(
            f"INSERT OR REPLACE INTO turn (session, {TURN_COLUMNS}) VALUES (?, {_TURN_MARKS})",  # noqa: S608
            [(number, *turn_row(row)) for row in part.turns],
        )

    def _counted(self, number: int) -> tuple[Tally, Tally]:
        """What a session counts, and what its sources add up to, which is more where they overlap."""
        return counted(self._connection, number), total(
            [source for source in self._current_sources(number) if source.kind == TRANSCRIPT]
        )

    def _refresh(self, number: int, part: Part, new: bool, before: tuple[Tally, Tally] | None) -> tuple[Owner, Where]:
        """Say of the session what its sources say together; gives what of it the ledger needs, and where it worked."""
        sources = _newest(part.sources) if new else self._current_sources(number)
        sources.sort(key=fact_order)
        facts = merged_facts([source.facts for source in sources])
        tally = part.tally or total([source for source in sources if source.kind == TRANSCRIPT])
        if before is not None:
            tally = _grown(*before, tally)
        query = "SELECT event_id, prompt FROM turn WHERE session = ? ORDER BY turn LIMIT 1"
        first = next(rows(self._connection, query, (number,)), (None, None))
        origin = first[0] if first[0] and not is_content_id(first[0]) else None
        place = self._place(facts.cwd)
        normaliser, rules = self._versions(part.host)
        values: dict[str, Any] = {
            "own_title": title_line(facts.title or facts.host_title),
            "first_words": title_line(first[1]),
            "parent": facts.parent,
            "forked": facts.parent is not None,
            "project": place.project,
            "repository": place.repository,
            "domain": place.domain,
            "cwd": facts.cwd,
            "branch": facts.branch,
            "native_start": facts.native_start or tally.started,
            "first_prompt": origin,
            "models": _json(facts.models).decode(),
            "host_versions": _json(facts.versions).decode(),
            "agents": _json({name: agent.call_id for name, agent in facts.agents.items()}).decode(),
            **{name: getattr(tally, name) for name in Tally.__struct_fields__},
            "source_bytes": sum(source.size for source in sources),
            "normalized_bytes": part.normalized_bytes,
            "normalized_chain": part.normalized_chain,
            "normalized_frames": part.normalized_frames,
            "events_evicted": part.events_evicted,
            "notes": msgspec.msgpack.encode(part.notes) if part.notes is not None else None,
            "digest_events": None,
            "normaliser": normaliser,
            "rules": rules,
            "signals": SIGNALS_VERSION,
        }
        plain = [name for name in values if name not in ("own_title", "first_words")]
        assignments = ", ".join(f"{name} = :{name}" for name in plain)
        self._connection.execute(
            f"UPDATE session SET {assignments}, titled = :own_title IS NOT NULL,"  # noqa: S608 - our own columns
            " title = coalesce(:own_title, linked_title, :first_words),"
            " raw_bytes = (SELECT sum(raw_bytes) FROM source WHERE session = :id) WHERE id = :id",
            {**values, "id": number},
        )
        if origin:
            relate_forks(self._connection, part.host, origin)
        owner = Owner(
            part.host,
            part.session_id,
            str(values["native_start"] or ""),
            place.project or "",
            facts.parent or "",
            facts.subagent,
        )
        return owner, Where(facts.cwd, place.root, place.repository, place.checkout)

    def _current_sources(self, number: int) -> list[SourceState]:
        query = f"SELECT {SOURCE_COLUMNS} FROM source WHERE session = ? AND current = 1"  # noqa: S608 - our own columns
        return [source_state(row) for row in rows(self._connection, query, (number,))]


def finish_interrupted(connection: apsw.Connection, readings: Readings) -> None:
    """Say what follows from all that was committed, where a sweep died before it could."""
    titles = Titles(connection)
    titles.look_again()
    _finish(connection, titles, readings)


def _finish(connection: apsw.Connection, titles: Titles, readings: Readings) -> None:
    with connection:
        titles.finish()
        readings.finish()
        intake = passages.Intake(connection)
        passages.write_titles(intake)
        intake.settle()
        connection.execute("DELETE FROM setting WHERE name = ?", (UNFINISHED,))


def _newest(sources: list[SourceState]) -> list[SourceState]:
    """The newest revision of each source."""
    return list({source.key: source for source in sorted(sources, key=lambda source: source.revision)}.values())


def relate_forks(connection: apsw.Connection, host: str, origin: str) -> None:
    """Name the parents of the sessions that begin with this prompt.

    Forks share their first prompt. The one whose own file began first is the origin.
    """
    query = "SELECT id, session_id, forked FROM session WHERE host = ? AND first_prompt = ? ORDER BY native_start, 2"
    family = list(rows(connection, query, (host, origin)))
    if len(family) > 1:
        parent = family[0][1]
        connection.executemany(
            "UPDATE session SET parent = :parent, digest_events = NULL"
            " WHERE id = :id AND forked = 0 AND parent IS NOT :parent",
            [{"parent": parent if number != family[0][0] else None, "id": number} for number, _, _ in family],
        )


def _grown(stored: Tally, before: Tally, after: Tally) -> Tally:
    """What a session counts after its sources have grown, where what it counted cannot be counted again."""
    grown = {
        name: getattr(stored, name) + getattr(after, name) - getattr(before, name)
        for name in Tally.__struct_fields__
        if name not in ("started", "ended")
    }
    started = min(filter(None, (stored.started, after.started)), default=None)
    return Tally(**grown, started=started, ended=max(filter(None, (stored.ended, after.ended)), default=None))


def title_line(text: str | None) -> str | None:
    """A title, or what serves as one, as one line that is not too long."""
    if not text or not text.strip():
        return None
    line = " ".join(text[: TITLE * 3].split())
    return line if len(line) <= TITLE else line[: TITLE - 1] + "…"
