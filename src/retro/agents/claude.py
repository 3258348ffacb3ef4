"""Claude Code: append-only JSONL transcripts, one file per session, sub-agents in files of their own."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from retro.agents.claude_kinds import BOOKKEEPING_TYPES as BOOKKEEPING_TYPES
from retro.agents.claude_kinds import HOST as HOST
from retro.agents.claude_kinds import UNCOUNTED as UNCOUNTED
from retro.agents.homes import existing_roots, homes, own_folder
from retro.agents.interface import (
    SIDECAR,
    TRANSCRIPT,
    Agent,
    Facts,
    HookFile,
    InstructionFile,
    Kind,
    Known,
    Root,
    Source,
)

if TYPE_CHECKING:
    from retro.agents.claude_records import ClaudeReader

__all__ = [
    "BOOKKEEPING_TYPES",
    "HOST",
    "META_NAME",
    "MOVED_BY",
    "NORMALISER",
    "UNCOUNTED",
    "claims",
    "discover",
    "folder_of",
    "hooks",
    "reader",
    "roots",
]

NORMALISER: Final = 1
META_NAME: Final = "import_meta.json"
MOVED_BY: Final = ("CLAUDE_CONFIG_DIR",)

MAIN: Final = "main"
DEFAULT_RETENTION_DAYS: Final = 30
_HEAD: Final = 64 * 1024
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SESSION = re.compile(rb'"sessionId"\s*:\s*"([^"\\]{1,300})"')
_CWD = re.compile(rb'"cwd"\s*:\s*"((?:[^"\\]|\\.){1,4096})"')
_UNFINISHED = re.compile(r"\.tmp(\.[0-9a-f.-]+)?$")
"""How the host calls a file that it is about to rename (2.1.3xx: `agent-<id>.meta.json.tmp.<hex>`)."""
_MARKS: Final = (b'"sessionId":', b'"uuid":', b'"leafUuid":', b'"message":')
_OTHERS: Final = (b'"systemPayload":', b'"parts":', b'"sessionId":"session-', b'"role":"model"')
"""What stands in records of hosts that took over this one's envelope."""


def roots(env: Mapping[str, str], extra: Sequence[str]) -> list[Root]:
    """CLAUDE_CONFIG_DIR, `~/.claude`, `~/.config/claude`, and what the settings add; or the `projects` in one."""
    own, *others = homes(env)
    config = env.get("XDG_CONFIG_HOME") or os.path.join(own, ".config")
    wanted = [(entry, "CLAUDE_CONFIG_DIR") for entry in env.get("CLAUDE_CONFIG_DIR", "").split(",")]
    wanted += [(os.path.join(own, ".claude"), "default"), (os.path.join(config, "claude"), "default")]
    wanted += [(os.path.join(home, ".claude"), "default") for home in others]
    wanted += [(entry, "settings") for entry in extra]
    return existing_roots(HOST, ((_above_projects(path), reason) for path, reason in wanted), _holds)


def _above_projects(path: str) -> str:
    """The folder in which `projects` lies, if it is that one that was named."""
    folder = path.strip().rstrip("/" + os.sep)
    return os.path.dirname(folder) if os.path.basename(folder) == "projects" else folder


def _holds(folder: str) -> bool:
    return os.path.isdir(os.path.join(folder, "projects"))


def hooks(env: Mapping[str, str]) -> HookFile:
    """`settings.json` of the first entry of CLAUDE_CONFIG_DIR, or of the default folder."""
    events = {"stop": "Stop", "session-end": "SessionEnd"}
    return HookFile(os.path.join(_own_folder(env), "settings.json"), events, _hook_entry, "UserPromptSubmit")


def instructions(env: Mapping[str, str], folder: str) -> InstructionFile:
    """`CLAUDE.md` for all projects."""
    return InstructionFile(os.path.join(_own_folder(env), "CLAUDE.md"))


def _own_folder(env: Mapping[str, str]) -> str:
    folder = own_folder(env, "CLAUDE_CONFIG_DIR", ".claude")
    return os.path.dirname(folder) if os.path.basename(folder) == "projects" else folder


def _hook_entry(command: str) -> dict[str, object]:
    return {"hooks": [{"type": "command", "command": command, "timeout": 10}]}


