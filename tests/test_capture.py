"""From the host's files to the archive: nothing lost, overwritten or done twice, and no secret let through."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import apsw
import pytest

from conftest import AuditEvent
from retro import demo, reindex
from retro.agents import claude
from retro.agents.claude_records import ClaudeReader
from retro.archive import origin
from retro.archive.frames import FrameWriter, sound_length
from retro.archive.reading import written_events
from retro.failure import Failure
from retro.finding import discover
from retro.places import Places
from retro.sweep import Report, capture_found
from support import (
    SESSION,
    Content,
    answer,
    artefacts,
    call,
    content,
    counts,
    differences,
    environment,
    failures,
    lines,
    prompt,
    result,
    settings,
    sweep_up,
    transcript,
    tree,
    unpacked,
    uuid_of,
)
from test_secrets import CASES

ONE, TWO, THREE = (lines(prompt(text, number)) for number, text in enumerate(("one", "two", "three"), 1))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "claude"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "archive"


def raw_files(root: Path) -> dict[str, bytes]:
    """Every archived copy, as it lies there."""
    return {str(path): path.read_bytes() for path in (root / "raw").rglob("*.zst")}


def forced(root: Path, home: Path) -> Report:
    places = Places(str(root))
    return capture_found(
        places,
        settings(),
        lambda known: discover(settings(), environment([home]), ["claude"], known),
        force=True,
    )


def revisions(found: Content, key: str = "main") -> list[bytes]:
    return [data for (_, name, _), data in sorted(found.raw.items()) if name == key]


# --- revisions: what was captured is never overwritten ---------------------------------------------------------------


@pytest.mark.parametrize(
    "later",
    [b"", ONE, lines(prompt("other", 9)), TWO + ONE, ONE + lines(prompt("TWO", 2)), ONE + TWO[:-5], b"garbage"],
    ids=["emptied", "shrunk", "replaced", "swapped", "edited at its end", "torn", "garbage"],
)
def test_a_rewritten_source_is_a_revision(home: Path, root: Path, later: bytes) -> None:
    file = transcript(home, ONE + TWO)
    sweep_up(root, home)
    before = raw_files(root)
    file.write_bytes(later)
    report = sweep_up(root, home)
    assert counts(report) == {"discovered": 1, "appended": 1, "analyzed": 1}
    found = content(root)
    complete = later if later.endswith(b"\n") else later[: later.rfind(b"\n") + 1]
    assert revisions(found) == [ONE + TWO, complete]
    assert {path: data for path, data in raw_files(root).items() if path in before} == before
    assert {event["event_id"] for event in found.events[SESSION]} >= {uuid_of(1), uuid_of(2)}
    assert found.sources[SESSION, "main", 1]["file"] == "revisions/1/transcript.jsonl.zst"


def test_a_revision_grows_like_any_source(home: Path, root: Path) -> None:
    file = transcript(home, ONE + TWO)
    sweep_up(root, home)
    for data in (THREE, THREE + TWO, ONE, b"", ONE + THREE):
        file.write_bytes(data)
        sweep_up(root, home)
    assert revisions(content(root)) == [ONE + TWO, THREE + TWO, ONE, ONE + THREE]


def test_forced_captures_are_revisions(home: Path, root: Path) -> None:
    transcript(home, ONE + TWO)
    sweep_up(root, home)
    before = raw_files(root)
    assert counts(forced(root, home)) == {"discovered": 1, "appended": 1, "analyzed": 1}
    assert before.items() <= raw_files(root).items()
    found = content(root)
    assert revisions(found) == [ONE + TWO, ONE + TWO]
    assert [event["text"] for event in found.events[SESSION]] == ["one", "two"]
    assert (found.sessions[SESSION]["events"], found.sessions[SESSION]["turns"]) == (2, 2)


def test_archived_files_only_ever_grow(home: Path, root: Path) -> None:
    """Through appends, rewrites and new sessions: what lay there is the beginning of what lies there."""
    demo.install_sessions(home)
    before: dict[str, bytes] = {}
    files = sorted(home.rglob("*.jsonl"))
    for number in range(4):
        sweep_up(root, home)
        now = raw_files(root)
        assert [path for path, data in before.items() if not now[path].startswith(data)] == []
        before = now
        files[number].write_bytes(files[number].read_bytes() + lines(prompt("more", 900 + number)))
        files[number + 1].write_bytes(lines(prompt("new", 950 + number)))


def test_a_changed_sidecar_is_a_revision(demo_home: Path, root: Path) -> None:
    sweep_up(root, demo_home)
    before = raw_files(root)
    sidecar = next((demo_home / "file-history").rglob("*@v1"))
    old = sidecar.read_bytes()
    sidecar.write_bytes(b"changed")
    sweep_up(root, demo_home)
    assert before.items() <= raw_files(root).items()
    assert revisions(content(root), f"sidecars/file-history/{sidecar.name}") == [old, b"changed"]


def test_a_touched_file_is_not_captured_again(home: Path, root: Path) -> None:
    file = transcript(home, ONE)
    sweep_up(root, home)
    os.utime(file, (1, 1))
    assert sweep_up(root, home).hosts[0].bytes_read == 0
    assert revisions(content(root)) == [ONE]


# --- moves and copies ------------------------------------------------------------------------------------------------


def test_a_moved_project_is_not_captured_twice(home: Path, root: Path) -> None:
    file = transcript(home, ONE)
    sweep_up(root, home)
    (home / "projects" / "-home-dev-code").rename(home / "projects" / "-home-dev-moved")
    assert sweep_up(root, home).hosts[0].bytes_read == 0
    moved = home / "projects" / "-home-dev-moved" / file.name
    moved.write_bytes(ONE + TWO)
    assert sweep_up(root, home).hosts[0].bytes_read == len(TWO)
    found = content(root)
    assert list(found.raw) == [(SESSION, "main", 0)]
    assert found.sources[SESSION, "main", 0]["path"] == os.fsencode(moved)


def test_copies_in_two_roots_are_both_kept_and_read_once(home: Path, root: Path, tmp_path: Path) -> None:
    transcript(home, ONE + TWO)
    transcript(tmp_path / "other", ONE + TWO + THREE)
    for _ in range(2):
        report = sweep_up(root, home, tmp_path / "other")
    assert counts(report) == {"discovered": 1, "skipped_unchanged": 1}
    found = content(root)
    assert sorted(found.raw.values()) == [ONE + TWO, ONE + TWO + THREE]
    assert [event["text"] for event in found.events[SESSION]] == ["one", "two", "three"]
    assert (found.sessions[SESSION]["turns"], found.sessions[SESSION]["events"]) == (3, 3)


def test_the_same_root_by_another_name_is_the_same(home: Path, root: Path, tmp_path: Path) -> None:
    transcript(home, ONE)
    (tmp_path / "link").symlink_to(home)
    assert counts(sweep_up(root, home, tmp_path / "link")) == {"discovered": 1, "ingested": 1, "analyzed": 1}
    assert sweep_up(root, tmp_path / "link").hosts[0].bytes_read == 0
    assert list(content(root).raw) == [(SESSION, "main", 0)]


def test_a_source_that_is_gone_stays_archived(home: Path, root: Path) -> None:
    file = transcript(home, ONE)
    transcript(home, TWO, session="other")
    sweep_up(root, home)
    file.unlink()
    assert counts(sweep_up(root, home)) == {"discovered": 1, "skipped_unchanged": 1}
    assert revisions(content(root)) == [ONE, TWO]


# --- idle costs nothing ----------------------------------------------------------------------------------------------


@pytest.fixture
def opened(home: Path) -> Iterator[list[str]]:
    """The files of the host that were opened since the test began."""
    seen: list[str] = []
    watching = [True]

    def hook(name: str, arguments: tuple[object, ...]) -> None:
        if watching and name == "open" and isinstance(arguments[0], (str, bytes)):
            path = os.fsdecode(arguments[0])
            if path.startswith(f"{home}/") and os.path.isfile(path):
                seen.append(path)

    sys.addaudithook(hook)
    yield seen
    watching.clear()


def test_a_second_sweep_opens_no_source(home: Path, root: Path, opened: list[str]) -> None:
    demo.install_sessions(home)
    sweep_up(root, home)
    assert {path for path in opened if path.endswith(".jsonl")} == {str(path) for path in home.rglob("*.jsonl")}
    opened.clear()
    before = tree(root)
    report = sweep_up(root, home)
    assert opened == []
    assert counts(report) == {"discovered": 6, "skipped_unchanged": 6}
    assert report.hosts[0].bytes_read == 0
    after = tree(root)
    assert {path for path in {**before, **after} if before.get(path) != after.get(path)} <= {str(root)}


def test_an_append_reads_the_tail_and_the_edges(
    home: Path, root: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    demo.install_sessions(home)
    file = transcript(home, lines(*(prompt("x" * 500, number) for number in range(1, 3000))))
    sweep_up(root, home)
    more = lines(prompt("one more", 3000))
    with file.open("ab") as out:
        out.write(more)
    opened.clear()
    fed, taken = [], []
    original_feed, original_read = ClaudeReader.feed, origin.SourceFile.read

    def feed(self: ClaudeReader, *arguments: object) -> object:
        fed.append(arguments)
        return original_feed(self, *arguments)  # type: ignore[arg-type]

    def read(self: origin.SourceFile, size: int) -> bytes:
        data = original_read(self, size)
        taken.append(len(data))
        return data

    monkeypatch.setattr(ClaudeReader, "feed", feed)
    monkeypatch.setattr(origin.SourceFile, "read", read)
    sweep_up(root, home)
    assert len(fed) == 1
    assert sum(taken) <= len(more) + 4 * origin.EDGE
    assert opened == [str(file)]


def test_a_dry_run_writes_nothing(demo_home: Path, root: Path) -> None:
    report = sweep_up(root, demo_home, dry_run=True)
    assert (counts(report), root.exists()) == ({"discovered": 6, "ingested": 6, "analyzed": 6}, False)
    sweep_up(root, demo_home)
    before = tree(root)
    transcript(demo_home, ONE)
    assert counts(sweep_up(root, demo_home, dry_run=True))["ingested"] == 1
    assert tree(root) == before


# --- sources are untouched, nothing is started, nothing is reached ---------------------------------------------------


def test_sources_are_untouched(demo_home: Path, root: Path) -> None:
    before = tree(demo_home)
    for _ in range(2):
        sweep_up(root, demo_home)
    forced(root, demo_home)
    assert tree(demo_home) == before


@pytest.mark.corpus
def test_the_live_tree_is_swept_without_a_socket_or_a_program(
    corpus: Path, root: Path, audit: list[AuditEvent]
) -> None:
    home = corpus / "live/claude/home/.claude"
    before = tree(home / "projects")
    assert counts(sweep_up(root, home))["ingested"] == 8
    assert audit == []
    assert tree(home / "projects") == before


def test_workers_open_no_socket_and_start_no_program(
    demo_home: Path, root: Path, audit: list[AuditEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retro.workers.WORTH_IT", 0)
    assert counts(sweep_up(root, demo_home, workers=2))["ingested"] == 6
    assert audit == []


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_the_archive_is_for_its_owner_alone(demo_home: Path, root: Path) -> None:
    before = os.umask(0)
    try:
        sweep_up(root, demo_home)
    finally:
        os.umask(before)
    modes = {path.is_dir(): set[int]() for path in root.rglob("*")}
    for path in [root, *root.rglob("*")]:
        modes[path.is_dir()].add(path.stat().st_mode & 0o777)
    assert modes == {True: {0o700}, False: {0o600}}


# --- recovery --------------------------------------------------------------------------------------------------------


def test_garbage_beyond_the_committed_length_is_cut_off(home: Path, root: Path, tmp_path: Path) -> None:
    file = transcript(home, ONE)
    sweep_up(root, home)
    for path in [*(root / "raw").rglob("*.zst"), *(root / "normalized").rglob("*.zst")]:
        with path.open("ab") as out:
            out.write(os.urandom(500))
    file.write_bytes(ONE + TWO)
    sweep_up(root, home)
    sweep_up(tmp_path / "whole", home)
    assert differences(content(root), content(tmp_path / "whole")) == []


def test_a_shortened_copy_fails_its_session_and_no_other(home: Path, root: Path) -> None:
    file = transcript(home, ONE)
    other = transcript(home, TWO, session="other")
    sweep_up(root, home)
    copy = root / "raw" / "claude" / SESSION / "transcript.jsonl.zst"
    os.truncate(copy, 10)
    damaged = copy.read_bytes()
    file.write_bytes(ONE + TWO)
    other.write_bytes(TWO + THREE)
    report = sweep_up(root, home)
    (reason,) = failures(report)
    assert "shorter than the" in reason and str(copy) in reason
    assert counts(report) == {"discovered": 2, "appended": 1, "analyzed": 1, "failed": 1}
    assert copy.read_bytes() == damaged
    assert [unpacked(path) for path in (root / "raw/claude/other").rglob("*.zst")] == [TWO + THREE]


def test_an_archive_without_index_gets_one(demo_home: Path, root: Path) -> None:
    sweep_up(root, demo_home)
    before, copies = content(root), raw_files(root)
    for name in ("index.sqlite", "index.sqlite-wal", "index.sqlite-shm"):
        (root / name).unlink(missing_ok=True)
    assert counts(sweep_up(root, demo_home)) == {"discovered": 6, "skipped_unchanged": 6}
    assert differences(content(root), before) == []
    assert raw_files(root) == copies


def test_an_archive_whose_sources_are_gone_is_rebuilt_whole(demo_home: Path, root: Path, tmp_path: Path) -> None:
    """With appends, revisions and changed sidecars in it."""
    files = sorted(demo_home.rglob("*.jsonl"))
    sweep_up(root, demo_home)
    files[0].write_bytes(files[0].read_bytes() + ONE)
    files[1].write_bytes(TWO)
    next((demo_home / "file-history").rglob("*@v1")).write_bytes(b"changed")
    sweep_up(root, demo_home)
    before, copies = content(root), raw_files(root)
    shutil.rmtree(demo_home)
    outcomes = reindex.rebuild(Places(str(root)), settings())
    assert [outcome.problems for outcome in outcomes if outcome.problems] == []
    assert differences(content(root), before) == []
    assert raw_files(root) == copies


@pytest.mark.corpus
def test_a_real_archive_is_rebuilt_whole(corpus: Path, root: Path) -> None:
    home = corpus / "live/claude/home/.claude"
    sweep_up(root, home)
    before = content(root)
    reindex.rebuild(Places(str(root)), settings())
    assert differences(content(root), before) == []


@pytest.mark.parametrize("garbage", [b"no database" * 500, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_an_index_of_garbage_points_to_reindex(demo_home: Path, root: Path, garbage: bytes) -> None:
    sweep_up(root, demo_home)
    before = content(root)
    for name in ("index.sqlite-wal", "index.sqlite-shm"):
        (root / name).unlink(missing_ok=True)
    (root / "index.sqlite").write_bytes(garbage)
    with pytest.raises(Failure) as raised:
        sweep_up(root, demo_home)
    assert raised.value.exit_code == 1
    assert "retro reindex" in str(raised.value.hint)
    reindex.rebuild(Places(str(root)), settings())
    assert differences(content(root), before) == []


def test_an_emptied_index_is_no_index(demo_home: Path, root: Path) -> None:
    """As a sweep leaves it that dies between making the file and its first transaction."""
    sweep_up(root, demo_home)
    before = content(root)
    for name in ("index.sqlite-wal", "index.sqlite-shm"):
        (root / name).unlink(missing_ok=True)
    (root / "index.sqlite").write_bytes(b"")
    assert counts(sweep_up(root, demo_home)) == {"discovered": 6, "skipped_unchanged": 6}
    assert differences(content(root), before) == []


def test_an_index_of_another_schema_points_to_reindex(demo_home: Path, root: Path) -> None:
    sweep_up(root, demo_home)
    connection = apsw.Connection(str(root / "index.sqlite"))
    connection.pragma("user_version", 999)
    connection.close()
    with pytest.raises(Failure, match="not an index of this version"):
        sweep_up(root, demo_home)


@pytest.mark.parametrize("damage", ["missing", "empty", "no JSON", "of another", "leading elsewhere"])
def test_a_session_without_a_usable_meta_file_is_reported_and_the_others_rebuilt(
    home: Path, root: Path, damage: str
) -> None:
    transcript(home, ONE)
    transcript(home, TWO, session="other")
    sweep_up(root, home)
    meta = root / "raw" / "claude" / SESSION / claude.META_NAME
    text = meta.read_text()
    if damage == "missing":
        meta.unlink()
    else:
        meta.write_text(
            {
                "empty": "",
                "no JSON": text[:-20],
                "of another": text.replace('"host": "claude"', '"host": "codex"'),
                "leading elsewhere": text.replace('"transcript.jsonl.zst"', '"../../../index.sqlite"'),
            }[damage]
        )
    copies = raw_files(root)
    outcomes = {outcome.session_id: outcome for outcome in reindex.rebuild(Places(str(root)), settings())}
    assert [name for name, outcome in outcomes.items() if outcome.problems] == [SESSION]
    assert outcomes["other"].captured
    assert raw_files(root) == copies
    connection = apsw.Connection(str(root / "index.sqlite"))
    # It still stands with what its digest says of it, and the next sweep captures it again.
    assert dict(connection.execute("SELECT session_id, events FROM session")) == {SESSION: 1, "other": 1}
    connection.close()
    if damage != "leading elsewhere":
        assert failures(sweep_up(root, home)) == []
        assert len(content(root).events[SESSION]) == 1


def test_what_the_index_forgot_is_not_overwritten(home: Path, root: Path) -> None:
    """Its meta file was lost, then its index, and the host has rewritten the source since."""
    file = transcript(home, ONE + TWO)
    sweep_up(root, home)
    copies = raw_files(root)
    (root / "raw" / "claude" / SESSION / claude.META_NAME).unlink()
    for name in ("index.sqlite", "index.sqlite-wal", "index.sqlite-shm"):
        (root / name).unlink(missing_ok=True)
    file.write_bytes(THREE)
    assert failures(sweep_up(root, home)) == []
    assert copies.items() <= raw_files(root).items()
    assert [event["text"] for event in content(root).events[SESSION]] == ["three"]


def test_a_damaged_copy_is_a_reason_and_not_an_internal_error(home: Path, root: Path) -> None:
    transcript(home, ONE)
    sweep_up(root, home)
    copy = root / "raw" / "claude" / SESSION / "transcript.jsonl.zst"
    data = bytearray(copy.read_bytes())
    data[-1] ^= 255
    copy.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claude, "NORMALISER", claude.NORMALISER + 1)
        (reason,) = failures(sweep_up(root, home))
    assert "internal error" not in reason
    assert reason.startswith("the archived copy is damaged")


def test_another_normaliser_derives_anew_under_the_same_ids(demo_home: Path, root: Path) -> None:
    sweep_up(root, demo_home)
    before, copies = content(root), raw_files(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claude, "NORMALISER", claude.NORMALISER + 1)
        report = sweep_up(root, demo_home)
        assert report.hosts[0].bytes_read == 0 or counts(report)["analyzed"] == 6
        after = content(root)
        assert counts(sweep_up(root, demo_home)) == {"discovered": 6, "skipped_unchanged": 6}
    assert {row["normaliser"] for row in after.sessions.values()} == {claude.NORMALISER + 1}
    for row in [*after.sessions.values(), *before.sessions.values()]:
        del row["normaliser"]
        row["digest"] = {**cast("dict[str, object]", row["digest"]), "normaliser": 1}
    assert differences(after, before) == []
    assert raw_files(root) == copies


def test_uncommitted_frames_of_whole_records_count_when_the_index_is_lost(home: Path, root: Path) -> None:
    """A frame was written and synced, then the power went; nothing but the archive is left."""
    file = transcript(home, ONE)
    sweep_up(root, home)
    file.unlink()
    copy = str(root / "raw" / "claude" / SESSION / "transcript.jsonl.zst")
    writer = FrameWriter(copy, *sound_length(copy)[0])
    writer.write(TWO)
    writer.close()
    reindex.rebuild(Places(str(root)), settings())
    found = content(root)
    assert revisions(found) == [ONE + TWO]
    assert [event["text"] for event in found.events[SESSION]] == ["one", "two"]


# --- secrets ---------------------------------------------------------------------------------------------------------

PLANTED = [(rule, text, secret) for rule, text, secret in CASES if len(secret) >= 12]


def test_planted_secrets_are_in_raw_and_nowhere_else(home: Path, root: Path, tmp_path: Path) -> None:
    """A few of every rule, everywhere that a text can stand in a transcript."""
    chosen = list({rule: (text, secret) for rule, text, secret in PLANTED}.values())
    for number, (text, _) in enumerate(chosen):
        cwd = f"/home/dev/{text[:200]}" if "\n" not in text and "/" not in text else "/home/dev"
        records: list[dict[str, object]] = [
            prompt(f"use {text} please", 1, cwd=cwd, gitBranch=text[:100]),
            answer([{"type": "thinking", "thinking": text}, {"type": "text", "text": f"I see {text}"}], 2),
            call("Bash", {"command": f"echo '{text}'", "description": text}, 3),
            result(f"out: {text}", 4, toolUseResult={"stdout": text, "stderr": text}),
            call("Write", {"file_path": "/a", "content": f"x = 1\n{text}\n"}, 5),
            call("Edit", {"file_path": "/a", "old_string": text, "new_string": text[::-1]}, 6),
            call("mcp__x", {"deep": [{"value": text}], text: "key"}, 7),
            {"type": "custom-title", "customTitle": f"about {text}", "sessionId": SESSION},
            {"type": "summary", "summary": f"sum {text}", "leafUuid": prompt("", 1)["uuid"]},
            {"type": "hologram", "unknown": text},
            {"type": "queue-operation", "operation": "enqueue", "content": text, "timestamp": "x"},
            {"type": "last-prompt", "lastPrompt": text},
        ]
        transcript(home, lines(*records), session=f"session-{number}")
    assert failures(sweep_up(root, home)) == []
    kept = b"\n".join(unpacked(path) for path in (root / "raw").rglob("*.zst")).decode()
    leaks = []
    derived = {str(path.relative_to(root)): text for path, text in artefacts(root)}
    for _, secret in chosen:
        assert _as_json(secret) in kept
        leaks += [(name, secret) for name, text in derived.items() if secret in text or _as_json(secret) in text]
    assert leaks == []
    assert any(name.startswith("normalized") for name in derived)


def _as_json(text: str) -> str:
    import json

    return json.dumps(text, ensure_ascii=False)[1:-1]


def test_a_secret_cut_by_the_end_of_a_prefix_is_masked_when_it_is_whole(home: Path, root: Path) -> None:
    rule, text, secret = next(case for case in PLANTED if case[0].startswith("github"))
    data = lines(prompt(f"use {text}", 1), answer("fine", 2))
    for cut in (data.index(secret.encode()) + 9, len(data)):
        transcript(home, data[:cut])
        sweep_up(root, home)
    assert not any(secret in artefact for _, artefact in artefacts(root)), rule
    path = Places(str(root)).normalized("claude", SESSION)
    assert next(event.payload for event in written_events(path)) == {"secrets": {rule: 1}}
