"""What bare `retro` shows: what is kept, what this week took, the last sessions, and what to do next."""

from __future__ import annotations

import os
import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Final

import msgspec

from retro.cli import list_cmd, moments, output, sessions
from retro.cli.cost_shown import dollars
from retro.cli.output import Column
from retro.failure import Failure
from retro.index import queries
from retro.ledger import calendar, reports
from retro.retention import Expiring, expiring

if TYPE_CHECKING:
    import apsw

    from retro.cli.interface import Context

LAST: Final = 5
"""So many sessions are shown; `retro list` has the rest."""


class Period(msgspec.Struct):
    """What a day, a week or a month took."""

    name: str
    sessions: int
    tokens: int
    microdollars: int
    shown: str
    """The cost as it is printed; it says where some of it has no price."""


class Archive(msgspec.Struct):
    """What an archive holds."""

    root: str
    hosts: list[queries.HostTotal]
    sessions: int
    source_bytes: int
    archive_bytes: int
    """What the archive needs on the disk, the index included."""
    captured: str | None
    """When something was captured last."""
    problem: str | None = None
    periods: list[Period] = []
    retention: list[Expiring] = []
    """What an agent is about to delete before it is captured."""


def archive(context: Context) -> Archive:
    """What is kept. Whatever is wrong with the archive is told, not raised: the way on must always appear."""
    root = ""
    try:
        root = context.places.root
        with sessions.reading(context) as index:
            if index is None:
                return _summed(root, context.places.index, [])
            kept = _summed(root, context.places.index, queries.totals(index))
            kept.periods = _periods(index)
            captured = queries.captured(index)
        kept.retention = expiring(context.settings, context.env, captured, datetime.now(timezone.utc))
        return kept
    except (Failure, OSError) as error:
        problem = error.message if isinstance(error, Failure) else str(error)
        return Archive(root, [], 0, 0, 0, None, problem)


def _periods(index: apsw.Connection) -> list[Period]:
    """Today, this week, this month, in this machine's time zone."""
    zone = calendar.zone(None)
    today = calendar.today(zone, time.time())
    begins = {"today": today, "this week": calendar.week_of(today), "this month": calendar.month_of(today)}
    found = []
    for name, day in begins.items():
        begin = calendar.begin_of(day, zone)
        spent = reports.spent_between(index, reports.Wanted(since=begin))
        since = datetime.fromtimestamp(begin * 900, timezone.utc)
        held = queries.count(index, queries.Wanted(since=moments.stamp(since)))
        found.append(Period(name, held, spent.tokens, spent.cost, dollars(spent)))
    return found


def _summed(root: str, index: str, hosts: list[queries.HostTotal]) -> Archive:
    size = os.path.getsize(index) if os.path.exists(index) else 0
    return Archive(
        root=root,
        hosts=hosts,
        sessions=sum(host.sessions for host in hosts),
        source_bytes=sum(host.source_bytes for host in hosts),
        archive_bytes=sum(host.archive_bytes for host in hosts) + size,
        captured=max((host.captured for host in hosts if host.captured), default=None),
    )


def show(context: Context) -> bool:
    """A page at most; whether something is kept, so that there was something to show."""
    kept = archive(context)
    if kept.problem:
        output.warn(kept.problem)
    elif kept.sessions:
        _say_kept(kept)
        _say_last(context)
    else:
        output.say("Nothing is kept yet. To begin:", "bold")
        output.say()
        output.say("  retro sweep         capture every agent's sessions on this machine")
        output.say("  retro list          see what there is")
    return bool(kept.sessions)


def _say_kept(kept: Archive) -> None:
    each = ", ".join(f"{output.count(host.sessions)} of {host.host}" for host in kept.hosts)
    sizes = f"{output.size(kept.source_bytes)} in {output.size(kept.archive_bytes)}"
    output.say(f"{each} kept: {sizes}, last captured {moments.ago(kept.captured)}", "bold")
    output.say(f"in {kept.root}")
    for entry in kept.retention:
        output.warn(list_cmd.warning(entry))
    output.say()
    columns = [Column(""), *(Column(title, right=True) for title in ("sessions", "tokens", "cost"))]
    rows = [[one.name, output.count(one.sessions), output.count(one.tokens), one.shown] for one in kept.periods]
    output.table(rows, columns)


def _say_last(context: Context) -> None:
    listing = list_cmd.read(context, queries.Wanted(), LAST)
    output.say()
    list_cmd.say_sessions(listing, datetime.now(timezone.utc))
    last = next(iter(listing.short.values()), "latest")
    ways = {
        "retro sweep": "capture what is new",
        f"retro digest {last}": "the last session in short; render has it in full",
        "retro search WORDS": "find the turns that say it",
        "retro detect": "what goes wrong again and again",
        "retro dashboard build": "all of it as pages, on your own disk",
        "retro --help": "every command",
    }
    width = max(map(len, ways)) + 3
    output.say()
    for way, line in ways.items():
        output.say(f"  {way:{width}}{line}")
