"""What a person should look at: what is about to be lost, what costs too much, what fails again, what was not read."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import Final, NamedTuple

import apsw
import msgspec

from retro import inbox, retention
from retro.config import Settings
from retro.dashboard.data import Attention, Days, HostKept, Space
from retro.dashboard.memories import Memories
from retro.dashboard.overview import Choice
from retro.dashboard.sections import Patterns
from retro.index import queries
from retro.index.database import rows
from retro.ledger import budgets
from retro.places import Places
from retro.upkeep import budget
from retro.upkeep.caps import limits_of

NEARLY: Final = 0.8
"""Share of a budget from which on it is spoken of."""
RECENT_DAYS: Final = 30
REPEATING: Final = 3
"""Problems that are named at most."""
TITLE: Final = 160


class Seen(NamedTuple):
    """What the other parts of the overview found already."""

    days: Days
    models: list[str]
    kept: list[HostKept]
    space: Space
    sections: Mapping[str, msgspec.Struct]


class Attending:
    """Looks for what deserves a look."""

    def __init__(
        self, connection: apsw.Connection, places: Places, settings: Settings, env: Mapping[str, str], choice: Choice
    ) -> None:
        self._connection, self._places = connection, places
        self._settings, self._env, self._choice = settings, env, choice
        self._now = time.time()

    def all(self, seen: Seen) -> list[Attention]:
        """Everything, the worst first."""
        found = [
            *self._about_to_go(),
            *self._money(),
            *_space(seen.space),
            *self._repeating(seen.sections.get("patterns")),
            *_gaps(seen.kept),
            *_to_review(seen.sections.get("memory")),
            *_unpriced(seen.days, seen.models),
        ]
        order = {"red": 0, "amber": 1, "info": 2}
        return sorted(found, key=lambda one: order[one.level])

    def _about_to_go(self) -> Iterator[Attention]:
        """Sessions that their host will delete before they are captured."""
        moment = datetime.fromtimestamp(self._now, timezone.utc)
        for risk in retention.expiring(self._settings, self._env, queries.captured(self._connection), moment):
            left = "at its next clean-up" if risk.days_left <= 0 else f"in {_many(round(risk.days_left), 'day')}"
            yield Attention(
                kind="retention",
                level="red" if risk.days_left <= 1 else "amber",
                title=f"{_many(risk.sessions, 'session')} of {risk.host} will be deleted {left}",
                detail=f"It keeps them for {risk.period_days} days, and they are not captured yet.",
                command="retro sweep",
            )

    def _money(self) -> Iterator[Attention]:
        """Budgets and providers' limits that are used up, or nearly."""
        choice, now = self._choice, self._now
        wanted = [one for one in self._settings.budgets if choice.project in (None, one[0]) or one[0] is None]
        for one in budgets.budgets(self._connection, wanted, choice.zone, now, choice.mode):
            share = one.amount.cost / one.limit if one.limit else 2.0
            whose = "" if one.project is None else " of a project" if choice.strict else f" of {one.project}"
            if share >= NEARLY:
                yield Attention(
                    kind="budget",
                    level="red" if one.exceeded else "amber",
                    title=f"The {one.period} budget{whose} is {'exceeded' if one.exceeded else 'nearly used up'}",
                    detail=f"${one.amount.cost / 1e6:,.2f} of ${one.limit / 1e6:,.2f}, {share:.0%}.",
                    command="retro budget",
                    link="#/cost",
                )
        told = inbox.last(self._places, inbox.LIMITS, budgets.NEWEST)
        for allowed in budgets.allowances(self._connection, told, now, self._settings.limit_percent):
            if allowed.exceeded:
                yield Attention(
                    kind="budget",
                    level="amber",
                    title=f"{allowed.limit.used_percent:.0f} % of what {allowed.host} allows is used",
                    detail=f"Of its window of {_window(allowed.limit.minutes)}.",
                    command="retro budget",
                )

    def _repeating(self, found: msgspec.Struct | None) -> Iterator[Attention]:
        """Problems of the last weeks that came back in several sessions."""
        if not isinstance(found, Patterns):
            return
        since = datetime.fromtimestamp(self._now - RECENT_DAYS * 86400, timezone.utc).strftime("%Y-%m-%d")
        again = [
            one
            for one in found.patterns
            if one.kind == "problem" and one.state in ("new", "confirmed") and (one.last_seen or "") >= since
        ]
        for one in sorted(again, key=lambda one: -one.sessions)[:REPEATING]:
            known = f"{one.resolution} worked in {one.worked} of {one.tried}." if one.resolution else ""
            yield Attention(
                kind="repeating",
                level="info" if known else "amber",
                title=f"It came back in {_many(one.sessions, 'session')}: {one.program} {one.signature}"[:TITLE],
                detail=known or "Nothing that reliably resolves it was seen.",
                link=f"#/patterns?pattern={one.id}",
            )


