"""What a request costs: price tables, the row that is true for a request, and the sum in integer microdollars."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import date
from functools import lru_cache
from hashlib import blake2b
from typing import Final

import msgspec

from retro.failure import Failure
from retro.ledger.names import names_of, undated
from retro.places import make_private_dir, write_private

STANDARD: Final = "standard"
MILLION: Final = 1_000_000
OVERRIDES: Final = "prices.toml"
"""The user's own prices, beside the settings file."""
REFRESHED: Final = "prices.json"
"""A newer table that `retro prices refresh` put beside the settings file."""

SAME_TIER: Final = {
    "": STANDARD,
    "default": STANDARD,
    "auto": STANDARD,
    "not_available": STANDARD,
    "batches": "batch",
}
"""Names of hosts and providers for a tier that has another name here."""

REGION: Final = "@"
"""Stands between a tier and the region that a request was bound to, where that costs more: `standard@us`."""

INSTEAD: Final = {"fast": "priority", "priority": "fast"}
"""One provider calls fast what another calls priority: where the table lacks the one, the other is meant."""


class Rates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Microdollars a million tokens."""

    input: int
    output: int
    cache_write_5m: int
    cache_write_1h: int
    cache_read: int


class Band(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Other rates for a whole request whose context is larger than this many tokens."""

    above: int
    rates: Rates


