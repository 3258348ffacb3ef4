"""`archive.vectors`: exact search through vectors, those that retro makes of what was said, or your own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, overload

import apsw
import msgspec

from retro.config import Settings
from retro.failure import WRONG_USAGE, Failure
from retro.index.hits import Filters
from retro.index.narrowing import conditions
from retro.places import Places
from retro.semantic import own
from retro.semantic.model import INSTALL, has_vectors, wished

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from retro.semantic.exact import Exact
    from retro.semantic.meaning import Meaning

    _Row = Sequence[Any] | NDArray[Any]

OWN: Final = "own"
GLANCE: Final = 0.05
"""Seconds for which nobody looks whether another process has written: a look takes as long as a search."""

Reading = Callable[[], AbstractContextManager[apsw.Connection | None]]


class TurnVector(msgspec.Struct):
    """A vector of a turn, with what is to be kept of it."""

    session_id: str
    turn: int
    vector: Any
    """Numbers, or an array of them."""
    host: str = ""
    meta: dict[str, str] = {}


class VectorHit(msgspec.Struct, frozen=True):
    """A turn whose vector is near."""

    host: str
    session_id: str
    turn: int
    score: float
    """The cosine of the angle between the two."""
    meta: dict[str, str]


class Nearest(Sequence[VectorHit]):
    """What was found, nearest first; each hit is made when it is looked at."""

    __slots__ = ("_length", "_places", "_scores", "_turns")

    def __init__(self, turns: list[_Turn], places: _Row, scores: _Row, length: float) -> None:
        self._turns, self._places, self._scores, self._length = turns, places, scores, length

    def __len__(self) -> int:
        """How many there are."""
        return len(self._places)

    @overload
    def __getitem__(self, at: int) -> VectorHit: ...
    @overload
    def __getitem__(self, at: slice) -> list[VectorHit]: ...
    def __getitem__(self, at: int | slice) -> VectorHit | list[VectorHit]:
        """One hit, or some."""
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        host, session_id, turn, meta = self._turns[int(self._places[at])]
        return VectorHit(host, session_id, turn, float(self._scores[at]) / (self._length or 1.0), meta)

    def __iter__(self) -> Iterator[VectorHit]:
        """The hits, nearest first."""
        return (self[place] for place in range(len(self)))


_Turn = tuple[str, str, int, dict[str, str]]


class _Space:
    """A space in memory, and what its file looked like when it was read."""

    __slots__ = ("as_query", "exact", "good_until", "state", "turns")

    def __init__(
        self,
        state: tuple[int, int],
        turns: list[_Turn],
        exact: Exact | None,
        as_query: Callable[[ArrayLike], NDArray[np.float32]],
    ) -> None:
        self.state, self.turns, self.exact, self.as_query = state, turns, exact, as_query
        self.good_until = 0.0


class Vectors:
    """Vectors of an archive. What is searched is kept in memory, and read again when it has changed."""

    def __init__(self, places: Places, settings: Settings, reading: Reading) -> None:
        self._places = places
        self._path = places.vectors
        self._settings = settings
        self._reading = reading
        self._spaces: dict[str, _Space] = {}
        self._meaning: Meaning | None = None

    # Your own.

    def put(self, vectors: Iterable[TurnVector], space: str = OWN) -> int:
        """Keep vectors of turns; how many. All of a space have one width; a turn has one of each space."""
        given = ((one.host, one.session_id, one.turn, one.vector, one.meta) for one in vectors)
        count = own.put(self._places, space, given)
        self._spaces.pop(space, None)
        return count

    def drop(self, space: str = OWN) -> None:
        """Delete a space."""
        own.drop(self._places, space)
        self._spaces.pop(space, None)

    def count(self, space: str = OWN) -> int:
        """How many vectors a space has."""
        return len(self._space(space).turns)

    def search(
        self,
        vector: ArrayLike,
        limit: int = 10,
        *,
        space: str = OWN,
        session_ids: Iterable[str] | None = None,
        where: Mapping[str, str] | None = None,
        project: str | None = None,
        host: str | None = None,
        since: str | None = None,
        until: str | None = None,
    ) -> Nearest:
        """The turns whose vectors are nearest. Every vector is compared that the filters let through.

        `where` compares with the `meta` of the vectors; the others with what the archive knows of their sessions.
        """
        known = self._space(space)
        exact = known.exact
        if exact is None or limit <= 0:
            return Nearest([], (), (), 1.0)
        query = known.as_query(vector)
        if query.shape != (exact.width,):
            message = f'vectors of the space "{space}" have {exact.width} numbers, not {query.shape}'
            raise Failure("usage", message, "one vector of the same model", WRONG_USAGE)
        if session_ids is None and where is None and project is host is since is until is None:
            return Nearest(known.turns, *exact.nearest(query, limit))  # all that is on the fast way stands above
        wanted = Filters(project=project, host=host, since=since, until=until)
        allowed = self._allowed(known.turns, wanted, session_ids, where or {})
        return Nearest(known.turns, *exact.nearest(query, limit, allowed))

    def _space(self, space: str) -> _Space:
        known = self._spaces.get(space)
        now = monotonic()
        if known is not None and now < known.good_until:
            return known
        state = _state(self._places.vectors)
        if known is None or known.state != state:
            import numpy as np

            from retro.semantic.exact import Exact

            found = own.read(self._places, space)
            turns = [row[:4] for row in found]
            numbers = np.frombuffer(b"".join(row[4] for row in found), np.float32)
            exact = Exact(numbers.reshape(len(found), -1)) if found else None
            known = self._spaces[space] = _Space(state, turns, exact, partial(np.asarray, dtype=np.float32))
        known.good_until = now + GLANCE
        return known

    def _allowed(
        self, turns: list[_Turn], filters: Filters, session_ids: Iterable[str] | None, where: Mapping[str, str]
    ) -> NDArray[np.bool_]:
        import numpy as np

        ids = None if session_ids is None else set(session_ids)
        sessions = self._sessions(filters)
        return np.array(
            [
                (ids is None or session_id in ids)
                and (sessions is None or session_id in sessions)
                and all(meta.get(name) == value for name, value in where.items())
                for _, session_id, _, meta in turns
            ],
            np.bool_,
        )

    def _sessions(self, filters: Filters) -> set[str] | None:
        """Ids of the sessions that the filters let through; None where there are none."""
        given, values = conditions(filters)
        if not given:
            return None
        with self._reading() as connection:
            if connection is None:
                return set()
            query = (
                "SELECT DISTINCT session_id FROM passage JOIN session ON session.id = passage.session"  # noqa: S608
                f" WHERE {' AND '.join(f'({condition})' for condition in given)}"
            )
            return {session_id for (session_id,) in connection.execute(query, values)}

    # Those that retro makes.

    def fill(self, seconds: float | None = None) -> int:
        """Give vectors to what was said and has none, for so long at most; how many passages got theirs."""
        import time

        from retro.index.database import open_writer
        from retro.semantic import keeping

        meaning = self.meaning(needed=True)
        assert meaning is not None  # noqa: S101 - needed
        if not os.path.exists(self._places.index):
            return 0
        connection = open_writer(self._places.index)
        try:
            until = None if seconds is None else time.monotonic() + seconds
            return keeping.fill(connection, meaning.choice, meaning.model, until=until)
        finally:
            connection.close()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of texts, by the model that search by meaning uses."""
        meaning = self.meaning(needed=True)
        assert meaning is not None  # noqa: S101 - needed
        return meaning.model.encode(list(texts))

    def ready(self, connection: apsw.Connection) -> Meaning | None:
        """What search by meaning works with; None where it is not installed, or nothing has vectors."""
        if not has_vectors(connection):
            return None
        return self.meaning()

    def meaning(self, *, needed: bool = False) -> Meaning | None:
        """What search by meaning works with; None where it is not installed, or a `Failure` where it is needed."""
        if self._meaning is None:
            choice = wished(self._settings)
            if choice is not None:
                from retro.semantic.meaning import Meaning

                self._meaning = Meaning(choice)
            elif needed:
                raise Failure("not_installed", "search by meaning is not installed", INSTALL)
        return self._meaning


def _state(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size
