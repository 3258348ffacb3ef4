"""How well a source can be read: its records and events counted, in memory, without an archive."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from typing import cast

import msgspec

from retro import agents
from retro.agents.interface import DOCUMENT, LINES, RECORDS, TRANSCRIPT, Batch, Facts, RecordsModule, Source
from retro.agents.records import Parser, Position, Stream, chunks
from retro.archive import account, journal
from retro.archive.committed import SourceState
from retro.archive.origin import Rows, SourceFile, Unreadable, is_compressed
from retro.turns import Fold, FoldState

SMALL = 1024 * 1024


class Trial(msgspec.Struct):
    """What became of the records of one source."""

    host: str
    session_id: str
    key: str
    path: str
    form: str
    bytes: account.Bytes
    types: dict[str, dict[str, list[int]]]
    """For each class the record types, each with how many records and bytes."""
    events: dict[str, int]
    """By type."""
    turns: int
    requests: int
    """Model requests whose tokens are told."""
    problem: str | None = None
    """Why it cannot be read."""


def read(source: Source) -> Trial:
    """Read a source as a sweep would that sees it for the first time."""
    state = SourceState(source.key, 0, source.kind, os.fsencode(source.path), source.archive_name, "", form=source.form)
    state.size = 0 if is_compressed(state.path) else source.size
    trial = Trial(source.host, source.session_id, source.key, source.path, source.form, account.Bytes(), {}, {}, 0, 0)
    try:
        _read(source, state, trial)
    except (Unreadable, OSError) as error:
        trial.problem = (error.strerror if isinstance(error, OSError) else None) or str(error)
    trial.bytes, trial.types = account.bytes_of([state]), account.types_of([state])
    return trial


def transcripts(sources: Iterable[Source]) -> Iterator[Source]:
    """Those of the sources that have records."""
    return (source for source in sources if source.kind == TRANSCRIPT)


def _read(source: Source, state: SourceState, trial: Trial) -> None:
    agent = agents.named(source.host)
    reader = agent.reader(source.session_id, source.key, source.key, b"", Facts())
    table = journal.load(b"")
    fed = reader if source.form == LINES else journal.JournalReader(reader, table, source.key)
    parser = Parser(fed, Position(), state.accounting)
    fold, kinds, requests = Fold(FoldState(), None), dict[str, str](), set[str]()
    batch = Batch([], [])
    with _opened(source) as file:
        for chunk in chunks(_stream(source, file, table, state)):
            parser.feed(chunk, batch)
            for event in batch.events:
                kinds[event.event_id] = event.event_type.value
                fold.add(event)
            requests.update(usage.usage_id for usage in batch.usage)
            batch.events.clear()
            batch.usage.clear()
    state.offset = parser.position.offset
    if source.form != LINES:
        state.accounting = table.accounting()
    for kind in kinds.values():
        trial.events[kind] = trial.events.get(kind, 0) + 1
    trial.turns, trial.requests = fold.state.tally.turns, len(requests)


def _opened(source: Source) -> SourceFile:
    """The bytes of a source; none of one whose agent gives its records."""
    if source.content is not None or source.form == RECORDS:
        return Rows(source.content or b"")
    return SourceFile(os.fsencode(source.path))


def _stream(source: Source, file: SourceFile, table: journal.Table, state: SourceState) -> Stream:
    """What is to be parsed: the bytes themselves, or the journal that they begin."""
    if source.form == LINES:
        return file
    if source.form == DOCUMENT:
        data = b"".join(iter(lambda: file.read(SMALL), b""))
        state.size = len(data)
        return journal.JournalStream(journal.document_lines(table, data, source.archive_name))
    rows = cast(RecordsModule, agents.named(source.host)).records(source.path, source.copy or "", 0)
    lines = journal.record_lines(table, rows)
    first = next(lines, None)
    return journal.JournalStream(itertools.chain([first], lines) if first else iter(()))
