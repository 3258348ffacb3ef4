"""What the messages of Cline mean, and of what grew out of it: in sessions, and in tasks, where calls stand in text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar, Final, NamedTuple

from retro.agents.blocks import CALLS, IMAGES, RESULTS, TEXTS, answered, other
from retro.agents.calls import COMMANDS, Described, describe
from retro.agents.databases import canonical
from retro.agents.emitter import ALL, content_id, one_line
from retro.agents.fields import Fields, as_text, blocks, first, items, mapping, parted, string, text_in, whole
from retro.agents.interface import Facts
from retro.agents.plain import PlainReader, image_in, parsed, time_of
from retro.agents.task_kinds import BOOKKEEPING_TYPES, CHILD, UNCOUNTED, USAGE
from retro.agents.toolnames import tool_kind
from retro.event import Actor, EventType, Origin

TOOLS: Final = {
    "run_commands": EventType.COMMAND,
    "editor": EventType.FILE_EDIT,
    "fetch_web_content": EventType.WEB_SEARCH,
    "use_subagents": EventType.SUBAGENT_START,
    "spawn_agent": EventType.SUBAGENT_START,
    "insert_content": EventType.FILE_EDIT,
    "search_and_replace": EventType.FILE_EDIT,
}
"""Names that other hosts do not have."""

WORDS: Final = {"attempt_completion": "result", "plan_mode_respond": "response", "ask_followup_question": "question"}
"""Calls by which the model speaks, and which argument has its words; what comes back of one is what was typed then."""

_TYPED: Final = re.compile(r"<(user_input|task|feedback|user_message|answer)(?: [^>]{0,200})?>")
"""Begins what a person typed."""

_NOTICE: Final = ("<mode_notice>", "</mode_notice>")
_ADDED: Final = (
    "<environment_details>",
    "<explicit_instructions",
    "<file_content",
    "<task_progress",
    "# task_progress",
)
"""How text begins that the host put beside a prompt."""

_MACHINE: Final = ("[ERROR]", "[TASK RESUMPTION]", "Tool [")
_RESULT: Final = re.compile(r"\[(\w+)(?: (?:for|in|to) .*?)?\] Result:(?: \(see images? below\))?\s*", re.DOTALL)
_CALL: Final = re.compile(
    r"<(execute_command|read_file|write_to_file|replace_in_file|search_files|list_files|list_code_definition_names"
    r"|apply_diff|insert_content|search_and_replace|codebase_search|fetch_instructions|switch_mode|update_todo_list"
    r"|browser_action|web_fetch|web_search|use_mcp_tool|access_mcp_resource|ask_followup_question"
    r"|plan_mode_respond|attempt_completion|new_task|use_subagents)>"
)
_GIVEN: Final = re.compile(r"<(\w{1,40})>((?:(?!<\1>).)*?)</\1>", re.DOTALL)
_FOLDER: Final = re.compile(r"Current (?:Working|Workspace) Directory \((.{1,4096}?)\) Files")
_MODEL: Final = re.compile(r"# Current Mode\n.{0,400}?<model>([^<]{1,200})</model>", re.DOTALL)
_PATH: Final = re.compile(r"<path>\s*([^<]{1,4096}?)\s*</path>")


class Said(NamedTuple):
    """A piece of an answer: words, or a call within them."""

    text: str
    tool: str | None = None


def reader_of(host: str) -> type[TaskReader]:
    """What reads the tasks and sessions of a host."""
    return type("TaskReader", (TaskReader,), {"HOST": host})


class TaskReader(PlainReader):
    """Reads one session, one of its sub-agents, a task, or what a task's window showed."""

    HOST: ClassVar[str] = ""
    BOOKKEEPING_TYPES = BOOKKEEPING_TYPES
    UNCOUNTED = UNCOUNTED
    REMEMBERED = ALL

    def __init__(self, session_id: str, key: str, source: str, saved: bytes, facts: Facts) -> None:
        agent = key.removeprefix("agent-") if key.startswith("agent-") else None
        super().__init__(session_id, source, saved, facts, agent)
        self._window, self._given = key == USAGE, key == CHILD

    def locate(self, fields: Fields) -> str | None:
        """A message has an id or a time; of the older ones, which have none, the content tells."""
        message = mapping(fields.get("value")) if fields.get("item") else {}
        self.out.timestamp = time_of(message.get("ts"))
        if self.out.timestamp is None or self._window:
            return string(message.get("id"))
        stays: Fields = {name: message.get(name) for name in ("ts", "role", "content")}  # marks are added later
        return string(message.get("id")) or content_id(canonical(stays))

    def tell(self, fields: Fields) -> str:
        """Add what a member of the document says, or an item of its list."""
        value = mapping(fields.get("value"))
        if not fields.get("item"):
            return string(fields.get("name")) or "(none)"
        if self._window:
            return self._shown(value)
        role = string(value.get("role")) or "(none)"
        if value.get("isSummary") or value.get("isTruncationMarker"):
            self.compacted(text_in(value.get("content")))
        elif value.get("type") == "reasoning":
            self.think(string(value.get("text")) or text_in(value.get("summary")))
            role = "reasoning"
        elif role == "assistant":
            self._answer(value)
        elif role == "user":
            self._user(value.get("content"))
        elif role == "tool":
            self._tool(value.get("content"))
        elif text := text_in(value.get("content")):
            self.notice(text, role)
        return f"message.{role}"

    # What people say, and what is said in their place.

    def _user(self, content: object) -> None:
        typed, images, came = [], list[object](), False
        for block in _joined(content):
            kind = string(block.get("type")) or "text"
            came = came or kind in RESULTS or _RESULT.match(string(block.get("text")) or "") is not None
            if kind in RESULTS:
                self._returned(block)
            elif kind in IMAGES:
                images.append(image_in(block))
            elif kind not in TEXTS or (block and "text" not in block):
                other(self, block, kind)
            elif text := self._added(text_in(block.get("text"))):
                typed.append(text)
        if typed or (images and not came):
            self._typed("\n".join(typed), images)

    def _typed(self, text: str, images: list[object] | None = None) -> None:
        """A prompt; the first one of a task that another task gave is that one's."""
        if not self._given or self.state.notes.setdefault("given", self.out.identity) != self.out.identity:
            self.prompt(text, images=images)
        else:
            self.out.emit(Actor.USER, EventType.MESSAGE, one_line(text), text, origin=Origin.AGENT)

    def _tool(self, content: object) -> None:
        """Results, where they are messages of their own."""
        for block in blocks(content):
            if string(block.get("type")) in RESULTS:
                self._returned(block)
            else:
                other(self, block, string(block.get("type")) or "(none)")

    def _added(self, text: str) -> str:
        """What a person typed in a text, if anything; all else in it is the host's."""
        notices, around = parted(text, *_NOTICE)
        for notice in notices:
            self.inject(notice.strip(), "mode_notice")
        text = "".join(around).strip()
        result = _RESULT.match(text)
        if found := _FOLDER.search(text):
            self.work_in(found[1])
        if found := _MODEL.search(text):
            self.use(found[1].strip())
        if result:
            self._result(result[1], text[result.end() :])
        elif text.startswith(_MACHINE):
            self.notice(text, "notice")
        elif text.startswith(_ADDED):
            self.inject(text, "environment")
        else:
            typed = _typed(text)
            return text if typed is None else typed
        return ""

    # What the model says.

    def _answer(self, message: Fields) -> None:
        about = mapping(message.get("modelInfo"))
        self.use(first(about, "id", "modelId"))
        for block in blocks(message.get("content")):
            kind = string(block.get("type")) or "text"
            if kind in TEXTS and "text" in block:
                self._say(text_in(block.get("text")))
            elif kind in CALLS:
                self._called(
                    first(block, "id", "toolCallId"), first(block, "name", "toolName") or "tool", block.get("input")
                )
            else:
                answered(self, [block])
        used = mapping(message.get("metrics"))
        tokens = mapping(used.get("tokens")) or used
        self._tokens(f"{self.session_id}:{self.out.identity}", tokens, ("inputTokens", "cacheReadTokens",
                     "cacheWriteTokens", "outputTokens"), used.get("cost"))  # fmt: skip

    def _say(self, text: str) -> None:
        """Words, and in tasks the calls that stand among them."""
        for number, piece in enumerate(_pieces(text)):
            if piece.tool is None:
                self.answer(piece.text)
            else:
                given = {name: value.strip() for name, value in _GIVEN.findall(piece.text)}
                call_id = f"{self.out.identity}:{number}"
                self.state.notes[f"open {piece.tool}"] = call_id
                self._called(call_id, piece.tool, given)

    def _called(self, call_id: str | None, tool: str, given: object) -> None:
        given = parsed(given)
        if tool in WORDS:
            self.state.notes[f"said {call_id}"] = tool
            self.answer(first(mapping(given), WORDS[tool]) or as_text(given))
            return
        self.call(call_id, tool, given, _described(tool, mapping(given)))

    # What came back.

    def _returned(self, block: Fields) -> None:
        """Results of a session name their call; one call may have several parts, each with its outcome."""
        content = block.get("content", block.get("output"))
        outcomes = [mapping(one) for one in items(content)]
        failed = [one["success"] is False for one in outcomes if isinstance(one.get("success"), bool)]
        texts = [first(one, "result", "error") or text_in(one) for one in outcomes]
        told = block.get("is_error", True if str(mapping(content).get("type")).startswith("error-") else None)
        call_id, text = first(block, "tool_use_id", "toolCallId", "id"), "\n".join(filter(None, texts))
        if self.state.notes.pop(f"said {call_id}", None):
            self._heard(text or text_in(content))
            return
        self.result(
            call_id,
            text or text_in(content),
            tool=first(block, "name", "toolName"),
            is_error=told if isinstance(told, bool) else any(failed) if failed else None,
        )

    def _result(self, tool: str, text: str) -> None:
        """A result of a task names the tool; it is that of the last call of it."""
        if tool in WORDS:
            self._heard(text)
        else:
            self.result(self.state.notes.pop(f"open {tool}", None), text, tool=tool)

    def _heard(self, text: str) -> None:
        """What a person answered to words of the model; all else is the host's."""
        typed = _typed(text)
        if typed:
            self._typed(typed)
        elif text.strip():
            self.notice(text, "notice")

    # Tokens.

    def _shown(self, row: Fields) -> str:
        """What the window showed tells of each request what it took."""
        if row.get("say") != "api_req_started":
            return "shown"
        self.use(mapping(row.get("modelInfo")).get("modelId"))
        used = mapping(parsed(row.get("text")))
        if found := _MODEL.search(string(used.get("request")) or ""):
            self.use(found[1].strip())
        used = _without_cache(used) if "apiProtocol" in used else used
        self._tokens(f"{self.session_id}:{row.get('ts')}", used, ("tokensIn", "cacheReads", "cacheWrites", "tokensOut"),
                     used.get("cost"))  # fmt: skip
        return "shown:api_req_started"

    def _tokens(self, name: str, used: Fields, names: tuple[str, str, str, str], cost: object) -> None:
        fresh, read, written, output = (used.get(one) for one in names)
        price = float(cost) if isinstance(cost, (int, float)) and cost else None
        self.spend(name, fresh=fresh, read=read, written=written, output=output, cost=price)


