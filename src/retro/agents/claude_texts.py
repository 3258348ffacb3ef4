"""What Claude Code's calls, results and texts say: pure functions from its shapes to ours."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import msgspec

from retro.agents.claude_shapes import (
    Edit,
    Input,
    Result,
    decode_any,
    decode_content,
    decode_input,
    decode_result,
    encode,
    mapping,
)
from retro.agents.emitter import one_line
from retro.agents.fields import between
from retro.event import EventType, Origin

_COMMAND = ("<command-name>", "</command-name>")
_ARGUMENTS = ("<command-args>", "</command-args>")
_INNER = re.compile(r"^<([a-z-]+)>(.*?)(?:</\1>|$)", re.DOTALL)
_EXIT = re.compile(r"(?:Error: )?Exit code (\d{1,4})\b|<returncode>(-?\d{1,4})</returncode>")
_REJECTED: Final = ("The user doesn't want to ", "User rejected tool use", "[Request interrupted by user for tool use]")
INTERRUPTED: Final = "[Request interrupted by user"
CONTINUED: Final = "This session is being continued from a previous conversation"

TAGGED: Final = {
    "command-name": Origin.HUMAN,
    "command-message": Origin.HUMAN,
    "bash-input": Origin.HUMAN,
    "user-memory-input": Origin.HUMAN,
    "bash-stdout": Origin.MACHINE,
    "bash-stderr": Origin.MACHINE,
    "local-command-stdout": Origin.MACHINE,
    "local-command-stderr": Origin.MACHINE,
    "local-command-caveat": Origin.MACHINE,
    "task-notification": Origin.MACHINE,
    "tick": Origin.MACHINE,
    "system-reminder": Origin.INJECTED,
    "user-prompt-submit-hook": Origin.INJECTED,
    "session-start-hook": Origin.INJECTED,
    "new-diagnostics": Origin.INJECTED,
    "ide_opened_file": Origin.INJECTED,
    "ide_selection": Origin.INJECTED,
    "ide_diagnostics": Origin.INJECTED,
    "teammate-message": Origin.AGENT,
    "agent-message": Origin.AGENT,
    "cross-session-message": Origin.AGENT,
}
"""Texts in a user's record that the host wraps in a tag, and whose they are."""

_TAG = re.compile(r"\s*<([a-z][a-z_-]*)[\s>]")

_EDITS: Final = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
_READS: Final = frozenset({"Read", "NotebookRead"})
_SHELLS: Final = frozenset({"Bash", "PowerShell"})
_SEARCHES: Final = frozenset({"WebSearch", "WebFetch"})
_AGENTS: Final = frozenset({"Task", "Agent"})


class Described(NamedTuple):
    """A tool call as an event."""

    event_type: EventType
    summary: str
    text: str | None = None
    command: str | None = None
    paths: list[str] | None = None
    payload: dict[str, object] | None = None


def describe(name: str, raw: msgspec.Raw) -> Described:
    """What a call does, by the tool it calls."""
    try:
        given = decode_input(raw)
    except msgspec.DecodeError:
        return _generic(name, raw, None)
    path = given.file_path or given.notebook_path
    if name in _SHELLS and given.command is not None:
        payload: dict[str, object] = {"description": given.description} if given.description else {}
        if given.run_in_background:
            payload["background"] = True
        return Described(
            EventType.COMMAND, one_line(f"$ {given.command}"), command=given.command, payload=payload or None
        )
    if name in _READS and path:
        return Described(EventType.FILE_READ, one_line(f"read {path}"), paths=[path])
    if name in _EDITS and path:
        return _edited(name, given, path)
    if name in _SEARCHES and (given.query or given.url):
        text = "\n".join(part for part in (given.query, given.url, given.prompt) if part)
        return Described(EventType.WEB_SEARCH, one_line(f"{name} {text}"), text)
    if name in _AGENTS:
        about: dict[str, object] = {"description": given.description} if given.description else {}
        if given.subagent_type:
            about["agent_type"] = given.subagent_type
        text = given.prompt or ""
        return Described(EventType.SUBAGENT_START, one_line(given.description or text), text, payload=about or None)
    return _generic(name, raw, given)


def _generic(name: str, raw: msgspec.Raw, given: Input | None) -> Described:
    text = encode(decode_any(raw)).decode()
    paths = [found for found in (given.file_path, given.notebook_path, given.path) if found] if given else []
    about = (given.pattern or given.query or given.description) if given else None
    summary = " ".join(part for part in (name, about, *paths) if part) if about or paths else f"{name} {text}"
    return Described(EventType.TOOL_CALL, one_line(summary), text, paths=paths or None)


