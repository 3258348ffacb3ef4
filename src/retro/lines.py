"""Files of JSON lines that are only ever appended to: several may write, and a torn line costs that line only."""

from __future__ import annotations

import os
from typing import Generic, TypeVar

import msgspec

from retro.places import make_private_dir, open_private

Item = TypeVar("Item")


class Read(msgspec.Struct, Generic[Item]):
    """The lines that could be read, in order, and the numbers of those that could not."""

    items: list[Item]
    torn: list[int]


def append_line(path: str, *items: object) -> None:
    """Append objects as lines, in one write, and wait until they are on the disk.

    Where a writer died within a line, that line is ended first, so that the new ones stand on their own.
    """
    make_private_dir(os.path.dirname(path))
    body = b"".join(msgspec.json.encode(item) + b"\n" for item in items)
    descriptor = open_private(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    try:
        size = os.lseek(descriptor, 0, os.SEEK_END)
        if size:
            os.lseek(descriptor, size - 1, os.SEEK_SET)
            if os.read(descriptor, 1) != b"\n":
                body = b"\n" + body
        view = memoryview(body)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_lines(path: str, of: type[Item]) -> Read[Item]:
    """Every line of a file as what it should be; nothing where there is no file."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except FileNotFoundError:
        return Read([], [])
    decode = msgspec.json.Decoder(of).decode
    found: Read[Item] = Read([], [])
    for number, line in enumerate(content.split(b"\n"), 1):
        if not line:
            continue
        try:
            found.items.append(decode(line))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            found.torn.append(number)
    return found
