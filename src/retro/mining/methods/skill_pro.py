"""After Skill-Pro: ways of working that recur in successful sessions and prove themselves on others.

The gate replays a skill on sessions held back from mining it: a surrogate for the paper's, which runs an agent again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from math import sqrt
from typing import Final, NamedTuple

from retro.mining.base import MemoryCandidate, Options, Scope, Trace, candidate, cite, register_method
from retro.mining.milestones import EDIT, Milestone, milestones
from retro.mining.statistics import Z90, wilson
from retro.mining.trace import CHECKING
from retro.mining.wording import code, sessions, times

NAME: Final = "skill_pro"
LEAST: Final = 3
SHORTEST, LONGEST = 3, 6
PRECISION: Final = 0.6
HELD_BACK: Final = 3
"""One session of so many is held back for the gate."""

Walk = list[Milestone]


class Gate(NamedTuple):
    """How a skill did on the sessions that were held back."""

    activated: int
    followed: int
    worked: int
    lift_low: float

    @property
    def passed(self) -> bool:
        """Whether where it begins it is carried through, and those sessions end better than the others."""
        return self.activated > 0 and self.followed / self.activated >= PRECISION and self.lift_low > 0


@register_method(
    NAME,
    description="ways of working that recur and prove themselves on held-back sessions (after Skill-Pro)",
    reach="repository",
)
def skill_pro(traces: Sequence[Trace], options: Options) -> Iterable[MemoryCandidate]:
    """Sequences of at least three steps that end in a passing check, seen in three successful sessions."""
    walks = [(trace, milestones(trace)) for trace in traces if trace.outcome]
    learned = [one for one in walks if one[0].outcome == "success" and not _held_back(one[0])]
    held = [one for one in walks if _held_back(one[0])]
    found: dict[tuple[str, ...], list[tuple[Trace, Walk]]] = {}
    for trace, walk in learned:
        for names, steps in _sequences(walk).items():
            found.setdefault(names, []).append((trace, steps))
    kept: list[tuple[str, ...]] = []
    for names in sorted(found, key=lambda key: (-len(key), -len(found[key]), key)):
        if len(found[names]) < LEAST or any(_within(names, other) for other in kept):
            continue
        gate = replay(names, held)
        if gate.passed:
            kept.append(names)
            yield _skill(names, found[names], gate)


def _held_back(trace: Trace) -> bool:
    return blake2b(trace.name.encode("utf-8", "replace"), digest_size=2).digest()[0] % HELD_BACK == 0


def _sequences(walk: Walk) -> dict[tuple[str, ...], Walk]:
    """Every stretch that changes something and ends with a check that passed, each once."""
    found: dict[tuple[str, ...], Walk] = {}
    for end, last in enumerate(walk):
        if last.step.kind not in CHECKING or last.step.failed:
            continue
        for length in range(SHORTEST, LONGEST + 1):
            part = walk[end + 1 - length : end + 1] if end + 1 >= length else []
            names = tuple(one.name for one in part)
            if EDIT in names and names not in found:
                found[names] = part
    return found


def _within(names: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return any(other[at : at + len(names)] == names for at in range(len(other) - len(names) + 1))


def replay(names: tuple[str, ...], held: Sequence[tuple[Trace, Walk]]) -> Gate:
    """Let a skill begin wherever its first two steps stand in a session that was held back, and see what came of it."""
    activated = followed = good = 0
    rest = rest_good = 0
    for trace, walk in held:
        own = tuple(one.name for one in walk)
        begins = any(own[at : at + 2] == names[:2] for at in range(len(own) - 1))
        carried = _within(names, own)
        activated += begins
        followed += begins and carried
        if carried:
            good += trace.outcome == "success"
        else:
            rest += 1
            rest_good += trace.outcome == "success"
    return Gate(activated, followed, good, _difference_low(good, len(held) - rest, rest_good, rest))


def _difference_low(hits: int, of: int, base_hits: int, base_of: int) -> float:
    """A lower bound of how much more often it goes well (Newcombe's interval of two shares)."""
    if not of or not base_of:
        return 0.0
    low, high = wilson(hits, of, Z90)[0], wilson(base_hits, base_of, Z90)[1]
    share, base = hits / of, base_hits / base_of
    return share - base - sqrt((share - low) ** 2 + (high - base) ** 2)


def _skill(names: tuple[str, ...], group: Sequence[tuple[Trace, Walk]], gate: Gate) -> MemoryCandidate:
    trace, walk = group[-1]
    steps = "; then ".join(code(name) for name in names)
    evidence = [cite(of, one.step.event_id, one.step.command or None) for of, part in group[-3:] for one in part]

    def policy() -> Iterator[dict[str, str]]:
        for one in walk:
            yield {"step": one.name, "example": one.step.command[:160]}

    return candidate(
        NAME,
        "skill",
        Scope("repository", trace.scope),
        f"What works here: {steps}.",
        {
            "initiation": names[0],
            "policy": list(names),
            "termination": f"{names[-1]} passes",
            "support": {
                "sessions": len(group),
                "examples": list(policy()),
                "gate": {"activated": gate.activated, "followed": gate.followed, "lift_low": round(gate.lift_low, 3)},
            },
        },
        evidence,
        when=f"{code(names[0])} is what was just done or is about to be",
        unless=f"{code(names[-1])} does not concern the change",
        confidence=wilson(gate.followed, gate.activated)[0],
        priority=4,
        reason=f"seen in {sessions(len(group))}; on sessions held back it was carried through"
        f" {times(gate.followed, gate.activated, 'start')}, and they ended better than the others",
    )
