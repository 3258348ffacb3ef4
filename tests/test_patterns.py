"""What recurs: counted by sessions, across hosts first, the same again when looked for again, noise left out."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_support import Retro
from mining_support import events_of, kept, session_id, told
from retro.commands import Kind
from retro.lines import append_line, read_lines
from retro.mining.trace import FAILED, OK, UNKNOWN, Prompt, Step, Trace
from retro.patterns import detect, store
from retro.patterns.pattern import Pattern
from retro.places import Places
from retro.problems import kind, problem, signature

MISSING = ("python -m pytest tests/test_tide.py", "/usr/bin/python: No module named pytest", 1)
RUNNER = ("bin/test tests/test_tide.py", "3 passed", 0)


@pytest.fixture
def retro(capsys: pytest.CaptureFixture[str]) -> Retro:
    return Retro(capsys)


def trace(name: str, *steps: Step, host: str = "claude", scope: str = "/one", started: str = "2026-03-01") -> Trace:
    return Trace(host, name, scope, started, list(steps), [])


def failing(problem: str, signature: str | None = None, at: str = "e1") -> Step:
    return Step(at, Kind.TEST, "pytest", FAILED, command="pytest -q", problem=problem, signature=signature or problem)


def passing(at: str = "e2") -> Step:
    return Step(at, Kind.TEST, "tox", OK, command="tox -q")


def found(traces: Iterable[Trace], least: int = 3) -> list[Pattern]:
    return detect.detect(detect.gather(traces), least)


def problems(traces: Iterable[Trace], least: int = 3) -> list[Pattern]:
    return [one for one in found(traces, least) if one.kind == "problem"]


def test_sessions_are_counted_and_not_occurrences() -> None:
    often = trace("a", *(failing("KeyError: 'moon'", at=f"e{at}") for at in range(9)))
    assert problems([often]) == []
    (one,) = problems([often, trace("b", failing("KeyError: 'moon'")), trace("c", failing("KeyError: 'moon'"))])
    assert (one.sessions, one.occurrences) == (3, 11)


def test_what_several_hosts_met_stands_first() -> None:
    single = [trace(f"s{at}", failing("KeyError: 'moon'")) for at in range(9)]
    across = [
        trace(f"x{at}", failing("TypeError: no tide"), host=host) for at, host in enumerate(("claude", "codex", "pi"))
    ]
    first, second = problems([*single, *across])
    assert (first.signature, first.cross_host, first.hosts) == ("TypeError: no tide", True, ["claude", "codex", "pi"])
    assert (second.signature, second.cross_host) == ("KeyError: 'moon'", False)


def test_what_resolved_it_is_told_with_its_count() -> None:
    (one,) = problems(trace(f"s{at}", failing("KeyError: 'moon'"), passing()) for at in range(4))
    assert one.resolution is not None
    assert (one.resolution.how, one.resolution.program) == ("uses", "tox")
    assert (one.resolution.worked, one.resolution.tried) == (4, 4)


def test_errors_that_differ_in_a_name_are_one_where_each_alone_is_rare() -> None:
    (one,) = problems(trace(f"s{name}", failing(f"NameError: name '{name}' is not defined")) for name in "abc")
    assert one.signature == "NameError: name <name> is not defined"


def test_signatures_that_are_nearly_equal_are_one() -> None:
    long = "error: the configuration of the tide station could not be read from its file"
    words = [long, long, long, *[f"{long}s"] * 3]
    (one,) = problems(trace(f"s{at}", failing(text)) for at, text in enumerate(words))
    assert one.sessions == 6


def test_a_problem_is_told_as_exactly_as_it_is_resolved() -> None:
    """Each program alone met it too rarely; what nothing resolved by itself is told with what resolved its kind."""
    steps = [
        ("pytest", "KeyError: 'moon'"),
        ("tox", "KeyError: 'moon'"),
        ("nox", "KeyError: 'sun'"),
    ]
    traces = [
        trace(name, Step("e1", Kind.TEST, program, FAILED, command=program, problem=line, signature=line), passing())
        for at, (program, line) in enumerate(steps)
        for name in (f"s{at}",)
    ]
    (one,) = problems(traces)
    assert (one.program, one.programs, one.signature) == ("", ["nox", "pytest", "tox"], "KeyError: <name>")


def test_an_assertion_that_failed_is_a_pattern_only_with_what_resolved_it() -> None:
    traces = [trace(f"s{at}", failing("AssertionError"), passing()) for at in range(3)]
    (one,) = problems(traces)
    assert one.resolution is not None
    assert problems(trace(f"s{at}", failing("AssertionError")) for at in range(3)) == []


def test_what_works_less_often_than_other_tries_is_no_resolution() -> None:
    bad = Step("e2", Kind.TEST, "nox", FAILED, command="nox", problem="KeyError: 'moon'", signature="KeyError: 'moon'")
    good = Step("e3", Kind.TEST, "nox", OK, command="nox")
    weak = [trace(f"w{at}", failing("KeyError: 'moon'"), bad) for at in range(6)]
    weak += [trace(f"v{at}", failing("KeyError: 'moon'"), good) for at in range(2)]
    strong = [trace(f"s{at}", failing("KeyError: 'moon'"), passing()) for at in range(8)]
    resolved = {one.program: one.resolution for one in problems([*weak, *strong])}["pytest"]
    assert resolved is not None
    assert (resolved.program, resolved.worked, resolved.tried) == ("tox", 8, 8)


REFUSAL = (
    "Please always give exactly one call in a message, found {} calls.\n\nWrite it as shown in the example, please."
)


def refused(name: str, calls: int, *more: Step, text: str = REFUSAL) -> Trace:
    """A session in which a call has no result, as what came instead stands among the prompts."""
    done = Step("e0", Kind.EDIT, "sed -i", OK, command="sed -i s/a/b/ x.py", result_id="r0", edits=["x.py"])
    lost = Step("e1", Kind.EDIT, "sed -i", UNKNOWN, command="sed -i s/b/c/ x.py", edits=["x.py"])
    steps, said = [done, done, lost, *more], Prompt("p1", text.format(calls), 3)
    return Trace("claude", name, "/one", "2026-03-01", steps, [Prompt("p0", "mend it", 0), said])


def test_what_a_harness_says_instead_of_running_a_call_is_a_problem_and_no_correction() -> None:
    again = Step("e2", Kind.EDIT, "sed -i", OK, command="sed -i s/b/c/ x.py", result_id="r2", edits=["x.py"])
    (one,) = found([refused(f"s{at}", at, again) for at in (2, 3, 4)])
    assert (one.kind, one.signature) == (
        "problem",
        "Please always give exactly one call in a message, found <number> calls",
    )
    assert one.resolution is not None
    assert (one.resolution.how, one.resolution.worked, one.resolution.tried) == ("sent_again", 3, 3)
    assert ("p1", "Please always give exactly one call in a message, found 4 calls.") in [
        (ref.event_id, ref.quote) for ref in one.evidence
    ]


def test_what_people_say_stays_a_correction() -> None:
    """Short words recur in many sessions; long ones that differ are no machine's; and a call that was answered ran."""
    said = "Always use the tide table of this repository and never the one that the harbour prints on paper, {}."
    differ = [
        refused(f"d{at}", at, text=said.replace("{}", word)) for at, word in enumerate(("please", "now", "thanks"))
    ]
    assert [one.kind for one in found(differ, 1)] == ["correction"] * 3
    answered = []
    for at in range(3):
        one = refused(f"a{at}", at, text=said)
        one.steps[2].outcome, one.steps[2].result_id = OK, "r1"
        answered.append(one)
    assert [one.kind for one in found(answered)] == ["correction"]
    short = [refused(f"s{at}", at, text="Always use tides, never tables.") for at in range(3)]
    assert [one.kind for one in found(short)] == ["correction"]


