"""Every play by its name: what the model answers, and what is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from live import (
    claude_plays,
    codex_plays,
    copilot_plays,
    gemini_plays,
    grok_plays,
    hook_plays,
    mining_plays,
    opencode_plays,
)
from live.model import Model
from live.script import Lane

PLAYS: Final[dict[str, tuple[Callable[[Path], Sequence[Lane]], Callable[[Path, Model], None]]]] = {
    "claude": (claude_plays.lanes, claude_plays.work),
    "claude-headless": (mining_plays.claude_lanes, mining_plays.claude),
    "claude-restored": (claude_plays.lanes, claude_plays.restored),
    "codex": (codex_plays.lanes, codex_plays.work),
    "codex-headless": (mining_plays.codex_lanes, mining_plays.codex),
    "codex-restored": (codex_plays.lanes, codex_plays.restored),
    "copilot": (copilot_plays.lanes, copilot_plays.work),
    "gemini": (gemini_plays.lanes, gemini_plays.work),
    "grok": (grok_plays.lanes, grok_plays.work),
    "claude-hooks": (claude_plays.lanes, hook_plays.claude),
    "claude-weave": (claude_plays.lanes, hook_plays.claude_weave),
    "codex-hooks": (codex_plays.lanes, hook_plays.codex),
    "codex-weave": (codex_plays.lanes, hook_plays.codex_weave),
    "copilot-hooks": (copilot_plays.lanes, hook_plays.copilot),
    "copilot-weave": (copilot_plays.lanes, hook_plays.copilot_weave),
    "gemini-hooks": (gemini_plays.lanes, hook_plays.gemini),
    "gemini-weave": (gemini_plays.lanes, hook_plays.gemini_weave),
    "opencode": (opencode_plays.lanes, opencode_plays.work),
}
