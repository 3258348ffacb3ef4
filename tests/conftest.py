"""What every test stands on: a home of its own, no network, the demo sessions, and the record of what was started."""

from __future__ import annotations

import ipaddress
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import settings

from retro import demo

settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")

AuditEvent: TypeAlias = tuple[str, tuple[object, ...]]

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus"
NO_CORPUS = "the shared corpus is not beside the project"

# Events that reach for the network, and which of their arguments says where to.
NETWORK = {
    "socket.connect": 1,
    "socket.sendto": 1,
    "socket.sendmsg": 1,
    "socket.getaddrinfo": 0,
    "socket.gethostbyname": 0,
}
RECORDED = frozenset(
    {
        *NETWORK,
        "subprocess.Popen",
        "os.system",
        "os.exec",
        "os.posix_spawn",
        "os.spawn",
        "os.startfile",
        "pty.spawn",
    }
)


class NetworkReached(BaseException):
    """A test tried to reach something that is not this machine. Not an Exception, so that nothing swallows it."""


class Recorder:
    """Where the audit hook puts what it sees. A hook cannot be removed again, so there is one, that may be silent."""

    guarding = False
    reached: AuditEvent | None = None
    events: list[AuditEvent] | None = None

    def __call__(self, name: str, arguments: tuple[object, ...]) -> None:
        if name not in RECORDED:
            return
        if self.events is not None:
            self.events.append((name, arguments))
        if self.guarding and name in NETWORK and not _stays_here(arguments[NETWORK[name]]):
            self.reached = (name, arguments)
            raise NetworkReached(f"a test tried to reach {arguments[NETWORK[name]]!r}")


def _stays_here(address: object) -> bool:
    """Whether an address or a host's name is this machine; a Unix socket's is a path, and a pair's has none."""
    host = address[0] if isinstance(address, tuple) else address
    if (
        host is None
        or host in ("", "localhost")
        or (isinstance(host, (str, bytes)) and os.fsencode(host)[:1] in b"/\0")
    ):
        return True
    try:
        return ipaddress.ip_address(str(host)).is_loopback
    except ValueError:
        return False


recorder = Recorder()
sys.addaudithook(recorder)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs the corpus where there is none."""
    if CORPUS.is_dir():
        return
    for item in items:
        if item.get_closest_marker("corpus"):
            item.add_marker(pytest.mark.skip(reason=NO_CORPUS))


@pytest.fixture(autouse=True)
def isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Move the home folder, and all that hosts and retro derive from it, below `tmp_path`. Gives the home."""
    home = tmp_path / "home"
    home.mkdir()
    surroundings = demo.isolated_environment(home) | {"NO_COLOR": "1"}
    for name in set(os.environ) - set(surroundings):
        monkeypatch.delenv(name)
    for name, value in surroundings.items():
        monkeypatch.setenv(name, value)
    return home


@pytest.fixture(autouse=True)
def no_network() -> Iterator[None]:
    """Let no test reach anything but this machine, and fail one that tried even if the code hid it."""
    recorder.guarding, recorder.reached = True, None
    yield
    recorder.guarding = False
    assert recorder.reached is None, f"the network was reached for: {recorder.reached}"


@pytest.fixture
def audit() -> Iterator[list[AuditEvent]]:
    """The connections and started programs since the test began, as Python's audit events: (name, arguments)."""
    recorder.events = []
    yield recorder.events
    recorder.events = None


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real sessions; the test is skipped where it is absent."""
    if not CORPUS.is_dir():
        pytest.skip(NO_CORPUS)
    return CORPUS


@pytest.fixture
def demo_home(isolated: Path) -> Path:
    """The demo sessions where Claude Code has its own: a folder with `projects/`, `todos/`, `file-history/`."""
    data_root = isolated / ".claude"
    demo.install_sessions(data_root)
    return data_root
