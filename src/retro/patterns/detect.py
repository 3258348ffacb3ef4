"""Finding patterns: what each trace has of problems, corrections and successes, put together by what they share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from retro.commands import Kind
from retro.mining.base import Evidence, cite
from retro.mining.episodes import Episode, episodes, label
from retro.mining.recurring import EVERYWHERE, Cluster, Key, Rate, base_rate, resolution
from retro.mining.rules import Said, corrections_of
from retro.mining.trace import CHECKING, NO_REASON, NOTHING_FOUND, Step, Trace
from retro.patterns.pattern import Pattern, Resolution, pattern_id
from retro.problems import family, kind, says_nothing

SHOWN: Final = 6
"""Sessions that are cited."""

EXAMPLE: Final = 200
ALIKE: Final = 93
"""From which likeness on, of 100, two signatures of one program are one."""

# What recurs in every project and says nothing: bars, counters, what a search always says, a shell that was stopped.
_NOISE: Final = re.compile(
    r"[Bb]inary file .*match|\d+%\|[█▏▎▍▌▋▊▉ #=>.-]*\||[█▓▒░━]{3,}|^\W*<?(?:number)?>?%?\W*$|(?:^|\s)\d+/\d+ \["
    r"|^(?:Killed|Terminated|Interrupt(?:ed)?|\^C|KeyboardInterrupt)$|^Exit(?:ed)? (?:code|with)|warnings? generated"
    r"|=+ .*\b(?:passed|failed|errors?|exceptions)\b.* in |^tests finished:|^\W*\d+ (?:passed|failed)|^Traceback"
    r"|^(?:FAILED|FAIL|ERROR)S?\W*$|^AssertionError$"
)


class Found(NamedTuple):
    """What traces hold of patterns, as little of each as is needed."""

    episodes: list[Episode]
    corrections: list[Said]
    successes: list[tuple[Trace, Step]]


def gather(traces: Iterable[Trace]) -> Found:
    """Collect what may recur. Of each trace only the steps in question stay in memory."""
    found = Found([], [], [])
    for trace in traces:
        slim = msgspec.structs.replace(trace, steps=[], prompts=[], rejected=[])
        found.episodes.extend(
            episode._replace(trace=slim) for episode in episodes(trace) if not is_noise(episode.failure)
        )
        found.corrections.extend(said._replace(trace=slim) for said in corrections_of(trace))
        done: dict[str, Step] = {}
        for step in trace.steps:
            if step.kind in (*CHECKING, Kind.INSTALL, Kind.COMMIT) and step.command and not step.failed:
                done[label(step)] = step
        found.successes.extend((slim, step) for step in done.values())
    return found


def is_noise(step: Step) -> bool:
    """Whether a failure says nothing: a search without a hit, no reason at all, a bar or a counter."""
    silent = step.signature in (NOTHING_FOUND, NO_REASON) or says_nothing(step.problem)
    return silent or bool(_NOISE.search(step.problem))


def detect(found: Found, least: int) -> list[Pattern]:
    """Every pattern that at least so many sessions had: across hosts first, then the most frequent."""
    rate = base_rate(found.episodes)
    patterns = [_problem(cluster, rate) for cluster in _clusters(found.episodes, least)]
    patterns += _corrections(found.corrections, least)
    patterns += _successes(found.successes, least)
    order = {"problem": 0, "correction": 1, "success": 2}
    return sorted(patterns, key=lambda one: (not one.cross_host, order[one.kind], -one.sessions, one.id))


# --- problems --------------------------------------------------------------------------------------------------------

_LEVELS: Final[tuple[Callable[[str], str], ...]] = (str, family, kind)


def _clusters(found: Sequence[Episode], least: int) -> list[Cluster]:
    """Failures by program and signature; what is too rare, by what it shares with others; then what is nearly equal."""
    rest = list(found)
    done: list[Cluster] = []
    for level in _LEVELS:
        groups: dict[Key, list[Episode]] = {}
        for episode in rest:
            key = Key(EVERYWHERE, label(episode.failure), level(episode.failure.signature))
            groups.setdefault(key, []).append(episode)
        done += [Cluster(key, tuple(group)) for key, group in groups.items() if _sessions(group) >= least]
        rest = [episode for group in groups.values() if _sessions(group) < least for episode in group]
    return _merged(sorted(done, key=lambda cluster: cluster.key))


def _sessions(group: Iterable[Episode]) -> int:
    return len({episode.trace.name for episode in group})


def _merged(clusters: Sequence[Cluster]) -> list[Cluster]:
    """Clusters of one program whose signatures are nearly equal, as one under the name of the larger."""
    from rapidfuzz.fuzz import ratio

    kept: list[Cluster] = []
    for cluster in sorted(clusters, key=lambda one: (-len(one.sessions), one.key)):
        for at, other in enumerate(kept):
            alike = other.key.program == cluster.key.program and len(cluster.key.signature) > 20
            if alike and ratio(other.key.signature, cluster.key.signature) >= ALIKE:
                kept[at] = other._replace(episodes=(*other.episodes, *cluster.episodes))
                break
        else:
            kept.append(cluster)
    return kept


def _problem(cluster: Cluster, rate: Rate) -> Pattern:
    told = sorted(cluster.episodes, key=lambda episode: (episode.trace.started or "", episode.trace.name))
    best = resolution(cluster, rate)
    shown = {episode.trace.name: episode for episode in told}
    evidence: list[Evidence] = []
    for episode in list(shown.values())[-SHOWN:]:
        failure, worked = episode.failure, episode.resolved
        evidence.append(cite(episode.trace, failure.result_id or failure.event_id, failure.problem))
        if worked is not None and best is not None and worked.way == best.way:
            evidence.append(cite(episode.trace, worked.step.event_id, worked.step.command))
    keys = {("problem", label(one.failure), level(one.failure.signature)) for one in told for level in _LEVELS}
    return _pattern(
        ("problem", cluster.key.program, cluster.key.signature),
        [episode.trace for episode in told],
        told[-1].failure.problem,
        evidence,
        keys,
        None
        if best is None
        else Resolution(
            best.way.how,
            best.way.program,
            list(best.way.flags),
            *best.rate,
            *best.others,
            round(best.lift_low, 2),
        ),
    )


# --- corrections and successes ---------------------------------------------------------------------------------------


def _corrections(found: Sequence[Said], least: int) -> Iterator[Pattern]:
    groups: dict[str, list[Said]] = {}
    for said in found:
        groups.setdefault(said.key, []).append(said)
    for key, group in groups.items():
        if len({said.trace.name for said in group}) >= least:
            shown = {said.trace.name: said for said in group}
            evidence = [cite(said.trace, said.prompt.event_id, said.words) for said in list(shown.values())[-SHOWN:]]
            traces = [said.trace for said in group]
            yield _pattern(("correction", "", key), traces, group[-1].words, evidence)


def _successes(found: Sequence[tuple[Trace, Step]], least: int) -> Iterator[Pattern]:
    groups: dict[str, list[tuple[Trace, Step]]] = {}
    for trace, step in found:
        groups.setdefault(label(step), []).append((trace, step))
    for program, group in groups.items():
        if len({trace.name for trace, _ in group}) >= least:
            evidence = [cite(trace, step.event_id, step.command) for trace, step in group[-SHOWN:]]
            told = ("success", program, f"{group[0][1].kind.value} works")
            yield _pattern(told, [trace for trace, _ in group], group[-1][1].command, evidence)


def _pattern(
    told: tuple[str, str, str],
    traces: Sequence[Trace],
    example: str,
    evidence: list[Evidence],
    aliases: Iterable[tuple[str, str, str]] = (),
    resolved: Resolution | None = None,
) -> Pattern:
    times = sorted(trace.started for trace in traces if trace.started)
    own = pattern_id(*told)
    return Pattern(
        id=own,
        kind=told[0],  # type: ignore[arg-type]  # one of three words, from above
        program=told[1],
        signature=told[2],
        example=example[:EXAMPLE],
        sessions=len({trace.name for trace in traces}),
        occurrences=len(traces),
        hosts=sorted({trace.host for trace in traces}),
        repositories=sorted({trace.scope for trace in traces}),
        first_seen=times[0] if times else None,
        last_seen=times[-1] if times else None,
        resolution=resolved,
        evidence=evidence,
        aliases=sorted({pattern_id(*one) for one in aliases} - {own}),
    )
