"""What kind of tool a name stands for: hosts name their tools much alike."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from retro.event import EventType

_LETTERS: Final = re.compile(r"[^a-z]+")
_PREFIXES: Final = ("copilot", "functions", "builtin", "vscode", "internal")

_NAMES: Final = {
    EventType.COMMAND: (
        "bash shell sh execute exec run terminal command executecommand execcommand runcommand runterminal"
        " runinterminal runterminalcommand runcommandinterminal runshellcommand runbash shellexec shellcommand"
        " localshell powershell cmdrunner cmd executeshellcommand"
    ),
    EventType.FILE_READ: (
        "read readfile readfiles readmanyfiles readmediafile viewfile view openfile getfile getfilecontents viewimage"
        " readnotebook readfiletool"
    ),
    EventType.FILE_EDIT: (
        "edit editfile editfiles multiedit write writefile writetofile createfile create createnewfile replace"
        " replacefile replaceinfile replacestringinfile multireplacestringinfile inserteditintofile insertedit"
        " strreplace strreplaceeditor strreplacebasededittool searchreplace applypatch applydiff patch deletefile"
        " removefile delete editnotebook editnotebookfile notebookedit insert append overwritefile"
    ),
    EventType.WEB_SEARCH: (
        "websearch searchweb googlewebsearch googlesearch webfetch fetchurl fetchwebpage fetchpage fetch readurl"
        " readurlcontent openurl"
    ),
    EventType.SUBAGENT_START: (
        "task agent subagent runsubagent spawnsubagent spawnagent newtask delegate delegatetask agentswarm"
        " searchsubagent executionsubagent"
    ),
}
_KINDS: Final = {name: kind for kind, names in _NAMES.items() for name in names.split()}


def tool_kind(name: str) -> EventType:
    """The type of event that a call of this tool is; `tool_call` for one that we do not know."""
    return next((kind for letters in spellings(name) if (kind := _KINDS.get(letters))), EventType.TOOL_CALL)


def spellings(name: str) -> Iterator[str]:
    """The letters of a tool's name, as they are and without what hosts put around them."""
    letters = _LETTERS.sub("", name.lower())
    for prefix in ("", *_PREFIXES):
        if letters.startswith(prefix):
            yield letters[len(prefix) :].removesuffix("internal")
