"""What a tool call does, out of the arguments that hosts give it under one name or another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from retro.agents.emitter import Emitter, one_line
from retro.agents.fields import as_text, first, first_words, items, kept, mapping, text_in, words
from retro.event import Actor, EventType

PATHS: Final = ("path", "file_path", "target_file", "filePath", "absolute_path", "notebook_path", "filename")
COMMANDS: Final = ("command", "cmd", "script")
FOLDERS: Final = ("workdir", "cwd", "directory", "dir_path", "working_directory", "workingDirectory")
CONTENTS: Final = ("content", "contents", "file_text", "new_source", "new_content")
OLD: Final = ("old_string", "old_str", "oldText", "oldString")
NEW: Final = ("new_string", "new_str", "newText", "newString")
SEARCHES: Final = ("query", "search_query", "url", "pattern")
PATCHES: Final = ("patch", "diff", "input", "patchText")
KINDS: Final = ("agent_type", "subagent_type", "agentType")
NAMED: Final = ("path", *SEARCHES, "description", "name")
"""What tells most of a call of any other tool."""


class Described(NamedTuple):
    """A tool call as an event."""

    event_type: EventType
    summary: str
    text: str | None = None
    command: str | None = None
    paths: list[str] | None = None
    payload: dict[str, object] | None = None


def describe(event_type: EventType, name: str, given: object) -> Described:
    """What a call of a tool of this type does; as any other call, where it lacks what such a tool is given."""
    fields = mapping(given)
    described = None
    if event_type is EventType.COMMAND:
        described = _ran(fields)
    elif event_type in (EventType.FILE_READ, EventType.FILE_EDIT):
        path = first(fields, *PATHS)
        if path and event_type is EventType.FILE_READ:
            described = Described(event_type, one_line(f"read {path}"), paths=[path])
        elif path:
            described = _edited(path, fields)
    elif event_type is EventType.WEB_SEARCH:
        text = "\n".join(filter(None, (first(fields, "query", "search_query"), first(fields, "url"))))
        described = Described(event_type, one_line(f"{name} {text}"), text) if text else None
    elif event_type is EventType.SUBAGENT_START:
        text, about = first_words(fields, "prompt", "task") or "", first(fields, "description")
        payload = kept(description=about, agent_type=first(fields, *KINDS))
        described = Described(event_type, one_line(about or text), text, payload=payload)
    return described or _any(name, given, fields)


def _ran(fields: Mapping[str, object]) -> Described | None:
    command = first(fields, *COMMANDS)
    if command is None:
        return None
    background = bool(fields.get("is_background") or fields.get("background"))
    folder = first(fields, *FOLDERS)
    payload = kept(description=first(fields, "description"), background=background, folder=folder)
    return Described(EventType.COMMAND, one_line(f"$ {command}"), command=command, payload=payload)


def _edited(path: str, fields: Mapping[str, object]) -> Described | None:
    """An edit as the lines it takes away and the lines it puts there."""
    given = (fields.get(name) for name in CONTENTS)
    content = next((text_in(value) for value in given if isinstance(value, str) or words(value)), None)
    if content is not None:
        change: dict[str, object] = {"change": "write"}
        return Described(EventType.FILE_EDIT, one_line(f"write {path}"), content, paths=[path], payload=change)
    edits = [mapping(edit) for edit in items(fields.get("edits"))] or [dict(fields)]
    text = "\n".join(filter(None, (difference(first_words(edit, *OLD), first_words(edit, *NEW)) for edit in edits)))
    change = {"change": "replace"}
    return Described(
        EventType.FILE_EDIT,
        one_line(f"edit {path}"),
        text or first_words(fields, *PATCHES),
        paths=[path],
        payload=change,
    )


def difference(old: str | None, new: str | None) -> str:
    """A replacement as the lines that go and the lines that come."""
    removed = [f"-{line}" for line in (old or "").splitlines()]
    return "\n".join(removed + [f"+{line}" for line in (new or "").splitlines()])


def _any(name: str, given: object, fields: Mapping[str, object]) -> Described:
    text = as_text(given)
    paths = [path for path in (first(fields, *PATHS),) if path]
    about = first(fields, *NAMED)
    return Described(EventType.TOOL_CALL, one_line(f"{name} {about or text}"), text, paths=paths or None)


def emit_call(
    out: Emitter,
    described: Described,
    call_id: str | None,
    tool: str,
    *,
    model: str | None = None,
    usage_id: str | None = None,
) -> None:
    """Add the event of a call."""
    out.emit(
        Actor.SUBAGENT if out.agent_id else Actor.ASSISTANT,
        described.event_type,
        described.summary,
        described.text,
        call_id=call_id,
        tool=tool,
        model=model,
        usage_id=usage_id,
        command=described.command,
        paths=described.paths,
        payload=described.payload,
    )


def patched_paths(patch: str) -> list[str]:
    """The files that a patch in the `*** Begin Patch` form changes."""
    marks = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")
    found = [line[len(mark) :].strip() for line in patch.splitlines() for mark in marks if line.startswith(mark)]
    return list(dict.fromkeys(found))


def emit_giant(out: Emitter, kind: str, length: int, call_id: str | None = None, tool: str | None = None) -> None:
    """Add the event of a record that is too long to be held in memory: a call's result, where it is known as one."""
    out.emit(
        Actor.TOOL if call_id else Actor.SYSTEM,
        EventType.TOOL_RESULT if call_id else EventType.UNKNOWN,
        f"a record of {length:,} bytes, too long to be read",
        call_id=call_id,
        tool=tool,
        payload={"kind": kind, "bytes": length},
        truncated=True,
    )
