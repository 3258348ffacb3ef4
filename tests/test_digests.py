"""Digests: what they say, that they are small and the same for the same session, and that they outlive its bytes."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from cli_support import AGENTS, ALL, FIX, FORK, SECRETS, Retro, retro, root, swept, transcript
from retro.digests import digest as files
from retro.digests import keeping
from retro.digests.digest import LIMIT, Digest, cut, decoded, encoded
from retro.event import Actor, Event, EventType, Origin, RawRef
from retro.index import digested
from retro.index.database import open_writer
from retro.ledger.prices import Prices
from retro.ledger.writing import Ledger
from retro.notes import noted
from retro.places import Places, init_root
from retro.signals.base import SIGNALS, reading
from retro.signals.running import known
from support import SESSION, answer, call, content, differences, lines, prompt, result, sweep_up
from support import transcript as write_transcript

__all__ = ["retro", "root", "swept"]


def digest_of(root: Path, session_id: str, host: str = "claude") -> Digest:
    """What lies on the disk."""
    return files.read(Places(str(root)).digest(host, session_id))


# --- what it says ----------------------------------------------------------------------------------------------------


def test_a_digest_tells_what_was_done_what_failed_and_what_it_cost(swept: Retro) -> None:
    said = swept.json("digest", FIX)
    assert said["title"] == "the missing last tide"
    assert said["goal"] == said["turns"][0]["prompt"]
    assert said["counts"]["turns"] == len(said["turns"])
    assert said["tests"]["runs"] == said["commands"][0]["runs"]
    assert said["commits"]
    assert said["problems"][0]["resolved"] == [said["files"][0]["path"]]
    assert said["bytes"] == {name: size for name, size in swept.json("show", FIX)["bytes"].items() if size}
    (cost,) = [one for one in swept.json("cost", "session")["sessions"] if one["sessionId"] == FIX]
    assert said["spent"]["cost_microdollars"] == cost["totalMicrodollars"]


def test_a_digest_says_what_the_signals_say(swept: Retro) -> None:
    said = swept.json("digest", FIX)["readings"]
    for one in swept.json("signal", "show", FIX)["readings"]:
        sure, value = one.get("confidence", 1.0), one["value"]
        assert said.pop(one["signal"]) == (value if value is None or sure >= 1 else [value, sure])
    assert said == {}


def test_every_session_has_one_and_show_names_it(swept: Retro, root: Path) -> None:
    for session_id in ALL:
        text = swept.says("digest", session_id)
        assert session_id in text
        assert (digest_of(root, session_id).parent == SECRETS) is (session_id == FORK)


def test_no_secret_stands_in_a_digest(retro: Retro, root: Path, demo_home: Path) -> None:
    token = "ghp_" + "h7Kd93jXq0PzLm4RtVbW2sYcN8uEaF1gTo5i"
    texts = [f"use {token}", f"No, {token} is wrong"]
    records = [prompt(texts[0], 1), call("Bash", {"command": f'git commit -m "with {token}"'}, 2)]
    records += [result(f"fatal: {token} is refused", 3, is_error=True), prompt(texts[1], 4), answer(f"so: {token}", 5)]
    write_transcript(demo_home, lines(*records))
    sweep_up(root, demo_home)
    held = Path(Places(str(root)).digest("claude", SESSION)).read_text()
    assert token not in held
    assert held.count("[secret:github") > 4


def test_a_damaged_or_missing_digest_is_said_and_mended(swept: Retro, root: Path) -> None:
    path = Path(Places(str(root)).digest("claude", FIX))
    sound = path.read_bytes()
    for broken in (sound.replace(b"tide", b"tidy", 1), b"", None):
        path.unlink()
        if broken is not None:
            path.write_bytes(broken)
        assert swept("digest", FIX).code == 1
        (damage,) = swept.json("verify", code=4)["damages"]
        assert (damage["session_id"], damage["source"]) == (FIX, "digest")
        assert swept.json("verify", "--repair")["damages"][0]["mended"] is True
        assert path.read_bytes() == sound


def event(event_type: EventType, text: str = "", **more: Any) -> Event:
    """An event of a test's own."""
    given = {"actor": Actor.ASSISTANT, "turn": 1, **more}
    return Event(
        schema=1,
        event_id=f"e{id(given)}",
        session_id="s",
        host="claude",
        source="main",
        sequence=0,
        timestamp=None,
        event_type=event_type,
        raw_ref=RawRef("main", 1, 0, 1),
        summary=text,
        text=text,
        **given,
    )


