"""The record types of Copilot in JetBrains' IDEs that give no event, and the tables of what is recovered."""

from __future__ import annotations

from typing import Final

from retro.agents.chatfiles import UNCOUNTED as CHATS

HOST: Final = "jetbrains"

STORE: Final = "store"
SESSION: Final = "session"
TURN: Final = "turn"
TEXT: Final = "text"
RECOVERED: Final = frozenset({STORE, SESSION, TURN, TEXT})
"""Tables of what was recovered from a store whose format we only know in part."""

BOOKKEEPING_TYPES: Final = {
    "line_ends": "the bytes between records",
    "bom": "a byte order mark at the beginning of a file",
    "assistant.turn_start": "an answer begins; the model is read from it, where it is told",
    SESSION: "title and project of a recovered session",
}
"""Record types that give no event, each with the reason."""

UNCOUNTED: Final = {
    **CHATS,
    "assistant.message": "one without text and thought gives no event",
    "assistant.turn_end": "only one that did not end well gives an event",
    "user.message_rendered": "one that adds nothing to the prompt gives no event",
    TURN: "one without question and answer gives no event",
}
"""Record types of which some give an event and some do not."""
