"""The corpus as a whole: every folder of it is some host's, all of it is captured, and hardly anything is unknown."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from agent_support import CORPUS
from retro import agents
from retro.agents import databases
from retro.agents.interface import Source
from retro.config import Settings
from retro.finding import Found, Known, discover
from retro.places import Places
from retro.sweep import Report, capture_found
from support import Content, content, failures

pytestmark = pytest.mark.corpus

SETTINGS: Final = Settings("", {("sweep", "workers"): 2})

OWNERS: Final = {
    "antigravity": "antigravity",
    "claude-code": "claude",
    "cline": "cline",
    "codex": "codex",
    "codex-exec": "codex",
    "copilot-cli": "copilot",
    "cursor": "cursor",
    "deepseek": "deepseek",
    "droid": "droid",
    "gemini": "gemini",
    "grok": "grok",
    "hermes": "hermes",
    "kimi": "kimi",
    "labelled": "claude",
    "live/claude": "claude",
    "live/codex": "codex",
    "live/copilot": "copilot",
    "live/gemini": "gemini",
    "live/grok": "grok",
    "live/opencode": "opencode",
    "omp": "omp",
    "openclaw": "openclaw",
    "opencode": "opencode",
    "pi": "pi",
    "qwen": "qwen",
    "vs-copilot": "visualstudio",
    "vscode-copilot": "vscode",
}
"""Whose sessions a folder holds."""

WITHOUT_OWNER: Final = ("other",)
"""Folders of several hosts."""

OTHERS: Final = {
    "openclaw/*/schema_drift.jsonl": "pi",  # alone, it looks like what it was made from
    "other/*/dsh/*": "deepseek",
    "other/*/iflow/*": "iflow",
    "other/*/posit-assistant/*/[0-9]*/*": "posit",
    "other/*/qwenpaw/*": "qwenpaw",
    "other/*/traex/*": "codex",
}
"""Files whose host is another than the folder says."""

UNCLAIMED: Final = {
    "README.md": "about the corpus",
    "SOURCES.tsv": "about the corpus",
    "labelled/labels.tsv": "about the corpus",
    "*/schema/*": "source code and migrations of a host, no sessions",
    "*/docs/logFilesSchema/*": "a description of formats, no session",
    "*/README.md": "a description, no session",
    "*/generate.rs": "the source code that made a fixture",
    "antigravity/*.md": "a document that the agent wrote, without its conversation",
    "claude-code/*/ryoppippi+ccusage/*": "numbers of tokens only: records without type, identity or text",
    "claude-code/*.meta.json": "stands beside a sub-agent's transcript and is kept with it",
    "cline/*/taskHistory.json": "the host's list of its tasks",
    "codex/*/schema_drift.jsonl": "invented records that Codex never wrote",
    "codex/*/history.jsonl": "what was typed into Codex, without its sessions",
    "cursor/*/test-store.db": "Cursor's database of encoded chats: the transcripts are read",
    "gemini/*/individual/*": "single messages, cut out of chats",
    "gemini/*/logs.json": "what was typed, without the chats",
    "grok/*/signals.json": "stands beside a session's log and is kept with it",
    "grok/*/source-v1.jsonl": "the messages of a session by a name that Grok Build does not use",
    "kimi/*/agents/kimi/*state.json": "says of which session it is by its place, and here it is alone",
    "openclaw/*.checkpoint.*": "a copy that the host made of a session before it compacted it",
    "openclaw/*/sessions.json": "the host's list of its sessions",
    "opencode/*/storage_*": "a file among those of a session, which are claimed as a folder",
    "other/*/posit-assistant/*": "stands beside conversations: a list of them, and their folder",
}
"""Files that are no session that retro reads, and why."""

FOLDERS: Final = {"opencode/fixtures": "opencode"}
"""Folders that are claimed as such, because none of their files is a session."""

HOMES: Final = ("home", "while-open")


def files() -> Iterator[Path]:
    """Everything but the live homes, which are discovered."""
    for path in sorted(CORPUS.rglob("*")):
        if path.is_file() and path.relative_to(CORPUS).parts[0] != "live":
            yield path


def owner_of(name: str) -> str | None:
    """Whose a file ought to be."""
    for pattern, host in OTHERS.items():
        if fnmatchcase(name, pattern):
            return host
    for pattern in UNCLAIMED:
        if fnmatchcase(name, pattern):
            return None
    return OWNERS.get(name.split("/")[0], f"nobody's: {name}")


class Captured(NamedTuple):
    """The corpus in an archive."""

    found: Found
    report: Report
    content: Content


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    """Every file that a host claims, and every live home, captured at once."""
    found = Found([], {}, [], [])
    for path in files():
        _add(found, list(agents.claimed(str(path))))
    for folder in FOLDERS:
        _add(found, list(agents.claimed(str(CORPUS / folder))))
    for home in sorted((CORPUS / "live").glob("*/*")):
        if home.name in HOMES:
            there = discover(SETTINGS, {"HOME": str(home)}, agents.MODULES, Known({}, {}, {}, [], []))
            found.problems += there.problems
            _add(found, [source for sources in there.sessions.values() for source in sources])
    root = tmp_path_factory.mktemp("corpus") / "archive"
    report = capture_found(Places(str(root)), SETTINGS, lambda _: found)
    return Captured(found, report, content(root))


def _add(found: Found, sources: list[Source]) -> None:
    for source in sources:
        of_session = found.sessions.setdefault((source.host, source.session_id), [])
        if all(source.path != other.path for other in of_session):
            of_session.append(source)


def part_of(path: str) -> str:
    """The part of the corpus in which a source lies: `pi/real`, `live/grok`."""
    inside = path.removeprefix("rows:")[len(str(CORPUS)) + 1 :].replace(os.sep, "/")
    return "/".join(inside.split("/")[:2])


@pytest.mark.parametrize("folder", [*OWNERS, *WITHOUT_OWNER])
def test_every_file_of_a_folder_is_its_hosts_or_has_a_reason(folder: str) -> None:
    for path in files():
        name = path.relative_to(CORPUS).as_posix()
        if name.startswith(f"{folder}/"):
            first = next(agents.claimed(str(path)), None)
            assert (first.host if first else None) == owner_of(name), name
    databases.release()


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_of_files_that_are_no_sessions_is_its_hosts(folder: str) -> None:
    assert {source.host for source in agents.claimed(str(CORPUS / folder))} == {FOLDERS[folder]}
    databases.release()


def test_no_folder_of_the_corpus_is_forgotten() -> None:
    folders = {name.name for name in CORPUS.iterdir() if name.is_dir()} - {"live"}
    live = {f"live/{name.name}" for name in (CORPUS / "live").iterdir() if name.is_dir()}
    assert folders | live == {*OWNERS, *WITHOUT_OWNER}


@pytest.mark.parametrize("folder", [folder for folder in OWNERS if folder.startswith("live/")])
def test_every_live_home_is_discovered(folder: str, captured: Captured) -> None:
    host = OWNERS[folder]
    found = {
        (source.host, source.session_id)
        for sources in captured.found.sessions.values()
        for source in sources
        if part_of(source.path) == folder
    }
    assert {name for name, _ in found} == {host}


def test_all_of_it_is_captured_and_every_byte_accounted_for(captured: Captured) -> None:
    """Reading the content of the archive compares each source's account with its size."""
    assert captured.found.problems == []
    assert failures(captured.report) == []
    assert sum(host.ingested for host in captured.report.hosts) == len(captured.found.sessions)
    assert set(captured.content.sessions) == {session for _, session in captured.found.sessions}


def test_hardly_anything_is_unknown_in_what_hosts_wrote(captured: Captured) -> None:
    unknown: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for source in captured.content.sources.values():
        account: Any = source["accounting"]
        part = part_of(os.fsdecode(source["path"]))  # type: ignore[arg-type]
        for name in ("mapped", "bookkeeping", "unknown", "malformed"):
            total[part] += sum(size for _, size in account[name].values())
        unknown[part] += sum(size for _, size in account["unknown"].values())
    written = [part for part in total if part.endswith("/real") or part.startswith(("live/", "labelled/"))]
    assert len(written) >= 8
    assert {part: unknown[part] for part in written if unknown[part] > total[part] * 0.005} == {}
