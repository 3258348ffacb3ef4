"""`retro show`, and how a session is found by the beginning of its id."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli_support import AGENTS, ALL, FIX, FORK, SECRETS, Retro, retro, root, swept, transcript
from conftest import CORPUS
from retro.archive.account import fate
from retro.archive.committed import SourceState
from retro.index.database import open_reader
from retro.index.queries import detail
from retro.places import Places

__all__ = ["retro", "root", "swept"]


def _sum(bytes_: dict[str, int]) -> int:
    return sum(bytes_[name] for name in ("mapped", "bookkeeping", "unknown", "malformed", "torn_tail"))


@pytest.mark.parametrize("session_id", ALL)
def test_every_byte_of_every_source_is_accounted_for(swept: Retro, demo_home: Path, session_id: str) -> None:
    shown = swept.json("show", session_id)
    assert shown["exact"] is True
    for source in shown["sources"]:
        size = Path(source["path"]).stat().st_size
        assert (source["exact"], source["bytes"]["size"], _sum(source["bytes"])) == (True, size, size)
        by_type = sum(size for kinds in source["types"].values() for _, size in kinds.values())
        assert by_type == source["captured_bytes"] == size
        assert source["now"] == "unchanged"
    assert _sum(shown["bytes"]) == sum(source["bytes"]["size"] for source in shown["sources"])
    assert sum(shown["events"].values()) == shown["session"]["events"]
    assert len(shown["turns"]) == shown["session"]["turns"]


def test_the_words_tell_the_same(swept: Retro) -> None:
    shown = swept.says("show", FIX)
    assert shown.startswith("the missing last tide\n")
    for words in (f"session  {FIX}", "holds    3 turns, 23 events", "none: every byte is a record", "assistant 11"):
        assert words in shown
    main = next(line.split() for line in shown.splitlines() if line.startswith("main "))
    assert main[1:] == ["24,153", "3,707", "0", "0", "0", "27,860", "unchanged"]


def test_gaps_are_shown_with_their_place_and_reason(retro: Retro, demo_home: Path) -> None:
    path = transcript(demo_home, FIX)
    begin = len(path.read_bytes())
    lines = path.read_bytes().count(b"\n")
    with path.open("ab") as file:
        file.write(b'not a record\n{"type":"never-seen","text":"x"}\n\x00\x00\n{"type":"us')
    retro.says("sweep")
    source = retro.json("show", FIX)["sources"][0]
    assert source["gaps"][0] == {"offset": begin, "length": 12, "line": lines + 1, "reason": "not JSON"}
    assert (source["bytes"]["malformed"], source["bytes"]["torn_tail"]) == (14, 11)
    assert source["bytes"]["unknown"] == 32
    assert source["exact"] is True
    shown = retro.says("show", FIX)
    assert f"main line {lines + 1}, byte {begin:,}: not JSON (12 bytes)" in shown
    assert "main: the last line is not finished" in shown
    assert "never-seen 1" in shown
    assert "none:" not in shown


def test_no_more_gaps_are_listed_than_a_person_reads(retro: Retro, demo_home: Path) -> None:
    with transcript(demo_home, FIX).open("ab") as file:
        file.write(b"broken\n" * 500)
    retro.says("sweep")
    assert retro.says("show", FIX).count("not JSON (6 bytes)") == 20
    assert "and 480 more" in retro.says("show", FIX)
    assert retro.json("show", FIX)["sources"][0]["types"]["malformed"] == {"not JSON": [500, 3000]}


def test_masked_secrets_are_counted_and_not_shown(swept: Retro) -> None:
    shown = swept.json("show", SECRETS)
    assert set(shown["secrets"]) == {"aws_access_key_id", "aws_secret_access_key", "url_password"}
    assert "AKIA" not in json.dumps(shown)
    assert "masked" in swept.says("show", SECRETS)


def test_a_source_that_the_agent_deleted_is_told(swept: Retro, demo_home: Path) -> None:
    transcript(demo_home, FIX).unlink()
    assert swept.json("show", FIX)["sources"][0]["now"] == "gone"
    assert "gone" in swept.says("show", FIX)


def test_rows_of_a_database_are_not_taken_for_a_missing_file() -> None:
    source = SourceState("sidecars/x", 0, "sidecar", b"rows:/home/.codex#threads/1", "x", "sidecars/x.zst")
    assert fate(source) == "rows"


def test_older_revisions_are_shown(swept: Retro, demo_home: Path) -> None:
    path = transcript(demo_home, FIX)
    old = path.read_bytes()
    path.write_bytes(b'{"type":"mode","mode":"plan","sessionId":"x"}\n' + old)
    swept.says("sweep")
    main = [source for source in swept.json("show", FIX)["sources"] if source["key"] == "main"]
    assert [(item["revision"], item["current"], item["now"]) for item in main] == [
        (0, False, "replaced"),
        (1, True, "unchanged"),
    ]
    assert "main@1" in swept.says("show", FIX)
    assert swept.json("raw", FIX, "--revision", "0")["text"].encode() == old


def test_sub_agents_are_sources_of_their_own(swept: Retro) -> None:
    keys = [source["key"] for source in swept.json("show", AGENTS)["sources"]]
    assert keys[:3] == ["main", "agent-a3f81c02d95e6b47d", "agent-ae07b4512c96d83fa"]


def test_a_damaged_archive_says_what_to_do(swept: Retro, root: Path) -> None:
    path = root / "normalized" / "claude" / f"{FIX}.events.jsonl.zst"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    for command in ("show", "events", "render"):
        done = swept(command, FIX)
        assert done.code == 0  # what is not damaged can still be read
        assert str(path) in done.err
        assert "retro verify --repair mends what can be mended" in done.err
    path.unlink()
    missing = swept("events", FIX)
    assert missing.code == 1
    assert "is missing" in missing.err
    swept.says("reindex")
    assert swept.json("show", FIX)["exact"] is True


@pytest.mark.corpus
def test_real_sessions_are_accounted_for_exactly(retro: Retro, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(CORPUS / "live" / "claude" / "home" / ".claude"))
    retro.says("sweep")
    sessions: list[dict[str, Any]] = retro.json("list")["sessions"]
    assert len(sessions) == 8
    for session in sessions:
        shown = retro.json("show", session["session_id"])
        assert shown["exact"] is True
        assert shown["bytes"]["unknown"] == shown["bytes"]["malformed"] == 0
        assert retro.says("show", session["session_id"])


# --- ids -------------------------------------------------------------------------------------------------------------


def _copy(home: Path, session_id: str) -> None:
    """A session of a made-up id."""
    record = {"type": "user", "uuid": session_id, "sessionId": session_id, "message": {"role": "user", "content": "hi"}}
    path = home / "projects" / "-x" / f"{session_id}.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({**record, "timestamp": "2026-11-01T00:00:00.000Z"}) + "\n")


def test_the_beginning_of_an_id_is_enough(swept: Retro) -> None:
    for arguments in ([FIX], [FIX[:8]], ["3"], ["claude", "3"]):
        assert swept.json("show", *arguments)["session"]["session_id"] == FIX
    assert swept.json("show", "latest")["session"]["session_id"] == FORK
    assert swept.json("show", "claude", "latest")["session"]["session_id"] == FORK


def test_an_ambiguous_id_lists_the_choices(swept: Retro, demo_home: Path) -> None:
    for number in range(14):
        _copy(demo_home, f"same-{number:02}")
    swept.says("sweep")
    done = swept("show", "same")
    assert (done.code, done.out) == (2, "")
    assert '"same" is the beginning of 14 ids' in done.err
    assert done.err.count("claude  same-") == 10
    assert "and 4 more" in done.err
    error = json.loads(swept("show", "same", "--json").out)["error"]
    assert error["kind"] == "ambiguous"


def test_a_whole_id_is_meant_even_if_another_goes_on(swept: Retro, demo_home: Path) -> None:
    for name in ("ab", "abc"):
        _copy(demo_home, name)
    swept.says("sweep")
    assert swept.json("show", "ab")["session"]["session_id"] == "ab"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["3b6f0c1f"], 1, ("there is no session", "did you mean this one?", FIX)),
        (["zzzz"], 1, ('there is no session "zzzz"', "retro list shows the ids")),
        (["codex", FIX], 1, (f'there is no session "{FIX}" of codex', "retro list")),
        (["claude"], 2, ("which session of claude?", "retro list --host claude")),
        (["clude", FIX], 2, ('there is no host "clude"', "claude")),
        ([""], 1, ('there is no session ""', "retro list")),
        (["../../etc/passwd"], 1, ("there is no session", "retro list")),
        (["\x1b[31m"], 1, ("there is no session", "retro list")),
        (["%"], 1, ("there is no session", "retro list")),
        ([], 2, ("required: ID", "retro show --help")),
    ],
)
def test_what_is_no_session_is_told_with_a_hint(
    swept: Retro, arguments: list[str], code: int, words: tuple[str, ...]
) -> None:
    for command in ("show", "render", "events", "raw"):
        done = swept(command, *arguments)
        assert (done.code, done.out) == (code, "")
        assert all(word.replace("retro show", f"retro {command}") in done.err for word in words)
        assert "\x1b" not in done.err


def test_nothing_captured_yet_is_told(retro: Retro, root: Path) -> None:
    done = retro("show", FIX)
    assert done.code == 1
    assert "nothing is captured" in done.err
    assert "retro sweep" in done.err
    assert not root.exists()


def test_hostile_ids_are_found_and_stay_inside(retro: Retro, demo_home: Path, root: Path, tmp_path: Path) -> None:
    names = ["..", "-rf", "--json", "a b", "CON", "x" * 200, "Case", "case", "<script>", "ü\u202e"]
    for name in names:
        _copy(demo_home, name)
    retro.says("sweep")
    outside = {path for path in tmp_path.rglob("*") if root not in path.parents}
    for name in names:
        done = retro("--json", "render", "--", name)
        assert done.code == 0, done
        assert Path(json.loads(done.out)["file"]).resolve().is_relative_to(root.resolve())
    assert {path for path in tmp_path.rglob("*") if root not in path.parents} == outside


def test_the_index_knows_each_sources_state(swept: Retro, root: Path) -> None:
    connection = open_reader(Places(str(root)))
    assert connection is not None
    found = detail(connection, "claude", AGENTS)
    assert found.sources[0].key == "main"
    assert all(isinstance(source, SourceState) for source in found.sources)
    assert set(found.agents) == {"a3f81c02d95e6b47d", "ae07b4512c96d83fa"}
    connection.close()
