"""Text cut into pieces of words as BERT's models know them."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

LONGEST: Final = 100
"""Characters of a word; a longer one is unknown."""

REMEMBERED: Final = 50_000

_ascii = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]").findall
_ascii_cased = re.compile(r"[A-Za-z0-9]+|[!-/:-@\[-`{-~]").findall


class WordPiece:
    """Cuts texts by a vocabulary, one piece a line, the line's number its id."""

    def __init__(self, path: str, *, lower: bool = True) -> None:
        with open(path, encoding="utf-8") as file:
            self._ids = {line.rstrip("\n"): number for number, line in enumerate(file)}
        self._lower = lower
        self._unknown = self._ids["[UNK]"]
        self._first, self._last = self._ids["[CLS]"], self._ids["[SEP]"]
        self._known: dict[str, list[int]] = {}

    def ids(self, text: str, most: int) -> list[int]:
        """Ids of a text's pieces between those of its beginning and its end, at most so many together."""
        found = [self._first]
        for word in self._words(text):
            found += self._pieces(word)
            if len(found) >= most:
                break
        return [*found[: most - 1], self._last]

    def _words(self, text: str) -> list[str]:
        if text.isascii():
            return _ascii(text.lower()) if self._lower else _ascii_cased(text)
        if self._lower:
            text = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn")
        return "".join(_parted(character) for character in text).split()

    def _pieces(self, word: str) -> list[int]:
        """The longest pieces that a word is made of, from its beginning on."""
        known = self._known.get(word)
        if known is None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            known = self._known[word] = self._cut(word)
        return known

    def _cut(self, word: str) -> list[int]:
        if len(word) > LONGEST:
            return [self._unknown]
        found: list[int] = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            end = next((end for end in range(len(word), start, -1) if mark + word[start:end] in self._ids), 0)
            if not end:
                return [self._unknown]
            found.append(self._ids[mark + word[start:end]])
            start = end
        return found


def _parted(character: str) -> str:
    """A character, with blanks around it where it is a word by itself."""
    if character.isspace():
        return " "
    category = unicodedata.category(character)
    if category[0] == "C" or character == "\ufffd":
        return ""
    if category[0] == "P" or (character.isascii() and not character.isalnum()):
        return f" {character} "
    return f" {character} " if _is_ideograph(ord(character)) else character


def _is_ideograph(code: int) -> bool:
    return (
        0x4E00 <= code <= 0x9FFF
        or 0x3400 <= code <= 0x4DBF
        or 0xF900 <= code <= 0xFAFF
        or 0x20000 <= code <= 0x2CEAF
        or 0x2F800 <= code <= 0x2FA1F
    )
