"""Fields of decoded JSON, where no version of a host promises their types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from typing import Final

import msgspec

from retro.event import MOST

Fields = dict[str, object]

decode: Final[Callable[[bytes | msgspec.Raw], object]] = msgspec.json.Decoder().decode
_encode: Final = msgspec.json.Encoder().encode


def decode_damaged(data: bytes) -> object:
    """A document whatever stands before it; bytes that are no text become marks, and cost no more than themselves."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        return decode(data)
    except UnicodeDecodeError:
        return decode(data.decode("utf-8", "replace").encode())


def mapping(value: object) -> Fields:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[object]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def string(value: object) -> str | None:
    """The value if it is a text with something in it."""
    return value if isinstance(value, str) and value else None


def words(value: object) -> str:
    """The text of a value, also where it is a list or an object that has it in it; nothing for anything else."""
    return text_in(value) if value and isinstance(value, (str, list, dict)) else ""


def first_words(fields: Mapping[str, object], *names: str) -> str | None:
    """The first of several fields that has a text, also in a list or an object."""
    return next((found for found in (words(fields.get(name)) for name in names) if found), None)


def whole(value: object) -> int | None:
    """The value if it is a number, as a whole one; true and false are none, nor is one beyond all bounds."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -MOST <= value <= MOST:
        return None
    return int(value)


def whole_in(value: object) -> object:
    """The whole number that a value stands for, as `"100"` and `100.0` do; any other value as it is."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def count(value: object) -> int:
    """A number of things, 0 where it is not told or cannot be one."""
    return max(whole(whole_in(value)) or 0, 0)


def first(fields: Mapping[str, object], *names: str) -> str | None:
    """The first of several fields that has a text."""
    return next((found for found in (string(fields.get(name)) for name in names) if found is not None), None)


def as_text(value: object) -> str:
    """A value as text: its own if it is one, else JSON; nothing for nothing."""
    if value is None:
        return ""
    return value if isinstance(value, str) else _encode(value).decode()


def text_in(value: object) -> str:
    """The text in a content: itself, or that of its blocks, one below the other."""
    if isinstance(value, dict):
        for name in ("text", "value", "output", "content"):
            if name in value:
                return text_in(value[name])
        return as_text(value)
    if isinstance(value, list):
        return "\n".join(filter(None, (text_in(part) for part in value)))
    return as_text(value)


def kept(**values: object) -> Fields | None:
    """Those of the values that tell something; None if none does."""
    return {name: value for name, value in values.items() if value not in (None, "", False, [], {})} or None


def blocks(value: object) -> Iterator[Fields]:
    """The blocks of a message's content; a bare text is one block, and so is a bare object."""
    if isinstance(value, str):
        yield {"type": "text", "text": value}
    elif isinstance(value, dict):
        yield value
    for block in items(value):
        if isinstance(block, list):
            yield from blocks(block)
        else:
            yield {"type": "text", "text": block} if isinstance(block, str) else mapping(block)


def moment(seconds: float | None) -> str | None:
    """A time in seconds since 1970 as ours: UTC with milliseconds."""
    if seconds is None:
        return None
    try:
        found = datetime.fromtimestamp(seconds, timezone.utc)
    except (OverflowError, OSError, ValueError):
        return None
    return found.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def between(text: str, begin: str, end: str) -> str | None:
    """What stands between the first of one mark and the next of another; None where they are not there."""
    start = text.find(begin)
    stop = text.find(end, start + len(begin)) if start >= 0 else -1
    return text[start + len(begin) : stop] if stop >= 0 else None


def parted(text: str, begin: str, end: str) -> tuple[list[str], list[str]]:
    """What stands between two marks, as often as they are there; and the pieces of text around it."""
    inside, around, at = [], [], 0
    while (start := text.find(begin, at)) >= 0 and (stop := text.find(end, start + len(begin))) >= 0:
        inside.append(text[start + len(begin) : stop])
        around.append(text[at:start])
        at = stop + len(end)
    return inside, [*around, text[at:]]
