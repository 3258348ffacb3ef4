"""`retro show`: one session: what was captured of it, byte by byte, and every gap."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from retro.agents.interface import SIDECAR
from retro.archive import account
from retro.archive.account import CLASSES, Counts
from retro.archive.committed import SourceState
from retro.cli import moments, output, sessions
from retro.cli.output import Column, Styled
from retro.event import Reading, Session, Turn
from retro.index import queries
from retro.index.readings import readings_of
from retro.signals.judging import OUTCOME

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context, Parser
    from retro.index.queries import Detail

LABEL = 13
SOURCES = 30
GAPS = 20
TURNS = 100
"""At most so many are printed; `--json` gives all."""


class Gap(msgspec.Struct):
    """A stretch of a source that is not a record."""

    offset: int
    length: int
    line: int
    reason: str


class ShownSource(msgspec.Struct):
    """One revision of one source."""

    key: str
    revision: int
    current: bool
    kind: str
    path: str
    file: str
    """Its archived copy, below the archive's root."""
    now: str
    """What has become of the agent's own file since: `unchanged`, `changed`, `gone`; `rows` are of a database."""
    captured: str
    captured_bytes: int
    archived_bytes: int
    evicted_bytes: int
    """Bytes from its beginning whose archived copy was given up to stay within the space budget."""
    bytes: account.Bytes
    exact: bool
    types: dict[str, dict[str, list[int]]]
    """For each class the record types, each with how many records and bytes."""
    gaps: list[Gap]
    """The first hundred; `types` counts all."""
    repaired: int


class Shown(msgspec.Struct):
    """What `retro show --json` prints."""

    session: Session
    domain: str | None
    captured: str
    normaliser: int
    rules: int
    pinned: bool
    events_evicted: bool
    """Older events were given up to stay within the space budget."""
    bytes: account.Bytes
    exact: bool
    sources: list[ShownSource]
    events: dict[str, int]
    secrets: dict[str, int]
    marks: dict[str, int]
    turns: list[Turn]
    outcome: Reading | None
    """How it went, with what that rests on; None where no signal has read it."""


def add_arguments(parser: Parser) -> None:
    """Declare which session."""
    sessions.add_session(parser)


def run(args: argparse.Namespace, context: Context) -> int:
    """Show it."""
    with sessions.reading(context) as index:
        found = sessions.find(index, args.host, args.session, context)
        turns = queries.turns(index, found) if index is not None else []
        read = readings_of(index, found.number) if index is not None else []
    outcome = next((one for one in read if one.signal == OUTCOME), None)
    counts = (
        Counts({}, {}, {})
        if found.events_evicted and not found.normalized_bytes
        else sessions.readable(found, context.places, account.count_events)
    )
    shown = _shown(found, counts, turns, outcome, context)
    if context.json:
        output.print_json(shown)
        return 0
    for part in (_head, _bytes, _types, _gaps, _events, _turns):
        part(shown)
    output.notice(f"\nretro digest {shown.session.session_id} says it in short")
    return 0


def _shown(found: Detail, counts: Counts, turns: list[Turn], outcome: Reading | None, context: Context) -> Shown:
    total = account.bytes_of(found.current)
    newest = {source.key: source.revision for source in found.sources}
    folder = os.path.relpath(context.places.raw(found.session.host, found.session.session_id), context.places.root)
    return Shown(
        session=found.session,
        domain=found.domain,
        captured=found.captured,
        normaliser=found.normaliser,
        rules=found.rules,
        pinned=found.pinned,
        events_evicted=found.events_evicted,
        bytes=total,
        exact=total.exact,
        sources=[_source(source, newest[source.key] == source.revision, folder) for source in found.sources],
        events=counts.types,
        secrets=counts.secrets,
        marks=counts.marks,
        turns=turns,
        outcome=outcome,
    )


def _source(source: SourceState, current: bool, folder: str) -> ShownSource:
    sums = account.bytes_of([source])
    return ShownSource(
        key=source.key,
        revision=source.revision,
        current=current,
        kind=source.kind,
        path=os.fsdecode(source.path),
        file=f"{folder}/{source.file}".replace(os.sep, "/"),
        now=account.fate(source) if current else "replaced",
        captured=source.captured,
        captured_bytes=source.offset,
        archived_bytes=source.raw_bytes,
        evicted_bytes=source.base,
        bytes=sums,
        exact=sums.exact,
        types=account.types_of([source]),
        gaps=[Gap(*gap) for gap in source.accounting.gaps],
        repaired=source.accounting.repaired,
    )


