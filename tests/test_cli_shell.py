"""The command line's shell: dispatch, errors and exit codes, JSON, tables, times, progress, and what a start loads."""

from __future__ import annotations

import argparse
import errno
import io
import json
import os
import subprocess
import sys
import types
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retro import __version__, cli
from retro.cli import interface, moments, output
from retro.cli.output import Column, Progress, Styled
from retro.failure import BUSY, Failure

SOURCE = str(Path(cli.__file__).parents[2])
NOW = datetime(2026, 11, 10, 12, 0, tzinfo=timezone.utc)

Run = Callable[[argparse.Namespace, interface.Context], int]


def shell(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    surroundings = {**os.environ, "PYTHONPATH": SOURCE, "PYTHONUTF8": "1", **(env or {})}
    return subprocess.run(
        [sys.executable, "-m", "retro", *arguments],
        env=surroundings,
        capture_output=True,
        encoding="utf-8",
        errors="backslashreplace",
        check=False,
        cwd=os.environ["HOME"],
    )


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Callable[[Run], None]:
    """Make `retro stub` do what a test wants."""

    def add_arguments(parser: interface.Parser) -> None:
        parser.add_argument("words", nargs="*")
        parser.add_argument("--number", type=int)
        moments.add_filters(parser, limit=20)

    def install(run: Run) -> None:
        module = types.ModuleType("retro.cli.stub_cmd")
        module.__dict__.update(add_arguments=add_arguments, run=run)
        monkeypatch.setitem(sys.modules, "retro.cli.stub_cmd", module)
        monkeypatch.setitem(cli.COMMANDS, "stub", ("stub_cmd", "does what the test wants"))

    return install


def raising(error: BaseException) -> Run:
    def run(args: argparse.Namespace, context: interface.Context) -> int:
        raise error

    return run


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


# --- what a start loads ----------------------------------------------------------------------------------------------


def test_the_version_is_told_without_loading_anything() -> None:
    code = (
        "import sys; before = set(sys.modules); from retro.__main__ import main; sys.argv[1:] = ['--version']; main(); "
    )
    code += "print(*sorted(set(sys.modules) - before))"
    env = {**os.environ, "PYTHONPATH": SOURCE}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    expected = {"__future__", "gc", "retro", "retro.__main__", "retro.cli", "retro.failure"}  # gc is in the interpreter
    assert done.stdout.splitlines()[0] == f"retro {__version__}"
    assert set(done.stdout.splitlines()[1].split()) <= expected


def test_help_loads_no_command() -> None:
    code = "import sys; from retro.__main__ import main; sys.argv[1:] = ['--help']; main(); "
    code += "print(*(set(sys.modules) & {'argparse', 'rich', 'msgspec', 'json', 'apsw', 'typing', 'retro.config'}))"
    env = {**os.environ, "PYTHONPATH": SOURCE}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""


# --- dispatch --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["--no-color", "--help"], ["--root", "x"]])
def test_help_lists_every_command_with_its_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(arguments) == 0
    shown = capsys.readouterr()
    for noun, (_, line) in cli.COMMANDS.items():
        assert any(text.split() == [noun, *line.split()] for text in shown.out.splitlines())
    assert shown.err == ""
    assert max(map(len, shown.out.splitlines())) <= 80


def test_help_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--json"]) == 0
    assert json.loads(capsys.readouterr().out)["commands"]["config"] == cli.COMMANDS["config"][1]


@pytest.mark.parametrize("noun", sorted(cli.COMMANDS))
def test_every_command_that_help_names_exists_and_explains_itself(
    noun: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run([noun, "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"usage: retro {noun}")
    assert "--root DIR" in shown


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["stub"], (False, None, None)),
        (["--json", "--root", "/a", "stub"], (True, "/a", None)),
        (["stub", "--json", "--config=/c"], (True, None, "/c")),
        (["--root=/a", "--config", "/c", "stub", "--root", "/b"], (False, "/b", "/c")),
    ],
)
def test_global_options_stand_before_or_after_the_command(
    arguments: list[str], expected: object, stub: Callable[[Run], None]
) -> None:
    seen: list[object] = []

    def run(args: argparse.Namespace, context: interface.Context) -> int:
        seen.append((context.json, context.root_option, context.config_option))
        return 4

    stub(run)
    assert cli.run(arguments) == 4
    assert seen == [expected]


def test_global_options_stand_before_and_behind_a_verb(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["config", "--json", "path"], ["config", "path", "--json"], ["--json", "config", "path"]):
        assert cli.run([*arguments, "--config", "/c.toml"]) == 0
        assert json.loads(capsys.readouterr().out)["file"] == os.path.abspath("/c.toml")


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["swep"], 'there is no command "swep"', 'did you mean "sweep"?'),
        (["\x1b[31mx"], 'there is no command "\x1b[31mx"', "retro --help"),
        (["--jsn"], 'there is no option "--jsn"', 'did you mean "--json"?'),
        (["--root"], "--root needs a value", "retro --help"),
        (["--json=1"], 'there is no option "--json"', 'did you mean "--json"?'),
        (["stub", "--number", "x"], "argument --number: invalid int value: 'x'", "retro stub --help"),
        (["stub", "--lim", "1"], "unrecognized arguments: --lim", "retro stub --help"),
        (["stub", "--limit", "0"], 'argument --limit: "0" is not a whole number above 0', "retro stub --help"),
        (["config"], "the following arguments are required: VERB", "retro config --help"),
    ],
)
def test_wrong_usage_is_told_with_a_hint_as_text_and_as_json(
    arguments: list[str], message: str, hint: str, stub: Callable[[Run], None], capsys: pytest.CaptureFixture[str]
) -> None:
    stub(lambda args, context: 0)
    assert cli.run(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("retro: ")
    assert shown.err.rstrip().endswith(hint)
    assert "\x1b" not in shown.err
    if "--json=1" not in arguments and arguments != ["--root"]:
        assert cli.run([*arguments[:1], "--json", *arguments[1:]]) == 2
        error = json.loads(capsys.readouterr().out)["error"]
        assert error["kind"] == "usage"
        assert error["message"].startswith(message)


def test_json_behind_two_dashes_is_no_option(stub: Callable[[Run], None], capsys: pytest.CaptureFixture[str]) -> None:
    stub(raising(Failure("x", "broken")))
    assert cli.run(["stub", "--", "--json"]) == 1
    assert capsys.readouterr().out == ""


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "kind", "code", "words"),
    [
        (Failure("busy", "another sweep runs", "wait", BUSY), "busy", 3, "another sweep runs"),
        (OSError(errno.ENOSPC, "No space", "/r/x"), "disk_full", 1, "no space left on the disk: /r/x"),
        (OSError(errno.EROFS, "Read-only", "/r/x"), "read_only", 1, "read-only: /r/x"),
        (PermissionError(errno.EACCES, "denied", b"/r/x"), "permission", 1, "permission denied: /r/x"),
        (OSError(errno.EIO, "Input/output error"), "io", 1, "Input/output error"),
        (ZeroDivisionError("oops \x1b[31m\nsecond"), "internal", 1, "internal error: ZeroDivisionError: oops"),
        (RecursionError(), "internal", 1, "internal error: RecursionError"),
        (OSError("odd"), "internal", 1, "internal error: OSError: odd"),
    ],
)
def test_every_error_is_one_message(
    error: Exception, kind: str, code: int, words: str, stub: Callable[[Run], None], capsys: pytest.CaptureFixture[str]
) -> None:
    stub(raising(error))
    assert cli.run(["stub"]) == code
    shown = capsys.readouterr()
    assert (shown.out, "Traceback" in shown.err, "\x1b" in shown.err) == ("", False, False)
    assert shown.err.startswith("retro: ")
    assert words in shown.err
    assert cli.run(["stub", "--json"]) == code
    shown = capsys.readouterr()
    assert shown.err == ""
    assert list(json.loads(shown.out)["error"]) == ["kind", "message", "hint"]
    assert json.loads(shown.out)["error"]["kind"] == kind


