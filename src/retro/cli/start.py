"""What bare `retro` shows above the help: what is kept, how much, since when, and what to do next."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from retro.cli import moments, output, sessions
from retro.failure import Failure
from retro.index import queries

if TYPE_CHECKING:
    from retro.cli.interface import Context


class Archive(msgspec.Struct):
    """What an archive holds."""

    root: str
    hosts: list[queries.HostTotal]
    sessions: int
    source_bytes: int
    archive_bytes: int
    """What the archive needs on the disk, the index included."""
    captured: str | None
    """When something was captured last."""
    problem: str | None = None


def archive(context: Context) -> Archive:
    """What is kept. Whatever is wrong with the archive is told, not raised: the help must always appear."""
    root = ""
    try:
        root = context.places.root
        with sessions.reading(context) as index:
            hosts = queries.totals(index) if index is not None else []
        return _summed(root, context.places.index, hosts)
    except (Failure, OSError) as error:
        problem = error.message if isinstance(error, Failure) else str(error)
        return Archive(root, [], 0, 0, 0, None, problem)


def _summed(root: str, index: str, hosts: list[queries.HostTotal]) -> Archive:
    size = os.path.getsize(index) if os.path.exists(index) else 0
    return Archive(
        root=root,
        hosts=hosts,
        sessions=sum(host.sessions for host in hosts),
        source_bytes=sum(host.source_bytes for host in hosts),
        archive_bytes=sum(host.archive_bytes for host in hosts) + size,
        captured=max((host.captured for host in hosts if host.captured), default=None),
    )


def show(context: Context) -> None:
    """A few lines."""
    kept = archive(context)
    if kept.problem:
        output.warn(kept.problem)
    elif kept.sessions:
        each = ", ".join(f"{output.count(host.sessions)} of {host.host}" for host in kept.hosts)
        sizes = f"{output.size(kept.source_bytes)} in {output.size(kept.archive_bytes)}"
        output.say(f"{each} kept: {sizes}, last captured {moments.ago(kept.captured)}", "bold")
        output.say(f"in {kept.root}")
        output.say()
        output.say("  retro list          what there is")
        output.say("  retro sweep         capture what is new")
    else:
        output.say("Nothing is kept yet. To begin:", "bold")
        output.say()
        output.say("  retro sweep         capture every agent's sessions on this machine")
        output.say("  retro list          see what there is")
