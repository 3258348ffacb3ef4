"""What a harness says instead of running a call: the same words in many sessions, where a person would use others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from retro.mining.trace import FAILED, UNKNOWN, Prompt, Step, Trace
from retro.mining.wording import first_line
from retro.problems import LINE_LIMIT, signature

LEAST: Final = 3
"""Sessions that were told the same."""

SHORTEST: Final = 80
"""Characters: people say `continue` in many sessions, and nothing this long twice in the same words."""


def answers(trace: Trace) -> Iterator[tuple[int, Prompt]]:
    """What may be a harness's words: prompts right behind a call that has no result, with that call's place."""
    if 2 * sum(bool(step.result_id) for step in trace.steps) < len(trace.steps):
        return  # a host that keeps no results says nothing by a missing one
    for prompt in trace.prompts:
        step = trace.steps[prompt.place - 1] if 0 < prompt.place <= len(trace.steps) else None
        if step is not None and step.outcome == UNKNOWN and not step.result_id and len(prompt.text) >= SHORTEST:
            yield prompt.place - 1, prompt


def words_of(prompt: Prompt) -> str:
    """What two of them have in common."""
    return signature(" ".join(prompt.text[:LINE_LIMIT].split()))


def harness_words(told: Iterable[tuple[str, str]]) -> set[str]:
    """Of words with the session that they were said in, those that so many sessions heard that a machine says them."""
    heard: dict[str, set[str]] = {}
    for words, session in told:
        heard.setdefault(words, set()).add(session)
    return {words for words, names in heard.items() if len(names) >= LEAST}


def in_all(traces: Sequence[Trace]) -> set[str]:
    """The words of harnesses in some traces."""
    return harness_words((words_of(prompt), trace.name) for trace in traces for _, prompt in answers(trace))


def refused(trace: Trace) -> tuple[Trace, dict[int, str]]:
    """A trace in which calls that may have been refused have failed, and the words, by the places of the calls."""
    steps, places = list(trace.steps), dict[int, str]()
    for place, prompt in answers(trace):
        steps[place] = _failed(steps[place], prompt)
        places[place] = words_of(prompt)
    return msgspec.structs.replace(trace, steps=steps), places


def _failed(step: Step, prompt: Prompt) -> Step:
    said = first_line(prompt.text, LINE_LIMIT)
    return msgspec.structs.replace(
        step, outcome=FAILED, result_id=prompt.event_id, problem=said, signature=signature(said), refused=True
    )
