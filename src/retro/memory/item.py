"""A memory, what happens to it, and what it is called: the lines of `memories/`."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from retro.mining.base import Evidence, MemoryCandidate, Risk, Scope

Status = Literal["candidate", "accepted", "needs_review", "rejected", "archived"]
Origin = Literal["mined", "authored"]

SERVED: Final = ("candidate", "accepted")
"""Statuses of what may be handed to a session."""

What = Literal[
    "added",
    "accepted",
    "rejected",
    "edited",
    "forgotten",
    "woven",
    "withheld",
    "credited",
    "archived",
    "restored",
]

START: Final = 0.5
"""What a memory's use is worth before anything is known of it."""


class Item(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One version of a memory, as a line of `items.jsonl`; the last line of an id counts."""

    id: str
    version: int
    kind: str
    text: str
    when_to_use: str
    do_not_use_when: str
    scope: Scope
    origin: Origin
    confidence: float
    priority: int
    risk: Risk = "low"
    title: str | None = None
    structured: dict[str, object] = {}
    steps: list[str] = []
    evidence_refs: list[Evidence] = []
    source_sessions: list[str] = []
    method: str | None = None
    reason: str = ""
    path: str | None = None
    """Of an authored one: its file within the folder that was imported."""
    hash: str | None = None
    links: list[str] = []
    files: dict[str, str] = {}
    """Files that it speaks of, with the hash that each had when it was accepted."""
    commits: dict[str, str] = {}
    """Commits that it cites, as it cites them, with the whole id that each had when it was accepted."""
    supersedes: str | None = None
    """The id of the memory whose place it takes."""


class Change(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Something that happened to a memory, as a line of `events.jsonl`."""

    at: str
    what: What
    id: str
    note: str | None = None
    weave: str | None = None
    host: str | None = None
    session_id: str | None = None
    items: list[str] = []
    reward: float | None = None
    by: str = "user"


class Standing(msgspec.Struct):
    """What all changes of a memory come to."""

    status: Status | None = None
    q: float = START
    uses: int = 0
    wins: int = 0
    shown: int = 0
    last: str | None = None
    """When something happened to it last."""
    forgotten: bool = False
    note: str | None = None


class Kept(msgspec.Struct):
    """A memory with its standing, and what speaks against it."""

    item: Item
    standing: Standing
    status: Status
    findings: list[str] = []


def of_candidate(one: MemoryCandidate) -> Item:
    """A candidate as a memory."""
    steps = one.structured.get("steps")
    return Item(
        id=one.id,
        version=1,
        kind=one.kind,
        text=one.text,
        when_to_use=one.when_to_use,
        do_not_use_when=one.do_not_use_when,
        scope=one.scope,
        origin="mined",
        confidence=one.confidence,
        priority=one.priority,
        risk=one.risk,
        structured=one.structured,
        steps=[step for step in steps if isinstance(step, str)] if isinstance(steps, list) else [],
        evidence_refs=one.evidence_refs,
        source_sessions=one.source_sessions,
        method=one.method,
        reason=one.reason,
    )


def same_identity(one: Item, other: Item) -> bool:
    """Whether two say the same in the same scope, payload included; what is only counted makes no difference."""
    return _identity(one) == _identity(other)


def _identity(item: Item) -> object:
    said = {name: value for name, value in item.structured.items() if name != "support"}
    return item.kind, item.scope, said or item.text, item.steps


def united(one: Item, other: Item) -> Item:
    """A memory with the evidence of another that says the same."""
    return msgspec.structs.replace(
        one,
        evidence_refs=list(dict.fromkeys([*one.evidence_refs, *other.evidence_refs])),
        source_sessions=list(dict.fromkeys([*one.source_sessions, *other.source_sessions])),
        confidence=max(one.confidence, other.confidence),
        priority=max(one.priority, other.priority),
        links=list(dict.fromkeys([*one.links, *other.links])),
    )
