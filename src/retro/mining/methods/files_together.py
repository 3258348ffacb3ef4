"""Files that are edited together: who changes the one has nearly always to change the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import permutations
from typing import Final

from retro.mining.base import MemoryCandidate, Options, Scope, Trace, candidate, cite, register_method
from retro.mining.edits import lasting_edits
from retro.mining.statistics import lift_low, wilson
from retro.mining.trace import Step
from retro.mining.wording import code, times

LEAST: Final = 3
SURE: Final = 0.6
MOST_FILES: Final = 25
"""A session that edits more than that says nothing about any two of them."""

SHOWN: Final = 4


@register_method("files_together", description="files that are edited together", reach="repository")
def files_together(traces: Sequence[Trace], options: Options) -> Iterable[MemoryCandidate]:
    """Pairs of files where editing the first means, in at least three sessions and more often than not, the second."""
    edited: dict[str, dict[str, tuple[Trace, Step]]] = {}
    for trace in traces:
        own = lasting_edits(trace)
        if len(own) <= MOST_FILES:
            for path, step in own.items():
                edited.setdefault(path, {})[trace.name] = (trace, step)
    editing = {name for sessions in edited.values() for name in sessions}
    often = sorted(path for path, sessions in edited.items() if len(sessions) >= LEAST)
    for first, second in permutations(often, 2):
        both = [name for name in edited[first] if name in edited[second]]
        of = len(edited[first])
        if len(both) < LEAST or len(both) / of < SURE:
            continue
        if len(both) == len(edited[second]) == of and first > second:
            continue  # the other direction says the same
        elsewhere = len(edited[second]) - len(both)
        lift = lift_low(len(both), of, elsewhere, len(editing) - of)
        if lift <= 1:
            continue
        evidence = [
            cite(trace, step.event_id, path)
            for name in both[-SHOWN:]
            for path in (first, second)
            for trace, step in [edited[path][name]]
        ]
        yield candidate(
            "files_together",
            "files_together",
            Scope("repository", traces[0].scope),
            f"Who edits {code(first)} here edits {code(second)} too: {times(len(both), of)}.",
            {"file": first, "with": second, "support": {"both": len(both), "of": of, "lift_low": round(lift, 2)}},
            evidence,
            when=f"{code(first)} is being changed",
            unless="the change cannot concern the other file",
            confidence=wilson(len(both), of)[0],
            priority=3,
            reason=f"edited together {times(len(both), of)}; otherwise in {elsewhere} of {len(editing) - of}",
        )
