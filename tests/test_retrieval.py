"""How well things are found: on labelled sessions beside plain full-text search, and over documents from elsewhere."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import apsw
import pytest

from cli_support import Retro, retro, root
from retro.foreign import Document, Library

__all__ = ["retro", "root"]

LABELLED = Path(__file__).parents[2] / "shared" / "corpus" / "labelled"


def written(path: Path, *records: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return str(path)


def asked(retro: Retro, folder: Path, documents: list[dict[str, Any]], *queries: str, k: int = 10) -> list[list[str]]:
    corpus = written(folder / "documents.jsonl", *documents)
    questions = written(folder / "queries.jsonl", *({"qid": str(at), "text": text} for at, text in enumerate(queries)))
    out = folder / "answers.jsonl"
    retro.says("bench-retrieval", "--corpus", corpus, "--queries", questions, "--out", str(out), "--k", str(k))
    answers = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [answer["qid"] for answer in answers] == [str(at) for at in range(len(queries))]
    assert all(answer["ms"] > 0 for answer in answers)
    return [answer["ids"] for answer in answers]


TALK = [
    {"id": "D1:1", "text": "Ann: Hey Ben! How was the pottery fair?", "ts": "2023-05-08T13:56:00"},
    {"id": "D1:2", "text": "Ben: Great, I sold all of my bowls!", "ts": "2023-05-08T13:56:00"},
    {"id": "D1:3", "text": "Ann: I spent the weekend at the lake with my kids.", "ts": "2023-05-08T13:56:00"},
    {"id": "D2:1", "text": "Ben: My sister adopted a greyhound.", "ts": "2023-08-20T09:00:00"},
    {"id": "D2:2", "text": "Ann: Lovely! What is its name?", "ts": "2023-08-20T09:00:00"},
    {"id": "D2:3", "text": "Ben: Comet. It hides my bowls.", "ts": "2023-08-20T09:00:00"},
]


def test_documents_from_elsewhere_are_ranked(retro: Retro, tmp_path: Path) -> None:
    lake, bowls, dated, none = asked(
        retro, tmp_path, TALK, "Where did Ann go with her kids?", "bowls sold", "What happened in August?", "zyzzyva"
    )
    assert lake[0] == "D1:3"
    assert bowls[:2] == ["D1:2", "D2:3"], "those with some of the words follow those with all"
    assert set(dated[:3]) == {"D2:1", "D2:2", "D2:3"}
    assert none == []


def test_who_speaks_counts(retro: Retro, tmp_path: Path) -> None:
    said = [
        {"id": "1", "text": "Ann: Ben painted a sunrise over the bay."},
        {"id": "2", "text": "Ben: I painted a sunrise over the bay."},
    ]
    (found,) = asked(retro, tmp_path, said, "What did Ben paint?")
    assert found == ["2", "1"]


def test_no_more_than_k_ids(retro: Retro, tmp_path: Path) -> None:
    (found,) = asked(retro, tmp_path, TALK, "Ben Ann", k=3)
    assert len(found) == 3


def test_odd_documents_and_queries(retro: Retro, tmp_path: Path) -> None:
    odd: list[dict[str, Any]] = [
        {"id": "empty", "text": ""},
        {"id": "marks", "text": "a\x1eb\x1fc\0 flotsam"},
        {"id": "long", "text": "flotsam " * 40_000, "ts": 1e300},
        {"id": "潮汐", "text": "潮汐表を直しました", "ts": "no time at all"},
    ]
    found, cjk, nothing, junk = asked(retro, tmp_path, odd, "flotsam", "潮汐", "", '" OR NEAR( *')
    assert (set(found), cjk, nothing, junk) == ({"marks", "long"}, ["潮汐"], [], [])


@pytest.mark.parametrize(
    ("corpus", "says"),
    [
        ('{"id": "a"}\n', "line 1"),
        ('{"id": "a", "text": "b"}\nnonsense\n', "line 2"),
        ('{"id": "a", "text": "b"}\n' * 2, "two documents"),
    ],
)
def test_what_is_no_document_is_named(retro: Retro, tmp_path: Path, corpus: str, says: str) -> None:
    (tmp_path / "bad.jsonl").write_text(corpus, "utf-8")
    queries = written(tmp_path / "queries.jsonl", {"qid": "q", "text": "b"})
    done = retro(
        "bench-retrieval", "--corpus", str(tmp_path / "bad.jsonl"), "--queries", queries, "--out", str(tmp_path / "o")
    )
    assert done.code == 1
    assert says in done.err
    assert not (tmp_path / "o").exists()


# --- the labelled sessions -------------------------------------------------------------------------------------------


def sources(names: str) -> set[str]:
    """The files of the product among those that a patch touched; every patch of these touches `tox.ini`."""
    return {name for name in names.split() if name.startswith(("sphinx/", "sympy/")) and "/tests/" not in name}


def talk(path: Path) -> list[str]:
    """What was asked and answered in a session."""
    told = []
    for line in path.read_text("utf-8").splitlines():
        content = (json.loads(line).get("message") or {}).get("content", "")
        told += [content] if isinstance(content, str) else [part["text"] for part in content if part["type"] == "text"]
    return told


def recall(ranked: dict[str, list[str]], right: dict[str, set[str]]) -> float:
    shares = [
        len(right[name] & set([i for i in ids if i != name][:10])) / len(right[name]) for name, ids in ranked.items()
    ]
    return sum(shares) / len(shares)


@pytest.mark.corpus
@pytest.mark.skipif(not LABELLED.is_dir(), reason="the labelled sessions are not beside the project")
def test_sessions_that_edited_the_same_file_are_found_by_the_text_of_the_issue() -> None:
    with (LABELLED / "labels.tsv").open(encoding="utf-8") as file:
        files = {row["session"]: sources(row["files"]) for row in csv.DictReader(file, delimiter="\t")}
    right = {name: {other for other in files if other != name and files[other] & files[name]} for name in files}
    said = {path.stem: talk(path) for path in LABELLED.glob("projects/*/*.jsonl")}
    issues = {
        name: match[1]
        for name, told in said.items()
        if right[name] and (match := re.search(r"<pr_description>(.*?)</pr_description>", told[0], re.DOTALL))
    }
    assert len(issues) > 50
    texts = {name: "\n".join(told) for name, told in said.items()}
    library = Library(Document(name, text) for name, text in texts.items())
    ours = recall({name: library.find(issue, 11) for name, issue in issues.items()}, right)
    plain = recall(plainly(texts, issues), right)
    assert ours >= 0.62
    assert ours > plain + 0.05


def plainly(texts: dict[str, str], issues: dict[str, str]) -> dict[str, list[str]]:
    """What SQLite's own full-text search finds, any of the words."""
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5 (id UNINDEXED, text)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", texts.items())
    query = "SELECT id FROM t WHERE text MATCH ? ORDER BY rank LIMIT 11"
    asked = {
        name: " OR ".join(f'"{word}"' for word in set(re.findall(r"\w+", issue))) for name, issue in issues.items()
    }
    return {name: [id_ for (id_,) in connection.execute(query, (words,))] for name, words in asked.items()}
