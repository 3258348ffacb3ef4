"""Which memories speak to a question, how strongly, and whether that is enough to say anything at all.

On the light path: the standard library's small modules and apsw. Nothing is served because it is the best of nothing.
"""

from __future__ import annotations

import json
import os
from math import log

from retro import repository
from retro.memory.words import NAME, words

TYPE_CHECKING = False  # as in places
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    import apsw

MOST_WORDS = 48
"""Words of a query that are looked for: the most telling."""

FEW = 10
"""Memories of a scope that may hold a word before it tells less of each of them."""

MANY = 200
"""Memories of a scope in which a word leads nowhere by itself: it only counts for what others lead to."""

LEAST_TELLING = 0.24
"""A question that tells less than two common words do is not covered by any memory."""

MOST_LOOKED_AT = 64
"""Memories that are judged."""

INJECT, ASK, NONE = "inject", "ask", "none"


class Weights:
    """How the parts count; `weights.json` beside this file, fitted by `python -m bench.abstention`."""

    __slots__ = ("ask", "inject", "relevance", "value")

    def __init__(self, told: dict[str, Any]) -> None:
        self.inject: float = told["inject"]
        self.ask: float = told["ask"]
        self.relevance: dict[str, float] = told["relevance"]
        self.value: dict[str, float] = told["value"]


class Hit:
    """A memory, with what speaks for it."""

    __slots__ = (
        "id",
        "kind",
        "matched",
        "number",
        "parts",
        "relevance",
        "source",
        "stale",
        "status",
        "steps",
        "text",
        "value",
    )

    def __init__(self, row: tuple[Any, ...], relevance: float, matched: dict[str, float]) -> None:
        self.number, self.id, self.status, self.kind, self.text, self.steps, self.source, self.stale = row
        self.relevance = relevance
        self.value = relevance
        self.matched = matched
        self.parts: dict[str, float] = {}


class Answer:
    """What to do, why, and the memories that speak to it, best first."""

    __slots__ = ("decision", "hits", "reason")

    def __init__(self, decision: str, reason: str, hits: list[Hit]) -> None:
        self.decision = decision
        self.reason = reason
        self.hits = hits


def weights() -> Weights:
    """The weights in force."""
    with open(os.path.join(os.path.dirname(__file__), "weights.json"), encoding="utf-8") as file:
        return Weights(json.load(file))


def scopes(cwd: str) -> list[str]:
    """What a folder's memories may be kept under: its repository's remote and folder, else the folder itself."""
    try:
        found = repository.locate(cwd)
    except OSError:
        found = None
    if found is None:
        return [cwd]
    names = [(found.remote or "").lower(), found.root, os.path.realpath(found.root)]
    return list(dict.fromkeys(name for name in names if name))


def retrieve(
    connection: apsw.Connection,
    query: str,
    where: Sequence[str],
    accepted_only: bool = False,
    of: Weights | None = None,
) -> Answer:
    """Answer a question from the memories of a place and those that hold everywhere."""
    own = of or weights()
    asked = _asked(query)
    if not asked:
        return Answer(NONE, "the question has no words that tell what it is about", [])
    statuses = ("accepted",) if accepted_only else ("accepted", "candidate")
    places = [*where, ""]
    total = _count(connection, places, statuses)
    if not total:
        return Answer(NONE, "nothing is remembered here", [])
    matched, asked = _matched(connection, asked, places)
    hits = [_hit(row, asked, matched[row[0]], own) for row in _rows(connection, matched, statuses)]
    _value(hits, own)
    hits = _expanded(connection, [hit for hit in hits if hit.relevance >= own.ask], statuses, own)
    return _decided(hits, own)


def _asked(query: str) -> dict[str, float]:
    """The words of a question that are looked for, each with how telling it is."""
    found = sorted(words(query).items(), key=lambda item: (-item[1], item[0]))
    return dict(found[:MOST_WORDS])


def _count(connection: apsw.Connection, places: Sequence[str], statuses: Sequence[str]) -> int:
    query = f"SELECT count(*) FROM memory WHERE scope IN ({_marks(places)}) AND status IN ({_marks(statuses)})"  # noqa: S608
    return int(next(connection.execute(query, (*places, *statuses)))[0])


def _matched(
    connection: apsw.Connection, asked: dict[str, float], places: Sequence[str]
) -> tuple[dict[int, dict[str, float]], dict[str, float]]:
    """For each memory that a word leads to what it holds of the question, and how telling each word is here.

    A word that many memories hold says little of any one of them.
    """
    found: dict[int, dict[str, float]] = {}
    counts: dict[str, int] = {}
    query = "SELECT memory, weight FROM memory_word WHERE scope = ? AND word = ? LIMIT ?"
    for word in asked:
        rows = [row for scope in places for row in connection.execute(query, (scope, word, MANY + 1))]
        counts[word] = len(rows)
        if len(rows) <= MANY:
            for memory, weight in rows:
                found.setdefault(memory, {})[word] = weight
    common = [word for word, count in counts.items() if count > MANY]
    if common:
        _add_common(connection, found, common)
    telling = {word: weight * min(1.0, (FEW / max(1, counts[word])) ** 0.5) for word, weight in asked.items()}
    return found, telling


