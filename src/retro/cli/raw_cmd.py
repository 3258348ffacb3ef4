"""`retro raw`: what the agent wrote, byte for byte. The one command that prints secrets."""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from retro.archive.committed import MAIN, SourceState
from retro.archive.frames import read_frames, read_range
from retro.cli import output, sessions
from retro.cli.moments import positive, whole
from retro.cli.output import Column
from retro.event import RawRef
from retro.failure import WRONG_USAGE, Failure, did_you_mean

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context, Parser
    from retro.index.queries import Detail

JSON_LIMIT = 16 * 1024 * 1024
"""Most bytes that are put into one JSON object."""

NOTICE = "this is what the agent wrote: secrets are not masked"

COLUMNS = (
    Column("source"),
    Column("revision", right=True),
    Column("kind"),
    Column("bytes", right=True),
    Column("captured"),
    Column("path", shrink=True),
)


class Listed(msgspec.Struct):
    """A source, as `retro raw --list --json` gives it."""

    key: str
    revision: int
    kind: str
    bytes: int
    captured: str
    path: str


def add_arguments(parser: Parser) -> None:
    """Declare which session, and what of it."""
    sessions.add_session(parser)
    parser.add_argument("--list", action="store_true", help="list the sources instead")
    parser.add_argument("--source", metavar="KEY", help="this source (default: the main one)")
    parser.add_argument("--revision", metavar="N", type=whole, help="this revision of it (default: the newest)")
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--line", metavar="N", type=positive, help="only this line")
    part.add_argument("--event", metavar="EVENT", help="only the record that this event comes from")


def run(args: argparse.Namespace, context: Context) -> int:
    """List the sources, or give the bytes of one."""
    if args.event is not None and (args.source is not None or args.revision is not None):
        raise Failure(
            "usage", "--event says by itself which source it is in", "leave --source and --revision out", WRONG_USAGE
        )
    found = sessions.detail(args, context)
    if args.list:
        _list(found, context)
        return 0
    with sessions.undamaged(sessions.MEND):
        _give(found, args, context)
    return 0


def _list(found: Detail, context: Context) -> None:
    if context.json:
        session = found.session
        listed = [_listed(source) for source in found.sources]
        output.print_json({"host": session.host, "session_id": session.session_id, "sources": listed})
        return
    rows = [
        (item.key, str(item.revision or ""), item.kind, output.count(item.bytes), item.captured, item.path)
        for item in map(_listed, found.sources)
    ]
    output.table(rows, COLUMNS)


def _listed(source: SourceState) -> Listed:
    path = os.fsdecode(source.path)
    return Listed(source.key, source.revision, source.kind, source.offset, source.captured, path)


# --- giving bytes ----------------------------------------------------------------------------------------------------


def _give(found: Detail, args: argparse.Namespace, context: Context) -> None:
    if args.event is not None:
        reference = _reference(found, args.event, context)
        source = _by_source_key(found, reference.source)
        path = sessions.raw_file(found, source, context.places)
        _refuse_evicted(source, reference.offset)
        pieces = iter([read_range(path, reference.offset - source.base, reference.length, source.raw_bytes)])
    else:
        source = _chosen(found, args.source, args.revision)
        _refuse_evicted(source, 0)
        path = sessions.raw_file(found, source, context.places)
        pieces = (content for _, content in read_frames(path, source.raw_bytes))
        if args.line is not None:
            pieces = _line(pieces, args.line, source)
    if context.json:
        _as_json(found, source, pieces)
    elif sys.stdout.isatty():
        output.notice(NOTICE)
        _to_terminal(pieces)
    else:
        output.notice(NOTICE)
        for piece in pieces:
            output.write_bytes(piece)


def _refuse_evicted(source: SourceState, offset: int) -> None:
    """What was given up cannot be shown; what came after it can be reached by its events."""
    if offset < source.base:
        given_up = f"the first {output.count(source.base)} bytes of {source.source_key} were given up"
        raise Failure("evicted", f"{given_up} to stay within the space budget", sessions.WHAT_IS_LEFT)


