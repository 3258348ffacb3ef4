"""The record types of Claude Code that give no event."""

from __future__ import annotations

from typing import Final

HOST: Final = "claude"

BOOKKEEPING_TYPES: Final = {
    "line_ends": "the bytes between records",
    "bom": "a byte order mark at the beginning of a file",
    "file-history-snapshot": "which backups of edited files exist; the backups themselves are sidecars",
    "file-history-delta": "the same, as a change",
    "mode": "a switch of the user interface",
    "permission-mode": "a switch of the user interface",
    "atis-latch": "an internal marker",
    "tools-used": "names of tools, each of whose calls is a record of its own",
    "cost-state": "running totals, read by the ledger",
    "last-prompt": "repeats a prompt or a typed command that is a record of its own",
    "agent-name": "repeats the title",
    "worktree-state": "state of the user interface",
    "relocated": "the session's folder moved",
    "bridge-session": "connection of a remote session",
    "started": "a workflow's step began; its agent's records follow in a file of their own",
    "api-request": "parameters of a model request, without text",
    "api-request-shape": "system prompt and tools of a model request, the same for every session",
    "api-request-blob": "a message as sent to the model; repeats the records of the conversation",
    "progress:bash_progress": "the beginning of an output whose whole is in the tool's result",
    "progress:hook_progress": "a hook was started",
    "progress:mcp_progress": "a tool was started; its call and result are records",
    "progress:search_results_received": "how many results a search gave; they are in its result",
    "progress:waiting_for_task": "a tool waits; its call and result are records",
    "system:turn_duration": "how long a turn took",
    "attachment:prompt_snapshot": "the host's own system prompt",
    "attachment:environment": "platform and folder as told to the model",
    "attachment:model": "the model's name as told to the model",
    "attachment:date": "the day as told to the model",
    "attachment:date_change": "the day as told to the model",
    "attachment:auto_mode": "the host's own instructions",
    "attachment:plan_mode": "the host's own instructions",
    "attachment:plan_mode_exit": "the host's own instructions",
    "attachment:session_context": "git status as told to the model",
    "attachment:remote_session_change": "the host's own instructions",
    "attachment:deferred_tools_delta": "names of tools",
    "attachment:deferred_tools_record": "descriptions of tools",
    "attachment:agent_listing_delta": "descriptions of sub-agents",
    "attachment:skill_listing": "descriptions of skills",
    "attachment:command_permissions": "names of tools",
    "attachment:ultra_effort_enter": "the host's own instructions",
    "attachment:ultra_effort_exit": "the host's own instructions",
    "attachment:batching_reminder_sent": "the host's own instructions",
    "attachment:silent_turn_reminder": "the host's own instructions",
    "attachment:total_tokens_reminder": "the host's own instructions",
    "attachment:budget_usd": "a running total",
}
"""Record types that give no event, each with the reason."""

UNCOUNTED: Final = {
    "queue-operation": "only those that carry the queued text give an event",
    "system:stop_hook_summary": "only those where a hook failed or said something give an event",
    "attachment:hook_success": "only those where the hook printed something give an event",
}
"""Record types of which some give an event and some do not."""
