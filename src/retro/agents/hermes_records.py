"""What Hermes' messages mean: rows of its database, members of a document, lines of a log, all of one form."""

from __future__ import annotations

import re
from typing import ClassVar, Final

import msgspec

from retro.agents.blocks import answered
from retro.agents.emitter import ALL
from retro.agents.fields import Fields, as_text, decode, first, first_words, items, mapping, string, text_in, whole
from retro.agents.hermes_kinds import BOOKKEEPING_TYPES, HOST, UNCOUNTED
from retro.agents.interface import Facts
from retro.agents.plain import PlainReader, exit_in, parsed, spoken, time_of, zoned

_ENCODED: Final = "\0json:"
"""Begins a content that was no plain text: the JSON of its blocks follows."""

_COMPACTED: Final = ("[CONTEXT COMPACTION", "[CONTEXT SUMMARY]")
_SKILL: Final = "[IMPORTANT: The user has invoked the "
_ASKED: Final = "The user has provided the following instruction alongside the skill invocation: "
_BUNDLE: Final = re.compile(r"\nUser instruction: (.*?)\n\n\[Loaded as part of the ", re.DOTALL)
_NOTE: Final = "\n\n[Runtime note:"
_TOKENS: Final = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
_MACHINE: Final = "cron"
"""Where sessions come from that nobody typed into."""


