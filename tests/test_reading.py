"""A session's events as one story: each once, sub-agents where they were called, turns counted through."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from retro.archive.frames import FrameWriter
from retro.archive.normalised import EventWriter
from retro.archive.reading import in_order, session_events, written_events
from retro.event import Actor, Event, EventType, Origin, RawRef


def event(event_id: str, sequence: int, source: str = "main", **more: object) -> Event:
    """An event of no importance."""
    fields: dict[str, object] = {
        "schema": 1,
        "event_id": event_id,
        "session_id": "s",
        "host": "claude",
        "source": source,
        "sequence": sequence,
        "timestamp": None,
        "actor": Actor.ASSISTANT,
        "event_type": EventType.MESSAGE,
        "summary": event_id,
        "raw_ref": RawRef(source, sequence + 1, 0, 1),
        **more,
    }
    return Event(**fields)  # type: ignore[arg-type]


def prompt(event_id: str, sequence: int, source: str = "main") -> Event:
    return event(event_id, sequence, source, actor=Actor.USER, origin=Origin.HUMAN)


def start(event_id: str, sequence: int, call_id: str, source: str = "main", **more: object) -> Event:
    return event(event_id, sequence, source, event_type=EventType.SUBAGENT_START, call_id=call_id, **more)


def ids(events: list[Event]) -> list[str]:
    return [found.event_id for found in events]


def test_the_later_line_of_an_event_wins_and_keeps_its_place() -> None:
    events = in_order([event("a", 0, text="old"), event("b", 1), event("a", 0, text="new")], {})
    assert [(found.event_id, found.text) for found in events] == [("a", "new"), ("b", None)]


def test_sub_agents_stand_behind_the_call_that_started_them() -> None:
    written = [
        event("x1", 0, "agent-x", agent_id="x"),
        start("y-call", 1, "c2", "agent-x", agent_id="x"),
        event("x2", 2, "agent-x", agent_id="x"),
        prompt("p", 0),
        start("x-call", 1, "c1"),
        event("after", 2, event_type=EventType.TOOL_RESULT, call_id="c1"),
        event("y1", 0, "agent-y", agent_id="y"),
        event("z1", 0, "agent-z", agent_id="z"),
    ]
    events = in_order(written, {"x": "c1", "y": "c2", "z": None})
    assert ids(events) == ["p", "x-call", "x1", "y-call", "y1", "x2", "after", "z1"]
    assert {found.turn for found in events} == {1}


def test_agents_that_call_each_other_are_read_once() -> None:
    written = [
        start("x-call", 0, "c1", "agent-y", agent_id="y"),
        start("y-call", 0, "c2", "agent-x", agent_id="x"),
        start("own", 1, "c3", "agent-z", agent_id="z"),
    ]
    events = in_order(written, {"x": "c1", "y": "c2", "z": "c3"})
    assert sorted(ids(events)) == ["own", "x-call", "y-call"]


def test_a_sub_agents_own_file_is_believed_before_what_others_hold_of_it() -> None:
    embedded = event("e", 5, text="short", agent_id="x")
    own = event("e", 0, "agent-x", text="whole", agent_id="x")
    for written in ([embedded, own], [own, embedded]):
        assert [found.text for found in in_order(written, {"x": None})] == ["whole"]


def test_a_newer_revision_is_believed_and_an_older_one_not_forgotten() -> None:
    old = [event("a", 0, text="one"), event("gone", 1), event("b", 2)]
    new = [event("a", 0, "main@1", text="two"), event("b", 1, "main@1"), event("c", 2, "main@1")]
    for written in ([*old, *new], [*new, *old]):
        events = in_order(written, {})
        assert {found.event_id: found.source for found in events} == {
            "gone": "main",
            "a": "main@1",
            "b": "main@1",
            "c": "main@1",
        }
        assert len(events) == 4


def test_revisions_are_numbers() -> None:
    written = [event("a", 0, f"main@{number}") for number in (9, 10, 2)]
    assert [found.source for found in in_order(written, {})] == ["main@10"]


def test_turns_are_counted_through_sources() -> None:
    written = [prompt("p1", 0), event("a1", 1), prompt("p2", 2), prompt("p3", 0, "main@1"), event("none", 0, "other")]
    events = in_order(written, {})
    assert [(found.event_id, found.turn) for found in events] == [
        ("p1", 1),
        ("a1", 1),
        ("p2", 2),
        ("p3", 3),
        ("none", 3),
    ]


@given(
    st.lists(
        st.builds(
            event,
            st.sampled_from("abcdefgh"),
            st.integers(0, 9),
            st.sampled_from(["main", "main@1", "main~1f", "agent-x", "agent-y", "z"]),
            agent_id=st.sampled_from([None, "x", "y"]),
            call_id=st.sampled_from([None, "c1", "c2"]),
            event_type=st.sampled_from([EventType.MESSAGE, EventType.SUBAGENT_START, EventType.TOOL_RESULT]),
        ),
        max_size=20,
    ),
    st.fixed_dictionaries({"x": st.sampled_from([None, "c1", "c2"]), "y": st.sampled_from([None, "c1", "c2"])}),
)
def test_every_event_is_read_exactly_once(written: list[Event], agents: dict[str, str | None]) -> None:
    events = in_order(written, agents)
    assert sorted(ids(events)) == sorted({found.event_id for found in written})


def test_events_come_back_as_they_were_written(tmp_path: Path) -> None:
    path = str(tmp_path / "events.zst")
    given_events = [
        prompt("p", 0),
        event("a", 1, text="naïve ☃\nline\r\n\u2028 end", payload={"n": 1.5, "list": [None, True, "x"]}),
        event("big", 2, text="x" * 1_500_000),
        event("a", 1, text="again"),
    ]
    frames = FrameWriter(path, 0, b"")
    counted: list[str] = []
    writer = EventWriter(frames, lambda found: counted.extend(event.event_id for event in found))
    writer.add(given_events)
    writer.flush()
    frames.close()
    assert list(written_events(path)) == given_events
    assert counted == ids(given_events)
    assert (writer.count, frames.frames) == (4, 3)
    assert ids(session_events(path, {})) == ["p", "a", "big"]
    assert [found.text for found in session_events(path, {})][1] == "again"


def test_what_is_dropped_was_never_written(tmp_path: Path) -> None:
    path = str(tmp_path / "events.zst")
    frames = FrameWriter(path, 0, b"")
    counted: list[str] = []
    writer = EventWriter(frames, lambda found: counted.extend(event.event_id for event in found))
    writer.add([event("kept", 0)])
    writer.flush()
    writer.add([event("dropped", 1)])
    writer.drop()
    writer.flush()
    frames.close()
    assert ids(list(written_events(path))) == counted == ["kept"]
