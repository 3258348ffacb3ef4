"""Secrets known by what stands around them: private key blocks, passwords in URLs, webhooks, signed URLs, bearers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from retro.secrets.assignments import is_placeholder, is_random
from retro.secrets.rules import entropy

Span = tuple[int, int, str]
"""Start, end and rule of a secret."""


class Surrounding(NamedTuple):
    """One shape: how `mask` finds it in a text, and how the prefilter confirms a hit of `needle` in a batch.

    `needle` is in lower case; wherever `find` would report something, `confirm` must match the lower-cased batch at the
    needle's first byte.
    """

    name: str
    needle: str
    confirm: re.Pattern[bytes]
    find: Callable[[str], Iterator[Span]]


def _shape(name: str, pattern: str, accept: Callable[[re.Match[str]], bool]) -> Callable[[str], Iterator[Span]]:
    compiled = re.compile(pattern, re.ASCII | re.IGNORECASE)

    def find(text: str) -> Iterator[Span]:
        for match in compiled.finditer(text):
            if accept(match):
                yield *match.span("secret"), name

    return find


# --- private keys -----------------------------------------------------------------------------------------------------

_PEM: Final = re.compile(r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_PEM_END: Final = re.compile(r"-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
# Between two lines of a body: line ends, also escaped, and what tools put before a line (numbers, `+`, `>`, quotes).
_PEM_GAP: Final = r"(?:\\{1,7}[nrt]|[ \t\r\n|>+\"'`,#*:;()\\→]|[0-9]{1,6}[→\t:|]|-(?!-)){0,80}"
_PEM_HEADER: Final = re.compile(rf"{_PEM_GAP}(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash): ?[^\r\n\\]{{0,100}}")
_PEM_LINE: Final = re.compile(rf"{_PEM_GAP}[A-Za-z0-9+/]{{20,16384}}={{0,2}}")
_PEM_LAST: Final = re.compile(r"(?:\\{1,7}[nr]|[\r\n])(?:[ \t>+|]{0,12})=?[A-Za-z0-9+/]{1,76}={0,2}(?![A-Za-z0-9+/ ])")


def _pem_body(text: str, at: int) -> int:
    """The end of the lines that look like base64, from `at`; `at` itself where there are none."""
    end = at
    for _ in range(4):
        header = _PEM_HEADER.match(text, end)
        if header is None:
            break
        end = header.end()
    body = at
    while line := _PEM_LINE.match(text, end):
        body = end = line.end()
    last = _PEM_LAST.match(text, body) if body > at else None
    return last.end() if last else body


def _private_keys(text: str) -> Iterator[Span]:
    at = 0
    while begin := _PEM.search(text, at):
        at = _pem_body(text, begin.end())
        if at == begin.end():
            continue
        close = text.find("END ", at, at + 160)
        end = _PEM_END.search(text, max(at, close - 6), close + 80) if close >= 0 else None
        if end is not None:
            at = end.end()
        yield begin.start(), at, "private_key"


# --- URLs -------------------------------------------------------------------------------------------------------------

# What examples and fresh installations use: names of services, not secrets.
_NO_PASSWORD: Final = re.compile(
    r"[0-9]{1,5}|pass|pw|pwd|secret|token|x-oauth-basic|postgres(?:ql)?|root|mysql|mongo|redis|rabbitmq|guest|minio(?:admin)?"
    r"|docker|app|db|dev|local|git",
    re.IGNORECASE,
)


def _is_url_password(match: re.Match[str]) -> bool:
    value = match["secret"]
    return not (_NO_PASSWORD.fullmatch(value) or is_placeholder(value) or value == match["user"])


def _is_bearer(match: re.Match[str]) -> bool:
    return is_random(match["secret"], 16) and not is_placeholder(match["secret"])


def _is_dense(match: re.Match[str]) -> bool:
    return entropy(match["secret"]) >= 3.0


_URL_PART: Final = r"[^\x00-\x20\x7f:/@\"'`<>\\]"
_URL_LAST: Final = r"[^\x00-\x20\x7f/@\"'`<>\\]"

SURROUNDINGS: Final[tuple[Surrounding, ...]] = (
    Surrounding(
        "private_key",
        "private key",
        re.compile(rb"private key(?: block)? ?-{4}"),
        _private_keys,
    ),
    Surrounding(
        "url_password",
        "://",
        re.compile(rb"://[^\x00-\x20\x7f:/@\"'`<>\\]{0,512}:[^\x00-\x20\x7f/@\"'`<>\\]{3,2048}@"),
        _shape(
            "url_password",
            rf"://(?P<user>{_URL_PART}{{0,128}}):(?P<secret>{_URL_LAST}{{3,512}})@(?=[\w.\[$%{{-])",
            _is_url_password,
        ),
    ),
    Surrounding(
        "slack_webhook",
        "://",
        re.compile(rb"://hooks\.slack\.com/[a-z]"),
        _shape(
            "slack_webhook",
            r"://hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/]{20,200})",
            _is_dense,
        ),
    ),
    Surrounding(
        "discord_webhook",
        "://",
        re.compile(rb"://(?:[a-z]{1,10}\.)?discord(?:app)?\.com/api/"),
        _shape(
            "discord_webhook",
            r"://(?:[a-z]{1,10}\.)?discord(?:app)?\.com/api/(?:v[0-9]{1,2}/)?webhooks/[0-9]{10,22}/(?P<secret>[\w-]{30,100})",
            _is_dense,
        ),
    ),
    Surrounding(
        "azure_sas_signature",
        "sig=",
        re.compile(rb"sig=[a-z0-9%+/]{40}"),
        _shape("azure_sas_signature", r"sig=(?P<secret>[A-Za-z0-9%+/]{40,120}(?:%3D|=))", _is_dense),
    ),
    Surrounding(
        "azure_client_secret",
        "~",
        re.compile(rb"(?<=[0-9]q)~[\w.~-]{31}"),
        _shape(
            "azure_client_secret",
            r"(?P<secret>[\w~.-]{3}[0-9](?-i:Q)~[\w.~-]{31,128})",
            _is_dense,
        ),
    ),
    Surrounding(
        "curl_user",
        "curl ",
        re.compile(rb"curl[^|;]{0,720} -(?:u|-user)"),
        _shape(
            "curl_user",
            r"curl(?= )[^|;]{0,120}? -(?:u ?|-user[= ])\\{0,3}[\"']?(?P<user>[\w.@+-]{1,64})"
            r":(?P<secret>[^\x00-\x20\x7f:\"'`\\]{4,200})",
            _is_url_password,
        ),
    ),
    Surrounding(
        "bearer_token",
        "bearer ",
        re.compile(rb"bearer {1,4}[a-z0-9._~+/=-]{16}"),
        _shape("bearer_token", r"bearer {1,4}(?P<secret>[A-Za-z0-9._~+/=-]{16,4096})", _is_bearer),
    ),
)


def each(text: str, found: dict[str, int], replace: Callable[[str, Iterator[Span], dict[str, int]], str]) -> str:
    """The text after each shape whose needle stands in it went through `replace`."""
    lowered = text.lower()
    for shape in SURROUNDINGS:
        if shape.needle in lowered:
            text = replace(text, shape.find(text), found)
    return text
