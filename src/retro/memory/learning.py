"""Memories kept up to date: what was handed out is noted, sessions mined, uses credited, all of it folded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import blake2b
from typing import Final

import apsw
import msgspec

from retro import inbox
from retro.index import traces
from retro.index.database import rows
from retro.measure import log as experiments
from retro.memory import crediting, folding, staleness, store
from retro.memory.item import Change
from retro.memory.store import items_path
from retro.memory.used import STAMP, stamp_of
from retro.mining import base, runner, tracing
from retro.mining.base import Options
from retro.mining.trace import VERSION
from retro.places import Places

WEAVES: Final = "weaves"
"""The log of what was handed out, in the inbox."""

HANDED: Final = ("woven", "withheld")


class Learned(msgspec.Struct):
    """What keeping memories up to date did."""

    traced: int = 0
    woven: int = 0
    credited: int = 0
    memories: int = 0
    folded: bool = False
    problems: list[str] = []


def is_behind(connection: apsw.Connection, places: Places) -> bool:
    """Whether there is something that memories do not know yet."""
    return (
        inbox.waits(places, WEAVES)
        or bool(traces.outdated(connection, f":{VERSION}"))
        or _stamp(places) != stamp_of(connection)
    )


def learn(
    connection: apsw.Connection, places: Places, options: Options, advance: tracing.Advance | None = None
) -> Learned:
    """Bring memories up to date. The caller holds the archive's lock."""
    done = Learned(problems=[])
    done.woven = intake(places)
    methods = [method for method in base.methods(done.problems).values() if not method.opt_in]
    report = runner.mine(connection, places, methods, options=options, advance=advance)
    done.traced, done.problems = report.traced, [*done.problems, *report.problems]
    done.credited = crediting.credit(connection, places)
    if _stamp(places) != stamp_of(connection) or report.written:
        found, _ = folding.fold(connection, places)
        note_folded(connection, places)
        done.memories, done.folded = len(found), True
    else:
        done.memories = int(next(rows(connection, "SELECT count(*) FROM memory"))[0])
    with connection:
        staleness.note(connection)
    return done


def note_folded(connection: apsw.Connection, places: Places) -> None:
    """The index holds what the files say now."""
    with connection:
        connection.execute("INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)", (STAMP, _stamp(places)))


def _stamp(places: Places) -> str:
    """What the files look like from outside: they are folded again when one of them is another."""
    parts = []
    for path in (items_path(places), store.changes_path(places), *_mined(places)):
        try:
            found = os.stat(path)
        except OSError:
            continue
        parts.append(f"{path.removeprefix(places.root)}:{found.st_size}:{found.st_mtime_ns}")
    return blake2b("\n".join(parts).encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()


def _mined(places: Places) -> Iterator[str]:
    for folder, inner, files in os.walk(os.path.join(places.root, "mined")):
        inner.sort()
        yield from (os.path.join(folder, name) for name in sorted(files) if name.endswith(".json"))


# --- what was handed out ---------------------------------------------------------------------------------------------


def intake(places: Places) -> int:
    """Note for good what the light command has handed out, or withheld. The caller holds the archive's lock."""
    taken, told = [], list(inbox.take(places, WEAVES))
    for line in told:
        try:
            taken.append(msgspec.convert(line, Change))
        except msgspec.ValidationError:
            continue
    known = {change.weave for change in store.read(places).changes if change.what in HANDED} if taken else set()
    fresh = [change for change in taken if change.what in HANDED and change.weave not in known]
    experiments.assign(places, [line for line in told if "experiment" in line])
    store.note(places, fresh)
    inbox.taken(places, WEAVES)
    return len(fresh)
