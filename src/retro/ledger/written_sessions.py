"""The report by session as JSON. It has the most rows by far: SQLite adds them up, and writes the shares of models.

`reports.sessions` gives the same as amounts.
"""

from __future__ import annotations

from itertools import islice

from retro.ledger import reports
from retro.ledger.amounts import COLUMNS, Amount, summed
from retro.ledger.calendar import timestamp
from retro.ledger.written import AT_ONCE, known, literal, quoted, row_text, totals

TYPE_CHECKING = False  # as in places
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Final

    import apsw

    from retro.ledger.amounts import Row
    from retro.ledger.entries import Asked

_SUMS: Final = ", ".join([f"sum({name}) AS {name}" for name in COLUMNS[:-2]])
_SPAN: Final = "coalesce(min(nullif(first, -1)), -1) AS first, max(last) AS last"
_SHARE: Final = (
    """format('{"modelName":%s,"inputTokens":%d,"outputTokens":%d,"cacheCreationTokens":%d,"cacheReadTokens":%d,"""
    """"cost":%d.%06d,"microdollars":%d,"missingPricing":%s,"isFallback":%s}', json_quote(name), input, output,"""
    " cache_write_5m + cache_write_1h, cache_read, cost / 1000000, cost % 1000000, cost,"
    " iif(unpriced_requests, 'true', 'false'), iif(fallback_requests, 'true', 'false'))"
)
_QUERY: Final = (
    "SELECT owner, group_concat(json_quote(name), ',' ORDER BY name),"  # noqa: S608 - our own columns
    f" group_concat({_SHARE}, ',' ORDER BY cost DESC, name),"
    f" group_concat(iif(unpriced_requests, json_quote(name), NULL), char(10)), {_SUMS}, {_SPAN}"
    " FROM (SELECT *, coalesce((SELECT text FROM label WHERE id = model), '') AS name FROM SOURCE) GROUP BY owner"
)


def sessions(connection: apsw.Connection, asked: Asked) -> Iterator[str]:
    """An object of JSON, in pieces."""
    rows, agents = _rows(connection, asked)
    described = reports.described(connection, [row[0] for row in rows])
    listed = sorted([(row[-1], *described[row[0]][:2], row) for row in rows])
    if asked.id is not None:
        listed = [one for one in listed if one[2].startswith(asked.id)]
    entire = summed([row[4:] for *_, row in listed])
    unpriced = {name for *_, row in listed if row[3] for name in row[3].split("\n")}
    kept = listed[-asked.limit :] if asked.limit is not None else listed
    if asked.newest_first:
        kept.reverse()
    texts = (_text(row, described[row[0]], agents.get(row[0], 0)) for *_, row in kept)
    return _pieces(texts, entire, unpriced)


def _pieces(rows: Iterator[str], entire: Row, unpriced: Iterable[str]) -> Iterator[str]:
    comma = '{"sessions":['
    while some := ",".join(islice(rows, AT_ONCE)):
        yield comma + some
        comma = ","
    yield f'{"" if comma == "," else comma}],"totals":{totals(entire, unpriced)}}}'


def _rows(connection: apsw.Connection, asked: Asked) -> tuple[list[Any], dict[int, int]]:
    """For each session its number, the names and shares of its models, and its row; and how many sub-agents it had."""
    source, values = reports.by_session(asked.wanted)
    took = f"took(owner, model, {', '.join(COLUMNS)}) AS ({source})"
    heads = {} if asked.wanted.own_only else reports.heads(connection)
    if not heads:
        return list(reports.rows(connection, f"WITH {took} {_QUERY.replace('SOURCE', 'took')}", values)), {}
    agents: dict[int, int] = {}
    for (owner,) in reports.rows(connection, f"SELECT DISTINCT owner FROM ({source})", values):  # noqa: S608 - our own
        if owner in heads:
            agents[heads[owner]] = agents.get(heads[owner], 0) + 1
    pairs = ", ".join([f"({child}, {head})" for child, head in heads.items()])
    rolled = (
        f"head(child, head) AS (VALUES {pairs}),"  # noqa: S608 - numbers of ours
        f" rolled AS (SELECT coalesce(head, owner) AS owner, model, {_SUMS}, {_SPAN}"
        " FROM took LEFT JOIN head ON child = owner GROUP BY 1, 2)"
    )
    return list(reports.rows(connection, f"WITH {took}, {rolled} {_QUERY.replace('SOURCE', 'rolled')}", values)), agents


def _text(row: Any, described: tuple[str, str, str, str | None], agents: int) -> str:
    host, name, project, title = described
    figures = row[4:]
    return (
        f'{{"sessionId":{quoted(name)},"host":{known[host]},"project":{known[project]},"title":{literal(title)}'
        f',"firstActivity":{_time(row[-2])},"lastActivity":{_time(row[-1])},"costSource":"{Amount(figures).origin}"'
        f',"subagentSessions":{agents},{row_text(figures, row[1], row[2])}'
    )


def _time(at: int) -> str:
    return f'"{timestamp(at)}"' if at >= 0 else "null"
