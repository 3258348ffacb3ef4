"""Finding turns by words: what is found, what is said about it, and that nothing typed can break it."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli_support import FIX, Retro, retro, root, swept
from retro.index.hits import Filters, Found
from retro.index.near import distance
from retro.index.query import parse, tokenizer
from retro.index.search import search
from retro.places import Places
from support import SESSION, answer, call, lines, prompt, result, sweep_up, transcript

__all__ = ["retro", "root", "swept"]

OTHER = "22222222-2222-4333-8444-555555555555"


def failed(text: str, number: int) -> dict[str, object]:
    block = {"type": "tool_result", "tool_use_id": f"toolu_{number - 1}", "content": text, "is_error": True}
    return prompt("", number) | {"message": {"role": "user", "content": [block]}}


def opened(root: Path) -> apsw.Connection:
    return apsw.Connection(Places(str(root)).index, flags=apsw.SQLITE_OPEN_READONLY)


@pytest.fixture
def index(tmp_path: Path) -> apsw.Connection:
    """Two sessions: one of three turns, one beside it."""
    transcript(
        tmp_path / "home",
        lines(
            prompt("why does the websocket drop its connection?", 1),
            call("Bash", {"command": "grep -rn reconnectDelay src"}, 2),
            result("src/net/client.py:12: reconnectDelay = 5", 3),
            answer("The websocket client gives up after one retry.", 4),
            prompt("add a retry to the websocket client", 5),
            call("Edit", {"file_path": "/home/dev/code/src/net/client.py", "old_string": "a", "new_string": "b"}, 6),
            failed("no such file", 7),
            answer("I added an exponential backoff.", 8),
            prompt("潮汐表を直してください", 9),
            answer("潮汐表を直しました。", 10),
        ),
    )
    beside = lines(prompt("rename the database column", 1), answer("Renamed it in the schema.", 2))
    transcript(tmp_path / "home", beside.replace(SESSION.encode(), OTHER.encode()), OTHER, "-home-dev-other")
    sweep_up(tmp_path / "archive", tmp_path / "home")
    return opened(tmp_path / "archive")


def turns(found: Found) -> list[int | None]:
    return [hit.turn for hit in found.hits if hit.session_id == SESSION]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("websocket retry", {1, 2}),
        ("websockets retrying", {1, 2}),
        ('"websocket client"', {1, 2}),
        ('"client websocket"', set()),
        ("websocket -exponential", {1}),
        ("expon*", {2}),
        ("reconnectDelay", {1}),
        ("reconnect_delay", {1}),
        ("src/net/client.py", {1, 2}),
        ("client.py:12", {1}),
        ("潮汐", {3}),
        ("表", {3}),
        ("database column", set()),
        ("WEBSOCKET exponential", {2}),
    ],
)
def test_what_finds_what(index: apsw.Connection, typed: str, expected: set[int]) -> None:
    found = search(index, typed)
    assert set(turns(found)) - {None} == expected


def test_words_that_stand_in_different_passages_of_one_turn_are_found_together(index: apsw.Connection) -> None:
    found = search(index, "drop gives")
    assert (turns(found), found.all_words) == ([1], True)


def test_where_no_turn_has_all_words_those_with_some_are_given(index: apsw.Connection) -> None:
    found = search(index, "exponential column")
    assert not found.all_words
    assert {(hit.session_id, hit.turn) for hit in found.hits} >= {(SESSION, 2), (OTHER, 1)}


def test_a_mistyped_word_finds_the_nearest(index: apsw.Connection) -> None:
    found = search(index, "webscoket backof")
    assert (turns(found)[0], found.used) == (2, {"webscoket": ["websocket"], "backof": ["backoff"]})


def test_exact_wants_the_words_as_they_are_typed(index: apsw.Connection) -> None:
    assert search(index, "retries", exact=True).hits == []
    assert sorted(filter(None, turns(search(index, "retry", exact=True)))) == [1, 2]
    assert search(index, "webscoket", exact=True).missing == ["webscoket"]


def test_a_question_finds_the_turn_that_says_most_of_it(index: apsw.Connection) -> None:
    found = search(index, "where did we add the exponential backoff to the retries?")
    assert turns(found)[0] == 2


def test_a_hit_names_the_events_behind_it_and_marks_the_words(index: apsw.Connection) -> None:
    (hit,) = search(index, "exponential").hits
    (snippet,) = hit.snippets
    assert [snippet.text[start:end] for start, end in snippet.marks] == ["exponential"]
    assert hit.events == [snippet.event_id]
    assert (hit.prompt, hit.files) == ("add a retry to the websocket client", ["/home/dev/code/src/net/client.py"])


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"host": "claude"}, [1, 2]),
        ({"host": "codex"}, []),
        ({"project": "code"}, [1, 2]),
        ({"project": "other"}, []),
        ({"tool": "bash"}, [1]),
        ({"file": "net/client"}, [2]),
        ({"errors": True}, [2]),
        ({"branch": "main"}, [1, 2]),
        ({"branch": "other"}, []),
        ({"model": "opus"}, [1, 2]),
        ({"since": "2026-02-02"}, []),
        ({"until": "2026-02-02"}, [1, 2]),
        ({"clones": [999]}, []),
    ],
)
def test_filters(index: apsw.Connection, filters: dict[str, object], expected: list[int]) -> None:
    found = search(index, "websocket", Filters(**filters))  # type: ignore[arg-type]
    assert sorted(turn for turn in turns(found) if turn) == expected


def test_sessions_instead_of_turns(index: apsw.Connection) -> None:
    hits = search(index, "websocket", by_session=True).hits
    assert [(hit.session_id, hit.turn) for hit in hits] == [(SESSION, None)]


# --- nothing typed can break it --------------------------------------------------------------------------------------

PARTS = [
    *('"', "'", "*", "-", "+", "^", ":", "(", ")", "{", "}", "NEAR", "AND", "OR", "NOT", "NEAR(a b, 3)", "prompt:"),
    *(
        "don't",
        "foo,bar",
        "a*b",
        "--x",
        "-",
        "\0",
        "\x1b[31m",
        "\ud800",
        "😀",
        "潮汐",
        "é",
        "İ",
        "ß",
        "\u202e",
        "\n",
        "\t",
    ),
    *("websocket", "retry", "the", "x" * 300, "a_b.c/d", "C++", "$x", "%s", "?", "zqh", "\x1e", "\x1f"),
]
typed = st.one_of(
    st.text(max_size=40),
    st.lists(st.sampled_from(PARTS), max_size=12).map(" ".join),
    st.lists(st.sampled_from(PARTS), max_size=12).map("".join),
    st.builds(lambda part, times: part * times, st.sampled_from(PARTS), st.integers(200, 1000)),
)


@settings(max_examples=700, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=typed, by_session=st.booleans(), exact=st.booleans())
def test_whatever_is_typed_is_only_looked_for(index: apsw.Connection, text: str, by_session: bool, exact: bool) -> None:
    found = search(index, text, by_session=by_session, exact=exact)
    for hit in found.hits:
        assert hit.session_id in (SESSION, OTHER)
        for snippet in hit.snippets:
            assert all(0 <= start < end <= len(snippet.text) for start, end in snippet.marks)


@pytest.mark.parametrize("text", ["", " ", '"', "-", '""', "-x", "*", "\0", "😀" * 50, "a" * 10_000], ids=range(10))
def test_the_command_gives_valid_output_for_anything(swept: Retro, text: str) -> None:
    done = swept("search", "--json", "--", text)
    assert done.code == (0 if text.strip() else 2)
    assert json.loads(done.out)


@given(st.text(st.sampled_from("abc"), max_size=7), st.text(st.sampled_from("abc"), max_size=7))
def test_a_distance_is_the_same_both_ways(one: str, other: str) -> None:
    steps = distance(one, other, 9)
    assert steps == distance(other, one, 9)
    assert (steps == 0) == (one == other)
    assert abs(len(one) - len(other)) <= steps <= max(len(one), len(other))
    assert distance(one, other, 1) == min(steps, 2)


def test_stop_words_alone_are_still_looked_for(index: apsw.Connection) -> None:
    words = tokenizer(index)
    assert [term.given for term in parse("what is the websocket?", words).wanted] == ["websocket?"]
    assert [term.given for term in parse("who are the", words).wanted] == ["who", "are", "the"]


# --- the command -----------------------------------------------------------------------------------------------------


def test_the_command_shows_turns_with_the_hit_marked(swept: Retro) -> None:
    said = swept.says("search", "missing", "tide", "--limit", "1")
    assert FIX[:8] in said
    assert "«" in said


def test_its_object(swept: Retro) -> None:
    found = swept.json("search", "last tide", "--limit", "1")
    (hit,) = found["hits"]
    assert (hit["session_id"], hit["project"], found["all_words"]) == (FIX, "tidebook", True)
    assert hit["events"]
    assert hit["snippets"][0]["marks"]


def test_a_turn_with_an_unwanted_word_anywhere_in_it_is_not_given(index: apsw.Connection) -> None:
    assert 1 in turns(search(index, "websocket drop"))
    assert 1 not in turns(search(index, "websocket drop -reconnectDelay"))


def test_a_word_with_a_minus_is_not_wanted(swept: Retro) -> None:
    with_it = {hit["session_id"] for hit in swept.json("search", "tide", "--sessions")["hits"]}
    without = {hit["session_id"] for hit in swept.json("search", "tide", "-missing", "--sessions")["hits"]}
    assert without < with_it


def test_nothing_found_is_no_error(swept: Retro) -> None:
    assert swept.json("search", "xyzzyplugh")["hits"] == []
    assert "retro grep" in swept.says("search", "xyzzyplugh")
    assert swept("search").code == 2


# --- what must always be found ---------------------------------------------------------------------------------------


@pytest.mark.corpus
def test_the_words_of_every_final_answer_find_its_turn(corpus: Path, tmp_path: Path) -> None:
    """Also in an archive whose sources are gone: nothing of them is looked at."""
    sweep_up(tmp_path / "archive", corpus / "claude-code" / "real" / "home")
    connection = opened(tmp_path / "archive")
    query = (
        "SELECT session_id, max(turn), answer FROM turn JOIN session ON session.id = turn.session"
        " WHERE answer IS NOT NULL GROUP BY session.id"
    )
    missed = []
    for session_id, turn, said in list(connection.execute(query)):
        told = " ".join(said.split()[-25:])
        same = "SELECT session_id, turn FROM turn JOIN session ON session.id = session WHERE answer = ?"
        copies = list(connection.execute(same, (said,)))
        found = search(connection, told, limit=10)
        if not {(hit.session_id, hit.turn) for hit in found.hits} & {(session_id, turn), *copies}:
            missed.append((session_id, turn, told))
    assert missed == []
