"""What holds for each command there is: nothing is started or reached, no source is touched, no text is trusted."""

from __future__ import annotations

import html
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli_support import FIX, Retro, retro, root, tree
from conftest import AuditEvent
from retro import cli
from support import answer, artefacts, call, content, lines, prompt, result, transcript
from test_secrets import CASES

__all__ = ["retro", "root"]

HOSTILE = "\x1b]0;pwned\x07\x1b[31mred\x9b2J\u202e<script>alert(1)</script>\x00\r"
"""What a terminal or a browser would obey."""

SESSION = "bad00000-0000-4000-8000-000000000001"

RUNS: dict[str, list[list[str]]] = {
    "init": [["init", "elsewhere"]],
    "sweep": [["sweep", "--dry-run"], ["sweep"]],
    "import": [["import", "claude", "--latest"], ["import", "all", "--limit-per-host", "1"]],
    "hooks": [["hooks"]],
    "hook": [["hook", "session-end", "--host", "claude"]],
    "search": [["search", "tide"], ["search", "red"]],
    "semantic": [["semantic"]],
    "grep": [["grep", "tide"], ["grep", "red"]],
    "list": [["list"], ["list", "--project=--json"]],
    "show": [["show", FIX], ["show", SESSION]],
    "digest": [["digest", FIX], ["digest", SESSION]],
    "render": [["render", FIX], ["render", "--stdout", SESSION]],
    "events": [["events", FIX], ["events", SESSION]],
    "agents": [["agents"]],
    "raw": [["raw", FIX], ["raw", "--list", SESSION]],
    "export": [["export", FIX, "--output", "one.html"], ["export", SESSION, "--output", "two.html"]],
    "dashboard": [["dashboard", "build"]],
    "recall": [["recall", "--all"], ["recall", "list", "--all"], ["recall", "search", "red", "--all"]],
    "cost": [["cost"], ["cost", "session"], ["cost", "project"], ["cost", "model"], ["cost", "why", SESSION]],
    "prices": [["prices", "show"], ["prices", "check"]],
    "budget": [["budget"]],
    "statusline": [["statusline", "--host", "claude"]],
    "signal": [["signal", "list"], ["signal", "run", "--session-id", SESSION], ["signal", "show", SESSION]],
    "memory": [["memory", "init"], ["memory", "list"], ["memory", "retrieve", "--query", "red"], ["memory", "weave"]],
    "mine": [["mine", "*"]],
    "measure": [["measure"]],
    "detect": [["detect"]],
    "methods": [["methods"]],
    "health": [["health"]],
    "schema-check": [["schema-check"]],
    "verify": [["verify"]],
    "restore": [["restore", FIX, "--to", "back"]],
    "space": [["space"]],
    "pin": [["pin", FIX], ["pin", "--undo", FIX]],
    "config": [["config", "show"], ["config", "path"]],
    "reindex": [["reindex"]],
    "doctor": [["doctor"]],
    "forget": [["forget", SESSION, "--yes"]],
}
ELSEWHERE = {
    "schedule": "asks the system's scheduler, which tests/test_cadence.py stands in for",
    "bench-retrieval": "reads documents of one's own and no archive, as in tests/test_retrieval.py",
}


DATA = ("raw", "events")
"""Print data for programs; on a terminal they escape it."""


def test_every_command_is_among_them() -> None:
    assert {*RUNS, *ELSEWHERE} == set(cli.COMMANDS)


def _runs(*without: str) -> Iterator[list[str]]:
    for noun, runs in RUNS.items():
        if noun not in without:
            yield from runs


