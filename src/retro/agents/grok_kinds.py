"""The record types of Grok Build that give no event, and its tools."""

from __future__ import annotations

from typing import Final

from retro.event import EventType

HOST: Final = "grok"

BOOKKEEPING_TYPES: Final = {
    "line_ends": "the bytes between records",
    "bom": "a byte order mark at the beginning of a file",
    "sidecar": "a file beside the session, kept whole",
    "background_tasks": "which commands run in the background; their calls are records",
    "plan": "a list of things to do; the call that wrote it is a record",
    "current_mode_update": "how much the agent may do by itself",
    "available_commands_update": "which commands there are",
    "session_info_update": "state of the session",
    "usage_update": "how full the context is",
    "auto_compact_started": "a compaction began; its end is a record",
    "compaction_checkpoint": "where the conversation as it was is kept, beside the session",
    "subagent_spawned": "which session a sub-agent's is; the call that started it is a record",
    "log:turn_started": "a turn began",
    "log:turn_ended": "a turn ended",
    "log:loop_started": "a request began",
    "log:phase_changed": "what the host waits for",
    "log:first_token": "an answer began",
    "log:tool_started": "a call began; it is a record",
    "log:tool_completed": "a call ended; its result is a record",
    "log:permission_requested": "a call waits for a decision; the decision is a record",
    "log:mcp_config_resolved": "state of tool servers",
    "log:mcp_server_starting": "state of a tool server",
    "log:mcp_server_connected": "state of a tool server",
    "log:mcp_init_completed": "state of tool servers",
    "log:mcp_tool_call_started": "a call began; it is a record",
    "log:mcp_tool_call_completed": "a call ended; its result is a record",
    "rewind": "files as they were before a prompt, for undo; the edits are records",
    "layout": "what stands between the lines of a file that is replaced",
    "chat:system": "the host's own instructions to the model",
}
"""Every record type that gives no event, with the reason."""

UNCOUNTED: Final = {
    "tool_call_update": "only the end of a call, its result, gives an event; what it does is told by the call",
    "hook_execution": "a hook that went well gives no event",
    "turn_completed": "tokens of a turn, read by the ledger; only a turn that was stopped gives an event",
    "retry_state": "a request that went well in the end gives no event",
    "user_message_chunk": "a piece without text gives no event",
    "agent_message_chunk": "a piece without text gives no event",
    "agent_thought_chunk": "a piece without text gives no event",
    "log:permission_resolved": "only a call that was not allowed gives an event",
    "chat:user": "where there is a log of updates, it has what was typed",
    "chat:assistant": "where there is a log of updates, it has the answers",
    "chat:reasoning": "where there is a log of updates, it has the thoughts; encrypted ones give no event",
    "chat:tool_result": "where there is a log of updates, it has the results",
    "chat:tool": "where there is a log of updates, it has the results",
    "chat:backend_tool_call": "where there is a log of updates, it has the calls",
}
"""Record types of which some records give an event, and which do not."""

TOOLS: Final = {
    "run_terminal_command": EventType.COMMAND,
    "run_terminal_cmd": EventType.COMMAND,
    "bash": EventType.COMMAND,
    "read_file": EventType.FILE_READ,
    "search_replace": EventType.FILE_EDIT,
    "edit": EventType.FILE_EDIT,
    "write": EventType.FILE_EDIT,
    "create_file": EventType.FILE_EDIT,
    "web_search": EventType.WEB_SEARCH,
    "web_fetch": EventType.WEB_SEARCH,
    "spawn_subagent": EventType.SUBAGENT_START,
    "task": EventType.SUBAGENT_START,
}
"""What kind of call the host's own tools are."""
