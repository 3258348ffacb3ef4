"""The same pages, live on loopback: what the index says now, behind a token, for reading only."""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Mapping
from typing import Final, NamedTuple

import apsw
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from retro.config import Settings
from retro.dashboard import bundles, overview, searched
from retro.dashboard.contents import Contents
from retro.dashboard.overview import Choice, Row
from retro.dashboard.packing import as_script
from retro.dashboard.session_page import Wanted
from retro.dashboard.site import pages
from retro.failure import Failure
from retro.index.database import open_reader, rows
from retro.places import Places, safe_host

HOST: Final = "127.0.0.1"
LOOK: Final = 1.0
"""Seconds between two looks at the index."""
SWEEP: Final = 5.0
"""Seconds between two sweeps while somebody looks at the page."""

FRESH: Final = 300.0
"""Seconds after which the data of an archive that did not change is made again: what is due depends on the time."""
BESIDE: Final = ("patterns/patterns.json", "patterns/decisions.jsonl", "memories/items.jsonl", "memories/events.jsonl")
"""Files beside the index that the shared data is made of."""

KINDS: Final = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class Served(NamedTuple):
    """What is served, and how it is kept up to date."""

    places: Places
    settings: Settings
    env: Mapping[str, str]
    choice: Choice
    token: str
    sweeps: bool


