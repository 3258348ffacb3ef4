"""Finding patterns: what each trace has of problems, corrections and successes, put together by what they share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from retro.commands import Kind
from retro.mining.base import Evidence, cite
from retro.mining.episodes import Episode, episodes, label
from retro.mining.recurring import ANY_PROGRAM, EVERYWHERE, Cluster, Key, Rate, base_rate, resolution
from retro.mining.refusals import harness_words, refused, words_of
from retro.mining.rules import Said, corrections_of
from retro.mining.trace import NO_REASON, NOTHING_FOUND, OK, Step, Trace
from retro.patterns.pattern import Pattern, Resolution, pattern_id
from retro.problems import family, kind, says_nothing

SHOWN: Final = 6
"""Sessions that are cited."""

EXAMPLE: Final = 200
PROGRAMS: Final = 4
"""Programs that are named of a problem that several had."""

ALIKE: Final = 93
"""From which likeness on, of 100, two signatures of one program are one."""

# What recurs in every project and says nothing: bars, counters, what a search always says, a shell that was stopped.
_NOISE: Final = re.compile(
    r"[Bb]inary file .*match|\d+%\|[█▏▎▍▌▋▊▉ #=>.-]*\||[█▓▒░━]{3,}|^\W*<?(?:number)?>?%?\W*$|(?:^|\s)\d+/\d+ \["
    r"|^(?:Killed|Terminated|Interrupt(?:ed)?|\^C|KeyboardInterrupt)$|^Exit(?:ed)? (?:code|with)|warnings? generated"
    r"|=+ .*\b(?:passed|failed|errors?|exceptions)\b.* in |^tests finished:|^\W*\d+ (?:passed|failed)|^Traceback"
    r"|^(?:FAILED|FAIL|ERROR)S?\W*$"
)
_BARE: Final = re.compile(r"AssertionError$")
"""That something did not hold says enough only together with what resolved it."""


class Found(NamedTuple):
    """What traces hold of patterns, as little of each as is needed."""

    episodes: list[Episode]
    refused: list[tuple[str, Episode]]
    """Calls that may have been refused, each with the words."""
    told: set[tuple[str, str]]
    """Those words, each with the session."""
    corrections: list[Said]
    successes: list[tuple[Trace, Step]]


def gather(traces: Iterable[Trace]) -> Found:
    """Collect what may recur. Of each trace only the steps in question stay in memory."""
    found = Found([], [], set(), [], [])
    for trace in traces:
        slim = msgspec.structs.replace(trace, steps=[], prompts=[], rejected=[])
        found.episodes.extend(
            episode._replace(trace=slim) for episode in episodes(trace) if not is_noise(episode.failure)
        )
        shown, words = refused(trace)
        found.told.update((said, trace.name) for said in words.values())
        found.refused.extend(
            (words[episode.place], episode._replace(trace=slim))
            for episode in (episodes(shown) if words else ())
            if episode.place in words
        )
        found.corrections.extend(said._replace(trace=slim) for said in corrections_of(trace))
        done: dict[str, Step] = {}
        for step in trace.steps:
            if step.kind in _DOES and step.command and step.outcome == OK:
                done[label(step)] = step
        found.successes.extend((slim, step) for step in done.values())
    return found


def failures(found: Found) -> list[Episode]:
    """Everything that went wrong: what failed, and what a harness refused."""
    machine = harness_words(found.told)
    return [*found.episodes, *(episode for words, episode in found.refused if words in machine)]


def is_noise(step: Step) -> bool:
    """Whether a failure says nothing: a search without a hit, no reason at all, a bar or a counter."""
    silent = step.signature in (NOTHING_FOUND, NO_REASON) or says_nothing(step.problem)
    return silent or bool(_NOISE.search(step.problem))


def detect(found: Found, least: int) -> list[Pattern]:
    """Every pattern that at least so many sessions had: across hosts first, then the most frequent."""
    machine, failed = harness_words(found.told), failures(found)
    rate = base_rate(failed)
    patterns = [_problem(cluster, rate) for cluster in _clusters(failed, least, rate)]
    patterns = [one for one in patterns if one.resolution or not _BARE.match(one.signature)]
    patterns += _corrections([said for said in found.corrections if words_of(said.prompt) not in machine], least)
    patterns += _successes(found.successes, least)
    order = {"problem": 0, "correction": 1, "success": 2}
    return sorted(patterns, key=lambda one: (not one.cross_host, order[one.kind], -one.sessions, one.id))


# --- problems --------------------------------------------------------------------------------------------------------


def _program(failure: Step) -> str:
    """What failed; a harness that refuses a call does so whatever the call is."""
    return ANY_PROGRAM if failure.refused else label(failure)


LEVELS: Final[tuple[Callable[[Step], tuple[str, str]], ...]] = (
    lambda failure: (_program(failure), failure.signature),
    lambda failure: (_program(failure), family(failure.signature)),
    lambda failure: (_program(failure), kind(failure.signature)),
    lambda failure: (ANY_PROGRAM, family(failure.signature)),
    lambda failure: (ANY_PROGRAM, kind(failure.signature)),
)
"""What failed and how, from the most to the least exact."""


def _clusters(found: Sequence[Episode], least: int, rate: Rate) -> list[Cluster]:
    """Failures as exactly as they recur and are resolved; those that nothing resolved, as exactly as they recur."""
    rest = list(found)
    done: dict[Key, Cluster] = {}
    for resolved in (True, False):
        for level in LEVELS:
            groups: dict[tuple[str, str], list[Episode]] = {}
            for episode in rest:
                groups.setdefault(level(episode.failure), []).append(episode)
            rest = []
            for key, group in groups.items():
                cluster = Cluster(Key(EVERYWHERE, *key), tuple(group))
                if _sessions(group) >= least and (not resolved or resolution(cluster, rate)):
                    before = done.get(cluster.key)
                    episodes_ = (*before.episodes, *group) if before else tuple(group)
                    done[cluster.key] = Cluster(cluster.key, episodes_)
                else:
                    rest += group
    return _merged(sorted(done.values(), key=lambda cluster: cluster.key))


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
        if worked is not None and best is not None and cluster.is_taken(best.way, worked):
            evidence.append(cite(episode.trace, worked.step.event_id, worked.step.command))
    keys = {("problem", *level(one.failure)) for one in told for level in LEVELS}
    found = _pattern(
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
            best.of_any,
        ),
    )
    if cluster.key.program != ANY_PROGRAM:
        return found
    counts = Counter(label(one.failure) for one in told if not one.failure.refused)
    names = sorted(counts, key=lambda name: (-counts[name], name))
    return msgspec.structs.replace(found, programs=names[:PROGRAMS])


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


_DOES: Final = {
    Kind.TEST: "runs the tests",
    Kind.BUILD: "builds",
    Kind.CHECK: "checks the code",
    Kind.INSTALL: "installs",
}


def _successes(found: Sequence[tuple[Trace, Step]], least: int) -> Iterator[Pattern]:
    groups: dict[str, list[tuple[Trace, Step]]] = {}
    for trace, step in found:
        groups.setdefault(label(step), []).append((trace, step))
    for program, group in groups.items():
        if len({trace.name for trace, _ in group}) >= least:
            evidence = [cite(trace, step.event_id, step.command) for trace, step in group[-SHOWN:]]
            told = ("success", program, _DOES[group[0][1].kind])
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
