"""What an agent wrote as elements: code, headings, lists and emphasis; everything else, links too, stays text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final
from xml.etree.ElementTree import Element, SubElement

_FENCE: Final = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_HEADING: Final = re.compile(r"#{1,6}\s+(.*)")
_INLINE: Final = re.compile(r"`([^`\n]+)`|\*\*([^*\n]+)\*\*")

Put = Callable[[Element, str], None]
"""Puts text, and nothing but text, into an element."""


def prose(place: Element, text: str, put: Put) -> None:
    """Lay out a text below an element."""
    for kind, lines in _blocks(text.split("\n")):
        if kind == "pre":
            put(SubElement(place, "pre"), "\n".join(lines))
        elif kind == "h3":
            put(SubElement(place, "h3"), lines[0])
        elif any(line.strip() for line in lines):
            _inline(SubElement(place, "p"), "\n".join(lines).strip("\n"), put)


def _blocks(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Lines that belong together, each lot with what it is: paragraphs, headings, code."""
    held: list[str] = []
    fence = ""
    for line in lines:
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not line.strip().strip(fence[0]):
                yield "pre", held
                held, fence = [], ""
            else:
                held.append(line)
            continue
        heading = _HEADING.match(line)
        if not (found or heading or not line.strip()):
            held.append(line)
            continue
        yield "p", held
        held = []
        if found:
            fence = found[1]
        elif heading:
            yield "h3", [heading[1]]
    yield "pre" if fence else "p", held


def _inline(place: Element, text: str, put: Put) -> None:
    """Text with its `code` and **emphasis**."""
    last = 0
    for match in _INLINE.finditer(text):
        _add(place, text[last : match.start()], put)
        code = match[1] is not None
        put(SubElement(place, "code" if code else "strong"), match[1] if code else match[2])
        last = match.end()
    _add(place, text[last:], put)


def _add(place: Element, text: str, put: Put) -> None:
    """Put text behind what stands in an element already."""
    if not text:
        return
    carrier = Element("span")
    put(carrier, text)
    if len(place):
        place[-1].tail = carrier.text
    else:
        place.text = carrier.text
