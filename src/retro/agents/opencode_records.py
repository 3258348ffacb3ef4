"""What OpenCode's rows mean: sessions, messages and their parts, from its database or from the files of before."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar, Final

import msgspec

from retro.agents.calls import Described, patched_paths
from retro.agents.emitter import ALL, one_line
from retro.agents.fields import Fields, as_text, count, decode, first_words, kept, mapping, string, whole, words
from retro.agents.interface import FILE, Agent
from retro.agents.opencode_kinds import BOOKKEEPING_TYPES, FORK, HOST, UNCOUNTED
from retro.agents.plain import PlainReader, image_in, time_of
from retro.event import Actor, EventType, Origin

_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_UNTITLED: Final = re.compile(r"(?:New|Child) session - \d{4}-")
_PATCHES: Final = frozenset({"apply_patch", "patch"})


class Message(msgspec.Struct, array_like=True):
    """What parts depend on of their message."""

    role: str = ""
    created: float = 0
    model: str | None = None
    summary: bool = False


class OpenCodeReader(PlainReader):
    """Reads the rows of one session."""

    HOST: ClassVar[str] = HOST
    BOOKKEEPING_TYPES = BOOKKEEPING_TYPES
    UNCOUNTED = UNCOUNTED
    REMEMBERED = ALL

    def locate(self, fields: Fields) -> str | None:
        """Rows have ids, and are written again under them."""
        self._table, self._row = _row_of(fields)
        name = string(self._row.get("id")) or string(fields.get("key"))
        return f"{self._table}:{name}" if name else None

    def tell(self, fields: Fields) -> str:
        """Add what a row says."""
        table, row = self._table, self._row
        if table == "session":
            self._session(row)
        elif table == "message":
            return self._message(row)
        elif table == "part":
            return self._part(row)
        elif table == FORK:
            self.facts.parent = string(row.get("session_id"))
        return table

    def _session(self, row: Fields) -> None:
        began = row.get("time_created") or mapping(row.get("time")).get("created")
        self.out.timestamp = time_of(began)
        self.state.notes["began"] = f"{whole(began) or 0}"
        self.work_in(row.get("directory"))
        self.written_by(row.get("version"))
        title = string(row.get("title"))
        if self.out.agent_id is None and title and not _UNTITLED.match(title):
            self.facts.host_title = title
        self.start("session started", version=row.get("version"))

    # Messages.

    def _message(self, row: Fields) -> str:
        role = string(row.get("role")) or "(none)"
        about, times = mapping(row.get("model")), mapping(row.get("time"))
        model = string(row.get("modelID")) or string(about.get("modelID"))
        created = times.get("created") or row.get("time_created")
        known = Message(role, created if isinstance(created, (int, float)) else 0, model, row.get("summary") is True)
        self.state.notes[_name(row.get("id"))] = msgspec.json.encode(known).decode()
        self.out.timestamp = time_of(times.get("completed") or created)
        if role == "assistant":
            self.use(model)
            self.work_in(mapping(row.get("path")).get("cwd"))
            self.spent(known, row)
            self._failed(mapping(row.get("error")))
        return f"message.{role}"

    def _failed(self, error: Fields) -> None:
        name = string(error.get("name"))
        if name == "MessageAbortedError":
            summary, payload = "the person stopped the agent", {"interrupt": True}
            self.out.emit(Actor.USER, EventType.MESSAGE, summary, origin=Origin.MACHINE, payload={**payload})
        elif name is not None:
            about = mapping(error.get("data"))
            self.fail(words(about.get("message")) or as_text(error), name, status=about.get("statusCode"))

    def spent(self, message: Message, row: Fields) -> None:
        """The tokens of a request, which its message repeats. In a fork ids change, but not when, who and how much."""
        used = mapping(row.get("tokens"))
        cache, total = mapping(used.get("cache")), count(used.get("total"))
        fresh, made, thoughts = (count(used.get(name)) for name in ("input", "output", "reasoning"))
        read, written = count(cache.get("read")), count(cache.get("write"))
        if total:  # else of a version that counts thoughts as output
            made = max(total - fresh - read - written, made)
        cost = row.get("cost")
        self.out.timestamp = time_of(message.created)
        self.spend(
            f"{message.created:.0f}:{message.model}:{fresh}:{read}:{written}:{made}",
            message.model,
            fresh=fresh,
            read=read,
            written=written,
            output=made,
            reasoning=thoughts,
            cost=float(cost) if isinstance(cost, (int, float)) and cost else None,
        )

    # Parts.

    def _part(self, row: Fields) -> str:
        kind = string(row.get("type")) or "(none)"
        message = self._of(row.get("message_id") or row.get("messageID"))
        times = mapping(row.get("time")) or mapping(mapping(row.get("state")).get("time"))
        self.out.timestamp = time_of(times.get("start") or message.created or row.get("time_created"))
        if message.role == "assistant":
            self.use(message.model)
        read = PARTS.get(kind)
        if read is not None:
            read(self, message, row)
        return f"part.{kind}"

    def said(self, message: Message, row: Fields) -> None:
        """`text`: a prompt, or what the model says."""
        text = words(row.get("text"))
        if not text and _is_coming(message, row):
            self._speak(EventType.MESSAGE, "", None)  # it has its place before the calls that come behind it
        elif text.strip():
            self._text(message, text, row)

    def thought(self, message: Message, row: Fields) -> None:
        """`reasoning`."""
        text = words(row.get("text"))
        if not text and _is_coming(message, row):
            self._speak(EventType.REASONING, "", None)
        self.think(text)

    def asked_for(self, message: Message, row: Fields) -> None:
        """`compaction`."""
        self.notice("the context is to be compacted", "auto" if row.get("auto") else "compaction")

    def task(self, message: Message, row: Fields) -> None:
        """`subtask`: what a sub-agent is to be given."""
        task, about = words(row.get("prompt")), string(row.get("description"))
        payload = kept(kind="subtask", description=about, agent_type=row.get("agent"), command=row.get("command"))
        self.out.emit(Actor.USER, EventType.ATTACHMENT, one_line(task), task, origin=Origin.INJECTED, payload=payload)

    def again(self, message: Message, row: Fields) -> None:
        """`retry`: a request that failed and is made again."""
        error = mapping(row.get("error"))
        text = words(mapping(error.get("data")).get("message")) or as_text(error)
        self.fail(text, "retry", attempt=row.get("attempt"))

    def _of(self, message_id: object) -> Message:
        known = self.state.notes.get(_name(message_id))
        return msgspec.json.decode(known, type=Message) if known else Message()

    def _text(self, message: Message, text: str, row: Fields) -> None:
        if message.role == "assistant":
            if message.summary:
                self.compacted(text)
            else:
                self.answer(text)
        elif row.get("synthetic") is True:
            self.inject(text, "synthetic")
        elif row.get("ignored") is True:
            self.notice(text, "ignored")
        else:
            quoted = _QUOTED.fullmatch(text)  # `opencode run` puts words with spaces in quotes
            self.prompt(quoted[1].replace('\\"', '"') if quoted else text)

    def tool(self, message: Message, row: Fields) -> None:
        """`tool`: a call as far as it got, and its result: one row, which is written again and again."""
        state, copied = mapping(row.get("state")), message.created < int(self.state.notes.get("began", "0"))
        name, at = self.out.identity, self.out.timestamp
        call_id, tool = string(row.get("callID")) or name, string(row.get("tool")) or "tool"
        given, about = mapping(state.get("input")), mapping(state.get("metadata"))
        patch = string(given.get("patchText")) if tool in _PATCHES else None
        described = None
        if patch is not None and (paths := patched_paths(patch)):
            summary = one_line(f"edit {', '.join(paths)}")
            described = Described(EventType.FILE_EDIT, summary, patch, paths=paths, payload={"change": "patch"})
        self.call(call_id, tool, given, described)
        agent = string(about.get("sessionId")) if tool == "task" else None
        if agent is not None and not copied:
            self.facts.agents[agent] = Agent(
                call_id, string(given.get("subagent_type")), string(given.get("description"))
            )
        status = string(state.get("status"))
        if status not in ("pending", "running", None):
            times = mapping(state.get("time"))
            began, ended = whole(times.get("start")), whole(times.get("end"))
            error, code = words(state.get("error")), whole(about.get("exit"))
            self.out.identify(f"{name}:result")
            self.out.emitted = 0
            self.out.timestamp = time_of(ended) or at
            self.result(
                call_id,
                error or first_words(state, "output") or words(about.get("output")),
                tool=tool,
                is_error=True if error else (code != 0 if code is not None else None),
                exit_code=code,
                duration_ms=ended - began if began is not None and ended is not None else None,
            )

    def file(self, message: Message, row: Fields) -> None:
        """`file`: a file or an image that was put beside the prompt."""
        source, url = mapping(row.get("source")), string(row.get("url")) or ""
        path = string(source.get("path")) or url.removeprefix("file://").partition("?")[0]
        name = string(row.get("filename")) or path
        if url.startswith("data:"):
            path = string(source.get("path")) or ""
            data = url.partition(",")[2]
            images: list[object] = [image_in({"data": data, "mimeType": row.get("mime")})]
            self.attach(name, "image", paths=[path] if path else None, images=images)
        else:
            text = words(source.get("text"))
            self.attach(text or name, "file", paths=[path] if path else None)


PARTS: Final[dict[str, Callable[[OpenCodeReader, Message, Fields], None]]] = {
    "text": OpenCodeReader.said,
    "reasoning": OpenCodeReader.thought,
    "tool": OpenCodeReader.tool,
    "file": OpenCodeReader.file,
    "step-finish": OpenCodeReader.spent,
    "compaction": OpenCodeReader.asked_for,
    "subtask": OpenCodeReader.task,
    "retry": OpenCodeReader.again,
}
"""What each type of part says."""


def _is_coming(message: Message, row: Fields) -> bool:
    """Whether a text of the model was begun and not ended: the host writes it when it is whole."""
    times = mapping(row.get("time")) or mapping(mapping(row.get("state")).get("time"))
    return message.role == "assistant" and "start" in times and "end" not in times


def _row_of(fields: Fields) -> tuple[str, Fields]:
    """The table of a row and its columns, those of its JSON among them; of a file likewise, by the folder it is in."""
    row = mapping(fields.get("row"))
    if fields.get("table") == FILE:
        return (string(fields.get("key")) or "").partition("/")[0], row
    data = string(row.get("data"))
    if data is not None:
        row = {**{name: value for name, value in row.items() if name != "data"}, **mapping(decode(data.encode()))}
    return string(fields.get("table")) or "(none)", row


def _name(message_id: object) -> str:
    return f"message:{message_id}"
