"""The clients that can be asked: how each is called without a terminal, and where in its stream the answer stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from retro.mining.headless.prompt import SCHEMA


class Told(NamedTuple):
    """What a client's stream came to."""

    answer: str | None
    problem: str | None
    input_tokens: int
    output_tokens: int


class Client(NamedTuple):
    """A client. The prompt goes to its standard input, so that no process list shows it."""

    name: str
    program: str
    arguments: Callable[[str, str | None], list[str]]
    """Of the file with the schema, and the model that is wanted."""
    told: Callable[[Sequence[dict[str, Any]]], Told]


def objects(stream: bytes) -> list[dict[str, Any]]:
    """The JSON lines of a stream; what is none is passed over."""
    return list(_objects(stream))


def _objects(stream: bytes) -> Iterator[dict[str, Any]]:
    for line in stream.splitlines():
        try:
            found = msgspec.json.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        if isinstance(found, dict):
            yield found


def _count(told: object, *names: str) -> int:
    values = [told.get(name) for name in names] if isinstance(told, dict) else []
    return sum(value for value in values if isinstance(value, int))


# --- codex exec ------------------------------------------------------------------------------------------------------


def _codex_arguments(schema: str, model: str | None) -> list[str]:
    chosen = ["--model", model] if model else []
    apart = ["--ephemeral", "--skip-git-repo-check", "--sandbox", "read-only", "-c", "features.shell_tool=false"]
    return ["exec", "--json", "--output-schema", schema, *apart, *chosen, "-"]


def _codex_told(lines: Sequence[dict[str, Any]]) -> Told:
    answer = problem = None
    spent = [0, 0]
    for line in lines:
        kind, item = line.get("type"), line.get("item")
        if kind == "item.completed" and isinstance(item, dict) and item.get("type") == "agent_message":
            answer = str(item.get("text") or "")
        elif kind == "turn.completed":
            spent[0] += _count(line.get("usage"), "input_tokens")
            spent[1] += _count(line.get("usage"), "output_tokens")
        elif kind in ("error", "turn.failed"):
            error = line.get("error")
            problem = str(line.get("message") or (error.get("message") if isinstance(error, dict) else error))
    return Told(answer, problem if answer is None else None, *spent)


# --- claude -p -------------------------------------------------------------------------------------------------------


def _claude_arguments(schema: str, model: str | None) -> list[str]:
    chosen = ["--model", model] if model else []
    apart = ["--tools", "", "--strict-mcp-config", "--setting-sources", "", "--no-session-persistence"]
    told = msgspec.json.encode(SCHEMA).decode()  # it takes the schema itself, not a file
    return ["-p", "--output-format", "stream-json", "--verbose", "--json-schema", told, *apart, *chosen]


def _claude_told(lines: Sequence[dict[str, Any]]) -> Told:
    result = next((line for line in reversed(lines) if line.get("type") == "result"), None)
    if result is None:
        return Told(None, "it printed no result", 0, 0)
    spent = (
        _count(result.get("usage"), "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
        _count(result.get("usage"), "output_tokens"),
    )
    if result.get("is_error"):
        return Told(None, str(result.get("result") or result.get("subtype") or "it failed"), *spent)
    structured = result.get("structured_output")
    answer = msgspec.json.encode(structured).decode() if structured is not None else result.get("result")
    return Told(answer if isinstance(answer, str) else None, None, *spent)


CODEX: Final = Client("codex", "codex", _codex_arguments, _codex_told)
CLAUDE: Final = Client("claude", "claude", _claude_arguments, _claude_told)
METHODS: Final = {f"{client.name}_headless": client for client in (CODEX, CLAUDE)}
"""By the method that asks it."""
