"""Jobs in, committed sessions out."""

from __future__ import annotations

from collections.abc import Callable

import apsw

from retro.archive.committed import Job
from retro.config import Settings
from retro.index.database import explained
from retro.outcomes import Outcome
from retro.places import Places
from retro.workers import at_work

Advance = Callable[[int, int], None]
"""Told of every session that is done, and of the bytes that were read."""


def carry_out(
    places: Places,
    settings: Settings,
    jobs: list[Job],
    advance: Advance | None = None,
    index: str | None = None,
    *,
    connection: apsw.Connection | None = None,
    digests: bool = True,
) -> list[Outcome]:
    """Do jobs and commit them to the index, with their digests. The caller holds the archive's lock.

    A caller that has the index open hands it over, unless processes will be started: it is closed when this is done.
    """
    with at_work(places, jobs, settings.sweep_workers) as messages:
        from retro.committing import Committer  # loaded while the workers capture already

        committer = Committer(places, index or places.index, settings, advance, digests, connection)
        committer.left = sum(job.size for job in jobs)
        try:
            for message in messages:
                committer.take(message)
            committer.finish()
        except apsw.Error as error:
            raise explained(error, index or places.index) from None
        finally:
            committer.close()
    return list(committer.outcomes.values())
