"""The archive from Python: `import retro; archive = retro.open()`. `docs/api.md` shows each use."""

from __future__ import annotations

import builtins
import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Final, Literal

import apsw
import msgspec

from retro import agents, config
from retro.archive.frames import Damaged
from retro.archive.reading import session_events
from retro.event import Event, EventType, Session, Turn
from retro.failure import BUSY, WRONG_USAGE, Failure
from retro.finding import Found, Known
from retro.index import hits as found_by_words
from retro.index import queries
from retro.index.database import explained, open_reader
from retro.index.search import search
from retro.landmarks import Checkpoint
from retro.places import Places, find_root
from retro.sweep import Report, capture_found
from retro.sweep import sweep as sweep_all
from retro.turns import ACTIONS
from retro.vectors import TurnVector, VectorHit, Vectors

__all__ = [
    "Archive",
    "Failure",
    "Hit",
    "OpenSession",
    "Results",
    "ToolUse",
    "TurnVector",
    "TurnView",
    "VectorHit",
    "open",
]


class ToolUse(msgspec.Struct, frozen=True):
    """One call of a tool in a turn."""

    tool: str | None
    event_type: str
    """`command`, `file_edit`, `file_read`, `web_search`, `tool_call` or `subagent_start`."""
    summary: str
    command: str | None
    paths: list[str]
    failed: bool
    duration_ms: int | None
    event_id: str


class TurnView(msgspec.Struct):
    """A prompt, what was done about it, and what it took."""

    turn: Turn
    """With prompt, answer, times, counts, edited files and tokens."""
    tools: list[ToolUse] = []
    models: list[str] = []


class Hit(msgspec.Struct):
    """A turn, or a session, that was found."""

    host: str
    session_id: str
    turn: int | None
    """None for a session as a whole."""
    score: float
    started: str | None
    title: str | None
    project: str | None
    repository: str | None
    branch: str | None
    prompt: str | None
    files: list[str]
    event_ids: list[str]
    """Where the words stand."""
    text: str
    """What stands around them."""
    marks: list[tuple[int, int]]
    """Where in that text they are."""


class Results(msgspec.Struct):
    """What a search gives, best first, and what has to be known of it."""

    hits: list[Hit]
    all_words: bool
    """Whether what was found has all words."""
    newest_only: bool
    """Even the rarest word was too common to look at every place: the newest were."""

    def __iter__(self) -> Iterator[Hit]:
        """The hits, best first."""
        return iter(self.hits)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.hits)


def open(
    root: str | os.PathLike[str] | None = None,
    *,
    settings: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
) -> Archive:
    """Open the archive that the command line would use, or the one at `root`. Nothing is made or read yet."""
    environment = os.environ if env is None else env
    named = os.fspath(root) if root is not None else None
    chosen = config.load(os.fspath(settings) if settings is not None else None, environment, root=named)
    return Archive(Places(find_root(named, environment, chosen).path), chosen, environment)


