"""Damage in the archive: it is found wherever it is, it hides nothing else, and what can be mended is mended."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import settings as effort
from hypothesis import strategies as st

from cli_support import FIX, Retro, retro, root, swept
from retro import demo, inbox
from retro.archive import state_log
from retro.archive.frames import extents
from retro.archive.reading import session_events
from retro.archive.state_log import FORGOTTEN, Decision, name_hash
from retro.index.database import open_reader
from retro.index.states import session_state
from retro.places import Places, init_root
from retro.reindex import rebuild
from retro.upkeep.budget import pin
from retro.upkeep.repair import repair
from retro.upkeep.sessions import chosen
from retro.upkeep.verify import (
    INBOX,
    META,
    NORMALISED,
    STATE,
    Damage,
    examine_decisions,
    examine_index,
    examine_ledger,
    examine_signals,
    verify,
)
from support import Content, content, counts, differences, settings, sweep_up

__all__ = ["retro", "root", "swept"]

SMALL_FRAMES = {
    "retro.capture.CHUNK": 512,
    "retro.agents.records.CHUNK": 512,
    "retro.agents.records.BLOCK": 1024,
    "retro.archive.normalised.FRAME": 1024,
}


class Sound(NamedTuple):
    """An archive of the demo that is as it should be, the files that it was made of, and what it holds."""

    home: Path
    root: Path
    held: Content
    files: list[str]
    """Every file that says anything, below the root."""

    def __repr__(self) -> str:
        return f"Sound({self.root})"  # all of it would be too much for a report


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Sound:
    folder = tmp_path_factory.mktemp("sound")
    home, root = folder / "claude", folder / "archive"
    demo.install_sessions(home)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SMALL_FRAMES.items():
            patch.setattr(name, value)
        sweep_up(root, home)
    files = sorted(str(file.relative_to(root)) for file in root.rglob("*.*") if file.suffix in (".zst", ".json", ".md"))
    framed = [list(extents(str(root / file))) for file in files if file.endswith(".zst")]
    assert sum(len(frames) > 3 for frames in framed) > len(framed) / 2
    return Sound(home, root, content(root), files)


def damages(root: Path) -> list[Damage]:
    """What `verify` finds in a whole archive."""
    places = Places(str(root))
    index = open_reader(places)
    assert index is not None
    try:
        of_sessions = verify(places, index, [session.key for session in chosen(index)]).damages
        return of_sessions + examine_ledger(places, index) + examine_signals(places, index)
    finally:
        index.close()


def mended(root: Path) -> list[str | None]:
    """Mend what is found; what became of each."""
    found = damages(root)
    repair(Places(str(root)), settings(), found)
    return [damage.outcome for damage in found]


def session_of(file: str) -> str:
    """Whose file of the archive it is."""
    parts = Path(file).parts
    if parts[0] in ("ledger", "signals"):
        return ""  # it is nobody's
    return parts[2] if parts[0] == "raw" else parts[2].removesuffix(".events.jsonl.zst").removesuffix(".json")


# --- bit rot ---------------------------------------------------------------------------------------------------------


KINDS = ("flip", "cut", "lose", "insert", "swap bytes", "swap frames", "repeat frame", "zero")
PART = st.floats(0, 1, exclude_max=True)


def rotten(
    kind: str, data: bytes, frames: Sequence[tuple[int, int]], parts: tuple[float, float], noise: bytes
) -> bytes:
    """What may become of a file: bytes flipped, cut off, taken out, put in, or exchanged, at two places of it."""
    at, to = sorted(int(part * len(data)) for part in parts)
    (one, one_end), (other, other_end) = sorted(frames[int(part * len(frames))] for part in parts)
    middle = (at + to) // 2
    return {
        "flip": data[:at] + bytes([data[at] ^ 1 << noise[0] % 8]) + data[at + 1 :],
        "cut": data[:at],
        "lose": data[:at] + data[to:],
        "insert": data[:at] + noise + data[at:],
        "swap bytes": data[:at] + data[middle:to] + data[at:middle] + data[to:],
        "swap frames": data[:one] + data[other:other_end] + data[one_end:other] + data[one:one_end] + data[other_end:]
        if one < other
        else data,
        "repeat frame": data[:one_end] + data[one:],
        "zero": data[:at] + bytes(to - at) + data[to:],
    }[kind]


def spans(file: Path) -> list[tuple[int, int]]:
    """Where the frames of a file lie, or the lines of one that has none."""
    if file.suffix == ".zst":
        return [(one.position, one.position + one.length) for one in extents(str(file))]
    ends = list(accumulate(map(len, file.read_bytes().splitlines(keepends=True))))
    return list(zip([0, *ends], ends, strict=False))


@given(PART, st.sampled_from(KINDS), st.tuples(PART, PART), st.binary(min_size=1, max_size=40))
@effort(max_examples=40)
def test_damage_anywhere_is_named_hides_nothing_else_and_is_mended(
    sound: Sound, which: float, kind: str, parts: tuple[float, float], noise: bytes
) -> None:
    file = sound.files[int(which * len(sound.files))]
    data = (sound.root / file).read_bytes()
    frames = spans(sound.root / file)
    changed = rotten(kind, data, frames, parts, noise)
    assume(not changed.startswith(data))  # what lies behind the committed length does not count
    with TemporaryDirectory() as folder:
        root = Path(folder) / "archive"
        shutil.copytree(sound.root, root)
        (root / file).write_bytes(changed)
        found = damages(root)
        assert {(damage.session_id, damage.file) for damage in found} == {(session_of(file), str(root / file))}
        healthy = [one for one in sound.files if one != file]
        assert [(root / one).read_bytes() for one in healthy] == [(sound.root / one).read_bytes() for one in healthy]
        assert None not in mended(root)
        assert damages(root) == []
        assert differences(content(root), sound.held) == []
        assert counts(sweep_up(root, sound.home)) == {"discovered": 6, "skipped_unchanged": 6}


@given(PART, PART)
@effort(max_examples=12)
def test_damage_without_a_source_costs_only_what_it_hit(sound: Sound, which: float, where: float) -> None:
    """The agent's files are gone: the events that were derived stay, even if all is derived anew from what is left."""
    raw = [one for one in sound.files if one.startswith("raw") and one.endswith(".zst")]
    file = raw[int(which * len(raw))]
    data = (sound.root / file).read_bytes()
    place = int(where * len(data))
    with TemporaryDirectory() as folder:
        root = Path(folder) / "archive"
        shutil.copytree(sound.root, root)
        (root / file).write_bytes(data[:place] + bytes([data[place] ^ 255]) + data[place + 1 :])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("retro.upkeep.repair.open_origin", _gone)
            outcomes = mended(root)
        assert outcomes == ["cannot be restored: the agent's file is gone"]
        assert [damage.file for damage in damages(root)] == [str(root / file)]
        assert readable_events(root) == sound.held.events
        rebuild(Places(str(root)), settings())
        assert readable_events(root) == sound.held.events