def test_an_internal_error_names_its_place_and_shows_the_traceback_on_request(
    stub: Callable[[Run], None], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stub(raising(KeyError("x")))
    assert cli.run(["stub"]) == 1
    shown = capsys.readouterr().err
    assert "(retro" + os.sep + "cli" + os.sep in shown
    assert "RETRO_DEBUG=1" in shown
    monkeypatch.setenv("RETRO_DEBUG", "1")
    assert cli.run(["stub"]) == 1
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_an_interrupt_is_quiet(stub: Callable[[Run], None], capsys: pytest.CaptureFixture[str]) -> None:
    stub(raising(KeyboardInterrupt()))
    assert cli.run(["stub"]) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
@pytest.mark.parametrize(
    "arguments", [["--help"], ["config", "--help"], ["config", "show", "--json"], ["config", "path"]]
)
def test_a_reader_that_goes_away_is_no_error(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "retro", *arguments]
    env = {**os.environ, "PYTHONPATH": SOURCE}
    done = subprocess.run(command, env=env, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(os.name != "posix", reason="poll")
def test_a_broken_pipe_of_a_worker_is_an_error(stub: Callable[[Run], None], capsys: pytest.CaptureFixture[str]) -> None:
    stub(raising(BrokenPipeError(errno.EPIPE, "Broken pipe")))
    assert cli.run(["stub"]) == 1
    assert "Broken pipe" in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_no_encoding_of_the_terminal_stops_a_command(encoding: str) -> None:
    env = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "RETRO_ROOT": "/Größe/日本/\u202ex"}
    done = shell("config", "show", env=env)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(shell("config", "show", "--json", env=env).stdout)
    assert found["root"]["path"] == os.path.abspath("/Größe/日本/\u202ex")


@pytest.mark.skipif(os.name != "posix", reason="file names that are no text")
def test_a_name_that_is_no_text_stops_nothing() -> None:
    done = shell("config", "show", "--json", env={"RETRO_ROOT": "/a\udcffb"})
    assert json.loads(done.stdout)["root"]["path"] == "/a\udcffb"
    assert shell("config", "show", env={"RETRO_ROOT": "/a\udcffb"}).returncode == 0


@pytest.mark.skipif(os.name != "posix", reason="a shell that closes streams")
def test_closed_streams_stop_nothing() -> None:
    command = f"'{sys.executable}' -m retro config show >&- 2>&-"
    done = subprocess.run(["/bin/sh", "-c", command], env={**os.environ, "PYTHONPATH": SOURCE}, check=False)
    assert done.returncode == 0


# --- settings and archives -------------------------------------------------------------------------------------------


def test_init_makes_an_archive_that_retro_then_uses_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    root = os.path.join(os.path.realpath(tmp_path), "here", "rollout-memory")
    for first in (True, False):
        assert cli.run(["init", "--json"]) == 0
        result = json.loads(capsys.readouterr().out)
        assert (result["version"], result["root"]) == (1, root)
        assert (result["created"], result["registered"]) == (first, first)
    assert cli.run(["config", "show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["root"] == {"path": root, "origin": "registered"}
    assert Path(root, ".gitignore").read_text() == "*\n"


def test_init_takes_a_folder_and_says_how_it_is_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["init", str(tmp_path / "mine")]) == 0
    assert "RETRO_ROOT" in capsys.readouterr().out
    assert cli.run(["init", str(tmp_path / "mine")]) == 0
    assert "already there" in capsys.readouterr().out


def test_init_says_that_an_archive_was_there_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "cloned/rollout-memory/raw").mkdir(parents=True)
    assert cli.run(["init", str(tmp_path / "cloned/rollout-memory")]) == 0
    assert "held an archive already" in capsys.readouterr().err


def test_warnings_of_the_settings_are_shown_once_and_errors_stop(
    isolated: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = isolated / "c.toml"
    file.write_text("[sweep]\nworker = 1\n")
    assert cli.run(["--config", str(file), "config", "show"]) == 0
    assert capsys.readouterr().err.count("unknown setting sweep.worker") == 1
    file.write_text("[sweep]\nworkers = 'x'\n")
    assert cli.run(["--config", str(file), "config", "show"]) == 2
    assert f"{file}:2: sweep.workers" in capsys.readouterr().err
    assert cli.run(["--config", str(file), "config", "path"]) == 0


# --- JSON ------------------------------------------------------------------------------------------------------------


def test_json_is_one_versioned_line(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_json({"a": [1, "ü"]})
    output.print_json({})
    assert capsys.readouterr().out == '{"version":1,"a":[1,"ü"]}\n{"version":1}\n'
    with pytest.raises(TypeError):
        output.print_json([1])


def test_json_on_a_terminal_cannot_act_on_it_and_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    content = {"t": "\x1b[31m \x9b31m \u202e \U000e0041 \ud83d\ude00 ü"}
    buffer = io.BytesIO()
    stream = io.TextIOWrapper(buffer, encoding="ascii")
    monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdout", stream)
    output.print_object({"t": content["t"].encode("utf-16", "surrogatepass").decode("utf-16")})
    shown = buffer.getvalue().decode("utf-8").rstrip("\n")
    assert shown.isprintable()
    assert json.loads(shown) == {"t": "\x1b[31m \x9b31m \u202e \U000e0041 😀 ü"}


# --- tables and colours ----------------------------------------------------------------------------------------------

COLUMNS = (Column("id"), Column("title", shrink=True), Column("size", right=True))


def lines(rows: Sequence[Sequence[str | Styled]], width: int | None, color: bool = False) -> list[str]:
    return output.table_lines(rows, COLUMNS, width, color=color)


def test_columns_are_aligned() -> None:
    assert lines([("a", "hello", "9 kB"), ("long-id", "日本", "12 kB")], None) == [
        "id       title   size",
        "a        hello   9 kB",
        "long-id  日本   12 kB",
    ]


def test_only_columns_that_may_shrink_are_cut() -> None:
    rows = [("0198b5a2-7c1e", "a title that is far too long for this", "9 kB")]
    assert lines(rows, 30) == ["id             title      size", "0198b5a2-7c1e  a title…   9 kB"]
    assert lines(rows, 5)[1] == "0198b5a2-7c1e  a title…  9 kB"


def test_a_table_without_rows_is_its_header() -> None:
    assert lines([], 80) == ["id  title  size"]


def test_styles_are_shown_in_colour_only() -> None:
    rows = [(Styled("a", "yellow"), "b", "c")]
    assert lines(rows, None)[1] == "a   b         c"
    assert lines(rows, None, color=True)[1] == "\x1b[33ma\x1b[0m   b         c"


@given(st.lists(st.tuples(st.text(max_size=12), st.text(max_size=40), st.text(max_size=5)), max_size=5))
def test_cells_cannot_break_a_table(rows: list[tuple[str, str, str]]) -> None:
    shown = lines(rows, 60)
    assert len(shown) == len(rows) + 1
    assert all("\n" not in line and "\r" not in line and "\x1b" not in line for line in shown)


@given(st.text(), st.integers(1, 30))
def test_a_cut_text_fits(text: str, width: int) -> None:
    assert output.display_width(output.cut(text, width)) <= width


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("😀", 2), ("", 0), ("ａ", 2)])
def test_the_width_of_a_text(text: str, width: int) -> None:
    assert output.display_width(text) == width


@pytest.mark.parametrize(
    ("env", "terminal", "expected"),
    [
        ({"TERM": "xterm"}, True, True),
        ({"TERM": "xterm"}, False, False),
        ({"TERM": "dumb"}, True, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True, True),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "0"}, False, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
    ],
)
def test_colours_are_shown_where_they_are_wanted(env: dict[str, str], terminal: bool, expected: bool) -> None:
    stream = Terminal() if terminal else io.StringIO()
    assert output.has_color(stream, env) is expected
    output.configure(color=False)
    assert output.has_color(stream, env) is False
    output.configure(color=True)


