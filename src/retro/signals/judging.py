"""How likely it is that a session did what was asked, from its readings: a table of weights, and nothing else.

The weights come from `bench/outcome.py`, which fits them on runs of which the truth is known, and says how good they
are.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from math import exp, log1p
from typing import Final, Literal, NamedTuple

import msgspec

from retro.event import Value

Said = Literal["success", "failure", "unknown"]

TABLE: Final = os.path.join(os.path.dirname(__file__), "weights.json")
PROBABILITY: Final = "outcome_probability"
OUTCOME: Final = "outcome"
"""The signals that say what comes of it."""

EDITS: Final = "file_edit_count"
TEXTS: Final = "assistant_message_count"
WORDS: Final = ("agent_confirmation_count", "agent_doubt_count")
LEAST_WORDS: Final = 2
"""Of confirmation and doubt together; where an agent never says how sure it is, that tells nothing."""


class Term(msgspec.Struct, frozen=True):
    """What one reading adds: its logarithm, within the range that was fitted, less the mean, times a weight."""

    signal: str
    words: str
    """What a person reads of it, with the value in the place of `{}`."""
    weight: float
    mean: float
    low: float
    high: float
    """The least and the largest value among the runs that were fitted."""

    def add(self, value: float) -> float:
        """What a value adds to the score."""
        return self.weight * (log1p(min(max(value, self.low), self.high)) - self.mean)


class Table(msgspec.Struct, frozen=True):
    """The weights, and from which probability on something is said."""

    schema: int
    intercept: float
    terms: list[Term]
    texts: float
    """The least number of the agent's texts among the runs that were fitted."""
    success: float | None
    failure: float | None
    """None: it is never said, for too many of those would be wrong."""
    fitted: dict[str, float | str]
    """On what, and what cross-validation says of it."""


class Judgement(NamedTuple):
    """How a session went, as far as that can be said, and why."""

    probability: float | None
    said: Said
    reasons: list[str]
    """What counted most first; behind it what keeps a success from being called one."""


@lru_cache(maxsize=1)
def table() -> Table:
    """The weights in force."""
    with open(TABLE, "rb") as file:
        return msgspec.json.decode(file.read(), type=Table)


def judge(readings: Mapping[str, Value | None], weights: Table | None = None) -> Judgement:
    """What the values of a session's readings say of how it went."""
    if not readings.get(EDITS):
        return Judgement(None, "unknown", ["nothing was edited: there is no work to judge"])
    if not readings.get(TEXTS):
        return Judgement(None, "unknown", ["the agent wrote no text that tells how sure it is"])
    weights = weights or table()
    texts = readings[TEXTS]
    if isinstance(texts, (int, float)) and texts < weights.texts / 2:
        return Judgement(None, "unknown", [f"the agent wrote {texts:g} texts, too few to tell how sure it is"])
    if sum(value for name in WORDS if isinstance(value := readings.get(name), (int, float))) < LEAST_WORDS:
        return Judgement(None, "unknown", ["the agent says neither that something is confirmed nor that it doubts"])
    score, told = weights.intercept, list[tuple[float, str]]()
    for term in weights.terms:
        value = readings.get(term.signal)
        if isinstance(value, (int, float)):
            adds = term.add(value)
            score += adds
            told.append((adds, term.words.format(f"{value:,g}")))
    probability = 1 / (1 + exp(-score))
    told.sort(key=lambda one: (-abs(one[0]), one[1]))
    reasons = [f"{words} ({adds:+.2f})" for adds, words in told]
    if weights.failure is not None and probability <= weights.failure:
        return Judgement(probability, "failure", reasons)
    if weights.success is None or probability < weights.success:
        return Judgement(probability, "unknown", reasons)
    doubtful = _doubtful(readings, weights)
    return Judgement(probability, "unknown" if doubtful else "success", [*reasons, *doubtful])


def _doubtful(readings: Mapping[str, Value | None], weights: Table) -> list[str]:
    """What keeps a session with a high score from being called a success."""
    found = [words for signal, bad, words in _DOUBTS if readings.get(signal) == bad]
    if readings.get("user_correction_count"):
        found.append("the person corrected it")
    texts = readings.get(TEXTS)
    if isinstance(texts, (int, float)) and texts < weights.texts:
        found.append("fewer texts of the agent than in any run that was fitted")
    for term in weights.terms:
        value = readings.get(term.signal)
        if term.weight < 0 and isinstance(value, (int, float)) and value > term.high:
            found.append("longer than any run that was fitted")
            break
    return found


_DOUBTS: Final[tuple[tuple[str, Value, str], ...]] = (
    ("agent_confirmation_count", 0, "the agent confirms nothing"),
    ("last_test_outcome", "failed", "the last tests failed"),
    ("premature_finish_without_validation", True, "nothing checks the last edit"),
    ("interrupted_signal", True, "it was interrupted"),
)
"""Readings with which nothing is called a success, whatever the score."""
