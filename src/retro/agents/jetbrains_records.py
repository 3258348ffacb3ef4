"""What Copilot's plug-in for JetBrains' IDEs writes means: events of today, recovered documents of before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar, Final

import msgspec

from retro.agents.chats import ChatReader
from retro.agents.fields import (
    Fields,
    decode,
    first,
    first_words,
    items,
    mapping,
    parted,
    string,
    text_in,
    whole,
    words,
)
from retro.agents.interface import Batch, Verdict
from retro.agents.jetbrains_kinds import BOOKKEEPING_TYPES, HOST, RECOVERED, SESSION, STORE, TEXT, TURN, UNCOUNTED
from retro.agents.plain import time_of

_REQUEST: Final = ("<userRequest>", "</userRequest>")


class JetBrainsReader(ChatReader):
    """Reads a partition of a conversation, a chat's rows, or what was recovered of a session."""

    HOST: ClassVar[str] = HOST
    BOOKKEEPING_TYPES = BOOKKEEPING_TYPES
    UNCOUNTED = UNCOUNTED

    def feed(self, record: bytes, line: int, offset: int, batch: Batch) -> Verdict:
        """Add what a record gives; what was recovered says that it is uncertain."""
        before = len(batch.events)
        found = super().feed(record, line, offset, batch)
        if found.kind in RECOVERED:
            for event in batch.events[before:]:
                event.payload = {**(event.payload or {}), "confidence": "low"}
        return found

    def locate(self, fields: Fields) -> str | None:
        """An event says when it was and has an id; a row is known by its key."""
        if "table" in fields:
            return super().locate(fields)
        self.out.timestamp = time_of(fields.get("timestamp"))
        return string(fields.get("id"))

    def tell(self, fields: Fields) -> str:
        """Add what a record says."""
        table, row = string(fields.get("table")), mapping(fields.get("row"))
        if table == STORE:
            self._store(row)
        elif table == SESSION:
            self.facts.host_title = self.facts.host_title or string(row.get("title"))
        elif table == TURN:
            self._turn(row)
        elif table == TEXT:
            self.attach(text_in(row.get("text")), "recovered")
        if table in RECOVERED:
            return str(table)
        if table is not None:
            return super().tell(fields)
        return self._event(string(fields.get("type")) or "(none)", mapping(fields.get("data")))

    # Today: events.

    def _event(self, kind: str, data: Fields) -> str:
        read = EVENTS.get(kind)
        if read is not None:
            read(self, data)
        return kind

    def begin(self, data: Fields) -> None:
        """`partition.created`."""
        self.start("a conversation", source=data.get("source"), partition=data.get("partitionId"))

    def asked(self, data: Fields) -> None:
        """`user.message`."""
        self.prompt(words(data.get("content")))

    def rendered(self, data: Fields) -> None:
        """`user.message_rendered`: the prompt again, with what the host put around it."""
        _, pieces = parted(words(data.get("renderedMessage")), *_REQUEST)
        around = "".join([pieces[0], *(piece.lstrip() for piece in pieces[1:])]).strip()
        if around:
            self.inject(around, "rendered")

    def choose(self, data: Fields) -> None:
        """`assistant.turn_start`."""
        self.use(data.get("model"))

    def answered(self, data: Fields) -> None:
        """`assistant.message`."""
        self.use(data.get("model"))
        self.think(text_in(mapping(data.get("thinking")).get("text")))
        self.answer(first_words(data, "text", "content") or "")

    def called(self, data: Fields) -> None:
        """`tool.execution_start`."""
        self.call(string(data.get("toolCallId")), string(data.get("toolName")) or "tool", data.get("arguments"))

    def ended(self, data: Fields) -> None:
        """`assistant.turn_end`: news where it did not go well."""
        status = string(data.get("status"))
        if status not in (None, "success"):
            self.fail(first_words(data, "error", "message") or f"the turn ended: {status}", "assistant.turn_end")

    def returned(self, data: Fields) -> None:
        """`tool.execution_complete`."""
        result = mapping(data.get("result"))
        text = text_in(result.get("result") if "result" in result else data.get("result")) or text_in(data.get("error"))
        success = data.get("success")
        failed = not success if isinstance(success, bool) else None
        self.result(string(data.get("toolCallId")), text, is_error=failed)

    # Before: documents.

    def _store(self, row: Fields) -> None:
        name, documents, size = text_in(row.get("name")), whole(row.get("documents")), whole(row.get("bytes")) or 0
        what = f"{documents:,} documents were recovered" if documents else "nothing could be read but texts"
        self.start(f"{name}, {size:,} bytes: {what}", name=name, bytes=size, documents=documents)

    def _turn(self, row: Fields) -> None:
        """A question with its answer: a text, or what the window showed, JSON within JSON."""
        self.out.timestamp = time_of(row.get("created"))
        asked = words(row.get("request")) or "\n".join(text for _, text in shown(row.get("request_contents")) if text)
        if asked:
            self.prompt(asked)
        said: set[str] = set()
        for kind, data in _parts(row.get("response_contents")):
            if kind == "AgentRound":
                self._round(data, said)
            elif kind in ("Error", "error"):
                self.fail(first_words(data, "message", "text") or text_in(data), "error")
            elif text := first_words(data, "text", "markdown", "content"):
                self._say(text, said)
        if text := words(row.get("response")):
            self._say(text, said)

    def _say(self, text: str, said: set[str]) -> None:
        """What the agent said; the window holds some of it twice."""
        if text not in said:
            said.add(text)
            self.answer(text)

    def _round(self, data: Fields, said: set[str]) -> None:
        if reply := words(data.get("reply")):
            self._say(reply, said)
        for number, one in enumerate(items(data.get("toolCalls"))):
            call = mapping(one)
            name = first(call, "id", "toolCallId") or f"{self.out.identity}:{data.get('roundId')}:{number}"
            given = next((call[key] for key in ("input", "arguments", "args") if key in call), None)
            self.call(name, first(call, "name", "toolName") or "tool", given)
            result = text_in(call.get("result")) or text_in(call.get("error"))
            if result:
                self.result(name, result, is_error=True if call.get("error") else None)