def readable_events(root: Path) -> dict[str, list[dict[str, object]]]:
    """Every session's events in reading order, whatever the state of the raw copies."""
    places, index = Places(str(root)), open_reader(Places(str(root)))
    assert index is not None
    try:
        found = {}
        for session in chosen(index):
            state = session_state(index, *session.key)
            calls = {name: agent.call_id for one in state.sources for name, agent in one.facts.agents.items()}
            events = session_events(places.normalized(*session.key), calls, state.normalized_bytes)
            found[session.session_id] = [msgspec.to_builtins(event) for event in events]
        return found
    finally:
        index.close()


def _gone(path: bytes) -> None:
    raise FileNotFoundError(path)


# --- what is no session's ---------------------------------------------------------------------------------------------


@given(st.sampled_from(KINDS), st.tuples(PART, PART), st.binary(min_size=1, max_size=40))
@effort(max_examples=25)
def test_a_damaged_index_is_named_or_harmless_and_comes_back_from_the_archive(
    sound: Sound, kind: str, parts: tuple[float, float], noise: bytes
) -> None:
    data = (sound.root / "index.sqlite").read_bytes()
    pages = [(at, at + 4096) for at in range(0, len(data), 4096)]
    changed = rotten(kind, data, pages, parts, noise)
    assume(changed != data)
    with TemporaryDirectory() as folder:
        root = Path(folder) / "archive"
        shutil.copytree(sound.root, root)
        (root / "index.sqlite").write_bytes(changed)
        places = Places(str(root))
        if not examine_index(places):  # SQLite notices neither a letter of a text nor what lies in a free page
            damages(root)
        rebuild(places, settings())
        assert (examine_index(places), damages(root)) == ([], [])
        assert differences(content(root), sound.held) == []


