"""Memories as the index has them: items, candidates and standings put together, judged, and made findable."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from math import sqrt
from typing import Final

import apsw
import msgspec

from retro.measure import log as experiments
from retro.memory import staleness, store, trust
from retro.memory.item import START, Change, Item, Kept, Standing, Status, of_candidate, united
from retro.memory.words import names, words
from retro.mining import output
from retro.mining.base import MemoryCandidate
from retro.places import Places

LEAST_CONFIDENCE: Final = 0.3
FLOOR: Final = 0.25
ENOUGH: Final = 5
"""Uses after which a memory whose uses are worth less than the floor is put away."""

_RISK: Final = {"low": 1.0, "medium": 0.7, "high": 0.2}


def kept(places: Places) -> tuple[list[Kept], store.Lines]:
    """Every memory that is not forgotten, with its standing, in the order of their ids."""
    lines = store.read(places)
    items = dict(lines.items)
    replaced = {item.supersedes for item in items.values() if item.supersedes}
    for candidate in candidates(places):
        fresh = of_candidate(candidate)
        item = items.get(fresh.id)
        items[fresh.id] = fresh if item is None else united(item, fresh)
    found = []
    for name in sorted(items):
        standing = lines.standings.get(name, Standing())
        if not standing.forgotten and name not in replaced:
            problems = trust.findings(items[name])
            found.append(Kept(items[name], standing, _status(items[name], standing, problems), problems))
    return found, lines


def candidates(places: Places) -> Iterator[MemoryCandidate]:
    """What was mined, as it lies in `mined/`."""
    for folder, inner, files in os.walk(os.path.join(places.root, "mined")):
        inner.sort()
        for name in sorted(files):
            mined = output.read(os.path.join(folder, name)) if name.endswith(".json") else None
            yield from mined.candidates if mined is not None else ()


def _status(item: Item, standing: Standing, problems: Sequence[str]) -> Status:
    """Nothing that something speaks against is ever more than to be looked at, whatever was decided of it."""
    if standing.status in ("rejected", "archived"):
        return standing.status
    if problems:
        return "needs_review"
    return standing.status or ("accepted" if item.origin == "authored" else "candidate")


def put_away(found: Iterable[Kept]) -> list[Change]:
    """What has proved to be of no use: with the numbers that say so. It can be accepted again."""
    return [
        Change(
            at=store.now(),
            what="archived",
            id=one.item.id,
            note=f"{one.standing.uses} uses, {one.standing.wins} that went well, worth {one.standing.q:.2f}",
            by="utility",
        )
        for one in found
        if one.status in ("accepted", "candidate") and one.standing.uses >= ENOUGH and one.standing.q < FLOOR
    ]


# --- into the index --------------------------------------------------------------------------------------------------


def fold(connection: apsw.Connection, places: Places) -> tuple[list[Kept], store.Lines]:
    """Write all memories into the index anew. The caller holds the archive's lock."""
    found, lines = kept(places)
    archived = put_away(found)
    if archived:
        store.note(places, archived)
        found, lines = kept(places)
    with connection:
        connection.execute("DELETE FROM memory")
        connection.execute("DELETE FROM weave")
        roots = staleness.roots(connection)
        for number, one in enumerate(found, 1):
            _write(connection, number, one, staleness.files_of(one.item, roots) | staleness.commits_of(one.item, roots))
        _link(connection, found)
        _weaves(connection, lines.changes)
        staleness.note(connection)
    experiments.note_running(connection, places)
    return found, lines


def _write(connection: apsw.Connection, number: int, one: Kept, files: dict[str, str]) -> None:
    item, scope = one.item, one.item.scope.key or "" if one.item.scope.level == "repository" else ""
    connection.execute(
        "INSERT INTO memory (number, id, scope, status, kind, text, steps, source, files, quality, utility, updated,"
        " body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            number,
            item.id,
            scope,
            one.status,
            item.kind,
            item.text,
            msgspec.json.encode(item.steps).decode(),
            source_of(item),
            msgspec.json.encode(files).decode(),
            quality(item),
            utility(one.standing),
            one.standing.last or "",
            msgspec.json.encode(one).decode(),
        ),
    )
    connection.executemany(
        "INSERT INTO memory_word (scope, word, memory, weight) VALUES (?, ?, ?, ?)",
        [(scope, word, number, weight) for word, weight in words_of(item).items()],
    )


def words_of(item: Item) -> dict[str, float]:
    """The words by which a memory is found: most by what says when to use it, then by what it quotes."""
    found: dict[str, float] = {}
    for share, weighed in (
        (1.0, words(f"{item.title or ''} {item.when_to_use}")),
        (0.8, names(item.text)),
        (0.5, words(f"{item.text} {' '.join(item.steps)}")),
    ):
        for word, weight in weighed.items():
            found[word] = max(found.get(word, 0.0), share * weight)
    return found


def source_of(item: Item) -> str:
    """Where a memory comes from, in a few words."""
    if item.origin == "authored":
        return f"written by you in {os.path.basename(item.path or '')}"
    if not item.source_sessions:
        return item.method or "mined"
    host, _, session_id = item.source_sessions[-1].partition("/")
    more = len(item.source_sessions) - 1
    return f"{host} {session_id[:8]}" + (f" and {more} more" if more else "")


def quality(item: Item) -> float:
    """How good a memory is by itself, from 0 to 1."""
    return item.confidence * (0.5 + item.priority / 10) * _RISK[item.risk]


def utility(standing: Standing) -> float:
    """A lower bound of what a use is worth: sure only after several."""
    if not standing.uses:
        return START
    return max(0.0, standing.q - 0.5 / sqrt(standing.uses + 1))


def _link(connection: apsw.Connection, found: Sequence[Kept]) -> None:
    """Links lead to what bears the name, within the same scope or to what holds everywhere."""
    numbers: dict[str, list[tuple[int, Item]]] = {}
    for number, one in enumerate(found, 1):
        item = one.item
        stem = os.path.basename(item.path or "").removesuffix(".md")
        for name in {item.id, item.title or "", stem} - {""}:
            numbers.setdefault(name.lower(), []).append((number, item))
    pairs = {
        (number, target)
        for number, one in enumerate(found, 1)
        for link in one.item.links
        for target, other in numbers.get(link.lower(), ())
        if target != number and (other.scope == one.item.scope or other.scope.level != "repository")
    }
    connection.executemany("INSERT INTO memory_link (memory, target) VALUES (?, ?)", sorted(pairs))


def _weaves(connection: apsw.Connection, changes: Iterable[Change]) -> None:
    credited = {change.weave for change in changes if change.what == "credited" and change.weave}
    connection.executemany(
        "INSERT OR REPLACE INTO weave (id, at, host, session_id, memory, credited) VALUES (?, ?, ?, ?, ?, ?)",
        [
            (
                change.weave or change.id,
                change.at,
                change.host or "",
                change.session_id or "",
                msgspec.json.encode(change.items).decode(),
                int(change.weave in credited),
            )
            for change in changes
            if change.what in ("woven", "withheld")  # the same is not offered twice, whether it was given or not
        ],
    )
