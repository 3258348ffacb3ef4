"""Chats of editors' plug-ins: one JSON file a chat, written anew each time, of messages that seldom tell a time."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Final

from retro.agents.databases import canonical
from retro.agents.fields import Fields, decode_damaged, first, items, mapping
from retro.agents.interface import RECORDS, ROWS, TRANSCRIPT, Row, Source, Unreadable

CHAT: Final = "chat"
MESSAGE: Final = "message"
ENTRY: Final = "entry"
LISTS: Final = {"messages": MESSAGE, "entries": ENTRY}
"""Where the messages of a chat stand, if the chat is not just the list of them."""

UNCOUNTED: Final = {
    MESSAGE: "one without text, call or result gives no event",
    ENTRY: "one without question and answer gives no event",
}
"""Rows of which some give an event and some do not."""

_LONGEST: Final = 256 * 1024 * 1024


def source(host: str, session_id: str, key: str, path: str, stat: os.stat_result) -> Source:
    """A chat's file as a source: its messages are records, that come, change and go one by one."""
    stamp = (stat.st_size, stat.st_mtime_ns, stat.st_ino, stat.st_dev)
    name = f"{ROWS}{path}#{session_id}"
    return Source(host, session_id, key, TRANSCRIPT, name, "chat.rows", *stamp, form=RECORDS, copy=path)


def rows(path: str) -> Iterator[Row]:
    """What stands around the messages, and each message: known by its id, or its words and how often they were said."""
    found = loaded(path)
    if found is None:
        raise Unreadable("it is no chat, or it is being written")
    if isinstance(found, dict):
        yield Row(CHAT, CHAT, canonical({name: value for name, value in found.items() if name not in LISTS}))
        lists = {name: items(found.get(name)) for name in LISTS}
    else:
        lists = {"messages": items(found)}
    for name, messages_of in lists.items():
        yield from messages(LISTS[name], messages_of, _id)


def _id(message: object) -> str | None:
    return first(mapping(message), "uuid", "id")


def messages(table: str, found: list[object], named: Callable[[object], str | None]) -> Iterator[Row]:
    """Each message as a row: known by the id that `named` finds, or its words and how often they were said."""
    said = Counter[str]()
    for message in found:
        value = canonical(mapping(message) or {"value": message})
        known = named(message) or blake2b(value, digest_size=12).hexdigest()
        said[known] += 1
        yield Row(table, f"{known}:{said[known]}" if said[known] > 1 else known, value)


def loaded(path: str) -> Fields | list[object] | None:
    """A chat's file; None if it is none, or half written."""
    try:
        with open(path, "rb") as file:
            found = decode_damaged(file.read(_LONGEST))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, (dict, list)) else None
