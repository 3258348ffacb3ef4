"""Whether memory helps: the lot, what is withheld and recorded; nothing is concluded too early or from chance."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_support import Retro
from mining_support import Line, kept, session_id, told
from retro.measure import comparing, estimate, log, simulation
from retro.measure.endpoints import ENDPOINTS
from retro.measure.log import Assigned, Experiment, Plan
from retro.measure.lot import is_withheld
from retro.memory import store
from retro.places import Places

CODE = "/home/dev/code"
MISSING = ("python -m pytest tests/test_tide.py", "/usr/bin/python: No module named pytest", 1)
RUNNER = ("bin/test tests/test_tide.py", "3 passed", 0)
ERROR = "python -m pytest says No module named pytest"
SEED = "a seed"


@pytest.fixture
def retro(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Retro:
    monkeypatch.setenv("RETRO_ROOT", str(tmp_path / "archive"))
    return Retro(capsys)


@pytest.fixture
def places(tmp_path: Path, retro: Retro) -> Places:
    """An archive that remembers how tests are run in one folder."""
    sessions = [
        (f"s{day}", told(f"s{day}", "run the tests of the tides", MISSING, RUNNER, day=day)) for day in (1, 2, 3)
    ]
    places = kept(tmp_path / "archive", tmp_path / "claude", sessions)
    retro.says("memory", "init")
    return places


def woven(retro: Retro, session: str, query: str = ERROR) -> str:
    """What weave prints for a prompt of a session."""
    more = ("--session", session_id(session), "--host", "claude")
    return retro.says("memory", "weave", "--query", query, "--cwd", CODE, *more)


def lot(session: str, share: float = 0.5) -> bool:
    return is_withheld(SEED, session_id(session), share)


# --- the lot ---------------------------------------------------------------------------------------------------------


@given(st.text(), st.text(), st.floats(0, 1))
def test_a_lot_depends_on_the_session_alone_and_grows_with_the_share(seed: str, session: str, share: float) -> None:
    drawn = is_withheld(seed, session, share)
    assert drawn == is_withheld(seed, session, share)
    assert not drawn or is_withheld(seed, session, min(1.0, share + 0.1))
    assert not is_withheld(seed, session, 0.0)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 0.9])
def test_the_share_is_kept(share: float) -> None:
    drawn = sum(is_withheld("seed", f"session {number}", share) for number in range(10_000))
    assert abs(drawn / 10_000 - share) < 4 * sqrt(share * (1 - share) / 10_000)


# --- what is withheld and recorded -----------------------------------------------------------------------------------


def test_nothing_is_withheld_before_an_experiment_and_after_it(places: Places, retro: Retro) -> None:
    names = [f"n{number}" for number in range(6)]
    assert all(woven(retro, f"before {name}") for name in names)
    retro.says("measure", "start", "--seed", SEED)
    assert [bool(woven(retro, name)) for name in names] == [not lot(name) for name in names]
    assert {lot(name) for name in names} == {True, False}
    retro.says("measure", "stop")
    assert all(woven(retro, f"after {name}") for name in names)


def test_what_is_withheld_is_recorded_like_what_is_given(places: Places, retro: Retro) -> None:
    retro.says("measure", "start", "--seed", SEED)
    names = [f"n{number}" for number in range(8)]
    for name in names:
        woven(retro, name)
        assert woven(retro, name, "write a haiku about spring") == ""
    retro.says("memory", "init")
    changes = [change for change in store.read(places).changes if change.what in ("woven", "withheld")]
    assert {change.session_id: change.what for change in changes} == {
        session_id(name): "withheld" if lot(name) else "woven" for name in names
    }
    assert len({tuple(change.items) for change in changes}) == 1
    (experiment,) = log.experiments(places)
    assert [one.withheld for one in experiment.sessions.values()] == [lot(name) for name in names]
    assert {kind for one in experiment.sessions.values() for kind in one.kinds} <= {"error_fix", "command"}
    assert not any(session_id(name) in Path(places.state_log).read_text() for name in names)
    shown = [one["standing"]["shown"] for one in retro.json("memory", "list")["memories"]]
    assert max(shown) == sum(not lot(name) for name in names)


def test_a_session_is_assigned_once_and_a_prompt_that_nothing_speaks_to_assigns_none(
    places: Places, retro: Retro
) -> None:
    retro.says("measure", "start", "--seed", SEED)
    woven(retro, "quiet", "write a haiku about spring")
    for query in (ERROR, "run the tests with pytest", ERROR):
        woven(retro, "one", query)
        retro.says("memory", "init")
    (experiment,) = log.experiments(places)
    assert len(experiment.sessions) == 1
    assert Path(places.state_log).read_text().count('"assigned"') == 1


def test_a_weave_without_a_session_takes_no_part(places: Places, retro: Retro) -> None:
    retro.says("measure", "start", "--share", "0.95")
    assert retro.says("memory", "weave", "--query", ERROR, "--cwd", CODE)
    retro.says("memory", "init")
    assert log.experiments(places)[0].sessions == {}


def test_a_rebuilt_index_knows_the_experiment(places: Places, retro: Retro) -> None:
    retro.says("measure", "start", "--seed", SEED)
    names = [f"n{number}" for number in range(6)]
    Path(places.index).unlink()
    retro("reindex")
    retro.says("memory", "init")
    assert [bool(woven(retro, name)) for name in names] == [not lot(name) for name in names]


def test_one_experiment_runs_at_a_time_and_the_log_survives_a_torn_line(places: Places, retro: Retro) -> None:
    first = retro.json("measure", "start", "--endpoint", "turns", "--effect", "0.5")["experiment"]
    assert retro("measure", "start").code == 1
    with open(places.state_log, "ab") as file:
        file.write(b'{"at": "2026", "what": "assigned", "experiment": "')
    retro.says("measure", "stop")
    second = retro.json("measure", "start")["experiment"]
    assert [(one.plan.id, one.stopped is None) for one in log.experiments(places)] == [
        (first["id"], False),
        (second["id"], True),
    ]
    assert retro.json("measure", "--experiment", first["id"])["experiment"]["plan"] == first
    assert retro("measure", "--experiment", "x_none").code == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["--share", "0"],
        ["--share", "1"],
        ["--endpoint", "mood"],
        ["--effect", "0"],
        ["--effect", "nan"],
        ["--effect", "2"],
    ],
)
def test_what_cannot_be_measured_is_refused(places: Places, retro: Retro, arguments: list[str]) -> None:
    assert retro("measure", "start", *arguments).code == 2
    assert log.experiments(places) == []


# --- the comparison --------------------------------------------------------------------------------------------------


def measured(places: Places, retro: Retro, home: Path, turns: Mapping[bool, int], count: int = 40) -> Any:
    """An experiment over sessions that take so many turns where a weave was given, and where it was withheld."""
    retro.says("measure", "start", "--seed", SEED, "--endpoint", "turns", "--effect", "2")
    sessions = []
    for number in range(count):
        name = f"n{number}"
        woven(retro, name)
        more: list[Line | str] = ["go on"] * (turns[lot(name)] - 1 + number % 2)
        sessions.append((name, told(name, "what is a tide?", *more, day=1 + number % 27)))
    kept(Path(places.root), home, sessions)
    return retro.json("measure")


def test_an_effect_is_found_and_told_once_there_are_enough(places: Places, retro: Retro, tmp_path: Path) -> None:
    found = measured(places, retro, tmp_path / "claude", {False: 2, True: 6})
    assert (found["assigned"], found["counted"], found["verdict"]) == (40, 40, "helps")
    primary = found["primary"]
    assert primary["endpoint"] == "turns"
    assert -0.75 < primary["low"] < primary["difference"] < primary["high"] < -0.45
    assert primary["woven"]["sessions"] + primary["withheld"]["sessions"] == found["needed"]
    assert [part["name"] for part in found["repositories"]] == [CODE]
    said = retro.says("measure")
    assert "It helps" in said and "turns" in said


def test_where_there_is_no_effect_none_is_told(places: Places, retro: Retro, tmp_path: Path) -> None:
    found = measured(places, retro, tmp_path / "claude", {False: 3, True: 3})
    assert found["verdict"] == "no_difference_shown"
    assert found["primary"]["low"] < 0 < found["primary"]["high"]


def test_too_few_sessions_conclude_nothing_and_say_how_many_are_missing(
    places: Places, retro: Retro, tmp_path: Path
) -> None:
    found = measured(places, retro, tmp_path / "claude", {False: 2, True: 6}, count=10)
    assert (found["verdict"], found["counted"], found["needed"]) == ("not_enough", 10, 20)
    assert "10 sessions that are over, of 20 that are needed" in retro.says("measure")
    outcome = next(one for one in found["comparisons"] if one["endpoint"] == "first_edit")
    assert (outcome["woven"]["known"], outcome["difference"]) == (0, None)


def session(
    number: int, withheld: bool, value: float | None, *, over: bool = True, kind: str = "command"
) -> comparing.Session:
    values = {} if value is None else {"turns": value}
    return comparing.Session(withheld, f"repository {number % 2}", (kind,), over, values)


def test_the_first_sessions_decide_and_one_that_goes_on_is_waited_for() -> None:
    found = [session(number, number % 2 == 0, float(number)) for number in range(30)]
    assert comparing._first(found, "turns", 20) == (found[:20], False)
    unknown = [session(0, False, None), *found]
    assert comparing._first(unknown, "turns", 20) == (unknown[:21], False)
    waiting = [session(0, False, None, over=False), *found]
    assert comparing._first(waiting, "turns", 20) == (found[:20], True)
    assert comparing._first([*found, *waiting], "turns", 20) == (found[:20], False)


def test_a_session_counts_as_what_it_was_drawn_to_be(tmp_path: Path, places: Places, retro: Retro) -> None:
    plan = Plan(id="x", seed=SEED, share=0.5, endpoint="turns", effect=0.2, deviation=1.0, observed=0, needed=20)
    from retro.archive.state_log import name_hash
    from retro.index.database import open_reader

    drawn = {name_hash("", session_id("s1")): True, name_hash("claude", session_id("s2")): False, "f" * 32: False}
    sessions = {name: Assigned("2026-03-01T10:00:00Z", name, withheld, ()) for name, withheld in drawn.items()}
    connection = open_reader(places)
    assert connection is not None
    found = comparing.result(connection, Experiment(plan, "2026-03-01T09:00:00Z", sessions=sessions))
    connection.close()
    assert (found.assigned, found.lost, found.counted) == (3, 1, 2)
    assert (found.primary.woven.sessions, found.primary.withheld.sessions) == (1, 1)


# --- the formulas ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(3, 3.18245), (5, 2.57058), (10, 2.22814), (30, 2.04227), (1e6, 1.95997)]
)
def test_students_t(freedom: float, quantile: float) -> None:
    assert estimate.t_quantile(0.975, freedom) == pytest.approx(quantile, abs=2e-5)


def test_welchs_interval_of_a_known_example() -> None:
    one = estimate.spread([27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4])
    other = estimate.spread([27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4])
    error, freedom = estimate.standard_error(one, other)
    assert (one.mean - other.mean) / error == pytest.approx(-2.46, abs=0.005)
    assert freedom == pytest.approx(25.0, abs=0.05)


@given(st.floats(0.1, 5), st.floats(0.05, 2), st.sampled_from([0.2, 0.5, 0.7]))
def test_the_needed_sessions_find_the_effect_in_four_of_five(deviation: float, effect: float, share: float) -> None:
    count = estimate.needed(deviation, effect, share)
    error = deviation * sqrt(1 / (count * share) + 1 / (count * (1 - share)))
    assert estimate.power(effect, error, count - 2) >= estimate.POWER - 0.02
    if count > 200:
        assert estimate.power(effect, error, count - 2) <= estimate.POWER + 0.02


@given(st.lists(st.floats(-1e6, 1e6), min_size=5, max_size=30), st.lists(st.floats(-1e6, 1e6), min_size=5, max_size=30))
def test_an_interval_holds_its_difference_and_turns_with_its_sides(one: list[float], other: list[float]) -> None:
    found = estimate.interval(estimate.spread(one), estimate.spread(other))
    turned = estimate.interval(estimate.spread(other), estimate.spread(one))
    assert found is not None and turned is not None
    assert found.low <= found.difference <= found.high
    assert (found.low, found.high) == (-turned.high, -turned.low)


@given(st.sampled_from(sorted(ENDPOINTS)), st.floats(0, 1e9))
def test_a_mean_is_told_as_it_was_read(name: str, value: float) -> None:
    endpoint = ENDPOINTS[name]
    assert endpoint.middle(endpoint.scaled(value)) == pytest.approx(value / endpoint.unit, rel=1e-6, abs=1e-6)


# --- made-up worlds --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("endpoint", sorted(ENDPOINTS))
def test_worlds_have_the_truth_in_their_intervals_and_the_effect_as_often_as_the_formula_says(endpoint: str) -> None:
    worlds = 1_000
    for one in simulation.simulate(endpoint, worlds, 80):
        reach = 4 * sqrt(0.05 * 0.95 / worlds)
        assert abs(one.coverage - 0.95) < reach, one
        assert abs(one.found - one.power) < 4 * sqrt(one.power * (1 - one.power) / worlds), one
        assert one.power == pytest.approx(0.05 if not one.effect else 0.8, abs=0.1)


def test_the_simulation_says_so_when_it_does_not_hold(retro: Retro, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "as it should be" in retro.says("measure", "--simulate", "--worlds", "400")
    monkeypatch.setattr(estimate, "t_quantile", lambda share, freedom: NormalDist().inv_cdf(share) / 2)
    done = retro("measure", "--simulate", "--worlds", "200", "--json")
    assert (done.code, json.loads(done.out)["holds"]) == (4, False)


def test_without_an_experiment_the_command_says_how_to_begin(retro: Retro) -> None:
    assert "retro measure start" in retro.says("measure")
    assert retro.json("measure")["experiment"] is None
    assert retro("measure", "stop").code == 1