@pytest.mark.parametrize(
    ("line", "as_kind"),
    [
        ("rm: cannot remove 'a.py': No such file or directory", "No such file or directory"),
        ("ERROR: file or directory not found: tests/a.py", "No such file or directory"),
        ("FAILED tests/test_a.py::test_b - assert 3 == 2", "AssertionError"),
        ("FAILED tests/test_a.py::test_b[x-y] - AssertionError: no tide", "AssertionError"),
        ("sea.testing.Failed: DID NOT RAISE", "Failed: DID NOT RAISE"),
        ("bash: line 3: tide: command not found", "command not found"),
        ("E   KeyError: 'moon'", "KeyError"),
    ],
)
def test_the_kind_of_a_problem_is_what_tools_say_of_one_thing(line: str, as_kind: str) -> None:
    assert kind(signature(line)) == as_kind


@pytest.mark.parametrize(
    ("output", "says"),
    [
        (
            '  File "/x/sums.py", line 9, in test_sum\n    warnings.warn("old")\nDeprecationWarning: the old way\n\n'
            " tests finished: 47 passed, 7 exceptions, in 31.61 seconds =\nDO *NOT* COMMIT!",
            "DeprecationWarning: the old way",
        ),
        ("Traceback (most recent call last):\nKeyError: 'moon'\nUserWarning: printed", "KeyError: 'moon'"),
        ("Exit code 2\nSphinx error:\nBuilder name HTML not registered", "Builder name HTML not registered"),
    ],
)
def test_the_line_that_says_why(output: str, says: str) -> None:
    assert problem(output) == says


@pytest.mark.parametrize(
    "line",
    [
        "grep: ./a.pyc: binary file matches",
        "Binary file a.pyc matches",
        "100%|██████████| 12/12 [00:00<00:00]",
        "===== 3 failed, 2 passed in 0.12s =====",
        "AssertionError",
        "Killed",
        "(nothing found)",
        "(no reason given)",
    ],
)
def test_noise_is_no_pattern(line: str) -> None:
    assert problems(trace(f"s{at}", failing(line)) for at in range(5)) == []


