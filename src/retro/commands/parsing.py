"""Shell text as the simple commands it consists of; never raises, whatever the text is."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

LIMIT: Final = 16_384
"""Characters of a command that are looked at; here-documents do not count."""

MOST: Final = 200
"""Simple commands of one text that are looked at."""


class Simple(NamedTuple):
    """One program with its arguments, quotes removed."""

    words: tuple[str, ...]
    assignments: tuple[str, ...] = ()
    """Leading `NAME=value` words."""
    writes: tuple[str, ...] = ()
    """Files that `>` and `>>` lead to."""
    reads: tuple[str, ...] = ()
    """Files that `<` takes."""
    document: str | None = None
    """What a here-document or here-string gives it."""
    piped: bool = False
    """Its input is the output of the command before it."""


# In the order in which the alternatives are tried; every character is the beginning of one of them.
_PIECE = re.compile(
    r"""(?P<blank>(?:[ \t\r]|\\\r?\n)+)
    |(?P<line>\n)
    |(?P<comment>(?<![^\s;&|()])\#[^\n]*)
    |(?P<heredoc><<-?~?[ \t]*(?P<mark>'[^'\n]*'|"[^"\n]*"|\\?[\w.+-]+))
    |(?P<redirect>(?:&|\d{1,2})?(?:>>|>\||>&|<<<|<&|<>|>|<)(?!\())
    |(?P<operator>&&|\|\||\|&|;;&?|;&|[;&|()])
    |(?P<single>'[^']*')
    |(?P<ansi>\$'(?:[^'\\]|\\.)*')
    |(?P<double>\$?"(?:[^"\\$`]|\\.|\$\((?:[^()]|\([^()]*\))*\)|`[^`]*`|\$)*")
    |(?P<inner>[$<>]\((?:[^()'"]|'[^']*'|"(?:[^"\\]|\\.)*"|\((?:[^()]|\([^()]*\))*\))*\)|`[^`]*`)
    |(?P<escape>\\.)
    |(?P<plain>(?:[^\s;&|()<>'"\\$`]|\$(?![('"]))+|.)""",
    re.VERBOSE | re.DOTALL,
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
_ESCAPED = re.compile(r'\\([\\"$`\n])')
_RESERVED: Final = frozenset({"if", "then", "else", "elif", "while", "until", "do", "!", "{", "time", "coproc"})
_CLOSING: Final = frozenset({"fi", "done", "esac", "}", "[[", "[", "for", "select", "case", "function"})


def parsed(text: str) -> list[Simple]:
    """The simple commands of a text, in order. Keywords, loops' heads and comments are left out."""
    return _Parse(text).commands()


class _Parse:
    """One text on its way into simple commands."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._done: list[Simple] = []
        self._word: list[str] | None = None
        self._quoted = False
        self._target: str | None = None
        self._marks: list[tuple[str, int]] = []
        self._piped = False
        self._begin()

    def _begin(self) -> None:
        self._words: list[str] = []
        self._assignments: list[str] = []
        self._writes: list[str] = []
        self._reads: list[str] = []
        self._document: str | None = None

    def commands(self) -> list[Simple]:
        """Read it all."""
        text, place, end = self._text, 0, len(self._text)
        skipped = 0
        match = _PIECE.match
        while place < end and place - skipped < LIMIT and len(self._done) < MOST:
            found = match(text, place)
            if found is None:
                break
            place = found.end()
            kind = found.lastgroup
            if kind == "mark":  # of a here-document; the group that closed last is the outer one where there is no mark
                kind = "heredoc"
            if kind == "heredoc":
                self._end_word()
                self._marks.append((found["mark"].strip("'\"\\"), len(self._done)))
            elif kind == "line":
                self._end_command(piped=False)
                before = place
                place = self._take_documents(place)
                skipped += place - before
            else:
                self._take(kind or "plain", found[0])
        self._end_command(piped=False)
        return [simple for simple in self._done if simple.words or simple.writes or simple.assignments]

    def _take(self, kind: str, piece: str) -> None:
        if kind == "blank":
            self._end_word()
        elif kind == "redirect":
            if not (self._word and not self._quoted and "".join(self._word).isdigit()):
                self._end_word()
            self._word = None
            self._target = piece.lstrip("&0123456789")
        elif kind == "operator":
            self._end_command(piped=piece in ("|", "|&"))
        elif kind != "comment":
            self._word = self._word if self._word is not None else []
            self._word.append(_unquoted(kind, piece))
            self._quoted = self._quoted or kind in ("single", "double", "ansi", "escape")

    def _end_word(self) -> None:
        if self._word is None:
            return
        word, quoted = "".join(self._word), self._quoted
        self._word, self._quoted = None, False
        if self._target is not None:
            self._redirect(self._target, word)
            self._target = None
        elif not self._words and not quoted and word in _RESERVED:
            pass
        elif not self._words and _ASSIGNMENT.match(word):
            self._assignments.append(word)
        else:
            self._words.append(word)

    def _redirect(self, target: str, word: str) -> None:
        if target == "<<<":
            self._document = word
        elif target.startswith(">"):
            if not (target == ">&" and (word.isdigit() or word == "-")):
                self._writes.append(word)
        elif target in ("<", "<>"):
            self._reads.append(word)

    def _end_command(self, *, piped: bool) -> None:
        self._end_word()
        self._target = None
        if self._words and self._words[0] in _CLOSING:
            self._words = []
        self._done.append(
            Simple(
                tuple(self._words),
                tuple(self._assignments),
                tuple(self._writes),
                tuple(self._reads),
                self._document,
                self._piped,
            )
        )
        self._begin()
        self._piped = piped

    def _take_documents(self, place: int) -> int:
        """Give the here-documents that begin on a new line to their commands; the place behind them."""
        text = self._text
        for mark, command in self._marks:
            start = at = place
            body = text[start:]
            while True:
                end = text.find("\n", at)
                line = text[at:] if end < 0 else text[at:end]
                if line.strip() == mark:
                    body, place = text[start:at], (len(text) if end < 0 else end + 1)
                    break
                if end < 0:
                    place = len(text)
                    break
                at = end + 1
            if command < len(self._done):
                self._done[command] = self._done[command]._replace(document=body)
        self._marks = []
        return place


def _unquoted(kind: str, piece: str) -> str:
    if kind == "single":
        return piece[1:-1]
    if kind == "double":
        return _ESCAPED.sub(lambda found: "" if found[1] == "\n" else found[1], piece.lstrip("$")[1:-1])
    if kind == "ansi":
        return piece[2:-1]
    if kind == "escape":
        return piece[1:]
    return piece