def _joined(content: object) -> Iterator[Fields]:
    """Blocks of a message; a result whose name and words are blocks of their own is one."""
    before: Fields | None = None
    for block in blocks(content):
        text = string(block.get("text")) if string(block.get("type")) in TEXTS else None
        if before is not None and text is not None and not _RESULT.match(text) and not text.startswith(_ADDED):
            yield {"type": "text", "text": f"{before['text']}\n{text}"}
            before = None
            continue
        if before is not None:
            yield before
        found = _RESULT.match(text) if text is not None else None
        before = block if found and text is not None and found.end() == len(text) else None
        if before is None:
            yield block
    if before is not None:
        yield before


def _without_cache(used: Fields) -> Fields:
    """Later versions tell the whole input, of which what the cache had is a part: no such part is larger than it."""
    cached = (whole(used.get("cacheReads")) or 0) + (whole(used.get("cacheWrites")) or 0)
    given = whole(used.get("tokensIn")) or 0
    return used | {"tokensIn": given - cached} if given >= cached else used


def _typed(text: str) -> str | None:
    """What stands between the tags around a prompt; None where there are none."""
    found = _TYPED.search(text)
    end = text.find(f"</{found[1]}>", found.end()) if found else -1
    return text[found.end() : end].strip() if found and end >= 0 else None


