"""What the search index holds of a session, cut from its events one at a time: passages of at most 4 KB of a turn."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from retro.event import Actor, Event, EventType, Origin
from retro.terms import ANSWER, COMMAND, ERROR, NAMES, OUTPUT, PROMPT, UNSPACED, spread
from retro.turns import FoldState, is_failure

SIZE: Final = 4096
"""Most bytes of text in a passage."""

HEAD: Final = 1200
TAIL: Final = 800
"""Characters of a long output that are indexed; `retro grep` finds the rest in the archive."""

CUT: Final = " […] "
"""Stands where the middle of an output was left out."""

PATHS: Final = 20
"""Most paths of one event that are indexed; a listing of a repository says nothing about a turn."""

END: Final = "\x1e"
UNIT: Final = "\x1f"
_MARKS: Final = {ord(END): " ", ord(UNIT): " ", 0: " "}

# A text by kinds of characters: `parseHTTPHeader2` is `aaaaaAAAAAaaaaaa`. In it a word that begins within a name is a
# literal to look for, which is much quicker than a pattern of classes.
_KINDS: Final = bytes(
    ord("A") if 65 <= c <= 90 else ord("a") if c < 128 and chr(c).isalnum() else ord(" ") for c in range(256)
)
_BLANK: Final = b" "
_humps = re.compile(rb"aA[aA]*").finditer
_humps_behind_capitals = re.compile(rb"AAa[aA]*").finditer
_NINE: Final = ord("9")
_LONGEST_NAME: Final = 64
_pieces = re.compile(rb"[0-9]+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+").findall
"""What `terms.pieces` cuts names into, all of a passage's at once."""

_ASCII: Final = bytes(range(128))
_unspaced = re.compile(f"[{''.join(f'{first}-{last}' for first, last in UNSPACED)}]").search

_TO_COLUMN: Final = {
    EventType.REASONING: OUTPUT,
    EventType.COMMAND: COMMAND,
    EventType.WEB_SEARCH: COMMAND,
    EventType.TOOL_CALL: COMMAND,
    EventType.SUBAGENT_START: COMMAND,
    EventType.SUBAGENT_END: ANSWER,
    EventType.COMPACTION: ANSWER,
    EventType.ERROR: ERROR,
}


class Passage(msgspec.Struct):
    """Consecutive events of one turn, as the search index takes them."""

    source: str
    """Key of the source; empty where the session was counted as a whole, because its sources overlap."""
    number: int
    """Counts the passages of the source."""
    turn: int
    """0 where only the whole session tells: a sub-agent's events stand in the turn of the call that started it."""
    body: bytes
    """The pieces, compressed: see `unpacked`."""
    columns: list[str] = []
    """What is indexed, without title and scope."""
    started: str | None = None
    errors: bool = False
    tools: list[str] = []
    files: list[str] = []
    model: str | None = None
    branch: str | None = None
    open: bool = False
    """More events may come into it: it is replaced when its source grows."""


class Piece(msgspec.Struct, array_like=True, gc=False):
    """What one event brings into a passage."""

    event_id: str
    column: int
    text: str


class Passages:
    """Cuts the events of one source, in order. Goes on in the last passage of the sweep before, if that was open."""

    def __init__(self, source: str, last: Passage | None, told: FoldState) -> None:
        self.closed: list[Passage] = []
        self._source = source
        self._number = last.number + (not last.open) if last else 0
        self._turn = last.turn if last else 0
        self._told = told
        self._changed = False
        self._begin(last if last and last.open else None)

    def _begin(self, last: Passage | None) -> None:
        self._pieces: list[Piece] = unpacked(last.body) if last else []
        self._ids = {piece.event_id for piece in self._pieces}
        self._size = sum(_size(piece.text) + 1 for piece in self._pieces)
        self._started = last.started if last else None
        self._errors = last.errors if last else False
        self._tools = dict.fromkeys(last.tools) if last else {}
        self._files = dict.fromkeys(last.files) if last else {}

    def add(self, event: Event) -> None:
        """Take an event. One that comes again, in a later version, takes the place of the earlier one."""
        if event.turn is not None and event.turn != self._turn:
            self._close()
            self._turn = event.turn
        if event.event_id in self._ids:
            self._pieces = [piece for piece in self._pieces if piece.event_id != event.event_id]
            self._size = sum(_size(piece.text) + 1 for piece in self._pieces)
        self._hear(event)
        failed = is_failure(event)
        for column, text in _texts(event, failed):
            for part, size in _parts(text):
                if self._size + size > SIZE:
                    self._close()
                self._started = self._started or event.timestamp
                self._errors = self._errors or failed
                self._pieces.append(Piece(event.event_id, column, part))
                self._ids.add(event.event_id)
                self._size += size + 1
                self._changed = True
        if self._pieces:
            self._name(event)

    def _hear(self, event: Event) -> None:
        told, pieces = self._told, bool(self._pieces)
        if event.model and event.model != told.model:
            told.model, self._changed = event.model, self._changed or pieces
        if event.branch and event.branch != told.branch:
            told.branch, self._changed = event.branch, self._changed or pieces

    def _name(self, event: Event) -> None:
        before = len(self._tools) + len(self._files)
        if event.tool:
            self._tools[event.tool] = None
        for path in (event.paths or ())[:PATHS]:
            self._files[path] = None
        self._changed = self._changed or len(self._tools) + len(self._files) > before

    def _close(self) -> None:
        if self._pieces:
            self.closed.append(self._passage())
            self._number += 1
        self._begin(None)

    def taken(self) -> list[Passage]:
        """What came since the last time, the passage that is still open last."""
        given, self.closed = self.closed, []
        if self._pieces and (self._changed or given):
            given.append(self._passage(still_open=True))
        self._changed = False
        return given

    def _passage(self, *, still_open: bool = False) -> Passage:
        return Passage(
            self._source,
            self._number,
            self._turn,
            packed(self._pieces),
            columns(self._pieces, list(self._files)),
            self._started,
            self._errors,
            list(self._tools),
            list(self._files),
            self._told.model,
            self._told.branch,
            still_open,
        )


