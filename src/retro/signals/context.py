"""What signals look at, put together from what a capture knows of a session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from retro import repository
from retro.agents.interface import TRANSCRIPT
from retro.agents.records import Accounting
from retro.archive.committed import MAIN, SourceState
from retro.archive.together import fact_order, merged_facts, total
from retro.signals.base import SessionContext
from retro.signals.steps import Steps, steps_of
from retro.track.columns import NOTED, Columns, Track, key_of
from retro.track.tracker import joined
from retro.turns import Tally


def context_of(
    host: str,
    session_id: str,
    sources: Iterable[SourceState],
    whole: Track | None = None,
    tally: Tally | None = None,
    commits: list[int] | None = None,
) -> SessionContext:
    """The context of a session; `whole` is its track as one, where those of its sources overlap."""
    newest = {one.key: one for one in sorted(sources, key=lambda source: source.revision)}
    current = sorted(newest.values(), key=fact_order)
    transcripts = [source for source in current if source.kind == TRANSCRIPT]
    facts = merged_facts([source.facts for source in current])
    calls = {name: agent.call_id for name, agent in facts.agents.items()}
    tracks = [whole] if whole is not None else [source.track for source in transcripts]
    if whole is not None:
        steps = steps_of([(True, whole)], {})
    else:
        steps = steps_of([(_is_main(source.key), source.track) for source in transcripts], calls)
    return SessionContext(
        host=host,
        session_id=session_id,
        steps=steps,
        counts=_counts(tracks),
        notes=_notes(tracks),
        periods=joined([period for track in tracks for period in track.periods]),
        tally=tally or total(transcripts),
        facts=facts,
        accounting=_accounts(transcripts),
        unlinked_agents=_unlinked(calls, tracks),
        commits=commits,
    )


def bare_context(host: str, session_id: str) -> SessionContext:
    """A context for signals that look at what the ledger and other signals say alone."""
    empty = SessionContext(host, session_id, Steps(Columns()), {}, {}, [], Tally(), merged_facts([]), Accounting())
    empty.readings = {}
    return empty


def repository_commits(cwd: str | None, periods: list[tuple[int, int]], *, ask_git: bool = False) -> list[int] | None:
    """When commits were made in the repository of a folder while something happened, as its files tell.

    Where they do not, `ask_git` starts git to tell; None where nothing is known.
    """
    if not cwd or not periods:
        return None
    since, until = periods[0][0] // 1000, max(last for _, last in periods) // 1000 + 1
    found = repository.commit_times(cwd)
    if found is None and ask_git:
        found = repository.asked_commit_times(cwd, since, until)
    return None if found is None else [moment for moment in found if since <= moment <= until]


def _unlinked(calls: Mapping[str, str | None], tracks: list[Track]) -> int:
    starts = {key for track in tracks for key in track.starts}
    return sum(call is None or key_of(call) not in starts for call in calls.values())


def _is_main(key: str) -> bool:
    return key.partition("~")[0] == MAIN


def _counts(tracks: list[Track]) -> Mapping[str, int]:
    counts: dict[str, int] = {}
    for track in tracks:
        for what, number in track.counts.items():
            counts[what] = counts.get(what, 0) + number
    return counts


def _notes(tracks: list[Track]) -> Mapping[str, list[str]]:
    notes: dict[str, list[str]] = {}
    for track in tracks:
        for what, events in track.notes.items():
            notes[what] = [*notes.get(what, []), *events][:NOTED]
    return notes


def _accounts(sources: list[SourceState]) -> Accounting:
    """Where every byte of the sources went, together."""
    merged = Accounting({}, {}, {}, {}, [])
    for source in sources:
        for account in ("mapped", "bookkeeping", "unknown", "malformed"):
            for kind, (count, length) in getattr(source.accounting, account).items():
                merged.add(account, kind, count, length)
        merged.gaps += source.accounting.gaps
    return merged