@given(st.sampled_from(KINDS), st.tuples(PART, PART), st.binary(min_size=1, max_size=40))
@effort(max_examples=60)
def test_a_damaged_decision_is_named_and_costs_no_pin(
    sound: Sound, kind: str, parts: tuple[float, float], noise: bytes
) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder) / "archive"
        shutil.copytree(sound.root, root)
        places = Places(str(root))
        for number, session in enumerate(sorted(sound.held.events)):
            pin(places, "claude", session, keep=True)
            if number % 2:
                state_log.append(places, [Decision("2026-01-01T00:00:00Z", FORGOTTEN, name_hash("claude", "gone"))])
        file = Path(places.state_log)
        pins, told = state_log.pinned(places), file.read_bytes().splitlines()
        changed = rotten(kind, file.read_bytes(), spans(file), parts, noise)
        assume(not set(changed.split(b"\n")) <= {*told, b""})  # a line that is gone as a whole is not missed
        file.write_bytes(changed)
        found = examine_decisions(places)
        assert [(one.source, one.file) for one in found] == [(STATE, places.state_log)]
        repair(places, settings(), found)
        assert (examine_decisions(places), state_log.pinned(places)) == ([], pins)
        assert state_log.forgotten(places) <= {name_hash("claude", "gone")}


@given(st.sampled_from(KINDS), st.tuples(PART, PART), st.binary(min_size=1, max_size=40))
@effort(max_examples=40)
def test_a_damaged_line_of_the_inbox_is_named_and_taken_out(
    tmp_path_factory: pytest.TempPathFactory, kind: str, parts: tuple[float, float], noise: bytes
) -> None:
    places = Places(str(tmp_path_factory.mktemp("inbox") / "archive"))
    init_root(places.root)
    for number in range(5):
        assert inbox.append(places, inbox.CALLS, {"kind": "files", "count": number})
    file = Path(places.inbox) / "calls.jsonl"
    changed = rotten(kind, file.read_bytes(), spans(file), parts, noise)
    sound_lines = [line for line in changed.splitlines(keepends=True) if is_object(line)]
    file.write_bytes(changed)
    found = examine_decisions(places)
    assert bool(found) == (len(sound_lines) < len(changed.splitlines()))
    for one in found:
        assert (one.source, one.file) == (INBOX, str(file))
        inbox.mend(one.file)
    assert examine_decisions(places) == []
    assert (file.read_bytes() if file.exists() else b"") == b"".join(sound_lines)


def is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


# --- every kind of damage, from the command line ---------------------------------------------------------------------


def test_a_sound_archive_is_said_to_be_sound(swept: Retro) -> None:
    assert "everything is as it was captured" in swept.says("verify")
    shown = swept.json("verify")
    assert (shown["sessions"], shown["damages"], shown["sound"]) == (6, [], True)
    assert shown["bytes"] > 0


@pytest.mark.parametrize(
    ("file", "key"),
    [
        (f"raw/claude/{FIX}/transcript.jsonl.zst", "main"),
        (f"raw/claude/{FIX}/sidecars/custom-title.json.zst", "sidecars/custom-title.json"),
        (f"normalized/claude/{FIX}.events.jsonl.zst", NORMALISED),
        (f"raw/claude/{FIX}/import_meta.json", META),
    ],
)
@pytest.mark.parametrize("damage", ["changed", "emptied", "gone"])
def test_damage_is_named_and_mended_on_the_command_line(
    swept: Retro, root: Path, file: str, key: str, damage: str
) -> None:
    path = root / file
    before = content(root)
    data = path.read_bytes()
    path.unlink()
    if damage != "gone":
        path.write_bytes(data[:20] + b"\xff\x00" + data[22:] if damage == "changed" else b"")
    shown = swept.json("verify", code=4)
    assert [(one["session_id"], one["source"], one["mended"]) for one in shown["damages"]] == [(FIX, key, False)]
    done = swept("verify")
    assert (done.code, FIX in done.out, "--repair" in done.out) == (4, True, True)
    shown = swept.json("verify", "--repair")
    assert [(one["source"], one["mended"]) for one in shown["damages"]] == [(key, True)]
    assert shown["sound"]
    assert "everything is as it was captured" in swept.says("verify")
    assert differences(content(root), before) == []


