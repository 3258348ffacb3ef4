"""Reports of what it cost as JSON, in the words that ccusage's users know where the meaning is the same.

Rows are written by templates: there may be thousands, and an encoder takes longer, or longer to be loaded.
"""

from __future__ import annotations

from retro.ledger.calendar import timestamp

TYPE_CHECKING = False  # as in places
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Final

    from retro.ledger.amounts import Amount, Row
    from retro.ledger.blocks import Block, Gap
    from retro.ledger.entries import Asked, Entry, Table

FIGURES: Final = (
    "inputTokens",
    "outputTokens",
    "cacheCreationTokens",
    "cacheCreation1hTokens",
    "cacheReadTokens",
    "reasoningOutputTokens",
    "totalTokens",
    "webSearches",
    "requests",
    "totalCost",
    "totalMicrodollars",
    "unpricedRequests",
    "unpricedTokens",
    "lowerBoundRequests",
    "fallbackRequests",
)
"""What each row says of its amount."""

AT_ONCE: Final = 64
"""Rows of a piece: small enough that its memory is used again for the next."""

MICRO: Final = 1_000_000
"""Microdollars of a dollar, which JSON has with six digits behind the point."""

WARNING: Final = 0.8
"""From this share of a limit on it is said."""


def _members(names: Iterable[str], values: Iterable[int | float | str]) -> str:
    """Members of an object of JSON, whose values are JSON already."""
    return ",".join([f'"{name}":{value}' for name, value in zip(names, values, strict=True)])


def quoted(text: str) -> str:
    """A text as JSON."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    import json

    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate, of a file name that is not UTF-8
        return json.dumps(text)
    return json.dumps(text, ensure_ascii=False)


def literal(value: str | int | None) -> str:
    """A value that names something, as JSON."""
    return "null" if value is None else quoted(value) if isinstance(value, str) else str(value)


def figures(row: Row) -> tuple[int | float, ...]:
    """What a row has, in the order of FIGURES."""
    requests, given, short, long, read, put, thought, searches, cost, _, unpriced, tokens, lower, fallback, _, _ = row
    written = short + long
    whole = given + written + read + put
    money = cost / 1_000_000
    of_tokens = given, put, written, long, read, thought, whole
    return *of_tokens, searches, requests, money, cost, unpriced, tokens, lower, fallback


# --- rows and totals -------------------------------------------------------------------------------------------------


def report(table: Table) -> Iterator[str]:
    """A report as an object of JSON, in pieces: its rows, in groups where they are asked for, and the total."""
    if table.grouped:
        yield f'{{"projects":{{{",".join(_groups(table))}}}'
    else:
        yield f"{{{quoted(table.key)}:["
        for start in range(0, len(table.entries), AT_ONCE):
            yield ("," if start else "") + ",".join(_rows(table, table.entries[start : start + AT_ONCE]))
        yield "]"
    yield f',"totals":{totals(table.total.row, map(quoted, table.total.unpriced_models))}}}'


def _groups(table: Table) -> list[str]:
    groups: dict[str, list[str]] = {}
    for (named, _), row in zip(table.entries, _rows(table, table.entries), strict=True):
        groups.setdefault(str(named[0]), []).append(row)
    return [f"{quoted(name)}:[{','.join(group)}]" for name, group in groups.items()]


def _rows(table: Table, entries: list[Entry]) -> list[str]:
    heads = "{" + "".join([f"{quoted(name)}:%s," for name in table.names])
    return [heads % (*map(literal, named),) + _row(amount) for named, amount in entries]


def glance(amounts: Mapping[str, Amount]) -> str:
    """Some amounts by name."""
    parts = [f'"{name}":{{{_row(amount)}' for name, amount in amounts.items()]
    return f"{{{','.join(parts)}}}"


def totals(row: Row, unpriced: Iterable[str]) -> str:
    """A total, with the names of the models without a price as JSON."""
    return f'{{{_members(FIGURES, figures(row))},"unpricedModels":[{",".join(sorted(unpriced))}]}}'


class _Quotes(dict[str, str]):
    """Models and hosts as JSON: there are few of them, and they come with every row."""

    def __missing__(self, name: str) -> str:
        found = self[name] = quoted(name)
        return found


known: Final = _Quotes()

_TRUTH: Final = ("false", "true")


def _row(amount: Amount) -> str:
    """What a row says of its amount, up to the row's end."""
    shares = [(-share[8], model, share) for model, share in amount.shares.items()]
    if len(shares) > 1:
        shares.sort()  # the dearest first
    names = ",".join([known[model] for model in sorted(amount.shares)])
    return row_text(amount.row, names, ",".join([_share(model, share) for _, model, share in shares]))


