"""Signals: each reading from what a session did, whatever way the session came into the archive."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_support import ALL, FIX, Retro, retro, root, swept
from retro import event
from retro.event import Reading, Value
from retro.index.database import open_reader
from retro.index.readings import readings_of
from retro.places import Places
from retro.signals.base import SessionContext, reading
from retro.signals.context import bare_context
from retro.signals.judging import Term, judge, table
from retro.signals.running import evaluate, known
from retro.track import words
from support import SESSION, answer, call, failures, lines, prompt, result, sweep_up, transcript

__all__ = ["retro", "root", "swept"]


def readings(root: Path, session_id: str = SESSION) -> dict[str, Reading]:
    """What an archive says of one session."""
    connection = open_reader(Places(str(root)))
    assert connection is not None
    try:
        number = connection.execute("SELECT id FROM session WHERE session_id = ?", (session_id,)).get
        return {one.signal: one for one in readings_of(connection, number)}
    finally:
        connection.close()


def at(second: int) -> str:
    return f"2026-02-01T03:50:{second:02}.000Z"


WORK = (
    prompt("fix the parser", 1, timestamp=at(0)),
    call("Bash", {"command": "cd /home/dev/code && rg -n parse src | head"}, 2) | {"timestamp": at(1)},
    result("src/parser.py:1:def parse", 3, toolUseResult={"stdout": "src/parser.py"}, timestamp=at(2)),
    call("Read", {"file_path": "/home/dev/code/src/parser.py"}, 4) | {"timestamp": at(3)},
    result("def parse(): ...", 5, timestamp=at(4)),
    call("Bash", {"command": "uv run pytest -q 2>&1 | tail -3"}, 6) | {"timestamp": at(5)},
    result("1 failed, 3 passed in 0.20s", 7, toolUseResult={"stdout": "1 failed"}, timestamp=at(6)),
    call("Edit", {"file_path": "/home/dev/code/src/parser.py", "old_string": "a", "new_string": "b"}, 8)
    | {"timestamp": at(7)},
    result("The file has been updated.", 9, timestamp=at(8)),
    call("Bash", {"command": "pytest -q"}, 10) | {"timestamp": at(9)},
    result("4 passed in 0.20s", 11, toolUseResult={"stdout": "4 passed"}, timestamp=at(10)),
    call("Bash", {"command": "make deploy"}, 12) | {"timestamp": at(11)},
    result("Exit code 2\nno such target", 13, timestamp=at(12)),
    answer("Done.", 14) | {"timestamp": at(13)},
)


def test_readings_of_a_small_session(tmp_path: Path) -> None:
    transcript(tmp_path / "home", lines(*WORK))
    assert failures(sweep_up(tmp_path / "archive", tmp_path / "home")) == []
    found = {name: one.value for name, one in readings(tmp_path / "archive").items()}
    expected = {
        "command_count": 4,
        "failed_command_count": 1,
        "failed_command_ratio": 0.25,
        "file_edit_count": 1,
        "unique_files_edited": 1,
        "unique_files_read": 1,
        "user_message_count": 1,
        "assistant_message_count": 1,
        "tests_run_count": 2,
        "last_test_outcome": "passed",
        "test_fix_loop_count": 1,
        "step_count": 7,
        "action_count_locate": 1,
        "action_count_explore": 1,
        "action_count_fix": 1,
        "action_count_test": 3,
        "action_count_explain": 1,
        "session_duration_seconds": 13.0,
        "active_seconds": 13.0,
        "time_to_first_edit_seconds": 7.0,
        "fix_without_validation_count": 0,
        "fix_validation_latency_steps": 1.0,
        "premature_finish_without_validation": False,
        "failure_ignored_count": 1,
        "interrupted_signal": False,
    }
    assert {name: found[name] for name in expected} == expected


# --- when there is nothing to say ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(known()))
def test_without_its_context_a_reading_is_null_and_says_why(name: str) -> None:
    (found,) = evaluate(bare_context("claude", SESSION), [known()[name]])
    assert (found.value, found.confidence, found.evidence) == (None, 0.0, [])
    assert found.reason
    assert not found.reason.startswith("the signal failed")


def test_every_signal_that_is_asked_for_is_there() -> None:
    wanted = [
        "command_count",
        "file_edit_count",
        "unique_files_edited",
        "unique_files_read",
        "web_search_count",
        "user_message_count",
        "assistant_message_count",
        "subagent_count",
        "compaction_count",
        "session_duration_seconds",
        "active_seconds",
        "time_to_first_edit_seconds",
        "user_correction_count",
        "tokens",
        "cost",
        "failed_command_count",
        "failed_command_ratio",
        "git_commits_made_during",
        "tests_run_count",
        "last_test_outcome",
        "user_satisfaction_lexical",
        "interrupted_signal",
        "outcome_probability",
        "outcome",
        "unknown_event_count",
        "events_without_timestamps",
        "capture_gap_signal",
        "secret_exposure_count",
        "secret_exposure_signal",
        "injection_marker_count",
        "step_count",
        "phase_count",
        "transition_count",
        "repetition_consecutive",
        "repetition_runs",
        "repetition_4gram",
        "sequence_entropy",
        "repeated_action_without_progress",
        "fix_without_validation_count",
        "fix_validation_latency_steps",
        "premature_finish_without_validation",
        "test_fix_loop_count",
        "failed_result_recovery_steps",
        "failure_ignored_count",
        "error_to_search_or_edit_ratio",
        "exploration_ratio",
        "exploitation_ratio",
    ]
    categories = [
        "explore",
        "locate",
        "search",
        "reproduce",
        "fix",
        "test",
        "refactor",
        "explain",
        "permission",
        "error",
        "other",
    ]
    wanted += [f"action_{kind}_{category}" for kind in ("count", "ratio") for category in categories]
    assert set(wanted) <= set(known())


def test_a_signal_that_breaks_or_gives_something_else_is_one_reading_without_a_value() -> None:
    def broken(session: SessionContext) -> Reading:
        raise RuntimeError("of its own")

    def wordy(session: SessionContext) -> Reading:
        return reading("many")

    of = known()["command_count"]
    context = bare_context("claude", SESSION)
    found = evaluate(context, [of._replace(name="a", read=broken), of._replace(name="b", read=wordy), of])
    assert [one.value for one in found] == [None, None, None]
    assert found[0].reason == "the signal failed: RuntimeError: of its own"
    assert found[1].reason == "the signal gave Reading, which is no numeric reading"


# --- how it went -----------------------------------------------------------------------------------------------------

GOOD: dict[str, Value | None] = {
    "file_edit_count": 3,
    "assistant_message_count": 30,
    "user_message_count": 1,
    "agent_confirmation_count": 5,
    "agent_doubt_count": 2,
    "action_count_explore": 5,
    "last_test_outcome": "passed",
    "premature_finish_without_validation": False,
    "interrupted_signal": False,
    "user_correction_count": None,
}


def test_a_success_is_said_where_everything_speaks_for_it() -> None:
    judged = judge(GOOD)
    assert judged.said == "success"
    assert judged.probability is not None
    assert judged.probability > (table().success or 1)
    assert len(judged.reasons) == len(table().terms)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("agent_confirmation_count", 0),
        ("last_test_outcome", "failed"),
        ("premature_finish_without_validation", True),
        ("interrupted_signal", True),
        ("user_correction_count", 1),
        ("assistant_message_count", 12),
        ("action_count_explore", 500),
        ("agent_doubt_count", 500),
    ],
)
def test_no_success_is_said_where_something_speaks_against_it(name: str, value: Value) -> None:
    judged = judge({**GOOD, name: value})
    assert judged.said == "unknown"
    assert judged.probability is not None


@pytest.mark.parametrize("name", ["file_edit_count", "assistant_message_count"])
@pytest.mark.parametrize("value", [0, None])
def test_without_work_or_words_nothing_is_said(name: str, value: Value | None) -> None:
    judged = judge({**GOOD, name: value})
    assert (judged.probability, judged.said, len(judged.reasons)) == (None, "unknown", 1)


def test_where_the_agent_never_says_how_sure_it_is_nothing_is_said() -> None:
    assert judge({**GOOD, "agent_confirmation_count": 1, "agent_doubt_count": 0}).probability is None
    assert judge({**GOOD, "agent_confirmation_count": 2, "agent_doubt_count": 0}).probability is not None


@given(st.sampled_from(table().terms), st.floats(0, 1e6), st.floats(0, 1e6))
def test_each_reading_counts_one_way_only_and_within_bounds(term: Term, one: float, other: float) -> None:
    low, high = (judge({**GOOD, term.signal: value}).probability or 0 for value in sorted((one, other)))
    assert low <= high if term.weight > 0 else low >= high
    assert 0 < low < 1


# --- signals of others -----------------------------------------------------------------------------------------------

PLUGIN = """
from retro.signals.base import Reading, SessionContext, missing, reading, register


