"""Hostile text: marks of injections and invisible characters, and what of a text is safe for a terminal."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from retro.secrets.words import Words

# --- characters -------------------------------------------------------------------------------------------------------

_BIDI: Final = "\u202a-\u202e\u2066-\u2069"
_TAGS: Final = "\U000e0000-\U000e007f"
# Zero width or blank by definition; joiners and variation selectors are judged by their neighbours.
_INVISIBLE: Final = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u061c\u2060-\u2065\u206a-\u206f\u3164\uffa0"
    "\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0100-\U000e01ef"
)
# A joiner belongs between letters of scripts that join, or between emoji; variation selectors stand alone.
_MISPLACED: Final = (
    "[\u200c\u200d\ufe00-\ufe0f]{3,}|(?:^|(?<=[\x00-\x7f]))[\u200c\u200d][\ufe00-\ufe0f]?"
    "|[\u200c\u200d\ufe00-\ufe0f]?[\u200c\u200d](?=[\x00-\x7f]|$)|[\ufe00-\ufe0f]{2}"
)
# England, Scotland and Wales: a black flag, its region in tag characters, the closing tag.
_FLAG: Final = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{1,8}\U000e007f")

_CHARACTERS: Final = (
    ("invisible", re.compile(f"[{_INVISIBLE}]|(?<!^)\ufeff|{_MISPLACED}")),
    ("bidi", re.compile(f"[{_BIDI}]")),
    ("tags", re.compile(f"[{_TAGS}]")),
)
# Colours are what tools print all day; any other escape code or control character is a mark.
_CONTROL: Final = re.compile("\x1b(?!\\[[0-9;:]{0,32}m)|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]")

# --- injections, in lower case; `GAP` is a space or line end, which a batch writes as an escape -----------------------

_ORDERS: Final = "(?:instructions?|prompts?|directives?|directions|guidelines|rules|messages?)"
_EARLIER: Final = "(?:previous|prior|above|earlier|preceding|foregoing|initial|original|existing|system)"
_IGNORE: Final = (
    "(?:ignore|ignoring|forget|override|disregard|disregarding)GAP"
    f"(?:(?:all|any|of|the|these|those|my|your|every|and|other)GAP){{0,4}}(?:{_EARLIER}GAP){{1,3}}instructions",
    "(?:ignore|forget|disregard)GAP(?:all|any)GAP(?:ofGAP)?(?:(?:the|your|my)GAP)?instructions",
    f"disregardGAP(?:allGAP|anyGAP|theGAP|your){{0,2}}(?:(?:{_EARLIER}GAP){{1,3}}{_ORDERS}|above)",
    "forgetGAPeverythingGAP(?:above|before|youGAP|iGAPsaid|weGAP|prior)",
    "ignoreGAPtheGAPaboveGAP(?:and|instructions|directions|text|prompt)",
    "ignoreGAPeverythingGAP(?:above|before|youGAPwere|said)",
)
_ROLE: Final = (
    r"<\|(?:im_start|im_end|system|assistant|user|start_header_id|end_header_id|eot_id|endoftext|begin_of_text)\|>",
    r"BEGIN(?:\[/?inst\]|<</?sys>>|</?(?:system|system_prompt|system-prompt)>)",
    r"BEGIN#{2,4} ?system(?: prompt| message)?:",
)
_TOOL: Final = (
    r"BEGIN</?(?:antml:)?(?:function_calls|function_results|tool_results?|tool_calls?|tool_response|function_response)>",
    r"BEGIN<(?:antml:)?invoke name=",
    r"<\|(?:tool_calls_begin|tool_call_begin|tool_outputs_begin|python_tag)\|>",
)
_LEAK: Final = (
    r"(?:secrets?|credentials?|api[ _-]?keys?|access tokens?|passwords?|private keys?|ssh keys?|environment variables"
    r"|\.env\b|env vars|session cookies?|conversation history|system prompt)"
)
# Within a line; what a batch would write as an escape or in several bytes ends it too, so that its window has a bound.
_WITHIN: Final = r"[ !#-\[\]-~]"
_EXFILTRATE: Final = (
    rf"\b(?:send|post|upload|forward|exfiltrate|transmit|leak)\b{_WITHIN}{{0,40}}\b{_LEAK}{_WITHIN}{{0,60}}"
    rf"\b(?:to|at|via)\b{_WITHIN}{{0,40}}https?://",
    r"\b(?:you must|you should|immediately|silently|secretly|please) (?:run|execute)\b[^\n\\]{0,20}\bcurl\b"
    rf"{_WITHIN}{{0,60}}https?://[^\n\\|]{{1,200}}\| ?(?:sudo )?(?:ba|z)?sh\b",
)
_REMINDER: Final = re.compile(r"<(/?)system-reminder>")


_ASCII: Final = bytes(range(128))


def _text_pattern(sources: tuple[str, ...]) -> re.Pattern[str]:
    source = "|".join(sources).replace("GAP", "[ \n]{1,3}").replace("BEGIN", "^[ \t]{0,8}")
    return re.compile(source, re.MULTILINE | re.ASCII)


# A literal scan is fifty times as fast as a pattern: each pattern has words of which a text that it fits holds one.
_INJECTIONS: Final = (
    ("ignore_instructions", ("ignor", "forget", "overrid", "disregard"), _text_pattern(_IGNORE)),
    ("fake_role", ("<|", "inst]", "sys>", "system>", "prompt>", "# system", "#system"), _text_pattern(_ROLE)),
    ("exfiltrate", ("://",), _text_pattern(_EXFILTRATE)),
    (
        "tool_spoof",
        ("<function_", "</function_", "<tool_", "</tool_", "antml:", "<invoke name=", "<|"),
        _text_pattern(_TOOL),
    ),
)

# Letters in disguise that NFKC undoes: full width, mathematical, circled, letterlike.
_STYLED: Final = re.compile("[\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7ff\u24b6-\u24e9\u2102-\u2149\ufb00-\ufb06]")
_HIDDEN: Final = re.compile(f"[{_INVISIBLE}{_BIDI}{_TAGS}\ufeff\u200c\u200d\ufe00-\ufe0f]")


def _folded(text: str) -> str:
    """The text as a model reads it: without invisible characters, disguised letters plain, in lower case."""
    if not text.isascii():
        rare = _not_ascii(text)
        if _HIDDEN.search(rare):
            text = _HIDDEN.sub("", text)
        if _STYLED.search(rare):
            text = unicodedata.normalize("NFKC", text)
    return text.lower()


def _not_ascii(text: str) -> str:
    """What is not ASCII in a text: usually next to nothing, and so much quicker to search."""
    return text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass")


def _closes_a_reminder(folded: str) -> bool:
    """Whether a reminder is closed that was never opened: the text breaks out of a block that the host would write."""
    if "</system-reminder>" not in folded:
        return False
    depth = 0
    for match in _REMINDER.finditer(folded):
        depth += -1 if match[1] else 1
        if depth < 0:
            return True
    return False


def marks(text: str) -> list[str]:
    """Names of the injection markers and kinds of hidden characters in the text, in a fixed order."""
    folded = _folded(text)
    found = [
        name for name, words, pattern in _INJECTIONS if any(word in folded for word in words) and pattern.search(folded)
    ]
    if _closes_a_reminder(folded) and "fake_role" not in found:
        found.append("fake_role")
    if not text.isascii() and _HIDDEN.search(_not_ascii(text)):
        plain = _FLAG.sub("", text)
        found += [name for name, pattern in _CHARACTERS if pattern.search(plain)]
    if _CONTROL.search(text):
        found.append("control")
    return found


# --- the same for a batch ---------------------------------------------------------------------------------------------

_ASCII_BUT_LINES: Final = bytes(c for c in range(128) if c != 10)
_SUSPECT_CHARACTERS: Final = re.compile(
    f"[{_INVISIBLE}{_BIDI}{_TAGS}\ufeff\u200c\u200d\x80-\x9f]|[\ufe00-\ufe0f]{{2}}|{_STYLED.pattern}"
)
# Looked at first is what stands behind the backslash: nearly always `n` or a quote.
_ESCAPE: Final = re.compile(rb"\\(?=[\\bfu])(?<!\\\\)(?:\\\\){0,64}(?:[bf]|u00(?:[0789]|1(?!b\[[0-9;:]{0,32}m)))")
_ANGLE: Final = re.compile(
    rb"<(?:\||(?:antml:)?invoke name=|</?sys>>|/?system(?:[_-]prompt)?>|/system-reminder>"
    rb"|/?(?:antml:)?(?:function_(?:calls|results|response)|tool_(?:results?|calls?|response))>)"
)
_OPENED: Final = b"<system-reminder>"
_CLOSED: Final = b"</system-reminder>"
_BARE_QUOTE: Final = re.compile(rb'(?<!\\)"')
_STRING_BEGINS: Final = (b':"', b'["', b',"', b' "', b'\n"')
"""Within a string every quote has a backslash before it."""


def _batch_pattern(source: str) -> re.Pattern[bytes]:
    return re.compile(source.replace("GAP", r"(?:[ ]|\\n){1,3}").encode())


_NEEDLES: Final = Words(
    "instructions", "disre^gard", "for^get", "i^gnore", "^[inst]", "^[/inst]", "^# system", "^#system", ":/^/"
)
_CONFIRM: Final = {
    b"instructions": (120, _batch_pattern("(?:ignor|forget|overrid|disregard)")),
    b"disregard": (0, _batch_pattern("disregardGAP")),
    b"forget": (0, _batch_pattern("forgetGAPeverything")),
    b"ignore": (0, _batch_pattern("ignoreGAP(?:theGAPabove|everything)")),
    **dict.fromkeys((b"[inst]", b"[/inst]", b"# system", b"#system"), (0, _batch_pattern(""))),
    b"://": (200, _batch_pattern(rf"(?:send|post|upload|forward|exfiltrate|transmit|leak).{{0,42}}{_LEAK}|curl")),
}
"""For each needle how far before it to begin, and what must stand from there on."""


def _reminders(lowered: bytes, closed: list[int]) -> list[int]:
    """Of the places where a reminder is closed, those where none was opened in the same string."""
    hits: list[int] = []
    begin = depth = 0
    for at in closed:
        opened = lowered.rfind(_OPENED, begin, at)
        if opened >= 0 and not _BARE_QUOTE.search(lowered, opened, at):
            begin, depth = at + 1, 0  # nearly always; others that may have been opened before it do not count
            continue
        start = max(lowered.rfind(mark, begin, at) for mark in _STRING_BEGINS)
        if start >= 0:
            begin, depth = start, 0
        depth += lowered.count(_OPENED, begin, at) - 1
        if depth < 0:
            hits.append(at)
        begin = at + 1
    return hits


def _injections(lowered: bytes) -> list[int]:
    hits: list[int] = []
    closed: list[int] = []  # hosts write many reminders
    for match in _ANGLE.finditer(lowered):
        (closed if match[0] == _CLOSED else hits).append(match.start())
    if closed:
        hits += _reminders(lowered, closed)
    for needle, at in _NEEDLES.find(lowered):
        before, confirm = _CONFIRM[needle]
        if confirm.search(lowered, max(0, at - before), at + 64):
            hits.append(at)
    return hits


def _line_offsets(batch: bytes, lines: list[int]) -> list[int]:
    """Where the lines with these numbers, in ascending order, begin."""
    offsets: list[int] = []
    at = line = 0
    for wanted in lines:
        while line < wanted:
            at = batch.index(b"\n", at) + 1
            line += 1
        offsets.append(at)
    return offsets


def _characters(batch: bytes) -> list[int]:
    rest = batch.translate(None, _ASCII_BUT_LINES).decode("utf-8", "replace")
    lines: list[int] = []
    at = line = 0
    for match in _SUSPECT_CHARACTERS.finditer(rest):
        line += rest.count("\n", at, match.start())
        at = match.start()
        lines.append(line)
    return _line_offsets(batch, sorted(set(lines)))


def mark_suspects(batch: bytes, lowered: bytes | None = None) -> list[int]:
    """Offsets into the lines of a JSON-lines batch on whose decoded strings `marks` may find something."""
    hits = [match.start() for match in _ESCAPE.finditer(batch)]
    if b"\x7f" in batch:
        hits += [match.start() for match in re.finditer(b"\x7f", batch)]
    lowered = batch.lower() if lowered is None else lowered
    if not batch.isascii():
        hits += _characters(batch)
        # Where letters are disguised or split, only the whole line tells; `_characters` has it already.
    return sorted({*hits, *_injections(lowered)})


# --- terminals --------------------------------------------------------------------------------------------------------

_SEQUENCE: Final = re.compile(
    # Strings (OSC, DCS, SOS, PM, APC) end at BEL or ST; an unfinished one only hides what stands in its line.
    "(?:\x1b[\\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)?"
    "|(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?"
    "|\x1b[ -/]*[0-~]?"
)
_UNSAFE: Final = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_INVISIBLE}{_BIDI}{_TAGS}\ufeff\u2028\u2029]")


_LONE_JOINER: Final = re.compile(_MISPLACED)


def visible(text: str) -> str:
    """The text as a terminal may print it: no escape sequences, control, bidi, tag or zero-width characters.

    Line ends and tabs stay; so do joiners and variation selectors between characters that are not ASCII, of which emoji
    and several scripts are made.
    """
    if "\x1b" in text or not text.isascii():
        text = _SEQUENCE.sub("", text)
    text = _UNSAFE.sub("", text)
    return text if text.isascii() else _LONE_JOINER.sub("", text)
