"""Rows of the index as the structs that the rest of the house works with, and back."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from retro.agents.interface import Facts
from retro.agents.records import Accounting
from retro.archive.committed import SourceState
from retro.event import Turn
from retro.index.listed import unsigned
from retro.notes import Notes
from retro.track.columns import Track
from retro.turns import FoldState, TurnRow

_encode = msgspec.msgpack.Encoder().encode
_json = msgspec.json.Encoder().encode
_decode_accounting = msgspec.msgpack.Decoder(Accounting).decode
_decode_facts = msgspec.msgpack.Decoder(Facts).decode
_decode_notes = msgspec.msgpack.Decoder(Notes).decode
_decode_fold = msgspec.msgpack.Decoder(FoldState).decode
_decode_track = msgspec.msgpack.Decoder(Track).decode

SOURCE_COLUMNS: Final = (
    "key, revision, kind, path, archive_name, file, device, inode, size, mtime_ns, offset, line, raw_bytes, chain,"
    " head, tail, captured, accounting, facts, reader, fold, frames, base, form, state_table, track,"
    " notes"
)
TURN_COLUMNS: Final = (
    "turn, event_id, prompt, answer, started, ended, first_sequence, last_sequence, events, actions, commands, edits,"
    " errors, files, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, records"
)


def source_row(state: SourceState) -> tuple[Any, ...]:
    """A source's values, in the order of SOURCE_COLUMNS."""
    return (
        state.key,
        state.revision,
        state.kind,
        state.path,
        state.archive_name,
        state.file,
        state.device,
        _signed(state.inode),
        state.size,
        state.mtime_ns,
        state.offset,
        state.line,
        state.raw_bytes,
        state.chain,
        state.head,
        state.tail,
        state.captured,
        _encode(state.accounting),
        _encode(state.facts),
        state.reader,
        _encode(state.fold),
        state.frames,
        state.base,
        state.form,
        state.table,
        track_row(state.track),
        _encode(state.notes),
    )


def source_state(row: tuple[Any, ...]) -> SourceState:
    """A source from its values."""
    state = SourceState(*row[:6])
    state.device, state.inode, state.size, state.mtime_ns = row[6], unsigned(row[7]), row[8], row[9]
    state.offset, state.line, state.raw_bytes, state.chain = row[10:14]
    state.head, state.tail, state.captured = row[14:17]
    state.accounting, state.facts = _decode_accounting(row[17]), _decode_facts(row[18])
    state.reader, state.fold, state.frames, state.base = row[19], _decode_fold(row[20]), row[21], row[22]
    state.form, state.table, state.track = row[23], row[24], track_of(row[25])
    state.notes = _decode_notes(row[26])
    return state


def track_row(track: Track) -> bytes:
    """A track's values; its blocks have rows of their own."""
    return _encode(msgspec.structs.replace(track, blocks=[], stored=0))


def track_of(row: bytes) -> Track:
    """A track from its values, without its blocks."""
    return _decode_track(row)


def _signed(number: int) -> int:
    """SQLite's integers are signed; some file systems number with 64 bits."""
    return number - (1 << 64) if number >= 1 << 63 else number


def turn_row(row: TurnRow) -> tuple[Any, ...]:
    """A turn's values, in the order of TURN_COLUMNS."""
    turn = row.turn
    return (
        turn.turn,
        turn.event_id,
        turn.prompt,
        turn.answer,
        turn.started,
        turn.ended,
        turn.first_sequence,
        turn.last_sequence,
        turn.events,
        turn.actions,
        turn.commands,
        turn.edits,
        turn.errors,
        _json(turn.files).decode(),
        turn.input_tokens,
        turn.output_tokens,
        turn.cache_read_tokens,
        turn.cache_write_tokens,
        row.records,
    )


def turn_of(host: str, session_id: str, row: tuple[Any, ...]) -> TurnRow:
    """A turn from its values."""
    names = TURN_COLUMNS.replace(" ", "").split(",")
    values = dict(zip(names, row, strict=True))
    records = values.pop("records")
    values["files"] = msgspec.json.decode(values["files"], type=list[str])
    return TurnRow(Turn(host=host, session_id=session_id, **values), records)
