"""Sessions that grow: whatever the moments at which they are swept, the archive ends up the same."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from demo_sessions import sessions
from retro import capture
from retro.agents import records
from support import SESSION, answer, content, counts, differences, failures, lines, prompt, sweep_up, transcript

DEMO = {Path(name).stem: text.encode() for name, text in sessions().items() if name.endswith(".jsonl")}
DAMAGE = [b"\x00" * 7, b"\xff\xfe", b"torn{", b'{"a":', b"\r", b"null", b"\xef\xbb\xbf", b" "]


def swept_in_steps(folder: Path, data: bytes, cuts: Sequence[int]) -> list[str]:
    """Sweep a file at each of these sizes, sweep it once as a whole; how both archives differ."""
    home = folder / "claude"
    for end in [*cuts, len(data)]:
        transcript(home, data[:end])
        assert failures(sweep_up(folder / "grown", home)) == []
    assert failures(sweep_up(folder / "whole", home)) == []
    grown, whole = content(folder / "grown"), content(folder / "whole")
    assert set(grown.raw) == {(SESSION, "main", 0)}
    assert data.startswith(whole.raw[SESSION, "main", 0])
    return differences(grown, whole)


@st.composite
def hostile_files(draw: st.DrawFn) -> bytes:
    """A few records of a demo session, some of them glued, damaged or ended in another way."""
    source = draw(st.sampled_from(sorted(DEMO))), draw(st.integers(0, 30))
    chosen = DEMO[source[0]].splitlines()[source[1] :][: draw(st.integers(1, 12))]
    ends = st.sampled_from([b"\n", b"\n", b"\n", b"", b"\r\n", *(damage + b"\n" for damage in DAMAGE)])
    return b"".join(record + draw(ends) for record in chosen)


@given(hostile_files(), st.data())
@effort(max_examples=40)
def test_growing_prefixes_of_damaged_files(data: bytes, draw: st.DataObject) -> None:
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(data)), max_size=5)))
    with TemporaryDirectory() as folder:
        assert swept_in_steps(Path(folder), data, cuts) == []


@pytest.mark.parametrize("name", sorted(DEMO))
def test_growing_prefixes_of_the_demo_cut_anywhere(tmp_path: Path, name: str) -> None:
    data = DEMO[name]
    chance = random.Random(name)
    assert swept_in_steps(tmp_path, data, sorted(chance.sample(range(len(data)), 12))) == []


@pytest.mark.parametrize("name", sorted(DEMO))
def test_growing_prefixes_of_the_demo_cut_beside_every_line_end(tmp_path: Path, name: str) -> None:
    data = DEMO[name]
    line_ends = [at for at, byte in enumerate(data) if byte == 10]
    assert swept_in_steps(tmp_path, data, [end + at % 3 - 1 for at, end in enumerate(line_ends)]) == []


def test_every_cut_through_a_few_records(tmp_path: Path) -> None:
    data = (
        b"\xef\xbb\xbf"
        + lines(prompt("naïve ☃", 1))[:-1]
        + b"\r\n"
        + lines(answer("done 🙂", 2), prompt("more", 3)).replace(b"}\n{", b"}{")
    )
    home = tmp_path / "claude"
    for end in range(0, len(data) + 1, 7):
        transcript(home, data[:end])
        sweep_up(tmp_path / "grown", home)
    transcript(home, data)
    sweep_up(tmp_path / "grown", home)
    sweep_up(tmp_path / "whole", home)
    assert differences(content(tmp_path / "grown"), content(tmp_path / "whole")) == []


@pytest.mark.corpus
@pytest.mark.parametrize("seed", range(3))
def test_growing_prefixes_of_real_sessions(corpus: Path, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    files = sorted((corpus / "claude-code").rglob("*.jsonl")) + sorted((corpus / "live/claude").rglob("*.jsonl"))
    for number, file in enumerate(chance.sample(files, 12)):
        data = file.read_bytes()
        cuts = sorted(chance.randrange(len(data) + 1) for _ in range(4))
        assert swept_in_steps(tmp_path / str(number), data, cuts) == [], file


@pytest.mark.corpus
def test_real_homes_swept_project_by_project_in_any_order(corpus: Path, tmp_path: Path) -> None:
    """What links sessions (forks, titles, sub-agents) comes out the same in whatever order they arrive."""
    source = corpus / "live/claude/home/.claude"
    files = [file for file in source.rglob("*") if file.is_file() and "projects" in file.parts]
    random.Random(7).shuffle(files)
    home = tmp_path / "claude"
    (home / "projects").mkdir(parents=True)
    for file in files:
        target = home / file.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
        sweep_up(tmp_path / "one-by-one", home)
    sweep_up(tmp_path / "whole", home)
    assert differences(content(tmp_path / "one-by-one"), content(tmp_path / "whole")) == []


def test_demo_files_arriving_in_any_order(demo_home: Path, tmp_path: Path) -> None:
    files = sorted(file for file in demo_home.rglob("*") if file.is_file())
    for seed in range(4):
        random.Random(seed).shuffle(files)
        home = tmp_path / f"claude-{seed}"
        (home / "projects").mkdir(parents=True)
        for file in files:
            target = home / file.relative_to(demo_home)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
            sweep_up(tmp_path / f"one-by-one-{seed}", home)
        sweep_up(tmp_path / f"whole-{seed}", home)
        found = content(tmp_path / f"one-by-one-{seed}"), content(tmp_path / f"whole-{seed}")
        assert differences(*found) == []


# --- successive snapshots of real sessions ---------------------------------------------------------------------------


def snapshots(corpus: Path) -> Iterator[tuple[str, list[bytes]]]:
    for folder in sorted((corpus / "claude-code/real/growing").iterdir()):
        yield folder.name, [file.read_bytes() for file in sorted(folder.iterdir())]


@pytest.mark.corpus
def test_a_snapshot_that_rewrites_is_a_revision_and_loses_nothing(corpus: Path, tmp_path: Path) -> None:
    for name, ages in snapshots(corpus):
        home, root = tmp_path / name / "claude", tmp_path / name / "archive"
        kept: list[bytes] = []
        for data in ages:
            file = transcript(home, session=name)
            file.write_bytes(data)
            assert failures(sweep_up(root, home)) == []
            if kept and data.startswith(kept[-1]):
                kept[-1] = data
            else:
                kept.append(data)
        found = content(root)
        assert [found.raw[name, "main", number] for number in range(len(found.raw))] == kept
        events = {event["event_id"]: event for event in found.events[name]}
        assert len(events) == len(found.events[name])
        sweep_up(tmp_path / name / "whole", home)
        last = content(tmp_path / name / "whole")
        assert {event["event_id"] for event in last.events[name]} <= set(events)
        assert found.sessions[name]["events"] == len(events)


# --- parts and giants ------------------------------------------------------------------------------------------------


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that a demo session crosses many times."""
    for name, value in {"CHUNK": 1024, "BLOCK": 1536, "RECORD_LIMIT": 2560, "SCAN": 256}.items():
        monkeypatch.setattr(records, name, value)
    monkeypatch.setattr(capture, "PART", 3000)


