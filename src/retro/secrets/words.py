"""Scans a batch for many words at once, by the character of each that is rarest."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

MARK: Final = "^"


class Words:
    """Words to look for, in lower case. `^` stands before a rare character of a word: `to^ken`.

    A pattern that begins with one character is a scan for that character, which is quicker than one for a word, and
    words that share it are found by the same scan. A word without a mark is looked for by itself: the right way for
    long words.
    """

    def __init__(self, *words: str) -> None:
        self._plain = [word.encode() for word in words if MARK not in word]
        by_character: dict[str, dict[str, str]] = defaultdict(dict)
        for word in words:
            head, mark, rest = word.partition(MARK)
            if mark:
                by_character[rest[0]][rest] = head
        self._scans = [_scan(character, heads) for character, heads in by_character.items()]

    def find(self, lowered: bytes) -> Iterator[tuple[bytes, int]]:
        """Each word that stands in the batch, and where it begins; a place is not given twice for the same word."""
        for pattern, words in self._scans:
            for match in pattern.finditer(lowered):
                word = words[match[0]]
                yield word, match.end() - len(word)
        for word in self._plain:
            at = lowered.find(word)
            while at >= 0:
                yield word, at
                at = lowered.find(word, at + 1)


def _scan(character: str, heads: dict[str, str]) -> tuple[re.Pattern[bytes], dict[bytes, bytes]]:
    """The pattern for words that share a character, and the words by what of them it matches."""
    ends = [f"(?<={re.escape(head + character)}){re.escape(rest[1:])}" for rest, head in heads.items()]
    pattern = re.compile(f"{re.escape(character)}(?:{'|'.join(ends)})".encode())
    return pattern, {rest.encode(): (head + rest).encode() for rest, head in heads.items()}
