"""Looking through the archive itself, every byte of it, for a pattern: on several cores, frame by frame."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import msgspec

from retro.archive.frames import Damaged, contents
from retro.event import Event

if TYPE_CHECKING:
    from concurrent.futures import Future

WORTH_IT: Final = 4 * 1024 * 1024
"""Compressed bytes from which on starting processes pays."""

LINE: Final = 1024 * 1024
"""A longer line is looked through in pieces of this size, each beginning a little within the one before."""

OVERLAP: Final = 4096
AROUND: Final = 160
"""Characters of a long line that are shown on each side of a match."""

MOST: Final = 1000
"""Matches of one file that are shown; all are counted."""

EVENTS: Final = "events"
RAW: Final = "raw"


class File(msgspec.Struct):
    """Something to look through: a session's events, or a source as its host wrote it."""

    host: str
    session_id: str
    source: str
    path: str
    committed: int


class Wanted(msgspec.Struct):
    """What to look for, and how much around it to show."""

    pattern: str
    ignore_case: bool = False
    context: int = 0
    raw: bool = False

    def compiled(self) -> re.Pattern[bytes] | re.Pattern[str]:
        """The pattern, of bytes where raw lines are looked through. Raises `re.error`."""
        flags = re.MULTILINE | (re.IGNORECASE if self.ignore_case else 0)
        if self.raw:
            return re.compile(self.pattern.encode("utf-8", "surrogateescape"), flags)
        return re.compile(self.pattern, flags)


class Match(msgspec.Struct, omit_defaults=True):
    """A line that matches."""

    line: int
    """From 1: of the source, or of the event's text."""
    text: str
    marks: list[tuple[int, int]]
    event_id: str | None = None
    timestamp: str | None = None
    field: str | None = None
    before: list[str] = []
    after: list[str] = []


class Looked(msgspec.Struct):
    """What one file holds."""

    file: File
    matches: list[Match]
    count: int = 0
    bytes: int = 0
    """Looked through, uncompressed."""
    damage: list[str] = []


def look_through(files: list[File], wanted: Wanted, workers: int) -> Generator[Looked, None, None]:
    """Look through files, on several cores where it is much, and give what each holds in their order."""
    if workers < 2 or len(files) < 2 or sum(file.committed for file in files) < WORTH_IT:
        for file in files:
            yield look(file, wanted)
        return
    with ProcessPoolExecutor(workers) as pool:
        waiting: deque[Future[Looked]] = deque()
        rest = iter(files)
        for file in rest:
            waiting.append(pool.submit(look, file, wanted))
            if len(waiting) >= 4 * workers:  # what was found waits here until it is shown: not all at once
                yield waiting.popleft().result()
        try:
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def look(file: File, wanted: Wanted) -> Looked:
    """Look through one file."""
    found = Looked(file, [])
    damage: list[Damaged] = []
    pattern: Any = wanted.compiled()
    try:
        lines = _lines(contents(file.path, file.committed, damage), found)
        if wanted.raw:
            _look_raw(lines, pattern, wanted.context, found)
        else:
            _look_at_events(lines, pattern, wanted.context, found)
    except OSError as error:
        found.damage.append(f"{file.path}: {error.strerror or error}")
    found.damage += [f"{one.path}, at byte {one.position}: {one.reason}" for one in damage]
    return found


def _lines(frames: Iterable[bytes], found: Looked) -> Iterator[bytes]:
    """Whole lines; one that stands in several frames is put together."""
    torn: list[bytes] = []
    for frame in frames:
        found.bytes += len(frame)
        end = frame.rfind(b"\n")
        if end < 0:
            torn.append(frame)
            continue
        whole = b"".join([*torn, frame[:end]])
        yield from whole.split(b"\n")
        torn = [frame[end + 1 :]] if end + 1 < len(frame) else []
    if torn:
        yield b"".join(torn)


# --- as the host wrote it --------------------------------------------------------------------------------------------


def _look_raw(lines: Iterable[bytes], pattern: re.Pattern[bytes], context: int, found: Looked) -> None:
    before: deque[str] = deque(maxlen=context)
    open_matches: list[Match] = []
    for number, line in enumerate(lines, 1):
        shown: str | None = None
        if open_matches:
            shown = _clipped(line)
            open_matches = [match for match in open_matches if len(_with(match.after, shown)) < context]
        spans = _spans(line, pattern)
        if spans:
            found.count += 1
            if len(found.matches) < MOST:
                match = _raw_match(number, line, spans)
                match.before = list(before)
                found.matches.append(match)
                if context:
                    open_matches.append(match)
        if context:
            before.append(shown if shown is not None else _clipped(line))


