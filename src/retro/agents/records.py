"""What all JSON-lines hosts share: lines, glued records, damage, records too long for memory."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Generator, Iterator
from typing import Final, NamedTuple, Protocol

import msgspec

from retro.agents.interface import BOOKKEEPING, MALFORMED, Batch, Reader, Verdict

CHUNK: Final = 1024 * 1024
"""Most content of one archive frame; chunks are cut at line ends where lines are shorter. Transcripts repeat over far
stretches: in pieces of 256 KiB they would take a quarter more."""

RECORD_LIMIT: Final = 16 * 1024 * 1024
"""Longest record that is held in memory."""

SCAN: Final = 64 * 1024
"""How much of either end of a longer record is looked at."""

BLOCK: Final = 1024 * 1024

DIGITS: Final = 300
"""Longest whole number that decoders take."""

GAPS: Final = 100
"""Damaged stretches listed one by one; all are counted."""

LINE_ENDS: Final = "line_ends"
BOM: Final = "bom"

_STRUCTURE = re.compile(rb'["{}\[\]]')
_SPACE = re.compile(rb"[ \t\r]+")
_NUL = re.compile(rb"\x00+")
_SURROGATES = re.compile("[\ud800-\udfff]")
_BOM_BYTES: Final = b"\xef\xbb\xbf"
_OPEN: Final = 0x7B
_CLOSE: Final = 0x7D
_RESCUE_WORK: Final = 64 * 1024 * 1024
"""Bytes that may be looked at to find a whole record behind a torn one."""


class Stream(Protocol):
    """Bytes to read from: a host's file, or the archived copy of it."""

    def read(self, size: int, /) -> bytes: ...


class Chunk(NamedTuple):
    """Consecutive bytes of a source, ready for the archive, and what they are."""

    data: bytes
    giant: bool = False
    """A piece of a record that is too long to be parsed whole; the last piece ends its line."""
    tail: bool = False
    """A last line without its end; only what is complete in it counts."""


class Accounting(msgspec.Struct):
    """Bytes of a source by what became of them, `{type: [records, bytes]}`; with the torn tail they sum to its size."""

    mapped: dict[str, list[int]] = {}
    bookkeeping: dict[str, list[int]] = {}
    unknown: dict[str, list[int]] = {}
    malformed: dict[str, list[int]] = {}
    gaps: list[tuple[int, int, int, str]] = []
    """Offset, length, line and reason of the first damaged stretches."""
    repaired: int = 0
    """Records that needed mending (invalid UTF-8, lone surrogates, NaN) before they could be read."""

    def add(self, account: str, kind: str, count: int, length: int) -> None:
        """Count records of one kind."""
        table: dict[str, list[int]] = getattr(self, account)
        cell = table.get(kind)
        if cell is None:
            table[kind] = [count, length]
        else:
            cell[0] += count
            cell[1] += length

    def add_gap(self, offset: int, length: int, line: int, reason: str) -> None:
        """Count a stretch that is not a record."""
        self.add(MALFORMED, reason, 1, length)
        if len(self.gaps) < GAPS:
            self.gaps.append((offset, length, line, reason))

    def total(self) -> int:
        """All bytes that were accounted for."""
        tables = (self.mapped, self.bookkeeping, self.unknown, self.malformed)
        return sum(cell[1] for table in tables for cell in table.values())


class Position(msgspec.Struct):
    """How far a source was read."""

    offset: int = 0
    line: int = 1
    """Number of the line that begins, or goes on, at `offset`."""


