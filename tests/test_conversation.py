"""What of a conversation answers a question: who speaks, what was asked before, times, numbers; odd forms of words."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import apsw
import pytest
from bench.conversations import read, scores
from hypothesis import given
from hypothesis import strategies as st

from retro import conversation
from retro.conversation import WEIGHTS, Turn, Weights, fitting, heard, lent, turns_of, wish, without_speaker
from retro.foreign import Document, Library
from retro.index.forms import forms
from retro.index.query import stems
from retro.threads import spoken, threads

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
        ("1:56 pm on 8 May, 2023 - Ann: yes", "Ann"),
        ("2023-05-08T13:56:00 Ann: yes", "Ann"),
        ("Mon, 8 May 2023\nAnn: yes", "Ann"),
        ("May: yes", "May"),
        ("Ann (8 May, 2023): yes", "Ann"),
        ("**Ann**: yes", "Ann"),
        ("**Ann Lee:** yes", "Ann Lee"),
        ("Ann:\nyes", "Ann"),
        ("Ann says: yes", "Ann"),
        ("Ann:yes", ""),
        ("yes: no", ""),
        ("2023: a year of which much was said: Ann", ""),
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


# --- which documents are one conversation ----------------------------------------------------------------------------

TOLD = read()
"""457 turns of 30 talks of five pairs; ids are `june-samir D3:12`."""

NAMES = [document.id for document in TOLD.documents]
TEXTS = [document.text for document in TOLD.documents]
NAMELESS = [without_speaker(text) for text in TEXTS]
WHEN = [float(at * 60) for at in range(len(NAMES))]


def neighbours(ids: list[str], texts: list[str], times: list[float] | None = None) -> set[tuple[str, str]]:
    """The texts that are said to follow each other."""
    order = threads(ids, texts, times or [None] * len(ids))
    assert sorted(place for of in order for place in of) == list(range(len(ids)))
    return {(texts[one], texts[other]) for of in order for one, other in itertools.pairwise(of)}


def truly(texts: list[str]) -> set[tuple[str, str]]:
    """Those that do."""
    talks = [name.partition(":")[0] for name in NAMES]
    pairs = zip(texts, texts[1:], talks, talks[1:], strict=False)
    return {(one, other) for one, other, here, there in pairs if here == there}


def mixed(*columns: list) -> list[list]:  # type: ignore[type-arg]
    """The same in another order."""
    rows = list(zip(*columns, strict=True))
    random.Random(7).shuffle(rows)
    return [list(column) for column in zip(*rows, strict=True)]


def by_turn(name: str) -> str:
    conversation_, _, place = name.partition(" D")
    talk, _, turn = place.partition(":")
    return f"t{turn}_s{talk}_{conversation_}"


@pytest.mark.parametrize("texts", [TEXTS, NAMELESS], ids=["named", "nameless"])
@pytest.mark.parametrize(
    "form",
    [
        lambda name: name,
        lambda name: name.replace(" D", ":D"),
        lambda name: name.replace(" D", "_s").replace(":", "_t"),
        lambda name: f"{name} (said)",
    ],
)
def test_turns_are_put_in_order_by_their_ids_however_the_file_is_ordered(
    form: Callable[[str], str], texts: list[str]
) -> None:
    ids = [form(name) for name in NAMES]
    assert neighbours(ids, texts) == truly(texts)
    assert neighbours(*mixed(ids, texts)) == truly(texts)


@pytest.mark.parametrize("texts", [TEXTS, NAMELESS], ids=["named", "nameless"])
def test_the_file_tells_the_order_where_ids_do_not(texts: list[str]) -> None:
    chance = random.Random(1)
    hashes = [f"{chance.getrandbits(64):016x}" for _ in NAMES]
    drawn = [f"doc{number}" for number in chance.sample(range(len(NAMES)), len(NAMES))]
    for ids in (hashes, drawn, [by_turn(name) for name in NAMES]):
        found = neighbours(ids, texts)
        assert found >= truly(texts)
        assert len(found) < len(texts), "one more between two talks, and no others"


def test_times_tell_the_order_where_neither_ids_nor_the_file_do() -> None:
    hashes = [f"{random.Random(at).getrandbits(64):016x}" for at in range(len(NAMES))]
    ids, texts, times = mixed(hashes, TEXTS, WHEN)
    assert neighbours(ids, texts, times) >= truly(TEXTS)


@pytest.mark.parametrize("texts", [TEXTS, NAMELESS], ids=["named", "nameless"])
def test_where_nothing_tells_the_order_each_stands_alone(texts: list[str]) -> None:
    hashes = [f"{random.Random(at).getrandbits(64):016x}" for at in range(len(NAMES))]
    assert neighbours(*mixed(hashes, texts)) == set()


def test_what_nobody_says_to_anybody_stands_alone() -> None:
    notes = [
        "Note: the pump needs a new seal",
        "The valve is opened by hand, counter-clockwise.",
        "How is the valve closed? It closes by itself.",
        "Spare seals are in the second drawer.",
    ]
    assert not spoken(notes)
    assert threads([f"n{at}" for at in range(4)], notes, [None] * 4) == [[0], [1], [2], [3]]
    library = Library(Document(f"n{at}", text) for at, text in enumerate(notes))
    assert library.find("Where are the spare seals?", 9)[0] == "n3"
    assert library.find("drawer", 9) == ["n3"], "what stands beside it has no part of it"


@pytest.mark.parametrize("ids", [[f"faq-{at}" for at in range(3)], ["a", "b", "c"]])
def test_neighbours_never_pass_by_a_text_that_has_all_the_words(ids: list[str]) -> None:
    faq = [
        "How do I open my account? You go to the office, and they open your account.",
        "How do I close my account? You write to us, and we close it.",
        "Can you lend me money? We can, if you have an account with us.",
    ]
    documents = [Document(name, text) for name, text in zip(ids, faq, strict=True)]
    for question, at in (("How can I open an account?", 0), ("Who can close it?", 1), ("Do you lend money?", 2)):
        assert Library(documents).find(question, 3)[0] == ids[at]


def test_one_family_of_ids_is_one_conversation_also_where_others_stand_between() -> None:
    texts = ["Ann: I saw you", "Cid: we left", "Ben: you did?", "Dee: did we?", "Ann: yes I did", "Cid: yes, we did"]
    ids = ["x:D1:1", "y:D1:1", "x:D1:2", "y:D1:2", "x:D1:10", "y:D1:10"]
    assert threads(ids, texts, [None] * 6) == [[0, 2, 4], [1, 3, 5]]


@given(st.lists(st.tuples(st.text("ab1 :", max_size=4), st.sampled_from(TALK), st.none() | st.floats(0, 1e6))))
def test_every_text_is_in_one_conversation_once(told: list[tuple[str, str, float | None]]) -> None:
    order = threads([name for name, _, _ in told], [text for _, text, _ in told], [time for _, _, time in told])
    assert sorted(place for of in order for place in of) == list(range(len(told)))
    assert all(order)


def test_the_order_of_the_file_changes_little_of_what_is_found() -> None:
    in_order, shuffled = Library(TOLD.documents), Library(mixed(TOLD.documents)[0])
    recalls = [scores(lambda text, of=of: of.find(text, 10), TOLD.questions)[2] for of in (in_order, shuffled)]  # type: ignore[misc]
    assert min(recalls) > 0.7
    assert abs(recalls[0] - recalls[1]) < 0.02


def test_without_weights_only_the_words_of_a_turn_count() -> None:
    worth = {(1, 1): {0: 2.0, 1: 1.0}, (1, 3): {0: 1.5}}
    turns = {(1, place): heard(TALK[place]) for place in range(1, 5)}
    none, asked = Weights(0.0, 0.0, 0.0, 0.0, 0.0), wish("When did Ann go?")
    alone = fitting(lent(worth, turns, asked, none), turns, asked, {"ann": 2.0}, none)
    assert {key: score for key, score in alone.items() if score} == {(1, 1): 3.0, (1, 3): 1.5}
    assert lent(worth, turns, asked, WEIGHTS)[1, 2] > 0
