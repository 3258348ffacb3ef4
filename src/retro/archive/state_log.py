"""`state.jsonl`: decisions about sessions that outlive the index, one JSON object a line, only ever appended to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import blake2b
from typing import Final

import msgspec

from retro.places import Places, open_private, write_private

FORGOTTEN: Final = "forgotten"
WELCOME: Final = "welcome"
PINNED: Final = "pinned"
UNPINNED: Final = "unpinned"
EVICTED: Final = "evicted"


class Decision(msgspec.Struct, omit_defaults=True):
    """What was decided, when, about which session (by a hash of its host and id)."""

    at: str
    what: str
    session: str
    kinds: list[str] = []
    """Of an eviction: what was given up."""
    bytes: int = 0
    """And how much space it took."""
    undigested: bool = False
    """And that it was lost for good: nothing had been distilled from it."""


_CHECK: Final = b',"check":"'
_END: Final = b'"}'
_HASH_BYTES: Final = 8

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Decision).decode


def name_hash(host: str, session_id: str) -> str:
    """A session's name in the log, which does not tell what it was called."""
    return blake2b(f"{host}\0{session_id}".encode("utf-8", "replace"), digest_size=16).hexdigest()


def append(places: Places, decisions: list[Decision]) -> None:
    """Write decisions down and wait until they are on the disk."""
    descriptor = open_private(places.state_log, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    try:
        size = os.fstat(descriptor).st_size
        torn = size and os.pread(descriptor, 1, size - 1) != b"\n" if hasattr(os, "pread") else False
        lines = b"".join(_sealed(_encode(decision)) + b"\n" for decision in decisions)
        os.write(descriptor, b"\n" + lines if torn else lines)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def forgotten(places: Places) -> frozenset[str]:
    """The names of the sessions that are not to be captured again."""
    return _standing(places, FORGOTTEN, WELCOME)


def pinned(places: Places) -> frozenset[str]:
    """The names of the sessions that are never to be evicted."""
    return _standing(places, PINNED, UNPINNED)


def _standing(places: Places, made: str, undone: str) -> frozenset[str]:
    """The sessions for which a decision was made and not undone since."""
    names: set[str] = set()
    for decision in decisions(places):
        if decision.what == made:
            names.add(decision.session)
        elif decision.what == undone:
            names.discard(decision.session)
    return frozenset(names)


def decisions(places: Places) -> Iterator[Decision]:
    """Every decision, in order. A line that is torn or damaged is passed over."""
    for line in lines(places):
        try:
            yield _decode(line)
        except msgspec.MsgspecError:
            continue


def lines(places: Places) -> Iterator[bytes]:
    """The lines that are as they were written."""
    return (line for _, line in _read(places) if line and _is_sound(line))


def flaws(places: Places) -> list[int]:
    """Where damaged lines begin."""
    return [at for at, line in _read(places) if line and not _is_sound(line)]


def mend(places: Places) -> str:
    """Write the log again without its damaged lines; gives where the damaged one stays. The caller holds the lock."""
    sound = b"".join(line + b"\n" for line in lines(places))
    aside, number = f"{places.state_log}.damaged", 1
    while os.path.lexists(aside):
        number += 1
        aside = f"{places.state_log}.damaged{number}"
    os.rename(places.state_log, aside)
    write_private(places.state_log, sound)
    return aside


def _read(places: Places) -> Iterator[tuple[int, bytes]]:
    """Each line with its place."""
    try:
        with open(places.state_log, "rb") as file:
            content = file.read()
    except FileNotFoundError:
        return
    at = 0
    for line in content.split(b"\n"):
        yield at, line
        at += len(line) + 1


def _sealed(line: bytes) -> bytes:
    """An object as a line, with the hash of what it was before as its last member."""
    return line[:-1] + _CHECK + _hash(line) + _END


def _is_sound(line: bytes) -> bool:
    """Whether a line holds what was written."""
    body, _, check = line.rpartition(_CHECK)
    return check == _hash(body + b"}") + _END


def _hash(line: bytes) -> bytes:
    return blake2b(line, digest_size=_HASH_BYTES).hexdigest().encode("ascii")
