"""GitHub Copilot in Visual Studio: its traces, where the spans of several conversations stand in one file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import ClassVar, Final, NamedTuple

from retro.agents import databases
from retro.agents.databases import canonical
from retro.agents.emitter import ALL, content_id
from retro.agents.fields import Fields, decode, first, items, mapping, moment, string, text_in, whole
from retro.agents.homes import existing_roots, files, homes, plain
from retro.agents.interface import RECORDS, ROWS, TRANSCRIPT, Facts, Known, Root, Row, Source, Unreadable, mark_of_rows
from retro.agents.plain import PlainReader, parsed
from retro.agents.plainfiles import MAIN, first_records, matching

__all__ = ["BOOKKEEPING_TYPES", "HOST", "META_NAME", "MOVED_BY", "NORMALISER", "UNCOUNTED", "claims", "discover"]

HOST: Final = "visualstudio"
NORMALISER: Final = 1
META_NAME: Final = "meta.json"
MOVED_BY: Final = ()

LOGS: Final = "VSGitHubCopilotLogs"
TRACES: Final = "traces"
NAME: Final = "*_VSGitHubCopilot_traces*.jsonl"
SERVICE: Final = "vs-copilot"
RESOURCE: Final = "resource"
SPAN: Final = "span"

BOOKKEEPING_TYPES: Final = {
    "resource": "the program that wrote the spans, and its version",
}
"""Rows that give no event, each with the reason."""

UNCOUNTED: Final = {"span.chat": "a request whose words are said elsewhere gives no event; the ledger has its tokens"}
"""Rows of which some give an event and some do not."""

_LONGEST: Final = 256 * 1024 * 1024
_NANOSECONDS: Final = 1e9


class Span(NamedTuple):
    """A span of a trace, and what it says of itself."""

    key: str
    conversation: str
    began: int
    value: Fields


# --- where -----------------------------------------------------------------------------------------------------------


def roots(env: Mapping[str, str], extra: Sequence[str]) -> list[Root]:
    """The logs among Windows' temporary files, and what the settings add."""
    local = [env.get("LOCALAPPDATA", ""), *(os.path.join(home, "AppData", "Local") for home in homes(env))]
    wanted = [(os.path.join(folder, "Temp", LOGS), "default") for folder in local if folder]
    return existing_roots(HOST, [*wanted, *((entry, "settings") for entry in extra)], _holds)


def _holds(folder: str) -> bool:
    return any(True for _ in matching(folder, f"{TRACES}/{NAME}"))


def retention(root: Root) -> int | None:
    """Windows deletes temporary files when it wants to; nothing says when."""
    return None


# --- what ------------------------------------------------------------------------------------------------------------


def discover(root: Root, known: Known) -> Iterator[Source]:
    """Every conversation that the files tell of; a file that cannot be read is told of at the end."""
    yield from _conversations(os.path.join(root.path, TRACES), known)


def _conversations(store: str, known: Known) -> Iterator[Source]:
    """What a file or a folder of them has of each conversation: those go on in the next file."""
    paths = _paths(store)
    mark = _mark(paths)
    found = databases.known_sources(known, store, mark)
    if found is not None:
        yield from found
        return
    problems: list[str] = []
    of_conversations: dict[str, list[Span]] = {}
    for span in _spans(paths, problems):
        of_conversations.setdefault(span.conversation, []).append(span)
    for conversation, spans in of_conversations.items():
        content = b"\n".join(canonical(span.value) for span in spans)
        stamp = (len(content), max(span.began for span in spans), mark_of_rows(content), 0)
        name = f"{ROWS}{store}#{conversation}"
        ids = (plain(conversation), MAIN, TRANSCRIPT, name, "trace.rows")
        marked = mark if not problems else 0
        yield Source(HOST, *ids, *stamp, form=RECORDS, store=store, store_mark=marked, copy=store)  # type: ignore[arg-type]
    if problems:
        raise Unreadable("; ".join(problems))


def _paths(store: str) -> list[str]:
    """A file, or those of a folder in the order of their beginnings."""
    if not os.path.isdir(store):
        return [store]
    return sorted((path for path, _ in matching(store, NAME)), key=lambda path: os.stat(path).st_mtime_ns)


def _mark(paths: list[str]) -> int:
    return mark_of_rows(repr([(path, databases.mark_of(path)) for path in paths]).encode("utf-8", "replace"))


