"""Asking a client about one session: its stream is kept, and the same summary is not asked about twice."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

import msgspec

from retro import secrets
from retro.failure import Failure
from retro.mining.base import Headless, MemoryCandidate, Options, Trace
from retro.mining.headless.clients import METHODS, Client, Told, objects
from retro.mining.headless.prompt import SCHEMA, lessons, prompt
from retro.mining.headless.summary import Summary, summary
from retro.places import Places, make_private_dir, safe_host, safe_name, write_private

LARGEST: Final = 16 * 1024 * 1024
"""Bytes of a stream that are kept."""

NEEDED: Final = 3
"""Steps; a session with fewer is not worth a question."""


class Receipt(msgspec.Struct, omit_defaults=True):
    """What was asked and came back, beside the stream."""

    at: str
    asked: str
    """The hash of the prompt and the model."""
    seconds: float
    exit_code: int
    input_tokens: int = 0
    output_tokens: int = 0
    lessons: int = 0
    problem: str | None = None


class Question(NamedTuple):
    """What would be asked about a session."""

    method: str
    host: str
    session_id: str
    command: str
    prompt: str


def question(method: str, trace: Trace, headless: Headless) -> Question | None:
    """What would be asked; None of a session that is too short."""
    of = _worth_asking(trace)
    client = METHODS[method]
    line = [client.program, *client.arguments("SCHEMA.json", headless.model)]
    return Question(method, trace.host, trace.session_id, shlex.join(line), prompt(of)) if of else None


def ask(client: Client, traces: Sequence[Trace], options: Options) -> Iterator[MemoryCandidate]:
    """What a client says that sessions teach. What goes wrong is a `Failure`."""
    if options.headless is None:
        raise Failure("usage", f"{client.name}_headless runs only where it is named", "retro mine HOST ID --method …")
    for trace in traces:
        of = _worth_asking(trace)
        if of is not None:
            yield from _asked(client, trace, of, options.headless)


def is_answered(method: str, trace: Trace, headless: Headless) -> bool:
    """Whether the very same was asked before, and was answered."""
    of = _worth_asking(trace)
    if of is None:
        return True
    receipt = _receipt(_path(METHODS[method], trace, headless.root, "json"))
    return receipt is not None and receipt.problem is None and receipt.asked == _hash(prompt(of), headless.model)


def _worth_asking(trace: Trace) -> Summary | None:
    return summary(trace) if len(trace.steps) >= NEEDED and trace.prompts else None


def _asked(client: Client, trace: Trace, of: Summary, headless: Headless) -> list[MemoryCandidate]:
    asked = prompt(of)
    began = time.monotonic()
    stream, code, complaint = _run(client, asked, headless)
    told = client.told(objects(stream))
    receipt = Receipt(
        time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        _hash(asked, headless.model),
        round(time.monotonic() - began, 1),
        code,
        told.input_tokens,
        told.output_tokens,
    )
    found: list[MemoryCandidate] = []
    try:
        if told.answer is None or code:
            raise ValueError(_why(told, code, complaint))
        found = lessons(told.answer, f"{client.name}_headless", trace, of)
    except ValueError as error:
        receipt.problem = secrets.visible(secrets.mask(str(error)).text)[:400]
    receipt.lessons = len(found)
    _keep(client, trace, headless.root, stream, receipt)
    if receipt.problem is not None:
        raise Failure("client_failed", f"{client.program}: {receipt.problem}", f"{client.program} login, or --model")
    return found


def _why(told: Told, code: int, complaint: str) -> str:
    said = complaint.strip().splitlines()
    return told.problem or (said[-1] if said else "") or f"it gave no answer (exit code {code})"


# --- running ---------------------------------------------------------------------------------------------------------


def _run(client: Client, asked: str, headless: Headless) -> tuple[bytes, int, str]:
    """Start the client in an empty folder of its own. It ends with its time, whatever it does."""
    program = shutil.which(client.program)
    if program is None:
        hint = f"install it, or take another method: retro methods lists them ({client.program} is looked for on PATH)"
        raise Failure("not_found", f"{client.program} is not installed", hint)
    with tempfile.TemporaryDirectory(prefix="retro-") as folder:
        schema = os.path.join(folder, "schema.json")
        with open(schema, "wb") as file:
            file.write(msgspec.json.encode(SCHEMA))
        empty = os.path.join(folder, "empty")
        os.mkdir(empty)
        process = subprocess.Popen(  # noqa: S603 - the user named this method, and no shell reads the line
            [program, *client.arguments(schema, headless.model)],
            cwd=empty,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=os.name == "posix",
        )
        try:
            out, complaint = process.communicate(asked.encode("utf-8", "replace"), timeout=headless.timeout_seconds)
        except subprocess.TimeoutExpired:
            _end(process)
            return b"", -1, f"no answer within {headless.timeout_seconds:g} s"
        except BaseException:
            _end(process)
            raise
    return out[:LARGEST], process.returncode, complaint[-4096:].decode("utf-8", "replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a client with everything that it started."""
    try:
        if sys.platform != "win32":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except ProcessLookupError:
        pass
    process.communicate()


# --- keeping ---------------------------------------------------------------------------------------------------------


def _path(client: Client, trace: Trace, root: str, suffix: str) -> str:
    folder = os.path.join(root, "headless", f"{client.name}_headless", safe_host(trace.host))
    return os.path.join(folder, f"{safe_name(trace.session_id)}.{client.name}.{suffix}")


def _keep(client: Client, trace: Trace, root: str, stream: bytes, receipt: Receipt) -> None:
    places = Places(root)
    path = _path(client, trace, root, "jsonl")
    make_private_dir(os.path.dirname(path))
    lines: Iterable[str] = stream.decode("utf-8", "replace").splitlines()
    masked = "".join(f"{secrets.mask(line).text}\n" for line in lines)
    write_private(places.checked_session(path), masked.encode("utf-8", "replace"), sync=False)
    receipt_path = places.checked_session(_path(client, trace, root, "json"))
    write_private(receipt_path, msgspec.json.encode(receipt) + b"\n", sync=False)


def _receipt(path: str) -> Receipt | None:
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=Receipt)
    except (OSError, msgspec.MsgspecError):
        return None


def _hash(asked: str, model: str | None) -> str:
    return blake2b(f"{model or ''}\0{asked}".encode("utf-8", "replace"), digest_size=12).hexdigest()