def retention(root: Root) -> int | None:
    """`cleanupPeriodDays` of the root's settings, 30 where it is not set."""
    try:
        with open(os.path.join(root.path, "settings.json"), "rb") as file:
            value = json.loads(file.read(1024 * 1024))
        days = value.get("cleanupPeriodDays", DEFAULT_RETENTION_DAYS)
        return int(days)
    except (OSError, ValueError, TypeError, AttributeError):
        return DEFAULT_RETENTION_DAYS


def discover(root: Root, known: Known) -> Iterator[Source]:
    """Every transcript below `projects/`, and what lies beside the transcripts."""
    sessions: set[str] = set()
    for project in _folders(os.path.join(root.path, "projects")):
        for source in _in_project(project, known):
            sessions.add(source.session_id)
            yield source
    yield from _beside(root.path, sessions)


def _in_project(project: str, known: Known) -> Iterator[Source]:
    files, folders = [], []
    for entry in _scan(project):
        if entry.is_dir():
            folders.append(entry)
        elif entry.name.endswith(".jsonl") and entry.is_file():
            files.append(entry)
    names = {entry.name for entry in files}
    for entry in files:
        source = _transcript(entry.path, entry.name, entry.stat(), known)
        if source is not None:
            yield source
    for entry in folders:
        if f"{entry.name}.jsonl" in names or _UUID.fullmatch(entry.name):
            yield from _session_folder(entry.path, entry.name)


def _transcript(path: str, name: str, stat: os.stat_result, known: Known) -> Source | None:
    """A file directly in a project's folder: a session's own, or (2.0.x) that of a sub-agent."""
    stem = name[: -len(".jsonl")]
    if not stem.startswith("agent-"):
        return _source(stem, MAIN, TRANSCRIPT, path, "transcript.jsonl", stat)
    found = known.get(path)
    session_id = found[0] if found else _session_of(path)
    if session_id is None:
        return None
    return _source(session_id, stem, TRANSCRIPT, path, "transcript.jsonl", stat)


def _session_folder(folder: str, session_id: str) -> Iterator[Source]:
    """`<session>/`: sub-agents' transcripts, and sidecars."""
    for path, stat in _files(folder):
        name = os.path.relpath(path, folder).replace(os.sep, "/")
        if name.startswith("subagents/") and name.endswith(".jsonl"):
            key = name[len("subagents/") : -len(".jsonl")]
            yield _source(session_id, key, TRANSCRIPT, path, "transcript.jsonl", stat)
        else:
            yield _source(session_id, f"sidecars/{name}", SIDECAR, path, os.path.basename(name), stat)


def _beside(root: str, sessions: set[str]) -> Iterator[Source]:
    """To-do lists, tasks and file backups of the sessions whose transcripts are here."""
    for entry in _scan(os.path.join(root, "todos")):
        session_id = entry.name[:36]
        if session_id in sessions and entry.is_file():
            yield _source(session_id, f"sidecars/todos/{entry.name}", SIDECAR, entry.path, entry.name, entry.stat())
    for kind in ("tasks", "file-history"):
        for entry in _scan(os.path.join(root, kind)):
            if entry.name in sessions and entry.is_dir():
                for path, stat in _files(entry.path):
                    name = os.path.relpath(path, entry.path).replace(os.sep, "/")
                    key = f"sidecars/{kind}/{name}"
                    yield _source(entry.name, key, SIDECAR, path, os.path.basename(name), stat)


def claims(path: str) -> list[Source]:
    """What a path given by the user stands for: a transcript, a session's folder, or a whole data root."""
    path = os.path.abspath(path)
    if os.path.isdir(path):
        return _claimed_folder(path)
    if not path.endswith(".jsonl") or not os.path.isfile(path) or not _looks_right(path):
        return []
    stat, name = os.stat(path), os.path.basename(path)
    parts = path.replace(os.sep, "/").split("/")
    if "subagents" in parts[:-1]:
        at = len(parts) - 1 - parts[::-1].index("subagents")
        folder = os.sep.join(parts[:at]) or os.sep
        return [source for source in _session_folder(folder, parts[at - 1]) if source.path == path]
    source = _transcript(path, name, stat, {})
    if source is None:
        return []
    beside = path[: -len(".jsonl")]
    more = _session_folder(beside, source.session_id) if source.key == MAIN and os.path.isdir(beside) else ()
    return [source, *more]


