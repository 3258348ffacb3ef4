"""`signals/readings.jsonl`: a line for each time that readings of a session changed; later lines win, by signal."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from retro.event import Reading
from retro.places import make_private_dir, open_private, replace_file


class Line(msgspec.Struct):
    """Readings of one session that were new, or not as before, and when."""

    schema: int
    host: str
    session_id: str
    at: str
    readings: list[Reading]


SCHEMA: Final = 1

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Line).decode


def size_of(path: str) -> int:
    """How long the file is; 0 where there is none."""
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def append(path: str, length: int, lines: Iterable[Line]) -> int:
    """Write lines behind what counts of the file, and cut off what a crash has left there; gives its length then."""
    make_private_dir(os.path.dirname(path))
    data = b"".join(_encode(line) + b"\n" for line in lines)
    descriptor = open_private(path, os.O_RDWR | os.O_CREAT)
    with open(descriptor, "r+b", buffering=0) as file:
        file.truncate(length)
        file.seek(length)
        file.write(data)
    return length + len(data)


def rewrite(path: str, lines: Iterable[Line]) -> tuple[int, int]:
    """Write the file anew; gives its length and the number of readings in it."""
    make_private_dir(os.path.dirname(path))
    new, length, count = f"{path}.new", 0, 0
    descriptor = open_private(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    with open(descriptor, "wb", buffering=1024 * 1024) as file:
        for line in lines:
            length += file.write(_encode(line) + b"\n")
            count += len(line.readings)
    replace_file(new, path)
    return length, count


def read(path: str) -> Iterator[Line]:
    """The lines of the file, in order. What is torn or no reading is passed over."""
    try:
        with open(path, "rb") as file:
            for data in file:
                try:
                    yield _decode(data)
                except (msgspec.MsgspecError, UnicodeDecodeError):
                    continue
    except FileNotFoundError:
        return


def forget(path: str, sessions: Iterable[tuple[str, str]]) -> None:
    """Take the lines about some sessions out of the file."""
    gone = set(sessions)
    if os.path.exists(path):
        rewrite(path, (line for line in read(path) if (line.host, line.session_id) not in gone))
