"""What every host's module has to hold, over the samples: a module is tested by being listed, a sample by lying there.

`samples/<host>/` is a home folder of a person who uses the host, `samples/<host>.json` what is to be told of it.
A file `*.sql` in a home is a database, written as what makes it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import apsw
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as effort
from hypothesis import strategies as st

from agent_support import read
from retro import agents
from retro.agents import databases
from retro.agents.interface import LINES, TRANSCRIPT, AgentModule, Root, Source, Unreadable
from retro.config import Settings
from retro.event import Actor, EventType, Origin
from retro.finding import discover
from retro.places import Places
from retro.sweep import Report, capture_found, sweep
from retro.trial import read as trial_of
from retro.trial import transcripts
from support import Content, content, counts, differences, failures, tree

SAMPLES: Final = Path(__file__).resolve().parent / "samples"
PAGES: Final = Path(__file__).resolve().parents[1] / "docs" / "agents"
HOSTS: Final = tuple(agents.MODULES)
CALLS: Final = {
    *(EventType.COMMAND, EventType.FILE_READ, EventType.FILE_EDIT, EventType.WEB_SEARCH),
    *(EventType.TOOL_CALL, EventType.SUBAGENT_START),
}
OURS: Final = {"sidecar", "layout", "line_ends", "bom", "journal"}
"""Kinds of bytes that retro names itself."""

Event = dict[str, Any]
every_host: Final = pytest.mark.parametrize("host", HOSTS)


class Kept(NamedTuple):
    """A sample, and an archive of it."""

    home: Path
    root: Path
    content: Content
    report: Report


def make_home(host: str, home: Path) -> Path:
    """A host's sample as a home folder of its own."""
    shutil.copytree(SAMPLES / host, home, dirs_exist_ok=True)
    for script in home.rglob("*.sql"):
        connection = apsw.Connection(str(script.with_suffix("")))
        connection.execute(script.read_text("utf-8"))
        connection.close()
        script.unlink()
    return home


def swept(root: Path, home: Path, *hosts: str, sources: dict[str, list[str]] | None = None) -> Report:
    """Sweep a home, and further folders of hosts, into an archive."""
    chosen: dict[tuple[str, ...], object] = {("sweep", "workers"): 1}
    chosen |= {("hosts", host, "sources"): tuple(paths) for host, paths in (sources or {}).items()}
    return sweep(Places(str(root)), Settings("", chosen), {"HOME": str(home)}, hosts=hosts or HOSTS)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Kept]:
    """Every host's sample, swept once."""
    made: dict[str, Kept] = {}

    def of(host: str) -> Kept:
        if host not in made:
            folder = tmp_path_factory.mktemp(host)
            home, root = make_home(host, folder / "home"), folder / "archive"
            report = swept(root, home, host)
            made[host] = Kept(home, root, content(root), report)
        return made[host]

    return of


def roots(agent: AgentModule, home: Path) -> list[Root]:
    """The roots below a home."""
    return agent.roots({"HOME": str(home)}, ())


def sources(agent: AgentModule, home: Path) -> list[Source]:
    """What is discovered below a home."""
    return [source for root in roots(agent, home) for source in agent.discover(root, {})]


def file_of(source: Source) -> Path:
    """The file in which a source lies, or the folder with its files."""
    places = (source.path, source.store, source.copy)
    return next(Path(place) for place in places if place and os.path.exists(place))


def of_session(found: Content, session: str) -> list[Event]:
    """A session's events in reading order."""
    return list(found.events.get(session, ()))


def events_of(found: Content) -> Iterator[Event]:
    """All events, each once."""
    for session in found.events:
        yield from of_session(found, session)


def identities(found: Content) -> dict[str, list[tuple[str, str | None]]]:
    """The events of each session by name, in reading order, and whose they are."""
    return {
        name: [(str(event["event_id"]), event.get("agent_id")) for event in of_session(found, name)]
        for name in found.events
    }


