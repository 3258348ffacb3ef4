"""Reading signals: each by itself, so that one that breaks is one reading without a value."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Final

from retro.signals import activity, cost, outcome, risk, trajectory, verdict
from retro.signals.base import LEDGER, PROCESS, SIGNALS, Reading, SessionContext, Signal, missing
from retro.signals.plugins import load_plugins

OURS: Final = (activity, trajectory, outcome, risk, verdict, cost)
"""Where our signals are registered, by being imported."""


@lru_cache(maxsize=1)
def known() -> dict[str, Signal]:
    """Every signal there is, those of other distributions too; the first call loads them."""
    load_plugins()
    return SIGNALS


def in_sweep(*, ledger: bool) -> list[Signal]:
    """What a sweep reads: before the ledger is settled, or from what it says then."""
    return [signal for signal in known().values() if signal.needs == (LEDGER if ledger else "")]


def of_processes() -> list[Signal]:
    """What only `retro signal run` reads."""
    return [signal for signal in known().values() if signal.needs == PROCESS]


def evaluate(context: SessionContext, signals: Collection[Signal]) -> list[Reading]:
    """Read signals of one session, in order; each sees those before it."""
    found = []
    for signal in signals:
        try:
            result = signal.read(context)
            if not isinstance(result, Reading) or not (result.value is None or _FITS[signal.kind](result.value)):
                result = missing(f"the signal gave {type(result).__name__}, which is no {signal.kind} reading")
        except Exception as error:
            result = missing(f"the signal failed: {type(error).__name__}: {str(error)[:200]}")
        result.signal, result.unit, result.method = signal.name, signal.unit, signal.method
        context.readings[signal.name] = result
        found.append(result)
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value


_FITS: Final[dict[str, Callable[[object], bool]]] = {
    "numeric": _is_number,
    "boolean": lambda value: isinstance(value, bool),
    "categorical": lambda value: isinstance(value, str),
}
