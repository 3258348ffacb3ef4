"""The live dashboard answers its own pages on this machine, and nobody else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra serve is not installed")

from cli_support import ALL, FIX, Retro, retro, root, swept
from retro import config
from retro.dashboard.overview import Choice
from retro.dashboard.packing import unpacked
from retro.dashboard.serve import Served, application
from retro.ledger import calendar
from retro.places import Places

__all__ = ["retro", "root", "swept"]

PORT = 4711
TOKEN = "t0k"

Answer = tuple[int, dict[str, str], bytes]


@pytest.fixture
def get(swept: Retro, root: Path) -> Callable[..., Answer]:
    """Ask the application, as a browser would, for a path below the token."""
    served = Served(Places(str(root)), config.load(None, {}), {}, Choice(calendar.zone("UTC")), TOKEN, False)
    app = application(served, PORT)

    def ask(path: str, method: str = "GET", **headers: str) -> Answer:
        given = {"host": f"127.0.0.1:{PORT}", **headers}
        return asyncio.run(_ask(app, method, path, given))

    return ask


async def _ask(app: Any, method: str, path: str, headers: dict[str, str]) -> Answer:
    from urllib.parse import unquote

    said: list[dict[str, Any]] = []
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "server": ("127.0.0.1", PORT),
        "client": ("127.0.0.1", 1),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        said.append(message)

    await app(scope, receive, send)
    head = {name.decode(): value.decode() for name, value in said[0]["headers"]}
    return said[0]["status"], head, b"".join(message.get("body", b"") for message in said[1:])


def test_every_page_and_all_data_are_served(get: Callable[..., Answer]) -> None:
    status, head, body = get(f"/{TOKEN}/")
    assert (status, head["content-type"]) == (200, "text/html; charset=utf-8")
    assert b"app/core.js" in body
    policy = head["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert head["cache-control"] == "no-store"
    assert get(f"/{TOKEN}/app/main.js")[0] == 200
    status, _, body = get(f"/{TOKEN}/data/overview.js")
    assert status == 200
    shown = json.loads(unpacked(body))
    assert sorted(shown["sessions"]["id"]) == sorted(ALL)
    for family in ("session", "talk"):
        status, _, body = get(f"/{TOKEN}/data/{family}/0/claude/{FIX}.js")
        assert status == 200
        assert json.loads(unpacked(body))["names"] == [f"claude/{FIX}"]
    assert get(f"/{TOKEN}/data/transcript/claude/{FIX}/0.js")[0] == 200


@pytest.mark.parametrize(
    "path",
    ["/", "/wrong/", "/wrong/data/overview.js", f"/{TOKEN}x/", f"//{TOKEN}/", f"/data/overview.js?{TOKEN}"],
)
def test_without_the_token_there_is_nothing(get: Callable[..., Answer], path: str) -> None:
    assert get(path)[0] == 404


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": f"evil.example:{PORT}"},
        {"host": "127.0.0.1"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": f"https://127.0.0.1:{PORT}"},
    ],
)
def test_pages_of_others_and_other_names_of_this_machine_are_refused(
    get: Callable[..., Answer], headers: dict[str, str]
) -> None:
    status, _, body = get(f"/{TOKEN}/data/overview.js", **headers)
    assert status == 403
    assert b"retro.data" not in body


def test_its_own_origin_is_welcome(get: Callable[..., Answer]) -> None:
    assert get(f"/{TOKEN}/", origin=f"http://127.0.0.1:{PORT}", host=f"localhost:{PORT}")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_it_is_for_reading_only(get: Callable[..., Answer], method: str) -> None:
    assert get(f"/{TOKEN}/data/overview.js", method)[0] == 405


@pytest.mark.parametrize(
    "path",
    [
        "../../etc/passwd",
        "%2e%2e/%2e%2e/etc/passwd",
        "app/../../serve.py",
        "data/session/0/claude/../../x.js",
        "data/session/0/claude/none.js",
        "data/session/0/nobody/none.js",
        "data/session/0.js",
        f"data/talk/claude/{FIX}.js",
        f"data/transcript/claude/{FIX}/99.js",
        f"data/transcript/claude/{FIX}/-1.js",
        f"data/transcript/claude/{FIX}/²..js",
        "data/sessions/7.js",
        "data/.js",
        "index.html/",
    ],
)
def test_what_is_not_there_is_not_found(get: Callable[..., Answer], path: str) -> None:
    assert get(f"/{TOKEN}/{path}")[0] == 404
