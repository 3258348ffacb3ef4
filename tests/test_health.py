"""Health tells what is wrong, the doctor mends it, and neither ever ends in a traceback."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import apsw
import pytest

from cli_support import FIX, Retro, retro, root, transcript
from recall_support import code, recalling
from retro import inbox
from retro.health import use
from retro.index.drift import drift
from retro.places import Places

__all__ = ["code", "recalling", "retro", "root"]


def zones(found: Any) -> dict[str, str]:
    return {one["name"]: one["zone"] for one in found["dimensions"]}


def dimension(found: Any, name: str) -> Any:
    return next(one for one in found["dimensions"] if one["name"] == name)


# --- health ----------------------------------------------------------------------------------------------------------


def test_all_is_well_after_a_sweep(recalling: Retro) -> None:
    found = recalling.json("health", "--strict")
    assert "red" not in zones(found).values()
    assert set(zones(found)) >= {
        *("freshness", "index schema", "agents' schemas", "parse yield", "corpus", "accounting", "integrity"),
        *("digests", "repositories", "latency", "probe", "contention", "disclosure", "space"),
    }
    assert all(one.get("hint") for one in found["dimensions"] if one["zone"] != "green")
    assert all(0 <= one["score"] <= 100 for one in found["dimensions"])
    shown = recalling.says("health")
    assert shown.splitlines()[-1] == f"{found['zone']}, {found['score']} of 100"


def test_of_one_host_alone(recalling: Retro) -> None:
    assert dimension(recalling.json("health", "--host", "codex"), "corpus")["says"].startswith("0 sessions")
    assert recalling("health", "--host", "nobody").code == 2


def test_what_waits_to_be_captured_grows_old(recalling: Retro, isolated: Path, root: Path) -> None:
    file = transcript(isolated / ".claude", FIX)
    with file.open("a") as stream:
        stream.write("{}\n")
    assert dimension(recalling.json("health"), "freshness")["zone"] == "green"
    aged = "UPDATE session SET captured = '2020-01-01T00:00:00Z'"
    connection = apsw.Connection(str(root / "index.sqlite"))
    connection.execute(aged)
    connection.close()
    os.utime(file, (1_000_000_000, 1_000_000_000))
    found = dimension(recalling.json("health"), "freshness")
    assert (found["zone"], found["score"]) == ("red", 0)
    assert "retro sweep" in found["hint"]
    assert recalling("health", "--strict").code == 4
    assert recalling("health").code == 0


def test_a_damaged_file_is_found_by_the_sample(recalling: Retro, root: Path) -> None:
    file = next((root / "raw").rglob("transcript.jsonl.zst"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(bytes(data))
    found = dimension(recalling.json("health", "--strict", code=4), "integrity")
    assert found["zone"] == "red"
    assert found["details"]


def test_calls_that_found_the_index_locked_are_counted(
    recalling: Retro, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retro.light.recall.WAIT_MS", 1)
    lock = apsw.Connection(str(root / "index.sqlite"))
    lock.pragma("locking_mode", "exclusive")
    lock.execute("BEGIN EXCLUSIVE")
    assert recalling("recall").code == 3
    lock.execute("ROLLBACK")
    lock.close()
    found = dimension(recalling.json("health"), "contention")
    assert found["says"] == "1 of the last 1 calls found the index locked"
    assert found["zone"] == "red"


def test_disclosure_counts_the_tiers(recalling: Retro, root: Path) -> None:
    places = Places(str(root))
    for tier in [1] * 10 + [3] * 30:
        inbox.append(places, inbox.CALLS, {"tier": tier})
    found = dimension(recalling.json("health"), "disclosure")
    assert found["says"] == "40 calls: tier 1 25%, tier 2 0%, tier 3 75%"
    assert found["zone"] == "amber"


def test_the_probe_notices_a_session_that_cannot_be_shown(recalling: Retro, root: Path) -> None:
    connection = apsw.Connection(str(root / "index.sqlite"))
    connection.execute("DELETE FROM turn")
    connection.close()
    assert zones(recalling.json("health"))["probe"] == "red"
    assert use.RUNS > 1


# --- schema-check ----------------------------------------------------------------------------------------------------


def test_stores_that_read_as_expected(recalling: Retro) -> None:
    found = recalling.json("schema-check")
    assert [(one["host"], one["form"], one["readable"]) for one in found["stores"]] == [("claude", "lines", True)]
    assert found["sound"]


def test_a_host_that_writes_in_another_way_costs_only_its_own_commands(recalling: Retro, isolated: Path) -> None:
    for file in (isolated / ".claude").rglob("*.jsonl"):
        file.write_text("".join(json.dumps({"type": "thing", "n": at, "words": "x" * 99}) + "\n" for at in range(20)))
    found = recalling.json("schema-check", code=4)
    (store,) = found["stores"]
    assert not store["readable"]
    assert "list" in store["suffers"]
    assert "thing" in " ".join(store["problems"])
    assert recalling("list").code == 0
    assert recalling("recall").code == 0
    assert recalling("schema-check", "--host", "codex").code == 0


# --- doctor ----------------------------------------------------------------------------------------------------------


def test_there_is_nothing_to_mend_in_a_sound_archive(recalling: Retro, root: Path) -> None:
    before = sorted(str(path) for path in root.rglob("*"))
    found = recalling.json("doctor")
    assert (found["steps"], found["sound"]) == ([], True)
    assert "search by meaning: " in recalling.says("doctor")
    assert sorted(str(path) for path in root.rglob("*") if path.name != ".lock") == [
        name for name in before if not name.endswith(".lock")
    ]


def break_index(index: Path, how: str) -> None:
    if how == "missing":
        index.unlink()
    elif how == "empty":
        index.write_bytes(b"")
    elif how == "corrupt":
        data = bytearray(index.read_bytes())
        data[4096:] = os.urandom(len(data) - 4096)
        index.write_bytes(bytes(data))
    elif how == "no database":
        index.write_bytes(b"hello " * 1000)
    else:
        connection = apsw.Connection(str(index))
        drifted = {"drifted": "DROP INDEX session_by_time", "other version": "PRAGMA user_version = 7"}
        connection.execute(drifted[how])
        connection.close()


@pytest.mark.parametrize("how", ["missing", "empty", "corrupt", "no database", "drifted", "other version"])
def test_a_broken_index_is_said_and_mended(recalling: Retro, root: Path, how: str) -> None:
    before = recalling.json("list")["sessions"]
    break_index(root / "index.sqlite", how)
    health = recalling.json("health", "--strict", code=4)
    assert health["zone"] == "red"
    assert any("doctor" in one.get("hint", "") for one in health["dimensions"])
    assert recalling("schema-check").code in (0, 4)
    planned = recalling.json("doctor", "--dry-run")
    assert [step["kind"] for step in planned["steps"]] == ["rebuild"]
    assert not planned["sound"]
    done = recalling.json("doctor")
    assert done["sound"]
    assert recalling.json("list")["sessions"] == before
    assert recalling.json("doctor")["steps"] == []


def test_what_crashes_leave_is_said_first_and_then_taken_away(recalling: Retro, root: Path) -> None:
    places = Places(str(root))
    normalised = Path(places.normalized("claude", FIX))
    committed = normalised.read_bytes()
    normalised.write_bytes(committed + b"torn")
    (root / "raw" / "claude" / ".meta.json.0123456789ab.tmp").write_bytes(b"{")
    (root / "index.sqlite.building").write_bytes(b"half")
    orphan = Path(places.normalized("claude", "00000000-0000-4000-8000-000000000000"))
    orphan.write_bytes(b"")
    planned = recalling.json("doctor", "--dry-run")["steps"]
    assert sorted(step["kind"] for step in planned) == ["cut", "remove", "remove", "remove"]
    assert normalised.read_bytes() != committed
    shown = recalling("doctor")
    assert shown.code == 0
    assert "never committed" in shown.out
    assert "4 of 4 mended" in shown.out
    assert normalised.read_bytes() == committed
    assert not orphan.exists()
    assert recalling.json("doctor")["steps"] == []
    assert recalling("verify").code == 0


def test_events_that_are_missing_are_derived_again(recalling: Retro, root: Path) -> None:
    path = Path(Places(str(root)).normalized("claude", FIX))
    path.unlink()
    assert recalling.json("doctor")["sound"]
    assert path.exists()
    assert recalling("verify").code == 0


def test_what_cannot_be_mended_is_said(recalling: Retro, root: Path, isolated: Path) -> None:
    shutil.rmtree(isolated / ".claude")
    file = next((root / "raw" / "claude" / FIX).glob("transcript.jsonl.zst"))
    file.unlink()
    done = recalling.json("doctor", code=4)
    assert not done["sound"]
    assert any(not step.get("done") and step.get("outcome") for step in done["steps"])
    assert recalling("recall", "list").code == 0


def test_sessions_that_the_index_lost_are_brought_back(recalling: Retro, root: Path) -> None:
    connection = apsw.Connection(str(root / "index.sqlite"))
    connection.pragma("foreign_keys", True)
    connection.execute("DELETE FROM session WHERE session_id = ?", (FIX,))
    connection.close()
    assert recalling.json("doctor")["sound"]
    assert FIX in [session["session_id"] for session in recalling.json("list")["sessions"]]


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_an_index_that_others_may_read_becomes_private_again(recalling: Retro, root: Path) -> None:
    (root / "index.sqlite").chmod(0o444)
    assert recalling("recall").code == 0
    assert recalling.json("doctor")["sound"]
    assert (root / "index.sqlite").stat().st_mode & 0o777 == 0o600


def test_where_there_is_no_archive_there_is_nothing_to_mend(retro: Retro, root: Path) -> None:
    assert retro.json("doctor")["steps"] == []
    assert not root.exists()
    assert retro.json("health")["zone"] == "amber"


def test_a_new_index_has_not_drifted(recalling: Retro, root: Path) -> None:
    connection = apsw.Connection(str(root / "index.sqlite"))
    assert drift(connection) == []
    connection.execute("CREATE TABLE mine (x)")
    connection.execute("ALTER TABLE turn ADD COLUMN y TEXT")
    assert sorted(drift(connection)) == ["table mine is not ours", "table turn is not as it was made"]
    connection.close()
    assert "search by meaning: " in recalling.says("doctor", "--dry-run")