class HermesReader(PlainReader):
    """Reads one session, one of its sub-agents, or its file."""

    HOST: ClassVar[str] = HOST
    BOOKKEEPING_TYPES = BOOKKEEPING_TYPES
    UNCOUNTED = UNCOUNTED
    REMEMBERED: ClassVar[int] = ALL

    def __init__(self, session_id: str, key: str, source: str, saved: bytes, facts: Facts) -> None:
        agent = key.removeprefix("agent-") if key.startswith("agent-") else None
        super().__init__(session_id, source, saved, facts, agent)
        self._name = agent or session_id

    def locate(self, fields: Fields) -> str | None:
        """Rows have a key; lines and items of a document have none."""
        row = mapping(fields.get("row"))
        self.out.timestamp = time_of(row.get("timestamp") or row.get("started_at") or row.get("last_seen"))
        if row:
            return f"{self._name}:{fields.get('table')}:{fields.get('key')}"
        message = mapping(fields.get("value")) or fields
        self.out.timestamp = zoned(message.get("timestamp"))
        return None

    def tell(self, fields: Fields) -> str:
        """Add what a row says, a member of the document or one of its messages, or a line."""
        table = string(fields.get("table"))
        if table == "session_model_usage":
            self._spent(fields)
        elif table == "sessions":
            self._session(mapping(fields.get("row")))
        elif table == "messages":
            return self._message(mapping(fields.get("row")))
        elif table is None and "role" in fields:
            return self._message(fields)
        elif table is None and fields.get("item") and fields.get("name") == "messages":
            return self._message(mapping(fields.get("value")))
        elif table is None:
            return self._member(fields)
        return table

    # What a session is.

    def _session(self, row: Fields) -> None:
        self.use(row.get("model"))
        self.work_in(row.get("cwd"), row.get("git_branch"))
        self.out.shared = self.out.where(self.state.cwd, self.state.branch)
        given = row.get("title_source") == "user"
        self.state.notes["from"] = string(row.get("source")) or ""
        if self.out.agent_id is None:
            self.facts.parent = string(row.get("parent_session_id"))
            title = string(row.get("title"))
            self.facts.title, self.facts.host_title = (title, None) if given else (None, title)
        self.start("session started", **{"from": row.get("source"), "end_reason": row.get("end_reason")})
        self._rest(row)

    def _member(self, fields: Fields) -> str:
        """A member of the document."""
        name, value = string(fields.get("name")) or "(none)", fields.get("value")
        if name == "session_start":
            self.out.timestamp = zoned(value)
            self.facts.native_start = self.out.timestamp
            self.start("session started", local_time=None if self.out.timestamp else value)
        elif name == "model":
            self.use(value)
        elif name == "cwd":
            self.work_in(value)
        elif name == "model_config":
            self.work_in(mapping(value).get("cwd"))
        elif name == "platform":
            self.state.notes["from"] = string(value) or ""
        return name

    # What is said.

    def _message(self, row: Fields) -> str:
        role, content = string(row.get("role")) or "(none)", _content(row.get("content"))
        if role == "session_meta":
            self.use(row.get("model"))
            self.state.notes["from"] = string(row.get("platform")) or self.state.notes.get("from", "")
        elif role == "assistant":
            self._answer(row, content)
        elif role == "tool":
            self._result(row, content)
        elif role == "user":
            self._user(row, content)
        elif role == "system" and (text := text_in(content)):
            self.inject(text, role)
        return f"message.{role}"

    def _user(self, row: Fields, content: object) -> None:
        text, images = spoken(content)
        if row.get("_compressed_summary") or text.startswith(_COMPACTED):
            self.compacted(text)
        elif row.get("display_kind") == "hidden" or row.get("observed"):
            self.inject(text, "observed" if row.get("observed") else "hidden")
        elif self.state.notes.get("from") == _MACHINE and text:
            self.notice(text, _MACHINE)
        else:
            typed = _typed(text)
            if typed != text:
                self.inject(text, "skill")
            if typed.strip() or images:
                self.prompt(typed, images=images, local_time=_local(row))

    def _answer(self, row: Fields, content: object) -> None:
        if row.get("_compressed_summary") or (isinstance(content, str) and content.startswith(_COMPACTED)):
            self.compacted(text_in(content))
            return
        thought = first_words(row, "reasoning", "reasoning_content")
        details = [] if thought else [text_in(one) for one in items(_list(row.get("reasoning_details")))]
        self.think(thought or "\n".join(filter(None, details)))
        answered(self, content if isinstance(content, (str, list)) else text_in(content))
        for one in items(_list(row.get("tool_calls"))):
            call = mapping(one)
            named = mapping(call.get("function")) or call
            given = next((named[name] for name in ("arguments", "input") if name in named), None)
            self.call(first(call, "id", "call_id"), first(named, "name") or "tool", given)

    def _result(self, row: Fields, content: object) -> None:
        """What a tool gave: text, or an object with its output, exit code and error."""
        told = mapping(parsed(content))
        text = text_in(content) if not told else first_words(told, "output", "error", "content") or as_text(content)
        failed = True if string(told.get("error")) else None
        self.result(
            string(row.get("tool_call_id")), text, tool=first(row, "tool_name", "name"),
            is_error=failed, exit_code=exit_in(told),
        )  # fmt: skip

    # Tokens.

    def _spent(self, fields: Fields) -> None:
        """What a model took for a session, in all; it grows in place."""
        row, key = mapping(fields.get("row")), as_text(fields.get("key"))
        self.use(row.get("model"))
        self.state.notes[f"used {key}"] = " ".join(str(whole(row.get(name)) or 0) for name in _TOKENS)
        self._tokens(f"{self._name}:{key}", string(row.get("model")), [whole(row.get(name)) or 0 for name in _TOKENS])

    def _rest(self, row: Fields) -> None:
        """What a session took beside that: older versions told no models apart."""
        told = [note.split() for name, note in self.state.notes.items() if name.startswith("used ")]
        known = [sum(int(numbers[place]) for numbers in told) for place in range(len(_TOKENS))]
        rest = [max((whole(row.get(name)) or 0) - by, 0) for name, by in zip(_TOKENS, known, strict=True)]
        self._tokens(self._name, string(row.get("model")), rest)

    def _tokens(self, name: str, model: str | None, numbers: list[int]) -> None:
        fresh, read, written, output, reasoning = numbers
        self.spend(name, model, fresh=fresh, read=read, written=written, output=output, reasoning=reasoning)


def _content(value: object) -> object:
    """A content as it was before it was put into a column."""
    if isinstance(value, str) and value.startswith(_ENCODED):
        try:
            return decode(value[len(_ENCODED) :].encode("utf-8", "replace"))
        except (msgspec.DecodeError, RecursionError):
            return value
    return value


def _list(value: object) -> object:
    """A list, where a column has it as text."""
    if isinstance(value, str) and value.lstrip()[:1] == "[":
        try:
            return decode(value.encode("utf-8", "replace"))
        except (msgspec.DecodeError, RecursionError):
            return []
    return value


def _typed(text: str) -> str:
    """What a person typed to call a skill: its text stands around it."""
    if not text.startswith(_SKILL):
        return text
    bundle = _BUNDLE.search(text)
    at = text.rfind(_ASKED)
    if bundle:
        return bundle[1].strip()
    return text[at + len(_ASKED) :].split(_NOTE, 1)[0].strip() if at >= 0 else ""


def _local(row: Fields) -> object:
    """A time that does not say its zone."""
    stamp = row.get("timestamp")
    return stamp if isinstance(stamp, str) and zoned(stamp) is None else None