@register("edits_per_message", group="activity", kind="numeric", method="heuristic", description="edits a message")
def edits_per_message(session: SessionContext) -> Reading:
    messages = session.count("prompt")
    if not messages:
        return missing("the person wrote no message")
    edits = [step for step in session.steps if step.category == "fix"]
    return reading(len(edits) / messages, evidence=(step.event_id for step in edits))
"""


def installed_beside(folder: Path, modules: dict[str, str]) -> None:
    """Put a distribution with signals where Python looks for them."""
    metadata = folder / "others-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[retro.signals]\n" + "".join(f"{name} = {name}\n" for name in modules))
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)


def test_signals_of_other_distributions_are_read_and_broken_ones_say_so(tmp_path: Path) -> None:
    installed_beside(tmp_path / "site", {"good_signals": PLUGIN, "bad_signals": "import nothing_of_that_name\n"})
    transcript(tmp_path / "home", lines(*WORK))
    paths = [str(tmp_path / "site"), str(Path(event.__file__).parents[1])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "CLAUDE_CONFIG_DIR": str(tmp_path / "home")}
    command = [sys.executable, "-m", "retro", "--root", str(tmp_path / "archive")]
    subprocess.run([*command, "sweep"], env=env, check=True, capture_output=True)
    done = subprocess.run([*command, "signal", "show", SESSION, "--json"], env=env, check=True, capture_output=True)
    said = {one["signal"]: one for one in json.loads(done.stdout)["readings"]}
    assert (said["edits_per_message"]["value"], len(said["edits_per_message"]["evidence"])) == (1.0, 1)
    assert "could not be loaded: ModuleNotFoundError" in said["plugin_bad_signals"]["reason"]
    done = subprocess.run([*command, "signal", "list", "--json"], env=env, check=True, capture_output=True)
    assert {one["name"]: one.get("from") for one in json.loads(done.stdout)["signals"]}["edits_per_message"] == "others"


# --- what they may not say, and what they need not do ----------------------------------------------------------------


def test_no_secret_stands_in_what_signals_write(tmp_path: Path) -> None:
    token = "ghp_" + "h7Kd93jXq0PzLm4RtVbW2sYcN8uEaF1gTo5i"
    work = [
        prompt(f"no, use {token}, thanks", 1),
        call("Bash", {"command": f"curl -H 'Authorization: {token}' x && pytest {token}"}, 2),
        result(f"Exit code 1\n{token} 1 failed", 3, is_error=True),
        call("Edit", {"file_path": f"/src/{token}.py", "old_string": token, "new_string": "x"}, 4),
        result(token, 5),
        answer(f"maybe {token}, confirmed {token}", 6),
        prompt(f"that is wrong: {token}", 7),
    ]
    transcript(tmp_path / "home", lines(*work))
    sweep_up(tmp_path / "archive", tmp_path / "home")
    assert readings(tmp_path / "archive")["secret_exposure_count"].value
    for family in ("signals", "digests"):
        for file in (tmp_path / "archive" / family).rglob("*"):
            assert not file.is_file() or token.encode() not in file.read_bytes(), file


def test_a_filtered_run_merges_and_an_unchanged_archive_is_not_read_again(swept: Retro, root: Path) -> None:
    before = swept.json("signal", "show", FIX)["readings"]
    files = {file: file.read_bytes() for file in (root / "signals").iterdir()}
    assert swept.json("signal", "run")["read"] == 0
    assert swept.json("signal", "run", "--signal", "command_count")["read"] == len(ALL)
    assert swept.json("signal", "run", "--session-id", FIX, "--signal", "cost")["read"] == 1
    assert swept.json("signal", "show", FIX)["readings"] == before
    assert {file: file.read_bytes() for file in (root / "signals").iterdir()} == files
    swept.json("sweep")
    assert {file: file.read_bytes() for file in (root / "signals").iterdir()} == files


# --- words -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "No, the other file",
        "wait - not there",
        "That's not what I meant",
        "this is still broken",
        "which was incorrect",
        "not what i wanted at all",
        "as we said, keep it",
        "I asked you for a test",
        "you’ve missed one",
        "you didn’t run it",
        "You should not have touched it",
        "it doesn't compile",
        "still does not work",
        "still failing on CI",
        "please revert that change",
        "and dont add a dependency",
        "never touch main",
        "instead of what you did use a map",
        "as I asked before",
        "try again",
        "das geht immer noch nicht",
        "eso no funciona",
        "ça ne marche pas",
        "这里不对",
        "動きません",
    ],
)
def test_a_person_says_that_something_is_wrong(text: str) -> None:
    assert words.corrects(text)
    assert words.corrects(f"{text.upper()}\nand more")


@pytest.mark.parametrize(
    "text",
    ["no problem", "No need to hurry", "add a flag for it", "you did well", "is it done?", "the wrong-way sign", ""],
)
def test_not_everything_is_a_correction(text: str) -> None:
    assert not words.corrects(text)


def test_what_stands_far_behind_the_beginning_is_no_correction() -> None:
    assert not words.corrects("a long log follows " + "x " * words.HEAD + " that is wrong")


@pytest.mark.parametrize(
    ("text", "confirmed", "doubted"),
    [
        ("The issue is confirmed; I reproduced it.", 2, 0),
        ("Maybe it MIGHT work, probably.", 0, 3),
        ("This confirms that, perhaps.", 1, 1),
        ("I need confirmation of the impossibly mighty.", 0, 0),
        ("All tests pass.", 0, 0),
    ],
)
def test_how_sure_an_agent_sounds(text: str, confirmed: int, doubted: int) -> None:
    assert words.sureness(text) == (confirmed, doubted)


@pytest.mark.parametrize(
    ("text", "praise", "complaint"),
    [
        ("Thanks, that works great", 2, 0),
        ("not great, it's broken", 0, 1),
        ("LGTM! Looks good", 2, 0),
        ("you forgot the tests and it doesn’t work", 0, 2),
        ("it dont work, try again", 0, 1),
        ("不对，谢谢", 1, 1),
        ("das ist super, danke", 2, 0),
        ("add a flag to the command", 0, 0),
    ],
)
def test_what_a_person_thinks_of_it(text: str, praise: int, complaint: int) -> None:
    assert words.opinion(text) == (praise, complaint)
    assert words.opinion(text.upper()) == (praise, complaint)
