"""The rows of VS Code's chats that give no event."""

from __future__ import annotations

from typing import Final

HOST: Final = "vscode"

BOOKKEEPING_TYPES: Final = {
    "line_ends": "the bytes between records",
    "bom": "a byte order mark at the beginning of a file",
    "ItemTable": "the title of the chat, in the window's own database",
    "input": "what stands in the input box and was not sent: no turn",
    "part.codeblockUri": "names the file of a code block beside it",
    "part.undoStop": "a place to go back to",
    "part.prepareToolInvocation": "a call is being prepared; it is a part of its own",
    "part.mcpServersStarting": "state of tool servers",
    "part.progressMessage": "state of the user interface",
    "part.progressTaskSerialized": "state of the user interface",
    "part.clearToPreviousToolInvocation": "state of the user interface",
    "part.command": "a button",
    "part.move": "a switch of the user interface",
    "part.extensions": "names of extensions",
    "part.disabledClaudeHooks": "a setting",
}
"""Row and part types that give no event, each with the reason."""

UNCOUNTED: Final = {
    "text": "prose that is empty gives no event",
    "part.thinking": "one without text, which only marks the end of a thought, gives no event",
    "round": "only prose, thoughts and calls that are in no part of the response give events",
    "outputs": "results of calls that gave an event already give none",
    "result": "only errors, interrupts, kept or undone edits, references, follow-ups and votes give events",
    "pending": "a request that is queued gives an event only where it has a text",
    "part.toolInvocationSerialized": "one that has neither a name nor a message gives no event",
}
"""Types of which some give an event and some do not."""
