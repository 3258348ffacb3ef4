"""How things are done in a repository, counted: through which tool, with which commit messages, after which check."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from retro.commands import Kind
from retro.mining.base import MemoryCandidate, Options, Scope, Trace, candidate, cite, register_method
from retro.mining.episodes import label
from retro.mining.statistics import wilson
from retro.mining.trace import OK, Step
from retro.mining.wording import code, times

LEAST: Final = 3
SURE: Final = 0.75
SHOWN: Final = 4

Found = dict[str, list[tuple[Trace, Step, str]]]
"""Sessions by what they did, each with the step and the piece of its command that shows it."""

# Tools of which a project uses one.
_RIVALS: Final = (
    ("Python tools", re.compile(r"(?:^|[;&|]\s*)((?:uv|poetry|pdm|pipenv|hatch|rye) run|pixi run|conda run)\b")),
    ("JavaScript packages", re.compile(r"(?:^|[;&|]\s*)(npm|pnpm|yarn|bun)(?=\s)")),
    ("tasks", re.compile(r"(?:^|[;&|]\s*)(make|just|task|mise run|nox|tox)(?=\s|$)")),
    ("containers", re.compile(r"(?:^|[;&|]\s*)(docker compose exec|docker-compose exec|podman-compose exec)\b")),
)
_MESSAGE: Final = re.compile(r"git commit\b[^\n]*?-m\s+(?:\"\$\(cat <<'?EOF'?\s*\n)?[\"']?([^\n\"']+)")
_CONVENTIONAL: Final = re.compile(
    r"(?:feat|fix|docs|style|refactor|perf|test|build|ci|chore|revert)(?:\([\w./ -]+\))?!?: "
)


@register_method(
    "conventions", description="how things are done in a repository, with support counts", reach="repository"
)
def conventions(traces: Sequence[Trace], options: Options) -> Iterable[MemoryCandidate]:
    """What at least three sessions did, and three quarters of those that could have."""
    for what, pattern in _RIVALS:
        yield from _kept(traces, partial(_runs_through, pattern), f"{what} are run through {{}} here", what)
    yield from _kept(traces, _commit_style, "commit messages begin {} here", "commit messages")
    yield from _kept(traces, _before_commit, "before a commit, {} is run here", "checks before a commit")


def _kept(
    traces: Sequence[Trace], find: Callable[[Trace], Iterator[tuple[str, Step, str]]], words: str, what: str
) -> Iterator[MemoryCandidate]:
    found: Found = {}
    names: set[str] = set()
    for trace in traces:
        for said, step, quote in find(trace):
            names.add(trace.name)
            group = found.setdefault(said, [])
            if not group or group[-1][0] is not trace:
                group.append((trace, step, quote))
    for said, group in sorted(found.items()):
        if said and len(group) >= LEAST and len(group) / len(names) >= SURE:
            phrase = words.format(said if " " in said and said.startswith("with") else code(said))
            yield candidate(
                "conventions",
                "convention",
                Scope("repository", traces[0].scope),
                f"{phrase[0].upper()}{phrase[1:]}: {times(len(group), len(names))} that had the choice.",
                {"about": what, "convention": said, "support": {"sessions": len(group), "of": len(names)}},
                [cite(trace, step.event_id, quote) for trace, step, quote in group[-SHOWN:]],
                when=f"it is about {what} in this repository",
                unless="the user asks for something else",
                confidence=wilson(len(group), len(names))[0],
                priority=3,
                reason=f"done so {times(len(group), len(names))}",
            )


def _runs_through(pattern: re.Pattern[str], trace: Trace) -> Iterator[tuple[str, Step, str]]:
    for step in trace.steps:
        match = pattern.search(step.command) if step.command and step.outcome == OK else None
        if match:
            yield match[1], step, match[1]


def _commit_style(trace: Trace) -> Iterator[tuple[str, Step, str]]:
    for step in trace.steps:
        message = _MESSAGE.search(step.command) if step.kind is Kind.COMMIT else None
        if message:
            style = _CONVENTIONAL.match(message[1])
            yield ("with a type, as in feat: or fix:" if style else ""), step, message[1].strip()


def _before_commit(trace: Trace) -> Iterator[tuple[str, Step, str]]:
    """The last check before each commit."""
    last: Step | None = None
    for step in trace.steps:
        if step.kind in (Kind.TEST, Kind.CHECK, Kind.FORMAT, Kind.BUILD):
            last = step
        elif step.kind is Kind.COMMIT:
            if last is not None:
                yield label(last), last, last.command
            else:
                yield "", step, step.command
            last = None
