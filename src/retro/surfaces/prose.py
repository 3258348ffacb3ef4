"""Text from sessions as markdown that cannot break out: one reading for every reader."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Final, NamedTuple

from retro.secrets import visible

LINE_WIDTH: Final = 240
COMMAND_WIDTH: Final = 120
DEEPEST: Final = 6

# Text from sessions, made harmless. Everything below holds for CommonMark and GitHub's tables, and is meant to hold for
# any other reader too: what counts as code is rewritten so that no reader can see it differently.


def lines_of(text: str) -> list[str]:
    """Lines as markdown counts them, without control characters."""
    return visible(text.replace("\r\n", "\n").replace("\r", "\n")).split("\n")


def line_count(text: str | None) -> int:
    """How many lines a text has."""
    stripped = (text or "").strip("\r\n")
    return stripped.count("\n") + 1 if stripped.strip() else 0


def flat_text(text: str) -> str:
    """A text on one line, harmless."""
    return " ".join(visible(text).split())


def cut_to(text: str, width: int) -> str:
    """A text cut to a width."""
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def plural(number: int, noun: str) -> str:
    """A number and its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def words_of(text: str, width: int) -> str:
    """The first words of a text as one line without any markdown but its code spans."""
    flat = flat_text(text[: width * 8])
    short = flat if len(flat) <= width else flat[: width - 1].rsplit(" ", 1)[0].rstrip() + "…"
    return "".join(part if is_code else _PUNCTUATION.sub(_escaped, part) for is_code, part in _spans(short))


_PUNCTUATION: Final = re.compile(r"[\\`*\[]|~(?=~)|(?<!\w)_|_(?!\w)|<(?=[A-Za-z/!?])|&(?=#?\w+;)|(?<=\s)#(?=#*$)")


def _escaped(match: re.Match[str]) -> str:
    return {"<": "&lt;", "&": "&amp;"}.get(match.group(), f"\\{match.group()}")


def code_span(text: str | None, width: int = COMMAND_WIDTH) -> str:
    """A code span of one line, whatever it holds."""
    flat = cut_to(flat_text((text or "")[: width * 8]), width) or " "
    ticks = "`" * (1 + max((len(run) for run in _TICKS.findall(flat)), default=0))
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{ticks}{pad}{flat}{pad}{ticks}"


_TICKS: Final = re.compile("`+")


def fenced_block(lines: list[str], info: str = "") -> list[str]:
    """A fence longer than any run of backticks in it."""
    longest = max((len(run) for line in lines for run in _TICKS.findall(line)), default=0)
    ticks = "`" * max(3, longest + 1)
    return [ticks + info, *lines, ticks]


def folded_lines(text: str, limit: int) -> list[str]:
    """The first lines of a text, each a line of its own, and how many there are more."""
    lines = [line.strip() for line in lines_of(text) if line.strip()]
    if not lines:
        return []
    heads = [cut_to(line.lstrip("#").strip() or "#", LINE_WIDTH) for line in lines[:limit]]
    shown = _plain(heads, quoted=True)
    if len(lines) > limit:
        shown = [*shown[:-1], f"{shown[-1].rstrip()}  ", f"… {plural(len(lines) - limit, 'more line')}"]
    return shown


def prose_lines(text: str, *, quoted: bool = False) -> list[str]:
    """Markdown that somebody else wrote, fit to stand in this document.

    Headings are demoted below ours, fences closed and moved to the margin, HTML and images shown as text, links kept
    only where they lead to the web or a file. `quoted` keeps line breaks, as for what was typed.
    """
    # The first line stands at the margin, or it would continue a list of ours.
    lines = lines_of(text)
    lines = lines[next((n for n, line in enumerate(lines) if line.strip()), len(lines)) :] or [""]
    lines[0] = lines[0].lstrip()
    written: list[str] = []
    for kind, group in groupby(_pieces(lines), key=lambda piece: (piece.fence, piece.plain)):
        held = [line for piece in group for line in piece.lines]
        if kind[0] or not kind[1]:
            written += held
        else:
            written += _plain(held, quoted=quoted)
    while written and not written[-1].strip():
        written.pop()
    return written


class _Piece(NamedTuple):
    """A line of plain text, a line of indented code or blank, or a whole fence (numbered, to tell neighbours apart)."""

    lines: list[str]
    plain: bool = False
    fence: int = 0


