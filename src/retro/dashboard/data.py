"""What the pages are made of: typed, versioned JSON; `docs/dashboard-data.md` explains every field."""

from __future__ import annotations

from typing import Final

import msgspec

DATA_VERSION: Final = 1
"""Raised when a page made for an older one could not read it."""


class Days(msgspec.Struct):
    """Tokens and money by local day, host, project and model: one value a row in every list."""

    day: list[int] = []
    """Days since 1970; -1 for requests without a time."""
    host: list[int] = []
    project: list[int] = []
    model: list[int] = []
    requests: list[int] = []
    input: list[int] = []
    cache_write_5m: list[int] = []
    cache_write_1h: list[int] = []
    cache_read: list[int] = []
    output: list[int] = []
    reasoning: list[int] = []
    cost: list[int] = []
    """Microdollars."""
    unpriced_requests: list[int] = []
    unpriced_tokens: list[int] = []
    lower_bound_requests: list[int] = []


class Activity(msgspec.Struct):
    """What was done by local day, host and project: turns by when they began."""

    day: list[int] = []
    host: list[int] = []
    project: list[int] = []
    turns: list[int] = []
    events: list[int] = []
    actions: list[int] = []
    commands: list[int] = []
    edits: list[int] = []
    errors: list[int] = []


class Ended(msgspec.Struct):
    """Sessions by the local day on which they were last active, host and project; and how they went."""

    day: list[int] = []
    host: list[int] = []
    project: list[int] = []
    sessions: list[int] = []
    success: list[int] = []
    failure: list[int] = []


class Sessions(msgspec.Struct):
    """Some sessions, newest first: one value a session in every list."""

    id: list[str] = []
    file: list[str | None] = []
    """Name of its files where that is not its id."""
    host: list[int] = []
    project: list[int] = []
    model: list[int] = []
    """The one that took most tokens; -1 where none is known."""
    branch: list[str | None] = []
    title: list[str | None] = []
    started: list[int | None] = []
    """Seconds since 1970."""
    ended: list[int | None] = []
    turns: list[int] = []
    events: list[int] = []
    commands: list[int] = []
    edits: list[int] = []
    errors: list[int] = []
    cost: list[int] = []
    """Microdollars of the session's own requests; -1 where nothing of it has a price."""
    tokens: list[int] = []
    flags: list[int] = []
    """A sum of: 1 partly unpriced, 2 lower bound, 4 given up, 8 pinned, 16 of a sub-agent, 32 it holds secrets."""
    outcome: list[int] = []
    """Chance of success in percent; -1 unknown."""
    verdict: list[str] = []
    """`s` success, `f` failure, empty where it cannot be said."""


UNPRICED: Final = 1
LOWER_BOUND: Final = 2
GIVEN_UP: Final = 4
PINNED: Final = 8
SUBAGENT: Final = 16
SECRETS: Final = 32


class Attention(msgspec.Struct, omit_defaults=True):
    """Something that the person should look at."""

    kind: str
    level: str
    """`red`, `amber` or `info`."""
    title: str
    detail: str = ""
    command: str = ""
    """What to type."""
    link: str = ""
    """Where in the dashboard more stands."""


class HostKept(msgspec.Struct):
    """What is kept of a host."""

    host: str
    sessions: int
    turns: int
    source_bytes: int
    archive_bytes: int
    unknown_bytes: int
    malformed_bytes: int
    unknown_records: int
    malformed_records: int
    captured: str | None
    """When something was captured last."""


class Space(msgspec.Struct):
    """What the archive takes on the disk, and what it may."""

    raw: int
    normalised: int
    rendered: int
    distilled: int
    soft_cap: int | None
    hard_cap: int | None
    next: list[tuple[str, str, str | None, int]]
    """What the next sweep would give up: host, session, title, bytes."""


class Overview(msgspec.Struct):
    """What the first screen needs; `app/` reads it before anything else."""

    version: int
    retro: str
    made: str
    timezone: str
    """Of the days."""
    offset: int
    """Seconds that it is ahead of UTC now."""
    mode: str
    today: int
    strict: bool
    hosts: list[str]
    projects: list[str]
    models: list[str]
    days: Days
    activity: Activity
    ended: Ended
    total_sessions: int
    chunks: list[str]
    """Files of further sessions, in order."""
    sessions: Sessions
    """The newest."""
    attention: list[Attention]
    kept: list[HostKept]
    space: Space
    woven: msgspec.Struct | None
    """`Woven` of `memories`: memories that were handed to sessions."""
    months: list[str]
    """Files of `days`: of which months there is what each session spent."""
    sections: list[str]
    """Which further data there is, such as `signals`, `patterns`, `blocks`."""


