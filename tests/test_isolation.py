"""The test suite's own promises: a home apart, no network, and a true record of what was started."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import AuditEvent, NetworkReached, recorder

UNREACHABLE = ("192.0.2.1", 9)


def test_the_home_folder_is_the_tests_own(isolated: Path, tmp_path: Path) -> None:
    assert Path.home() == isolated
    assert isolated.is_relative_to(tmp_path)
    assert "CLAUDE_CONFIG_DIR" not in os.environ
    assert "RETRO_ROOT" not in os.environ


def _connect() -> None:
    with socket.socket() as client:
        client.connect(UNREACHABLE)


def _send() -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as client:
        client.sendto(b"x", UNREACHABLE)


def _resolve() -> None:
    socket.getaddrinfo("retro.invalid", 443)


@pytest.mark.parametrize("reach", [_connect, _send, _resolve])
def test_no_test_reaches_another_machine(reach: Callable[[], None]) -> None:
    with pytest.raises(NetworkReached):
        reach()
    assert recorder.reached is not None
    recorder.reached = None


def test_loopback_is_allowed(audit: list[AuditEvent]) -> None:
    with socket.socket() as server, socket.socket() as client:
        server.bind(("127.0.0.1", 0))
        server.listen()
        client.connect(server.getsockname())
    assert [name for name, _ in audit] == ["socket.connect"]


def test_a_started_program_is_recorded(audit: list[AuditEvent]) -> None:
    subprocess.run([sys.executable, "-c", ""], check=True)
    assert "subprocess.Popen" in [name for name, _ in audit]
