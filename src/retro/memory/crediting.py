"""Whether memories helped: signs of their use in sessions that received them, and how these went."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import apsw
import msgspec

from retro.archive.frames import Damaged
from retro.event import Actor, Event
from retro.index import traces
from retro.memory import folding, store
from retro.memory.item import Change, Item
from retro.mining import tracing
from retro.mining.trace import OK, Trace
from retro.mining.wording import base as name_of
from retro.places import Places

REST_SECONDS: Final = 3600
"""A session that has not gone on for so long is over, for the purpose of judging what it made of a weave."""


def credit(connection: apsw.Connection, places: Places, now: float | None = None) -> int:
    """Credit memories that sessions have used, when those are over: by how these went. Gives how many weaves."""
    changes = store.read(places).changes
    done = {change.weave for change in changes if change.what == "credited"}
    limit = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime((time.time() if now is None else now) - REST_SECONDS))
    open_ = [one for one in changes if one.what == "woven" and one.weave not in done and one.session_id]
    if not open_:
        return 0
    ended = traces.ended(connection, min(woven.at for woven in open_), limit)
    waiting = [
        (woven, over)
        for woven in open_
        for host in ended.get(woven.session_id or "", ())
        if woven.host in (None, "", host)
        for over in [traces.over(connection, host, woven.session_id or "", woven.at)]
        if over is not None
    ]
    if waiting:
        items = {one.item.id: one.item for one in folding.kept(places)[0]}
        store.note(places, [change for woven, over in waiting for change in _credits(places, woven, over, items)])
    return len(waiting)


def _credits(places: Places, woven: Change, over: traces.Over, items: Mapping[str, Item]) -> Iterator[Change]:
    """One change for each memory that was used; where none was, or nobody knows how it went, one that says so."""
    reward = _reward(over)
    used = _used(places, woven, over, items)
    about = {"weave": woven.weave, "host": over.host, "session_id": over.session_id, "by": "sweep"}
    if reward is None or not used:
        why = "used, but how the session went is not known" if used else "not used"
        yield msgspec.convert({"at": store.now(), "what": "credited", "id": woven.id, "note": why, **about}, Change)
        return
    for name in used:
        told = {"at": store.now(), "what": "credited", "id": name, "reward": reward, **about}
        yield msgspec.convert(told, Change)


def _reward(over: traces.Over) -> float | None:
    """How the session went: by its last check after its last change, else as likely as the signal says."""
    checked = {"success": 1.0, "failure": 0.0}.get(tracing.stored(over.body).outcome or "")
    probability = over.probability if isinstance(over.probability, (int, float)) else None
    return checked if checked is not None else probability


def _used(places: Places, woven: Change, over: traces.Over, items: Mapping[str, Item]) -> list[str]:
    """The memories of which there are signs of use in what came after they were handed out."""
    try:
        trace, events = tracing.after(places, over, woven.at)
    except (Damaged, OSError, msgspec.MsgspecError):  # given up, or damaged: nobody knows
        return []
    return [name for name in woven.items if name in items and was_used(items[name], trace, events)]


def was_used(item: Item, trace: Trace, events: Sequence[Event] = ()) -> bool:
    """Whether a session did what a memory says: named it, ran its command, or changed its file."""
    if any(item.id in (event.text or "") for event in events if event.actor is Actor.ASSISTANT):
        return True
    failing = item.kind == "error_fix"  # its program is the one that fails: no sign of use
    keys = ("check", "example") if failing else ("program", "check", "example", "then")
    commands = [*_quoted(item.steps), *_told(item.structured, *keys), *_told_below(item, "support", *keys)]
    commands += _told_below(item, "resolution", "program")
    files = {name_of(path) for path in _told(item.structured, "file", "with", "files")}
    for step in trace.steps:
        if step.outcome == OK and any(command and command in step.command for command in commands):
            return True
        if item.id in step.command or files & {name_of(path) for path in step.edits}:
            return True
    return False


def _quoted(steps: Sequence[str]) -> Iterator[str]:
    """What steps say is to be run: what they quote, of those that people wrote; else all that they say."""
    for step in steps:
        quoted = [one for one in step.split("`")[1::2] if one.strip()]
        yield from quoted or [step]


def _told(whole: Mapping[str, object], *keys: str) -> list[str]:
    """The texts that stand under these keys, alone or in lists."""
    found: list[object] = []
    for key in keys:
        value = whole.get(key)
        found += value if isinstance(value, list) else [value]
    return [one for one in found if isinstance(one, str) and one]


def _told_below(item: Item, key: str, *keys: str) -> list[str]:
    below = item.structured.get(key)
    return _told(below, *keys) if isinstance(below, dict) else []
