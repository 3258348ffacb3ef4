"""Writing the ledger: what sessions add to it, the owners and prices that follow, the log, and the sums."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

import apsw
import msgspec

from retro.archive.frames import Mark
from retro.event import Quality, Usage
from retro.ledger import log
from retro.ledger.calendar import utc_day
from retro.ledger.copies import Copy, copy_of, key_of, rank_of, resolve, variant_of
from retro.ledger.log import DropLine, Line, Log, PriceLine, SessionLine, UsageLine
from retro.ledger.prices import Prices, tier_of
from retro.ledger.prices import cost as cost_of
from retro.ledger.sums import Place, Sums
from retro.ledger.tables import PUT_COPY, Owner, Tables, fetched
from retro.places import sync_dir

SETTING: Final = "ledger"
BATCH: Final = 20_000
ENOUGH: Final = 500
"""Requests that are made to count at once, while other sessions are still being captured."""


class State(msgspec.Struct):
    """What is committed of the log."""

    length: int = 0
    chain: str = ""
    frames: int = 0
    stale: bool = False
    """The log holds what is to be forgotten: it must be written anew."""
    next: tuple[int, str, int] | None = None
    """What is committed once the new log has taken the old one's place."""

    @property
    def mark(self) -> Mark:
        """How far the log counts."""
        return Mark(self.length, bytes.fromhex(self.chain), self.frames)


class Repriced(msgspec.Struct):
    """Requests of a model that got another price row, and what they cost before and after, in microdollars."""

    model: str
    requests: int = 0
    before: int = 0
    after: int = 0


def state_of(connection: apsw.Connection) -> State:
    """What is committed of the log."""
    row = connection.execute("SELECT value FROM setting WHERE name = ?", (SETTING,)).fetchone()
    return msgspec.json.decode(row[0], type=State) if row else State()


def put_state(connection: apsw.Connection, state: State) -> None:
    """Commit, within the transaction that is open, how far the log counts."""
    query = "INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)"
    connection.execute(query, (SETTING, msgspec.json.encode(state).decode()))


