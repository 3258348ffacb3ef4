"""`retro hook`: a host says that a session has come to rest. One line in the inbox, no word, always exit code 0."""

from __future__ import annotations

import os
import sys
import time

from retro import inbox
from retro.places import Places, find_root

TYPE_CHECKING = False  # as in places
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

EVENTS = ("stop", "session-end")
INPUT_LIMIT = 1024 * 1024
TEXT_LIMIT = 4096

# What hosts call the same thing.
_SESSION = ("session_id", "sessionId", "thread-id")
_PATH = ("transcript_path", "transcriptPath")


def run(arguments: Sequence[str], options: Mapping[str, str | bool]) -> int:
    """Note it. A hook must never get in the way of the agent: on any doubt it does nothing, and says nothing."""
    try:
        _note(list(arguments), options)
    except Exception as error:
        if os.environ.get("RETRO_DEBUG"):
            print(f"retro hook: {error!r}", file=sys.stderr)
    return 0


def _note(arguments: list[str], options: Mapping[str, str | bool]) -> None:
    given = dict(options)
    words = []
    while arguments:
        word = arguments.pop(0)
        if word in ("--host", "--root", "--config") and arguments:
            given[word[2:]] = arguments.pop(0)
        elif not word.startswith("-"):
            words.append(word)
    if words[:1] not in ([event] for event in EVENTS):
        return
    told = _told()
    record = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "event": words[0],
        "host": _text(given.get("host")),
        "session_id": next(filter(None, (_text(told.get(name)) for name in _SESSION)), None),
        "path": next(filter(None, (_text(told.get(name)) for name in _PATH)), None),
    }
    if not (record["session_id"] or record["path"]):
        return
    from retro import config

    root = _text(given.get("root"))
    settings = config.load(_text(given.get("config")), os.environ, root=root)
    places = Places(find_root(root, os.environ, settings).path)
    if inbox.append(places, inbox.ENDED, record) and settings.sweep_after_hook:
        _start_sweep(places, settings.file)


def _told() -> dict[str, object]:
    """What the host says on stdin."""
    import json

    if sys.stdin is None or sys.stdin.isatty():
        return {}
    told = json.loads(sys.stdin.buffer.read(INPUT_LIMIT))
    return told if isinstance(told, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= TEXT_LIMIT else None


def _start_sweep(places: Places, settings_file: str) -> None:
    """A sweep of its own, which outlives the hook; the user's settings ask for it."""
    import subprocess

    command = [sys.executable, "-m", "retro", "--root", places.root, "--config", settings_file, "sweep", "--background"]
    if not os.path.exists(settings_file):
        del command[5:7]
    subprocess.Popen(  # noqa: S603 - our own program
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=os.name == "posix",
        creationflags=0 if os.name == "posix" else 0x00000008 | 0x00000200,  # detached, in a group of its own
    )
