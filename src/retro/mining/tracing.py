"""Traces kept up to date: events read once for each session that has changed, and never again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import apsw
import msgspec
import zstandard

from retro.archive.frames import Damaged
from retro.archive.reading import session_events
from retro.event import Event
from retro.index import traces
from retro.mining.trace import VERSION, Trace, trace_of
from retro.places import Places

BATCH_BYTES: Final = 16 * 1024 * 1024
"""Bytes of events after which traces are committed."""

MOST: Final = 1_000
"""Sessions of one repository that are mined together: the newest."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Trace).decode
_decode_agents = msgspec.json.Decoder(dict[str, str | None]).decode

Advance = Callable[[int, int], None]


def bring_up_to_date(
    connection: apsw.Connection, places: Places, advance: Advance | None = None
) -> tuple[int, list[str]]:
    """Trace what has changed. Gives how many sessions that were, and which could not be read. Needs the lock."""
    todo = traces.outdated(connection, f":{VERSION}")
    problems: list[str] = []
    waiting: list[tuple[traces.Outdated, bytes]] = []
    size = 0
    squeeze = zstandard.ZstdCompressor(level=3).compress
    for of in todo:
        try:
            trace = _traced(places, of)
        except (Damaged, OSError, msgspec.MsgspecError) as error:
            problems.append(f"{of.host} {of.session_id}: {error}")
            continue
        waiting.append((of, squeeze(_encode(trace))))
        size += of.committed
        if size >= BATCH_BYTES:
            _commit(connection, waiting)
            size = 0
        if advance:
            advance(1, of.committed)
    _commit(connection, waiting)
    return len(todo) - len(problems), problems


def _commit(connection: apsw.Connection, waiting: list[tuple[traces.Outdated, bytes]]) -> None:
    if waiting:
        with connection:
            traces.store(connection, waiting)
        waiting.clear()


def _traced(places: Places, of: traces.Outdated) -> Trace:
    path = places.checked(places.normalized(of.host, of.session_id))
    events = session_events(path, _decode_agents(of.agents), of.committed)
    roots = [folder.rstrip("/\\") for folder in (of.repository, of.cwd) if folder]
    return trace_of(of.host, of.session_id, of.scope, of.started, of.title, events, roots)


def after(places: Places, of: traces.Over, since: str) -> tuple[Trace, list[Event]]:
    """What a session did from a moment on, and the events themselves."""
    path = places.checked(places.normalized(of.host, of.session_id))
    events = session_events(path, _decode_agents(of.agents), of.committed)
    later = [event for event in events if event.timestamp is None or event.timestamp >= since]
    roots = [folder.rstrip("/\\") for folder in (of.repository, of.cwd) if folder]
    return trace_of(of.host, of.session_id, "", None, None, later, roots), later


def stored(body: bytes) -> Trace:
    """A trace as the index keeps it."""
    return _decode(zstandard.ZstdDecompressor().decompress(body))


def of_scope(connection: apsw.Connection, scope: str, most: int = MOST) -> list[Trace]:
    """The newest traces of a repository, oldest first."""
    expand = zstandard.ZstdDecompressor().decompress
    return [_decode(expand(stored.body)) for stored in traces.of_scope(connection, scope, most)]


def newest(connection: apsw.Connection, wanted: Callable[[str, str], bool]) -> Iterator[Trace]:
    """The traces of the sessions that are wanted, the newest first."""
    expand = zstandard.ZstdDecompressor().decompress
    for stored in traces.newest(connection):
        if wanted(stored.host, stored.session_id):
            yield _decode(expand(stored.body))


def scopes(connection: apsw.Connection) -> list[str]:
    """Every repository that has traces."""
    return sorted(traces.stamps(connection))


def all_traces(connection: apsw.Connection, most: int = MOST) -> Iterator[Trace]:
    """The traces of all repositories, one repository after the other."""
    for scope in scopes(connection):
        yield from of_scope(connection, scope, most)