class Live:
    """Answers requests from the index as it is."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._pages = dict(pages())
        self._watchers = 0
        self._making = threading.Lock()
        self._kept: tuple[object, Mapping[str, object]] | None = None
        self._until = 0.0

    def answer(self, path: str) -> tuple[bytes, str] | None:
        """What stands at a path below the token, and of which kind it is; None where there is nothing."""
        if path in self._pages:
            return self._pages[path], KINDS.get(path.rpartition(".")[2], "application/octet-stream")
        if path.startswith("data/") and path.endswith(".js"):
            name = path[len("data/") : -len(".js")]
            content = self._data(name)
            return None if content is None else (as_script(name, content), KINDS["js"])
        return None

    def _data(self, name: str) -> object:
        connection = open_reader(self._served.places)
        if connection is None:
            return None
        try:
            with connection:
                made = self._made(connection, name)
        finally:
            connection.close()
        return made

    def _made(self, connection: apsw.Connection, name: str) -> object:
        served = self._served
        contents = Contents(connection, served.places, served.choice)
        family, *rest = name.split("/")
        if family == "search":
            return searched.found(connection, "/".join(rest), served.choice)
        if family not in ("session", "talk", "transcript"):
            return self._shared(connection, contents).get(name)
        # The page names the session behind its bundle: nothing but that is made.
        if len(rest) != 3:
            return None
        host, file = rest[:2] if family == "transcript" else rest[1:]
        row = _session_of(connection, served.choice, host, file)
        if row is None:
            return None
        parts = contents.transcript(row.host, row.session_id)
        if family == "transcript":
            asked = rest[2]
            return parts[int(asked)] if asked.isascii() and asked.isdigit() and int(asked) < len(parts) else None
        return bundles.single(f"{host}/{file}", Wanted(row, len(parts)), contents.sessions)[family == "talk"]

    def _shared(self, connection: apsw.Connection, contents: Contents) -> Mapping[str, object]:
        """The files that are of no single session: made once for every state of the archive."""
        state = self._files()
        with self._making:
            if self._kept is None or self._kept[0] != state or time.monotonic() > self._until:
                found = overview.session_rows(connection, self._served.choice)
                self._kept = state, contents.overview(found, self._served.settings, self._served.env)
                self._until = time.monotonic() + FRESH
            return self._kept[1]

    def _files(self) -> tuple[object, ...]:
        """How the files look that the shared data is made of."""
        places = self._served.places
        names = [places.index, f"{places.index}-wal", places.state_log]
        names += [os.path.join(places.root, *name.split("/")) for name in BESIDE]
        return tuple((found.st_size, found.st_mtime_ns) if (found := _stat(name)) else None for name in names)

    async def changes(self) -> AsyncIterator[bytes]:
        """Tell of every commit to the index, and keep sweeping while somebody listens."""
        self._watchers += 1
        sweeper = asyncio.create_task(self._sweep()) if self._watchers == 1 and self._served.sweeps else None
        try:
            seen = await asyncio.to_thread(self._state)
            yield b"retry: 2000\n\n"
            while True:
                await asyncio.sleep(LOOK)
                state = await asyncio.to_thread(self._state)
                yield b"data: changed\n\n" if state != seen else b": still here\n\n"
                seen = state
        finally:
            self._watchers -= 1
            if sweeper is not None:
                sweeper.cancel()

    def _state(self) -> object:
        connection = open_reader(self._served.places)
        if connection is None:
            return None
        try:
            query = "SELECT count(*), max(captured), total(raw_bytes + normalized_bytes), total(events) FROM session"
            return next(rows(connection, query))
        finally:
            connection.close()

    async def _sweep(self) -> None:
        """Sweep in a process of its own, again and again; what fails is tried again."""
        command = [sys.executable, "-m", "retro", "--root", self._served.places.root]
        if os.path.exists(self._served.settings.file):
            command += ["--config", self._served.settings.file]
        while True:
            process = await asyncio.create_subprocess_exec(
                *command, "sweep", "--background", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )  # fmt: skip
            try:
                await process.wait()
            except asyncio.CancelledError:
                process.terminate()
                raise
            await asyncio.sleep(SWEEP)


def _session_of(connection: apsw.Connection, choice: Choice, host: str, file: str) -> Row | None:
    """The session whose files are called so."""
    found = [row for row in overview.session_rows(connection, choice) if safe_host(row.host) == host]
    return next((row for row in found if overview.file_name(row.session_id, choice) == file), None)


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


def application(served: Served, port: int) -> Starlette:
    """The application: every path stands below the token, every request comes from this machine's own pages."""
    live = Live(served)
    hosts = {f"{name}:{port}" for name in (HOST, "localhost")}
    origins = {f"http://{host}" for host in hosts}

    async def page(request: Request) -> Response:
        origin = request.headers.get("origin")
        if request.headers.get("host") not in hosts or (origin is not None and origin not in origins):
            return Response("not from here\n", 403, HEADERS)
        token, _, path = request.path_params["path"].partition("/")
        if not secrets.compare_digest(token.encode(), served.token.encode()):
            return Response("not found\n", 404, HEADERS)
        if path == "events":
            return StreamingResponse(live.changes(), headers=HEADERS, media_type="text/event-stream")
        found = await asyncio.to_thread(live.answer, path or "index.html")
        if found is None:
            return Response("not found\n", 404, HEADERS)
        return Response(found[0], 200, HEADERS, found[1])

    return Starlette(routes=[Route("/{path:path}", page, methods=["GET"])])


def serve(
    places: Places, settings: Settings, env: Mapping[str, str], choice: Choice, port: int, sweeps: bool
) -> Server:
    """A server that is ready to run; it has its port."""
    import socket

    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.bind((HOST, port))
    except OSError as error:
        listening.close()
        hint = "name another one with --port, or 0 for any"
        raise Failure("port", f"port {port} cannot be used: {error.strerror}", hint) from None
    found = listening.getsockname()[1]
    served = Served(places, settings, env, choice, secrets.token_urlsafe(18), sweeps)
    config = uvicorn.Config(
        application(served, found), log_level="error", access_log=False, lifespan="off", timeout_graceful_shutdown=1
    )
    return Server(f"http://{HOST}:{found}/{served.token}/", uvicorn.Server(config), listening)


class Server:
    """A server with its address."""

    def __init__(self, address: str, server: uvicorn.Server, listening: object) -> None:
        self.address = address
        self._server, self._listening = server, listening

    def run(self) -> None:
        """Answer until the person stops it."""
        self._server.run(sockets=[self._listening])  # type: ignore[list-item]

    def stop(self) -> None:
        """End it, from another thread."""
        self._server.should_exit = True
