"""Tokens and money of some requests together. On the light path: nothing is loaded for it."""

from __future__ import annotations

from operator import add

TYPE_CHECKING = False  # as in places
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Final

    Row = Sequence[int]
    """Sums in the order of `COLUMNS`."""

COLUMNS: Final = (
    "requests",
    "input",
    "cache_write_5m",
    "cache_write_1h",
    "cache_read",
    "output",
    "reasoning",
    "web_searches",
    "cost",
    "embedded_requests",
    "unpriced_requests",
    "unpriced_tokens",
    "lower_bound_requests",
    "fallback_requests",
    "first",
    "last",
)
"""What there is of an amount; `first` and `last` are moments in milliseconds, -1 for none."""

UNPRICED: Final = COLUMNS.index("unpriced_requests")
_EMBEDDED: Final = COLUMNS.index("embedded_requests")
_FIRST: Final = COLUMNS.index("first")
_LAST: Final = COLUMNS.index("last")
NOTHING: Final = (*[0] * _FIRST, -1, -1)
"""The row of no requests."""


class _Column:
    """One of the sums by its name."""

    def __init__(self, name: str) -> None:
        self._place = COLUMNS.index(name)

    def __get__(self, amount: Amount, _: type[Amount]) -> int:
        return amount.row[self._place]


class Amount:
    """Tokens and money of some requests together, and the rows of their models."""

    __slots__ = ("_unpriced", "row", "shares")

    requests = _Column("requests")
    input = _Column("input")
    cache_write_5m = _Column("cache_write_5m")
    cache_write_1h = _Column("cache_write_1h")
    cache_read = _Column("cache_read")
    output = _Column("output")
    reasoning = _Column("reasoning")
    web_searches = _Column("web_searches")
    cost = _Column("cost")
    embedded_requests = _Column("embedded_requests")
    unpriced_requests = _Column("unpriced_requests")
    unpriced_tokens = _Column("unpriced_tokens")
    lower_bound_requests = _Column("lower_bound_requests")
    fallback_requests = _Column("fallback_requests")
    first = _Column("first")
    last = _Column("last")

    def __init__(self, row: Row = NOTHING, model: str | None = None) -> None:
        self.row = row
        self.shares: dict[str, Row] = {} if model is None else {model: row}
        self._unpriced: set[str] = set()

    @classmethod
    def of(cls, shares: dict[str, Row]) -> Amount:
        """What models took together, whose rows these are."""
        found = cls()
        found.shares, found.row = shares, summed([*shares.values()])
        return found

    @property
    def models(self) -> dict[str, Amount]:
        """The share of each model, where rows were added with theirs."""
        return {model: Amount(row) for model, row in self.shares.items()}

    @property
    def unpriced_models(self) -> set[str]:
        """Models of which requests have no price."""
        return self._unpriced | {model for model, row in self.shares.items() if row[UNPRICED]}

    @property
    def tokens(self) -> int:
        """All tokens; reasoning is a part of output."""
        return sum(self.row[1:6])

    @property
    def origin(self) -> str:
        """Where the money comes from: `embedded`, `calculated`, `mixed` or `unpriced`."""
        row = self.row
        requests, embedded = row[0], row[_EMBEDDED]
        if requests and row[UNPRICED] == requests:
            return "unpriced"
        if embedded == 0:
            return "calculated"
        return "embedded" if embedded == requests else "mixed"

    def add(self, row: Row, model: str | None = None) -> None:
        """Add a row, and to the share of its model."""
        if model is not None:
            share = self.shares.get(model)
            self.shares[model] = row if share is None else plus(share, row)
        self.row = plus(self.row, row)


def plus(one: Row, other: Row) -> Row:
    """Two rows together."""
    row = [*map(add, one, other)]
    begin, end, earlier, later = one[_FIRST], one[_LAST], other[_FIRST], other[_LAST]
    row[_FIRST] = earlier if begin < 0 or 0 <= earlier < begin else begin
    row[_LAST] = max(end, later)
    return row


def merge(total: Amount, part: Amount) -> None:
    """Add one amount, by the shares of its models, to another."""
    for model, row in part.shares.items():
        total.add(row, model)


def total(amounts: Iterable[Amount]) -> Amount:
    """Amounts together, without the shares of their models."""
    parts = list(amounts)
    found = Amount(summed([part.row for part in parts]))
    found._unpriced = set().union(*[part.unpriced_models for part in parts if part.row[UNPRICED]])
    return found


def summed(rows: Sequence[Row]) -> Row:
    """Rows together."""
    if len(rows) < 2:
        return rows[0] if rows else NOTHING
    *sums, begins, ends = zip(*rows, strict=True)
    first = min(begins)
    if first < 0:  # of those that have a moment
        first = min([begin for begin in begins if begin >= 0], default=-1)
    return [*map(sum, sums), first, max(ends)]