def _claimed_folder(path: str) -> list[Source]:
    if os.path.isdir(os.path.join(path, "projects")):
        return list(discover(Root(HOST, path, "given"), {}))
    if os.path.basename(path) == "projects":
        return list(discover(Root(HOST, os.path.dirname(path), "given"), {}))
    found: dict[str, Source] = {}
    for file, _ in _files(path):
        if file.endswith(".jsonl") and f"{os.sep}subagents{os.sep}" not in file[len(path) :]:
            found.update((source.path, source) for source in claims(file))
    return list(found.values())


def _looks_right(path: str) -> bool:
    """Whether one of the first records has the fields that only this host writes together."""
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    for line in head.split(b"\n")[:20]:
        line = line.lstrip(b"\xef\xbb\xbf \t").replace(b'": ', b'":')
        if line.startswith(b"{") and sum(mark in line for mark in _MARKS) >= 2:
            return not any(other in line[:4096] for other in _OTHERS)
    return b'"type":"summary"' in head or b'"type":"file-history-snapshot"' in head


def folder_of(source: Source) -> str | None:
    """The `cwd` of a transcript's first records."""
    found = _head_match(source.path, _CWD) if source.kind == TRANSCRIPT else None
    if found is None:
        return None
    try:
        return str(json.loads(b'"' + found[1] + b'"'))
    except ValueError:
        return None


def reader(session_id: str, key: str, source_key: str, saved: bytes, facts: Facts) -> ClaudeReader:
    """The reader of one transcript."""
    from retro.agents.claude_records import ClaudeReader  # a sweep that finds nothing new loads no reader

    name = key.rpartition("/")[2]
    agent_id = name[len("agent-") :] if name.startswith("agent-") else None
    return ClaudeReader(session_id, source_key, agent_id, saved, facts)


class _AgentMeta(msgspec.Struct):
    agent_type: str | None = msgspec.field(default=None, name="agentType")
    description: str | None = None
    call_id: str | None = msgspec.field(default=None, name="toolUseId")


def sidecar_facts(key: str, content: bytes) -> Facts | None:
    """`agent-<id>.meta.json` names the call that started a sub-agent."""
    name = key.rpartition("/")[2]
    try:
        if name.startswith("agent-") and name.endswith(".meta.json"):
            meta = msgspec.json.decode(content, type=_AgentMeta)
            agent = Agent(meta.call_id, meta.agent_type, meta.description)
            return Facts(agents={name[len("agent-") : -len(".meta.json")]: agent})
    except msgspec.DecodeError:
        return None
    return None


def _source(session_id: str, key: str, kind: Kind, path: str, name: str, stat: os.stat_result) -> Source:
    names = (session_id, key, name) if (session_id + key + name).isascii() else map(_text, (session_id, key, name))
    session_id, key, name = names
    return Source(HOST, session_id, key, kind, path, name, stat.st_size, stat.st_mtime_ns, stat.st_ino, stat.st_dev)


def _text(name: str) -> str:
    """A file's name as text that any encoder takes."""
    return name if name.isascii() else name.encode("utf-8", "backslashreplace").decode()


def _session_of(path: str) -> str | None:
    found = _head_match(path, _SESSION)
    return found[1].decode("utf-8", "replace") if found else None


def _head_match(path: str, pattern: re.Pattern[bytes]) -> re.Match[bytes] | None:
    try:
        with open(path, "rb") as file:
            return pattern.search(file.read(_HEAD))
    except OSError:
        return None


def _scan(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(filter(_is_there, entries), key=lambda entry: entry.name)
    except OSError:
        return []


def _is_there(entry: os.DirEntry[str]) -> bool:
    """Whether it can be looked at: it may be gone by now, or a link in a circle. The entry keeps what `stat` says."""
    if ".tmp" in entry.name and _UNFINISHED.search(entry.name):
        return False
    try:
        entry.stat()
    except OSError:
        return False
    return True


def _folders(folder: str) -> list[str]:
    return [entry.path for entry in _scan(folder) if entry.is_dir()]


def _files(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    for entry in _scan(folder):
        if entry.is_dir(follow_symlinks=False):
            yield from _files(entry.path)
        elif entry.is_file():
            yield entry.path, entry.stat()
