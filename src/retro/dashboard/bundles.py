"""Pages of sessions by the bundle: what changed is put among what lies there already."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from retro.dashboard import data
from retro.dashboard.packing import unpacked
from retro.dashboard.session_page import Made, SessionPages, Wanted

PARTS: Final = ("pages", "turns", "requests", "readings", "phases")
"""Of a bundle, in the order of `Made`; what was said is in a file of its own."""

_decode_bundle = msgspec.json.Decoder(data.Bundle).decode
_decode_talk = msgspec.json.Decoder(data.Talk).decode


class Laid(msgspec.Struct):
    """A bundle with its talk: sessions by the names of their files."""

    signals: list[list[str]] = []
    sessions: dict[str, Made] = {}


def laid(bundle: bytes, talk: bytes) -> Laid | None:
    """What two scripts of a site hold; None where they are damaged, or do not belong together."""
    try:
        found, said = _decode_bundle(unpacked(bundle)), _decode_talk(unpacked(talk))
    except (ValueError, msgspec.MsgspecError):
        return None
    columns = [getattr(found, part) for part in PARTS]
    if found.names != said.names or found.version != data.DATA_VERSION:
        return None
    made = [Made(*parts) for parts in zip(*columns, said.said, strict=True)]
    return Laid(found.signals, dict(zip(found.names, made, strict=True)))


def renew(kept: Laid, wanted: Mapping[str, Wanted], names: Iterable[str], pages: SessionPages) -> Laid:
    """Those names, each as it is wanted now or as it was kept."""
    signals = [list(one) for one in kept.signals]
    fresh = dict(zip(wanted, pages.make(list(wanted.values()), signals), strict=True))
    return Laid(signals, {name: fresh.get(name) or kept.sessions[name] for name in names})


def single(name: str, wanted: Wanted, pages: SessionPages) -> tuple[data.Bundle, data.Talk]:
    """What the two files of a bundle of one session alone hold."""
    return scripts(renew(Laid(), {name: wanted}, [name], pages))


def scripts(content: Laid) -> tuple[data.Bundle, data.Talk]:
    """What the two files of a bundle hold."""
    names, made = list(content.sessions), list(content.sessions.values())
    columns: list[list[msgspec.Raw]] = [list(column) for column in zip(*made, strict=True)] or [[]] * len(Made._fields)
    *parts, said = columns
    return _bundle(content.signals, names, parts), data.Talk(data.DATA_VERSION, names, said)


def _bundle(signals: list[list[str]], names: list[str], parts: Sequence[list[msgspec.Raw]]) -> data.Bundle:
    return data.Bundle(data.DATA_VERSION, signals, names, **dict(zip(PARTS, parts, strict=True)))