class Price(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A price row: what one model costs in one tier. It is kept with every request that was priced by it."""

    model: str
    """As the table calls it."""
    tier: str
    rates: Rates
    bands: tuple[Band, ...] = ()
    web_search: int = 0
    """Microdollars a search."""
    since: str | None = None
    """The first day on which it is true."""
    table: str = ""
    """Which table it stands in."""

    @property
    def key(self) -> str:
        """A hash of what it says about money."""
        return _hash(msgspec.json.encode(msgspec.structs.replace(self, table="")))


class Tokens(msgspec.Struct, frozen=True, gc=False):
    """What of a request is billed."""

    input: int
    cache_write_5m: int
    cache_write_1h: int
    cache_read: int
    output: int
    web_searches: int = 0

    @property
    def context(self) -> int:
        """What the model was given: it decides on the band."""
        return self.input + self.cache_write_5m + self.cache_write_1h + self.cache_read


class Table(msgspec.Struct, forbid_unknown_fields=True):
    """Prices by model; of several rows of a tier the last that had begun is true."""

    date: str
    source: str
    models: dict[str, list[Price]]
    hash: str = ""

    def sealed(self) -> Table:
        """The table with the hash of its prices."""
        return msgspec.structs.replace(self, hash=_hash(msgspec.json.encode(self.models, order="sorted")))


class Prices:
    """The tables in force, the first that knows a model being right: the user's own, a refreshed one, ours."""

    def __init__(self, tables: Iterable[Table]) -> None:
        self.tables = list(tables)
        self._dated = [undated(table.models) for table in self.tables]
        """`claude-sonnet-4` is what a table that has no such name calls `claude-sonnet-4-20250514`."""
        self._found: dict[tuple[str, str, str], Price | None] = {}

    def price(self, model: str, day: str, tier: str = STANDARD) -> Price | None:
        """The row that is true for a model on a day (`2026-11-01`) in a tier; None where the model is unknown."""
        asked = (model, day, tier)
        if asked not in self._found:
            if len(self._found) > 50_000:
                self._found.clear()
            self._found[asked] = self._price(model, day, tier)
        return self._found[asked]

    def rows(self, model: str) -> list[Price]:
        """Every row of a model, of all tiers and times; empty where no table knows it."""
        names = names_of(model)
        for table, dated in zip(self.tables, self._dated, strict=True):
            for name in (*names, *(dated.get(name, "") for name in names)):
                if found := table.models.get(name):
                    return found
        return []

    def _price(self, model: str, day: str, tier: str) -> Price | None:
        found = self.rows(model)
        return _of_tier(found, day, tier) if found else None


def _of_tier(found: list[Price], day: str, tier: str) -> Price:
    """The row of a tier that is true on a day; a tier or region that the model does not have costs what is usual."""
    usual, _, region = tier.partition(REGION)
    tiers = (usual, INSTEAD.get(usual, STANDARD), STANDARD)
    for wanted in (*(f"{name}{REGION}{region}" for name in tiers if region), *tiers):
        rows = sorted((row for row in found if row.tier == wanted), key=lambda row: row.since or "")
        begun = [row for row in rows if (row.since or "") <= day or not day]
        if begun or rows:
            return begun[-1] if begun else rows[0]
    return found[0]


@lru_cache(maxsize=1000)
def tier_of(service_tier: str | None, speed: str | None) -> str:
    """The tier that a request was billed in, from what its host says; with the region that it was bound to."""
    said = [(word or "").lower().partition(REGION) for word in (speed, service_tier)]
    tiers = [SAME_TIER.get(name, name) for name, _, _ in said]
    tier = next((name for name in tiers if name != STANDARD), STANDARD)
    return tier + next((REGION + region for _, _, region in said if region), "")


def cost(price: Price, tokens: Tokens) -> int:
    """Microdollars, rounded once for the whole request; a half to the even one, so that many make no drift."""
    rates = price.rates
    context = tokens.context
    for band in price.bands:  # ascending
        if context > band.above:
            rates = band.rates
    millionths = (
        tokens.input * rates.input
        + tokens.cache_write_5m * rates.cache_write_5m
        + tokens.cache_write_1h * rates.cache_write_1h
        + tokens.cache_read * rates.cache_read
        + tokens.output * rates.output
    )
    whole, rest = divmod(millionths, MILLION)
    up = rest > MILLION // 2 or (rest == MILLION // 2 and whole % 2)
    return whole + int(up) + tokens.web_searches * price.web_search


# --- tables ----------------------------------------------------------------------------------------------------------

_decode_table: Final = msgspec.json.Decoder(Table).decode


def snapshot() -> Table:
    """The table that comes with retro."""
    with open(os.path.join(os.path.dirname(__file__), "prices.json"), "rb") as file:
        return _decode_table(file.read())


def read_table(path: str) -> Table:
    """A table that was written by `retro prices refresh`."""
    try:
        with open(path, "rb") as file:
            return _decode_table(file.read())
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise Failure("prices", f"{path} is no price table: {error}", "retro prices refresh makes it anew") from None


def write_table(path: str, table: Table) -> None:
    """Put a table where `load` finds it, in the place of an older one."""
    make_private_dir(os.path.dirname(path))
    write_private(path, msgspec.json.encode(table))


def problems(folder: str | None) -> list[str]:
    """What of the user's own tables cannot be used."""
    return _own(folder)[1]


def load(folder: str | None) -> tuple[Prices, list[str]]:
    """The tables in force, with the user's own from a folder, and what of those cannot be used."""
    tables, problems = _own(folder)
    return Prices([*tables, snapshot()]), problems


def _own(folder: str | None) -> tuple[list[Table], list[str]]:
    tables: list[Table] = []
    problems: list[str] = []
    for name, read in ((OVERRIDES, read_overrides), (REFRESHED, read_table)) if folder is not None else ():
        path = os.path.join(folder or "", name)
        try:
            tables.append(read(path))
        except FileNotFoundError:
            continue
        except Failure as failure:
            problems.append(failure.message)
        except (OSError, ValueError) as error:
            problems.append(f"{path} cannot be read: {error}")
    return tables, problems


class _Override(msgspec.Struct, forbid_unknown_fields=True):
    """A model in the user's file: dollars a million tokens, dollars a search."""

    input: float
    output: float
    cache_write_5m: float | None = None
    cache_write_1h: float | None = None
    cache_read: float | None = None
    web_search: float = 0.0
    tier: str = STANDARD
    since: date | None = None


def read_overrides(path: str) -> Table:
    """The user's own prices: TOML, a section a model, or a list of them where a price changed or has tiers."""
    from retro import toml_text

    with open(path, "rb") as file:
        data = file.read()
    try:
        document = toml_text.parse(data.decode("utf-8-sig"))
        models = {name.lower(): _overridden(name, content) for name, content in document.items()}
    except (ValueError, TypeError) as error:  # msgspec's ValidationError is a ValueError
        raise Failure("prices", f"{path} is no price file: {error}", "see docs/prices.md") from None
    return Table("", os.path.basename(path), models).sealed()


def _overridden(name: str, content: object) -> list[Price]:
    try:
        rows = msgspec.convert(content if isinstance(content, list) else [content], list[_Override])
    except msgspec.ValidationError as error:
        raise ValueError(f"{name}: {error}") from None
    return [_price_of(name, row) for row in rows]


def _price_of(name: str, row: _Override) -> Price:
    given = row.cache_write_5m if row.cache_write_5m is not None else row.input
    figures = {
        "input": row.input,
        "output": row.output,
        "cache_write_5m": given,
        "cache_write_1h": row.cache_write_1h if row.cache_write_1h is not None else given,
        "cache_read": row.cache_read if row.cache_read is not None else row.input,
    }
    if min(*figures.values(), row.web_search) < 0:
        raise ValueError(f"{name}: a price is below zero")
    return Price(
        name.lower(),
        row.tier,
        Rates(**{key: round(value * MILLION) for key, value in figures.items()}),
        web_search=round(row.web_search * MILLION),
        since=row.since.isoformat() if row.since else None,
        table=OVERRIDES,
    )


def _hash(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()
