"""Memories brought up to date before a command speaks of them: what several commands share."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from retro.cli import output, sessions
from retro.failure import Failure
from retro.lock import Lock
from retro.memory import learning
from retro.mining.base import Options
from retro.places import init_root

if TYPE_CHECKING:
    from collections.abc import Iterator

    import apsw

    from retro.cli.interface import Context


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


def is_used(context: Context) -> bool:
    """Whether anybody has asked for memories yet: a first sweep need not wait for them."""
    from retro.index.database import open_untouched

    index = open_untouched(context.places)
    if index is None:
        return False
    try:
        return learning.was_folded(index)
    finally:
        index.close()


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