# What CommonMark puts before the content of a line: quotes, list markers, footnote labels.
_PREFIX: Final = re.compile(r"(?:[ \t]*(?:>|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t])|\[\^[^\]\s]{1,80}\]:))*[ \t]*")
_FENCE: Final = re.compile(r"(?:(`{3,})([^`]*)|(~{3,})(.*))$")
_INDENTED: Final = re.compile(r" {0,3}\t| {4}")
_LISTISH: Final = re.compile(r"[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])(?:[ \t]|$)|\[\^)")
_INFO: Final = re.compile(r"[\w+#.-]{1,40}")


def _pieces(lines: list[str]) -> Iterator[_Piece]:
    """Tell fences, indented code and plain text apart.

    Only what every reader takes for indented code counts as such: behind a blank line, in a text without lists so far.
    """
    listish = after_blank = False
    index = fences = 0
    while index < len(lines):
        line = lines[index]
        index += 1
        if not line.strip(" \t"):
            after_blank = True
            yield _Piece([""])
            continue
        prefix = _prefix(line)
        opening = _FENCE.match(line, len(prefix))
        if after_blank and not listish and not opening and _INDENTED.match(line):
            code = line.lstrip(" \t")
            yield _Piece([" " * len(line[: -len(code)].expandtabs(4)) + code])
            continue
        listish = listish or _LISTISH.match(line) is not None
        after_blank = False
        if opening is None:
            yield _Piece([line], plain=True)
            continue
        body, index = _fence_body(lines, index, opening, prefix)
        info = _INFO.match((opening.group(2) or opening.group(4) or "").strip())
        quote = "> " * min(prefix.count(">"), DEEPEST)
        fences += 1
        yield _Piece([quote + line for line in fenced_block(body, info.group() if info else "")], fence=fences)


def _prefix(line: str) -> str:
    match = _PREFIX.match(line)
    return match.group() if match else ""


def _fence_body(lines: list[str], start: int, opening: re.Match[str], prefix: str) -> tuple[list[str], int]:
    """The lines of a fence without its own indentation, and where the text goes on.

    More lenient than CommonMark inside lists, where models often do not indent the content.
    """
    tick = opening.group(1) or opening.group(3)
    quotes = prefix.count(">")
    unquote = re.compile(rf"(?:[ \t]*>){{{quotes}}} ?")
    indent = len(prefix.rpartition(">")[2].expandtabs(4)) - (1 if quotes and prefix.endswith(" ") else 0)
    body: list[str] = []
    for index in range(start, len(lines)):
        line = lines[index]
        if quotes:
            match = unquote.match(line)
            if match is None:
                return body, index
            line = line[match.end() :]
        closing = line.strip(" \t")
        margin = len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip(" "))
        if len(closing) >= len(tick) and set(closing) == {tick[0]} and margin <= indent + 3:
            return body, index + 1
        body.append(line[: max(0, indent)].lstrip(" ") + line[max(0, indent) :] if indent > 0 else line)
    return body, len(lines)


def _plain(lines: list[str], *, quoted: bool) -> list[str]:
    """A run of plain lines: one that forms a table is cut at its bars first, as readers do."""
    table = any(_is_delimiter_row(line) for line in lines)
    followers = [*lines[1:], ""]
    safe = [
        _safe_line(line, following, table=table, bullets=not quoted)
        for line, following in zip(lines, followers, strict=True)
    ]
    if quoted and not table:
        return [f"{line.rstrip()}  " for line in safe[:-1]] + safe[-1:]
    return safe


def _is_delimiter_row(line: str) -> bool:
    return "-" in line and ("|" in line or ":" in line) and set(line) <= set(" \t>|:-")


_RULE: Final = re.compile(r"([-*_])(?:[ \t]*\1){2,}$")


