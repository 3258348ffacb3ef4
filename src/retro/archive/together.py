"""What a session's sources say together: facts, counts, accounts."""

from __future__ import annotations

from typing import Final

from retro.agents.interface import SIDECAR, Agent, Facts
from retro.archive.committed import MAIN, SourceState
from retro.turns import Tally


def merged_facts(all_facts: list[Facts]) -> Facts:
    """What several sources say, the first that says it being right; lists are joined."""
    merged = Facts(models=[], versions=[], titles={}, agents={})
    for facts in all_facts:
        for name in ("title", "host_title", "parent", "cwd", "branch", "native_start"):
            setattr(merged, name, getattr(merged, name) or getattr(facts, name))
        merged.subagent = merged.subagent or facts.subagent
        merged.models += [model for model in facts.models if model not in merged.models]
        merged.versions += [version for version in facts.versions if version not in merged.versions]
        for agent_id, agent in facts.agents.items():
            known = merged.agents.setdefault(agent_id, Agent())
            known.call_id = known.call_id or agent.call_id
            known.agent_type = known.agent_type or agent.agent_type
            known.description = known.description or agent.description
    return merged


def total(sources: list[SourceState]) -> Tally:
    """The tallies of a session's sources together."""
    tallies = [source.fold.tally for source in sources]
    started = [tally.started for tally in tallies if tally.started]
    ended = [tally.ended for tally in tallies if tally.ended]
    counts = {name: sum(getattr(tally, name) for tally in tallies) for name in _COUNTS}
    return Tally(started=min(started, default=None), ended=max(ended, default=None), **counts)


_COUNTS: Final = tuple(name for name in Tally.__struct_fields__ if name not in ("started", "ended"))


def fact_order(source: SourceState) -> tuple[bool, bool, str, int]:
    """The order in which sources are asked for facts."""
    return source.key != MAIN, source.kind == SIDECAR, source.key, -source.revision
