"""What a digest needs of a session's events: noted as they pass, in bounded space, one event at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from retro import commands
from retro.commands import Kind, Meaning
from retro.event import Event, EventType
from retro.problems import problem, signature
from retro.track.words import corrects
from retro.turns import is_failure, is_prompt

FILES: Final = 48
COMMANDS: Final = 32
COMMITS: Final = 12
PROBLEMS: Final = 24
CORRECTIONS: Final = 16
WAITING: Final = 64
"""Calls whose results are still to come."""
OPEN: Final = 8
"""Failures that something may still resolve."""
DONE: Final = 3
"""Things done between a failure and the success after it."""
WORDS: Final = 160
"""Characters of a command, a commit's subject or a correction."""
PATH: Final = 300
SIGNATURE: Final = 240

MATTER: Final = frozenset({Kind.TEST, Kind.COMMIT, Kind.INSTALL, Kind.BUILD, Kind.CHECK, Kind.RUN, Kind.CONTAINER})
"""Kinds of commands that a digest names."""

_TEST: Final = Kind.TEST.value
_INSTALL: Final = Kind.INSTALL.value
_RANK: Final = {kind.value: rank for rank, kind in enumerate(Kind)}


class Command(msgspec.Struct, array_like=True):
    """A command that was run, maybe several times."""

    kind: str
    runs: int = 0
    failed: int = 0


class Problem(msgspec.Struct, array_like=True):
    """What went wrong, maybe several times, and what was done before it went right."""

    where: str
    """The program or tool."""
    times: int = 0
    resolved: list[str] | None = None
    """None: nothing shows that it was; empty: it went right without anything in between."""


class Call(msgspec.Struct, array_like=True):
    """A call whose result is to come."""

    key: str
    """Calls with the same key try the same."""
    said: str = ""
    """The command, where it matters."""
    kind: str = ""


class Failing(msgspec.Struct, array_like=True):
    """Something that failed and has not gone right since."""

    problems: list[str]
    done: list[str]


class Notes(msgspec.Struct):
    """What was noted of one source, or of a session."""

    files: dict[str, int] = {}
    """Edited files, each with how often."""
    more_files: int = 0
    commands: dict[str, Command] = {}
    tests: int = 0
    tests_failed: int = 0
    tests_ended: bool | None = None
    """Whether the last test run went well."""
    commits: list[str] = []
    more_commits: int = 0
    problems: dict[str, Problem] = {}
    more_problems: int = 0
    corrections: list[tuple[int, str]] = []
    more_corrections: int = 0
    waiting: dict[str, Call] = {}
    failing: dict[str, Failing] = {}


def note(notes: Notes, event: Event) -> None:
    """Note what matters of an event; a source's come in order, masked."""
    take = _TAKES.get(event.event_type)
    if take is not None:
        take(notes, event)


def noted(events: Iterable[Event]) -> Notes:
    """The notes of a whole session in reading order."""
    notes = Notes()
    for event in events:
        note(notes, event)
    return notes


def is_correction(event: Event) -> bool:
    """Whether a person says in a prompt, which is not the first, that something went the wrong way."""
    return (event.turn or 0) > 1 and is_prompt(event) and corrects(event.text or "")


# --- what is taken of each kind of event -----------------------------------------------------------------------------


def _take_command(notes: Notes, event: Event) -> None:
    text = event.command or ""
    meant = commands.meaning(text)
    said = _said(meant, text)
    if meant.kind is Kind.EDIT:
        _edited(notes, meant.writes)
    if said:
        known = notes.commands.get(said)
        if known is None:
            known = notes.commands[said] = Command(meant.kind.value)
            _make_room(notes)
        known.runs += 1
    if meant.kind is Kind.TEST:
        notes.tests += 1
        notes.tests_ended = None
    elif meant.kind is Kind.COMMIT:
        _commit(notes, text)
    _called(notes, event, Call(meant.program or "command", said, meant.kind.value))


def _take_edit(notes: Notes, event: Event) -> None:
    _edited(notes, event.paths or ())
    _called(notes, event, Call(f"{event.tool or 'edit'} {_path(event)}".rstrip()))


def _take_call(notes: Notes, event: Event) -> None:
    _called(notes, event, Call(f"{event.tool or event.event_type.value} {_path(event)}".rstrip()))


def _take_result(notes: Notes, event: Event) -> None:
    call = notes.waiting.pop(event.call_id or "", None)
    if call is not None:
        _ended(notes, call, event)
    elif is_failure(event):
        _problem(notes, event.tool or "tool", event)


def _take_error(notes: Notes, event: Event) -> None:
    _problem(notes, event.tool or "error", event)


def _take_message(notes: Notes, event: Event) -> None:
    if is_correction(event):
        if len(notes.corrections) < CORRECTIONS:
            notes.corrections.append((event.turn or 0, _words(event.text or event.summary)))
        else:
            notes.more_corrections += 1


_TAKES: Final = {
    EventType.COMMAND: _take_command,
    EventType.FILE_EDIT: _take_edit,
    EventType.FILE_READ: _take_call,
    EventType.TOOL_CALL: _take_call,
    EventType.WEB_SEARCH: _take_call,
    EventType.TOOL_RESULT: _take_result,
    EventType.ERROR: _take_error,
    EventType.MESSAGE: _take_message,
}