def row_text(row: Row, models: str, shares: str) -> str:
    """The same of a row whose models and their shares are JSON already."""
    requests, given, short, long, read, put, thought, searches, cost, _, unpriced, tokens, lower, fallback, _, _ = row
    written = short + long
    return (
        f'"inputTokens":{given},"outputTokens":{put},"cacheCreationTokens":{written},"cacheCreation1hTokens":{long}'
        f',"cacheReadTokens":{read},"reasoningOutputTokens":{thought},"totalTokens":{given + written + read + put}'
        f',"webSearches":{searches},"requests":{requests},"totalCost":{cost // MICRO}.{cost % MICRO:06}'
        f',"totalMicrodollars":{cost},"unpricedRequests":{unpriced},"unpricedTokens":{tokens}'
        f',"lowerBoundRequests":{lower},"fallbackRequests":{fallback},"modelsUsed":[{models}]'
        f',"modelBreakdowns":[{shares}]}}'
    )


def _share(model: str, row: Row) -> str:
    _, given, short, long, read, put, _, _, cost, _, unpriced, _, _, fallback, _, _ = row
    return (
        f'{{"modelName":{known[model]},"inputTokens":{given},"outputTokens":{put}'
        f',"cacheCreationTokens":{short + long},"cacheReadTokens":{read},"cost":{cost // MICRO}.{cost % MICRO:06}'
        f',"microdollars":{cost},"missingPricing":{_TRUTH[unpriced > 0]},"isFallback":{_TRUTH[fallback > 0]}}}'
    )


# --- blocks ----------------------------------------------------------------------------------------------------------


def blocks(found: Sequence[Block], between: Sequence[Gap], asked: Asked, now: int, limit: int | None) -> Iterator[str]:
    """Blocks and gaps as an object of JSON, in pieces; with a limit of tokens how near the running ones come to it."""
    rows: list[tuple[int, str, Block | Gap]] = [(block.start, block.host, block) for block in found]
    rows += [(gap[1], gap[0], gap) for gap in between]
    rows.sort(key=lambda row: row[:2])
    kept = rows[-asked.limit :] if asked.limit is not None else rows
    if asked.newest_first:
        kept.reverse()
    yield '{"blocks":['
    for start in range(0, len(kept), AT_ONCE):
        some = [one for _, _, one in kept[start : start + AT_ONCE]]
        texts = [_gap(*one) if isinstance(one, tuple) else _block(one, now, limit) for one in some]
        yield ("," if start else "") + ",".join(texts)
    yield "]}"


_NO_PACE: Final = '"burnRate":null,"projection":null'


def _block(block: Block, now: int, limit: int | None) -> str:
    requests, given, short, long, read, put, _, _, cost, _, unpriced, *_ = block.amount.row
    begin, written = timestamp(block.start), short + long
    models = ",".join([known[model] for model in block.models])
    pace = _pace(block, now, limit) if block.active else _NO_PACE
    return (
        f'{{"id":"{begin}","host":{known[block.host]},"startTime":"{begin}","endTime":"{timestamp(block.end)}"'
        f',"actualEndTime":"{timestamp(block.last)}","isGap":false,"isActive":{_TRUTH[block.active]}'
        f',"entries":{requests},"tokenCounts":{{"inputTokens":{given},"outputTokens":{put}'
        f',"cacheCreationInputTokens":{written},"cacheReadInputTokens":{read}}}'
        f',"totalTokens":{given + written + read + put},"costUSD":{cost // MICRO}.{cost % MICRO:06}'
        f',"microdollars":{cost},"unpricedRequests":{unpriced},"models":[{models}],{pace}}}'
    )


def _gap(host: str, start: int, end: int) -> str:
    """A gap as ccusage's users know it: a block without anything."""
    begin = timestamp(start)
    return (
        f'{{"id":"gap-{begin}","host":{known[host]},"startTime":"{begin}","endTime":"{timestamp(end)}"'
        ',"actualEndTime":null,"isGap":true,"isActive":false,"entries":0,"tokenCounts":{"inputTokens":0,"outputTokens":0'
        ',"cacheCreationInputTokens":0,"cacheReadInputTokens":0},"totalTokens":0,"costUSD":0.0,"microdollars":0'
        f',"unpricedRequests":0,"models":[],{_NO_PACE}}}'
    )


def _pace(block: Block, now: int, limit: int | None) -> str:
    """Of a running block how fast it goes, where it will end, and how near that comes to a limit of tokens."""
    rate, projection = block.rate, block.projection(now)
    if rate is None or projection is None:
        return _NO_PACE
    names = ("tokensPerMinute", "tokensPerMinuteForIndicator", "costPerHour")
    per_hour = rate.microdollars_per_hour / 1_000_000
    tokens = projection.tokens
    ends = tokens, projection.microdollars / 1_000_000, projection.minutes
    text = (
        f'"burnRate":{{{_members(names, (rate.tokens_per_minute, rate.own_tokens_per_minute, per_hour))}}}'
        f',"projection":{{{_members(("totalTokens", "totalCost", "remainingMinutes"), ends)}}}'
    )
    if limit:
        reached = limit, tokens, tokens / limit * 100, quoted(status(tokens, limit))
        text += f',"tokenLimitStatus":{{{_members(("limit", "projectedUsage", "percentUsed", "status"), reached)}}}'
    return text


def status(tokens: int, limit: int) -> str:
    """How near tokens come to a limit: `ok`, `warning` or `exceeds`."""
    return "exceeds" if tokens > limit else "warning" if tokens > limit * WARNING else "ok"
