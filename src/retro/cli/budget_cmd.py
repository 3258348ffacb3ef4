"""`retro budget`: what of the budgets is used, and of what providers allow; a check for hooks."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from retro import inbox
from retro.cli import opening, output
from retro.cli.cost_shown import say_doubts
from retro.cli.output import Column, Styled
from retro.failure import CHECK_NOT_PASSED
from retro.ledger import budgets, calendar, reports
from retro.ledger.budgets import Allowance, Budget

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context, Parser

NEWEST = 20
"""So many notes of the status line are looked at."""
NEAR = 0.8
"""From this share of a budget on it is yellow."""


def add_arguments(parser: Parser) -> None:
    """Declare the check."""
    none: Any = None
    parser.add_argument("--check", action="store_true", help="exit with 4 when one is exceeded, and name only those")
    parser.add_argument("--project", "-p", metavar="NAME", help="only budgets of this project, and those for all")
    parser.add_argument("--mode", "-m", choices=reports.MODES, default=none, help="as in retro cost")
    parser.add_argument("--timezone", "-z", metavar="ZONE", help="of days, such as Europe/Berlin (this machine's)")


def run(args: argparse.Namespace, context: Context) -> int:
    """Show where one stands."""
    zone, now = calendar.zone(args.timezone), time.time()
    wanted = [
        budget for budget in context.settings.budgets if args.project is None or budget[0] in (None, args.project)
    ]
    with opening.reading(context) as index:
        spent = budgets.budgets(index, wanted, zone, now, reports.mode_of(args.mode, context.env))
        told = inbox.last(context.places, inbox.LIMITS, NEWEST) if index else []
        allowed = budgets.allowances(index, told, now, context.settings.limit_percent)
    exceeded = any(one.exceeded for one in spent) or any(one.exceeded for one in allowed)
    if context.json:
        output.print_json(
            {
                "budgets": [_budget(one) for one in spent],
                "limits": [_allowance(one) for one in allowed],
                "exceeded": exceeded,
            }
        )
    elif args.check:
        for line in [*map(_exceeded, spent), *map(_used_up, allowed)]:
            if line:
                output.say(line, "red")
    else:
        _print(spent, allowed, now)
    return CHECK_NOT_PASSED if args.check and exceeded else 0


def _budget(one: Budget) -> dict[str, Any]:
    return {
        "project": one.project,
        "period": one.period,
        "begins": calendar.day_name(one.first),
        "ends": calendar.day_name(one.after - 1),
        "limitMicrodollars": one.limit,
        "spentMicrodollars": one.amount.cost,
        "percentUsed": one.amount.cost / one.limit * 100,
        "unpricedRequests": one.amount.unpriced_requests,
        "exceeded": one.exceeded,
    }


def _allowance(one: Allowance) -> dict[str, Any]:
    limit = one.limit
    return {
        "host": one.host,
        "windowMinutes": limit.minutes,
        "usedPercent": 0.0 if one.over else limit.used_percent,
        "resetsAt": calendar.timestamp(limit.resets * 1000) if limit.resets else None,
        "seenAt": limit.seen,
        "exceeded": one.exceeded,
    }


def _exceeded(one: Budget) -> str | None:
    whose = f" of {one.project}" if one.project else ""
    return f"the {one.period} budget{whose} is exceeded: {_spent(one)}" if one.exceeded else None


def _used_up(one: Allowance) -> str | None:
    used = f"{one.limit.used_percent:.0f}% of what {one.host} allows in {_window(one.limit.minutes)} is used"
    return used if one.exceeded else None


def _spent(one: Budget) -> str:
    return f"${one.amount.cost / 1e6:,.2f} of ${one.limit / 1e6:,.2f}"


def _window(minutes: int) -> str:
    return f"{minutes // 1440} days" if minutes >= 2880 else f"{minutes // 60} hours"


def _print(spent: list[Budget], allowed: list[Allowance], now: float) -> None:
    if not spent and not allowed:
        output.say("No budget is set. In the settings file (retro config tells where it is) one is")
        output.say("  [budgets]\n  daily = 20        # dollars; weekly and monthly are the others")
        return
    rows: list[list[str | Styled]] = []
    for one in spent:
        share = one.amount.cost / one.limit
        rows.append([one.project or "all projects", one.period, _spent(one), _share(share, one.exceeded)])
    for allowance in allowed:
        limit = allowance.limit
        state = (
            "begun anew since"
            if allowance.over
            else f"resets in {output.duration(limit.resets - now)}"
            if limit.resets
            else ""
        )
        share = 0.0 if allowance.over else limit.used_percent / 100
        rows.append([allowance.host, _window(limit.minutes), state, _share(share, allowance.exceeded)])
    output.table(rows, [Column("of"), Column("in"), Column(""), Column("used", right=True)])
    say_doubts(reports.total(one.amount for one in spent))


def _share(share: float, exceeded: bool) -> Styled:
    return Styled(f"{share:.0%}", "red" if exceeded else "yellow" if share >= NEAR else "green")
