"""What the messages of an editor's chat mean: bare ones, those in an envelope, questions with their answers."""

from __future__ import annotations

from typing import ClassVar, Final

from retro.agents.blocks import RESULTS, answered, asked
from retro.agents.chatfiles import CHAT, ENTRY, MESSAGE, UNCOUNTED
from retro.agents.emitter import ALL
from retro.agents.fields import Fields, blocks, first, first_words, items, mapping, string, text_in, whole
from retro.agents.plain import PlainReader

_ABOUT: Final = ("save_id", "adapter", "updated_at", "timestamp", "cycle", "todos", "memory")
_OURS: Final = frozenset({"assistant", "llm", "model"})


class ChatReader(PlainReader):
    """Reads the rows of one chat. What it has no time of has none."""

    REMEMBERED: ClassVar[int] = ALL
    UNCOUNTED = UNCOUNTED

    def locate(self, fields: Fields) -> str | None:
        """A row is known by its key."""
        return f"{self.session_id}:{fields.get('table')}:{fields.get('key')}"

    def tell(self, fields: Fields) -> str:
        """Add what a row says."""
        table, row = string(fields.get("table")) or "(none)", mapping(fields.get("row"))
        if table == CHAT:
            self._chat(row)
        elif table == MESSAGE:
            self._message(row)
        elif table == ENTRY:
            self._entry(row)
        return table

    def _chat(self, row: Fields) -> None:
        settings = mapping(row.get("settings"))
        title = string(row.get("title"))
        self.facts.host_title = title if title != "untitled" else None
        self.work_in(first(row, "project_root", "cwd"))
        self.use(first(settings, "model") or row.get("model"))
        self.out.shared = self.out.where(self.state.cwd, self.state.branch)
        about = {name: row[name] for name in _ABOUT if isinstance(row.get(name), (str, int, float))}
        self.start(title or "a chat", **about)

    def _entry(self, row: Fields) -> None:
        """A question with its answer, as older versions keep them."""
        self.use(row.get("model"))
        question, answer = first_words(row, "request"), first_words(row, "original_response", "response")
        if question:
            self.prompt(question, local_time=row.get("timestamp"), files=row.get("selected_filepaths"))
        if answer:
            self.answer(answer)

    def _message(self, row: Fields) -> None:
        """A message, bare or in an envelope."""
        inner = mapping(row.get("message")) or row
        role, content = string(inner.get("role")) or "(none)", inner.get("content")
        self.use(first(inner, "model") or row.get("model"))
        if role in _OURS:
            self._answer(inner, content)
        elif role == "tool" or first(inner, "tool_call_id"):
            self._result(inner, content)
        elif role == "user":
            self._user(row, content)
        elif text := text_in(content):
            self.inject(text, role)

    def _user(self, row: Fields, content: object) -> None:
        """What a person wrote; what the plug-in put beside it is marked as hidden, tagged, or not submitted."""
        options = mapping(row.get("opts")) | mapping(row.get("_meta"))
        tag = first(options, "tag", "context_id", "reference")
        hidden = options.get("visible") is False or row.get("visible") is False
        submitted = row.get("is_user_submission", True) and not row.get("is_dummy")
        kinds = {string(block.get("type")) for block in blocks(content)}
        if kinds & RESULTS:
            asked(self, content)
        elif hidden or tag or not submitted:
            if text := text_in(content):
                self.inject(text, tag or "context")
        elif (text := text_in(content)).strip():
            self.prompt(text, local_time=row.get("timestamp"))

    def _answer(self, message: Fields, content: object) -> None:
        thought = message.get("reasoning") or message.get("reasoning_content")
        if thought:
            self.think(text_in(thought))
        answered(self, content)
        tools = mapping(message.get("tools"))
        for one in items(message.get("tool_calls")) or items(tools.get("calls")):
            call = mapping(one)
            named = mapping(call.get("function")) or call
            given = next((named[name] for name in ("arguments", "input", "args") if name in named), None)
            self.call(self._call_id(call), string(named.get("name")) or "tool", given)

    def _result(self, message: Fields, content: object) -> None:
        called = self._call_id(message) or self._call_id(mapping(message.get("tools")))
        failed = message.get("is_error")
        self.result(called, text_in(content), is_error=failed if isinstance(failed, bool) else None)

    @staticmethod
    def _call_id(call: Fields) -> str | None:
        found = first(call, "tool_call_id", "call_id", "id")
        return found or (str(number) if (number := whole(call.get("id"))) is not None else None)