@pytest.mark.parametrize("source", ["index", "state", "inbox"])
def test_damage_that_is_no_sessions_is_named_and_mended_on_the_command_line(
    swept: Retro, root: Path, source: str
) -> None:
    swept.says("pin", FIX)
    held = content(root)
    file = {"index": "index.sqlite", "state": "state.jsonl", "inbox": "inbox/calls.jsonl"}[source]
    inbox.append(Places(str(root)), inbox.CALLS, {"kind": "files"})
    data = (root / file).read_bytes()
    (root / file).write_bytes(data[:20] + b"\xff\n\xff" + data[23:])
    if source == "index":
        (root / file).write_bytes(data[: len(data) // 2] + bytes(len(data) - len(data) // 2))
    shown = swept.json("verify", code=4)
    assert [(one["source"], one["mended"]) for one in shown["damages"]] == [(source, False)]
    shown = swept.json("verify", "--repair")
    assert [(one["source"], one["mended"]) for one in shown["damages"]] == [(source, True)]
    assert "everything is as it was captured" in swept.says("verify")
    assert differences(content(root), held) == []
    assert "pinned already" in swept("pin", FIX).out


def test_what_cannot_be_mended_stays_readable_and_is_said_again(swept: Retro, root: Path, demo_home: Path) -> None:
    path = root / f"raw/claude/{FIX}/transcript.jsonl.zst"
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2] + b"\x00" + data[len(data) // 2 + 1 :])
    events = swept.says("events", FIX)
    shutil.rmtree(demo_home / "projects")
    shown = swept.json("verify", "--repair", code=4)
    assert [one["outcome"] for one in shown["damages"]] == ["cannot be restored: the agent's file is gone"]
    assert swept.says("events", FIX) == events
    assert swept("verify").code == 4
    assert swept("verify", "claude", "8c41").code == 0
    assert path.read_bytes() != data


def test_a_source_that_says_something_else_now_is_not_taken_for_the_copy(
    swept: Retro, root: Path, demo_home: Path
) -> None:
    path = root / f"raw/claude/{FIX}/transcript.jsonl.zst"
    path.write_bytes(path.read_bytes()[:-30])
    source = next((demo_home / "projects").rglob(f"{FIX}.jsonl"))
    source.write_bytes(b'{"type":"user"}\n' + source.read_bytes())
    shown = swept.json("verify", "--repair", code=4)
    assert [one["outcome"] for one in shown["damages"]] == [
        "cannot be restored: the agent's file no longer holds what was captured"
    ]


def test_a_folder_that_the_index_does_not_know_is_named(swept: Retro, root: Path) -> None:
    stray = root / "raw" / "claude" / "0f0f0f0f-0000-4000-8000-000000000000"
    shutil.copytree(root / "raw" / "claude" / FIX, stray)
    assert [one["source"] for one in swept.json("verify", code=4)["damages"]] == ["folder"]


def test_verifying_one_session_reads_no_other(swept: Retro, root: Path) -> None:
    for file in (root / "raw").rglob("*.zst"):
        if FIX not in str(file):
            file.unlink()
    assert swept.json("verify", FIX)["sessions"] == 1
    assert swept("verify").code == 4


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs a user whom permissions hold back")
def test_a_file_that_may_not_be_read_is_damage_and_no_crash(swept: Retro, root: Path) -> None:
    (root / f"raw/claude/{FIX}/transcript.jsonl.zst").chmod(0)
    assert swept("verify").code == 4
