"""Sources that do not just grow, as journals that do: what is new of each state, in JSON lines that only get more.

A journal holds every captured state of a document or of a set of records. `docs/archive.md` specifies its lines.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from hashlib import blake2b, sha256
from typing import Final

import msgspec

from retro.agents.documents import Piece, cut
from retro.agents.interface import (
    BOOKKEEPING,
    MALFORMED,
    UNKNOWN,
    Batch,
    Facts,
    Reader,
    Row,
    Verdict,
)
from retro.agents.records import BLOCK, RECORD_LIMIT, Accounting, mend
from retro.event import RawRef

SUFFIX: Final = ".journal"
LAYOUT: Final = "layout"
NOT_JSON: Final = "not JSON"
OVERSIZED: Final = "oversized"
_LINE: Final = RECORD_LIMIT // 2

_json: Final = msgspec.json.Encoder().encode


class Entry(msgspec.Struct, omit_defaults=True):
    """A line of a journal: a piece of a document, a state of it, or a record."""

    piece: int | None = None
    name: str | None = None
    item: bool = False
    line: bool = False
    damaged: bool = False
    before: str | None = None
    text: str | None = None
    base64: str | None = None
    state: int | None = None
    size: int = 0
    sha256: str = ""
    head: int = 0
    put: list[tuple[int, int]] = []
    tail: int = 0
    table: str | None = None
    key: str = ""
    row: msgspec.Raw = msgspec.Raw()
    part: int = 0
    """Of a record that is too long for a line: which part this is, from 1."""
    whole: str = ""
    """The hash of all its parts together."""
    gone: bool = False

    @property
    def content(self) -> bytes:
        """The bytes of the piece or record."""
        if row := bytes(self.row):
            return row
        return base64.b64decode(self.base64) if self.base64 is not None else (self.text or "").encode()


decode: Final = msgspec.json.Decoder(Entry).decode


class Placed(msgspec.Struct, array_like=True):
    """A piece as the table knows it."""

    number: int
    digest: bytes
    before: int
    text: int
    verdict: int
    damaged: bool = False


class Table(msgspec.Struct):
    """What a journal's last state consists of: enough to see what the next one changes and to account for its bytes."""

    verdicts: list[tuple[str, str]] = []
    pieces: list[Placed] = []
    spare: list[Placed] = []
    """The pieces of the last sound state, while the document is damaged."""
    fresh: list[Placed] = []
    """Pieces that no state has used yet."""
    rows: dict[str, tuple[bytes, int, int]] = {}
    made: int = 0
    states: int = 0
    size: int = 0
    sha256: bytes = b""

    def accounting(self) -> Accounting:
        """What became of the bytes of the last state."""
        counts: dict[int, list[int]] = {}
        layout = [0, 0]
        for piece in self.pieces:
            if piece.before:
                layout[0] += 1
                layout[1] += piece.before
            if piece.text:
                _add(counts, piece.verdict, piece.text)
        for _, size, verdict in self.rows.values():
            _add(counts, verdict, size)
        found = Accounting({}, {}, {}, {})
        for number, (records, size) in sorted(counts.items()):
            account, kind = self.verdicts[number]
            getattr(found, account)[kind] = [records, size]
        if layout[1]:
            found.bookkeeping[LAYOUT] = layout
        return found


def _add(counts: dict[int, list[int]], verdict: int, size: int) -> None:
    cell = counts.setdefault(verdict, [0, 0])
    cell[0] += 1
    cell[1] += size


def load(table: bytes) -> Table:
    """A table as it was saved; an empty one for a new source."""
    return msgspec.msgpack.decode(table, type=Table) if table else Table([], [], [], [], {})


def save(table: Table) -> bytes:
    """A table, to be kept with its source."""
    return msgspec.msgpack.encode(table)


# --- writing ---------------------------------------------------------------------------------------------------------


def document_lines(table: Table, data: bytes, archive_name: str) -> Iterator[bytes]:
    """The lines that bring a journal to this state of a document; none if it is there already."""
    pieces = cut(data, archive_name)
    digests = [_digest(piece) for piece in pieces]
    old = [piece.digest for piece in table.pieces]
    if digests == old and table.states:
        return
    head = _common(old, digests)
    tail = _common(old[head:][::-1], digests[head:][::-1])
    numbers = {placed.digest: placed.number for placed in (*table.spare, *table.pieces)}
    put: list[tuple[int, int]] = []
    made = table.made
    for piece, digest in zip(pieces[head : len(pieces) - tail], digests[head : len(digests) - tail], strict=True):
        number = numbers.get(digest)
        if number is None:
            number = numbers[digest] = made
            made += 1
            yield _piece_line(number, piece)
        if put and sum(put[-1]) == number:
            put[-1] = put[-1][0], put[-1][1] + 1
        else:
            put.append((number, 1))
    state = {"state": table.states, "size": len(data), "sha256": sha256(data).hexdigest()}
    yield _json({**state, "head": head, "put": put, "tail": tail}) + b"\n"