def chunks(stream: Stream) -> Iterator[Chunk]:
    """Cut a stream into pieces for the archive: whole lines together, a longer line alone, a giant one in pieces.

    The last piece may lack its line end (`tail`); an empty giant piece says that a giant's line end is missing.
    """
    rest = b""
    while block := stream.read(BLOCK):
        data = rest + block if rest else block
        start = 0
        while (cut := _cut(data, start)) and (cut < len(data) or cut - start >= CHUNK // 2):
            yield from _as_chunks(data[start:cut])
            start = cut
        rest = data[start:] if start else data  # no line end yet, or a small piece that the next block can fill up
        if len(rest) > RECORD_LIMIT and not _cut(rest, 0):
            rest = yield from _giant(rest, stream)
    start = 0
    while cut := _cut(rest, start):
        yield from _as_chunks(rest[start:cut])
        start = cut
    if start < len(rest):
        yield Chunk(rest[start:], tail=True)


def _as_chunks(data: bytes) -> Iterator[Chunk]:
    """Lines together, or one line: a giant if it is over the limit, whatever way it happened to be read."""
    if len(data) - 1 > RECORD_LIMIT:
        yield from _pieces(data)
    else:
        yield Chunk(data)


def _cut(data: bytes, start: int) -> int:
    """Behind the last line end within a chunk's length, else behind the first one; 0 where there is none."""
    return data.rfind(b"\n", start, start + CHUNK) + 1 or data.find(b"\n", start + CHUNK) + 1


def _giant(data: bytes, stream: Stream) -> Generator[Chunk, None, bytes]:
    """Pass a record over the limit through in pieces; returns what was read behind its line end."""
    while data:
        cut = data.find(b"\n") + 1
        yield from _pieces(data[:cut] if cut else data)
        if cut:
            return data[cut:]
        data = stream.read(BLOCK)
    yield Chunk(b"", giant=True, tail=True)
    return b""


def _pieces(data: bytes) -> Iterator[Chunk]:
    return (Chunk(data[start : start + CHUNK], giant=True) for start in range(0, len(data), CHUNK))


class Parser:
    """Feeds the records of one source to its reader and accounts for every byte of it."""

    def __init__(self, reader: Reader, position: Position, accounting: Accounting) -> None:
        self.reader = reader
        self.position = position
        self.accounting = accounting
        self._giant_head = b""
        self._giant_tail = b""
        self._giant_length = 0

    def feed(self, chunk: Chunk, batch: Batch) -> int:
        """Parse a chunk; returns how many of its bytes are done with, fewer than all only in a torn tail."""
        if chunk.giant:
            return self._feed_giant(chunk.data, batch)
        position, accounting, read = self.position, self.accounting, self.reader.feed
        before = position.offset
        lines = chunk.data.split(b"\n")
        unfinished = lines.pop()
        tallies: dict[Verdict, list[int]] = {}
        line, offset = position.line, before
        for data in lines:
            if data:
                try:
                    if data[0] != _OPEN or data[-1] != _CLOSE:
                        raise msgspec.DecodeError
                    verdict = read(data, line, offset, batch)
                except (ValueError, RecursionError):  # msgspec's errors are values', invalid UTF-8 is not msgspec's
                    position.line, position.offset = line, offset
                    self._feed_damaged(data, True, batch)
                else:
                    cell = tallies.get(verdict)
                    if cell is None:
                        tallies[verdict] = [1, len(data)]
                    else:
                        cell[0] += 1
                        cell[1] += len(data)
                offset += len(data)
            offset += 1
            line += 1
        for verdict, (count, length) in tallies.items():
            accounting.add(verdict.account, verdict.kind, count, length)
        if lines:
            accounting.add(BOOKKEEPING, LINE_ENDS, len(lines), len(lines))
        position.line, position.offset = line, offset
        if unfinished:
            self._feed_damaged(unfinished, False, batch)
        return position.offset - before

    def _feed_damaged(self, data: bytes, complete: bool, batch: Batch) -> None:
        """Take from a line what can be taken, left to right; of an incomplete line only whole objects."""
        position, accounting = self.position, self.accounting
        begin, at = position.offset, 0
        while at < len(data):
            if space := _SPACE.match(data, at):
                accounting.add(BOOKKEEPING, LINE_ENDS, 0, space.end() - at)
                at = space.end()
            elif begin + at == 0 and data.startswith(_BOM_BYTES):
                accounting.add(BOOKKEEPING, BOM, 1, len(_BOM_BYTES))
                at = len(_BOM_BYTES)
            elif data[at] == _OPEN and (end := self._feed_object(data, at, begin, batch)):
                at = end
            elif complete:
                at = self._skip_damage(data, at, begin)
            else:
                break
            position.offset = begin + at

    def _feed_object(self, data: bytes, at: int, begin: int, batch: Batch) -> int:
        """Read one object that begins here, mended if need be; returns its end, 0 if there is none."""
        end = object_end(data, at)
        if not end:
            return 0
        record = data[at:end]
        for mended in (False, True):
            try:
                verdict = self.reader.feed(mend(record) if mended else record, self.position.line, begin + at, batch)
            except (ValueError, RecursionError):
                continue
            self.accounting.add(verdict.account, verdict.kind, 1, len(record))
            self.accounting.repaired += mended
            return end
        return 0

    def _skip_damage(self, data: bytes, at: int, begin: int) -> int:
        """Count what is not a record, up to where a record may begin again."""
        if nul := _NUL.match(data, at):
            end, reason = nul.end(), "NUL bytes"
        else:
            end, reason = _damage(data, at)
        self.accounting.add_gap(begin + at, end - at, self.position.line, reason)
        return end

    @property
    def in_giant(self) -> bool:
        """Whether a giant record was begun and not ended."""
        return self._giant_length > 0

    def _feed_giant(self, data: bytes, batch: Batch) -> int:
        if not data:  # its end is missing: it does not count yet
            self._giant_head, self._giant_tail, self._giant_length = b"", b"", 0
            return 0
        if not self._giant_length:
            self._giant_head = data[:SCAN]
        self._giant_length += len(data)
        self._giant_tail = (self._giant_tail + data)[-SCAN:]
        if not data.endswith(b"\n"):
            return len(data)
        length = self._giant_length - 1
        position = self.position
        verdict = self.reader.feed_giant(
            self._giant_head, self._giant_tail, position.line, position.offset, length, batch
        )
        self.accounting.add(verdict.account, verdict.kind, 1, length)
        self.accounting.add(BOOKKEEPING, LINE_ENDS, 1, 1)
        position.offset += self._giant_length
        position.line += 1
        self._giant_head, self._giant_tail, self._giant_length = b"", b"", 0
        return len(data)


def object_end(data: bytes, start: int) -> int:
    """Where the JSON object that begins at `start` ends, by its brackets alone; 0 if it does not."""
    depth, at = 0, start
    while found := _STRUCTURE.search(data, at):
        mark = data[found.start()]
        at = found.end()
        if mark == 0x22:
            at = _string_end(data, at)
            if not at:
                return 0
        elif mark in b"{[":
            depth += 1
        else:
            depth -= 1
            if depth == 0:
                return at
    return 0


def _string_end(data: bytes, at: int) -> int:
    while (quote := data.find(b'"', at)) >= 0:
        slash = quote
        while slash > at and data[slash - 1] == 0x5C:
            slash -= 1
        if (quote - slash) % 2 == 0:
            return quote + 1
        at = quote + 1
    return 0


def mend(record: bytes) -> bytes:
    """The same object as strict JSON: invalid UTF-8 and lone surrogates replaced, NaN and boundless numbers as null.

    Raises ValueError where it is not JSON at all.
    """
    text = record.decode("utf-8", "replace")
    value = json.loads(text, strict=False, parse_constant=lambda _: None, parse_int=_whole, parse_float=_finite)
    return _SURROGATES.sub("\ufffd", json.dumps(value, ensure_ascii=False)).encode()


def _whole(digits: str) -> int | None:
    return int(digits) if len(digits) <= DIGITS else None


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


def _damage(data: bytes, at: int) -> tuple[int, str]:
    """How far a damaged stretch reaches: to the line's end, or to a whole record that was glued on behind it."""
    rest = data[at:]
    try:
        json.loads(rest.decode("utf-8", "replace"), strict=False)
        return len(data), "not an object" if rest[:1] != b"{" else "not a record"
    except RecursionError:
        return len(data), "nested too deeply"
    except ValueError:
        pass
    start, work = data.find(b'{"', at + 1), 0
    while start >= 0 and work < _RESCUE_WORK:
        if object_end(data, start) == len(data.rstrip(b" \t\r")) and _is_object(data[start:]):
            return start, "torn record"
        work += len(data) - start
        start = data.find(b'{"', start + 1)
    nul = data.find(b"\x00", at + 1)
    return (nul if nul > 0 else len(data)), "not JSON"


def _is_object(data: bytes) -> bool:
    try:
        mend(data)
    except (ValueError, RecursionError):
        return False
    return True
