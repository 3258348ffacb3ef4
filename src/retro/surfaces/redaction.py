"""What is taken out of a session before it is given to somebody else, beside the secrets that are masked anyway."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Final

from retro.event import Event

HOME: Final = re.compile(
    r"(?<![\w/\\])(?:/home/|/Users/|/root(?=[/\s]|$)|[A-Za-z]:\\+Users\\+)(?:[^\s/\\:\"'`<>|*?]+)?"
)
MAIL: Final = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])")

_TEXTS: Final = ("summary", "text", "command", "cwd", "branch", "paths", "payload")


class Redaction:
    """Redacts events one after another, and counts what it took out."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        """What was masked: `home folder`, `e-mail address`, and every rule by which secrets were masked."""

    def event(self, event: Event) -> Event:
        """The event without the names of home folders and e-mail addresses, changed in place."""
        secrets = (event.payload or {}).get("secrets")
        if isinstance(secrets, dict):
            self.counts.update({f"secret ({rule})": number for rule, number in secrets.items()})
        for name in _TEXTS:
            value = getattr(event, name)
            if value:
                setattr(event, name, self.value(value))
        return event

    def value(self, value: Any) -> Any:  # Any: whatever a host's payload holds
        """The same for a value of any shape."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {self.value(key): self.value(item) for key, item in value.items()}
        return value

    def text(self, text: str) -> str:
        """The same for a text."""
        if "/" in text or "\\" in text:
            text, number = HOME.subn("~", text)
            if number:
                self.counts["home folder"] += number
        if "@" in text:
            text, number = MAIL.subn("‹e-mail›", text)
            if number:
                self.counts["e-mail address"] += number
        return text

    def optional(self, text: str | None) -> str | None:
        """The same for a text that may be missing."""
        return None if text is None else self.text(text)
