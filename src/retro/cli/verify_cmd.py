"""`retro verify`: reads everything that is archived again, names what is damaged, and mends what can be mended."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from retro.cli import output, sessions
from retro.failure import BUSY, CHECK_NOT_PASSED, Failure
from retro.index.database import open_reader, open_writer
from retro.lock import Lock
from retro.upkeep.coalesce import finish_interrupted
from retro.upkeep.sessions import chosen
from retro.upkeep.verify import (
    DIGEST,
    FOLDER,
    INBOX,
    INDEX,
    LEDGER,
    META,
    NORMALISED,
    SIGNALS,
    STATE,
    Damage,
    Verification,
    examine_decisions,
    examine_index,
    examine_ledger,
    examine_signals,
    strays,
    verify,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from retro.cli.interface import Context, Parser
    from retro.upkeep.verify import SessionKey

SHOWN = 50
"""At most so many damages are printed; `--json` gives all."""

_NAMES = {
    NORMALISED: "its events",
    META: "its meta file",
    DIGEST: "its digest",
    FOLDER: "its folder",
    LEDGER: "the ledger",
    SIGNALS: "the readings",
    INDEX: "the index",
    STATE: "the log of decisions",
    INBOX: "what light commands told",
}


def add_arguments(parser: Parser) -> None:
    """Declare what to read, and whether to mend."""
    parser.usage = "retro verify [HOST] [ID] [--repair] [options]"
    parser.add_argument("words", metavar="[HOST] [ID]", nargs="*", help="only this agent, or this session")
    parser.add_argument("--repair", action="store_true", help="mend what can be mended")


def run(args: argparse.Namespace, context: Context) -> int:
    """Read and name it. The exit code is 4 if something is damaged, and with `--repair` if something still is."""
    host, session_id = _which(args.words, context)
    if args.repair:
        with Lock(context.places.lock, context.settings.lock_wait_seconds):
            rebuilt = _rebuilt(context, examine_index(context.places))
            first = _look(context, host, session_id)
            last = [*rebuilt, *_mend(context, first)]
    else:
        unusable = examine_index(context.places)
        first = _look(context, host, session_id) if not unusable else Verification(damages=unusable)
        if first.damages and not unusable:
            first.damages = _confirmed(context, first.damages)
        last = first.damages
    left = [damage for damage in last if not damage.mended]
    if context.json:
        read = {"sessions": first.sessions, "files": first.files, "bytes": first.bytes}
        outcome = {"damages": last, "mended": len(last) - len(left), "sound": not left}
        output.print_json({"root": context.places.root, **read, **outcome})
    else:
        _say(context, first, last)
    return CHECK_NOT_PASSED if left else 0


def _which(words: list[str], context: Context) -> tuple[str | None, str | None]:
    """The host and the session that the words mean."""
    host, word = sessions.host_and_id(words, "retro verify [HOST] [ID]")
    if word is None:
        return host, None
    with sessions.reading(context) as index:
        found = sessions.find(index, host, word, context).session
    return found.host, found.session_id


# --- the index -------------------------------------------------------------------------------------------------------


def _rebuilt(context: Context, broken: list[Damage]) -> list[Damage]:
    """Have an index that cannot be used built again from the archive."""
    if broken:
        from retro.reindex import rebuild

        rebuild(context.places, context.settings)
        left = {(one.host, one.session_id) for one in examine_index(context.places)}
        for damage in broken:
            damage.mended, damage.outcome = (damage.host, damage.session_id) not in left, "built again from the archive"
    return broken


# --- reading ---------------------------------------------------------------------------------------------------------


def _look(context: Context, host: str | None, session_id: str | None) -> Verification:
    """Read everything that is wanted. The index is not kept open: reading may take long, and sweeps go on meanwhile."""
    connection = open_reader(context.places)
    if connection is None:
        sessions.warn_without_index(context.places)
        return Verification(damages=[])
    try:
        wanted = chosen(connection, host=host, session_id=session_id)
        size = sum(session.archive_bytes for session in wanted)
        with output.Progress("reading", len(wanted), size) as progress:
            found = verify(context.places, connection, [session.key for session in wanted], progress.advance)
        if session_id is None:
            found.damages += [one for one in strays(context.places, connection) if host in (None, one.host)]
        if session_id is None and host is None:
            found.damages += examine_ledger(context.places, connection)
            found.damages += examine_signals(context.places, connection)
            found.damages += examine_decisions(context.places)
        return found
    finally:
        connection.close()


def _confirmed(context: Context, damages: list[Damage]) -> list[Damage]:
    """What is still damaged when nobody writes: a file that is being replaced only looks damaged."""
    try:
        with Lock(context.places.lock, context.settings.lock_wait_seconds):
            connection = open_writer(context.places.index)
            try:
                finish_interrupted(connection, context.places)
            finally:
                connection.close()
            return _again(context, damages)
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EACCES):
            raise
        return _again(context, damages)  # nobody writes to an archive that cannot be written to
    except Failure as failure:
        if failure.exit_code != BUSY:
            raise
        message = "something looks damaged, but another retro is writing to this archive"
        raise Failure("busy", message, "run it again when that is done", BUSY) from None


def _again(context: Context, damages: Iterable[Damage]) -> list[Damage]:
    """What is found damaged when the same sessions are read once more."""
    wanted: dict[SessionKey, None] = {(damage.host, damage.session_id): None for damage in damages}
    connection = open_reader(context.places)
    if connection is None:
        return []
    try:
        known = [key for key in wanted if chosen(connection, host=key[0], session_id=key[1])]
        found = verify(context.places, connection, known).damages
        if any(damage.source == LEDGER for damage in damages):
            found += examine_ledger(context.places, connection)
        if any(damage.source == SIGNALS for damage in damages):
            found += examine_signals(context.places, connection)
        if any(damage.source in (STATE, INBOX) for damage in damages):
            found += examine_decisions(context.places)
        return found + [one for one in strays(context.places, connection) if (one.host, one.session_id) in wanted]
    finally:
        connection.close()


def _mend(context: Context, found: Verification) -> list[Damage]:
    """Mend what was found; gives every damage with its outcome, also those that are still there afterwards."""
    from retro.upkeep.repair import repair

    if not found.damages:
        return []
    _rebuilt(context, [damage for damage in found.damages if damage.source == INDEX])
    repair(context.places, context.settings, found.damages)
    left = {(one.host, one.session_id, one.source, one.revision): one for one in _again(context, found.damages)}
    for damage in found.damages:
        still = left.pop((damage.host, damage.session_id, damage.source, damage.revision), None)
        damage.mended = still is None
        if still is not None and not damage.outcome:
            damage.outcome = "is still damaged" if damage.source != FOLDER else None
    return [*found.damages, *left.values()]


# --- saying ----------------------------------------------------------------------------------------------------------


def _say(context: Context, found: Verification, damages: list[Damage]) -> None:
    for damage in damages[:SHOWN]:
        name = _NAMES.get(damage.source, damage.source) + (f"@{damage.revision}" if damage.revision else "")
        where = f", byte {output.count(damage.position)}" if damage.position else ""
        whose = f"{damage.host} {damage.session_id}, " if damage.session_id else ""
        output.say(f"{whose}{name}: {damage.reason}", "red")
        output.say(f"  {os.path.relpath(damage.file, context.places.root)}{where}")
        if damage.outcome:
            output.say(f"  {damage.outcome}", "green" if damage.mended else "yellow")
    if len(damages) > SHOWN:
        output.say(f"and {output.count(len(damages) - SHOWN)} more; --json names them all")
    counts = f"{output.count(found.sessions)} sessions, {output.count(found.files)} files"
    read = f"{counts}, {output.size(found.bytes)} read"
    left = [damage for damage in damages if not damage.mended]
    if not damages:
        output.say(f"{read}: everything is as it was captured")
        return
    mended = len(damages) - len(left)
    parts = ([f"{mended} mended"] if mended else []) + ([f"{len(left)} damaged"] if left else [])
    output.say(f"{read}: {', '.join(parts)}")
    if any(damage.outcome is None and damage.source != FOLDER for damage in left):
        output.say("retro verify --repair mends what can be mended")
