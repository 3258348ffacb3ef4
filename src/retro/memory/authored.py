"""Memories that a person wrote: markdown files, with or without front matter, each one memory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from types import MappingProxyType
from typing import Final, NamedTuple

from retro.failure import Failure
from retro.memory import staleness, store
from retro.memory.item import Item
from retro.mining.base import Scope
from retro.places import Places

LARGEST: Final = 256 * 1024
TEXT: Final = 4_000

_FRONT: Final = re.compile(r"\A---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_ENTRY: Final = re.compile(r"^([A-Za-z][\w-]*)[ \t]*:[ \t]*(.*)$")
_LINK: Final = re.compile(r"\[\[([^\[\]\n|]{1,120})(?:\|[^\[\]\n]{0,120})?\]\]")
_STEP: Final = re.compile(r"^[ \t]*(?:\d{1,2}[.)]|[-*])[ \t]+(.+)$", re.MULTILINE)
_HEADING: Final = re.compile(r"^#{1,3}[ \t]+(.+)$", re.MULTILINE)


class Imported(NamedTuple):
    """What became of a file."""

    path: str
    id: str
    what: str
    """`added`, `changed` or `unchanged`."""


def import_folder(
    places: Places, folder: str, scope: Scope, roots: Mapping[str, str] = MappingProxyType({})
) -> list[Imported]:
    """Take every markdown file below a folder in. One that is known and the same is passed over.

    `roots` tells where repositories lie, see `staleness`: commits that are cited are noted.
    """
    if not os.path.isdir(folder):
        raise Failure("not_found", f"{folder} is not a folder", "name the folder that holds the markdown files")
    known = store.read(places).items
    found, fresh, changed = [], [], []
    for path, inside in _files(os.path.abspath(folder)):
        item = read(path, inside, scope)
        item.commits = staleness.commits_now(item, roots)
        before = known.get(item.id)
        if before is not None and before.hash == item.hash and before.scope == scope:
            found.append(Imported(inside, item.id, "unchanged"))
        elif before is not None:
            item.version = before.version + 1
            changed.append(item)
            found.append(Imported(inside, item.id, "changed"))
        else:
            fresh.append(item)
            found.append(Imported(inside, item.id, "added"))
    store.add(places, fresh)
    store.add(places, changed, "edited")
    return found


def _files(folder: str) -> Iterator[tuple[str, str]]:
    for at, inner, names in os.walk(folder):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        for name in sorted(names):
            path = os.path.join(at, name)
            if name.endswith(".md") and not os.path.islink(path) and os.path.getsize(path) <= LARGEST:
                yield path, os.path.relpath(path, folder).replace(os.sep, "/")


def read(path: str, inside: str, scope: Scope) -> Item:
    """A markdown file as a memory. Its identity is its path, its version what it says."""
    with open(path, "rb") as file:
        data = file.read()
    text = data.decode("utf-8", "replace")
    front = _FRONT.match(text)
    told = _told(front[1]) if front else {}
    body = text[front.end() :].strip() if front else text.strip()
    heading = _HEADING.search(body)
    title = told.get("title") or told.get("name") or (heading[1].strip() if heading else os.path.splitext(inside)[0])
    steps = [step.strip() for step in _STEP.findall(body)]
    own = f"{scope.level}\0{scope.key or ''}\0{inside}"
    return Item(
        id="a_" + blake2b(own.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest(),
        version=1,
        kind=told.get("kind") or "note",
        text=_prose(body)[:TEXT],
        when_to_use=told.get("when") or told.get("when_to_use") or told.get("description") or title,
        do_not_use_when=told.get("unless") or told.get("do_not_use_when") or "it does not fit the task",
        scope=scope,
        origin="authored",
        confidence=0.9,
        priority=4,
        title=title,
        steps=steps[:20],
        reason="written by a person",
        path=inside,
        hash=blake2b(data, digest_size=12).hexdigest(),
        links=list(dict.fromkeys(link.strip() for link in _LINK.findall(text))),
    )


def _told(front: str) -> dict[str, str]:
    """The plain `key: value` lines of front matter; whatever else stands there is passed over."""
    found = {}
    for line in front.splitlines():
        entry = _ENTRY.match(line)
        if entry:
            found[entry[1].lower().replace("-", "_")] = entry[2].strip().strip("\"'")
    return found


def _prose(body: str) -> str:
    """What a body says beside its heading and its steps; with links as their words."""
    rest = _STEP.sub("", _HEADING.sub("", body, count=1))
    return " ".join(_LINK.sub(lambda link: link[1], rest).split()) or " ".join(body.split())
