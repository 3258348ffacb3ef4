"""`retro sweep` and `retro reindex`: what they do, what they say, and what a dry run leaves alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli_support import AGENTS, FIX, Retro, retro, root, swept, transcript, tree
from conftest import AuditEvent

__all__ = ["retro", "root", "swept"]  # fixtures


def _counts(shown: str, host: str = "claude") -> dict[str, int]:
    head, *lines = shown.splitlines()
    row = next(line.split() for line in lines if line.startswith(host))
    return dict(zip(head.split()[1:], map(int, row[1:]), strict=True))


def test_a_sweep_says_a_line_per_host(retro: Retro, demo_home: Path, root: Path) -> None:
    assert _counts(retro.says("sweep")) == {
        "discovered": 6,
        "ingested": 6,
        "appended": 0,
        "skipped_unchanged": 0,
        "analyzed": 6,
        "failed": 0,
    }
    assert _counts(retro.says("sweep"))["skipped_unchanged"] == 6
    with transcript(demo_home, FIX).open("ab") as file:
        file.write(b'{"type":"mode","mode":"plan"}\n')
    again = _counts(retro.says("sweep"))
    assert (again["appended"], again["skipped_unchanged"], again["analyzed"]) == (1, 5, 1)


def test_a_sweep_as_json_has_the_same_figures(retro: Retro, demo_home: Path, root: Path) -> None:
    shown = retro.json("sweep")
    assert (shown["root"], shown["dry_run"], shown["failed"]) == (str(root), False, 0)
    claude = next(host for host in shown["hosts"] if host["host"] == "claude")
    assert (claude["discovered"], claude["ingested"], claude["problems"]) == (6, 6, [])
    assert claude["bytes_read"] > 100_000


def test_a_sweep_without_news_loads_nothing_that_captures(swept: Retro) -> None:
    """Most sweeps find nothing, and to load what captures and derives takes longer than to look."""
    code = (
        "import sys; from retro.__main__ import main; sys.argv = ['retro', 'sweep']; main();"
        " print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=dict(os.environ), check=True)
    loaded = set(done.stderr.decode().split())
    assert "retro.sweep" in loaded
    assert not loaded & {
        *("retro.capture", "retro.pipeline", "retro.recording", "retro.notes", "retro.track", "retro.signals.base"),
        *("retro.digests", "retro.index.writing", "retro.ledger.writing", "retro.secrets.rules", "retro.commands"),
        *("retro.reindex", "retro.upkeep.budget"),
    }


def test_a_dry_run_writes_nothing_at_all(retro: Retro, demo_home: Path, root: Path, tmp_path: Path) -> None:
    before = tree(tmp_path)
    assert _counts(retro.says("sweep", "--dry-run"))["ingested"] == 6
    assert tree(tmp_path) == before
    assert not root.exists()
    retro.says("sweep")
    with transcript(demo_home, FIX).open("ab") as file:
        file.write(b'{"type":"mode","mode":"plan"}\n')
    before = tree(tmp_path)
    assert _counts(retro.says("sweep", "--dry-run"))["appended"] == 1
    assert retro.json("sweep", "--dry-run")["dry_run"] is True
    assert tree(tmp_path) == before


def test_a_sweep_leaves_the_hosts_files_as_they_were(retro: Retro, demo_home: Path) -> None:
    before = tree(demo_home)
    retro.says("sweep")
    retro.says("import", "claude", "--all", "--force")
    assert tree(demo_home) == before


def test_no_command_reaches_the_network_or_starts_a_program(swept: Retro, audit: list[AuditEvent]) -> None:
    for arguments in (["sweep"], ["list"], ["show", FIX], ["render", FIX], ["events", FIX], ["raw", FIX], ["reindex"]):
        swept.says(*arguments)
    swept.says("import", "claude", "--latest")
    assert audit == []


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_transcript_is_named_with_the_reason(retro: Retro, demo_home: Path) -> None:
    victim = transcript(demo_home, FIX)
    victim.chmod(0)
    done = retro("sweep")
    assert done.code == 1
    assert _counts(done.out)["failed"] == 1
    assert str(victim) in done.err
    assert "ermission denied" in done.err


def test_problems_are_named_but_not_more_than_a_person_reads(
    retro: Retro, demo_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _make_everything_unreadable(monkeypatch)
    for number in range(20):
        (demo_home / "projects" / "-home-demo-code-tidebook" / f"broken-{number:02}.jsonl").write_text("{}\n")
    done = retro("sweep")
    assert done.code == 1
    assert done.err.count("failed: ") == 10
    assert re.search(r"and \d+ more; --json names them all", done.err)
    shown = retro.json("sweep", code=1)
    assert shown["failed"] == 26
    assert {problem["reason"] for host in shown["hosts"] for problem in host["problems"]} == {"it is gone"}


def _make_everything_unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    from retro.archive import origin

    def refuse(self: object, path: bytes) -> None:
        raise origin.Unreadable("it is gone")

    monkeypatch.setattr(origin.SourceFile, "__init__", refuse)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--host", "claud"], ('there is no host "claud"', 'did you mean "claude"?')),
        (["--host", "notepad"], ('there is no host "notepad"', "one of claude")),
    ],
)
def test_a_host_that_cannot_be_swept_is_wrong_usage(retro: Retro, arguments: list[str], words: tuple[str, str]) -> None:
    done = retro("sweep", *arguments)
    assert (done.code, done.out) == (2, "")
    assert all(word in done.err for word in words)


def test_only_the_wanted_hosts_are_swept(retro: Retro, demo_home: Path) -> None:
    hosts = retro.json("sweep", "--host", "claude", "--host", "claude")["hosts"]
    assert [host["host"] for host in hosts] == ["claude"]


def test_without_sessions_a_sweep_says_where_they_could_be_named(retro: Retro) -> None:
    shown = retro.says("sweep", "--host", "claude")
    assert "No sessions of claude were found in the usual folders." in shown
    assert "[hosts.claude] sources in" in shown
    assert retro.json("sweep", "--host", "claude")["hosts"] == []


def test_a_host_that_is_turned_off_is_told(retro: Retro, demo_home: Path, tmp_path: Path) -> None:
    settings = tmp_path / "c.toml"
    settings.write_text("[hosts.claude]\nenabled = false\n")
    assert "claude: turned off in" in retro.says("sweep", "--host", "claude", "--config", str(settings))


def test_an_ignored_project_is_counted_and_not_kept(retro: Retro, demo_home: Path, tmp_path: Path) -> None:
    settings = tmp_path / "c.toml"
    settings.write_text('[ignore]\nprojects = ["tidebook"]\n')
    shown = _counts(retro.says("sweep", "--config", str(settings)))
    assert (shown["discovered"], shown["ingested"], shown["ignored"]) == (6, 1, 5)


# --- reindex ---------------------------------------------------------------------------------------------------------


def test_reindex_gives_back_what_every_command_shows(swept: Retro, root: Path) -> None:
    commands = [["list"], ["show", FIX], ["show", AGENTS], ["events", AGENTS], ["raw", FIX, "--list"]]
    before = [swept.json(*command) for command in commands]
    (root / "index.sqlite").unlink()
    assert "6 sessions rebuilt" in swept.says("reindex")
    assert [swept.json(*command) for command in commands] == before
    assert _counts(swept.says("sweep"))["skipped_unchanged"] == 6


def test_a_sidecar_is_not_captured_again_after_a_reindex_nor_lost_when_it_changes(
    swept: Retro, demo_home: Path
) -> None:
    swept.says("reindex")
    backup = next(path for path in (demo_home / "file-history").rglob("*") if path.is_file())
    kept = backup.read_bytes()
    backup.write_bytes(b"something else")
    swept.says("sweep")
    listed = [item for item in swept.json("raw", FIX, "--list")["sources"] if "file-history" in item["key"]]
    assert [item["revision"] for item in listed] == [0, 1]
    first = swept.json("raw", FIX, "--source", listed[0]["key"], "--revision", "0")
    assert first["text"].encode() == kept


def test_reindex_without_an_archive_makes_none(retro: Retro, root: Path) -> None:
    assert "There is no archive in" in retro.says("reindex")
    assert retro.json("reindex")["sessions"] == 0
    assert not root.exists()


def test_a_session_that_cannot_be_rebuilt_fails_alone(swept: Retro, root: Path) -> None:
    (root / "raw" / "claude" / FIX / "import_meta.json").write_text("{}")
    done = swept("reindex")
    assert done.code == 1
    assert "5 sessions rebuilt" in done.out
    assert "no usable meta file" in done.err
    assert len(swept.json("list")["sessions"]) == 6  # what its digest tells is still known