@pytest.mark.parametrize("name", sorted(DEMO))
def test_prefixes_that_cut_records_too_long_for_memory(small_parts: None, tmp_path: Path, name: str) -> None:
    data = DEMO[name]
    chance = random.Random(name)
    assert swept_in_steps(tmp_path, data, sorted(chance.sample(range(len(data)), 12))) == []


def test_parts_of_a_session_add_up_to_it(small_parts: None, demo_home: Path, tmp_path: Path) -> None:
    sweep_up(tmp_path / "parts", demo_home)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capture, "PART", 1 << 30)
        sweep_up(tmp_path / "whole", demo_home)
    assert differences(content(tmp_path / "parts"), content(tmp_path / "whole")) == []


# --- single cases ----------------------------------------------------------------------------------------------------


def test_a_request_written_again_counts_its_tokens_once_whenever_it_was_swept(tmp_path: Path) -> None:
    """A record that comes again under the same id, with more tokens, as streaming versions write it."""
    data = lines(
        prompt("go", 1), answer("a", 2, output_tokens=1), answer("a b", 2, output_tokens=20), prompt("next", 3)
    )
    cuts = [data.index(b"a b"), len(data) - 5]
    assert swept_in_steps(tmp_path, data, cuts) == []
    assert content(tmp_path / "whole").turns[SESSION, 1]["output_tokens"] == 20