def _to_review(found: msgspec.Struct | None) -> Iterator[Attention]:
    waiting = found.statuses.get("needs_review", 0) if isinstance(found, Memories) else 0
    if waiting:
        yield Attention(
            kind="memory",
            level="info",
            title=f"{_many(waiting, 'memory', 'memories')} to be looked at",
            detail="Something speaks against each of them; until then they are handed to nobody.",
            link="#/memory?status=needs_review",
        )


def _gaps(kept: list[HostKept]) -> Iterator[Attention]:
    for one in kept:
        if one.malformed_records:
            yield Attention(
                kind="gaps",
                level="amber",
                title=f"{_many(one.malformed_records, 'record')} of {one.host} could not be read",
                detail=f"{one.malformed_bytes:,} bytes are kept as they are, with their place.",
                link="#/capture",
            )
        if one.unknown_records:
            yield Attention(
                kind="gaps",
                level="info",
                title=f"{_many(one.unknown_records, 'record')} of {one.host} are of unknown types",
                detail="They are kept whole. A newer retro may know them.",
                link="#/capture",
            )


def _unpriced(days: Days, models: list[str]) -> Iterator[Attention]:
    tokens: dict[int, int] = {}
    for model, requests, size in zip(days.model, days.unpriced_requests, days.unpriced_tokens, strict=True):
        if requests:
            tokens[model] = tokens.get(model, 0) + size
    if tokens:
        names = [models[model] if model >= 0 else "no name" for model in sorted(tokens, key=lambda m: -tokens[m])]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        yield Attention(
            kind="prices",
            level="info",
            title=f"{_many(len(names), 'model')} without a price",
            detail=f"{', '.join(names[:3])}{more}: {sum(tokens.values()):,} tokens are counted, no dollar is invented.",
            link="#/cost",
        )


def _space(held: Space) -> Iterator[Attention]:
    bulk = held.raw + held.normalised + held.rendered
    if held.hard_cap is not None and bulk > held.hard_cap:
        yield Attention(
            kind="space",
            level="red",
            title="The archive is above its hard cap",
            detail="Nothing new is captured until there is room.",
            command="retro space",
            link="#/capture",
        )
    elif held.soft_cap is not None and bulk > held.soft_cap:
        yield Attention(
            kind="space",
            level="amber",
            title="The archive is above its soft cap",
            detail=f"The next sweep gives up parts of {_many(len(held.next), 'session')}.",
            command="retro space",
            link="#/capture",
        )


def space(connection: apsw.Connection, places: Places, settings: Settings, strict: bool) -> Space:
    """What the archive takes, and what it may."""
    limits = limits_of(settings)
    going = budget.foreseen(connection, places, limits).evictions if limits.any else []
    raw, normalised = next(rows(connection, "SELECT total(raw_bytes), total(normalized_bytes) FROM session"))
    return Space(
        raw=int(raw),
        normalised=int(normalised),
        rendered=budget.rendered_bytes(places),
        distilled=budget.distilled_bytes(places),
        soft_cap=limits.soft,
        hard_cap=limits.hard,
        next=[] if strict else [(one.host, one.session_id, one.title, one.bytes) for one in going[:50]],
    )


def _many(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def _window(minutes: int) -> str:
    return f"{minutes // 1440} days" if minutes >= 2880 else f"{minutes // 60} hours"
