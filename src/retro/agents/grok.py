"""Grok Build: a folder per session with logs that grow and files that are replaced; sub-agents in folders beside it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from retro.agents.emitter import utc
from retro.agents.fields import Fields, decode, mapping, string
from retro.agents.grok_kinds import BOOKKEEPING_TYPES as BOOKKEEPING_TYPES
from retro.agents.grok_kinds import HOST as HOST
from retro.agents.grok_kinds import UNCOUNTED as UNCOUNTED
from retro.agents.homes import existing_roots, files, folders, head, homes, own_folder, scan, source
from retro.agents.interface import DOCUMENT, SIDECAR, TRANSCRIPT, Agent, Facts, InstructionFile, Known, Root, Source

if TYPE_CHECKING:
    from retro.agents.grok_records import GrokReader

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
    "reader",
    "retention",
    "roots",
]

NORMALISER: Final = 1
META_NAME: Final = "meta.json"
MOVED_BY: Final = ("GROK_HOME",)

MAIN: Final = "main"
LOG: Final = "log"
MESSAGES: Final = "messages"
SESSIONS: Final = "sessions"
UPDATES: Final = "updates.jsonl"
EVENTS: Final = "events.jsonl"
HISTORY: Final = "chat_history.jsonl"
SUMMARY: Final = "summary.json"
AGENT: Final = "agent-"
REWIND: Final = "rewind"
_UNDO: Final = "rewind_points.jsonl"
_TODAY: Final = frozenset({UPDATES, EVENTS, "prompt_context.json", "system_prompt.txt", f"{UPDATES}.lock"})
"""Files that only versions with a log of updates write, some of them before the log."""
_REPLACED: Final = frozenset({HISTORY, _UNDO})
_LEFT_OUT: Final = frozenset(
    {
        "signals.json",
        "usage.json",
        "tool_definitions.json",
        "system_prompt.txt",
        "prompt_context.json",
        "announcement_state.json",
        "resources_state.json",
        "plan_mode.json",
        "title_refresh_idx",
    }
)
"""Counters that change all the time, what the host told the model of itself, and state of the program."""


def roots(env: Mapping[str, str], extra: Sequence[str]) -> list[Root]:
    """GROK_HOME or else `~/.grok`, and what the settings add."""
    moved = env.get("GROK_HOME", "")
    wanted = [(moved, "GROK_HOME")] if moved.strip() else []
    wanted += [(os.path.join(home, ".grok"), "default") for home in homes(env) if not moved.strip()]
    wanted += [(entry, "settings") for entry in extra]
    return existing_roots(HOST, wanted, _holds)


def instructions(env: Mapping[str, str], folder: str) -> InstructionFile:
    """`AGENTS.md` for all projects, which its own guide names (1.0.41)."""
    return InstructionFile(os.path.join(own_folder(env, "GROK_HOME", ".grok"), "AGENTS.md"))


def _holds(folder: str) -> bool:
    return os.path.isdir(os.path.join(folder, SESSIONS))


def retention(root: Root) -> int | None:
    """This host deletes nothing by itself."""
    return None


# --- what ------------------------------------------------------------------------------------------------------------


def discover(root: Root, known: Known) -> Iterator[Source]:
    """The files of every session; those of a sub-agent belong to the session that started it."""
    found = [folder for project in folders(os.path.join(root.path, SESSIONS)) for folder in folders(project)]
    yield from _in_folders(found, known)


def _in_folders(found: Sequence[str], known: Known) -> Iterator[Source]:
    parents = {
        os.path.basename(agent): os.path.basename(folder)
        for folder in found
        for agent in folders(os.path.join(folder, "subagents"))
    }
    present = {os.path.basename(folder) for folder in found}
    for folder in found:
        name = os.path.basename(folder)
        owner = _owner(name, parents)
        if owner not in present:
            owner = name
        before = known.get(os.path.join(folder, UPDATES)) or known.get(os.path.join(folder, HISTORY))
        if before is not None and before[0] not in present:
            owner = before[0]  # it stays with the session that started it, though that is gone
        yield from _session_folder(folder, owner, name if owner != name else None)


def _owner(name: str, parents: Mapping[str, str]) -> str:
    """The session in which a chain of sub-agents began."""
    seen = {name}
    while name in parents and parents[name] not in seen:
        name = parents[name]
        seen.add(name)
    return name


def _session_folder(folder: str, session_id: str, agent_id: str | None) -> Iterator[Source]:
    """A session's files, or those of one of its sub-agents."""
    names = {entry.name for entry in scan(folder)}
    logs = {UPDATES: MAIN, EVENTS: LOG, HISTORY: MESSAGES, _UNDO: REWIND}
    if HISTORY in names and not names & _TODAY:
        logs = {HISTORY: MAIN, _UNDO: REWIND}
    elif UPDATES not in names:  # it has only just begun, or it is none
        return
    for path, stat in files(folder):
        name = os.path.relpath(path, folder).replace(os.sep, "/")
        if name in logs:
            key = logs[name] if agent_id is None else _agent_key(agent_id, logs[name])
            found = source(HOST, session_id, key, TRANSCRIPT, path, name, stat)
            yield replace(found, form=DOCUMENT) if name in _REPLACED else found
        elif _is_kept(name):
            key = f"sidecars/{name}" if agent_id is None else f"sidecars/{AGENT}{agent_id}/{name}"
            yield source(HOST, session_id, key, SIDECAR, path, os.path.basename(name), stat)


