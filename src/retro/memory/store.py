"""`memories/`: items and what happened to them, only ever appended to; and what both come to."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from retro.failure import Failure
from retro.lines import append_line, read_lines
from retro.memory.item import Change, Item, Standing, Status, What, same_identity, united
from retro.places import Places, write_private

RATE: Final = 0.2
"""How far one use moves what a memory's uses are worth."""

WIN: Final = 0.5
"""From which reward on a use counts as a success."""


class Lines(NamedTuple):
    """Both files as they are read."""

    items: dict[str, Item]
    standings: dict[str, Standing]
    changes: list[Change]
    torn: list[str]
    """Lines that could not be read, as `file:line`."""


def read(places: Places) -> Lines:
    """Every memory's last version and its standing."""
    items = read_lines(items_path(places), Item)
    changes = read_lines(changes_path(places), Change)
    torn = [f"items.jsonl:{line}" for line in items.torn] + [f"events.jsonl:{line}" for line in changes.torn]
    last: dict[str, Item] = {}
    for item in items.items:
        before = last.get(item.id)
        last[item.id] = united(item, before) if before is not None and same_identity(before, item) else item
    standings: dict[str, Standing] = {}
    for change in changes.items:
        apply(standings, change)
    return Lines(last, standings, changes.items, torn)


_STATUS: Final[dict[What, Status]] = {
    "accepted": "accepted",
    "rejected": "rejected",
    "archived": "archived",
    "restored": "accepted",
}


def apply(standings: dict[str, Standing], change: Change) -> None:
    """What a change makes of the standings."""
    if change.what == "woven":
        for name in change.items:
            standing = standings.setdefault(name, Standing())
            standing.shown += 1
            standing.last = change.at
        return
    if change.what == "withheld":
        return
    standing = standings.setdefault(change.id, Standing())
    standing.last = change.at
    if change.what in _STATUS:
        standing.status, standing.note = _STATUS[change.what], change.note
    standing.forgotten = change.what == "forgotten" or (standing.forgotten and change.what not in ("added", "edited"))
    if change.what == "credited" and change.reward is not None:
        standing.q += RATE * (change.reward - standing.q)
        standing.uses += 1
        standing.wins += change.reward >= WIN


def add(places: Places, items: Sequence[Item], what: What = "added", note: str | None = None) -> None:
    """Append versions of memories, with what happened."""
    if items:
        append_line(items_path(places), *items)
        append_line(changes_path(places), *(Change(at=now(), what=what, id=item.id, note=note) for item in items))


def note(places: Places, changes: Iterable[Change]) -> None:
    """Append what happened."""
    found = list(changes)
    if found:
        append_line(changes_path(places), *found)


def forget(places: Places, name: str) -> None:
    """Take every version of a memory out of the file; only its id stays, so that mining does not bring it back."""
    rewrite(places, lambda item: None if item.id == name else item)
    note(places, [Change(at=now(), what="forgotten", id=name)])


def forget_sessions(places: Places, sessions: Iterable[tuple[str, str]]) -> None:
    """Take the evidence of sessions out of memories; what was mined and has none left goes as a whole."""
    gone = set(sessions)
    names = {f"{host}/{session_id}" for host, session_id in gone}

    def without(item: Item) -> Item | None:
        refs = [ref for ref in item.evidence_refs if (ref.host, ref.session_id) not in gone]
        sources = [name for name in item.source_sessions if name not in names]
        if refs == item.evidence_refs and sources == item.source_sessions:
            return item
        # What was mined quotes its sessions: what is left of it would still say what they said.
        return (
            None
            if item.origin == "mined"
            else msgspec.structs.replace(item, evidence_refs=refs, source_sessions=sources)
        )

    rewrite(places, without)
    changes = read_lines(changes_path(places), Change)
    kept = [change for change in changes.items if (change.host, change.session_id) not in gone]
    if len(kept) != len(changes.items):
        _replace(changes_path(places), kept)


def rewrite(places: Places, each: Callable[[Item], Item | None]) -> None:
    """Write the file of items anew. Only where something has to go for good: else lines are only appended."""
    items = read_lines(items_path(places), Item).items
    kept = [new for item in items if (new := each(item)) is not None]
    if kept != items:
        _replace(items_path(places), kept)


def _replace(path: str, lines: Sequence[object]) -> None:
    write_private(path, b"".join(msgspec.json.encode(line) + b"\n" for line in lines))


def items_path(places: Places) -> str:
    """The file of memories."""
    return places.checked(os.path.join(places.root, "memories", "items.jsonl"))


def changes_path(places: Places) -> str:
    """The file of what happened to them."""
    return places.checked(os.path.join(places.root, "memories", "events.jsonl"))


def now() -> str:
    """This moment, as changes have it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def found(kept: Iterable[str], word: str) -> str:
    """The id that begins so, among those that there are; a `Failure` where it is none or several."""
    names = sorted(name for name in kept if name.startswith(word)) if word else []
    if word in names:
        return word
    if len(names) != 1:
        what = "no memory" if not names else f"{len(names)} memories"
        hint = "retro memory list shows the ids" if not names else ", ".join(names[:5])
        raise Failure("not_found", f'{what} with an id that begins with "{word}"', hint)
    return names[0]
