"""`retro list`: the sessions in the archive, newest first, and what the agent is about to delete uncaptured."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, NamedTuple

from retro.cli import moments, output, sessions
from retro.cli.output import Column, Styled
from retro.event import Session
from retro.index import queries
from retro.index.queries import Captured
from retro.retention import Expiring, expiring

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context, Parser

LIMIT = 30

COLUMNS = (
    Column("when"),
    Column("host"),
    Column("id"),
    Column("project", shrink=True),
    Column("turns", right=True),
    Column("size", right=True),
    Column("outcome", right=True),
    Column("title", shrink=True),
)


class Listing(NamedTuple):
    """What the index says."""

    sessions: list[Session]
    total: int
    """How many there are without the limit."""
    short: dict[str, str]
    projects: list[str]
    captured: Captured


def add_arguments(parser: Parser) -> None:
    """Declare the filters."""
    moments.add_filters(parser, limit=LIMIT)


def run(args: argparse.Namespace, context: Context) -> int:
    """List them, and warn of what is about to be lost."""
    chosen = moments.filters(args)
    wanted = queries.Wanted(
        moments.stamp(chosen.since) if chosen.since else None,
        moments.stamp(chosen.until) if chosen.until else None,
        chosen.project,
        chosen.host,
    )
    now = datetime.now(timezone.utc)
    listing = read(context, wanted, chosen.limit)
    retention = expiring(context.settings, context.env, listing.captured, now)
    if context.json:
        output.print_json({"sessions": listing.sessions, "total": listing.total, "retention": retention})
        return 0
    for entry in retention:
        output.warn(warning(entry))
    if listing.sessions:
        say_sessions(listing, now)
        if listing.total > len(listing.sessions):
            of = f"{output.count(len(listing.sessions))} of {output.count(listing.total)}"
            output.notice(f"{of}; --limit shows more, --since, --project and --host choose")
    else:
        _say_nothing(context, wanted, listing)
    return 0


def read(context: Context, wanted: queries.Wanted, limit: int | None) -> Listing:
    """The newest sessions that are wanted, and what is needed to show them."""
    with sessions.reading(context) as index:
        if index is None:
            return Listing([], 0, {}, [], Captured({}, {}))
        found = queries.sessions(index, wanted, limit)
        total = queries.count(index, wanted) if limit is not None and len(found) >= limit else len(found)
        short = queries.short_ids(index, [session.session_id for session in found])
        return Listing(found, total, short, queries.projects(index), queries.captured(index))


def say_sessions(listing: Listing, now: datetime) -> None:
    """A line for each; without the column of outcomes where none of them has one."""
    rows = [_row(session, listing.short, now) for session in listing.sessions]
    shown = [at for at, column in enumerate(COLUMNS) if column.title != "outcome" or any(row[at] for row in rows)]
    output.table(([row[at] for at in shown] for row in rows), [COLUMNS[at] for at in shown])


def _row(session: Session, short: dict[str, str], now: datetime) -> list[str | Styled]:
    return [
        moments.ago(session.ended, now),
        session.host,
        Styled(short[session.session_id], "cyan"),
        session.project or "",
        output.count(session.turns),
        output.size(session.source_bytes),
        _outcome(session),
        session.title or "",
    ]


def _outcome(session: Session) -> str | Styled:
    """What is said of it; where nothing is, how likely a success is."""
    if session.outcome_probability is None:
        return ""
    if session.outcome in _STYLES:
        return Styled(session.outcome, _STYLES[session.outcome])
    return Styled(f"{session.outcome_probability:.0%}", "dim")


_STYLES = {"success": "green", "failure": "red"}


def _say_nothing(context: Context, wanted: queries.Wanted, listing: Listing) -> None:
    if wanted == queries.Wanted() or not listing.projects:
        output.say(f"No session is captured yet in {context.places.root}.")
        output.say("retro sweep captures every session on this machine.")
        return
    output.say("No session matches.")
    known = [name.lower() for name in listing.projects]
    if wanted.project is not None and wanted.project.lower() not in known:
        few = ", ".join(listing.projects[:20]) + (" …" if len(listing.projects) > 20 else "")
        output.say(f'There is no project "{wanted.project}"; there are {few}')


def warning(entry: Expiring) -> str:
    """What is about to be lost, and what to do."""
    many = entry.sessions != 1
    what = f"{output.count(entry.sessions)} {entry.host} session{'s' if many else ''} not yet fully captured"
    if entry.days_left < 0:
        when = f"past the {entry.period_days} days that {entry.host} keeps them and may vanish any time"
    else:
        left = "within a day" if entry.days_left < 1 else f"in {entry.days_left:.0f} days"
        when = f"near deletion: {entry.host} keeps them {entry.period_days} days, {_oldest(many)} goes {left}"
    return f"{what} {'are' if many else 'is'} {when}; retro sweep captures {'them' if many else 'it'}"


def _oldest(many: bool) -> str:
    return "the oldest" if many else "this one"
