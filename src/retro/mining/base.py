"""What a mining method is given and what it gives: the contract for ours and for those of other distributions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from importlib import import_module
from pkgutil import iter_modules
from typing import Final, Literal

import msgspec

from retro import plugins
from retro.mining.trace import Step, Trace

__all__ = [
    "ENTRY_POINTS",
    "Evidence",
    "Headless",
    "MemoryCandidate",
    "Method",
    "Options",
    "Scope",
    "Step",
    "Trace",
    "candidate",
    "candidate_id",
    "cite",
    "methods",
    "register_method",
]

ENTRY_POINTS: Final = "retro.mining"
"""Where other distributions name the modules of their methods."""

Level = Literal["repository", "user", "global"]
Risk = Literal["low", "medium", "high"]
Reach = Literal["session", "repository"]


class Scope(msgspec.Struct, frozen=True):
    """Where a lesson holds: in one repository (by its remote, else its folder), for this user, or everywhere."""

    level: Level
    key: str | None = None


class Evidence(msgspec.Struct, frozen=True, omit_defaults=True):
    """An event that a candidate rests on. A quote stands byte for byte in that event's text, command or paths."""

    host: str
    session_id: str
    event_id: str
    quote: str | None = None


class MemoryCandidate(msgspec.Struct, kw_only=True):
    """One lesson that a method proposes."""

    id: str
    method: str
    kind: str
    text: str
    when_to_use: str
    do_not_use_when: str
    structured: dict[str, object]
    """What the text says, for programs. What is counted stands under `support`, which is no part of its identity."""
    evidence_refs: list[Evidence]
    source_sessions: list[str]
    """As `host/id`."""
    confidence: float
    priority: int
    """From 1, the least, to 5."""
    risk: Risk
    scope: Scope
    reason: str


def candidate_id(kind: str, scope: Scope, structured: dict[str, object]) -> str:
    """The identity of a candidate: what it says and where it holds, not how often that was seen, nor by what."""
    said = {name: value for name, value in structured.items() if name != "support"}
    body = msgspec.json.encode([kind, scope, said], order="sorted")
    return "m_" + blake2b(body, digest_size=8).hexdigest()


def candidate(
    method: str,
    kind: str,
    scope: Scope,
    text: str,
    structured: dict[str, object],
    evidence: Sequence[Evidence],
    *,
    when: str,
    unless: str,
    confidence: float,
    priority: int,
    reason: str,
    risk: Risk = "low",
) -> MemoryCandidate:
    """A candidate with its id; its sessions are those of its evidence."""
    return MemoryCandidate(
        id=candidate_id(kind, scope, structured),
        method=method,
        kind=kind,
        text=text,
        when_to_use=when,
        do_not_use_when=unless,
        structured=structured,
        evidence_refs=list(dict.fromkeys(evidence)),
        source_sessions=list(dict.fromkeys(f"{one.host}/{one.session_id}" for one in evidence)),
        confidence=round(min(max(confidence, 0.0), 1.0), 3),
        priority=min(max(priority, 1), 5),
        risk=risk,
        scope=scope,
        reason=reason,
    )


def cite(trace: Trace, event_id: str, quote: str | None = None) -> Evidence:
    """An event of a session as evidence."""
    return Evidence(trace.host, trace.session_id, event_id, quote)


# --- the registry ----------------------------------------------------------------------------------------------------

Update = Literal["add", "validate", "adjust"]


class Headless(msgspec.Struct, frozen=True):
    """What a method that starts a client needs; only a command in which that method is named gives it."""

    root: str
    """The archive, in which the client's stream is kept."""
    model: str | None = None
    timeout_seconds: float = 300.0


class Options(msgspec.Struct, frozen=True):
    """What the user's settings say about mining."""

    update: Update = "adjust"
    """What becomes of a procedure: each kept, each that ended well, or that with a new version after a failure."""
    headless: Headless | None = None


Mine = Callable[[Sequence[Trace], Options], Iterable[MemoryCandidate]]


class Method(msgspec.Struct, frozen=True):
    """A registered method. `reach` says what it is given: one session's trace, or those of one repository."""

    name: str
    description: str
    version: int
    reach: Reach
    mine: Mine
    opt_in: bool = False
    """Never part of `all`: it starts a program, and only where it is named."""
    origin: str = "retro"


_registry: dict[str, Method] = {}


def register_method(
    name: str, *, description: str, version: int = 1, reach: Reach = "session", opt_in: bool = False
) -> Callable[[Mine], Mine]:
    """Make a function a mining method: `@register_method("name", description="…")`. A name is taken once."""

    def register(mine: Mine) -> Mine:
        if name in _registry and _registry[name].mine.__module__ != mine.__module__:
            raise ValueError(f"there is a mining method {name} already")
        origin = mine.__module__.partition(".")[0]
        _registry[name] = Method(name, description, version, reach, mine, opt_in, origin)
        return mine

    return register


def methods(problems: list[str] | None = None) -> dict[str, Method]:
    """Every method by name: ours, then those of other distributions; one that cannot be loaded is named, not raised."""
    from retro.mining import methods as ours

    for module in sorted(iter_modules(ours.__path__), key=lambda found: found.name):
        import_module(f"{ours.__name__}.{module.name}")
    for point in plugins.installed(ENTRY_POINTS):
        try:
            point.load()
        except Exception as error:  # whatever a foreign module does while it is loaded
            if problems is not None:
                problems.append(f"mining methods of {point.name}: {error!r}")
    return dict(sorted(_registry.items(), key=lambda entry: (entry[1].origin != "retro", entry[0])))
