"""`retro cost why`: the receipt of a session, line by line, and how each cost comes about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from retro.cli import output, sessions
from retro.cli.output import Column, Styled
from retro.failure import Failure
from retro.ledger import receipts
from retro.ledger.calendar import timestamp
from retro.ledger.copies import QUALITIES
from retro.ledger.receipts import Line

if TYPE_CHECKING:
    import argparse

    import apsw

    from retro.cli.interface import Context
    from retro.index.queries import Detail

_DOUBTS = {
    "lower_bound": "the agent logged only the beginning of this answer: the output is a lower bound",
    "fallback_model": "the log names no model: it is priced as its agent's default of that time",
}
_KINDS = {
    "input": "input",
    "cache_write_5m": "cache write, 5 min",
    "cache_write_1h": "cache write, 1 h",
    "cache_read": "cache read",
    "output": "output",
}

Copies = dict[str, list[tuple[str, int]]]
"""For each request the sources and lines that have it."""


def run(index: apsw.Connection | None, args: argparse.Namespace, context: Context) -> int:
    """Show it; with `--request` only requests whose id, or the id of whose message, begins so."""
    found = sessions.find(index, args.host, args.session, context)
    lines = receipts.receipt(index, found.session.host, found.session.session_id) if index else []
    copies = _copies(found, context) if lines else {}
    if args.request is not None:
        lines = [line for line in lines if _is_asked_for(line, args.request)]
        if not lines:
            hint = "retro cost why without --request shows them all"
            raise Failure("not_found", f'this session has no request "{args.request}"', hint)
    counted = [line for line in lines if line.copy.counted]
    total = sum(line.cost or 0 for line in counted)
    if context.json:
        name = {"host": found.session.host, "sessionId": found.session.session_id, "title": found.session.title}
        shown = [_shown(line, copies) for line in lines]
        output.print_json({**name, "requests": shown, "totalMicrodollars": total, "totalCost": total / 1e6})
    elif args.request is not None:
        for line in lines:
            _print_one(line, copies)
    elif not lines:
        output.say("This session made no request that its agent logged.")
    else:
        _print(lines, counted, total, copies)
    return 0


def _is_asked_for(line: Line, word: str) -> bool:
    return line.copy.usage_id.startswith(word) or (bool(line.copy.request_id) and line.copy.request_id.startswith(word))


def _copies(found: Detail, context: Context) -> Copies:
    """The lines that hold each request, from the events: one answer is often written on several."""
    lines: dict[str, set[tuple[str, int]]] = {}
    try:
        for event in sessions.events(found, context.places):
            if event.usage_id is not None:
                lines.setdefault(event.usage_id, set()).add((event.source, event.raw_ref.line))
    except Failure:  # given up, or damaged: the ledger stands for itself
        return {}
    return {name: sorted(numbers) for name, numbers in lines.items()}


def _others(line: Line, copies: Copies) -> list[str]:
    """Further lines of the session that hold the same request."""
    own = line.copy.source, line.copy.line
    return [_place(*place) for place in copies.get(line.copy.usage_id, []) if place != own]


def _place(source: str, line: int) -> str:
    return f"{source}:{line}"


# --- as JSON ---------------------------------------------------------------------------------------------------------


def _shown(line: Line, copies: Copies) -> dict[str, Any]:
    copy, numbers = line.copy, line.numbers
    return {
        "messageId": copy.usage_id,
        "requestId": copy.request_id or None,
        "sessionId": line.owner.session_id,
        "timestamp": timestamp(copy.numbers.at),
        "model": copy.model or None,
        "agentId": copy.agent or None,
        "turn": copy.turn or None,
        "source": copy.source,
        "line": copy.line,
        "linesLeftOut": _others(line, copies),
        "inputTokens": numbers.input_tokens,
        "cacheCreation5mTokens": numbers.cache_write_5m_tokens,
        "cacheCreation1hTokens": numbers.cache_write_1h_tokens,
        "cacheReadTokens": numbers.cache_read_tokens,
        "outputTokens": numbers.output_tokens,
        "reasoningOutputTokens": numbers.reasoning_tokens,
        "webSearches": numbers.web_searches,
        "serviceTier": numbers.tier or None,
        "speed": numbers.speed or None,
        "quality": QUALITIES[numbers.quality].value,
        "counted": copy.counted,
        "countedIn": line.elsewhere.session_id if line.elsewhere else None,
        "reason": line.reason,
        "numbersFrom": line.numbers_of.session_id if line.numbers_of else None,
        "costSource": _source(line),
        "microdollars": line.cost if copy.counted else 0,
        "calculatedMicrodollars": copy.cost if copy.cost >= 0 else None,
        "embeddedMicrodollars": numbers.embedded if numbers.embedded >= 0 else None,
        "price": line.price and {"hash": line.price.key, **msgspec.to_builtins(line.price), "band": line.band},
    }


def _source(line: Line) -> str:
    if line.numbers.embedded >= 0:
        return "embedded"
    return "calculated" if line.price else "unpriced"


# --- as text ---------------------------------------------------------------------------------------------------------


def _print(lines: list[Line], counted: list[Line], total: int, copies: Copies) -> None:
    rows: list[list[str | Styled]] = [_row(line) for line in counted]
    width = 8
    rows.append([Styled("total", "bold"), *[""] * (width - 2), _money(total), ""])
    output.table(
        rows,
        [
            Column("time"),
            Column("model"),
            *(Column(name, right=True) for name in ("input", "cache write", "cache read", "output", "cost is", "cost")),
            Column("line"),
        ],
    )
    repeated = sum(len(_others(line, copies)) for line in counted)
    if repeated:
        lines_hold = "line holds" if repeated == 1 else "lines hold"
        said = (
            f"{output.count(repeated)} further {lines_hold} one of these answers as well; the last and largest counts"
        )
        output.say(f"\n{said}")
    left_out = [line for line in lines if not line.copy.counted]
    if left_out:
        output.say("\nThese do not count here:")
        output.table([_left_out(line) for line in left_out], [Column(""), Column("counts in"), Column("because")])
    doubtful = sum(line.numbers.quality > 0 for line in counted)
    unpriced = sum(line.cost is None for line in counted)
    for number, what in ((doubtful, "not known for sure"), (unpriced, "without a price")):
        if number:
            output.say(f"{what}: {output.count(number)} of {output.count(len(counted))} requests")
    output.notice("retro cost why … --request ID shows how one of them comes about")


def _row(line: Line) -> list[str | Styled]:
    numbers = line.numbers
    return [
        _time(line),
        (line.copy.model or "(no model)") + (" (sub-agent)" if line.copy.agent else ""),
        output.count(numbers.input_tokens),
        output.count(numbers.cache_write_5m_tokens + numbers.cache_write_1h_tokens),
        output.count(numbers.cache_read_tokens),
        output.count(numbers.output_tokens),
        _source(line),
        "unpriced" if line.cost is None else _money(line.cost),
        _where(line),
    ]


def _left_out(line: Line) -> list[str | Styled]:
    where = line.elsewhere.session_id if line.elsewhere else ""
    return [f"{_time(line)}  {_where(line)}", Styled(where, "cyan"), line.reason or ""]


def _time(line: Line) -> str:
    from retro.cli.moments import local

    return local(timestamp(line.copy.numbers.at)) or "undated"


def _where(line: Line) -> str:
    return _place(line.copy.source, line.copy.line)


def _money(microdollars: float) -> str:
    return f"${microdollars / 1_000_000:,.6f}"


def _print_one(line: Line, copies: Copies) -> None:
    copy, numbers = line.copy, line.numbers
    output.say(f"{copy.usage_id}{f' ({copy.request_id})' if copy.request_id else ''}", "bold")
    others = _others(line, copies)
    facts = [
        ("time", _time(line)),
        ("model", ", ".join(filter(None, (copy.model or "(no model)", numbers.tier, numbers.speed)))),
        ("line", f"{copy.line} of {copy.source} in {line.owner.session_id}"),
        ("left out", f"{', '.join(others)}: the same answer, written again" if others else ""),
        ("counts in", f"{line.elsewhere.session_id}: {line.reason}" if line.elsewhere else "this session"),
        ("numbers", f"of the copy in {line.numbers_of.session_id}, which has more" if line.numbers_of else ""),
        ("price", _price(line)),
        ("agent's own", _money(numbers.embedded) if numbers.embedded >= 0 else ""),
        ("in doubt", _DOUBTS.get(QUALITIES[numbers.quality].value, "")),
    ]
    for name, value in facts:
        if value:
            output.say(f"  {name:12}{value}")
    if line.price is not None:
        _print_sum(line, line.price.web_search)


def _price(line: Line) -> str:
    price = line.price
    if price is None:
        return "none; its tokens are listed, and no dollar is invented"
    since = f", since {price.since}" if price.since else ""
    band = f", for a context above {output.count(line.band)} tokens" if line.band is not None else ""
    return f"{price.model}, {price.tier}{since}{band} ({price.key} of {price.table or 'the table of retro'})"


def _print_sum(line: Line, web_search: int) -> None:
    rows: list[list[str | Styled]] = [
        [_KINDS[item.kind], output.count(item.tokens), f"x ${item.rate / 1e6:g} a million", _money(item.microdollars)]
        for item in line.items
    ]
    if line.numbers.web_searches:
        cost = line.numbers.web_searches * web_search
        rows.append(["web searches", output.count(line.numbers.web_searches), f"x ${web_search / 1e6:g}", _money(cost)])
    calculated = line.copy.cost if line.copy.cost >= 0 else 0
    rows.append([Styled("together", "bold"), "", "", _money(calculated) if line.copy.counted else "counted elsewhere"])
    columns = [Column(""), Column("tokens", right=True), Column("", right=True), Column("cost", right=True)]
    for shown in output.table_lines(rows, columns, None, color=False):
        output.say(f"  {shown}")
