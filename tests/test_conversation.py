"""What of a conversation answers a question: who speaks, what was asked before, times, numbers; odd forms of words."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retro import conversation
from retro.conversation import Turn, heard, lent, turns_of, wish
from retro.foreign import Document, Library
from retro.index.forms import forms
from retro.index.query import stems

TALK = (
    "Ann: Hey Ben! I went to the harbour festival last Saturday.",
    "Ben: Nice! Who did you take along?",
    "Ann: My cousin Zoe. She ate eleven oysters.",
    "Ben: Ha! I would rather stay at home with a book.",
    "Ann: You always say so. Which one is it at the moment?",
    "Ben: One about lighthouses, my mum gave it to me.",
)


def found(question: str, talk: tuple[str, ...] = TALK) -> str:
    library = Library(Document(f"D1:{at}", text) for at, text in enumerate(talk, 1))
    ids = library.find(question, 10)
    return talk[int(ids[0].rpartition(":")[2]) - 1] if ids else ""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many oysters did Zoe eat?", TALK[2]),
        ("When did Ann go to the harbour?", TALK[0]),
        ("What did Ben's mother give him?", TALK[5]),
    ],
)
def test_a_turn_that_answers_is_found_though_it_says_little_of_the_question(question: str, answer: str) -> None:
    assert found(question) == answer


def test_where_only_words_are_looked_for_they_count_where_they_stand() -> None:
    assert found("oysters cousin") == TALK[2]
    assert found("lighthouses") == TALK[5]


def test_of_equals_the_one_that_was_said_first_comes_first() -> None:
    same = [Document(str(at), "the lamp is green", at * 1e9) for at in range(3)]
    assert Library(same).find("green lamp", 3) == ["0", "1", "2"]


def test_talks_as_a_whole_are_found_by_their_best_turns() -> None:
    other = [line.replace("harbour", "flower").replace("oysters", "cakes").replace("Zoe", "Max") for line in TALK]
    filler = "Ben: And then we talked about the weather, which was fine, and about the garden, which was not."
    texts = ["\n".join([*talk, *[filler] * 8]) for talk in (other, TALK)]
    library = Library(Document(str(at), text) for at, text in enumerate(texts))
    assert library.by_session
    assert library.find("Who ate the oysters?", 2) == ["1", "0"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Ann: yes", "Ann"),
        ("[3 May, 2023] Ann Lee: yes", "Ann Lee"),
        ('(9:15 am) Ann said, "yes"', "Ann"),
        ("yes: no", ""),
        ("", ""),
    ],
)
def test_who_speaks_is_read_from_the_beginning(text: str, name: str) -> None:
    assert conversation.speaker(text) == name


def test_what_a_turn_tells() -> None:
    told = heard("Ann: Two of them came yesterday. And you?")
    assert (told.speaker, told.time, told.number) == (frozenset({"ann"}), True, True)
    assert 0.2 < told.asking < 0.3
    assert heard("fine") == Turn(frozenset(), 0.0, time=False, number=False)


def test_what_a_question_wants() -> None:
    assert wish("When did Ann leave?") == (True, True, False)
    assert wish("how many boats does Ben have") == (True, False, True)
    assert wish("boats") == (False, False, False)


@given(st.lists(st.sampled_from(["Ann: a", "Ben: b c", "[1 May] Ann: d", "no one", ""]), max_size=12))
def test_the_turns_of_a_talk_are_all_of_it(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert " ".join(turns_of(text)).split() == text.split()


@given(
    st.dictionaries(
        st.tuples(st.integers(1, 2), st.integers(1, 6)),
        st.dictionaries(st.integers(0, 3), st.floats(0.1, 9), min_size=1),
        max_size=8,
    )
)
def test_neighbours_lend_never_more_than_they_have_and_never_to_another_conversation(
    worth: dict[tuple[int, int], dict[int, float]],
) -> None:
    turns = {(1, place): heard("x") for place in range(1, 7)} | {key: heard("x") for key in worth}
    scores = lent(worth, turns, wish("What is it?"))
    assert set(worth) <= set(scores) <= set(turns)
    for (talk, _), score in scores.items():
        most = {word: value for (other, _), mine in worth.items() if other == talk for word, value in mine.items()}
        of_all = [mine for (other, _), mine in worth.items() if other == talk]
        assert most
        assert score <= sum(max(mine.get(word, 0) for mine in of_all) for word in most) + 1e-9
    for key, mine in worth.items():
        assert scores[key] >= sum(mine.values()) - 1e-9


def test_forms_that_no_ending_joins_are_joined() -> None:
    connection = apsw.Connection(":memory:")
    stem = stems(connection)
    assert set(forms("went", stem)) == {"go", "gone"}
    assert set(forms("going", stem)) == {"went", "gone"}
    assert forms("writes", stem) == ("wrote", "written")
    assert forms("colour", stem) == ("color",)
    assert forms("passage", stem) == ()
