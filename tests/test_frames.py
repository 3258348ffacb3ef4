"""Files of frames: appended, cut, read in ranges, and honest about damage."""

from __future__ import annotations

import os
import random
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import zstandard
from hypothesis import example, given
from hypothesis import settings as effort
from hypothesis import strategies as st

from retro.archive.frames import (
    Damaged,
    Extent,
    FrameStream,
    FrameWriter,
    Mark,
    check,
    extents,
    read_frames,
    read_lines,
    read_range,
    readable_frames,
    sound_length,
)
from retro.archive.frames import contents as contents_of
from support import unpacked

# Sizes around every border of the header: one, two and four bytes of content size, and several blocks in one frame.
SIZES = [1, 255, 256, 257, 65_535, 65_536, 65_791, 65_792, 65_793, 131_072, 131_073, 300_000]

contents = st.lists(
    st.one_of(
        st.binary(max_size=300), st.sampled_from([b"a" * 100_000, b"line\n" * 60, random.Random(1).randbytes(70_000)])
    ),
    max_size=6,
)


def written(path: Path, pieces: list[bytes]) -> FrameWriter:
    """A file with one frame for each piece."""
    writer = FrameWriter(str(path), 0, b"")
    for piece in pieces:
        writer.write(piece)
    writer.sync()
    writer.close()
    return writer


def all_read(path: Path, committed: int | None = None) -> list[bytes]:
    return [content for _, content in read_frames(str(path), committed)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["even", "random"])
def test_a_frame_of_any_size_is_measured_and_read(tmp_path: Path, size: int, kind: str) -> None:
    piece = b"x" * size if kind == "even" else random.Random(size).randbytes(size)
    writer = written(tmp_path / "f", [piece, b"next"])
    first, second = extents(str(tmp_path / "f"))
    assert (first.offset, first.size, first.position) == (0, size, 0)
    assert second == Extent(size, 4, first.length, writer.length - first.length)
    assert all_read(tmp_path / "f") == [piece, b"next"]