def _spans(paths: list[str], problems: list[str]) -> list[Span]:
    """The spans in files, each once as it stands in the last of them, in the order of their beginnings."""
    found: dict[str, Span] = {}
    for path in paths:
        try:
            found.update((span.key, span) for span in _in_file(path, databases.mark_of(path)))
        except OSError as error:
            problems.append(f"{path}: {error.strerror}")
    return sorted(found.values(), key=lambda span: span.began)


@lru_cache(maxsize=64)
def _in_file(path: str, mark: int) -> list[Span]:
    """The spans in a file; a line that is none is one of the conversation before it."""
    found, before = list[Span](), Span("", "", 0, {})
    with open(path, "rb") as file:
        lines = file.read(_LONGEST).split(b"\n")
    for number, line in enumerate(lines[:-1]):
        spans = list(_in_line(line))
        if not spans and line.strip():
            value: Fields = {"text": line.decode("utf-8", "replace")}
            spans = [Span(f"{os.path.basename(path)}:{number}", before.conversation, before.began, value)]
        found += spans
        before = found[-1] if found else before
    return [span for span in found if span.conversation]


def _in_line(line: bytes) -> Iterator[Span]:
    try:
        told = mapping(decode(line))
    except (ValueError, RecursionError):
        return
    for resources in map(mapping, items(told.get("resourceSpans"))):
        resource = mapping(resources.get(RESOURCE))
        for scope in map(mapping, items(resources.get("scopeSpans"))):
            for span in map(mapping, items(scope.get("spans"))):
                about = attributes(span)
                trace, own = string(span.get("traceId")) or "", string(span.get("spanId")) or ""
                conversation = string(about.get("gen_ai.conversation.id")) or f"trace-{trace}"
                began = _nanoseconds(span.get("startTimeUnixNano"))
                yield Span(f"{trace}:{own}", conversation, began, span | {RESOURCE: resource})


def attributes(owner: Fields) -> Fields:
    """Attributes as OpenTelemetry writes them, by name."""
    found: Fields = {}
    for one in map(mapping, items(owner.get("attributes"))):
        value = mapping(one.get("value"))
        found[str(one.get("key"))] = next(iter(value.values()), None)
    return found


def _number(value: object) -> object:
    """A whole number, which JSON for protocol buffers has as a text."""
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 20 else value


def records(path: str, copy: str, since: int) -> Iterator[Row]:
    """The spans of a conversation; before them what wrote them."""
    conversation, resources, problems = path.rpartition("#")[2], set[bytes](), list[str]()
    spans = [span for span in _spans(_paths(copy), problems) if span.conversation == conversation]
    for span in spans:
        resource = canonical(mapping(span.value.get(RESOURCE)))
        if RESOURCE in span.value and resource not in resources:
            resources.add(resource)
            yield Row(RESOURCE, blake2b(resource, digest_size=8).hexdigest(), resource)
        value = {name: one for name, one in span.value.items() if name != RESOURCE}
        yield Row(SPAN, span.key, canonical(value))
    if problems:
        raise Unreadable("; ".join(problems))


# --- what a person names ---------------------------------------------------------------------------------------------


def claims(path: str) -> list[Source]:
    """What a path given by the user stands for: a file of traces, or a folder with some."""
    path = os.path.abspath(path)
    if os.path.isdir(path):
        if _holds(path):
            return list(discover(Root(HOST, path, "given"), {}))
        return [found for file, _ in files(path) if file.endswith(".jsonl") for found in claims(file)]
    if not path.endswith(".jsonl") or not os.path.isfile(path):
        return []
    for record in first_records(path)[:1]:
        for resources in map(mapping, items(record.get("resourceSpans"))):
            if attributes(mapping(resources.get(RESOURCE))).get("service.name") == SERVICE:
                return list(_conversations(path, {}))
    return []


def folder_of(source: Source) -> str | None:
    """Traces do not tell where it happened."""
    return None


def sidecar_facts(key: str, content: bytes) -> Facts | None:
    """Nothing is kept beside traces."""
    return None


# --- what it means ---------------------------------------------------------------------------------------------------


def reader(session_id: str, key: str, source_key: str, saved: bytes, facts: Facts) -> VisualStudioReader:
    """The reader of one conversation's spans."""
    return VisualStudioReader(session_id, source_key, saved, facts)


