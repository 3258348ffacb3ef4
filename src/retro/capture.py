"""One session on its way into the archive: read its sources once, write frames and events, say what to commit.

This runs in a worker process or, for little work, in the sweep itself. It writes only into the session's own folders
and never touches the index: what it wrote counts from the moment that the sweep commits it.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Collection, Iterator
from hashlib import sha256
from typing import Final, NamedTuple, TypeAlias, cast

import msgspec

from retro.agents.interface import (
    DOCUMENT,
    LINES,
    RECORDS,
    SIDECAR,
    Batch,
    Reader,
    RecordsModule,
)
from retro.agents.records import CHUNK, Accounting, Chunk, Parser, Position, Stream, chunks
from retro.archive import journal
from retro.archive.committed import MAIN, Failed, Job, Part, SourceState
from retro.archive.frames import (
    Damaged,
    FrameStream,
    FrameWriter,
    Mark,
    chained_frames,
    read_frames,
    read_range,
    salvaged,
    sound_length,
)
from retro.archive.meta import read_meta
from retro.archive.origin import EDGE, Rows, SourceFile, Stamp, StateStamp, Unreadable
from retro.archive.work import Work
from retro.passages import Passages, cut_whole
from retro.places import Places, safe_name
from retro.recording import Recording, copy_of, masked_facts, masked_state, masked_usage, remove
from retro.track.tracker import Tracker
from retro.turns import Fold

PART: Final = 64 * 1024 * 1024
"""Bytes read before what was written is handed over to be committed."""

SMALL: Final = 1024 * 1024


def capture(places: Places, job: Job) -> Iterator[Part]:
    """Do a job part by part. Each part names what is to be synced before it counts; the last one says `done`."""
    before = msgspec.structs.replace(job.state, sources=list(job.state.sources), passages=dict(job.state.passages))
    recorder = Recorder(places, job.state)
    try:
        if job.rederive:
            try:
                yield from recorder.adopt() if recorder.gaps else recorder.rederive(job.damaged)
            except (Damaged, FileNotFoundError) as error:
                recorder.close()
                recorder = Recorder(places, before)
                recorder.keep(error)
        for work in job.work:
            mark = recorder.mark()
            try:
                yield from recorder.take(work)
            except (Unreadable, Damaged) as error:
                recorder.go_back(mark)
                recorder.failed.append(Failed(work.source_path, str(error)))
        yield recorder.part(done=True)
    finally:
        recorder.close()


class Recorder(Recording):
    """A session being captured: what is taken of its sources, or derived anew from what is archived."""

    # Taking sources.

    def take(self, work: Work) -> Iterator[Part]:
        """Capture what is new in one source."""
        if work.form == RECORDS:
            yield from self._take_records(work)
            return
        with Rows(work.content) if work.content is not None else SourceFile(work.source_path) as file:
            prior = self._latest(work.key)
            before = None if prior is None or work.force else copy_of(prior)
            if work.kind == SIDECAR:
                self._take_sidecar(file, work, before, prior)
                return
            if work.form == DOCUMENT:
                yield from self._take_document(file, work, before, prior)
                return
            if before is None or not _continues(file, before):
                before = self._new_source(work, prior, file)
            before.path = work.source_path
            file.seek(before.offset)
            yield from self._read_source(file, before, file)

    def _take_document(
        self, file: SourceFile, work: Work, before: SourceState | None, prior: SourceState | None
    ) -> Iterator[Part]:
        """Note in a document's journal what its host has rewritten."""
        state = before or self._new_journal(work, prior)
        data = b"".join(iter(lambda: file.read(SMALL), b""))
        lines = journal.document_lines(journal.load(state.table), data, work.archive_name)
        yield from self._take_state(lines, state, work, file.found)

    def _take_records(self, work: Work) -> Iterator[Part]:
        """Note in the journal of records which of them came, changed or went."""
        prior = self._latest(work.key)
        state = self._new_journal(work, prior) if prior is None or work.force else copy_of(prior)
        rows = cast(RecordsModule, self.agent).records(
            os.fsdecode(work.source_path), work.copy or "", max(state.mtime_ns, 0) if state.offset else 0
        )
        size, mtime_ns, inode, device = work.stamp
        stamp = StateStamp(size, mtime_ns, inode, device)
        yield from self._take_state(journal.record_lines(journal.load(state.table), rows), state, work, stamp)

    def _take_state(self, lines: Iterator[bytes], state: SourceState, work: Work, stamp: Stamp) -> Iterator[Part]:
        state.path = work.source_path
        first = next(lines, None)
        if first is None and state.offset:
            _note(state, stamp)
            self._touch(state)
            return
        more = itertools.chain([first], lines) if first else iter(())
        yield from self._read_source(journal.JournalStream(more), state, Written(stamp))

    def _new_journal(self, work: Work, prior: SourceState | None) -> SourceState:
        revision = prior.revision + 1 if prior else 0
        archive_name = work.archive_name + journal.SUFFIX
        name = archive_file(work.key, revision, archive_name)
        described = self._described()
        while name in described:  # the index was lost: what lies there is committed
            revision += 1
            name = archive_file(work.key, revision, archive_name)
        state = SourceState(work.key, revision, work.kind, work.source_path, work.archive_name, name)
        state.form = work.form
        return state

    def _described(self) -> set[str]:
        """Files that the session's meta file knows."""
        try:
            return {source.file for source in read_meta(os.path.join(self.folder, self.agent.META_NAME)).sources}
        except (OSError, ValueError):
            return set()

    def _latest(self, key: str) -> SourceState | None:
        revisions = [source for source in self.state.sources if source.key == key]
        return max(revisions, key=lambda source: source.revision, default=None)

    def _new_source(self, work: Work, prior: SourceState | None, file: SourceFile) -> SourceState:
        revision = prior.revision + 1 if prior else 0
        name = archive_file(work.key, revision, work.archive_name)
        while not _begins_with(file, os.path.join(self.folder, name)):  # the index was lost, and the source rewritten
            revision += 1
            name = archive_file(work.key, revision, work.archive_name)
        return SourceState(work.key, revision, work.kind, work.source_path, work.archive_name, name)

    def _read_source(self, stream: Stream, state: SourceState, origin: Read | None) -> Iterator[Part]:
        """Read on from where the state stands; without an origin the stream is our own archived copy."""
        raw = self._open_raw(state) if origin else None
        accounting = state.accounting if state.form == LINES else Accounting({}, {}, {}, {})
        parser = Parser(self._reader(state), Position(state.offset, state.line), accounting)
        self._begin(state)
        began, batch = self._read, Batch([], [])
        mark = raw.mark() if raw else None
        try:
            for chunk in chunks(stream):
                done = parser.feed(chunk, batch)
                self._keep(raw, chunk, done, mark)
                self._write(batch)
                self._read += done
                if parser.in_giant:
                    continue
                mark = raw.mark() if raw else None
                if origin and self._read - began >= PART:
                    began = self._read
                    self._settle(state, parser, raw, origin)
                    state.size = state.offset  # not all of it: if this sweep dies now, the next one must look again
                    yield self.part(done=False)
            self._settle(state, parser, raw, origin)
        finally:
            if raw:
                raw.close()

    def _reader(self, state: SourceState) -> Reader:
        reader = self.agent.reader(self.state.session_id, state.key, state.source_key, state.reader, state.facts)
        if state.form == LINES:
            return reader
        return journal.JournalReader(reader, journal.load(state.table), state.source_key)

    @staticmethod
    def _keep(raw: FrameWriter | None, chunk: Chunk, done: int, mark: Mark | None) -> None:
        """Archive what was read; a giant record without its end is taken back, to be read again when it is whole."""
        if raw is None or mark is None:
            return
        if chunk.giant and chunk.tail:
            raw.cut(mark)
        elif done:
            raw.write(chunk.data[:done] if done < len(chunk.data) else chunk.data)

    def _begin(self, state: SourceState) -> None:
        """Fold what follows for this source; only a main source opens turns."""
        self._flush()
        self._fold = Fold(state.fold, self._last_turn if state.key == MAIN and state.offset else None)
        last = self.state.passages.get(state.source_key) if state.offset else None
        self._cutting = Passages(state.source_key, last, state.fold)
        self._tracker = Tracker(state.track)
        self._notes = state.notes

    def _write(self, batch: Batch) -> None:
        if batch.events:
            self._event_writer().add(batch.events)
            batch.events.clear()
        if batch.usage:  # also of records that give no event
            self._usage += masked_usage(batch.usage)
            batch.usage.clear()

    def _settle(self, state: SourceState, parser: Parser, raw: FrameWriter | None, origin: Read | None) -> None:
        """Bring the state of a source up to what was read and written."""
        self._flush()
        if self._fold is not None:
            self._turns.update(self._fold.take())
            if state.key == MAIN and self._fold.last is not None:
                self._last_turn = self._fold.last
        if self._cutting is not None:
            cut = self._cutting.taken()
            self._passages += cut
            if cut:
                self.state.passages[state.source_key] = cut[-1]
        if self._tracker is not None:
            self._tracker.settle()
        state.offset, state.line = parser.position.offset, parser.position.line
        state.reader = masked_state(parser.reader.save())
        state.facts = masked_facts(parser.reader.facts)
        if raw and origin:
            self._files.add(raw.path)
            state.raw_bytes, state.chain, state.frames = raw.mark()
            state.head, state.tail = origin.edges(state.offset)
            _note(state, origin.found)
        if isinstance(parser.reader, journal.JournalReader):
            table = parser.reader.table
            state.table, state.accounting, state.head = journal.save(table), table.accounting(), table.sha256
        self._touch(state)

    def _take_sidecar(
        self, stream: SourceFile, work: Work, before: SourceState | None, prior: SourceState | None
    ) -> None:
        """Keep a file that is not a transcript whole; a changed one is a revision."""
        first, found = stream.read(SMALL), stream.found
        if before is not None and before.head == sha256(first).digest() and before.size == found.st_size <= SMALL:
            _note(before, found)
            self._touch(before)
            return
        state = self._new_source(work, prior, stream)
        raw = self._open_raw(state)
        stream.seek(len(first))
        try:
            block = first
            while block:
                for start in range(0, len(block), CHUNK):
                    raw.write(block[start : start + CHUNK])
                state.offset += len(block)
                block = stream.read(SMALL)
            self._files.add(raw.path)
        finally:
            raw.close()
        state.raw_bytes, state.chain, state.frames = raw.mark()
        state.head = sha256(first).digest()
        state.accounting.bookkeeping["sidecar"] = [1, state.offset]
        if found.st_size <= SMALL and (facts := self.agent.sidecar_facts(work.key, first)):
            state.facts = masked_facts(facts)
        _note(state, found)
        self._read += state.offset
        self._touch(state)

    # Deriving anew from what is archived.

    def rederive(self, damaged: Collection[str]) -> Iterator[Part]:
        """Make the normalised file anew from the raw copies, under a new name, and put it in the old one's place.

        Of damaged copies it takes what can be read, and if the old file is whole, it stays: it has more.
        """
        self._target = f"{self.path}.new"
        remove(self._target)
        self._note_events(Mark(0, b"", 0))
        self._last_turn = None
        for state in sorted(self.state.sources, key=_capture_order):
            raw_path = os.path.join(self.folder, state.file)
            if state.kind == SIDECAR:
                self._recall_sidecar(state, raw_path, state.file in damaged)
                continue
            fresh = SourceState(state.key, state.revision, state.kind, state.path, state.archive_name, state.file)
            for name in ("device", "inode", "size", "mtime_ns", "raw_bytes", "chain", "frames", "captured", "form"):
                setattr(fresh, name, getattr(state, name))
            contents = (
                salvaged(raw_path, state.raw_bytes, state.offset)
                if state.file in damaged
                else chained_frames(raw_path, state.raw_bytes, state.chain)
            )
            for _ in self._read_source(FrameStream(contents), fresh, None):
                pass
            if state.file in damaged:
                continue  # without edges: a source that is still there is captured again, as a revision
            if fresh.offset < state.offset:  # a sweep died within a record too long for memory: its beginning goes
                (fresh.raw_bytes, fresh.chain, fresh.frames), _ = sound_length(raw_path, fresh.offset)
            if fresh.form == LINES:
                fresh.head, fresh.tail = _archived_edges(raw_path, fresh.raw_bytes, fresh.offset)
        self._event_writer()
        if self._frames is not None:
            self._frames.sync()
        self._close_events()
        whole = _whole(self.path) if damaged else None
        if self.state.events_evicted:  # they were derived for the turns and counts; the file keeps what it has
            whole = _whole(self.path) or Mark(0, b"", 0)
        if whole is None:
            os.replace(self._target, self.path)
        else:
            remove(self._target)
            self._note_events(whole)
            self._mixed = True
        self._target = self.path
        if self.state.events_evicted:
            self._passages = cut_whole(self._in_order())
        yield self.part(done=False, all_turns=True, all_usage=not damaged and not self.gaps)

    def adopt(self) -> Iterator[Part]:
        """Take over what the meta file says of a session whose raw copies were given up."""
        for state in self.state.sources:
            if not state.raw_bytes:
                remove(os.path.join(self.folder, state.file))  # a crash came before it was gone
            self._touch(state)
        self._note_events(_whole(self.path) or Mark(0, b"", 0))
        self._passages = cut_whole(self._in_order())
        yield self.part(done=False, all_turns=True)

    def _recall_sidecar(self, state: SourceState, raw_path: str, damaged: bool) -> None:
        """What a sidecar's archived copy tells; without it a rebuilt index would forget that it was captured."""
        state.accounting.bookkeeping["sidecar"] = [1, state.offset]
        self._touch(state)
        if damaged:
            return
        first = read_range(raw_path, 0, SMALL, state.raw_bytes)
        state.head = sha256(first).digest()
        if state.offset <= SMALL and (facts := self.agent.sidecar_facts(state.key, first)):
            state.facts = masked_facts(facts)

    def keep(self, error: Damaged | FileNotFoundError) -> None:
        """Go on with the events that there are, because a raw copy is damaged."""
        remove(f"{self.path}.new")
        self._kept = True
        path, reason = (error.path, error.reason) if isinstance(error, Damaged) else (error.filename, "is missing")
        said = f"the archived copy is damaged ({reason}): its older events are kept; see retro verify"
        self.failed.append(Failed(os.fsencode(path), said))


