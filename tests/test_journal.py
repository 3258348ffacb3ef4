"""Journals: every state of a source that is rewritten comes back byte for byte, and only what is new is written."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256

from hypothesis import given, settings
from hypothesis import strategies as st

from retro.agents.documents import Piece, cut
from retro.agents.interface import MAPPED, Batch, Facts, Row, Verdict
from retro.agents.records import Accounting, Parser, Position, chunks
from retro.archive import journal


class Listener:
    """A reader that notes what it is fed."""

    def __init__(self) -> None:
        self.facts = Facts()
        self.fed: list[object] = []

    def feed(self, record: bytes, line: int, offset: int, batch: Batch) -> Verdict:
        self.fed.append(json.loads(record))
        return Verdict(MAPPED, "record")

    def feed_giant(self, head: bytes, tail: bytes, line: int, offset: int, length: int, batch: Batch) -> Verdict:
        raise AssertionError("a journal has no line that long")

    def save(self) -> bytes:
        return b""


class Kept:
    """A journal in memory, and what its reader was fed."""

    def __init__(self) -> None:
        self.content = b""
        self.listener = Listener()
        self.reader = journal.JournalReader(self.listener, journal.load(b""), "main")

    def write(self, lines: Iterable[bytes]) -> bytes:
        """Take lines as a capture does, with a table that was saved in between."""
        new = b"".join(lines)
        self.reader = journal.JournalReader(self.listener, journal.load(journal.save(self.reader.table)), "main")
        parser = Parser(self.reader, Position(), Accounting())
        for chunk in chunks(journal.JournalStream(iter(new.splitlines(keepends=True)))):
            assert parser.feed(chunk, Batch([], [])) == len(chunk.data)
        assert not parser.accounting.malformed
        self.content += new
        return new

    def document(self, data: bytes, name: str = "chat.json") -> bytes:
        return self.write(journal.document_lines(self.reader.table, data, name))

    def records(self, rows: list[Row]) -> bytes:
        return self.write(journal.record_lines(self.reader.table, rows))

    def lines(self) -> list[bytes]:
        return self.content.splitlines(keepends=True)


def accounted(kept: Kept) -> int:
    return kept.reader.table.accounting().total()


texts = st.text(st.characters(codec="utf-8"), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
parsed = st.dictionaries(texts, values, max_size=5) | st.lists(values, max_size=5)
layouts = st.sampled_from([{"indent": 2}, {"indent": None}, {"separators": (",", ":")}, {"ensure_ascii": False}])
documents = st.builds(lambda value, layout: json.dumps(value, **layout).encode(), parsed, layouts) | st.binary(
    max_size=60
)


@given(documents, st.sampled_from(["chat.json", "chat.jsonl"]))
@settings(max_examples=200, deadline=None)
def test_the_pieces_of_a_document_are_the_document(data: bytes, name: str) -> None:
    assert b"".join(piece.before + piece.text for piece in cut(data, name)) == data


@given(st.lists(documents, min_size=1, max_size=6), st.sampled_from(["chat.json", "chat.jsonl"]))
@settings(max_examples=150, deadline=None)
def test_every_state_of_a_document_comes_back(states: list[bytes], name: str) -> None:
    kept = Kept()
    distinct: list[bytes] = []
    for data in states:
        kept.document(data, name)
        if not distinct or distinct[-1] != data:
            distinct.append(data)
        assert journal.document(kept.lines()) == data
        assert accounted(kept) == len(data) == kept.reader.table.size
        assert kept.reader.table.sha256 == sha256(data).digest()
    assert [journal.document(kept.lines(), number) for number in range(len(distinct))] == distinct


def chat(messages: int, **more: object) -> bytes:
    texts = [{"id": f"m{number}", "text": f"message {number} " * 20} for number in range(messages)]
    return json.dumps({"id": "s1", "messages": texts, **more}, indent=2).encode()


def test_a_longer_document_adds_what_is_new_only() -> None:
    kept = Kept()
    first = kept.document(chat(200))
    fed = len(kept.listener.fed)
    assert fed == 201
    for number in range(201, 301):
        new = kept.document(chat(number))
        assert len(new) < len(first) / 50
    assert len(kept.listener.fed) == fed + 100
    assert kept.document(chat(300)) == b""


def test_a_value_is_fed_with_its_place() -> None:
    kept = Kept()
    kept.document(b'{"id": "s1", "messages": [{"n": 1}, 2], "none": []}')
    assert kept.listener.fed == [
        {"name": "id", "item": False, "value": "s1"},
        {"name": "messages", "item": True, "value": {"n": 1}},
        {"name": "messages", "item": True, "value": 2},
        {"name": "none", "item": False, "value": []},
    ]
    kept = Kept()
    kept.document(b'[{"n": 1}]')
    kept.document(b'{"n": 2}\n{"n": 3}\n', "chat.jsonl")
    assert kept.listener.fed == [{"item": True, "value": {"n": 1}}, {"n": 2}, {"n": 3}]


def test_a_document_caught_half_written_costs_no_message_twice() -> None:
    kept, whole = Kept(), chat(50)
    kept.document(whole)
    fed = len(kept.listener.fed)
    kept.document(whole[: len(whole) // 2])
    assert dict(kept.reader.table.accounting().malformed) == {journal.NOT_JSON: [1, len(whole) // 2]}
    kept.document(chat(51))
    assert len(kept.listener.fed) == fed + 1
    assert [len(journal.document(kept.lines(), number)) for number in range(3)] == [
        len(whole), len(whole) // 2, len(chat(51))
    ]  # fmt: skip


def test_a_message_that_changed_is_fed_again_and_the_others_are_not() -> None:
    kept = Kept()
    kept.document(b'{"messages":[{"id":1,"text":"a"},{"id":2,"text":"b"}]}')
    kept.listener.fed.clear()
    kept.document(b'{"messages":[{"id":1,"text":"A"},{"id":2,"text":"b"}]}')
    assert kept.listener.fed == [{"name": "messages", "item": True, "value": {"id": 1, "text": "A"}}]


rows = st.dictionaries(
    st.tuples(st.sampled_from(["message", "part"]), texts), st.dictionaries(texts, values, max_size=3), max_size=6
)


@given(st.lists(rows, min_size=1, max_size=5))
@settings(max_examples=100, deadline=None)
def test_records_that_come_change_and_go_are_all_there(states: list[dict[tuple[str, str], object]]) -> None:
    kept = Kept()
    for state in states:
        given_rows = [Row(*place, json.dumps(value).encode()) for place, value in state.items()]
        kept.records(given_rows)
        assert journal.records(kept.lines()) == {(row.table, row.key): row.value for row in given_rows}
        assert accounted(kept) == sum(len(row.value or b"") for row in given_rows)
        assert kept.records(given_rows) == b""
        assert kept.records([row._replace(value=None) for row in given_rows]) == b""


def test_only_a_changed_record_is_written_and_a_lost_one_is_noted() -> None:
    kept = Kept()
    kept.records([Row("part", "a", b'{"n":1}'), Row("part", "b", b'{"n":2}')])
    assert kept.records([Row("part", "b", b'{"n":3}')]) == (
        b'{"table":"part","key":"b","row":{"n":3}}\n{"table":"part","key":"a","gone":true}\n'
    )


def test_a_file_of_a_folder_keeps_its_bytes() -> None:
    kept, content = Kept(), b'{\n  "n": 1,\n  "caf\xc3\xa9": "x"\n}\n'
    kept.records([Row("file", "part/1.json", content), Row("file", "part/2.json", b"\xff not JSON")])
    assert journal.records(kept.lines())["file", "part/1.json"] == content
    assert journal.records(kept.lines())["file", "part/2.json"] == b"\xff not JSON"
    assert kept.listener.fed == [{"table": "file", "key": "part/1.json", "row": {"n": 1, "café": "x"}}]
    assert kept.reader.table.accounting().malformed == {journal.NOT_JSON: [1, 10]}


def test_what_is_too_long_for_a_line_is_kept_in_parts() -> None:
    kept, long = Kept(), json.dumps({"text": "x" * (9 * 1024 * 1024)}).encode()
    kept.records([Row("part", "a", long)])
    assert journal.records(kept.lines())["part", "a"] == long
    assert kept.records([Row("part", "a", long)]) == b""
    assert kept.reader.table.accounting().unknown == {"part.oversized": [1, len(long)]}
    kept = Kept()
    kept.document(b'{"messages":[' + long + b',{"n":1}]}')
    assert journal.document(kept.lines()) == b'{"messages":[' + long + b',{"n":1}]}'
    assert kept.listener.fed == [{"name": "messages", "item": True, "value": {"n": 1}}]


def test_layout_that_is_not_utf_8_is_kept() -> None:
    kept, data = Kept(), b'{"a\xff": 1}'
    assert cut(data, "chat.json")[0] == Piece(b"", data, damaged=True)
    kept.document(data)
    assert journal.document(kept.lines()) == data
