"""A session's events as the transcript shows them: calls joined with what came of them, in parts of bearable size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from retro.dashboard.data import Entry
from retro.event import Actor, Event, EventType
from retro.turns import is_failure

TEXT: Final = 24_000
"""Characters of a text that are shown; the command for the rest stands behind it."""

OUTPUT: Final = 8_000
"""The same for what came of a call: half from its beginning, half from its end."""

PART: Final = 512 * 1024
"""Characters of text in one part."""


_NAMED: Final = frozenset({EventType.TOOL_CALL, EventType.WEB_SEARCH, EventType.SUBAGENT_START})


def entries(events: Iterable[Event]) -> list[Entry]:
    """Entries in reading order; a result stands with its call where there is one before it."""
    found: list[Entry] = []
    calls: dict[tuple[str | None, str], Entry] = {}
    for event in events:
        if event.event_type is EventType.TOOL_RESULT and event.call_id:
            call = calls.get((event.agent_id, event.call_id))
            if call is not None and call.result_id is None:
                _join(call, event)
                continue
        entry = _entry(event)
        found.append(entry)
        if event.call_id and event.event_type is not EventType.TOOL_RESULT:
            calls[event.agent_id, event.call_id] = entry
    return found


def parts(shown: Iterable[Entry]) -> Iterator[list[Entry]]:
    """Entries in parts, none much larger than PART; at least one."""
    held: list[Entry] = []
    size = 0
    for entry in shown:
        length = 200 + len(entry.text or "") + len(entry.result or "") + len(entry.command or "")
        if held and size + length > PART:
            yield held
            held, size = [], 0
        held.append(entry)
        size += length
    yield held


def _entry(event: Event) -> Entry:
    text: str | None = event.text if event.text is not None else event.summary
    if event.event_type is EventType.COMMAND and event.text in (None, event.command):
        text = None
    cut, left = _shortened(text, TEXT, TEXT // 8)
    change = (event.payload or {}).get("change") if event.event_type is EventType.FILE_EDIT else None
    return Entry(
        id=event.event_id,
        kind=event.event_type.value,
        actor=event.actor.value,
        at=event.timestamp,
        turn=event.turn or 0,
        summary=event.summary if event.event_type in _NAMED else None,
        text=cut,
        tool=event.tool,
        command=event.command,
        paths=event.paths or [],
        agent=event.agent_id,
        origin=event.origin.value if event.origin and event.actor is Actor.USER else None,
        change=change if isinstance(change, str) else None,
        exit_code=event.exit_code,
        failed=is_failure(event),
        ms=event.duration_ms,
        line=event.raw_ref.line,
        source=event.source,
        cut=left + int(event.truncated),
    )


def _join(call: Entry, result: Event) -> None:
    call.result, left = _shortened(result.text, OUTPUT, OUTPUT // 2)
    call.result_id = result.event_id
    call.cut += left + int(result.truncated)
    call.failed = call.failed or is_failure(result)
    call.exit_code = result.exit_code if result.exit_code is not None else call.exit_code
    call.ms = result.duration_ms if result.duration_ms is not None else call.ms


def _shortened(text: str | None, most: int, tail: int) -> tuple[str | None, int]:
    """A text within its limit, and how many characters were left out between its beginning and its end."""
    if text is None or len(text) <= most:
        return text, 0
    left = len(text) - most
    return f"{text[: most - tail]}\n⋯ {left:,} characters left out ⋯\n{text[-tail:]}", left
