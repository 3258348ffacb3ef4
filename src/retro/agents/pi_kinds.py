"""The record types of pi that give no event, and the names of its files."""

from __future__ import annotations

import re
from typing import Final

HOST: Final = "pi"

BOOKKEEPING_TYPES: Final = {
    "line_ends": "the bytes between records",
    "bom": "a byte order mark at the beginning of a file",
    "model_change": "another model was chosen; each answer names its own",
    "thinking_level_change": "how long the model is to think",
    "custom": "what an extension keeps for itself; it is no part of the conversation",
}
"""Every record type that gives no event, with the reason."""

UNCOUNTED: Final = {
    "message": "an answer without content, error or tokens gives no event",
    "label": "a mark that was taken away again gives no event",
    "session_info": "a name that was taken away again gives no event",
}
"""Record types of which some records give an event, and which do not."""

_UUID_AT_END: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")


def id_in_name(path: str) -> str:
    """The session's id in a file's name, `<time>_<id>.jsonl`; the whole name where there is none."""
    stem = re.split(r"[\\/]", path)[-1].removesuffix(".jsonl")
    found = _UUID_AT_END.search(stem)
    return found[0] if found else stem.rpartition("_")[2] or stem
