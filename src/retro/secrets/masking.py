"""Replaces each secret in a text, or in nested values, by `[secret:rule]`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from retro.secrets import assignments, surroundings
from retro.secrets.assignments import has_placeholder
from retro.secrets.prefilter import suspects
from retro.secrets.rules import TOKENS, Rule, entropy


class Masked(NamedTuple):
    """A text without secrets, and how many of each rule were found in it."""

    text: str
    found: dict[str, int]


RULE_NAMES: Final[tuple[str, ...]] = tuple(
    dict.fromkeys([*(r.name for r in TOKENS), *(s.name for s in surroundings.SURROUNDINGS), *assignments.NAMES])
)
"""Every name that may stand in `[secret:…]`."""

# A token begins behind anything but a letter or digit, and behind escapes that end in one: `\n`, `\u001b`, `%3D`, the
# colour codes of a terminal. The prefilter knows the same ways to begin.
_BOUNDARY: Final = re.compile(
    r"(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=\\u[0-9A-Fa-f]{4})|(?<=%[0-9A-Fa-f]{2})|(?<=[\[;][mK])|(?<=[\[;][0-9][mK])"
    r"|(?<=[\[;][0-9]{2}[mK])|(?<=[\[;][0-9]{3}[mK])",
    re.ASCII,
)

_ALNUM: Final = re.compile(r"[A-Za-z0-9]*", re.ASCII)

PASSES: Final = 16
"""Most rounds over one text. Two are usual; the limit is there so that no text, however made, costs more."""

_Span = tuple[int, int, str]


def _tokens(rule: Rule, text: str) -> Iterator[_Span]:
    group = "secret" if "secret" in rule.pattern.groupindex else 0
    at = 0
    while match := rule.pattern.search(text, at):
        at = match.end()
        if _is_token(rule, match, text) and not (rule.accept and not rule.accept(match[group])):
            # What is glued behind a token of full length goes with it.
            rest = _ALNUM.match(text, at)
            at = rest.end() if rest else at
            yield match.start(group), at, rule.name


def _is_token(rule: Rule, match: re.Match[str], text: str) -> bool:
    if not rule.behind and not _BOUNDARY.match(text, match.start()):
        return False
    return entropy(match[0]) >= rule.entropy and not has_placeholder(match[0])


def _replace(text: str, spans: Iterator[_Span], found: dict[str, int]) -> str:
    parts: list[str] = []
    last = 0
    for start, end, rule in spans:
        parts += (text[last:start], f"[secret:{rule}]")
        found[rule] = found.get(rule, 0) + 1
        last = end
    return "".join([*parts, text[last:]]) if parts else text


def _pass(text: str, found: dict[str, int]) -> str:
    for rule in TOKENS:
        if any(keyword in text for keyword in rule.keywords):
            text = _replace(text, _tokens(rule, text), found)
    text = surroundings.each(text, found, _replace)
    return _replace(text, assignments.in_text(text), found)


def mask_unfiltered(text: str) -> Masked:
    """What `mask` does, without asking the prefilter first: much slower where nothing is to be found."""
    found: dict[str, int] = {}
    for _ in range(PASSES):
        # What was masked may have hidden the beginning of something else.
        masked = _pass(text, found)
        if masked is text:
            break
        text = masked
    return Masked(text, found)


def mask(text: str) -> Masked:
    """Replace each secret by `[secret:rule]`; the same object and an empty dict where there is none."""
    # The prefilter is made for encoded lines, and does for plain text as well.
    if suspects(b"\n" + text.encode("utf-8", "surrogatepass")):
        return mask_unfiltered(text)
    return Masked(text, {})


def _entry(key: str, value: str) -> Masked:
    """A dict's value, which its key may give away."""
    masked = mask(value)
    if masked.found:
        return masked
    rule = assignments.of_entry(key, value)
    return Masked(f"[secret:{rule}]", {rule: 1}) if rule else masked


def mask_value(value: object) -> tuple[object, dict[str, int]]:
    """The same over nested dicts, lists and strings, keys too; the very same object where nothing is found."""
    found: dict[str, int] = {}
    copy: list[object] = [value]
    # No recursion: nothing keeps a record from being nested deeply.
    unfinished: list[list[object] | dict[object, object]] = [copy]
    while unfinished:
        part = unfinished.pop()
        if isinstance(part, list):
            part[:] = [_masked("", item, found, unfinished) for item in part]
        else:
            items = [
                (_masked("", key, found, unfinished), _masked(key, item, found, unfinished))
                for key, item in part.items()
            ]
            part.clear()
            part.update(items)
    return (copy[0] if found else value), found


def _masked(
    key: object, item: object, found: dict[str, int], unfinished: list[list[object] | dict[object, object]]
) -> object:
    """The item without its secrets; a copy of a list or dict, whose own items are still to be done."""
    if isinstance(item, str):
        masked = _entry(key, item) if isinstance(key, str) and key else mask(item)
        for rule, count in masked.found.items():
            found[rule] = found.get(rule, 0) + count
        return masked.text
    if isinstance(item, list):
        unfinished.append(item := list(item))
    elif isinstance(item, dict):
        unfinished.append(item := dict(item))
    return item
