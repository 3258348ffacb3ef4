"""The rows of OpenCode that give no event."""

from __future__ import annotations

from typing import Final

HOST: Final = "opencode"
FORK: Final = "fork"
"""Table of a row that retro makes itself: the session of which this one is a copy, as their first messages tell."""

BOOKKEEPING_TYPES: Final = {
    "todo": "an entry of the list of things to do; the call that wrote it is a record",
    FORK: "the session that this one is a copy of",
    "part.step-start": "a request to the model began",
    "part.step-finish": "a request to the model ended; its tokens are read by the ledger",
    "part.snapshot": "the state of the files, in the host's own store",
    "part.patch": "which files differ after a step; edits and commands are parts of their own",
    "part.agent": "which agent a prompt names; the prompt says so",
}
"""Record types that give no event, each with the reason."""

UNCOUNTED: Final = {
    "message.user": "who asked whom; the words are parts, of which those without a type of their own are told",
    "message.assistant": "folder, model and tokens; only one that failed or was stopped gives an event",
    "part.text": "one without text gives no event",
    "part.reasoning": "one without text gives no event",
}
"""Record types of which some give an event and some do not."""
