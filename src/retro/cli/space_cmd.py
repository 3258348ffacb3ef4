"""`retro space`: what uses the space, how that stands against the budget, and what the next pass would give up."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from retro.cli import moments, output, sessions
from retro.cli.output import Column, Styled
from retro.upkeep import budget
from retro.upkeep.budget import Eviction, Holding, Pass, Usage
from retro.upkeep.caps import Limits, limits_of

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context, Parser

SHOWN = 20
"""At most so many evictions are printed; `--json` gives all."""

LARGEST = 5
TITLE = 60


class HostSpace(msgspec.Struct):
    """What the sessions of one host take."""

    host: str
    sessions: int
    bytes: int


class Space(msgspec.Struct):
    """What `retro space --json` prints."""

    root: str
    usage: Usage
    index: int
    limits: Limits
    sessions: int
    digested: int
    pinned: int
    hosts: list[HostSpace]
    largest: list[Holding]
    next_pass: Pass


def add_arguments(parser: Parser) -> None:
    """Nothing but the options of every command."""


def run(args: argparse.Namespace, context: Context) -> int:
    """Say what there is, and what would go."""
    space = _space(context)
    if context.json:
        output.print_json(space)
        return 0
    _say_usage(space)
    _say_budget(space, context)
    return 0


def _space(context: Context) -> Space:
    places, limits = context.places, limits_of(context.settings)
    with sessions.reading(context) as connection:
        found = budget.holdings(connection, places) if connection is not None else []
        nothing = Pass(0, 0, 0, [], [])
        foreseen = budget.foreseen(connection, places, limits) if connection is not None else nothing
    usage = Usage(
        raw=sum(one.bytes.get("raw", 0) for one in found),
        normalised=sum(one.bytes.get("normalised", 0) for one in found),
        rendered=sum(one.bytes.get("rendered", 0) for one in found),
        distilled=budget.distilled_bytes(places),
    )
    hosts: dict[str, HostSpace] = {}
    for one in found:
        of_host = hosts.setdefault(one.host, HostSpace(one.host, 0, 0))
        of_host.sessions += 1
        of_host.bytes += one.size
    return Space(
        root=places.root,
        usage=usage,
        index=sum(_size(places.index + suffix) for suffix in ("", "-wal")),
        limits=limits,
        sessions=len(found),
        digested=sum(one.digested for one in found),
        pinned=sum(one.pinned for one in found),
        hosts=sorted(hosts.values(), key=lambda one: -one.bytes),
        largest=sorted(found, key=lambda one: -one.size)[:LARGEST],
        next_pass=foreseen,
    )


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


# --- as text ---------------------------------------------------------------------------------------------------------


def _say_usage(space: Space) -> None:
    usage = space.usage
    rows = [
        ("raw", output.size(usage.raw), "what the agents wrote, byte for byte"),
        ("normalised", output.size(usage.normalised), "events; made again from raw"),
        ("rendered", output.size(usage.rendered), "markdown; made again by retro render"),
        ("distilled", output.size(usage.distilled), "digests, ledger and the like; kept for good"),
        ("index", output.size(space.index), "made again by retro reindex"),
    ]
    output.table(rows, [Column("kind"), Column("size", right=True), Column("")])
    together = output.size(usage.bulk + usage.distilled + space.index)
    output.say(f"{together} in {space.root}")
    if space.largest:
        output.say()
        columns = [Column("largest"), Column("session"), Column("title", shrink=True), Column("size", right=True)]
        output.table(
            (
                [one.host, one.session_id, output.cut(one.title or "", TITLE), output.size(one.size)]
                for one in space.largest
            ),
            columns,
        )


def _say_budget(space: Space, context: Context) -> None:
    limits, foreseen = space.limits, space.next_pass
    output.say()
    if not limits.any:
        output.say("There is no budget: nothing is ever given up.")
        output.say(f"To set one: [retention] raw_soft_cap_bytes in {context.settings.file}")
        return
    bulk = output.size(space.usage.bulk)
    for name, cap in (("soft cap", limits.soft), ("hard cap", limits.hard)):
        if cap is not None:
            over = space.usage.bulk > cap
            line = f"{name} {output.size(cap)}: {bulk} used ({space.usage.bulk / cap:.0%})"
            output.say(line, "yellow" if over else None)
    if limits.max_age_days is not None:
        output.say(f"digested sessions are given up after {limits.max_age_days} days")
    if foreseen.distilled is not None and limits.distilled is not None:
        excess = f"{output.size(foreseen.distilled)}, over their cap of {output.size(limits.distilled)}"
        output.say(f"digests and the like take {excess}; none of them is ever deleted", "yellow")
    if not foreseen.evictions:
        output.say("The next sweep gives nothing up.")
    else:
        output.say(f"The next sweep gives up {output.size(foreseen.freed)}:")
        say_evictions(foreseen.evictions)
    if foreseen.over_hard_cap:
        output.say("That is not enough for the hard cap: what is left is pinned or not digested yet.", "red")


def say_evictions(evictions: list[Eviction]) -> None:
    """What goes or went of which session."""
    columns = [Column("host"), Column("session"), Column("title", shrink=True), Column("last active")]
    columns += [Column("goes"), Column("size", right=True)]
    output.table((_row(one) for one in evictions[:SHOWN]), columns)
    if len(evictions) > SHOWN:
        output.say(f"and {output.count(len(evictions) - SHOWN)} more; --json names them all")


def _row(one: Eviction) -> list[str | Styled]:
    kinds = ", ".join(one.kinds)
    goes = kinds if one.digested else Styled(f"{kinds} (not digested)", "red")
    return [
        one.host,
        one.session_id,
        output.cut(one.title or "", TITLE),
        moments.local(one.active)[:10],
        goes,
        output.size(one.bytes),
    ]
