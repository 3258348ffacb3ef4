"""`retro list` and bare `retro`: order, filters, short ids, and the warning before the agent deletes something."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_support import AGENTS, ALL, FIX, FORK, SECRETS, Retro, retro, root, swept, transcript, tree
from retro.index import queries

__all__ = ["retro", "root", "swept"]

DAY = 86400


def _ids(shown: object) -> list[str]:
    assert isinstance(shown, dict)
    return [session["session_id"] for session in shown["sessions"]]


def test_sessions_come_newest_first(swept: Retro) -> None:
    shown = swept.json("list")
    ended = [session["ended"] for session in shown["sessions"]]
    assert ended == sorted(ended, reverse=True)
    assert (set(_ids(shown)), shown["total"]) == (set(ALL), 6)
    assert _ids(shown)[:2] == [FORK, SECRETS]


def test_a_line_holds_what_tells_sessions_apart(swept: Retro) -> None:
    head, *lines = swept.says("list").splitlines()
    assert head.split() == ["when", "host", "id", "project", "turns", "size", "title"]
    line = next(line for line in lines if FIX[:8] in line)
    assert ["claude", FIX[:8], "tidebook", "3", "28", "kB", "the", "missing", "last", "tide"] == line.split()[-10:]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--since", "2026-11-16"], {FORK, SECRETS}),
        (["--until", "2026-11-04"], {AGENTS, FIX}),
        (["--since", "2026-11-03", "--until", "2026-11-05"], {AGENTS}),
        (["--project", "gardenlog"], {"5e92b3f0-71c4-4d8b-b0a3-c9d4f1e86a27"}),
        (["--project", "TIDEBOOK", "--since", "20261116"], {FORK, SECRETS}),
        (["--host", "claude", "--limit", "1"], {FORK}),
        (["--host", "codex"], set()),
        (["--project", "%"], set()),
    ],
)
def test_filters_choose(swept: Retro, arguments: list[str], expected: set[str]) -> None:
    assert set(_ids(swept.json("list", *arguments))) == expected


def test_the_total_tells_of_what_the_limit_hides(swept: Retro) -> None:
    shown = swept.json("list", "--limit", "2", "--project", "tidebook")
    assert (len(shown["sessions"]), shown["total"]) == (2, 5)


def test_a_project_is_also_found_by_its_repository(
    retro: Retro, demo_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "checkout"
    (work / ".git").mkdir(parents=True)
    (work / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (work / ".git" / "config").write_text('[remote "origin"]\n\turl = git@github.com:Some_one/pro%ject.git\n')
    session = demo_home / "projects" / "-x" / "11111111-2222-4333-8444-555555555555.jsonl"
    session.parent.mkdir()
    record = {"type": "user", "uuid": "u", "cwd": str(work), "message": {"role": "user", "content": "hello"}}
    session.write_text(json.dumps({**record, "timestamp": "2026-11-01T00:00:00.000Z"}) + "\n")
    retro.says("sweep")
    for name in ("github.com/Some_one/pro%ject", "some_one/pro%ject", "pro%ject"):
        assert _ids(retro.json("list", "--project", name)) == [session.stem]
    assert _ids(retro.json("list", "--project", "someXone/pro%ject")) == []


def test_where_nothing_matches_it_names_the_projects_there_are(swept: Retro) -> None:
    shown = swept.says("list", "--project", "tide")
    assert shown.startswith("No session matches.")
    assert "gardenlog, tidebook" in shown
    assert swept.json("list", "--project", "tide")["sessions"] == []


def test_an_empty_archive_says_what_to_do(retro: Retro, root: Path) -> None:
    assert "retro sweep" in retro.says("list")
    assert retro.json("list") == {"version": 1, "sessions": [], "total": 0, "retention": []}
    assert not root.exists()


def test_an_archive_without_its_index_does_not_pass_for_empty(swept: Retro, root: Path) -> None:
    (root / "index.sqlite").unlink()
    done = swept("list")
    assert done.code == 0
    assert "retro reindex rebuilds it from 6 sessions" in done.err


def test_a_broken_index_says_what_to_do(swept: Retro, root: Path) -> None:
    (root / "index.sqlite").write_bytes(b"not a database, whatever its name says " * 100)
    done = swept("list")
    assert (done.code, done.out) == (1, "")
    assert "retro reindex" in done.err


def test_what_sessions_say_does_not_reach_the_terminal_raw(retro: Retro, demo_home: Path) -> None:
    path = transcript(demo_home, FIX)
    record = {"type": "custom-title", "customTitle": "\x1b]0;owned\x07\x1b[31mred\u202e\x9b2J", "sessionId": FIX}
    path.write_text(path.read_text() + json.dumps(record) + "\n")
    retro.says("sweep")
    for arguments in (["list"], ["show", FIX], ["render", FIX, "--stdout"]):
        shown = retro.says(*arguments)
        assert "red" in shown
        assert not set("\x1b\x07\x9b\u202e") & set(shown)


# --- short ids -------------------------------------------------------------------------------------------------------


@given(st.sets(st.text("ab-", min_size=1, max_size=14), min_size=1, max_size=30))
def test_a_short_id_means_one_session(ids: set[str]) -> None:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE TABLE session (session_id TEXT)")
    connection.executemany("INSERT INTO session VALUES (?)", [(session_id,) for session_id in ids])
    for session_id, short in queries.short_ids(connection, ids).items():
        assert session_id.startswith(short)
        assert len(short) >= min(8, len(session_id))
        assert short == session_id or [other for other in ids if other.startswith(short)] == [session_id]


# --- retention -------------------------------------------------------------------------------------------------------


def _aged(path: Path, days: float) -> None:
    when = time.time() - days * DAY
    os.utime(path, (when, when))


@pytest.mark.parametrize(
    ("days", "period", "warns"),
    [
        (10, None, False),
        (24, None, True),
        (40, None, True),
        (24, 99999, False),
        (70, 100, False),
        (80, 100, True),
        (1, 0, True),
        (400, 10**400, False),
    ],
)
def test_it_warns_before_the_agent_deletes_what_is_not_captured(
    retro: Retro, demo_home: Path, days: float, period: int | None, warns: bool
) -> None:
    if period is not None:
        (demo_home / "settings.json").write_text(json.dumps({"cleanupPeriodDays": period}))
    _aged(transcript(demo_home, FIX), days)
    found = retro.json("list")["retention"]
    if not warns:
        assert found == []
        assert retro("list").err == ""
        return
    assert [(entry["host"], entry["root"], entry["period_days"]) for entry in found] == [
        ("claude", str(demo_home), 30 if period is None else period)
    ]
    assert found[0]["days_left"] == pytest.approx((30 if period is None else period) - days, abs=0.1)
    assert "retro sweep captures" in retro("list").err
    retro.says("sweep")
    assert retro.json("list")["retention"] == []


def test_a_transcript_that_grew_since_is_not_fully_captured(swept: Retro, demo_home: Path) -> None:
    path = transcript(demo_home, FIX)
    with path.open("ab") as file:
        file.write(b"{}\n")
    _aged(path, 28.5)
    assert "1 claude session not yet fully captured is near deletion" in swept("list").err


def test_an_ignored_project_may_be_deleted_in_silence(retro: Retro, demo_home: Path, tmp_path: Path) -> None:
    settings = tmp_path / "c.toml"
    settings.write_text('[ignore]\nprojects = ["tidebook"]\n')
    _aged(transcript(demo_home, FIX), 29)
    assert retro.json("list", "--config", str(settings))["retention"] == []


def test_looking_changes_nothing(swept: Retro, demo_home: Path, root: Path) -> None:
    before = tree(demo_home)
    files = {name: content for name, (_, _, content) in tree(root).items() if not name.endswith(("-wal", "-shm"))}
    for arguments in (["list"], ["show", FIX], ["events", FIX], ["raw", FIX], []):
        swept.says(*arguments)
    assert tree(demo_home) == before
    after = {name: content for name, (_, _, content) in tree(root).items() if not name.endswith(("-wal", "-shm"))}
    assert after == files


# --- bare retro ------------------------------------------------------------------------------------------------------


def test_bare_retro_shows_what_it_knows_and_what_to_do_next(swept: Retro, root: Path) -> None:
    shown = swept.says()
    assert shown.startswith("6 of claude kept: ")
    assert str(root) in shown
    assert shown.index("tidebook") < shown.index("retro sweep") < shown.index("retro --help")
    known = swept.json()["archive"]
    assert (known["sessions"], known["root"], known["problem"]) == (6, str(root), None)


def test_bare_retro_says_how_to_begin(retro: Retro, root: Path) -> None:
    assert retro.says().startswith("Nothing is kept yet.")
    assert retro.json()["archive"]["sessions"] == 0
    assert not root.exists()


def test_bare_retro_helps_whatever_is_wrong(swept: Retro, root: Path, tmp_path: Path) -> None:
    (root / "index.sqlite").write_bytes(b"no database " * 1000)
    done = swept()
    assert done.code == 0
    assert "index.sqlite" in done.err
    assert "retro COMMAND" in done.out
    assert "index.sqlite" in swept.json()["archive"]["problem"]


def test_bare_retro_says_what_this_week_took_and_shows_the_last_sessions(swept: Retro) -> None:
    shown = swept.json()["archive"]
    spent = {period["name"]: (period["sessions"], period["microdollars"]) for period in shown["periods"]}
    week = swept.json("cost")["week"]
    assert list(spent) == ["today", "this week", "this month"]
    assert spent["this week"][1] == week["totalMicrodollars"]
    said = swept.says()
    listed = swept.says("list", "--limit", "5").splitlines()
    assert [line for line in listed if line not in said] == []
    assert f"retro digest {FORK[:8]}" in said
    assert "retro COMMAND" not in said  # the help has a command of its own
