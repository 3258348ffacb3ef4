"""The Python API: every script of its document runs, and what it gives is what the archive holds."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import retro as package
from cli_support import AGENTS, FIX, Retro, retro, root, transcript
from recall_support import code, recalling
from retro import api

__all__ = ["code", "recalling", "retro", "root"]

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "api.md"
SCRIPTS = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("script", SCRIPTS, ids=range(len(SCRIPTS)))
def test_a_documented_script_runs(recalling: Retro, isolated: Path, script: str) -> None:
    env = os.environ | {"SESSIONS": str(isolated / ".claude"), "PYTHONWARNINGS": "error"}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_importing_it_loads_nothing() -> None:
    script = "import sys; import retro; print(*[name for name in sys.modules if name.startswith('retro')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["retro"]
    assert set(api.__all__) <= set(dir(package))
    with pytest.raises(AttributeError):
        _ = package.nothing  # type: ignore[attr-defined]


def test_what_is_found_is_what_there_is(recalling: Retro) -> None:
    with package.open() as archive:
        hits = archive.search("tides midnight", project="tidebook").hits
        assert (FIX, 1) in [(hit.session_id, hit.turn) for hit in hits]
        for hit in hits:
            events = {event.event_id for event in archive.session(hit.session_id).events()}
            assert set(hit.event_ids) <= events
            assert all(0 <= start < end <= len(hit.text) for start, end in hit.marks)
        assert len(archive.search("tides", limit=2)) == 2
        assert [hit.turn for hit in archive.search("tides", by="session")] == [None] * len(
            archive.search("tides", by="session")
        )


def test_filters_come_before_ranking(recalling: Retro) -> None:
    archive = package.open()
    assert archive.search("tides", project="gardenlog").hits == []
    assert archive.search("tides", host="codex").hits == []
    assert archive.search("tides", until="2001-01-01").hits == []
    assert {hit.project for hit in archive.search("the", project="gardenlog")} == {"gardenlog"}
    assert {session.project for session in archive.sessions(project="gardenlog")} == {"gardenlog"}


def test_turns_have_their_tools_tokens_and_models(recalling: Retro) -> None:
    session = package.open().session(FIX[:8])
    views = session.turns()
    shown = recalling.json("show", FIX)
    assert [view.turn.turn for view in views] == [1, 2, 3]
    assert sum(len(view.tools) for view in views) == sum(view.turn.actions for view in views)
    assert [use.tool for use in views[0].tools] == ["Bash", "Read", "Edit", "Bash", "Bash"]
    assert [use.failed for use in views[0].tools] == [True, False, False, False, False]
    assert views[0].turn.output_tokens > 0
    assert views[0].models == session.info.models[:1]
    assert session.turns(tools=False)[0].turn == views[0].turn
    assert shown
    assert sum(len(view.tools) for view in package.open().session(AGENTS).turns()) > 0


def test_capture_takes_a_folder_and_then_what_is_new(retro: Retro, code: Path, isolated: Path, tmp_path: Path) -> None:
    archive = package.open(tmp_path / "other")
    assert archive.root == str(tmp_path / "other")
    assert archive.search("tides").hits == []
    assert archive.sessions() == []
    assert sum(host.ingested for host in archive.capture(isolated / ".claude").hosts) == 6
    assert sum(host.skipped_unchanged for host in archive.capture(isolated / ".claude").hosts) == 6
    file = transcript(isolated / ".claude", FIX)
    file.write_text(file.read_text("utf-8").replace("midnight", "the noontime"), "utf-8")
    report = archive.capture(file)
    assert sum(host.analyzed for host in report.hosts) == 1
    assert (FIX, 1) in [(hit.session_id, hit.turn) for hit in archive.search("noontime")]


def test_what_goes_wrong_is_a_failure(recalling: Retro, tmp_path: Path, root: Path) -> None:
    archive = package.open()
    for word, kind in (("nothing", "not_found"), ("", "not_found")):
        with pytest.raises(package.Failure) as caught:
            archive.session(word)
        assert caught.value.kind == kind
        assert caught.value.hint
    with pytest.raises(package.Failure):
        archive.capture(tmp_path / "nowhere")
    (root / "index.sqlite").write_bytes(b"no database" * 1000)
    archive.close()
    with pytest.raises(package.Failure) as caught:
        archive.sessions()
    assert caught.value.kind == "index_damaged"


def test_an_index_that_was_made_anew_is_seen(recalling: Retro) -> None:
    archive = package.open()
    before = [session.session_id for session in archive.sessions()]
    recalling("reindex")
    assert [session.session_id for session in archive.sessions()] == before


def test_threads_share_an_archive(recalling: Retro) -> None:
    archive = package.open()
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda: found.extend(len(archive.search("tides")) for _ in range(10))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 40
    assert len(set(found)) == 1
