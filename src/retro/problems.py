"""What an error is, apart from where and when it happened: the line that says it, and that line made comparable."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

LINE_LIMIT: Final = 300
"""Characters of a line that are looked at."""

HEAD: Final = 12_000
TAIL: Final = 40_000
"""Characters from the beginning and the end of an output that are looked at."""

# --- the line --------------------------------------------------------------------------------------------------------

# What the words of a tool say about themselves, and never about what went wrong.
_FRAME: Final = re.compile(
    r"(?:Exit code:? -?\d+|Process exited with code -?\d+|Command failed with exit code \d+|Error: Exit code \d+"
    r"|Wall time: .*|Chunk ID: .*|Output:|Original token count: .*|exit status:? \d+|</?[a-z_-]+>|[-=*_#~^ .|+]+)$",
    re.IGNORECASE,
)
_COLOURS: Final = re.compile(r"\x1b\[[0-9;:]*m")
_EXCEPTION: Final = re.compile(
    r"(?:E {1,20})?(?:Uncaught |\[?[Ee]rror: )?(?:[A-Za-z_][\w.$]*\.)?"
    r"([A-Z]\w*(?:Error|Exception|Failure|Interrupt|Invalid|Exit|Undefined|Mismatch|Failed|Warning)"
    r"|(?<=[.])Failed|(?<=^E   )Failed)(?: \[\w+\])?(?:: .*)?$"
)
# A line that says by its form what went wrong, the most telling kinds first.
_TELLING: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?:.*: )?(?:command not found|not recognized as an internal or external command.*)$",
        r".*\bNo module named \S+$",
        r"(?:\S+: )?(?:can't open file .*|cannot (?:access|stat|remove|find|open|create) .*)",
        r"[\w./-]+: (?:.{1,200}: )?(?:No such file or directory|Permission denied|Is a directory|Not a directory"
        r"|File exists|invalid option.*|unrecognized option.*|unknown command.*|unterminated .*|syntax error.*)$",
        r"(?:fatal|error|panic|FATAL|PANIC)(?:\[\w+\])?: .+",
        r"npm (?:ERR!|error) (?:code |Missing script)\S*.*",
        r"[^\s:]+\(\d+,\d+\): error \w+: .+",
        r"[^\s:]+(?::\d+){1,2}:? (?:fatal )?(?:error|Error)\b.+",
        r"[^\s:]+\.[a-z]{1,4}:\d+:\d+: .+",
        r"(?:ERROR|Error|FAIL|FAILED)\b:? .+",
        r"(?:String to replace not found|File has not been read yet|File does not exist|old_string|<tool_use_error>).*",
        r"make(?:\[\d+\])?: \*\*\* .+",
        r"(?:FAILED|FAIL|ERROR)(?::| ) ?\S+.*",
    )
)
# What went wrong stands below it.
_HEADING: Final = re.compile(r"(?:[\w.-]+ )?(?:[Ee]rror|ERROR|[Ee]xception):$")
_WORDS: Final = re.compile(
    r"error|exception|fail|not found|no such|no module|cannot|can't|fatal|denied|invalid|unknown|unrecognized|refused"
    r"|undefined|unexpected|missing|usage:|not allowed|timed? ?out|aborted|killed|traceback",
    re.IGNORECASE,
)


# What runners print under what they ran, and counts: that it failed is said, and not why.
_SAYS_NOTHING: Final = re.compile(
    r"(?:\[[\w:.-]+\] )?ERROR task failed$|npm (?:ERR!|error) (?:code|errno|Lifecycle|command failed|A complete log)\b"
    r"|ELIFECYCLE|(?:Error: )?Command (?:aborted|failed|exited)\b|make(?:\[\d+\])?: \*\*\* .*\bError \d+$"
    r"|error: (?:Recipe .*failed|could not compile|test failed)|exit status \d+$|FAIL(?:ED)?(?:\s+\S+)?(?:\s+[\d.]+s)?$"
    r"|(?:FAILED|FAIL|ERROR)S?\W*$|\W*(?:\d+ )?(?:tests? )?(?:failed|passed|errors?|failures?)\b[\d\s,;:\w()-]{0,40}$"
    r"|\W*Some errors were emitted|[=\s]*tests finished:|[.FEsxXf]{4,}\s*(?:\[[^\]]*\])?$",
    re.IGNORECASE,
)


def says_nothing(line: str) -> bool:
    """Whether a line says that something failed, and not what."""
    return bool(_SAYS_NOTHING.match(_bare(line).strip()))


def problem(text: str) -> str | None:
    """The line of a failed call's output that says what went wrong, as it stands there; None where none says it."""
    lines = [line for line in _lines(text) if not _FRAME.match(line)]
    telling = [line for line in lines if not says_nothing(line)]
    return _most_telling(telling) or _most_telling(lines)


def _most_telling(lines: list[str]) -> str | None:
    bare = [_bare(line) for line in lines]
    for at in _exceptions(bare):
        return lines[at]
    for pattern in _TELLING:
        for at, line in enumerate(bare):
            if pattern.match(line):
                return lines[at]
    for at, line in enumerate(bare[:-1]):
        if _HEADING.match(line):
            return lines[at + 1]
    return next((lines[at] for at in range(len(bare) - 1, -1, -1) if _WORDS.search(bare[at])), None)


