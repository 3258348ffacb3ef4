"""`retro events`, `raw` and `render`: a session given back, as events, as bytes, as a document."""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli_support import AGENTS, FIX, SECRETS, Retro, retro, root, swept, transcript
from retro import cli

__all__ = ["retro", "root", "swept"]

SOURCE = str(Path(cli.__file__).parents[2])


def shell(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    """`retro` as a program of its own, for exact bytes."""
    env = {**os.environ, "PYTHONPATH": SOURCE}
    return subprocess.run([sys.executable, "-m", "retro", *arguments], env=env, capture_output=True, check=False)


def _events(retro: Retro, *arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in retro.says("events", *arguments).splitlines()]


# --- events ----------------------------------------------------------------------------------------------------------


def test_events_are_json_lines_and_one_object_with_json(swept: Retro) -> None:
    lines = _events(swept, FIX)
    assert len(lines) == 23
    shown = swept.json("events", FIX)
    assert (shown["host"], shown["session_id"], shown["events"]) == ("claude", FIX, lines)


def test_sub_agents_stand_behind_the_call_that_started_them(swept: Retro) -> None:
    sources = [event["source"] for event in _events(swept, AGENTS)]
    first, last = sources.index("agent-a3f81c02d95e6b47d"), len(sources) - sources[::-1].index("main")
    assert 0 < first < last


@pytest.mark.parametrize(
    ("arguments", "holds"),
    [
        (["--type", "command"], {"event_type": {"command"}}),
        (["--type", "command", "--type", "file_edit"], {"event_type": {"command", "file_edit"}}),
        (["--turn", "2"], {"turn": {2}}),
    ],
)
def test_events_are_chosen(swept: Retro, arguments: list[str], holds: dict[str, set[object]]) -> None:
    found = _events(swept, FIX, *arguments)
    for name, values in holds.items():
        assert {event[name] for event in found} == values


def test_events_of_a_sub_agent_and_a_limit(swept: Retro) -> None:
    found = _events(swept, AGENTS, "--agent", "a3f8")
    assert {event["agent_id"] for event in found} == {"a3f81c02d95e6b47d"}
    assert _events(swept, AGENTS, "--agent", "a3f8", "--limit", "2") == found[:2]
    assert _events(swept, AGENTS, "--agent", "none") == []
    assert swept.json("events", AGENTS, "--agent", "none")["events"] == []


def test_an_unknown_type_is_wrong_usage(swept: Retro) -> None:
    done = swept("events", FIX, "--type", "mesage")
    assert (done.code, done.out) == (2, "")
    assert 'did you mean "message"?' in done.err


# --- raw -------------------------------------------------------------------------------------------------------------


def test_raw_gives_the_very_bytes(swept: Retro, demo_home: Path) -> None:
    assert shell("raw", FIX).stdout == transcript(demo_home, FIX).read_bytes()
    part = next(demo_home.rglob("agent-a3f8*.jsonl"))
    assert shell("raw", AGENTS, "--source", part.stem).stdout == part.read_bytes()


def test_raw_holds_what_everything_else_masks(swept: Retro) -> None:
    assert b"AKIA" in shell("raw", SECRETS).stdout
    for arguments in (["events", SECRETS], ["render", SECRETS, "--stdout"], ["show", SECRETS]):
        assert b"AKIA" not in shell(*arguments).stdout


def test_raw_is_binary_safe(retro: Retro, demo_home: Path) -> None:
    data = bytes(range(256)) * 3 + b"\n" + b"\xff\xfe{}\n\r\n"
    path = transcript(demo_home, FIX)
    path.write_bytes(path.read_bytes() + data)
    retro.says("sweep")
    assert shell("raw", FIX).stdout == path.read_bytes()
    lines = path.read_bytes().count(b"\n")
    shown = retro.json("raw", FIX, "--line", str(lines - 1))
    assert base64.b64decode(shown["base64"]) == b"\xff\xfe{}\n"


def test_raw_gives_single_lines(swept: Retro, demo_home: Path) -> None:
    lines = transcript(demo_home, FIX).read_bytes().splitlines(keepends=True)
    for number in (1, 7, len(lines)):
        assert shell("raw", FIX, "--line", str(number)).stdout == lines[number - 1]
    done = swept("raw", FIX, "--line", str(len(lines) + 1))
    assert done.code == 1
    assert f"its last one is {len(lines)}" in done.err


def test_a_line_that_fills_many_frames_is_given_whole(retro: Retro, demo_home: Path) -> None:
    path = transcript(demo_home, FIX)
    long = b'{"type":"mode","mode":"' + b"x" * 20_000_000 + b'"}\n'
    path.write_bytes(b'{"type":"mode","mode":"a"}\n' + long + b'{"type":"mode","mode":"b"}\n')
    retro.says("sweep")
    assert shell("raw", FIX, "--line", "2").stdout == long
    assert shell("raw", FIX, "--line", "3").stdout == b'{"type":"mode","mode":"b"}\n'
    done = retro("raw", FIX, "--json")
    assert done.code == 1
    assert json.loads(done.out)["error"]["kind"] == "too_large"


def test_every_event_leads_to_its_record(swept: Retro, demo_home: Path) -> None:
    for event in _events(swept, FIX):
        shown = swept.json("raw", FIX, "--event", event["event_id"])
        record = json.loads(shown["text"])
        assert record.get("uuid", event["event_id"]) == event["event_id"].partition(".")[0]
        assert shown["bytes"] == event["raw_ref"]["length"]


def test_an_event_may_be_given_by_its_beginning(swept: Retro) -> None:
    event_id = _events(swept, FIX, "--type", "message")[0]["event_id"]
    whole = swept.json("raw", FIX, "--event", event_id)
    assert swept.json("raw", FIX, "--event", event_id[:6]) == whole
    assert swept("raw", FIX, "--event", "").code == 2
    assert swept("raw", FIX, "--event", "zz").code == 1


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--source", "agnt"], 1, 'no source "agnt"'),
        (["--revision", "4"], 1, "main has no revision 4"),
        (["--event", "x", "--source", "main"], 2, "--event says by itself"),
        (["--event", "x", "--line", "2"], 2, "not allowed with"),
        (["--line", "0"], 2, "not a whole number above 0"),
        (["--revision", "-1"], 2, "--revision"),
    ],
)
def test_what_is_not_there_is_told(swept: Retro, arguments: list[str], code: int, words: str) -> None:
    done = swept("raw", FIX, *arguments)
    assert (done.code, done.out) == (code, "")
    assert words in done.err


