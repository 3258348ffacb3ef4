"""Entries of ours in the settings of an agent: put in, taken out, and nothing else touched.

JSON has no comments, so the mark stands in the command itself: `--installed`. What bears it is ours.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from retro.agents.interface import HookFile
from retro.cadence import files
from retro.failure import Failure

MARK: Final = "--installed"
_ENDS: Final = r"\bretro\b.*\bhook (?:stop|session-end) --host [a-z]+ --installed\b"
_WEAVES: Final = r"\bretro\b.*\bmemory weave --hook --host [a-z]+ --installed\b"
_WEAVE: Final = re.compile(_WEAVES)
_OURS: Final = re.compile(f"{_ENDS}|{_WEAVES}")


def command(retro: str, event: str, host: str) -> str:
    """The command that a hook runs; `retro` is how the program is called, quoted for a shell."""
    return f"{retro} hook {event} --host {host} {MARK}"


def weave_command(retro: str, host: str) -> str:
    """The command that a hook runs when a prompt was typed."""
    return f"{retro} memory weave --hook --host {host} {MARK}"


def installed(file: HookFile) -> bool:
    """Whether every event has an entry of ours."""
    events = _events(_parsed(_read(file.path) or "", file.path))
    return all(_is_ours(events.get(name)) for name in file.events.values())


def weaves(file: HookFile) -> bool:
    """Whether prompts are given memories."""
    return _is_ours(_events(_parsed(_read(file.path) or "", file.path)).get(file.prompt), _WEAVE)


def with_entries(file: HookFile, host: str, retro: str, *, weave: bool = False) -> tuple[str | None, str]:
    """The text of the settings before (None: no file) and after our entries are in it, newest command and all.

    With `weave`, or where it was so, prompts are given memories.
    """
    before = _read(file.path)
    document = _parsed(before or "", file.path)
    weave = weave or _is_ours(_events(document).get(file.prompt), _WEAVE)
    _take_out(document)
    events = document.setdefault("hooks", {})
    wanted = [(name, command(retro, event, host)) for event, name in file.events.items()]
    wanted += [(file.prompt, weave_command(retro, host))] if weave else []
    for name, line in wanted:
        entries = events.setdefault(name, [])
        if not isinstance(entries, list):
            raise _unusable(file.path, f"hooks.{name} is not a list")
        entries.append(file.entry(line))
    return before, _text(document, before)


def without_entries(file: HookFile, *, only_weave: bool = False) -> tuple[str | None, str | None]:
    """The text before and after; the very text of the backup where that says the same. None: no file.

    With `only_weave` the other entries stay.
    """
    before = _read(file.path)
    if before is None:
        return None, None
    document = _parsed(before, file.path)
    if not _take_out(document, _WEAVE if only_weave else _OURS):
        return before, before
    backup = _read(file.path + files.BACKUP)
    try:
        if backup is not None and json.loads(backup) == document:
            return before, backup
    except ValueError:
        pass
    made_by_us = backup is None and not document
    return before, None if made_by_us else _text(document, before)


def write(file: HookFile, before: str | None, after: str | None) -> str | None:
    """Replace the settings, keeping what was there in a file beside them; gives that file, where one was made."""
    # What was there before us is kept, not what we made of it.
    return files.replace(file.path, before, after, keep=before is not None and not _OURS.search(before))


# --- reading ---------------------------------------------------------------------------------------------------------


def _read(path: str) -> str | None:
    try:
        return files.read(path, "utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise _unusable(path, str(error)) from None


def _parsed(text: str, path: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _unusable(path, f"it is not plain JSON ({error})") from None
    if not isinstance(document, dict):
        raise _unusable(path, "it holds no JSON object")
    _events(document, path)
    return document


def _events(document: dict[str, Any], path: str = "") -> dict[str, Any]:
    events = document.get("hooks", {})
    if not isinstance(events, dict):
        raise _unusable(path, "its hooks are no object")
    return events


def _unusable(path: str, why: str) -> Failure:
    return Failure(
        "settings", f"{path} is left as it is: {why}", "mend it, or add the hook by hand; see docs/cadence.md"
    )


# --- entries ---------------------------------------------------------------------------------------------------------


def _is_ours(entry: object, ours: re.Pattern[str] = _OURS) -> bool:
    if isinstance(entry, str):
        return ours.search(entry) is not None
    inner = entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ()
    return any(_is_ours(one, ours) for one in inner)


def _take_out(document: dict[str, Any], ours: re.Pattern[str] = _OURS) -> bool:
    """Remove our entries, and the lists that hold nothing else; whether there were any."""
    events = _events(document)
    found = False
    for name, entries in list(events.items()):
        if not isinstance(entries, list) or not _is_ours(entries, ours):
            continue
        found = True
        events[name] = [kept for one in entries if (kept := _without_ours(one, ours)) is not None]
        if not events[name]:
            del events[name]
    if found and not events:
        del document["hooks"]
    return found


def _without_ours(entry: Any, ours: re.Pattern[str]) -> Any:
    """An entry of an event's list without our command; None where nothing is left. Others may share a group with us."""
    if not _is_ours(entry, ours):
        return entry
    group = entry.get("hooks") if isinstance(entry, dict) else None
    if not isinstance(group, list):
        return None
    kept = [one for one in group if not _is_ours(one, ours)]
    return {**entry, "hooks": kept} if kept else None


def _text(document: dict[str, Any], before: str | None) -> str:
    """JSON in the layout that the file has."""
    indented = re.search(r"\n([ \t]+)\S", before or "\n  x")
    indent = indented[1] if indented else None
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    newline = "\r\n" if before and "\r\n" in before else "\n"
    ending = "\n" if before is None or before.endswith("\n") else ""
    return (text + ending).replace("\n", newline)
