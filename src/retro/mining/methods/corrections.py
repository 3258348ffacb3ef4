"""What a person had to correct: what they said, what it was about, and what was done then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from retro.mining.base import Evidence, MemoryCandidate, Options, Scope, Trace, candidate, cite, register_method
from retro.mining.refusals import in_all, words_of
from retro.mining.rules import Said, corrections_of
from retro.mining.trace import Step
from retro.mining.wording import base, code, first_line, tidy

SHOWN: Final = 4


@register_method(
    "corrections", version=2, description="what a person corrected, and what replaced it", reach="repository"
)
def corrections(traces: Sequence[Trace], options: Options) -> Iterable[MemoryCandidate]:
    """Corrections that say how things are to be done; the same one said in several sessions is one."""
    groups: dict[str, list[Said]] = {}
    machine = in_all(traces)
    for trace in traces:
        for said in corrections_of(trace):
            if words_of(said.prompt) in machine:
                continue
            groups.setdefault(said.key, []).append(said)
    for key, group in groups.items():
        yield _correction(key, group)


def _correction(key: str, group: list[Said]) -> MemoryCandidate:
    last = group[-1]
    names = list(dict.fromkeys(said.trace.name for said in group))
    text = f"The user said: {code(last.words)}"
    if len(names) > 1:
        text += f" (in {len(names)} sessions)"
    if last.before is not None and _agree(said.before for said in group):
        text += f"; about {_what(last.before)}"
    if last.after is not None and _agree(said.after for said in group) and not _agree((last.before, last.after)):
        text += f"; then came {_what(last.after)}"
    objects = any(said.objects for said in group)
    return candidate(
        "corrections",
        "correction",
        Scope("repository", last.trace.scope),
        f"{text}.",
        {
            "said": key,
            "support": {
                "sessions": len(names),
                "about": _quote(last.before) if last.before else None,
                "then": _quote(last.after) if last.after else None,
            },
        },
        [one for said in group[-SHOWN:] for one in _evidence(said)],
        when="something like what was corrected is about to be done in this repository",
        unless="the user asks for it this time",
        confidence=min(0.95, (0.7 if objects else 0.55) + 0.1 * (len(names) - 1)),
        priority=4,
        reason=f"said in {len(names)} session{'s' if len(names) > 1 else ''}"
        + (", correcting what had been done" if objects else ""),
    )


def _agree(steps: Iterable[Step | None]) -> bool:
    """Whether all of them are of one thing: only then does it belong to what was said."""
    return len({_quote(step) if step is not None else None for step in steps}) == 1


def _evidence(said: Said) -> Iterator[Evidence]:
    yield cite(said.trace, said.prompt.event_id, said.words)
    for step in (said.before, said.after):
        if step is not None:
            yield cite(said.trace, step.event_id, _quote(step))


def _quote(step: Step) -> str:
    return step.edits[0] if step.edits else first_line(step.command)


def _what(step: Step) -> str:
    return f"an edit of {code(base(step.edits[0]))}" if step.edits else code(tidy(step.command))