def _pieces(text: str) -> Iterator[Said]:
    """An answer as words and calls, in order; a call without its end is words."""
    at, unclosed = 0, set[str]()
    for found in _CALL.finditer(text):
        tool, mark = found[1], f"</{found[1]}>"
        end = text.find(mark, found.end()) if found.start() >= at and tool not in unclosed else -1
        if end < 0:
            unclosed.update({tool} if found.start() >= at else ())
            continue
        yield Said(text[at : found.start()].strip())
        yield Said(text[found.end() : end], tool)
        at = end + len(mark)
    yield Said(text[at:].strip())


def _described(tool: str, given: Fields) -> Described | None:
    """What a call does that is given several commands or files at once; None for one like those of other hosts."""
    commands = [string(one) or first(mapping(one), *COMMANDS) or as_text(one) for one in items(given.get("commands"))]
    if commands:
        command = "\n".join(commands)
        return Described(EventType.COMMAND, one_line(f"$ {command}"), command=command)
    nested = string(given.get("args"))
    paths = _PATH.findall(nested) if nested else []
    paths += [found for one in items(given.get("files")) if (found := string(mapping(one).get("path")) or string(one))]
    if paths and tool_kind(tool) is EventType.FILE_READ:
        return Described(EventType.FILE_READ, one_line(f"read {' '.join(paths)}"), paths=paths)
    return describe(TOOLS[tool], tool, given) if tool in TOOLS else None
