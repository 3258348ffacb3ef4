"""Asks Claude Code what a session teaches: starts `claude -p`, and only where this method is named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from retro.mining.base import MemoryCandidate, Options, Trace, register_method
from retro.mining.headless.asking import ask
from retro.mining.headless.clients import CLAUDE


@register_method(
    "claude_headless",
    description="what Claude Code makes of a summary of the session: starts `claude -p`, which uses your account",
    opt_in=True,
)
def claude_headless(traces: Sequence[Trace], options: Options) -> Iterable[MemoryCandidate]:
    """One question for each session; its stream is kept below `headless/`."""
    return ask(CLAUDE, traces, options)