def _agent_key(agent_id: str, key: str) -> str:
    return f"{AGENT}{agent_id}" if key == MAIN else f"{AGENT}{agent_id}/{key}"


def _is_kept(name: str) -> bool:
    top = name.partition("/")[0]
    return name not in _LEFT_OUT and top != "compaction_requests" and not name.endswith((".lock", ".tmp"))


def claims(path: str) -> list[Source]:
    """What a path given by the user stands for: a session's file or folder, or a folder with some."""
    path = os.path.abspath(path)
    if not os.path.isdir(path):
        wanted = os.path.basename(path) in (UPDATES, HISTORY, SUMMARY, EVENTS) and os.path.isfile(path)
        return _claimed(os.path.dirname(path)) if wanted else []
    if _holds(path):
        return list(discover(Root(HOST, path, "given"), {}))
    if os.path.basename(path) == SESSIONS:
        return list(discover(Root(HOST, os.path.dirname(path), "given"), {}))
    if _is_session(path):
        return _claimed(path)
    found: dict[str, Source] = {}
    for file, _ in files(path):
        if os.path.basename(file) in (UPDATES, HISTORY):
            found.update((one.path, one) for one in claims(file))
    return list(found.values())


def _claimed(folder: str) -> list[Source]:
    """A session's folder, with its sub-agents' beside it."""
    if not _is_session(folder):
        return []
    name = os.path.basename(folder)
    agents = {os.path.basename(agent) for agent in folders(os.path.join(folder, "subagents"))}
    beside = [one for one in folders(os.path.dirname(folder)) if os.path.basename(one) in agents]
    if beside:
        return list(_in_folders([folder, *beside], {}))
    return list(_session_folder(folder, _named(folder) or name, None))


def _is_session(folder: str) -> bool:
    """Whether the first record of one of its files is one that only this host writes."""
    update = _first(os.path.join(folder, UPDATES))
    if isinstance(mapping(update.get("params")).get("update"), dict):
        return True
    message = _first(os.path.join(folder, HISTORY))
    return bool(message.keys() & {"type", "role"}) and "content" in message


def _first(path: str) -> Fields:
    try:
        return mapping(decode(head(path, 1024 * 1024).lstrip(b"\xef\xbb\xbf").partition(b"\n")[0]))
    except (ValueError, RecursionError):
        return {}


def _summary(folder: str) -> Fields:
    try:
        return mapping(decode(head(os.path.join(folder, SUMMARY), 1024 * 1024)))
    except (ValueError, RecursionError):
        return {}


def _named(folder: str) -> str | None:
    return string(mapping(_summary(folder).get("info")).get("id"))


def folder_of(source: Source) -> str | None:
    """The folder that the session's summary names."""
    if source.kind != TRANSCRIPT:
        return None
    return string(mapping(_summary(os.path.dirname(source.path)).get("info")).get("cwd"))


# --- reading ---------------------------------------------------------------------------------------------------------


def reader(session_id: str, key: str, source_key: str, saved: bytes, facts: Facts) -> GrokReader:
    """The reader of one of a session's logs."""
    from retro.agents.grok_records import GrokReader  # a sweep that finds nothing new loads no reader

    name, _, part = key.partition("~")[0].partition("/")
    agent_id = name[len(AGENT) :] if name.startswith(AGENT) else None
    return GrokReader(session_id, source_key, agent_id, (part or name) == MESSAGES, saved, facts)


def sidecar_facts(key: str, content: bytes) -> Facts | None:
    """`summary.json` has title, folder, branch and parent; `subagents/<id>/meta.json` tells of a sub-agent."""
    parts = key.split("/")
    try:
        fields = mapping(decode(content))
    except (ValueError, RecursionError):
        return None
    if parts[1:] == [SUMMARY]:
        info = mapping(fields.get("info"))
        model = string(fields.get("current_model_id"))
        return Facts(
            host_title=string(fields.get("generated_title")) or string(fields.get("session_summary")),
            parent=string(fields.get("parent_session_id")),
            cwd=string(info.get("cwd")),
            branch=string(fields.get("head_branch")),
            models=[model] if model else [],
            native_start=utc(string(fields.get("forked_at"))),
        )
    if len(parts) > 3 and parts[-3] == "subagents" and parts[-1] == "meta.json":
        agent = Agent(None, string(fields.get("subagent_type")), string(fields.get("description")))
        return Facts(agents={parts[-2]: agent})
    return None