def _with(after: list[str], line: str) -> list[str]:
    after.append(line)
    return after


def _spans(line: bytes, pattern: re.Pattern[bytes]) -> list[tuple[int, int]]:
    """Where a line matches; a very long one is looked through in pieces that overlap."""
    if len(line) <= LINE:
        return [found.span() for found in _first(pattern.finditer(line))]
    spans: dict[int, int] = {}
    for start in range(0, len(line), LINE - OVERLAP):
        for found in _first(pattern.finditer(line[start : start + LINE])):
            spans.setdefault(start + found.start(), start + found.end())
    return sorted(spans.items())


def _first(matches: Iterator[re.Match[Any]], most: int = 20) -> Iterator[re.Match[Any]]:
    for count, match in enumerate(matches):
        if count >= most:
            return
        yield match


def _raw_match(number: int, line: bytes, spans: list[tuple[int, int]]) -> Match:
    start = max(spans[0][0] - AROUND, 0)
    end = min(max(spans[0][1], spans[0][0] + AROUND) + AROUND, len(line))
    text = line[start:end].decode("utf-8", "replace")
    marks = []
    for first, last in spans:
        if start <= first and last <= end:
            left = len(line[start:first].decode("utf-8", "replace"))
            marks.append((left, left + len(line[first:last].decode("utf-8", "replace"))))
    return Match(number, text, marks)


def _clipped(line: bytes) -> str:
    return line[: 2 * AROUND].decode("utf-8", "replace")


# --- as events -------------------------------------------------------------------------------------------------------

_decode = msgspec.json.Decoder(Event).decode
_encode = msgspec.json.Encoder().encode


def _look_at_events(lines: Iterable[bytes], pattern: re.Pattern[str], context: int, found: Looked) -> None:
    for line in lines:
        if not line:
            continue
        event = _decode(line)
        for field, text in _texts(event):
            if pattern.search(text):
                _look_at_text(event, field, text, pattern, context, found)


def _texts(event: Event) -> Iterator[tuple[str, str]]:
    """Everything that an event says, once."""
    if event.command:
        yield "command", event.command
    if event.text:
        yield "text", event.text
    elif not event.command:
        yield "summary", event.summary
    if event.paths:
        yield "paths", "\n".join(event.paths)
    if event.tool:
        yield "tool", event.tool
    if event.payload:
        yield "payload", _encode(event.payload).decode()


def _look_at_text(event: Event, field: str, text: str, pattern: re.Pattern[str], context: int, found: Looked) -> None:
    lines = text.split("\n")
    matched = False
    for at, line in enumerate(lines):
        spans = [one.span() for one in _first(pattern.finditer(line))]
        if spans:
            matched = True
            _note(event, field, at, lines, spans, context, found)
    if not matched:  # the match goes on over the end of a line
        spans = [one.span() for one in _first(pattern.finditer(text))]
        at = text.count("\n", 0, spans[0][0])
        begin = text.rfind("\n", 0, spans[0][0]) + 1
        _note(event, field, at, lines, [(spans[0][0] - begin, len(lines[at]))], context, found)


def _note(
    event: Event, field: str, at: int, lines: list[str], spans: list[tuple[int, int]], context: int, found: Looked
) -> None:
    found.count += 1
    if len(found.matches) >= MOST:
        return
    line = lines[at]
    start = max(spans[0][0] - AROUND, 0) if len(line) > 3 * AROUND else 0
    end = min(spans[0][1] + AROUND, len(line)) if len(line) > 3 * AROUND else len(line)
    end = min(end, start + 4 * AROUND)
    marks = [(max(first, start) - start, min(last, end) - start) for first, last in spans if first < end]
    around = [one[: 2 * AROUND] for one in lines[max(at - context, 0) : at]]
    behind = [one[: 2 * AROUND] for one in lines[at + 1 : at + 1 + context]]
    found.matches.append(Match(at + 1, line[start:end], marks, event.event_id, event.timestamp, field, around, behind))