def test_what_is_said_is_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    output.say("one \x1b]0;title\x07 [bold]two[/bold]\nthree")
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "[bold]two[/bold]" in out
    assert out.count("\n") == 2


def test_notices_are_for_terminals_and_warnings_for_everybody(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output.notice("psst")
    output.warn("careful")
    assert capsys.readouterr() == ("", "retro: careful\n")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    output.notice("psst")
    assert terminal.getvalue() == "psst\n"


# --- progress --------------------------------------------------------------------------------------------------------


def test_progress_is_silent_where_no_person_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("claude", items=2, size=10) as progress:
        progress.advance(items=1, size=5)
    assert capsys.readouterr() == ("", "")


def test_progress_draws_one_line_throttled_and_takes_it_away(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("time.monotonic", lambda: 100.0)
    with Progress("claude\x1b[2J", items=1000) as progress:
        for _ in range(1000):
            progress.advance(items=1)
        output.warn("careful")
    shown = stream.getvalue()
    assert shown.count("1/1,000") == 1
    assert "\x1b" not in shown
    assert "\n" not in shown.replace("retro: careful\n", "")
    assert shown.index("1/1,000") < shown.index("retro: careful")


def test_progress_tells_counts_bytes_speed_and_the_time_left() -> None:
    progress = Progress("sweep", items=10)
    progress.expect(size=100_000_000)
    progress.advance(items=2, size=25_000_000)
    assert progress.line(0.1) == "sweep  2/10  25 MB of 100 MB"
    assert progress.line(5) == "sweep  2/10  25 MB of 100 MB  5.0 MB/s  15s left"


# --- figures and times -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (9_949, "9.9 kB"),
        (9_960, "10 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (23_400_000, "23 MB"),
        (1_500_000_000, "1.5 GB"),
        (2_500_000_000_000, "2.5 TB"),
    ],
)
def test_sizes(amount: int, expected: str) -> None:
    assert output.size(amount) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-1, "0.0s"),
        (0.44, "0.4s"),
        (9.96, "10s"),
        (59.4, "59s"),
        (59.6, "1m 00s"),
        (200, "3m 20s"),
        (7500, "2h 05m"),
        (273_600, "3d 4h"),
    ],
)
def test_durations(seconds: float, expected: str) -> None:
    assert output.duration(seconds) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7d", NOW - timedelta(days=7)),
        ("12h", NOW - timedelta(hours=12)),
        (" 2w ", NOW - timedelta(weeks=2)),
        ("2026-11-01", datetime(2026, 11, 1).astimezone()),
        ("20261101", datetime(2026, 11, 1).astimezone()),
        ("2026-11-01T14:30", datetime(2026, 11, 1, 14, 30).astimezone()),
        ("2026-11-01 14:30:01", datetime(2026, 11, 1, 14, 30, 1).astimezone()),
        ("2026-11-01T14:30:00Z", datetime(2026, 11, 1, 14, 30, tzinfo=timezone.utc)),
        ("2026-11-01t14:30:00.5z", datetime(2026, 11, 1, 14, 30, 0, 500_000, tzinfo=timezone.utc)),
        ("2026-11-01T14:30:00.902+02:00", datetime(2026, 11, 1, 12, 30, 0, 902_000, tzinfo=timezone.utc)),
    ],
)
def test_a_time_is_understood(text: str, expected: datetime) -> None:
    assert moments.parse_since(text, NOW) == expected
    assert moments.parse_since(text, NOW).tzinfo is timezone.utc


