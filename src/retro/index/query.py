"""What a user typed, as words to look for. None of it ever reaches SQLite's query grammar as it was typed."""

from __future__ import annotations

from retro import terms
from retro.index.forms import forms

TYPE_CHECKING = False  # as in places: this is on the light path
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    import apsw

MOST_CHARACTERS = 20_000
MOST_TERMS = 200
"""Different words of a question that are looked at; of those the rarest are looked for."""

MOST_WORDS = 12
"""A longer phrase of a description is looked for as a whole or not at all."""

FEW = 5
"""Up to so many words are all wanted; a longer question is a description, of which some words will do."""

_TOKENIZER = ["remove_diacritics", "2"]


class Term:
    """A word, a phrase, or the beginning of a word; `variants` are sequences of words of which one has to be there."""

    __slots__ = ("given", "prefix", "quoted", "times", "variants")

    def __init__(
        self, given: str, variants: list[tuple[str, ...]], prefix: bool = False, quoted: bool = False, times: int = 1
    ) -> None:
        self.given = given
        self.variants = variants
        self.prefix = prefix
        self.quoted = quoted
        self.times = times
        """How often it was asked for."""

    def __repr__(self) -> str:
        return f"Term({self.given!r}, {self.variants}{', prefix' * self.prefix}{', quoted' * self.quoted})"

    def expression(self) -> str:
        """In the grammar of FTS5. Its words come from the tokenizer: there is no quote in them to be escaped."""
        star = " *" if self.prefix else ""
        return " OR ".join(f'"{" ".join(variant)}"{star}' for variant in self.variants)

    @property
    def count(self) -> int:
        """How many phrases its expression has."""
        return len(self.variants)


class Query:
    """What is wanted, what is not, and whether all of it is wanted."""

    __slots__ = ("described", "text", "unwanted", "wanted")

    def __init__(self, text: str, wanted: list[Term], unwanted: list[Term], described: bool) -> None:
        self.text = text
        self.wanted = wanted
        self.unwanted = unwanted
        self.described = described
        """It is a description in whole sentences: whatever has the most telling of its words is found."""


def tokenizer(connection: apsw.Connection) -> Callable[[str], list[str]]:
    """Cuts a text into words exactly as the index does, but for their endings."""
    cut: Any = connection.fts5_tokenizer("unicode61", _TOKENIZER)
    return lambda text: list(cut(text.encode("utf-8", "replace"), _DOCUMENT, None, **_BARE))


def stemmer(connection: apsw.Connection) -> Callable[[bytes], list[tuple[int, int, str]]]:
    """Cuts a text into words as the index has them, each with the bytes that it stands at."""
    cut: Any = connection.fts5_tokenizer("porter", ["unicode61", *_TOKENIZER])
    return lambda data: list(cut(data, _DOCUMENT, None, include_colocated=False))


def stems(connection: apsw.Connection) -> Callable[[str], str]:
    """Gives the stem of a word that the tokenizer has cut."""
    cut = stemmer(connection)

    def stem(word: str) -> str:
        found = cut(word.encode())
        return found[0][2] if found else word

    return stem


_DOCUMENT = 4  # FTS5_TOKENIZE_DOCUMENT
_BARE = {"include_offsets": False, "include_colocated": False}


def parse(
    text: str,
    words: Callable[[str], list[str]],
    stem: Callable[[str], str] = str,
    *,
    exact: bool = False,
) -> Query:
    """Read words, "phrases", beginnings*, and -unwanted ones."""
    text = text[:MOST_CHARACTERS]
    wanted: dict[object, Term] = {}
    unwanted: dict[object, Term] = {}
    stops: dict[object, Term] = {}
    asked = 0
    for chunk, quoted, minus, star in _chunks(text):
        term = _term(chunk, words, quoted, star)
        if term is None:
            continue
        key = (tuple(term.variants), star)
        if minus:
            unwanted.setdefault(key, term)
        elif key in wanted:
            wanted[key].times += 1
        elif not quoted and not exact and not star and chunk.strip("?!.,;:'").lower() in terms.STOP_WORDS:
            asked += 1
            stops.setdefault(key, term)
        else:
            wanted[key] = term
        if len(wanted) >= MOST_TERMS:
            break
    described = not exact and (len(wanted) > FEW or asked > 1 or (asked > 0 and text.rstrip().endswith("?")))
    if described:  # a minus in a pasted text, as in `make -check`, unwants nothing
        wanted |= unwanted
        unwanted = {}
    chosen = list((wanted or stops).values())
    if described and wanted:
        chosen = _word_by_word(chosen, stem)
    if not exact:
        for term in chosen:
            _add_forms(term, stem)
    return Query(text, chosen, list(unwanted.values())[:FEW], described and bool(wanted))


