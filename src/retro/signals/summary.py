"""`signals/summary.md`: what all readings say together, for a person to read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from retro.event import Value
from retro.signals.statistics import Spread

MOST: Final = 5
"""Sessions that are named of one kind."""

TITLE: Final = 60

LISTED: Final = {
    "cost": "Most expensive",
    "active_seconds": "Longest at work",
    "failed_command_count": "Most failed commands",
    "user_correction_count": "Most often corrected",
    "repeated_action_without_progress": "Most often the same again without progress",
    "premature_finish_without_validation": "Ended with an unchecked edit",
    "secret_exposure_count": "Secrets in most places",
}
"""Signals of which the sessions that stand out are named, and under which heading."""

_SECTIONS: Final = {
    "activity": "What was done",
    "outcome": "How it went",
    "cost": "What it took",
    "risk": "What to be wary of",
}
_SHORT: Final = ("action_count_", "action_ratio_")


class Outstanding(NamedTuple):
    """A session that stands out by one of its readings."""

    host: str
    session_id: str
    title: str | None
    value: float


def text(sessions: int, spreads: list[Spread], outstanding: Mapping[str, list[Outstanding]]) -> str:
    """The whole page."""
    if not sessions:
        return "# Signals\n\nNo session has been read yet.\n"
    known = {spread.signal: spread for spread in spreads}
    lines = ["# Signals", "", f"{sessions:,} sessions. `retro signal show ID` tells what one session's readings are,"]
    lines += ["`retro signal list` what each signal means.", "", *_sentences(sessions, known)]
    units = {spread.signal: spread.unit for spread in spreads}
    for group, heading in _SECTIONS.items():
        of_group = [one for one in spreads if one.group == group and not one.signal.startswith(_SHORT)]
        numbers = [one for one in of_group if one.kind == "numeric" and one.readings]
        others = [one for one in of_group if one.kind != "numeric" and one.readings]
        if numbers or others:
            lines += ["", f"## {heading}", ""]
            lines += _table(numbers) + ([""] if numbers and others else []) + list(map(_other, others))
        if group == "activity":
            lines += _categories(known)
    lines += _outstanding(outstanding, units)
    return "\n".join(lines) + "\n"


def _sentences(sessions: int, known: Mapping[str, Spread]) -> list[str]:
    """The few figures that a person looks for first."""
    said = []
    for signal, words in (
        ("cost", "cost {sum} in all, {median} in the middle"),
        ("active_seconds", "{sum} of work, {median} in the middle"),
        ("failed_command_ratio", "{mean} of a session's commands fail on average"),
        ("premature_finish_without_validation", "{ratio} of those with edits end with one that nothing checked"),
        ("interrupted_signal", "{ratio} were interrupted, or had a call refused"),
    ):
        spread = known.get(signal)
        if spread is not None and spread.readings:
            shown = {name: shown_value(getattr(spread, name), spread.unit) for name in ("sum", "median", "mean")}
            share = shown_value(spread.ratio, "ratio") if spread.ratio is not None else ""
            said.append(f"* {words.format(**shown, ratio=share)}")
    tests = known.get("last_test_outcome")
    if tests is not None and tests.readings:
        passed = tests.shares.get("passed", 0.0)
        said.append(f"* {tests.readings:,} of {sessions:,} tell how their last tests went: {passed:.0%} passed")
    outcome = known.get("outcome")
    if outcome is not None and outcome.readings:
        words = ", ".join(f"{outcome.values.get(word, 0):,} {word}" for word in ("success", "failure", "unknown"))
        said.append(f"* {outcome.readings:,} of {sessions:,} can be judged: {words}")
    return said


def _table(spreads: list[Spread]) -> list[str]:
    if not spreads:
        return []
    lines = ["| signal | sessions | median | mean | 90 % below | most | sum |", "| --- " + "| ---: " * 6 + "|"]
    for one in spreads:
        adds_up = one.unit not in ("ratio", "bits", "balance")
        cells = [shown_value(value, one.unit) for value in (one.median, one.mean, one.p90, one.max)]
        cells.append(shown_value(one.sum, one.unit) if adds_up else "")
        lines.append(f"| {one.signal} | {one.readings:,} | {' | '.join(cells)} |")
    return lines


def _other(one: Spread) -> str:
    if one.kind == "boolean":
        return f"* {one.signal}: yes in {one.sum or 0:,.0f} of {one.readings:,} ({one.ratio or 0:.0%})"
    counts = ", ".join(f"{value} {count:,} ({one.shares.get(value, 0):.0%})" for value, count in one.values.items())
    return f"* {one.signal}: {counts}"


def _categories(known: Mapping[str, Spread]) -> list[str]:
    """The categories of steps, the most frequent first."""
    prefix = "action_count_"
    counts = {name[len(prefix) :]: one.sum or 0 for name, one in known.items() if name.startswith(prefix) and one.sum}
    total = sum(counts.values())
    if not total:
        return []
    parts = [f"{name} {count / total:.0%}" for name, count in sorted(counts.items(), key=lambda item: -item[1])]
    return ["", f"Of {total:,.0f} steps: {', '.join(parts)}."]


def _outstanding(outstanding: Mapping[str, list[Outstanding]], units: Mapping[str, str]) -> list[str]:
    lines = []
    for signal, heading in LISTED.items():
        found = outstanding.get(signal, [])
        if found:
            lines += ["", f"### {heading}", ""]
            for one in found:
                value = "" if not units.get(signal) else f": {shown_value(one.value, units[signal])}"
                title = " ".join((one.title or "").split())
                title = title if len(title) <= TITLE else title[: TITLE - 1] + "…"
                lines.append(f"* {one.host} `{one.session_id}`{value}{' · ' + _plain(title) if title else ''}")
    return ["", "## Sessions that stand out", *lines] if lines else []


def _plain(title: str) -> str:
    """A title that no markdown reader takes for markup."""
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>#|!~&" else letter for letter in title)


def shown_value(value: Value | None, unit: str) -> str:
    """A value as a person writes it, with its unit where that is short."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else _UNITS.get(unit, _count)(value)


def _count(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 100 else f"{value:,.1f}"


def _money(value: float) -> str:
    return f"${value / 1e6:,.2f}"


def _duration(value: float) -> str:
    if value < 60:
        return f"{value:.0f} s"
    minutes, seconds = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes:02} min" if hours else f"{minutes} min {seconds:02} s"


_UNITS: Final[dict[str, Callable[[float], str]]] = {
    "microdollars": _money,
    "seconds": _duration,
    "ratio": lambda value: f"{value:.0%}",
    "bits": lambda value: f"{value:.2f}",
    "balance": lambda value: f"{value:+.2f}",
}