EVENTS: Final[dict[str, Callable[[JetBrainsReader, Fields], None]]] = {
    "partition.created": JetBrainsReader.begin,
    "user.message": JetBrainsReader.asked,
    "user.message_rendered": JetBrainsReader.rendered,
    "assistant.turn_start": JetBrainsReader.choose,
    "assistant.message": JetBrainsReader.answered,
    "assistant.turn_end": JetBrainsReader.ended,
    "tool.execution_start": JetBrainsReader.called,
    "tool.execution_complete": JetBrainsReader.returned,
}
"""What each type of event says."""


def shown(contents: object) -> Iterator[tuple[str, str]]:
    """The kind and the text of everything that the window showed."""
    for kind, data in _parts(contents):
        yield kind, first_words(data, "text", "reply", "message") or ""


def _parts(value: object, depth: int = 12) -> Iterator[tuple[str, Fields]]:
    """The parts of what the window showed, in order, however deep they are wrapped."""
    value = _parsed(value)
    if isinstance(value, dict) and depth:
        kind = string(value.get("type"))
        if kind is not None and "data" in value:
            data = _parsed(value["data"])
            yield kind, data if isinstance(data, dict) else {"data": data}
        elif kind is not None and "value" in value:
            yield from _parts(value["value"], depth - 1)
        elif kind is not None:
            yield kind, value
        else:
            for one in value.values():
                yield from _parts(one, depth - 1)
    elif isinstance(value, list) and depth:
        for one in value:
            yield from _parts(one, depth - 1)


def _parsed(value: object) -> object:
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return decode(value.encode("utf-8", "replace"))
        except (msgspec.DecodeError, RecursionError):
            return value
    return value
