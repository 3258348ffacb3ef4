"""A Claude Code home in figures: what the generator is calibrated on, and what its work is compared by."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import msgspec
import zstandard

FRAME: Final = 256 * 1024
LEVEL: Final = 3
BINS: Final = 48
"""A distribution is kept as the means of so many equally large groups, smallest first."""

TOOLS: Final = ("Bash", "Read", "Edit", "Grep", "Write", "Glob", "TodoWrite")
"""Tools whose calls and results are measured apart; the rest is `other`."""

_decode: Final = msgspec.json.Decoder().decode


class Kind(msgspec.Struct):
    """One kind of record."""

    count: float
    """Its share of the records."""
    size: float
    """Its share of the bytes."""
    lengths: list[int]


class Figures(msgspec.Struct):
    """A home."""

    sessions: list[int]
    """Sizes of the transcripts."""
    lines: list[int]
    """Lengths of the records."""
    kinds: dict[str, Kind]
    compressed: float
    """What zstd leaves of frames cut at line ends, as retro cuts them."""
    conversation: float
    """The same for the words alone: prompts, answers and thoughts."""
    words: float
    """Share of the bytes that are such words."""
    signature: float
    """Share of a thinking block that is its signature."""


def transcripts(home: str) -> Iterator[str]:
    """Every transcript of a home."""
    for folder, folders, names in os.walk(os.path.join(home, "projects")):
        folders.sort()
        yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(".jsonl"))


def bins(values: list[int]) -> list[int]:
    """A distribution in few numbers, with the same mean."""
    values = sorted(values)
    count = min(BINS, len(values))
    edges = [len(values) * at // count for at in range(count + 1)]
    return [round(sum(values[a:b]) / (b - a)) for a, b in pairwise(edges)]


def compressed(data: bytes) -> int:
    """How long the data is as a row of frames."""
    compress = zstandard.ZstdCompressor(level=LEVEL).compress
    at = total = 0
    while at < len(data):
        end = data.rfind(b"\n", at, at + FRAME) + 1 or data.find(b"\n", at + FRAME) + 1 or len(data)
        total += len(compress(data[at:end]))
        at = end
    return total


def measure(home: str) -> Figures:
    """Read a home and put it into figures."""
    survey = _Survey()
    sizes, small = [], 0
    for path in transcripts(home):
        with open(path, "rb") as file:
            data = file.read()
        sizes.append(len(data))
        small += compressed(data)
        for line in data.split(b"\n"):
            if line:
                survey.add(line)
        survey.end()
    lengths = [length for found in survey.lengths.values() for length in found]
    records, size = len(lengths), sum(lengths)
    kinds = {
        kind: Kind(len(found) / records, sum(found) / size, bins(found))
        for kind, found in sorted(survey.lengths.items())
    }
    return Figures(
        sessions=bins(sizes),
        lines=bins(lengths),
        kinds=kinds,
        compressed=small / sum(sizes),
        conversation=survey.packed / max(survey.spoken, 1),
        words=survey.spoken / size,
        signature=survey.signed / max(survey.signed + survey.thought, 1),
    )


class _Survey:
    """Records by kind, and the words in them."""

    def __init__(self) -> None:
        self.lengths: dict[str, list[int]] = {}
        self.spoken = self.packed = self.thought = self.signed = 0
        self._words: list[str] = []
        self._tools: dict[str, str] = {}

    def add(self, line: bytes) -> None:
        """Take in one record."""
        try:
            kind = self._kind(_decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError):
            kind = "other"
        self.lengths.setdefault(kind, []).append(len(line) + 1)

    def end(self) -> None:
        """A transcript ends."""
        words = "\n".join(self._words).encode("utf-8", "replace")
        self.spoken += len(words)
        self.packed += compressed(words)
        self._words.clear()
        self._tools.clear()

    def _kind(self, record: dict[str, Any]) -> str:
        kind = str(record.get("type"))
        if kind == "progress":
            return f"progress:{record['data'].get('type')}"
        if kind == "system":
            return f"system:{record.get('subtype')}"
        if kind not in ("user", "assistant"):
            return kind
        content = record["message"].get("content")
        if isinstance(content, str):
            self._words.append(content)
            return f"{kind}:text"
        for block in content or []:
            found = self._block(block)
            if found:
                return found
        return f"{kind}:text"

    def _block(self, block: dict[str, Any]) -> str | None:
        kind = block.get("type")
        if kind == "tool_use":
            self._tools[block["id"]] = name = block["name"] if block["name"] in TOOLS else "other"
            return f"call:{name}"
        if kind == "tool_result":
            return f"result:{self._tools.get(block['tool_use_id'], 'other')}"
        if kind == "thinking":
            self._words.append(block["thinking"])
            self.thought += len(block["thinking"])
            self.signed += len(block.get("signature") or "")
            return "assistant:thinking"
        if kind == "text":
            self._words.append(block["text"])
        return None