# --- as text ---------------------------------------------------------------------------------------------------------


def _head(shown: Shown) -> None:
    session = shown.session
    output.say(session.title or "(untitled)", "bold")
    branch = f"branch {session.branch}" if session.branch else None
    versions = f"{session.host} {_range(session.host_versions)}".strip()
    began, ended = moments.local(session.started), moments.local(session.ended)
    when = f"{began} to {ended[11:] if began[:10] == ended[:10] else ended}" if began else "no times"
    numbers = [
        (session.turns, "turn"),
        (max(session.events, sum(shown.events.values())), "event"),
        (session.commands, "command"),
        (session.edits, "edit"),
        (session.errors, "error"),
        (session.agents, "sub-agent"),
    ]
    facts = [
        ("session", session.session_id + (f", continues {session.parent}" if session.parent else "")),
        ("host", ", ".join(filter(None, (versions, *session.models)))),
        ("project", ", ".join(filter(None, (session.project, session.repository, branch, shown.domain)))),
        ("folder", session.cwd or ""),
        ("time", when),
        ("holds", ", ".join(_many(number, noun) for number, noun in numbers if number) or "nothing"),
    ]
    ratio = f" ({session.archive_bytes / shown.bytes.size:.0%})" if shown.bytes.size else ""
    kept = f"{output.size(shown.bytes.size)} in {output.size(session.archive_bytes)}{ratio}"
    facts.append(("kept", f"{kept}, captured {moments.local(shown.captured)}{', pinned' if shown.pinned else ''}"))
    facts.append(("outcome", _outcome(shown)))
    facts.append(("given up", _given_up(shown)))
    for name, value in facts:
        if value:
            output.say(f"{name:9}{value}")


def _outcome(shown: Shown) -> str:
    """What is said of how it went, how likely a success is, and why."""
    outcome, probability = shown.outcome, shown.session.outcome_probability
    if outcome is None or outcome.value is None or probability is None:
        return ""
    return f"{outcome.value} ({probability:.0%}): {outcome.reason}"


def _given_up(shown: Shown) -> str:
    """What is no longer there, because the space was needed."""
    raw = sum(source.evicted_bytes for source in shown.sources)
    parts = [f"{output.size(raw)} of raw bytes" if raw else "", "events" if shown.events_evicted else ""]
    return " and ".join(filter(None, parts))


def _range(versions: list[str]) -> str:
    return versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}" if versions else ""


def _bytes(shown: Shown) -> None:
    """Each source's bytes by what became of them; sidecars together, older revisions below."""
    _title("Bytes")
    columns = [Column("source", shrink=True), *(Column(name, right=True) for name in CLASSES)]
    columns += [Column("torn", right=True), Column("= bytes", right=True), Column("file")]
    transcripts = [source for source in shown.sources if source.kind != SIDECAR]
    sidecars = [source for source in shown.sources if source.kind == SIDECAR and source.current]
    rows = [_byte_row(_name(source), [source], source.now) for source in transcripts[:SOURCES]]
    rest = transcripts[SOURCES:]
    if rest:
        rows.append(_byte_row(f"and {len(rest)} more", rest, ""))
    if sidecars:
        rows.append(_byte_row(_many(len(sidecars), "sidecar"), sidecars, _fates(sidecars)))
    if len(rows) > 1:
        rows.append(_byte_row("together", [source for source in shown.sources if source.current], ""))
    output.table(rows, columns)
    if not shown.exact:
        output.say("The sum does not match the bytes: please report this.", "red")
    main = next((source for source in shown.sources if source.current), None)
    if main:
        output.say(f"from  {main.path}")
        output.say(f"in    {main.file}")


def _byte_row(name: str, sources: Iterable[ShownSource], now: str) -> list[str | Styled]:
    sums = account.Bytes()
    for source in sources:
        for field in msgspec.structs.fields(account.Bytes):
            setattr(sums, field.name, getattr(sums, field.name) + getattr(source.bytes, field.name))
    total = output.count(sums.size)
    return [
        name,
        output.count(sums.mapped),
        output.count(sums.bookkeeping),
        *(Styled(output.count(gap), "yellow" if gap else "") for gap in (sums.unknown, sums.malformed, sums.torn_tail)),
        total if sums.exact else Styled(f"{total} ?", "red"),
        now,
    ]


def _name(source: ShownSource) -> str:
    return source.key + (f"@{source.revision}" if source.revision else "")


