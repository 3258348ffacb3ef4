"""The record types of GitHub Copilot CLI that give no event, its tools, and how it names a repository."""

from __future__ import annotations

from typing import Final

from retro.agents.fields import Fields, string
from retro.event import EventType

HOST: Final = "copilot"

BOOKKEEPING_TYPES: Final = {
    "line_ends": "the bytes between records",
    "bom": "a byte order mark at the beginning of a file",
    "sidecar": "a file beside the session, kept whole",
    "system.message": "the host's own instructions to the model",
    "session.resume": "the session was opened again; folder and branch are read from it",
    "session.context_changed": "another folder or branch; the next event has it",
    "session.model_change": "another model was chosen; each answer names its own",
    "session.mode_changed": "how much the agent may do by itself",
    "session.permissions_changed": "what the agent may do without asking",
    "session.session_limits_changed": "how much a session may spend",
    "session.remote_steerable_changed": "whether the session can be steered from elsewhere",
    "session.plan_changed": "the plan was written; the call that wrote it is a record",
    "session.todos_changed": "the list of things to do changed; the call that changed it is a record",
    "session.workspace_file_changed": "a file of the session's own folder; it is kept beside the session",
    "session.autopilot_objective_changed": "state of the automatic mode",
    "session.auto_mode_resolved": "which model was picked, and by what scores",
    "session.schedule_cancelled": "a planned prompt was taken back",
    "session.schedule_rearmed": "when a planned prompt comes next",
    "session.usage_record": "tokens of a request, read by the ledger",
    "session.usage_checkpoint": "running totals of cost",
    "session.usage_info": "how full the context is",
    "session.compaction_start": "a compaction began; its end is a record",
    "session.snapshot_rewind": "the host went back to an earlier state; what was said before stays",
    "session.binary_asset": "bytes of an image that a message names",
    "session.canvas.recorded": "a drawing surface of an extension",
    "session.canvas.removed": "a drawing surface of an extension",
    "session.idle": "the agent waits",
    "session.background_tasks_changed": "state of background tasks; their calls are records",
    "session.tools_updated": "which tools there are",
    "session.skills_loaded": "which skills there are",
    "session.custom_agents_updated": "which agents there are",
    "session.extensions_loaded": "which extensions there are",
    "session.mcp_servers_loaded": "state of tool servers",
    "session.mcp_server_status_changed": "state of a tool server",
    "session.mcp_server_tools_loaded": "state of a tool server",
    "assistant.turn_start": "a request began",
    "assistant.turn_end": "a request ended",
    "assistant.idle": "the agent waits",
    "assistant.intent": "a few words for the status line; the call that made them is a record",
    "assistant.usage": "tokens of a request as they are shown; the session's record has them",
    "assistant.message_start": "a message whose whole follows",
    "assistant.message_delta": "a part of a message whose whole follows",
    "assistant.reasoning_delta": "a part of a reasoning whose whole follows",
    "assistant.streaming_delta": "how much has come",
    "assistant.tool_call_delta": "a part of a call whose whole follows",
    "tool.execution_partial_result": "a part of an output whose whole follows",
    "tool.execution_progress": "how far a call is; its result follows",
    "tool.shell_output": "a part of an output whose whole follows",
    "tool_search.activated": "which tools were looked up; the call is a record",
    "hook.start": "a hook began; what it is given stands in other records",
    "hook.progress": "how far a hook is",
    "permission.requested": "a question to the person; the answer to it is a record",
    "external_tool.requested": "a call that another program carries out; the call is a record",
    "external_tool.completed": "a call that another program carried out; its result is a record",
    "subagent.configured": "the model of a sub-agent",
    "subagent.selected": "an agent was chosen for what follows",
    "subagent.deselected": "an agent was chosen no longer",
    "model.turn_started": "the request of a compaction; the compaction is a record",
    "model.model_call_started": "the request of a compaction; the compaction is a record",
    "model.model_call_success": "the request of a compaction, whole; the compaction is a record with its summary",
    "model.message": "the answer to a compaction; its summary is in the compaction's record",
    "model.response": "the answer to a compaction; its summary is in the compaction's record",
    "model.turn_ended": "the request of a compaction; the compaction is a record",
    "model.messages_snapshot": "the whole conversation as a compaction sends it; every message is a record",
    "model.call_start": "a request began",
    "model.call_finished": "a request ended",
    "model.call_final_result": "a request ended",
    "history.sessionId": "the id of the session",
    "history.selectedModel": "the model that answers",
    "history.chatMessages": "the conversation as the model is given it: the timeline has it as well",
}
"""Every record type that gives no event, with the reason."""

UNCOUNTED: Final = {
    "assistant.message": "an answer without text, reasoning and calls gives no event",
    "assistant.reasoning": "a reasoning that the answer repeats gives no event",
    "tool.execution_start": "a call that an answer asked for gives no event again",
    "subagent.started": "a sub-agent whose call is a record gives no event; the record says which call it was",
    "hook.end": "a hook that said nothing gives no event",
    "session.title_changed": "a title that was taken away gives no event",
    "session.task_complete": "without a summary it gives no event",
    "turns": "a turn of the database without words gives no event",
    "session_files": "a row of the database without a path gives no event",
    "session_refs": "names of commits and issues that the host found in the conversation",
    "assistant_usage_events": "tokens of a request, read by the ledger",
    "timeline.user": "one without text gives no event",
    "timeline.copilot": "one without text gives no event",
    "timeline.info": "one without text gives no event",
}
"""Record types of which some records give an event, and which do not."""

TOOLS: Final = {
    "bash": EventType.COMMAND,
    "shell": EventType.COMMAND,
    "powershell": EventType.COMMAND,
    "local_shell": EventType.COMMAND,
    "view": EventType.FILE_READ,
    "read_file": EventType.FILE_READ,
    "show_file": EventType.FILE_READ,
    "edit": EventType.FILE_EDIT,
    "create": EventType.FILE_EDIT,
    "write": EventType.FILE_EDIT,
    "str_replace": EventType.FILE_EDIT,
    "str_replace_editor": EventType.FILE_EDIT,
    "insert": EventType.FILE_EDIT,
    "web_search": EventType.WEB_SEARCH,
    "web_fetch": EventType.WEB_SEARCH,
    "fetch": EventType.WEB_SEARCH,
    "task": EventType.SUBAGENT_START,
    "subagent": EventType.SUBAGENT_START,
}
"""What kind of call the host's own tools are."""


def remote(fields: Fields, name: object) -> str | None:
    """The address of the repository that is called `owner/name` where the host keeps it."""
    text = string(name)
    place = string(fields.get("repositoryHost"))
    if place is None and "github" in (fields.get("hostType"), fields.get("host_type")):
        place = "github.com"
    return f"https://{place}/{text}" if text and place else text
