"""Hosts that grew out of one code: a session's header, then entries with ids, messages of typed blocks among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from retro.agents.blocks import answered, failed_in, spoke
from retro.agents.fields import Fields, as_text, first, mapping, string, text_in
from retro.agents.plain import PlainReader, spoken, time_of

BOOKKEEPING: Final = {
    "line_ends": "the bytes between records",
    "bom": "a byte order mark at the beginning of a file",
    "model_change": "another model was chosen; each answer names its own",
    "thinking_level_change": "how long the model is to think",
    "custom": "what an extension keeps for itself; it is no part of the conversation",
}

SOME: Final = {
    "message": "one without content, error or tokens gives no event",
    "session_info": "the title of the session",
    "label": "a mark that was taken away again gives no event",
}


class EntryReader(PlainReader):
    """Reads one session's entries."""

    BOOKKEEPING_TYPES = BOOKKEEPING
    UNCOUNTED = SOME

    def locate(self, fields: Fields) -> str | None:
        """Short ids are soon used up: an entry is known by its id and its time."""
        stamp = fields.get("timestamp")
        self.out.timestamp = time_of(stamp)
        name = string(fields.get("id"))
        if name is None or fields.get("type") == "session":
            return None
        return f"{name}:{stamp}"

    def tell(self, fields: Fields) -> str:
        """Add what an entry says."""
        kind = string(fields.get("type")) or "(none)"
        read = self._tells.get(kind)
        if read is not None:
            read(self, fields)
        return kind

    def _begin(self, fields: Fields) -> None:
        self.work_in(fields.get("cwd"))
        self.facts.host_title = string(fields.get("title")) or self.facts.host_title
        self.facts.parent = first(fields, "parentSession", "branchedFrom") or self.facts.parent
        self.start("session started", version=fields.get("version"))

    def _choose(self, fields: Fields) -> None:
        self.use(first(fields, "modelId", "model"))

    def _shorten(self, fields: Fields) -> None:
        text = first(fields, "summary", "note")
        self.compacted(text, kind=str(fields["type"]), pre_tokens=fields.get("tokensBefore"))

    def _extend(self, fields: Fields) -> None:
        self.inject(spoken(fields.get("content"))[0], string(fields.get("customType")))

    def _name(self, fields: Fields) -> None:
        self.facts.title = string(fields.get("name")) or self.facts.title

    def _label(self, fields: Fields) -> None:
        if label := string(fields.get("label")):
            self.notice(label, "label")

    def _entry(self, fields: Fields) -> None:
        self._message(mapping(fields.get("message")))

    def _message(self, message: Fields) -> None:
        role, content = message.get("role"), message.get("content")
        if role == "user":
            text, images = spoken(content)
            spoke(self, text, images)
        elif role == "assistant":
            self.use(message.get("model"))
            answered(self, content)
            if error := failed_in(message):
                self.fail(error, string(message.get("stopReason")) or "request")
            self._tokens(mapping(message.get("usage")))
        elif role == "toolResult":
            failed = message.get("isError")
            self.result(
                string(message.get("toolCallId")),
                text_in(content),
                tool=string(message.get("toolName")),
                is_error=failed if isinstance(failed, bool) else None,
            )
        else:
            self.notice(spoken(content)[0] or as_text(message), string(role))

    def _tokens(self, used: Fields) -> None:
        cost = mapping(used.get("cost")).get("total")
        self.spend(
            f"{self.session_id}:{self.out.identity}",
            fresh=used.get("input"),
            read=used.get("cacheRead"),
            written=used.get("cacheWrite"),
            output=used.get("output"),
            cost=float(cost) if isinstance(cost, (int, float)) and cost else None,
        )

    _tells: ClassVar[dict[str, Callable[[EntryReader, Fields], None]]] = {
        "session": _begin,
        "model_change": _choose,
        "message": _entry,
        "compaction": _shorten,
        "compact": _shorten,
        "branch_summary": _shorten,
        "custom_message": _extend,
        "session_info": _name,
        "label": _label,
    }
