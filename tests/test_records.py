"""Lines, glued records, damage, and records too long for memory: every byte has an account."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from retro.agents import records
from retro.agents.interface import BOOKKEEPING, MAPPED, UNKNOWN, Batch, Facts, Verdict
from retro.agents.records import Accounting, Chunk, Parser, Position, chunks, mend
from support import SESSION, content, failures, lines, prompt, run_child, sweep_up, transcript

LIMITS = {"CHUNK": 64, "BLOCK": 96, "RECORD_LIMIT": 256, "SCAN": 16, "GAPS": 1000}
"""Small enough for examples that cross all of them."""

DEEP = b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"


class Noting:
    """A reader that decodes every record and notes where it stood."""

    facts = Facts()

    def __init__(self) -> None:
        self.seen: list[tuple[object, int, int]] = []

    def feed(self, record: bytes, line: int, offset: int, batch: Batch) -> Verdict:
        self.seen.append((msgspec.json.decode(record), line, offset))
        return Verdict(MAPPED, "record")

    def feed_giant(self, head: bytes, tail: bytes, line: int, offset: int, length: int, batch: Batch) -> Verdict:
        self.seen.append(((head, tail, length), line, offset))
        return Verdict(UNKNOWN, "giant")

    def save(self) -> bytes:
        return b""


class Trickle:
    """A stream that gives as much as it likes at a time."""

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        self._data, self._sizes = io.BytesIO(data), sizes or [1 << 30]
        self._reads = 0

    def read(self, size: int, /) -> bytes:
        wanted = min(size, self._sizes[self._reads % len(self._sizes)])
        self._reads += 1
        return self._data.read(wanted)


class Read(NamedTuple):
    """What was made of some bytes."""

    records: list[tuple[object, int, int]]
    accounting: Accounting
    position: Position

    @property
    def values(self) -> list[object]:
        return [value for value, _, _ in self.records]


def read(data: bytes, sizes: list[int] | None = None, cuts: list[int] | None = None) -> Read:
    """Read bytes in one go, or prefix after prefix as sweeps would."""
    reader, position, accounting = Noting(), Position(), Accounting()
    for end in [*sorted(cuts or []), len(data)]:
        parser, batch = Parser(reader, position, accounting), Batch([], [])
        for chunk in chunks(Trickle(data[position.offset : end], sizes or [])):
            parser.feed(chunk, batch)
    return Read(reader.seen, accounting, position)


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that short examples reach."""
    for name, value in LIMITS.items():
        monkeypatch.setattr(records, name, value)


def with_small_limits(data: bytes, sizes: list[int] | None = None, cuts: list[int] | None = None) -> Read:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in LIMITS.items():
            patch.setattr(records, name, value)
        return read(data, sizes, cuts)


# --- pieces of files -------------------------------------------------------------------------------------------------

SOUND = [
    b'{"a":1}',
    b'{"text":"a } and a { and a \\" and a \\\\"}',
    '{"text":"naïve ☃ 🙂"}'.encode(),
    b'{"text":"' + b"x" * 100 + b'"}',
    b"{}",
]
MENDED = [b'{"t":"\xff\xfe"}', b'{"t":"\\ud800"}', b'{"n":NaN}', b'{"n":-Infinity}', b'{"t":"a\tb\x01"}']
DAMAGED = [b"null", b"[1]", b'"text"', b"12", b"x", b'{"a":', b'"a"}', b"{abc}", b"\x00\x00\x00", b"}", b"\xff"]
GIANT = b'{"text":"' + b"y" * 300 + b'"}'

