"""How results are shown: JSON, tables, notices, progress. Every text that reaches a terminal is made harmless here."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TextIO

if TYPE_CHECKING:
    from types import TracebackType

VERSION = 1
"""Version of the JSON objects on stdout."""
MANY = 800
"""From so many things on it takes longer to encode them plainly than to load msgspec."""

STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}


class Styled(NamedTuple):
    """A text with a style for terminals that show colours."""

    text: str
    style: str


class Column(NamedTuple):
    """A table's column. Only a `shrink` column is ever cut; ids must not be."""

    title: str
    right: bool = False
    shrink: bool = False


class _Terminal:
    """What is known of the terminal in this run."""

    color = True
    progress: Progress | None = None


# --- JSON ------------------------------------------------------------------------------------------------------------


def print_json(content: object) -> None:
    """Print one object (a mapping or a struct) as one line of JSON, with `"version": 1` in front."""
    _print_versioned(_encoded(content))


def print_written(pieces: Iterable[str]) -> None:
    """The same for an object of many rows that its report wrote as JSON itself, in pieces."""
    _print_versioned("".join(pieces).encode())


def _print_versioned(body: bytes) -> None:
    if not body.startswith(b"{"):
        raise TypeError("what is printed as JSON is an object")
    _write_json(b'{"version":%d%s%s' % (VERSION, b"" if body == b"{}" else b",", body[1:]))


def print_object(content: Mapping[str, object]) -> None:
    """Print an object as it is: for errors and for lines of JSON."""
    _write_json(_encoded(content))


def print_lines(contents: Iterable[object]) -> None:
    """Print objects as lines of JSON, each as it is."""
    for content in contents:
        _write_json(_encoded(content), flush=False)
    sys.stdout.buffer.flush()


def write_bytes(content: bytes) -> None:
    """Write bytes to stdout as they are; not for a terminal."""
    sys.stdout.flush()
    sys.stdout.buffer.write(content)


def _encoded(content: object) -> bytes:
    if type(content) is dict and "msgspec" not in sys.modules and not _is_long(content):
        return _plainly_encoded(content)  # loading msgspec takes longer than many a report
    import msgspec

    try:
        return msgspec.json.encode(content)
    except UnicodeEncodeError:  # a lone surrogate, of a file name that is not UTF-8
        import json

        return json.dumps(msgspec.to_builtins(content), separators=(",", ":")).encode("ascii")


def _is_long(content: dict[str, object]) -> bool:
    return any(isinstance(value, list) and len(value) > MANY for value in content.values())


def _plainly_encoded(content: dict[str, object]) -> bytes:
    import json

    def more(value: object) -> object:
        import msgspec

        return msgspec.to_builtins(value)

    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False, default=more)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate, of a file name that is not UTF-8
        return json.dumps(content, separators=(",", ":"), default=more).encode("ascii")


def _write_json(body: bytes, *, flush: bool = True) -> None:
    """UTF-8, whatever the locale. On a terminal, what could act on it is escaped the JSON way: the same value."""
    if sys.stdout.isatty():
        text = "".join(c if c.isprintable() else _json_escape(c) for c in body.decode("utf-8"))
        body = text.encode("utf-8")
    sys.stdout.flush()
    sys.stdout.buffer.write(body + b"\n")
    if flush:
        sys.stdout.buffer.flush()


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


# --- text ------------------------------------------------------------------------------------------------------------


def say(text: str = "", style: str | None = None) -> None:
    """Print text, of one or several lines, on stdout."""
    print("\n".join(paint(harmless(line), style, sys.stdout) for line in text.split("\n")))


def notice(text: str) -> None:
    """Tell the person something beside the result: on stderr, and only where that is a terminal."""
    if _is_terminal(sys.stderr):
        _to_stderr(text, "dim")


def warn(text: str) -> None:
    """Warn on stderr, terminal or not."""
    _to_stderr(f"retro: {text}", "yellow")


def error_lines(text: str) -> None:
    """Print an error, of one or several lines, on stderr."""
    _to_stderr(text, None)


def harmless(text: str) -> str:
    """A text of one line without anything that a terminal would act on."""
    if text.isascii() and text.isprintable():  # loading the rules would double the time of a small command
        return text
    from retro.secrets import visible

    return visible(text.replace("\n", " ").replace("\r", " ").replace("\t", " "))