def test_an_error_is_resolved_by_what_was_done_until_the_same_went_right() -> None:
    failing = "E   AssertionError: assert 3 == 4\n1 failed in 0.12s"
    notes = noted(
        [
            event(EventType.COMMAND, command="uv run pytest -q tests/test_a.py | tail", call_id="1"),
            event(EventType.TOOL_RESULT, failing, call_id="1", is_error=True),
            event(EventType.FILE_EDIT, paths=["/src/a.py"], call_id="2"),
            event(EventType.TOOL_RESULT, "ok", call_id="2"),
            event(EventType.COMMAND, command="ls", call_id="3"),
            event(
                EventType.TOOL_RESULT, "ls: cannot access '/x/1': No such file or directory", call_id="3", exit_code=2
            ),
            event(EventType.COMMAND, command="pytest tests", call_id="4"),
            event(EventType.TOOL_RESULT, "5 passed", call_id="4", exit_code=0),
        ]
    )
    problems = {name: (one.where, one.times, one.resolved) for name, one in notes.problems.items()}
    assert problems == {
        "AssertionError: assert <number> == <number>": ("pytest", 1, ["/src/a.py"]),
        "ls: cannot access '<path>': No such file or directory": ("ls", 1, None),
    }
    assert (notes.tests, notes.tests_failed, notes.tests_ended) == (2, 1, True)


def test_a_correction_is_what_a_person_says_later_and_no_first_prompt() -> None:
    def said(text: str, turn: int, origin: Origin = Origin.HUMAN) -> Event:
        return event(EventType.MESSAGE, text, actor=Actor.USER, turn=turn, origin=origin)

    words = [
        "No, that is the wrong file",
        "Great, thanks",
        "it does not work",
        "you forgot the test",
        "and now the docs",
    ]
    first = said("This is wrong, fix it", 1)
    later = [said(text, turn) for turn, text in enumerate(words, 2)]
    notes = noted([first, *later, said("No. Stop.", 9, Origin.MACHINE)])
    assert [turn for turn, _ in notes.corrections] == [2, 4, 5]


def test_commits_are_named_by_their_subject() -> None:
    commands = [
        'git commit -m "Mend the tide table"',
        "git commit -am 'Second'",
        "git commit -m \"$(cat <<'EOF'\nThird of them\n\nbody\nEOF\n)\"",
        "git add -A && git commit --amend --no-edit",
    ]
    notes = noted([event(EventType.COMMAND, command=command) for command in commands])
    assert notes.commits == ["Mend the tide table", "Second", "Third of them", ""]


# --- its size --------------------------------------------------------------------------------------------------------

words = st.text(st.characters(codec="utf-8"), max_size=700) | st.sampled_from(
    ["\x00\x1b" * 900, "😀" * 800, "ab" * 2000]
)
numbers = st.integers(0, 10**15)


@st.composite
def digests(draw: st.DrawFn) -> Digest:
    """Any digest, however long its texts and lists."""

    def some(*shape: Any, most: int = 60) -> list[tuple[Any, ...]]:
        one = tuple(draw(part) for part in shape)
        return [one] * draw(st.integers(0, most))

    resolved = st.none() | st.lists(words, max_size=3)
    return Digest(
        schema=1,
        host="claude",
        session_id="3b6f0c1e-52d8-4c0a-9a67-0e5d1f7b2a41",
        normaliser=1,
        rules=1,
        parent=draw(st.none() | words),
        title=draw(words),
        project=draw(words),
        repository=draw(words),
        domain=draw(words),
        cwd=draw(words),
        branch=draw(words),
        models=draw(st.lists(words, max_size=9)),
        host_versions=draw(st.lists(words, max_size=9)),
        goal=draw(words),
        result=draw(words),
        counts=files.Counts(*(draw(numbers) for _ in files.Counts.__struct_fields__)),
        spent=files.Spent(*(draw(numbers) for _ in files.Spent.__struct_fields__)),
        bytes=files.Bytes(*(draw(numbers) for _ in files.Bytes.__struct_fields__)),
        files=[files.FileLine(*one) for one in some(words, numbers)],
        commands=[files.CommandLine(*one) for one in some(words, st.just("install"), numbers, numbers)],
        commits=[text for (text,) in some(words)],
        problems=[files.ProblemLine(*one) for one in some(words, words, numbers, resolved)],
        corrections=[files.Correction(*one) for one in some(numbers, words)],
        outcome=files.Outcome("unknown", 0.5, draw(st.lists(words, max_size=9))),
        turns=[files.TurnLine(*one) for one in some(numbers, numbers, words, numbers, numbers, numbers, most=99)],
    )


