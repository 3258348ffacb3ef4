"""Sweeps by the system's own scheduler: systemd's timers, cron, launchd, Windows' Task Scheduler.

Each scheduler is asked through its own program, and only when the user asks for it.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Final, Protocol
from xml.sax.saxutils import escape

import msgspec

from retro.failure import WRONG_USAGE, Failure
from retro.places import make_private_dir

NAME: Final = "retro-sweep"
LABEL: Final = "retro.sweep"
_MARK: Final = "# retro-sweep"
_PATIENCE_SECONDS: Final = 30
_UNITS: Final = {"m": 1, "h": 60, "d": 1440}


class Step(msgspec.Struct):
    """One thing that is done: a file that gets a content (None: it goes), or a program that is run."""

    path: str | None = None
    content: str | None = None
    run: list[str] | None = None
    stdin: str | None = None
    may_fail: bool = False

    @property
    def said(self) -> str:
        """The step in a line."""
        if self.run is not None:
            return f"run {shlex.join(self.run)}"
        return f"{'remove' if self.content is None else 'write'} {self.path}"


class Scheduler(Protocol):
    """One of the systems' schedulers."""

    name: str

    def installed(self) -> bool:
        """Whether our job is there."""
        ...

    def install(self, command: Sequence[str], minutes: int) -> list[Step]:
        """What puts it there, in place of an older one."""
        ...

    def uninstall(self) -> list[Step]:
        """What takes it away."""
        ...


