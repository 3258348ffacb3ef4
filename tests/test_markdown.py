"""What the rendered markdown of a session looks like, and that nothing in a session can break it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.event import Actor, Event, EventType, Origin, RawRef, Session
from retro.surfaces.markdown import render, render_text

DAY: Final = "2026-02-07T"


def event(kind: EventType, actor: Actor, text: str | None = None, **fields: Any) -> Event:
    """An event of turn 1 at 14:00."""
    line, event_id = fields.pop("line", 1), fields.pop("event_id", "e")
    given: dict[str, Any] = {"timestamp": f"{DAY}14:00:00.000Z", "turn": 1, **fields}
    return Event(
        schema=1,
        event_id=event_id,
        session_id="s",
        host="claude",
        source="main",
        sequence=0,
        actor=actor,
        event_type=kind,
        summary=(text or "")[:160],
        raw_ref=RawRef("main", line, 0, 0),
        text=text,
        **given,
    )


def prompt(text: str, **fields: Any) -> Event:
    return event(EventType.MESSAGE, Actor.USER, text, **{"origin": Origin.HUMAN, **fields})


def answer(text: str, **fields: Any) -> Event:
    return event(EventType.MESSAGE, Actor.ASSISTANT, text, **fields)


def command(line: str, call: str = "c1", **fields: Any) -> Event:
    return event(EventType.COMMAND, Actor.ASSISTANT, command=line, call_id=call, tool="Bash", **fields)


def edit(text: str, change: str = "replace", **fields: Any) -> Event:
    payload = {"change": change}
    return event(
        EventType.FILE_EDIT, Actor.ASSISTANT, text, paths=["/w/src/app.py"], call_id="c1", payload=payload, **fields
    )


def result(text: str, call: str = "c1", **fields: Any) -> Event:
    return event(EventType.TOOL_RESULT, Actor.TOOL, text, call_id=call, **fields)


def tool(name: str, arguments: str) -> Event:
    return event(EventType.TOOL_CALL, Actor.ASSISTANT, arguments, tool=name, call_id="c1")


def session(**fields: Any) -> Session:
    return Session(**{"host": "claude", "session_id": "s-1", "title": "A session", "cwd": "/w", **fields})


def body(*events: Event) -> str:
    """The document of a session, from its first turn on."""
    text = "".join(render(session(), events))
    return text[text.index("\n## ") + 1 :]


def lines_of(*events: Event) -> list[str]:
    return body(prompt("go"), *events).split("\n")


# The head.


def test_the_head_says_what_it_was() -> None:
    held = session(
        title="Fix *the* <b>scheduler</b>",
        project="cli",
        branch="main",
        started=f"{DAY}14:00:00.000Z",
        ended=f"{DAY}15:35:00.000Z",
        models=["claude-opus-4-5"],
        turns=3,
        edits=12,
        commands=1,
        parent="s-0",
    )
    assert "".join(render(held, [], accounting_line="every byte accounted for")) == (
        "# Fix \\*the\\* &lt;b>scheduler&lt;/b>\n"
        "\n"
        "- **claude** · cli · branch `main` · `claude-opus-4-5`\n"
        "- 2026-02-07 14:00–15:35 UTC (1 h 35 min)\n"
        "- 3 turns · 12 file edits · 1 command\n"
        "- session `s-1`, continues `s-0`\n"
        "- accounting: every byte accounted for\n"
        "\n"
        "*Nothing was said in this session.*\n"
    )


def test_a_session_without_anything_looks_intentional() -> None:
    text = "".join(render(Session(host="claude", session_id="s"), []))
    assert (
        text
        == "# (untitled session)\n\n- **claude**\n- 0 turns\n- session `s`\n\n*Nothing was said in this session.*\n"
    )


# Turns.


def test_a_turn_has_heading_time_prompt_and_answer() -> None:
    assert body(prompt("Fix it\n\nand *test* it"), answer("Done:\n\n1. fixed\n2. tested")) == (
        "## 1 · Fix it and \\*test\\* it\n\n*2026-02-07 · 14:00 UTC*\n\n> Fix it\n>\n> and *test* it\n\n"
        "Done:\n\n1. fixed\n2. tested\n"
    )


def test_line_breaks_that_a_person_typed_are_kept() -> None:
    assert "> one  \n> two\n" in body(prompt("one\ntwo"))


def test_a_slash_command_is_shown_as_typed() -> None:
    text = body(prompt("/review src/app.py", payload={"slash_command": "/review"}))
    assert "## 1 · /review src/app.py\n" in text
    assert "> `/review`  \n> src/app.py\n" in text


def test_shell_mode_shows_the_command_and_its_output() -> None:
    typed = event(EventType.COMMAND, Actor.USER, command="git status", call_id="u", origin=Origin.HUMAN)
    text = body(typed, result("clean\ntree", "u"))
    assert text.startswith("## 1 · !git status\n")
    assert text.endswith("> `!git status`\n\n- ▸ output → 2 lines\n  ```\n  clean\n  tree\n  ```\n")


def test_images_are_named() -> None:
    images = [{"media_type": "image/png", "bytes": 3277}]
    assert body(prompt("look", payload={"images": images})).endswith("> look\n>\n> `[image image/png, 3.2 KB]`\n")
    assert "## 1 · (image)" in body(prompt("", payload={"images": images}))


def test_a_truncated_text_says_where_the_rest_is() -> None:
    assert "\n*(cut at 256 KiB; line 812 of main)*\n" in body(prompt("go"), answer("long", truncated=True, line=812))


def test_time_shows_once_a_turn_and_where_the_day_changes_or_a_long_gap_lies() -> None:
    text = body(
        prompt("a"),
        answer("b", timestamp=f"{DAY}14:20:00.000Z"),
        answer("c", timestamp=f"{DAY}15:05:00.000Z"),
        prompt("d", turn=2, timestamp=f"{DAY}15:10:00.000Z"),
        prompt("e", turn=3, timestamp="2026-02-08T09:10:00.000Z"),
    )
    assert re.findall(r"(?m)^\*.*\*$", text) == [
        "*2026-02-07 · 14:00 UTC*",
        "*15:05 UTC · 45 min later*",
        "*15:10 UTC*",
        "*2026-02-08 · 09:10 UTC · 18 h later*",
    ]


def test_what_stands_before_the_first_prompt_has_a_section_only_if_worth_it() -> None:
    start = event(EventType.SESSION_START, Actor.SYSTEM, "startup", turn=None)
    hook = event(EventType.MESSAGE, Actor.HOOK, "Use uv", origin=Origin.INJECTED, turn=None, payload={"kind": "hook"})
    assert body(start, prompt("go")).startswith("## 1 ·")
    text = body(start, hook, prompt("go"))
    assert text.startswith("## Before the first prompt\n")
    assert "- ◇ session started: startup\n- ◇ injected by hook: Use uv\n\n## 1 · go\n" in text


# Answers that would break the document.


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("```py\nopen", "```py\nopen\n```"),
        ("~~~\n```\n~~~", "````\n```\n````"),
        ("1. a\n   ```sh\n   ls\n   ```\n2. b", "1. a\n```sh\nls\n```\n2. b"),
        ("> ```\n> q\nout", "> ```\n> q\n> ```\nout"),
        ("# One\n## Two\n#### Four", "#### One\n##### Two\n###### Four"),
        ("Title\n===\nOther\n---", "Title\n\\===\nOther\n***"),
        ("- a\n- b", "* a\n* b"),
        ("<script>x</script> & `<b>` a < b", "&lt;script>x&lt;/script> & `<b>` a < b"),
        ("<details>\n<!-- x", "&lt;details>\n&lt;!-- x"),
        ("<https://a.org> <me@a.org>", "<https://a.org> <me@a.org>"),
        ("lone ` and `<b>\n`", "lone ` and `&lt;b>\n\\`"),
        ("[x](javascript:alert(1))", "[x]\\(javascript:alert(1))"),
        ("[x](java&#115;cript:a)", "[x]\\(java&#115;cript:a)"),
        ("[x]: javascript:a", "[x]\\: javascript:a"),
        ("[x]:\njavascript:a", "[x]\\:\njavascript:a"),
        ("[x](https://a.org/b?c=1) [y](src/a.py:12)", "[x](https://a.org/b?c=1) [y](src/a.py:12)"),
        ("![x](https://a.org/b.png)", "!\\[x](https://a.org/b.png)"),
        ("| a |\n|---|\n| `x | <b>` |", "| a |\n|---|\n| \\`x | &lt;b>\\` |"),
        ("[f](x`)<b>`)", "[f]\\(x`)<b>`)"),
        ("text:\n\n    # indented <code>\n", "text:\n\n    # indented <code>"),
        ("\n   \n    margin", "margin"),
    ],
)
def test_prose_stays_as_it_is_but_for_what_would_break_the_document(said: str, shown: str) -> None:
    text = body(prompt("go"), answer(said))
    assert text[text.index("> go\n") :] == f"> go\n\n{shown}\n"


def test_an_open_fence_in_a_prompt_does_not_swallow_the_answer() -> None:
    assert body(prompt("```\nlog"), answer("ok")).endswith("> ```\n> log\n> ```\n\nok\n")


def test_reasoning_is_folded() -> None:
    thought = event(EventType.REASONING, Actor.ASSISTANT, "# First\nsecond\n\nthird\nfourth\nfifth")
    assert body(prompt("go"), thought).endswith("\n> ✻ First  \n> second  \n> third  \n> … 2 more lines\n")


# Tools.


@pytest.mark.parametrize(
    ("call", "outcome", "shown"),
    [
        (command("pytest -q"), result("a\nb\n", exit_code=0), "- ▸ `$ pytest -q` → 2 lines"),
        (command("true"), result(""), "- ▸ `$ true` → no output"),
        (command("cat <<E\na\nE"), result("a"), "- ▸ `$ cat <<E` … 2 more lines → 1 line"),
        (command("echo `date`"), result("a"), "- ▸ `` $ echo `date` `` → 1 line"),
        (command("make"), result("a", duration_ms=125_000), "- ▸ `$ make` → 1 line, 2 min 5 s"),
        (
            command("serve"),
            result("", payload={"background": True}),
            "- ▸ `$ serve` → runs on in the background",
        ),
        (
            event(EventType.FILE_READ, Actor.ASSISTANT, paths=["/w/src/app.py", "/etc/x"], call_id="c1"),
            result("…"),
            "- ▸ read `src/app.py`, `/etc/x`",
        ),
        (edit("a\nb\n", "write"), result("ok"), "- ▸ wrote `src/app.py` (2 lines)"),
        (edit("", "delete"), result("ok"), "- ▸ deleted `src/app.py`"),
        (
            event(EventType.WEB_SEARCH, Actor.ASSISTANT, "zstd frames", call_id="c1"),
            result("a\nb"),
            "- ▸ searched the web for `zstd frames` → 2 lines",
        ),
        (
            event(EventType.WEB_SEARCH, Actor.ASSISTANT, "https://a.org", call_id="c1"),
            result("a"),
            "- ▸ fetched `https://a.org` → 1 line",
        ),
        (
            tool("Grep", '{"pattern": "def main", "path": "/w/src"}'),
            result("a"),
            "- ▸ Grep `def main` in `src` → 1 line",
        ),
        (
            tool("mcp__linear__get_issue", '{"id": "ENT-95", "deep": true, "tags": ["a"]}'),
            result("a"),
            "- ▸ linear: get\\_issue `id=ENT-95 deep=true tags=[1]` → 1 line".replace("\\", ""),
        ),
    ],
)
def test_a_tool_is_folded_to_a_line(call: Event, outcome: Event, shown: str) -> None:
    assert lines_of(call, outcome)[-2:] == [shown, ""]


def test_an_edit_shows_its_diff() -> None:
    assert body(prompt("go"), edit("-a\n+b\n+c"), result("ok")).endswith(
        "- ▸ edited `src/app.py` (+2 −1)\n  ```diff\n  -a\n  +b\n  +c\n  ```\n"
    )


def test_a_long_diff_is_bounded_and_its_fence_longer_than_what_it_holds() -> None:
    lines = lines_of(edit("\n".join(["+````", *(f"+{n}" for n in range(99))])), result("ok"))
    start = lines.index("  `````diff")
    assert lines[start + 61 : start + 63] == ["  `````", "  *… 40 more lines*"]


def test_a_failed_command_shows_the_ends_of_its_output() -> None:
    output = "\n".join(str(n) for n in range(20))
    lines = lines_of(command("make"), result(output, exit_code=2, is_error=True))
    start = lines.index("- ▸ `$ make` → exit 2, 20 lines")
    ends = [*(f"  {n}" for n in range(4)), "  … 8 more lines …", *(f"  {n}" for n in range(12, 20))]
    assert lines[start + 1 :] == ["  ```", *ends, "  ```", ""]


def test_a_failed_edit_shows_the_error_and_a_refused_one_the_diff_and_what_the_person_said() -> None:
    failed = body(prompt("go"), edit("-a\n+b"), result("not found", is_error=True))
    assert failed.endswith("- ▸ edited `src/app.py` (+1 −1) → failed\n  ```\n  not found\n  ```\n")
    refusal = result("Refused by the user:\nuse c", is_error=True, payload={"rejected": True})
    assert body(prompt("go"), edit("-a\n+b"), refusal).endswith(
        " → rejected by the person\n  ```diff\n  -a\n  +b\n  ```\n  ```\n  use c\n  ```\n"
    )


def test_results_of_parallel_calls_find_their_line() -> None:
    lines = lines_of(command("one", "a"), command("two", "b"), result("1\n2", "b"), result("1", "a"))
    assert lines[-3:] == ["- ▸ `$ one` → 1 line", "- ▸ `$ two` → 2 lines", ""]


def test_an_interrupted_call_an_unanswered_one_and_a_result_without_call_say_so() -> None:
    stop = prompt("[Request interrupted]", payload={"interrupt": True})
    assert lines_of(command("a"), stop)[-3:] == ["- ▸ `$ a` → interrupted", "- ■ interrupted by the person", ""]
    assert lines_of(command("a"))[-2] == "- ▸ `$ a` → no result"
    assert lines_of(result("x", is_error=True, tool="Bash"))[-5:] == [
        "- ▸ result of `Bash`, its call is not in this turn → failed",
        "  ```",
        "  x",
        "  ```",
        "",
    ]


# Sub-agents.


def start(agent: str, task: str, call: str, **fields: Any) -> Event:
    payload = {"agent_id": agent, "agent_type": "Explore", "description": f"Ask {agent}"}
    return event(EventType.SUBAGENT_START, Actor.ASSISTANT, task, call_id=call, payload=payload, **fields)


def test_sub_agents_are_indented_below_their_call() -> None:
    text = body(
        prompt("go"),
        start("A", "Find it", "c1"),
        event(EventType.MESSAGE, Actor.USER, "Find it", origin=Origin.AGENT, agent_id="A"),
        command("ls", "a1", agent_id="A"),
        result("x", "a1", agent_id="A"),
        start("B", "Deeper", "a2", agent_id="A"),
        event(EventType.MESSAGE, Actor.SUBAGENT, "Found:\n\n- b", agent_id="B"),
        event(EventType.MESSAGE, Actor.SUBAGENT, "All found", agent_id="A"),
        event(EventType.SUBAGENT_END, Actor.SUBAGENT, "All found", agent_id="A"),
        result("Found", "a2", agent_id="A"),
        result("All found", "c1"),
        command("true", "c2"),
        result("", "c2"),
    )
    assert text[text.index("- ▸") :] == (
        "- ▸ sub-agent `Explore`: Ask A\n\n  > Find it\n\n  - ▸ `$ ls` → 1 line\n"
        "  - ▸ sub-agent `Explore`: Ask B\n\n    > Deeper\n\n    Found:\n\n    * b\n\n"
        "  All found\n\n- ▸ `$ true` → no output\n"
    )


def test_a_sub_agent_without_records_answers_by_its_result() -> None:
    text = body(prompt("go"), start("A", "Find it", "c1"), result("It is **here**", "c1"))
    assert text.endswith("\n\n  > Find it\n\n  It is **here**\n")


def test_a_sub_agent_whose_call_is_unknown_has_a_line_of_its_own() -> None:
    text = body(prompt("go"), answer("ok"), answer("from afar", agent_id="Z", turn=None))
    assert text.endswith("ok\n\n- ▸ sub-agent `Z`\n\n  from afar\n")


# Beside the conversation.


def test_compaction_is_marked_and_folded() -> None:
    payload = {"trigger": "auto", "pre_tokens": 155000, "post_tokens": 12000}
    text = body(prompt("go"), event(EventType.COMPACTION, Actor.SYSTEM, "a\nb\nc\nd\ne", payload=payload))
    assert text.endswith(
        "\n\n---\n\n**Context compacted** (auto, 155,000 → 12,000 tokens)\n\n> a  \n> b  \n> c  \n> … 2 more lines\n"
    )


@pytest.mark.parametrize(
    ("held", "shown"),
    [
        (
            event(EventType.ERROR, Actor.SYSTEM, "Overloaded", payload={"kind": "api", "status": 529, "attempt": 3}),
            "- ✗ **api** (status 529, attempt 3): Overloaded",
        ),
        (
            event(EventType.ATTACHMENT, Actor.USER, "", payload={"kind": "file"}, paths=["a.py"]),
            "- ◇ attached file `a.py`",
        ),
        (
            event(EventType.MESSAGE, Actor.USER, "<reminder> x", origin=Origin.MACHINE),
            "- ◇ from the host: `<reminder> x`",
        ),
        (
            event(EventType.PERMISSION, Actor.USER, "Bash(ls)", payload={"kind": "allowed"}),
            "- ◇ permission (allowed): Bash(ls)",
        ),
        (
            event(EventType.UNKNOWN, Actor.SYSTEM, "{}", payload={"kind": "new-thing"}, line=7),
            "- ◇ unknown record `new-thing` (line 7 of main)",
        ),
    ],
)
def test_what_stands_beside_the_conversation_takes_one_line(held: Event, shown: str) -> None:
    assert lines_of(held)[-2:] == [shown, ""]


def test_a_queued_prompt_is_shown_in_full() -> None:
    queued = event(EventType.ATTACHMENT, Actor.USER, "also\nthis", origin=Origin.HUMAN)
    assert body(prompt("go"), queued).endswith("> also  \n> this\n")


def test_an_event_as_one_line_of_text() -> None:
    assert render_text(prompt("fix\nit")) == "message        user: fix it"


def test_only_one_turn_is_held() -> None:
    taken: list[int] = []

    def events() -> Iterator[Event]:
        for turn in range(1, 50):
            taken.append(turn)
            yield prompt(f"turn {turn}", turn=turn)

    chunks = render(session(), events())
    next(chunk for chunk in chunks if chunk.startswith("\n## 10"))
    assert taken[-1] == 11


# Whatever a session holds.

# fmt: off
FRAGMENTS: Final = st.sampled_from([
    "`", "``", "```", "````", "~~~", "```py", "#", "##", "-", "*", "1.", ">", "|", "|---|---|", "===", "---", "***",
    "<script>", "</b>", "<!--", "<details>", "[", "]", "](", "]:", "![", "[a]:", "[^1]:", "(", ")", "\\", "$$", "&",
    "_", "javascript:x", "https://a.org", "<https://a.org>", "&lt;", "a", "b",
    "\x1b[31m", "\x07", "\u202e", "\u200b", "\x85", "\u2028", "\x00", "😀",
])
# fmt: on
BLANKS: Final = st.sampled_from(["\n", "\n\n", " ", "    ", "\t", "\r", "\r\n", "", "", ""])
HOSTILE: Final = st.one_of(
    st.lists(st.one_of(FRAGMENTS, BLANKS), max_size=14).map("".join),
    st.text(max_size=60),
)
PAYLOADS: Final = st.dictionaries(
    st.sampled_from(["slash_command", "description", "agent_type", "agent_id", "change", "kind", "trigger"]), HOSTILE
)
FLAGS: Final = st.dictionaries(st.sampled_from(["interrupt", "rejected", "background"]), st.booleans(), max_size=1)


@st.composite
def hostile_events(draw: Callable[..., Any]) -> Event:
    short = st.one_of(st.none(), HOSTILE)
    some_id = st.one_of(st.none(), st.sampled_from(["a", "b", "c"]), HOSTILE)
    held = event(
        draw(st.sampled_from(list(EventType))),
        draw(st.sampled_from(list(Actor))),
        draw(short),
        timestamp=draw(st.sampled_from([None, "nonsense", f"{DAY}14:00:00.000Z", "2026-02-09T01:00:00.000Z"])),
        origin=draw(st.sampled_from([None, *Origin])),
        turn=draw(st.sampled_from([None, 1, 2, 3])),
        call_id=draw(some_id),
        agent_id=draw(some_id),
        tool=draw(short),
        command=draw(short),
        paths=draw(st.one_of(st.none(), st.lists(HOSTILE, max_size=4))),
        exit_code=draw(st.sampled_from([None, 0, 1])),
        is_error=draw(st.sampled_from([None, True])),
        payload={**draw(PAYLOADS), **draw(FLAGS), "images": [{"media_type": draw(HOSTILE), "bytes": 9}]},
        truncated=draw(st.booleans()),
    )
    held.summary = draw(HOSTILE)
    return held


def outside_fences(text: str) -> list[str]:
    """The lines that stand outside fences, without the quotes and list markers before them; fails on an open fence."""
    outside: list[str] = []
    fence = ""
    for line in text.split("\n"):
        content = re.sub(r"^(?:[ \t]*(?:>|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t])|\[\^[^\]\s]+\]:))*[ \t]*", "", line)
        run = re.match(r"`{3,}|~{3,}", content)
        if fence:
            if run and run.group() == content.strip() and content[0] == fence[0] and len(run.group()) >= len(fence):
                fence = ""
        elif run and "`" not in content[run.end() :]:
            fence = run.group()
        else:
            outside.append(line)
    assert fence == ""
    return outside


@settings(max_examples=150, deadline=None)
@given(st.lists(hostile_events(), max_size=10), HOSTILE, HOSTILE)
def test_nothing_in_a_session_breaks_the_document(events: list[Event], title: str, name: str) -> None:
    held = session(title=title, project=name, branch=name, parent=name, models=[name], session_id=name, host=name)
    text = "".join(render(held, events, accounting_line=name))
    lines = outside_fences(text)
    turns = [line for line in lines if re.match(r" {0,3}##? ", line)]
    assert turns[0].startswith("# ")
    assert all(re.match(r"## (?:\d+ · .|Before the first prompt$)", line) for line in turns[1:])
    numbers = [int(match.group()) for line in turns if (match := re.search(r"(?<=^## )\d+", line))]
    assert numbers == sorted(set(numbers))
    assert {event.turn for event in events if event.turn} >= set(numbers)
    nested = re.compile(r"(?: {0,3}(?:>|[-*+](?=[ \t])|\d+[.)](?=[ \t])))+ {0,3}#{1,3}(?:[ \t]|$)")
    assert not [line for line in lines if nested.match(line)]
    assert not [c for c in text if c not in "\n\t" and unicodedata.category(c) in ("Cc", "Zl", "Zp")]
    assert not any(c in text for c in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    assert "".join(render(held, events, accounting_line=name)) == text


@settings(max_examples=150, deadline=None)
@given(st.lists(hostile_events(), max_size=8))
def test_a_real_reader_sees_no_html_no_image_and_only_our_headings(events: list[Event]) -> None:
    reader = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable(["table"])
    text = "".join(render(session(), events))
    tokens = reader.parse(text)
    inline = [child for token in tokens for child in token.children or []]
    assert not {token.type for token in [*tokens, *inline]} & {"html_block", "html_inline", "image"}
    headings = [token for token in tokens if token.type == "heading_open" and token.tag in ("h1", "h2", "h3")]
    assert all(token.level == 0 for token in headings)
    assert len(headings) == len([line for line in outside_fences(text) if re.match("##? ", line)])
    links = [str(child.attrs["href"]) for child in inline if child.type == "link_open"]
    assert all(re.match(r"https?://|mailto:|[^:]*$|[^:]*[/?#]", link) for link in links)


# --- asides and shell mode -------------------------------------------------------------------------------------------


def hook(text: str, **fields: Any) -> Event:
    payload = {"kind": "hook_success"}
    return event(EventType.ATTACHMENT, Actor.HOOK, text, origin=Origin.INJECTED, payload=payload, **fields)


def test_an_aside_that_says_the_same_again_in_a_turn_is_shown_once() -> None:
    shown = lines_of(hook("be careful"), command("ls"), hook("be careful"), hook("be quick"), hook("be careful"))
    assert [line for line in shown if line.startswith("- ◇")] == [
        "- ◇ a hook said: be careful",
        "- ◇ a hook said: be quick",
    ]
    again = body(prompt("go"), hook("be careful"), prompt("on", turn=2), hook("be careful", turn=2))
    assert again.count("be careful") == 2


def test_a_text_of_the_host_without_words_is_not_shown() -> None:
    assert "◇" not in body(prompt("go"), event(EventType.MESSAGE, Actor.USER, "", origin=Origin.MACHINE))


def test_output_in_shell_mode_belongs_to_the_command_before_it() -> None:
    typed = event(EventType.COMMAND, Actor.USER, command="echo hi", origin=Origin.HUMAN, event_id="e1")
    output = event(EventType.TOOL_RESULT, Actor.TOOL, "hi", origin=Origin.MACHINE, event_id="e2")
    shown = body(prompt("go"), typed, output)
    assert "> `!echo hi`\n\n- ▸ output → 1 line\n  ```\n  hi\n  ```\n" in shown
    assert "its call is not in this turn" not in shown


def test_the_summary_behind_a_compaction_is_a_folded_quotation() -> None:
    summary = event(
        EventType.MESSAGE, Actor.USER, "one\ntwo\nthree\nfour\nfive", origin=Origin.MACHINE,
        payload={"kind": "compact_summary"},
    )  # fmt: skip
    shown = body(prompt("go"), event(EventType.COMPACTION, Actor.SYSTEM), summary)
    assert "> one  \n> two  \n> three  \n> … 2 more lines\n" in shown
    assert "from the host" not in shown