def _add_common(connection: apsw.Connection, found: dict[int, dict[str, float]], common: Sequence[str]) -> None:
    """What the memories that most speaks for hold of the words that lead nowhere."""
    best = sorted(found, key=lambda number: (-sum(found[number].values()), number))[:MOST_LOOKED_AT]
    query = (
        "SELECT memory, word, weight FROM memory_word"  # noqa: S608
        f" WHERE memory IN ({_marks(best)}) AND word IN ({_marks(common)})"
    )
    for memory, word, weight in connection.execute(query, (*best, *common)):
        found[memory][word] = weight


def _rows(
    connection: apsw.Connection, matched: dict[int, dict[str, float]], statuses: Sequence[str]
) -> list[tuple[Any, ...]]:
    """The memories that hold most of what was asked for."""
    best = sorted(matched, key=lambda number: (-sum(matched[number].values()), number))[:MOST_LOOKED_AT]
    query = (
        "SELECT number, id, status, kind, text, steps, source, stale, quality, utility, updated, scope FROM memory"  # noqa: S608
        f" WHERE number IN ({_marks(best)}) AND status IN ({_marks(statuses)})"
    )
    return list(connection.execute(query, (*best, *statuses)))


def _marks(of: Iterable[object]) -> str:
    return ", ".join("?" for _ in of)


# --- judging ---------------------------------------------------------------------------------------------------------


def _hit(row: tuple[Any, ...], asked: dict[str, float], matched: dict[str, float], own: Weights) -> Hit:
    """How strongly a memory speaks to a question: by how much they share, not by how it compares to others."""
    strength = sum(min(asked[word], weight) for word, weight in matched.items())
    whole = max(sum(asked.values()), LEAST_TELLING)
    named = sum(asked[word] for word, weight in matched.items() if weight >= NAME)
    parts = {
        "strength": log(1 + strength) / log(2),
        "coverage": strength / whole,
        "names": min(named, 2.0),
        "purpose": sum(telling for word, telling in asked.items() if matched.get(word, 0.0) >= telling) / whole,
    }
    relevance = own.relevance["bias"] + sum(own.relevance[name] * part for name, part in parts.items())
    hit = Hit(row[:8], relevance, matched)
    hit.parts = {**parts, "quality": row[8], "utility": row[9] - 0.5}
    hit.parts |= {"here": float(row[11] != ""), "recency": float(row[10] != "")}
    return hit


def _value(hits: Iterable[Hit], own: Weights) -> None:
    """What a memory is worth for this question, of those that speak to it."""
    for hit in hits:
        parts = hit.parts
        hit.value = own.value["relevance"] * hit.relevance + sum(
            own.value[name] * parts[name] for name in ("utility", "quality", "recency", "here")
        )
        hit.value += own.value["stale"] * bool(hit.stale)


def _expanded(connection: apsw.Connection, hits: list[Hit], statuses: Sequence[str], own: Weights) -> list[Hit]:
    """With what they link to, one hop."""
    present = {hit.number for hit in hits}
    query = (
        "SELECT number, id, status, kind, text, steps, source, stale FROM memory_link JOIN memory ON number = target"  # noqa: S608
        f" WHERE memory = ? AND status IN ({_marks(statuses)})"
    )
    for hit in list(hits):
        for row in connection.execute(query, (hit.number, *statuses)):
            if row[0] not in present:
                present.add(row[0])
                linked = Hit(row, hit.relevance + own.value["linked"], {})
                linked.value = hit.value + own.value["linked"]
                linked.parts = {"linked": 1.0}
                hits.append(linked)
    return sorted(hits, key=lambda hit: (-hit.value, hit.id))


def _decided(hits: list[Hit], own: Weights) -> Answer:
    if not hits:
        return Answer(NONE, "nothing that is remembered here speaks to it", [])
    if max(hit.relevance for hit in hits) >= own.inject:
        return Answer(INJECT, f"{_shared(hits[0])} in common with what is remembered", hits)
    return Answer(ASK, f"only {_shared(hits[0])} in common with what is remembered", hits)


def _shared(hit: Hit) -> str:
    words_ = sorted(hit.matched, key=lambda word: (-hit.matched[word], word))[:3]
    return ", ".join(words_) or "little"
