"""What the rows of a VS Code chat mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from retro.agents.calls import Described, describe
from retro.agents.emitter import ALL, one_line
from retro.agents.fields import Fields, as_text, first, items, kept, mapping, string, whole, words
from retro.agents.interface import Agent, Batch, Verdict
from retro.agents.plain import PlainReader, parsed, time_of
from retro.agents.toolnames import tool_kind
from retro.agents.vscode_kinds import BOOKKEEPING_TYPES, HOST, UNCOUNTED
from retro.agents.vscode_rows import INVOCATION, UNNAMED, flat, markdown, path_of, uri_path
from retro.event import Actor, EventType, Origin, Quality

TRUNCATED: Final = "[JustRide: value truncated"
DENIED: Final = (False, 0, 5)
"""How a call was not confirmed: by the boolean of before 1.104, denied, skipped."""

_STATES: Final = {2: "cancelled", 3: "failed"}
_EDITS: Final = {1: "kept", 2: "undid", 3: "changed"}
_VOTES: Final = {0: "down", 1: "up"}


class VsCodeReader(PlainReader):
    """Reads the rows of one chat."""

    HOST: ClassVar[str] = HOST
    REMEMBERED = ALL
    BOOKKEEPING_TYPES = BOOKKEEPING_TYPES
    UNCOUNTED = UNCOUNTED

    def feed(self, record: bytes, line: int, offset: int, batch: Batch) -> Verdict:
        """Add what one row gives; a text that the host cut says so."""
        before = len(batch.events)
        verdict = super().feed(record, line, offset, batch)
        for event in batch.events[before:]:
            event.truncated = event.truncated or TRUNCATED in (event.text or "")
        return verdict

    def locate(self, fields: Fields) -> str | None:
        """Only requests, and the moments at which they were done with, have times."""
        table, key = string(fields.get("table")), string(fields.get("key"))
        name = key if table == "request" else f"{table}:{key}" if key else table
        named = mapping(fields.get("row")).get("id") is not None and not (key or "").startswith(UNNAMED)
        return name if named else f"{self.session_id}:{name}"

    def tell(self, fields: Fields) -> str:
        """Add what a row says."""
        self.out.agent_id = None
        table, fields = str(fields.get("table")), mapping(fields.get("row"))
        self.use(fields.get("model"))
        row = string(fields.get("row")) or table
        read = ROWS.get(row)
        if read is not None:
            read(self, fields)
        return f"part.{_kind(fields)}" if row == "part" else row

    # The session and its requests.

    def session(self, row: Fields) -> None:
        """The chat as a whole."""
        session = mapping(row.get("session"))
        self.out.timestamp = time_of(session.get("creationDate"))
        self.facts.title = string(session.get("customTitle")) or self.facts.title
        responder = string(session.get("responderUsername")) or "chat"
        remote = first(mapping(session.get("repoData")), "remoteUrl")
        branch = first(mapping(session.get("repoData")), "localBranch", "branch")
        self.work_in(None, branch)
        self.start(
            f"{responder} session started",
            kind=responder,
            version=session.get("version"),
            imported=session.get("isImported"),
            remote=remote,
        )

    def request(self, row: Fields) -> None:
        """What was asked, and what was put beside it."""
        request = mapping(row.get("request"))
        self.out.timestamp = time_of(request.get("timestamp"))
        self.use(request.get("modelId"))
        agent = mapping(request.get("agent"))
        self.written_by(agent.get("extensionVersion"))
        message = request.get("message")
        text = words(message if not isinstance(message, dict) else message.get("text")) or "".join(
            words(mapping(part).get("text")) for part in items(mapping(message).get("parts"))
        )
        command = string(mapping(request.get("slashCommand")).get("name"))
        self.prompt(
            text,
            slash_command=f"/{command}" if command else None,
            mode=string(mapping(request.get("modeInfo")).get("modeId")) or string(agent.get("id")),
            hidden=bool(request.get("isHidden") or request.get("shouldBeRemovedOnSend")),
            confirmation=string(request.get("confirmation")),
        )
        for variable in items(mapping(request.get("variableData")).get("variables")):
            self._variable(mapping(variable))

    def _variable(self, variable: Fields) -> None:
        """What a person, or the editor, put beside a prompt."""
        value = variable.get("value")
        name = string(variable.get("name")) or string(variable.get("kind")) or "attachment"
        path = path_of(mapping(value).get("uri") or value) if isinstance(value, dict) else ""
        text = value if isinstance(value, str) else first(variable, "code", "modelDescription") or ""
        kind = string(variable.get("kind")) or "variable"
        if kind == "image":
            text = ""
        self.attach(f"{name}\n{text}" if text else name, kind, paths=[path] if path else None)

    def pending(self, row: Fields) -> None:
        """What was typed while an answer was still being given."""
        request = mapping(mapping(row.get("pending")).get("request"))
        message = request.get("message")
        text = words(message if not isinstance(message, dict) else message.get("text"))
        if text:
            self.out.timestamp = time_of(request.get("timestamp"))
            self.attach(text, "pending")

    # The parts of a response.

    def said(self, row: Fields) -> None:
        """The text of a response, out of all its parts."""
        self.answer("".join(markdown(mapping(part)) for part in items(row.get("parts"))))

    def outputs(self, row: Fields) -> None:
        """What came back of calls that no part shows."""
        for call_id, output in mapping(row.get("outputs")).items():
            self.result(call_id.partition("__vscode")[0], output_text(output))

    def named(self, row: Fields) -> None:
        """The title in the window's list of chats."""
        self.facts.host_title = string(row.get("title")) or self.facts.host_title

    def part(self, row: Fields) -> None:
        """A part of a response: a call, a thought, edits, questions."""
        part, kind = mapping(row.get("part")), _kind(row)
        self.out.agent_id = string(part.get("subAgentInvocationId"))
        if self.out.agent_id:
            agent = self.facts.agents.setdefault(self.out.agent_id, Agent())
            agent.call_id = agent.call_id or self.out.agent_id
        read = self._parts.get(kind)
        if read is not None:
            read(self, part, row)

    def _thought(self, part: Fields, row: Fields) -> None:
        self.think(flat(part.get("value")))

    def _shown(self, part: Fields, row: Fields) -> None:
        self.attach(as_text(part), _kind(row))

    def _invocation(self, part: Fields, row: Fields) -> None:
        call, data = mapping(row.get("call")), mapping(part.get("toolSpecificData"))
        call_id = string(part.get("toolCallId"))
        tool = string(call.get("name")) or string(part.get("toolId")) or "tool"
        described = self._described(tool, part, data, call)
        if data.get("kind") == "subagent" and call_id:
            agent = self.facts.agents.setdefault(call_id, Agent(call_id))
            agent.agent_type = string(data.get("agentName")) or agent.agent_type
            agent.description = string(data.get("description")) or agent.description
        state = mapping(data.get("terminalCommandState"))
        self.out.timestamp = time_of(state.get("timestamp"))
        self.call(call_id, tool, None, described)
        details = mapping(part.get("resultDetails"))
        confirmed = part.get("isConfirmed")
        answer = confirmed.get("type") if isinstance(confirmed, dict) else confirmed
        rejected = answer is not None and any(answer is no or (answer == no and answer is not True) for no in DENIED)
        if part.get("isComplete") is False and not rejected:
            return
        code, duration = whole(state.get("exitCode")), whole(state.get("duration"))
        self.result(
            call_id,
            _returned(part, data, details, row.get("output")),
            is_error=bool(details["isError"]) if "isError" in details else None,
            exit_code=code,
            duration_ms=duration,
            rejected=rejected and True,
            background=bool(data.get("didContinueInBackground") or data.get("isBackground")),
        )

    def _described(self, tool: str, part: Fields, data: Fields, call: Fields) -> Described:
        """What a call does: by the model's own arguments, else by what the host noted for its display."""
        given = parsed(call.get("arguments"))
        kind = data.get("kind")
        if kind == "terminal":
            line = mapping(data.get("commandLine"))
            command = first(line, "userEdited", "toolEdited", "original") or string(data.get("command")) or ""
            about = mapping(given).get("explanation") or data.get("intention")
            payload = kept(description=about, background=bool(data.get("isBackground")))
            return Described(EventType.COMMAND, one_line(f"$ {command}"), command=command, payload=payload)
        if kind == "subagent":
            text, about = string(data.get("prompt")) or "", string(data.get("description"))
            payload = kept(description=about, agent_type=data.get("agentName"))
            return Described(EventType.SUBAGENT_START, one_line(about or text or tool), text, payload=payload)
        if given in (None, "", {}):
            given = parsed(data.get("rawInput") if "rawInput" in data else data.get("input"))
        if given not in (None, "", {}):
            return describe(tool_kind(tool), tool, given)
        paths = _paths(part)
        text = flat(part.get("invocationMessage") or part.get("pastTenseMessage"))
        if kind == "todoList":
            text = as_text(data.get("todoList"))
        event_type = tool_kind(tool) if paths else EventType.TOOL_CALL
        if event_type not in (EventType.FILE_READ, EventType.FILE_EDIT):
            event_type = EventType.TOOL_CALL
        return Described(event_type, one_line(text or tool), text, paths=paths or None)

    def _edits(self, part: Fields, row: Fields) -> None:
        """Edits as the host applied them; those that a call asked for are told there."""
        path, kind = path_of(part.get("uri")), _kind(row)
        texts = []
        for edit in items(part.get("edits")):
            for change in edit if isinstance(edit, list) else [edit]:
                text = string(mapping(change).get("text")) or as_text(mapping(change).get("cell")) or ""
                texts.append("\n".join(f"+{line}" for line in text.splitlines()))
        text = "\n".join(filter(None, texts))
        if row.get("called"):
            self.attach(text or path, kind, paths=[path])
            return
        paths = [path] if path else None
        change = Described(
            EventType.FILE_EDIT, one_line(f"edit {path}"), text, paths=paths, payload={"change": "patch"}
        )
        self.call(None, kind, None, change)

    def _warned(self, part: Fields, row: Fields) -> None:
        self.notice(_asking(part), "warning")

    def _asked(self, part: Fields, row: Fields) -> None:
        """What the host asked the person, and what came of it."""
        kind = _kind(row)
        answered = part.get("state", part.get("isUsed"))
        text = _asking(part) or as_text(part)
        result = part.get("acceptedResult") or part.get("data") if kind != "confirmation" else None
        if result:
            text += f"\n{as_text(result)}"
        payload = kept(kind=kind, answered=answered)
        self.out.emit(Actor.SYSTEM, EventType.PERMISSION, one_line(text), text, payload=payload)

    def _hook(self, part: Fields, row: Fields) -> None:
        text = "\n".join(filter(None, (first(part, "stopReason"), first(part, "systemMessage"))))
        payload = kept(kind=string(part.get("hookType")) or "hook", blocked=bool(part.get("stopReason")))
        self.out.emit(Actor.HOOK, EventType.ATTACHMENT, one_line(text or "a hook ran"), text or None, payload=payload)

    def round(self, fields: Fields) -> None:
        """What a request to the model gave that no part of the response shows."""
        found = mapping(fields.get("round"))
        if not fields.get("said"):
            self.answer(flat(found.get("response")))
        for call in items(found.get("toolCalls")):
            given = mapping(call)
            self.call(string(given.get("id")), string(given.get("name")) or "tool", given.get("arguments"))

    _parts: ClassVar[dict[str, Callable[[VsCodeReader, Fields, Fields], None]]] = {
        INVOCATION: _invocation,
        "thinking": _thought,
        "textEditGroup": _edits,
        "notebookEditGroup": _edits,
        "warning": _warned,
        "confirmation": _asked,
        "elicitation": _asked,
        "elicitationSerialized": _asked,
        "questionCarousel": _asked,
        "hook": _hook,
        "multiDiffData": _shown,
        "workspaceEdit": _shown,
        "pullRequest": _shown,
    }

    # How it ended.

    def ended(self, fields: Fields) -> None:
        """How a request ended, what it took, and what the person made of it."""
        result, state = mapping(fields.get("result")), mapping(fields.get("modelState"))
        value = state.get("value")
        how = _STATES.get(value) if isinstance(value, int) else string(value)
        asked = time_of(fields.get("asked"))
        self.out.timestamp = time_of(state.get("completedAt"))
        error = mapping(result.get("errorDetails")) or mapping(fields.get("responseErrorDetails"))
        if error:
            text = words(error.get("message")) or as_text(error)
            self.fail(text, string(error.get("code")) or "response", incomplete=error.get("responseIsIncomplete"))
        if fields.get("isCanceled") or how == "cancelled":
            self.out.emit(
                Actor.USER,
                EventType.MESSAGE,
                "the person stopped the response",
                origin=Origin.MACHINE,
                payload={"interrupt": True},
            )
        self._people(fields)
        self._references(fields)
        self._tokens(fields, result, asked)

    def _people(self, fields: Fields) -> None:
        """What the person made of the response: edits kept or undone, a vote."""
        for edit in items(fields.get("editedFileEvents")):
            given = mapping(edit)
            path, kind = path_of(given.get("uri")), given.get("eventKind")
            word = _EDITS.get(kind, "edited") if isinstance(kind, int) else "edited"
            summary = one_line(f"{word} the edits of {path}")
            payload = kept(kind="editedFileEvent", answered=word)
            self.out.emit(Actor.USER, EventType.PERMISSION, summary, paths=[path] if path else None, payload=payload)
        vote = fields.get("vote")
        if isinstance(vote, int):
            reason = string(fields.get("voteDownReason"))
            text = f"voted {_VOTES.get(vote, str(vote))}" + (f": {reason}" if reason else "")
            self.out.emit(Actor.USER, EventType.PERMISSION, text, text, payload={"kind": "vote"})

    def _references(self, fields: Fields) -> None:
        """What the model read beside the prompt, and what it offers to ask next."""
        used = [*items(fields.get("contentReferences")), *items(mapping(fields.get("usedContext")).get("documents"))]
        paths = [path_of(mapping(used).get("reference") or mapping(used).get("uri")) for used in used]
        paths = list(dict.fromkeys(filter(None, paths)))
        if paths:
            self.attach(f"{len(paths)} references", "contentReferences", paths=paths)
        offered = [first(mapping(followup), "message", "title") for followup in items(fields.get("followups"))]
        text = "\n".join(filter(None, offered))
        if text:
            payload = kept(kind="followups")
            self.out.emit(Actor.ASSISTANT, EventType.ATTACHMENT, one_line(text), text, payload=payload)

    def _tokens(self, fields: Fields, result: Fields, asked: str | None) -> None:
        """Tokens, where the host tells them: of the last request to the model only, where there were several."""
        about = mapping(result.get("metadata"))
        usage = mapping(result.get("usage")) or mapping(fields.get("usage"))
        asked_for = [whole(source.get("promptTokens")) for source in (usage, about, result, fields)]
        made = [
            whole(source.get(name))
            for source in (usage, fields, about, result)
            for name in ("completionTokens", "outputTokens")
        ]
        rounds = whole(fields.get("rounds")) or 0
        self.out.timestamp = self.out.timestamp or asked
        name = str(fields.get("id"))
        self.spend(
            f"{self.session_id}:{name}" if name.startswith(UNNAMED) else name,
            string(about.get("resolvedModel")),
            Quality.LOWER_BOUND if rounds > 1 else Quality.EXACT,
            fresh=next(filter(None, asked_for), None),
            output=next(filter(None, made), None),
        )


