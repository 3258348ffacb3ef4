"""What a tool call did, in a line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Final

from retro.event import Event, EventType
from retro.surfaces.prose import COMMAND_WIDTH, code_span, cut_to, flat_text, line_count, lines_of, plural, words_of

FOLDED_LINES: Final = 3
HEADING_WIDTH: Final = 72


def _command_words(event: Event, cwd: str) -> str:
    lines = [line for line in lines_of(event.command or event.text or "") if line.strip()]
    words = code_span(f"$ {lines[0]}" if lines else "$", COMMAND_WIDTH)
    if len(lines) > 1:
        words += f" … {plural(len(lines) - 1, 'more line')}"
    description = payload_text(event, "description")
    long = len(lines) > 1 or len(lines[0] if lines else "") > COMMAND_WIDTH - 2
    return f"{words} ({words_of(description, HEADING_WIDTH)})" if long and description else words


def _read_words(event: Event, cwd: str) -> str:
    return f"read {path_words(event, cwd)}"


def _edit_words(event: Event, cwd: str) -> str:
    paths, change = path_words(event, cwd), payload_text(event, "change")
    if change == "write":
        return f"wrote {paths} ({plural(line_count(event.text), 'line')}{'+' if event.truncated else ''})"
    if change in ("delete", "move"):
        return f"{'deleted' if change == 'delete' else 'moved'} {paths}"
    lines = lines_of(event.text or "")
    headers = {n + k for n, line in enumerate(lines[:-1]) for k in (0, 1) if _is_file_header(line, lines[n + 1])}
    body = [line for n, line in enumerate(lines) if n not in headers]
    added, removed = (sum(line.startswith(sign) for line in body) for sign in "+-")
    return f"edited {paths} (+{added:,} −{removed:,})"


def _is_file_header(line: str, following: str) -> bool:
    return line.startswith("--- ") and following.startswith("+++ ")


def _web_words(event: Event, cwd: str) -> str:
    text = flat_text(event.text or event.summary)
    return f"{'fetched' if re.match('https?://', text) else 'searched the web for'} {code_span(text, COMMAND_WIDTH)}"


def agent_words(event: Event, cwd: str) -> str:
    """What a sub-agent was called for."""
    kind = payload_text(event, "agent_type")
    what = words_of(payload_text(event, "description"), HEADING_WIDTH)
    return "sub-agent" + (f" {code_span(kind)}" if kind else "") + (f": {what}" if what else "")


def _tool_words(event: Event, cwd: str) -> str:
    """Any other tool with its main arguments; a search, whatever its name, with its pattern."""
    name = event.tool or "tool"
    if name.startswith("mcp__"):
        name = name[5:].replace("__", ": ", 1)
    arguments = _json_object(event.text)
    if arguments is None:
        return words_of(name, 80) + (f" {code_span(event.text, COMMAND_WIDTH)}" if (event.text or "").strip() else "")
    pattern, place = arguments.get("pattern"), arguments.get("path")
    if isinstance(pattern, str) and pattern:
        inside = f" in {code_span(_shortened(place, cwd))}" if isinstance(place, str) and place else ""
        return f"{words_of(name, 80)} {code_span(pattern, COMMAND_WIDTH)}{inside}"
    main = " ".join(f"{key}={_value(value)}" for key, value in list(arguments.items())[:FOLDED_LINES])
    return words_of(name, 80) + (f" {code_span(main, COMMAND_WIDTH)}" if main else "")


def _json_object(text: str | None) -> dict[str, object] | None:
    try:
        value = json.loads(text or "")
    except (ValueError, RecursionError):
        return None
    return {str(key): held for key, held in value.items()} if isinstance(value, dict) else None


def _value(value: object) -> str:
    """An argument in a few characters; lists and objects by their size."""
    if isinstance(value, list):
        return f"[{len(value)}]"
    if isinstance(value, dict):
        return "{…}"
    return cut_to(flat_text(value if isinstance(value, str) else json.dumps(value)), HEADING_WIDTH)


CALL_WORDS: Final[dict[EventType, Callable[[Event, str], str]]] = {
    EventType.COMMAND: _command_words,
    EventType.FILE_READ: _read_words,
    EventType.FILE_EDIT: _edit_words,
    EventType.WEB_SEARCH: _web_words,
    EventType.TOOL_CALL: _tool_words,
}


def path_words(event: Event, cwd: str) -> str:
    """The files that a call touched."""
    paths = event.paths or []
    if not paths:
        return "a file"
    more = f" and {len(paths) - FOLDED_LINES:,} more" if len(paths) > FOLDED_LINES else ""
    arrow = " → " if payload_text(event, "change") == "move" else ", "
    return arrow.join(code_span(_shortened(path, cwd)) for path in paths[:FOLDED_LINES]) + more


def _shortened(path: str, cwd: str) -> str:
    """A path as seen from the session's folder."""
    root = cwd.rstrip("/\\")
    inside = bool(root) and path.startswith(root) and path[len(root) : len(root) + 1] in ("/", "\\")
    return path[len(root) + 1 :] or path if inside else path


def payload_text(event: Event, key: str) -> str:
    """A text of the payload, empty where there is none."""
    value = (event.payload or {}).get(key)
    return value if isinstance(value, str) else ""
