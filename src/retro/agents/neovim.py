"""Neovim: chats of CopilotChat.nvim, codecompanion.nvim and avante.nvim, a JSON file each; none tells a usable time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from retro.agents import chatfiles
from retro.agents.databases import canonical
from retro.agents.fields import Fields, first, items, mapping, string
from retro.agents.homes import existing_roots, files, folders, homes, plain
from retro.agents.interface import Facts, Known, Root, Row, Source
from retro.agents.neovim_kinds import BOOKKEEPING_TYPES as BOOKKEEPING_TYPES
from retro.agents.neovim_kinds import HOST as HOST
from retro.agents.neovim_kinds import PROJECT
from retro.agents.neovim_kinds import UNCOUNTED as UNCOUNTED
from retro.agents.plainfiles import MAIN, matching

if TYPE_CHECKING:
    from retro.agents.neovim_records import NeovimReader

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
]

NORMALISER: Final = 1
META_NAME: Final = "meta.json"
MOVED_BY: Final = ("NVIM_APPNAME",)

PLUGINS: Final = {
    "copilotchat_history/*.json": "copilotchat",
    "codecompanion-history/chats/*.json": "codecompanion",
    "avante/projects/*/history/*.json": "avante",
    "avante/*.json": "avante",
}
"""Where the plug-ins keep their chats, and whose they are."""

METADATA: Final = "metadata.json"


def roots(env: Mapping[str, str], extra: Sequence[str]) -> list[Root]:
    """Neovim's folders for data and state, under each name that it goes by, and what the settings add."""
    wanted = [(path, "NVIM_APPNAME") for name in (env.get("NVIM_APPNAME", ""),) if name for path in _named(env, name)]
    for base, reason in _bases(env):
        wanted += [(os.path.join(base, "nvim"), reason), (os.path.join(base, "nvim-data"), reason)]
        wanted += [(path, reason) for path in folders(base) if os.path.basename(path).startswith("nvim-")]
    wanted += [(entry, "settings") for entry in extra]
    return existing_roots(HOST, wanted, _holds)


def _bases(env: Mapping[str, str]) -> list[tuple[str, str]]:
    """Folders in which Neovim has its own."""
    found = [(env.get(name, ""), name) for name in ("XDG_DATA_HOME", "XDG_STATE_HOME")]
    for home in homes(env):
        found += [(os.path.join(home, ".local", kind), "default") for kind in ("share", "state")]
        found.append((os.path.join(home, "AppData", "Local"), "default"))
    found.append((env.get("LOCALAPPDATA", ""), "default"))
    return [(path, reason) for path, reason in found if path]


def _named(env: Mapping[str, str], name: str) -> list[str]:
    return [os.path.join(base, folder) for base, _ in _bases(env) for folder in (name, f"{name}-data")]


def _holds(folder: str) -> bool:
    return any(True for pattern in PLUGINS for _ in matching(folder, pattern))


def retention(root: Root) -> int | None:
    """Nothing is deleted unless a person asks for it."""
    return None


def discover(root: Root, known: Known) -> Iterator[Source]:
    """Every chat of every plug-in."""
    for pattern, plugin in PLUGINS.items():
        for path, stat in matching(root.path, pattern):
            if os.path.basename(path) != METADATA:
                yield chatfiles.source(HOST, _session(plugin, path), MAIN, path, stat)


def _session(plugin: str, path: str) -> str:
    """A chat's name; those of avante.nvim are numbered in every project."""
    folder, name = os.path.split(path)
    parts = [plugin, name.removesuffix(".json")]
    if os.path.basename(folder) == "history":
        parts.insert(1, os.path.basename(os.path.dirname(folder)))
    return plain("-".join(parts))


def claims(path: str) -> list[Source]:
    """What a path given by the user stands for: a chat, or a folder with some."""
    path = os.path.abspath(path)
    if os.path.isdir(path):
        if _holds(path):
            return list(discover(Root(HOST, path, "given"), {}))
        return [source for file, _ in files(path) if file.endswith(".json") for source in claims(file)]
    if not path.endswith(".json") or not os.path.isfile(path) or os.path.basename(path) == METADATA:
        return []
    plugin = _plugin(chatfiles.loaded(path))
    return [chatfiles.source(HOST, _session(plugin, path), MAIN, path, os.stat(path))] if plugin else []


def _plugin(found: Fields | list[object] | None) -> str | None:
    """Whose chat a file is, by what stands in it."""
    if isinstance(found, list):
        said = [mapping(one) for one in found]
        spoken = bool(said) and all(string(one.get("role")) and isinstance(one.get("content"), str) for one in said)
        return "copilotchat" if spoken else None
    if found is None or not (items(found.get("messages")) or items(found.get("entries"))):
        return None
    if "save_id" in found:
        return "codecompanion"
    wrapped = any("message" in mapping(one) and "uuid" in mapping(one) for one in items(found.get("messages")))
    return "avante" if wrapped or any("request" in mapping(one) for one in items(found.get("entries"))) else None


def folder_of(source: Source) -> str | None:
    """The folder that a chat names, or its project."""
    path = source.copy or ""
    found = chatfiles.loaded(path)
    named = first(found, "project_root", "cwd") if isinstance(found, dict) else None
    return named or _project(path)


def _project(path: str) -> str | None:
    """The folder that the chats of avante.nvim beside this one are about."""
    beside = chatfiles.loaded(os.path.join(os.path.dirname(path), METADATA))
    return first(beside, "project_root") if isinstance(beside, dict) else None


def records(path: str, copy: str, since: int) -> Iterator[Row]:
    """The messages of a chat as they are now."""
    project = _project(copy)
    if project is not None:
        yield Row(PROJECT, PROJECT, canonical({"project_root": project}))
    yield from chatfiles.rows(copy)


def reader(session_id: str, key: str, source_key: str, saved: bytes, facts: Facts) -> NeovimReader:
    """The reader of one chat."""
    from retro.agents.neovim_records import NeovimReader  # a sweep that finds nothing new loads no reader

    return NeovimReader(session_id, source_key, saved, facts)


def sidecar_facts(key: str, content: bytes) -> Facts | None:
    """Nothing is kept beside the chatfiles."""
    return None
