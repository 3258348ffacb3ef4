"""The words of a `retro recall` call, read without argparse, which takes as long to load as all the rest."""

from __future__ import annotations

from retro.failure import WRONG_USAGE, Failure, did_you_mean

TYPE_CHECKING = False  # as in places
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FLAGS = ("--json", "--all", "--full", "--include-local", "--no-color")
TEXTS = ("--root", "--config")
NUMBERS = {"--limit": (1, 10_000), "--budget": (20, 10_000_000), "--turns": (1, 10_000)}
"""Options with a number, and from where to where it may go."""

USAGE = "retro recall --help"


class Arguments:
    """What was asked for."""

    __slots__ = ("flags", "numbers", "texts", "words")

    def __init__(self) -> None:
        self.words: list[str] = []
        self.flags: set[str] = set()
        self.texts: dict[str, str] = {}
        self.numbers: dict[str, int] = {}

    def has(self, flag: str) -> bool:
        """Whether a flag was given."""
        return flag in self.flags

    def number(self, option: str) -> int | None:
        """The number given with an option."""
        return self.numbers.get(option)


def parse(given: Sequence[str], options: Mapping[str, str | bool]) -> Arguments:
    """Read them; `options` are those that stood before the command. What is wrong is a `Failure`."""
    found = Arguments()
    for name, value in options.items():
        if isinstance(value, str):
            found.texts[f"--{name}"] = value
        elif value:
            found.flags.add(f"--{name.replace('_', '-')}")
    rest = list(given)
    while rest:
        word = rest.pop(0)
        if word == "--":
            found.words += rest
            break
        if not word.startswith("-") or word == "-" or (found.words[:1] == ["search"] and word[:2] != "--"):
            found.words.append(word)
            continue
        name, has_value, value = word.partition("=")
        if name in FLAGS and not has_value:
            found.flags.add(name)
        elif name in TEXTS or name in NUMBERS:
            if not has_value:
                if not rest:
                    raise Failure("usage", f"{name} needs a value", USAGE, WRONG_USAGE)
                value = rest.pop(0)
            _take(found, name, value)
        else:
            hint = did_you_mean(name, (*FLAGS, *TEXTS, *NUMBERS)) or USAGE
            raise Failure("usage", f'there is no option "{name[:80]}"', hint, WRONG_USAGE)
    return found


def _take(found: Arguments, name: str, value: str) -> None:
    if name in TEXTS:
        found.texts[name] = value
        return
    lowest, highest = NUMBERS[name]
    if not (value.isascii() and value.isdigit() and len(value) < 12 and lowest <= int(value) <= highest):
        message = f"{name} must be a whole number from {lowest} to {highest}, not {value[:40]!r}"
        raise Failure("usage", message, USAGE, WRONG_USAGE)
    found.numbers[name] = int(value)
