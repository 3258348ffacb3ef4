"""Passages: what of a session's events is indexed, and in what portions."""

from __future__ import annotations

import os
from pathlib import Path

import apsw
import msgspec
from hypothesis import given
from hypothesis import strategies as st

from retro.event import Actor, Event, EventType, Origin
from retro.index import passages
from retro.index.database import open_writer
from retro.index.passages import Scope
from retro.passages import CUT, HEAD, SIZE, TAIL, Passage, Passages, Piece, cut_whole, packed, unpacked
from retro.passages import columns as columns_of
from retro.terms import ANSWER, COMMAND, ERROR, NAMES, OUTPUT, PROMPT, pieces
from retro.turns import FoldState
from test_reading import event

SCOPE = Scope("claude", None, None, None)
words = st.text(st.sampled_from("ab é漢\n \x1e\x1f\0𝒳"), max_size=60)
texts = st.one_of(words, st.builds(lambda text, times: text * times, words, st.integers(50, 400)))


def columns(passage: Passage) -> dict[int, str]:
    return {place: text for place, text in enumerate(passage.columns, PROMPT) if text}


def one(found: Event) -> dict[int, str]:
    (passage,) = cut_whole([found])
    return columns(passage)


rarely = st.sampled_from([None, None, None, "one", "other"])


@st.composite
def sessions(draw: st.DrawFn) -> list[Event]:
    turn = 0
    made = []
    for sequence in range(draw(st.integers(1, 12))):
        actor = draw(st.sampled_from([Actor.USER, Actor.ASSISTANT, Actor.TOOL]))
        turn += actor is Actor.USER
        kind = EventType.TOOL_RESULT if actor is Actor.TOOL else EventType.MESSAGE
        origin = Origin.HUMAN if actor is Actor.USER else None
        made.append(
            event(
                f"e{sequence}",
                sequence,
                text=draw(texts),
                actor=actor,
                event_type=kind,
                origin=origin,
                turn=turn or None,
                model=draw(rarely),
                branch=draw(rarely),
                tool=draw(rarely),
                paths=draw(st.sampled_from([None, None, ["a"], ["b", "a"]])),
            )
        )
    return made


def test_each_kind_of_event_has_its_column() -> None:
    human = {"actor": Actor.USER, "origin": Origin.HUMAN}
    result = {"event_type": EventType.TOOL_RESULT, "actor": Actor.TOOL}
    assert one(event("a", 0, text="fix it", **human)) == {PROMPT: "fix it"}
    assert one(event("a", 0, text="done")) == {ANSWER: "done"}
    assert one(event("a", 0, event_type=EventType.COMMAND, command="ls -l")) == {COMMAND: "ls -l"}
    assert one(event("a", 0, text="a.py", **result)) == {OUTPUT: "a.py"}
    assert one(event("a", 0, text="no such file", exit_code=1, **result)) == {ERROR: "no such file"}
    read = event("a", 0, event_type=EventType.FILE_READ, summary="Read x", paths=["src/parseHTTPHeader.py"])
    assert one(read) == {COMMAND: "Read x", NAMES: "src/parseHTTPHeader.py parse HTTP Header"}


def test_the_middle_of_a_long_output_is_left_out_and_that_is_said() -> None:
    found = one(event("a", 0, event_type=EventType.TOOL_RESULT, text="x" * 5000 + "y" * 5000))
    assert found == {OUTPUT: "x" * HEAD + CUT + "y" * TAIL}


def test_an_answer_is_indexed_to_its_last_word() -> None:
    text = "".join(f"line {number} of it\n" for number in range(3000))
    passages = cut_whole([event("a", 0, text=text)])
    assert "".join(piece.text for passage in passages for piece in unpacked(passage.body)) == text
    assert len(passages) > len(text) // SIZE


def test_a_passage_holds_events_of_one_turn() -> None:
    passages = cut_whole([event("a", 0, text="one", turn=1), event("b", 1, text="two", turn=2)])
    assert [(passage.turn, passage.open) for passage in passages] == [(1, False), (2, True)]


def test_a_later_version_of_an_event_takes_the_place_of_the_earlier_one() -> None:
    assert one(event("a", 0, text="do")) == {ANSWER: "do"}
    (passage,) = cut_whole([event("a", 0, text="do"), event("a", 0, text="done")])
    assert unpacked(passage.body) == [Piece("a", ANSWER, "done")]


@given(sessions())
def test_no_passage_is_longer_than_it_may_be(events: list[Event]) -> None:
    for passage in cut_whole(events):
        assert sum(len(piece.text.encode()) for piece in unpacked(passage.body)) <= SIZE
        assert len({piece.event_id for piece in unpacked(passage.body)} & {found.event_id for found in events})


@given(sessions(), st.data())
def test_in_however_many_sweeps_it_comes_the_passages_are_the_same(events: list[Event], data: st.DataObject) -> None:
    """The last passage is taken back and replaced; a closed one is never made again."""
    cuts = sorted(data.draw(st.sets(st.integers(1, len(events)), max_size=4)) | {len(events)})
    kept: dict[int, Passage] = {}
    last: Passage | None = None
    told = FoldState()
    for start, end in zip([0, *cuts], cuts, strict=False):
        builder = Passages("", last, told)
        for found in events[start:end]:
            builder.add(found)
        for passage in builder.taken():
            assert passage.number not in kept or kept[passage.number].open
            kept[passage.number] = last = passage
    assert list(kept.values()) == cut_whole(events)


