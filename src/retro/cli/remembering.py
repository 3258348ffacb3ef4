"""Memories brought up to date before a command speaks of them: what several commands share."""

from __future__ import annotations

import time
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final

import msgspec

from retro.cli import output, sessions
from retro.failure import Failure
from retro.lock import Lock
from retro.memory import learning
from retro.mining.base import Options
from retro.places import init_root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import apsw

    from retro.cli.interface import Context
    from retro.memory.retrieval import Answer


PATIENCE_SECONDS: Final = 3.0
"""How long a question waits for memories to get their vectors; the rest get theirs later."""


@contextmanager
def writing(context: Context) -> Iterator[apsw.Connection]:
    """The index to be written, under the archive's lock."""
    from retro.index.database import open_writer

    init_root(context.places.root)
    with Lock(context.places.lock, context.settings.lock_wait_seconds):
        connection = open_writer(context.places.index)
        try:
            yield connection
        finally:
            connection.close()


def options_of(context: Context) -> Options:
    """What the settings say about mining."""
    return msgspec.convert({"update": context.settings.mining_update}, Options)


def learned(context: Context) -> learning.Learned:
    """Memories brought up to date."""
    with writing(context) as connection, output.Progress("learning") as progress:
        done = learning.learn(
            connection, context.places, options_of(context), lambda count, size: progress.advance(count, size)
        )
    for problem in done.problems:
        output.warn(problem)
    return done


def bring_up_to_date(context: Context) -> None:
    """Bring memories up to date where they are behind; while somebody else writes, they are taken as they are."""
    with sessions.reading(context) as index:
        behind = index is not None and learning.is_behind(index, context.places)
    if behind:
        try:
            learned(context)
        except Failure as failure:
            if failure.kind != "busy":
                raise
            output.notice("another retro is writing; this is what was known before")


def by_meaning(context: Context) -> Callable[[apsw.Connection, str, Sequence[str], bool], Answer] | None:
    """What finds memories by words and meaning, with their vectors made up to date; None without the extra."""
    from retro.semantic.model import load, wished

    choice = wished(context.settings)
    if choice is None:
        return None
    from retro.memory import meaning

    model = lru_cache(maxsize=1)(partial(load, choice))
    with sessions.reading(context) as index:
        waiting = index is not None and meaning.pending(index, choice.identity)
    if waiting:
        try:
            with writing(context) as connection:
                meaning.fill(connection, choice, model, time.monotonic() + PATIENCE_SECONDS)
        except Failure as failure:
            if failure.kind != "busy":
                raise
    return lambda index, query, where, accepted: meaning.retrieve(index, query, where, accepted, choice, model)
