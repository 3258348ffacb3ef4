"""What a call is for, from what it is: the kind of tool, the program that a command runs, the files that it names."""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache
from typing import Final, NamedTuple

from retro.agents.toolnames import spellings
from retro.commands import Kind, meanings
from retro.event import Event, EventType
from retro.track.columns import EXPLORE, FIX, LOCATE, OTHER, REFACTOR, REPRODUCE, SEARCH, TEST, Flag, key_of

COMMANDS: Final[dict[Kind, str]] = {
    Kind.TEST: TEST,
    Kind.CHECK: TEST,
    Kind.BUILD: TEST,
    Kind.RUN: REPRODUCE,
    Kind.EDIT: FIX,
    Kind.FORMAT: REFACTOR,
    Kind.FIND: LOCATE,
    Kind.READ: EXPLORE,
    Kind.LIST: EXPLORE,
    Kind.INSPECT: EXPLORE,
}
"""What kinds of commands are for; every other one is `other`."""

_VALIDATING: Final = frozenset({Kind.TEST, Kind.CHECK, Kind.BUILD, Kind.RUN})
_RANK: Final = {kind: rank for rank, kind in enumerate(Kind)}
_CD = re.compile(r"""\s*cd\s+(?:--\s+)?("[^"\n]+"|'[^'\n]+'|[^\s;&|]+)\s*(?:&&|;|\n)""")
_DRIVE = re.compile(r"[A-Za-z]:")

_TOOLS: Final[dict[str, str]] = {
    name: letter
    for letter, names in {
        LOCATE: (
            "grep glob search find rg ripgrep codebasesearch semanticsearch searchfiles filesearch findfiles grepsearch"
            " searchcode codesearch textsearch findtextinfiles searchworkspace listcodeusages findreferences"
            " searchworkspacesymbols searchfilecontent searchfilecontents findbyname searchdir searchindir"
            " filesearchtool lsp toolsearch symbols"
        ),
        EXPLORE: (
            "ls list listdir listdirectory listfiles readdirectory readfolder tree viewdirectory readdir geterrors"
            " problems getdiagnostics getchangedfiles projectinfo readprojectstructure bashoutput taskoutput readbash"
            " getterminaloutput readterminal readlints"
        ),
        TEST: "runtests runtest testfailure",
        REPRODUCE: "runnotebookcell runcell executecell execute executecode python runcode codeexecution",
    }.items()
    for name in names.split()
}
"""Tools that have no event type of their own, by the letters of their names."""


class Action(NamedTuple):
    """What a command does."""

    kind: str
    flags: int
    commits: int
    writes: tuple[str, ...]
    reads: tuple[str, ...]
    folder: str
    """Where it goes first, if it does."""


def of_command(text: str) -> Action:
    """What a command line does; of several commands in it the one that counts most says what it is for."""
    parts = meanings(text)
    if not parts:
        return Action(OTHER, 0, 0, (), (), "")
    kinds = {part.kind for part in parts}
    first = min(kinds, key=_RANK.__getitem__)
    flags = Flag.RUNS_TESTS * (Kind.TEST in kinds) | Flag.VALIDATES * bool(kinds & _VALIDATING)
    writes = tuple(path for part in parts for path in part.writes)
    reads = tuple(path for part in parts if part.kind in (Kind.READ, Kind.EDIT) for path in part.reads)
    flags |= Flag.EDIT * (Kind.EDIT in kinds) | Flag.READ * (Kind.READ in kinds)
    commits = sum(part.kind is Kind.COMMIT for part in parts)
    flags |= Flag.COMMITS * bool(commits)
    if parts[-1].last and parts[-1].kind is Kind.TEST:
        flags |= Flag.DECIDES
    changed = writes if flags & Flag.EDIT else ()
    going = _CD.match(text)
    return Action(COMMANDS.get(first, OTHER), flags, commits, changed, reads, going[1].strip("\"'") if going else "")


@lru_cache(maxsize=256)
def of_tool(name: str | None) -> str:
    """What a tool is for that no event type names."""
    for letters in spellings(name or ""):
        found = _TOOLS.get(letters) or _TOOLS.get(letters.removesuffix("tool"))
        if found:
            return found
    return OTHER


OF_TYPE: Final[dict[EventType, tuple[str, int]]] = {
    EventType.FILE_READ: (EXPLORE, Flag.READ | Flag.ACTION),
    EventType.FILE_EDIT: (FIX, Flag.EDIT | Flag.ACTION),
    EventType.WEB_SEARCH: (SEARCH, Flag.WEB | Flag.ACTION),
    EventType.SUBAGENT_START: (OTHER, Flag.AGENT | Flag.ACTION),
}
"""Calls whose type says what they are for."""


def identity(event: Event) -> int:
    """The same number for the same call with the same arguments."""
    said = event.command if event.command is not None else event.text or ""
    what = (event.event_type, event.tool or "", said, folder_of(event), *(event.paths or ()))
    return key_of("\0".join(what))


@lru_cache(maxsize=1024)
def file_key(path: str, folder: str) -> int:
    """The same number for the same file, whether it is named from the root or from the folder of the work."""
    path = path.replace("\\", "/")
    if not path.startswith(("/", "~")) and not _DRIVE.match(path):
        path = posixpath.join(folder.replace("\\", "/"), path)
    return key_of(posixpath.normpath(path))


def folder_of(event: Event) -> str:
    """The folder that a call names for its command."""
    named = event.payload.get("folder") if event.payload else None
    return named if isinstance(named, str) else ""


def joined(*folders: str) -> str:
    """A folder, seen from the one before it."""
    return posixpath.join("", *(folder.replace("\\", "/") for folder in folders if folder))
