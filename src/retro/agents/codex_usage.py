"""The tokens of Codex's requests: a record of each today, before that a running total that repeats and falls."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

import msgspec

from retro.agents.codex_kinds import HOST
from retro.agents.codex_shapes import decode, is_object
from retro.agents.interface import Limit
from retro.event import MOST, Quality, Usage

Count = Annotated[int, msgspec.Meta(ge=0, le=MOST)]

ASSUMED: Final = "gpt-5"
"""The host's own default at the time when its rollouts named no model; others assume it as well."""


class Tokens(msgspec.Struct):
    """Counts as the host writes them: cached and written are part of input, reasoning is part of output."""

    input_tokens: Count = 0
    cached_input_tokens: Count = 0
    cache_write_input_tokens: Count = 0
    output_tokens: Count = 0
    reasoning_output_tokens: Count = 0

    def plus(self, other: Tokens) -> Tokens:
        """Both together."""
        return Tokens(*(getattr(self, name) + getattr(other, name) for name in self.__struct_fields__))

    def step_from(self, before: Tokens) -> Tokens | None:
        """What was added since; None where a count fell, so that this is no continuation."""
        steps = [getattr(self, name) - getattr(before, name) for name in self.__struct_fields__]
        return Tokens(*steps) if min(steps) >= 0 else None


class _OtherName(msgspec.Struct):
    """What programs call cached tokens that write rollouts in this host's place."""

    cached_input_tokens: Count = msgspec.field(default=0, name="cache_read_input_tokens")


class Info(msgspec.Struct):
    """What a `token_count` says; the first versions that had it said only what the last request took."""

    total: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="total_token_usage")
    last: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="last_token_usage")
    model: str | None = None


class Window(msgspec.Struct):
    """How much of a limit is used, as versions from 0.48 on write it; when it resets is said in either way."""

    used_percent: float | None = None
    window_minutes: Count | None = None
    resets_at: Count | None = None
    resets_in_seconds: Count | None = None


class RateLimits(msgspec.Struct):
    """What a `token_count` says of the provider's limits; before 0.48 without windows of their own."""

    primary: Window | None = None
    secondary: Window | None = None
    primary_used_percent: float | None = None
    primary_window_minutes: Count | None = None
    secondary_used_percent: float | None = None
    secondary_window_minutes: Count | None = None


class Requested(msgspec.Struct):
    """A `token_usage_record`: one request."""

    thread_id: str | None = None
    response_id: str | None = None
    usage: msgspec.Raw = msgspec.Raw()


class Running(msgspec.Struct):
    """How far the running total has been counted."""

    total: Tokens | None = None
    falls: int = 0
    recorded: bool = False
    """Each request has a record of its own: totals are not counted any more."""
    last: Tokens | None = None
    """What the last request took, where the host says only that."""
    said: str | None = None
    """When it said so."""
    fallen: Tokens | None = None
    """The total before one that fell, until the next."""

    def advance(self, total: Tokens, last: Tokens | None) -> Tokens | None:
        """The tokens since the total before: none where it repeats; a fall is a new beginning.

        The first total of a file may include a parent's: what the last request took is all that is the file's own.
        """
        before, self.total = self.total, total
        if before == total:
            return None
        step = total.step_from(before) if before is not None else None
        fallen, self.fallen = self.fallen, None
        if step is None:
            self.falls += before is not None
            self.fallen = before
            step = last or total
        elif fallen is not None and last is not None and step != last and total.step_from(fallen) == last:
            step = last  # the one that fell was out of place: it goes on from before
        return step if any(getattr(step, name) for name in step.__struct_fields__) else None

    def add(self, last: Tokens, at: str | None) -> Tokens | None:
        """The tokens of a request where no total is written; none where it is said again at the same moment."""
        if (last, at) == (self.last, self.said):
            return None
        self.last, self.said, before = last, at, self.total or Tokens()
        return self.advance(before.plus(last), None)


