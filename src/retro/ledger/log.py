"""`ledger/usage.jsonl.zst`: every usage record with its price row, JSON lines in frames, only ever appended to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from retro.archive.frames import FrameWriter, Mark, contents, sound_length
from retro.ledger.prices import Price
from retro.places import make_private_dir, sync_dir

FRAME: Final = 256 * 1024
NEW: Final = ".new"


class SessionLine(msgspec.Struct, tag_field="kind", tag="session", omit_defaults=True):
    """What of a session decides about its requests: later lines about it take the place of earlier ones."""

    host: str
    session_id: str
    started: str = ""
    project: str = ""
    parent: str = ""
    subagent: bool = False


class PriceLine(msgspec.Struct, tag_field="kind", tag="price"):
    """A price row, before the first request that it is used for."""

    hash: str
    row: Price


class UsageLine(msgspec.Struct, tag_field="kind", tag="usage", omit_defaults=True):
    """A request as one session has it; a later line about the same takes the place of an earlier one."""

    host: str
    session_id: str
    usage_id: str
    request_id: str = ""
    timestamp: str | None = None
    model: str = ""
    price: str = ""
    """Hash of the price row; empty where the model had none."""
    input_tokens: int = 0
    cache_write_5m_tokens: int = 0
    cache_write_1h_tokens: int = 0
    cache_read_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    web_searches: int = 0
    service_tier: str = ""
    speed: str = ""
    embedded_microdollars: int = -1
    quality: str = "exact"
    agent_id: str = ""
    source: str = ""
    line: int = 0
    turn: int = 0
    native: bool = True


class DropLine(msgspec.Struct, tag_field="kind", tag="drop", omit_defaults=True):
    """A session turned out not to hold a request that an earlier line names."""

    host: str
    session_id: str
    usage_id: str
    request_id: str = ""


Line = SessionLine | PriceLine | UsageLine | DropLine

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(SessionLine | PriceLine | UsageLine | DropLine).decode


class Log:
    """The file, open to be appended to behind what is committed of it."""

    def __init__(self, path: str, committed: Mark) -> None:
        new = not os.path.exists(path)
        make_private_dir(os.path.dirname(path))
        self._frames = FrameWriter(path, *committed)
        if new:
            sync_dir(os.path.dirname(path))
            sync_dir(os.path.dirname(os.path.dirname(path)))

    def append(self, lines: Iterable[Line]) -> Mark:
        """Add lines and wait until they are on the disk; gives how far the file then goes."""
        block: list[bytes] = []
        size = 0
        for line in lines:
            data = _encode(line)
            if size + len(data) >= FRAME and block:
                self._frames.write(b"\n".join(block) + b"\n")
                block, size = [], 0
            block.append(data)
            size += len(data) + 1
        if block:
            self._frames.write(b"\n".join(block) + b"\n")
        self._frames.sync()
        return self._frames.mark()

    def close(self) -> None:
        """Let go of the file."""
        self._frames.close()


def read(path: str) -> Iterator[Line]:
    """The lines of the file. What cannot be read or understood is passed over: the others are true all the same."""
    for content in contents(path, damage=[]) if os.path.exists(path) else ():
        for data in content.splitlines():
            try:
                yield _decode(data)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                continue


def has_more(path: str, mark: Mark) -> bool:
    """Whether the file goes on behind its last whole frame: a torn end, or damage."""
    return os.path.exists(path) and os.path.getsize(path) > mark.length


def whole(path: str) -> Mark:
    """How far the file holds whole frames; nothing where there is no file."""
    return sound_length(path)[0] if os.path.exists(path) else Mark(0, b"", 0)
