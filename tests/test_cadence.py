"""Sweeps without anybody asking: what hooks say, how they get into the agents' settings, and the schedulers."""

from __future__ import annotations

import io
import json
import os
import plistlib
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_support import FIX, Retro, crontab_stand_in, retro, root, swept
from retro import agents, inbox
from retro.agents.interface import HookFile
from retro.cadence import hooks, schedule
from retro.failure import Failure
from retro.light import hook
from retro.lock import Lock
from retro.places import Places

__all__ = ["retro", "root", "swept"]


# --- what a hook says ------------------------------------------------------------------------------------------------


def tell(monkeypatch: pytest.MonkeyPatch, said: object, *arguments: str) -> int:
    """Run `retro hook` with something on stdin."""
    data = said if isinstance(said, bytes) else json.dumps(said).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    return hook.run(arguments, {})


def queued(root: Path) -> list[dict[str, Any]]:
    """What waits for the next sweep."""
    file = root / "inbox" / "ended.jsonl"
    return [json.loads(line) for line in file.read_bytes().splitlines()] if file.exists() else []


def test_a_hook_leaves_one_line_for_the_next_sweep(
    swept: Retro, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, demo_home: Path
) -> None:
    elsewhere = tmp_path / "elsewhere" / "projects" / "-x" / f"{FIX[:-1]}0.jsonl"
    elsewhere.parent.mkdir(parents=True)
    file = next(demo_home.glob(f"projects/*/{FIX}.jsonl"))
    elsewhere.write_bytes(file.read_bytes().replace(FIX.encode(), elsewhere.stem.encode()))
    told = {"session_id": elsewhere.stem, "transcript_path": str(elsewhere), "hook_event_name": "Stop"}
    assert tell(monkeypatch, told, "stop", "--host", "claude", "--installed") == 0
    assert [(one["host"], one["event"], one["path"]) for one in queued(root)] == [("claude", "stop", str(elsewhere))]
    host = swept.json("sweep")["hosts"][0]
    assert host["ingested"] == 1  # though it lies below no folder that a sweep would look into
    assert queued(root) == []
    assert list((root / "inbox").iterdir()) == []


def test_what_was_taken_is_not_lost_when_the_sweep_dies(root: Path) -> None:
    places = Places(str(root))
    root.mkdir()
    inbox.append(places, "ended", {"n": 1})
    assert [one["n"] for one in inbox.take(places, "ended")] == [1]
    inbox.append(places, "ended", {"n": 2})
    assert [one["n"] for one in inbox.take(places, "ended")] == [1]
    inbox.taken(places, "ended")
    assert [one["n"] for one in inbox.take(places, "ended")] == [2]


def test_hooks_at_the_same_time_lose_no_line(root: Path) -> None:
    places = Places(str(root))
    root.mkdir()

    def write(number: int) -> None:
        for at in range(50):
            assert inbox.append(places, "ended", {"writer": number, "at": at, "path": "x" * 500})

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [(one["writer"], one["at"]) for one in inbox.take(places, "ended")]
    assert sorted(found) == [(number, at) for number in range(8) for at in range(50)]


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        (b"", ["stop"]),
        (b"not json", ["stop"]),
        (b"[1, 2]", ["stop"]),
        (b"\xff\xfe", ["stop"]),
        (b'{"session_id": 5}', ["stop"]),
        (b'{"session_id": "' + b"x" * 5000 + b'"}', ["stop"]),
        (b'{"session_id": "abc"}', []),
        (b'{"session_id": "abc"}', ["dance"]),
        (b'{"session_id": "abc"}', ["stop", "--config", "/nonexistent/config.toml"]),
        (b"[" * 100_000, ["stop"]),
    ],
)
def test_on_any_doubt_a_hook_says_nothing_and_does_nothing(
    swept: Retro,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    said: bytes,
    arguments: list[str],
) -> None:
    capsys.readouterr()
    assert tell(monkeypatch, said, *arguments) == 0
    assert queued(root) == []
    assert capsys.readouterr() == ("", "")


