"""Data as scripts that hand it over, compressed: a page opened from a file may load scripts, and nothing else."""

from __future__ import annotations

import zlib
from binascii import a2b_base64, b2a_base64
from typing import Final

import msgspec

LEVEL: Final = 5
"""Of zlib: beyond it little more is gained, and text takes twice as long."""

_BEGIN: Final = b"retro.data("
_END: Final = b'");\n'

encoded: Final = msgspec.json.Encoder().encode
"""The JSON of some content."""


def as_script(name: str, content: object) -> bytes:
    """A call that hands over the content: JSON, compressed, in letters that end no script, no text and no line."""
    return packed(name, encoded(content))


def packed(name: str, content: bytes) -> bytes:
    """The same of JSON."""
    said = encoded(name).replace(b"<", b"\\u003c")
    return _BEGIN + said + b',"' + b2a_base64(zlib.compress(content, LEVEL), newline=False) + _END


def unpacked(script: bytes) -> bytes:
    """The JSON that a script hands over; ValueError where it is none of ours."""
    if not (script.startswith(_BEGIN) and script.endswith(_END)):
        raise ValueError("no data of a dashboard")
    try:
        return zlib.decompress(a2b_base64(script[script.rindex(b',"') + 2 : -len(_END)]))
    except zlib.error as error:
        raise ValueError(str(error)) from None
