"""What of a text can be looked up: pieces of names, bigrams where a script has no spaces, words that tell nothing.

Shared by what fills the search index and by what asks it, so that both cut alike. On the light path: no `re`.
"""

from __future__ import annotations

from zlib import crc32

COLUMNS = ("title", "prompt", "answer", "command", "error", "output", "names", "scope")
"""Columns of the search index, in their order. `scope` holds marks for filters and is never scored."""

TITLE, PROMPT, ANSWER, COMMAND, ERROR, OUTPUT, NAMES, SCOPE = range(len(COLUMNS))

FIRST_UNSPACED = "\u2e80"
UNSPACED = (
    ("\u2e80", "\u2fdf"),
    ("\u3005", "\u3007"),
    ("\u3040", "\u30ff"),
    ("\u3100", "\u31ff"),
    ("\u3400", "\u4dbf"),
    ("\u4e00", "\u9fff"),
    ("\ua960", "\ua97f"),
    ("\uac00", "\ud7ff"),
    ("\uf900", "\ufaff"),
    ("\uff66", "\uffdc"),
    ("\U00020000", "\U0003ffff"),
)
"""Ranges of characters of scripts that put no spaces between words (or few, as Korean)."""

STOP_WORDS = frozenset(
    word
    for line in (
        "a about after again all also am an and any are as at be because been before being but by can could did do",
        "does doing don during each few for from further get got had has have having he her here hers him his how i if",
        "in into is it its itself just let ll make may me might more most my myself no nor not now of off on once only",
        "or other our ours out over own please re s same she should so some such t than that the their theirs them",
        "then there these they this those through to too under until up us ve very want was we were what when where",
        "which while who whom why will with would you your yours yourself",
    )
    for word in line.split()
)
"""English words that say nothing about what is looked for."""

HOST, PROJECT, CLONE, BRANCH, TOOL, FAILED = "hpcbte"
"""Kinds of marks."""


def mark(kind: str, value: str) -> str:
    """A word for the column `scope`: narrows a search to what has this value. Two values may share one.

    No word that anybody looks for begins so.
    """
    return f"zq{kind}{crc32(value.lower().encode('utf-8', 'replace')):08x}"


def is_unspaced(character: str) -> bool:
    """Whether a character belongs to a script that puts no spaces between words (or few, as Korean)."""
    return character >= FIRST_UNSPACED and any(first <= character <= last for first, last in UNSPACED)


def spread(text: str) -> str:
    """A text with runs of Chinese, Japanese and Korean characters as bigrams, which is how they are looked up."""
    if text.isascii() or max(text) < FIRST_UNSPACED:
        return text
    made: list[str] = []
    for unspaced, run in runs(text):
        made.append(f" {' '.join(bigrams(run))} " if unspaced else run)
    return "".join(made)


def runs(text: str) -> list[tuple[bool, str]]:
    """A text cut where scripts without spaces begin and end."""
    cut: list[tuple[bool, str]] = []
    start = 0
    before = False
    for place, character in enumerate(text):
        unspaced = is_unspaced(character)
        if unspaced != before:
            if place > start:
                cut.append((before, text[start:place]))
            start, before = place, unspaced
    if start < len(text):
        cut.append((before, text[start:]))
    return cut


def bigrams(run: str) -> list[str]:
    """Each two neighbouring characters of a run, and its last one, so that every single one begins a word."""
    return [run[place : place + 2] for place in range(len(run))] if len(run) > 1 else [run]


def pieces(name: str) -> list[str]:
    """The words in a name: `parseHTTPHeader2` is parse, HTTP, Header and 2. A plain word is its only piece."""
    cut: list[str] = []
    start = 0
    for place in range(1, len(name)):
        before, here = name[place - 1], name[place]
        begins = (
            (here.isupper() and not before.isupper())
            or (here.isupper() and before.isupper() and name[place + 1 : place + 2].islower())
            or here.isdigit() != before.isdigit()
        )
        if begins:
            cut.append(name[start:place])
            start = place
    cut.append(name[start:])
    return cut