ROWS: Final[dict[str, Callable[[VsCodeReader, Fields], None]]] = {
    "session": VsCodeReader.session,
    "request": VsCodeReader.request,
    "text": VsCodeReader.said,
    "part": VsCodeReader.part,
    "round": VsCodeReader.round,
    "outputs": VsCodeReader.outputs,
    "result": VsCodeReader.ended,
    "pending": VsCodeReader.pending,
    "ItemTable": VsCodeReader.named,
}
"""What each kind of row says."""


def _kind(row: Fields) -> str:
    """What kind of part a row holds."""
    return string(mapping(row.get("part")).get("kind")) or "(none)"


def _asking(part: Fields) -> str:
    """The words of a question or a warning."""
    return "\n".join(filter(None, (flat(part.get(name)) for name in ("title", "subtitle", "message", "content"))))


def output_text(output: object) -> str:
    """The text of a tool's result: plain, or the leaves of the tree that the prompt was made of."""
    return "\n".join(_leaves(output))


def _leaves(value: object) -> list[str]:
    if isinstance(value, str):
        return [value] if value else []
    if isinstance(value, list):
        return [leaf for part in value for leaf in _leaves(part)]
    if not isinstance(value, dict):
        return []
    fields: Fields = value
    if isinstance(fields.get("text"), str) and "children" not in fields:
        return _leaves(fields["text"])
    found = []
    for name in ("content", "value", "node", "children"):
        found += _leaves(fields.get(name))
    return found


def _returned(part: Fields, data: Fields, details: Fields, output: object) -> str:
    """What came back of a call, by the best that the host kept of it."""
    screen = mapping(data.get("terminalCommandOutput")).get("text")
    said = (
        output_text(output),
        string(screen),
        output_text(details.get("output")),
        string(data.get("result")),
        string(data.get("output")),
        "\n".join(path_of(place) for place in items(part.get("resultDetails"))),
        flat(part.get("pastTenseMessage")),
    )
    return next((text for text in said if text), "")


def _paths(part: Fields) -> list[str]:
    """The files that the host names in the message that it shows for a call."""
    found = []
    for name in ("invocationMessage", "pastTenseMessage"):
        found += [uri_path(uri) for uri in mapping(mapping(part.get(name)).get("uris"))]
    return list(dict.fromkeys(path for path in found if path))