def test_until_a_day_includes_the_day() -> None:
    assert moments.parse_until("2026-11-01", NOW) == datetime(2026, 11, 2).astimezone()
    assert moments.parse_until("7d", NOW) == NOW - timedelta(days=7)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "7",
        "7y",
        "d",
        "-7d",
        "999999w",
        "9999999d",
        "2026-13-01",
        "2026-02-30",
        "2026-1-1",
        "26-01-01",
        "0000-01-01",
        "2026-11-01T25:00",
        "2026-11-01T",
        "٧d",
        "9999-12-31T23:59-23:00",
        "\x1b[31m",
        "2026-11-01T14:30:00.123456789x",
    ],
)
def test_what_is_no_time_is_wrong_usage(text: str) -> None:
    with pytest.raises(Failure, match="is no time") as caught:
        moments.parse_since(text, NOW)
    assert caught.value.exit_code == 2


@given(
    st.text(alphabet="0123456789-T:.Zdhw +", max_size=30), st.sampled_from([moments.parse_since, moments.parse_until])
)
def test_a_time_is_understood_or_refused(text: str, parse: Callable[[str, datetime], datetime]) -> None:
    try:
        assert parse(text, NOW).utcoffset() == timedelta(0)
    except Failure as failure:
        assert failure.kind == "usage"