def _line(pieces: Iterator[bytes], wanted: int, source: SourceState) -> Iterator[bytes]:
    """The pieces of one line, with its end. A line may be longer than memory."""
    line, any_found = 1, False
    for piece in pieces:
        ends = piece.count(b"\n")
        if line + ends < wanted:
            line += ends
            continue
        for part in piece.splitlines(keepends=True) if ends else [piece]:
            if line == wanted:
                any_found = True
                yield part
            line += part.endswith(b"\n")
            if line > wanted:
                return
    if not any_found:
        last = output.count(source.line - 1)
        raise Failure("not_found", f"{source.source_key} has no line {wanted}", f"its last one is {last}")


def _to_terminal(pieces: Iterator[bytes]) -> None:
    """Line by line, without anything that a terminal would act on."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            output.say(line.decode("utf-8", "backslashreplace"))
    if rest:
        output.say(rest.decode("utf-8", "backslashreplace"))


def _as_json(found: Detail, source: SourceState, pieces: Iterator[bytes]) -> None:
    content = b""
    for piece in pieces:
        content += piece
        if len(content) > JSON_LIMIT:
            raise Failure(
                "too_large", "more than 16 MiB do not fit into one JSON object", "leave --json out, or choose a --line"
            )
    shown: dict[str, object] = {
        "host": found.session.host,
        "session_id": found.session.session_id,
        "source": source.key,
        "revision": source.revision,
        "bytes": len(content),
    }
    try:
        shown["text"] = content.decode("utf-8")
    except UnicodeDecodeError:
        shown["base64"] = base64.b64encode(content).decode("ascii")
    output.print_json(shown)


# --- finding the source ----------------------------------------------------------------------------------------------


def _chosen(found: Detail, key: str | None, revision: int | None) -> SourceState:
    """The source that the options name; the newest revision of the main one if they name none."""
    if not found.sources:
        raise Failure("not_found", "nothing of this session is captured", None)
    named, _, number = (key or "").rpartition("@")
    if key and named and number.isdecimal() and key not in {source.key for source in found.sources}:
        key, revision = named, int(number) if revision is None else revision  # as events write it
    if key is None:
        key = MAIN if any(source.key == MAIN for source in found.sources) else found.sources[0].key
    revisions = [source for source in found.sources if source.key == key]
    if not revisions:
        hint = did_you_mean(key, {source.key for source in found.sources}) or "retro raw ID --list shows them"
        raise Failure("not_found", f'this session has no source "{key}"', hint)
    matching = [source for source in revisions if revision in (None, source.revision)]
    if not matching:
        there = ", ".join(str(source.revision) for source in revisions)
        raise Failure("not_found", f"{key} has no revision {revision}", f"there are {there}")
    return matching[-1]


class _Place(msgspec.Struct):
    event_id: str
    raw_ref: RawRef


def _reference(found: Detail, word: str, context: Context) -> RawRef:
    """Where the record of an event stands; the event may be given by the beginning of its id."""
    decode = msgspec.json.Decoder(_Place).decode
    begins: dict[str, RawRef] = {}
    with sessions.undamaged(sessions.MEND):
        path = sessions.normalized_file(found, context.places)
        for _, content in read_frames(path, found.normalized_bytes):
            for line in filter(None, content.split(b"\n")):
                event = decode(line)
                if event.event_id.startswith(word):
                    begins[event.event_id] = event.raw_ref
    if word in begins:
        return begins[word]
    if not begins:
        raise Failure("not_found", f'this session has no event "{word}"', "retro events ID shows the ids")
    if len(set(begins.values())) > 1:
        few = ", ".join(list(begins)[: sessions.CHOICES])
        raise Failure("ambiguous", f'"{word}" is the beginning of {len(begins)} event ids', few, WRONG_USAGE)
    return next(iter(begins.values()))


def _by_source_key(found: Detail, source_key: str) -> SourceState:
    for source in found.sources:
        if source.source_key == source_key:
            return source
    raise Failure("not_found", f'the index knows no source "{source_key}"', "retro reindex rebuilds it")
