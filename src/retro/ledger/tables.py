"""The ledger's tables in the index: labels, sessions, price rows and copies, as rows and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import apsw
import msgspec

from retro.ledger.calendar import timestamp
from retro.ledger.copies import QUALITIES, Copy, Numbers, Rank
from retro.ledger.log import Line, PriceLine, SessionLine, UsageLine
from retro.ledger.prices import Price

UNPRICED: Final = ""
"""Hash of the price row of models that have no price."""

COPY_COLUMNS: Final = (
    "owner, key, variant, usage_id, request_id, native, source, line, turn, agent, model, output_tokens, at, certain,"
    " input_tokens, cache_write_5m_tokens, cache_write_1h_tokens, cache_read_tokens, reasoning_tokens, web_searches,"
    " embedded, tier, speed, quality, price, counted, cost, taken"
)
_MARKS: Final = ", ".join("?" * len(COPY_COLUMNS.split(",")))
PUT_COPY: Final = f"INSERT OR REPLACE INTO usage ({COPY_COLUMNS}) VALUES ({_MARKS})"  # noqa: S608 - our own columns

_AT_ONCE: Final = 500

_pack: Final = msgspec.msgpack.Encoder().encode
_unpack: Final = msgspec.msgpack.Decoder(tuple[int, Numbers]).decode


def fetched(connection: apsw.Connection, query: str, values: tuple[object, ...] = ()) -> Iterator[Any]:
    """The rows that a query gives, as tuples of what the schema promises."""
    return iter(connection.execute(query, values))


class Owner(NamedTuple):
    """What of a session decides about its requests."""

    host: str
    session_id: str
    started: str
    project: str
    parent: str
    subagent: bool

    @property
    def rank(self) -> Rank:
        """Who began first has the request; who does not say when, comes last."""
        return self.started or "~", self.session_id


def _numbers(values: tuple[Any, ...]) -> Numbers:
    """Numbers from their values in the order of the columns; they are what the schema promises."""
    return Numbers(*values)


class _Numbers(dict[str, int]):
    """Numbers of the labels that were asked for: eight for each request, nearly all of them known."""

    def __init__(self, connection: apsw.Connection) -> None:
        super().__init__({"": 0})
        self._connection = connection

    def __missing__(self, text: str) -> int:
        row = self._connection.execute("SELECT id FROM label WHERE text = ?", (text,)).fetchone()
        if row is None:
            self._connection.execute("INSERT INTO label (text) VALUES (?)", (text,))
            row = (self._connection.last_insert_rowid(),)
        found = self[text] = int(row[0])
        return found


class Labels:
    """Texts that stand in many rows, by number; 0 is the empty one."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self.number: Callable[[str], int] = _Numbers(connection).__getitem__
        """The number of a text, a new one if need be."""
        self._texts: dict[int, str] = {0: ""}

    def text(self, number: int) -> str:
        """The text of a number."""
        found = self._texts.get(number)
        if found is None:
            row = self._connection.execute("SELECT text FROM label WHERE id = ?", (number,)).fetchone()
            found = self._texts[number] = str(row[0]) if row else ""
        return found