def _to_stderr(text: str, style: str | None) -> None:
    if _Terminal.progress is not None:
        _Terminal.progress.clear()
    for line in text.rstrip("\n").split("\n"):
        print(paint(harmless(line), style, sys.stderr), file=sys.stderr, flush=True)


# --- colours ---------------------------------------------------------------------------------------------------------


def configure(*, color: bool) -> None:
    """Take over `--no-color`."""
    _Terminal.color = color


def has_color(stream: TextIO, env: Mapping[str, str] | None = None) -> bool:
    """Whether colours are shown: `--no-color`, NO_COLOR, FORCE_COLOR, TERM=dumb, then whether it is a terminal."""
    env = os.environ if env is None else env
    if not _Terminal.color or env.get("NO_COLOR"):
        return False
    if env.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    if env.get("TERM") == "dumb" or (os.name == "nt" and not ("WT_SESSION" in env or "TERM" in env)):
        return False  # the old Windows console prints the codes
    return _is_terminal(stream)


def paint(text: str, style: str | None, stream: TextIO) -> str:
    """A text, already harmless, in a style of `STYLES` where the stream shows colours."""
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if style and text and has_color(stream) else text


def highlighted(text: str, marks: Iterable[tuple[int, int]]) -> str:
    """A text on one line for stdout, harmless, with parts of it marked: in colour, or between angle quotes."""
    made, place = [], 0
    colored = has_color(sys.stdout)
    for start, end in marks:
        if start >= place and end > start:
            word = harmless(text[start:end])
            made += [_flat(text[place:start]), paint(word, "yellow", sys.stdout) if colored else f"«{word}»"]
            place = end
    made.append(_flat(text[place:]))
    return "".join(made).strip()


def _flat(text: str) -> str:
    """A part of a line: white space is one blank, also at its ends."""
    flat = harmless(" ".join(text.split()))
    return f"{' ' * text[:1].isspace()}{flat}{' ' * (text[-1:].isspace() and bool(flat))}"


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


# --- tables ----------------------------------------------------------------------------------------------------------


def table(rows: Iterable[Sequence[str | Styled]], columns: Sequence[Column]) -> None:
    """Print aligned columns on stdout; on a terminal the `shrink` columns are cut to fit."""
    for line in table_lines(rows, columns, terminal_width(sys.stdout), color=has_color(sys.stdout)):
        print(line)


def table_lines(
    rows: Iterable[Sequence[str | Styled]], columns: Sequence[Column], width: int | None, *, color: bool
) -> list[str]:
    """The lines of a table, at most `width` cells wide where the `shrink` columns allow it."""
    header = [Styled(column.title, "dim") for column in columns]
    cells = [[_cell(cell) for cell in row] for row in (header, *rows)]
    widths = [max(display_width(row[at].text) for row in cells) for at in range(len(columns))]
    widths = _fitted(widths, columns, width)
    return [_line(row, columns, widths, color) for row in cells]


def fits(rows: Iterable[Sequence[str | Styled]], columns: Sequence[Column]) -> bool:
    """Whether a table is no wider than the terminal, as far as its `shrink` columns can be cut."""
    width = terminal_width(sys.stdout)
    if width is None:
        return True
    lines = table_lines(rows, columns, width, color=False)
    return max(map(display_width, lines)) <= width


def terminal_width(stream: TextIO) -> int | None:
    """The cells of a line, None where it is no terminal and nothing must be cut."""
    if not _is_terminal(stream):
        return None
    try:
        return int(os.environ.get("COLUMNS", "")) or None
    except ValueError:
        pass
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except (OSError, ValueError):
        return None


def display_width(text: str) -> int:
    """How many cells a text takes: two for East Asian and emoji characters, none for combining ones."""
    if text.isascii():
        return len(text)
    return sum(_cells(character) for character in text)


def cut(text: str, width: int) -> str:
    """A text cut to a number of cells, with `…` where something is missing."""
    if display_width(text) <= width:
        return text
    kept, used = [], 0
    for character in text:
        used += _cells(character)
        if used > width - 1:
            break
        kept.append(character)
    return "".join(kept).rstrip() + "…"


def _cells(character: str) -> int:
    from unicodedata import category, east_asian_width

    if character.isascii():
        return 1
    if category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(character) in ("W", "F") else 1


def _cell(cell: str | Styled) -> Styled:
    text, style = cell if isinstance(cell, Styled) else (cell, "")
    return Styled(harmless(text), style)


