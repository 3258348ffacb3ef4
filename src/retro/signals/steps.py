"""The steps of a session as signals look at them: columns to search through, and single steps with names."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain, compress, groupby, islice, pairwise
from operator import eq
from typing import Final, NamedTuple

from retro.track.columns import CATEGORIES, NO_EXIT, NO_TIME, PROMPT, Columns, Flag, Track, columns_of, key_of

_NAMES: Final = {letter: name for name, letter in CATEGORIES.items()}


class Step(NamedTuple):
    """One step, or the person's words between two."""

    place: int
    category: str
    """explore, locate, search, reproduce, fix, test, refactor, explain, permission, error, other; or `prompt`."""
    flags: int
    """What `Flag` names."""
    exit_code: int | None
    time: int | None
    """In milliseconds since 1970."""
    action: int
    """The same number for the same action."""
    event_id: str

    def has(self, flag: int) -> bool:
        """Whether one of these flags is set."""
        return bool(self.flags & flag)


class Steps:
    """All steps in the session's order."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self.kinds: str = "".join(columns.kinds)
        """A letter for each, see `CATEGORIES`."""
        self.flags: array[int] = columns.flags
        self.times: array[int] = columns.times
        self.actions: array[int] = columns.actions

    def __len__(self) -> int:
        return len(self.flags)

    def __iter__(self) -> Iterator[Step]:
        return map(self.at, range(len(self.flags)))

    def at(self, place: int) -> Step:
        """A step by its place."""
        columns, when = self._columns, self.times[place]
        code = columns.exits[place]
        return Step(
            place,
            _NAMES.get(self.kinds[place], "prompt"),
            self.flags[place],
            None if code == NO_EXIT else code,
            None if when == NO_TIME else when,
            self.actions[place],
            columns.ids[place],
        )

    def where(self, flag: int, without: int = 0, *, all_of: int = 0) -> list[int]:
        """The places of steps with one of these flags and none of those, which have `all_of` as well."""
        wanted = (
            places
            for flags, places in self._places.items()
            if flags & flag and not flags & without and flags & all_of == all_of
        )
        return sorted(chain.from_iterable(wanted))

    @cached_property
    def edits(self) -> list[int]:
        """The places of edits that were made: calls of edit tools that did not fail, and commands that write files."""
        return self._done(Flag.EDIT)

    @cached_property
    def reads(self) -> list[int]:
        """The places of what read files: calls of tools that did not fail, and commands that print files."""
        return self._done(Flag.READ)

    def _done(self, flag: int) -> list[int]:
        """What has a flag and was done; a command may fail and have done it nevertheless."""
        tools = self.where(flag, without=Flag.COMMAND | Flag.FAILED | Flag.REJECTED | Flag.BY_PERSON)
        commands = self.where(flag, without=Flag.REJECTED | Flag.BY_PERSON, all_of=Flag.COMMAND)
        return sorted(tools + commands)

    @cached_property
    def calls(self) -> list[int]:
        """The places of the agent's calls, without words, errors and permissions."""
        return self.where(Flag.ACTION, without=Flag.BY_PERSON)

    @cached_property
    def called(self) -> list[int]:
        """What each of those does: the same number for the same action."""
        return list(map(self.actions.__getitem__, self.calls))

    @cached_property
    def same(self) -> bytes:
        """For each of those but the first, whether it is the same as the one before: 1, or 0."""
        return bytes(map(eq, self.called, islice(self.called, 1, None)))

    @cached_property
    def _places(self) -> dict[int, list[int]]:
        """The places of the steps with the same flags: there are thousands of steps, and a few dozen of these."""
        found: dict[int, list[int]] = {flags: [] for flags in set(self.flags)}
        note = {flags: places.append for flags, places in found.items()}
        for at, flags in enumerate(self.flags):
            note[flags](at)
        return found

    def events(self, places: Iterable[int]) -> Iterator[str]:
        """The events of some steps."""
        return map(self._columns.ids.__getitem__, places)

    def files(self, places: Iterable[int], *, changed: bool) -> tuple[dict[int, int], int]:
        """The files that steps change or read, each by its number, with the place that touched it first; and how many
        of the steps name one."""
        wanted = {place * 2 + changed for place in places}
        touching = list(self._columns.touching)
        chosen = bytes(map(wanted.__contains__, touching))
        at = list(compress(touching, chosen))
        first = dict(zip(reversed(list(compress(self._columns.files, chosen))), reversed(at), strict=True))
        return {file: place >> 1 for file, place in first.items()}, len(set(at))

    @property
    def own(self) -> Iterator[int]:
        """The places of what the agent and its sub-agents did: without prompts and commands of the person's."""
        return chain.from_iterable(self._stretches)

    def rank(self, place: int) -> int:
        """How many of those come before a place."""
        return place - bisect_left(self._borders, place)

    @cached_property
    def trajectory(self) -> str:
        """The letters of those."""
        return "".join(self.kinds[part.start : part.stop] for part in self._stretches)

    def of(self, letter: str) -> Iterator[int]:
        """The places of those of one category."""
        person = Flag.BY_PERSON
        return (at for at in _found(self.kinds, letter) if not self.flags[at] & person)

    @cached_property
    def _stretches(self) -> list[range]:
        """Places of the agent's, one behind the other, that nothing of the person's interrupts."""
        return _between(self._borders, len(self))

    def agents_between(self, starts: list[int], ends: list[int]) -> int:
        """How many of the agent's steps lie from each start up to its end: stretches in order that do not overlap."""
        inside = 0
        for border in self._borders:
            at = bisect_right(starts, border) - 1
            inside += at >= 0 and border < ends[at]
        return sum(ends) - sum(starts) - inside

    @cached_property
    def _borders(self) -> list[int]:
        """The places of what is not the agent's."""
        return sorted({*self._prompts, *self.where(Flag.BY_PERSON)})

    @cached_property
    def turns(self) -> list[tuple[int, int]]:
        """The places of each turn, from behind its prompt to before the next; so is what comes before the first."""
        return [(part.start, part.stop) for part in _between(self._prompts, len(self))]

    @cached_property
    def _prompts(self) -> list[int]:
        return list(_found(self.kinds, PROMPT))