@pytest.fixture
def hostile(retro: Retro, demo_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Retro:
    """The demo's sessions, and one whose every text is hostile, captured."""
    where = {"cwd": f"/home/demo/{HOSTILE}", "gitBranch": HOSTILE, "version": HOSTILE}
    transcript(
        demo_home,
        lines(
            prompt(f"why is it {HOSTILE}", 1, **where),
            answer([{"type": "thinking", "thinking": HOSTILE}, {"type": "text", "text": HOSTILE}], 2),
            call("Bash", {"command": f"echo '{HOSTILE}'", "description": HOSTILE}, 3),
            result(f"Exit code 1\nError: {HOSTILE}", 4),
            call(f"mcp__{HOSTILE}", {HOSTILE: HOSTILE}, 5),
            call("Edit", {"file_path": f"/a/{HOSTILE}", "old_string": HOSTILE, "new_string": "x"}, 6),
            answer(HOSTILE, 7, model=HOSTILE) | {"requestId": HOSTILE},
            {"type": "custom-title", "customTitle": f"about {HOSTILE}", "sessionId": SESSION},
            {"type": HOSTILE, "unknown": HOSTILE},
            {"type": "system", "subtype": HOSTILE, "content": HOSTILE, "uuid": HOSTILE},
        ),
        session=SESSION,
        project=re.sub(r"[\x00/]", "", HOSTILE),
    )
    monkeypatch.chdir(tmp_path)
    retro.says("sweep")
    return retro


def _hand(monkeypatch: pytest.MonkeyPatch, said: object) -> None:
    """What an agent hands to the commands that it calls."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(said).encode())))


def test_nothing_is_started_or_reached_and_no_source_is_touched(
    hostile: Retro, demo_home: Path, audit: list[AuditEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(demo_home)
    for arguments in _runs():
        _hand(monkeypatch, {"session_id": SESSION, "cwd": "/"})
        done = hostile(*arguments)
        assert done.code in (0, 4), (arguments, done)
        assert audit == [], arguments
        assert tree(demo_home) == before, arguments


def test_nothing_that_a_terminal_obeys_is_printed(hostile: Retro, monkeypatch: pytest.MonkeyPatch) -> None:
    obeyed = re.compile(r"[^\n\t\x20-\x7e\xa0-\U0010ffff]|[\u202a-\u202e\u2066-\u2069]")
    for arguments in _runs(*DATA):
        _hand(monkeypatch, {"session_id": SESSION, "cwd": HOSTILE, "prompt": HOSTILE})
        done = hostile(*arguments)
        assert obeyed.findall(done.out + done.err) == [], arguments


# --- secrets ---------------------------------------------------------------------------------------------------------

PLANTED = {rule: (text, secret) for rule, text, secret in CASES if len(secret) >= 12}
"""One of every rule."""


@pytest.fixture
def planted(retro: Retro, demo_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Retro:
    """A session with all of them wherever an agent may write one, twice, that there is something to learn from it."""
    records = []
    for number, (text, _) in enumerate(PLANTED.values()):
        at, command = number * 9 + 1, {"command": f"pytest -k '{text}'", "description": text}
        records += [
            prompt(f"use {text} please", at, gitBranch=text[:100]),
            answer([{"type": "thinking", "thinking": text}, {"type": "text", "text": text}], at + 1, model=text[:60]),
            call("Bash", command, at + 2),
            result(f"Exit code 1\nFAILED {text}\nAssertionError: {text}", at + 3),
            call("Edit", {"file_path": f"/a/{text[:80]}", "old_string": text, "new_string": f"x\n{text}"}, at + 4),
            call("Bash", command, at + 5),
            result(f"1 passed {text}", at + 6),
            call("Bash", {"command": f"git commit -m '{text}'"}, at + 7),
            prompt(f"no, that is wrong: never use {text}, always use {text}", at + 8),
        ]
    for session in (SESSION, SESSION.replace("bad", "bae")):
        transcript(demo_home, lines(*records), session=session)
    monkeypatch.chdir(tmp_path)
    retro.says("sweep")
    return retro


def test_planted_secrets_appear_in_nothing_but_raw(planted: Retro, root: Path, tmp_path: Path) -> None:
    said = ""
    for arguments in _runs("raw", "forget", "restore", "hook", "statusline"):
        done = planted(*arguments)
        said += done.out + done.err
    texts = {str(path): text for path, text in artefacts(root)}
    texts |= {path.name: path.read_text(encoding="utf-8") for path in tmp_path.glob("*.html")}
    texts |= {"passages": str(content(root).passages), "what was printed": said}
    assert {"one.html", "two.html"} < set(texts)
    assert len(said) > 100_000
    leaks = [
        (name, rule)
        for name, text in texts.items()
        for rule, (_, secret) in PLANTED.items()
        if any(form in text for form in (secret, html.escape(secret), json.dumps(secret)[1:-1]))
    ]
    assert leaks == []