def _fitted(widths: list[int], columns: Sequence[Column], width: int | None) -> list[int]:
    """Widths that fit, taken from the widest column that may shrink, cell by cell, down to eight."""
    widths = list(widths)
    excess = sum(widths) + 2 * (len(widths) - 1) - width if width else 0
    while excess > 0:
        at = max((at for at, column in enumerate(columns) if column.shrink), key=lambda at: widths[at], default=None)
        if at is None or widths[at] <= 8:
            break
        widths[at] -= 1
        excess -= 1
    return widths


def _line(row: Sequence[Styled], columns: Sequence[Column], widths: Sequence[int], color: bool) -> str:
    parts = []
    for (text, style), column, width in zip(row, columns, widths, strict=True):
        shown = cut(text, width) if column.shrink else text
        padding = " " * (width - display_width(shown))
        painted = f"\x1b[{STYLES[style]}m{shown}\x1b[0m" if color and style and shown else shown
        parts.append(padding + painted if column.right else painted + padding)
    return "  ".join(parts).rstrip()


# --- progress --------------------------------------------------------------------------------------------------------


class Progress:
    """One line on a terminal's stderr with counts, bytes and the time left; silent anywhere else. A context manager."""

    INTERVAL = 0.1

    def __init__(self, label: str, items: int = 0, size: int = 0) -> None:
        self.label = label
        self.items, self.size = items, size
        self.done_items, self.done_size = 0, 0
        self._shown = ""
        self._started = time.monotonic()
        self._next = 0.0
        self._enabled = _is_terminal(sys.stderr) and os.environ.get("TERM") != "dumb"

    def __enter__(self) -> Progress:
        _Terminal.progress = self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()
        _Terminal.progress = None

    def expect(self, items: int = 0, size: int = 0) -> None:
        """Add to what is to be done."""
        self.items += items
        self.size += size

    def advance(self, items: int = 0, size: int = 0, label: str | None = None) -> None:
        """Add to what is done; draws at most ten times a second."""
        self.done_items += items
        self.done_size += size
        self.label = label if label is not None else self.label
        now = time.monotonic()
        if self._enabled and now >= self._next:
            self._next = now + self.INTERVAL
            self._draw(self.line(now - self._started))

    def line(self, elapsed: float) -> str:
        """What it shows after so many seconds."""
        parts = [self.label]
        if self.items:
            parts.append(f"{count(self.done_items)}/{count(self.items)}")
        if self.size:
            parts.append(f"{size(self.done_size)} of {size(self.size)}")
        if elapsed > 0.5 and self.done_size:
            parts.append(f"{size(int(self.done_size / elapsed))}/s")
        share = self.done_size / self.size if self.size else self.done_items / self.items if self.items else 0
        if elapsed > 2 and 0 < share < 1:
            parts.append(f"{duration(elapsed / share - elapsed)} left")
        return "  ".join(parts)

    def clear(self) -> None:
        """Take the line away, to be drawn again by the next `advance`."""
        if self._shown:
            self._draw("")
            self._next = 0.0

    def _draw(self, line: str) -> None:
        line = cut(harmless(line), (terminal_width(sys.stderr) or 80) - 1)
        padding = " " * max(0, display_width(self._shown) - display_width(line))
        sys.stderr.write(f"\r{line}{padding}" + ("" if line else "\r"))
        sys.stderr.flush()
        self._shown = line


# --- figures ---------------------------------------------------------------------------------------------------------


def size(bytes_: int) -> str:
    """`812 B`, `4.1 kB`, `23 MB`: decimal, two digits that matter."""
    amount = float(bytes_)
    for unit in ("B", "kB", "MB", "GB"):
        if round(amount) < 1000:
            return f"{amount:.1f} {unit}" if unit != "B" and amount < 9.95 else f"{amount:.0f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def count(number: int) -> str:
    """`12,345`."""
    return f"{number:,}"


def duration(seconds: float) -> str:
    """`0.4s`, `12s`, `3m 20s`, `2h 05m`, `3d 4h`."""
    if seconds < 9.95:
        return f"{max(seconds, 0):.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02}s"
    if whole < 86400:
        return f"{whole // 3600}h {whole % 3600 // 60:02}m"
    return f"{whole // 86400}d {whole % 86400 // 3600}h"
