"""A session in a few thousand characters, for a model: numbered lines that it can cite, secrets masked."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Final, NamedTuple

from retro import secrets
from retro.commands import Kind
from retro.mining.trace import FAILED, LOOKING, UNKNOWN, Step, Trace
from retro.mining.wording import first_line

LONGEST: Final = 12_000
"""Characters of a summary."""

LINE: Final = 240
PROMPT: Final = 600


class Cited(NamedTuple):
    """What a line of a summary stands for."""

    event_id: str
    texts: tuple[str, ...]
    """What stands in that event, of which a quote has to be a piece."""


class Summary(NamedTuple):
    """The text, and what its lines stand for, by their names (`e1`)."""

    text: str
    cited: dict[str, Cited]

    @property
    def mark(self) -> str:
        """A word that no line of it can hold: a hash of all of them."""
        return blake2b(self.text.encode("utf-8", "replace"), digest_size=6).hexdigest()


class _Line(NamedTuple):
    weight: int
    """What is left out first where there are too many: the lowest."""
    says: str
    cited: Cited


def summary(trace: Trace) -> Summary:
    """What was asked, run, changed and said, in order; of a long session the steps that say most."""
    lines = list(_lines(trace))
    shown = _fitting(lines)
    told: list[str] = []
    cited: dict[str, Cited] = {}
    left = 0
    for at, line in enumerate(lines):
        if at not in shown:
            left += 1
            continue
        if left:
            told.append(f"({left} left out)")
            left = 0
        name = f"e{len(cited) + 1}"
        cited[name] = line.cited
        told.append(f"{name} {line.says}")
    told += [f"({left} left out)"] if left else []
    head = f"repository {_flat(trace.scope, LINE)}; the last check after the last change: {trace.outcome or 'unknown'}"
    return Summary(secrets.visible(secrets.mask("\n".join([head, *told])).text), cited)


def _fitting(lines: list[_Line]) -> set[int]:
    """The places of the lines that fit, the weightiest first, of equal ones the first and the last."""
    middle = len(lines) / 2
    order = sorted(range(len(lines)), key=lambda at: (-lines[at].weight, -abs(at - middle), at))
    found: set[int] = set()
    size = 0
    for at in order:
        size += len(lines[at].says) + 6
        if size > LONGEST:
            break
        found.add(at)
    return found


def _lines(trace: Trace) -> Iterator[_Line]:
    prompts = list(trace.prompts)
    for at, step in enumerate(trace.steps):
        while prompts and prompts[0].place <= at:
            one = prompts.pop(0)
            yield _Line(9, f"user: {_flat(one.text, PROMPT)}", Cited(one.event_id, (one.text,)))
        yield from _of_step(step, step.result_id in trace.rejected)
    for one in prompts:
        yield _Line(9, f"user: {_flat(one.text, PROMPT)}", Cited(one.event_id, (one.text,)))


def _of_step(step: Step, refused: bool) -> Iterator[_Line]:
    what = first_line(step.command, LINE) if step.command else ", ".join([*step.edits, *step.reads])[:LINE]
    came = " -> refused by the user" if refused else "" if step.outcome == UNKNOWN else f" -> {step.outcome}"
    weight = 8 if refused else 7 if step.outcome == FAILED else 2 if step.kind in LOOKING else 5
    weight = 1 if step.kind is Kind.OTHER and not step.failed else weight
    texts = (step.command, *step.edits, *step.reads)
    yield _Line(weight, f"{step.kind.value}: {_flat(what, LINE)}{came}", Cited(step.event_id, texts))
    if step.problem:
        result = Cited(step.result_id or step.event_id, (step.problem,))
        yield _Line(weight, f"output: {_flat(step.problem, LINE)}", result)


def _flat(text: str, most: int) -> str:
    """One line, of runs of spaces one: what is longer ends with `…`."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"
