"""`retro measure`: whether memory helps, by an experiment: a share of sessions gets no weave, and both are compared."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from retro.cli import moments, output, sessions
from retro.cli.output import Column
from retro.failure import CHECK_NOT_PASSED, WRONG_USAGE, Failure
from retro.lock import Lock
from retro.measure import comparing, estimate, log, simulation
from retro.measure.comparing import Comparison, Group, Part, Result
from retro.measure.endpoints import ENDPOINTS
from retro.places import init_root

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context, Parser

SHOWN = 8
"""Repositories and kinds that are shown; the JSON has all."""

START = "from now on a share of sessions gets no weave, by lot"
STOP = "end the experiment; what was recorded stays"

VERDICTS = {
    "helps": "It helps: the interval of the primary endpoint leaves no room for no effect.",
    "hurts": "It hurts: the interval of the primary endpoint leaves no room for no effect.",
    "no_difference_shown": "No difference is shown: the interval holds no effect at all as well as what it ends at.",
}


def add_arguments(parser: Parser) -> None:
    """Declare the verbs; without one the result is shown."""
    parser.description = (
        "Compare the sessions that received weaves with those from which weaves were withheld, as they were drawn to"
        " be. Nothing is withheld before `retro measure start`."
    )
    parser.add_argument("--experiment", metavar="ID", help="an earlier one; the beginning of its id")
    parser.add_argument(
        "--simulate", action="store_true", help="try the method on made-up worlds; exit code 4 if it does not hold"
    )
    parser.add_argument("--worlds", metavar="N", type=int, default=simulation.WORLDS, help="(5000)")
    parser.add_argument("--sessions", metavar="N", type=int, default=simulation.SESSIONS, help="in each world (200)")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    starting = verbs.add_parser("start", help=START, description=f"{START[0].upper()}{START[1:]}.")
    starting.add_argument("--share", metavar="X", type=float, default=0.5, help="of sessions that get none (0.5)")
    starting.add_argument("--endpoint", metavar="NAME", choices=ENDPOINTS, default="outcome", help=_endpoints())
    starting.add_argument(
        "--effect",
        metavar="X",
        type=float,
        help="the smallest difference worth knowing of: 0.1 for ten points or 10 %%",
    )
    starting.add_argument("--seed", metavar="TEXT", help="of the lot (a random one)")
    verbs.add_parser("stop", help=STOP, description=f"{STOP[0].upper()}{STOP[1:]}.")


def _endpoints() -> str:
    return f"what is decided by, fixed from then on: {', '.join(ENDPOINTS)} (outcome)"


def run(args: argparse.Namespace, context: Context) -> int:
    """Start, stop, simulate, or show what there is."""
    if args.verb == "start":
        return _start(args, context)
    if args.verb == "stop":
        return _stop(context)
    if args.simulate:
        return _simulate(args, context)
    return _result(args, context)


# --- beginning and ending --------------------------------------------------------------------------------------------


def _start(args: argparse.Namespace, context: Context) -> int:
    from retro.index.database import open_writer

    if not 0.05 <= args.share <= 0.95:
        raise Failure("usage", "--share is from 0.05 to 0.95", "--share 0.5 needs the fewest sessions", WRONG_USAGE)
    endpoint = ENDPOINTS[args.endpoint]
    effect = endpoint.effect if args.effect is None else abs(args.effect)
    if not 0 < effect <= 10 or (args.endpoint == "outcome" and effect >= 1):
        raise Failure("usage", f"--effect {args.effect} is none", f"--effect {endpoint.effect}", WRONG_USAGE)
    init_root(context.places.root)
    with Lock(context.places.lock, context.settings.lock_wait_seconds):
        connection = open_writer(context.places.index)
        try:
            before = log.running(context.places)
            if before is not None:
                problem = f"experiment {before.plan.id} runs since {before.started}"
                raise Failure("exists", problem, "retro measure stop ends it")
            deviation, observed = comparing.deviation(connection, endpoint)
            plan = log.Plan(
                id=f"x_{os.urandom(4).hex()}",
                seed=args.seed or os.urandom(8).hex(),
                share=args.share,
                endpoint=args.endpoint,
                effect=effect,
                deviation=round(deviation, 4),
                observed=observed,
                needed=estimate.needed(deviation, endpoint.shift(effect), args.share),
            )
            log.start(connection, context.places, plan)
        finally:
            connection.close()
    if context.json:
        output.print_json({"experiment": plan})
        return 0
    output.say(f"{plan.id} begins: {plan.share:.0%} of sessions get no weave, by a hash of their id", "bold")
    output.say(f"It is decided by {plan.endpoint} ({endpoint.says}), for a difference of {_effect(plan)} or more.")
    basis = f"as {plan.observed} sessions here differ" if plan.observed else "as sessions usually differ"
    output.say(f"That takes {output.count(plan.needed)} sessions, {basis}. retro measure shows how it stands.")
    return 0


def _effect(plan: log.Plan) -> str:
    return f"{plan.effect:.0%}" if ENDPOINTS[plan.endpoint].ratio else f"{plan.effect:g}"


def _stop(context: Context) -> int:
    from retro.index.database import open_writer

    running = log.running(context.places)
    if running is None:
        raise Failure("not_found", "no experiment is running", "retro measure start begins one")
    with Lock(context.places.lock, context.settings.lock_wait_seconds):
        connection = open_writer(context.places.index)
        try:
            log.stop(connection, context.places, running)
        finally:
            connection.close()
    if context.json:
        output.print_json({"experiment": running.plan.id, "stopped": True})
    else:
        output.say(f"{running.plan.id} has ended: every session gets its weaves again. retro measure shows the result.")
    return 0


# --- the result ------------------------------------------------------------------------------------------------------


def _result(args: argparse.Namespace, context: Context) -> int:
    from retro.cli.remembering import bring_up_to_date

    found = log.experiments(context.places)
    if args.experiment is not None:
        found = [one for one in found if one.plan.id.startswith(args.experiment)]
        if len(found) != 1:
            raise Failure("not_found", f'no experiment "{args.experiment}"', "retro measure shows the last one")
    if not found:
        if context.json:
            output.print_json({"experiment": None})
        else:
            output.say("No experiment has been started: every session gets its weaves. retro measure start begins one.")
        return 0
    bring_up_to_date(context)
    chosen = next(one for one in log.experiments(context.places) if one.plan.id == found[-1].plan.id)
    with sessions.reading(context) as index:
        if index is None:
            raise Failure("not_found", "nothing is captured yet", "retro sweep captures it")
        told = comparing.result(index, chosen)
    if context.json:
        output.print_json(told)
    else:
        _show(told)
    return 0


def _show(told: Result) -> None:
    plan = told.experiment.plan
    when = f"ended {moments.ago(told.experiment.stopped)}" if told.experiment.stopped else "runs"
    output.say(
        f"{plan.id}, begun {moments.ago(told.experiment.started)}, {when}: {plan.share:.0%} of sessions get no weave",
        "bold",
    )
    output.say(_counts(told))
    if not told.counted and not any(one.woven.sessions or one.withheld.sessions for one in told.comparisons):
        output.say(_conclusion(told))
        return
    output.say()
    output.table(
        [_row(one, one.endpoint) for one in told.comparisons],
        [
            Column("endpoint"),
            Column("woven", right=True),
            Column("withheld", right=True),
            Column("difference", right=True),
            Column("95 % interval", right=True),
        ],
    )
    _parts(plan.endpoint, "repository", told.repositories)
    _parts(plan.endpoint, "kind of memory", told.kinds)
    output.say()
    output.say(_conclusion(told), "bold")


def _counts(told: Result) -> str:
    left = [
        (told.going_on, "still go on"),
        (told.continued, "continue others and do not count"),
        (told.lost, "are not in the archive"),
    ]
    said = [f"{output.count(count)} {what}" for count, what in left if count]
    return f"{output.count(told.assigned)} sessions had a prompt that something spoke to" + "".join(
        f"; {one}" for one in said
    )


def _row(one: Comparison, name: str) -> list[str]:
    show = _difference if ENDPOINTS[one.endpoint].ratio else _plain
    between = one.low is not None and one.high is not None and one.difference is not None
    return [
        name,
        _mean(one.woven),
        _mean(one.withheld),
        show(one.difference or 0.0) if between else "",
        f"{show(one.low or 0.0)} to {show(one.high or 0.0)}" if between else "too few",
    ]


def _mean(group: Group) -> str:
    """The mean, and of how many sessions it is known."""
    known = f"{group.known}" if group.known == group.sessions else f"{group.known} of {group.sessions}"
    mean = "" if group.mean is None else f"{group.mean:.2f}" if group.mean < 100 else f"{group.mean:,.0f}"
    return f"{mean} ({known})".strip()


def _difference(share: float) -> str:
    return f"{share:+.0%}"


def _plain(difference: float) -> str:
    return f"{difference:+.2f}"


def _parts(primary: str, what: str, parts: list[Part]) -> None:
    """The primary endpoint by part: to be looked at, not to be concluded from."""
    if not parts:
        return
    output.say()
    rows = [
        [*_row(one, part.name), f"{one.woven.known + one.withheld.known} of {output.count(one.needed)}"]
        for part in parts[:SHOWN]
        for one in part.comparisons
        if one.endpoint == primary
    ]
    names = (what, "woven", "withheld", "difference", "95 % interval", "known of needed")
    output.table(rows, [Column(name, right=at > 0, shrink=at == 0) for at, name in enumerate(names)])
    if len(parts) > SHOWN:
        output.notice(f"{SHOWN} of {len(parts)}; --json has all")


def _conclusion(told: Result) -> str:
    endpoint = told.experiment.plan.endpoint
    if told.verdict == "not_enough":
        return (
            f"Nothing is concluded: {endpoint} is known of {output.count(told.counted)} sessions that are over,"
            f" of {output.count(told.needed)} that are needed."
        )
    return f"{VERDICTS[told.verdict]} (Of the first {output.count(told.needed)} sessions; later ones do not change it.)"


# --- trying the method -----------------------------------------------------------------------------------------------


def _simulate(args: argparse.Namespace, context: Context) -> int:
    if not 1 <= args.worlds <= 1_000_000 or not 20 <= args.sessions <= 100_000:
        raise Failure("usage", "--worlds and --sessions are counts", "--worlds 5000 --sessions 200", WRONG_USAGE)
    running = log.running(context.places) if args.experiment is None else None
    plan = running.plan if running else None
    endpoint, share = (plan.endpoint, plan.share) if plan else ("outcome", 0.5)
    found = simulation.simulate(endpoint, args.worlds, args.sessions, share)
    holds = all(one.holds for one in found)
    if context.json:
        rows = [{**msgspec.structs.asdict(one), "holds": one.holds} for one in found]
        output.print_json({"endpoint": endpoint, "share": share, "holds": holds, "simulated": rows})
        return 0 if holds else CHECK_NOT_PASSED
    for one in found:
        what = f"an effect of {one.effect:+.3f}" if one.effect else "no effect"
        output.say(
            f"{output.count(one.worlds)} worlds of {output.count(one.sessions)} sessions with {what} on {endpoint}"
        )
        output.say(f"  the 95 % interval holds it in {one.coverage:.1%}")
        expected = f"the formula says {one.power:.1%}"
        output.say(f"  a difference is {'found' if one.effect else 'claimed'} in {one.found:.1%} ({expected})")
    output.say("This is as it should be." if holds else "This is not as it should be.", "bold")
    return 0 if holds else CHECK_NOT_PASSED
