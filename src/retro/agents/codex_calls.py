"""What the tool calls of Codex do: commands, patches, searches, sub-agents, and everything else."""

from __future__ import annotations

import re
import shlex
from typing import Final, NamedTuple

import msgspec

from retro.agents.codex_shapes import Item, decode, decode_any, encode, mapping
from retro.agents.emitter import one_line
from retro.agents.fields import words
from retro.event import EventType

SHELLS: Final = frozenset({"shell", "shell_command", "exec_command", "local_shell", "container.exec"})
_INTERPRETERS: Final = frozenset({"bash", "zsh", "sh", "dash", "fish", "pwsh", "powershell", "cmd"})
_SWITCHES: Final = frozenset({"-lc", "-c", "-Command", "/c"})
_READS: Final = frozenset({"view_image", "read_file"})
_HEREDOC: Final = re.compile(
    r"\s*(?:cd [^\n;&]+&&\s*)?(?:apply_patch|applypatch)\s*<<-?\s*['\"]?(\w+)['\"]?\s*\n(.*?)\n\1\s*", re.DOTALL
)
_FILE: Final = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+?)\s*$|^\*\*\* Move to: (.+?)\s*$", re.MULTILINE)
_FRAME: Final = re.compile(r"^\*\*\* (?:Begin|End) Patch\s*$\n?", re.MULTILINE)
_CHANGES: Final = {"Add": "write", "Update": "patch", "Delete": "delete"}
_KINDS: Final = {"add": "Add", "update": "Update", "delete": "Delete"}


class Described(NamedTuple):
    """A tool call as an event."""

    event_type: EventType
    summary: str
    text: str | None = None
    command: str | None = None
    paths: list[str] | None = None
    payload: dict[str, object] | None = None


class Arguments(msgspec.Struct):
    """Arguments of the tools that have an event type of their own."""

    command: str | list[str] | None = None
    cmd: str | list[str] | None = None
    workdir: str | None = None
    justification: str | None = None
    input: str | None = None
    patch: str | None = None
    path: str | None = None
    file_path: str | None = None
    message: str | None = None
    task_name: str | None = None
    agent_type: str | None = None


def describe(item: Item) -> tuple[str, Described]:
    """The tool that an item calls, and what the call does."""
    if item.kind == "web_search_call":
        return "web_search", searched(item.action, None)
    if item.kind == "local_shell_call":
        command = decode(item.action, Arguments).command
        return "local_shell", _shell(command, Arguments()) or generic("local_shell", _text(item.action))
    if item.kind == "image_generation_call":
        return "image_generation", generic("image_generation", item.revised_prompt or "")
    name = tool_name(item.name or item.kind, item.namespace)
    given = _text(item.input if item.kind == "custom_tool_call" else item.arguments)
    return name, _described(name, given)


def tool_name(name: str, namespace: str | None) -> str:
    """A tool's name; one of a tool server has the server's before it, as hooks get it."""
    return f"{namespace}__{name}" if namespace and namespace.startswith("mcp__") else name


def _described(name: str, given: str) -> Described:
    if name == "apply_patch" and not given.startswith("{"):
        return patched(given)
    if not given.startswith("{"):
        return generic(name, given)
    try:
        arguments = decode(given.encode(), Arguments)
    except msgspec.DecodeError:
        return generic(name, given)
    found: Described | None = None
    if name in SHELLS:
        found = _shell(arguments.command or arguments.cmd, arguments)
    elif name == "apply_patch":
        found = patched(arguments.input or arguments.patch or given)
    elif name in _READS and (path := arguments.path or arguments.file_path):
        found = Described(EventType.FILE_READ, one_line(f"read {path}"), paths=[path])
    elif name == "spawn_agent":
        found = _spawned(arguments)
    return found or generic(name, given)


def generic(name: str, text: str) -> Described:
    """A call of any tool."""
    return Described(EventType.TOOL_CALL, one_line(f"{name} {text}"), text)


def _spawned(arguments: Arguments) -> Described:
    task = arguments.message or ""
    about = {"description": arguments.task_name, "agent_type": arguments.agent_type}
    payload: dict[str, object] = {key: value for key, value in about.items() if value}
    return Described(
        EventType.SUBAGENT_START, one_line(arguments.task_name or task or "sub-agent"), task, payload=payload or None
    )