def tokens(root: Path) -> list[int]:
    """What the ledger counts: fresh, read from a cache, written to one, put out."""
    names = ("input_tokens", "cache_read_tokens", "cache_write_5m_tokens + cache_write_1h_tokens", "output_tokens")
    query = f"SELECT {', '.join(f'coalesce(sum({name}), 0)' for name in names)} FROM spent"
    connection = apsw.Connection(Places(str(root)).index, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return [int(number) for number in next(iter(connection.execute(query)))]
    finally:
        connection.close()


def told(kept: Kept) -> dict[str, Any]:
    """What the sessions of a sample tell."""
    return {session: _told(kept.content, session) for session in sorted(kept.content.sessions)} | {
        "tokens": tokens(kept.root)
    }


def _told(found: Content, session: str) -> dict[str, Any]:
    row, events = found.sessions[session], of_session(found, session)

    def texts(chosen: Callable[[Event], bool]) -> list[str]:
        return [event.get("text") or event["summary"] for event in events if chosen(event)]

    def kind(event: Event, kind: EventType, actor: Actor | None = None) -> bool:
        return event["event_type"] == kind.value and (actor is None or event["actor"] == actor.value)

    return {
        "title": row["title"],
        "cwd": row["cwd"],
        "parent": row["parent"],
        "prompts": [turn["prompt"] for (name, _), turn in found.turns.items() if name == session],
        "injected": texts(lambda event: event.get("origin") in (Origin.INJECTED.value, Origin.MACHINE.value)),
        "thoughts": texts(lambda event: kind(event, EventType.REASONING)),
        "answers": texts(lambda event: kind(event, EventType.MESSAGE, Actor.ASSISTANT)),
        "commands": [event["command"] for event in events if kind(event, EventType.COMMAND)],
        "edits": [path for event in events if kind(event, EventType.FILE_EDIT) for path in event.get("paths", ())],
        "calls": sum(event["event_type"] in {kind.value for kind in CALLS} for event in events),
        "results": sum(kind(event, EventType.TOOL_RESULT) for event in events),
        "errors": row["errors"],
        "agents": sorted({event["agent_id"] for event in events if "agent_id" in event}),
        "timed": sum(event["timestamp"] is not None for event in events),
        "events": len(events),
    }


# --- what is told ----------------------------------------------------------------------------------------------------


@every_host
def test_a_module_names_itself_and_its_bookkeeping_and_has_a_page(host: str) -> None:
    agent = agents.named(host)
    assert (agent.HOST, agent.NORMALISER > 0, agent.META_NAME.endswith(".json")) == (host, True, True)
    for types in (agent.BOOKKEEPING_TYPES, agent.UNCOUNTED):
        assert all(kind and reason.strip() for kind, reason in types.items())
    assert (PAGES / f"{host}.md").exists()


@every_host
def test_a_sample_tells_what_was_said_and_done(host: str, kept: Callable[[str], Kept]) -> None:
    assert failures(kept(host).report) == []
    assert told(kept(host)) == json.loads((SAMPLES / f"{host}.json").read_text("utf-8"))


@every_host
def test_every_byte_is_accounted_for_and_no_type_is_unnamed(host: str, kept: Callable[[str], Kept]) -> None:
    agent, found = agents.named(host), kept(host).content
    named = {*agent.BOOKKEEPING_TYPES, *agent.UNCOUNTED, *OURS}
    assert [source for source in found.sources.values() if source["kind"] == TRANSCRIPT] != []
    for key, source in found.sources.items():
        account: dict[str, Any] = source["accounting"]  # type: ignore[assignment]
        assert (account["unknown"], account["malformed"]) == ({}, {}), key
        assert set(account["bookkeeping"]) <= named, key


@every_host
def test_a_trial_counts_what_a_sweep_counts(host: str, kept: Callable[[str], Kept]) -> None:
    found, turns = kept(host), Counter[str]()
    for source in transcripts(sources(agents.named(host), found.home)):
        trial, captured = trial_of(source), found.content.sources[source.session_id, source.key, 0]
        account: dict[str, Any] = captured["accounting"]  # type: ignore[assignment]
        assert (trial.problem, trial.bytes.exact) == (None, True), trial
        assert trial.types == {name: account[name] for name in trial.types}
        turns[source.session_id] += trial.turns
    databases.release()
    assert turns == {name: row["turns"] for name, row in found.content.sessions.items()}


# --- order, identity, growth -----------------------------------------------------------------------------------------


@every_host
def test_sequences_are_dense_and_identities_unique(host: str, kept: Callable[[str], Kept]) -> None:
    by_source: dict[tuple[str, str], list[int]] = {}
    for (session, source, _), event in kept(host).content.written.items():
        by_source.setdefault((session, source), []).append(event["sequence"])  # type: ignore[arg-type]
    assert {key: sorted(places) for key, places in by_source.items()} == {
        key: list(range(len(places))) for key, places in by_source.items()
    }
    for session, events in kept(host).content.events.items():
        assert [name for name, many in Counter(event["event_id"] for event in events).items() if many > 1] == [], (
            session
        )


@every_host
def test_a_copy_of_the_folder_gives_the_same_events(host: str, kept: Callable[[str], Kept], tmp_path: Path) -> None:
    shutil.copytree(kept(host).home, tmp_path / "elsewhere")
    assert failures(swept(tmp_path / "archive", tmp_path / "elsewhere", host)) == []
    again = content(tmp_path / "archive")
    assert (again.events, again.turns) == (kept(host).content.events, kept(host).content.turns)


@every_host
def test_a_copy_beside_the_folder_adds_nothing(host: str, kept: Callable[[str], Kept], tmp_path: Path) -> None:
    home, copy = kept(host).home, tmp_path / "copy"
    shutil.copytree(home, copy)
    more = [root.path for root in roots(agents.named(host), copy)]
    assert more
    assert failures(swept(tmp_path / "archive", home, host, sources={host: more})) == []
    both = content(tmp_path / "archive")
    assert identities(both) == identities(kept(host).content)
    assert both.turns.keys() == kept(host).content.turns.keys()
    assert tokens(tmp_path / "archive") == tokens(kept(host).root)


@every_host
def test_reading_again_gives_the_same_events(host: str, kept: Callable[[str], Kept], tmp_path: Path) -> None:
    home = make_home(host, tmp_path / "home")
    settings, env = Settings("", {("sweep", "workers"): 1}), {"HOME": str(home)}
    swept(tmp_path / "archive", home, host)
    assert counts(swept(tmp_path / "archive", home, host))["skipped_unchanged"] == len(kept(host).content.sessions)
    before = tokens(tmp_path / "archive")
    report = capture_found(
        Places(str(tmp_path / "archive")), settings, lambda known: discover(settings, env, [host], known), force=True
    )
    assert failures(report) == []
    again = content(tmp_path / "archive")
    assert identities(again) == identities(kept(host).content)
    assert tokens(tmp_path / "archive") == before


@every_host
@given(cuts=st.lists(st.floats(0, 1), min_size=1, max_size=3))
@effort(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_it_had_written_when_it_was_swept_the_events_are_the_same(
    host: str, kept: Callable[[str], Kept], cuts: list[float]
) -> None:
    whole = kept(host)
    with TemporaryDirectory() as folder:
        home, root = Path(folder) / "home", Path(folder) / "archive"
        shutil.copytree(whole.home, home)
        files = {path: path.read_bytes() for path in _growing(agents.named(host), home)}
        for cut in sorted(cuts):
            for path, data in files.items():
                path.write_bytes(data[: round(len(data) * cut)])
            swept(root, home, host)
        for path, data in files.items():
            path.write_bytes(data)
        assert failures(swept(root, home, host)) == []
        grown = content(root)
    if all(source["form"] == LINES for source in whole.content.sources.values()):
        paths = {"path", "inode", "device", "mtime_ns"}
        sources = [
            {key: {name: row[name] for name in row.keys() - paths} for key, row in found.sources.items()}
            for found in (grown, whole.content)
        ]
        left, right = (
            found._replace(sources=rows) for found, rows in zip((grown, whole.content), sources, strict=True)
        )
        assert differences(left, right) == []
    else:
        assert _without_places(grown) == _without_places(whole.content)


def _growing(agent: AgentModule, home: Path) -> list[Path]:
    """The files with records, but not databases, of which a part is none."""
    found = {file_of(one) for one in sources(agent, home) if one.kind == TRANSCRIPT and one.store is None}
    databases.release()
    return sorted(path for path in found if home in path.parents and path.is_file())


def _without_places(found: Content) -> dict[str, list[Event]]:
    left_out = ("raw_ref", "sequence")
    return {
        name: sorted(
            ({field: value for field, value in event.items() if field not in left_out} for event in events),
            key=lambda event: str(event["event_id"]),
        )
        for name, events in found.events.items()
    }


@every_host
@given(data=st.data())
@effort(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_lines_cut_at_any_byte_give_what_the_whole_gives(
    host: str, kept: Callable[[str], Kept], data: st.DataObject
) -> None:
    agent = agents.named(host)
    lines = [one for one in sources(agent, kept(host).home) if one.kind == TRANSCRIPT and one.form == LINES]
    databases.release()
    for source in lines:
        if source.content is not None:
            continue
        written = Path(source.path).read_bytes()
        cuts = sorted(data.draw(st.lists(st.integers(0, len(written)), min_size=1, max_size=4)))
        whole = read(agent, written, source.session_id, key=source.key)
        parts = read(agent, written, source.session_id, key=source.key, cuts=cuts)
        assert (parts.events, parts.usage, parts.accounting, parts.facts) == (
            whole.events,
            whole.usage,
            whole.accounting,
            whole.facts,
        )


# --- who and what ----------------------------------------------------------------------------------------------------


@every_host
def test_every_result_follows_its_call(host: str, kept: Callable[[str], Kept]) -> None:
    for session, events in kept(host).content.events.items():
        called: set[str] = set()
        for event in events:
            if event["event_type"] == EventType.TOOL_RESULT.value:
                assert event.get("call_id") in called, (session, event)
            elif "call_id" in event:
                called.add(str(event["call_id"]))


@every_host
def test_whose_words_they_are_is_told(host: str, kept: Callable[[str], Kept]) -> None:
    prompts = 0
    for event in events_of(kept(host).content):
        said = event["event_type"] == EventType.MESSAGE.value
        if said and event["actor"] in (Actor.USER.value, Actor.SYSTEM.value, Actor.HOOK.value):
            assert event.get("origin"), event
        if event.get("origin") == Origin.HUMAN.value and said:
            assert event["actor"] == Actor.USER.value and "agent_id" not in event, event
            prompts += 1
    assert prompts


@every_host
def test_a_sub_agents_events_are_its_own(host: str, kept: Callable[[str], Kept]) -> None:
    for event in events_of(kept(host).content):
        if str(event["source"]).startswith("agent-"):
            assert event.get("agent_id"), event
        if "agent_id" in event:
            assert event["actor"] != Actor.ASSISTANT.value, event


# --- the host's own files --------------------------------------------------------------------------------------------


@every_host
def test_nothing_is_written_but_the_archive(host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    home = make_home(host, tmp_path / "person")
    before = tree(home)
    for _ in range(2):
        assert failures(swept(tmp_path / "archive", home, host)) == []
    assert tree(home) == before
    assert os.listdir(scratch) == []
    assert sorted(os.listdir(tmp_path)) == ["archive", "home", "person", "scratch"]


@every_host
def test_a_sample_is_this_hosts_and_no_others(host: str, kept: Callable[[str], Kept]) -> None:
    for source in sources(agents.named(host), kept(host).home):
        if source.key == "main":
            claimed = [agent.HOST for agent in agents.all_agents() if agent.claims(str(file_of(source)))]
            assert claimed[:1] == [host], (source.path, claimed)
    databases.release()


@every_host
def test_a_folder_given_by_a_person_holds_what_is_below_it(host: str, kept: Callable[[str], Kept]) -> None:
    agent, home = agents.named(host), kept(host).home
    for root in roots(agent, home):
        wanted = {source.path for source in agent.discover(root, {})}
        assert {source.path for source in agent.claims(root.path)} == wanted
    databases.release()


@every_host
def test_the_folder_of_a_session_is_found_without_reading_it_all(host: str, kept: Callable[[str], Kept]) -> None:
    found = kept(host)
    for source in sources(agents.named(host), found.home):
        folder, cwd = agents.named(host).folder_of(source), found.content.sessions[source.session_id]["cwd"]
        assert folder == cwd or (folder is None and source.key != "main"), source.path
    databases.release()


def test_a_sweep_without_news_loads_no_reader(tmp_path: Path) -> None:
    """What it costs to have hosts that are not here, or have nothing new, is to look where they would lie."""
    home = make_home(HOSTS[0], tmp_path / "home")
    code = (
        "import sys; from pathlib import Path; from test_conformance import HOSTS, swept;"
        "[sys.modules.pop(name) for name in list(sys.modules) if name.startswith('retro.agents.')];"
        f"report = swept(Path({str(tmp_path / 'archive')!r}), Path({str(home)!r}));"
        "print(sum(one.ingested for one in report.hosts), *(name for name in sys.modules if name.endswith('_records')))"
    )
    outputs = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parent
        )
        outputs.append(done.stdout.split())
    assert outputs == [["1", f"{agents.MODULES[HOSTS[0]]}_records"], ["0"]]


# --- side by side ----------------------------------------------------------------------------------------------------


@pytest.fixture
def together(tmp_path: Path) -> Path:
    """A home of a person who uses every host."""
    home = tmp_path / "everyone"
    for host in HOSTS:
        make_home(host, home)
    return home


def sessions_by_host(root: Path) -> dict[str, set[str]]:
    """What an archive holds."""
    connection = apsw.Connection(Places(str(root)).index, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        found: dict[str, set[str]] = {}
        for host, session in connection.execute("SELECT host, session_id FROM session"):
            found.setdefault(host, set()).add(session)
        return found
    finally:
        connection.close()


def test_every_host_of_one_home_has_its_own_sessions(
    together: Path, tmp_path: Path, kept: Callable[[str], Kept]
) -> None:
    assert failures(swept(tmp_path / "archive", together)) == []
    expected = {host: set(kept(host).content.sessions) for host in HOSTS}
    assert sessions_by_host(tmp_path / "archive") == expected


@pytest.mark.parametrize("trouble", [PermissionError(13, "Permission denied"), Unreadable("file is not a database")])
def test_the_trouble_of_one_host_is_not_anothers(
    trouble: Exception, together: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: Callable[[str], Kept]
) -> None:
    def refuse(root: Root, known: object) -> Iterator[Source]:
        raise trouble

    broken = HOSTS[::2]
    for host in broken:
        monkeypatch.setattr(agents.named(host), "discover", refuse)
    report = swept(tmp_path / "archive", together)
    assert {problem.host for one in report.hosts for problem in one.problems} == set(broken)
    expected = {host: set(kept(host).content.sessions) for host in HOSTS if host not in broken}
    assert sessions_by_host(tmp_path / "archive") == expected