class VisualStudioReader(PlainReader):
    """Reads the spans of one conversation."""

    HOST: ClassVar[str] = HOST
    BOOKKEEPING_TYPES = BOOKKEEPING_TYPES
    UNCOUNTED = UNCOUNTED
    REMEMBERED: ClassVar[int] = ALL

    def locate(self, fields: Fields) -> str | None:
        """A span is known by its trace and its own id, wherever it is written again."""
        row = mapping(fields.get("row"))
        self.out.timestamp = _moment(row.get("startTimeUnixNano"))
        return f"{self.session_id}:{fields.get('key')}"

    def tell(self, fields: Fields) -> str:
        """Add what a span says."""
        table, row = string(fields.get("table")) or "(none)", mapping(fields.get("row"))
        about = attributes(row)
        if table == RESOURCE:
            self.written_by(about.get("service.version"))
        if table != SPAN or "text" in row:
            return table
        name = string(row.get("name")) or ""
        kind = string(about.get("gen_ai.operation.name")) or name.partition(" ")[0]
        self.use(first(about, "gen_ai.response.model", "gen_ai.request.model"))
        if kind == "chat":
            self._asked(about)
        elif kind == "execute_tool":
            self._called(row, about)
        elif kind == "invoke_agent":
            mode, by = first(about, "copilot_chat.mode"), first(about, "copilot_chat.initiator_type")
            self.notice(
                " ".join(filter(None, ("a turn", f"in mode {mode}" if mode else "", f"of {by}" if by else ""))), kind
            )
        return f"{SPAN}.{kind}"

    def _called(self, row: Fields, about: Fields) -> None:
        """A tool as it was called, and what came of it when it ended."""
        tool, call_id = first(about, "gen_ai.tool.name") or "tool", first(about, "gen_ai.tool.call.id")
        self.call(call_id, tool, about.get("gen_ai.tool.call.arguments"))
        result = about.get("gen_ai.tool.call.result")
        if result is None:
            return
        began, ended = self.out.timestamp, _moment(row.get("endTimeUnixNano"))
        self.out.timestamp = ended or began
        failed = mapping(row.get("status")).get("code") in (2, "STATUS_CODE_ERROR")
        self.result(call_id, text_in(parsed(result)), tool=tool, is_error=True if failed else None)

    def _prompted(self, about: Fields) -> None:
        """The prompt that a request goes back to, once: every request of its turn has it."""
        prompt = next(filter(None, (_text(one) for one in reversed(_messages(about, "input", "user")))), "")
        asked = first(about, "copilot_chat.root_request_id") or content_id(prompt.encode("utf-8", "replace"))
        own = self.out.identity
        if prompt and self.state.notes.setdefault(f"asked {asked}", own) == own:
            self.prompt(prompt)

    def _asked(self, about: Fields) -> None:
        """A request to the model: its prompt, what came back, and the tokens."""
        self._prompted(about)
        for message in _messages(about, "output", "assistant"):
            self.answer(_text(message))
        read, given = (
            _number(about.get("gen_ai.usage.cache_read.input_tokens")),
            _number(about.get("gen_ai.usage.input_tokens")),
        )
        self.spend(
            f"{self.session_id}:{self.out.identity}",
            fresh=max((whole(given) or 0) - (whole(read) or 0), 0),
            read=read,
            output=_number(about.get("gen_ai.usage.output_tokens")),
        )


def _messages(about: Fields, way: str, role: str) -> list[Fields]:
    """What was said to the model or by it, in one role; the calls in it are spans of their own."""
    try:
        told = decode((string(about.get(f"gen_ai.{way}.messages")) or "[]").encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return []
    return [message for message in map(mapping, items(told)) if message.get("role") == role]


def _text(message: Fields) -> str:
    parts = [mapping(part) for part in items(message.get("parts"))]
    return "\n".join(
        filter(None, (string(part.get("content")) for part in parts if part.get("type") == "text"))
    ).strip()


def _moment(value: object) -> str | None:
    nanoseconds = _nanoseconds(value)
    return moment(nanoseconds / _NANOSECONDS) if nanoseconds else None


def _nanoseconds(value: object) -> int:
    """A time since 1970; 0 where it is none."""
    number = _number(value)
    return number if isinstance(number, int) and 0 < number < 1 << 63 else 0
