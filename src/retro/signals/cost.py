"""Signals of the group cost: what the session took, by the ledger."""

from __future__ import annotations

from functools import partial
from typing import Final

from retro.signals.base import Reading, SessionContext, missing, reading, register

NOTHING: Final = "no model request of this session is known"

TOKENS: Final = {
    "tokens": "all tokens of the session's model requests, each request counted once in the whole archive",
    "input_tokens": "tokens that were neither read from nor written to a cache",
    "cache_write_tokens": "tokens written to the prompt cache",
    "cache_read_tokens": "tokens read from the prompt cache",
    "output_tokens": "tokens that models wrote, reasoning included",
    "reasoning_tokens": "the part of the output that was reasoning, where the host tells",
}


AT_LEAST: Final = frozenset({"tokens", "output_tokens", "reasoning_tokens"})
"""What is a lower bound where the host logged only the beginning of an answer."""


def _spent(name: str, session: SessionContext) -> Reading:
    """One of the ledger's sums."""
    spent = session.spent
    if spent is None or not spent.requests:
        return missing(NOTHING)
    value: int = getattr(spent, name)
    uncertain = spent.lower_bound_requests if name in AT_LEAST else 0
    reason = f"at least: {uncertain} of {spent.requests} requests tell a lower bound" if uncertain else None
    return reading(value, confidence=1.0 - 0.5 * uncertain / spent.requests, reason=reason)


for _name, _description in TOKENS.items():
    register(
        _name,
        group="cost",
        kind="numeric",
        method="heuristic",
        description=_description,
        unit="tokens",
        needs="ledger",
    )(partial(_spent, _name))


@register(
    "request_count",
    group="cost",
    kind="numeric",
    method="heuristic",
    description="model requests that count for this session",
    unit="requests",
    needs="ledger",
)
def request_count(session: SessionContext) -> Reading:
    """Requests."""
    return _spent("requests", session)


@register(
    "cost",
    group="cost",
    kind="numeric",
    method="heuristic",
    description="what the requests cost: what the host wrote, else what their frozen price rows give",
    unit="microdollars",
    needs="ledger",
)
def cost(session: SessionContext) -> Reading:
    """Money, where there is a price."""
    spent = session.spent
    if spent is None or not spent.requests:
        return missing(NOTHING)
    without = spent.unpriced_requests
    if without == spent.requests:
        return missing("no price is known for the models of this session")
    reason = f"{without} of {spent.requests} requests have no price" if without else None
    return reading(spent.cost, confidence=1.0 - without / spent.requests, reason=reason)
