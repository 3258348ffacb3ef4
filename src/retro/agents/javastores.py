"""What can be read in the stores of Java programs without their libraries: documents of H2's MVStore, any texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

STREAM: Final = b"\xac\xed\x00\x05"
"""Begins what Java has serialised: in an MVStore each document by itself."""

LONG: Final = 1 << 24
OUTER: Final = frozenset({"request", "response", "name"})
"""Fields that hold a document of their own; newer versions join both names with a dot instead."""

_TEXT: Final = re.compile(rb"[\x74\x7c]")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_NUMBER: Final = re.compile(rb"s(?:r\x00\x0ejava\.lang\.Long.{1,60}?xp|q\x00~..)(.{8})", re.DOTALL)
_RUN: Final = re.compile(rb"[\t\n\r\x20-\x7e\x80-\xf4]{24,}")


class Document(NamedTuple):
    """What was found in one document."""

    fields: dict[str, str]
    """Texts by name, where a text follows a name."""
    numbers: dict[str, int]
    size: int
    """Bytes of the texts."""


def documents(data: bytes) -> Iterator[Document]:
    """The documents of a store, also those that a later version has replaced, in the order of the file."""
    begin = data.find(STREAM)
    while begin >= 0:
        end = data.find(STREAM, begin + len(STREAM))
        yield _document(data[begin + len(STREAM) : end if end >= 0 else len(data)])
        begin = end


def _document(data: bytes) -> Document:
    fields: dict[str, str] = {}
    numbers: dict[str, int] = {}
    outer, name, ended, size = "", "", -1, 0
    for begin, end, text in _texts(data):
        size += end - begin
        if name and begin == ended:  # a text right behind a name is its value, and no name itself
            fields.setdefault(name, text)
            name = ""
            continue
        number = _NUMBER.match(data, ended) if name else None
        if number is not None:
            numbers.setdefault(name, int.from_bytes(number[1], "big", signed=True))
        if text in OUTER:
            outer, name = text, ""
            ended = end
            if _follows(data, end):
                name = text
            continue
        name = f"{outer}.{text}" if outer and text in ("stringContent", "contents", "value", "status") else text
        ended = end
    number = _NUMBER.match(data, ended) if name else None
    if number is not None:
        numbers.setdefault(name, int.from_bytes(number[1], "big", signed=True))
    return Document(fields, numbers, size)


def _follows(data: bytes, at: int) -> bool:
    return data[at : at + 1] in (b"\x74", b"\x7c")


def _texts(data: bytes) -> Iterator[tuple[int, int, str]]:
    """Each text with where it begins and ends: a mark, its length, and its bytes."""
    at = 0
    while found := _TEXT.search(data, at):
        begin = found.start()
        head = begin + (3 if data[begin] == 0x74 else 9)
        length = int.from_bytes(data[begin + 1 : head], "big")
        text = _decoded(data[head : head + length]) if 0 < length <= min(len(data) - head, LONG) else None
        if text is None:
            at = begin + 1
        else:
            at = head + length
            yield begin, at, text


def _decoded(data: bytes) -> str | None:
    """A text as Java writes it: zero in two bytes, other planes as surrogates."""
    try:
        text = data.replace(b"\xc0\x80", b" ").decode("utf-8", "surrogatepass")
        text = text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeError:
        return None
    return None if _CONTROL.search(text) else text


def texts(data: bytes) -> Iterator[str]:
    """Whatever in a store reads like words: long, and with spaces; each once."""
    seen: set[str] = set()
    for found in _RUN.finditer(data):
        text = found[0].decode("utf-8", "ignore").strip()
        if text.count(" ") > 2 and text not in seen:
            seen.add(text)
            yield text
