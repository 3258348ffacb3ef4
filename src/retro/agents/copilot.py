"""GitHub Copilot CLI: append-only JSONL, one folder per session; beside them a database of all sessions."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from retro.agents import copilot_store
from retro.agents.copilot_kinds import BOOKKEEPING_TYPES as BOOKKEEPING_TYPES
from retro.agents.copilot_kinds import HOST as HOST
from retro.agents.copilot_kinds import UNCOUNTED as UNCOUNTED
from retro.agents.fields import decode, mapping, string
from retro.agents.homes import existing_roots, files, head, homes, own_folder, scan, source
from retro.agents.interface import SIDECAR, TRANSCRIPT, Facts, HookFile, InstructionFile, Known, Root, Row, Source

if TYPE_CHECKING:
    from retro.agents.copilot_history import HistoryReader
    from retro.agents.copilot_records import CopilotReader

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
    "records",
    "retention",
    "roots",
]

NORMALISER: Final = 1
META_NAME: Final = "meta.json"
MOVED_BY: Final = ("COPILOT_HOME",)

MAIN: Final = "main"
SESSIONS: Final = "session-state"
HISTORY: Final = "history-session-state"
EVENTS: Final = "events.jsonl"
WORKSPACE: Final = "sidecars/workspace.yaml"
NO_STORE: Final = (
    "Copilot keeps no session store here: /experimental on in copilot switches it on; within WSL2 it may lie in the"
    " Windows home"
)
_LEFT_OUT: Final = (".lock", ".hold", ".db", "-wal", "-shm", "-journal", ".tmp")
"""Ends of names that are no part of a session: marks of a running program, databases, files about to be renamed."""
_YAML: Final = re.compile(r"^(\w+):[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_FIRST: Final = 5


def roots(env: Mapping[str, str], extra: Sequence[str]) -> list[Root]:
    """COPILOT_HOME or else `~/.copilot`, where older versions had it, and what the settings add."""
    moved = env.get("COPILOT_HOME", "")
    wanted = [(moved, "COPILOT_HOME")] if moved.strip() else []
    older = ((env.get(name, "").strip(), name) for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"))
    wanted += [(os.path.join(folder, ".copilot"), name) for folder, name in older if folder]
    wanted += [(os.path.join(home, ".copilot"), "default") for home in homes(env) if not moved.strip()]
    wanted += [(entry, "settings") for entry in extra]
    return existing_roots(HOST, wanted, _holds)


def hooks(env: Mapping[str, str]) -> HookFile:
    """`settings.json` in COPILOT_HOME, or in the default folder."""
    events = {"stop": "agentStop", "session-end": "sessionEnd"}
    return HookFile(
        os.path.join(own_folder(env, "COPILOT_HOME", ".copilot"), "settings.json"),
        events,
        _hook_entry,
        "userPromptSubmitted",
    )


def _hook_entry(command: str) -> dict[str, object]:
    return {"type": "command", "bash": command, "powershell": f"& {command}", "timeoutSec": 10}


def instructions(env: Mapping[str, str], folder: str) -> InstructionFile:
    """`copilot-instructions.md` for all projects; `/instructions` there shows whether it is read."""
    own = own_folder(env, "COPILOT_HOME", ".copilot")
    store = os.path.isfile(os.path.join(own, copilot_store.NAME))
    return InstructionFile(os.path.join(own, "copilot-instructions.md"), note=None if store else NO_STORE)


def _holds(folder: str) -> bool:
    folders = (os.path.join(folder, name) for name in (SESSIONS, HISTORY))
    return any(map(os.path.isdir, folders)) or os.path.isfile(os.path.join(folder, copilot_store.NAME))


def retention(root: Root) -> int | None:
    """This host deletes nothing by itself."""
    return None


def discover(root: Root, known: Known) -> Iterator[Source]:
    """Every session's records, and what lies beside them; of sessions without records what the database has."""
    present: set[str] = set()
    for entry in scan(os.path.join(root.path, SESSIONS)):
        present.add(entry.name.removesuffix(".jsonl"))
        if entry.is_dir() and not entry.name.startswith("."):
            yield from _session_folder(entry.path)
        elif entry.name.endswith(".jsonl") and entry.is_file():
            yield source(HOST, entry.name[: -len(".jsonl")], MAIN, TRANSCRIPT, entry.path, EVENTS, entry.stat())
    for before in _before(os.path.join(root.path, HISTORY), present):
        present.add(before.session_id)
        yield before
    yield from copilot_store.discover(root.path, present, known)


def _before(folder: str, present: Collection[str]) -> Iterator[Source]:
    """Documents of the versions before: most people have none, and load nothing that reads them."""
    if os.path.isdir(folder):
        from retro.agents import copilot_history

        yield from copilot_history.discover(folder, present)


