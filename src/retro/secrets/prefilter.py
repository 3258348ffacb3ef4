"""Which lines of a batch may hold a secret: literal scans over the whole batch, regexes only at their hits."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final

from retro.secrets import assignments
from retro.secrets.rules import RUN_LENGTH, TOKENS
from retro.secrets.surroundings import SURROUNDINGS
from retro.secrets.words import Words

# Almost every token is a long run of word characters. One translation and one literal scan find all such runs; a
# literal scan per provider would cost ten times as much.
_RUNS: Final = bytes(97 if (chr(c).isalnum() and c < 128) or c in b"_-" else 32 for c in range(256))
_RUN: Final = b"a" * RUN_LENGTH
_RUN_END: Final = b" "


def _beginnings() -> re.Pattern[bytes]:
    """One pattern for the beginnings of all tokens, told apart by their first character."""
    by_first: dict[str, list[str]] = defaultdict(list)
    behind: list[str] = []
    for rule in TOKENS:
        for prefix in rule.prefixes:
            if rule.behind:
                behind.append(f"(?<={prefix})")
            else:
                by_first[prefix[0]].append(prefix[1:])
    own = "|".join(f"{first}(?:{'|'.join(dict.fromkeys(rests))})" for first, rests in by_first.items())
    escape = r"(?:(?<=\\)(?:[nrtbf]|u[0-9a-fA-F]{4})|(?<=%)[0-9A-Fa-f]{2}|(?<=[\[;])[0-9]{0,3}[mK])"
    return re.compile(rf"[^A-Za-z0-9](?:(?<=[\\%\[;]){escape})?(?:(?<=[.:/])(?:{'|'.join(behind)})|{own})".encode())


_BEGINNINGS: Final = _beginnings()

# The needles of `surroundings`, and the words that begin an assignment, as `assignments` knows them.
_WORDS: Final = Words(
    *("private key", ":/^/", "sig^=", "^~", "c^url ", "^bearer "),
    *("^pass", "^pwd", "secret", "to^ken", "^key", "a^uth"),
)


def _shapes() -> dict[bytes, re.Pattern[bytes]]:
    """For each needle one pattern for all shapes that begin with it."""
    by_needle: dict[str, list[bytes]] = defaultdict(list)
    for shape in SURROUNDINGS:
        by_needle[shape.needle].append(shape.confirm.pattern)
    return {needle.encode(): re.compile(b"|".join(patterns)) for needle, patterns in by_needle.items()}


_SHAPES: Final = _shapes()


def _tokens(batch: bytes) -> list[int]:
    runs = batch.translate(_RUNS)
    find, search = runs.find, _BEGINNINGS.search
    hits: list[int] = []
    at = find(_RUN)
    while at >= 0:
        end = find(_RUN_END, at)
        if end < 0:
            end = len(batch)
        if search(batch, at - 1 if at else 0, end):
            hits.append(at)
        at = find(_RUN, end)
    return hits


def _words(batch: bytes, lowered: bytes) -> list[int]:
    hits: list[int] = []
    match, confirm = assignments.IN_BATCH.match, assignments.in_batch
    for word, at in _WORDS.find(lowered):
        shape = _SHAPES.get(word)
        if shape is not None:
            if shape.match(lowered, at):
                hits.append(at)
        elif (found := match(lowered, at)) and confirm(batch, lowered, found):
            hits.append(at)
    return hits


def suspects(batch: bytes, lowered: bytes | None = None) -> list[int]:
    """Offsets into the lines of a JSON-lines batch that may hold a secret: sorted, distinct, usually none.

    On the decoded strings of a line without an offset, `mask` finds nothing. Who has the batch in lower case gives it.
    """
    lowered = batch.lower() if lowered is None else lowered
    return sorted({*_tokens(batch), *_words(batch, lowered)})
