"""What the pages are made of: typed, versioned JSON; `docs/dashboard-data.md` explains every field."""

from __future__ import annotations

from typing import Final

import msgspec

DATA_VERSION: Final = 2
"""Raised when a page made for an older one could not read it."""

Column = list[int] | int
"""A value for each row of a table; or, where it is the same for all of them, that value alone."""


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
    bundle: list[int] = []
    """Which file of `session/` and `talk/` it stands in."""
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


class Turns(msgspec.Struct, omit_defaults=True):
    """What was done in each turn; what was said in it stands in `Said`."""

    event: list[str] = []
    """The prompt."""
    turn: Column = 0
    """In steps: each the difference to the one before."""
    begun: Column = 0
    """Seconds since 1970, in steps; -1 without a time."""
    took: Column = 0
    """Seconds; -1 without a time."""
    actions: Column = 0
    edits: Column = 0
    errors: Column = 0
    tokens: Column = 0


class Requests(msgspec.Struct, omit_defaults=True):
    """The requests that count, with the lines of the agent's files that they came from."""

    names: list[str] = []
    """Texts that `model`, `source`, `agent` and `note` are places of; the first one is empty."""
    at: list[int] = []
    """Seconds since 1970, in steps: each the difference to the one before; -1 without a time."""
    model: Column = 0
    input: Column = 0
    cache_write_5m: Column = 0
    cache_write_1h: Column = 0
    cache_read: Column = 0
    output: Column = 0
    cost: Column = 0
    """Microdollars; -1 without a price."""
    source: Column = 0
    line: Column = 0
    """In steps."""
    turn: Column = 0
    """In steps."""
    agent: Column = 0
    note: Column = 0
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


class Readings(msgspec.Struct, array_like=True):
    """What signals say of a session: one value a signal in every list."""

    of: int
    """Place in the bundle's `signals`: the names that they belong to."""
    values: msgspec.Raw
    """Of a yes or no: 1 or 0; null where there is none."""
    confidence: msgspec.Raw
    reasons: msgspec.Raw
    """Why there is no value."""
    evidence: msgspec.Raw
    """Events, as lists."""


class Phases(msgspec.Struct, omit_defaults=True):
    """Stretches of looking, changing or checking."""

    event: list[str] = []
    """The first of it."""
    kind: Column = 0
    """Place in `looking`, `changing`, `checking`."""
    begun: Column = 0
    """Seconds since 1970, in steps; -1 without a time."""
    took: Column = 0
    steps: Column = 0
    failed: Column = 0


class SessionPage(msgspec.Struct):
    """One session, by what there is one of."""

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
    requests_left_out: int
    turns_left_out: int
    digest: dict[str, object] | None
    memory: msgspec.Struct | None
    """`OfSession` of `memories`."""
    parts: int
    """Files of the transcript; 0 where it was not built."""


class Bundle(msgspec.Struct):
    """Some sessions, part by part: the n-th entries of all lists but `signals` are one of them."""

    version: int
    signals: list[list[str]]
    """Names of signals, as the readings of sessions have them: nearly always the same."""
    names: list[str]
    """Host and name of the files."""
    pages: list[msgspec.Raw]
    """`SessionPage`."""
    turns: list[msgspec.Raw]
    """`Turns`."""
    requests: list[msgspec.Raw]
    """`Requests`."""
    readings: list[msgspec.Raw]
    """`Readings`, or null."""
    phases: list[msgspec.Raw]
    """`Phases`."""


class Said(msgspec.Struct, array_like=True):
    """Prompts and answers of a session's turns, shortened."""

    prompts: list[str]
    answers: list[str | None]


class Talk(msgspec.Struct):
    """What was said in the sessions of a bundle."""

    version: int
    names: list[str]
    said: list[msgspec.Raw]
    """`Said`."""


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
