"""What words say about the work: a person's of correction, praise and complaint, an agent's of certainty and doubt."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

HEAD: Final = 600
"""Characters of a prompt that are looked at: what a person thinks of the last answer comes first."""

_NOT: Final = r"(?:n['’]?t| not)"
_DENIALS: Final = ("n't ", "n’t ", "nt ", " not ")
_PRAISE_TOLD: Final = (
    *("thank", "thx", "great", "perfect", "excellent", "awesome", "amazing", "nice", "well done", "good ", "love "),
    *("works ", "s working", "looks good", "lgtm", "brilliant", "fantastic", "wonderful", "exactly what", "danke"),
    *("super", "gracias", "merci"),
)
_COMPLAINTS_TOLD: Final = (
    *("wrong", "incorrect", "broken", "terrible", "awful", "useless", "horrible", "annoying", "frustrat", "disappoint"),
    *("ridiculous", "wtf", "damn", "fuck", "shit", "crap", "stupid", "bad ", "not ", "made it worse", "n't work"),
    *("n’t work", "nt work", "still fail", "you broke", "you forgot", "you missed", "you ignored", "try again"),
    *("falsch", "geht nicht", "no funciona"),
)
"""Of these one stands, in small letters, in every text without other letters than ours that praises or complains."""

_AT_ONCE: Final = (
    r"^\W*(?:no|nope|nah|wrong|incorrect|stop|wait|undo|revert|nein|falsch|neen)\b(?! (?:problem|worries|need|more))"
)
_CORRECTIONS: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (
        ("not ", "wrong", "incorrect"),
        r"\b(?:that|this|it|which)(?:['’]?s| is| was) (?:still )?"
        r"(?:not (?:what|right|correct|working)|wrong|incorrect)",
    ),
    (("broken",), r"\b(?:that|this|it|which)(?:['’]?s| is| was) (?:still )?broken"),
    (("not what i ",), r"\bnot what i (?:asked|wanted|meant|said)"),
    (
        ("i said", "i meant", "i asked", "i told", "we said", "we meant", "we asked", "we told"),
        r"\b(?:i|we) (?:said|meant|asked (?:you )?(?:for|to)|told you)\b",
    ),
    (("you",), r"\byou(?:['’]ve| have)? (?:still )?(?:forgot|missed|broke|misunderstood|ignored|skipped)"),
    (("you did", "you should"), rf"\byou (?:did{_NOT}|should(?:{_NOT})? have)"),
    (
        _DENIALS,
        rf"\b(?:still|it|that|this) (?:does|is|wo|did){_NOT} (?:work|help|fix|compile|pass|run|show|appear|match)",
    ),
    (
        ("still ",),
        r"\bstill (?:fail|broken|wrong|not working|get(?:ting)? |see(?:ing)? |the same|an? error|doesn)",
    ),
    (("undo ", "revert ", "roll back "), r"\b(?:undo|revert|roll back) (?:that|this|the|your|it|last)\b"),
    ((*_DENIALS, "never "), rf"\b(?:do{_NOT}|never) (?:do that|touch|change|edit|use|add|remove|create)\b"),
    (
        ("instead of ", "as i ", "that", "try again"),
        r"\binstead of (?:that|what|doing)|\bas i (?:said|asked)\b|\bthat['’]?s not\b|\btry again\b",
    ),
    (
        ("geht ", "funktioniert", "das ist", "no funciona", "ne marche"),
        r"\bgeht (?:immer noch )?nicht|\bfunktioniert nicht|\bdas ist falsch|\bno funciona|\bça ne marche pas",
    ),
)
"""Ways of saying that something was wrong, each with words of which one must stand in a text that says it so."""

_CORRECTIONS_ELSEWHERE: Final = (
    r"不对|不是这样|错了|还是不行|没有用|違います|違う|ではなく|じゃなくて|動かない|動きません|直っていない|直ってない"
)
_PRAISE: Final = (
    r"thanks|thank you|thx|great|perfect|excellent|awesome|amazing|nice|well done|good (?:job|work|catch)",
    r"love (?:it|this|that)|works (?:now|great|perfectly|well|fine)|it['’]?s working|looks (?:good|great)|lgtm",
    r"brilliant|fantastic|wonderful|exactly what|danke|super|gracias|merci",
)
_COMPLAINTS: Final = (
    r"wrong|incorrect|broken|terrible|awful|useless|horrible|annoying|frustrat\w+|disappoint\w+|ridiculous|wtf|damn",
    r"fuck\w*|shit\w*|crap|stupid|bad (?:job|work|idea)|not (?:working|what i|good|right|correct)|made it worse",
    rf"(?:does|did|is|wo){_NOT} work|still (?:fails?|failing|broken|wrong)|you (?:broke|forgot|missed|ignored)",
    r"try again|falsch|geht nicht|no funciona",
)

_CORRECTING_AT_ONCE = re.compile(_AT_ONCE)
_CORRECTING = tuple((told, re.compile(pattern)) for told, pattern in _CORRECTIONS)
_CORRECTING_ELSEWHERE = re.compile(_CORRECTIONS_ELSEWHERE)
_PRAISING = re.compile(
    rf"\b(?:{'|'.join(_PRAISE)})\b|谢谢|太好了|很好|完美|ありがとう|素晴らしい|いいですね", re.IGNORECASE
)
_COMPLAINING = re.compile(rf"\b(?:{'|'.join(_COMPLAINTS)})\b|不对|错了|糟糕|違います|ダメ", re.IGNORECASE)
_DOUBTING: Final = ("maybe", "might", "perhaps", "probably", "possibly")
_CONFIRMING: Final = ("confirm", "reproduced")
_TOLD: Final = (*_DOUBTING, *_CONFIRMING)
_SURENESS = re.compile(rf"\b(?:({'|'.join(_DOUBTING)})|confirm(?:s|ed)?|reproduced)\b")
_DENIED = re.compile(rf"\b(?:\w+{_NOT}|not|never|no longer|nothing)\s+(?:\w+\s+)?$", re.IGNORECASE)


@lru_cache(maxsize=2)  # it is asked for a prompt's step and for its session's notes
def corrects(text: str) -> bool:
    """Whether a prompt says that what was done before it was wrong."""
    head = text[:HEAD].lower()
    if _CORRECTING_AT_ONCE.match(head):
        return True
    for told, pattern in _CORRECTING:
        for word in told:
            if word in head:
                if pattern.search(head):
                    return True
                break
    return not head.isascii() and _CORRECTING_ELSEWHERE.search(head) is not None


def opinion(text: str) -> tuple[int, int]:
    """How many words of praise and of complaint a prompt begins with; praise that is denied is none."""
    head = text[:HEAD]
    small = head.lower()
    praise = complaint = 0
    if _any_of(_PRAISE_TOLD, small):
        for found in _PRAISING.finditer(head):
            praise += _DENIED.search(head[max(0, found.start() - 30) : found.start()]) is None
    if _any_of(_COMPLAINTS_TOLD, small):
        complaint = sum(1 for _ in _COMPLAINING.finditer(head))
    return praise, complaint


def _any_of(words: tuple[str, ...], text: str) -> bool:
    """Whether one of the words stands in a text, or letters that may be of other words."""
    return not text.isascii() or any(word in text for word in words)  # in a fraction of the patterns' time


def sureness(text: str) -> tuple[int, int]:
    """How often the agent says that something is confirmed, and how many words of doubt it uses."""
    text = text.lower()
    for word in _TOLD:  # most texts have none of them, and looking for each is faster than the pattern
        if word in text:
            break
    else:
        return 0, 0
    found = _SURENESS.findall(text)
    doubts = sum(map(bool, found))
    return len(found) - doubts, doubts
