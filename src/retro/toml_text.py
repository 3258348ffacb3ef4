"""TOML as text: which line sets which key, and a list that gains an item while all else stays as it was written."""

from __future__ import annotations

TYPE_CHECKING = False  # as in places: settings are read on the light path
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

    Path = tuple[str, ...]


def parse(text: str) -> dict[str, object]:
    """A TOML text as a dictionary; raises ValueError."""
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text)


class Statement:
    """One header or assignment of a TOML text: the keys that it sets and the lines (from 0, end excluded) it covers."""

    __slots__ = ("end", "is_header", "path", "start")

    def __init__(self, path: Path, start: int, end: int, is_header: bool) -> None:
        self.path: Final = path
        self.start: Final = start
        self.end: Final = end
        self.is_header: Final = is_header


def statements(lines: list[str]) -> Iterable[Statement]:
    """The statements of a TOML text. Each is complete as soon as it parses alone: no grammar of our own is needed."""
    section: Path = ()
    start, pending = 0, ""
    for number, line in enumerate(lines):
        if pending and not any(mark in line for mark in ("]", "}", '"""', "'''")):
            pending += line + "\n"
            continue
        start = start if pending else number
        pending += line + "\n"
        try:
            parsed = parse(pending)
        except ValueError:
            continue
        is_header = pending.lstrip().startswith("[")
        path = _only_path(parsed)
        pending = ""
        if is_header:
            section = path
        if path:
            yield Statement(path if is_header else section + path, start, number + 1, is_header)


def line_of(path: Path, text: str) -> int | None:
    """The line (from 1) where a key is set, or the section or inline table that holds it."""
    lines = key_lines(text)
    return next((lines[path[:depth]] for depth in range(len(path), 0, -1) if path[:depth] in lines), None)


def key_lines(text: str) -> dict[Path, int]:
    """The line (from 1) where each key of a TOML text is set, sections included."""
    found: dict[Path, int] = {}
    for statement in statements(text.replace("\r\n", "\n").split("\n")):
        for depth in range(1, len(statement.path) + 1):
            found.setdefault(statement.path[:depth], statement.start + 1)
    return found


def _only_path(parsed: dict[str, object]) -> Path:
    """The keys down to the value of one statement: `a.b = 1` gives (a, b)."""
    path: list[str] = []
    value: object = parsed
    while isinstance(value, dict) and len(value) == 1:
        key = next(iter(value))
        path.append(key)
        value = value[key]
    return tuple(path)


def with_item(text: str, section: str, key: str, item: str) -> str | None:
    """The text with one more item in the list `section.key`; None where that cannot be done without touching the rest.

    Every way that may fit how the file is written is tried, and read back, until one says exactly what is wanted.
    """
    document = parse(text)
    table = document.get(section, {})
    items = table.get(key, []) if isinstance(table, dict) else None
    if not isinstance(table, dict) or not isinstance(items, list):
        return None
    wanted = {**document, section: {**table, key: [*items, item]}}
    return next((changed for changed in _candidates(text, section, key, quoted(item)) if _says(changed, wanted)), None)


def _says(text: str, wanted: dict[str, object]) -> bool:
    try:
        return parse(text) == wanted
    except ValueError:
        return False


def _candidates(text: str, section: str, key: str, entry: str) -> Iterable[str]:
    """The nicest first: inside the list, below its section's header, in a new section at the end."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.replace("\r\n", "\n").split("\n")
    found = list(statements(lines))
    for statement in found:
        if statement.path == (section, key):
            yield from _with_entry(lines, statement, entry, newline)
    for statement in found:
        if statement.is_header and statement.path == (section,):
            yield newline.join([*lines[: statement.end], f"{key} = [{entry}]", *lines[statement.end :]])
    ended = text if not text or text.endswith("\n") else text + newline
    gap = newline if ended.strip() else ""
    yield f"{ended}{gap}[{section}]{newline}{key} = [{entry}]{newline}"


def _with_entry(lines: list[str], statement: Statement, entry: str, newline: str) -> Iterable[str]:
    """The text with an entry put before the list's closing bracket, which a comment may imitate."""
    block = "\n".join(lines[statement.start : statement.end])
    at = block.rfind("]")
    while at >= 0:
        front, back = block[:at], block[at:]
        for joint in ("  {},\n", "  , {}\n", "{}", ", {}"):
            if joint.startswith("  ") and not front.endswith("\n"):
                continue
            changed = [*lines[: statement.start], front + joint.format(entry) + back, *lines[statement.end :]]
            yield newline.join("\n".join(changed).split("\n"))
        at = block.rfind("]", 0, at)


def quoted(text: str) -> str:
    """A text as a TOML string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c >= " " and c != "\x7f" else f"\\u{ord(c):04x}" for c in escaped) + '"'
