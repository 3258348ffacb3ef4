"""Texts that speak to a model as its user or its host would: looked for in what is to be handed to one.

Stricter than the injection marks of captured text, where they would hit what people and documents say every day.
"""

from __future__ import annotations

import re
from typing import Final

from retro.secrets.hostile import marks

# Letters of other scripts that look like Latin ones; NFKC leaves them.
_LOOK_ALIKE: Final = str.maketrans(
    "аеорсухіјѕһԁԛԝɡοαερτυνικΑΒΕΖΗΙΚΜΝΟΡΤΥΧАВЕКМНОРСТУХІЈЅʏɴʀɪ",
    "aeopcyxijshdqwgoaeptuvikABEZHIKMNOPTYXABEKMHOPCTYXIJSynri",
)

_SIGNS: Final = (
    (
        "role",
        ("system:", "assistant:", "developer:", "instruction"),
        r"^[\s>*#`'\"-]*(?:system|developer)\s?:[^\n]{0,80}\b(?:you|your|obey|ignore|must|always|never|do not|don't)\b"
        r"|^[\s>*#`'\"-]*assistant\s?:\s|^\s*#{1,6}\s*(?:new )?instructions?\s?:?\s*$|#{2,6} instructions?:",
    ),
    (
        "persona",
        ("you are", "you're", "from now on", "act as", "pretend", "do anything now", "developer mode", "jailbr"),
        r"\byou(?: are|'re) (?:now (?:an?|the|in|dan|root|free|my|acting)\b|no longer\b|root\b|dan\b"
        r"|an? (?:unrestricted|evil|uncensored|jailbroken)\b)"
        r"|\bfrom now on,? you (?:must|will|shall|are|only|obey|ignore)\b"
        r"|\b(?:act|pretend)(?: to be)?(?: as)? [^\n]{0,30}\b(?:unrestricted|root|jailbroken|evil|dan)\b"
        r"|\bdo anything now\b|\bdeveloper mode (?:is )?(?:on|enabled|activated)\b|\bjailbr(?:eak|oken)\b",
    ),
    (
        "orders",
        ("obey", "instructions", "orders", "the user", "the human"),
        r"\b(?:obey|follow) (?:only )?(?:me|my|these|the following|all my|any) (?:orders|instructions|commands)\b"
        r"|\b(?:you|must|shall|will|always|and|:) ?obey\b|\bnew (?:instructions|orders)\s?:"
        r"|\b(?:do not|don't|never|without) (?:tell(?:ing)?|inform(?:ing)?|alert(?:ing)?|ask(?:ing)?|notify(?:ing)?)"
        r" the (?:user|human)\b",
    ),
    ("fence", ("[/memory", "[memory ", "<retro", "</retro"), r"\[/?memory [0-9a-z]|</?retro\b"),
)
_PATTERNS: Final = tuple((name, words, re.compile(pattern, re.MULTILINE)) for name, words, pattern in _SIGNS)

_ENCODED: Final = re.compile(r"(?<![\w+/])[A-Za-z0-9+/]{60,}={0,2}")
"""So much of one piece, in letters of both cases and digits, is no name and no hexadecimal hash."""


def orders(text: str) -> list[str]:
    """Names of what in the text speaks to a model, injection marks among them, in a fixed order."""
    found = marks(text)
    plain = text if text.isascii() else text.translate(_LOOK_ALIKE)
    if plain is not text:
        found += [name for name in marks(plain) if name not in found]
    lowered = plain.lower()
    for name, words, pattern in _PATTERNS:
        if any(word in lowered for word in words) and pattern.search(lowered):
            found.append(name)
    if any(_is_mixed(match[0]) for match in _ENCODED.finditer(plain)):
        found.append("encoded")
    return found


def _is_mixed(run: str) -> bool:
    """Whether a run is in letters of both cases and digits, and no path, which has a slash more often."""
    return run.lower() != run != run.upper() and any(map(str.isdigit, run)) and run.count("/") * 20 <= len(run)
