"""Recall over real sessions: every tier keeps its promise, in an archive of all hosts of the corpus."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import CORPUS
from retro import api, cli

pytestmark = pytest.mark.corpus

FOLDERS = ("claude-code/real", "codex/real", "copilot-cli/real", "grok/real", "gemini/real", "pi/real")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An archive of real sessions of several hosts."""
    root = tmp_path_factory.mktemp("corpus") / "archive"
    folders = [CORPUS / folder for folder in FOLDERS if (CORPUS / folder).is_dir()]
    api.open(root, env={"HOME": str(root.parent)}).capture(*_some(folders))
    yield root


def _some(folders: list[Path]) -> list[Path]:
    """The smaller files of each, that the test stays quick."""
    chosen = []
    for folder in folders:
        files = sorted(
            (path for path in folder.rglob("*.json*") if path.is_file()), key=lambda path: path.stat().st_size
        )
        chosen += [path for path in files if path.stat().st_size < 400_000][-12:]
    return chosen


def said(root: Path, *arguments: str) -> str:
    """What a call prints."""
    kept, sys.stdout = sys.stdout, io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    try:
        assert cli.run(["--root", str(root), "recall", *arguments]) == 0
        sys.stdout.flush()
        written: bytes = sys.stdout.buffer.getvalue()
        return written.decode("utf-8")
    finally:
        sys.stdout = kept


def test_every_tier_keeps_its_promise_on_real_sessions(archive: Path) -> None:
    sessions = api.open(archive).sessions()
    assert len({session.host for session in sessions}) >= 3
    for arguments, promise in (([], 50), (["files"], 50), (["list"], 50), (["checkpoints"], 200), (["repos"], 200)):
        assert len(said(archive, *arguments, "--all").encode()) <= promise * 3.5
        shown = said(archive, *arguments, "--all", "--json")
        assert len(shown.encode()) <= 250 * 3.5
        assert json.loads(shown)["_trust_level"] == "untrusted" or "note" in json.loads(shown)
    for word in ("error", "the", "test fix", "import", "file not found", "不"):
        assert len(said(archive, "search", word, "--all").encode()) <= 200 * 3.5
        assert len(said(archive, "search", word, "--all", "--json").encode()) <= 250 * 3.5
    for session in sessions:
        shown = said(archive, "show", session.session_id, "--all")
        assert len(shown.encode()) <= 500 * 3.5
        assert shown.replace("\n", "").isprintable()
        assert len(said(archive, "show", session.session_id, "--all", "--json").encode()) <= 500 * 3.5


def test_the_last_answer_of_every_session_is_found(archive: Path) -> None:
    found = api.open(archive)
    missed = []
    for session in found.sessions():
        answers = [view.turn for view in found.session(session.session_id, session.host).turns(tools=False)]
        last = next((turn for turn in reversed(answers) if turn.answer), None)
        if last is None or last.answer is None:
            continue
        words = " ".join(last.answer.split()[:12])
        hits = found.search(words, limit=10).hits
        if not any((hit.host, hit.session_id) == (session.host, session.session_id) for hit in hits):
            missed.append((session.host, session.session_id, words))
    assert missed == []
    assert os.path.isdir(found.root)