def _word_by_word(wanted: list[Term], stem: Callable[[str], str]) -> list[Term]:
    """The terms of a description, and beside each phrase its words: where `a.b` stands nowhere, `b` still tells."""
    found: dict[str, Term] = {}
    phrases: list[Term] = []
    for term in wanted:
        words = dict.fromkeys(word for variant in term.variants for word in variant)
        if term.prefix or not words or len(words) > MOST_WORDS:
            phrases.append(term)
            continue
        if len(words) > 1:
            phrases.append(term)
        for word in words:
            if len(words) == 1 or (len(word) > 1 and word not in terms.STOP_WORDS):
                root = stem(word)
                if root in found:
                    found[root].times += term.times
                else:
                    found[root] = term if len(words) == 1 else Term(word, [(word,)], times=term.times)
    return [*found.values(), *phrases]


def _add_forms(term: Term, stem: Callable[[str], str]) -> None:
    """Look for the other forms of a word, too, where its stem does not find them."""
    if len(term.variants) == 1 and len(term.variants[0]) == 1 and not term.quoted and not term.prefix:
        term.variants += [(word,) for word in forms(term.variants[0][0], stem)]


def _chunks(text: str) -> Iterator[tuple[str, bool, bool, bool]]:
    """What stands between spaces or quotes: text, whether quoted, whether unwanted, whether a beginning."""
    place, end = 0, len(text)
    while place < end:
        if text[place].isspace():
            place += 1
            continue
        after = text[place + 1 : place + 3]  # a single letter is an option of a command, as in `git commit -m`
        minus = text[place] == "-" and (after[:1] == '"' or (len(after) == 2 and after.isalnum()))
        place += minus
        if text[place] == '"':
            close = text.find('"', place + 1)
            close = close if close >= 0 else end
            yield text[place + 1 : close], True, minus, False
            place = close + 1
            continue
        start = place
        while place < end and not text[place].isspace() and text[place] != '"':
            place += 1
        chunk = text[start:place]
        star = len(chunk) > 1 and chunk.endswith("*") and chunk[-2].isalnum()
        if chunk not in ("OR", "AND", "NOT"):
            yield chunk, False, minus, star


def _term(chunk: str, words: Callable[[str], list[str]], quoted: bool, star: bool) -> Term | None:
    """A term for what was typed; None where there is nothing in it to look for."""
    spaced = terms.spread(chunk) if quoted else _query_spread(chunk)
    plain = words(spaced)
    if not plain:
        return None
    if not quoted and not spaced.isascii() and terms.spread(chunk) != chunk and len(plain) == 1 and len(plain[0]) == 1:
        return Term(chunk, [tuple(plain)], prefix=True)
    variants = [tuple(plain[:64])]
    if not quoted and not star:
        split = tuple(word for part in plain_pieces(chunk, words) for word in part)[:64]
        if split != variants[0]:
            variants.append(split)
    return Term(chunk, variants, star, quoted)


def _query_spread(chunk: str) -> str:
    """As `terms.spread`, without the single character at the end of each run: the bigrams already tell it."""
    if chunk.isascii():
        return chunk
    made = []
    for unspaced, run in terms.runs(chunk):
        pairs = terms.bigrams(run)
        made.append(f" {' '.join(pairs[:-1] or pairs)} " if unspaced else run)
    return "".join(made)


def plain_pieces(chunk: str, words: Callable[[str], list[str]]) -> Iterable[list[str]]:
    """The words of the pieces of each name in a chunk."""
    name = ""
    for character in [*chunk, " "]:
        if character.isascii() and character.isalnum():
            name += character
            continue
        if name:
            for piece in terms.pieces(name):
                yield words(piece)
            name = ""
        if not character.isascii():
            yield words(character)
