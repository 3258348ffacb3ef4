"""Names of models: the same one has many, with a seller before it, and a date, a version or an effort behind."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_DATE: Final = r"[-@]20\d{6}|-20\d\d-\d\d-\d\d"
_SUFFIX: Final = re.compile(
    rf"(?:{_DATE}|[-:]latest|-v\d+(?::\d+)?|\[\d+m\]|@default|\s*\((?:minimal|low|medium|high|xhigh|max)\))$"
)
_DATED: Final = re.compile(rf"(.+?)(?:{_DATE})$")
_PREFIX: Final = re.compile(
    r"^(?:(?:us|us-gov|ca|sa|eu|me|af|au|jp|apac|global)\.)?"
    r"(?:anthropic|openai|google|xai|moonshot|zai|deepseek|mistral)[.:]"
)
_THINKS: Final = re.compile(r"^(claude-.+)[-:](?:thinking|thought)$")
"""Hosts call a model of Anthropic's so when it may think; others' are models of their own."""


def names_of(model: str) -> list[str]:
    """The names under which a table may know a model: what stands before a delimiter, or behind, is left out.

    Nothing is ever looked for within a name: `gpt-5-codex-custom` is not `gpt-5-codex`.
    """
    name = model.strip().lower()
    found = [name]

    def add(other: str) -> None:
        if other and other not in found:
            found.append(other)

    bare = name.rpartition("/")[2]
    bare = _PREFIX.sub("", bare)
    add(bare)
    while (shorter := _THINKS.sub(r"\1", _SUFFIX.sub("", bare))) != bare:
        bare = shorter
        add(bare)
    for known in found:
        add(re.sub(r"(?<=\d)\.(?=\d)", "-", known))
    return found


def undated(names: Iterable[str]) -> dict[str, str]:
    """By what stands before the date in a name that ends in one: of several such names the one with the latest."""
    return {found[1]: name for name in sorted(names) if (found := _DATED.match(name))}
