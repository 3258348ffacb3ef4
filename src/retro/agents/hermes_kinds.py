"""What Hermes' parts are called, and which of them give no event."""

from __future__ import annotations

from typing import Final

HOST: Final = "hermes"
SNAPSHOT: Final = "snapshot"
"""Key of a session's JSON document."""
LOG: Final = "log"
"""Key of a session's JSON lines."""

BOOKKEEPING_TYPES: Final = {
    "line_ends": "the bytes between records",
    "bom": "a byte order mark at the beginning of a file",
    "session_model_usage": "the tokens of a model: the ledger has them",
    "session_id": "the id of the session",
    "model": "the model that answers",
    "model_config": "settings of the model, and the folder",
    "base_url": "where the model is asked",
    "platform": "where the person wrote",
    "cwd": "the folder of the session",
    "last_updated": "when the document was written",
    "message_count": "how many messages there are",
    "system_prompt": "the host's own instructions to the model",
    "tools": "descriptions of the tools that the model may call",
    "message.session_meta": "the settings of the session again",
}
"""Parts that give no event, each with the reason."""

UNCOUNTED: Final = {
    "message.user": "one without text gives no event",
    "message.assistant": "one without text, thought or call gives no event",
    "message.system": "one without text gives no event",
}
"""Parts of which some give an event and some do not."""