_TOO_MUCH: Final = re.compile(
    r"^.*(?:\boutput\b.{0,40}\b(?:was|is|too) (?:too )?(?:long|large)\b|\bexceeds (?:the )?maximum (?:allowed )?"
    r"(?:tokens|size|length)\b|\bfile (?:is )?too large to (?:read|be read)\b).*$",
    re.IGNORECASE | re.MULTILINE,
)
_HEAD_OF_NOTICE: Final = 600


def too_much(text: str) -> str | None:
    """The line by which a tool says that there was more than it would show; None where it showed everything."""
    found = _TOO_MUCH.search(text[:_HEAD_OF_NOTICE])
    return found[0].strip()[:LINE_LIMIT] if found else None


def _lines(text: str) -> Iterator[str]:
    """Lines that say something, without those of a very long output's middle."""
    parts = (text,) if len(text) <= HEAD + TAIL else (text[:HEAD], text[-TAIL:])
    for part in parts:
        for line in part.splitlines():
            stripped = line.strip()
            if stripped and len(line) <= 4 * LINE_LIMIT:
                yield stripped[:LINE_LIMIT]


def _bare(line: str) -> str:
    return _COLOURS.sub("", line) if "\x1b" in line else line


def _exceptions(lines: list[str]) -> Iterator[int]:
    """Where exceptions are named: of a test run the first, of a traceback the last, which is the one that came out."""
    named = [(at, one[1]) for at, line in enumerate(lines) if (one := _EXCEPTION.match(line))]
    # A warning that was raised as an exception stands like one; one that was only printed may stand behind it.
    found = [at for at, name in named if not name.endswith("Warning")] or [at for at, _ in named]
    if found:
        yield found[0] if lines[found[0]].startswith("E ") else found[-1]


# --- made comparable -------------------------------------------------------------------------------------------------

_PARTS: Final = re.compile(
    r"(?P<url>https?://[^\s'\"<>]+)"
    r"|(?P<time>\b\d{4}-\d\d-\d\d[T ][\d:.]+Z?|\b\d\d:\d\d:\d\d(?:\.\d+)?)"
    r"|(?P<hex>\b0x[0-9a-fA-F]+|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{18,27}|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b)"
    r"|(?P<path>(?<![\w<])(?:[A-Za-z]:[\\/]|~?/|\.{1,2}/)?(?:[\w.@+-]+[\\/])+[\w.@+*-]*|(?<![\w/])/[\w.@+-]{2,})"
    r"|(?P<file>\b[\w-]+\.(?:py|pyi|js|jsx|ts|tsx|mjs|rs|go|java|rb|c|h|cc|cpp|md|rst|txt|html?|css|json|ya?ml|toml|sh"
    r"|log|cfg|ini|lock|sql|svg|png|xml)\b)"
    r"|(?P<number>(?<![\w<])\d+(?:[.:,]\d+)*(?:ms|s|%|[kKMG]i?B)?(?![\w>]))"
)
_QUOTED: Final = re.compile(r"'[^'\n]{1,160}'|\"[^\"\n]{1,160}\"|`[^`\n]{1,160}`|‘[^’\n]{1,160}’")
_PASSED: Final = re.compile(r"^E {1,20}|^<tool_use_error>|</tool_use_error>$|[\s.]+$")
_SPACES: Final = re.compile(r"\s+")


@lru_cache(maxsize=4096)
def signature(line: str) -> str:
    """A line with its paths, numbers, times and addresses as marks: equal for two occurrences of one error."""
    text = _PASSED.sub("", _bare(line.strip())[:LINE_LIMIT])
    text = _PARTS.sub(lambda match: f"<{match.lastgroup}>", text)
    return _SPACES.sub(" ", text).strip()


# How a runner's summary names the test before it says what went wrong in it.
_TEST: Final = re.compile(r"FAILED (?:<path>|<file>)::\S+(?: .{0,80})? - (?=\S)")


_MODULE: Final = re.compile(r"(?:[a-z_][\w$]*\.)+(?=[A-Z]\w*(?::|$))")


@lru_cache(maxsize=4096)
def family(of: str) -> str:
    """A signature without quoted names, its test's name and its exception's module: what errors of one kind share."""
    return _QUOTED.sub("<name>", _MODULE.sub("", _TEST.sub("", of), count=1))


_CLASS: Final = re.compile(
    r"(?:[\w$]+\.)*([A-Z]\w*(?:Error|Exception|Interrupt|Exit|Failure|Failed|Warning))(?=:|$| \[)"
)
# What tools say in their own words about one and the same thing.
_SAME: Final = (
    (re.compile(r"No module named\b|ModuleNotFoundError\b", re.IGNORECASE), "No module named <name>"),
    (re.compile(r"command not found|not recognized as an internal or external command"), "command not found"),
    (
        re.compile(r"No such file or directory|file or directory not found|File does not exist", re.IGNORECASE),
        "No such file or directory",
    ),
    (re.compile(r"Permission denied", re.IGNORECASE), "Permission denied"),
)


@lru_cache(maxsize=4096)
def kind(of: str) -> str:
    """The class of exception that a signature names, or what several tools say of one thing; else its family."""
    said = next((name for pattern, name in _SAME if pattern.search(of)), None)
    if said is not None:
        return said
    told = family(of)
    named = _CLASS.match(told)
    if named:
        return named[1]
    return "AssertionError" if told.startswith("assert ") else told
