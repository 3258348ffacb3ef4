"""What of a passage is given a vector: what a person and a model said, in windows of some 900 characters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from retro.passages import Piece
from retro.terms import ANSWER, PROMPT

SIZE: Final = 900
LEAST: Final = 12
"""Characters; what is shorter says nothing by itself."""


class Window(NamedTuple):
    """A part of a passage."""

    event_id: str
    column: int
    text: str


def cut(pieces: Iterable[Piece]) -> list[Window]:
    """The windows of a passage, in order."""
    return [
        Window(piece.event_id, piece.column, text)
        for piece in pieces
        if piece.column in (PROMPT, ANSWER)
        for text in parts(piece.text)
    ]


def parts(text: str) -> Iterator[str]:
    """A text in parts of like size, cut at blanks."""
    text = text.strip()
    count = -(-len(text) // SIZE)
    for left in range(count, 0, -1):
        at = -(-len(text) // left)
        if left > 1:
            space = text.rfind(" ", at * 3 // 4, SIZE)
            at = space if space > 0 else at
        part, text = text[:at].strip(), text[at:].strip()
        if len(part) >= LEAST:
            yield part