@given(st.permutations(range(6)))
def test_the_order_of_sessions_makes_no_difference(order: list[int]) -> None:
    texts = ["KeyError: 'moon'"] * 3 + ["TypeError: no tide"] * 3
    traces = [trace(f"s{at}", failing(text), passing()) for at, text in enumerate(texts)]
    shuffled = problems(traces[at] for at in order)
    assert [(one.id, one.sessions, one.resolution) for one in shuffled] == [
        (one.id, one.sessions, one.resolution) for one in problems(traces)
    ]


def test_what_was_decided_of_a_pattern_stays_when_it_goes_by_another_name(tmp_path: Path) -> None:
    places = Places(str(tmp_path))
    rare = [trace(f"s{name}", failing(f"NameError: name '{name}' is not defined")) for name in "abc"]
    (family,) = problems(rare)
    store.decide(places, family.id, "ignored", "known")
    often = [trace(f"t{at}", failing("NameError: name 'a' is not defined")) for at in range(3)]
    exact = next(one for one in problems([*rare, *often]) if one.signature == "NameError: name 'a' is not defined")
    assert exact.id != family.id
    (curated,) = store.curated(places, [exact])
    assert (curated.state, curated.note) == ("ignored", "known")


def test_looking_again_changes_nothing_and_decisions_stay(tmp_path: Path, retro: Retro) -> None:
    sessions = [(f"s{day}", told(f"s{day}", "run the tests", MISSING, RUNNER, day=day)) for day in (1, 2, 3)]
    places = kept(tmp_path / "archive", tmp_path / "claude", sessions)
    root = ("--root", places.root)
    first = retro.json("detect", *root)["patterns"]
    path = tmp_path / "archive" / "patterns" / "patterns.json"
    before = path.read_bytes()
    assert retro.json("detect", *root)["patterns"] == first
    assert path.read_bytes() == before
    problem = first[0]
    assert (problem["signature"], problem["sessions"], problem["cross_host"]) == (
        "<path>: No module named pytest",
        3,
        False,
    )
    events = events_of(places)
    for ref in problem["evidence"]:
        event = events[ref["host"], ref["session_id"], ref["event_id"]]
        assert ref["quote"] in (event.text or "") or ref["quote"] in (event.command or "")
    assert "ignored" in retro.says("detect", "--mark", problem["id"][:8], "--state", "ignored", *root)
    assert problem["id"] not in [one["id"] for one in retro.json("detect", *root)["patterns"]]
    assert problem["id"] in [one["id"] for one in retro.json("detect", "--all", *root)["patterns"]]
    assert retro.json("detect", "--since", "2030-01-01", *root)["patterns"] == []
    assert json.loads(path.read_bytes())["patterns"][0]["state"] == "ignored"
    assert retro("detect", "--mark", "p_none", "--state", "ignored", *root).code == 1
    assert retro("detect", "--mark", problem["id"], "--state", "ignord", *root).code == 2


def test_forgetting_a_session_takes_away_the_patterns_that_cite_it(tmp_path: Path, retro: Retro) -> None:
    sessions = [(f"s{day}", told(f"s{day}", "run the tests", MISSING, RUNNER, day=day)) for day in (1, 2, 3)]
    places = kept(tmp_path / "archive", tmp_path / "claude", sessions)
    retro.says("detect", "--root", places.root)
    retro.says("forget", "claude", session_id("s2"), "--yes", "--root", places.root)
    assert not (tmp_path / "archive" / "patterns" / "patterns.json").exists()
    assert all(
        one["sessions"] < 3 for one in retro.json("detect", "--min-frequency", "1", "--root", places.root)["patterns"]
    )


def test_an_empty_archive_has_no_patterns(tmp_path: Path, retro: Retro) -> None:
    assert retro.json("detect", "--root", str(tmp_path / "none"))["patterns"] == []


# --- lines that are only appended to ---------------------------------------------------------------------------------


def test_a_torn_line_costs_that_line_only(tmp_path: Path) -> None:
    path = str(tmp_path / "some" / "lines.jsonl")
    append_line(path, {"n": "1"}, {"n": "2"})
    with open(path, "rb+") as file:
        file.truncate(os.path.getsize(path) - 4)
    append_line(path, {"n": "3"})
    read = read_lines(path, dict[str, str])
    assert (read.items, read.torn) == ([{"n": "1"}, {"n": "3"}], [2])


def test_two_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    path = str(tmp_path / "lines.jsonl")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: append_line(path, {"n": str(number)}), range(40)))
    assert sorted(one["n"] for one in read_lines(path, dict[str, str]).items) == sorted(map(str, range(40)))
