"""What tells whether a turn of a conversation answers a question, beside the words that both of them have.

People answer a question without saying it again, ask much that answers nothing, and say "yesterday" where the question
says "when". The weights were chosen on all five conversations of `bench/conversations` together. Chosen on four of
them, as `python -m bench.conversations --fit` does, they do as well on the fifth; but all five were written by one.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

Key = tuple[int, int]
"""A conversation, and which turn of it, counted from 1."""


class Weights(NamedTuple):
    """What counts how much for a turn, but for the words that stand in it."""

    before: float = 0.6
    """What a word counts that was said in the turn before; less, the longer ago it was."""
    after: float = 0.3
    """What a word counts that is said in the next turn."""
    speaker: float = 3.0
    """What it counts that one speaks whom the question names, against the name in the text."""
    fitting: float = 1.0
    """What a time counts where it is asked when, a number where it is asked how many: as a word of middling rarity."""
    asking: float = 0.4
    """So much less counts a turn that does nothing but ask."""


WEIGHTS: Final = Weights()

FADING: Final = 0.8
"""What of that is left with each turn further away."""

REACH_BEFORE: Final = 3
REACH_AFTER: Final = 2

UNASKED: Final = 0.2
"""So much of what neighbours say counts, where no question is asked, but words are looked for."""

MEANING: Final = 1.0
"""What a list of turns by meaning counts against that by words."""

MEANT_BEFORE: Final = (0.5, 0.3)
"""What counts of how near in meaning the turns before are."""

_QUESTION: Final = ("what", "when", "where", "which", "who", "whom", "whose", "why", "how", "does", "did", "is", "was")
_AMOUNT: Final = frozenset(("many", "much", "old", "long", "often", "far", "tall", "big"))
_TIMES: Final = frozenset(
    word
    for line in (
        "yesterday today tonight tomorrow week weeks weekend month months year years ago last next recently since",
        "monday tuesday wednesday thursday friday saturday sunday",
        "january february march april june july august september october november december",
    )
    for word in line.split()
)
_NUMBERS: Final = frozenset(
    word
    for line in (
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen",
        "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million",
        "several couple few dozen once twice every daily weekly",
    )
    for word in line.split()
)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b").search
_words = re.compile(r"[^\W\d_]+").findall
_sentences = re.compile(r"[^.!?]+[.!?]*").findall
_NAME: Final = (
    r"(?:\*\*)?([A-Z][\w.'-]{0,30}(?: [A-Z][\w.'-]{0,30})?)(?:\*\*)?(?: [\[(][^\])\n]{0,60}[\])])?"
    r"(?::(?:\*\*)?\s|\s+(?:said|says|asked|replied)[,:]\s*)"
)
_DATED: Final = (
    r"(?:[\w:.,/+-]{0,12}\d[\w:.,/+-]{0,25}|on|at|[ap]m|(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec"
    r"|mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:uary|ruary|ch|il|ust|ember|ober|day)?)[.,]?"
)
_WHEN: Final = rf"(?:[\[(][^\])\n]{{0,60}}[\])]|(?i:{_DATED}(?: {_DATED}){{0,7}}))[ \t]*[-–—|:,>]{{0,2}}"
_speaker = re.compile(rf"\s*(?:{_WHEN}\s*)?{_NAME}").match  # when it was said may stand before
_speaking = re.compile(rf"(?:^|(?<=\s))(?:[\[(][^\])\n]{{0,60}}[\])]\s*)?{_NAME}").finditer

LEAST_TURNS: Final = 4
MOST_SPEAKERS: Final = 8
LONGEST_TURN: Final = 500
"""Characters, on the average: what has longer ones is no talk."""

BEST: Final = (1.0, 0.5, 0.25)
"""What the best, the second and the third best turn of a talk count for it."""


class Turn(NamedTuple):
    """What is known of a turn: who speaks, in small letters, and what it tells."""

    speaker: frozenset[str]
    asking: float
    """How much of it is questions, from 0 to 1."""
    time: bool
    number: bool


class Wish(NamedTuple):
    """What a question wants."""

    asks: bool
    time: bool
    number: bool


def speaker(text: str) -> str:
    """Who speaks, where a text begins with it: `Ann: …`, or `Ann said, "…"`."""
    found = _speaker(text)
    return found[1] if found else ""


def without_speaker(text: str) -> str:
    """What is said, without who says it."""
    found = _speaker(text)
    return text[found.end() :] if found else text


def heard(text: str) -> Turn:
    """What is known of a turn."""
    found = _speaker(text)
    said = without_speaker(text)
    words = set(_words(said.lower()))
    sentences = _sentences(said)
    asked = sum(len(sentence) for sentence in sentences if sentence.rstrip().endswith("?"))
    return Turn(
        frozenset(_words(found[1].lower())) if found else frozenset(),
        asked / max(sum(map(len, sentences)), 1),
        bool(words & _TIMES) or _YEAR(said) is not None,
        bool(words & _NUMBERS) or any(character.isdigit() for character in said),
    )


def turns_of(text: str) -> list[str]:
    """The turns of a talk, each begun by who speaks; a single one where the text is no talk."""
    marks = [(found.start(), found[1]) for found in _speaking(text)]
    times = Counter(name for _, name in marks)
    starts = [start for start, name in marks if times[name] > 1]
    speakers = {name for name, count in times.items() if count > 1}
    if len(starts) < LEAST_TURNS or len(speakers) > MOST_SPEAKERS or len(text) / len(starts) > LONGEST_TURN:
        return [text]
    ends = [*starts[1:], len(text)]
    starts[0] = 0
    return [text[start:end].strip() for start, end in zip(starts, ends, strict=True)]


def wish(question: str) -> Wish:
    """What a question wants."""
    words = _words(question.lower())
    asks = question.rstrip().endswith("?") or (words[:1] != [] and words[0] in _QUESTION and len(words) > 2)
    following = {after for word, after in itertools.pairwise(words) if word == "how"}
    return Wish(asks, asks and "when" in words[:4], asks and bool(following & _AMOUNT))


def lent(
    worth: Mapping[Key, Mapping[int, float]], turns: Mapping[Key, Turn], wanted: Wish, weights: Weights = WEIGHTS
) -> dict[Key, float]:
    """What the words of a question count for each turn: there, or a little less in the turns around it."""
    counted: dict[Key, dict[int, float]] = {key: dict(mine) for key, mine in worth.items()}
    share = 1.0 if wanted.asks else UNASKED
    steps = [(away, weights.before * share * FADING ** (away - 1)) for away in range(1, REACH_BEFORE + 1)]
    steps += [(-away, weights.after * share * FADING ** (away - 1)) for away in range(1, REACH_AFTER + 1)]
    for (conversation, place), mine in worth.items():
        for step, factor in steps:
            key = (conversation, place + step)
            if key not in turns:
                continue
            there = counted.setdefault(key, {})
            for word, value in mine.items():
                value *= factor
                if value > there.get(word, 0.0):
                    there[word] = value
    return {key: sum(there.values()) for key, there in counted.items()}


def fitting(
    scores: dict[Key, float],
    turns: Mapping[Key, Turn],
    wanted: Wish,
    named: Mapping[str, float],
    weights: Weights = WEIGHTS,
) -> dict[Key, float]:
    """Scores, with what else tells that a turn answers: who speaks, a time, a number, and that it does not only ask.

    `named` are names in the question, in small letters, with what each is worth in a text.
    """
    found = {}
    speaks = {
        who: weights.speaker * sum(value for name, value in named.items() if name in who)
        for who in {turns[key].speaker for key in scores}
    }
    for key, score in scores.items():
        turn = turns[key]
        score += speaks[turn.speaker]
        score += weights.fitting * ((wanted.time and turn.time) + (wanted.number and turn.number))
        found[key] = score * (1 - weights.asking * turn.asking * wanted.asks)
    return found


def followed(alike: Mapping[Key, float], turns: Mapping[Key, Turn], wanted: Wish) -> dict[Key, float]:
    """How near turns are in meaning, each with a part of what the two before it are: what was just asked is meant."""
    found = {}
    for conversation, place in turns:
        key = (conversation, place)
        near = alike.get(key, 0.0)
        if wanted.asks:
            near += sum(
                factor * alike.get((conversation, place - back), 0.0) for back, factor in enumerate(MEANT_BEFORE, 1)
            )
        if near:
            found[key] = near * (1 - WEIGHTS.asking / 2 * turns[key].asking * wanted.asks)
    return found


def of_talks(scores: Mapping[Key, float]) -> dict[int, float]:
    """What turns tell of the talks that they belong to."""
    of: dict[int, list[float]] = {}
    for (talk, _), score in scores.items():
        of.setdefault(talk, []).append(score)
    return {
        talk: sum(factor * score for factor, score in zip(BEST, sorted(found, reverse=True), strict=False))
        for talk, found in of.items()
    }