def _found(text: str, letter: str) -> Iterator[int]:
    """Where a letter stands."""
    at = text.find(letter)
    while at >= 0:
        yield at
        at = text.find(letter, at + 1)


def _between(borders: list[int], end: int) -> list[range]:
    """What lies between some places."""
    starts = (0, *(border + 1 for border in borders))
    return [range(start, stop) for start, stop in zip(starts, (*borders, end), strict=True) if start < stop]


def steps_of(tracks: list[tuple[bool, Track]], calls: Mapping[str, str | None]) -> Steps:
    """The steps of a session's sources, main sources (True) first: sub-agents' behind the calls that started them."""
    whole, runs, starts = Columns(), list[tuple[str, range]](), dict[int, int]()
    for is_main, track in tracks:
        columns, base = columns_of(track), len(whole)
        if base:
            whole.extend(columns)
        else:
            whole = columns
        starts |= {key: base + place for key, place in track.starts.items()}
        for agent, steps in groupby(columns.agents):
            name = track.agents[agent - 1] if agent else ""
            end = base + len(list(steps))
            runs.append((name if name and (calls.get(name) or not is_main) else "", range(base, end)))
            base = end
    order = _order(runs, starts, calls) if any(owner for owner, _ in runs) else []
    as_they_are = all(one.stop == following.start for one, following in pairwise(order))
    return Steps(whole if as_they_are else _ordered(whole, order))


def _order(runs: list[tuple[str, range]], starts: Mapping[int, int], calls: Mapping[str, str | None]) -> list[range]:
    """The places of all steps, each sub-agent's behind the step that started it; those without one at the end.

    `runs` are places one behind the other, each with its owner.
    """
    started: dict[int, list[str]] = {}
    for agent in dict.fromkeys(owner for owner, _ in runs if owner):
        call = calls.get(agent)
        begun = starts.get(key_of(call)) if call else None
        if begun is not None:
            started.setdefault(begun, []).append(agent)
    main, children, cuts = list[range](), dict[str, list[range]](), sorted(started)
    for owner, run in runs:
        (children.setdefault(owner, []) if owner else main).extend(_cut(run, cuts))
    order, stack = list[range](), [iter(main)]
    while stack or children:
        if not stack:
            stack.append(iter(children.pop(next(iter(children)))))
        following = next(stack[-1], None)
        if following is None:
            stack.pop()
            continue
        order.append(following)
        stack += [iter(children.pop(agent)) for agent in reversed(started.pop(following[-1], [])) if agent in children]
    return order


def _cut(run: range, places: list[int]) -> Iterator[range]:
    """A run in pieces that end behind some places; these are sorted."""
    start = run.start
    for place in places[bisect_left(places, run.start) : bisect_left(places, run.stop - 1)]:
        yield range(start, place + 1)
        start = place + 1
    yield range(start, run.stop)


def _ordered(columns: Columns, order: list[range]) -> Columns:
    """Columns in another order."""
    sorted_ = Columns()
    for part in order:
        first = bisect_left(columns.touching, part.start * 2)
        last = bisect_left(columns.touching, part.stop * 2, first)
        moved = (len(sorted_) - part.start) * 2
        sorted_.touching.extend([one + moved for one in columns.touching[first:last]])
        sorted_.files += columns.files[first:last]
        places = slice(part.start, part.stop)
        sorted_.kinds += columns.kinds[places]
        sorted_.ids += columns.ids[places]
        for name in ("exits", "times", "actions", "agents", "flags"):
            getattr(sorted_, name).extend(getattr(columns, name)[places])
    return sorted_
