"""A memory as a skill: a folder with a `SKILL.md` that agents load by themselves."""

from __future__ import annotations

import os
import re

from retro.memory.item import Item
from retro.places import make_private_dir, write_private

_OTHERS = re.compile(r"[^a-z0-9]+")


def export(item: Item, folder: str) -> str:
    """Write it below a folder; gives the path of the file."""
    path = os.path.join(folder, name_of(item), "SKILL.md")
    make_private_dir(os.path.dirname(path))
    write_private(path, markdown(item).encode())
    return path


def name_of(item: Item) -> str:
    """The skill's name: lower case, digits and hyphens, as agents want it."""
    words = _OTHERS.sub("-", (item.title or item.text).lower()).strip("-")[:48].rstrip("-")
    return words or item.id.replace("_", "-")


def markdown(item: Item) -> str:
    """The file's content. Values of the front matter are quoted, so that no text can add a key."""
    lines = [
        "---",
        f"name: {name_of(item)}",
        f"description: {_quoted(f'{item.text} Use when {item.when_to_use}.')}",
        "---",
    ]
    lines += [
        "",
        f"# {_flat(item.title or item.kind)}",
        "",
        _flat(item.text),
        "",
        f"Use when: {_flat(item.when_to_use)}",
    ]
    lines += [f"Do not use when: {_flat(item.do_not_use_when)}"]
    if item.steps:
        lines += ["", "## Steps", "", *(f"{number}. {_flat(step)}" for number, step in enumerate(item.steps, 1))]
    lines += ["", f"Drawn from {len(item.source_sessions)} sessions: {_flat(item.reason)} ({item.id})", ""]
    return "\n".join(lines)


def _flat(text: str) -> str:
    return " ".join(text.split())


def _quoted(text: str) -> str:
    return '"' + _flat(text)[:1000].replace("\\", "\\\\").replace('"', '\\"') + '"'
