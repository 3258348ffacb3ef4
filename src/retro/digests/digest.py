"""What a digest says, and how it becomes a file of at most 4 KB that tells when it is damaged."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

import msgspec

from retro.event import Value

SCHEMA: Final = 1
LIMIT: Final = 4096
"""Bytes of a digest, beside its readings."""

_CHECK: Final = b',"check":"'
_CHECK_BYTES: Final = len(_CHECK) + 16 + 2


class TurnLine(msgspec.Struct, array_like=True):
    """A turn in a line: its number, seconds since the session began (-1: no time), prompt, and counts."""

    turn: int
    after: int
    prompt: str
    actions: int = 0
    edits: int = 0
    errors: int = 0


class FileLine(msgspec.Struct, array_like=True):
    """An edited file, below the session's folder where it lies there, and how often it was edited."""

    path: str
    edits: int


class CommandLine(msgspec.Struct, array_like=True):
    """A command that mattered: what it is for, how often it ran, and how often it failed."""

    command: str
    kind: str
    runs: int
    failed: int


class ProblemLine(msgspec.Struct, array_like=True):
    """An error by its signature: where it occurred, how often, and what was done until that went right."""

    signature: str
    where: str
    times: int
    resolved: list[str] | None = None
    """None: nothing shows that it was; empty: it went right without anything in between."""


class Correction(msgspec.Struct, array_like=True):
    """A prompt in which the person said that something went the wrong way."""

    turn: int
    text: str


class Tests(msgspec.Struct, omit_defaults=True):
    """Test runs, and whether the last one went well (None: nothing says so)."""

    runs: int = 0
    failed: int = 0
    ended_well: bool | None = None


class Counts(msgspec.Struct, omit_defaults=True):
    """How much there is of everything; what is listed in a digest may be less."""

    events: int = 0
    turns: int = 0
    commands: int = 0
    edits: int = 0
    errors: int = 0
    agents: int = 0
    secrets: int = 0
    marks: int = 0
    files: int = 0
    commits: int = 0
    problems: int = 0
    corrections: int = 0


class Spent(msgspec.Struct, omit_defaults=True):
    """What the ledger counts for the session itself; money in microdollars."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_5m_tokens: int = 0
    cache_write_1h_tokens: int = 0
    reasoning_tokens: int = 0
    cost_microdollars: int = 0
    unpriced_requests: int = 0
    lower_bound_requests: int = 0


class Bytes(msgspec.Struct, omit_defaults=True):
    """What became of every byte that the host wrote."""

    size: int = 0
    mapped: int = 0
    bookkeeping: int = 0
    unknown: int = 0
    malformed: int = 0
    torn_tail: int = 0


class Outcome(msgspec.Struct, omit_defaults=True):
    """How the session went, as far as that can be said."""

    said: str
    """`success`, `failure` or `unknown`."""
    probability: float | None = None
    reasons: list[str] = []


class Digest(msgspec.Struct, omit_defaults=True):
    """A session in at most 4 KB, and its readings."""

    schema: int
    host: str
    session_id: str
    normaliser: int
    rules: int
    parent: str | None = None
    title: str | None = None
    project: str | None = None
    repository: str | None = None
    domain: str | None = None
    cwd: str | None = None
    branch: str | None = None
    models: list[str] = []
    host_versions: list[str] = []
    started: str | None = None
    ended: str | None = None
    first_prompt: str | None = None
    """Identity of the event that it begins with, which its forks share."""
    goal: str | None = None
    """What the first prompt asks for."""
    result: str | None = None
    """What the agent said last."""
    counts: Counts = msgspec.field(default_factory=Counts)
    files: list[FileLine] = []
    commands: list[CommandLine] = []
    tests: Tests | None = None
    commits: list[str] = []
    problems: list[ProblemLine] = []
    corrections: list[Correction] = []
    spent: Spent = msgspec.field(default_factory=Spent)
    bytes: Bytes = msgspec.field(default_factory=Bytes)
    outcome: Outcome | None = None
    turns: list[TurnLine] = []
    readings: dict[str, Value | tuple[Value, float] | None] = {}
    """What each signal says: a value, with how sure it is where it is not; null where there is none. They are not part
    of the 4 KB; `signals/readings.jsonl` has the reasons and the evidence."""


class Room(msgspec.Struct, frozen=True):
    """How much of everything a digest takes in: bytes of a text, entries of a list."""

    goal: int
    result: int
    files: int
    commands: int
    commits: int
    problems: int
    corrections: int
    text: int
    """Bytes of each entry."""
    turns: int
    prompt: int
    """Bytes of each turn's prompt."""


