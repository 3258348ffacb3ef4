"""`state.jsonl`: decisions about sessions that outlive the index, one JSON object a line, only ever appended to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import blake2b
from typing import Final

import msgspec

from retro.places import Places, open_private

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
        lines = b"".join(_encode(decision) + b"\n" for decision in decisions)
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
    """Every decision, in order. A torn line is passed over."""
    try:
        with open(places.state_log, "rb") as file:
            content = file.read()
    except FileNotFoundError:
        return
    for line in content.split(b"\n"):
        try:
            yield _decode(line)
        except msgspec.MsgspecError:
            continue
