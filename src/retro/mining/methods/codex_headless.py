"""Asks Codex what a session teaches: starts `codex exec`, and only where this method is named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from retro.mining.base import MemoryCandidate, Options, Trace, register_method
from retro.mining.headless.asking import ask
from retro.mining.headless.clients import CODEX


@register_method(
    "codex_headless",
    description="what Codex makes of a summary of the session: starts `codex exec`, which uses your account",
    opt_in=True,
)
def codex_headless(traces: Sequence[Trace], options: Options) -> Iterable[MemoryCandidate]:
    """One question for each session; its stream is kept below `headless/`."""
    return ask(CODEX, traces, options)