def cut_whole(events: Iterable[Event]) -> list[Passage]:
    """The passages of a session in reading order."""
    builder = Passages("", None, FoldState())
    for event in events:
        builder.add(event)
    return builder.taken()


def columns(parts: Iterable[Piece], files: list[str]) -> list[str]:
    """What is indexed of pieces, a text for each column from prompt to names."""
    texts: list[list[str]] = [[] for _ in range(NAMES)]
    for piece in parts:
        texts[piece.column].append(piece.text)
    told = ["\n".join(of_column) for of_column in texts[PROMPT:]]
    data = "\n".join([*told, *files]).encode("utf-8", "replace")
    if not data.isascii() and _unspaced(data.translate(None, _ASCII).decode()):
        told = [spread(text) for text in told]
    return [*told, " ".join([*files, *_pieces_of_names(data)])]


def packed(parts: list[Piece]) -> bytes:
    """Pieces as they are stored."""
    lines = [f"{piece.event_id}{UNIT}{piece.column}{UNIT}{piece.text}" for piece in parts]
    return zlib.compress(END.join(lines).encode("utf-8", "replace"), 3)


def unpacked(body: bytes) -> list[Piece]:
    """Pieces from what is stored."""
    text = zlib.decompress(body).decode()
    found = (line.split(UNIT, 2) for line in text.split(END))
    return [Piece(event_id, int(column), of_piece) for event_id, column, of_piece in found]


# --- what of an event is looked for ----------------------------------------------------------------------------------


def _texts(event: Event, failed: bool) -> Iterator[tuple[int, str]]:
    """The texts of an event, with the column that each goes to."""
    kind = event.event_type
    if event.command:
        yield COMMAND, _shortened(event.command, SIZE, 0)
    text = event.text
    if not text or text.isspace():
        if kind is EventType.FILE_READ or kind is EventType.FILE_EDIT:
            yield COMMAND, _shortened(event.summary, HEAD, 0)
        return
    if kind is EventType.MESSAGE:
        yield from _message(event, text)
    elif kind is EventType.COMPACTION:
        yield ANSWER, text
    elif failed:
        yield ERROR, _shortened(text, HEAD, HEAD + TAIL)
    else:
        yield _TO_COLUMN.get(kind, OUTPUT), _shortened(text, HEAD, TAIL)


def _message(event: Event, text: str) -> Iterator[tuple[int, str]]:
    """A person's words and the agent's are indexed whole; what machines put between them, by its beginning."""
    if event.actor is Actor.USER and event.origin is Origin.HUMAN:
        yield PROMPT, text
    elif event.actor in (Actor.ASSISTANT, Actor.SUBAGENT):
        yield ANSWER, text
    elif event.origin is Origin.AGENT:
        yield COMMAND, _shortened(text, HEAD, TAIL)
    else:
        yield OUTPUT, _shortened(text, HEAD // 2, 0)


def _shortened(text: str, head: int, tail: int) -> str:
    if len(text) <= head + tail + len(CUT):
        return text
    return f"{text[:head]}{CUT}{text[-tail:]}" if tail else f"{text[:head]}{CUT}"


def _parts(text: str) -> list[tuple[str, int]]:
    """A text in parts that fit into a passage, with their sizes, cut between lines or words where there are any."""
    if END in text or UNIT in text or "\0" in text:
        text = text.translate(_MARKS)
    parts: list[tuple[str, int]] = []
    while (size := _size(text)) > SIZE:
        head = text[:SIZE] if text.isascii() else text.encode("utf-8", "replace")[:SIZE].decode("utf-8", "ignore")
        place = head.rfind("\n", SIZE // 8)
        if place < 0:
            place = head.rfind(" ", SIZE // 8)
        at = place + 1 or len(head)
        parts.append((text[:at], _size(text[:at])))
        text = text[at:]
    if text:
        parts.append((text, size))
    return parts


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _pieces_of_names(text: bytes) -> list[str]:
    """The pieces of all names, in their order, so that two of them are found side by side."""
    kinds = text.translate(_KINDS)
    before = kinds.rfind
    names: dict[int, bytes] = {}
    for hump in _humps(kinds):
        begin = before(_BLANK, 0, hump.start()) + 1
        names[begin] = text[begin : hump.end()]
    for hump in _humps_behind_capitals(kinds):
        if text[hump.start() + 2] > _NINE:  # the 1 of `HTTP1` begins no word
            begin = before(_BLANK, 0, hump.start()) + 1
            names[begin] = text[begin : hump.end()]
    in_order = dict.fromkeys([names[begin] for begin in sorted(names)])
    found = _pieces(_BLANK.join([name for name in in_order if len(name) <= _LONGEST_NAME]))
    return [_BLANK.join(found).decode()] if found else []
