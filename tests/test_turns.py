"""Turns and tallies: what the events of a session add up to."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retro.event import Actor, Event, EventType, Origin, Usage
from retro.turns import FILES, TEXT, Fold, FoldState, Tally, TurnRow, fold, is_prompt, record_key
from test_reading import event, prompt


def usage(usage_id: str, turn: int | None, output: int, line: int = 1) -> Usage:
    return Usage(
        usage_id=usage_id,
        session_id="s",
        host="claude",
        source="main",
        line=line,
        timestamp=None,
        model=None,
        turn=turn,
        output_tokens=output,
    )


def folded(events: list[Event], used: list[Usage] | None = None) -> Fold:
    folder = Fold(FoldState(), None)
    for found in events:
        folder.add(found)
    for one in used or ():
        folder.add_usage(one)
    return folder


def in_turn(turn: int, found: Event) -> Event:
    found.turn = turn
    return found


@pytest.mark.parametrize(
    ("change", "opens"),
    [
        ({}, True),
        ({"origin": Origin.MACHINE}, False),
        ({"origin": None}, False),
        ({"actor": Actor.SYSTEM}, False),
        ({"event_type": EventType.COMMAND}, False),
        ({"agent_id": "x"}, False),
        ({"payload": {"memory": True}}, False),
        ({"payload": {"slash_command": "/x"}}, True),
    ],
)
def test_only_a_persons_words_open_a_turn(change: dict[str, object], opens: bool) -> None:
    assert is_prompt(msgspec.structs.replace(prompt("p", 0), **change)) == opens


def test_a_turn_counts_what_happens_in_it() -> None:
    events = [
        in_turn(1, prompt("p", 0)),
        in_turn(1, event("cmd", 1, event_type=EventType.COMMAND, timestamp="2026-01-01T00:00:01.000Z")),
        in_turn(1, event("bad", 2, event_type=EventType.TOOL_RESULT, exit_code=2)),
        in_turn(1, event("edit", 3, event_type=EventType.FILE_EDIT, paths=["/a", "/a", "/b"])),
        in_turn(1, event("err", 4, event_type=EventType.ERROR, actor=Actor.SYSTEM)),
        in_turn(1, event("one", 5, text="first words")),
        in_turn(1, event("two", 6, text="last words", timestamp="2026-01-01T00:00:09.000Z")),
        in_turn(2, prompt("q", 7)),
    ]
    folder = folded(events)
    first, second = (row.turn for row in folder.changed.values())
    assert (first.event_id, first.events, first.actions, first.commands, first.edits, first.errors) == (
        "p",
        7,
        2,
        1,
        1,
        2,
    )
    assert (first.answer, first.files, first.first_sequence, first.last_sequence) == ("last words", ["/a", "/b"], 0, 6)
    assert (first.started, first.ended) == ("2026-01-01T00:00:01.000Z", "2026-01-01T00:00:09.000Z")
    assert (second.turn, second.event_id, second.events) == (2, "q", 1)
    assert folder.state.tally == Tally(8, 2, 1, 1, 2, "2026-01-01T00:00:01.000Z", "2026-01-01T00:00:09.000Z")


def test_what_is_kept_of_a_turn_is_bounded() -> None:
    folder = folded(
        [
            in_turn(1, event("p", 0, text="x" * (TEXT + 1))),
            in_turn(1, event("e", 1, event_type=EventType.FILE_EDIT, paths=[f"/{n}" for n in range(FILES + 9)])),
        ]
    )
    turn = folder.changed[1].turn
    assert (len(turn.prompt), len(turn.files)) == (TEXT, FILES)


def test_an_event_that_comes_again_is_not_counted_again() -> None:
    folder = folded([in_turn(1, prompt("p", 0)), in_turn(1, event("a", 1)), in_turn(1, event("a", 1))])
    assert (folder.state.tally.events, folder.changed[1].turn.events) == (2, 2)


def test_of_the_snapshots_of_a_request_the_largest_counts() -> None:
    used = [usage("r", 1, 5), usage("r", 1, 20), usage("r", 1, 7), usage("other", 1, 1), usage("nowhere", None, 100)]
    assert folded([in_turn(1, prompt("p", 0))], used).changed[1].turn.output_tokens == 21


def test_tokens_of_a_turn_count_even_if_they_come_with_the_next_one() -> None:
    before = folded([in_turn(1, prompt("p", 0))])
    after = Fold(before.state, before.last)
    after.add(in_turn(2, prompt("q", 1)))
    after.add_usage(usage("r", 1, 20))
    assert {number: row.turn.output_tokens for number, row in after.take().items()} == {1: 20, 2: 0}


def test_a_record_that_gives_several_events_is_noted_once() -> None:
    folder = folded([in_turn(1, prompt("p", 0)), in_turn(1, event("a", 1)), in_turn(1, event("a.1", 2))])
    assert folder.changed[1].records == record_key("p") + record_key("a")


@given(
    st.lists(st.sampled_from(["prompt", "message", "command", "edit", "error", "again"]), max_size=30),
    st.lists(st.integers(0, 30), max_size=4),
)
def test_folding_in_parts_is_folding_at_once(kinds: list[str], cuts: list[int]) -> None:
    events: list[Event] = []
    turn = 0
    for number, kind in enumerate(kinds):
        if kind == "again" and events:
            events.append(events[-1])
            continue
        turn += kind == "prompt"
        made = event(f"e{number}", number, event_type=TYPES.get(kind, EventType.MESSAGE))
        made.turn = turn or None
        events.append(made)
    at_once = folded(events)
    state, last, rows = FoldState(), None, dict[int, TurnRow]()
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(events)], strict=True):
        part = Fold(msgspec.msgpack.decode(msgspec.msgpack.encode(state), type=FoldState), last)
        for found in events[start:end]:
            part.add(found)
        state, last = part.state, part.last
        rows.update(part.changed)
    assert (state, rows) == (at_once.state, at_once.changed)


TYPES = {"command": EventType.COMMAND, "edit": EventType.FILE_EDIT, "error": EventType.ERROR}


def test_a_whole_session_is_folded_in_reading_order() -> None:
    """Sequences come from several sources there: the place in the reading order counts."""
    events = [
        in_turn(1, prompt("p", 5)),
        in_turn(1, event("x", 0, "agent-x", agent_id="x")),
        in_turn(2, prompt("q", 6)),
    ]
    rows, tally = fold(events)
    assert [(row.turn.turn, row.turn.first_sequence, row.turn.last_sequence) for row in rows] == [(1, 0, 1), (2, 2, 2)]
    assert (tally.events, tally.turns) == (3, 2)
    assert [found.sequence for found in events] == [5, 0, 6]
