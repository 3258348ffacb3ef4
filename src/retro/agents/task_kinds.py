"""What the parts of tasks are called that Cline and what grew out of it keep, and which of them give no event."""

from __future__ import annotations

from typing import Final

USAGE: Final = "usage"
"""Key of what the window of a task showed: it repeats the conversation, and tells tokens."""
CHILD: Final = "child"
"""Key of a task that another one gave: its first words are a model's."""

BOOKKEEPING_TYPES: Final = {
    "version": "the version of the format",
    "updated_at": "when the document was written",
    "agent": "the name of the agent",
    "sessionId": "the id of the session",
    "session_id": "the id of the session",
    "systemPrompt": "the host's own instructions to the model",
    "system_prompt": "the host's own instructions to the model",
    "shown": "the window of a task: words, calls and results again, which the conversation has",
    "shown:api_req_started": "a request to the model: the ledger reads its tokens, and its words are said elsewhere",
}
"""Parts that give no event, each with the reason."""

UNCOUNTED: Final = {
    "message.user": "one without text, image or result gives no event",
    "message.assistant": "one without text, thought or call gives no event",
    "message.tool": "one without result gives no event",
    "message.reasoning": "a thought of which only its encrypted form is there gives no event",
}
"""Parts of which some give an event and some do not."""
