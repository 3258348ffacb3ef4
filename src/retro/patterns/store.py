"""`patterns/`: what was found last, and what people decided of it. Decisions are only ever appended to."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

import msgspec

from retro.lines import append_line, read_lines
from retro.patterns.pattern import Pattern, State
from retro.places import Places, make_private_dir, write_private


class Decision(msgspec.Struct, omit_defaults=True):
    """What a person made of a pattern."""

    at: str
    id: str
    state: State
    note: str | None = None


class Saved(msgspec.Struct):
    """The file of patterns."""

    version: int
    patterns: list[Pattern]


def save(places: Places, patterns: Sequence[Pattern]) -> None:
    """Write what was found; the same patterns leave the file as it is."""
    path = _path(places, "patterns.json")
    body = msgspec.json.format(msgspec.json.encode(Saved(1, list(patterns))), indent=1) + b"\n"
    try:
        with open(path, "rb") as file:
            if file.read() == body:
                return
    except OSError:
        pass
    make_private_dir(os.path.dirname(path))
    write_private(path, body)


def saved(places: Places) -> list[Pattern]:
    """What was found last."""
    try:
        with open(_path(places, "patterns.json"), "rb") as file:
            return msgspec.json.decode(file.read(), type=Saved).patterns
    except (OSError, msgspec.MsgspecError):
        return []


def decide(places: Places, pattern: str, state: State, note: str | None) -> None:
    """Note what a person makes of a pattern."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    append_line(_path(places, "decisions.jsonl"), Decision(now, pattern, state, note))


def curated(places: Places, patterns: Sequence[Pattern]) -> list[Pattern]:
    """Patterns with what was decided of them, also where they went by another of their names then.

    A name that is another pattern's now leads to that one only.
    """
    present = {pattern.id for pattern in patterns}
    decisions = {one.id: one for one in read_lines(_path(places, "decisions.jsonl"), Decision).items}
    found = []
    for pattern in patterns:
        names = (pattern.id, *(name for name in pattern.aliases if name not in present))
        told = [decisions[name] for name in names if name in decisions]
        last = max(told, key=lambda one: (one.id == pattern.id, one.at), default=None)
        found.append(
            msgspec.structs.replace(pattern, state=last.state, note=last.note) if last is not None else pattern
        )
    return found


def _path(places: Places, name: str) -> str:
    return places.checked(os.path.join(places.root, "patterns", name))
