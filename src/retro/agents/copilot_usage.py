"""Tokens of a Copilot CLI session: a record for each request, or totals when the program ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from retro.agents.fields import Fields, count, mapping


class Tokens(NamedTuple):
    """Tokens by kind; the host counts cached ones as input as well, we do not."""

    fresh: int
    written: int
    cached: int
    output: int
    reasoning: int

    def less(self, other: Tokens) -> Tokens:
        """What is left of these without others; never less than nothing."""
        return Tokens(*(max(one - two, 0) for one, two in zip(self, other, strict=True)))


NOTHING = Tokens(0, 0, 0, 0, 0)


class Spent(msgspec.Struct):
    """What was counted so far, by model, to see what totals tell beyond it."""

    counted: dict[str, list[int]] = {}
    since: dict[str, list[int]] = {}
    """The same since the last total."""
    totals: dict[str, list[int]] = {}
    recorded: bool = False
    """This version has a record for each request."""


def tokens_of(used: Fields) -> Tokens:
    """Tokens as the host's own fields tell them."""
    written, cached = count(used.get("cacheWriteTokens")), count(used.get("cacheReadTokens"))
    fresh = max(count(used.get("inputTokens")) - written - cached, 0)
    return Tokens(fresh, written, cached, count(used.get("outputTokens")), count(used.get("reasoningTokens")))


def recorded(spent: Spent, model: str | None, used: Fields) -> Tokens:
    """The tokens of a request that has a record of its own."""
    spent.recorded = True
    return _counted(spent, model, tokens_of(used))


def said(spent: Spent, model: str | None, answer: Fields) -> Tokens | None:
    """The output that an answer tells, where nothing else tells of its request."""
    output = count(answer.get("outputTokens"))
    if spent.recorded or not output:
        return None
    return _counted(spent, model, NOTHING._replace(output=output))


def compacted(used: Fields) -> Tokens | None:
    """What a compaction took; no total has it."""
    old = {
        "inputTokens": used.get("input"),
        "outputTokens": used.get("output"),
        "cacheReadTokens": used.get("cachedInput"),
    }
    found = tokens_of(used if "inputTokens" in used else old)
    return found if any(found) else None


def remaining(spent: Spent, metrics: Fields) -> Iterator[tuple[str, Tokens]]:
    """What the totals at the end of the program tell of each model beyond what was counted.

    They go on from those of the last time, or begin anew in versions that forget them.
    """
    for model, figures in metrics.items():
        total = tokens_of(mapping(mapping(figures).get("usage")))
        last = Tokens(*spent.totals.get(model, NOTHING))
        anew = any(now < before for now, before in zip(total, last, strict=True))
        counted = Tokens(*(spent.since if anew else spent.counted).get(model, NOTHING))
        # Answers of versions that told of no model are among the others' tokens.
        unnamed = Tokens(*(spent.since if anew else spent.counted).pop("", NOTHING))
        rest = total.less(Tokens(*(one + two for one, two in zip(counted, unnamed, strict=True))))
        spent.totals[model] = list(total)
        spent.counted[model] = list(total)
        if any(rest):
            yield model, rest
    spent.since.clear()


def _counted(spent: Spent, model: str | None, tokens: Tokens) -> Tokens:
    for table in (spent.counted, spent.since):
        before = table.get(model or "", NOTHING)
        table[model or ""] = [one + two for one, two in zip(before, tokens, strict=True)]
    return tokens