def parse_every(text: str) -> int:
    """`15m`, `1h`, `1d` in minutes."""
    found = re.fullmatch(r"(\d{1,4})([mhd])", text.strip().lower())
    minutes = int(found[1]) * _UNITS[found[2]] if found else 0
    if not 5 <= minutes <= 1440:
        raise Failure("usage", f'"{text}" is no interval between 5m and 1d', "for instance 15m, 1h, 1d", WRONG_USAGE)
    if (minutes < 60 and 60 % minutes) or (minutes >= 60 and (minutes % 60 or 24 % (minutes // 60))):
        raise Failure(
            "usage",
            f'"{text}" does not divide an hour or a day',
            "5m, 10m, 15m, 20m, 30m, 1h, 2h, 3h, 4h, 6h, 8h, 12h or 1d",
            WRONG_USAGE,
        )
    return minutes


def scheduler(env: Mapping[str, str]) -> Scheduler:
    """The one that this system has."""
    if sys.platform == "win32":
        return TaskScheduler()
    if sys.platform == "darwin":
        return Launchd(env)
    if shutil.which("systemctl", path=env.get("PATH")) and _answers(["systemctl", "--user", "show-environment"]):
        return Systemd(env)
    if shutil.which("crontab", path=env.get("PATH")):
        return Cron()
    raise Failure(
        "no_scheduler",
        "neither systemd's user timers nor cron are there",
        "have whatever starts your programs run retro sweep --background every hour",
    )


def carry_out(steps: Sequence[Step]) -> None:
    """Do them, one after the other."""
    for step in steps:
        if step.run is not None:
            _run(step)
        elif step.path is not None and step.content is not None:
            make_private_dir(os.path.dirname(step.path))
            with open(step.path, "w", encoding="utf-8", newline="\n") as file:
                file.write(step.content)
        elif step.path is not None and os.path.lexists(step.path):
            os.unlink(step.path)


def _run(step: Step) -> None:
    command = step.run or []
    try:
        done = subprocess.run(  # noqa: S603 - the scheduler's own program, with our own words
            command, input=step.stdin, capture_output=True, text=True, timeout=_PATIENCE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure("scheduler", f"{command[0]}: {error}", None) from None
    if done.returncode and not step.may_fail:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Failure("scheduler", f"{shlex.join(command)} failed: {said[0] if said else done.returncode}", None)


def _answers(command: list[str]) -> bool:
    return _output(command) is not None


def _output(command: list[str]) -> str | None:
    """What a program prints; None where it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_SECONDS, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else done.stdout


# --- systemd ---------------------------------------------------------------------------------------------------------


class Systemd:
    """A timer and a service among the user's units."""

    name = "systemd"

    def __init__(self, env: Mapping[str, str]) -> None:
        config = env.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
        self._folder = os.path.join(config, "systemd", "user")

    def installed(self) -> bool:
        """Whether our timer is there."""
        return os.path.exists(self._unit("timer"))

    def install(self, command: Sequence[str], minutes: int) -> list[Step]:
        """Write both units and start the timer."""
        service = (
            "[Unit]\nDescription=Capture the sessions of coding agents\n\n"
            f"[Service]\nType=oneshot\nNice=10\nExecStart={' '.join(map(_unit_word, command))}\n"
        )
        timer = (
            f"[Unit]\nDescription=Capture the sessions of coding agents every {minutes} minutes\n\n"
            f"[Timer]\nOnStartupSec=5min\nOnUnitActiveSec={minutes}min\nRandomizedDelaySec=60\n\n"
            "[Install]\nWantedBy=timers.target\n"
        )
        return [
            Step(path=self._unit("service"), content=service),
            Step(path=self._unit("timer"), content=timer),
            Step(run=["systemctl", "--user", "daemon-reload"]),
            Step(run=["systemctl", "--user", "enable", "--now", f"{NAME}.timer"]),
        ]

    def uninstall(self) -> list[Step]:
        """Stop the timer and remove both units."""
        return [
            Step(run=["systemctl", "--user", "disable", "--now", f"{NAME}.timer"], may_fail=True),
            Step(path=self._unit("timer")),
            Step(path=self._unit("service")),
            Step(run=["systemctl", "--user", "daemon-reload"]),
        ]

    def _unit(self, kind: str) -> str:
        return os.path.join(self._folder, f"{NAME}.{kind}")


def _unit_word(word: str) -> str:
    """A word as systemd reads it: in quotes, `%` doubled, `$` doubled."""
    for character, escaped in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("$", "$$")):
        word = word.replace(character, escaped)
    return f'"{word}"'


# --- cron ------------------------------------------------------------------------------------------------------------


class Cron:
    """One line of the user's crontab, known by the mark at its end."""

    name = "cron"

    def installed(self) -> bool:
        """Whether our line is there."""
        return any(line.endswith(_MARK) for line in self._lines())

    def install(self, command: Sequence[str], minutes: int) -> list[Step]:
        """The same table with our line at its end."""
        when = (
            f"*/{minutes} * * * *" if minutes < 60 else f"7 */{minutes // 60} * * *" if minutes < 1440 else "7 5 * * *"
        )
        line = f"{when} {shlex.join(command).replace('%', chr(92) + '%')} {_MARK}"
        return [self._table([*self._others(), line])]

    def uninstall(self) -> list[Step]:
        """The same table without it."""
        return [self._table(self._others())]

    def _others(self) -> list[str]:
        return [line for line in self._lines() if not line.endswith(_MARK)]

    @staticmethod
    def _lines() -> list[str]:
        return (_output(["crontab", "-l"]) or "").splitlines()

    @staticmethod
    def _table(lines: list[str]) -> Step:
        return Step(run=["crontab", "-"], stdin="".join(f"{line}\n" for line in lines))


# --- launchd ---------------------------------------------------------------------------------------------------------


class Launchd:
    """An agent among the user's LaunchAgents."""

    name = "launchd"

    def __init__(self, env: Mapping[str, str]) -> None:
        home = env.get("HOME") or os.path.expanduser("~")
        self._path = os.path.join(home, "Library", "LaunchAgents", f"{LABEL}.plist")

    def installed(self) -> bool:
        """Whether our agent is there."""
        return os.path.exists(self._path)

    def install(self, command: Sequence[str], minutes: int) -> list[Step]:
        """Write it, and load it in place of an older one."""
        words = "".join(f"    <string>{escape(word)}</string>\n" for word in command)
        content = (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">\n'
            '<plist version="1.0">\n<dict>\n'
            f"  <key>Label</key>\n  <string>{LABEL}</string>\n"
            f"  <key>ProgramArguments</key>\n  <array>\n{words}  </array>\n"
            f"  <key>StartInterval</key>\n  <integer>{minutes * 60}</integer>\n"
            "  <key>RunAtLoad</key>\n  <true/>\n"
            "  <key>ProcessType</key>\n  <string>Background</string>\n</dict>\n</plist>\n"
        )
        return [
            Step(run=["launchctl", "unload", self._path], may_fail=True),
            Step(path=self._path, content=content),
            Step(run=["launchctl", "load", self._path]),
        ]

    def uninstall(self) -> list[Step]:
        """Unload and remove it."""
        return [Step(run=["launchctl", "unload", self._path], may_fail=True), Step(path=self._path)]


# --- Windows ---------------------------------------------------------------------------------------------------------


class TaskScheduler:
    """A task of the user's."""

    name = "Task Scheduler"

    def installed(self) -> bool:
        """Whether our task is there."""
        return _answers(["schtasks", "/Query", "/TN", NAME])

    def install(self, command: Sequence[str], minutes: int) -> list[Step]:
        """Create it, in place of an older one."""
        run = ["schtasks", "/Create", "/F", "/TN", NAME, "/SC", "MINUTE", "/MO", str(minutes)]
        if minutes == 1440:
            run[6:] = ["DAILY"]
        return [Step(run=[*run, "/TR", subprocess.list2cmdline(command)])]

    def uninstall(self) -> list[Step]:
        """Delete it."""
        return [Step(run=["schtasks", "/Delete", "/F", "/TN", NAME], may_fail=True)]
