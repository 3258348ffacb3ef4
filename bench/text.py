"""Invented code and prose: made once, then cut into pieces as fast as memory can be copied.

All of it is JSON-escaped UTF-8 read as Latin-1, so that a length in characters is a length in bytes.
"""

from __future__ import annotations

import base64
import json
import random
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from typing import Final

_CODE: Final = 3_000_000
_PROSE: Final = 1_500_000
_SIGNATURE: Final = 4_000_000
_VOCABULARY: Final = 7000
REPEATED: Final = 0.72
"""How much of code was written before, on one of the last lines."""
RECENT: Final = 400

_SYLLABLES: Final = (
    "ar be co da en fi ga ho in ju ka lo me na or pe qu re si ta un ve wi xe yo za tion ment ing er al"
    " ist con pro sub trans log line node file path data test read load sess host hash sync"
)
_COMMON: Final = (
    "the a to of and is in it that for on with as this be are not at from by an or we if but can will so"
    " all now has was let which when there one use no more into out then need also they first should only"
    " after other file test code function error check line change call value session command test result"
    " case run add path set name fix key auth tokens"
)
_RARE: Final = (250, ("passed", "ignore", "secret", "password"))
"""Words that a search for secrets and injections stops at, and from which rank on they stand."""
_KEYWORDS: Final = (
    "if err != nil {|return nil, err|}|})|} else {|return|for _, item := range items {|func|var|defer"
    "|switch|case|import (|package main|type|struct {|const|t.Helper()|t.Parallel()|continue|break"
    "|// TODO"
)
_SIGNS: Final = ("—", "→", "✓", "…", "❌", "’")


def escaped(text: str) -> str:
    """A text as it stands in a JSON string, one character a byte."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode().decode("latin-1")


class Text:
    """A long text that is cut at its line ends."""

    def __init__(self, lines: list[str], end: str = "\\n") -> None:
        self.lines = [line + end for line in lines]
        self.starts = [0, *accumulate(map(len, self.lines))]
        self.text = "".join(self.lines)

    def piece(self, chance: random.Random, length: int, low: float = 0.0, high: float = 1.0) -> str:
        """About so many bytes, whole lines from somewhere between two places."""
        if length <= 0:
            return ""
        at = bisect_right(self.starts, (low + chance.random() * (high - low)) * (len(self.text) - length)) - 1
        return self.cut(max(at, 0), length)

    def cut(self, line: int, length: int) -> str:
        """About so many bytes from a line on; the last line may be cut short at a word."""
        begin = self.starts[line]
        text = self.text[begin : begin + length]
        if len(text) < length:
            text += self.cut(0, length - len(text))
        end = max(text.rfind(" ", max(len(text) - 24, 0)), text.rfind("\\n"))
        return text[:end] if end > 0 else ""

    def between(self, first: int, last: int) -> str:
        """The lines from one to another."""
        return self.text[self.starts[first] : self.starts[min(last, len(self.lines))]]


class Pools:
    """Everything that sessions are cut from."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._keywords = _KEYWORDS.split("|")
        words = [*_COMMON.split(), *(_word(chance) for _ in range(_VOCABULARY))]
        words[_RARE[0] : _RARE[0]] = _RARE[1]
        weights = list(accumulate(1 / (place + 8) for place in range(len(words))))
        self.words = words
        self._stream = iter(chance.choices(words, cum_weights=weights, k=(_CODE + _PROSE) // 5))
        self.code = Text(self._lines(_CODE, self._code_line, REPEATED))
        self.prose = Text(self._lines(_PROSE, self._prose_line))
        self.signature = base64.b64encode(chance.randbytes(_SIGNATURE * 3 // 4)).decode()

    def signed(self, length: int) -> str:
        """A signature of this length."""
        at = self._chance.randrange(len(self.signature) - length)
        return self.signature[at : at + length]

    def _lines(self, size: int, line: Callable[[], str], repeated: float = 0.0) -> list[str]:
        made: list[str] = []
        chance, total = self._chance, 0
        while total < size:
            again = chance.random() < repeated and len(made) > RECENT
            text = made[-chance.randrange(1, RECENT)] if again else escaped(line())
            made.append(text)
            total += len(text) + 2
        return made

    def _name(self) -> str:
        first, second = next(self._stream), next(self._stream)
        return first + second.title() if self._chance.random() < 0.6 else first

    def _code_line(self) -> str:
        chance = self._chance
        kind, indent = chance.random(), "\t" * int(chance.triangular(0, 5, 1))
        if kind < 0.12:
            return ""
        if kind < 0.3:
            return indent + chance.choice(self._keywords)
        if kind < 0.302:
            return f"{indent}// see https://{self._name().lower()}.example/{next(self._stream)}/{next(self._stream)}"
        if kind < 0.304:
            return indent + "-" * chance.randint(5, 70)
        if kind < 0.42:
            return f"{indent}// {self._sentence(4, 11)}"
        if kind < 0.55:
            return f'{indent}t.Errorf("{self._name()} = %v, want {next(self._stream)}", {self._name()})'
        if kind < 0.7:
            return f"{indent}{self._name()} := {self._name()}.{self._name().title()}({self._name()}, {self._name()})"
        if kind < 0.8:
            return f"{indent}if {self._name()} != {self._name()} && {self._name()}.{self._name()}() {{"
        if kind < 0.9:
            return f'{indent}{self._name()}: "{next(self._stream)}/{next(self._stream)}-{chance.randrange(999)}",'
        receiver, method = self._name().title(), self._name()
        return f"{indent}func ({receiver[0]} *{receiver}) {method}({self._name()} string) error {{"

    def _prose_line(self) -> str:
        chance = self._chance
        kind = chance.random()
        if kind < 0.15:
            return ""
        if kind < 0.3:
            return f"- `{self._name()}`: {self._sentence(5, 14)}"
        if kind < 0.36:
            return f"## {self._sentence(2, 5).title()}"
        return " ".join(f"{self._sentence(6, 18).capitalize()}." for _ in range(chance.randint(1, 3)))

    def _sentence(self, least: int, most: int) -> str:
        chance = self._chance
        words = [next(self._stream) for _ in range(chance.randint(least, most))]
        if chance.random() < 0.05:
            words[-1] = chance.choice(_SIGNS)
        return " ".join(words)


def _word(chance: random.Random) -> str:
    return "".join(chance.choices(_SYLLABLES.split(), k=chance.choice((2, 2, 3, 3, 4))))