# --- one session -----------------------------------------------------------------------------------------------------


class TurnEntry(msgspec.Struct, omit_defaults=True):
    """A turn."""

    turn: int
    prompt: str
    event: str
    answer: str | None = None
    started: str | None = None
    ended: str | None = None
    events: int = 0
    actions: int = 0
    commands: int = 0
    edits: int = 0
    errors: int = 0
    tokens: int = 0
    files: list[str] = []


class Requests(msgspec.Struct, omit_defaults=True):
    """The requests that count, with the lines of the agent's files that they came from: one value each in every list.

    A list in which everything is 0 is left out.
    """

    names: list[str] = []
    """Texts that `model`, `source`, `agent` and `note` are places of; the first one is empty."""
    at: list[int] = []
    """Seconds since 1970; -1 without a time."""
    model: list[int] = []
    input: list[int] = []
    cache_write_5m: list[int] = []
    cache_write_1h: list[int] = []
    cache_read: list[int] = []
    output: list[int] = []
    cost: list[int] = []
    """Microdollars; -1 without a price."""
    source: list[int] = []
    line: list[int] = []
    turn: list[int] = []
    agent: list[int] = []
    note: list[int] = []
    """`lower_bound`, `fallback_model`, `embedded`, a tier."""


class ModelAmount(msgspec.Struct):
    """What a session's requests to one model took."""

    model: str
    requests: int
    input: int
    cache_write_5m: int
    cache_write_1h: int
    cache_read: int
    output: int
    reasoning: int
    cost: int
    unpriced_requests: int
    lower_bound_requests: int


class Reading(msgspec.Struct, array_like=True):
    """The value of a signal; `signals` says what it is, and what is usual."""

    name: str
    value: float | str | None
    """Of a yes or no: 1 or 0."""
    confidence: float
    reason: str | None
    """Why there is no value."""
    evidence: msgspec.Raw
    """Events, as a list."""


class Phase(msgspec.Struct, array_like=True):
    """A stretch of looking, changing or checking."""

    kind: str
    """`looking`, `changing`, `checking`."""
    begun: int
    """Seconds since 1970; -1 without a time."""
    ended: int
    steps: int
    failed: int
    event: str
    """The first of it."""


class SessionPage(msgspec.Struct):
    """One session: all but its transcript."""

    version: int
    host: str
    id: str
    file: str
    title: str | None
    project: str | None
    repository: str | None
    branch: str | None
    cwd: str | None
    parent: str | None
    children: list[tuple[str, str | None]]
    """Sessions of its sub-agents and forks: id and title."""
    started: str | None
    ended: str | None
    models: list[str]
    versions: list[str]
    counts: dict[str, int]
    accounting: dict[str, int]
    archive_bytes: int
    captured: str
    pinned: bool
    given_up: str
    """What is no longer there: empty, `events`, `raw`."""
    amounts: list[ModelAmount]
    requests: Requests
    requests_left_out: int
    turns: list[TurnEntry]
    turns_left_out: int
    readings: list[Reading]
    phases: list[Phase]
    digest: dict[str, object] | None
    memory: msgspec.Struct | None
    """`OfSession` of `memories`."""
    parts: int
    """Files of the transcript; 0 where it was not built."""


class Entry(msgspec.Struct, omit_defaults=True):
    """An event in a transcript: what came of a call stands with the call."""

    id: str
    kind: str
    """Its event type."""
    actor: str
    at: str | None = None
    turn: int = 0
    summary: str | None = None
    """Of a call that is no command and concerns no path: what it is, in one line."""
    text: str | None = None
    tool: str | None = None
    command: str | None = None
    paths: list[str] = []
    agent: str | None = None
    origin: str | None = None
    change: str | None = None
    """Of an edit: `write`, `delete`, `move`; else its text is a diff."""
    result: str | None = None
    result_id: str | None = None
    exit_code: int | None = None
    failed: bool = False
    ms: int | None = None
    line: int = 0
    source: str = ""
    cut: int = 0
    """Characters that were left out of its texts."""


class Transcript(msgspec.Struct):
    """A part of a transcript."""

    version: int
    part: int
    entries: list[Entry]
