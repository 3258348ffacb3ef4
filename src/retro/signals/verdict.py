"""How the session went: what the agent's words sound like, and the outcome that readings together make likely."""

from __future__ import annotations

from functools import partial

from retro.signals.base import Reading, SessionContext, missing, reading, register
from retro.signals.judging import OUTCOME, PROBABILITY, Judgement, judge

_NO_TEXT = "the agent wrote no text"


def _sounding(what: str, session: SessionContext) -> Reading:
    """How often the agent's texts say something."""
    if not session.count("assistant_message"):
        return missing(_NO_TEXT)
    return reading(session.count(what), evidence=session.notes.get(what, ()), confidence=0.8)


for _name, _what, _description in (
    ("agent_confirmation_count", "confirmation", "times that the agent says that something is confirmed or reproduced"),
    ("agent_doubt_count", "doubt", "words of doubt in the agent's texts: maybe, might, perhaps, probably, possibly"),
):
    register(_name, group="outcome", kind="numeric", method="regex", description=_description, unit="words")(
        partial(_sounding, _what)
    )


def _judged(session: SessionContext) -> Judgement:
    return judge({name: one.value for name, one in session.readings.items()})


def _shown(session: SessionContext) -> list[str]:
    """The events in which the agent sounds sure, then those in which it does not."""
    return [*session.notes.get("confirmation", ()), *session.notes.get("doubt", ())]


@register(
    PROBABILITY,
    group="outcome",
    kind="numeric",
    method="heuristic",
    description="how likely it is that what was asked for is done, by a score fitted on runs of which that is known",
    unit="ratio",
)
def outcome_probability(session: SessionContext) -> Reading:
    """The probability, with what counted most."""
    judged = _judged(session)
    reason = "; ".join(judged.reasons)
    if judged.probability is None:
        return missing(reason)
    return reading(judged.probability, evidence=_shown(session), confidence=0.7, reason=reason)


@register(
    OUTCOME,
    group="outcome",
    kind="categorical",
    method="heuristic",
    description="success or failure where that is likely enough to be said, else unknown",
)
def outcome(session: SessionContext) -> Reading:
    """What is said of it."""
    judged = _judged(session)
    reason = "; ".join(judged.reasons)
    if judged.probability is None:
        return missing(reason)
    sure = max(judged.probability, 1 - judged.probability)
    return reading(judged.said, evidence=_shown(session), confidence=sure, reason=reason)
