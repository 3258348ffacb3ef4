"""Reading signals: each by itself, so that one that breaks is one reading without a value."""

from __future__ import annotations

from collections.abc import Collection
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
        result = _one(signal, context)
        context.readings[signal.name] = result
        found.append(result)
    return found


def _one(signal: Signal, context: SessionContext) -> Reading:
    try:
        result = signal.read(context)
        if not _fits(signal, result):
            result = missing(f"the signal gave {type(result).__name__}, which is no {signal.kind} reading")
    except Exception as error:
        result = missing(f"the signal failed: {type(error).__name__}: {str(error)[:200]}")
    result.signal, result.unit, result.method = signal.name, signal.unit, signal.method
    return result


def _fits(signal: Signal, result: object) -> bool:
    if not isinstance(result, Reading):
        return False
    value = result.value
    if value is None:
        return True
    if signal.kind == "boolean":
        return isinstance(value, bool)
    if signal.kind == "categorical":
        return isinstance(value, str)
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value