class Ledger:
    """Takes what sessions add, and at `settle` makes it count, in the transaction that is open."""

    def __init__(self, connection: apsw.Connection, path: str, prices: Callable[[], Prices]) -> None:
        self.connection, self.path = connection, path
        self.tables = Tables(connection)
        self._sums = Sums(connection)
        self._load_prices = prices
        self._prices: Prices | None = None
        self._priced: dict[tuple[str, str, str], int] = {}
        """Price rows by what they are chosen by."""
        self._log: Log | None = None
        self._incoming: dict[int, list[Copy]] = {}
        self._dropped: dict[int, set[tuple[int, int]]] = {}
        self._lines: list[Line] = []
        self._quiet = False
        self._changed: set[int] = set()

    # What sessions say.

    def add(self, owner: Owner, usage: list[Usage], *, replaces: bool = False) -> None:
        """Take a session's usage records; with `replaces` they are all that it holds."""
        number = self._owner(owner, wanted=bool(usage))
        if number is None:
            return
        copies: dict[tuple[int, int], Copy] = {}
        for record in usage:
            copy = copy_of(number, record)
            if owner.subagent:
                copy.agent = copy.agent or owner.session_id
            known = copies.get((copy.key, copy.variant))
            if known is None or rank_of(copy) > rank_of(known):
                copies[copy.key, copy.variant] = copy
        for copy in copies.values():
            self._incoming.setdefault(copy.key, []).append(copy)
        if replaces:
            query = "SELECT key, variant FROM usage WHERE owner = ?"
            for key, variant in fetched(self.connection, query, (number,)):
                # What it still holds is written anew: the older numbers may have been read wrongly.
                self._dropped.setdefault(key, set()).add((number, variant))
        if len(self._incoming) >= ENOUGH:
            self.settle_requests()

    def _owner(self, owner: Owner, wanted: bool) -> int | None:
        """The number of a session, whose facts may have changed; None while nothing of it is in the ledger."""
        tables = self.tables
        number = tables.find_owner(owner.host, owner.session_id)
        if number is None and not wanted:
            return None
        before = tables.owner(number) if number is not None else None
        if before == owner:
            return number
        self._lines.append(tables.session_line(owner))
        if before is None or number is None:
            return tables.put_owner(owner)
        self.settle_requests()
        old, new = self._place(before), self._place(owner)
        tables.put_owner(owner)
        if old != new:
            self._sums.move(number, old, new)
            query = "SELECT quarter, model, agent FROM session_spent WHERE owner = ?"
            self._sums.tidy(list(fetched(self.connection, query, (number,))), old)
        if before.rank != owner.rank:
            self._again(number)
        return number

    def _again(self, number: int) -> None:
        """Ask again whose the requests are that a session shares with others."""
        query = (
            "SELECT DISTINCT one.key FROM usage AS one JOIN usage AS other ON other.key = one.key"
            " AND other.owner <> one.owner WHERE one.owner = ?"
        )
        for (key,) in fetched(self.connection, query, (number,)):
            self._incoming.setdefault(key, [])

    def _place(self, owner: Owner) -> Place:
        return self.tables.labels.number(owner.host), self.tables.labels.number(owner.project)

    # Making it count.

    def settle(self) -> None:
        """Make what was taken count: rows, sums, and lines that are on the disk before they are committed."""
        self.settle_requests()
        if not self._lines:
            return
        lines, self._lines = self._lines, []
        state = state_of(self.connection)
        if self._log is None:
            self._log = Log(self.path, state.mark)
        length, chain, frames = self._log.append(lines)
        put_state(self.connection, msgspec.structs.replace(state, length=length, chain=chain.hex(), frames=frames))

    def touched(self) -> set[tuple[str, str]]:
        """The sessions whose sums have changed since this was asked."""
        numbers, self._sums.touched = self._sums.touched, set()
        query = "SELECT host, session_id FROM owner WHERE id = ?"  # one that was forgotten is no owner any more
        return {(host, name) for number in numbers for host, name in fetched(self.connection, query, (number,))}

    def settle_requests(self) -> None:
        """The rows and the sums alone."""
        rows = []
        gone: list[tuple[int, int, int]] = []
        keys = sorted({*self._incoming, *self._dropped})
        known = self.tables.known(keys)
        for key in keys:
            before = self.tables.copies("key = ?", (key,)) if key in known else []
            written, dropped = self._settle(before, self._incoming.get(key, []), self._dropped.get(key, set()))
            rows += [self.tables.row(copy) for copy in written]
            gone += dropped
        self._incoming, self._dropped = {}, {}
        self.connection.executemany("DELETE FROM usage WHERE owner = ? AND key = ? AND variant = ?", gone)
        self.connection.executemany(PUT_COPY, rows)
        self._sums.write()
        self._outdate_digests()

    def _outdate_digests(self) -> None:
        """What the digests say of sessions for which something else counts now is out of date."""
        self.connection.executemany(
            "UPDATE session SET digest_events = NULL WHERE digest_events IS NOT NULL AND (host, session_id) ="
            " (SELECT host, session_id FROM owner WHERE owner.id = ?)",
            [(owner,) for owner in sorted(self._changed)],
        )
        self._changed.clear()

    def _settle(
        self, before: list[Copy], incoming: list[Copy], dropped: set[tuple[int, int]]
    ) -> tuple[list[Copy], list[tuple[int, int, int]]]:
        """One identity: the copies to write, and those to delete."""
        if not before and len(incoming) == 1:
            copy = incoming[0]
            copy.counted = True
            self._pay(copy)
            self._count(copy)
            self._say(copy)
            return incoming, []
        old = {(copy.owner, copy.variant): copy for copy in before}
        now = {name: copy for name, copy in old.items() if name not in dropped}
        for copy in incoming:
            name = copy.owner, copy.variant
            known = now.get(name)
            if known is None or self._quiet or rank_of(copy) > rank_of(known):
                now[name] = copy
        kept = {name: msgspec.structs.replace(copy) for name, copy in now.items()}
        resolve(list(kept.values()), self.tables.rank)
        for copy in before:
            if copy.counted:
                self._count(copy, -1)
        self._pay_all(kept, old)
        written = []
        for name, copy in kept.items():
            if copy.counted:
                self._count(copy)
            if copy != old.get(name):
                written.append(copy)
                self._say_if_new(copy, old.get(name))
        gone = [copy for name, copy in old.items() if name not in kept]
        for copy in gone:
            owner = self.tables.owner(copy.owner)
            self._lines.append(DropLine(owner.host, owner.session_id, copy.usage_id, copy.request_id))
        return written, [(copy.owner, copy.key, copy.variant) for copy in gone]

    def _pay_all(self, kept: dict[tuple[int, int], Copy], old: dict[tuple[int, int], Copy]) -> None:
        """Price each copy by the row that it was priced by before, if it is still the same model, tier and day."""
        paid = {_basis(copy): copy.price for copy in sorted(old.values(), key=lambda copy: copy.counted)}
        for name, copy in kept.items():
            if not (self._quiet and copy.price):  # the log knows
                own = old.get(name)
                same = own is not None and _basis(own) == _basis(copy)
                copy.price = own.price if own is not None and same else paid.get(_basis(copy), 0)
            self._pay(copy)
            if not copy.counted:
                copy.cost = -1

    def _pay(self, copy: Copy) -> None:
        """Give a copy its price row, if it has none, and what it costs by it."""
        if not copy.price:
            copy.price = self._price_now(copy)
        row = self.tables.price(copy.price)
        copy.cost = cost_of(row, copy.counts.tokens) if row else -1

    def _price_now(self, copy: Copy) -> int:
        """The price row that the tables in force give for a request."""
        basis = _basis(copy)
        found = self._priced.get(basis)
        if found is not None:
            return found
        if self._prices is None:
            self._prices = self._load_prices()
        model, tier, day = basis
        price = self._prices.price(model, day, tier) if model else None
        number, new = self.tables.put_price(price)
        if new and price is not None:
            self._lines.append(PriceLine(price.key, price))
        self._priced[basis] = number
        return number

    def _count(self, copy: Copy, sign: int = 1) -> None:
        self._changed.add(copy.owner)
        self._sums.add(copy, self.tables.labels.number(copy.model), self._place(self.tables.owner(copy.owner)), sign)

    def _say(self, copy: Copy) -> None:
        if not self._quiet:
            self._lines.append(self.tables.usage_line(copy))

    def _say_if_new(self, copy: Copy, before: Copy | None) -> None:
        """Write a copy into the log if it is not there already; owners and sums are not in it: they follow."""
        if before is None or self.tables.usage_line(copy) != self.tables.usage_line(before):
            self._say(copy)

    # Prices that are asked for anew.

    def reprice(self) -> list[Repriced]:
        """Price every request by the tables in force now; what changed, by model. The caller settles, or takes back."""
        changes: dict[tuple[str, int, int], Repriced] = {}
        for (number,) in list(fetched(self.connection, "SELECT id FROM owner ORDER BY id")):
            rows = []
            for copy in self.tables.copies("owner = ? AND counted = 1", (number,)):
                now = self._price_now(copy)
                if now == copy.price:
                    continue
                before, after = copy.cost, msgspec.structs.replace(copy, price=now)
                self._pay(after)
                change = changes.setdefault((copy.model, copy.price, now), Repriced(copy.model))
                change.requests += 1
                change.before += max(before, 0)
                change.after += max(after.cost, 0)
                self._count(copy, -1)
                self._count(after)
                self._say(after)
                rows.append(self.tables.row(after))
            self.connection.executemany(PUT_COPY, rows)
            self._sums.write()
        return sorted(changes.values(), key=lambda change: change.model)

    # Sessions that go.

    def forget(self, host: str, session_id: str) -> bool:
        """Take a session out; what it shares with others is theirs. Whether there was anything."""
        number = self.tables.find_owner(host, session_id)
        if number is None:
            return False
        self.add(self.tables.owner(number), [], replaces=True)
        self.settle_requests()
        self._lines.clear()
        self.connection.execute("DELETE FROM owner WHERE id = ?", (number,))
        self.connection.execute(
            "DELETE FROM label WHERE id NOT IN (SELECT source FROM usage UNION SELECT agent FROM usage"
            " UNION SELECT model FROM usage UNION SELECT tier FROM usage UNION SELECT speed FROM usage"
            " UNION SELECT host FROM spent UNION SELECT project FROM spent)"
        )
        put_state(self.connection, msgspec.structs.replace(state_of(self.connection), stale=True))
        self.tables = Tables(self.connection)
        return True

    # Reading the log back.

    def restore(self, forgotten: Callable[[str, str], bool]) -> None:
        """Fill empty tables from the log, but for the sessions that are forgotten."""
        mark = log.whole(self.path)
        stale, self._quiet = log.has_more(self.path, mark), True
        with self.connection:
            taken = 0
            for line in log.read(self.path):
                if not isinstance(line, PriceLine) and forgotten(line.host, line.session_id):
                    stale = True
                    continue
                self._restore(line)
                taken += 1
                if taken % BATCH == 0:
                    self.settle_requests()
            self.settle_requests()
            self._lines.clear()
            put_state(self.connection, State(mark.length, mark.chain.hex(), mark.frames, stale))
        self._quiet = False

    def _restore(self, line: Line) -> None:
        if isinstance(line, PriceLine):
            self.tables.put_price(line.row)
        elif isinstance(line, SessionLine):
            owner = Owner(*msgspec.structs.astuple(line))
            self._owner(owner, wanted=True)
        elif isinstance(line, DropLine):
            number = self.tables.find_owner(line.host, line.session_id)
            if number is not None:
                self.settle_requests()
                name = number, variant_of(line.request_id)
                self._dropped.setdefault(key_of(line.host, line.usage_id), set()).add(name)
                self.settle_requests()
        else:
            self._restore_copy(line)

    def _restore_copy(self, line: UsageLine) -> None:
        number = self.tables.find_owner(line.host, line.session_id)
        if number is None:
            number = self.tables.put_owner(Owner(line.host, line.session_id, "", "", "", False))
        copy = copy_of(number, _usage(line))
        copy.numbers.embedded = line.embedded_microdollars
        if line.price:
            copy.price = self.tables.find_price(line.price) or 0
        else:
            copy.price, _ = self.tables.put_price(None)
        same = [
            one for one in self._incoming.get(copy.key, []) if (one.owner, one.variant) != (copy.owner, copy.variant)
        ]
        self._incoming[copy.key] = [*same, copy]

    # The log as a whole.

    def heal(self) -> None:
        """Finish what a crash left, and write the log anew where it holds too much or too little."""
        state = state_of(self.connection)
        new = self.path + log.NEW
        if state.next is not None:
            state = msgspec.structs.replace(state, next=None) if os.path.exists(new) else State(*state.next)
            with self.connection:
                put_state(self.connection, state)
        size = os.path.getsize(self.path) if os.path.exists(self.path) else 0
        if state.stale or size < state.length:
            self.rewrite()

    def rewrite(self) -> None:
        """Write the log anew from the tables."""
        self.close()
        new = self.path + log.NEW
        if os.path.exists(new):
            os.unlink(new)
        written = Log(new, Mark(0, b"", 0))
        try:
            length, chain, frames = written.append(self.tables.lines())
        finally:
            written.close()
        state = state_of(self.connection)
        with self.connection:
            put_state(self.connection, msgspec.structs.replace(state, next=(length, chain.hex(), frames)))
        os.replace(new, self.path)
        sync_dir(os.path.dirname(self.path))
        with self.connection:
            put_state(self.connection, State(length, chain.hex(), frames))

    def close(self) -> None:
        """Let go of the log."""
        if self._log is not None:
            self._log.close()
            self._log = None


def _basis(copy: Copy) -> tuple[str, str, str]:
    """What a price row is chosen by: model, tier and day."""
    counts = copy.counts
    return copy.model, tier_of(counts.tier, counts.speed), utc_day(counts.at)


def _usage(line: UsageLine) -> Usage:
    try:
        quality = Quality(line.quality)
    except ValueError:
        quality = Quality.EXACT
    return Usage(
        usage_id=line.usage_id,
        session_id=line.session_id,
        host=line.host,
        source=line.source,
        line=line.line,
        timestamp=line.timestamp,
        model=line.model or None,
        turn=line.turn or None,
        agent_id=line.agent_id or None,
        input_tokens=line.input_tokens,
        cache_write_5m_tokens=line.cache_write_5m_tokens,
        cache_write_1h_tokens=line.cache_write_1h_tokens,
        cache_read_tokens=line.cache_read_tokens,
        output_tokens=line.output_tokens,
        reasoning_tokens=line.reasoning_tokens,
        web_searches=line.web_searches,
        service_tier=line.service_tier or None,
        speed=line.speed or None,
        quality=quality,
        request_id=line.request_id or None,
        native=line.native,
    )
