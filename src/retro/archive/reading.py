"""A session's events as one story: from the normalised file, each once, sub-agents where they were called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from heapq import heappop, heappush
from typing import Final, NamedTuple

import msgspec

from retro.archive.committed import MAIN
from retro.archive.frames import Damaged, contents
from retro.event import Event, EventType
from retro.turns import ACTIONS, is_prompt

PAIR_SECONDS: Final = 30
"""Two tellings of the same are never further apart."""

_decode = msgspec.json.Decoder(Event).decode


def written_events(path: str, committed: int | None = None, damage: list[Damaged] | None = None) -> Iterator[Event]:
    """Events as they were written, frame by frame; one may come again in a later version.

    With a list for it, damage is noted there, and everything else given; without, it is raised.
    """
    for content in contents(path, committed, damage):
        for line in content.split(b"\n"):
            if line:
                yield _decode(line)


def session_events(
    path: str,
    agents: Mapping[str, str | None],
    committed: int | None = None,
    damage: list[Damaged] | None = None,
) -> list[Event]:
    """A session's events in reading order; `agents` names the call that started each sub-agent."""
    return in_order(written_events(path, committed, damage), agents)


def in_order(events: Iterable[Event], agents: Mapping[str, str | None]) -> list[Event]:
    """Each event once, in its latest version, in reading order, with its turn."""
    main: list[Event] = []
    children: dict[str, list[Event]] = {}
    for event in _each_once(_by_source(events)):
        placed = event.agent_id is not None and (agents.get(event.agent_id) or not _is_main(event.source))
        (children.setdefault(event.agent_id or "", []) if placed else main).append(event)
    return _numbered(list(_with_children(main, children, agents)))


# --- one session in several sources ----------------------------------------------------------------------------------


def _by_source(events: Iterable[Event]) -> dict[str, dict[str, Event]]:
    """The events of each source by id: the last version, in the place of the first."""
    sources: dict[str, dict[str, Event]] = {}
    for event in events:
        of_source = sources.setdefault(event.source, {})
        before = of_source.get(event.event_id)
        if before is not None:
            event.sequence = min(before.sequence, event.sequence)
        of_source[event.event_id] = event
    return sources


def _each_once(sources: Mapping[str, Mapping[str, Event]]) -> Iterator[Event]:
    """The events of all sources, main sources first; copies and revisions of one source merged into one order."""
    families: dict[str, list[str]] = {}
    for source in sorted(sources):
        families.setdefault(_family(source), []).append(source)
    owner = {
        event_id: family  # what is in a sub-agent's own source stands there, not where it was embedded
        for family in sorted(families, key=lambda name: (name != MAIN, name))
        for source in families[family]
        for event_id in sources[source]
    }
    for family in sorted(families, key=lambda name: (name != MAIN, name)):
        lists = [
            sorted(
                (event for event in sources[source].values() if owner[event.event_id] == family),
                key=lambda event: event.sequence,
            )
            for source in families[family]
        ]
        yield from lists[0] if len(lists) == 1 else _merged(_told_once(lists))


def _told_once(lists: list[list[Event]]) -> list[list[Event]]:
    """Without what another source tells in another way.

    A host that says things on two channels has each in one event, of the telling that came first. Where a file was cut
    between the two, its second half begins with an event of the other one.
    """
    named = [{event.event_id for event in events} for events in lists]
    tellings: dict[tuple[str, str, str], list[_Telling]] = {}
    channels = False
    for at, events in enumerate(lists):
        for place, event in enumerate(events):
            channel = str((event.payload or {}).get("channel", ""))
            if channel and event.timestamp:
                channels = True
                key = event.event_type.value, event.actor.value, event.text or ""
                tellings.setdefault(key, []).append(_Telling(place, at, event.event_id, channel, event.timestamp))
            elif event.call_id and event.event_type in ACTIONS and event.timestamp:
                key = "", "", event.call_id
                told = _Telling(0, at, event.event_id, event.event_id, event.timestamp, one_call=True)
                tellings.setdefault(key, []).append(told)
            elif event.event_type is EventType.COMPACTION and event.timestamp:  # its summary, and then its record
                key = event.event_type.value, "", ""
                told = _Telling(place, at, event.event_id, event.event_id, event.timestamp)
                tellings.setdefault(key, []).append(told)
    if not channels:
        return lists
    gone = {second for same in tellings.values() if len(same) > 1 for second in _second_halves(same, named)}
    gone |= set(_their_results(lists, gone))
    _complete_summaries(lists, gone)
    return [[event for event in events if (at, event.event_id) not in gone] for at, events in enumerate(lists)]


def _second_halves(same: list[_Telling], named: list[set[str]]) -> set[tuple[int, str]]:
    """Of tellings of the same those that only repeat what another source tells."""
    gone: set[tuple[int, str]] = set()
    taken: set[tuple[int, str]] = set()
    # What stands nearest to the beginning of its source has lost its first telling; else what came later.
    later = sorted(same, key=lambda told: (told.time, len(told.name), told.name), reverse=True)
    for one in sorted(later, key=lambda told: told.place):
        for other in same:
            if (other.at, other.name) not in gone | taken and one.repeats(other, named):
                gone.add((one.at, one.name))
                taken.add((other.at, other.name))
                break
    return gone