def _shell(command: str | list[str] | None, arguments: Arguments) -> Described | None:
    if not command:
        return None
    text = command_text(command)
    if isinstance(command, list) and len(command) == 2 and command[0] in ("apply_patch", "applypatch"):
        return patched(command[1])
    heredoc = _HEREDOC.fullmatch(text)
    if heredoc is not None:
        return patched(heredoc[2])
    about = {"description": arguments.justification, "folder": arguments.workdir}
    payload: dict[str, object] = {key: value for key, value in about.items() if value}
    return Described(EventType.COMMAND, one_line(f"$ {text}"), command=text, payload=payload or None)


def command_text(command: str | list[str]) -> str:
    """What was run, without the shell around it: `["bash", "-lc", "ls"]` and `bash -lc ls` are `ls`."""
    words = command
    if isinstance(words, str):
        if words.partition(" ")[0].rpartition("/")[2] not in _INTERPRETERS:
            return words
        try:
            words = shlex.split(words)
        except ValueError:
            return str(command)
    if len(words) == 3 and words[0].rpartition("/")[2].removesuffix(".exe") in _INTERPRETERS and words[1] in _SWITCHES:
        return words[2]
    return command if isinstance(command, str) else shlex.join(words)


def patched(patch: str) -> Described:
    """A patch in the host's own format as an edit."""
    paths: list[str] = []
    kinds: list[str] = []
    for kind, path, target in _FILE.findall(patch):
        paths += [found for found in (path or target,) if found not in paths]
        kinds.append(kind or "Move")
    body = _FRAME.sub("", patch)
    change = "move" if kinds[-1:] == ["Move"] and len(kinds) == 2 else "patch"
    if len(kinds) == 1:
        change = _CHANGES[kinds[0]]
    if change == "write":
        body = "\n".join(line[1:] for line in body.split("\n") if line.startswith("+"))
    return _edit(paths, change, body)


def changed(changes: msgspec.Raw) -> Described:
    """The changes that the host made of a patch, as an edit: `{path: {type, unified_diff | content, move_path}}`."""
    value = decode_any(changes)
    if isinstance(value, list):  # an `exec --json` stream tells the paths only
        value = {str(mapping(entry).get("path")): {"type": mapping(entry).get("kind")} for entry in value}
    found = {path: mapping(change) for path, change in mapping(value).items()}
    paths, texts = [], []
    for path, change in found.items():
        moved = change.get("move_path")
        paths += [path, *([moved] if isinstance(moved, str) else [])]
        texts.append(_change_text(path, change))
    if len(found) != 1:
        return _edit(paths, "patch", "\n".join(texts))
    change = next(iter(found.values()))
    content = change.get("content")
    if change.get("type") == "add" and isinstance(content, str):
        return _edit(paths, "write", content)
    kind = "move" if len(paths) > 1 else _CHANGES.get(_KINDS.get(str(change.get("type")), ""), "patch")
    return _edit(paths, kind, texts[0])


def _change_text(path: str, change: dict[str, object]) -> str:
    lines = [f"*** {_KINDS.get(str(change.get('type')), 'Update')} File: {path}"]
    if change.get("move_path"):
        lines.append(f"*** Move to: {change['move_path']}")
    content, difference = change.get("content"), change.get("unified_diff")
    if words(difference):
        lines.append(words(difference).rstrip("\n"))
    elif words(content):
        sign = "-" if change.get("type") == "delete" else "+"
        lines += [sign + line for line in words(content).splitlines()]
    return "\n".join(lines)


def _edit(paths: list[str], change: str, text: str) -> Described:
    where = ", ".join(paths) or "files"
    return Described(
        EventType.FILE_EDIT, one_line(f"{change} {where}"), text, paths=paths or None, payload={"change": change}
    )


def searched(action: msgspec.Raw, query: str | None) -> Described:
    """A web search, or a page that was opened or searched."""
    fields = mapping(decode_any(action))
    queries = fields.get("queries")
    given = [query, fields.get("query"), fields.get("url"), fields.get("pattern")]
    given += queries if isinstance(queries, list) else []
    said = list(dict.fromkeys(str(text) for text in given if text))
    text = "\n".join(said)
    return Described(EventType.WEB_SEARCH, one_line(f"web search {text}"), text)


def _text(raw: msgspec.Raw) -> str:
    """Arguments as they were given: a string (JSON inside or not), or a JSON value."""
    value = decode_any(raw)
    if isinstance(value, str):
        return value
    return encode(value).decode() if value is not None else ""
