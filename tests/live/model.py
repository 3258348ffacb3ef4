"""A scripted model on loopback, in the protocols that the clients speak, always streamed where they ask for it."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from types import TracebackType
from urllib.parse import urlsplit

import msgspec
import zstandard

from live.more_protocols import asked_chat, asked_gemini, chat_stream, gemini_stream, gemini_whole
from live.protocols import Ask, Json, Tokens, asked_claude, asked_responses, claude_stream, response_stream
from live.script import Lane, Reply


class Served(msgspec.Struct):
    """A request, and what it was given."""

    identity: str
    """The id of the message or response."""
    lane: str
    """Its words; empty where no lane fitted."""
    number: int
    """Which reply of the lane."""
    model: str
    prompt: str
    heard: list[str]
    """Every text of the conversation that the client sent along."""
    tokens: Tokens | None = None
    """None where there was no whole answer."""
    aside: bool = False


PROTOCOLS = {
    "messages": (asked_claude, claude_stream),
    "responses": (asked_responses, response_stream),
    "completions": (asked_chat, chat_stream),
    "streamGenerateContent": (asked_gemini, gemini_stream),
    "generateContent": (asked_gemini, gemini_stream),
}
"""By the last part of the path."""


# --- serving ---------------------------------------------------------------------------------------------------------


class Model:
    """The model for the length of a `with`: serves at `url`, and remembers what it was asked and gave."""

    def __init__(self, lanes: Sequence[Lane]) -> None:
        self.served: list[Served] = []
        self.elsewhere: list[str] = []
        """Requests to anything but the model, which nobody answered."""
        self._lanes = lanes
        self._numbers = [count() for _ in lanes]
        self._requests = count(1)
        self._changed = threading.Condition()
        self.ended = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"scripted": self}))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Model:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()

    def choose(self, ask: Ask) -> tuple[Served, Reply]:
        """The next reply of the first lane that fits and has one."""
        with self._changed:
            serial = next(self._requests)
            served = Served(f"{int(time.time())}{serial:04}", "", 0, ask.model, ask.prompt, ask.heard)
            reply = Reply("There is nothing in the script for this.")
            for lane, numbers in zip(self._lanes, self._numbers, strict=True):
                if not _fits(lane, ask):
                    continue
                number = next(numbers)
                if number < len(lane.replies) or lane.repeat:
                    served.lane, served.number, served.aside = lane.words, number, lane.aside
                    reply = lane.replies[min(number, len(lane.replies) - 1)]
                    break
            if not reply.error and not reply.held:
                served.tokens = handed_out(serial, reply)
            self.served.append(served)
            self._changed.notify_all()
            return served, reply

    def wait_for(self, words: str, number: int, seconds: float) -> None:
        """Wait until the n-th request of a lane has come."""

        def came() -> bool:
            return any(one.lane == words and one.number == number for one in self.served)

        with self._changed:
            if not self._changed.wait_for(came, seconds):
                raise TimeoutError(f'request {number} under "{words}" did not come within {seconds:g} s')


def _fits(lane: Lane, ask: Ask) -> bool:
    """Whether a request stands under a lane's words; a client's own are the last that it sends."""
    where = "".join(ask.heard[-1:]) if lane.aside else ask.prompt
    return lane.words in where and lane.model in ask.model and lane.tool in ask.tools


def handed_out(serial: int, reply: Reply) -> Tokens:
    """Counts that no other request has."""
    fresh = reply.full or 1000 + serial
    return Tokens(fresh, 200 + serial, 300 + serial, 4000 + serial, 50 + serial, 7 + serial if reply.thinking else 0)


class Handler(BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"
    scripted: Model

    def log_message(self, format: str, *values: object) -> None:
        """Say nothing: the model remembers all."""

    def do_HEAD(self) -> None:
        """A client looks whether anybody is there."""
        self._give({})

    def do_GET(self) -> None:
        """Lists of models, and whatever else; the clients bring their own."""
        self.scripted.elsewhere.append(f"GET {self.path}")
        self._give({"data": [], "models": [], "has_more": False})

    def do_POST(self) -> None:
        """A request to the model."""
        body = self._body()
        last = urlsplit(self.path).path.rpartition("/")[2]
        model, _, method = last.rpartition(":")
        protocol = PROTOCOLS.get(method)
        if protocol is None:
            self.scripted.elsewhere.append(f"POST {self.path}")
            return self._give({"error": {"type": "not_found_error", "message": self.path}}, 404)
        read, stream = protocol
        ask = read({"model": model, **json.loads(body)})
        served, reply = self.scripted.choose(ask)
        if reply.error:
            error = {"type": "overloaded_error" if reply.error == 529 else "invalid_request_error", "code": reply.error}
            return self._give({"type": "error", "error": {**error, "message": reply.text}}, reply.error)
        if reply.held:
            self.scripted.ended.wait()
        if served.tokens is not None:
            answer = stream(served.identity, reply, served.tokens, ask.model)
            if method == "generateContent":
                return self._give(gemini_whole(answer))
            self._stream(answer, ends=method == "completions")
        return None

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            data = b""
            while size := int(self.rfile.readline().partition(b";")[0], 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        coding = self.headers.get("Content-Encoding")
        if coding == "gzip":
            return gzip.decompress(data)
        return zstandard.ZstdDecompressor().decompressobj().decompress(data) if coding == "zstd" else data

    def _give(self, answer: Json, status: int = 200) -> None:
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, events: Iterator[Json], *, ends: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for event in events:
                name = f"event: {event['type']}\n" if "type" in event else ""
                self._chunk(f"{name}data: {json.dumps(event)}\n\n".encode())
            if ends:
                self._chunk(b"data: [DONE]\n\n")
            self._chunk(b"")
        except OSError:  # the client was killed
            self.close_connection = True

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()