def _their_results(lists: list[list[Event]], gone: set[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Results that came with such a call in one record, where they are told by another record as well.

    That a call goes on in the background is not yet its result.
    """
    told: dict[str, set[str]] = {}
    for events in lists:
        for event in events:
            ended = event.event_type is EventType.TOOL_RESULT and not (event.payload or {}).get("background")
            if ended and event.call_id:
                told.setdefault(event.call_id, set()).add(_record(event.event_id))
    calls = {(at, _record(name)) for at, name in gone}
    for at, events in enumerate(lists):
        for event in events:
            result = event.event_type is EventType.TOOL_RESULT and (at, _record(event.event_id)) in calls
            if result and len(told.get(event.call_id or "", ())) > 1:
                yield at, event.event_id


def _complete_summaries(lists: list[list[Event]], gone: set[tuple[int, str]]) -> None:
    """What only the record of a compaction says goes into the event that stays."""
    found = [(at, event) for at, events in enumerate(lists) for event in events]
    summaries = [(at, event) for at, event in found if event.event_type is EventType.COMPACTION and event.text]
    for at, second in summaries:
        for _, first in summaries:
            same = (at, second.event_id) in gone or second.event_id == first.event_id
            if same and first is not second and (first.text or "") in (second.text or ""):
                first.text, first.summary = second.text, second.summary


def _record(event_id: str) -> str:
    return event_id.partition(".")[0]


class _Telling(NamedTuple):
    """An event of which the host has said on which channel it is."""

    place: int
    at: int
    name: str
    channel: str
    time: str
    one_call: bool = False
    """The host has named the call, so that it is the same one however far apart the tellings are."""

    def repeats(self, other: _Telling, named: list[set[str]]) -> bool:
        """Whether it is the second half of a pair whose first half is in another source."""
        apart = self.at != other.at and self.channel != other.channel and self.place <= other.place
        if not apart or self.name in named[other.at] or other.name in named[self.at]:
            return False
        if self.one_call:
            return True
        between = datetime.fromisoformat(self.time[:-1]) - datetime.fromisoformat(other.time[:-1])
        return abs(between.total_seconds()) <= PAIR_SECONDS


def _merged(lists: list[list[Event]]) -> list[Event]:
    """Several orders as one that keeps each of them, joined at the events that they share.

    What no order decides comes by time. Two orders contradict each other where one of them begins behind the place at
    which an event was written first; the other one counts then. Of several versions the newest revision's stands,
    then the one with the most before it in its source: its reader knew more.
    """
    stands: dict[str, Event] = {}
    times: dict[str, str] = {}
    shared: dict[str, int] = {}
    for events in lists:
        time = next((event.timestamp for event in events if event.timestamp), "")
        for event in events:
            name, time = event.event_id, event.timestamp or time
            times[name] = min(times.get(name, time), time)
            shared[name] = shared.get(name, 0) + 1
            if name not in stands or _weight(stands[name]) < _weight(event):
                stands[name] = event
    merged: dict[str, Event] = {}
    places = [0] * len(lists)
    came: dict[str, int] = {}
    ready: list[tuple[str, str]] = []
    moved = list(range(len(lists)))
    while True:
        for at in moved:  # to what comes next in these orders; where all agree on it, it is ready
            following = _head(lists[at], places, at, merged)
            if following is not None:
                came[following] = came.get(following, 0) + 1
                if came[following] == shared[following]:
                    heappush(ready, (times[following], following))
        heads = {at: events[places[at]] for at, events in enumerate(lists) if places[at] < len(events)}
        if not heads:
            return list(merged.values())
        if ready:
            name = heappop(ready)[1]
        else:
            name = min((-places[at], head.timestamp or "", head.event_id) for at, head in heads.items())[2]
        merged[name] = stands[name]
        moved = [at for at, head in heads.items() if head.event_id == name]


def _head(events: list[Event], places: list[int], at: int, merged: Mapping[str, Event]) -> str | None:
    """What comes next in an order, behind everything that is merged already; moves its place there."""
    while places[at] < len(events):
        name = events[places[at]].event_id
        if name not in merged:
            return name
        places[at] += 1
    return None


def _family(source: str) -> str:
    """The key of a source without what tells its copies (`~`) and revisions (`@`) apart."""
    return source.partition("@")[0].partition("~")[0]


def _weight(event: Event) -> tuple[int, int, str]:
    """Which version of an event stands."""
    return int(event.source.partition("@")[2] or 0), event.sequence, event.source


def _is_main(source: str) -> bool:
    return _family(source) == MAIN


# --- sub-agents and turns --------------------------------------------------------------------------------------------


def _with_children(
    main: list[Event], children: dict[str, list[Event]], agents: Mapping[str, str | None]
) -> Iterator[Event]:
    """Each sub-agent's events behind the call that started it; those without a known call behind everything."""
    started: dict[str, list[str]] = {}
    for agent_id in children:
        call_id = agents.get(agent_id)
        if call_id:
            started.setdefault(call_id, []).append(agent_id)
    stack = [iter(main)]
    while stack or children:
        if not stack:
            stack.append(iter(children.pop(next(iter(children)))))
        event = next(stack[-1], None)
        if event is None:
            stack.pop()
            continue
        yield event
        if event.call_id in started and event.event_type.value != "tool_result":
            stack += [iter(children.pop(agent)) for agent in reversed(started.pop(event.call_id)) if agent in children]


def _numbered(events: list[Event]) -> list[Event]:
    """Turns counted through the session; a sub-agent's events belong to the turn of the call before them."""
    turn = 0
    for event in events:
        turn += is_prompt(event)
        event.turn = turn or None
    return events