@given(digests())
@effort(max_examples=150)
def test_a_digest_takes_at_most_4_kb_and_says_when_it_is_damaged(digest: Digest) -> None:
    held = encoded(digest)
    assert len(held) <= LIMIT
    again = decoded(held)
    assert encoded(again) == held
    assert (again.counts, again.spent, again.bytes) == (digest.counts, digest.spent, digest.bytes)
    damaged = bytearray(held)
    damaged[len(held) // 2] ^= 1
    with pytest.raises(ValueError, match=r"checksum|Invalid|JSON"):
        decoded(bytes(damaged))


@given(words, st.integers(8, 300))
def test_a_text_is_cut_to_its_bytes_once(text: str, size: int) -> None:
    short = cut(text, size)
    assert len(json.dumps(short, ensure_ascii=False).encode()) - 2 <= max(size, 0) or "\x00" in text or "\x7f" in short
    assert cut(short, size) == short


# --- when it is written ----------------------------------------------------------------------------------------------


def test_what_changes_afterwards_is_written_anew(swept: Retro, root: Path, demo_home: Path) -> None:
    before = digest_of(root, FIX)
    record = {"type": "custom-title", "sessionId": FIX, "customTitle": "another title"}
    with transcript(demo_home, FIX).open("a") as stream:
        stream.write(json.dumps(record) + "\n")
    swept("sweep")
    after = digest_of(root, FIX)
    assert (after.title, after.turns) == ("another title", before.turns)


def test_another_price_is_another_digest(swept: Retro, root: Path) -> None:
    places = Places(str(root))
    assert digest_of(root, FIX).spent.cost_microdollars > 0
    connection = open_writer(places.index)
    ledger = Ledger(connection, places.ledger, lambda: Prices([]))
    with connection:
        ledger.reprice()
        ledger.settle()
    ledger.close()
    connection.close()
    swept("sweep")
    assert digest_of(root, FIX).spent.cost_microdollars == 0


def test_a_sweep_that_finds_nothing_new_writes_none(swept: Retro, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*given: object, **named: object) -> None:
        raise AssertionError

    monkeypatch.setattr(keeping, "make", forbidden)
    monkeypatch.setattr(keeping, "write_private", forbidden)
    assert swept.json("sweep")["hosts"][0]["skipped_unchanged"] == len(ALL)


def test_what_a_sweep_could_not_write_the_next_one_writes(retro: Retro, root: Path, demo_home: Path) -> None:
    path = Path(Places(str(root)).digest("claude", FIX))
    init_root(str(root))
    (path / "in the way").mkdir(parents=True)
    report = retro.json("sweep", code=1)
    assert "its digest cannot be written" in report["hosts"][0]["problems"][0]["reason"]
    assert len(list(path.parent.glob("*.json"))) == len(ALL)
    shutil.rmtree(path)
    assert retro.json("sweep")["hosts"][0]["skipped_unchanged"] == len(ALL)
    assert digest_of(root, FIX).session_id == FIX


def test_another_version_writes_all_of_them_again(swept: Retro, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = root / "digests" / "claude"
    held = {path.name: path.read_bytes() for path in folder.iterdir()}
    for path in folder.iterdir():
        path.write_bytes(b"older")
    monkeypatch.setattr(digested, "VERSION", digested.VERSION + 1)
    swept("sweep")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == held


# --- what it is for --------------------------------------------------------------------------------------------------


def test_digests_alone_keep_the_lists_and_the_costs(swept: Retro, root: Path, demo_home: Path) -> None:
    listed = swept.json("list")["sessions"]
    spent = swept.json("cost", "session")
    shown = {session_id: swept.json("digest", session_id) for session_id in ALL}
    for family in ("raw", "normalized", "rendered"):
        shutil.rmtree(root / family, ignore_errors=True)
    for file in root.glob("index.sqlite*"):
        file.unlink()
    assert swept.json("reindex")["failed"] == 0
    gone = {"archive_bytes": 0}
    assert [{**one, **gone} for one in swept.json("list")["sessions"]] == [{**one, **gone} for one in listed]
    assert swept.json("cost", "session") == spent
    assert {session_id: swept.json("digest", session_id) for session_id in ALL} == shown
    assert swept.json("verify")["sound"] is True
    assert [turn["turn"] for turn in swept.json("show", FIX)["turns"]] == [one["turn"] for one in shown[FIX]["turns"]]
    assert "given up" in swept("events", FIX).err
    # The agent still has them: the next sweep captures them again, and everything is as it was.
    swept("sweep")
    assert {session_id: swept.json("digest", session_id) for session_id in ALL} == shown
    assert swept.json("verify")["sound"] is True
    other = root.with_name("other")
    sweep_up(other, demo_home)
    again, fresh = content(root), content(other)
    for row in [*again.sessions.values(), *fresh.sessions.values()]:
        del row["linked_title"]
    assert differences(again, fresh) == []


def test_a_digest_that_is_all_that_is_left_never_says_less(swept: Retro, root: Path) -> None:
    before = {session_id: digest_of(root, session_id) for session_id in ALL}
    for family in ("raw", "normalized", "signals"):
        shutil.rmtree(root / family)
    for file in root.glob("index.sqlite*"):
        file.unlink()
    swept("reindex")
    connection = open_writer(str(root / "index.sqlite"))
    digested.undo_all(connection)
    connection.execute("UPDATE session SET title = 'another title' WHERE session_id = ?", (FIX,))
    connection.close()
    swept("sweep", "--host", "codex")
    after = {session_id: digest_of(root, session_id) for session_id in ALL}
    assert after[FIX].title == "another title"
    after[FIX].title = before[FIX].title
    assert after == before
    read = {one["signal"]: one["value"] for one in swept.json("signal", "show", FIX)["readings"]}
    assert read == {name: said[0] if isinstance(said, tuple) else said for name, said in before[FIX].readings.items()}


def test_other_readings_are_another_digest(swept: Retro, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest_of(root, FIX)
    other = known()["command_count"]._replace(read=lambda session: reading(4242))
    monkeypatch.setitem(SIGNALS, "command_count", other)
    assert swept.json("signal", "run", "--session-id", FIX, "--signal", "command_count")["read"] == 1
    assert digest_of(root, FIX).readings == {**before.readings, "command_count": 4242}
    assert swept.json("verify")["sound"] is True


def test_what_was_given_up_is_in_the_index_again_as_its_digest_has_it(swept: Retro, root: Path) -> None:
    held = {path.name: path.read_bytes() for path in (root / "digests" / "claude").iterdir()}
    connection = apsw.Connection(str(root / "index.sqlite"))
    sessions = list(connection.execute("SELECT host, session_id FROM session"))
    from retro.upkeep import evict

    for host, session_id in sessions:
        evict.evict(connection, Places(str(root)), host, session_id, evict.KINDS, digested=True)
    connection.close()
    before = swept.json("list")
    assert swept.json("reindex")["failed"] == 0
    assert swept.json("list") == before
    assert {path.name: path.read_bytes() for path in (root / "digests" / "claude").iterdir()} == held
    shown = swept.json("show", AGENTS)
    assert all(turn["prompt"] for turn in shown["turns"])


def test_a_digest_that_is_lost_with_everything_else_is_said(swept: Retro, root: Path) -> None:
    shutil.rmtree(root / "raw")
    path = Path(Places(str(root)).digest("claude", FIX))
    path.write_bytes(path.read_bytes()[:-9])
    report = swept.json("reindex", code=1)
    assert [problem["session_id"] for problem in report["problems"]] == [FIX]
    assert len(swept.json("list")["sessions"]) == len(ALL) - 1


def test_a_digest_is_private(swept: Retro, root: Path) -> None:
    if os.name == "posix":
        for path in (root / "digests").rglob("*"):
            assert path.stat().st_mode & 0o077 == 0
