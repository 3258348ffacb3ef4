"""Whether a memory may be handed out: every field looked at for injections, credentials and hidden characters."""

from __future__ import annotations

import msgspec

from retro import secrets
from retro.memory.item import Item
from retro.mining.filters import strings


def findings(item: Item) -> list[str]:
    """What speaks against handing it out; nothing where nothing does."""
    texts = list(strings(msgspec.to_builtins(item)))
    found = [f"hostile text: {name}" for name in secrets.orders("\n".join(texts))]
    rules = {rule for text in texts for rule in secrets.mask(text).found}
    return found + [f"secret: {rule}" for rule in sorted(rules)]
