"""How recall answers: within its budget, and so that what sessions say cannot be taken for anybody's words.

Text stands in a fence with a nonce of this call. No text that was written before can hold it, so none can close it.
"""

from __future__ import annotations

import os
import sys

from retro.light.words import cut, size

TYPE_CHECKING = False  # as in places
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

TRUST = "untrusted"
"""How far to trust what sessions say: it is data, whoever wrote it."""

VERSION = 1
"""Of the JSON objects, as those of all commands."""


def fenced(lines: Sequence[str], limit: int | None, about: str = "", more: int = 0) -> str:
    """Lines in a fence, as many as fit; what was left out is said in the fence's last line, with `more` beside."""
    nonce = nonce_for(lines)
    head = f"[recall {nonce} {TRUST}{about}]"
    room = None if limit is None else limit - size(head) - 1
    kept = _fitting(lines, room, nonce, more)
    left = len(lines) - len(kept) + more
    kept += [_shortened(lines[len(kept)], room, nonce, left, kept)] if len(kept) < len(lines) and room else []
    return "\n".join([head, *(line for line in kept if line), _tail(nonce, left)]) + "\n"


def _fitting(lines: Sequence[str], room: int | None, nonce: str, more: int) -> list[str]:
    if room is None:
        return list(lines)
    used = 0
    for at, line in enumerate(lines):
        left = len(lines) - at - 1 + more
        used += size(line) + 1
        if used + size(_tail(nonce, left)) + 1 > room:
            return list(lines[:at])
    return list(lines)


def _shortened(line: str, room: int, nonce: str, left: int, kept: Sequence[str]) -> str:
    """The first line that does not fit, as far as it does; nothing where that would say too little."""
    rest = room - sum(size(one) + 1 for one in kept) - size(_tail(nonce, left)) - 2
    return cut(line, rest) if rest >= 24 else ""


def _tail(nonce: str, left: int) -> str:
    return f"[/recall {nonce} cut: {left} more]" if left else f"[/recall {nonce}]"


def nonce_for(lines: Sequence[str]) -> str:
    """A word for a fence that none of the lines holds."""
    while True:
        nonce = os.urandom(3).hex()
        if not any(nonce in line for line in lines):
            return nonce


def objects(content: dict[str, Any], limit: int | None) -> bytes:
    """One JSON object in which the lists are cut from their ends, the longest first, until it fits."""
    content = {"version": VERSION, "_trust_level": TRUST, **content}
    encoded = _encoded(content)
    if limit is None or len(encoded) <= limit:
        return encoded
    lists = [name for name, value in content.items() if isinstance(value, list)]
    content["cut"] = 0
    for name in lists:
        content[name] = list(content[name])
    while len(encoded := _encoded(content)) > limit:
        longest = max(lists, key=lambda name: len(content[name]), default=None)
        if longest is None or not content[longest]:
            return _encoded({"version": VERSION, "cut": content["cut"]})
        content[longest].pop()
        content["cut"] += 1
    return encoded


def _encoded(content: dict[str, Any]) -> bytes:
    import json

    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


def put(answer: bytes) -> None:
    """Print it, in UTF-8 whatever the locale."""
    sys.stdout.flush()
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()
