"""Writes documents as Java serialises them, and stores of them, for the tests of hosts that are Java programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_MAP: Final = (
    b"sr\x00\x17java.util.LinkedHashMap4\xc0N\\\x10l\xc0\xfb\x02\x00\x01Z\x00\x0baccessOrderxr\x00\x11java.util.HashMap"
    b"\x05\x07\xda\xc1\xc3\x16`\xd1\x03\x00\x02F\x00\nloadFactorI\x00\tthresholdxp?@\x00\x00\x00\x00\x00\x0cw\x08\x00"
    b"\x00\x00\x10\x00\x00\x00\x06"
)
_LONG: Final = (
    b"sr\x00\x0ejava.lang.Long;\x8b\xe4\x90\xcc\x8f#\xdf\x02\x00\x01J\x00\x05valuexr\x00\x10java.lang.Number"
    b"\x86\xac\x95\x1d\x0b\x94\xe0\x8b\x02\x00\x00xp"
)


def java_text(text: str) -> bytes:
    """A text: its mark, its length, its bytes."""
    data = text.encode("utf-16", "surrogatepass").decode("utf-16").encode("utf-8").replace(b"\x00", b"\xc0\x80")
    return (
        b"t" + len(data).to_bytes(2, "big") + data if len(data) < 65536 else b"|" + len(data).to_bytes(8, "big") + data
    )


def document(fields: Mapping[str, str | int]) -> bytes:
    """A map of texts and numbers, serialised; the second number refers to what the first one defines."""
    parts, numbers = [b"\xac\xed\x00\x05", _MAP], 0
    for name, value in fields.items():
        parts.append(java_text(name))
        if isinstance(value, str):
            parts.append(java_text(value))
        else:
            parts += [b"sq\x00~\x00\x05" if numbers else _LONG, value.to_bytes(8, "big", signed=True)]
            numbers += 1
    return b"".join([*parts, b"x"])


def store(*documents: bytes, kinds: tuple[str, ...] = ("NtAgentSession", "NtAgentTurn")) -> bytes:
    """Documents as they lie in H2's MVStore, as far as it matters here."""
    head = b"H:2,block:8,blockSize:1000,chunk:3,format:3,version:3\n".ljust(4096, b"\x00")
    names = b"".join(
        b"map.1 name:com.github.copilot.agent.session.persistence.nitrite.entity." + kind.encode() for kind in kinds
    )
    return head + b"\x00\x07".join([names, *documents]) + b"\x00" * 64