def counted(running: Running, lineage: str, raw: msgspec.Raw, at: str | None) -> tuple[str, Tokens, str | None] | None:
    """Identity, tokens and model of what a `token_count` adds, if it adds anything.

    The identity is the advance of the running total: a fork that repeats its parent's records repeats it as well.
    """
    if running.recorded or not is_object(raw):
        return None
    info = decode(raw, Info)
    last = _tokens(info.last)
    total = _tokens(info.total)
    step = running.advance(total, last) if total is not None else running.add(last, at) if last is not None else None
    return (f"{lineage}:{_total_id(running)}", step, info.model) if step else None


def limits(raw: msgspec.Raw, seen: str | None) -> list[Limit]:
    """What a `token_count` says of the provider's limits; nothing where it is not understood."""
    if seen is None or not is_object(raw):
        return []
    try:
        found = decode(raw, RateLimits)
    except msgspec.ValidationError:
        return []
    windows = [
        found.primary or Window(found.primary_used_percent, found.primary_window_minutes),
        found.secondary or Window(found.secondary_used_percent, found.secondary_window_minutes),
    ]
    return [limit for window in windows if (limit := _limit(window, seen)) is not None]


def _limit(window: Window, seen: str) -> Limit | None:
    if window.used_percent is None or not window.window_minutes:
        return None
    resets = window.resets_at
    if resets is None and window.resets_in_seconds is not None:
        resets = int(datetime.fromisoformat(seen.replace("Z", "+00:00")).timestamp()) + window.resets_in_seconds
    minutes = (window.window_minutes + 30) // 60 * 60  # old versions say 299 for five hours
    return Limit(minutes or window.window_minutes, window.used_percent, resets, seen)


def counted_turn(running: Running, thread: str, raw: msgspec.Raw) -> tuple[str, Tokens] | None:
    """Identity and tokens of a turn in an `exec --json` stream, whose usage is the thread's running total."""
    total = _tokens(raw)
    step = running.advance(total, None) if total else None
    return (f"{thread}:turn:{_total_id(running)}", step) if step else None


def recorded(running: Running, session_id: str, ordinal: int | None, payload: bytes) -> tuple[str, Tokens] | None:
    """Identity and tokens of a request that has a record of its own: a copy may have another number in its file."""
    running.recorded = True
    found = decode(payload, Requested)
    tokens = _tokens(found.usage)
    name = found.response_id or ordinal
    return (f"{found.thread_id or session_id}:{name}", tokens) if tokens is not None and name is not None else None


def usage(
    usage_id: str,
    tokens: Tokens,
    *,
    session_id: str,
    source: str,
    line: int,
    timestamp: str | None,
    model: str | None,
    turn: int | None,
    service_tier: str | None,
    native: bool,
) -> Usage:
    """A request's tokens, each kind apart."""
    cached = min(tokens.cached_input_tokens, tokens.input_tokens)
    written = min(tokens.cache_write_input_tokens, tokens.input_tokens - cached)
    return Usage(
        usage_id=usage_id,
        session_id=session_id,
        host=HOST,
        source=source,
        line=line,
        timestamp=timestamp,
        model=model,
        turn=turn,
        input_tokens=tokens.input_tokens - cached - written,
        cache_write_5m_tokens=written,
        cache_read_tokens=cached,
        output_tokens=tokens.output_tokens,
        reasoning_tokens=tokens.reasoning_output_tokens,
        service_tier=service_tier,
        quality=Quality.EXACT,
        native=native,
    )


def _total_id(running: Running) -> str:
    total = running.total or Tokens()
    counts = "-".join(str(getattr(total, name)) for name in total.__struct_fields__)
    return f"{running.falls}:{counts}" if running.falls else counts


def _tokens(raw: msgspec.Raw) -> Tokens | None:
    if not is_object(raw):
        return None
    found = decode(raw, Tokens)
    if not found.cached_input_tokens and b'"cache_read_input_tokens"' in bytes(raw):
        found.cached_input_tokens = decode(raw, _OtherName).cached_input_tokens
    return found
