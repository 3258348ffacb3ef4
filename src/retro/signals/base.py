"""What a signal is and how one is registered: the module that signals import, ours and those of other distributions.

from retro.signals.base import SessionContext, missing, reading, register

@register("prompts_per_hour", group="activity", kind="numeric", method="heuristic",
          description="messages of the person per hour", unit="per hour")
def prompts_per_hour(session: SessionContext) -> Reading:
    ...
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Final, Literal, NamedTuple, get_args

import msgspec

from retro.agents.interface import Facts
from retro.agents.records import Accounting
from retro.event import Reading, Value
from retro.signals.steps import Steps
from retro.turns import Tally

Group = Literal["activity", "outcome", "cost", "risk"]
Kind = Literal["numeric", "boolean", "categorical"]
Method = Literal["heuristic", "regex", "external", "llm_judge"]

GROUPS: Final[tuple[Group, ...]] = get_args(Group)
RESERVED: Final = "llm_judge"
"""A method that no signal has yet: judging by a model."""

LEDGER: Final = "ledger"
"""What a signal needs that is known only once all sessions of a sweep are counted."""

PROCESS: Final = "process"
"""What a signal needs that starts a process: it is read by `retro signal run` alone."""

EVIDENCE: Final = 10
"""Events that a reading names at most; where there are more, it names the first EXAMPLES."""

EXAMPLES: Final = 3

Needs = Literal["", "ledger", "process"]

__all__ = ["Reading", "SessionContext", "Signal", "Spent", "Value", "missing", "reading", "register"]

_NAME = re.compile(r"[a-z][a-z0-9_]{1,63}")
_DIGITS: Final = 6


def reading(
    value: Value | None, *, evidence: Iterable[str] = (), confidence: float = 1.0, reason: str | None = None
) -> Reading:
    """What a signal's function gives: a value, the events that show it, and how sure it is (0 to 1)."""
    if isinstance(value, float):
        value = round(value, _DIGITS)
    shown = list(islice(evidence, EVIDENCE + 1)) if evidence != () else []
    if len(shown) > EVIDENCE:
        del shown[EXAMPLES:]
    return Reading("", value, "", confidence if confidence == 1.0 else round(confidence, 3), "", shown, reason)


def missing(reason: str) -> Reading:
    """What a signal's function gives where the session lacks what it takes to say something."""
    return Reading("", None, "", 0.0, "", [], reason)


class Spent(NamedTuple):
    """What the ledger counts for a session, sub-agents' requests included."""

    requests: int
    input_tokens: int
    cache_write_tokens: int
    cache_read_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost: int
    """In microdollars, of the requests that have a price."""
    unpriced_requests: int
    lower_bound_requests: int

    @property
    def tokens(self) -> int:
        """All of them; reasoning is a part of output."""
        return self.input_tokens + self.cache_write_tokens + self.cache_read_tokens + self.output_tokens


class SessionContext(msgspec.Struct):
    """A session as signals see it. It holds no text: what was said, done and returned is numbers and event ids here."""

    host: str
    session_id: str
    steps: Steps
    """What the agent did and when the person spoke, in the session's order."""
    counts: Mapping[str, int]
    """What is counted beside the steps: `events`, `prompt`, `assistant_message`, `compaction`, `unknown`,
    `interrupt`, `secrets`, `marks`, `no_timestamp`, `commits`, `praise`, `complaint`, `confirmation`, `doubt`."""
    notes: Mapping[str, list[str]]
    """The first events of each count."""
    periods: list[tuple[int, int]]
    """When something happened, in milliseconds since 1970: spans that no silence of five minutes interrupts."""
    tally: Tally
    facts: Facts
    accounting: Accounting
    unlinked_agents: int = 0
    """Sub-agents that are known by what they did alone, not by the call that started them."""
    spent: Spent | None = None
    """None where no request is known, and while the ledger is not settled."""
    commits: list[int] | None = None
    """When commits were made in the session's repository, as its own files tell, in seconds since 1970."""
    readings: dict[str, Reading] = {}
    """Those that were read before, by signal."""

    def count(self, what: str) -> int:
        """How often something happened."""
        return self.counts.get(what, 0)

    def value(self, signal: str) -> Value | None:
        """What another signal, registered before this one, says."""
        known = self.readings.get(signal)
        return known.value if known is not None else None

    @property
    def started(self) -> int | None:
        """When the session's first event happened, in milliseconds since 1970."""
        return self.periods[0][0] if self.periods else None

    @property
    def ended(self) -> int | None:
        """When its last event happened."""
        return max(last for _, last in self.periods) if self.periods else None


Read = Callable[[SessionContext], Reading]


class Signal(NamedTuple):
    """A registered signal."""

    name: str
    group: Group
    kind: Kind
    method: Method
    description: str
    unit: str
    needs: Needs
    read: Read
    origin: str = ""
    """The distribution that it comes from; empty for ours."""


SIGNALS: Final[dict[str, Signal]] = {}
"""Every registered signal, in the order in which they are read."""


def register(
    name: str,
    *,
    group: Group,
    kind: Kind,
    method: Method,
    description: str,
    unit: str = "",
    needs: Needs = "",
) -> Callable[[Read], Read]:
    """Make a function a signal. A name that is taken, or that is none, is a `ValueError`.

    Signals that need the ledger see `spent` and `readings`, and no steps; they are read again when what the session
    spent changes. Those that need a process are read by `retro signal run` only.
    """

    def registered(read: Read) -> Read:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name for a signal: lower case letters, digits and underscores")
        if name in SIGNALS:
            raise ValueError(f"there is a signal {name!r} already")
        if group not in GROUPS or kind not in get_args(Kind) or method not in get_args(Method) or method == RESERVED:
            raise ValueError(f"{name!r}: no such group, kind or method")
        SIGNALS[name] = Signal(name, group, kind, method, description, unit, needs, read)
        return read

    return registered
