"""Taking sessions out of the index, with everything that they told about others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import apsw
import msgspec

from retro.agents.interface import Facts
from retro.index.database import empty_log, rows
from retro.index.passages import purge
from retro.index.readings import Readings
from retro.index.titles import KEY
from retro.index.writing import relate_forks, title_line
from retro.ledger import prices
from retro.ledger.writing import Ledger
from retro.places import Places
from retro.turns import record_key

_NUMBER: Final = "SELECT id FROM session WHERE host = ? AND session_id = ?"
_decode_facts = msgspec.msgpack.Decoder(Facts).decode


def forget_sessions(connection: apsw.Connection, sessions: Iterable[tuple[str, str]], places: Places) -> bool:
    """Delete sessions for good, from the ledger too; whether nothing of them is left in the index's files.

    It is not while another program reads an older state of the index; what is left then goes with the next writer.
    """
    ledger = Ledger(connection, places.ledger, lambda: prices.load(None)[0])
    readings = Readings(connection, places.signals)
    with connection:
        for host, session_id in sessions:
            for (number,) in list(rows(connection, _NUMBER, (host, session_id))):
                readings.drop(number)
            _forget(connection, host, session_id)
            ledger.forget(host, session_id)
        for name in ledger.touched():
            for (number,) in list(rows(connection, _NUMBER, name)):
                readings.put_of_ledger(number, name)
        readings.settle()
        readings.rewrite()
        purge(connection)
    ledger.heal()
    return empty_log(connection)


def _forget(connection: apsw.Connection, host: str, session_id: str) -> None:
    query = "SELECT id, first_prompt FROM session WHERE host = ? AND session_id = ?"
    for number, first_prompt in list(rows(connection, query, (host, session_id))):
        of_session = rows(connection, "SELECT facts FROM source WHERE session = ?", (number,))
        given = {record_key(leaf) for (facts,) in of_session for leaf in _decode_facts(facts).titles}
        connection.execute("DELETE FROM session WHERE id = ?", (number,))
        if given:
            _withdraw(connection, host, given)
        if first_prompt is not None:
            relate_forks(connection, host, first_prompt)


def _withdraw(connection: apsw.Connection, host: str, given: set[bytes]) -> None:
    """Take titles back that only a forgotten session gave, from the sessions that bear them as well."""
    connection.executemany("DELETE FROM title WHERE host = ? AND record = ?", [(host, key) for key in given])
    query = "SELECT facts FROM source JOIN session ON session.id = session WHERE host = ? ORDER BY source.captured"
    for (facts,) in rows(connection, query, (host,)):
        for leaf, title in _decode_facts(facts).titles.items():
            if record_key(leaf) in given:
                connection.execute(
                    "INSERT OR REPLACE INTO title (host, record, title) VALUES (?, ?, ?)",
                    (host, record_key(leaf), title),
                )
    query = (
        "SELECT DISTINCT turn.session FROM turn JOIN session ON session.id = turn.session"
        " WHERE host = ? AND instr(records, ?)"
    )
    linked = {number for key in given for (number,) in rows(connection, query, (host, key))}
    known: dict[bytes, str] = dict(rows(connection, "SELECT record, title FROM title WHERE host = ?", (host,)))
    for number in linked:
        _link_again(connection, number, known)


def _link_again(connection: apsw.Connection, number: int, titles: dict[bytes, str]) -> None:
    """Find the title of a session among those that are known now, or else in its first prompt."""
    place, title, words = -1, None, None
    query = "SELECT turn, records, prompt FROM turn WHERE session = ? ORDER BY turn"
    for turn, records, prompt in rows(connection, query, (number,)):
        words = words or title_line(prompt)
        for at in range(0, len(records), KEY):
            found = titles.get(records[at : at + KEY])
            if found is not None:
                place, title = turn * 1_000_000 + at // KEY, found
    connection.execute(
        "UPDATE session SET linked_title = :linked, linked_place = :place, digest_events = NULL,"
        " title = CASE WHEN titled THEN title ELSE coalesce(:linked, :words) END WHERE id = :id",
        {"linked": title, "place": place, "words": words, "id": number},
    )