def _edited(name: str, given: Input, path: str) -> Described:
    """An edit as the lines it takes away and the lines it puts there."""
    whole = given.content if given.content is not None else given.new_source
    if whole is not None and given.old_string is None:
        return Described(
            EventType.FILE_EDIT, one_line(f"write {path}"), whole, paths=[path], payload={"change": "write"}
        )
    edits = given.edits or [Edit(given.old_string or "", given.new_string or "")]
    text = "\n".join(_difference(edit) for edit in edits)
    return Described(EventType.FILE_EDIT, one_line(f"edit {path}"), text, paths=[path], payload={"change": "replace"})


def _difference(edit: Edit) -> str:
    removed = [f"-{line}" for line in edit.old_string.splitlines()]
    return "\n".join(removed + [f"+{line}" for line in edit.new_string.splitlines()])


def result_of(raw: msgspec.Raw) -> Result:
    """A structured result, empty where there is none or it is a text."""
    if bytes(memoryview(raw)[:1]) != b"{":
        return Result()
    try:
        return decode_result(raw)
    except msgspec.DecodeError:
        return Result()


def result_payload(result: Result, text: str, images: list[object]) -> dict[str, object]:
    """What is worth noting of a result beside its text."""
    payload: dict[str, object] = {}
    if text.startswith(_REJECTED):
        payload["rejected"] = True
    if result.interrupted:
        payload["interrupt"] = True
    if result.background or result.is_async:
        payload["background"] = True
    if result.user_modified:
        payload["patch"] = bytes(result.patch).decode("utf-8", "replace")
    if images:
        payload["images"] = images
    return payload


def exit_code_of(text: str, is_error: bool | None, result: Result, tool: str | None) -> int | None:
    """The exit code of a command: told by the text of a failure, or 0 where the host saw none."""
    if result.exit_code is not None:
        return result.exit_code
    if found := _EXIT.match(text):
        return int(found[1] or found[2])
    finished = result.ran and not (result.background or result.interrupted or result.interpretation)
    return 0 if tool in _SHELLS and finished and not is_error else None


def flatten(content: msgspec.Raw) -> tuple[str, list[object]]:
    """The text of a result or prompt, and the images in it."""
    try:
        blocks = decode_content(content)
    except msgspec.ValidationError:
        return encode(decode_any(content)).decode(), []
    if blocks is None or isinstance(blocks, str):
        return blocks or "", []
    texts: list[str] = []
    images: list[object] = []
    for place, block in enumerate(blocks):
        if block.kind == "text":
            texts.append(block.text or "")
        elif block.kind in ("image", "document"):
            images.append(image(block.source))
        else:
            texts.append(encode(decode_any(content)[place]).decode())
    return "\n".join(texts), images


def image(source: msgspec.Raw) -> dict[str, object]:
    """What an image is, without its pixels."""
    fields = mapping(decode_any(source))
    data = fields.get("data")
    size = len(data) * 3 // 4 if isinstance(data, str) else 0
    return {"media_type": str(fields.get("media_type") or fields.get("type") or "image"), "bytes": size}


def attached_text(kind: str, fields: dict[str, object]) -> str:
    """What an attachment says, in the order in which it says it."""
    if kind == "hook_success":
        return str(fields.get("content") or fields.get("stdout") or fields.get("stderr") or "").strip()
    skip = {"type", "toolUseID", "hookName", "hookEvent", "command", "displayPath", "durationMs", "exitCode"}
    said: list[str] = []
    for key, value in fields.items():
        if key not in skip:
            said.extend(strings(value))
    return "\n".join(said)


def strings(value: object, depth: int = 0) -> list[str]:
    """The texts within a value."""
    if isinstance(value, str):
        return [value] if value else []
    if depth > 20:
        return [encode(value).decode()]
    if isinstance(value, list):
        return [text for item in value for text in strings(item, depth + 1)]
    if isinstance(value, dict):
        return [text for item in value.values() for text in strings(item, depth + 1)]
    return []


def slash_command(text: str) -> tuple[str, str]:
    """Name and full text of a typed slash command."""
    command = (between(text, *_COMMAND) or "").strip()
    if command and not command.startswith("/"):
        command = f"/{command}"
    given = (between(text, *_ARGUMENTS) or "").strip()
    return command, f"{command} {given}".strip()


def tag_of(text: str) -> str:
    """The tag that a text begins with."""
    found = _TAG.match(text)
    return found[1] if found else ""


def tag_content(text: str) -> str:
    """What stands within the tag that a text begins with."""
    found = _INNER.match(text.strip())
    return found[2].strip() if found else text


def later_tag(text: str, tag: str) -> str:
    """The content of a tag further on in a text."""
    start = text.find(f"<{tag}>")
    if start <= 0:
        return ""
    return tag_content(text[start:])


def text_of(raw: msgspec.Raw) -> str:
    """A JSON string, or the texts of a list of blocks; any other value that may hold words as it is."""
    if bytes(memoryview(raw)[:1]) not in (b'"', b"[", b"{"):
        return ""
    return flatten(raw)[0]
