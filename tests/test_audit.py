"""Sources are compared with their archived copies now and then: what was edited unseen is captured again, once."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from retro.config import Settings
from retro.index import due
from retro.places import Places
from retro.sweep import sweep
from support import content, counts, failures, prompt, transcript
from support import lines as json_lines

STAMP = "2026-03-01T09:00:00.000Z"


def swept(home: Path, root: Path, host: str) -> dict[str, int]:
    report = sweep(Places(str(root)), Settings("", {("sweep", "workers"): 1}), {"HOME": str(home)}, hosts=[host])
    assert failures(report) == []
    return counts(report)


@pytest.fixture(autouse=True)
def _always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sweep compares."""
    monkeypatch.setattr(due, "AUDIT_DAYS", -1)


def test_an_edit_in_the_middle_that_no_stamp_tells_of_is_captured(tmp_path: Path) -> None:
    home, root = tmp_path / "person", tmp_path / "root"
    said = [prompt(f"what is at berth {number}?" + " " * 20_000, number) for number in range(9)]
    path = transcript(home / ".claude", json_lines(*said))
    swept(home, root, "claude")
    stat, data = path.stat(), path.read_bytes()
    path.write_bytes(data.replace(b"berth 4", b"berth 0"))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert swept(home, root, "claude").get("skipped_unchanged", 0) == 0
    (session,) = content(root).events
    assert {revision for name, _, revision in content(root).raw if name == session} == {0, 1}
    assert swept(home, root, "claude")["skipped_unchanged"] == 1


def test_a_document_that_is_as_it_was_captured_is_left_alone(tmp_path: Path) -> None:
    chat = tmp_path / "person" / ".gemini" / "tmp" / "t" / "chats" / "session-2026-03-01T09-00-5b1d6a30.json"
    chat.parent.mkdir(parents=True)
    asked = {"id": "u", "timestamp": STAMP, "type": "user", "content": "why is high water late?"}
    told = {"sessionId": "5b1d6a30", "projectHash": "", "startTime": STAMP, "lastUpdated": STAMP, "messages": [asked]}
    chat.write_text(json.dumps(told), "utf-8")
    swept(tmp_path / "person", tmp_path / "root", "gemini")
    assert swept(tmp_path / "person", tmp_path / "root", "gemini")["skipped_unchanged"] == 1
    assert {revision for _, _, revision in content(tmp_path / "root").raw} == {0}