def test_a_hook_makes_no_archive(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tell(monkeypatch, {"session_id": "abc"}, "stop") == 0
    assert not root.exists()


def test_a_hook_loads_nothing_heavy(swept: Retro, root: Path) -> None:
    code = (
        "import sys; from retro.__main__ import main; sys.argv = ['retro', 'hook', 'stop']; main();"
        " print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=b'{"session_id": "abc"}',
        capture_output=True,
        env=dict(os.environ),
        check=True,
    )
    assert len(queued(root)) == 1
    loaded = set(done.stderr.decode().split())
    assert not loaded & {
        "argparse",
        "msgspec",
        "rich",
        "apsw",
        "zstandard",
        "subprocess",
        "socket",
        "hashlib",
        "typing",
    }


# --- background sweeps -----------------------------------------------------------------------------------------------


def test_background_sweeps_coalesce(swept: Retro, root: Path) -> None:
    with Lock(f"{root}/.lock.next", 0):  # one waits already
        assert swept.says("sweep", "--background") == ""
    assert swept.says("sweep", "--background") == ""
    with Lock(f"{root}/.lock.next", 0):  # and gave its turn back
        pass


# --- hooks in the agents' settings -----------------------------------------------------------------------------------


def hook_file(path: Path) -> HookFile:
    return HookFile(str(path), {"stop": "Stop", "session-end": "SessionEnd"}, _entry, "UserPromptSubmit")


def _entry(command: str) -> dict[str, object]:
    return {"hooks": [{"type": "command", "command": command}]}


OTHER = {"hooks": [{"type": "command", "command": "say done"}]}


@pytest.mark.parametrize("host", sorted(agents.hooked()))
def test_install_then_uninstall_leaves_the_very_file(retro: Retro, host: str) -> None:
    path = Path(agents.hooked()[host].hooks(os.environ).path)
    path.parent.mkdir(parents=True, exist_ok=True)
    before = b'{\n    "theme": "dark",\n    "hooks": {"Stop": [{"hooks": []}]},\n  "\xc3\xa9": 1.50\n}'
    path.write_bytes(before)
    path.chmod(0o640)
    dry = retro.json("hooks", "install", host, "--dry-run")["hooks"][0]
    assert dry["changed"] is True
    assert "+" in dry["diff"]
    assert path.read_bytes() == before
    done = retro.json("hooks", "install", host)["hooks"][0]
    assert Path(done["backup"]).read_bytes() == before
    assert path.stat().st_mode & 0o777 == 0o640
    document = json.loads(path.read_bytes())
    assert (document["theme"], document["hooks"]["Stop"][0]) == ("dark", {"hooks": []})
    once = path.read_bytes()
    assert retro.json("hooks", "install", host)["hooks"][0]["changed"] is False
    assert path.read_bytes() == once
    assert [one["installed"] for one in retro.json("hooks", host)["hooks"]] == [True]
    retro.json("hooks", "uninstall", host)
    assert path.read_bytes() == before
    assert retro.json("hooks", "uninstall", host)["hooks"][0]["changed"] is False


@pytest.mark.parametrize("host", agents.hooked())
def test_the_hook_that_hands_out_memories_comes_when_it_is_asked_for_and_goes_by_itself(
    retro: Retro, host: str
) -> None:
    file = agents.hooked()[host].hooks(os.environ)
    path = Path(file.path)
    assert retro.json("hooks", "install", host)["hooks"][0]["weave"] is False
    plain = path.read_bytes()
    assert b"memory weave" not in plain
    assert retro.json("hooks", "install", host, "--weave")["hooks"][0]["weave"] is True
    both = path.read_bytes()
    (entry,) = json.loads(both)["hooks"][file.prompt]
    assert f"memory weave --hook --host {host} --installed" in json.dumps(entry)
    assert retro.json("hooks", "install", host)["hooks"][0]["changed"] is False  # what was chosen stays
    assert [(one["installed"], one["weave"]) for one in retro.json("hooks", host)["hooks"]] == [(True, True)]
    assert retro.json("hooks", "uninstall", host, "--weave", "--dry-run")["hooks"][0]["changed"] is True
    assert path.read_bytes() == both
    retro.json("hooks", "uninstall", host, "--weave")
    assert path.read_bytes() == plain
    assert [(one["installed"], one["weave"]) for one in retro.json("hooks", host)["hooks"]] == [(True, False)]
    retro.json("hooks", "install", host, "--weave")
    retro.json("hooks", "uninstall", host)
    assert not path.exists()
    assert retro("hooks", "--weave").code == 2


def test_a_file_that_was_made_for_the_hooks_goes_with_them(tmp_path: Path) -> None:
    file = hook_file(tmp_path / "agent" / "settings.json")
    before, after = hooks.with_entries(file, "claude", "retro")
    assert before is None
    hooks.write(file, before, after)
    assert hooks.installed(file)
    hooks.write(file, *hooks.without_entries(file))
    assert not Path(file.path).exists()


def test_others_hooks_stay_even_in_a_group_with_ours(tmp_path: Path) -> None:
    file = hook_file(tmp_path / "settings.json")
    ours = {"type": "command", "command": hooks.command("retro", "stop", "claude")}
    shared = {"matcher": "*", "hooks": [*OTHER["hooks"], ours]}
    Path(file.path).write_text(json.dumps({"hooks": {"Stop": [OTHER, shared], "PreToolUse": [OTHER]}}))
    _, after = hooks.without_entries(file)
    assert after is not None
    assert json.loads(after) == {
        "hooks": {"Stop": [OTHER, {"matcher": "*", "hooks": OTHER["hooks"]}], "PreToolUse": [OTHER]}
    }


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(
    st.dictionaries(st.text(), json_values, max_size=4).map(lambda d: {k: v for k, v in d.items() if k != "hooks"}),
    st.dictionaries(
        st.sampled_from(["Stop", "SessionEnd", "UserPromptSubmit", "Other"]),
        st.lists(st.just(OTHER), min_size=1, max_size=2),
    ),
    st.sampled_from([None, 1, 2, "\t"]),
    st.booleans(),
)
def test_whatever_else_stands_there_is_the_same_afterwards(
    tmp_path_factory: pytest.TempPathFactory, rest: dict[str, Any], events: dict[str, Any], indent: Any, weave: bool
) -> None:
    document = {**rest, **({"hooks": events} if events else {})}
    file = hook_file(tmp_path_factory.mktemp("settings") / "settings.json")
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    Path(file.path).write_bytes(text.encode("utf-8", "surrogatepass"))
    hooks.write(file, *hooks.with_entries(file, "claude", "/opt/my tools/retro", weave=weave))
    assert hooks.installed(file)
    assert hooks.weaves(file) == weave
    assert {key: value for key, value in json.loads(Path(file.path).read_bytes()).items() if key != "hooks"} == rest
    hooks.write(file, *hooks.without_entries(file))
    assert Path(file.path).read_bytes() == text.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("text", ["// a comment\n{}", "[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}', "{", "\x00"])
def test_settings_that_cannot_be_understood_are_left_alone(retro: Retro, text: str) -> None:
    path = Path(agents.hooked()["claude"].hooks(os.environ).path)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    done = retro("hooks", "install", "claude")
    assert done.code == 1
    assert "is left as it is" in done.err
    assert path.read_text() == text


def test_a_link_to_the_settings_stays_a_link(retro: Retro, tmp_path: Path) -> None:
    path = Path(agents.hooked()["claude"].hooks(os.environ).path)
    path.parent.mkdir(parents=True)
    target = tmp_path / "dotfiles.json"
    target.write_text("{}")
    path.symlink_to(target)
    retro.json("hooks", "install", "claude")
    assert path.is_symlink()
    assert "retro" in target.read_text()


# --- schedulers ------------------------------------------------------------------------------------------------------

COMMAND = ["/opt/my py/python", "-m", "retro", "--root", "/data/50%/a&b", "sweep", "--background"]


@pytest.mark.parametrize(("text", "minutes"), [("15m", 15), ("1h", 60), ("6h", 360), ("1d", 1440), ("30M", 30)])
def test_an_interval_is_minutes(text: str, minutes: int) -> None:
    assert schedule.parse_every(text) == minutes


@pytest.mark.parametrize("text", ["", "1", "1m", "7m", "90m", "5h", "2d", "-1h", "1 hour", "1.5h"])
def test_what_is_no_interval_is_refused(text: str) -> None:
    with pytest.raises(Failure):
        schedule.parse_every(text)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH, with a crontab that keeps its table in a file."""
    folder = tmp_path / "bin"
    folder.mkdir()
    table = tmp_path / "table"
    crontab_stand_in(folder, table)
    monkeypatch.setenv("PATH", str(folder))
    return table


@pytest.mark.skipif(os.name != "posix", reason="cron is a thing of Unix")
@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has launchd")
def test_cron_keeps_the_rest_of_the_table(retro: Retro, programs: Path) -> None:
    mine = "0 5 * * * backup  # mine\n"
    programs.write_text(mine)
    dry = retro.json("schedule", "install", "--dry-run")
    assert (dry["scheduler"], dry["installed"]) == ("cron", False)
    assert programs.read_text() == mine
    retro.json("schedule", "install", "--every", "15m")
    retro.json("schedule", "install", "--every", "1h")
    lines = programs.read_text().splitlines()
    assert lines[0] + "\n" == mine
    assert [line.startswith("7 */1 * * * ") and line.endswith("# retro-sweep") for line in lines[1:]] == [True]
    assert retro.json("schedule")["installed"] is True
    retro.json("schedule", "uninstall")
    assert programs.read_text() == mine
    assert retro.json("schedule", "uninstall")["steps"] == []


@pytest.mark.skipif(os.name != "posix", reason="cron is a thing of Unix")
def test_crons_percent_is_escaped(programs: Path) -> None:
    (step,) = schedule.Cron().install(COMMAND, 60)
    assert step.stdin is not None
    assert "/data/50\\%/a&b'" in step.stdin


def test_systemds_words_are_quoted(tmp_path: Path) -> None:
    steps = schedule.Systemd({"XDG_CONFIG_HOME": str(tmp_path)}).install([*COMMAND, '"$HOME'], 30)
    service, timer = steps[0].content or "", steps[1].content or ""
    start = 'ExecStart="/opt/my py/python" "-m" "retro" "--root" "/data/50%%/a&b" "sweep" "--background" "\\"$$HOME"\n'
    assert start in service
    assert "OnUnitActiveSec=30min" in timer


def test_launchds_plist_says_what_runs_when(tmp_path: Path) -> None:
    launchd = schedule.Launchd({"HOME": str(tmp_path)})
    schedule.carry_out([step for step in launchd.install(COMMAND, 60) if step.run is None])
    assert launchd.installed()
    (file,) = tmp_path.rglob("*.plist")
    content = plistlib.loads(file.read_bytes())
    assert (content["ProgramArguments"], content["StartInterval"]) == (COMMAND, 3600)
    schedule.carry_out([step for step in launchd.uninstall() if step.run is None])
    assert not launchd.installed()


@pytest.mark.parametrize(("minutes", "when"), [(60, ["MINUTE", "/MO", "60"]), (1440, ["DAILY"])])
def test_windows_gets_one_command_line(minutes: int, when: list[str]) -> None:
    (step,) = schedule.TaskScheduler().install(COMMAND, minutes)
    assert step.run is not None
    assert step.run[: 6 + len(when)] == ["schtasks", "/Create", "/F", "/TN", "retro-sweep", "/SC", *when]
    assert step.run[-1] == '"/opt/my py/python" -m retro --root /data/50%/a&b sweep --background'


def test_without_a_scheduler_it_is_said_what_to_do(
    retro: Retro, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sys.platform in ("win32", "darwin"):
        pytest.skip("this system always has one")
    monkeypatch.setenv("PATH", str(tmp_path))
    done = retro("schedule", "install")
    assert done.code == 1
    assert "retro sweep --background" in done.err
