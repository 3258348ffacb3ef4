"""What becomes of candidates after the methods: the risky ones dropped, the alike merged, the most valuable kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from math import log2
from typing import Final

import msgspec

from retro import secrets
from retro.mining.base import MemoryCandidate

LEAST_CONFIDENCE: Final = 0.3
MOST: Final = 8
"""Candidates that a method may propose of one session: the last that each of them rests on."""

ALIKE: Final = 92
"""From which likeness on, of 100, two texts say the same."""

EVIDENCE: Final = 40
"""References that a merged candidate keeps."""


class Dropped(msgspec.Struct, frozen=True):
    """A candidate that did not pass, and why."""

    method: str
    id: str
    reason: str


Filter = Callable[[Sequence[MemoryCandidate], list[Dropped]], list[MemoryCandidate]]


def risk_aware(candidates: Sequence[MemoryCandidate], dropped: list[Dropped]) -> list[MemoryCandidate]:
    """Drop what is risky or doubtful, merge what is alike, and keep the most valuable of each method."""
    safe = []
    for one in candidates:
        reason = objection(one)
        if reason:
            dropped.append(Dropped(one.method, one.id, reason))
        else:
            safe.append(one)
    return _capped(merged(safe, dropped), dropped)


def unfiltered(candidates: Sequence[MemoryCandidate], dropped: list[Dropped]) -> list[MemoryCandidate]:
    """Everything that the methods proposed, but nothing that holds a secret."""
    kept = []
    for one in candidates:
        if objection(one) == SECRET:
            dropped.append(Dropped(one.method, one.id, SECRET))
        else:
            kept.append(one)
    return kept


FILTERS: Final[dict[str, Filter]] = {"risk_aware": risk_aware, "none": unfiltered}

# --- dropping --------------------------------------------------------------------------------------------------------

SECRET: Final = "secret"  # noqa: S105 - a reason, no password
_MASKED: Final = re.compile(r"\[secret:[\w-]+\]")


def objection(one: MemoryCandidate) -> str | None:
    """Why a candidate must not be kept; None where nothing speaks against it."""
    texts = list(strings(msgspec.to_builtins(one)))
    whole = "\n".join(texts)
    if _MASKED.search(whole) or any(secrets.mask(text).found for text in texts):
        return SECRET
    found = secrets.orders(whole)
    if found:
        return f"hostile text: {', '.join(found)}"
    if one.risk == "high":
        return "high risk"
    if one.confidence < LEAST_CONFIDENCE:
        return "low confidence"
    return None if one.evidence_refs else "no evidence"


def strings(value: object) -> Iterator[str]:
    """Every string in a value of lists and dicts, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from strings(key)
            yield from strings(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from strings(item)


# --- merging ---------------------------------------------------------------------------------------------------------


def merged(candidates: Sequence[MemoryCandidate], dropped: list[Dropped]) -> list[MemoryCandidate]:
    """Candidates that say the same in the same scope as one, which keeps the evidence of all."""
    kept: list[MemoryCandidate] = []
    places: dict[tuple[str, str | None, str], list[int]] = {}
    for one in sorted(candidates, key=lambda other: (-value(other), other.id)):
        of_kind = places.setdefault((one.scope.level, one.scope.key, one.kind), [])
        at = next((place for place in of_kind if alike(kept[place], one)), None)
        if at is None:
            of_kind.append(len(kept))
            kept.append(one)
        else:
            kept[at] = united(kept[at], one)
            dropped.append(Dropped(one.method, one.id, f"says the same as {kept[at].id}"))
    return kept


_FIGURES: Final = re.compile(r"\d+")


def alike(one: MemoryCandidate, other: MemoryCandidate) -> bool:
    """Whether two candidates say the same. Names make the difference, so what is quoted must be equal."""
    if one.id == other.id:
        return True
    if _quoted(one.text) != _quoted(other.text):
        return False
    from rapidfuzz.fuzz import token_sort_ratio

    return token_sort_ratio(_FIGURES.sub("", one.text), _FIGURES.sub("", other.text)) >= ALIKE


_QUOTE: Final = re.compile(r"`([^`]*)`")


def _quoted(text: str) -> list[str]:
    return _QUOTE.findall(text)


def united(one: MemoryCandidate, other: MemoryCandidate) -> MemoryCandidate:
    """One candidate with the evidence of both."""
    refs = list(dict.fromkeys([*one.evidence_refs, *other.evidence_refs]))[:EVIDENCE]
    sessions = list(dict.fromkeys([*one.source_sessions, *other.source_sessions]))
    return msgspec.structs.replace(
        one,
        evidence_refs=refs,
        source_sessions=sessions,
        confidence=max(one.confidence, other.confidence),
        priority=max(one.priority, other.priority),
    )


# --- keeping the best ------------------------------------------------------------------------------------------------


def value(one: MemoryCandidate) -> float:
    """How much a candidate is worth: how sure, how important, and in how many sessions it was seen."""
    risk = {"low": 1.0, "medium": 0.7, "high": 0.2}[one.risk]
    return one.confidence * one.priority * risk * (1 + log2(max(1, len(one.source_sessions))) / 4)


def _capped(candidates: list[MemoryCandidate], dropped: list[Dropped]) -> list[MemoryCandidate]:
    counts: dict[tuple[str, str], int] = {}
    kept = []
    for one in sorted(candidates, key=lambda other: (-value(other), other.id)):
        of = one.method, one.source_sessions[-1]
        counts[of] = counts.get(of, 0) + 1
        if counts[of] <= MOST:
            kept.append(one)
        else:
            dropped.append(Dropped(one.method, one.id, f"beyond the {MOST} of most value of its session"))
    return kept
