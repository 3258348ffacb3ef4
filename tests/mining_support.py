"""What the tests of mining and memory share: sessions told in a few words, swept and mined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import msgspec

from retro.archive.reading import session_events
from retro.event import Event
from retro.index import queries
from retro.index.database import open_reader, open_writer
from retro.mining import base, runner
from retro.mining.base import MemoryCandidate
from retro.places import Places
from support import answer, call, lines, prompt, sweep_up, transcript

Line = tuple[str, str, int]
"""A command, what it printed, and its exit code; the command "edit" edits the file that is named in its place."""


def session_id(name: str) -> str:
    """A session's id by its name."""
    return str(uuid5(NAMESPACE_URL, name))


def told(name: str, *steps: Line | str, cwd: str = "/home/dev/code", day: int = 1) -> list[Mapping[str, object]]:
    """A session: texts are a person's prompts, lines are commands with their results."""
    records: list[dict[str, object]] = []
    for step in steps:
        number = len(records) + 1
        if isinstance(step, str):
            records.append(prompt(step, number))
            continue
        command, output, code = step
        if command == "edit":
            given: dict[str, object] = {"file_path": output, "old_string": "a", "new_string": "b"}
            records.append(call("Edit", given, number))
            output, code = "The file has been updated.", 0
        else:
            records.append(call("Bash", {"command": command}, number))
        block: dict[str, object] = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": output}
        if code:
            block |= {"content": f"Exit code {code}\n{output}", "is_error": True}
        records.append(prompt("", number + 1) | {"message": {"role": "user", "content": [block]}})
    records.append(answer("Done.", len(records) + 1))
    own = {"sessionId": session_id(name), "cwd": cwd}
    return [
        record
        | own
        | {
            "uuid": str(uuid5(NAMESPACE_URL, f"{name} {at}")),
            "timestamp": f"2026-03-{day:02}T10:{at // 60 % 60:02}:{at % 60:02}.000Z",
        }
        for at, record in enumerate(records)
    ]


def kept(root: Path, home: Path, sessions: Iterable[tuple[str, list[Mapping[str, object]]]]) -> Places:
    """An archive of these sessions."""
    for name, records in sessions:
        folder = str(records[0]["cwd"]).replace("/", "-")
        transcript(home, lines(*records), session_id(name), folder)
    sweep_up(root, home)
    return Places(str(root))


def mined(places: Places, *names: str, chosen: str = "risk_aware", force: bool = False) -> runner.Report:
    """What mining makes of an archive, by all methods that start no program or by those named."""
    known = base.methods()
    methods = [known[name] for name in names] if names else [one for one in known.values() if not one.opt_in]
    connection = open_writer(places.index)
    try:
        return runner.mine(connection, places, methods, chosen, force=force)
    finally:
        connection.close()


def events_of(places: Places) -> dict[tuple[str, str, str], Event]:
    """Every event of an archive."""
    connection = open_reader(places)
    assert connection is not None
    found: dict[tuple[str, str, str], Event] = {}
    try:
        for session in queries.sessions(connection, queries.Wanted()):
            detail = queries.detail(connection, session.host, session.session_id)
            path = places.normalized(session.host, session.session_id)
            for event in session_events(path, detail.agents, detail.normalized_bytes):
                found[session.host, session.session_id, event.event_id] = event
    finally:
        connection.close()
    return found


def unfounded(places: Places, candidates: Sequence[MemoryCandidate]) -> list[object]:
    """Evidence that names no event, or quotes what does not stand there byte for byte."""
    events = events_of(places)
    wrong: list[object] = []
    for one in candidates:
        for ref in one.evidence_refs:
            event = events.get((ref.host, ref.session_id, ref.event_id))
            if event is None:
                wrong.append((one.text, ref))
                continue
            stands = [event.text or "", event.command or "", *(event.paths or ())]
            if ref.quote is not None and not any(ref.quote in part for part in stands):
                wrong.append((one.text, ref, stands))
    return wrong


def files(root: Path) -> dict[str, bytes]:
    """Every file of a folder, by its path within it."""
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def texts(report: runner.Report) -> list[str]:
    """What the candidates say."""
    return [one.text for one in report.candidates]


def encoded(report: runner.Report) -> bytes:
    """The candidates as bytes."""
    return msgspec.json.encode(report.candidates)
