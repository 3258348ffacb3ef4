"""LiteLLM's table of prices, as it publishes it: what of it is needed here, as rows of ours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from retro.ledger.prices import MILLION, REGION, STANDARD, Band, Price, Rates, Table

VENDORS: Final = (
    "anthropic",
    "openai",
    "gemini",
    "xai",
    "moonshot",
    "zai",
    "deepseek",
    "minimax",
    "mistral",
    "dashscope",
    "codestral",
)
"""Whose models these hosts use, the maker of a model before those that only sell it."""

_TIER: Final = re.compile(r"input_cost_per_token_(?!above_|cache_)([a-z]+)$")
_NAMES: Final = {"batches": "batch"}
_ABOVE: Final = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")
_REGIONS: Final = ("us", "eu")


def distilled(table: Mapping[str, object], day: str, source: str) -> Table:
    """Of a table as LiteLLM publishes it what is needed here; raises ValueError where it is no such table."""
    models: dict[str, list[Price]] = {}
    for vendor in VENDORS:
        for name, entry in table.items():
            if not isinstance(entry, dict) or entry.get("litellm_provider") != vendor or name.startswith("ft:"):
                continue
            if entry.get("mode") not in ("chat", "responses", "completion"):
                continue
            bare = name.rpartition("/")[2].lower()
            if bare not in models and (rows := list(_rows(bare, entry))):
                models[bare] = rows
    if not models:
        raise ValueError("it holds no model with a price")
    return Table(day, source, dict(sorted(models.items()))).sealed()


def _rows(name: str, entry: Mapping[str, Any]) -> Iterator[Price]:
    """The rows of a model: what is usual, then its tiers, then both where a request is bound to a region."""
    search = _figure(entry, "search_context_size_medium", entry.get("search_context_cost_per_query")) or 0
    tiers = {STANDARD: "", **{_NAMES.get(tier, tier): f"_{tier}" for tier in _tiers(entry)}}
    found = [Price(name, tier, *rates, search) for tier, suffix in tiers.items() if (rates := _banded(entry, suffix))]
    if not found:
        return
    special = entry.get("provider_specific_entry")
    factors = special if isinstance(special, dict) else {}
    if (factor := _factor(factors.get("fast"))) is not None:
        found.append(_times(found[0], "fast", factor))
    yield from found
    for region in _REGIONS:
        if (factor := _factor(factors.get(region))) is not None:
            for row in found:
                yield _times(row, f"{row.tier}{REGION}{region}", factor)


def _tiers(entry: Mapping[str, Any]) -> list[str]:
    return [found[1] for key in entry if (found := _TIER.match(key))]


def _banded(entry: Mapping[str, Any], suffix: str) -> tuple[Rates, tuple[Band, ...]] | None:
    """The rates of a tier, and those of its bands."""
    steps = entry.get("tiered_pricing")
    if isinstance(steps, list) and not suffix:
        return _stepped(entry, steps)
    rates = _rates(entry, "", suffix)
    if rates is None:
        return None
    above = sorted({int(found[1]) for key in entry if (found := _ABOVE.match(key))})
    bands = [(size * 1000, _rates(entry, f"_above_{size}k_tokens", suffix, rates)) for size in above]
    # From a list: of a generator Python 3.10 makes an empty tuple that msgspec does not take for the default one, and
    # writes, so that a row's hash would be another.
    return rates, tuple([Band(size, found) for size, found in bands if found is not None])


def _stepped(entry: Mapping[str, Any], steps: list[Any]) -> tuple[Rates, tuple[Band, ...]] | None:
    """The same where the table has a list of bands, each with all of its prices."""
    found: list[Band] = []
    vendor = {"litellm_provider": entry.get("litellm_provider")}
    for step in steps:
        if not isinstance(step, dict) or not isinstance(step.get("range"), list):
            return None
        rates = _rates({**step, **vendor}, "", "")
        if rates is None:
            return None
        found.append(Band(int(step["range"][0]), rates))
    found.sort(key=lambda band: band.above)
    return (found[0].rates, tuple(found[1:])) if found and found[0].above == 0 else None


def _rates(entry: Mapping[str, Any], band: str, suffix: str, lower: Rates | None = None) -> Rates | None:
    """The rates of a tier and band; what is not said there is as in the band below, else derived from the input's."""

    def said(name: str) -> int | None:
        value = entry.get(f"{name}{band}{suffix}")
        return round(value * MILLION * MILLION) if isinstance(value, (int, float)) else None

    given = said("input_cost_per_token")
    output = said("output_cost_per_token")
    if given is None or output is None:
        return None
    up = (given, lower.input) if lower and lower.input else (1, 1)

    def or_else(value: int | None, below: int | None, otherwise: int) -> int:
        return value if value is not None else below * up[0] // up[1] if below is not None else otherwise

    write = or_else(said("cache_creation_input_token_cost"), lower.cache_write_5m if lower else None, given)
    hour = entry.get(f"cache_creation_input_token_cost_above_1hr{band}{suffix}")
    usual_hour = write * 8 // 5 if entry.get("litellm_provider") == "anthropic" else write
    return Rates(
        given,
        output,
        write,
        round(hour * MILLION * MILLION) if isinstance(hour, (int, float)) else usual_hour,
        or_else(said("cache_read_input_token_cost"), lower.cache_read if lower else None, given),
    )


def _factor(value: object) -> float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _times(row: Price, tier: str, factor: float) -> Price:
    """A row in another tier, in which every token costs so many times as much."""

    def more(rates: Rates) -> Rates:
        return Rates(*(round(value * factor) for value in msgspec.structs.astuple(rates)))

    bands = tuple([Band(band.above, more(band.rates)) for band in row.bands])
    return msgspec.structs.replace(row, tier=tier, rates=more(row.rates), bands=bands)


def _figure(entry: Mapping[str, Any], name: str, within: object) -> int | None:
    value = within.get(name) if isinstance(within, dict) else None
    return round(value * MILLION) if isinstance(value, (int, float)) else None
