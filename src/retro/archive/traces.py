"""Every file of the archive that is one session's own, with what a crash may have left of them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

import msgspec

from retro.places import Places, safe_name

# What the files of a method are called behind a session's name; `headless` puts the client in between.
_OF_METHOD: Final = {"mined": (r"\.json", r"\.prompt\.md"), "headless": (r"\.[a-z]+\.jsonl", r"\.[a-z]+\.json")}
DASHBOARD: Final = "dashboard"
"""The folder of the pages, unless they are written elsewhere."""

_TEMPORARY: Final = r"\.[0-9a-f]{12}\.tmp"


def erase_files(places: Places, host: str, session_id: str) -> None:
    """Remove a session's files."""
    for path in traces(places, host, session_id):
        checked = places.checked(path) if not os.path.islink(path) else path
        if os.path.isdir(checked) and not os.path.islink(checked):
            shutil.rmtree(checked)
        else:
            os.unlink(checked)


def erase_mentions(places: Places, session_ids: Iterable[str]) -> None:
    """Remove what was found in other sessions as well as these; it is found anew without them."""
    needles = [msgspec.json.encode(session_id)[1:-1] for session_id in session_ids]
    walks = (os.walk(os.path.join(places.root, family)) for family in ("mined", "patterns"))
    for folder, _, names in chain.from_iterable(walks):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(".json") and _mentions(path, needles):
                for found in (path, f"{path.removesuffix('.json')}.prompt.md"):
                    if os.path.lexists(found):
                        os.unlink(places.checked_session(found))


def _mentions(path: str, needles: list[bytes]) -> bool:
    with open(path, "rb") as file:
        content = file.read()
    return any(needle in content for needle in needles)


def traces(places: Places, host: str, session_id: str) -> list[str]:
    """Every file and folder of the archive that is a session's own, with what a crash may have left of them."""
    found = [places.raw(host, session_id)]
    for path in (
        places.normalized(host, session_id),
        places.rendered(host, session_id),
        places.digest(host, session_id),
    ):
        found += _with_remains(*os.path.split(path))
    for family, suffixes in _OF_METHOD.items():
        for folder in _methods(places, family, host):
            own = re.compile(re.escape(safe_name(session_id)) + f"(?:{'|'.join(suffixes)})")
            for name in _names(folder, own):
                found += _with_remains(folder, name)
    found.append(os.path.join(places.root, DASHBOARD))  # its first page names every session; it can be built again
    return [path for path in found if os.path.lexists(path)]


def _with_remains(folder: str, name: str) -> Iterator[str]:
    """A file, its successor that was not finished, and what `write_private` leaves when it is killed."""
    yield os.path.join(folder, name)
    yield os.path.join(folder, f"{name}.new")
    temporary = re.compile(re.escape(f".{name[:100]}") + _TEMPORARY)
    if os.path.isdir(folder):
        yield from (os.path.join(folder, entry) for entry in os.listdir(folder) if temporary.fullmatch(entry))


def _names(folder: str, own: re.Pattern[str]) -> list[str]:
    """The files of a session; also of those of which a crash left nothing but a temporary one."""
    if not os.path.isdir(folder):
        return []
    temporary = re.compile(rf"\.({own.pattern}){_TEMPORARY}")
    found = {name for name in os.listdir(folder) if own.fullmatch(name)}
    found |= {match[1] for name in os.listdir(folder) if (match := temporary.fullmatch(name))}
    return sorted(found)


def _methods(places: Places, family: str, host: str) -> Iterator[str]:
    parent = os.path.join(places.root, family)
    if os.path.isdir(parent):
        yield from (os.path.join(parent, method, host) for method in sorted(os.listdir(parent)))
