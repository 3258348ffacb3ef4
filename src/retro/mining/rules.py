"""What people say about how things are to be done, with the action before it and the one after."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from retro.mining.trace import Prompt, Step, Trace
from retro.mining.wording import can_be_quoted
from retro.problems import signature

LONGEST: Final = 600
"""Characters; a longer prompt is a task, not a correction."""

_ACTS: Final = (
    r"(?:us(?:e|ing)|add(?:ing)?|commit(?:ting)?|push(?:ing)?|touch(?:ing)?|chang(?:e|ing)|edit(?:ing)?|run(?:ning)?"
    r"|creat(?:e|ing)|writ(?:e|ing)|delet(?:e|ing)|remov(?:e|ing)|mock(?:ing)?|skip(?:ping)?|disabl(?:e|ing)|amend(?:ing)?)"
)
# A correction that says what is to be done holds beyond the moment; one that only complains, or that is a part of the
# task (`it should be blue`), does not.
_ALWAYS: Final = re.compile(
    r"(?<!but )(?<!is )(?<!was )(?<!are )(?<!were )(?<!has )(?<!have )(?<!had )(?<!it )(?<!gets )\b(?:always|never)\b"
    r"|\b(?:from now on|going forward|as a rule|by convention|every time you|we (?:only |usually )?(?:use|prefer|avoid)"
    rf"|we (?:don'?t|do not) {_ACTS}|remember to)\b",
    re.IGNORECASE,
)
_RATHER: Final = re.compile(
    rf"\b(?:don'?t|do not|stop|avoid|please don'?t) (?:ever )?{_ACTS}\b"
    r"|\b(?:use|using|prefer|run|call) [^.?!\n]{1,60}\b(?:instead|rather than|(?:and|,)? not)\b",
    re.IGNORECASE,
)
# A question asks, and a part of a log or a list is nobody's sentence.
_ASKS: Final = re.compile(
    r"\?|^\W*(?:can|could|would|should|shall|why|what|how|is|are|do (?:we|you|i|they)|does|did|who|maybe|let me)\b"
    r"|\b(?:could|can|should) (?:we|you|i)\b",
    re.IGNORECASE,
)
_NO_SENTENCE: Final = re.compile(r"^\W*[-*#>|]|\w\.\w+:\d+|^\s*\S+\s*$|\bat line \d+|:$")
# What points at the moment: nobody knows later what it was.
_POINTS: Final = re.compile(
    r"^\W*then\b"
    r"|\b(?:this(?! (?:repo|repository|project|codebase|package)\b)|that|these|those|here|there|it|them|above|below"
    r"|line \d+|the (?:one|first|second|last|other)s?)\b",
    re.IGNORECASE,
)
_OBJECTS: Final = re.compile(
    r"^\W{0,3}(?:no+|nope|wrong|stop|wait|actually|hmm|don'?t|do not|that'?s not|this is not|not )\b"
    r"|\b(?:undo|revert|roll ?back|put (?:it|that|this) back|not what i|i (?:said|told you|asked|meant)"
    r"|you (?:forgot|missed|broke|ignored|should(?:n'?t)?)"
    r"|that'?s wrong|is wrong|still (?:fails|failing|broken|not))\b",
    re.IGNORECASE,
)


class Said(NamedTuple):
    """A correction, with the action before it and the one after."""

    trace: Trace
    prompt: Prompt
    words: str
    objects: bool
    before: Step | None
    after: Step | None

    @property
    def key(self) -> str:
        """What it has in common with the same words, said another time."""
        return signature(self.words).lower()


def corrections_of(trace: Trace) -> Iterator[Said]:
    """The corrections of a session; its first prompt is its task."""
    for number, prompt in enumerate(trace.prompts):
        if number and prompt.place and len(prompt.text) <= LONGEST:
            said = _said(trace, prompt, _until(trace, number))
            if said is not None:
                yield said


def _until(trace: Trace, number: int) -> int:
    """How many steps there are up to the next prompt."""
    return trace.prompts[number + 1].place if number + 1 < len(trace.prompts) else len(trace.steps)


def _said(trace: Trace, prompt: Prompt, until: int) -> Said | None:
    always = _ALWAYS.search(prompt.text)
    rule = always or _RATHER.search(prompt.text)
    if not rule:
        return None
    whole = _sentence(prompt.text, rule.start())
    if _ASKS.search(whole) or _NO_SENTENCE.search(whole) or (always is None and _POINTS.search(whole)):
        return None
    words = _clause(whole, rule[0])
    before = _telling(reversed(trace.steps[: prompt.place]))
    objects = bool(_OBJECTS.search(prompt.text))
    if not can_be_quoted(words) or (before is None and not objects):
        return None
    return Said(trace, prompt, words, objects, before, _telling(trace.steps[prompt.place : until]))


def _sentence(text: str, at: int) -> str:
    """The sentence around a place, as it stands there."""
    marks = (". ", "! ", "? ", "; ", "\n")
    begins = [place + len(mark) for mark in marks if (place := text.rfind(mark, 0, at)) >= 0]
    ends = [place for mark in marks if (place := text.find(mark, at)) >= 0]
    begin = max(begins, default=0)
    end = min(ends, default=len(text))
    asks = text[end : end + 1] == "?"
    return text[begin : end + asks].strip().rstrip(".!;")


_CONDITION: Final = re.compile(r"\W*(?:if|when|whenever|before|after|unless|for|in|on)\b", re.IGNORECASE)


def _clause(whole: str, rule: str) -> str:
    """The rule by itself, where it is the last part of a sentence: `do it here as well, we always want …`."""
    first, comma, last = whole.partition(", ")
    at = last.find(rule)
    if not comma or rule in first or at < 0 or len(last[:at].split()) > 2 or _CONDITION.match(first):
        return whole
    return _clause(last, rule)


def _telling(steps: Iterable[Step]) -> Step | None:
    """The first step that changed or ran something."""
    return next((step for step in steps if step.edits or (step.command and can_be_quoted(step.command))), None)