class Archive:
    """An archive of sessions. Safe to share between threads; can be used in a `with`.

    What goes wrong is raised as a `Failure`, with `kind`, `message` and `hint`.
    """

    def __init__(self, places: Places, settings: config.Settings, env: Mapping[str, str]) -> None:
        self._places = places
        self._settings = settings
        self._env = env
        self._lock = threading.RLock()
        self._connection: apsw.Connection | None = None
        self._seen: tuple[int, int] = (0, 0)
        self.vectors: Final = Vectors(places, settings, self._reading)
        """Exact search through vectors, your own or those that retro makes."""

    def __enter__(self) -> Archive:
        """The archive itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of it."""
        self.close()

    def __repr__(self) -> str:
        return f"retro.open({self.root!r})"

    @property
    def root(self) -> str:
        """The folder that it lies in."""
        return self._places.root

    def close(self) -> None:
        """Let go of the index; the next use opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    # Capturing.

    def sweep(self, hosts: Iterable[str] | None = None, *, dry_run: bool = False) -> Report:
        """Capture what is new, of all agents on this machine or of some; the report counts it by host."""
        return sweep_all(self._places, self._settings, self._env, hosts=hosts, dry_run=dry_run)

    def capture(self, *paths: str | os.PathLike[str], force: bool = False) -> Report:
        """Capture the sessions that files and folders hold, wherever they lie.

        What is captured already is passed over, what has grown is read from where it ended.
        """
        found = Found([], {}, [])
        for path in paths:
            for source in agents.claimed(os.fspath(path)):
                of_session = found.sessions.setdefault((source.host, source.session_id), [])
                if all(source.path != other.path for other in of_session):
                    of_session.append(source)
        if not found.sessions:
            raise Failure("not_found", "no agent knows what lies there", "retro agents check FILE says why")

        def find(_: Known) -> Found:
            return found

        return capture_found(self._places, self._settings, find, force=force)

    # Finding.

    def search(
        self,
        text: str,
        *,
        limit: int = 10,
        by: Literal["turn", "session"] = "turn",
        exact: bool = False,
        keywords: bool = False,
        project: str | None = None,
        host: str | None = None,
        since: str | None = None,
        until: str | None = None,
        branch: str | None = None,
        file: str | None = None,
        tool: str | None = None,
        model: str | None = None,
        errors: bool = False,
    ) -> Results:
        """The turns, or sessions, that fit some words best; filters apply before anything is ranked.

        Where search by meaning is installed and passages have vectors, it is by words and meaning, but for `keywords`.
        Times are UTC as events have them: `2026-11-01` or `2026-11-01T09:30:00Z`. With `exact` all words must be there.
        """
        filters = found_by_words.Filters(
            project=project,
            host=host,
            since=since,
            until=until,
            branch=branch,
            file=file,
            tool=tool,
            model=model,
            errors=errors,
        )
        with self._reading() as connection:
            if connection is None:
                return Results([], True, False)
            meaning = None if exact or keywords else self.vectors.ready(connection)
            if meaning is None:
                found = search(connection, text, filters, limit, by_session=by == "session", exact=exact)
            else:
                from retro.semantic.meaning import find

                found = find(connection, text, filters, limit, meaning, by_session=by == "session")
            return Results([_hit(hit) for hit in found.hits], found.all_words, found.newest_only)

    def sessions(
        self,
        *,
        project: str | None = None,
        host: str | None = None,
        since: str | None = None,
        until: str | None = None,
        limit: int | None = None,
    ) -> list[Session]:
        """Sessions, newest first."""
        with self._reading() as connection:
            if connection is None:
                return []
            return queries.sessions(connection, queries.Wanted(since, until, project, host), limit)

    def session(self, session_id: str, host: str | None = None) -> OpenSession:
        """The session whose id begins so. A `Failure` of the kind `not_found` or `ambiguous` where that is not one."""
        with self._reading() as connection:
            found = queries.matching(connection, session_id, host) if connection is not None and session_id else []
            if not found:
                raise Failure("not_found", f'there is no session "{session_id}"', "archive.sessions() gives them")
            if len(found) > 1:
                few = ", ".join(f"{choice.host} {choice.session_id}" for choice in found[:10])
                raise Failure("ambiguous", f'"{session_id}" is the beginning of {len(found)} ids', few, WRONG_USAGE)
            assert connection is not None  # noqa: S101 - else nothing was found
            return OpenSession(self, queries.detail(connection, found[0].host, found[0].session_id))

    @contextmanager
    def _reading(self) -> Iterator[apsw.Connection | None]:
        """The index, opened once and again when it was made anew; None where nothing is captured."""
        with self._lock:
            try:
                found = os.stat(self._places.index)
                now = (found.st_ino, found.st_dev)
            except OSError:
                now = (0, 0)
            if self._connection is None or now != self._seen:
                self.close()
                self._connection, self._seen = open_reader(self._places), now
            try:
                yield self._connection
            except apsw.Error as error:
                self.close()
                raise explained(error, self._places.index) from None


class OpenSession:
    """One session, with its turns and events."""

    def __init__(self, archive: Archive, detail: queries.Detail) -> None:
        self._archive = archive
        self._detail = detail

    def __repr__(self) -> str:
        return f"{self._archive!r}.session({self.info.session_id!r})"

    @property
    def info(self) -> Session:
        """What is known of it as a whole."""
        return self._detail.session

    def turns(self, *, tools: bool = True) -> builtins.list[TurnView]:
        """Its turns with what was called in each; without `tools` nothing but the index is read."""
        with self._archive._reading() as connection:
            kept = queries.turns(connection, self._detail) if connection is not None else []
        views = {turn.turn: TurnView(turn, [], []) for turn in kept}
        if tools and self._detail.normalized_bytes:
            _add_tools(views, self.events())
        return list(views.values())

    def events(self) -> builtins.list[Event]:
        """Its events in reading order; none where they were given up to stay within the space budget."""
        detail, places = self._detail, self._archive._places
        if detail.replacing:
            raise Failure("busy", "this session's events are being made anew", "sweep, then try again", BUSY)
        if not detail.normalized_bytes:
            return []
        path = places.checked(places.normalized(detail.session.host, detail.session.session_id))
        try:
            return session_events(path, detail.agents, detail.normalized_bytes)
        except (Damaged, FileNotFoundError) as error:
            raise Failure("damaged", f"the archive is damaged: {error}", "retro verify --repair mends it") from None

    def checkpoints(self) -> builtins.list[Checkpoint]:
        """Summaries that its host wrote when it compacted the context, oldest first."""
        query = "SELECT at, turn, text FROM checkpoint WHERE session = ? ORDER BY at, event_id"
        with self._archive._reading() as connection:
            if connection is None:
                return []
            return [Checkpoint(*row) for row in connection.execute(query, (self._detail.number,))]


def _hit(found: found_by_words.Hit) -> Hit:
    snippet = found.snippets[0] if found.snippets else None
    return Hit(
        *(found.host, found.session_id, found.turn, round(found.score, 6), found.started, found.title),
        *(found.project, found.repository, found.branch, found.prompt, found.files, found.events),
        text=snippet.text if snippet else found.title or "",
        marks=list(snippet.marks) if snippet else [],
    )


def _add_tools(views: Mapping[int, TurnView], events: Iterable[Event]) -> None:
    """Say which tools were called in which turn, and whether that went well."""
    events = builtins.list(events)
    results = {event.call_id: event for event in events if event.event_type is EventType.TOOL_RESULT and event.call_id}
    models: dict[int, Counter[str]] = {}
    for event in events:
        view = views.get(event.turn or 0)
        if view is None:
            continue
        if event.model:
            models.setdefault(event.turn or 0, Counter())[event.model] += 1
        if event.event_type not in ACTIONS:
            continue
        result = results.get(event.call_id or "")
        failed = bool(result and (result.is_error or result.exit_code))
        duration = result.duration_ms if result and result.duration_ms is not None else event.duration_ms
        kind = event.event_type.value
        paths = event.paths or []
        view.tools.append(
            ToolUse(event.tool, kind, event.summary, event.command, paths, failed, duration, event.event_id)
        )
    for number, counted in models.items():
        views[number].models = [name for name, _ in counted.most_common()]