@given(st.lists(st.tuples(st.text(st.sampled_from("abé"), max_size=9), st.integers(0, 6), st.text(max_size=50))))
def test_what_is_packed_comes_back(given_pieces: list[tuple[str, int, str]]) -> None:
    pieces = [
        Piece(name, column, "".join(c for c in text if c not in "\x1e\x1f")) for name, column, text in given_pieces
    ]
    assert not pieces or unpacked(packed(pieces)) == pieces


@given(st.lists(st.text("aAbB12", min_size=1, max_size=20), max_size=8), st.sampled_from((" ", "/", "_", "é", "漢")))
def test_names_are_found_by_the_words_in_them(words: list[str], between: str) -> None:
    capitals = [word for word in dict.fromkeys(words) if _has_a_word_within(word)]
    found = columns_of([Piece("e-1", OUTPUT, between.join(words))], [])[NAMES - 1]
    assert found == " ".join(piece for word in capitals for piece in pieces(word))


def _has_a_word_within(name: str) -> bool:
    pairs = list(zip(name, [*name[1:], ""], [*name[2:], "", ""], strict=False))
    return any(
        (here.isupper() and not before.isupper()) or (before.isupper() and here.isupper() and after.islower())
        for before, here, after in pairs
    )


def test_a_passage_survives_the_way_between_processes() -> None:
    (passage,) = cut_whole([event("a", 0, text="done")])
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(passage), type=Passage) == passage


def test_the_words_of_many_passages_make_one_segment(tmp_path: Path) -> None:
    index = open_writer(str(tmp_path / "index.sqlite"))
    scope = Scope("claude", None, None, None)
    with index:
        passages.begin(index)
        intake = passages.Intake(index)
        for number in range(1, 30):
            query = "INSERT INTO session (id, host, session_id, captured) VALUES (?, 'claude', ?, '') RETURNING id"
            index.execute(query, (number, str(number))).fetchall()
            (passage,) = cut_whole([event("e", 0, text=f"word{number}", actor=Actor.ASSISTANT)])
            intake.put(number, passage, scope)
        intake.settle()
    assert index.execute("SELECT count(DISTINCT segid) FROM passage_text_idx").get == 1
    assert index.execute("SELECT group_concat(rowid) FROM passage_text WHERE passage_text MATCH 'word7'").get == "7"
    index.close()


def put_in(index: apsw.Connection, numbers: range) -> None:
    """A sweep of a session, as far as its words go."""
    passages.begin(index)
    intake = passages.Intake(index)
    with index:
        for number in numbers:
            index.execute(
                "INSERT OR IGNORE INTO session (id, host, session_id, captured) VALUES (1, 'claude', 's', '')"
            )
            text = " ".join(f"word{number * 7 + at * at}" for at in range(60))
            intake.put(1, Passage("", number, 1, b"", columns_of([Piece("e", ANSWER, text)], [])), SCOPE)
        intake.settle()


def segments(index: apsw.Connection) -> int:
    return int(index.execute("SELECT count(DISTINCT segid) FROM passage_text_idx").get)


def test_no_small_sweep_merges_the_whole_index_and_segments_stay_few(tmp_path: Path) -> None:
    index = open_writer(str(tmp_path / "index.sqlite"))
    index.wal_autocheckpoint(0)
    put_in(index, range(12000))
    passages.gather(index)
    put_in(index, range(12000, 13000))
    passages.settle(index)
    whole = index.execute("SELECT count(*) FROM passage_text_data").get
    assert whole > 8 * passages.STEP
    most, left = 0, 0
    for number in range(13000, 13400):
        index.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        put_in(index, range(number, number + 1))
        passages.keep_up(index)
        most = max(most, os.path.getsize(tmp_path / "index.sqlite-wal") // 4096)
        left = max(left, segments(index))
    assert most < 8 * passages.STEP, "pages written: those that came of it, those merged, those no longer needed"
    assert left < 30
    assert not list(passages.check(index))
    index.close()


def test_a_first_load_that_died_goes_on_as_one(tmp_path: Path) -> None:
    index = open_writer(str(tmp_path / "index.sqlite"))
    assert passages.begin(index)
    put_in(index, range(20))
    assert passages.begin(index), "it was not settled"
    put_in(index, range(20, 40))
    passages.gather(index)
    passages.settle(index)
    assert segments(index) == 1
    assert not passages.begin(index)
    index.close()


def test_a_passage_goes_with_its_words_even_before_they_are_in(tmp_path: Path) -> None:
    index = open_writer(str(tmp_path / "index.sqlite"))
    with index:
        intake = passages.Intake(index)
        index.execute("INSERT INTO session (id, host, session_id, captured) VALUES (1, 'claude', 's', '')")
        (passage,) = cut_whole([event("e", 0, text="missing", actor=Actor.ASSISTANT)])
        intake.put(1, passage, Scope("claude", None, None, None))
        intake.take_out("DELETE FROM passage WHERE id = ?", [(1,)])
        intake.settle()
    assert not index.execute("SELECT rowid FROM passage_text WHERE passage_text MATCH 'missing'").fetchall()
    index.close()
