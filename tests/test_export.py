"""A session as one file to share: whole, safe to open, and with what was masked named."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_support import AGENTS, ALL, FIX, SECRETS, Retro, retro, root, swept
from retro.surfaces import marked
from retro.surfaces.redaction import Redaction
from support import answer, call, lines, prompt, result, sweep_up, transcript

__all__ = ["retro", "root", "swept"]

HOSTILE = '</style></details><script>alert(1)</script><img src=x onerror=alert(1)>"\u202e javascript:alert(1)'


class Seen(HTMLParser):
    """What a browser would make of a file."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.words: list[str] = []
        self.links: list[str | None] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value for name, value in attrs if name == "href"]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.mark.parametrize("session_id", ALL)
def test_the_page_says_what_the_markdown_says(swept: Retro, session_id: str) -> None:
    page = Seen(swept.says("export", session_id, "-o", "-"))
    text = " ".join(" ".join(page.words).split())
    for turn in swept.json("show", session_id)["turns"]:
        said = Redaction().text(turn["prompt"])
        assert " ".join(said.split())[:200] in text
    assert page.tags <= {
        *("html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "div", "details", "summary", "code"),
        *("pre", "span", "h3", "strong", "ol", "li", "a"),
    }
    assert page.attributes <= {"lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "value"}
    assert all(re.fullmatch(r"#turn-\d+", link or "") for link in page.links)


def _put(element: Element, text: str) -> None:
    element.text = text


@given(st.text(st.sampled_from("ab `*#\n-|<>[]()"), max_size=200))
def test_prose_keeps_every_letter_but_its_marks(text: str) -> None:
    place = Element("div")
    marked.prose(place, text, _put)
    said = "".join(place.itertext())
    if "```" not in text:
        assert re.sub(r"[\s`*#]", "", said) == re.sub(r"[\s`*#]", "", text)


def test_code_stands_as_it_was_written() -> None:
    place = Element("div")
    marked.prose(place, "# Head\nfirst `x`\n\n```go\nif **a** {\n\n}\n```\n**done**", _put)
    assert [(one.tag, "".join(one.itertext())) for one in place] == [
        ("h3", "Head"),
        ("p", "first x"),
        ("pre", "if **a** {\n\n}"),
        ("p", "done"),
    ]


def test_markup_in_a_session_is_text_in_the_page(retro: Retro, root: Path, tmp_path: Path) -> None:
    told = lines(
        prompt(HOSTILE, 1, gitBranch=HOSTILE),
        answer(HOSTILE, 2),
        call("Bash", {"command": HOSTILE}, 3),
        result(HOSTILE, 4),
        call("Edit", {"file_path": f"/x/{HOSTILE}", "old_string": HOSTILE, "new_string": "b"}, 5),
        {"type": "custom-title", "sessionId": "x", "customTitle": HOSTILE},
    )
    transcript(tmp_path / "home", told)
    sweep_up(root, tmp_path / "home")
    text = retro.says("export", "latest", "-o", "-")
    page = Seen(text)
    assert not page.tags & {"script", "img"}
    assert "\u202e" not in text
    assert "<script>alert(1)</script>" in " ".join(page.words)
    policy = re.search(r'content="(default-src[^"]*)"', text)
    assert policy is not None
    assert "script-src" not in policy[1]
    assert "unsafe" not in policy[1]


@pytest.mark.parametrize("kind", ["html", "md", "jsonl", "json"])
def test_secrets_home_folders_and_addresses_are_in_no_format(swept: Retro, kind: str) -> None:
    planted = re.findall(r"AKIA[0-9A-Z]{16}|ghp_[0-9A-Za-z]{36}", swept.says("raw", SECRETS))
    assert planted
    text = swept.says("export", SECRETS, "--format", kind, "-o", "-")
    assert not [secret for secret in planted if secret in text]
    assert "/home/demo" not in text


def test_what_was_masked_is_listed(swept: Retro, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    told = swept.json("export", SECRETS, "-f", "json", "-o", str(file))
    assert told["file"] == str(file)
    assert told["masked"]["home folder"] > 0
    assert any(name.startswith("secret (") for name in told["masked"])
    assert json.loads(file.read_text())["masked"] == told["masked"]
    done = swept("export", SECRETS, "-o", str(tmp_path / "out.html"))
    assert "masked: " in done.err


def test_lines_are_the_events(swept: Retro) -> None:
    exported = [json.loads(line) for line in swept.says("export", FIX, "-f", "jsonl", "-o", "-").splitlines()]
    events = [json.loads(line) for line in swept.says("events", FIX).splitlines()]
    assert [one["event_id"] for one in exported] == [one["event_id"] for one in events]


def test_sub_agents_are_in_it(swept: Retro) -> None:
    assert 'class="agent"' in swept.says("export", AGENTS, "-o", "-")


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("cd /home/kim/src && ls", "cd ~/src && ls"),
        ("/Users/kim/Work/x.py:3", "~/Work/x.py:3"),
        (r"C:\Users\kim\src", r"~\src"),
        ("/root/x and /rooted", "~/x and /rooted"),
        ("api/home/page", "api/home/page"),
        ("write to kim.b@mail.example.org!", "write to ‹e-mail›!"),
        ("@app.route and a@b", "@app.route and a@b"),
    ],
)
def test_what_counts_as_personal(text: str, redacted: str) -> None:
    assert Redaction().text(text) == redacted