def _safe_line(line: str, following: str = "", *, table: bool = False, bullets: bool = False) -> str:
    """A line of prose that can be neither a heading of ours, nor HTML, nor open anything it does not close."""
    bare = line.rstrip(" \t")
    hard_break = "  " if line.endswith("  ") and bare else ""
    stripped = bare.lstrip(" \t")
    if _RULE.match(stripped):
        return bare[: len(bare) - len(stripped)] + "***"
    prefix = _prefix(bare)
    content = bare[len(prefix) :]
    if bullets and re.match(r" {0,3}-", prefix):
        # Lists in answers take another bullet than ours, or a reader joins the two.
        prefix = prefix.replace("-", "*", 1)
    if _RULE.match(content):
        return f"{prefix}***"
    if set(content) in ({"="}, {"-"}) or content.startswith("~~~"):
        return f"{prefix}\\{content}"
    hashes = len(content) - len(content.lstrip("#"))
    if 1 <= hashes <= 6 and content[hashes : hashes + 1] in ("", " ", "\t"):
        prefix, content = f"{prefix}{'#' * min(hashes + 3, 6)}", content[hashes:]
    cells = re.split(r"((?<!\\)\||(?<=\\\\)\|)", content) if table else [content]
    return prefix + "".join(_inline(cell, following) for cell in cells) + hard_break


_ESCAPE_OR_TICKS: Final = re.compile(r"\\[!-/:-@\[-`{-~]|`+")


def _spans(line: str) -> Iterator[tuple[bool, str]]:
    """A line's code spans (true) and the text between; backticks without a partner are escaped."""
    last = {len(run.group()): run.start() for run in _TICKS.finditer(line)}
    start = position = 0
    while match := _ESCAPE_OR_TICKS.search(line, position):
        position = match.end()
        ticks = match.group()
        if ticks[0] == "\\":
            continue
        closing = None
        if last.get(len(ticks), -1) >= position:
            runs = _TICKS.finditer(line, position)
            closing = next((run for run in runs if len(run.group()) == len(ticks)), None)
        yield False, line[start : match.start()]
        if closing is None:
            yield True, "\\`" * len(ticks)
        else:
            position = closing.end()
            yield True, line[match.start() : position]
        start = position
    yield False, line[start:]


_RISKS: Final = re.compile(
    r"(?P<kept><https?://[^\s<>`]*>|<[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}>)"
    r"|(?P<html>\\?<(?=[A-Za-z/!?]))|(?P<pair>\\[!-/:-@\[-`{-~])|(?P<image>!(?=\[))|(?P<link>\](?=[(:]))"
)


def _inline(text: str, following: str) -> str:
    """Text of a line with HTML and images shown as text, and links only to the web or to files."""

    def harmless(match: re.Match[str]) -> str:
        if match.lastgroup == "html":
            return "&lt;"
        if match.lastgroup == "image":
            return "!\\"
        if match.lastgroup == "link":
            return "]" if _keeps_link(part, match.end(), following) else "]\\"
        return match.group()

    safe: list[str] = []
    for is_code, part in _spans(text):
        if is_code and not _leaks(part):
            safe.append(part)
            continue
        part = part.replace("`", "&#96;") if is_code else part
        safe.append(_RISKS.sub(harmless, part))
    return "".join(safe)


def _leaks(code: str) -> bool:
    """Whether HTML would show for a reader who takes a `]` in this code span for the end of a link."""
    bracket = code.find("]")
    return bracket >= 0 and _TAG.search(code, bracket) is not None


_TAG: Final = re.compile("<[A-Za-z/!?]")
_TARGET: Final = re.compile(
    r"""\([ \t]*((?:[^\s()<>`\\]|\([^\s()<>`\\]*\))*)(?:[ \t]+(?:"[^"`\\]*"|'[^'`\\]*'))?[ \t]*\)"""
)


def _keeps_link(text: str, position: int, following: str) -> bool:
    """Whether what follows a `]` may stay a link or a definition: plain, complete and to a safe place."""
    if text[position] == "(":
        target = _TARGET.match(text, position)
        return target is not None and _leads_somewhere_safe(target.group(1))
    rest = text[position + 1 : position + 200].strip(" \t")
    return _leads_somewhere_safe(rest or following[len(_prefix(following)) :][:200])


def _leads_somewhere_safe(destination: str) -> bool:
    """Whether a link goes to the web, a mail address or a file; a scheme may hide behind escapes and entities."""
    if re.match(r"https?://|mailto:|[#/.?]", destination, re.IGNORECASE):
        return True
    head = re.match(r"[^\s)/?#]*", destination)
    name = head.group() if head else ""
    return not set(name) & set(":&\\<") or re.match(r"[\w-]+\.[\w.-]*:\d+(?::\d+)?$", name) is not None