# --- calls and how they ended ----------------------------------------------------------------------------------------


def _called(notes: Notes, event: Event, call: Call) -> None:
    if event.is_error is not None or event.exit_code is not None:
        _ended(notes, call, event)  # the host wrote call and result as one
        return
    if event.call_id is None:
        return
    if len(notes.waiting) >= WAITING:
        del notes.waiting[next(iter(notes.waiting))]
    notes.waiting[event.call_id] = call


def _ended(notes: Notes, call: Call, event: Event) -> None:
    failed = is_failure(event)
    command = notes.commands.get(call.said)
    if command is not None:
        command.failed += failed
    if call.kind == _TEST:
        notes.tests_failed += failed
        notes.tests_ended = not failed
    if failed:
        name = _problem(notes, call.key, event)
        failing = notes.failing.pop(call.key, Failing([], []))
        if name and name not in failing.problems:
            failing.problems.append(name)
        if len(notes.failing) >= OPEN:
            del notes.failing[next(iter(notes.failing))]
        notes.failing[call.key] = failing
        return
    mended = notes.failing.pop(call.key, None)
    if mended is not None:
        for name in mended.problems:
            if name in notes.problems:
                notes.problems[name].resolved = mended.done
    if call.kind == _INSTALL and call.said:
        _did(notes, call.said)


def _problem(notes: Notes, where: str, event: Event) -> str:
    """Count an error; gives its signature."""
    name = signature(problem(event.text or event.summary) or "")[:SIGNATURE]
    if not name:
        return ""
    known = notes.problems.get(name)
    if known is None:
        if len(notes.problems) >= PROBLEMS:
            notes.more_problems += 1
            return ""
        known = notes.problems[name] = Problem(_words(where))
    known.times += 1
    known.resolved = None
    return name


def _edited(notes: Notes, paths: Iterable[str]) -> None:
    for path in paths:
        path = path[:PATH]
        if path in notes.files or len(notes.files) < FILES:
            notes.files[path] = notes.files.get(path, 0) + 1
        else:
            notes.more_files += 1
        _did(notes, path)


def _did(notes: Notes, what: str) -> None:
    """Something was done that may resolve what fails."""
    for failing in notes.failing.values():
        if what in failing.done:
            failing.done.remove(what)
        failing.done.append(what)
        del failing.done[:-DONE]


def _said(meant: Meaning, text: str) -> str:
    """How a command that matters is named; empty for others."""
    if meant.kind not in MATTER:
        return ""
    if meant.kind is Kind.INSTALL:
        return _words(text)
    return _words(meant.program if meant.subject in meant.program else f"{meant.program} {meant.subject}")


def _make_room(notes: Notes) -> None:
    """Of too many commands the least telling goes: one of the last kinds that ran once and went well."""
    if len(notes.commands) > COMMANDS:
        newest = next(reversed(notes.commands))
        candidates = [said for said in notes.commands if said != newest]
        del notes.commands[min(candidates, key=lambda said: _worth(notes.commands[said]))]


def _worth(command: Command) -> tuple[int, int]:
    return -_RANK.get(command.kind, len(_RANK)), command.runs + command.failed


_SUBJECT: Final = re.compile(r"""(?:-[a-zA-Z]*m|--message)[ =]\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|(\S+))""", re.DOTALL)
_HEREDOC: Final = re.compile(r"\$\(cat <<-?\s*['\"]?\w+['\"]?\s*\n(.*)", re.DOTALL)


def _commit(notes: Notes, text: str) -> None:
    found = _SUBJECT.search(text)
    words = next(filter(None, found.groups()), "") if found else ""
    document = _HEREDOC.search(text)
    lines = (document[1] if document and "$(cat" in words else words).strip().splitlines()
    if len(notes.commits) >= COMMITS:
        notes.more_commits += 1
        del notes.commits[0]
    notes.commits.append(_words(lines[0]) if lines else "")


def _path(event: Event) -> str:
    return event.paths[0][:PATH] if event.paths else ""


def _words(text: str) -> str:
    line = " ".join(text[: WORDS * 3].split())
    return line if len(line) <= WORDS else line[: WORDS - 1] + "…"


# --- several sources -------------------------------------------------------------------------------------------------


def merged(all_notes: Iterable[Notes]) -> Notes:
    """The notes of several sources as those of one session; the first one's end says how the tests ended."""
    total = Notes(files={}, commands={}, commits=[], problems={}, corrections=[])
    for notes in all_notes:
        for path, times in notes.files.items():
            total.files[path] = total.files.get(path, 0) + times
        for said, command in notes.commands.items():
            known = total.commands.setdefault(said, Command(command.kind))
            known.runs += command.runs
            known.failed += command.failed
        for name, one in notes.problems.items():
            same = total.problems.setdefault(name, Problem(one.where, 0, one.resolved))
            same.times += one.times
            if one.resolved is None:
                same.resolved = None
        if total.tests_ended is None:
            total.tests_ended = notes.tests_ended
        total.commits += notes.commits
        total.corrections += notes.corrections
        for count in ("more_files", "more_commits", "more_problems", "more_corrections", "tests", "tests_failed"):
            setattr(total, count, getattr(total, count) + getattr(notes, count))
    return total
