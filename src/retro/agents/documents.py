"""Documents that a host rewrites, cut into pieces: what did not change between two states is the same piece."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import Final, NamedTuple

import msgspec

LIMIT: Final = 64 * 1024 * 1024
"""Longest document that is taken apart; a longer one is kept in blocks, and not understood."""

BLOCK: Final = 1024 * 1024
LINES_SUFFIX: Final = ".jsonl"

_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_BEFORE_ITEM: Final = re.compile(rb"[ \t\r\n]*[\[,]?[ \t\r\n]*")
_BEFORE_VALUE: Final = re.compile(rb'[ \t\r\n]*[{,][ \t\r\n]*("(?:[^"\\]|\\.)*")[ \t\r\n]*:[ \t\r\n]*', re.DOTALL)
_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items: Final = msgspec.json.Decoder(list[msgspec.Raw]).decode
_name: Final = msgspec.json.Decoder(str).decode


class Piece(NamedTuple):
    """A stretch of a document: what stands before a value, and the value."""

    before: bytes
    """Layout: brackets, commas, spaces, the name of a member."""
    text: bytes
    name: str | None = None
    """Member of the outermost object that the value is, or in whose list it stands."""
    item: bool = False
    """It stands in a list."""
    line: bool = False
    """It is a line of JSON lines."""
    damaged: bool = False
    """It is no JSON, or too long to be taken apart."""


def cut(data: bytes, archive_name: str) -> list[Piece]:
    """The pieces of a document; joined, they are the document byte for byte.

    An object is cut into its members, and a list in it, or a list that is the document, into its items. JSON lines,
    which the archive name tells, are cut into lines.
    """
    if archive_name.endswith(LINES_SUFFIX):
        pieces = list(_lines(data))
    else:
        try:
            pieces = list(_structure(data)) if len(data) <= LIMIT else []
        except (ValueError, RecursionError):
            pieces = []
    if not pieces:
        pieces = list(_blocks(b"", data))
    return [piece if _is_text(piece) else Piece(b"", piece.before + piece.text, damaged=True) for piece in pieces]


def _is_text(piece: Piece) -> bool:
    try:
        piece.before.decode()
    except UnicodeDecodeError:
        return False
    return True


def _structure(data: bytes) -> Iterator[Piece]:
    start = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    found = _SPACE.match(data, start)
    at = found.end() if found else start
    if data[at : at + 1] == b"[":
        at = yield from _list(data, 0, at, data[at:], None)
    elif data[at : at + 1] == b"{":
        at = yield from _object(data, 0, at, data[at:])
    else:
        raise ValueError("neither an object nor a list")
    yield Piece(data[at:], b"")


def _object(data: bytes, begin: int, at: int, text: bytes) -> Generator[Piece, None, int]:
    for name, value in _members(text).items():
        raw = bytes(value)
        found = _BEFORE_VALUE.match(data, at)
        if found is None or _name(found[1]) != name or not data.startswith(raw, found.end()):
            raise ValueError("a member is there twice")
        end = found.end() + len(raw)
        if raw[:1] == b"[" and len(raw) > 2:
            begin = yield from _list(data, begin, found.end(), raw, name)
        else:
            yield from _value(Piece(data[begin : found.end()], raw, name))
            begin = end
        at = end
    return begin


def _list(data: bytes, begin: int, at: int, text: bytes, name: str | None) -> Generator[Piece, None, int]:
    for value in _items(text):
        raw = bytes(value)
        found = _BEFORE_ITEM.match(data, at)
        start = found.end() if found else at
        if not data.startswith(raw, start):
            raise ValueError("not as it was decoded")
        yield from _value(Piece(data[begin:start], raw, name, True))
        begin = at = start + len(raw)
    return begin


def _value(piece: Piece) -> Iterator[Piece]:
    if len(piece.text) <= 4 * BLOCK:
        yield piece
    else:
        yield from _blocks(piece.before, piece.text, piece.name)


def _lines(data: bytes) -> Iterator[Piece]:
    begin = at = 0
    while at < len(data):
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        if end - at > 4 * BLOCK:
            yield from _blocks(data[begin:at], data[at:end])
            begin = end
        elif end > at:
            yield Piece(data[begin:at], data[at:end], line=True)
            begin = end
        at = end + 1
    if begin < len(data):
        yield Piece(data[begin:], b"")


def _blocks(before: bytes, data: bytes, name: str | None = None) -> Iterator[Piece]:
    for start in range(0, len(data), BLOCK):
        yield Piece(b"" if start else before, data[start : start + BLOCK], name, damaged=True)