def test_a_damaged_record_leaves_no_half_of_itself_behind(tmp_path: Path) -> None:
    """Its first block was read, its second holds invalid UTF-8: the mended record is read from the beginning."""
    blocks = [
        {"type": "text", "text": "<command-name>/compact</command-name>"},
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "fine"},
        {"type": "tool_result", "tool_use_id": "toolu_2", "content": [{"type": "text", "text": "@@"}]},
    ]
    called = [{"type": "tool_use", "id": f"toolu_{n}", "name": "Bash", "input": {"command": "ls"}} for n in (1, 2)]
    record = prompt("", 3) | {"message": {"role": "user", "content": blocks}}
    sound = lines(prompt("go", 1), answer(called, 2), record, prompt("next", 4))
    transcript(tmp_path / "claude", sound.replace(b"@@", b"\xff\xff"))
    sweep_up(tmp_path / "archive", tmp_path / "claude")
    transcript(tmp_path / "claude-sound", sound.replace(b"@@", "\ufffd\ufffd".encode()))
    sweep_up(tmp_path / "sound", tmp_path / "claude-sound")
    damaged, expected = content(tmp_path / "archive"), content(tmp_path / "sound")
    for event in [*damaged.events[SESSION], *expected.events[SESSION]]:
        del event["raw_ref"]
    assert damaged.events == expected.events
    assert len(damaged.written) == len(expected.written)


def test_a_growing_file_is_read_from_where_it_was_left(tmp_path: Path) -> None:
    home = tmp_path / "claude"
    file = transcript(home, lines(*(prompt("x" * 1000, number) for number in range(1, 2000))))
    sweep_up(tmp_path / "archive", home)
    more = lines(prompt("one more", 2000))
    with file.open("ab") as out:
        out.write(more)
    report = sweep_up(tmp_path / "archive", home)
    assert counts(report) == {"discovered": 1, "appended": 1, "analyzed": 1}
    assert report.hosts[0].bytes_read == len(more)


def test_a_torn_line_waits_and_is_not_read_again_until_it_grows(tmp_path: Path) -> None:
    home = tmp_path / "claude"
    whole = lines(prompt("one", 1), prompt("two", 2))
    file = transcript(home, whole[:-10])
    sweep_up(tmp_path / "archive", home)
    assert counts(sweep_up(tmp_path / "archive", home)) == {"discovered": 1, "skipped_unchanged": 1}
    assert content(tmp_path / "archive").raw[SESSION, "main", 0] == lines(prompt("one", 1))
    file.write_bytes(whole)
    assert counts(sweep_up(tmp_path / "archive", home))["appended"] == 1
    assert [event["text"] for event in content(tmp_path / "archive").events[SESSION]] == ["one", "two"]


def test_a_file_that_grows_within_one_tick_of_the_clock_is_seen(tmp_path: Path) -> None:
    home = tmp_path / "claude"
    file = transcript(home, lines(prompt("one", 1)))
    stamp = file.stat()
    sweep_up(tmp_path / "archive", home)
    with file.open("ab") as out:
        out.write(lines(prompt("two", 2)))
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert counts(sweep_up(tmp_path / "archive", home))["appended"] == 1