def _session_folder(folder: str, session_id: str | None = None) -> Iterator[Source]:
    """`<session>/`: the records, and files beside them; nothing where there are no records."""
    session_id = session_id or os.path.basename(folder)
    if not os.path.isfile(os.path.join(folder, EVENTS)):
        return
    for path, stat in files(folder):
        name = os.path.relpath(path, folder).replace(os.sep, "/")
        if name == EVENTS:
            yield source(HOST, session_id, MAIN, TRANSCRIPT, path, EVENTS, stat)
        elif not name.endswith(_LEFT_OUT):
            yield source(HOST, session_id, f"sidecars/{name}", SIDECAR, path, os.path.basename(name), stat)


def claims(path: str) -> list[Source]:
    """What a path given by the user stands for: records, a session's folder, or a folder with some."""
    path = os.path.abspath(path)
    if os.path.isdir(path):
        return _claimed_folder(path)
    if os.path.basename(path) == copilot_store.NAME and os.path.isfile(path):
        return list(copilot_store.discover(os.path.dirname(path), (), {}))
    if path.endswith(".json") and os.path.isfile(path):
        from retro.agents import copilot_history

        return list(copilot_history.claims(path))
    session_id = _session_of(path) if path.endswith(".jsonl") and os.path.isfile(path) else None
    if session_id is None:
        return []
    if os.path.basename(path) == EVENTS:
        return list(_session_folder(os.path.dirname(path), session_id))
    return [source(HOST, session_id, MAIN, TRANSCRIPT, path, EVENTS, os.stat(path))]


def _claimed_folder(path: str) -> list[Source]:
    if _holds(path):
        return list(discover(Root(HOST, path, "given"), {}))
    if os.path.basename(path) in (SESSIONS, HISTORY):
        return list(discover(Root(HOST, os.path.dirname(path), "given"), {}))
    found: dict[str, Source] = {}
    for file, _ in files(path):
        if file.endswith((".jsonl", ".json")):
            found.update((one.path, one) for one in claims(file))
    return list(found.values())


def _session_of(path: str) -> str | None:
    """The session that the first records of a file belong to; None if they are not this host's."""
    for line in head(path).lstrip(b"\xef\xbb\xbf").split(b"\n")[:_FIRST]:
        try:
            record = mapping(decode(line))
        except (ValueError, RecursionError):
            continue
        kind, data = string(record.get("type")) or "", record.get("data")
        if "." in kind and isinstance(data, dict) and "parentId" in record:
            named = os.path.basename(path)[: -len(".jsonl")]
            beside = os.path.basename(os.path.dirname(path)) if named == "events" else named
            return (string(data.get("sessionId")) if kind == "session.start" else None) or beside
    return None


def folder_of(source: Source) -> str | None:
    """The folder that the first record names, or the database."""
    if source.key == copilot_store.STORE:
        return copilot_store.folder_of(source)
    for line in head(source.path).split(b"\n")[:_FIRST] if source.kind == TRANSCRIPT else ():
        try:
            data = mapping(mapping(decode(line)).get("data"))
        except (ValueError, RecursionError):
            continue
        found = string(mapping(data.get("context")).get("cwd"))
        if found is not None:
            return found
    return None


def records(path: str, copy: str, since: int) -> Iterator[Row]:
    """The rows of a session that only the database has."""
    return copilot_store.records(path, copy)


def reader(
    session_id: str, key: str, source_key: str, saved: bytes, facts: Facts
) -> CopilotReader | HistoryReader | copilot_store.StoreReader:
    """The reader of one session's records, of its rows, or of its document."""
    plain = key.partition("~")[0]
    if plain.startswith("history"):
        from retro.agents.copilot_history import HistoryReader

        return HistoryReader(session_id, plain, source_key, saved, facts)
    from retro.agents.copilot_records import CopilotReader  # a sweep that finds nothing new loads no reader

    if plain == copilot_store.STORE:
        return copilot_store.StoreReader(session_id, source_key, saved, facts)
    return CopilotReader(session_id, source_key, saved, facts)


def sidecar_facts(key: str, content: bytes) -> Facts | None:
    """`workspace.yaml` has the session's name, and whether a person gave it."""
    if key != WORKSPACE:
        return None
    fields = {name: _unquoted(value) for name, value in _YAML.findall(content.decode("utf-8", "replace"))}
    name = fields.get("name") or None
    given = fields.get("user_named") == "true"
    return Facts(
        title=name if given else None,
        host_title=None if given else name,
        cwd=fields.get("cwd") or None,
        branch=fields.get("branch") or None,
    )


def _unquoted(value: str) -> str:
    """A scalar of YAML: as it stands, or in quotes."""
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    if len(value) > 1 and value[0] == value[-1] == '"':
        try:
            return string(decode(value.encode())) or ""
        except ValueError:
            return value[1:-1]
    return "" if value in ("null", "~") else value