class Written(NamedTuple):
    """What a journal was written from: how its source looked. It has no edges; its journal knows all that it holds."""

    found: Stamp

    def edges(self, offset: int) -> tuple[bytes, bytes]:
        """None."""
        return b"", b""


Read: TypeAlias = SourceFile | Written


def _continues(file: SourceFile, before: SourceState) -> bool:
    """Whether a file still begins with what was captured of it, as far as its edges tell."""
    return file.edges(before.offset) == (before.head, before.tail)


def _begins_with(file: SourceFile, path: str) -> bool:
    """Whether a file still begins with what lies in the archive where nothing is committed, if anything does."""
    if not os.path.exists(path):
        return True
    file.seek(0)
    try:
        return all(file.read(len(content)) == content for _, content in read_frames(path))
    except Damaged:
        return True  # the torn end that a crash left


def _whole(path: str) -> Mark | None:
    """How far a file goes, if every frame of it can be read; None if there is none, or damage."""
    if not os.path.exists(path):
        return None
    mark, _ = sound_length(path)
    return mark if mark.length and mark.length == os.path.getsize(path) else None


def _archived_edges(path: str, committed: int, offset: int) -> tuple[bytes, bytes]:
    """The same hashes as `SourceFile.edges` gives, from the archived copy."""
    start = max(0, offset - EDGE)
    head = read_range(path, 0, min(EDGE, offset), committed)
    return sha256(head).digest(), sha256(read_range(path, start, offset - start, committed)).digest()


def _note(state: SourceState, found: Stamp) -> None:
    """Remember what the file looked like when it was read."""
    state.device, state.inode = found.st_dev, found.st_ino
    state.size, state.mtime_ns = found.st_size, found.st_mtime_ns
    state.captured = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _capture_order(state: SourceState) -> tuple[int, bool, str]:
    return state.revision, state.key != MAIN, state.key


def archive_file(key: str, revision: int, archive_name: str) -> str:
    """Where a source lies within the session's raw folder."""
    parts = ["revisions", str(revision)] if revision else []
    if key == MAIN:
        parts.append(archive_name)
    elif key.startswith("sidecars/"):
        parts += ["sidecars", *(safe_name(part) for part in key.split("/")[1:])]
    else:
        parts += ["sources", sha256(key.encode("utf-8", "replace")).hexdigest()[:12], archive_name]
    return "/".join(parts) + ".zst"
