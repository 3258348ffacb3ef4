"""A request and its copies: which is which, whose numbers count, and whose the request is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Final

import msgspec

from retro.event import Quality, Usage
from retro.ledger.calendar import milliseconds
from retro.ledger.prices import Tokens

QUALITIES: Final = (Quality.EXACT, Quality.LOWER_BOUND, Quality.FALLBACK_MODEL)
LOWER_BOUND: Final = QUALITIES.index(Quality.LOWER_BOUND)
FALLBACK: Final = QUALITIES.index(Quality.FALLBACK_MODEL)

MOST: Final = 10**12
"""Tokens of one request, or searches: what a damaged log says beyond it would leave no room for sums."""

Rank = tuple[str, str]
"""When a session began, and its id."""


class Numbers(msgspec.Struct, gc=False, order=True):
    """What a request took. In this order the larger counts."""

    output_tokens: int
    at: int
    """Milliseconds since 1970; -1 where the host wrote no time."""
    certain: int
    """1 where the host says that the request was over."""
    input_tokens: int
    cache_write_5m_tokens: int
    cache_write_1h_tokens: int
    cache_read_tokens: int
    reasoning_tokens: int
    web_searches: int
    embedded: int
    """Microdollars that the host wrote beside it; -1 where it wrote none."""
    tier: str
    speed: str
    quality: int

    @property
    def tokens(self) -> Tokens:
        """What is billed."""
        return Tokens(
            self.input_tokens,
            self.cache_write_5m_tokens,
            self.cache_write_1h_tokens,
            self.cache_read_tokens,
            self.output_tokens,
            self.web_searches,
        )

    @property
    def total(self) -> int:
        """All tokens; reasoning is a part of output."""
        context = self.input_tokens + self.cache_write_5m_tokens + self.cache_write_1h_tokens + self.cache_read_tokens
        return context + self.output_tokens


class Copy(msgspec.Struct, gc=False):
    """A request as one session has it."""

    owner: int
    """Number of the session in the ledger."""
    key: int
    """A hash of what the provider billed."""
    variant: int
    """A hash of the request id where the host wrote one, else 0."""
    usage_id: str
    request_id: str
    native: bool
    """The session's own, not carried over from another."""
    source: str
    line: int
    turn: int
    agent: str
    model: str
    numbers: Numbers
    price: int = 0
    """Number of the price row; 0 as long as none was looked for."""
    counted: bool = False
    """It is this one that counts, with these numbers or those of another."""
    cost: int = -1
    """Microdollars by the price row; -1 where the model has none."""
    taken: tuple[int, Numbers] | None = None
    """Whose numbers count in place of its own, and which."""

    @property
    def counts(self) -> Numbers:
        """The numbers that count."""
        return self.taken[1] if self.taken else self.numbers


def key_of(host: str, usage_id: str) -> int:
    """The identity of what a provider billed, as a number."""
    data = f"{host}\0{usage_id}".encode("utf-8", "replace")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big", signed=True)


def variant_of(request_id: str) -> int:
    """What tells requests apart that the host gave the same id."""
    if not request_id:
        return 0
    return int.from_bytes(blake2b(request_id.encode("utf-8", "replace"), digest_size=4).digest(), "big") or 1


def copy_of(owner: int, usage: Usage) -> Copy:
    """A usage record as the ledger has it."""
    request_id = usage.request_id or ""
    return Copy(
        owner,
        key_of(usage.host, usage.usage_id),
        variant_of(request_id),
        usage.usage_id,
        request_id,
        usage.native,
        usage.source,
        usage.line,
        usage.turn or 0,
        usage.agent_id or "",
        usage.model or "",
        numbers_of(usage),
    )


def numbers_of(usage: Usage) -> Numbers:
    """What a usage record says of tokens and money; nothing is ever below zero, or beyond reason."""
    embedded = usage.embedded_cost_usd
    return Numbers(
        _within(usage.output_tokens),
        milliseconds(usage.timestamp),
        int(usage.quality is not Quality.LOWER_BOUND),
        _within(usage.input_tokens),
        _within(usage.cache_write_5m_tokens),
        _within(usage.cache_write_1h_tokens),
        _within(usage.cache_read_tokens),
        _within(usage.reasoning_tokens),
        _within(usage.web_searches),
        round(embedded * 1_000_000) if embedded is not None and 0 <= embedded < 1e9 else -1,
        usage.service_tier or "",
        usage.speed or "",
        QUALITIES.index(usage.quality),
    )


def _within(count: int) -> int:
    return count if 0 <= count <= MOST else min(max(count, 0), MOST)


def largest(records: Iterable[Usage]) -> list[Usage]:
    """Of several snapshots of one request in a session the one that counts there, in order of appearance."""
    best: dict[tuple[str, str | None], Usage] = {}
    for usage in records:
        name = usage.usage_id, usage.request_id
        known = best.setdefault(name, usage)
        if known is not usage and _is_larger(usage, known):
            best[name] = usage
    return list(best.values())


def _is_larger(one: Usage, other: Usage) -> bool:
    output, other_output = _within(one.output_tokens), _within(other.output_tokens)
    return output > other_output if output != other_output else _rank(one) > _rank(other)


def _rank(usage: Usage) -> tuple[Numbers, str, int, str, str, bool]:
    """As `rank_of`, of what is no copy yet."""
    return numbers_of(usage), usage.source, -usage.line, usage.model or "", usage.agent_id or "", usage.native


def rank_of(copy: Copy) -> tuple[Numbers, str, int, str, str, bool]:
    """Of several snapshots in one session the largest counts; the rest only makes sure that it is always the same."""
    return copy.numbers, copy.source, -copy.line, copy.model, copy.agent, copy.native


def resolve(copies: list[Copy], begun: Callable[[int], Rank]) -> None:
    """Say of all copies of one identity which count, and whose numbers, whatever order they came in.

    The request is its owner's: of a session's own copy before one that was carried over, then the session that began
    first, then the smallest id. The numbers are those of the copy with the most output, then the latest.
    """
    if len(copies) == 1:
        copies[0].counted, copies[0].taken = True, None
        return
    for family in _families(copies):
        best = max(family, key=lambda copy: (copy.numbers, begun(copy.owner)))
        owner = min(family, key=lambda copy: (not copy.native, begun(copy.owner), -copy.variant))
        for copy in family:
            copy.counted, copy.taken = copy is owner, None
        if best is not owner and best.numbers != owner.numbers:
            # When it was is the owner's to say: a copy may have been given a later time.
            numbers = msgspec.structs.replace(best.numbers, at=owner.numbers.at)
            owner.taken = (best.owner, numbers) if numbers != owner.numbers else None


def _families(copies: list[Copy]) -> Iterable[list[Copy]]:
    """Copies of the same request: one without a request id belongs to the first that has one."""
    by_variant: dict[int, list[Copy]] = {}
    for copy in copies:
        by_variant.setdefault(copy.variant, []).append(copy)
    if 0 in by_variant and len(by_variant) > 1:
        nameless = by_variant.pop(0)
        by_variant[min(by_variant)] += nameless
    return by_variant.values()