def record_lines(table: Table, rows: Iterable[Row]) -> Iterator[bytes]:
    """The lines that bring a journal to this state of records: those that are new or changed, then those that went."""
    gone = dict.fromkeys(table.rows)
    for row in rows:
        key = _row_key(row.table, row.key)
        gone.pop(key, None)
        if row.value is not None:
            known = table.rows.get(key)
            if known is None or known[0] != _hash(row.value):
                yield from _row_lines(row)
    for key in gone:
        name, _, key = key.partition("\0")
        yield _json({"table": name, "key": key, "gone": True}) + b"\n"


def _piece_line(number: int, piece: Piece) -> bytes:
    fields: dict[str, object] = {"piece": number}
    fields |= {name: value for name in ("name", "item", "line", "damaged") if (value := getattr(piece, name))}
    if piece.before:
        fields["before"] = piece.before.decode()
    return _json({**fields, **_text(piece.text)}) + b"\n"


def _text(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def _row_lines(row: Row) -> Iterator[bytes]:
    value = row.value or b""
    key = _json({"table": row.table, "key": row.key})[:-1]
    if len(value) > _LINE:
        blocks = [value[start : start + BLOCK] for start in range(0, len(value), BLOCK)]
        for number, block in enumerate(blocks, 1):
            fields = {"table": row.table, "key": row.key, "part": number, "whole": _hash(value).hex()}
            yield _json({**fields, **_text(block)}) + b"\n"
    elif b"\n" not in value and b"\r" not in value and _is_object(value):
        yield key + b',"row":' + value + b"}\n"
    else:
        yield key + b"," + _json(_text(value))[1:] + b"\n"


def _is_object(value: bytes) -> bool:
    if value[:1] != b"{" or value[-1:] != b"}":
        return False
    try:
        value.decode()
        msgspec.json.decode(value, type=dict[str, msgspec.Raw])
    except (ValueError, RecursionError):
        return False
    return True


def _common(one: list[bytes], other: list[bytes]) -> int:
    shorter = min(len(one), len(other))
    return next((place for place in range(shorter) if one[place] != other[place]), shorter)


def _digest(piece: Piece) -> bytes:
    return _hash(
        b"%d %s %d%d%d " % (len(piece.before), (piece.name or "").encode(), *piece[3:]) + piece.before + piece.text
    )


def _hash(data: bytes) -> bytes:
    return blake2b(data, digest_size=12).digest()


def _row_key(table: str, key: str) -> str:
    return f"{table}\0{key}"


# --- reading ---------------------------------------------------------------------------------------------------------


class JournalReader:
    """Feeds what is new in a journal to the reader of its source, and keeps account of the state that it leads to."""

    def __init__(self, reader: Reader, table: Table, source_key: str) -> None:
        self._reader = reader
        self.table = table
        self._source_key = source_key
        self._numbers: dict[tuple[str, str], int] = {pair: place for place, pair in enumerate(table.verdicts)}

    @property
    def facts(self) -> Facts:
        """What the source is known to say about its session."""
        return self._reader.facts

    def save(self) -> bytes:
        """The state of the source's reader."""
        return self._reader.save()

    def feed(self, record: bytes, line: int, offset: int, batch: Batch) -> Verdict:
        """Take one line of the journal."""
        entry = decode(record)
        if entry.state is not None:
            self._place(entry)
        elif entry.table is not None:
            self._take_row(entry, record, line, offset, batch)
        elif entry.piece is not None:
            self._take_piece(entry, len(record), line, offset, batch)
        else:
            raise msgspec.ValidationError("no line of a journal")
        return Verdict(BOOKKEEPING, "journal")  # its own bytes; the account is that of the state

    def feed_giant(self, head: bytes, tail: bytes, line: int, offset: int, length: int, batch: Batch) -> Verdict:
        """No line of a journal is that long, unless it is damaged."""
        return Verdict(MALFORMED, NOT_JSON)

    def _place(self, entry: Entry) -> None:
        table, old = self.table, self.table.pieces
        found = {piece.number: piece for piece in (*table.spare, *old, *table.fresh)}
        middle = [found[n] for first, count in entry.put for n in range(first, first + count) if n in found]
        pieces = old[: entry.head] + middle + (old[len(old) - entry.tail :] if entry.tail else [])
        if not any(piece.damaged for piece in pieces):
            table.spare = []
        elif not any(piece.damaged for piece in old):
            table.spare = old
        table.pieces, table.fresh = pieces, []
        table.states = (entry.state or 0) + 1
        table.size, table.sha256 = entry.size, bytes.fromhex(entry.sha256)

    def _take_piece(self, entry: Entry, length: int, line: int, offset: int, batch: Batch) -> None:
        text, before = entry.content, (entry.before or "").encode()
        piece = Piece(before, text, entry.name, entry.item, entry.line, entry.damaged)
        account, kind = BOOKKEEPING, LAYOUT
        if entry.damaged:
            account, kind = MALFORMED, NOT_JSON
        elif text:
            account, kind = self._fed(_record(entry, text), length, line, offset, batch)
        number = self._number(account, kind)
        digest = _digest(piece)
        self.table.fresh.append(Placed(entry.piece or 0, digest, len(before), len(text), number, entry.damaged))
        self.table.made = max(self.table.made, (entry.piece or 0) + 1)

    def _take_row(self, entry: Entry, record: bytes, line: int, offset: int, batch: Batch) -> None:
        table, key = self.table, _row_key(entry.table or "", entry.key)
        if entry.gone:
            table.rows.pop(key, None)
            return
        content = entry.content
        if entry.part:
            size = table.rows[key][1] if entry.part > 1 and key in table.rows else 0
            number = self._number(UNKNOWN, f"{entry.table}.{OVERSIZED}")
            table.rows[key] = (bytes.fromhex(entry.whole), size + len(content), number)
            return
        if not bytes(entry.row):
            record = _json({"table": entry.table, "key": entry.key})[:-1] + b',"row":' + content + b"}"
        account, kind = self._fed(record, len(record), line, offset, batch)
        table.rows[key] = (_hash(content), len(content), self._number(account, kind))

    def _fed(self, record: bytes, length: int, line: int, offset: int, batch: Batch) -> tuple[str, str]:
        """How a record is accounted for; its events refer to the line of the journal."""
        before = len(batch.events)
        try:
            found = self._reader.feed(record, line, offset, batch)
        except (ValueError, RecursionError):
            try:
                found = self._reader.feed(mend(record), line, offset, batch)
            except (ValueError, RecursionError):
                return MALFORMED, NOT_JSON
        if len(batch.events) > before:
            reference = RawRef(self._source_key, line, offset, length)
            for event in batch.events[before:]:
                event.raw_ref = reference
        return found.account, found.kind

    def _number(self, account: str, kind: str) -> int:
        pair = (account, kind)
        number = self._numbers.get(pair)
        if number is None:
            number = self._numbers[pair] = len(self.table.verdicts)
            self.table.verdicts.append(pair)
        return number


def _record(entry: Entry, text: bytes) -> bytes:
    """What the reader of a document gets: a line as it is, else a value with its place."""
    if entry.line:
        return text
    place = _json({"name": entry.name, "item": entry.item} if entry.name else {"item": entry.item})
    return place[:-1] + b',"value":' + text + b"}"


class JournalStream:
    """Lines as a stream to read from."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines

    def read(self, size: int, /) -> bytes:
        """Whole lines of about that size, at least one; empty at the end."""
        found, length = [], 0
        while length < size and (line := next(self._lines, b"")):
            found.append(line)
            length += len(line)
        return b"".join(found)


# --- giving back -----------------------------------------------------------------------------------------------------


def document(lines: Iterable[bytes], state: int | None = None) -> bytes:
    """A document as it was, from the lines of its journal: the last state, or one by its number.

    Raises ValueError where it is not what was captured.
    """
    contents: dict[int, bytes] = {}
    order: list[int] = []
    found: Entry | None = None
    for line in lines:
        entry = decode(line)
        if entry.piece is not None:
            contents[entry.piece] = (entry.before or "").encode() + entry.content
        elif entry.state is not None:
            middle = [n for first, count in entry.put for n in range(first, first + count)]
            order = order[: entry.head] + middle + (order[len(order) - entry.tail :] if entry.tail else [])
            found = entry
            if entry.state == state:
                break
    if found is None or (state is not None and found.state != state):
        raise ValueError(f"there is no state {state}")
    data = b"".join(contents[number] for number in order)
    if sha256(data).hexdigest() != found.sha256:
        raise ValueError("it does not add up to what was captured")
    return data


def records(lines: Iterable[bytes]) -> dict[tuple[str, str], bytes]:
    """The records of the last state, by table and key."""
    found: dict[tuple[str, str], bytes] = {}
    for line in lines:
        entry = decode(line)
        if entry.table is None:
            continue
        place = (entry.table, entry.key)
        if entry.gone:
            found.pop(place, None)
        elif entry.part > 1:
            found[place] = found.get(place, b"") + entry.content
        else:
            found[place] = entry.content
    return found
