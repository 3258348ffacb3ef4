"""`retro signal`: what is read off each session: which signals there are, what they say, and reading them again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from retro.cli import output, sessions
from retro.cli.output import Column, Styled
from retro.event import Reading
from retro.failure import WRONG_USAGE, Failure, did_you_mean
from retro.index.database import open_writer
from retro.index.readings import readings_of
from retro.lock import Lock
from retro.signals.base import GROUPS, Signal
from retro.signals.running import known
from retro.signals.summary import shown_value
from retro.upkeep.sessions import chosen
from retro.upkeep.signals import outdated, read_again

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context, Parser

LIST = "every signal: its group and kind, and what it says"
RUN = "read signals again, from what is stored of each session; others' readings stay as they are"
SHOW = "what the signals say of one session"


def add_arguments(parser: Parser) -> None:
    """Declare the verbs."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    listing = verbs.add_parser("list", help=LIST, description=f"List {LIST}.")
    listing.add_argument("--group", choices=GROUPS, help="only those of this group")
    running = verbs.add_parser("run", help=RUN, description=f"{RUN[0].upper()}{RUN[1:]}.")
    running.add_argument("--host", help="only sessions of this agent")
    running.add_argument("--session-id", metavar="ID", help="only the session whose id begins so")
    running.add_argument("--signal", metavar="NAME", action="append", help="only this signal; may be given again")
    showing = verbs.add_parser("show", help=SHOW, description=f"Show {SHOW}.")
    sessions.add_session(showing)
    showing.add_argument("--group", choices=GROUPS, help="only signals of this group")


def run(args: argparse.Namespace, context: Context) -> int:
    """Do what the verb says."""
    return {"list": _list, "run": _run, "show": _show}[args.verb](args, context)


# --- list ------------------------------------------------------------------------------------------------------------


def _list(args: argparse.Namespace, context: Context) -> int:
    wanted = [signal for signal in _sorted() if args.group in (None, signal.group)]
    if context.json:
        output.print_json({"signals": [_described(signal) for signal in wanted]})
        return 0
    columns = [Column("group"), Column("signal"), Column("kind"), Column("unit"), Column("what it says", shrink=True)]
    output.table(
        ([signal.group, signal.name, signal.kind, signal.unit, signal.description] for signal in wanted), columns
    )
    return 0


def _sorted() -> list[Signal]:
    return sorted(known().values(), key=lambda signal: GROUPS.index(signal.group))


def _described(signal: Signal) -> dict[str, object]:
    said = {
        "name": signal.name,
        "group": signal.group,
        "kind": signal.kind,
        "method": signal.method,
        "unit": signal.unit,
        "description": signal.description,
    }
    more = {"needs": signal.needs, "from": signal.origin}
    return {**said, **{name: value for name, value in more.items() if value}}


# --- run -------------------------------------------------------------------------------------------------------------


def _run(args: argparse.Namespace, context: Context) -> int:
    """Without a choice, only what is missing or was read by older signals is read."""
    wanted = _wanted(args.signal)
    if not os.path.exists(context.places.index):
        sessions.warn_without_index(context.places)
        return _ran(context, 0, 0, wanted)
    with Lock(context.places.lock, context.settings.lock_wait_seconds):
        with sessions.reading(context) as index:
            if index is None:
                return _ran(context, 0, 0, wanted)
            session_id = None
            if args.session_id is not None:
                session_id = sessions.find(index, args.host, args.session_id, context).session.session_id
            found = [one.key for one in chosen(index, host=args.host, session_id=session_id)]
            if session_id is None and args.signal is None:
                missing = set(outdated(index, wanted))
                names = [name for name in found if name in missing]
            else:
                names = found
        connection = open_writer(context.places.index)
        try:
            done = read_again(connection, context.places, names, wanted, ask_git=True)
        finally:
            connection.close()
    return _ran(context, len(found), len(done), wanted)


def _wanted(names: list[str] | None) -> list[Signal]:
    signals = known()
    for name in names or ():
        if name not in signals:
            hint = did_you_mean(name, signals) or "retro signal list"
            raise Failure("usage", f'there is no signal "{name}"', hint, WRONG_USAGE)
    return [signal for name, signal in signals.items() if names is None or name in names]


def _ran(context: Context, found: int, read: int, wanted: list[Signal]) -> int:
    if context.json:
        output.print_json({"sessions": found, "read": read, "signals": [signal.name for signal in wanted]})
        return 0
    what = f"{len(wanted)} signals" if len(wanted) > 1 else wanted[0].name
    if read:
        output.say(f"{what} read of {output.count(read)} of {output.count(found)} sessions")
    else:
        output.say(f"nothing to read: {output.count(found)} sessions, all as they were" if found else "no session")
    return 0


# --- show ------------------------------------------------------------------------------------------------------------


def _show(args: argparse.Namespace, context: Context) -> int:
    with sessions.reading(context) as index:
        found = sessions.find(index, args.host, args.session, context)
        readings = readings_of(index, found.number) if index is not None else []
    signals = known()
    if args.group is not None:
        readings = [one for one in readings if one.signal in signals and signals[one.signal].group == args.group]
    if context.json:
        whose = {"host": found.session.host, "session_id": found.session.session_id, "title": found.session.title}
        output.print_json({**whose, "readings": readings})
        return 0
    output.say(f"{found.session.host} {found.session.session_id}", "bold")
    if found.session.title:
        output.say(found.session.title)
    for group in (*GROUPS, None):
        of_group = [one for one in readings if (signals[one.signal].group if one.signal in signals else None) == group]
        if of_group:
            output.say()
            output.say(group or "not installed any more", "bold")
            output.table(map(_row, of_group), _COLUMNS)
    if not readings:
        output.say("no signal has been read of it; retro signal run reads them")
    return 0


_COLUMNS = [
    Column("signal"),
    Column("value", right=True),
    Column("unit"),
    Column("sure", right=True),
    Column("events", right=True),
    Column("", shrink=True),
]


def _row(one: Reading) -> list[str | Styled]:
    if one.value is None:
        return [one.signal, Styled("–", "dim"), "", "", "", Styled(one.reason or "", "dim")]
    plain = one.unit in ("ratio", "microdollars", "seconds", "")
    sure = "" if one.confidence >= 1 else f"{one.confidence:.0%}"
    shown = str(len(one.evidence)) if one.evidence else ""
    return [one.signal, shown_value(one.value, one.unit), "" if plain else one.unit, sure, shown, one.reason or ""]
