"""Where captured bytes come from: a host's file, one that the host has compressed since, or exported rows."""

from __future__ import annotations

import io
import os
import stat
from hashlib import sha256
from typing import IO, Final, NamedTuple, Protocol

import zstandard

from retro.agents.interface import Unreadable as Unreadable
from retro.agents.interface import mark_of_rows

EDGE: Final = 4096
"""How much at either end of what was captured tells an append from a rewrite."""

_SKIP: Final = 1024 * 1024


class Origin(Protocol):
    """Bytes that can be read from the beginning on, again if need be."""

    def read(self, size: int, /) -> bytes | None: ...
    def seek(self, offset: int, /) -> int: ...
    def tell(self) -> int: ...
    def close(self) -> None: ...


class Stamp(Protocol):
    """What tells that an origin changed, named as `stat` names it."""

    @property
    def st_size(self) -> int: ...
    @property
    def st_mtime_ns(self) -> int: ...
    @property
    def st_ino(self) -> int: ...
    @property
    def st_dev(self) -> int: ...


class RowsStamp(NamedTuple):
    """The stamp of rows: their length and a hash of them."""

    st_size: int
    st_ino: int
    st_mtime_ns: int = 0
    st_dev: int = 0


class StateStamp(NamedTuple):
    """The stamp of records, as their agent gave it when they were found."""

    st_size: int
    st_mtime_ns: int
    st_ino: int
    st_dev: int


def is_compressed(path: bytes) -> bool:
    """Whether a host keeps this file compressed.

    It is captured as what was compressed: a transcript that its host compresses later on is the same source still.
    """
    return path.endswith((b".jsonl.zst", b".jsonl.zstd"))


def plain_path(path: bytes) -> bytes:
    """Where the same content lies when it is not compressed."""
    return path[: path.rindex(b".zst")] if is_compressed(path) else path


class Unpacked:
    """A zstd file read as its content; going back means beginning again."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._begin()

    def _begin(self) -> None:
        self._file.seek(0)
        self._reader = zstandard.ZstdDecompressor().stream_reader(self._file, read_across_frames=True, closefd=False)
        self._place = 0

    def read(self, size: int, /) -> bytes:
        """The next bytes, as many as there are."""
        blocks = []
        try:
            while size > 0 and (block := self._reader.read(size)):
                blocks.append(block)
                size -= len(block)
        except zstandard.ZstdError as error:
            raise OSError(f"its compressed content is damaged: {error}") from None
        data = b"".join(blocks)
        self._place += len(data)
        return data

    def seek(self, offset: int, /) -> int:
        """Go to an offset, or to the end if that comes first."""
        if offset < self._place:
            self._begin()
        while self._place < offset and self.read(min(_SKIP, offset - self._place)):
            pass
        return self._place

    def tell(self) -> int:
        """Where it stands."""
        return self._place

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


def open_origin(path: bytes) -> Origin:
    """A host's file as what was captured of it. Raises OSError where it cannot be opened."""
    file = open(path, "rb", buffering=0)  # noqa: SIM115 - the caller closes it
    return Unpacked(file) if is_compressed(path) else file


class SourceFile:
    """A host's file, opened to be read and for nothing else; what goes wrong with it is `Unreadable`."""

    def __init__(self, path: bytes) -> None:
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        try:
            descriptor = os.open(path, flags)
        except (OSError, ValueError) as error:
            raise Unreadable(_reason(error)) from None
        file, found = open(descriptor, "rb", buffering=0), os.fstat(descriptor)  # noqa: SIM115 - closed by `with`
        if not stat.S_ISREG(found.st_mode):
            file.close()
            raise Unreadable("not a regular file")
        self._file: Origin = Unpacked(file) if is_compressed(path) else file
        self.found: Stamp = found

    def __enter__(self) -> SourceFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, size: int, /) -> bytes:
        """The next bytes."""
        try:
            return self._file.read(size) or b""
        except OSError as error:
            raise Unreadable(_reason(error)) from None

    def seek(self, offset: int) -> None:
        """Go to an offset."""
        self._file.seek(offset)

    def edges(self, offset: int) -> tuple[bytes, bytes]:
        """Hashes of the first and the last bytes before an offset."""
        place = self._file.tell()
        ends = []
        for start in (0, max(0, offset - EDGE)):
            self.seek(start)
            ends.append(sha256(self.read(min(EDGE, offset - start))).digest())
        self.seek(place)
        return ends[0], ends[1]


class Rows(SourceFile):
    """What an agent exported of rows that are no file of their own, read as if it were one."""

    def __init__(self, content: bytes) -> None:
        self._file = io.BytesIO(content)
        self.found = RowsStamp(len(content), mark_of_rows(content))


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