@given(contents)
@effort(max_examples=60)
def test_any_reader_of_zstd_reads_the_whole(pieces: list[bytes]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "f"
        writer = written(path, pieces)
        whole = b"".join(pieces)
        assert unpacked(path) == whole
        assert check(str(path), writer.length) == (len(whole), writer.chain, sha256(whole).digest())
        assert sound_length(str(path)) == (writer.mark(), len(whole))
        stream, taken = FrameStream(contents_of(str(path))), []
        while data := stream.read(7_777):
            taken.append(data)
        assert b"".join(taken) == whole


@given(contents, st.data())
@effort(max_examples=100)
def test_a_range_is_a_slice(pieces: list[bytes], draw: st.DataObject) -> None:
    whole = b"".join(pieces)
    offset = draw.draw(st.integers(0, len(whole) + 5))
    length = draw.draw(st.integers(0, len(whole) + 5))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "f"
        written(path, pieces)
        assert read_range(str(path), offset, length) == whole[offset : offset + length]


def test_the_chain_is_continued_without_reading_what_is_there(tmp_path: Path) -> None:
    pieces = [b"one\n", b"two\n", b"three\n"]
    whole = written(tmp_path / "whole", pieces)
    writer = FrameWriter(str(tmp_path / "parts"), 0, b"")
    for piece in pieces:
        writer.write(piece)
        writer.close()
        writer = FrameWriter(str(tmp_path / "parts"), *writer.mark())
    writer.close()
    assert writer.mark() == whole.mark()
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()


def test_what_lies_behind_the_committed_length_is_cut_off(tmp_path: Path) -> None:
    first = written(tmp_path / "f", [b"kept\n"])
    with (tmp_path / "f").open("ab") as file:
        file.write(b"torn frame")
    writer = FrameWriter(str(tmp_path / "f"), *first.mark())
    writer.write(b"more\n")
    writer.close()
    assert all_read(tmp_path / "f") == [b"kept\n", b"more\n"]
    assert check(str(tmp_path / "f"), writer.length)[1] == writer.chain


def test_a_file_shorter_than_committed_is_left_as_it_is(tmp_path: Path) -> None:
    first = written(tmp_path / "f", [b"kept\n", b"lost\n"])
    os.truncate(tmp_path / "f", first.length - 3)
    before = (tmp_path / "f").read_bytes()
    with pytest.raises(Damaged) as raised:
        FrameWriter(str(tmp_path / "f"), *first.mark())
    assert raised.value.path == str(tmp_path / "f")
    assert raised.value.position == first.length - 3
    assert (tmp_path / "f").read_bytes() == before


def test_cutting_goes_back_to_a_mark(tmp_path: Path) -> None:
    writer = FrameWriter(str(tmp_path / "f"), 0, b"")
    writer.write(b"kept\n")
    mark = writer.mark()
    writer.write(b"taken back\n")
    writer.cut(mark)
    writer.write(b"instead\n")
    writer.close()
    assert all_read(tmp_path / "f") == [b"kept\n", b"instead\n"]
    assert writer.frames == 2
    assert check(str(tmp_path / "f"), writer.length)[1] == writer.chain


def test_the_committed_length_hides_what_follows(tmp_path: Path) -> None:
    first = written(tmp_path / "f", [b"one\n"])
    again = FrameWriter(str(tmp_path / "f"), *first.mark())
    again.write(b"two\n")
    again.close()
    assert all_read(tmp_path / "f", first.length) == [b"one\n"]
    assert list(read_lines(str(tmp_path / "f"))) == [b"one", b"two"]


@pytest.mark.parametrize("cut", [1, 4, 8, 20])
def test_a_truncated_tail_ends_what_is_sound(tmp_path: Path, cut: int) -> None:
    pieces = [b"one\n" * 20, b"two\n" * 200, random.Random(5).randbytes(500)]
    sound = written(tmp_path / "sound", pieces[:2])
    whole = written(tmp_path / "f", pieces)
    os.truncate(tmp_path / "f", whole.length - cut)
    assert sound_length(str(tmp_path / "f")) == (sound.mark(), 80 + 800)
    with pytest.raises(Damaged) as raised:
        all_read(tmp_path / "f")
    assert raised.value.position == sound.length


@pytest.mark.parametrize(
    "garbage",
    [b"\x00", b"garbage", b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\xfd\xff\xff\xff\xff", random.Random(3).randbytes(64)],
)
def test_garbage_behind_the_last_frame_is_not_sound(tmp_path: Path, garbage: bytes) -> None:
    whole = written(tmp_path / "f", [b"one\n", b"two\n"])
    with (tmp_path / "f").open("ab") as file:
        file.write(garbage)
    assert sound_length(str(tmp_path / "f")) == (whole.mark(), 8)
    with pytest.raises(Damaged):
        all_read(tmp_path / "f")
    assert all_read(tmp_path / "f", whole.length) == [b"one\n", b"two\n"]


def test_every_flipped_bit_is_noticed(tmp_path: Path) -> None:
    pieces = [b"one line\n", b"another line, a longer one\n" * 3]
    whole = written(tmp_path / "f", pieces)
    sound = (tmp_path / "f").read_bytes()
    for at in range(len(sound)):
        for bit in (1, 16, 128):
            damaged = bytearray(sound)
            damaged[at] ^= bit
            (tmp_path / "f").write_bytes(damaged)
            try:
                same = check(str(tmp_path / "f"), whole.length)[1] == whole.chain
            except Damaged:
                same = False
            assert not same, f"byte {at}, bit {bit}"


def test_a_frame_without_the_size_of_its_content_is_damage_and_not_a_crash(tmp_path: Path) -> None:
    foreign = zstandard.ZstdCompressor(write_content_size=False).compress(b"text" * 50)
    (tmp_path / "f").write_bytes(foreign)
    assert sound_length(str(tmp_path / "f"))[0].length in (0, len(foreign))
    skippable = b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"
    (tmp_path / "f").write_bytes(skippable)
    with pytest.raises(Damaged):
        all_read(tmp_path / "f")


def test_a_header_that_claims_any_size_is_damage(tmp_path: Path) -> None:
    sound = written(tmp_path / "f", [b"sound\n"])
    huge = b"\x28\xb5\x2f\xfd\xe0" + (1 << 50).to_bytes(8, "little") + b"\x01\x00\x00"
    with (tmp_path / "f").open("ab") as file:
        file.write(huge)
    assert sound_length(str(tmp_path / "f")) == (sound.mark(), 6)


@given(st.binary(max_size=200), st.booleans())
@example(b"\xc0" + (1 << 63).to_bytes(8, "little") + b"\x01\x00\x00", True)
@effort(max_examples=300)
def test_no_bytes_make_reading_crash(data: bytes, with_magic: bool) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "f"
        path.write_bytes((b"\x28\xb5\x2f\xfd" if with_magic else b"") + data)
        mark, size = sound_length(str(path))
        assert 0 <= mark.length <= path.stat().st_size
        assert sum(extent.size for extent in extents(str(path), mark.length)) == size
        damage: list[Damaged] = []
        list(readable_frames(str(path), None, damage))


def test_reading_goes_on_behind_a_damaged_frame(tmp_path: Path) -> None:
    written(tmp_path / "f", [b"one\n" * 30, b"two\n" * 30, b"three\n" * 30])
    places = list(extents(str(tmp_path / "f")))
    damaged = bytearray((tmp_path / "f").read_bytes())
    damaged[places[1].position + places[1].length - 1] ^= 255  # its checksum
    (tmp_path / "f").write_bytes(damaged)
    damage: list[Damaged] = []
    assert list(readable_frames(str(tmp_path / "f"), None, damage)) == [b"one\n" * 30, b"three\n" * 30]
    assert [found.position for found in damage] == [places[1].position]


def test_an_empty_file_is_sound(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    assert (sound_length(str(tmp_path / "f")), all_read(tmp_path / "f")) == ((Mark(0, b"", 0), 0), [])
    assert check(str(tmp_path / "f"), 0) == (0, b"", sha256(b"").digest())
