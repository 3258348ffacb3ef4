"""The words by which memories are found, and how telling each is. On the light path: the standard library alone."""

from __future__ import annotations

import re

TYPE_CHECKING = False  # as in places
if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 12_000
"""Characters of a query that are looked at."""

NAME = 1.0
PLAIN = 0.45
COMMON = 0.12
"""How telling a word is: the name of something, a word, a word that every task has."""

_TOKEN = re.compile(r"[A-Za-z_][\w.+-]*[\w+]|[A-Za-z]|[^\W\d_]{2,}|\d{2,6}")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_QUOTED = re.compile(r"`([^`\n]{1,400})`")

# Words without a meaning of their own, English and German; then words that every task about code has.
_STOP_WORDS = (
    "a about after again all also am an and any are as at be because been before being but by can could did do does"
    " doing don down each few for from further get go had has have having he her here hers him his how i if in into"
    " is it its just let like make may me might more most must my need no nor not now of off on once only or other"
    " our out over own please same shall she should so some such than that the their them then there these they this"
    " those through to too under until up us very was we were what when where which while who whom why will with"
    " would you your yours aber als auch auf aus bei bitte das dass dem den der des die dies du ein eine einen er es"
    " für hat ich im ist ja kann man mein mit nach nicht noch nur oder sich sie sind um und uns von war wenn wie wir"
    " wird zu zum zur okay ok yes thanks thank want wants wanted lets ive id ill youre thats whats cant dont doesnt"
    " isnt wont"
)
_STOP = frozenset(_STOP_WORDS.split())
_COMMON_WORDS = (
    "add added adding app apply argument bug build call change changed class clean code command commit create"
    " current data default delete different doc docs edit error example exception expect expected fail failed"
    " failing fails failure feature file files find fix fixed follow following function give good handle help"
    " implement import improve input instead issue keep kind know left line lines list look main method mode module"
    " move name new next object old open option order output package parameter part pass passed path place point"
    " possible print problem program project provide read refactor remove rename replace report request result"
    " return review right run running script see set setting show simple single something start state step still"
    " stop string support sure system task test tests text thing time tool try type update use used user using value"
    " variable version view way word work works working write wrong continue question answer explain best better"
    " correct check done first last two one many case really actual"
)
_COMMON = frozenset(_COMMON_WORDS.split())


def words(text: str) -> dict[str, float]:
    """The words of a text, each with how telling it is; names also by their parts."""
    found: dict[str, float] = {}
    for token in _TOKEN.findall(text[:LONGEST]):
        for word, weight in _of(token):
            if weight > found.get(word, 0.0):
                found[word] = weight
    return found


def names(text: str) -> dict[str, float]:
    """The words within what a text quotes: commands, errors and files, by which a memory is told from others."""
    found: dict[str, float] = {}
    for quote in _QUOTED.findall(text):
        for word, weight in words(quote).items():
            found[word] = max(weight, found.get(word, 0.0))
    return found


def _of(token: str) -> Iterator[tuple[str, float]]:
    plain = token.lower().strip(".-+")
    parts = _PARTS.findall(token)
    if len(parts) > 1:
        yield plain, NAME
    for part in parts:
        word = stem(part.lower())
        if len(word) < 2 or part.lower() in _STOP or word in _STOP:
            continue
        is_common = part.lower() in _COMMON or word in _COMMON
        yield word, COMMON if is_common else PLAIN


def stem(word: str) -> str:
    """A word without its usual English endings, roughly."""
    for ending, least in (("ing", 6), ("ies", 5), ("ed", 5), ("es", 5), ("s", 4)):
        if len(word) >= least and word.endswith(ending) and not word.endswith("ss"):
            cut = word[: -len(ending)]
            if ending == "ies":
                return f"{cut}y"
            if ending == "es" and not cut.endswith(("s", "x", "ch", "sh", "z")):
                return f"{cut}e"
            return cut[:-1] if len(cut) > 3 and cut[-1] == cut[-2] and cut[-1] not in "lsz" else cut
    return word
