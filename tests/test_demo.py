"""The bundled sessions and the demo around them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any, ClassVar

import pytest

from demo_sessions import sessions
from retro import agents, demo
from support import SESSION, lines

BUNDLED = Path(demo.__file__).parent / "sessions"


def test_the_bundled_files_are_what_the_generator_writes() -> None:
    shipped = {file.relative_to(BUNDLED).as_posix(): file.read_bytes() for file in BUNDLED.rglob("*") if file.is_file()}
    assert shipped == {name: text.encode() for name, text in sessions().items()}


def test_the_bundled_files_are_small() -> None:
    assert sum(file.stat().st_size for file in BUNDLED.rglob("*") if file.is_file()) <= 120 * 1024


@pytest.mark.parametrize("name", [name for name in sessions() if name.endswith(".jsonl")])
def test_every_record_hangs_below_an_earlier_one(name: str) -> None:
    seen: set[str] = set()
    for line in sessions()[name].splitlines():
        record = json.loads(line)
        assert record.get("parentUuid") is None or record["parentUuid"] in seen
        seen.add(record.get("uuid"))


def test_every_call_has_one_result() -> None:
    for name, text in sessions().items():
        if not name.endswith(".jsonl"):
            continue
        blocks = [
            block
            for line in text.splitlines()
            for record in [json.loads(line)]
            if record["type"] in ("user", "assistant") and isinstance(record["message"]["content"], list)
            for block in record["message"]["content"]
        ]
        called = [block["id"] for block in blocks if block["type"] == "tool_use"]
        assert sorted(called) == sorted(b["tool_use_id"] for b in blocks if b["type"] == "tool_result")


def test_a_machine_without_transcripts_has_no_sessions(isolated: Path) -> None:
    (isolated / ".claude" / "projects" / "empty").mkdir(parents=True)
    assert not demo.has_sessions({"HOME": str(isolated)})


@pytest.mark.parametrize("folder", [".claude", ".config/claude", "elsewhere"])
def test_a_session_is_found_in_every_folder_that_claude_uses(isolated: Path, folder: str) -> None:
    transcript = isolated / folder / "projects" / "-code" / "session.jsonl"
    transcript.parent.mkdir(parents=True)
    transcript.touch()
    env = {"HOME": str(isolated)}
    if folder == "elsewhere":
        env["CLAUDE_CONFIG_DIR"] = f"{isolated / 'nothing'}, {isolated / folder}"
    assert demo.has_sessions(env)


def test_a_session_of_any_agent_is_none_of_the_demo(isolated: Path) -> None:
    rollout = isolated / f"elsewhere/sessions/2026/11/02/rollout-2026-11-02T09-14-00-{SESSION}.jsonl"
    rollout.parent.mkdir(parents=True)
    rollout.write_bytes(lines({"type": "session_meta", "payload": {"id": SESSION, "cwd": "/code"}}))
    assert demo.has_sessions({"HOME": str(isolated), "CODEX_HOME": str(isolated / "elsewhere")})
    assert not demo.has_sessions({"HOME": str(isolated)})


def test_no_agent_is_looked_for_where_a_variable_names_a_place_outside(tmp_path: Path) -> None:
    """Whatever any agent's module asks the environment for is below the isolated home, or gone."""

    class Asked(dict[str, str]):
        names: ClassVar[set[str]] = set()

        def get(self, key: str, default: Any = None) -> Any:
            self.names.add(key)
            return super().get(key, default)

        def __getitem__(self, key: str) -> str:
            self.names.add(key)
            return super().__getitem__(key)

    for agent in agents.all_agents():
        agent.roots(Asked({"HOME": str(tmp_path), "WSL_DISTRO_NAME": ""}), ())
    moved = demo.isolated_environment(tmp_path, dict.fromkeys(Asked.names, "/outside"))
    assert len(Asked.names) > 20
    systems = {"HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP", "WSL_DISTRO_NAME"}
    systems |= {name for name in Asked.names if name.startswith("XDG_")}
    assert Asked.names - systems <= {name for agent in agents.all_agents() for name in agent.MOVED_BY}
    assert {name for name, value in moved.items() if value == "/outside"} == set()


def test_the_isolated_environment_keeps_no_way_out(tmp_path: Path) -> None:
    env = {
        "PATH": "/bin",
        "RETRO_ROOT": "/r",
        "CLAUDE_CONFIG_DIR": "/c",
        "CODEX_SQLITE_HOME": "/s",
        "XDG_RUNTIME_DIR": "/x",
    }
    moved = demo.isolated_environment(tmp_path, env)
    assert moved.pop("PYTHONUSERBASE")
    assert moved.pop("PATH") == "/bin"
    assert all(Path(value).is_relative_to(tmp_path) for value in moved.values())


def test_the_demo_runs_in_a_place_of_its_own_and_removes_it(
    isolated: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[list[str]] = []
    places: set[Path] = set()

    def retro(arguments: list[str], env: dict[str, str], folder: Path) -> int:
        calls.append(arguments)
        places.add(folder)
        assert Path(env["HOME"]) == folder
        assert Path(env["RETRO_ROOT"]).is_relative_to(folder)
        assert list((Path(env["HOME"]) / ".claude" / "projects").rglob("*.jsonl"))
        return 0

    monkeypatch.setattr(demo, "_retro", retro)
    assert demo.run({"HOME": str(isolated)}) == 0
    assert calls[:3] == [["sweep"], ["list"], ["show", demo.EXAMPLE]]
    assert [place.exists() for place in places] == [False]
    printed = capsys.readouterr().out
    assert all(f"$ retro {shlex.join(arguments)}" in printed for arguments in calls)
    assert str(places.pop()) in printed


def test_real_sessions_are_swept_and_listed(isolated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    demo.install_sessions(isolated / ".claude")
    calls: list[str] = []

    def retro(arguments: list[str], env: dict[str, str], folder: None) -> int:
        calls.append(arguments[0])
        return 3

    monkeypatch.setattr(demo, "_retro", retro)
    assert demo.run({"HOME": str(isolated)}) == 3
    assert calls == ["sweep"]
