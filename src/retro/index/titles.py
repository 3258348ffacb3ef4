"""Titles that one session's file gives to another, by a record that stands in it, in whatever order both arrive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import apsw

from retro.archive.committed import Part
from retro.index.database import rows
from retro.turns import TurnRow, record_key

KEY: Final = 8
FEW: Final = 8
"""Up to so many titles are looked for one by one; above it, one pass over all turns is cheaper."""


class Titles:
    """Finds, during one sweep, which sessions the known titles belong to. Of several the latest record's wins."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._known: dict[str, dict[bytes, str]] = {}
        self._new: dict[str, dict[bytes, str]] = {}

    def add(self, part: Part, session: int) -> None:
        """Note the titles that a part gives, and link those that belong to the turns in it."""
        known = self._known.get(part.host)
        if known is None:
            found = rows(self._connection, "SELECT record, title FROM title WHERE host = ?", (part.host,))
            known = self._known[part.host] = dict(found)
        for state in part.sources:
            for leaf, title in state.facts.titles.items():
                key = record_key(leaf)
                if known.get(key) != title:
                    known[key] = self._new.setdefault(part.host, {})[key] = title
                    self._connection.execute(
                        "INSERT OR REPLACE INTO title (host, record, title) VALUES (?, ?, ?)", (part.host, key, title)
                    )
        if known:
            for turn, place, key in _records(part.turns):
                if key in known:
                    self._link(session, turn, place, known[key])

    def look_again(self) -> None:
        """Take all titles as new."""
        for host, key, title in rows(self._connection, "SELECT host, record, title FROM title"):
            self._new.setdefault(host, {})[key] = title

    def finish(self) -> None:
        """Link new titles to sessions that were there before them."""
        for host, titles in self._new.items():
            for session, turn, place, key in self._search(host, titles):
                self._link(session, turn, place, titles[key])
        self._new.clear()

    def _link(self, session: int, turn: int, place: int, title: str) -> None:
        self._connection.execute(
            "UPDATE session SET linked_title = :title, linked_place = :place, title = CASE WHEN titled THEN title ELSE"
            " :title END, digest_events = CASE WHEN titled OR title IS :title THEN digest_events END"
            " WHERE id = :id AND linked_place <= :place",
            {"title": title, "place": turn * 1_000_000 + place, "id": session},
        )

    def _search(self, host: str, titles: dict[bytes, str]) -> Iterator[tuple[int, int, int, bytes]]:
        query = (
            "SELECT turn.session, turn.turn, turn.records FROM turn JOIN session ON session.id = turn.session"
            " WHERE session.host = ?"
        )
        if len(titles) > FEW:
            found = list(rows(self._connection, query, (host,)))
        else:
            narrow = f"{query} AND instr(turn.records, ?)"
            found = [row for key in titles for row in rows(self._connection, narrow, (host, key))]
        for session, turn, records in found:
            yield from ((session, turn, place, key) for place, key in _keys(records) if key in titles)


def _records(rows: Iterable[TurnRow]) -> Iterator[tuple[int, int, bytes]]:
    for row in rows:
        for place, key in _keys(row.records):
            yield row.turn.turn, place, key


def _keys(records: bytes) -> Iterator[tuple[int, bytes]]:
    return ((at // KEY, records[at : at + KEY]) for at in range(0, len(records), KEY))
