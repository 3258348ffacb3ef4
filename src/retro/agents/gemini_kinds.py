"""The record types of Gemini CLI that give no event."""

from __future__ import annotations

from typing import Final

HOST: Final = "gemini"
PROMPTS: Final = "prompts"
"""Key of what the project's log has of a session whose chat is there: what was typed, which the chat tells as well."""

ABOUT: Final = {
    "sessionId": "the id of the session",
    "projectHash": "a hash of the project's folder, by which the folder is known",
    "lastUpdated": "when the session was written last",
    "kind": "whether it is a sub-agent's",
    "directories": "folders of the workspace; the first is the session's folder",
    "summary": "the title that the host gave the session",
    "memoryScratchpad": "names of tools, noted for the host's own memory",
    "activeExtensionName": "the extension in use",
    "authType": "how the person is logged in",
    "meta": "the model's name, which each answer tells",
    "start_time": "when the session began",
}
"""Members of a session beside its messages."""

BOOKKEEPING_TYPES: Final = {
    "line_ends": "the bytes between records",
    "bom": "a byte order mark at the beginning of a file",
    "layout": "what stands between the members of a chat that is rewritten",
    **ABOUT,
}
"""Record types that give no event, each with the reason."""

UNCOUNTED: Final = {
    "header": "one that only says again what an earlier one said gives no event",
    "$set": "members of the session; of a list of messages, those that were told before give no event",
    "startTime": "one without a time gives no event",
    "user": "one that only hands on the results of calls, which stand with the calls, gives no event",
    "gemini": "one without text, thought or call gives no event",
    "model": "one without text or call gives no event",
    "info": "one without text gives no event",
    "warning": "one without text gives no event",
    "error": "one without text gives no event",
    "log": "what a person typed is told by the session's chat where there is one, but for commands to the host",
}
"""Record types of which some give an event and some do not."""
