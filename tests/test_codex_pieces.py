"""A Codex session in several files: however it was cut, in whatever order they come, it is the same session."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from retro.archive.reading import session_events
from retro.index.database import open_reader
from retro.places import Places
from retro.sweep import sweep
from support import settings
from test_codex import HOST_FILES, THREAD, at, completed, item, lines, meta, said, told

LONGEST: Final = 400_000

# In the way of 0.40 to 0.106: without numbers, everything said twice, and some of it meant twice.
TWICE: Final = [
    meta(),
    *(
        at(record, 400 * place + 40 * beside)
        for place, records in enumerate(
            [
                (said("user", "yes"), told("user_message", message="yes")),
                (
                    told("agent_reasoning", text="hm"),
                    item("reasoning", summary=[{"type": "summary_text", "text": "hm"}]),
                ),
                (told("agent_message", message="done"), said("assistant", "done")),
            ]
        )
        for beside, record in enumerate(records)
    ),
]
# Today's way: numbered, calls told by the model and by the host.
NUMBERED: Final = [
    meta(0),
    said("user", "run it", 1),
    completed("UserMessage", 2, content=[{"type": "text", "text": "run it"}]),
    item("function_call", 3, name="exec_command", arguments='{"cmd":"make"}', call_id="c1"),
    completed("CommandExecution", 4, id="c1", command=["bash", "-lc", "make"], aggregated_output="ok", exit_code=0),
    item("function_call_output", 5, call_id="c1", output="ok"),
    completed("AgentMessage", 6, content=[{"type": "Text", "text": "it ran"}]),
    said("assistant", "it ran", 7),
]
# A command that goes on in the background: its call has a first answer, and its end is told by the host alone.
RUNNING: Final = [
    meta(0),
    said("user", "run it", 1),
    item("function_call", 2, name="exec_command", arguments='{"cmd":"sleep 5; echo slept"}', call_id="c1"),
    item("function_call_output", 3, call_id="c1", output="Process running with session ID 7\nOutput:\n"),
    item("function_call", 4, name="write_stdin", arguments='{"session_id":7}', call_id="c2"),
    completed(
        "CommandExecution",
        5,
        id="c1",
        command=["bash", "-lc", "sleep 5; echo slept"],
        aggregated_output="slept\n",
        exit_code=0,
    ),
    item("function_call_output", 6, call_id="c2", output="Process exited with code 0\nOutput:\nslept\n"),
    said("assistant", "it slept", 7),
]
MADE: Final = {
    f"rollout-2026-11-18T19-36-03-{THREAD}.jsonl": lines(*NUMBERED),
    f"rollout-2026-11-18T19-36-05-{THREAD}.jsonl": lines(*RUNNING),
}
REAL: Final = {
    path.name: path.read_bytes()
    for path in HOST_FILES
    if path.name.startswith("rollout") and path.stat().st_size < LONGEST
}


def held(root: Path) -> dict[str, list[tuple[object, ...]]]:
    """What the archive tells of each session, in order."""
    places = Places(str(root))
    index = open_reader(places)
    assert index is not None
    try:
        query = "SELECT session_id, normalized_bytes, events, turns, commands, edits, errors FROM session"
        found: dict[str, list[tuple[object, ...]]] = {}
        for name, committed, *counts in index.execute(query):
            events = session_events(places.normalized("codex", name), {}, committed)
            told_of = [(one.event_id, one.event_type, one.actor, one.text, one.command, one.turn) for one in events]
            found[name] = [tuple(counts), *told_of]
        return found
    finally:
        index.close()


def captured(root: Path, home: Path, *arrivals: dict[str, bytes]) -> dict[str, list[tuple[object, ...]]]:
    """What is held after files came, a sweep after each arrival."""
    for files in arrivals:
        for name, data in files.items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        env = {"HOME": "/nonexistent", "CODEX_HOME": str(home)}
        report = sweep(Places(str(root)), settings(), env, hosts=("codex",))
        assert not report.failed
    return held(root)


def pieces(data: bytes, cuts: list[float], overlap: int) -> list[bytes]:
    """A file in pieces that share some lines; each begins with what says whose it is."""
    whole = data.splitlines(keepends=True)
    ends = [*sorted({max(1, int(cut * len(whole))) for cut in cuts}), len(whole)]
    begins = [0, *(max(1, end - overlap) for end in ends[:-1])]
    return [b"".join(([whole[0]] if begin else []) + whole[begin:end]) for begin, end in zip(begins, ends, strict=True)]


def check(name: str, parts: list[bytes], order: list[int], *, again: bool, together: bool) -> None:
    data = {**MADE, **REAL}[name]
    with TemporaryDirectory() as folder:
        place = Path(folder)
        whole = captured(place / "whole", place / "home", {f"sessions/2026/11/18/{name}": data})
        arrivals = [{f"sessions/2026/11/{part + 10}/{name}": parts[part]} for part in order]
        if together:
            arrivals = [{path: data for files in arrivals for path, data in files.items()}]
        if again:
            arrivals += arrivals[:1]
        assert captured(place / "cut", place / "cut home", *arrivals) == whole


@pytest.mark.parametrize("name", sorted(MADE))
def test_a_cut_at_every_line_of_a_session_in_todays_form(name: str) -> None:
    data = MADE[name]
    length = data.count(b"\n")
    for cut in range(1, length):
        parts = pieces(data, [cut / length + 0.001], 0)
        for order in permutations(range(len(parts))):
            check(name, parts, list(order), again=False, together=False)


@pytest.mark.skipif(not REAL, reason="../shared is not beside the project")
@given(st.data())
@effort(max_examples=12)
def test_any_overlapping_pieces_in_any_order_are_the_session(draw: st.DataObject) -> None:
    name = draw.draw(st.sampled_from(sorted(REAL)))
    cuts = draw.draw(st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=2))
    parts = pieces(REAL[name], cuts, draw.draw(st.integers(1, 8)))
    order = draw.draw(st.permutations(range(len(parts))))
    check(name, parts, order, again=draw.draw(st.booleans()), together=draw.draw(st.booleans()))


def test_what_was_said_twice_stays_twice(tmp_path: Path) -> None:
    """An answer that is given again is another one, on whatever channels both were told."""
    name = f"rollout-2026-11-18T19-36-03-{THREAD}.jsonl"
    first = [*TWICE]
    second = [{**record, "timestamp": f"2026-11-18T19:40:0{place}.001Z"} for place, record in enumerate(TWICE[1:])]
    whole = captured(tmp_path / "whole", tmp_path / "home", {f"sessions/2026/11/18/{name}": lines(*first, *second)})
    for cut in (len(first) - 1, len(first), len(first) + 1):
        records = [*first, *second]
        root, home = tmp_path / f"cut{cut}", tmp_path / f"home{cut}"
        arrivals = [
            {f"sessions/2026/11/19/{name}": lines(meta(), *records[cut:])},
            {f"sessions/2026/11/18/{name}": lines(*records[:cut])},
        ]
        assert [one[3] for one in captured(root, home, *arrivals)[THREAD][1:]] == [one[3] for one in whole[THREAD][1:]]
