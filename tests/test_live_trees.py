"""What today's clients left behind: the prompts of a person are those that were typed, for every one of them alike."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from agent_support import CORPUS
from retro.config import Settings
from retro.places import Places
from retro.sweep import sweep
from support import Content, content, failures

LIVE: Final = CORPUS / "live"
HOSTS: Final = ("claude", "codex", "copilot", "gemini", "grok", "opencode")
_ID: Final = r"[0-9a-f]{8}-[-0-9a-f]{27}"
OPTION: Final = rf"(?:--?[a-z][\w-]*(?:[ =](?:json|gpt-\S+|latest|\d+|/\S+|ses_\w+|{_ID}))?|{_ID})"
"""An option of a command line with its value, or the id of a session."""

BEGINNINGS: Final = {"codex": r"codex exec(?: resume| fork)?", "opencode": "opencode run"}
ELSEWHERE: Final = {"claude": ["stream message one", "stream message two"]}
"""Prompts that were piped in."""

UNSENT: Final = {"codex": "interactive first question"}
"""Typed while the client was still starting: it is nowhere in its files, nor in its own history of what was typed."""

KILLED: Final = "slow turn please"


def typed(host: str) -> list[str]:
    """What was typed, by the notes of what was run and shown; commands to the client begin with a slash."""
    evidence = LIVE / host / "evidence"
    runs = (evidence / "runs.txt").read_text("utf-8", "replace")
    if host in BEGINNINGS:
        said = re.findall(rf"^--- .*{BEGINNINGS[host]}(?: {OPTION})* (?!-)(.+)$", runs, re.MULTILINE)
    else:
        said = re.findall(rf"^--- .* -p (.*?)(?: {OPTION})*$", runs, re.MULTILINE)
    shown = evidence / "tui.txt"
    if shown.exists():
        screens = shown.read_text("utf-8", "replace")
        said += re.findall(r"^===== (?!start$|key |! )(.*)$", screens, re.MULTILINE)
    said += [KILLED] if "--- kill -9" in runs else []
    said = [text for text in said if text[:1] != "/" and not text.endswith("--help") and text != UNSENT.get(host)]
    return sorted(said + ELSEWHERE.get(host, []))


def prompts(found: Content) -> list[str]:
    """What a person said, each once: a fork repeats it."""
    said = {
        (str(event["timestamp"]), str(event["text"]))
        for events in found.events.values()
        for event in events
        if event.get("origin") == "human" and event["event_type"] == "message"
    }
    return sorted(text for _, text in said if text[:1] not in ("/", "<"))


@pytest.mark.corpus
@pytest.mark.parametrize("host", HOSTS)
def test_prompts_of_a_person_are_those_that_were_typed(host: str, tmp_path: Path) -> None:
    env = {"HOME": str(LIVE / host / "home")}
    report = sweep(Places(str(tmp_path / "root")), Settings("", {("sweep", "workers"): 1}), env, hosts=[host])
    assert failures(report) == []
    assert prompts(content(tmp_path / "root")) == typed(host)
