"""Documents are true: every command in them runs on the demo sessions, every make target and every link exists."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from cli_support import crontab_stand_in
from retro import demo

PROJECT = Path(__file__).resolve().parents[1]
DOCUMENTS = [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]

# A command is meant to come back by itself; this only keeps a hanging one from holding up everything.
PATIENCE_S = 120


class Command(NamedTuple):
    """A line of a document that a reader would type."""

    place: str
    line: str
    exit_code: int

    @property
    def arguments(self) -> list[str]:
        """The words before the first pipe, redirection or `&&`: the rest is the reader's shell."""
        lexer = shlex.shlex(self.line, posix=True, punctuation_chars="|><&;")
        lexer.whitespace_split = True
        lexer.commenters = ""
        words: list[str] = []
        for word in lexer:
            if set(word) <= set("|><&;"):
                break
            words.append(word)
        return words


def commands(document: str, name: str) -> Iterator[Command]:
    """The `$ …` lines of all `console` and `sh` blocks; `# exit 2` behind one says which code it gives."""
    inside = False
    lines = enumerate(document.splitlines(), 1)
    for number, line in lines:
        fence = re.match(r"\s*(?:```|~~~)(\w*)", line)
        if fence:
            inside = not inside and fence[1] in ("console", "sh")
            continue
        if not inside or not line.lstrip().startswith("$ "):
            continue
        text = line.strip()[2:]
        while text.endswith("\\"):
            text = text[:-1].rstrip() + " " + next(lines, (0, ""))[1].strip()
        text, _, comment = text.partition("  #")
        expected = re.search(r"\bexit (\d+)\b", comment)
        yield Command(f"{name}:{number}", text.strip(), int(expected[1]) if expected else 0)


ALL = [
    command
    for document in DOCUMENTS
    if document.is_file()
    for command in commands(document.read_text(encoding="utf-8"), document.relative_to(PROJECT).as_posix())
]


def _of(program: str) -> list[object]:
    found = [command for command in ALL if command.arguments[:1] == [program]]
    return [pytest.param(command, id=f"{command.place} {command.line}") for command in found]


class Place(NamedTuple):
    """A home that holds the demo sessions, already swept, and a copy to put it back with."""

    home: Path
    copy: Path
    env: dict[str, str]


@pytest.fixture(scope="session")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Place:
    base = tmp_path_factory.mktemp("docs")
    home = base / "home"
    demo.install_sessions(home / ".claude")
    (home / "project").mkdir()
    env = demo.isolated_environment(home) | {"NO_COLOR": "1"}
    programs = base / "programs"  # the scheduler of whoever runs the tests is none of a document's business
    programs.mkdir()
    crontab_stand_in(programs, base / "table")
    env["PATH"] = os.pathsep.join([str(programs), env.get("PATH") or os.defpath])
    done = _retro(["sweep"], home, env)
    assert done.returncode == 0, done.stderr
    copy = base / "copy"
    shutil.copytree(home, copy)
    return Place(home, copy, env)


@pytest.fixture
def place(swept: Place) -> Place:
    """The swept home as it was, whatever the command before did to it."""
    shutil.rmtree(swept.home)
    shutil.copytree(swept.copy, swept.home)
    return swept


def _retro(arguments: list[str], home: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "retro", *arguments],
        cwd=home / "project",
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        check=False,
    )


@pytest.mark.parametrize("command", _of("retro"))
def test_a_documented_command_runs(command: Command, place: Place) -> None:
    done = _retro(command.arguments[1:], place.home, place.env)
    assert done.returncode == command.exit_code, f"$ {command.line}\n{done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", _of("make"))
def test_a_documented_make_target_exists(command: Command) -> None:
    targets = re.findall(r"^([a-z][a-z-]*):", (PROJECT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {word for word in command.arguments[1:] if "=" not in word} <= set(targets)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(PROJECT)))
def test_links_to_files_lead_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8"))
    assert [target for target in targets if not (document.parent / target).exists()] == []


def test_commands_are_found_in_their_blocks() -> None:
    document = """
$ retro outside
```console
$ retro list --project "two words"
what it prints
$ retro show nothing  # exit 1
$ retro events 3b6f0c1e \\
    --json | head -3
$ git status
```
```python
$ retro not-a-shell
```
```sh
$ make run
```
"""
    found = [(command.place, command.arguments, command.exit_code) for command in commands(document, "x.md")]
    assert found == [
        ("x.md:4", ["retro", "list", "--project", "two words"], 0),
        ("x.md:6", ["retro", "show", "nothing"], 1),
        ("x.md:7", ["retro", "events", "3b6f0c1e", "--json"], 0),
        ("x.md:9", ["git", "status"], 0),
        ("x.md:15", ["make", "run"], 0),
    ]