@pytest.mark.parametrize(
    ("back", "expected"),
    [
        (timedelta(seconds=-30), "just now"),
        (timedelta(seconds=59), "just now"),
        (timedelta(minutes=5), "5 min ago"),
        (timedelta(hours=3, minutes=59), "3 h ago"),
        (timedelta(days=1, hours=23), "1 day ago"),
        (timedelta(days=13), "13 days ago"),
        (timedelta(days=20), "2026-10-21"),
        (timedelta(days=-2), "2026-11-12"),
    ],
)
def test_how_long_ago(back: timedelta, expected: str) -> None:
    assert moments.ago(NOW - back, NOW) == expected


def test_times_of_events_are_shown_in_local_time() -> None:
    stamp = "2026-02-01T03:50:40.902Z"
    assert moments.moment(stamp) == datetime(2026, 2, 1, 3, 50, 40, 902_000, tzinfo=timezone.utc)
    assert moments.local(stamp) == datetime(2026, 2, 1, 3, 50, 40, tzinfo=timezone.utc).astimezone().strftime(
        "%Y-%m-%d %H:%M"
    )
    assert (moments.local(None), moments.ago(None), moments.local("junk"), moments.moment(None)) == ("", "", "", None)


def test_filters_come_as_times_and_names(stub: Callable[[Run], None], capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[moments.Filters] = []

    def run(args: argparse.Namespace, context: interface.Context) -> int:
        seen.append(moments.filters(args, NOW))
        return 0

    stub(run)
    assert cli.run(["stub"]) == 0
    assert (
        cli.run(["stub", "--since", "7d", "--until=2026-11-01", "--project=--json", "--host", "codex", "--limit=3"])
        == 0
    )
    assert seen == [
        moments.Filters(None, None, None, None, 20),
        moments.Filters(NOW - timedelta(days=7), datetime(2026, 11, 2).astimezone(), "--json", "codex", 3),
    ]
    assert cli.run(["stub", "--host", "claud"]) == 2
    assert 'did you mean "claude"?' in capsys.readouterr().err