def _fates(sources: list[ShownSource]) -> str:
    fates = [(fate, sum(source.now == fate for source in sources)) for fate in ("unchanged", "changed", "gone", "rows")]
    present = [(fate, number) for fate, number in fates if number]
    return present[0][0] if len(present) == 1 else ", ".join(f"{number} {fate}" for fate, number in present)


def _types(shown: Shown) -> None:
    """The host's record types, counted over all current sources."""
    _title("Records")
    merged: dict[str, dict[str, list[int]]] = {name: {} for name in CLASSES}
    for source in shown.sources:
        if source.current:
            for name, kinds in source.types.items():
                for kind, (records, size) in kinds.items():
                    cell = merged[name].setdefault(kind, [0, 0])
                    cell[0] += records
                    cell[1] += size
    for name, kinds in merged.items():
        largest = sorted(kinds.items(), key=lambda item: (-item[1][1], item[0]))
        parts = [f"{kind} {output.count(records)} ({output.size(size)})" for kind, (records, size) in largest]
        _say_parts(name, parts, "yellow" if name in ("unknown", "malformed") else None)


def _gaps(shown: Shown) -> None:
    gaps = [(source, gap) for source in shown.sources if source.current for gap in source.gaps]
    malformed = sum(
        records for source in shown.sources if source.current for records, _ in source.types["malformed"].values()
    )
    torn = [source for source in shown.sources if source.current and source.bytes.torn_tail]
    repaired = sum(source.repaired for source in shown.sources if source.current)
    _title("Gaps")
    if not (gaps or torn or repaired or shown.bytes.unknown):
        output.say("none: every byte is a record that retro knows")
    for source, gap in gaps[:GAPS]:
        place = f"{_name(source)} line {output.count(gap.line)}, byte {output.count(gap.offset)}"
        output.say(f"{place}: {gap.reason} ({output.count(gap.length)} bytes)", "yellow")
    if malformed > len(gaps[:GAPS]):
        output.say(f"and {output.count(malformed - len(gaps[:GAPS]))} more", "yellow")
    for source in torn:
        output.say(f"{_name(source)}: the last line is not finished; the next sweep reads it")
    if repaired:
        output.say(f"{_many(repaired, 'record')} mended before they could be read (text that is not UTF-8, NaN)")
    if shown.bytes.unknown:
        output.say("Records of unknown types are kept whole: retro events ID --type unknown")


def _events(shown: Shown) -> None:
    _title("Events")
    for name, counts in (("", shown.events), ("masked", shown.secrets), ("marked", shown.marks)):
        by_count = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        _say_parts(name, [f"{kind} {output.count(number)}" for kind, number in by_count])


def _turns(shown: Shown) -> None:
    if not shown.turns:
        return
    _title("Turns")
    columns = [Column("", right=True), Column("prompt", shrink=True), Column("tools", right=True)]
    columns += [Column("errors", right=True), Column("time", right=True)]
    output.table((_turn_row(turn) for turn in shown.turns[:TURNS]), columns)
    if len(shown.turns) > TURNS:
        output.say(f"and {output.count(len(shown.turns) - TURNS)} more")


def _turn_row(turn: Turn) -> list[str | Styled]:
    began, ended = moments.moment(turn.started), moments.moment(turn.ended)
    errors = Styled(output.count(turn.errors), "red") if turn.errors else ""
    took = output.duration((ended - began).total_seconds()) if began and ended else ""
    words = output.cut(" ".join(turn.prompt[:400].split()), 100)
    return [str(turn.turn), words or "(no text)", output.count(turn.actions) if turn.actions else "", errors, took]


def _title(text: str) -> None:
    output.say()
    output.say(text, "bold")


def _many(number: int, noun: str) -> str:
    return f"{output.count(number)} {noun}" + ("" if number == 1 else "s")


def _say_parts(name: str, parts: list[str], style: str | None = None) -> None:
    """A label, and parts joined by commas behind it, in as many lines as they need."""
    for line in _wrapped(parts, LABEL if name else 0):
        output.say(f"{name:{LABEL}}{line}" if name else line, style)
        name = name and " "


def _wrapped(parts: list[str], label: int = 0) -> Iterator[str]:
    """Parts joined by commas, in lines that leave room for a label."""
    width = (output.terminal_width(sys.stdout) or 120) - label
    line = ""
    for at, part in enumerate(parts):
        piece = part + ("," if at < len(parts) - 1 else "")
        if line and len(line) + 1 + len(piece) > width:
            yield line
            line = piece
        else:
            line = f"{line} {piece}".strip()
    if line:
        yield line
