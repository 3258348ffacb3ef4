"""A home of very many small sessions that worked in some repositories."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Final

SESSIONS: Final = 10_000
EVENTS: Final = 100
"""Of one session, about; together a million."""

REPOSITORIES: Final = 40
FILES: Final = 120
WORDS: Final = 30_000
COMMON: Final = "the"
"""A word that stands in nearly every text."""


class Vocabulary:
    """Words drawn as often as those of a language are: the n-th 1/n times as often as the first."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        letters = "etaoinshrdlucmfwypvbgkjqxz"
        made = {"".join(chance.choices(letters, k=chance.randint(3, 10))) for _ in range(WORDS)}
        self.words = [COMMON, "error", "test", *sorted(made)]
        self._weights = list(accumulate(1 / (place + 2) for place in range(len(self.words))))

    def text(self, count: int) -> str:
        """So many words."""
        return " ".join(self._chance.choices(self.words, cum_weights=self._weights, k=count))


def repository(folder: str, number: int) -> str:
    """A git repository with a remote, as far as its files say so."""
    git = os.path.join(folder, ".git")
    os.makedirs(git)
    with open(os.path.join(git, "HEAD"), "w", encoding="utf-8") as file:
        file.write("ref: refs/heads/main\n")
    with open(os.path.join(git, "config"), "w", encoding="utf-8") as file:
        file.write(f'[remote "origin"]\n\turl = https://example.com/bench/project-{number}.git\n')
    return folder


def generate(home: str, code: str, sessions: int = SESSIONS, events: int = EVENTS, seed: int = 1) -> list[str]:
    """Write the sessions below `home`, and give the repositories, below `code`, that they worked in."""
    chance = random.Random(seed)
    vocabulary = Vocabulary(chance)
    folders = [repository(os.path.join(code, f"project-{number}"), number) for number in range(REPOSITORIES)]
    for number in range(sessions):
        folder = folders[int(REPOSITORIES * chance.random() ** 2)]
        session_id = f"{chance.getrandbits(128):032x}"
        session_id = "-".join((session_id[:8], session_id[8:12], session_id[12:16], session_id[16:20], session_id[20:]))
        place = os.path.join(home, "projects", folder.replace("/", "-"))
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, f"{session_id}.jsonl"), "w", encoding="utf-8") as file:
            for record in _records(chance, vocabulary, session_id, folder, 1_750_000_000 + number * 3000, events):
                file.write(json.dumps(record, separators=(",", ":")) + "\n")
    return folders


def _records(
    chance: random.Random, vocabulary: Vocabulary, session_id: str, folder: str, began: int, events: int
) -> Iterator[dict[str, object]]:
    from datetime import datetime, timezone

    parent: str | None = None
    for at in range(events):
        name = f"{session_id[:24]}{at:012x}"
        when = datetime.fromtimestamp(began + at * 20, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        shared = {"parentUuid": parent, "isSidechain": False, "sessionId": session_id, "cwd": folder}
        shared |= {"version": "2.1.0", "gitBranch": "main", "uuid": name, "timestamp": when}
        parent = name
        step = at % 20
        if step == 0:
            yield {**shared, "type": "user", "message": {"role": "user", "content": vocabulary.text(25)}}
        elif step == 19:
            yield {**shared, "type": "assistant", "message": _said(name, {"type": "text", "text": vocabulary.text(40)})}
        elif step % 2:
            path = f"{folder}/src/part{int(FILES * chance.random() ** 3)}.py"
            edit = {"file_path": path, "old_string": vocabulary.text(8), "new_string": vocabulary.text(8)}
            tool, given = ("Edit", edit) if step == 9 else ("Bash", {"command": f"grep -rn {vocabulary.text(2)} src"})
            used = {"type": "tool_use", "id": f"toolu_{name}", "name": tool, "input": given}
            yield {**shared, "type": "assistant", "message": _said(name, used)}
        else:
            made = f"toolu_{session_id[:24]}{at - 1:012x}"
            result = {"type": "tool_result", "tool_use_id": made, "content": vocabulary.text(30)}
            yield {**shared, "type": "user", "message": {"role": "user", "content": [result]}}


def _said(name: str, block: Mapping[str, object]) -> dict[str, object]:
    usage = {"input_tokens": 10, "output_tokens": 20}
    return {"id": f"msg_{name}", "role": "assistant", "model": "claude-sonnet-4-5", "content": [block], "usage": usage}