def test_a_source_may_be_named_as_events_name_it(swept: Retro, demo_home: Path) -> None:
    swept.says("import", "claude", "--session-id", FIX, "--force")
    assert swept.json("raw", FIX, "--source", "main@1")["revision"] == 1
    assert swept.json("raw", FIX, "--source", "main")["revision"] == 1
    assert swept.json("raw", FIX, "--source", "main", "--revision", "0")["revision"] == 0


def test_sidecars_are_given_by_the_key_that_the_list_shows(swept: Retro, demo_home: Path) -> None:
    for source in swept.json("raw", FIX, "--list")["sources"]:
        assert shell("raw", FIX, "--source", source["key"]).stdout == Path(source["path"]).read_bytes()


class _Terminal(io.TextIOWrapper):
    """A stdout that says it is a terminal."""

    def __init__(self) -> None:
        self.written = io.BytesIO()
        super().__init__(self.written, encoding="utf-8", newline="")

    def isatty(self) -> bool:
        return True


def _on_a_terminal(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    assert cli.run(list(arguments)) == 0
    terminal.flush()
    return terminal.written.getvalue().decode()


def test_nothing_reaches_a_terminal_raw(retro: Retro, demo_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = transcript(demo_home, FIX)
    hostile = "\x1b]52;c;AAAA\x07\x9b31m \u202e".encode() + b"\xff\x1b[2J"
    record = {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "before \x1b[2J\x07 after\u202e"}}
    path.write_bytes(path.read_bytes() + json.dumps(record, ensure_ascii=False).encode() + b"\n" + hostile + b"\n")
    retro.says("sweep")
    for arguments in (["raw", FIX], ["events", FIX], ["events", FIX, "--json"], ["raw", FIX, "--json"], ["show", FIX]):
        if arguments[-1] == "--json" and arguments[0] == "raw":
            arguments = [*arguments, "--line", "1"]
        shown = _on_a_terminal(monkeypatch, *arguments)
        assert shown
        assert not set(shown) & set("\x1b\x07\x9b\u202e")
    assert "before" in _on_a_terminal(monkeypatch, "render", FIX, "--stdout")


# --- render ----------------------------------------------------------------------------------------------------------


def test_render_writes_into_the_archive_and_prints_the_path(swept: Retro, root: Path) -> None:
    path = root / "rendered" / "claude" / f"{FIX}.md"
    assert swept.says("render", FIX) == f"{path}\n"
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# the missing last tide\n")
    assert "27,860" not in text  # the accounting is of all sources
    assert "- accounting: 28,235 bytes captured, all of them accounted for\n" in text
    assert swept.json("render", FIX)["file"] == str(path)
    assert swept.says("render", FIX, "--stdout") == text
    assert swept.json("render", FIX, "--stdout")["markdown"] == text


def test_render_writes_where_it_is_told(swept: Retro, tmp_path: Path, root: Path) -> None:
    target = tmp_path / "out.md"
    assert swept.says("render", "claude", FIX, "-o", str(target)) == f"{target}\n"
    assert target.read_text(encoding="utf-8") == swept.says("render", FIX, "--stdout")
    assert not (root / "rendered").exists()
    done = swept("render", FIX, "-o", str(tmp_path / "no" / "out.md"))
    assert done.code == 1
    assert "No such file" in done.err


def test_gaps_stand_in_the_accounting_line(retro: Retro, demo_home: Path) -> None:
    with transcript(demo_home, FIX).open("ab") as file:
        file.write(b'oops\n{"type":"ne')
    retro.says("sweep")
    assert "4 malformed, 11 not finished" in retro.says("render", FIX, "--stdout")


def test_a_link_out_of_the_archive_is_not_followed(swept: Retro, root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (root / "rendered").symlink_to(tmp_path / "outside", target_is_directory=True)
    done = swept("render", FIX)
    assert done.code == 1
    assert "is not inside the archive" in done.err
    assert list((tmp_path / "outside").iterdir()) == []