class Tables:
    """Reads and writes rows; knows the labels, sessions and price rows that were met in this run."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self.labels = Labels(connection)
        self._owners: dict[int, Owner] = {}
        self._prices: dict[int, Price | None] = {}
        self._hashes: dict[str, int] = {}
        self._names: dict[int, str] = {}

    # Sessions.

    def owner(self, number: int) -> Owner:
        """A session by its number."""
        found = self._owners.get(number)
        if found is None:
            query = "SELECT host, session_id, started, project, parent, subagent FROM owner WHERE id = ?"
            row = next(fetched(self.connection, query, (number,)))
            host, session_id, started, project, parent, subagent = row
            found = Owner(host, session_id, started, project, parent, bool(subagent))
            self._owners[number] = found
        return found

    def find_owner(self, host: str, session_id: str) -> int | None:
        """The number of a session that the ledger knows."""
        row = self.connection.execute(
            "SELECT id FROM owner WHERE host = ? AND session_id = ?", (host, session_id)
        ).fetchone()
        return int(row[0]) if row else None

    def put_owner(self, owner: Owner) -> int:
        """Write a session down as it is now; gives its number."""
        query = (
            "INSERT INTO owner (host, session_id, started, project, parent, subagent) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (host, session_id) DO UPDATE SET started = excluded.started, project = excluded.project,"
            " parent = excluded.parent, subagent = excluded.subagent RETURNING id"
        )
        number = int(next(fetched(self.connection, query, owner))[0])
        self._owners[number] = owner
        return number

    def rank(self, number: int) -> Rank:
        """What decides between sessions that hold the same request."""
        return self.owner(number).rank

    # Price rows.

    def price(self, number: int) -> Price | None:
        """A price row by its number; None for the row of models that have none."""
        if number not in self._prices:
            body = next(fetched(self.connection, "SELECT body FROM price WHERE id = ?", (number,)))[0]
            self._prices[number] = msgspec.json.decode(body, type=Price) if body else None
        return self._prices[number]

    def price_hash(self, number: int) -> str:
        """The hash of a price row."""
        found = self._names.get(number)
        if found is None:
            price = self.price(number)
            found = self._names[number] = price.key if price else UNPRICED
        return found

    def put_price(self, price: Price | None) -> tuple[int, bool]:
        """The number of a price row, and whether it is new."""
        name = price.key if price else UNPRICED
        known = self.find_price(name)
        if known is not None:
            return known, False
        body = msgspec.json.encode(price).decode() if price else ""
        self.connection.execute("INSERT INTO price (hash, body) VALUES (?, ?)", (name, body))
        number = self.connection.last_insert_rowid()
        self._prices[number], self._hashes[name] = price, number
        return number, True

    def find_price(self, name: str) -> int | None:
        """The number of the price row with a hash."""
        if name not in self._hashes:
            row = self.connection.execute("SELECT id FROM price WHERE hash = ?", (name,)).fetchone()
            if row is None:
                return None
            self._hashes[name] = int(row[0])
        return self._hashes[name]

    # Copies.

    def known(self, keys: Sequence[int]) -> set[int]:
        """Those of the identities of which there are copies."""
        found: set[int] = set()
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            query = f"SELECT key FROM usage WHERE key IN ({', '.join('?' * len(some))})"  # noqa: S608 - only marks
            found.update(key for (key,) in fetched(self.connection, query, tuple(some)))
        return found

    def copies(self, where: str, values: tuple[object, ...]) -> list[Copy]:
        """The copies that a condition names."""
        query = f"SELECT {COPY_COLUMNS} FROM usage WHERE {where}"  # noqa: S608 - our own conditions
        return [self.copy(row) for row in fetched(self.connection, query, values)]

    def copy(self, row: tuple[Any, ...]) -> Copy:
        """A copy from its row."""
        text = self.labels.text
        owner, key, variant, usage_id, request_id, native, source, line, turn, agent, model = row[:11]
        price, counted, cost, taken = row[24:]
        return Copy(
            owner=owner,
            key=key,
            variant=variant,
            usage_id=usage_id,
            request_id=request_id,
            native=bool(native),
            source=text(source),
            line=line,
            turn=turn,
            agent=text(agent),
            model=text(model),
            numbers=_numbers((*row[11:21], text(row[21]), text(row[22]), row[23])),
            price=price,
            counted=bool(counted),
            cost=cost,
            taken=_unpack(taken) if taken else None,
        )

    def row(self, copy: Copy) -> tuple[Any, ...]:
        """The row of a copy, in the order of COPY_COLUMNS."""
        number, n = self.labels.number, copy.numbers
        return (
            copy.owner,
            copy.key,
            copy.variant,
            copy.usage_id,
            copy.request_id,
            copy.native,
            number(copy.source),
            copy.line,
            copy.turn,
            number(copy.agent),
            number(copy.model),
            n.output_tokens,
            n.at,
            n.certain,
            n.input_tokens,
            n.cache_write_5m_tokens,
            n.cache_write_1h_tokens,
            n.cache_read_tokens,
            n.reasoning_tokens,
            n.web_searches,
            n.embedded,
            number(n.tier),
            number(n.speed),
            n.quality,
            copy.price,
            copy.counted,
            copy.cost,
            _pack(copy.taken) if copy.taken else None,
        )

    # Lines.

    def session_line(self, owner: Owner) -> SessionLine:
        """A session as the log has it."""
        return SessionLine(*owner)

    def usage_line(self, copy: Copy) -> UsageLine:
        """A copy as the log has it."""
        owner, n = self.owner(copy.owner), copy.numbers
        return UsageLine(
            owner.host,
            owner.session_id,
            copy.usage_id,
            copy.request_id,
            timestamp(n.at),
            copy.model,
            self.price_hash(copy.price),
            n.input_tokens,
            n.cache_write_5m_tokens,
            n.cache_write_1h_tokens,
            n.cache_read_tokens,
            n.output_tokens,
            n.reasoning_tokens,
            n.web_searches,
            n.tier,
            n.speed,
            n.embedded,
            QUALITIES[n.quality].value,
            copy.agent,
            copy.source,
            copy.line,
            copy.turn,
            copy.native,
        )

    def lines(self) -> Iterator[Line]:
        """Everything that the ledger holds."""
        for (number,) in fetched(self.connection, "SELECT id FROM price WHERE body <> '' ORDER BY id"):
            price = self.price(number)
            if price is not None:
                yield PriceLine(price.key, price)
        for (number,) in fetched(self.connection, "SELECT id FROM owner ORDER BY host, session_id"):
            yield self.session_line(self.owner(number))
            query = f"SELECT {COPY_COLUMNS} FROM usage WHERE owner = ? ORDER BY at, key, variant"  # noqa: S608
            for row in fetched(self.connection, query, (number,)):
                yield self.usage_line(self.copy(row))
