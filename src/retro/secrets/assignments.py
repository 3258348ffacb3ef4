"""Secrets that only their surroundings give away: `password = …`, `"api_key": "…"`, `--token …`, header lines."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from retro.secrets.rules import entropy

NAMES: Final[tuple[str, ...]] = (
    "authorization_header",
    "aws_secret_access_key",
    "azure_account_key",
    "cloudflare_api_token",
    "docker_auth",
    "npm_auth_token",
    "api_key",
    "password",
    "secret",
    "token",
)
"""The rules that this module finds, the specific ones first."""

HEAD_LENGTH: Final = 40
"""Characters before the word that a judgement may look at."""

_REST: Final = (
    r"(?:[_-]?(?:key|token|secret|password|passphrase|value|hash|base|prod(?:uction)?|dev|test|live|staging|local"
    r"|root|admin|main|old|new|backup|default|[0-9]{1,3})){0,3}"
)
_WORDS: Final = rf"(?P<word>pass(?:word|wd|phrase|code|wort)?|pwd|secret|token|key|auth(?:orization)?)(?P<rest>{_REST})"
# No space, quote, backslash or control character: what is left reads the same in the text and in its JSON encoding.
_NEVER: Final = r"\x00-\x20\x7f\"'`\\"
_NEVER_BARE: Final = r",;<>(){}\[\]|&"
# Typographic quotes, dashes, ideographic full stops: the text's patterns end a value there. The batch's need not, for
# whatever is not ASCII is a suspect.
_PUNCTUATION: Final = "\u00ab\u00bb\u2000-\u206f\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
# Longer values are judged by their beginning and masked whole.
_JUDGED: Final = 200


def _source(escapes: int, punctuation: str) -> str:
    """The pattern, for quotes and line ends behind at most so many backslashes."""
    gap = rf"(?:[ \t\r\n]|\\{{1,{escapes}}}[nrt]){{0,12}}"
    quote = rf"\\{{0,{escapes}}}[\"'`]"
    typed = rf"{gap}&?[a-z][a-z0-9_.]{{0,30}}(?:\[[a-z0-9_.| ]{{0,30}}\])?(?: =(?= )|=(?={quote}))"
    sign = rf"={{1,3}}>?|:=|!={{1,2}}|\|\||\?\?|\||:(?:{typed})?"
    aside = r"(?:[ ]\([a-z0-9 ._-]{1,24}\)|[ ](?:for|of|to|on|at)[ ][a-z0-9 ._@/-]{1,40}?)?"
    how = (
        rf"(?:(?:{quote})?[\])*]{{0,3}}{gap}(?:{sign})\*{{0,2}}"
        rf"|(?:{quote})?,?{gap}(?:{quote})?value(?:{quote})?{gap}[:=]"
        rf"|(?:{quote},|\()(?={gap}[bfru]?{quote})"
        rf"|(?:%22)?%3[ad](?:%22)?"
        rf"|(?P<said>{aside}(?:[ ]is(?=[ ])|:(?=[ ]))|>|[ ]-p|[ ](?=[^ =:])))"
    )
    scheme = r"(?:(?:basic|token|bearer|bot|apikey)[ ]{1,4})?"
    quoted = rf"(?P<quoted_scheme>{scheme})(?P<quoted>[^{_NEVER}{punctuation}]{{6,{_JUDGED}}})"
    bare = rf"(?P<scheme>{scheme})(?P<bare>[^{_NEVER}{_NEVER_BARE}{punctuation}]{{6,{_JUDGED}}})"
    return rf"{_WORDS}{how}{gap}(?:[bfru]?{quote}{quoted}|{bare})"


# Encoding a text once more turns n backslashes before a quote into 2n + 1.
IN_TEXT: Final = re.compile(_source(7, _PUNCTUATION), re.ASCII | re.IGNORECASE)
IN_BATCH: Final = re.compile(_source(15, "").encode())
"""The same for a JSON-encoded batch in lower case."""

_MORE: Final = re.compile(f"[^{_NEVER}{_PUNCTUATION}]+")
_MORE_BARE: Final = re.compile(f"[^{_NEVER}{_NEVER_BARE}{_PUNCTUATION}]+")


class Assignment(NamedTuple):
    """A sensitive word with something like a value; `head` is what stands before the word, `after` behind the value."""

    head: str
    word: str
    rest: str
    value: str
    after: str
    quoted: bool
    said: str
    scheme: str


# What the key is called decides how much of a secret the value must look like. All of these look at the end of the
# head only: in a batch, the letter of an escape may be glued to its beginning.
_KEY_HEADS: Final = re.compile(
    r"(?:api|access|secret|private|account|encrypt(?:ion)?|sign(?:ing)?|auth|master|shared|license|storage|admin|service"
    r"|deploy|webhook|ingest|consumer|subscription|integration|app|application|client|server|jwt|hmac|aes|ssh|openai"
    r"|anthropic|azure|gemini|google|stripe|mistral|cohere|groq|datadog|heroku|cloudflare|crypto|cipher|security"
    r"|function|host|rapidapi)[_. -]?$|[?&]$"
)
_NOT_TOKENS: Final = re.compile(
    r"(?:next|prev|previous|page|continuation|cursor|csrf|xsrf|cancel|cancellation|sync|stop|pad|eos|bos|unk|max|min"
    r"|start|end|special|mask|sep|cls|public|change|resume|per|last|first)[_. -]?$"
)
_PASS_HEADS: Final = re.compile(r"[a-z0-9][_-]$|--$")
_FLAG: Final = re.compile(
    r"--(?:[a-z0-9][a-z0-9_-]*)?$|(?:env|arg) [a-z0-9_]*$|login [^\s\"'\\]{1,64}(?:[ \n]|\\n){1,12}$"
)

_PLACEHOLDER_START: Final = re.compile(
    r"[$<{%*@#^\[(.…]|\\|\+\s|(?:null|none|true|false|undefined|sha[0-9]|md5)\b", re.I
)
_PLACEHOLDER_INSIDE: Final = re.compile(
    r"\$\{|\{\{|\$\(|<%|%\(|\[secret:|xxxx|\*\*\*|\.\.\.|…|change[-_]?me|placeholder|redacted|your[-_]|[-_]here\b|dummy"
    r"|undefined|process\.env|os\.environ|getenv|environ\[|import\.meta|secrets\.|config\.|settings\.|self\.|this\.|env\.",
    re.ASCII | re.IGNORECASE,
)
_PLACEHOLDER_WORDS: Final = re.compile(
    r"(?:(?:pass(?:word|wd|phrase|code)?|pwd|secret|token|keys?|auth|api|access|credentials?|value|user|name|string"
    r"|my|the|some|test|testing|fake|mock|sample|example|demo|new|old|your|super|here|valid|invalid|wrong|bad|good|secure"
    r"|default|foo|bar|baz|abc(?:def)?|xyz|123(?:4(?:5(?:6(?:78?9?)?)?)?)?|[0-9])[-_. /]?){1,12}",
    re.ASCII | re.IGNORECASE,
)
# Names in code: words, dotted or joined, with at most a number at the end.
_NAME: Final = re.compile(r"[$_]{0,2}[A-Za-z]+(?:[-_.:/?!]{1,2}[A-Za-z]+)*[-_.]?[0-9]{0,2}[-_.:/?!*]{0,2}", re.ASCII)
_DOTTED: Final = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|/)[A-Za-z_$][\w$]*)+", re.ASCII)
_PATH: Final = re.compile(
    r"[.~]{0,2}/|[A-Za-z]:[\\/]|[a-z][a-z0-9+.-]{1,20}://|[\w.@-]+(?:/[\w.@-]+)+\.[a-z]{1,5}$|[\w-]+\.(?:[a-z]{2,4}|json)$",
    re.ASCII,
)
_NUMBER: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}|v?[0-9]+(?:\.[0-9]+){1,3}|[0-9][0-9_,.]*[a-zA-Z%]{0,4}$", re.ASCII
)
_TOKEN: Final = re.compile(r"[\w\-./+=:~!@#$%^&*?]+", re.ASCII)
_DENSE: Final = re.compile(r"[\w\-./+=:~!@#$%^&*?()]{40,}", re.ASCII)
"""Keys of frameworks have brackets too; of shorter values it may be a call."""
_STRONG: Final = re.compile(r"[!@#$%^&*?+~]")
_LETTER: Final = re.compile(r"[A-Za-z]")
_PHRASE: Final = re.compile(r"[a-z]+(?:-[a-z]+){0,8}", re.ASCII)
_NO_PHRASE: Final = re.compile(r"pass|word|secret|token|requir|valid|missing|match|field|input|string|encrypt|hash")
_DIGIT: Final = re.compile(r"[0-9]")


def has_placeholder(value: str) -> bool:
    """Whether a part of it is filled in later: `${VAR}`, `your-`, `xxxx`."""
    return _PLACEHOLDER_INSIDE.search(value, 0, 96) is not None


def is_placeholder(value: str) -> bool:
    """Whether it stands for a secret instead of being one: `<your-token>`, `${VAR}`, `changeme`, `xxxx`."""
    if _PLACEHOLDER_START.match(value) or has_placeholder(value):
        return True
    return bool(_PLACEHOLDER_WORDS.fullmatch(value, 0, 64))


def is_random(value: str, least: int) -> bool:
    """Whether it looks made by a machine: long enough, letters and digits, no name, path, date or number."""
    if len(value) < least or not (_TOKEN.fullmatch(value) or _DENSE.fullmatch(value)):
        return False
    if _NAME.fullmatch(value) or _DOTTED.fullmatch(value) or _PATH.match(value) or _NUMBER.match(value):
        return False
    mixed = len(_DIGIT.findall(value)) >= 2 and _LETTER.search(value) is not None
    return mixed and entropy(value) >= (3.0 if len(value) >= 12 else 2.7)


def _is_phrase(value: str) -> bool:
    """Whether words alone may be a password: long, and not about passwords."""
    return len(value) >= 12 and bool(_PHRASE.fullmatch(value)) and not _NO_PHRASE.search(value)


def _is_password(found: Assignment) -> bool:
    value = found.value
    if found.after in ("(", "[") or _PATH.match(value) or _NUMBER.match(value):
        return False
    if not found.quoted and ("/" in value or _DOTTED.fullmatch(value)):
        return False
    strong = _DIGIT.search(value) or _STRONG.search(value[:-1]) or (found.quoted and _is_phrase(value))
    return bool(strong and _LETTER.search(value)) and entropy(value) >= 2.2


def _of_password(found: Assignment) -> str | None:
    if found.word == "pass" and not (_PASS_HEADS.search(found.head) or found.quoted or found.said == " -p"):
        return None
    return "password" if _is_password(found) else None


def _is_login(value: str) -> bool:
    """Whether it is `user:password` in base64."""
    try:
        return b":" in base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False


def _of_authorization(found: Assignment) -> str | None:
    if found.word == "authorization":
        secret = _is_login(found.value) if found.scheme.startswith("basic") else is_random(found.value, 12)
        return "authorization_header" if secret else None
    return "docker_auth" if (found.quoted or found.head.endswith("_")) and _is_login(found.value) else None


def _of_random(found: Assignment, kind: str, key: str) -> str | None:
    """The rule for a secret, a token or a key, which machines make."""
    least = 16 if found.said.endswith(("is", ":")) else 8 if found.quoted else 12
    if found.after in ("(", "[") or not is_random(found.value, least):
        return None
    if kind == "key":
        if found.word == "key" and not _KEY_HEADS.search(found.head):
            return None
        return "azure_account_key" if key.endswith(("accountkey", "sharedaccesskey")) else "api_key"
    if kind == "secret":
        return "secret"
    if _NOT_TOKENS.search(found.head):
        return None
    if "cloudflare" in key:
        return "cloudflare_api_token"
    return "npm_auth_token" if found.word == "auth" and found.head.endswith("_") else "token"


def _is_aside(found: Assignment) -> bool:
    """Whether word and value only happen to stand side by side, or the value is the first word of a sentence."""
    if found.quoted and found.after == " ":
        return True
    if found.said == " -p":
        return found.word != "pass" or not found.head.endswith("ssh")
    return found.said == " " and not (found.quoted or _FLAG.search(found.head))


_KIND: Final = re.compile(r"key|token|secret|pass|pwd|auth")


def judge(found: Assignment) -> str | None:
    """The rule that masks the value, or None where it is no secret."""
    key = re.sub(r"[_. -]", "", found.head[-24:]) + found.word + re.sub(r"[_-]", "", found.rest)
    if key.endswith("secretaccesskey") and len(found.value) >= 40 and entropy(found.value) >= 3.5:
        return "aws_secret_access_key"
    if _is_aside(found):
        return None
    kind = _KIND.findall(found.word + found.rest)[-1]
    if kind == "auth":
        rule = _of_authorization(found)
    elif kind in ("pass", "pwd"):
        rule = _of_password(found)
    else:
        rule = _of_random(found, kind, key)
    return None if rule is None or is_placeholder(found.value) else rule


def _assignment(match: re.Match[str], text: str) -> Assignment:
    start, end = match.start(), match.end()
    quoted = match["quoted"] is not None
    return Assignment(
        text[max(0, start - HEAD_LENGTH) : start].lower(),
        match["word"].lower(),
        match["rest"].lower(),
        match["quoted"] if quoted else match["bare"],
        text[end : end + 1],
        quoted,
        (match["said"] or "").lower(),
        (match["scheme"] or match["quoted_scheme"] or "").lower(),
    )


def in_text(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and rule of each secret value."""
    at = 0
    while match := IN_TEXT.search(text, at):
        found = _assignment(match, text)
        rule = judge(found)
        if rule is None:
            # Not behind the value: it may hold the next assignment.
            at = match.end("word")
            continue
        tail = (_MORE if found.quoted else _MORE_BARE).match(text, match.end())
        at = tail.end() if tail else match.end()
        yield match.start("quoted" if found.quoted else "bare"), at, rule


def in_batch(batch: bytes, lowered: bytes, match: re.Match[bytes]) -> bool:
    """Whether what `IN_BATCH` matched in the lower-cased batch may be an assignment that `in_text` would report."""
    start, end = match.span("quoted")
    quoted = start >= 0
    if not quoted:
        start, end = match.span("bare")
    value = batch[start:end]
    if not value.isascii():
        # The bound of the value's length counts bytes here and characters there.
        return True
    at = match.start()
    found = Assignment(
        lowered[max(0, at - HEAD_LENGTH) : at].decode("latin-1"),
        match["word"].decode(),
        match["rest"].decode(),
        value.decode(),
        chr(lowered[end]) if end < len(lowered) else "",
        quoted,
        (match["said"] or b"").decode(),
        (match["scheme"] or match["quoted_scheme"] or b"").decode(),
    )
    return judge(found) is not None


def of_entry(key: str, value: str) -> str | None:
    """The rule for a dict's value that its key gives away."""
    text = f'"{key[-HEAD_LENGTH:]}":"{value}"'
    start = len(text) - len(value) - 1
    for begin, end, rule in in_text(text):
        if begin >= start and end == len(text) - 1:
            return rule
    return None