ends = st.sampled_from([b"\n", b"\r\n", b"\n\n", b" \n", b"\n \t\n"])
glued = st.lists(st.sampled_from([*SOUND, *MENDED]), min_size=1, max_size=2).map(b"".join)
# Glued records that are together longer than the limit are one giant: they are not told apart in a file read at once.
damaged = (
    st.lists(st.sampled_from([*DAMAGED, *SOUND, *MENDED]), min_size=1, max_size=3)
    .map(b"".join)
    .filter(lambda data: len(data) <= LIMITS["RECORD_LIMIT"])
)
line = st.one_of(glued, damaged, st.just(GIANT), st.binary(max_size=40).map(lambda data: data.replace(b"\n", b"")))
files = st.builds(
    lambda bom, body, tail: bom + b"".join(body) + tail,
    st.sampled_from([b"", b'\xef\xbb\xbf{"first":1}\n']),
    st.lists(st.builds(lambda data, end: data + end, line, ends), max_size=8),
    st.one_of(st.just(b""), line, line.map(lambda data: data[: len(data) // 2])),
)
sizes = st.lists(st.integers(1, 400), max_size=4)


@given(files, sizes)
@effort(max_examples=300)
def test_every_byte_has_an_account(data: bytes, reads: list[int]) -> None:
    found = with_small_limits(data, reads)
    torn = len(data) - found.position.offset
    assert found.accounting.total() + torn == len(data)
    assert torn == 0 or b"\n" not in data[-torn:]
    assert all(at >= 0 and at + length <= found.position.offset for at, length, _, _ in found.accounting.gaps)
    assert sum(length for _, length, _, _ in found.accounting.gaps) == sum(
        cell[1] for cell in found.accounting.malformed.values()
    )


@given(files, sizes)
@effort(max_examples=200)
def test_the_sizes_of_reads_change_nothing(data: bytes, reads: list[int]) -> None:
    assert with_small_limits(data, reads) == with_small_limits(data)


@given(files, st.lists(st.integers(0, 1500), max_size=6))
@effort(max_examples=500)
def test_growing_prefixes_give_what_one_go_gives(data: bytes, cuts: list[int]) -> None:
    assert with_small_limits(data, cuts=[min(cut, len(data)) for cut in cuts]) == with_small_limits(data)


@given(files, st.data())
@effort(max_examples=100)
def test_a_gap_is_what_stands_at_its_offset(data: bytes, draw: st.DataObject) -> None:
    found = with_small_limits(data)
    for offset, length, number, reason in found.accounting.gaps:
        assert data[:offset].count(b"\n") + 1 == number
        assert 0 < length <= len(data) - offset
        assert b"\n" not in data[offset : offset + length]
        assert (reason == "NUL bytes") == (not data[offset : offset + length].strip(b"\x00"))


@given(files, sizes)
@effort(max_examples=200)
def test_chunks_together_are_the_stream(data: bytes, reads: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in LIMITS.items():
            patch.setattr(records, name, value)
        pieces = list(chunks(Trickle(data, reads)))
    assert b"".join(piece.data for piece in pieces) == data
    for piece, following in zip(pieces, [*pieces[1:], Chunk(b"")], strict=False):
        if piece.giant:
            assert len(piece.data) <= LIMITS["CHUNK"]
            assert piece.data.endswith(b"\n") or piece.tail or following.giant
        elif piece.tail:
            assert following == Chunk(b"")
        else:
            assert piece.data.endswith(b"\n")
            assert len(piece.data) <= LIMITS["CHUNK"] or piece.data.count(b"\n") == 1


# --- one kind of damage at a time ------------------------------------------------------------------------------------

GOOD = b'{"a":1}'


@pytest.mark.parametrize(
    ("data", "values", "gaps", "repaired"),
    [
        (b"", [], [], 0),
        (b"\n\n\n", [], [], 0),
        (b" \t \r\n" + GOOD + b"\r\n", [{"a": 1}], [], 0),
        (b"\xef\xbb\xbf" + GOOD + b"\n", [{"a": 1}], [], 0),
        (GOOD + b"\n\xef\xbb\xbf" + GOOD + b"\n", [{"a": 1}, {"a": 1}], [(8, 3, 2, "torn record")], 0),
        (GOOD + GOOD + b" " + GOOD + b"\n", [{"a": 1}] * 3, [], 0),
        (b'{"a":"x' + GOOD + b"\n", [{"a": 1}], [(0, 7, 1, "torn record")], 0),
        (b'{"a":"x{"a":1\n', [], [(0, 13, 1, "not JSON")], 0),
        (b'{"a":"x\n' + GOOD + b"\n", [{"a": 1}], [(0, 7, 1, "not JSON")], 0),
        (b'{"a": tor' + GOOD + b"\n", [{"a": 1}], [(0, 9, 1, "torn record")], 0),
        (b"\x00" * 9 + GOOD + b"\n", [{"a": 1}], [(0, 9, 1, "NUL bytes")], 0),
        (GOOD + b"\x00\x00\n", [{"a": 1}], [(7, 2, 1, "NUL bytes")], 0),
        (b"garbage\x00\x00\n", [], [(0, 7, 1, "not JSON"), (7, 2, 1, "NUL bytes")], 0),
        (
            b"null\n[1,{}]\n12\n",
            [],
            [(0, 4, 1, "not an object"), (5, 6, 2, "not an object"), (12, 2, 3, "not an object")],
            0,
        ),
        (b'{"t":"\xff"}\n', [{"t": "\ufffd"}], [], 1),
        (b'{"t":"\\ud83d"}\n', [{"t": "\ufffd"}], [], 1),
        (b'{"n":NaN,"m":-Infinity}\n', [{"n": None, "m": None}], [], 1),
        (b'{"a":1,"a":2}\n', [{"a": 2}], [], 0),
        (b'{"n":' + b"9" * 30 + b"}\n", [{"n": 10**30 - 1}], [], 0),
        (DEEP + b"\n" + GOOD + b"\n", [{"a": 1}], [(0, len(DEEP), 1, "nested too deeply")], 0),
    ],
)
def test_what_becomes_of_damage(
    data: bytes, values: list[object], gaps: list[tuple[int, int, int, str]], repaired: int
) -> None:
    found = read(data)
    assert (found.values, found.accounting.gaps, found.accounting.repaired) == (values, gaps, repaired)
    assert found.accounting.total() == found.position.offset == len(data)


@pytest.mark.parametrize("number", [b"1e400", b"-1e999", b"9" * 5000])
def test_a_number_beyond_all_bounds_costs_the_number_and_not_the_record(number: bytes) -> None:
    found = read(b'{"n":' + number + b',"text":"kept"}\n')
    assert [value["text"] for value in found.values if isinstance(value, dict)] == ["kept"]
    assert found.accounting.gaps == []


@pytest.mark.parametrize(
    ("tail", "done"),
    [
        (b'{"b":2', 0),
        (b'{"b":2}', 7),
        (b'{"b":2}{"c"', 7),
        (b"  ", 2),
        (b"\x00\x00", 0),
        (b"tru", 0),
        (b'{"b":"\xe2\x98', 0),
    ],
)
def test_of_a_torn_tail_only_what_is_complete_counts(tail: bytes, done: int) -> None:
    found = read(GOOD + b"\n" + tail)
    assert found.position == Position(8 + done, 2)
    assert found.values == [{"a": 1}, *([{"b": 2}] if done == 7 else [])]
    assert found.accounting.malformed == {}


def test_a_byte_order_mark_counts_only_at_the_beginning() -> None:
    found = read(b"\xef\xbb\xbf\n" + GOOD)
    assert found.accounting.bookkeeping == {"bom": [1, 3], "line_ends": [1, 1]}


def test_only_the_first_gaps_are_listed_and_all_are_counted() -> None:
    found = read(b"x\n" * 500)
    assert len(found.accounting.gaps) == records.GAPS
    assert found.accounting.malformed == {"not JSON": [500, 500]}


@given(st.text(max_size=50), st.integers(), st.booleans())
def test_mending_leaves_sound_values_alone(text: str, number: int, nested: bool) -> None:
    value: object = {"t": text, "n": number, "x": [{"t": text}] if nested else None}
    sound = json.loads(json.dumps(value).encode("utf-8", "replace"))
    assert json.loads(mend(json.dumps(sound).encode())) == sound


@pytest.mark.parametrize("limit", [255, 256, 257, 258, 300, 352])
@pytest.mark.parametrize("before", [0, 1, 50, 95, 96, 97, 160])
def test_what_is_giant_depends_on_its_length_alone(small_limits: None, limit: int, before: int) -> None:
    record = b'{"text":"' + b"x" * (limit - 11) + b'"}'
    data = b'{"p":"' + b"z" * before + b'"}\n' + record + b"\n" + GOOD + b"\n"
    giant = len(record) > LIMITS["RECORD_LIMIT"]
    found = read(data)
    assert isinstance(found.values[1], tuple) == giant
    assert found.values[2] == {"a": 1}
    assert found.accounting.unknown == ({"giant": [1, len(record)]} if giant else {})


def test_a_giant_is_known_by_its_ends(small_limits: None) -> None:
    found = read(b"\n" + GIANT + b"\n" + GOOD + b"\n")
    assert found.records == [((GIANT[:16], (GIANT + b"\n")[-16:], len(GIANT)), 2, 1), ({"a": 1}, 3, 2 + len(GIANT))]


def test_what_follows_a_giant_comes_in_pieces_too(small_limits: None) -> None:
    data = GIANT + b"\n" + (GOOD + b"\n") * 11
    assert max(len(piece.data) for piece in chunks(Trickle(data, []))) <= LIMITS["CHUNK"]
    assert read(data).values[1:] == [{"a": 1}] * 11


@pytest.mark.parametrize("cut", [257, 290, len(GIANT)])
def test_a_giant_without_its_end_waits(small_limits: None, cut: int) -> None:
    found = read(GOOD + b"\n" + GIANT[:cut])
    assert (found.values, found.position) == ([{"a": 1}], Position(8, 2))
    assert found.accounting.total() == 8


# --- with the limits as they are -------------------------------------------------------------------------------------


@pytest.fixture
def data_root(tmp_path: Path) -> Path:
    return tmp_path / "claude"


def test_a_line_over_the_limit_is_archived_whole_and_named(tmp_path: Path, data_root: Path) -> None:
    long = lines(prompt("x" * 20_000_000, 1))
    data = long + lines(prompt("short", 2))
    transcript(data_root, data)
    assert failures(sweep_up(tmp_path / "archive", data_root)) == []
    found = content(tmp_path / "archive")
    assert found.raw[SESSION, "main", 0] == data
    first, second = found.events[SESSION]
    assert (first["event_id"], first["truncated"], first["event_type"]) == (
        prompt("", 1)["uuid"],
        True,
        "unknown",
    )
    assert first["raw_ref"] == {"source": "main", "line": 1, "offset": 0, "length": len(long) - 1}
    assert second["text"] == "short"


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_a_line_of_200_mb_is_read_in_little_memory(tmp_path: Path, data_root: Path) -> None:
    file = transcript(data_root, b'{"type":"user","uuid":"' + b"0" * 36 + b'","message":{"content":"')
    with file.open("ab") as out:
        out.truncate(200_000_000)
        out.seek(0, 2)
        out.write(b'"}}\n' + lines(prompt("after", 2)))
    child = run_child(tmp_path / "archive", [data_root])
    printed, complaint = child.communicate()
    assert child.returncode == 0, complaint.decode()
    assert json.loads(printed)["failures"] == []
    assert 0 < json.loads(printed)["peak_rss"] < 150_000_000


def test_bookkeeping_says_nothing_of_records() -> None:
    accounting = Accounting()
    accounting.add(BOOKKEEPING, "x", 2, 10)
    accounting.add(BOOKKEEPING, "x", 1, 5)
    accounting.add_gap(3, 4, 1, "torn")
    assert accounting.bookkeeping == {"x": [3, 15]}
    assert accounting.malformed == {"torn": [1, 4]}
    assert accounting.total() == 19