ROOMS: Final = (
    Room(600, 500, 24, 16, 10, 12, 8, 140, 40, 160),
    Room(500, 400, 20, 14, 8, 10, 8, 120, 40, 100),
    Room(400, 300, 16, 12, 6, 8, 6, 110, 40, 60),
    Room(320, 240, 12, 10, 5, 6, 5, 100, 40, 36),
    Room(240, 160, 8, 6, 4, 5, 4, 80, 30, 32),
    Room(200, 120, 6, 5, 3, 4, 3, 72, 20, 32),
    Room(160, 80, 4, 4, 2, 3, 2, 64, 12, 32),
    Room(120, 60, 3, 2, 2, 2, 2, 56, 6, 32),
    Room(80, 40, 1, 1, 1, 1, 1, 48, 2, 32),
)
"""From much to little; a digest takes the first that fits."""

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(Digest).decode


def encoded(digest: Digest) -> bytes:
    """A digest as the content of its file, cut down until it fits."""
    fixed = msgspec.structs.replace(digest, **_fixed(digest))
    for room in ROOMS:
        fitted = _within(fixed, room)
        body = _encode(fitted)
        beside = len(_encode(fitted.readings)) + len(',"readings":') if fitted.readings else 0
        if len(body) - beside + _CHECK_BYTES <= LIMIT:
            break
    return body[:-1] + _CHECK + _sum(body) + b'"}\n'


def decoded(content: bytes) -> Digest:
    """The digest that a file holds; ValueError where it is damaged or none."""
    body, found, check = content.rpartition(_CHECK)
    body += b"}"
    if not found or check != _sum(body) + b'"}\n':
        raise ValueError("its checksum is wrong")
    digest = _decode(body)
    if digest.schema != SCHEMA:
        raise ValueError(f"it is of schema {digest.schema}")
    return digest


def brought_up_to_date(before: Digest, now: Digest) -> Digest:
    """A digest that is all that is left of a session, with what is known better elsewhere by now."""
    return msgspec.structs.replace(
        before,
        parent=now.parent or before.parent,
        title=now.title or before.title,
        spent=now.spent,
        outcome=now.outcome or before.outcome,
        readings={**before.readings, **now.readings},
    )


def read(path: str) -> Digest:
    """The digest in a file; OSError or ValueError where there is no sound one."""
    with open(path, "rb") as file:
        return decoded(file.read())


def cut(text: str, size: int) -> str:
    """The beginning of a text, as one line that takes at most so many bytes in JSON."""
    line = " ".join(text[: size * 4].split())
    if len(_encode(line)) - 2 <= size:
        return line
    low, high = 0, min(len(line), size)
    while low < high:
        middle = (low + high + 1) // 2
        if len(_encode(line[:middle])) + 1 <= size:
            low = middle
        else:
            high = middle - 1
    return f"{line[:low].rstrip()}…"


def _sum(body: bytes) -> bytes:
    return blake2b(body, digest_size=8).hexdigest().encode("ascii")


_FIXED: Final = {
    "parent": 160,
    "title": 240,
    "project": 120,
    "repository": 160,
    "domain": 60,
    "cwd": 320,
    "branch": 100,
    "first_prompt": 80,
}


def _fixed(digest: Digest) -> dict[str, object]:
    """Names, which every digest holds, within their own limits."""
    texts: dict[str, object] = {}
    for name, size in _FIXED.items():
        value: str | None = getattr(digest, name)
        texts[name] = value if value is None or len(value) * 6 <= size else cut(value, size)
    texts["models"] = [cut(model, 60) for model in digest.models[:4]]
    versions = (*digest.host_versions[:1], *digest.host_versions[1:][-1:])
    texts["host_versions"] = [cut(version, 40) for version in versions]
    if digest.outcome is not None:
        reasons = [cut(reason, 60) for reason in digest.outcome.reasons[:5]]
        texts["outcome"] = msgspec.structs.replace(digest.outcome, reasons=reasons)
    return texts


def _within(digest: Digest, room: Room) -> Digest:
    return msgspec.structs.replace(
        digest,
        goal=digest.goal and cut(digest.goal, room.goal),
        result=digest.result and cut(digest.result, room.result),
        files=[FileLine(cut(one.path, room.text), one.edits) for one in digest.files[: room.files]],
        commands=[
            CommandLine(cut(one.command, room.text), one.kind, one.runs, one.failed)
            for one in digest.commands[: room.commands]
        ],
        commits=[cut(subject, room.text) for subject in digest.commits[-room.commits :]],
        problems=[
            ProblemLine(
                cut(one.signature, room.text),
                cut(one.where, 40),
                one.times,
                one.resolved and [cut(what, room.text // 2) for what in one.resolved],
            )
            for one in digest.problems[: room.problems]
        ],
        corrections=[Correction(one.turn, cut(one.text, room.text)) for one in digest.corrections[: room.corrections]],
        turns=[
            msgspec.structs.replace(one, prompt=cut(one.prompt, room.prompt)) for one in _ends(digest.turns, room.turns)
        ],
    )


def _ends(turns: list[TurnLine], most: int) -> list[TurnLine]:
    """The first and the last of too many turns."""
    if len(turns) <= most:
        return turns
    return turns[: most - most // 2] + turns[len(turns) - most // 2 :]
