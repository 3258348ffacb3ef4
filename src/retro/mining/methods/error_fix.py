"""Errors that several sessions met, with what resolved them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from retro.mining.base import Evidence, MemoryCandidate, Options, Scope, Trace, candidate, cite, register_method
from retro.mining.edits import lasting_edits
from retro.mining.episodes import AGAIN, CHANGED, CHANGED_CODE, CHANGED_IT, OTHER_ARGUMENTS, USES, Way, episodes
from retro.mining.recurring import Cluster, Resolution, base_rate, clusters, resolution
from retro.mining.trace import LOOKING, NO_REASON
from retro.mining.wording import base, code, example, times
from retro.problems import says_nothing

LEAST: Final = 2
"""Sessions that must have met an error, and resolved it in the same way."""

SHOWN: Final = 6
"""Sessions whose failure and resolution are cited."""


@register_method(
    "error_fix", version=3, description="errors that several sessions met, with what resolved them", reach="repository"
)
def error_fix(traces: Sequence[Trace], options: Options) -> Iterable[MemoryCandidate]:
    """Pairs of an error and what worked after it, each with how often it did."""
    found = [episode for trace in traces for episode in episodes(trace)]
    rate = base_rate(found)
    for cluster in clusters(found, LEAST):
        if cluster.key.scope and cluster.key.signature != NO_REASON and not says_nothing(cluster.key.signature):
            best = resolution(cluster, rate, LEAST)
            if best is not None:
                yield from _pair(cluster, best)


def _pair(cluster: Cluster, best: Resolution) -> Iterator[MemoryCandidate]:
    """The lesson, where it says more than that one has to try again."""
    files = _files(cluster, best.way)
    advice = _advice(cluster, best, files)
    if advice is None:
        return
    problem = cluster.episodes[-1].failure.problem
    text = (
        f"When {code(cluster.key.program)} fails with {code(problem)}, {advice}: "
        f"this worked {times(best.rate.worked, best.rate.tried)} that tried it"
    )
    others = [rate for way, rate in cluster.ways().items() if way != best.way]
    if others:
        text += f" (other attempts: {sum(one.worked for one in others)} of {sum(one.tried for one in others)})"
    text += "."
    structured: dict[str, object] = {
        "program": cluster.key.program,
        "signature": cluster.key.signature,
        "resolution": {"how": best.way.how, "program": best.way.program, "flags": list(best.way.flags), "files": files},
        "support": {
            "sessions": len(cluster.sessions),
            "worked": best.rate.worked,
            "tried": best.rate.tried,
            "lift_low": round(best.lift_low, 2),
        },
    }
    yield candidate(
        "error_fix",
        "error_fix",
        Scope("repository", cluster.key.scope),
        text,
        structured,
        _evidence(cluster, best.way),
        when=f"{code(cluster.key.program)} has failed with {code(problem)}, or is about to be run here",
        unless="the error is another one, even if the command is the same",
        confidence=best.low,
        priority=5 if best.rate.worked >= 5 and best.low > 0.5 else 4 if best.rate.worked >= 3 else 3,
        reason=f"met in {len(cluster.sessions)} sessions, resolved so in {best.rate.worked} of them",
    )


def _advice(cluster: Cluster, best: Resolution, files: list[str]) -> str | None:
    """What to do, in words; None where nobody needs to be told."""
    way = best.way
    looking = cluster.episodes[0].failure.kind in LOOKING
    if looking and best.lift_low <= 1:
        return None
    shown = example(attempt.step for _, attempt in cluster.attempts(way) if attempt.worked)
    such = f", as in {code(shown)}" if shown else ""
    if way.how == USES:
        return f"use {code(way.program)} instead{such}"
    if way.how == OTHER_ARGUMENTS and way.flags:
        return f"run it with {' '.join(map(code, way.flags))}{such}"
    if way.how in (CHANGED, CHANGED_IT, CHANGED_CODE) and files:
        return f"change {', '.join(map(code, files))} and run it again"
    if way.how == AGAIN and best.rate.worked >= 3:
        return "run the same command again"
    return None


def _files(cluster: Cluster, way: Way) -> list[str]:
    """Files of the project that were changed before it worked, in several sessions and in most of them."""
    changed: dict[str, set[str]] = {}
    for episode, attempt in cluster.attempts(way):
        if attempt.worked:
            lasting = lasting_edits(episode.trace)
            own = {base(path) for step in attempt.between for path in step.edits if path in lasting}
            changed.setdefault(episode.trace.name, set()).update(own)
    counts = Counter(name for names in changed.values() for name in names)
    least = max(LEAST, len(changed) // 2 + 1)
    return [name for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if count >= least][:3]


def _evidence(cluster: Cluster, way: Way) -> list[Evidence]:
    """The failure and what worked, of the latest sessions."""
    shown: dict[str, list[Evidence]] = {}
    for episode, attempt in cluster.attempts(way):
        if attempt.worked:
            failure, trace = episode.failure, episode.trace
            shown[trace.name] = [
                cite(trace, failure.result_id or failure.event_id, failure.problem or None),
                cite(trace, attempt.step.event_id, attempt.step.command or None),
            ]
    return [one for refs in list(shown.values())[-SHOWN:] for one in refs]
